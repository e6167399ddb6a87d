//! Test counts, read from the lines that test programs print last: cargo's `test result:`, and pytest's summary.

use std::fmt;

/// How many tests passed, failed and were skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl Counts {
    /// Adds what `line` reports, if it is the last line of a test program.
    pub(crate) fn read(&mut self, line: &str) {
        let Some((_, result)) = line.trim_start().split_once("test result: ") else {
            return self.read_pytest(line);
        };
        // `ok. 3 passed; 0 failed; 1 ignored; …`: the first part carries the verdict in front of its number.
        for part in result.split(';') {
            let mut words = part.split_whitespace().rev();
            let (Some(what), Some(number)) = (words.next(), words.next()) else {
                continue;
            };
            let Ok(number) = number.parse::<u64>() else {
                continue;
            };
            match what {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.skipped += number,
                _ => {}
            }
        }
    }

    /// Adds what pytest's last line reports: `3 passed, 1 skipped in 0.52s`, with or without a frame of `=`.
    fn read_pytest(&mut self, line: &str) {
        let Some((result, time)) = line.trim_matches(|c: char| c == '=' || c.is_whitespace()).rsplit_once(" in ")
        else {
            return;
        };
        let is_time = time.starts_with(|c: char| c.is_ascii_digit())
            && time.split(' ').next().is_some_and(|time| time.ends_with('s'));
        // Every part has to be a number and a word, so that a sentence is not taken for a summary.
        let part = |part: &str| {
            let (number, what) = part.split_once(' ')?;
            (!what.contains(' ')).then_some((number.parse::<u64>().ok()?, what.to_owned()))
        };
        let Some(parts) = result.split(", ").map(part).collect::<Option<Vec<_>>>().filter(|_| is_time) else {
            return;
        };
        for (number, what) in parts {
            match what.as_str() {
                "passed" => self.passed += number,
                // An error is a failure outside of a test's own lines.
                "failed" | "error" | "errors" => self.failed += number,
                "skipped" => self.skipped += number,
                _ => {}
            }
        }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Oracle: lines as libtest prints them, counted by hand.
    #[test]
    fn result_lines_add_up() {
        let mut counts = Counts::default();
        for line in [
            "running 4 tests",
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 7 filtered out; finished in 0.10s",
            "test names::test_result ... ok",
            "test result: FAILED. 5 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s",
        ] {
            counts.read(line);
        }
        assert_eq!(counts.to_string(), "8 passed, 2 failed, 1 skipped");
    }

    // Oracle: lines as pytest prints them, and lines that only look like them, counted by hand.
    #[test]
    fn summaries_of_pytest_add_up() {
        let mut counts = Counts::default();
        for line in [
            "218 passed, 2 skipped in 15.95s\n",
            "===== 1 failed, 3 passed, 1 deselected, 2 warnings, 1 error in 61.20s (0:01:01) =====",
            "1 skipped in 0.10s",
            "no tests ran in 0.01s",
            "5 passed tests were found in 3s",
            "3 passed, as we said in 2 words",
            "SKIPPED [1] python/tests/a.py:3: 7 passed in between",
        ] {
            counts.read(line);
        }
        assert_eq!(counts.to_string(), "221 passed, 2 failed, 3 skipped");
    }
}
