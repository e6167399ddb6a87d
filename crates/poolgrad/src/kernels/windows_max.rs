//! Max pooling: the largest element of each window, and where it lies.
//!
//! For each output row, over the input columns that its windows see:
//!
//! 1. go down the rows `(d, h)` of the window and keep, for each column, the best element and where it lies
//!    (`windows_best.rs`);
//! 2. for each output, take the best of its columns: of a single plane for all outputs at once (`windows_across.rs`), of a
//!    group of channels for all channels at once (`windows_found.rs`).
//!
//! What is *best* has to be the same whichever way a window is walked: a NaN beats a number, and of several NaNs the
//! last in row-major order; otherwise the larger beats the smaller, and of equal elements the first in row-major order.
//! This is a total order, so columns may come first, and an element may be looked at twice. NaNs are looked for in step 1,
//! by a sum of each column, and put right afterwards; so both steps compare numbers only, and in step 1, where rows come in
//! ascending order, the rule is `value > best`.
//!
//! Outputs are kept until there are enough of them to be written: rows may be short.
//!
//! Traffic per input: one read (more where windows overlap, from the cache); per output: one value and one index.

use std::ops::Range;

use fearless_simd::Simd;

use super::rows::{self, ROW, RowBuffers};
use super::windows::{Columns, LANES, OutputRow, OutputRows};
use super::windows_across::{Across, Strip};
use super::windows_best::{Best, PlacedRow};
use super::windows_found::Found;
use super::windows_input::Plane;
use crate::dtype::{Float, Index};
use crate::exec::{Scratch, TileKernel, booked};
use crate::geometry::{Geometry, Window};
use crate::tensor::raw::{Source, Tile};

/// The rows that step 1 takes at once: all of the commonest windows.
const AT_ONCE: usize = 9;

/// How many elements ahead memory is asked for: some rows, which a processor does not guess by itself where a window
/// spans several depths.
const AHEAD: usize = 512;

/// The most results, with room for whole vectors behind the last.
const RESULTS: usize = ROW + LANES + 1;

/// The values to pool, and the windows.
pub(crate) struct WindowsMax<'a, T: Float> {
    input: Source<'a, T>,
    geometry: Geometry,
    /// The first rows along H of a window that the window before it has seen.
    seen: usize,
}

impl<'a, T: Float> WindowsMax<'a, T> {
    pub(crate) fn new(input: Source<'a, T>, geometry: Geometry) -> Self {
        let taps = geometry.axes[1].taps();
        let seen =
            taps.map_or(0, |taps| if taps.dilation == 1 { (taps.kernel_size - taps.stride).max(0) } else { 0 });
        Self { input, geometry, seen: seen as usize }
    }

    /// The scratch bytes of one worker.
    pub(crate) fn bytes<I: Index>() -> usize {
        Columns::bytes()
            + Across::<T::Acc>::bytes()
            + booked::<T::Acc>(RESULTS)
            + booked::<I>(RESULTS)
            + AT_ONCE * RowBuffers::<T>::bytes(ROW)
            + booked::<T>(ROW)
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

/// The maxima of consecutive outputs, and where they lie.
struct Results<'s, A, I> {
    values: &'s mut [A],
    places: &'s mut [I],
    /// The flat offset of the first output, and their number.
    flat: usize,
    len: usize,
}

impl<T: Float, I: Index> TileKernel<T, I> for WindowsMax<'_, T> {
    #[inline(always)]
    fn fill<S: Simd>(&self, simd: S, tile: Tile<'_, T, I>, mut scratch: Scratch<'_>) {
        let range = tile.range();
        let (mut output, mut indices) = tile.split();
        let scratch = &mut scratch;
        let mut across = Across::new(scratch);
        let mut results =
            Results { values: scratch.row(RESULTS), places: scratch.row::<I>(RESULTS), flat: 0, len: 0 };
        let mut buffers: [_; AT_ONCE] = std::array::from_fn(|_| RowBuffers::new(scratch, ROW));
        let staging = rows::staging(scratch);
        let axis = &Columns::new(self.geometry.axes[2], scratch);
        for group in range.groups {
            let plane = Plane::new(&self.input, group);
            let width = plane.width;
            let most = ROW / width;
            let mut output_rows = OutputRows::new(&self.geometry, range.flat.clone(), most);
            (results.flat, results.len) = (range.flat.start, 0);
            while let Some(row) = output_rows.next() {
                if width == 1 {
                    self.rows_of_plane(
                        simd,
                        &plane,
                        (&row, &mut output_rows),
                        axis,
                        (&mut across, &mut buffers),
                        &mut results,
                    );
                } else {
                    self.row_of_group(simd, &plane, &row, axis, (&mut across, &mut buffers), &mut results);
                }
                // The next row may be as long as the longest.
                if results.len + self.geometry.output()[2].min(most) > most || output_rows.is_done() {
                    let len = results.len * width;
                    rows::store(&mut output, (group, results.flat), &results.values[..len], staging);
                    if let Some(indices) = &mut indices {
                        indices.write(group, results.flat, &results.places[..len]);
                    }
                    (results.flat, results.len) = (results.flat + results.len, 0);
                }
            }
        }
    }
}

impl<T: Float> WindowsMax<'_, T> {
    /// The end of the rows of a window that are taken together with number `start`: all others, or none.
    ///
    /// Places are kept as 32 bits, half of what they could need; in a plane too large for that, each row is taken by
    /// itself.
    #[inline(always)]
    fn end_of_rows(&self, row: &OutputRow, start: u64) -> u64 {
        if self.is_huge() { start + 1 } else { row.n_rows() }
    }

    #[inline(always)]
    fn is_huge(&self) -> bool {
        u32::try_from(self.geometry.input_len()).is_err()
    }

    /// The outputs of `row` of a single plane, and of further rows that can be worked on together with it.
    #[inline(always)]
    fn rows_of_plane<S: Simd, I: Index>(
        &self,
        simd: S,
        plane: &Plane<'_, '_, T>,
        (row, more): (&OutputRow, &mut OutputRows<'_>),
        axis: &Columns<'_>,
        (across, buffers): (&mut Across<'_, T::Acc>, &mut [RowBuffers<'_, T>; AT_ONCE]),
        results: &mut Results<'_, T::Acc, I>,
    ) {
        let row_at = results.len;
        results.len += row.w.len();
        row.for_each_span(
            axis,
            ROW,
            #[inline(always)]
            |outputs: Range<usize>, span: Range<usize>| {
                Strip::for_each(
                    axis,
                    (&outputs, &span),
                    #[inline(always)]
                    |strip| {
                        let at = row_at + strip.outputs.start - row.w.start;
                        let goes_on = span.start > axis.window(strip.outputs.start).first;
                        let n_outputs = strip.outputs.len();
                        let is_whole = n_outputs == self.geometry.output()[2] && strip.has_all(axis);
                        let n_rows = if is_whole && !self.is_huge() {
                            Across::<T::Acc>::most_rows(strip).min(1 + more.n_whole()).min((ROW - at) / n_outputs)
                        } else {
                            1
                        };
                        let mut start = 0;
                        while start < row.n_rows() {
                            let origin = if self.is_huge() { row.input_row(&self.geometry, start) } else { 0 };
                            for i in 0..n_rows {
                                let next = if i > 0 { more.next() } else { None };
                                let row = next.as_ref().unwrap_or(row);
                                let rows = start..self.end_of_rows(row, start);
                                across.put_row(
                                    strip,
                                    i,
                                    #[inline(always)]
                                    |columns| {
                                        self.down(
                                            simd,
                                            plane,
                                            (row, rows),
                                            (&strip.span, origin, 1),
                                            columns,
                                            buffers,
                                        )
                                    },
                                );
                            }
                            let found = Found {
                                values: &mut results.values[at..],
                                places: &mut results.places[at..],
                                origin,
                                goes_on: goes_on || start > 0,
                            };
                            across.find(simd, strip, n_rows, axis, found);
                            start = self.end_of_rows(row, start);
                        }
                        results.len += (n_rows - 1) * n_outputs;
                    },
                );
            },
        );
    }

    /// The outputs of `row` of a group of several channels.
    #[inline(always)]
    fn row_of_group<S: Simd, I: Index>(
        &self,
        simd: S,
        plane: &Plane<'_, '_, T>,
        row: &OutputRow,
        axis: &Columns<'_>,
        (across, buffers): (&mut Across<'_, T::Acc>, &mut [RowBuffers<'_, T>; AT_ONCE]),
        results: &mut Results<'_, T::Acc, I>,
    ) {
        let width = plane.width;
        let row_at = results.len;
        results.len += row.w.len();
        row.for_each_span(
            axis,
            ROW / width,
            #[inline(always)]
            |outputs: Range<usize>, span: Range<usize>| {
                let mut start = 0;
                while start < row.n_rows() {
                    let end = self.end_of_rows(row, start);
                    let origin = row.input_row(&self.geometry, start) + span.start;
                    let (columns, best) = across.both();
                    let len = columns.values.len();
                    let rows = (row, start..end);
                    let has_nan = self.down(simd, plane, rows, (&span, origin, 0), columns.part(0..len), buffers);
                    for ow in outputs.clone() {
                        let window = axis.window(ow);
                        let at = (row_at + ow - row.w.start) * width;
                        let mut found = Found {
                            values: &mut results.values[at..at + width],
                            places: &mut results.places[at..at + width],
                            origin,
                            goes_on: start > 0 || span.start > window.first,
                        };
                        let is_whole = !found.goes_on && window.last() < span.end;
                        macro_rules! put_best {
                            ($($m:literal),*) => {
                                match window.count {
                                    $($m if is_whole && !has_nan => simd.vectorize(
                                        #[inline(always)]
                                        || {
                                            let taps = (window.first - span.start, window.step);
                                            found.put_best_columns::<$m>(columns, taps, width);
                                        },
                                    ),)*
                                    _ => if best.take_columns(columns, taps_in(window, &span), width) {
                                        found.put_each((best.values, best.places));
                                    }
                                }
                            };
                        }
                        put_best!(1, 2, 3);
                    }
                    start = end;
                }
            },
        );
    }

    /// Step 1: the best of each column of `span`, of some rows of a window. Places are counted from `origin`, and grow by
    /// `step` from element to element.
    #[inline(always)]
    fn down<S: Simd>(
        &self,
        simd: S,
        plane: &Plane<'_, '_, T>,
        (row, rows): (&OutputRow, Range<u64>),
        (span, origin, step): (&Range<usize>, usize, u32),
        mut columns: Best<'_, T::Acc>,
        buffers: &mut [RowBuffers<'_, T>; AT_ONCE],
    ) -> bool {
        let last = row.input_row(&self.geometry, rows.end - 1) + span.start;
        let len = plane.row_len(span.len(), last);
        let mut flats = row.input_rows(&self.geometry, rows.start);
        let mut left = rows.end - rows.start;
        let (mut are_first, mut has_nan) = (true, false);
        while left > 0 {
            let n = left.min(AT_ONCE as u64) as usize;
            let mut taken: [PlacedRow<'_, T::Acc>; AT_ONCE] = [(0, &[]); AT_ONCE];
            for (taken, buffers) in taken[..n].iter_mut().zip(&mut *buffers) {
                let is_new = flats.tap() >= self.seen;
                let flat = flats.next().unwrap_or(0) + span.start;
                if is_new && plane.width == 1 {
                    plane.fetch(flat, AHEAD, len);
                }
                *taken = ((flat - origin) as u32, plane.row(flat, len, buffers));
            }
            has_nan |= columns.take_rows(simd, &taken[..n], step, are_first);
            left -= n as u64;
            are_first = false;
        }
        has_nan
    }
}
