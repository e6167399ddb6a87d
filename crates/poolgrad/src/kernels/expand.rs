//! The gradient of max pooling whose windows touch: each output fills its window, so that every place is written once.
//!
//! ```text
//! grad_input[n, c, i] = 0.0 + grad_output[n, c, o] where indices[n, c, o] = i, else 0.0,   i in the window of o
//! ```
//!
//! Some rows of outputs of one depth at a time:
//!
//! 1. make them ready: `inside = index - start`, where `start` is the first place of the output's window;
//! 2. for each depth `d` of the windows, `code = inside - d·H·W`, as a word that is as wide as an element;
//! 3. fill the rows of that depth by comparing codes with those of their places, in vectors (see
//!    [`CellRows`](super::expand_rows::CellRows)).
//!
//! An index may point outside its window: that is legal, and then its code is that of no place there. So the terms that were
//! found are counted. If some were not, the caller fills everything by other means.
//!
//! To work on rows while the next are on their way, memory is asked for bit by bit as windows are filled. What is written past the
//! cache leaves from registers, vector by vector, if these fill whole lines; other rows are first put together in the cache.
//!
//! Traffic per output: its gradient and index; per input: one write of its gradient.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use fearless_simd::Simd;

use super::expand_rows::{Ahead, CellRows, To};
use super::expand_shape::ExpandShape;
use super::outputs::Outputs;
use super::rows::{self, ROW};
use crate::dtype::{Index, Sum, Summed, Word, words, words_mut};
use crate::exec::{Scratch, TileKernel, booked};
use crate::tensor::raw::{OutTile, Tile};

/// The outputs, and whether some point outside their windows.
pub(crate) struct Expand<'a, T: Summed, I: Index> {
    outputs: Outputs<'a, T, I>,
    shape: ExpandShape,
    missed: AtomicBool,
}

impl<'a, T: Summed, I: Index> Expand<'a, T, I> {
    pub(crate) fn new(outputs: Outputs<'a, T, I>, shape: ExpandShape) -> Self {
        Self { outputs, shape, missed: AtomicBool::new(false) }
    }

    /// Whether all indices pointed into their windows, so that the gradient is complete.
    pub(crate) fn found_all(&self) -> bool {
        !self.missed.load(Ordering::Relaxed)
    }

    /// The scratch bytes of one worker.
    pub(crate) fn bytes(shape: &ExpandShape) -> usize {
        let n = shape.piece_len();
        let read = booked::<T>(ROW) + booked::<I>(ROW) + booked::<u32>(ROW);
        let ready = 2 * booked::<u32>(n) + booked::<T::Acc>(n) + booked::<<T::Acc as Sum>::Word>(n);
        read + ready + booked::<T::Acc>(shape.slab_len()) + booked::<T>(ROW)
    }
}

/// Buffers for the outputs of a piece.
struct Piece<'s, T: Summed, I> {
    elements: &'s mut [T],
    indices: &'s mut [I],
    offsets: &'s mut [u32],
    /// Where the window of each begins, counted from the first, and where in it each index points.
    starts: &'s mut [u32],
    inside: &'s mut [u32],
    codes: &'s mut [<T::Acc as Sum>::Word],
    terms: &'s mut [T::Acc],
    /// Cells on their way to memory that cannot be filled directly.
    slab: &'s mut [T::Acc],
    staging: &'s mut [T],
}

impl<T: Summed, I: Index> TileKernel<T, I> for Expand<'_, T, I> {
    #[inline(always)]
    fn fill<S: Simd>(&self, simd: S, mut tile: Tile<'_, T, I>, mut scratch: Scratch<'_>) {
        if !self.found_all() {
            return;
        }
        let range = tile.range();
        let n = self.shape.piece_len();
        let mut piece = Piece {
            elements: scratch.row(ROW),
            indices: scratch.row(ROW),
            offsets: scratch.row(ROW),
            starts: scratch.row(n),
            inside: scratch.row(n),
            codes: scratch.row(n),
            terms: scratch.row(n),
            slab: scratch.row(self.shape.slab_len()),
            staging: rows::staging(&mut scratch),
        };
        let (mut all, mut width) = (true, 0);
        for group in range.groups {
            // The last group may be narrower.
            if width != self.outputs.width_of(group) {
                width = self.outputs.width_of(group);
                self.put_starts(piece.starts, width);
            }
            all &= self.expand_block(simd, (group, &range.block), &mut piece, &mut tile.first);
        }
        if !all {
            self.missed.store(true, Ordering::Relaxed);
        }
    }
}

impl<T: Summed, I: Index> Expand<'_, T, I> {
    /// Where the windows of rows of outputs of `width` channels begin, counted from the first.
    #[inline(always)]
    fn put_starts(&self, starts: &mut [u32], width: usize) {
        let ExpandShape { dims: [_, _, n_w], window: [_, n_rows, n_columns], .. } = self.shape;
        for (row, starts) in starts.chunks_mut(self.shape.columns() * width).enumerate() {
            for (column, starts) in starts.chunks_mut(width).enumerate() {
                starts.fill((row * n_rows * n_w + column * n_columns) as u32);
            }
        }
    }

    /// Fills a block of a group; whether all of its outputs were found.
    #[inline(always)]
    fn expand_block<S: Simd>(
        &self,
        simd: S,
        (group, [slices, rows, _]): (usize, &[Range<usize>; 3]),
        piece: &mut Piece<'_, T, I>,
        out: &mut OutTile<'_, T>,
    ) -> bool {
        let ExpandShape { dims: [_, n_h, n_w], output, window, parts, .. } = self.shape;
        let mut all = true;
        for slice in slices.clone().step_by(window[0]) {
            let depth = slice / window[0];
            let first = rows.start / window[1];
            // Behind the last window there are no outputs.
            let last =
                if depth < output[0] { output[1].min(rows.end.div_ceil(window[1])).max(first) } else { first };
            for row in (first..last).step_by(self.shape.rows) {
                let rows = row..(row + self.shape.rows).min(last);
                for part in 0..parts {
                    let columns = part * output[2] / parts..(part + 1) * output[2] / parts;
                    all &= self.expand_piece(simd, (group, depth), (rows.clone(), columns), piece, out);
                }
            }
            let behind = (last * window[1]).min(rows.end)..rows.end;
            for slice in slice..(slice + window[0]).min(slices.end) {
                let flat = (slice * n_h + behind.start) * n_w..(slice * n_h + behind.end) * n_w;
                self.clear(simd, (group, flat), piece, out);
            }
        }
        all
    }

    /// Fills the windows of some outputs of one depth; whether all were found.
    #[inline(always)]
    fn expand_piece<S: Simd>(
        &self,
        simd: S,
        (group, depth): (usize, usize),
        (rows, columns): (Range<usize>, Range<usize>),
        piece: &mut Piece<'_, T, I>,
        out: &mut OutTile<'_, T>,
    ) -> bool {
        let ExpandShape { dims: [_, n_h, n_w], output, window, parts, .. } = self.shape;
        let width = self.outputs.width_of(group);
        let first = (depth * output[1] + rows.start) * output[2] + columns.start;
        let outputs = first..first + rows.len() * columns.len();
        let start = (depth * window[0] * n_h + rows.start * window[1]) * n_w + columns.start * window[2];
        let ahead = self.prepare((group, outputs.clone()), (columns.len(), start as u32), piece);
        // The last columns come with those behind all windows.
        let end = if columns.end == output[2] { n_w } else { columns.end * window[2] };
        let n_places = end - columns.start * window[2];
        // Whole rows are neighbours.
        let [n_calls, n_rows] = if parts == 1 { [1, window[1]] } else { [window[1], 1] };
        let mut n_found = 0;
        let n = outputs.len() * width;
        for d in 0..window[0] {
            let below = (d * n_h * n_w) as u32;
            let codes = &mut piece.codes[..n];
            codes.iter_mut().zip(&*piece.inside).for_each(|(code, inside)| {
                *code = Word::of_offset(inside.wrapping_sub(below));
            });
            for h in 0..n_calls {
                let cell_rows = CellRows {
                    outputs: columns.len() * width,
                    width,
                    window: [n_rows, window[2]],
                    pitch: n_places * width,
                    first: (h * n_w) as u32,
                    step: n_w as u32,
                    ahead: if d + h == 0 { ahead } else { [Ahead::NONE; 2] },
                    to: To::Far,
                };
                let outputs = (&*codes, words(&piece.terms[..n]));
                let flat = start + (d * n_h + h) * n_w;
                let flat = flat..flat + rows.len() * n_rows * n_places;
                let n_cells = flat.len() * width;
                if let Some(cells) = out.memory(group..group + 1, flat.clone()).and_then(T::as_wide_mut) {
                    n_found += cell_rows.fill(simd, outputs, words_mut(cells));
                    continue;
                }
                let memory = if out.streams() { out.consecutive(group, flat.clone()) } else { None };
                let cells = memory.and_then(T::as_wide_mut).map(words_mut);
                if let Some(cells) = cells.filter(|cells| cell_rows.are_lines(simd, cells)) {
                    n_found += CellRows { to: To::Past, ..cell_rows }.fill(simd, outputs, cells);
                    continue;
                }
                let cells = &mut piece.slab[..n_cells];
                n_found += CellRows { to: To::Near, ..cell_rows }.fill(simd, outputs, words_mut(cells));
                rows::store(simd, out, (group, flat.start), cells, piece.staging);
            }
        }
        n_found == n
    }

    /// Makes the outputs at flat offsets `outputs` ready, whose windows begin at `start`; returns what to ask for.
    #[inline(always)]
    fn prepare(
        &self,
        (group, outputs): (usize, Range<usize>),
        (columns, start): (usize, u32),
        piece: &mut Piece<'_, T, I>,
    ) -> [Ahead; 2] {
        let width = self.outputs.width_of(group);
        let mut ahead = [Ahead::NONE; 2];
        let (mut rest, mut at) = (outputs, 0);
        while let Some(row) = self.outputs.next_row(&mut rest, width) {
            let (indices, gradients) = self.outputs.load((group, row), (piece.indices, piece.elements));
            let each = if width == 1 { columns } else { width };
            ahead = [Ahead::behind(indices, each), Ahead::behind(gradients, each)];
            let end = at + indices.len();
            let offsets = I::small_offsets(indices, piece.offsets).iter().zip(&piece.starts[at..end]);
            for (inside, (&offset, from)) in piece.inside[at..end].iter_mut().zip(offsets) {
                *inside = offset.wrapping_sub(start + from);
            }
            let terms = &mut piece.terms[at..end];
            T::widen(gradients, terms);
            for term in terms {
                let mut sum = T::Acc::ZERO;
                sum.add_term(*term);
                *term = sum;
            }
            at = end;
        }
        ahead
    }

    /// Writes zeros.
    #[inline(always)]
    fn clear<S: Simd>(
        &self,
        simd: S,
        (group, flat): (usize, Range<usize>),
        piece: &mut Piece<'_, T, I>,
        out: &mut OutTile<'_, T>,
    ) {
        let width = self.outputs.width_of(group);
        let most = piece.slab.len() / width;
        for at in flat.clone().step_by(most) {
            let zeros = &mut piece.slab[..most.min(flat.end - at) * width];
            rows::clear(zeros);
            rows::store(simd, out, (group, at), zeros, piece.staging);
        }
    }
}
