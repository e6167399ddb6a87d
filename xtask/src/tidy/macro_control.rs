//! Rule: the body of a `macro_rules!` holds no `return`, no loop and no unsafe code.

use super::Finding;
use super::mask::{block_len, has_word, words};
use super::tree::Tree;

/// What a line of a macro holds that it should not.
fn decides(code: &str) -> Option<&'static str> {
    let is_loop = |(at, word): (usize, &str)| match word {
        "loop" | "while" => true,
        // `impl Trait for Type` is no loop, and neither is `for<'a>`.
        "for" => has_word(&code[at..], "in"),
        _ => false,
    };
    if has_word(code, "return") {
        Some("`return`")
    } else if has_word(code, "unsafe") {
        Some("`unsafe`")
    } else if words(code).any(is_loop) {
        Some("a loop")
    } else {
        None
    }
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        let code = &file.rust.code;
        for first in (0..code.len()).filter(|&i| has_word(&code[i], "macro_rules")) {
            let body = &code[first..first + block_len(code, first)];
            for (line, code) in (first..).zip(body) {
                if let Some(what) = decides(code) {
                    let remedy = format!("a macro holds {what}: call a generic function from the macro instead");
                    findings.push(Finding::new(&file.path, line + 1, remedy));
                }
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
    fn jumps_and_loops_are_found_in_macros_only() {
        let text = "//! A.
macro_rules! good {
    ($t:ty) => {
        impl<'a> Row for $t { fn f(&self) where for<'b> F: Fn(&'b u8) { g() } }
    };
}
macro_rules! bad {
    ($e:expr) => {
        for i in 0..3 { f(i) }
        while $e {}
        if $e { return 3; }
        loop { unsafe { f() } }
    };
}
fn outside() { for i in 0..3 { return; } }
";
        assert_eq!(places(check, &[("a.rs", text)]), ["a.rs:9", "a.rs:10", "a.rs:11", "a.rs:12"]);
    }
}
