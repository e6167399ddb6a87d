//! Data buffers: an address and a size.

use std::sync::Mutex;

use crate::ffi::handle::{Object, Registry};
use crate::ffi::memory::Memory;

/// Memory of the program's own, and how long it is.
#[derive(Debug)]
pub(crate) struct Buffer(pub(crate) Mutex<(Memory, usize)>);

impl Object for Buffer {
    const NAME: &'static str = "data buffer";
    const KIND: usize = 11;
    fn registry() -> &'static Registry<Self> {
        static BUFFERS: Registry<Buffer> = Registry::new();
        &BUFFERS
    }
}
