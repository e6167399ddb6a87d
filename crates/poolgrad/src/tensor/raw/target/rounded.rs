//! Sums that are rounded on their way past the cache.

use std::ops::Range;

use fearless_simd::Simd;

use super::OutTile;
use crate::dtype::{Element, Summed};
use crate::exec::stream::{drain_lines, drains_lines, round_lines};

impl<T: Element> OutTile<'_, T> {
    /// Rounds `wide` once and streams it to the flat offsets of a group that begin where `from` says, if they are neighbours
    /// in memory and are to be streamed, and the level rounds in registers; whether it did.
    ///
    /// # Panics
    /// As [`OutTile::write`].
    #[inline(always)]
    pub(crate) fn round<S: Simd>(&mut self, simd: S, from: (usize, usize), wide: &[T::Acc]) -> bool
    where
        T: Summed,
    {
        match self.origin_from(from, wide.len()) {
            // SAFETY: `origin_from` found that these are consecutive elements of one run of one group, inside this tile, and as
            // many as `wide` has.
            Some(origin) => unsafe { self.round_consecutive(simd, wide, origin) },
            None => false,
        }
    }

    /// The same, leaving zeros if it did.
    ///
    /// # Panics
    /// As [`OutTile::write`].
    #[inline(always)]
    pub(crate) fn drain<S: Simd>(&mut self, simd: S, from: (usize, usize), wide: &mut [T::Acc]) -> bool
    where
        T: Summed,
    {
        match self.origin_from(from, wide.len()) {
            // SAFETY: as in `round`.
            Some(origin) => unsafe { self.drain_consecutive(simd, wide, origin) },
            None => false,
        }
    }

    /// Rounds sums once and streams them as [`OutTile::stream_groups`] does, leaving zeros, if the level rounds in registers; returns
    /// what is left if it did.
    ///
    /// # Panics
    /// As that.
    #[inline(always)]
    pub(crate) fn drain_groups<S: Simd>(
        &mut self,
        simd: S,
        groups: &Range<usize>,
        wide: &mut [T::Acc],
    ) -> Option<Range<usize>>
    where
        T: Summed,
    {
        if !drains_lines::<S, T>(simd) {
            return None;
        }
        let len = wide.len();
        self.stream_groups(
            groups,
            len,
            #[inline(always)]
            |part, row, is_lines| {
                if is_lines {
                    let is_done = drain_lines(simd, &mut wide[part], row);
                    assert!(is_done, "sums that become lines are lines");
                } else {
                    T::drain(&mut wide[part], row);
                }
            },
        )
    }

    /// Rounds and streams neighbours in memory, if they are to be streamed and the level rounds in registers; whether it did.
    ///
    /// # Safety
    /// As [`OutTile::stream_consecutive`], for the elements of `wide`.
    #[inline(always)]
    unsafe fn round_consecutive<S: Simd>(&mut self, simd: S, wide: &[T::Acc], origin: *mut T) -> bool
    where
        T: Summed,
    {
        let put = |part: Range<usize>, row: &mut [T], is_lines: bool| {
            if is_lines {
                return round_lines(simd, &wide[part], row);
            }
            T::narrow(&wide[part], row);
            true
        };
        // SAFETY: the caller's promise is passed on.
        unsafe { self.stream_consecutive((origin, wide.len()), put) }
    }

    /// The same, leaving zeros if it did.
    ///
    /// # Safety
    /// As that.
    #[inline(always)]
    unsafe fn drain_consecutive<S: Simd>(&mut self, simd: S, wide: &mut [T::Acc], origin: *mut T) -> bool
    where
        T: Summed,
    {
        let len = wide.len();
        let put = |part: Range<usize>, row: &mut [T], is_lines: bool| {
            if is_lines {
                return drain_lines(simd, &mut wide[part], row);
            }
            T::drain(&mut wide[part], row);
            true
        };
        // SAFETY: the caller's promise is passed on.
        unsafe { self.stream_consecutive((origin, len), put) }
    }
}
