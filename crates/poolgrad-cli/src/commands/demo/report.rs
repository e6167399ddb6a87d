//! The demo's results as a table and as JSON.

use std::path::PathBuf;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use poolgrad::{Direction, Sizes};
use serde_json::{Value, json};

use super::measure::Row;
use crate::console;

/// The table: a row for each operator, direction and type.
pub(super) fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_BORDERS_ONLY).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header([
        "operator",
        "direction",
        "shapes",
        "dtype",
        "kernel",
        "time",
        "GB/s",
        "largest error",
        "allowed",
        "verdict",
    ]);
    for row in rows {
        table.add_row([
            row.name.to_owned(),
            direction(row).to_owned(),
            format!("{} -> {}", crosses(&row.from), crosses(&row.to)),
            row.dtype.to_string(),
            row.kernel.to_owned(),
            console::seconds(row.seconds),
            format!("{:.1}", row.gb_per_s()),
            error(row.comparison.max_error),
            error(row.comparison.tolerance),
            verdict(row).to_owned(),
        ]);
    }
    for column in 5..9 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// The same as JSON, with the pictures' paths.
pub(super) fn json(rows: &[Row], pictures: &[PathBuf]) -> Value {
    let row = |row: &Row| {
        json!({
            "operator": row.name,
            "direction": direction(row),
            "from": row.from[..],
            "to": row.to[..],
            "dtype": row.dtype.name(),
            "kernel": row.kernel,
            "seconds": row.seconds,
            "bytes": row.n_bytes,
            "gb_per_s": row.gb_per_s(),
            "max_error": row.comparison.max_error,
            "tolerance": row.comparison.tolerance,
            "n_wrong": row.comparison.n_wrong,
            "verdict": verdict(row),
        })
    };
    let pictures: Vec<_> = pictures.iter().map(|path| path.to_string_lossy()).collect();
    json!({"results": rows.iter().map(row).collect::<Vec<_>>(), "pictures": pictures})
}

/// Where a wrong result is wrong, on one line.
pub(super) fn complaint(row: &Row) -> String {
    let worst = row.comparison.worst.map_or_else(String::new, |worst| format!(", the worst: {worst}"));
    let n_wrong = row.comparison.n_wrong;
    format!("{} {} {}: {n_wrong} elements are wrong{worst}", row.name, direction(row), row.dtype)
}

fn direction(row: &Row) -> &'static str {
    match row.direction {
        Direction::Forward => "forward",
        Direction::Gradient => "gradient",
    }
}

fn verdict(row: &Row) -> &'static str {
    if row.comparison.passed() { "right" } else { "WRONG" }
}

fn error(error: f64) -> String {
    if error == 0.0 { "0".into() } else { format!("{error:.1e}") }
}

/// A shape as `1x2x24x96x128`.
fn crosses(shape: &Sizes) -> String {
    let sizes: Vec<_> = shape.iter().map(i64::to_string).collect();
    sizes.join("x")
}
