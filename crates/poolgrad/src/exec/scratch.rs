//! Scratch memory: typed rows carved from the bytes of a workspace, without allocation and without `unsafe`.

use zerocopy::{FromBytes, IntoBytes};

/// Where rows begin: a cache line, so that no two of them share one and every element type is aligned.
const LINE: usize = 64;

/// The bytes to book for a row of `len` elements of type `T`, wherever the workspace begins.
pub(crate) const fn booked<T>(len: usize) -> usize {
    len.saturating_mul(size_of::<T>()).saturating_add(LINE - 1) / LINE * LINE + LINE
}

/// Bytes that rows are taken from, one after the other.
pub(crate) struct Scratch<'a> {
    rest: &'a mut [u8],
    is_new: bool,
}

impl<'a> Scratch<'a> {
    pub(crate) fn new(bytes: &'a mut [u8]) -> Self {
        Self { rest: bytes, is_new: true }
    }

    /// The same for one tile after the other; `is_new` for the first of them.
    pub(crate) fn of_tile(bytes: &'a mut [u8], is_new: bool) -> Self {
        Self { rest: bytes, is_new }
    }

    /// Whether rows hold whatever the bytes did; if not, what the same rows were left with after the tile before.
    pub(crate) fn is_new(&self) -> bool {
        self.is_new
    }

    /// A row of `len` elements, with whatever values the bytes hold.
    ///
    /// # Panics
    /// If the bytes do not suffice: whoever books them uses [`booked`] for each row.
    #[inline(always)]
    pub(crate) fn row<T: FromBytes + IntoBytes>(&mut self, len: usize) -> &'a mut [T] {
        let rest = std::mem::take(&mut self.rest);
        let skew = rest.as_ptr().addr().next_multiple_of(LINE) - rest.as_ptr().addr();
        let (row, rest) = rest[skew..].split_at_mut(len * size_of::<T>());
        self.rest = rest;
        <[T]>::mut_from_bytes(row).unwrap_or_else(|_| panic!("rows begin on a line and have whole elements"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_fit_what_was_booked_wherever_the_bytes_begin() {
        let mut bytes = vec![0u8; 4096];
        for start in 0..130 {
            let need = booked::<f64>(3) + booked::<u16>(0) + booked::<f32>(17);
            let mut scratch = Scratch::new(&mut bytes[start..start + need]);
            assert_eq!(scratch.row::<f64>(3).len(), 3);
            assert_eq!(scratch.row::<u16>(0).len(), 0);
            let row = scratch.row::<f32>(17);
            assert_eq!((row.len(), row.as_ptr().addr() % LINE), (17, 0));
        }
    }
}
