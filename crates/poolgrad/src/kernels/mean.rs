//! Average pooling: the mean of each window.
//!
//! For each output row, over the input columns that its windows see:
//!
//! 1. add up the rows `(d, h)` of the window, in ascending order, from +0.0: one sum for each column;
//! 2. for each output, add the sums of its columns in ascending order, from +0.0, and divide once by the window's size.
//!
//! Step 1 works on whole rows and is where the time goes. Sums are formed in f32 (f64 for f64) and rounded once. This
//! order does not depend on how many columns are taken at a time, so a window wider than the buffers is no exception.
//!
//! Traffic per input: one read (more where windows overlap, from the cache); per output: one write.

use super::rows::{self, ROW, RowBuffers};
use super::windows_max::{OutputRow, output_rows};
use crate::dtype::{Accumulator, Float};
use crate::exec::{Scratch, TileKernel, booked};
use crate::geometry::Geometry;
use crate::tensor::raw::{Source, Tile};

/// The values to average, and the windows.
pub(crate) struct Mean<'a, T: Float> {
    input: Source<'a, T>,
    geometry: Geometry,
}

impl<'a, T: Float> Mean<'a, T> {
    pub(crate) fn new(input: Source<'a, T>, geometry: Geometry) -> Self {
        Self { input, geometry }
    }

    /// The scratch bytes of one worker.
    pub(crate) fn bytes() -> usize {
        2 * booked::<T::Acc>(ROW) + RowBuffers::<T>::bytes(ROW) + booked::<T>(ROW)
    }
}

impl<T: Float> TileKernel<T, T> for Mean<'_, T> {
    #[inline(always)]
    fn fill(&self, mut tile: Tile<'_, T, T>, mut scratch: Scratch<'_>) {
        let range = tile.range();
        let columns = scratch.row::<T::Acc>(ROW);
        let means = scratch.row::<T::Acc>(ROW);
        let mut buffers = RowBuffers::new(&mut scratch, ROW);
        let staging = rows::staging(&mut scratch);
        for plane in range.planes {
            output_rows(
                &self.geometry,
                range.flat.clone(),
                #[inline(always)]
                |row| {
                    let n_rows = row.d.count as u64 * row.h.count as u64;
                    let mut sum = T::Acc::ZERO;
                    row.for_each_span(
                        &self.geometry.axes[2],
                        #[inline(always)]
                        |outputs, span| {
                            let sums = &mut columns[..span.len()];
                            rows::clear(sums);
                            for flat in row.input_rows(&self.geometry) {
                                let input = self.input.row(plane, flat + span.start..flat + span.end);
                                rows::add(sums, buffers.widen(input));
                            }
                            for ow in outputs {
                                let window = self.geometry.axes[2].window(ow);
                                if span.start <= window.first {
                                    sum = T::Acc::ZERO;
                                }
                                for w in window.first.max(span.start)..(window.last() + 1).min(span.end) {
                                    sum += sums[w - span.start];
                                }
                                means[ow - row.w.start] = sum / T::Acc::from_count(n_rows * window.count as u64);
                            }
                        },
                    );
                    let OutputRow { w, flat, .. } = row;
                    rows::store(&mut tile.first, (plane, *flat), &means[..w.len()], staging);
                },
            );
        }
    }
}
