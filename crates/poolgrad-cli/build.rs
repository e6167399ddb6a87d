//! Tells the program which compiler and which commit it was made with: a measurement without them means little.

use std::process::Command;

fn main() {
    let compiler = std::env::var("RUSTC").ok().and_then(|rustc| first_line(&rustc, &["--version"]));
    println!("cargo:rustc-env=POOLGRAD_COMPILER={}", compiler.unwrap_or_else(|| "unknown".into()));
    // Without git, or outside a checkout, there is no commit to tell.
    let commit = first_line("git", &["describe", "--always", "--dirty", "--exclude", "*"]);
    println!("cargo:rustc-env=POOLGRAD_COMMIT={}", commit.unwrap_or_else(|| "unknown".into()));
    // The log grows with each commit and each change of branch, the index with each file that is staged.
    for path in ["logs/HEAD", "index"] {
        if let Some(path) = first_line("git", &["rev-parse", "--path-format=absolute", "--git-path", path]) {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    println!("cargo:rerun-if-changed=build.rs");
}

/// The first line that a program prints, if it succeeds.
fn first_line(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.lines().next().map(str::to_owned))?
}
