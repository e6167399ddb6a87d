//! The gradient of average pooling: each output's gradient is shared among the elements of its window.
//!
//! ```text
//! grad_input[n, c, d, h, w] = Σ grad_output[n, c, od, oh, ow] / (|od|·|oh|·|ow|)
//! ```
//!
//! over the windows that hold `(d, h, w)`, where `|·|` are their sizes along each axis. The sum is separable, and this
//! fixes the one order in which it is formed, in f32 (f64 for f64), from +0.0:
//!
//! 1. for each output row `(od, oh)`, in ascending order, divide its gradients once by their windows' sizes;
//! 2. widen it along W: at each `w`, from +0.0, add the shares of the windows that hold it, `ow` ascending;
//! 3. add the wide row to every row `(d, h)` of its window.
//!
//! Depths that lie in the same windows have the same gradients. So a depth is summed up only where the set of windows
//! along D changes, and is a copy of the depth before it, already rounded, otherwise. Depths are formed in the output
//! where it can hold them and is not to be streamed; otherwise a few at a time are gathered in the cache and written out.
//! Where each plane has a single output, all of its elements are the same.
//!
//! Traffic per output: its gradient; per input: one write of its gradient.

use std::ops::Range;

use super::rows::{self, ROW};
use super::widen::{OutputRow, Widen, within};
use crate::dtype::{Accumulator, Element, Float, Sum};
use crate::exec::{Scratch, TileKernel, booked};
use crate::geometry::Geometry;
use crate::tensor::raw::{Source, Tile};

/// The elements of the depths that are gathered at a time: long enough to be written out in one go, short enough to
/// stay in the first-level cache.
const GATHERED: usize = 4096;

/// The gradients of all outputs, and the windows they are shared among.
pub(crate) struct Spread<'a, T: Float> {
    grad_output: Source<'a, T>,
    geometry: Geometry,
    flat_len: usize,
    width: usize,
}

impl<'a, T: Float> Spread<'a, T> {
    /// A spread into tiles of at most `flat_len` places of groups of `width` channels.
    pub(crate) fn new(grad_output: Source<'a, T>, geometry: Geometry, (flat_len, width): (usize, usize)) -> Self {
        Self { grad_output, geometry, flat_len, width }
    }

    /// The scratch bytes of one worker.
    pub(crate) fn bytes(geometry: &Geometry, (flat_len, width): (usize, usize)) -> usize {
        let [_, _, n_w] = geometry.input();
        let (depth, gathered) = lens(geometry, (flat_len, width));
        let even = booked::<T::Acc>(ROW) + 3 * booked::<T>(ROW);
        even.max(booked::<T::Acc>(depth) + booked::<T>(gathered) + Widen::<T>::bytes(flat_len.min(n_w), width))
    }
}

/// The elements of one depth, and of all depths that are gathered.
fn lens(geometry: &Geometry, (flat_len, width): (usize, usize)) -> (usize, usize) {
    let [_, n_h, n_w] = geometry.input();
    let depth = flat_len.min(n_h * n_w) * width;
    (depth, (flat_len * width).min((GATHERED / depth).max(1) * depth))
}

impl<T: Float> TileKernel<T, T> for Spread<'_, T> {
    #[inline(always)]
    fn fill(&self, mut tile: Tile<'_, T, T>, mut scratch: Scratch<'_>) {
        if self.geometry.output_len() == 1 {
            return self.fill_evenly(tile, scratch);
        }
        let range = tile.range();
        let (depth_len, gathered_len) = lens(&self.geometry, (self.flat_len, self.width));
        let sums = scratch.row::<T::Acc>(depth_len);
        let gathered = scratch.row::<T>(gathered_len);
        let block = Block::new(&self.geometry, &range.flat);
        let mut widen = Widen::new(self.geometry.axes[2], block.w.clone(), self.width, &mut scratch);
        for group in range.groups {
            let width = self.grad_output.width_of(group);
            let depth_len = block.h.len() * block.w.len() * width;
            if let Some(memory) = tile.first.memory(group..group + 1, range.flat.clone()) {
                self.fill_memory(group, (&block, &mut sums[..depth_len]), memory, &mut widen);
                continue;
            }
            let mut flat = range.flat.start;
            let mut n_gathered = 0;
            let mut reaching = 0..0;
            for d in block.d.clone() {
                let before = std::mem::replace(&mut reaching, self.geometry.axes[0].reaching(d..d + 1));
                let at = n_gathered * depth_len;
                if reaching != before {
                    let sums = &mut sums[..depth_len];
                    self.sum_depth((group, reaching.clone()), &block, sums, &mut widen);
                    T::narrow(sums, &mut gathered[at..at + depth_len]);
                } else if n_gathered > 0 {
                    gathered.copy_within(at - depth_len..at, at);
                } else {
                    // The depth before was the last that was written out.
                    let last = (gathered.len() / depth_len - 1) * depth_len;
                    gathered.copy_within(last..last + depth_len, 0);
                }
                n_gathered += 1;
                if (n_gathered + 1) * depth_len > gathered.len() || d + 1 == block.d.end {
                    let done = &gathered[..n_gathered * depth_len];
                    tile.first.write(group, flat, done);
                    flat += done.len() / width;
                    n_gathered = 0;
                }
            }
        }
    }
}

impl<T: Float> Spread<'_, T> {
    /// Fills all depths of a block where they lie.
    #[inline(always)]
    fn fill_memory(
        &self,
        group: usize,
        (block, sums): (&Block, &mut [T::Acc]),
        memory: &mut [T],
        widen: &mut Widen<'_, T>,
    ) {
        let len = sums.len();
        let mut reaching = 0..0;
        for (d, at) in block.d.clone().zip((0..).step_by(len)) {
            let before = std::mem::replace(&mut reaching, self.geometry.axes[0].reaching(d..d + 1));
            if reaching == before {
                memory.copy_within(at - len..at, at);
            } else if let Some(sums) = T::as_wide_mut(&mut memory[at..at + len]) {
                self.sum_depth((group, reaching.clone()), block, sums, widen);
            } else {
                self.sum_depth((group, reaching.clone()), block, sums, widen);
                T::narrow(sums, &mut memory[at..at + len]);
            }
        }
    }

    /// Fills a tile of planes that have one output each, some planes at a time.
    #[inline(always)]
    fn fill_evenly(&self, mut tile: Tile<'_, T, T>, mut scratch: Scratch<'_>) {
        let range = tile.range();
        let (elements, shares) = (scratch.row::<T>(ROW), scratch.row::<T::Acc>(ROW));
        let (rounded, even) = (scratch.row::<T>(ROW), scratch.row::<T>(ROW));
        let count = T::Acc::from_count(self.geometry.input_len() as u64);
        // Groups of different widths are not worked on together.
        let at_once = if self.width == 1 { ROW } else { 1 };
        for start in range.groups.clone().step_by(at_once) {
            let groups = start..range.groups.end.min(start + at_once);
            let width = self.grad_output.width_of(start);
            let gradients = self.grad_output.groups(groups.clone(), elements);
            let (shares, rounded) = (&mut shares[..gradients.len()], &mut rounded[..gradients.len()]);
            T::widen(gradients, shares);
            shares.iter_mut().for_each(|share| *share = T::Acc::ZERO + *share / count);
            T::narrow(shares, rounded);
            for (group, values) in groups.zip(rounded.chunks_exact(width)) {
                if let Some(memory) = tile.first.memory(group..group + 1, range.flat.clone()) {
                    repeat(values, memory);
                    continue;
                }
                let places = ROW / width;
                repeat(values, &mut even[..places * width]);
                for flat in range.flat.clone().step_by(places) {
                    let n_places = places.min(range.flat.end - flat);
                    tile.first.write(group, flat, &even[..n_places * width]);
                }
            }
        }
    }

    /// The sums of one depth, which lies in the windows `reaching` along D.
    #[inline(always)]
    fn sum_depth(
        &self,
        (group, reaching): (usize, Range<usize>),
        block: &Block,
        sums: &mut [T::Acc],
        widen: &mut Widen<'_, T>,
    ) {
        let [axis_d, axis_h, _] = self.geometry.axes;
        let [_, n_h, n_w] = self.geometry.output();
        rows::clear(sums);
        for od in reaching {
            for oh in axis_h.reaching(block.h.clone()) {
                let window = axis_h.window(oh);
                let n_rows = axis_d.window(od).count as u64 * window.count as u64;
                let output = OutputRow { group, flat: (od * n_h + oh) * n_w, n_rows };
                let wide = widen.row(&self.grad_output, &output);
                let h = within(window, &block.h);
                let rows = sums[(h.start - block.h.start) * wide.len()..].chunks_exact_mut(wide.len());
                rows.take(h.len()).for_each(|row| rows::add(row, wide));
            }
        }
    }
}

/// Fills `row` with `values`, again and again.
#[inline(always)]
fn repeat<T: Element>(values: &[T], row: &mut [T]) {
    match values {
        &[value] => row.fill(value),
        values => row.chunks_exact_mut(values.len()).for_each(|places| places.copy_from_slice(values)),
    }
}

/// The depths, rows and columns of a tile.
struct Block {
    d: Range<usize>,
    h: Range<usize>,
    w: Range<usize>,
}

impl Block {
    /// A tile is some whole depths, or some whole rows of one depth, or part of one row.
    #[inline(always)]
    fn new(geometry: &Geometry, flat: &Range<usize>) -> Self {
        let [_, n_h, n_w] = geometry.input();
        let (first, last) = (flat.start, flat.end - 1);
        let range = |first: usize, last: usize| first..last + 1;
        Self {
            d: range(first / (n_h * n_w), last / (n_h * n_w)),
            h: range(first / n_w % n_h, last / n_w % n_h),
            w: range(first % n_w, last % n_w),
        }
    }
}
