//! Words: elements as the numbers that their bits are, so that vectors of any element can be compared and put together.

use fearless_simd::{Simd, SimdInt, SimdIntElement};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use super::Sum;

/// An unsigned number as wide as an element.
pub(crate) trait Word: SimdIntElement + FromBytes + IntoBytes + Immutable + 'static {
    /// A vector of these, as wide as the registers of the level.
    type Vector<S: Simd>: SimdInt<S, Element = Self>;
    /// The largest offset that words tell from all others.
    const LARGEST: usize;
    /// An offset, or something above [`Word::LARGEST`] if that is above.
    fn of_offset(offset: u32) -> Self;
    /// Those of a row, where they are the offsets themselves.
    fn as_offsets(row: &[u32]) -> Option<&[Self]>;
}

macro_rules! words {
    ($($type:ty => $vector:ident, $largest:expr, $of_offset:expr, $as_offsets:expr),*) => {$(
        impl Word for $type {
            type Vector<S: Simd> = S::$vector;
            const LARGEST: usize = $largest;
            #[inline(always)]
            fn of_offset(offset: u32) -> Self {
                $of_offset(offset)
            }
            #[inline(always)]
            fn as_offsets(row: &[u32]) -> Option<&[Self]> {
                $as_offsets(row)
            }
        }
    )*};
}
words!(
    u16 => u16s, 0xfffe, |offset: u32| offset.min(0xffff) as u16, |_| None,
    u32 => u32s, i32::MAX as usize, |offset| offset, Some,
    u64 => u64s, i32::MAX as usize, u64::from, |_| None
);

/// A row as the words that its bits are.
#[inline(always)]
pub(crate) fn words<A: Sum>(row: &[A]) -> &[A::Word] {
    <[A::Word]>::ref_from_bytes(row.as_bytes()).unwrap_or_else(|_| panic!("words are as wide as elements"))
}

/// The same of a row that is written.
#[inline(always)]
pub(crate) fn words_mut<A: Sum>(row: &mut [A]) -> &mut [A::Word] {
    <[A::Word]>::mut_from_bytes(row.as_mut_bytes()).unwrap_or_else(|_| panic!("words are as wide as elements"))
}
