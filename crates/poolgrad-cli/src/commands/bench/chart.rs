//! A bar chart as inline SVG: a bar for each row, with a mark where memory alone would end.

use std::fmt::Write;

use super::row::Row;
use crate::console;

const WIDTH: f64 = 900.0;
const LINE: f64 = 22.0;
/// Where bars begin, and the most that they may take, so that a label fits on either side.
const LEFT: f64 = 220.0;
const LENGTH: f64 = 500.0;

/// The chart of rows whose times can be compared.
pub(super) fn chart(rows: &[&Row]) -> String {
    let longest =
        rows.iter().map(|row| row.seconds().max(row.roofline_seconds())).fold(f64::MIN_POSITIVE, f64::max);
    let length = |seconds: f64| seconds / longest * LENGTH;
    let height = LINE * rows.len() as f64 + 4.0;
    let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"bar chart\">\n");
    for (i, row) in rows.iter().enumerate() {
        let top = LINE * i as f64 + 4.0;
        let (bar, mark) = (length(row.seconds()), LEFT + length(row.roofline_seconds()));
        let text = top + 12.5;
        let share = row.share_of_roofline() * 100.0;
        let time = console::seconds(row.seconds());
        // Whatever stands in a row is made of names and numbers of ours; nothing needs to be escaped.
        let _ = write!(
            svg,
            "<g><title>{}: {time}, memory alone {}, {:.1} GB/s, {}</title>\n\
             <text class=\"name\" x=\"{:.1}\" y=\"{text:.1}\" text-anchor=\"end\">{}</text>\n\
             <rect class=\"{}\" x=\"{LEFT}\" y=\"{top:.1}\" width=\"{bar:.1}\" height=\"16\" rx=\"2\"/>\n\
             <line class=\"roof\" x1=\"{mark:.1}\" x2=\"{mark:.1}\" y1=\"{:.1}\" y2=\"{:.1}\"/>\n\
             <text x=\"{:.1}\" y=\"{text:.1}\">{time} · {share:.0} %</text></g>\n",
            row.problem,
            console::seconds(row.roofline_seconds()),
            row.gb_per_s(),
            row.explanation.kernel,
            LEFT - 8.0,
            label(row, rows),
            row.problem.dtype,
            top - 2.0,
            top + 18.0,
            LEFT + bar.max(length(row.roofline_seconds())) + 8.0,
        );
    }
    svg + "</svg>\n"
}

/// What tells a row from the others of its chart.
fn label(row: &Row, rows: &[&Row]) -> String {
    let mut label = row.problem.dtype.to_string();
    if let Some(index) = row.index_dtype() {
        label += &format!("/{index}");
    }
    label += &format!(" {}", row.layout());
    if rows.iter().any(|other| other.threads != row.threads) {
        label += &format!(" · {} thread{}", row.threads, if row.threads == 1 { "" } else { "s" });
    }
    if rows.iter().any(|other| other.explanation.isa != row.explanation.isa) {
        label += &format!(" · {}", row.explanation.isa);
    }
    label
}
