//! Rule: every unsafe block and unsafe impl has its proof above it.

use super::Finding;
use super::mask::words;
use super::tree::{File, Tree, numbered};

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        for (line, code) in numbered(&file.rust.code) {
            for (at, word) in words(code) {
                let rest = code[at + word.len()..].trim_start();
                // `unsafe fn` makes a demand instead of a claim: its `# Safety` section is the compiler's business.
                let is_claim =
                    word == "unsafe" && (rest.starts_with('{') || rest.starts_with("impl") || rest.is_empty());
                if is_claim && !has_proof(file, line - 1) {
                    let remedy = "put a `// SAFETY:` comment right above it that names the check it rests on";
                    findings.push(Finding::new(&file.path, line, remedy));
                }
            }
        }
    }
    findings
}

/// Whether the comment above the statement that goes through line `at` (counted from 0), or one inside the statement,
/// is a proof.
fn has_proof(file: &File, at: usize) -> bool {
    let says_so = |line: usize| file.rust.comments[line].contains("SAFETY:");
    let mut line = at;
    let mut seen_comment = says_so(at);
    if seen_comment {
        return true;
    }
    while line > 0 {
        line -= 1;
        let code = file.rust.code[line].trim();
        let is_comment = code.is_empty() && !file.rust.comments[line].trim().is_empty();
        if is_comment {
            seen_comment = true;
            if says_so(line) {
                return true;
            }
            continue;
        }
        let is_attribute = code.starts_with("#[");
        let ends_statement = code.is_empty() || code.ends_with([';', '{', '}']);
        if seen_comment || (ends_statement && !is_attribute) {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::places;

    // Oracle: the places marked by hand.
    #[test]
    fn claims_without_a_proof_are_found() {
        let text = "//! A.
fn f() {
    // SAFETY: checked above, where
    // the length is compared.
    let a = unsafe { g() };
    let b = unsafe { g() };
    // Only a remark.
    let c = unsafe { g() };
    // SAFETY: of the whole statement.
    let d =
        h(1, unsafe { g() });
    // SAFETY: too far away.

    let e = unsafe { g() };
}
// SAFETY: plain numbers.
#[allow(dead_code)]
unsafe impl Send for T {}
unsafe impl Sync for T {}
/// # Safety
/// The caller signs.
unsafe fn demands() {}
";
        assert_eq!(places(check, &[("a.rs", text)]), ["a.rs:6", "a.rs:8", "a.rs:14", "a.rs:19"]);
    }
}
