//! Rule: every Rust file opens with a sentence that says what lives in it.

use super::Finding;
use super::tree::Tree;

/// Whether `text` opens with a module comment whose first paragraph is a sentence.
fn opens_with_a_sentence(text: &str) -> bool {
    let paragraph: Vec<&str> = text
        .lines()
        .map_while(|line| line.strip_prefix("//! "))
        .take_while(|line| !line.trim().is_empty())
        .collect();
    paragraph.join(" ").trim_end().ends_with(['.', ':', '?', '!'])
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let silent = tree.rust().filter(|file| !opens_with_a_sentence(&file.text));
    let remedy = "open the file with `//!` and a sentence that says what lives in it";
    silent.map(|file| Finding::new(&file.path, 1, remedy)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::places;

    // Oracle: openings judged by hand.
    #[test]
    fn the_opening_has_to_be_a_sentence() {
        let files = [
            ("good.rs", "//! Rows: fill,\n//! add.\n//!\n//! More\n"),
            ("empty.rs", ""),
            ("late.rs", "use a;\n//! Rows.\n"),
            ("label.rs", "//! rows\n"),
            ("blank.rs", "//!\n//! Rows.\n"),
        ];
        assert_eq!(places(check, &files), ["empty.rs:1", "late.rs:1", "label.rs:1", "blank.rs:1"]);
    }
}
