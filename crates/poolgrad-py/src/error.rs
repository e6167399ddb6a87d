//! Errors of the core as the exceptions that Python expects, in Python's words.

use poolgrad::{Argument, DType, Direction, Error, LayoutError, TensorDesc};
use pyo3::PyErr;
use pyo3::exceptions::{PyIndexError, PyMemoryError, PyTypeError, PyValueError};

/// An argument as the functions of the package spell it: what a forward pass writes is passed as `out`.
pub(crate) const fn spelled(argument: Argument, direction: Direction) -> &'static str {
    match (argument, direction) {
        (Argument::Output, _) => "out",
        (Argument::Indices, Direction::Forward) => "indices_out",
        _ => argument.name(),
    }
}

/// The exception for an error: `IndexError` for an index that points nowhere, `TypeError` for element types,
/// `MemoryError` where memory ran out, `ValueError` for all else.
pub(crate) fn exception(error: &Error, direction: Direction) -> PyErr {
    let spelled = |argument| spelled(argument, direction);
    let message = match error {
        Error::WrongDType { argument, wanted, got } => {
            let wanted: Vec<_> = wanted.iter().map(|&dtype| name(dtype)).collect();
            format!("{} must have element type {}, got {}", spelled(*argument), wanted.join(" or "), name(*got))
        }
        Error::DTypesDiffer { argument, got, other, wanted } => format!(
            "{} must have the element type of {}, which is {}, got {}",
            spelled(*argument),
            spelled(*other),
            name(*wanted),
            name(*got)
        ),
        Error::VolumeTooLarge { volume, dtype } => format!(
            "{} of type {} cannot count the {volume} elements of a volume; use int64",
            spelled(Argument::Indices),
            name(*dtype)
        ),
        Error::NotAsPlanned { argument, wanted, got } => {
            format!("{} must be as planned, {}, got {}", spelled(*argument), described(wanted), described(got))
        }
        _ => error.message(&spelled),
    };
    match error {
        Error::IndexOutOfRange { .. } => PyIndexError::new_err(message),
        Error::WrongDType { .. } | Error::DTypesDiffer { .. } => PyTypeError::new_err(message),
        Error::Layout { problem: LayoutError::OutOfMemory { .. }, .. } => PyMemoryError::new_err(message),
        _ => PyValueError::new_err(message),
    }
}

/// The name that NumPy and PyTorch give an element type.
pub(crate) fn name(dtype: DType) -> &'static str {
    match dtype {
        DType::F32 => "float32",
        DType::F64 => "float64",
        DType::F16 => "float16",
        DType::BF16 => "bfloat16",
        DType::I32 => "int32",
        DType::I64 => "int64",
        _ => dtype.name(),
    }
}

fn described(desc: &TensorDesc) -> String {
    format!("{} {}", name(desc.dtype), desc.layout)
}
