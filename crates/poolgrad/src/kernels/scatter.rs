//! The gradient of max pooling: each output's gradient is added where its index points.
//!
//! ```text
//! grad_input[n, c, i] = Σ { grad_output[n, c, o] : indices[n, c, o] = i },   o ascending, from +0.0
//! ```
//!
//! For each tile of `grad_input`, a stretch of one plane that stays in the cache as accumulators:
//!
//! 1. clear the accumulators;
//! 2. for every output that can reach the tile, in ascending order, add its gradient if its index lies in the tile;
//! 3. round the accumulators and write them out, once.
//!
//! Outputs that can reach a tile are those whose windows do, so each is read by the few tiles around its window. An
//! index may point outside its window, though: that is legal, and then no tile finds it. So the kernel counts the
//! additions. Every output is added in at most one tile, hence if the count is that of all outputs, all of them were
//! added and nothing more needs to be looked at. Otherwise the caller finds out why: an index outside the volume, or
//! one outside its window, for which [`Buckets`](super::Buckets) takes over.
//!
//! Traffic per output: its gradient and index; per input: one write of its gradient.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::rows::{self, ROW, RowBuffers};
use crate::dtype::{Float, Index};
use crate::exec::{Crew, Queue, Scratch, TileKernel, booked};
use crate::geometry::Geometry;
use crate::tensor::partition::Partition;
use crate::tensor::raw::{Source, Tile};

/// The gradients and indices of all outputs, and the count of those that were added.
pub(crate) struct Scatter<'a, T: Float, I: Index> {
    grad_output: Source<'a, T>,
    indices: Source<'a, I>,
    geometry: Geometry,
    flat_len: usize,
    n_added: AtomicU64,
}

impl<'a, T: Float, I: Index> Scatter<'a, T, I> {
    /// A scatter into tiles of at most `flat_len` elements a plane.
    pub(crate) fn new(
        grad_output: Source<'a, T>,
        indices: Source<'a, I>,
        geometry: Geometry,
        flat_len: usize,
    ) -> Self {
        Self { grad_output, indices, geometry, flat_len, n_added: AtomicU64::new(0) }
    }

    /// The scratch bytes of one worker.
    pub(crate) fn bytes(partition: &Partition) -> usize {
        booked::<T::Acc>(partition.flat_len()) + RowBuffers::<T>::bytes(ROW) + booked::<I>(ROW) + booked::<T>(ROW)
    }

    /// Whether every output was added to some tile.
    pub(crate) fn added_all(&self) -> bool {
        let n_outputs = self.geometry.n_planes() as u64 * self.geometry.output_len() as u64;
        self.n_added.load(Ordering::Relaxed) == n_outputs
    }
}

impl<T: Float, I: Index> TileKernel<T, I> for Scatter<'_, T, I> {
    #[inline(always)]
    fn fill(&self, mut tile: Tile<'_, T, I>, mut scratch: Scratch<'_>) {
        let range = tile.range();
        let sums = &mut scratch.row::<T::Acc>(self.flat_len)[..range.flat.len()];
        let mut buffers = RowBuffers::new(&mut scratch, ROW);
        let index_buffer = scratch.row::<I>(ROW);
        let staging = rows::staging(&mut scratch);
        let outputs = OutputsReaching::new(&self.geometry, &range.flat);
        let mut n_added = 0;
        for plane in range.planes {
            rows::clear(sums);
            let longest = ROW.min(self.grad_output.run_len()).min(self.indices.run_len());
            outputs.for_each_row(
                longest,
                #[inline(always)]
                |row| {
                    // A row may begin inside a run of one tensor that ends before the row does; it is cut there.
                    let mut start = row.start;
                    while start < row.end {
                        let left = |run_len: usize| run_len - start % run_len;
                        let len = (row.end - start)
                            .min(left(self.grad_output.run_len()))
                            .min(left(self.indices.run_len()));
                        let part = start..start + len;
                        let indices = self.indices.row(plane, part.clone()).load(index_buffer);
                        let gradients = buffers.widen(self.grad_output.row(plane, part));
                        n_added += add_at(sums, range.flat.start, indices, gradients);
                        start += len;
                    }
                },
            );
            rows::store(&mut tile.first, (plane, range.flat.start), sums, staging);
        }
        self.n_added.fetch_add(n_added, Ordering::Relaxed);
    }
}

/// Adds each gradient to the sum that its index points to, where `sums` begins at flat offset `first`; returns how
/// many it added.
#[inline(always)]
fn add_at<A: crate::dtype::Accumulator, I: Index>(
    sums: &mut [A],
    first: usize,
    indices: &[I],
    gradients: &[A],
) -> u64 {
    let mut n_added = 0;
    for (index, &gradient) in indices.iter().zip(gradients) {
        // The bounds check on the very value that is used is what keeps any index from doing harm.
        if let Some(sum) = sums.get_mut(index.offset().wrapping_sub(first)) {
            *sum += gradient;
            n_added += 1;
        }
    }
    n_added
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

    /// Calls `visit` with pieces of up to `longest` flat offsets.
    #[inline(always)]
    fn for_each_row(&self, longest: usize, mut visit: impl FnMut(Range<usize>)) {
        let [_, n_h, n_w] = self.output;
        let [d, h, w] = &self.ranges;
        let w_is_whole = w.len() == n_w;
        let h_is_whole = w_is_whole && h.len() == n_h;
        // Axes that are covered whole merge with those before them.
        let (n_blocks, n_rows) = match (h_is_whole, w_is_whole) {
            (true, _) => (1, 1),
            (false, true) => (d.len(), 1),
            (false, false) => (d.len(), h.len()),
        };
        for block in 0..n_blocks {
            for row in 0..n_rows {
                let mut start = ((d.start + block) * n_h + h.start + row) * n_w + w.start;
                let end = match (h_is_whole, w_is_whole) {
                    (true, _) => d.end * n_h * n_w,
                    (false, true) => start + h.len() * n_w,
                    (false, false) => start + w.len(),
                };
                while start < end {
                    let piece = start..end.min(start + longest);
                    start = piece.end;
                    visit(piece);
                }
            }
        }
    }
}

/// The plane and flat offset of the first index, in row-major order, that lies outside a volume of `volume` elements.
pub(crate) fn find_bad_index<I: Index>(
    indices: &Source<'_, I>,
    geometry: &Geometry,
    crew: &mut Crew<'_>,
) -> Option<(usize, usize)> {
    let (volume, len) = (geometry.input_len(), geometry.output_len());
    // Ordinals over all planes are compared, so the first in row-major order is found whichever worker meets it.
    let first = AtomicU64::new(u64::MAX);
    let piece = indices.run_len().min(ROW);
    let pieces_per_run = indices.run_len().div_ceil(piece);
    let runs_per_plane = len / indices.run_len();
    let queue = Queue::new(geometry.n_planes() * runs_per_plane * pieces_per_run);
    crew.run(&|scratch| {
        let buffer = Scratch::new(scratch).row::<I>(ROW);
        while let Some(id) = queue.claim() {
            let (run, part) = (id / pieces_per_run, id % pieces_per_run);
            let (plane, run) = (run / runs_per_plane, run % runs_per_plane * indices.run_len());
            let start = run + part * piece;
            let end = (start + piece).min(run + indices.run_len());
            let row = indices.row(plane, start..end).load(buffer);
            if let Some(at) = row.iter().position(|index| index.offset() >= volume) {
                first.fetch_min(plane as u64 * len as u64 + (start + at) as u64, Ordering::Relaxed);
            }
        }
    });
    let first = first.into_inner();
    (first != u64::MAX).then(|| ((first / len as u64) as usize, (first % len as u64) as usize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::AxisWindows;

    #[test]
    fn outputs_reaching_a_tile_come_in_order_and_in_pieces() {
        let geometry =
            Geometry { n: 1, c: 1, axes: [(6, 3), (4, 2), (8, 4)].map(|(i, o)| AxisWindows::adaptive(i, o)) };
        let rows = |flat: Range<usize>, longest: usize| {
            let mut rows = Vec::new();
            OutputsReaching::new(&geometry, &flat).for_each_row(longest, |row| rows.push((row.start, row.end)));
            rows
        };
        assert_eq!(rows(64..128, 100), [(8, 16)], "two depths of one output depth");
        assert_eq!(rows(0..96, 6), [(0, 6), (6, 12), (12, 16)], "three depths in pieces");
        assert_eq!(rows(16..32, 100), [(4, 8)], "the lower rows of the first depth");
        assert_eq!(rows(66..68, 100), [(9, 10)], "part of a row");
        assert_eq!(rows(0..192, 100), [(0, 24)], "the whole plane");
    }
}
