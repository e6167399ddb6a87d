//! `cargo xtask test`: everything a change has to pass, in the order in which it is cheapest to fail.

use crate::Failure;
use crate::python;
use crate::steps::{ALL_BUT_SSE4_2, Step, only_sse4_2, run_all};

/// Runs every check of the workspace and ends with one line of counts.
///
/// # Errors
/// If an argument is given, or a step fails.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    if let Some(argument) = arguments.first() {
        let message = format!("takes no arguments, got {argument:?}; to run some tests only, use `cargo test`");
        return Err(message.into());
    }
    run_all(&steps())
}

/// The steps, in order.
fn steps() -> Vec<Step> {
    let mut steps = cargo_steps();
    // Last, since what breaks the crates breaks the package too, and cargo says it better.
    steps.extend(python::steps());
    steps
}

/// The steps that need cargo only.
fn cargo_steps() -> Vec<Step> {
    vec![
        Step::cargo(
            "format",
            "fmt --all --check",
            "run `cargo fmt --all`; if cargo has no `fmt`, run `rustup component add rustfmt` first",
        ),
        Step::cargo(
            "lints",
            "clippy --workspace --all-targets -- -D warnings",
            "mend the lints above; if cargo has no `clippy`, run `rustup component add clippy` first",
        ),
        Step::cargo(
            "house rules",
            "run --quiet --package xtask -- tidy",
            "mend the lines above; `cargo xtask tidy --rules` explains each rule",
        ),
        // Kernels of one ISA level are left to the serial tests: without them all others compile in three quarters of the time.
        Step::cargo(
            "tests",
            "test --workspace --no-fail-fast",
            "repeat one test with `cargo test -p CRATE --test FILE NAME`",
        )
        .with("RUSTFLAGS", ALL_BUT_SSE4_2),
        // A crate that the tests use may turn the feature on again behind our back, and then the next step would
        // test nothing new.
        Step::cargo(
            "serial build is serial",
            "tree --package poolgrad --no-default-features --edges features,normal,dev --invert poolgrad",
            "a test dependency turns `rayon` on: let it depend on poolgrad with `default-features = false`",
        )
        .without("poolgrad feature \"rayon\""),
        // Only the library and the integration tests: documentation examples do not differ without threads. Kernels are
        // compiled for one ISA level, the one that the tests above leave out: what differs without threads is above them.
        // A folder of its own keeps these builds from replacing the ordinary ones.
        Step::cargo(
            "serial tests",
            "test --package poolgrad --no-default-features --lib --tests --no-fail-fast --target-dir target/serial",
            "the library must also work without the `rayon` feature",
        )
        .with("RUSTFLAGS", only_sse4_2()),
        // Libraries only: the program shares its name with the library, and its page would replace the other.
        Step::cargo("documents", "doc --workspace --lib --no-deps", "mend the warnings of rustdoc above")
            .with("RUSTDOCFLAGS", "-D warnings"),
    ]
}
