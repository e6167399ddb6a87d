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
        let Some(origin) = self.origin_from(from, wide.len()) else { return false };
        let put = |part: Range<usize>, row: &mut [T], is_lines: bool| {
            if is_lines {
                return round_lines(simd, &wide[part], row);
            }
            T::narrow(&wide[part], row);
            true
        };
        // SAFETY: `origin_from` found that these are consecutive elements of one run of one group, inside this tile, and as
        // many as `wide` has.
        unsafe { self.stream_consecutive((origin, wide.len()), put) }
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
        let len = wide.len();
        let Some(origin) = self.origin_from(from, len) else { return false };
        let put = |part: Range<usize>, row: &mut [T], is_lines: bool| {
            if is_lines {
                return drain_lines(simd, &mut wide[part], row);
            }
            T::drain(&mut wide[part], row);
            true
        };
        // SAFETY: as in `round`.
        unsafe { self.stream_consecutive((origin, len), put) }
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
}
