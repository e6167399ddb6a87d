//! Arguments for the tests of this room, and what becomes of a request.

use super::{Arg, ListArg, Request};
use crate::fault::Outcome;
use crate::objects::tensor::{DataType, Format, Shape, View};

/// A contiguous tensor of a type and a format.
pub(super) fn view(dims: &[i64], dtype: DataType, format: Format) -> View {
    let shape = Shape { dims: dims.into(), strides: View::contiguous(dims), storage_dims: dims.into() };
    View::new(shape, 0, dtype, format)
}

/// An argument called `name`.
pub(super) fn arg<'a>(name: &'static str, view: &'a View) -> Arg<'a> {
    Arg { name, view }
}

/// A list called `name`.
pub(super) fn list<'a>(name: &'static str, values: &'a [i64]) -> ListArg<'a> {
    ListArg { name, values }
}

/// What becomes of a request when it is planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// There is something to compute.
    Runs,
    /// There is nothing to compute.
    Idle,
    /// It is refused with this code.
    Refused(i32),
}

/// Plans a request; a refusal has to say `text`.
pub(super) fn fate(request: Outcome<Request>, text: &str) -> Fate {
    match request.and_then(|request| request.plan(&poolgrad::PlanOptions::default())) {
        Ok(Some(_)) => Fate::Runs,
        Ok(None) => Fate::Idle,
        Err(fault) => {
            assert!(!text.is_empty() && fault.text.contains(text), "{:?} does not say {text:?}", fault.text);
            Fate::Refused(fault.code)
        }
    }
}
