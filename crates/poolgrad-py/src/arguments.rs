//! Parameters: Python ints and tuples of them as the core's lists of numbers.

use poolgrad::{Argument, Direction, MAX_AXES, Sizes};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyList, PyTuple};

use crate::error::exception;

/// The numbers of a parameter: an int, or a tuple or list of ints.
///
/// # Errors
/// `TypeError` for anything else, bools included; `ValueError` for a number or a list that is too large.
pub(crate) fn sizes(value: &Bound<'_, PyAny>, argument: Argument) -> PyResult<Sizes> {
    let mut numbers = [0; MAX_AXES];
    let mut fill = |items: &mut dyn Iterator<Item = Bound<'_, PyAny>>, len: usize| {
        if len > MAX_AXES {
            let most = if argument == Argument::Input { "5 axes" } else { "3 numbers" };
            return Err(PyValueError::new_err(format!("{argument} must have at most {most}, got {len}")));
        }
        // A list may change its length while a number's `__index__` runs, so its items are counted as they come.
        let mut n_items = 0;
        for (number, item) in numbers.iter_mut().zip(items) {
            *number = integer(&item, &|| format!("{argument}[{n_items}]"))?;
            n_items += 1;
        }
        Ok(n_items)
    };
    let n_items = if let Ok(tuple) = value.cast::<PyTuple>() {
        fill(&mut tuple.iter(), tuple.len())?
    } else if let Ok(list) = value.cast::<PyList>() {
        fill(&mut list.iter(), list.len())?
    } else {
        let number = integer(value, &|| argument.name().to_owned())?;
        return Ok(Sizes::from(number));
    };
    Sizes::try_from(&numbers[..n_items]).map_err(|problem| exception(&problem.of(argument), Direction::Forward))
}

/// The number of threads that a caller allows; 0, or nothing, leaves it to the library.
pub(crate) fn threads(value: Option<&Bound<'_, PyAny>>) -> PyResult<usize> {
    let Some(value) = value else { return Ok(0) };
    let got = integer(value, &|| "threads".to_owned())?;
    usize::try_from(got).map_err(|_| PyValueError::new_err(format!("threads must be at least 0, got {got}")))
}

/// The number of spatial axes.
pub(crate) fn n_spatial(value: &Bound<'_, PyAny>) -> PyResult<usize> {
    let got = integer(value, &|| "n_spatial".to_owned())?;
    let n_spatial = usize::try_from(got).ok().filter(|n_spatial| (1..=3).contains(n_spatial));
    n_spatial.ok_or_else(|| PyValueError::new_err(format!("n_spatial must be 1, 2 or 3, got {got}")))
}

/// A Python int, or what has `__index__`; `what` names it in messages.
fn integer(value: &Bound<'_, PyAny>, what: &dyn Fn() -> String) -> PyResult<i64> {
    let wrong = || {
        let kind = value.get_type();
        PyTypeError::new_err(format!("{} must be an int or a tuple of ints, got {kind}", what()))
    };
    if value.is_instance_of::<PyBool>() {
        return Err(wrong());
    }
    value.extract::<i64>().map_err(|error| {
        let py = value.py();
        if error.is_instance_of::<PyOverflowError>(py) {
            PyValueError::new_err(format!("{} must fit 64 bits, got {value}", what()))
        } else if error.is_instance_of::<PyTypeError>(py) {
            wrong()
        } else {
            error
        }
    })
}
