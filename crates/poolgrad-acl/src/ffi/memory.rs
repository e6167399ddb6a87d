//! Memory behind addresses: blocks of the library's own, and the only places where bytes are read and written.

use std::alloc::{Layout as Extent, alloc_zeroed, dealloc};
use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

use poolgrad::{TensorDesc, TensorView, TensorViewMut};

/// An address that C passed, or that this library gave out. Whoever passes it for reading or writing signs that the
/// bytes the function names are there, except where they are found to lie outside an allocation of this library.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Memory(*mut c_void);

// SAFETY: an address is a number; using what lies there is signed for where it is passed.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    pub(crate) const NULL: Self = Self(ptr::null_mut());

    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    pub(crate) fn addr(self) -> usize {
        self.0.addr()
    }

    /// The address `bytes` further on.
    pub(crate) fn offset(self, bytes: isize) -> Self {
        Self(self.0.wrapping_byte_offset(bytes))
    }
}

/// The alignment of every block.
const ALIGNMENT: usize = 64;

/// Zeroed memory, freed when it is dropped.
#[derive(Debug)]
pub(crate) struct Block {
    start: *mut u8,
    extent: Extent,
}

// SAFETY: a block owns plain bytes; it only gives away their address.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

impl Block {
    /// `None` if there is no memory for `bytes` bytes, of which there must be one at least.
    pub(crate) fn new(bytes: usize) -> Option<Self> {
        let extent = Extent::from_size_align(bytes, ALIGNMENT).ok().filter(|extent| extent.size() > 0)?;
        // SAFETY: the size is not zero.
        let start = unsafe { alloc_zeroed(extent) };
        (!start.is_null()).then_some(Self { start, extent })
    }

    pub(crate) fn memory(&self) -> Memory {
        Memory(self.start.cast())
    }

    pub(crate) fn len(&self) -> usize {
        self.extent.size()
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: `start` was allocated with `extent` and is freed only here.
        unsafe { dealloc(self.start, self.extent) }
    }
}

/// Copies bytes, which may overlap.
pub(crate) fn copy(to: Memory, from: Memory, bytes: usize) {
    // SAFETY: the C caller signed that `bytes` bytes may be read and written at the two addresses; the runtime has
    // checked it for its own allocations and keeps them alive meanwhile. `copy` allows overlap.
    unsafe { ptr::copy(from.0.cast::<u8>(), to.0.cast::<u8>(), bytes) }
}

/// Sets bytes.
pub(crate) fn fill(to: Memory, value: u8, bytes: usize) {
    // SAFETY: as for `copy`, for the address written to.
    unsafe { ptr::write_bytes(to.0.cast::<u8>(), value, bytes) }
}

/// Sets 32-bit words.
pub(crate) fn fill_words(to: Memory, value: u32, words: usize) {
    for i in 0..words {
        // SAFETY: as for `copy`, for the address written to; `write_unaligned` needs no alignment.
        unsafe { to.0.cast::<u32>().wrapping_add(i).write_unaligned(value) }
    }
}

/// A tensor to read, whose element `[0, 0, …]` is at `origin`.
pub(crate) fn view<'a>(origin: Memory, desc: &TensorDesc) -> TensorView<'a> {
    // SAFETY: the C caller signed that the tensor's elements are there until the stream has got past the launch; the
    // launch has checked it for allocations of this library, and holds on to those.
    unsafe { TensorView::from_raw_parts(origin.0, desc.dtype, desc.layout) }
}

/// A tensor to write, whose element `[0, 0, …]` is at `origin`.
pub(crate) fn view_mut<'a>(origin: Memory, desc: &TensorDesc) -> TensorViewMut<'a> {
    // SAFETY: as for `view`, and that nothing else uses an output meanwhile.
    unsafe { TensorViewMut::from_raw_parts(origin.0, desc.dtype, desc.layout) }
}

/// The workspace of a launch.
pub(crate) fn workspace<'a>(start: Memory, bytes: usize) -> &'a mut [u8] {
    if bytes == 0 {
        return &mut [];
    }
    // SAFETY: as for `view_mut`: the C caller signed that these bytes are there and serve nothing else meanwhile. The
    // launch refuses one that lies in an operand. Fresh memory may be read as bytes: it came from outside Rust.
    unsafe { std::slice::from_raw_parts_mut(start.0.cast(), bytes) }
}

/// A copy of `values` that C++ ends with `delete[]`; `None` if there is no memory.
///
/// Memory for `delete[]` has to come from `operator new[]`, which only a C++ program has. It is looked for in the
/// process; without one the program is C, and frees with `free`.
pub(crate) fn for_delete(values: &[i64]) -> Option<Owned> {
    type New = unsafe extern "C" fn(usize) -> *mut c_void;
    unsafe extern "C" {
        fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
        fn malloc(bytes: usize) -> *mut c_void;
    }
    static NEW: OnceLock<New> = OnceLock::new();
    let new = NEW.get_or_init(|| {
        // SAFETY: the name ends in a zero; a null library means those that the program has loaded.
        let found = unsafe { dlsym(ptr::null_mut(), c"_Znam".as_ptr()) };
        if found.is_null() {
            return malloc;
        }
        // SAFETY: this is the platform's name of `void *operator new[](unsigned long)`.
        unsafe { std::mem::transmute::<*mut c_void, New>(found) }
    });
    // SAFETY: both functions take any size; one byte at least keeps `malloc` from returning null for none.
    let start = unsafe { new(size_of_val(values).max(1)) }.cast::<i64>();
    if start.is_null() {
        return None;
    }
    // SAFETY: `start` is fresh memory for as many values, aligned for any type.
    unsafe { ptr::copy_nonoverlapping(values.as_ptr(), start, values.len()) };
    Some(start)
}

/// Memory that is C's to free.
pub(crate) type Owned = *mut i64;

/// A `size_t`, a `c_int`: what C calls these is what they are here.
const _: () =
    assert!(size_of::<c_int>() == 4 && size_of::<usize>() == 8, "the interface is that of 64-bit systems");
