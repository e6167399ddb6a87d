//! The results as a table for the terminal, as a Markdown table, and in one paragraph.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use poolgrad::DType;

use super::bandwidth::cached_bytes;
use super::row::Row;
use crate::console;

/// The columns that belong to every row, and the two that are only there if rows differ in them.
const COLUMNS: [&str; 7] = ["problem", "kernel", "threads", "time", "spread", "GB/s", "% of roofline"];

/// The first column that holds numbers.
const FIRST_NUMBER: usize = 2;

/// The table for a terminal.
pub(super) fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_BORDERS_ONLY).set_content_arrangement(ContentArrangement::Dynamic);
    let header = header(rows);
    let n_columns = header.len();
    table.set_header(header);
    table.add_rows(rows.iter().map(|row| cells(row, rows)));
    for column in FIRST_NUMBER..n_columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// The table for a document.
pub(super) fn markdown(rows: &[Row]) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let header = header(rows);
    let rule = (0..header.len()).map(|column| if column < FIRST_NUMBER { "---" } else { "---:" }.into()).collect();
    let body = rows.iter().map(|row| {
        let mut cells = cells(row, rows);
        cells[0] = format!("`{}`", cells[0]);
        line(cells)
    });
    let text: String = [line(header), line(rule)].into_iter().chain(body).collect();
    format!("{text}\n{}", summary(rows))
}

fn header(rows: &[Row]) -> Vec<String> {
    let more = [(has_speedups(rows), "speed-up"), (has_levels(rows), "isa")];
    let more = more.into_iter().filter_map(|(is_there, name)| is_there.then_some(name));
    COLUMNS.into_iter().chain(more).map(str::to_owned).collect()
}

fn cells(row: &Row, rows: &[Row]) -> Vec<String> {
    let threads = if row.threads == row.explanation.threads {
        row.threads.to_string()
    } else {
        format!("{} of {}", row.explanation.threads, row.threads)
    };
    let mut cells = vec![
        row.problem.to_string(),
        row.explanation.kernel.to_owned(),
        threads,
        console::seconds(row.seconds()),
        format!("{:.0} %", row.measured.times.spread() * 100.0),
        format!("{:.1}", row.gb_per_s()),
        format!("{:.0}", row.share_of_roofline() * 100.0),
    ];
    cells.extend(has_speedups(rows).then(|| format!("{:.2}", row.speedup())));
    cells.extend(has_levels(rows).then(|| row.explanation.isa.to_string()));
    cells
}

/// Whether a problem was timed in several ways.
fn has_speedups(rows: &[Row]) -> bool {
    rows.windows(2).any(|pair| pair[0].problem == pair[1].problem)
}

fn has_levels(rows: &[Row]) -> bool {
    rows.iter().any(|row| row.explanation.isa != rows[0].explanation.isa)
}

/// What the rows say together: the memory, and how near to it the library comes.
pub(super) fn summary(rows: &[Row]) -> String {
    let mut threads: Vec<_> = rows.iter().map(|row| row.threads).collect();
    threads.sort_unstable();
    threads.dedup();
    let lines = threads.into_iter().map(|threads| {
        let rows: Vec<_> = rows.iter().filter(|row| row.threads == threads).collect();
        let mean = |value: &dyn Fn(&Row) -> f64| geometric_mean(rows.iter().map(|row| value(row)));
        let read = mean(&|row| row.measured.bandwidth.read / 1e9);
        let write = mean(&|row| row.measured.bandwidth.write / 1e9);
        let threads = if threads == 1 { "1 thread".into() } else { format!("{threads} threads") };
        format!("{threads}: memory reads {read:.1} GB/s and writes {write:.1} GB/s{}.", shares(&rows))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The geometric mean of the shares of the roofline for each type, over outputs that no cache holds.
fn shares(rows: &[&Row]) -> String {
    let cache = cached_bytes();
    let share = |dtype: DType| {
        let large = rows.iter().filter(|row| row.problem.dtype == dtype && cache < row.n_bytes_written);
        let shares: Vec<_> = large.map(|row| row.share_of_roofline()).collect();
        let n_problems = shares.len();
        let mean = geometric_mean(shares.into_iter()) * 100.0;
        (0 < n_problems).then(|| format!("{dtype} {mean:.0} % ({n_problems})"))
    };
    let shares: Vec<_> = DType::FLOATS.into_iter().filter_map(share).collect();
    if shares.is_empty() {
        return String::new();
    }
    format!("; outputs beyond the last-level cache reach, of the roofline, {}", shares.join(", "))
}

/// The mean that treats twice as fast and half as fast as opposites; NaN of nothing.
fn geometric_mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n_values = values.len() as f64;
    (values.map(f64::ln).sum::<f64>() / n_values).exp()
}

#[cfg(test)]
mod tests {
    use super::geometric_mean;

    /// Oracle: by hand.
    #[test]
    fn opposites_cancel() {
        assert!((geometric_mean([0.5, 2.0, 1.0].into_iter()) - 1.0).abs() < 1e-12);
        assert!((geometric_mean([4.0, 9.0].into_iter()) - 6.0).abs() < 1e-12);
    }
}
