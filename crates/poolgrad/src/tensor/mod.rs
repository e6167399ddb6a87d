//! Tensors as the library sees them: a type, a shape, strides, and memory that somebody else owns.

mod layout;
pub(crate) mod lift;
pub(crate) mod overlap;
mod owned;
pub(crate) mod partition;
pub(crate) mod raw;
mod sizes;
mod view;

pub use layout::{Layout, LayoutError};
pub use owned::Tensor;
pub use sizes::{MAX_AXES, Sizes};
pub use view::{TensorDesc, TensorView, TensorViewMut};
