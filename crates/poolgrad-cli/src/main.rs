//! The command line of poolgrad: the demo, operators on files, conformance problems, measurements, and facts about the machine.
#![deny(unsafe_code)]

mod cli;
mod commands;
mod console;
mod failure;
mod formats;
mod machine;
mod picture;
mod progress;

use std::process::ExitCode;

use clap::Parser;
use failure::Failure;

fn main() -> ExitCode {
    let result = cli::Arguments::try_parse().map_err(Failure::from_usage);
    match result.and_then(|arguments| commands::run(arguments.command.unwrap_or_default())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            console::error(&failure);
            failure.exit_code()
        }
    }
}
