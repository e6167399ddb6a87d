//! What handles stand for: tensors, scalars, arrays, lists, buffers and executors.

pub(crate) mod array;
pub(crate) mod buffer;
pub(crate) mod executor;
pub(crate) mod launch;
pub(crate) mod list;
pub(crate) mod tensor;
