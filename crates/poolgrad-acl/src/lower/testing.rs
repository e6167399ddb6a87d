//! Arguments for the tests of this room.

use super::{Arg, ListArg};
use crate::objects::tensor::{DataType, Format, View};

/// A contiguous view.
pub(super) fn view(dims: &[i64], dtype: DataType, format: Format) -> View {
    View { dims: dims.into(), strides: View::contiguous(dims), offset: 0, dtype, format, storage_dims: dims.into() }
}

pub(super) fn arg<'a>(name: &'static str, view: &'a View) -> Arg<'a> {
    Arg { name, view }
}

pub(super) fn list<'a>(name: &'static str, values: &'a [i64]) -> ListArg<'a> {
    ListArg { name, values }
}
