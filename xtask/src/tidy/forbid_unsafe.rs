//! Rule: the rooms that only compute forbid unsafe code by themselves.

use super::Finding;
use super::tree::Tree;

/// The files that must carry the attribute.
const ROOMS: &[&str] = &["crates/poolgrad/src/geometry/mod.rs", "crates/poolgrad/src/kernels/mod.rs"];

const ATTRIBUTE: &str = "#![forbid(unsafe_code)]";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for &room in ROOMS {
        let Some(file) = tree.files().find(|file| file.path == room) else {
            findings.push(Finding::new(room, 1, "the room is gone: bring it back, or change this rule's list"));
            continue;
        };
        if !file.rust.code.iter().any(|line| line.trim() == ATTRIBUTE) {
            let remedy = format!("add `{ATTRIBUTE}` below the first sentence");
            findings.push(Finding::new(room, 1, remedy));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::places;

    // Oracle: the attribute, present, in a comment only, or with its file gone.
    #[test]
    fn the_attribute_has_to_be_code() {
        let good = "//! A.\n#![forbid(unsafe_code)]\n";
        let bad = "//! A.\n// #![forbid(unsafe_code)]\n";
        let [geometry, kernels] = ROOMS else { unreachable!() };
        assert!(places(check, &[(geometry, good), (kernels, good)]).is_empty());
        assert_eq!(places(check, &[(geometry, bad)]), [format!("{geometry}:1"), format!("{kernels}:1")]);
    }
}
