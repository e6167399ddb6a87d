//! Pointer arguments of C functions: places to write to, values and lists to read, and texts.

use std::ffi::{CStr, c_char};

use super::handle::Codes;
use crate::fault::{Fault, Outcome};

/// A pointer through which a function returns a value: null, or valid for a write, as the header demands.
#[repr(transparent)]
#[derive(Debug)]
pub(crate) struct Out<T>(*mut T);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Out<T> {}

impl<T> Out<T> {
    /// The place, which has to be there.
    pub(crate) fn place(self, name: &str, codes: Codes) -> Outcome<Place<T>> {
        if self.0.is_null() { Err(null(name, codes)) } else { Ok(Place(self.0)) }
    }

    /// The place, if the caller wants the value.
    pub(crate) fn wanted(self) -> Option<Place<T>> {
        (!self.0.is_null()).then_some(Place(self.0))
    }

    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }
}

/// A pointer to write one value through.
#[derive(Debug)]
pub(crate) struct Place<T>(*mut T);

impl<T> Place<T> {
    pub(crate) fn set(self, value: T) {
        // SAFETY: the pointer came from the C caller, who signed that one that is not null is valid for a write, and
        // it was found not to be null. C promises no alignment beyond its type's, and none is needed here.
        unsafe { self.0.write_unaligned(value) }
    }
}

/// A pointer to values that the caller passes: null, or valid for reading as many as the function says.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct In<T>(*const T);

impl<T: Copy> In<T> {
    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The one value, which has to be there.
    pub(crate) fn get(self, name: &str, codes: Codes) -> Outcome<T> {
        if self.0.is_null() {
            return Err(null(name, codes));
        }
        // SAFETY: the pointer came from the C caller, who signed that one that is not null may be read, and it is not.
        Ok(unsafe { self.0.read_unaligned() })
    }

    /// A copy of `len` values; `None` if the pointer is null although there should be some.
    pub(crate) fn list(self, len: u64) -> Option<Box<[T]>> {
        if len == 0 {
            return Some(Box::default());
        }
        let len = usize::try_from(len).ok().filter(|len| len.checked_mul(size_of::<T>()).is_some_and(is_sane))?;
        let at = |i| {
            // SAFETY: the caller signed that a list that is not null has `len` values, and it is found not to be
            // null below, before this is called.
            unsafe { self.0.wrapping_add(i).read_unaligned() }
        };
        (!self.0.is_null()).then(|| (0..len).map(at).collect())
    }
}

/// Whether a list of so many bytes can exist: a length above is a negative number or a stray one.
fn is_sane(bytes: usize) -> bool {
    bytes < 1 << 32
}

/// A text of C: null, or ending in a zero.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text(*const c_char);

impl Text {
    /// The text, with whatever is no UTF-8 replaced; `None` for null.
    pub(crate) fn read(self) -> Option<String> {
        if self.0.is_null() {
            return None;
        }
        // SAFETY: the caller signed that a text that is not null ends in a zero and may be read until there.
        let text = unsafe { CStr::from_ptr(self.0) };
        Some(text.to_string_lossy().into_owned())
    }
}

/// A pointer to scalar bytes of a size that another argument gives.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes(*const u8);

impl Bytes {
    /// A copy of `len` bytes; `None` for null.
    pub(crate) fn copy(self, len: usize) -> Option<Box<[u8]>> {
        In(self.0).list(len as u64).filter(|_| !self.0.is_null())
    }
}

#[cold]
fn null(name: &str, codes: Codes) -> Fault {
    Fault::new(codes.null, format!("{name} must not be NULL"))
}
