//! The gradient of max pooling in groups of channels whose windows overlap: each place gathers what points to it.
//!
//! ```text
//! grad_input[n, c, i] = 0.0 + sum of grad_output[n, c, o] where indices[n, c, o] = i, over all o whose windows reach i
//! ```
//!
//! A block of a group is walked from depth to depth and from row to row. Each place compares itself with the indices of all
//! outputs that reach it, in vectors of channels, and adds the gradients of those that point to it, in ascending order, in
//! registers (see [`Near`](super::gather_places::Near)). Then the sums are rounded and written. So nothing is cleared, and no sum
//! is read again.
//!
//! What an index points to is only looked for in its window. Outputs are looked at as they come into reach (see
//! [`Stock`]), and if an index points elsewhere, which is legal, the caller fills everything by other means.
//!
//! Traffic per output: its gradient and index; per input: one write of its gradient.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use fearless_simd::Simd;

use super::gather_places::{Pair, RowAt};
use super::gather_shape::{GatherShape, MOST_ROWS};
use super::gather_stock::Stock;
use super::leaving::write;
use super::outputs::Outputs;
use super::rows::{self, ROW};
use crate::dtype::{Float, Index};
use crate::exec::stream::{LINE, Route, whole_lines};
use crate::exec::{Scratch, TileKernel, booked};
use crate::tensor::raw::{OutTile, Tile};

/// The outputs, and whether some point outside their windows.
pub(crate) struct Gather<'a, T: Float, I: Index> {
    outputs: Outputs<'a, T, I>,
    shape: GatherShape,
    missed: AtomicBool,
}

impl<'a, T: Float, I: Index> Gather<'a, T, I> {
    pub(crate) fn new(outputs: Outputs<'a, T, I>, shape: GatherShape) -> Self {
        Self { outputs, shape, missed: AtomicBool::new(false) }
    }

    /// Whether all indices pointed into their windows, so that the gradient is complete.
    pub(crate) fn found_all(&self) -> bool {
        !self.missed.load(Ordering::Relaxed)
    }

    /// The scratch bytes of one worker.
    pub(crate) fn bytes(shape: &GatherShape) -> usize {
        let reaching: usize = shape.block.map(booked::<[u32; 2]>).iter().sum();
        let columns = reaching + booked::<Pair>(shape.block[2].div_ceil(2));
        let sums = booked::<T::Acc>(shape.columns_at_once(size_of::<T::Acc>()) * shape.width);
        Stock::<T, I>::bytes(shape) + columns + sums + booked::<T>(ROW)
    }
}

/// Places of a block, and the outputs that reach them.
struct Reaching<'s> {
    /// The first place of the block, along each axis.
    first: [usize; 3],
    /// For each depth, row and column of places, the outputs from the first to behind the last, counted from the first of the block.
    axes: [&'s mut [[u32; 2]]; 3],
    /// For each two columns.
    pairs: &'s mut [Pair],
}

impl<'s> Reaching<'s> {
    #[inline(always)]
    fn new(
        shape: &GatherShape,
        block: &[Range<usize>; 3],
        outputs: &[Range<usize>; 3],
        scratch: &mut Scratch<'s>,
    ) -> Self {
        let axes: [&mut [[u32; 2]]; 3] = std::array::from_fn(|i| {
            let (axis, first) = (&shape.axes[i], outputs[i].start);
            let reaching: &mut [[u32; 2]] = &mut scratch.row(shape.block[i])[..block[i].len()];
            for (reaching, place) in reaching.iter_mut().zip(block[i].clone()) {
                let outputs = axis.reaching(place..place + 1);
                *reaching = [outputs.start, outputs.end].map(|output| output.saturating_sub(first) as u32);
            }
            reaching
        });
        let outputs: &[[u32; 2]] = axes[2];
        let pairs = &mut scratch.row(shape.block[2].div_ceil(2))[..outputs.len().div_ceil(2)];
        for (pair, outputs) in pairs.iter_mut().zip(outputs.chunks(2)) {
            let [a, b] = [outputs[0], outputs.get(1).copied().unwrap_or([outputs[0][1]; 2])];
            *pair = Pair::new([a, b]);
        }
        Self { first: block.each_ref().map(|places| places.start), axes, pairs }
    }

    /// The places of an axis from `start` on that are reached by outputs up to the same; none behind the last.
    #[inline(always)]
    fn cell(&self, axis: usize, start: usize) -> Range<usize> {
        let places = &self.axes[axis][start..];
        start..start + places.iter().take_while(|outputs| outputs[1] == places[0][1]).count()
    }

    /// The end of the outputs that reach a cell.
    #[inline(always)]
    fn end(&self, axis: usize, cell: &Range<usize>) -> usize {
        self.axes[axis].get(cell.start).map_or(0, |outputs| outputs[1] as usize)
    }
}

impl<T: Float, I: Index> TileKernel<T, I> for Gather<'_, T, I> {
    #[inline(always)]
    fn fill<S: Simd>(&self, simd: S, mut tile: Tile<'_, T, I>, mut scratch: Scratch<'_>) {
        if !self.found_all() {
            return;
        }
        let range = tile.range();
        let outputs: [_; 3] = std::array::from_fn(|i| self.shape.axes[i].reaching(range.block[i].clone()));
        let reaching = Reaching::new(&self.shape, &range.block, &outputs, &mut scratch);
        let mut stock = Stock::new((self.outputs, self.shape), outputs, &mut scratch);
        let sums = scratch.row(self.shape.columns_at_once(size_of::<T::Acc>()) * self.shape.width);
        let staging = rows::staging(&mut scratch);
        for group in range.groups {
            stock.turn_to(group);
            self.gather(simd, group, (&reaching, &mut stock), (&mut tile.first, sums, staging));
        }
        if !stock.all_inside {
            self.missed.store(true, Ordering::Relaxed);
        }
    }
}

impl<T: Float, I: Index> Gather<'_, T, I> {
    /// Fills a block of a group.
    #[inline(always)]
    fn gather<S: Simd>(
        &self,
        simd: S,
        group: usize,
        (reaching, stock): (&Reaching<'_>, &mut Stock<'_, '_, T, I>),
        (out, sums, staging): (&mut OutTile<'_, T>, &mut [T::Acc], &mut [T]),
    ) {
        let n_turns = reaching.axes[2].len().div_ceil(self.shape.columns_at_once(size_of::<T::Acc>()));
        let mut ready = 0;
        let mut slices = reaching.cell(0, 0);
        while !slices.is_empty() {
            let new = ready.max(reaching.axes[0][slices.start][0] as usize)..reaching.end(0, &slices);
            ready = ready.max(new.end);
            let mut rows = reaching.cell(1, 0);
            stock.expect(new.clone(), 0..reaching.end(1, &rows));
            while !rows.is_empty() {
                stock.hold(simd, usize::MAX);
                // Meanwhile, what the rows behind these need in addition.
                let next = reaching.cell(1, rows.end);
                let end = reaching.end(1, &rows);
                let n_coming = stock.expect(new.clone(), end..reaching.end(1, &next).max(end));
                let at_once = n_coming.div_ceil(slices.len() * rows.len() * n_turns);
                for slice in slices.clone() {
                    for row in rows.clone() {
                        let place = (group, [slice, row]);
                        self.gather_row(
                            simd,
                            place,
                            (reaching, &mut *stock, at_once),
                            (&mut *out, &mut *sums, &mut *staging),
                        );
                    }
                }
                rows = next;
            }
            slices = reaching.cell(0, slices.end);
        }
    }

    /// Fills a row, counted from the first of the block.
    #[inline(always)]
    fn gather_row<S: Simd>(
        &self,
        simd: S,
        (group, [slice, row]): (usize, [usize; 2]),
        (reaching, stock, at_once): (&Reaching<'_>, &mut Stock<'_, '_, T, I>, usize),
        (out, sums, staging): (&mut OutTile<'_, T>, &mut [T::Acc], &mut [T]),
    ) {
        let mut rows: [RowAt; MOST_ROWS] = [[0; 2]; MOST_ROWS];
        let mut n_rows = 0;
        let [depths, heights] = [reaching.axes[0][slice], reaching.axes[1][row]];
        for depth in depths[0]..depths[1] {
            for height in heights[0]..heights[1] {
                rows[n_rows] = stock.row_at([depth, height].map(|at| at as usize));
                n_rows += 1;
            }
        }
        let [_, n_h, n_w] = self.shape.axes.each_ref().map(|axis| axis.input());
        let [first_slice, first_row, first_column] = reaching.first;
        let first = ((first_slice + slice) * n_h + first_row + row) * n_w + first_column;
        let n_columns = reaching.axes[2].len();
        let mut work = Work { reaching, stock, at_once, rows: &rows[..n_rows], sums, staging };
        let (streams, width) = (out.streams(), work.stock.width);
        let are_lines = (width * size_of::<T>()).is_multiple_of(LINE);
        if let Some(memory) = out.consecutive(group, first..first + n_columns) {
            let columns = (first, 0..n_columns);
            if streams && are_lines && whole_lines(memory) == (0..memory.len()) {
                return work.fill(simd, columns, To::Lines(memory, Route::Past));
            }
            if !streams && are_lines && T::as_wide(memory).is_none() {
                return work.fill(simd, columns, To::Lines(memory, Route::Near));
            }
            if let (false, Some(sums)) = (streams, T::as_wide_mut(memory)) {
                return work.fill(simd, columns, To::Sums(sums));
            }
        }
        let n = self.shape.columns_at_once(size_of::<T::Acc>());
        for start in (0..n_columns).step_by(n) {
            let columns = start..(start + n).min(n_columns);
            let n_sums = columns.len() * width;
            work.fill(simd, (first, columns), To::Buffer);
            rows::store(simd, out, (group, first + start), &work.sums[..n_sums], work.staging);
        }
    }
}

/// Where sums are wanted.
enum To<'m, T: Float> {
    /// As they are.
    Sums(&'m mut [T::Acc]),
    /// Rounded, as whole lines.
    Lines(&'m mut [T], Route),
    /// Together in the buffer.
    Buffer,
}

/// A row of places.
struct Work<'w, 's, 'a, T: Float, I: Index> {
    reaching: &'w Reaching<'w>,
    stock: &'w mut Stock<'s, 'a, T, I>,
    /// The outputs to make ready for each two places.
    at_once: usize,
    /// The rows of outputs that reach it.
    rows: &'w [RowAt],
    sums: &'w mut [T::Acc],
    staging: &'w mut [T],
}

impl<T: Float, I: Index> Work<'_, '_, '_, T, I> {
    /// Forms the sums of columns of a row that begins at `first`, some at a time, and writes them.
    #[inline(always)]
    fn fill<S: Simd>(&mut self, simd: S, (first, columns): (usize, Range<usize>), mut to: To<'_, T>) {
        let width = self.stock.width;
        let n_columns = self.sums.len() / width / 2 * 2;
        for start in columns.clone().step_by(n_columns) {
            self.stock.hold(simd, self.at_once);
            let n = n_columns.min(columns.end - start);
            let at = (start - columns.start) * width;
            let pairs = &self.reaching.pairs[start / 2..(start + n).div_ceil(2)];
            let memory = at..at + n * width;
            let places = ((first + start) as u32, pairs);
            let near = self.stock.near();
            let (sums, lines): (_, (&mut [T], _)) = match &mut to {
                To::Sums(sums) => (&mut sums[memory.clone()], (&mut [], Route::Near)),
                To::Buffer => (&mut *self.sums, (&mut [], Route::Near)),
                To::Lines(to, route) => (&mut *self.sums, (&mut to[memory.clone()], *route)),
            };
            let have_left = near.gather(simd, self.rows, places, (sums, lines));
            if let (false, To::Lines(to, route)) = (have_left, &mut to) {
                let (sums, to) = (&self.sums[..n * width], &mut to[memory]);
                match route {
                    Route::Near => T::narrow(sums, to),
                    Route::Past => write(simd, sums, to, self.staging),
                }
            }
        }
    }
}
