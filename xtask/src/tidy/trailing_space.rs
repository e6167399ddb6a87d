//! Rule: no line ends with space, and every file ends with one line break.

use super::Finding;
use super::tree::{Tree, numbered};

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files() {
        for (line, text) in numbered(file.text.split('\n')) {
            if text.ends_with(char::is_whitespace) {
                findings.push(Finding::new(&file.path, line, "take the space off the end of the line"));
            }
        }
        let n_lines = file.text.split('\n').count();
        if !file.text.is_empty() && (!file.text.ends_with('\n') || file.text.ends_with("\n\n")) {
            findings.push(Finding::new(&file.path, n_lines, "end the file with exactly one line break"));
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
    fn space_at_the_end_is_found() {
        let files = [
            ("good.md", "a\n\nb\n"),
            ("empty.md", ""),
            ("space.md", "a \nb\t\n"),
            ("dos.md", "a\r\n"),
            ("cut.md", "a\nb"),
            ("long.md", "a\n\n"),
        ];
        assert_eq!(places(check, &files), ["space.md:1", "space.md:2", "dos.md:1", "cut.md:2", "long.md:3"]);
    }
}
