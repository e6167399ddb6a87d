//! Rule: only a few files name a processor architecture.

use super::Finding;
use super::mask::words;
use super::tree::{Tree, numbered};

/// The files that may; each of them has a portable way as well.
const ADDRESSES: &[&str] = &[
    "crates/poolgrad/src/simd.rs",
    "crates/poolgrad/src/simd/bf16.rs",
    "crates/poolgrad/src/simd/permute.rs",
    "crates/poolgrad/src/simd/rows.rs",
    "crates/poolgrad/src/exec/floats.rs",
    "crates/poolgrad/src/exec/stream.rs",
    "crates/poolgrad/src/exec/stream/ahead.rs",
];

/// Words that tie code to an architecture. `arch` counts after `core::` or `std::` only.
const WORDS: &[&str] = &["target_arch", "target_feature", "is_x86_feature_detected", "is_aarch64_feature_detected"];

fn names_architecture(code: &str) -> bool {
    words(code).any(|(at, word)| {
        let module = word == "arch" && (code[..at].ends_with("core::") || code[..at].ends_with("std::"));
        module || WORDS.contains(&word)
    })
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust().filter(|file| !ADDRESSES.contains(&file.path.as_str())) {
        for (line, code) in numbered(&file.rust.code) {
            if names_architecture(code) {
                let remedy = format!("write it for every processor, or move it to {}", ADDRESSES.join(" or "));
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
    fn architectures_are_found_outside_their_addresses() {
        let text = "//! A core::arch in words.\n#[cfg(target_arch = \"x86_64\")]\nuse core::arch::x86_64;\nuse arch::b;\n\
                    #[target_feature(enable = \"avx2\")]\n";
        assert_eq!(
            places(check, &[("crates/poolgrad/src/kernels/rows.rs", text), (ADDRESSES[0], text)]),
            [2, 3, 5].map(|line| format!("crates/poolgrad/src/kernels/rows.rs:{line}"))
        );
    }
}
