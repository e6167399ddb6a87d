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
//! A tile of `grad_input` holds the accumulators of step 3 in the cache and is rounded and written once.
//!
//! Traffic per output: its gradient; per input: one write of its gradient.

use std::ops::Range;

use super::rows::{self, ROW, RowBuffers};
use crate::dtype::{Accumulator, Float};
use crate::exec::{Scratch, TileKernel, booked};
use crate::geometry::{Geometry, Window};
use crate::tensor::partition::Partition;
use crate::tensor::raw::{Source, Tile};

/// The gradients of all outputs, and the windows they are shared among.
pub(crate) struct Spread<'a, T: Float> {
    grad_output: Source<'a, T>,
    geometry: Geometry,
    flat_len: usize,
}

impl<'a, T: Float> Spread<'a, T> {
    /// A spread into tiles of at most `flat_len` elements a plane.
    pub(crate) fn new(grad_output: Source<'a, T>, geometry: Geometry, flat_len: usize) -> Self {
        Self { grad_output, geometry, flat_len }
    }

    /// The scratch bytes of one worker.
    pub(crate) fn bytes(geometry: &Geometry, partition: &Partition) -> usize {
        booked::<T::Acc>(partition.flat_len())
            + booked::<T::Acc>(Self::wide_len(geometry, partition.flat_len()))
            + RowBuffers::<T>::bytes(ROW)
            + booked::<T>(ROW)
    }

    /// The longest part of a row that a tile can hold.
    fn wide_len(geometry: &Geometry, flat_len: usize) -> usize {
        geometry.axes[2].input().min(flat_len)
    }
}

impl<T: Float> TileKernel<T, T> for Spread<'_, T> {
    #[inline(always)]
    fn fill(&self, mut tile: Tile<'_, T, T>, mut scratch: Scratch<'_>) {
        let range = tile.range();
        let sums = &mut scratch.row::<T::Acc>(self.flat_len)[..range.flat.len()];
        let block = Block::new(&self.geometry, &range.flat);
        let wide = &mut scratch.row::<T::Acc>(Self::wide_len(&self.geometry, self.flat_len))[..block.w.len()];
        let mut buffers = RowBuffers::new(&mut scratch, ROW);
        let staging = rows::staging(&mut scratch);
        let [axis_d, axis_h, _] = self.geometry.axes;
        for plane in range.planes {
            rows::clear(sums);
            for od in axis_d.reaching(block.d.clone()) {
                let window_d = axis_d.window(od);
                for oh in axis_h.reaching(block.h.clone()) {
                    let window_h = axis_h.window(oh);
                    let n_rows = window_d.count as u64 * window_h.count as u64;
                    self.widen_row((plane, od, oh), n_rows, (&block.w, wide), &mut buffers);
                    for d in within(window_d, &block.d) {
                        for h in within(window_h, &block.h) {
                            let row = ((d - block.d.start) * block.h.len() + h - block.h.start) * wide.len();
                            rows::add(&mut sums[row..row + wide.len()], wide);
                        }
                    }
                }
            }
            rows::store(&mut tile.first, (plane, range.flat.start), sums, staging);
        }
    }
}

impl<T: Float> Spread<'_, T> {
    /// Steps 1 and 2: one output row's shares, added up along the part `w` of an input row.
    #[inline(always)]
    fn widen_row(
        &self,
        (plane, od, oh): (usize, usize, usize),
        n_rows: u64,
        (w, wide): (&Range<usize>, &mut [T::Acc]),
        buffers: &mut RowBuffers<'_, T>,
    ) {
        let axis = self.geometry.axes[2];
        let [_, n_h, n_w] = self.geometry.output();
        let row = (od * n_h + oh) * n_w;
        rows::clear(wide);
        let Range { mut start, end } = axis.reaching(w.clone());
        while start < end {
            let part = start..end.min(start + ROW);
            let gradients = buffers.widen(self.grad_output.row(plane, row + part.start..row + part.end));
            for (ow, &gradient) in part.clone().zip(gradients) {
                let window = axis.window(ow);
                let share = gradient / T::Acc::from_count(n_rows * window.count as u64);
                let taps = within(window, w);
                for sum in &mut wide[taps.start - w.start..taps.end - w.start] {
                    *sum += share;
                }
            }
            start = part.end;
        }
    }
}

/// The part of a window without gaps that lies in `range`; empty at `range.start` if there is none.
#[inline(always)]
fn within(window: Window, range: &Range<usize>) -> Range<usize> {
    let start = window.first.max(range.start);
    let end = (window.last() + 1).min(range.end);
    if start < end { start..end } else { range.start..range.start }
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
