//! The table from errors of the core to codes.

use poolgrad::{Argument, Error};

use crate::codes;
use crate::fault::Fault;

/// How an operator spells the core's arguments.
pub(crate) type Spelling = fn(Argument) -> &'static str;

/// An error of planning or of execution, in the words and codes of CANN.
pub(crate) fn fault(error: &Error, spelling: Spelling) -> Fault {
    Fault::new(code(error), error.message(&spelling))
}

/// Everything that can be known in phase 1 is one code there; what only shows when a launch runs fails its stream.
fn code(error: &Error) -> i32 {
    match error {
        Error::IndexOutOfRange { .. } | Error::Misaligned { .. } | Error::NotAsPlanned { .. } => {
            codes::RT_VECTOR_CORE_EXCEPTION
        }
        _ => codes::NN_PARAM_INVALID,
    }
}

/// Whether an error is about a parameter list, and so is one for an empty tensor too.
pub(crate) fn concerns_parameter(error: &Error) -> bool {
    match error {
        Error::WrongLength { .. } | Error::PaddingTooLarge { .. } => true,
        // The output size of an adaptive gradient is a tensor's.
        Error::TooSmall { argument, .. } | Error::TooLarge { argument, .. } => *argument != Argument::OutputSize,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_spelled_as_the_operator_does() {
        let error = Error::PaddingTooLarge { axis: 1, most: 1, got: 2 };
        let fault = fault(&error, |argument| match argument {
            Argument::KernelSize => "kernelSize",
            other => other.name(),
        });
        assert_eq!(fault.code, codes::NN_PARAM_INVALID);
        assert_eq!(fault.text, "padding[1] must be at most half of kernelSize, which is 1, got 2");
    }

    #[test]
    fn what_only_a_launch_can_find_fails_the_stream() {
        let bad = Error::IndexOutOfRange { n: 0, c: 1, position: [0, 0, 2], value: 6, volume: 4 };
        assert_eq!(code(&bad), codes::RT_VECTOR_CORE_EXCEPTION);
        assert_eq!(code(&Error::WorkspaceTooSmall { wanted: 64, got: 0 }), codes::NN_PARAM_INVALID);
    }
}
