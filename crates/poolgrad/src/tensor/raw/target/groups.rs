//! Whole groups, one after the other, that are streamed some at a time: what does not fill a line waits for the next.

use std::ops::Range;

use fearless_simd::Simd;

use super::OutTile;
use crate::dtype::Element;
use crate::exec::stream::{LINE, copy_lines};

impl<T: Element> OutTile<'_, T> {
    /// How many elements of a cache line lie before the first of a group.
    #[inline(always)]
    pub(crate) fn in_line(&self, group: usize) -> usize {
        self.output.origin.wrapping_offset(self.output.lifted.place(group, 0)).addr() % LINE / size_of::<T>()
    }

    /// Streams all places of `groups`, if these are neighbours in memory and are to be streamed; returns what is left for the
    /// groups behind them, because it does not fill a line.
    ///
    /// Elements are counted from the beginning of the line in which `groups` begin (see [`OutTile::in_line`]), and end with theirs:
    /// there are `len` of them. Those before theirs were left by the groups before. `put` is handed some of them, where they go, and
    /// whether they fill whole lines: all but the first and the last of a tile do, so that nothing waits for a line to be fetched.
    /// Those that become lines are lines themselves, if their buffer begins on one: zeros that sums leave, stored from one line into
    /// the next among lines on their way past the cache, hold these up. (On a Zen 3 odd planes in 16 bits take 0.7 to 0.9 of the
    /// time since none do.)
    ///
    /// # Panics
    /// As [`OutTile::write_groups`].
    #[inline(always)]
    pub(super) fn stream_groups(
        &mut self,
        groups: &Range<usize>,
        len: usize,
        mut put: impl FnMut(Range<usize>, &mut [T], bool),
    ) -> Option<Range<usize>> {
        if !self.output.streaming {
            return None;
        }
        let per_line = LINE / size_of::<T>();
        let before = self.in_line(groups.start);
        let origin = self.whole_groups(groups, len - before)?.wrapping_sub(before);
        // Contiguous groups are all equally wide.
        let of_tile = (groups.start - self.range.groups.start) * (len - before) / groups.len();
        let first = before.saturating_sub(of_tile);
        let end = if groups.end == self.range.groups.end { len } else { len / per_line * per_line };
        let lines_start = first.next_multiple_of(per_line).min(end);
        let lines_end = (end / per_line * per_line).max(lines_start);
        for (part, is_lines) in
            [(first..lines_start, false), (lines_start..lines_end, true), (lines_end..end, false)]
        {
            if part.is_empty() {
                continue;
            }
            let origin = origin.wrapping_add(part.start);
            // SAFETY: elements of `groups`, or of those of this tile's groups that lie directly before them: all consecutive, as
            // `whole_groups` found.
            let row = unsafe { std::slice::from_raw_parts_mut(origin, part.len()) };
            put(part, row, is_lines);
        }
        Some(end..len)
    }

    /// Streams `values` as [`OutTile::stream_groups`] does, and returns what is left.
    ///
    /// # Panics
    /// As that.
    #[inline(always)]
    pub(crate) fn copy_groups<S: Simd>(
        &mut self,
        simd: S,
        groups: &Range<usize>,
        values: &[T],
    ) -> Option<Range<usize>> {
        self.stream_groups(
            groups,
            values.len(),
            #[inline(always)]
            |part, row, is_lines| {
                if is_lines { copy_lines(simd, &values[part], row) } else { row.copy_from_slice(&values[part]) }
            },
        )
    }
}
