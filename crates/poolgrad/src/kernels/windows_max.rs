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
use super::windows::output_rows;
use crate::dtype::{Accumulator, Float, Index};
use crate::exec::{Scratch, TileKernel, booked};
use crate::geometry::{Geometry, Window};
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
        2 * Best::<T::Acc>::bytes()
            + booked::<T::Acc>(ROW)
            + booked::<I>(ROW)
            + RowBuffers::<T>::bytes(ROW)
            + booked::<T>(ROW)
    }
}

/// Whether an element beats the best so far, given whether it comes later in row-major order.
///
/// Which of two elements wins is as good as random, so it is computed without a branch to be predicted.
#[inline(always)]
fn beats<A: Accumulator>(value: A, best: A, is_later: bool) -> bool {
    let nan_wins = value.is_nan() & (is_later | !best.is_nan());
    let number_wins = (value > best) | ((value == best) & !is_later);
    nan_wins | number_wins
}

#[inline(always)]
fn select<V>(condition: bool, yes: V, no: V) -> V {
    if condition { yes } else { no }
}

/// The best elements of some places, one for each channel or column: their values, the flat offsets at which their
/// rows begin, counted from the first row of the window, and their columns in the span.
struct Best<'s, A> {
    values: &'s mut [A],
    rows: &'s mut [u32],
    columns: &'s mut [u32],
}

impl<'s, A: Accumulator> Best<'s, A> {
    fn new(scratch: &mut Scratch<'s>) -> Self {
        Self { values: scratch.row(ROW), rows: scratch.row(ROW), columns: scratch.row(ROW) }
    }

    const fn bytes() -> usize {
        booked::<A>(ROW) + 2 * booked::<u32>(ROW)
    }

    /// Step 1: takes a row of the window into account; the first starts anew.
    #[inline(always)]
    fn take_row(&mut self, row: u32, values: &[A]) {
        let (best, rows) = (&mut self.values[..values.len()], &mut self.rows[..values.len()]);
        if row == 0 {
            best.copy_from_slice(values);
            rows.fill(0);
            return;
        }
        for ((best, best_row), &value) in best.iter_mut().zip(rows).zip(values) {
            let wins = value > *best || value.is_nan();
            *best = select(wins, value, *best);
            *best_row = select(wins, row, *best_row);
        }
    }

    /// Step 2: the best of a window's columns in `span`, for each of `width` channels; whether there is any.
    #[inline(always)]
    fn take_columns(&mut self, columns: &Best<'_, A>, window: Window, span: &Range<usize>, width: usize) -> bool {
        if width == 1 {
            return self.take_columns_of_plane(columns, window, span);
        }
        let (values, rows) = (&mut self.values[..width], &mut self.rows[..width]);
        let best_columns = &mut self.columns[..width];
        let mut any = false;
        for column in taps_in(window, span) {
            let at = column * width;
            let (other, other_rows) = (&columns.values[at..at + width], &columns.rows[at..at + width]);
            let column = column as u32;
            if !any {
                values.copy_from_slice(other);
                rows.copy_from_slice(other_rows);
                best_columns.fill(column);
                any = true;
                continue;
            }
            let best = values.iter_mut().zip(&mut *rows).zip(&mut *best_columns);
            for (((value, row), best_column), (&other, &other_row)) in best.zip(other.iter().zip(other_rows)) {
                // Columns ascend, so only an earlier row makes an element an earlier one.
                let wins = beats(other, *value, other_row >= *row);
                *value = select(wins, other, *value);
                *row = select(wins, other_row, *row);
                *best_column = select(wins, column, *best_column);
            }
        }
        any
    }

    /// [`Best::take_columns`] of a single plane, whose best is kept out of memory.
    #[inline(always)]
    fn take_columns_of_plane(&mut self, columns: &Best<'_, A>, window: Window, span: &Range<usize>) -> bool {
        let mut taps = taps_in(window, span);
        let Some(mut best) = taps.next() else { return false };
        let (mut value, mut row) = (columns.values[best], columns.rows[best]);
        for column in taps {
            let (other, other_row) = (columns.values[column], columns.rows[column]);
            let wins = beats(other, value, other_row >= row);
            value = select(wins, other, value);
            row = select(wins, other_row, row);
            best = select(wins, column, best);
        }
        (self.values[0], self.rows[0], self.columns[0]) = (value, row, best as u32);
        true
    }
}

/// The taps of a window that lie in a span, counted from its start, in ascending order.
#[inline(always)]
fn taps_in(window: Window, span: &Range<usize>) -> impl Iterator<Item = usize> {
    let skipped = match span.start.saturating_sub(window.first) {
        0 => 0,
        before => before.div_ceil(window.step),
    };
    let (start, end) = (span.start, span.end);
    let taps = (skipped..window.count).map(move |j| window.first + j * window.step);
    taps.take_while(move |&column| column < end).map(move |column| column - start)
}

impl<T: Float, I: Index> TileKernel<T, I> for WindowsMax<'_, T> {
    #[inline(always)]
    fn fill(&self, tile: Tile<'_, T, I>, mut scratch: Scratch<'_>) {
        let range = tile.range();
        let (mut output, mut indices) = tile.split();
        let mut columns = Best::new(&mut scratch);
        let mut best = Best::new(&mut scratch);
        let maxima = scratch.row::<T::Acc>(ROW);
        let places = scratch.row::<I>(ROW);
        let mut buffers = RowBuffers::new(&mut scratch, ROW);
        let staging = rows::staging(&mut scratch);
        let axis = &self.geometry.axes[2];
        // Offsets of rows are kept as 32 bits, half of what they could need; in a plane too large for that, each row
        // is taken by itself.
        let rows_at_once = if u32::try_from(self.geometry.input_len()).is_ok() { u64::MAX } else { 1 };
        for group in range.groups {
            let width = self.input.width_of(group);
            output_rows(
                &self.geometry,
                range.flat.clone(),
                ROW / width,
                #[inline(always)]
                |row| {
                    row.for_each_span(
                        axis,
                        ROW / width,
                        #[inline(always)]
                        |outputs, span| {
                            let mut start = 0;
                            while start < row.n_rows() {
                                let end = row.n_rows().min(start.saturating_add(rows_at_once));
                                let first = row.input_row(&self.geometry, start);
                                for i in start..end {
                                    let flat = row.input_row(&self.geometry, i);
                                    let input = self.input.row(group, flat + span.start..flat + span.end);
                                    columns.take_row((flat - first) as u32, buffers.widen(input));
                                }
                                for ow in outputs.clone() {
                                    let window = axis.window(ow);
                                    if !best.take_columns(&columns, window, &span, width) {
                                        continue;
                                    }
                                    let at = (ow - row.w.start) * width;
                                    let begins = start == 0 && span.start <= window.first;
                                    for c in 0..width {
                                        let value = best.values[c];
                                        let place =
                                            first + span.start + best.rows[c] as usize + best.columns[c] as usize;
                                        let is_later = !begins && place > places[at + c].offset();
                                        if begins || beats(value, maxima[at + c], is_later) {
                                            maxima[at + c] = value;
                                            places[at + c] = I::from_offset(place);
                                        }
                                    }
                                }
                                start = end;
                            }
                        },
                    );
                    let len = row.w.len() * width;
                    rows::store(&mut output, (group, row.flat), &maxima[..len], staging);
                    if let Some(indices) = &mut indices {
                        indices.write(group, row.flat, &places[..len]);
                    }
                },
            );
        }
    }
}
