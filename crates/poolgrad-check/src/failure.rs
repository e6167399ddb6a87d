//! Failures: what went wrong with a problem, where, and how to see it again.

use std::fmt;

use poolgrad::{Error, Sizes};

use crate::compare::{Comparison, Mismatch};
use crate::problem::Problem;
use crate::reference::windows::NoOutput;

/// What went wrong.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Fault {
    /// The problem has no output by the reference's arithmetic.
    NoOutput(NoOutput),
    /// The problem is too large for the reference.
    TooLarge {
        /// The most elements that a tensor may have.
        most: i64,
    },
    /// The library produces an output of another shape.
    OutputShape {
        /// The shape by the reference's arithmetic.
        wanted: Sizes,
        /// The library's shape, or its error.
        got: Result<Sizes, Error>,
    },
    /// The library refuses the problem.
    Plan(Error),
    /// The library fails to run the problem.
    Execute(Error),
    /// An element of an output was not written.
    Unwritten {
        /// The output.
        tensor: &'static str,
        /// The position `[n, c, d, h, w]`.
        position: [usize; 5],
    },
    /// Memory outside an output was written.
    Stray {
        /// The output.
        tensor: &'static str,
        /// The place in the output's buffer.
        place: usize,
        /// The place of the output's first element.
        origin: usize,
    },
    /// Values are wrong.
    Values {
        /// What they were compared with.
        oracle: &'static str,
        /// How far they are away.
        comparison: Comparison,
    },
    /// Indices are wrong.
    Indices {
        /// How far they are away.
        comparison: Comparison,
    },
    /// Two runs that must have the same bits do not.
    Bits {
        /// The first element that differs.
        mismatch: Mismatch,
    },
}

impl From<NoOutput> for Box<Fault> {
    fn from(none: NoOutput) -> Self {
        Box::new(Fault::NoOutput(none))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wrong = |f: &mut fmt::Formatter<'_>, comparison: &Comparison| {
            write!(f, "{} elements are wrong", comparison.n_wrong)?;
            match &comparison.worst {
                Some(worst) => write!(f, ", the worst: {worst} (tolerance {:e})", comparison.tolerance),
                None => Ok(()),
            }
        };
        match self {
            Self::NoOutput(problem) => problem.fmt(f),
            Self::TooLarge { most } => {
                write!(f, "a tensor has more than {most} elements, too many for the reference")
            }
            Self::OutputShape { wanted, got: Ok(got) } => {
                write!(f, "the library's output has shape {got}, the reference's {wanted}")
            }
            Self::OutputShape { wanted, got: Err(error) } => {
                write!(f, "the library has no output ({error}), the reference one of shape {wanted}")
            }
            Self::Plan(error) => write!(f, "planning failed: {error}"),
            Self::Execute(error) => write!(f, "execution failed: {error}"),
            Self::Unwritten { tensor, position: [n, c, d, h, w] } => {
                write!(f, "{tensor} was not written at n = {n}, c = {c}, [{d}, {h}, {w}]")
            }
            Self::Stray { tensor, place, origin } => write!(
                f,
                "memory outside {tensor} was written: place {place} of a buffer in which {tensor} starts at {origin}"
            ),
            Self::Values { oracle, comparison } => {
                write!(f, "compared with {oracle}: ")?;
                wrong(f, comparison)
            }
            Self::Indices { comparison } => {
                f.write_str("indices: ")?;
                wrong(f, comparison)
            }
            Self::Bits { mismatch } => write!(f, "two runs differ: {mismatch}"),
        }
    }
}

/// A problem that failed. The text says what is wrong, where, and the line that shows it again.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// The problem.
    pub problem: Box<Problem>,
    /// What is wrong.
    pub fault: Box<Fault>,
    /// How the library ran it, as the plan says; empty if it did not.
    pub run: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { problem, fault, run } = self;
        write!(f, "{fault}\n  reproduce: {problem}")?;
        if run.is_empty() { Ok(()) } else { write!(f, "\n  as run: {run}") }
    }
}

impl Failure {
    /// A failure of a problem that did not come to run.
    pub(crate) fn new(problem: &Problem, fault: Fault) -> Self {
        Self { problem: Box::new(problem.clone()), fault: Box::new(fault), run: String::new() }
    }

    /// This failure, with what the plan of the run said of itself.
    pub(crate) fn with_run(self, run: String) -> Self {
        Self { run, ..self }
    }
}

impl std::error::Error for Failure {}
