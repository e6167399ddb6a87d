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
use super::windows::output_rows;
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
        3 * booked::<T::Acc>(ROW) + RowBuffers::<T>::bytes(ROW) + booked::<T>(ROW)
    }
}

impl<T: Float> TileKernel<T, T> for Mean<'_, T> {
    #[inline(always)]
    fn fill(&self, mut tile: Tile<'_, T, T>, mut scratch: Scratch<'_>) {
        let range = tile.range();
        let columns = scratch.row::<T::Acc>(ROW);
        let sums = scratch.row::<T::Acc>(ROW);
        let means = scratch.row::<T::Acc>(ROW);
        let mut buffers = RowBuffers::new(&mut scratch, ROW);
        let staging = rows::staging(&mut scratch);
        let axis = &self.geometry.axes[2];
        for group in range.groups {
            let width = self.input.width_of(group);
            let sums = &mut sums[..width];
            output_rows(
                &self.geometry,
                range.flat.clone(),
                ROW / width,
                #[inline(always)]
                |row| {
                    row.for_each_span(
                        axis,
                        ROW / width,
                        #[inline(always)]
                        |outputs, span| {
                            let columns = &mut columns[..span.len() * width];
                            rows::clear(columns);
                            for i in 0..row.n_rows() {
                                let flat = row.input_row(&self.geometry, i);
                                let input = self.input.row(group, flat + span.start..flat + span.end);
                                rows::add(columns, buffers.widen(input));
                            }
                            for ow in outputs {
                                let window = axis.window(ow);
                                // A window that began in the span before goes on from its sums.
                                if span.start <= window.first {
                                    rows::clear(sums);
                                }
                                let taps = window.first.max(span.start)..(window.last() + 1).min(span.end);
                                let taps = (taps.start - span.start) * width..(taps.end - span.start) * width;
                                for column in columns[taps].chunks_exact(width) {
                                    rows::add(sums, column);
                                }
                                let count = T::Acc::from_count(row.n_rows() * window.count as u64);
                                let at = (ow - row.w.start) * width;
                                for (mean, &sum) in means[at..at + width].iter_mut().zip(&*sums) {
                                    *mean = sum / count;
                                }
                            }
                        },
                    );
                    rows::store(&mut tile.first, (group, row.flat), &means[..row.w.len() * width], staging);
                },
            );
        }
    }
}
