//! Rule: `unsafe` stands only in the files that are known to hold it.

use super::Finding;
use super::mask::has_word;
use super::tree::{Tree, numbered};

/// The files and folders that may hold unsafe code.
const ADDRESSES: &[&str] = &[
    "crates/poolgrad/src/tensor/raw.rs",
    "crates/poolgrad/src/tensor/raw/",
    "crates/poolgrad/src/simd/bf16.rs",
    "crates/poolgrad/src/exec/floats.rs",
    "crates/poolgrad/src/exec/stream.rs",
    "crates/poolgrad/src/exec/stream/",
    "crates/poolgrad-acl/src/ffi/",
    "crates/poolgrad-acl/src/api/",
    "crates/poolgrad-py/src/tensor/",
    "crates/poolgrad-cli/src/formats/map.rs",
    "benches/peers/capi/src/lib.rs",
];

/// Tests may break the rules that they test.
fn may_be_unsafe(path: &str) -> bool {
    let at_address = |address: &str| path == address || (address.ends_with('/') && path.starts_with(address));
    ADDRESSES.iter().any(|address| at_address(address)) || path.split('/').any(|folder| folder == "tests")
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust().filter(|file| !may_be_unsafe(&file.path)) {
        for (line, code) in numbered(&file.rust.code) {
            if has_word(code, "unsafe") {
                let remedy = format!("write it without `unsafe`, or move it to one of {}", ADDRESSES.join(", "));
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
    fn unsafe_code_is_found_outside_its_addresses_only() {
        let block = "//! A.\n#![forbid(unsafe_code)]\n// unsafe is only a word here\nfn f() { unsafe { g() } }\n";
        let files = [
            ("crates/poolgrad/src/kernels/rows.rs", block),
            ("crates/poolgrad/src/tensor/raw.rs", block),
            ("crates/poolgrad/src/tensor/rawer.rs", block),
            ("crates/poolgrad-acl/src/ffi/handle.rs", block),
            ("crates/poolgrad/tests/errors.rs", block),
        ];
        assert_eq!(
            places(check, &files),
            ["crates/poolgrad/src/kernels/rows.rs:4", "crates/poolgrad/src/tensor/rawer.rs:4"]
        );
    }
}
