//! Windows: which input positions each output position sees, and the other way round.
#![forbid(unsafe_code)]

mod axis;
mod volume;

pub(crate) use axis::{AxisWindows, FixedTaps, Window};
pub(crate) use volume::Geometry;
