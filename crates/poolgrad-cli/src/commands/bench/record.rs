//! Records: results in files that say on what, with what and from what they were made.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::report;
use super::row::Row;
use crate::failure::Failure;
use crate::formats::save_bytes;
use crate::machine;

/// The circumstances of a measurement, with their names.
pub(super) fn circumstances() -> [(&'static str, String); 6] {
    let caches: Vec<_> = machine::caches().iter().map(machine::Cache::to_string).collect();
    [
        ("date", today()),
        ("processor", machine::processor()),
        ("processors", machine::n_processors().to_string()),
        ("caches", if caches.is_empty() { "unknown".into() } else { caches.join(", ") }),
        ("compiler", env!("POOLGRAD_COMPILER").into()),
        ("commit", env!("POOLGRAD_COMMIT").into()),
    ]
}

/// Writes `<date>-<processor>-<commit>.json` and `.md` into `folder`.
///
/// # Errors
/// If the folder cannot be made or a file cannot be written.
pub(super) fn write(folder: &Path, rows: &[Row]) -> Result<[PathBuf; 2], Failure> {
    std::fs::create_dir_all(folder).map_err(|error| Failure::file(folder, &error))?;
    let circumstances = circumstances();
    let value_of = |name| circumstances.iter().find(|(other, _)| *other == name).map_or("", |(_, value)| value);
    let words = ["date", "processor", "commit"].map(|name| slug(value_of(name)));
    let paths = ["json", "md"].map(|ending| folder.join(format!("{}.{ending}", words.join("-"))));
    let mut object: serde_json::Map<String, Value> =
        circumstances.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    object.insert("results".into(), rows.iter().map(Row::json).collect());
    let facts: String = circumstances.iter().map(|(name, value)| format!("- {name}: {value}\n")).collect();
    save_bytes(&paths[0], format!("{:#}\n", Value::from(object)).as_bytes())?;
    save_bytes(&paths[1], format!("{facts}\n{}\n", report::markdown(rows)).as_bytes())?;
    Ok(paths)
}

/// A text as part of a file name.
fn slug(text: &str) -> String {
    let kept =
        |character: char| if character.is_ascii_alphanumeric() { character.to_ascii_lowercase() } else { '-' };
    let text: String = text.chars().map(kept).collect();
    let words: Vec<_> = text.split('-').filter(|word| !word.is_empty()).collect();
    words.join("-")
}

/// The date in UTC, `2026-01-31`.
fn today() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    date(since.as_secs() / 86_400)
}

/// The date so many days after the first of January 1970.
fn date(mut days: u64) -> String {
    let is_leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    format!("{year}-{:02}-{:02}", month + 1, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: the calendar.
    #[test]
    fn days_become_dates() {
        let cases = [(0, "1970-01-01"), (58, "1970-02-28"), (59, "1970-03-01"), (11_016, "2000-02-29")];
        for (days, want) in cases.into_iter().chain([(11_322, "2000-12-31"), (11_323, "2001-01-01")]) {
            assert_eq!(date(days), want);
        }
    }

    /// Oracle: by hand.
    #[test]
    fn names_of_files_are_plain() {
        assert_eq!(slug("AMD EPYC 9B45 (x86/64)"), "amd-epyc-9b45-x86-64");
        assert_eq!(slug("../.."), "");
    }
}
