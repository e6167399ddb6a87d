//! A sweep of groups of channels that writes past the cache line by line.
//!
//! What is written past the cache waits in a few lines of the first level until memory takes it, and additions behind more than
//! that wait too (see `sweep_rows`); a row of channels is much more. So the sums that a row of outputs completes stay where
//! they are at first, and a few lines of them leave after each few outputs of the next row. Their places in the ring are not
//! cleared before.
//!
//! Every sum that indices may point to must have been cleared, and none must be waiting. So the outputs of a row are only added
//! to the rows that their windows reach, and are missed where their indices point elsewhere, which is rare.

use std::ops::Range;

use fearless_simd::Simd;

use super::leaving::{Leaving, at_once, drain};
use super::locate::InSlices;
use super::outputs::Lane;
use super::sweep::{Stack, Sweep};
use super::sweep_rows::{memory_of, reached};
use super::sweep_shape::SweepShape;
use super::terms::AT_ONCE;
use crate::dtype::{Index, Summed};
use crate::tensor::raw::OutTile;

/// Rows of some slices whose sums are complete and wait to be written.
#[derive(Default)]
struct Waiting {
    slices: Range<usize>,
    rows: Range<usize>,
}

impl Waiting {
    /// Whether they may lie where these rows of other slices do.
    fn is_in_the_way_of(&self, rows: &Range<usize>) -> bool {
        self.rows.start < rows.end && rows.start < self.rows.end
    }
}

/// Where the rows of a block are.
#[derive(Clone, Copy)]
struct Places<'s> {
    stack: &'s Stack,
    /// The slices of the ring, the rows and columns of a slice, and the channels of a place.
    ring: usize,
    slice: [usize; 2],
    width: usize,
}

impl Places<'_> {
    /// The place in the ring of the first of these rows.
    #[inline(always)]
    fn first(self, slice: usize, rows: &Range<usize>) -> usize {
        self.stack.slot(slice, self.ring) * self.stack.part + (rows.start - self.stack.rows.start) * self.slice[1]
    }

    /// Their sums.
    #[inline(always)]
    fn sums(self, slice: usize, rows: &Range<usize>) -> Range<usize> {
        let first = self.first(slice, rows) * self.width;
        first..first + rows.len() * self.slice[1] * self.width
    }

    /// Their places in the plane.
    #[inline(always)]
    fn flat(self, slice: usize, rows: &Range<usize>) -> Range<usize> {
        let first = (slice * self.slice[0] + rows.start) * self.slice[1];
        first..first + rows.len() * self.slice[1]
    }
}

impl<T: Summed, I: Index> Sweep<'_, T, I> {
    /// Forms the sums of a block of a group and writes them; returns how many outputs it added.
    #[inline(always)]
    pub(super) fn sweep_lines<S: Simd>(
        &self,
        simd: S,
        stack: &Stack,
        lane: &mut Lane<'_, T, I>,
        sums: &mut [T::Acc],
        (out, staging): (&mut OutTile<'_, T>, &mut [T]),
    ) -> u64 {
        let SweepShape { axes: [axis, rows, columns], held: ring, .. } = self.shape;
        let width = self.outputs.width_of(lane.group);
        let places = Places { stack, ring, slice: [rows.input(), columns.input()], width };
        let sums = &mut sums[..ring * stack.part * width];
        let mut waiting = Waiting::default();
        let mut held = stack.slices.start..stack.slices.start;
        let mut n_added = 0;
        let reaching = axis.reaching(stack.slices.clone());
        // Behind the last window.
        if reaching.is_empty() || stack.reaching[0].is_empty() {
            for slice in stack.slices.clone() {
                memory_of(out, lane.group, places.flat(slice, &stack.rows)).fill(T::default());
            }
            return 0;
        }
        for place in reaching.clone() {
            let is_last = place + 1 == reaching.end;
            let (end, next) = reached(&axis, (place, is_last), &held, stack.slices.end);
            held.end = end;
            let mut held_rows = stack.rows.start..stack.rows.start;
            for row in stack.reaching[0].clone() {
                let is_last = row + 1 == stack.reaching[0].end;
                let (end, next_row) = reached(&rows, (row, is_last), &held_rows, stack.rows.end);
                let new_rows = held_rows.end..end;
                held_rows.end = end;
                if waiting.is_in_the_way_of(&new_rows) {
                    let Waiting { slices, rows } = std::mem::take(&mut waiting);
                    for slice in slices {
                        let memory = memory_of(out, lane.group, places.flat(slice, &rows));
                        drain(simd, &mut sums[places.sums(slice, &rows)], memory, staging);
                    }
                }
                let offsets = held_rows.start * columns.input()..held_rows.end * columns.input();
                let locate =
                    InSlices::new(&held, self.shape.slice_len(), offsets, |slice| places.first(slice, &held_rows));
                // Each of the slices that wait leaves during as many outputs.
                let n_parts = waiting.slices.len().max(1);
                let first = (place * rows.output() + row) * columns.output();
                for part in 0..n_parts {
                    let [start, end] = [part, part + 1].map(|part| first + columns.output() * part / n_parts);
                    let Some(slice) = waiting.slices.next() else {
                        n_added += self.outputs.add(start..end, lane, (locate, &mut *sums));
                        continue;
                    };
                    let memory = memory_of(out, lane.group, places.flat(slice, &waiting.rows));
                    let n_turns = ((end - start) * width).div_ceil(AT_ONCE);
                    let mut leaving = Leaving::new(places.sums(slice, &waiting.rows).start, memory);
                    leaving.complete(simd, sums, leaving.len(), staging);
                    let most = at_once::<T>(leaving.n_complete(), n_turns);
                    n_added += self.outputs.add_between(
                        simd,
                        start..end,
                        lane,
                        (locate, &mut *sums),
                        #[inline(always)]
                        |sums| leaving.some(simd, sums, most, staging),
                    );
                    leaving.leave(simd, sums, leaving.len(), staging);
                }
                waiting = Waiting { slices: held.start..next, rows: held_rows.start..next_row };
                held_rows.start = next_row;
            }
            held.start = next;
        }
        for slice in waiting.slices {
            let memory = memory_of(out, lane.group, places.flat(slice, &waiting.rows));
            drain(simd, &mut sums[places.sums(slice, &waiting.rows)], memory, staging);
        }
        n_added
    }
}
