//! Rule: a source file stops at 500 lines, test modules inside it apart.

use super::Finding;
use super::mask::test_modules;
use super::tree::{File, Tree};

const LIMIT: usize = 500;

/// The lines of a file without its test modules.
fn size(file: &File) -> usize {
    let n_test_lines: usize = test_modules(&file.rust.code).iter().map(ExactSizeIterator::len).sum();
    file.text.lines().count() - n_test_lines
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let sources = tree.rust().chain(tree.ending(".py"));
    let too_long = sources.filter(|file| size(file) > LIMIT).map(|file| {
        let remedy = format!("{} lines without tests, at most {LIMIT}: part it by subject", size(file));
        Finding::new(&file.path, LIMIT + 1, remedy)
    });
    too_long.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::places;

    // Oracle: files made of a known number of lines.
    #[test]
    fn tests_do_not_count() {
        let line = "const A: u8 = 0;\n";
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", line.repeat(300));
        let files = [
            ("full.rs", line.repeat(500) + &tests),
            ("over.rs", line.repeat(501)),
            ("over.py", line.repeat(501)),
            ("long.md", line.repeat(900)),
        ];
        let files: Vec<_> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
        assert_eq!(places(check, &files), ["over.rs:501", "over.py:501"]);
    }
}
