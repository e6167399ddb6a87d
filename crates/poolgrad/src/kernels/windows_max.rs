//! Max pooling: the largest element of each window, and where it lies.
//!
//! For each output row, over the input columns that its windows see:
//!
//! 1. go down the rows `(d, h)` of the window and keep, for each column, the best element and the row it came from;
//! 2. for each output, take the best of its columns.
//!
//! Step 1 works on whole rows and is where the time goes. What is *best* has to be the same whichever way a window is
//! walked: a NaN beats a number, and of several NaNs the last in row-major order; otherwise the larger beats the
//! smaller, and of equal elements the first in row-major order. This is a total order, so columns may come first.
//! In step 1 rows come in ascending order, which makes the rule `value > best or value is NaN`.
//!
//! Traffic per input: one read (more where windows overlap, from the cache); per output: one value and one index.

use std::ops::Range;

use super::rows::{self, ROW, RowBuffers};
use crate::dtype::{Accumulator, Float, Index};
use crate::exec::{Scratch, TileKernel, booked};
use crate::geometry::{AxisWindows, Geometry, Window};
use crate::tensor::raw::{Source, Tile};

/// The values to pool, and the windows.
pub(crate) struct WindowsMax<'a, T: Float> {
    input: Source<'a, T>,
    geometry: Geometry,
}

impl<'a, T: Float> WindowsMax<'a, T> {
    pub(crate) fn new(input: Source<'a, T>, geometry: Geometry) -> Self {
        Self { input, geometry }
    }

    /// The scratch bytes of one worker.
    pub(crate) fn bytes<I: Index>() -> usize {
        2 * booked::<T::Acc>(ROW)
            + booked::<u32>(ROW)
            + booked::<I>(ROW)
            + RowBuffers::<T>::bytes(ROW)
            + booked::<T>(ROW)
    }
}

/// An element of a window: its value and its place, anything that ascends in row-major order.
#[derive(Clone, Copy)]
struct Best<A, P> {
    value: A,
    place: P,
}

impl<A: Accumulator, P: PartialOrd + Copy> Best<A, P> {
    /// The better of two.
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        // Whether the other wins is as good as random, so it is computed without a branch to be predicted.
        let other_is_later = other.place > self.place;
        let nan_wins = other.value.is_nan() & (other_is_later | !self.value.is_nan());
        let number_wins = (other.value > self.value) | ((other.value == self.value) & !other_is_later);
        let wins = nan_wins | number_wins;
        Self { value: select(wins, other.value, self.value), place: select(wins, other.place, self.place) }
    }
}

#[inline(always)]
fn select<V>(condition: bool, yes: V, no: V) -> V {
    if condition { yes } else { no }
}

impl<T: Float, I: Index> TileKernel<T, I> for WindowsMax<'_, T> {
    #[inline(always)]
    fn fill(&self, tile: Tile<'_, T, I>, mut scratch: Scratch<'_>) {
        let range = tile.range();
        let (mut output, mut indices) = tile.split();
        let mut columns = Columns { values: scratch.row(ROW), rows: scratch.row(ROW) };
        let maxima = scratch.row::<T::Acc>(ROW);
        let places = scratch.row::<I>(ROW);
        let mut buffers = RowBuffers::new(&mut scratch, ROW);
        let staging = rows::staging(&mut scratch);
        let axis = &self.geometry.axes[2];
        for plane in range.planes {
            output_rows(
                &self.geometry,
                range.flat.clone(),
                #[inline(always)]
                |row| {
                    row.for_each_span(
                        axis,
                        #[inline(always)]
                        |outputs, span| {
                            // A window of more rows than `u32` counts is taken in blocks of rows.
                            let n_rows = row.d.count as u64 * row.h.count as u64;
                            let mut block = 0..n_rows.min(u64::from(u32::MAX));
                            while !block.is_empty() {
                                for (i, flat) in row.input_rows_of(&self.geometry, block.clone()).enumerate() {
                                    let input = self.input.row(plane, flat + span.start..flat + span.end);
                                    columns.take(i as u32, buffers.widen(input));
                                }
                                for ow in outputs.clone() {
                                    let window = axis.window(ow);
                                    let Some(best) = columns.best(window, &span) else {
                                        continue;
                                    };
                                    let (row_number, column) = best.place;
                                    let flat =
                                        row.input_row(&self.geometry, block.start + u64::from(row_number)) + column;
                                    let mut best = Best { value: best.value, place: flat };
                                    let at = ow - row.w.start;
                                    if window.first < span.start || block.start > 0 {
                                        best = Best { value: maxima[at], place: places[at].offset() }.or(best);
                                    }
                                    maxima[at] = best.value;
                                    places[at] = I::from_offset(best.place);
                                }
                                block = block.end..n_rows.min(block.end + u64::from(u32::MAX));
                            }
                        },
                    );
                    rows::store(&mut output, (plane, row.flat), &maxima[..row.w.len()], staging);
                    if let Some(indices) = &mut indices {
                        indices.write(plane, row.flat, &places[..row.w.len()]);
                    }
                },
            );
        }
    }
}

/// The best element of each column of a span, and the number of the row it came from.
struct Columns<'s, A> {
    values: &'s mut [A],
    rows: &'s mut [u32],
}

impl<A: Accumulator> Columns<'_, A> {
    /// Takes row number `row` into account; row 0 starts anew.
    #[inline(always)]
    fn take(&mut self, row: u32, values: &[A]) {
        let (best, rows) = (&mut self.values[..values.len()], &mut self.rows[..values.len()]);
        if row == 0 {
            best.copy_from_slice(values);
            rows.fill(0);
            return;
        }
        for ((best, best_row), &value) in best.iter_mut().zip(rows).zip(values) {
            let wins = value > *best || value.is_nan();
            *best = if wins { value } else { *best };
            *best_row = if wins { row } else { *best_row };
        }
    }

    /// The best of a window's columns in `span`, with its place as row number and column.
    #[inline(always)]
    fn best(&self, window: Window, span: &Range<usize>) -> Option<Best<A, (u32, usize)>> {
        let mut best: Option<Best<A, (u32, usize)>> = None;
        // The first tap of the window that is not before the span.
        let skipped = span.start.saturating_sub(window.first).div_ceil(window.step);
        for j in skipped..window.count {
            let column = window.first + j * window.step;
            if column >= span.end {
                break;
            }
            let at = column - span.start;
            let other = Best { value: self.values[at], place: (self.rows[at], column) };
            best = Some(best.map_or(other, |best| best.or(other)));
        }
        best
    }
}

/// Part of one row of outputs: their windows along D and H, the range of `ow`, and the flat offset of the first.
pub(super) struct OutputRow {
    pub(super) d: Window,
    pub(super) h: Window,
    pub(super) w: Range<usize>,
    pub(super) flat: usize,
}

/// Calls `visit` for the rows that a range of flat output offsets falls into, each at most [`ROW`] long.
#[inline(always)]
pub(super) fn output_rows(geometry: &Geometry, flat: Range<usize>, mut visit: impl FnMut(&OutputRow)) {
    let [_, n_h, n_w] = geometry.output();
    let mut start = flat.start;
    while start < flat.end {
        let (row, ow) = (start / n_w, start % n_w);
        let len = (n_w - ow).min(flat.end - start).min(ROW);
        visit(&OutputRow {
            d: geometry.axes[0].window(row / n_h),
            h: geometry.axes[1].window(row % n_h),
            w: ow..ow + len,
            flat: start,
        });
        start += len;
    }
}

impl OutputRow {
    /// The flat offset at which row number `row` of the window begins in the input.
    #[inline(always)]
    fn input_row(&self, geometry: &Geometry, row: u64) -> usize {
        let [_, n_h, n_w] = geometry.input();
        let per_depth = self.h.count as u64;
        let d = self.d.first + (row / per_depth) as usize * self.d.step;
        let h = self.h.first + (row % per_depth) as usize * self.h.step;
        (d * n_h + h) * n_w
    }

    /// The flat offsets at which the rows of the window begin in the input, in ascending order.
    #[inline(always)]
    pub(super) fn input_rows(&self, geometry: &Geometry) -> impl Iterator<Item = usize> {
        self.input_rows_of(geometry, 0..self.d.count as u64 * self.h.count as u64)
    }

    #[inline(always)]
    fn input_rows_of(&self, geometry: &Geometry, rows: Range<u64>) -> impl Iterator<Item = usize> {
        rows.map(move |row| self.input_row(geometry, row))
    }

    /// Calls `visit(outputs, span)` for groups of outputs and the input columns that their windows see, at most
    /// [`ROW`] of them. A window that is wider than that comes alone, once for each part of its columns.
    #[inline(always)]
    pub(super) fn for_each_span(&self, axis: &AxisWindows, mut visit: impl FnMut(Range<usize>, Range<usize>)) {
        let mut ow = self.w.start;
        while ow < self.w.end {
            let first = axis.cover(ow).start;
            let fits = |ow: usize| axis.cover(ow).end <= first + ROW;
            let mut end = ow + 1;
            // Ends of windows ascend, so the last output that fits is found by doubling and halving steps.
            let mut step = 1;
            while end < self.w.end && step > 0 {
                let reach = (end + step).min(self.w.end);
                if fits(reach - 1) {
                    end = reach;
                    step *= 2;
                } else {
                    step /= 2;
                }
            }
            let last = axis.cover(end - 1).end - 1;
            let mut start = first;
            while start <= last {
                let span = start..(last + 1).min(start + ROW);
                visit(ow..end, span.clone());
                start = span.end;
            }
            ow = end;
        }
    }
}
