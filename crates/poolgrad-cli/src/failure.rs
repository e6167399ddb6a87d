//! How a command ends badly: one line that says why, and an exit code.

use std::fmt;
use std::path::Path;
use std::process::ExitCode;

/// Why a command did not succeed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line makes no sense; nothing was done. Exit code 2.
    Usage(String),
    /// The work cannot be finished, or its answer is "no". Exit code 1.
    Work(String),
}

impl Failure {
    /// A command line that clap refuses, on one line. A call for help is answered, and ends the program.
    pub(crate) fn from_usage(error: clap::Error) -> Self {
        if !error.use_stderr() {
            error.exit();
        }
        let text = error.render().to_string();
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let lines = lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"));
        let message: Vec<_> = lines.collect();
        let message = message.join(" ");
        let message = message.strip_prefix("error: ").unwrap_or(&message);
        Self::Usage(format!("{message} (--help explains)"))
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }

    pub(crate) fn work(message: impl Into<String>) -> Self {
        Self::Work(message.into())
    }

    /// A failure of the operating system, with the file that it is about.
    pub(crate) fn file(path: &Path, error: &std::io::Error) -> Self {
        Self::Work(format!("{}: {error}", path.display()))
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Usage(_) => ExitCode::from(2),
            Self::Work(_) => ExitCode::from(1),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Usage(message) | Self::Work(message)) = self;
        // File names and texts from files may hold anything; the message stays on one line.
        for character in message.chars() {
            if character.is_control() {
                write!(f, "{}", character.escape_default())?;
            } else {
                write!(f, "{character}")?;
            }
        }
        Ok(())
    }
}
