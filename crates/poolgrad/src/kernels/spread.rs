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
//! along D changes, and is a copy of the depth before it otherwise. A few depths at a time are gathered in the cache,
//! rounded and written out once.
//!
//! Traffic per output: its gradient; per input: one write of its gradient.

use std::ops::Range;

use super::rows::{self, ROW, RowBuffers};
use crate::dtype::{Accumulator, Float};
use crate::exec::{Scratch, TileKernel, booked};
use crate::geometry::{Geometry, Window};
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
        let lens = Lens::new(geometry, (flat_len, width));
        booked::<T::Acc>(lens.gathered)
            + booked::<T::Acc>(lens.row)
            + booked::<T::Acc>(ROW)
            + RowBuffers::<T>::bytes(ROW)
            + booked::<T>(ROW)
    }
}

/// The lengths of a tile's scratch rows.
struct Lens {
    /// All depths that are gathered.
    gathered: usize,
    /// One row.
    row: usize,
}

impl Lens {
    fn new(geometry: &Geometry, (flat_len, width): (usize, usize)) -> Self {
        let [_, n_h, n_w] = geometry.input();
        let depth = flat_len.min(n_h * n_w) * width;
        let gathered = (flat_len * width).min((GATHERED / depth).max(1) * depth);
        Self { gathered, row: flat_len.min(n_w) * width }
    }
}

impl<T: Float> TileKernel<T, T> for Spread<'_, T> {
    #[inline(always)]
    fn fill(&self, mut tile: Tile<'_, T, T>, mut scratch: Scratch<'_>) {
        let range = tile.range();
        let lens = Lens::new(&self.geometry, (self.flat_len, self.width));
        let gathered = scratch.row::<T::Acc>(lens.gathered);
        let mut rows = Rows {
            wide: scratch.row(lens.row),
            shares: scratch.row(ROW),
            buffers: RowBuffers::new(&mut scratch, ROW),
        };
        let staging = rows::staging(&mut scratch);
        let block = Block::new(&self.geometry, &range.flat);
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
                    let sums = &mut gathered[at..at + depth_len];
                    self.sum_depth((group, reaching.clone()), &block, sums, &mut rows);
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
                    rows::store(&mut tile.first, (group, flat), done, staging);
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
        rows: &mut Rows<'_, T>,
    ) {
        let [axis_d, axis_h, _] = self.geometry.axes;
        rows::clear(sums);
        for od in reaching {
            for oh in axis_h.reaching(block.h.clone()) {
                let window = axis_h.window(oh);
                let row = OutputRow { group, od, oh, n_rows: axis_d.window(od).count as u64 * window.count as u64 };
                let wide = self.widen_row(&row, &block.w, rows);
                let h = within(window, &block.h);
                for row in sums[(h.start - block.h.start) * wide.len()..].chunks_exact_mut(wide.len()).take(h.len())
                {
                    rows::add(row, wide);
                }
            }
        }
    }

    /// Steps 1 and 2: one output row's shares, added up along the part `w` of an input row.
    #[inline(always)]
    fn widen_row<'r>(&self, output: &OutputRow, w: &Range<usize>, rows: &'r mut Rows<'_, T>) -> &'r [T::Acc] {
        let axis = self.geometry.axes[2];
        let [_, n_h, n_w] = self.geometry.output();
        let row = (output.od * n_h + output.oh) * n_w;
        let width = self.grad_output.width_of(output.group);
        let Rows { wide, shares, buffers } = rows;
        let (wide, shares) = (&mut wide[..w.len() * width], &mut shares[..width]);
        rows::clear(wide);
        let Range { mut start, end } = axis.reaching(w.clone());
        while start < end {
            let part = start..end.min(start + ROW / width);
            let source = self.grad_output.row(output.group, row + part.start..row + part.end);
            let gradients = buffers.widen(source);
            for (ow, gradients) in part.clone().zip(gradients.chunks_exact(width)) {
                let window = axis.window(ow);
                let count = T::Acc::from_count(output.n_rows * window.count as u64);
                let taps = within(window, w);
                let sums = &mut wide[(taps.start - w.start) * width..(taps.end - w.start) * width];
                if let &[gradient] = gradients {
                    let share = gradient / count;
                    sums.iter_mut().for_each(|sum| *sum += share);
                    continue;
                }
                for (share, &gradient) in shares.iter_mut().zip(gradients) {
                    *share = gradient / count;
                }
                sums.chunks_exact_mut(width).for_each(|sums| rows::add(sums, shares));
            }
            start = part.end;
        }
        wide
    }
}

/// Scratch rows of a tile.
struct Rows<'s, T: Float> {
    /// One output row, widened.
    wide: &'s mut [T::Acc],
    /// The shares of one place, for each channel.
    shares: &'s mut [T::Acc],
    buffers: RowBuffers<'s, T>,
}

/// One row of outputs of one group, and the rows of a window in it.
struct OutputRow {
    group: usize,
    od: usize,
    oh: usize,
    n_rows: u64,
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
