//! `cargo xtask asan`: the core's tests under AddressSanitizer.

use std::process::Command;

use crate::Failure;
use crate::steps::{Step, run_all};

/// Builds the core and its tests with AddressSanitizer and runs them.
///
/// # Errors
/// If the compiler cannot be asked for its target, or a test or the sanitizer complains.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let mut step = Step::cargo(
        "address sanitizer",
        // Naming the target keeps the flags away from build scripts and macros, which run inside the compiler. A
        // folder of its own keeps these builds from replacing the ordinary ones.
        "test --package poolgrad --lib --tests --no-fail-fast --target-dir target/asan",
        "read the sanitizer's report above",
    )
    // Sanitizers are an unstable flag; this variable lets the stable compiler take it.
    .with("RUSTC_BOOTSTRAP", "1")
    .with("RUSTFLAGS", "-Zsanitizer=address")
    // A test asks for more memory than there is, and has to see the allocation fail instead of the program.
    .with("ASAN_OPTIONS", "allocator_may_return_null=1");
    step.command.extend(["--target".into(), host()?]);
    step.command.extend_from_slice(arguments);
    run_all(&[step])
}

/// The target that this machine's compiler builds for by default.
pub(crate) fn host() -> Result<String, String> {
    let output = Command::new("rustc")
        .arg("-vV")
        .output()
        .map_err(|error| format!("`rustc -vV` did not start ({error})"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines()
        .find_map(|line| line.strip_prefix("host: "))
        .map(str::to_owned)
        .ok_or_else(|| format!("`rustc -vV` names no host: {text:?}"))
}

#[cfg(test)]
mod tests {
    // Oracle: the form of target names.
    #[test]
    fn the_host_is_a_target_name() {
        let host = super::host().unwrap();
        assert!(host.split('-').count() >= 3, "{host}");
    }
}
