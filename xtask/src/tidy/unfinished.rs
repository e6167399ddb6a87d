//! Rule: nothing is left unfinished: no marker words, no stubs, no skipped tests.

use super::Finding;
use super::mask::{has_word, words};
use super::tree::{Tree, numbered};

/// Words by which people mark what they mean to come back to.
const MARKERS: &[&str] = &["TODO", "FIXME", "XXX", "HACK", "WIP"];

/// Macros that stand where code is missing.
const STUBS: &[&str] = &["todo", "unimplemented"];

/// What is wrong with a line of Rust code, if anything.
fn unfinished_code(code: &str) -> Option<String> {
    let stub = words(code).find(|&(at, word)| STUBS.contains(&word) && code[at + word.len()..].starts_with('!'));
    if let Some((_, word)) = stub {
        return Some(format!("`{word}!` stands for missing code: write it, or open an issue"));
    }
    // Also as `#[cfg_attr(…, ignore)]`.
    let skips = code.trim_start().starts_with("#[") && has_word(code, "ignore");
    skips.then(|| "a test that is skipped tests nothing: mend it or take it out".into())
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files() {
        let is_rust = file.path.ends_with(".rs");
        // In Rust the markers are looked for in comments, so that this rule may name them in its table.
        let lines: Vec<&str> = if is_rust {
            file.rust.comments.iter().map(String::as_str).collect()
        } else {
            file.text.lines().collect()
        };
        for (line, text) in numbered(lines) {
            if let Some(marker) = MARKERS.iter().find(|marker| has_word(text, marker)) {
                let remedy = format!("finish what {marker} announces, or open an issue for it");
                findings.push(Finding::new(&file.path, line, remedy));
            }
        }
        for (line, code) in numbered(&file.rust.code) {
            if let Some(remedy) = unfinished_code(code) {
                findings.push(Finding::new(&file.path, line, remedy));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::places;

    // Oracle: the places marked by hand.
    #[test]
    fn markers_stubs_and_skipped_tests_are_found() {
        let rust = "//! A.
// TODO later
const MARKER: &str = \"TODO\";
fn f() { todo!() }
fn g() { let todo = 1; self::unimplemented!(\"x\") }
#[ignore = \"slow\"]
#[cfg_attr(miri, ignore)]
fn ignore() {}
";
        let files = [("a.rs", rust), ("b.py", "x = 1  # FIXME\ntodo = 2\n"), ("c.md", "fine\n")];
        assert_eq!(places(check, &files), ["a.rs:2", "a.rs:4", "a.rs:5", "a.rs:6", "a.rs:7", "b.py:1"]);
    }
}
