//! Chores of the workspace, as `cargo xtask CHORE`: plain Rust without dependencies, so that cargo is all they need.
#![forbid(unsafe_code)]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line program talks on its standard streams"
)]

mod asan;
mod counts;
mod dist;
mod python;
mod steps;
mod test;
mod tidy;

use std::path::PathBuf;
use std::process::ExitCode;

/// One command of this program.
struct Chore {
    name: &'static str,
    summary: &'static str,
    /// Does the chore; arguments after the chore's name are passed on.
    run: fn(&[String]) -> Result<(), Failure>,
}

/// Why a chore failed.
#[derive(Debug)]
enum Failure {
    /// This message is still to be printed.
    Say(String),
    /// Everything has been printed; what stands last has to stay last.
    Told,
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self::Say(message)
    }
}

/// Every chore there is; `--help` prints this table.
const CHORES: &[Chore] = &[
    Chore {
        name: "test",
        summary: "everything a change has to pass: format, lints, house rules, tests, serial tests, documents, Python",
        run: test::run,
    },
    Chore {
        name: "tidy",
        summary: "the house rules that no compiler knows; `tidy --rules` lists them",
        run: tidy::run,
    },
    Chore {
        name: "asan",
        summary: "the core's tests under AddressSanitizer; arguments go to `cargo test`",
        run: asan::run,
    },
    Chore {
        name: "dist",
        summary: "the C library as an install tree for CANN programs: `dist --out DIR`",
        run: dist::run,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = arguments.split_first() else {
        eprint!("{}", help());
        return ExitCode::from(2);
    };
    if matches!(name.as_str(), "--help" | "-h" | "help") {
        print!("{}", help());
        return ExitCode::SUCCESS;
    }
    let Some(chore) = CHORES.iter().find(|chore| chore.name == name) else {
        eprint!("xtask: no chore is called {name:?}\n\n{}", help());
        return ExitCode::from(2);
    };
    match (chore.run)(rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if let Failure::Say(message) = failure {
                eprintln!("xtask {name}: {message}");
            }
            ExitCode::FAILURE
        }
    }
}

/// What `--help` prints.
fn help() -> String {
    let mut text = String::from("Usage: cargo xtask CHORE [ARGUMENTS]\n\nChores:\n");
    for chore in CHORES {
        text += &format!("  {:<6} {}\n", chore.name, chore.summary);
    }
    text
}

/// The folder of the workspace.
fn workspace() -> PathBuf {
    let mut folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    folder.pop();
    folder
}

#[cfg(test)]
mod tests {
    use super::*;

    // Oracle: the table itself.
    #[test]
    fn help_lists_every_chore() {
        let help = help();
        for chore in CHORES {
            assert!(help.contains(&format!("  {:<6} {}", chore.name, chore.summary)));
        }
    }
}
