//! The demo's results as a table and as JSON.

use std::path::PathBuf;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use poolgrad::{Direction, Sizes};
use serde_json::{Value, json};

use super::measure::Row;
use crate::console;

/// The table: a row for each operator and direction, with a line for each type.
///
/// `rows` have the types of an operator and direction one after the other.
pub(super) fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    // Lines of neighbouring cells belong together, so cells are never wrapped.
    table.load_style(presets::UTF8_HORIZONTAL_ONLY).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header([
        "operator and shapes",
        "dtype",
        "kernel",
        "time",
        "GB/s",
        "largest error",
        "allowed",
        "verdict",
    ]);
    for types in rows.chunk_by(|one, other| (one.name, one.direction) == (other.name, other.direction)) {
        let Some(row) = types.first() else { continue };
        let about = format!("{}\n{}\n{} -> {}", row.name, direction(row), crosses(&row.from), crosses(&row.to));
        let lines = |cell: fn(&Row) -> String| types.iter().map(cell).collect::<Vec<_>>().join("\n");
        table.add_row([
            about,
            lines(|row| row.dtype.to_string()),
            lines(|row| row.kernel.to_owned()),
            lines(|row| console::seconds(row.seconds)),
            lines(|row| format!("{:.1}", row.gb_per_s())),
            lines(|row| error(row.comparison.max_error)),
            lines(|row| error(row.comparison.tolerance)),
            lines(|row| verdict(row).to_owned()),
        ]);
    }
    for column in 3..7 {
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
