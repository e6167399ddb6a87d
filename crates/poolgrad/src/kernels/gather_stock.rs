//! Outputs as places gather from them: where they lie, if that is in the right form, or held in a ring of depths.
//!
//! Outputs come into reach a row at a time. They are looked at one by one while places gather from others, so that memory and
//! vectors work at the same time.

use std::ops::Range;

use fearless_simd::{Simd, SimdBase, SimdMask};

use super::gather_places::{Near, RowAt, splat};
use super::gather_shape::GatherShape;
use super::outputs::Outputs;
use super::rows::ROW;
use crate::dtype::{Float, Index, Sum, Summed, Word};
use crate::exec::stream::{LINE, fetch_lines};
use crate::exec::{Scratch, booked};
use crate::tensor::raw::Row;

/// A word as wide as a sum.
type Words<T> = <<T as Summed>::Acc as Sum>::Word;

/// The outputs of a group that reach a block.
pub(super) struct Stock<'s, 'a, T: Float, I: Index> {
    outputs: Outputs<'a, T, I>,
    shape: GatherShape,
    group: usize,
    pub(super) width: usize,
    /// The outputs of the block.
    block: [Range<usize>; 3],
    /// Those of the whole group, if they lie one behind the other.
    memory: Option<(&'a [I], &'a [T])>,
    /// The same, where they are as places need them.
    codes: Option<&'a [Words<T>]>,
    terms: Option<&'a [T::Acc]>,
    /// Rings of depths, for all others.
    held_codes: &'s mut [Words<T>],
    held_terms: &'s mut [T::Acc],
    loaded: (&'s mut [I], &'s mut [T]),
    /// The first column of the window of each column of outputs, and how many these are.
    windows: &'s mut [[u32; 2]],
    coming: Coming,
    /// Whether all indices pointed into the windows of their outputs.
    pub(super) all_inside: bool,
}

/// Rows of outputs that come into reach, counted from the first of the block, and the next of these outputs.
struct Coming {
    depths: Range<usize>,
    rows: Range<usize>,
    next: [usize; 3],
    /// The flat offset of the first place of the windows of its row, and over how many slices and rows they reach.
    first: u32,
    count: [usize; 2],
}

impl<'s, 'a, T: Float, I: Index> Stock<'s, 'a, T, I> {
    /// The scratch bytes.
    pub(super) fn bytes(shape: &GatherShape) -> usize {
        let held = booked::<Words<T>>(shape.held_len()) + booked::<T::Acc>(shape.held_len());
        held + booked::<I>(ROW) + booked::<T>(ROW) + booked::<[u32; 2]>(shape.held[2])
    }

    /// Nothing at hand yet, of a block that these outputs reach.
    #[inline(always)]
    pub(super) fn new(
        (outputs, shape): (Outputs<'a, T, I>, GatherShape),
        block: [Range<usize>; 3],
        scratch: &mut Scratch<'s>,
    ) -> Self {
        let windows = scratch.row(shape.held[2]);
        for (window, output) in windows.iter_mut().zip(block[2].clone()) {
            let cover = shape.axes[2].cover(output);
            *window = [cover.start as u32, cover.len() as u32];
        }
        Self {
            outputs,
            shape,
            group: 0,
            width: 0,
            block,
            memory: None,
            codes: None,
            terms: None,
            held_codes: scratch.row(shape.held_len()),
            held_terms: scratch.row(shape.held_len()),
            loaded: (scratch.row(ROW), scratch.row(ROW)),
            windows,
            coming: Coming { depths: 0..0, rows: 0..0, next: [0; 3], first: 0, count: [0; 2] },
            all_inside: true,
        }
    }

    /// Turns to another group.
    #[inline(always)]
    pub(super) fn turn_to(&mut self, group: usize) {
        let Outputs { grad_output, indices } = self.outputs;
        self.group = group;
        self.width = self.outputs.width_of(group);
        let whole = 0..indices.plane_len();
        let are_runs = [indices.run_len(), grad_output.run_len()].iter().all(|&len| len == whole.end);
        self.memory = match are_runs.then(|| (indices.row(group, whole.clone()), grad_output.row(group, whole))) {
            Some((Row::Slice(indices), Row::Slice(gradients))) => Some((indices, gradients)),
            _ => None,
        };
        self.codes =
            self.memory.and_then(|(indices, _)| I::as_small_offsets(indices)).and_then(Words::<T>::as_offsets);
        self.terms = self.memory.and_then(|(_, gradients)| T::as_wide(gradients));
    }

    /// The outputs at hand.
    #[inline(always)]
    pub(super) fn near(&self) -> Near<'_, T::Acc> {
        Near {
            codes: self.codes.unwrap_or(self.held_codes),
            terms: self.terms.unwrap_or(self.held_terms),
            width: self.width,
        }
    }

    /// The flat offset of an output, counted from the first of the block.
    #[inline(always)]
    fn flat(&self, [depth, row, column]: [usize; 3]) -> usize {
        let [_, n_rows, n_columns] = self.shape.axes.each_ref().map(|axis| axis.output());
        let [first_depth, first_row, first_column] = self.block.each_ref().map(|outputs| outputs.start);
        ((first_depth + depth) * n_rows + first_row + row) * n_columns + first_column + column
    }

    /// Where a row of outputs is, counted from the first of the block.
    #[inline(always)]
    pub(super) fn row_at(&self, [depth, row]: [usize; 2]) -> RowAt {
        let held = (depth % self.shape.held[0] * self.block[1].len() + row) * self.block[2].len() * self.width;
        let memory = self.flat([depth, row, 0]) * self.width;
        [self.codes.is_some(), self.terms.is_some()].map(|is_direct| if is_direct { memory } else { held })
    }

    /// From now on these rows of these depths come into reach; returns how many outputs these are.
    #[inline(always)]
    pub(super) fn expect(&mut self, depths: Range<usize>, rows: Range<usize>) -> usize {
        let n = depths.len() * rows.len() * self.block[2].len();
        let next = [if n == 0 { depths.end } else { depths.start }, rows.start, 0];
        self.coming = Coming { depths, rows, next, first: 0, count: [0; 2] };
        n
    }

    /// Makes up to `n` of the outputs ready that come into reach.
    #[inline(always)]
    pub(super) fn hold<S: Simd>(&mut self, simd: S, n: usize) {
        let mut left = n;
        while left > 0 && self.coming.next[0] < self.coming.depths.end {
            let [depth, row, column] = self.coming.next;
            if column == 0 {
                let [depths, rows, columns] = &self.shape.axes;
                let [depth, row] =
                    [depths.cover(self.block[0].start + depth), rows.cover(self.block[1].start + row)];
                self.coming.first = ((depth.start * rows.input() + row.start) * columns.input()) as u32;
                self.coming.count = [depth.len(), row.len()];
            }
            let n = left.min(self.block[2].len() - column);
            self.hold_outputs(simd, n);
            left -= n;
            self.coming.next[2] += n;
            if self.coming.next[2] == self.block[2].len() {
                let is_last = row + 1 == self.coming.rows.end;
                self.coming.next =
                    if is_last { [depth + 1, self.coming.rows.start, 0] } else { [depth, row + 1, 0] };
            }
        }
    }

    /// Makes the next `n` outputs of a row ready.
    #[inline(always)]
    fn hold_outputs<S: Simd>(&mut self, simd: S, n: usize) {
        let Coming { next: [depth, row, column], first, count, .. } = self.coming;
        let (width, flat) = (self.width, self.flat(self.coming.next));
        let places = self.row_at([depth, row]).map(|start| start + column * width..start + (column + n) * width);
        let [codes, terms] = places.clone();
        match self.memory {
            Some((indices, gradients)) => {
                let memory = flat * width..(flat + n) * width;
                fetch_behind(&indices[memory.clone()]);
                fetch_behind(&gradients[memory.clone()]);
                if self.codes.is_none() {
                    put_codes(&indices[memory.clone()], &mut self.held_codes[codes]);
                }
                if self.terms.is_none() {
                    T::widen(&gradients[memory], &mut self.held_terms[terms]);
                }
            }
            None => {
                let (mut rest, mut at) = (flat..flat + n, codes.start);
                while let Some(outputs) = self.outputs.next_row(&mut rest, width) {
                    let buffers = (&mut *self.loaded.0, &mut *self.loaded.1);
                    let (indices, gradients) = self.outputs.load((self.group, outputs), buffers);
                    put_codes(indices, &mut self.held_codes[at..at + indices.len()]);
                    T::widen(gradients, &mut self.held_terms[at..at + indices.len()]);
                    at += indices.len();
                }
            }
        }
        let [codes, _] = places;
        let codes = &self.near().codes[codes];
        let [_, rows, columns] = self.shape.axes.each_ref().map(|axis| axis.input());
        let windows = Windows {
            first,
            count,
            step: [(rows * columns) as u32, columns as u32],
            columns: &self.windows[column..column + n],
        };
        let contain = windows.contain(simd, codes, width);
        self.all_inside &= contain;
    }
}

/// How many elements ahead of those that are made ready memory is asked for: places are gathered in between, so that a processor
/// does not do so by itself.
const AHEAD: usize = 256;

/// Asks for the lines that lie so far behind these elements.
#[inline(always)]
fn fetch_behind<T>(elements: &[T]) {
    fetch_lines(elements.as_ptr().wrapping_add(AHEAD), size_of_val(elements) / LINE);
}

/// Indices as the words that places are compared with.
#[inline(always)]
fn put_codes<I: Index, W: Word>(indices: &[I], codes: &mut [W]) {
    for (code, index) in codes.iter_mut().zip(indices) {
        *code = W::of_offset(index.small_offset());
    }
}

/// Where the windows of some outputs of a row are.
#[derive(Clone, Copy)]
struct Windows<'w> {
    /// The flat offset of the first place, how many slices and rows there are, and how far they lie apart.
    first: u32,
    count: [usize; 2],
    step: [u32; 2],
    /// The first column of each output, and the number of these.
    columns: &'w [[u32; 2]],
}

impl Windows<'_> {
    /// Whether all of these codes, for each output those of `width` channels, are those of places in its window.
    #[inline(always)]
    fn contain<S: Simd, W: Word>(self, simd: S, codes: &[W], width: usize) -> bool {
        let lanes = W::Vector::<S>::LEN;
        let [slice, row] = self.step;
        // One by one: within `array::map` vectors are not at the level of this function.
        let (first, slice, row) =
            (splat::<S, W>(simd, self.first), splat::<S, W>(simd, slice), splat::<S, W>(simd, row));
        let mut all = first.simd_eq(first);
        for (codes, &[start, len]) in codes.chunks_exact(width).zip(self.columns) {
            let (start, len) = (splat::<S, W>(simd, start), splat::<S, W>(simd, len));
            for at in (0..width).step_by(lanes) {
                let at = at.min(width - lanes);
                let mut inside = W::Vector::<S>::from_slice(simd, &codes[at..at + lanes]) - first;
                // Of the two, the smaller is the one that did not wrap around.
                for _ in 1..self.count[0] {
                    inside = inside.min(inside - slice);
                }
                for _ in 1..self.count[1] {
                    inside = inside.min(inside - row);
                }
                all &= (inside - start).simd_lt(len);
            }
        }
        all.all_true()
    }
}
