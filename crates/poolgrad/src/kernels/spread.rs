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
//! along D changes, and is a copy of the depth before it, already rounded, otherwise. A few depths at a time are
//! gathered in the cache and written out.
//!
//! Traffic per output: its gradient; per input: one write of its gradient.

use std::ops::Range;

use super::rows;
use super::widen::{OutputRow, Widen, within};
use crate::dtype::Float;
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
        booked::<T::Acc>(depth) + booked::<T>(gathered) + Widen::<T>::bytes(flat_len.min(n_w), width)
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
        let range = tile.range();
        let (depth_len, gathered_len) = lens(&self.geometry, (self.flat_len, self.width));
        let sums = scratch.row::<T::Acc>(depth_len);
        let gathered = scratch.row::<T>(gathered_len);
        let block = Block::new(&self.geometry, &range.flat);
        let mut widen = Widen::new(self.geometry.axes[2], block.w.clone(), self.width, &mut scratch);
        for group in range.groups {
            let width = self.grad_output.width_of(group);
            let depth_len = block.h.len() * block.w.len() * width;
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
