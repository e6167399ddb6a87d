//! Elements that indices can have, as offsets in a plane.

use zerocopy::{FromBytes, IntoBytes};

use super::Element;

/// An element that indices can have.
pub(crate) trait Index: Element {
    /// The index as an offset; `usize::MAX`, which no tensor reaches, where it is negative or too large.
    fn offset(self) -> usize;
    /// The index as an offset below `2^31`; a larger number where it is none.
    fn small_offset(self) -> u32;
    /// Those of a row, where they are as wide.
    fn as_small_offsets(row: &[Self]) -> Option<&[u32]>;
    /// Those of a row: the row itself where they are as wide, or in `buffer`.
    fn small_offsets<'a>(row: &'a [Self], buffer: &'a mut [u32]) -> &'a [u32];
    /// The index, which as an offset is beyond all tensors where it is negative.
    fn wide_offset(self) -> u64;
    /// An offset as an index. The plan has checked that every offset of the volume fits.
    fn from_offset(offset: usize) -> Self;
    /// The value, for messages.
    fn value(self) -> i64;
}

macro_rules! indices {
    ($($type:ty => $small_offset:expr, $as_small_offsets:expr),*) => {$(
        impl Index for $type {
            #[inline(always)]
            fn offset(self) -> usize {
                usize::try_from(self).unwrap_or(usize::MAX)
            }
            #[inline(always)]
            fn small_offset(self) -> u32 {
                $small_offset(self)
            }
            #[inline(always)]
            fn as_small_offsets(row: &[Self]) -> Option<&[u32]> {
                $as_small_offsets(row)
            }
            #[inline(always)]
            fn small_offsets<'a>(row: &'a [Self], buffer: &'a mut [u32]) -> &'a [u32] {
                Self::as_small_offsets(row).unwrap_or_else(|| {
                    let offsets = &mut buffer[..row.len()];
                    offsets.iter_mut().zip(row).for_each(|(offset, index)| *offset = index.small_offset());
                    offsets
                })
            }
            #[inline(always)]
            fn wide_offset(self) -> u64 {
                i64::from(self) as u64
            }
            #[inline(always)]
            fn from_offset(offset: usize) -> Self {
                offset as $type
            }
            fn value(self) -> i64 {
                i64::from(self)
            }
        }
    )*};
}
indices!(
    i32 => |index| index as u32, |row| Some(same_bits(row)),
    // What has any of the upper bits is none. Rows are made narrow first: what follows then fills vectors twice as well.
    i64 => |index: i64| if index >> 32 == 0 { index as u32 } else { u32::MAX }, |_| None
);

/// [`Index::as_small_offsets`] of indices that are as wide.
#[inline(always)]
fn same_bits(row: &[i32]) -> &[u32] {
    <[u32]>::ref_from_bytes(row.as_bytes()).expect("both types have the same size and alignment")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_of_negative_indices_are_out_of_reach() {
        assert_eq!((-1i32).offset(), usize::MAX);
        assert_eq!(i64::MIN.offset(), usize::MAX);
        assert_eq!(7i64.offset(), 7);
        for far in [-1, i64::MIN, i64::MAX, 1 << 31, 1 << 32, (1 << 32) + 7] {
            assert!(far.small_offset() >= 1 << 31, "{far}");
        }
        assert!((-1i32).small_offset() >= 1 << 31 && i32::MIN.small_offset() >= 1 << 31);
        assert_eq!((7i32.small_offset(), 7i64.small_offset()), (7, 7));
        assert!((-1i32).wide_offset() > i64::MAX as u64 && (-1i64).wide_offset() > i64::MAX as u64);
        assert_eq!((7i32.wide_offset(), 7i64.wide_offset()), (7, 7));
        assert_eq!(i64::from(i32::MAX).small_offset(), i32::MAX as u32);
    }

    /// Oracle: index by index.
    #[test]
    fn rows_of_offsets_are_those_of_their_indices() {
        fn check<I: Index>(row: &[I]) {
            let one_by_one: Vec<u32> = row.iter().map(|index| index.small_offset()).collect();
            for len in 0..=row.len() {
                assert_eq!(I::small_offsets(&row[..len], &mut vec![9; row.len()]), &one_by_one[..len]);
            }
        }
        check(&[3, -1, i32::MIN, i32::MAX, 0, 7]);
        check(&[3, -1, i64::MIN, i64::MAX, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 32) + 7, 0, 7]);
    }
}
