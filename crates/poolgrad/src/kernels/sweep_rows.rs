//! A sweep that writes past the cache row by row.
//!
//! What is written past the cache waits in a few lines of the first level until memory takes it. The processor goes on
//! meanwhile, as long as there are such lines left for what comes next; behind more than that, additions wait too, as their sums
//! are stored in the same order. So slices are not cleared, added to and written as wholes: a few rows of outputs are
//! added at a time, and then those rows of sums are written that no window reaches any more. These still lie in the
//! first-level cache, too. Where that is faster, they leave between the additions of the next rows of outputs (see [`Leaving`]).
//!
//! Every sum that indices may point to must have been cleared, and none must have been written. So the indices of some rows
//! are looked at together, in vectors, before their gradients are added; where any points elsewhere, which is rare, each is
//! looked at alone.

use std::ops::Range;

use fearless_simd::Simd;

use super::leaving::{Leaving, at_once};
use super::outputs::Lane;
use super::rows::{clear_by_lines, widened};
use super::sweep::Sweep;
use super::sweep_shape::SweepShape;
use super::terms::{AT_ONCE, add_each, count, fetch_ahead_of, last, lines};
use crate::dtype::{Index, Sum, Summed};
use crate::geometry::AxisWindows;
use crate::tensor::raw::OutTile;

/// The most slices that the windows of one place of a stack may reach.
pub(super) const MOST: usize = 4;

/// The slices that the windows of one place of the stack reach, and where in the ring the first of them is.
struct Slices {
    all: Range<usize>,
    first: usize,
    /// Those of them that are reached anew, and where the first of these is.
    n_new: usize,
    first_new: usize,
}

/// The sums of each of those slices that are held, and those of them that are cleared and that are complete, by their
/// places in the slice.
#[derive(Default)]
struct Rows {
    held: Range<usize>,
    new: Range<usize>,
    complete: Range<usize>,
}

impl<T: Summed, I: Index> Sweep<'_, T, I> {
    /// Forms the sums of these slices of a plane and writes them; returns how many outputs it added.
    #[inline(always)]
    pub(super) fn sweep_rows<S: Simd>(
        &self,
        simd: S,
        (slices, n_rows, between): (Range<usize>, usize, bool),
        lane: &mut Lane<'_, T, I>,
        sums: &mut [T::Acc],
        (out, staging): (&mut OutTile<'_, T>, &mut [T]),
    ) -> u64 {
        let SweepShape { axes: [axis, ..], held: ring, .. } = self.shape;
        let slice_len = self.shape.slice_len();
        let group = lane.group;
        let slot = |slice: usize| (slice - slices.start) % ring * slice_len;
        let reaching = axis.reaching(slices.clone());
        let mut held = slices.start..slices.start;
        let mut n_added = 0;
        for place in reaching.clone() {
            let is_last = place + 1 == reaching.end;
            let (end, next) = reached(&axis, (place, is_last), &held, slices.end);
            let reached = Slices {
                all: held.start..end,
                first: slot(held.start),
                n_new: end - held.end,
                first_new: slot(held.end),
            };
            n_added += self.sweep_rows_at(
                simd,
                (place, n_rows, between),
                &reached,
                lane,
                sums,
                (memory_of(out, group, held.start * slice_len..next * slice_len), staging),
            );
            held = next..end;
        }
        // If no window reaches them at all.
        memory_of(out, group, held.start * slice_len..slices.end * slice_len).fill(T::default());
        n_added
    }

    /// Adds the outputs at `place` of the stack, and writes the slices that are complete to `memory`.
    #[inline(always)]
    fn sweep_rows_at<S: Simd>(
        &self,
        simd: S,
        (place, n_rows, between): (usize, usize, bool),
        slices: &Slices,
        lane: &mut Lane<'_, T, I>,
        sums: &mut [T::Acc],
        (memory, staging): (&mut [T], &mut [T]),
    ) -> u64 {
        let [_, axis, columns] = self.shape.axes;
        let (slice_len, ring_len) = (self.shape.slice_len(), self.shape.sums_len());
        let after = |first: usize| if first + slice_len == ring_len { 0 } else { first + slice_len };
        let Lane { group, indices, elements, terms } = lane;
        let wide = terms.wide();
        // The outputs that are loaded.
        let (mut loaded, mut outputs): (_, (&[I], &[T])) = (0..0, (&[], &[]));
        let mut rows = Rows::default();
        let mut n_added = 0;
        let n_slices = memory.len() / slice_len;
        let mut leaving = [(); MOST].map(|()| Leaving::new(0, Default::default()));
        let mut slice = slices.first;
        for (leaving, memory) in leaving.iter_mut().zip(memory.chunks_exact_mut(slice_len)) {
            *leaving = Leaving::new(slice, memory);
            slice = after(slice);
        }
        let leaving = &mut leaving[..n_slices];
        for first in (0..axis.output()).step_by(n_rows) {
            let end = axis.output().min(first + n_rows);
            let complete = if end < axis.output() { axis.cover(end).start } else { axis.input() };
            let reached = complete.max(axis.cover(end - 1).end);
            rows.new = rows.held.end..reached * columns.input();
            rows.held = rows.complete.end..rows.new.end;
            rows.complete = rows.complete.end..complete * columns.input();
            if !between {
                let mut slice = slices.first_new;
                for _ in 0..slices.n_new {
                    clear_by_lines(&mut sums[slice..][rows.new.clone()]);
                    slice = after(slice);
                }
            }
            let held = Held::new(slices, &rows, (slice_len, ring_len));
            let all = place * axis.output() * columns.output()..(place + 1) * axis.output() * columns.output();
            let mut rest = all.start + first * columns.output()..all.start + end * columns.output();
            let n_waiting = leaving.iter().map(Leaving::n_complete).sum();
            let most = at_once::<T>(n_waiting, rest.len() / AT_ONCE);
            while !rest.is_empty() {
                if rest.start >= loaded.end {
                    loaded = self.outputs.next_row(&mut (rest.start..all.end), 1).expect("there are outputs");
                    outputs = self.outputs.load((*group, loaded.clone()), (indices, elements));
                }
                let end = rest.end.min(loaded.end).min(rest.start + wide.len());
                let now = rest.start - loaded.start..end - loaded.start;
                rest.start = end;
                let outputs = (&outputs.0[now.clone()], &outputs.1[now]);
                let terms = widened::<T>(outputs.1, wide);
                n_added += terms.len() as u64;
                n_added -= match held.holds_all(outputs.0) {
                    true if between => {
                        let leaving = (&mut *leaving, most, &mut *staging);
                        add_between(simd, (held, &mut *sums), terms, outputs, leaving)
                    }
                    true => add_near(held, sums, terms, outputs),
                    false => add_held(held, sums, (outputs.0, terms)),
                };
            }
            for leaving in &mut *leaving {
                let n_complete = |leaving: &Leaving<'_, T>| rows.complete.end - (slice_len - leaving.len());
                if !between {
                    leaving.write(simd, sums, n_complete(leaving), staging);
                    continue;
                }
                leaving.some(simd, sums, usize::MAX, staging);
                leaving.complete(simd, sums, n_complete(leaving), staging);
                if complete == axis.input() {
                    leaving.leave(simd, sums, leaving.len(), staging);
                }
            }
        }
        n_added
    }
}

/// Where those end that outputs at `place` of an axis reach, and those begin that outputs behind it reach, if sums are held of
/// all from `held` on, and of none from `end` on: those behind the last window are written with it.
#[inline(always)]
pub(super) fn reached(
    axis: &AxisWindows,
    (place, is_last): (usize, bool),
    held: &Range<usize>,
    end: usize,
) -> (usize, usize) {
    if is_last {
        return (end, end);
    }
    let reached = axis.cover(place).end.clamp(held.end, end);
    (reached, axis.cover(place + 1).start.clamp(held.start, reached))
}

/// The memory of some places of a group.
#[inline(always)]
pub(super) fn memory_of<'o, T: Summed>(
    out: &'o mut OutTile<'_, T>,
    group: usize,
    flat: Range<usize>,
) -> &'o mut [T] {
    if flat.is_empty() {
        return &mut [];
    }
    out.consecutive(group, flat).expect("groups are contiguous where they are written by rows or lines")
}

/// The sums that are held, and where in the ring they are. All numbers are 32 bits, so that more of them fit a vector.
#[derive(Clone, Copy)]
struct Held {
    /// The flat offset of the first one, and the offsets from it to the end of the last slice.
    flat: u32,
    len: u32,
    /// The offsets of a slice, and those of the rows that are held.
    slice: u32,
    rows: u32,
    /// Where the first is, and the length of the ring.
    first: u32,
    ring: u32,
}

impl Held {
    /// The numbers are those of a volume that was found small enough.
    #[inline(always)]
    fn new(slices: &Slices, rows: &Rows, (slice_len, ring_len): (usize, usize)) -> Self {
        Self {
            flat: (slices.all.start * slice_len + rows.held.start) as u32,
            len: (slices.all.len() * slice_len) as u32,
            slice: slice_len as u32,
            rows: rows.held.len() as u32,
            first: (slices.first + rows.held.start) as u32,
            ring: ring_len as u32,
        }
    }

    /// Whether the sum of a flat offset is held.
    #[inline(always)]
    fn holds(self, offset: u32) -> bool {
        let from = offset.wrapping_sub(self.flat);
        // The remainder: of an offset in the first slice nothing is left to subtract, and the difference is larger.
        let mut in_slice = from;
        for _ in 1..MOST {
            in_slice = in_slice.min(in_slice.wrapping_sub(self.slice));
        }
        (from < self.len) & (in_slice < self.rows)
    }

    /// Where that sum is, if it is held; anywhere, if it is not.
    #[inline(always)]
    fn place(self, offset: u32) -> usize {
        let place = offset.wrapping_sub(self.flat).wrapping_add(self.first);
        // Of the two, the smaller is the one that did not wrap around.
        place.min(place.wrapping_sub(self.ring)) as usize
    }

    /// Where the sums of indices are, all of which are held and so have no more than 32 bits, with their terms.
    #[inline(always)]
    fn pairs<A: Copy, I: Index>(self, indices: &[I], terms: &[A]) -> impl Iterator<Item = (usize, A)> {
        indices.iter().map(move |index| self.place(index.value() as u32)).zip(terms.iter().copied())
    }

    /// Whether those of all indices are held.
    #[inline(always)]
    fn holds_all<I: Index>(self, indices: &[I]) -> bool {
        let (chunks, rest) = indices.as_chunks::<AT_ONCE>();
        let mut are_held = true;
        for chunk in chunks {
            // A loop of known length, which becomes a vector and no branch.
            let mut chunk_is_held = true;
            for index in chunk {
                chunk_is_held &= self.holds(index.small_offset());
            }
            are_held &= chunk_is_held;
        }
        rest.iter().fold(are_held, |are_held, index| are_held & self.holds(index.small_offset()))
    }
}

// These are functions of their own, so that there are enough registers; also of each other: with none that leave, the second took 1.1
// of the time of the first.

/// Adds terms to the sums of their indices, all of which are held; returns how many the sums could not take.
#[inline(never)]
fn add_near<T: Summed, I: Index>(
    held: Held,
    sums: &mut [T::Acc],
    terms: &[T::Acc],
    (indices, gradients): (&[I], &[T]),
) -> u64 {
    let mut n_refused = 0;
    for (i, (line, terms)) in lines(indices, terms).enumerate() {
        fetch_ahead_of((indices, gradients), i);
        add_each(sums, held.pairs(line, terms), |_| count(&mut n_refused));
    }
    let (indices, terms) = last(indices, terms);
    add_each(sums, held.pairs(indices, terms), |_| count(&mut n_refused));
    n_refused
}

/// The same, while others leave, up to `most` at a time.
#[inline(never)]
fn add_between<S: Simd, T: Summed, I: Index>(
    simd: S,
    (held, sums): (Held, &mut [T::Acc]),
    terms: &[T::Acc],
    (indices, gradients): (&[I], &[T]),
    (leaving, most, staging): (&mut [Leaving<'_, T>], usize, &mut [T]),
) -> u64 {
    simd.vectorize(
        #[inline(always)]
        || {
            let mut n_refused = 0;
            for (i, (line, terms)) in lines(indices, terms).enumerate() {
                fetch_ahead_of((indices, gradients), i);
                add_each(sums, held.pairs(line, terms), |_| count(&mut n_refused));
                if let Some(leaving) = leaving.iter_mut().find(|leaving| leaving.n_complete() > 0) {
                    leaving.some(simd, sums, most, staging);
                }
            }
            let (indices, terms) = last(indices, terms);
            add_each(sums, held.pairs(indices, terms), |_| count(&mut n_refused));
            n_refused
        },
    )
}

/// The same where some are not held; returns how many were not added.
#[inline(never)]
fn add_held<A: Sum, I: Index>(held: Held, sums: &mut [A], (indices, terms): (&[I], &[A])) -> u64 {
    let mut n_refused = 0;
    for (index, &term) in indices.iter().zip(terms) {
        let offset = index.small_offset();
        let is_added = held.holds(offset) && sums.get_mut(held.place(offset)).is_some_and(|sum| sum.add_term(term));
        n_refused += u64::from(!is_added);
    }
    n_refused
}
