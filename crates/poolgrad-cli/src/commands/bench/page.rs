//! The results as one page that needs nothing else: charts, and all numbers below them.

use std::fmt::Write;

use poolgrad::DType;
use poolgrad_check::{MemoryLayout, Problem};

use super::chart::chart;
use super::record::circumstances;
use super::report;
use super::row::Row;
use crate::console;

const STYLE: &str = "
:root { color-scheme: light dark; --ink: #1d2129; --soft: #626b7a; --paper: #fbfbfa; --rule: #dfe2e7;
  --f32: #3b76c4; --f64: #7d5bb5; --f16: #d98324; --bf16: #2f9a78; --roof: #c4314b; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e8ec; --soft: #9aa3b2; --paper: #16181d; --rule: #313640;
    --f32: #6aa3ee; --f64: #ab8de0; --f16: #eba04e; --bf16: #55c29d; --roof: #ff6b81; } }
body { margin: 2.5rem auto; max-width: 60rem; padding: 0 1rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0; } h2 { font-size: 1rem; margin: 2rem 0 .4rem; font-weight: 600; }
h2 code { font-size: .95rem; } p, dl { color: var(--soft); margin: .4rem 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem; } dd { margin: 0; color: var(--ink); }
svg { width: 100%; height: auto; display: block; } svg text { font: 12px system-ui, sans-serif; fill: var(--ink); }
svg .name { fill: var(--soft); } svg .roof { stroke: var(--roof); stroke-width: 2; }
.f32 { fill: var(--f32); } .f64 { fill: var(--f64); } .f16 { fill: var(--f16); } .bf16 { fill: var(--bf16); }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: 13px; width: 100%; }
th, td { text-align: right; padding: .25rem .6rem; border-bottom: 1px solid var(--rule); white-space: nowrap; }
th:first-child, td:first-child, th:nth-child(2), td:nth-child(2) { text-align: left; }
";

/// The page.
pub(super) fn page(rows: &[Row]) -> String {
    let facts: String = circumstances()
        .iter()
        .map(|(name, value)| format!("<dt>{}</dt><dd>{}</dd>\n", escaped(name), escaped(value)))
        .collect();
    let summary: String = report::summary(rows).lines().map(|line| format!("<p>{}</p>\n", escaped(line))).collect();
    let charts: String = groups(rows)
        .into_iter()
        .map(|(title, rows)| format!("<h2><code>{}</code></h2>\n{}", escaped(&title), chart(&rows)))
        .collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>poolgrad bench</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>poolgrad bench</h1>\n\
         <dl>\n{facts}</dl>\n{summary}\
         <p>A bar is the median time of a call. The red mark is the roofline: the time that memory alone takes, \
         measured in the same run. Per cent are the roofline's share of the time; problems that stay in the cache \
         may pass 100.</p>\n\
         {charts}<h2>All numbers</h2>\n{}</body>\n</html>\n",
        table(rows)
    )
}

/// Rows whose problems differ in types and layout only, with what they share.
fn groups(rows: &[Row]) -> Vec<(String, Vec<&Row>)> {
    let mut groups: Vec<(String, Vec<&Row>)> = Vec::new();
    for row in rows {
        let plain = Problem {
            dtype: DType::F32,
            index_dtype: DType::I64,
            layout: MemoryLayout::Ncdhw,
            ..row.problem.clone()
        };
        let title = plain.to_string();
        match groups.iter_mut().find(|(other, _)| *other == title) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((title, vec![row])),
        }
    }
    groups
}

fn table(rows: &[Row]) -> String {
    let mut html = "<div class=\"wide\"><table>\n<tr><th>problem</th><th>kernel</th><th>isa</th><th>threads</th>\
         <th>median</th><th>least</th><th>spread</th><th>GB/s</th><th>roofline</th><th>%</th></tr>\n"
        .to_owned();
    for row in rows {
        let times = &row.measured.times;
        let _ = writeln!(
            html,
            "<tr><td><code>{}</code></td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.0} %</td>\
             <td>{:.1}</td><td>{}</td><td>{:.0}</td></tr>",
            escaped(&row.problem.to_string()),
            escaped(row.explanation.kernel),
            row.explanation.isa,
            row.explanation.threads,
            console::seconds(times.median()),
            console::seconds(times.min()),
            times.spread() * 100.0,
            row.gb_per_s(),
            console::seconds(row.roofline_seconds()),
            row.share_of_roofline() * 100.0,
        );
    }
    html + "</table></div>\n"
}

/// A text in which no character means anything to HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::escaped;

    /// Oracle: the HTML standard.
    #[test]
    fn texts_cannot_become_markup() {
        assert_eq!(escaped("<a href=\"x\">&"), "&lt;a href=&quot;x&quot;&gt;&amp;");
    }
}
