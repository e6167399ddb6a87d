//! The gradient of max pooling, by parts of planes whose slices are too large to be swept.
//!
//! A tile is some rows of one depth, or part of one row, whose sums stay in the cache. For each tile:
//!
//! 1. clear the sums;
//! 2. for every output that can reach the tile, in ascending order, add its gradient if its index lies in the tile;
//! 3. round the sums and write them out, once.
//!
//! Outputs that can reach a tile are those whose windows do, so each is read by the few tiles around its window, and
//! added by at most one. As in [`Sweep`](super::Sweep) the additions are counted: an index may point outside its
//! window, and then no tile finds it.
//!
//! Traffic per output: its gradient and index, for each depth that its window reaches; per input: one write of its
//! gradient.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::outputs::{Lane, Outputs};
use super::rows::{self, ROW};
use crate::dtype::{Float, Index};
use crate::exec::{Scratch, TileKernel, booked};
use crate::geometry::Geometry;
use crate::tensor::raw::Tile;

/// The outputs, their windows, and the count of outputs that were added.
pub(crate) struct Scatter<'a, T: Float, I: Index> {
    outputs: Outputs<'a, T, I>,
    geometry: Geometry,
    sums_len: usize,
    n_added: AtomicU64,
}

impl<'a, T: Float, I: Index> Scatter<'a, T, I> {
    /// A scatter into tiles of at most `sums_len` elements a group.
    pub(crate) fn new(outputs: Outputs<'a, T, I>, geometry: Geometry, sums_len: usize) -> Self {
        Self { outputs, geometry, sums_len, n_added: AtomicU64::new(0) }
    }

    /// The scratch bytes of one worker.
    pub(crate) fn bytes(sums_len: usize) -> usize {
        Lane::<T, I>::bytes(sums_len) + booked::<T>(ROW)
    }

    /// The number of outputs that were added.
    pub(crate) fn n_added(&self) -> u64 {
        self.n_added.load(Ordering::Relaxed)
    }
}

impl<T: Float, I: Index> TileKernel<T, I> for Scatter<'_, T, I> {
    #[inline(always)]
    fn fill(&self, mut tile: Tile<'_, T, I>, mut scratch: Scratch<'_>) {
        let range = tile.range();
        let (first, len) = (range.flat.start, range.flat.len());
        let mut lane = [Lane::new(&mut scratch, self.sums_len)];
        let staging = rows::staging(&mut scratch);
        let reaching = OutputsReaching::new(&self.geometry, &range.flat);
        let mut n_added = 0;
        for group in range.groups {
            lane[0].group = group;
            let n_sums = len * self.outputs.width_of(group);
            rows::clear(&mut lane[0].sums[..n_sums]);
            reaching.for_each_range(
                #[inline(always)]
                |flat| n_added += self.outputs.add(flat, (first, len), &mut lane),
            );
            rows::store(&mut tile.first, (group, first), &lane[0].sums[..n_sums], staging);
        }
        self.n_added.fetch_add(n_added, Ordering::Relaxed);
    }
}

/// The outputs whose windows reach a tile, as ranges of flat offsets in ascending order.
struct OutputsReaching {
    output: [usize; 3],
    ranges: [Range<usize>; 3],
}

impl OutputsReaching {
    fn new(geometry: &Geometry, flat: &Range<usize>) -> Self {
        let [_, h, w] = geometry.input();
        let (first, last) = (flat.start, flat.end - 1);
        // A tile is some depths, or some rows of one depth, or part of one row: an axis before which more than one
        // place is covered is covered whole.
        let mut inputs = geometry.input().map(|size| 0..size);
        inputs[0] = first / (h * w)..last / (h * w) + 1;
        if inputs[0].len() == 1 {
            inputs[1] = first / w % h..last / w % h + 1;
            if inputs[1].len() == 1 {
                inputs[2] = first % w..last % w + 1;
            }
        }
        let ranges = std::array::from_fn(|axis| geometry.axes[axis].reaching(inputs[axis].clone()));
        Self { output: geometry.output(), ranges }
    }

    /// Calls `visit` with each range.
    #[inline(always)]
    fn for_each_range(&self, mut visit: impl FnMut(Range<usize>)) {
        let [_, n_h, n_w] = self.output;
        let [d, h, w] = &self.ranges;
        let w_is_whole = w.len() == n_w;
        let h_is_whole = w_is_whole && h.len() == n_h;
        // Axes that are covered whole merge with those before them.
        let (n_blocks, n_rows, len) = match (h_is_whole, w_is_whole) {
            (true, _) => (1, 1, d.len() * n_h * n_w),
            (false, true) => (d.len(), 1, h.len() * n_w),
            (false, false) => (d.len(), h.len(), w.len()),
        };
        for block in 0..n_blocks {
            for row in 0..n_rows {
                let start = ((d.start + block) * n_h + h.start + row) * n_w + w.start;
                visit(start..start + len);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::AxisWindows;

    #[test]
    fn outputs_reaching_a_tile_come_in_order() {
        let geometry =
            Geometry { n: 1, c: 1, axes: [(6, 3), (4, 2), (8, 4)].map(|(i, o)| AxisWindows::adaptive(i, o)) };
        let rows = |flat: Range<usize>| {
            let mut rows = Vec::new();
            OutputsReaching::new(&geometry, &flat).for_each_range(|row| rows.push((row.start, row.end)));
            rows
        };
        assert_eq!(rows(64..128), [(8, 16)], "two depths of one output depth");
        assert_eq!(rows(0..96), [(0, 16)], "three depths");
        assert_eq!(rows(16..32), [(4, 8)], "the lower rows of the first depth");
        assert_eq!(rows(66..68), [(9, 10)], "part of a row");
        assert_eq!(rows(0..192), [(0, 24)], "the whole plane");
    }
}
