//! How tensors of a Python type are read, found out once for each type.

use std::sync::{Mutex, PoisonError};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyType;

use super::dlpack::{self, ExchangeApi};

/// How tensors of a type are read.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// Through `__array_struct__`: NumPy's arrays. It says what DLPack does not: byte order, and `bfloat16`.
    Array,
    /// Through DLPack's C interface.
    Exchange(&'static ExchangeApi, Family),
    /// Through `__dlpack__`.
    Protocol,
    /// Not at all.
    Other,
}

/// What is known of a type with DLPack's C interface.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    /// PyTorch's tensor itself: its tensors are never read-only.
    Torch,
    /// A class derived from it, which may have methods of its own.
    TorchDerived,
    /// Another library's.
    Foreign,
}

/// The most types that are remembered. They are never forgotten, so a program that makes types in a loop must not fill
/// the memory; types beyond these are looked at anew each time.
const MOST_TYPES: usize = 64;

/// The types seen so far. Locked for moments only and never while Python code runs, so that nobody waits for it who
/// holds the interpreter.
static SEEN: Mutex<Vec<(Py<PyType>, Kind)>> = Mutex::new(Vec::new());

/// How to read `object`.
pub(super) fn kind_of(object: &Bound<'_, PyAny>) -> PyResult<Kind> {
    let address = object.get_type_ptr();
    let seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    let found = seen.iter().find(|(seen, _)| seen.as_ptr() == address.cast()).map(|(_, kind)| *kind);
    drop(seen);
    match found {
        Some(kind) => Ok(kind),
        None => examine(&object.get_type()),
    }
}

#[cold]
fn examine(kind: &Bound<'_, PyType>) -> PyResult<Kind> {
    let py = kind.py();
    let kind_found = if kind.hasattr(intern!(py, "__array_struct__"))? {
        Kind::Array
    } else if let Some(api) = dlpack::exchange_api(kind)? {
        Kind::Exchange(api, family(kind)?)
    } else if kind.hasattr(intern!(py, "__dlpack__"))? {
        Kind::Protocol
    } else {
        Kind::Other
    };
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    if seen.len() < MOST_TYPES {
        seen.push((kind.clone().unbind(), kind_found));
    }
    Ok(kind_found)
}

fn family(kind: &Bound<'_, PyType>) -> PyResult<Family> {
    for (distance, base) in kind.mro().iter().enumerate() {
        let Ok(base) = base.cast::<PyType>() else { continue };
        if base.name()? == "Tensor" && base.module()? == "torch" {
            return Ok(if distance == 0 { Family::Torch } else { Family::TorchDerived });
        }
    }
    Ok(Family::Foreign)
}
