//! What a command prints: lines and JSON on standard output, errors on standard error.
//!
//! A reader who has seen enough closes the pipe (`poolgrad info | head -1`). That is no failure and must not change
//! the exit code, so what can no longer be written is dropped.

use std::io::{ErrorKind, Write, stderr, stdout};
use std::path::Path;

use serde_json::Value;

use crate::failure::Failure;

/// Prints a line.
///
/// # Errors
/// If it cannot be written although somebody reads: a full disk loses results.
pub(crate) fn line(text: impl std::fmt::Display) -> Result<(), Failure> {
    match writeln!(stdout().lock(), "{text}") {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::file(Path::new("standard output"), &error))
        }
        _ => Ok(()),
    }
}

/// Prints a JSON value over several lines.
///
/// # Errors
/// As [`line()`].
pub(crate) fn json(value: &Value) -> Result<(), Failure> {
    line(indented(value, 0))
}

/// A JSON value with a line for each entry, except in lists of plain values, which are shapes.
fn indented(value: &Value, depth: usize) -> String {
    let plain = |value: &Value| !value.is_array() && !value.is_object();
    let (entries, open, close): (Vec<_>, _, _) = match value {
        Value::Object(entries) if !entries.is_empty() => {
            let entry = |(name, value): (&String, &Value)| {
                format!("{}: {}", Value::from(name.as_str()), indented(value, depth + 1))
            };
            (entries.iter().map(entry).collect(), '{', '}')
        }
        Value::Array(entries) if !entries.iter().all(plain) => {
            (entries.iter().map(|value| indented(value, depth + 1)).collect(), '[', ']')
        }
        Value::Array(entries) => {
            let entries: Vec<_> = entries.iter().map(Value::to_string).collect();
            return format!("[{}]", entries.join(", "));
        }
        plain => return plain.to_string(),
    };
    let (outer, inner) = ("  ".repeat(depth), "  ".repeat(depth + 1));
    format!("{open}\n{inner}{}\n{outer}{close}", entries.join(&format!(",\n{inner}")))
}

/// Prints a remark that is no result.
pub(crate) fn note(text: impl std::fmt::Display) {
    let _ = writeln!(stderr().lock(), "{text}");
}

/// Prints why a command failed.
pub(crate) fn error(failure: &Failure) {
    note(format_args!("error: {failure}"));
}

/// A count with its unit, in steps of a thousand: `1.5 GB`.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    let mut unit = 0;
    let mut value = count as f64;
    while value >= 999.95 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    if unit == 0 { format!("{count} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

/// A duration that a person can read: `1.23 ms`.
pub(crate) fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.1} us", s * 1e6),
        s if s < 1.0 => format!("{:.2} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

#[cfg(test)]
mod tests {
    // Oracle: serde_json reads back what was written.
    #[test]
    fn json_is_indented_without_change() {
        let value = serde_json::json!({
            "a": [1, 2, 3], "b": [], "c": {}, "d": [{"e\n": null}, [1.5]], "f": "\"", "g": [[]],
        });
        let text = super::indented(&value, 0);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
        assert!(text.contains("\n  \"a\": [1, 2, 3],\n"), "{text}");
    }

    // Oracle: by hand.
    #[test]
    fn amounts_are_readable() {
        let counts = [0, 999, 1000, 999_949, 999_951, 1_500_000_000, u64::MAX];
        let texts = counts.map(super::bytes);
        assert_eq!(texts, ["0 B", "999 B", "1.0 kB", "999.9 kB", "1.0 MB", "1.5 GB", "18446744.1 TB"]);
        let texts = [2e-6, 1.5e-3, 2.0].map(super::seconds);
        assert_eq!(texts, ["2.0 us", "1.50 ms", "2.00 s"]);
    }
}
