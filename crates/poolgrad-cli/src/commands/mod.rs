//! The commands, one file or folder each.

mod bench;
mod check;
mod demo;
mod info;
mod problems;
mod run;
mod ways;

use crate::cli::Command;
use crate::failure::Failure;

/// Runs a command to its end.
pub(crate) fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Info(arguments) => info::run(&arguments),
    }
}
