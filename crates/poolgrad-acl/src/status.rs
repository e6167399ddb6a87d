//! The table from errors of the core to codes.

use poolgrad::{Argument, Error};

use crate::codes;
use crate::fault::Fault;

/// How an operator spells the core's arguments.
pub(crate) type Spelling = fn(Argument) -> &'static str;

/// An error of planning, in the words and the code of CANN: everything that can be known in phase 1 has one.
pub(crate) fn fault(error: &Error, spelling: Spelling) -> Fault {
    Fault::new(codes::NN_PARAM_INVALID, error.message(&spelling))
}

/// An error of a launch over `n_spatial` axes, which fails its stream. The core counts positions on three axes; a 2-D
/// operator has two.
pub(crate) fn launch_fault(error: &Error, spelling: Spelling, n_spatial: usize) -> Fault {
    let mut fault = fault(error, spelling);
    fault.code = codes::RT_VECTOR_CORE_EXCEPTION;
    if let Error::IndexOutOfRange { n, c, position, value, volume } = error {
        fault.text = format!(
            "{} must be at least 0 and below {volume}, got {value} at n = {n}, c = {c}, output position {:?}",
            spelling(Argument::Indices),
            &position[3 - n_spatial..]
        );
    }
    fault
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
    fn a_launch_says_the_position_on_the_axes_of_its_operator() {
        let bad = Error::IndexOutOfRange { n: 0, c: 1, position: [0, 3, 2], value: 6, volume: 4 };
        let fault = |n_spatial| launch_fault(&bad, |argument| argument.name(), n_spatial);
        assert_eq!(fault(2).code, codes::RT_VECTOR_CORE_EXCEPTION);
        let text = "indices must be at least 0 and below 4, got 6 at n = 0, c = 1, output position";
        assert_eq!(fault(2).text, format!("{text} [3, 2]"));
        assert_eq!(fault(3).text, format!("{text} [0, 3, 2]"));
        let unaligned = Error::Misaligned { argument: Argument::GradInput, wanted: 4 };
        let fault = launch_fault(&unaligned, |argument| argument.name(), 3);
        assert_eq!((fault.code, fault.text), (codes::RT_VECTOR_CORE_EXCEPTION, unaligned.to_string()));
    }
}
