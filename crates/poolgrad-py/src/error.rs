//! Errors of the core as the exceptions that Python expects.

use poolgrad::{DType, Error, LayoutError};
use pyo3::PyErr;
use pyo3::exceptions::{PyIndexError, PyMemoryError, PyTypeError, PyValueError};

/// The exception for an error: `IndexError` for an index that points nowhere, `TypeError` for element types,
/// `MemoryError` where memory ran out, `ValueError` for all else.
pub(crate) fn exception(error: &Error) -> PyErr {
    match error {
        Error::IndexOutOfRange { .. } => PyIndexError::new_err(error.to_string()),
        Error::WrongDType { argument, wanted, got } => {
            let wanted: Vec<_> = wanted.iter().map(|&dtype| name(dtype)).collect();
            let got = name(*got);
            PyTypeError::new_err(format!("{argument} must have element type {}, got {got}", wanted.join(" or ")))
        }
        Error::DTypesDiffer { argument, got, other, wanted } => PyTypeError::new_err(format!(
            "{argument} must have the element type of {other}, which is {}, got {}",
            name(*wanted),
            name(*got)
        )),
        Error::Layout { problem: LayoutError::OutOfMemory { .. }, .. } => PyMemoryError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
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
