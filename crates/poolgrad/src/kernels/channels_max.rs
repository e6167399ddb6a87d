//! Max pooling of many channels that are neighbours in memory: each output compares all places of its window.
//!
//! A place is a row of channels, and what a window sees is as many rows as it has taps. The best of these is found channel by
//! channel, up to nine rows at a time in registers, with elements made into keys as they are read (`channels_best.rs`). So
//! nothing is kept from one window for another, but nothing is put aside for it either: where few windows share a place, that
//! is less than to go down columns first, as `windows_max.rs` does, which says what is *best*.
//!
//! Traffic per input: one read, and more from the cache where windows share it; per output: one value and one index.

use fearless_simd::Simd;

use super::channels_best::{AT_ONCE, BEST, Best, Run};
use super::channels_taps::{Ahead, MOST_TAPS, Taps};
use super::rows::ROW;
use super::windows::output_rows;
use super::windows_block::{BlockRows, MOST_ROWS, extent, most_channels, most_taps};
use super::windows_input::{Plane, lanes};
use super::windows_results::Results;
use crate::dtype::{Code, Float, Index, Key};
use crate::exec::{Scratch, TileKernel};
use crate::geometry::Geometry;
use crate::tensor::raw::{Source, Tile};

/// The comparisons for each input up to which this takes less than to go down columns: with windows of one depth, and of several.
/// Columns of several depths are shared by windows along D, too.
///
/// On a Zen 4, one thread, in the cache, nine take 0.72 to 0.93 of the time, and 16 0.98 to 1.3; with several depths 3.4 take 0.6
/// to 1.05, and seven 0.97 to 1.25.
const MOST_COMPARISONS: [usize; 2] = [9, 4];

/// Rows of a window, times the comparisons for each input, up to which elements that are their own keys are better found by places,
/// too, if rows are at least twice as long as there are such: by columns, each input would be written and read again for a few
/// comparisons.
///
/// On a first Zen, 78 such problems in `f32` and `f64` take 0.65 of the time, 0.18 to 1.25.
const LOW: usize = 7;

/// The bytes of a place's channels from which on it pays, where windows are evenly spaced along W, and where they are not.
const LEAST_BYTES: [usize; 2] = [48, 64];

/// The values to pool, and the windows.
pub(crate) struct ChannelsMax<'a, T: Float> {
    input: Source<'a, T>,
    geometry: Geometry,
    /// Whether the input is too large to be in the cache.
    from_memory: bool,
}

/// What [`ChannelsMax`] would have to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChannelsShape {
    /// Whether it takes less time than to go down columns.
    pub(crate) pays: bool,
}

impl ChannelsShape {
    /// For groups of `width` channels, which memory has in one piece, of elements of so many bytes; `None` if windows are too large.
    pub(crate) fn new(geometry: &Geometry, width: usize, element: usize) -> Option<Self> {
        let [_, n_h, n_w] = geometry.input();
        let [d, h, w] = geometry.axes.each_ref().map(|axis| extent(axis).min(axis.input()).max(1));
        let reach = (d - 1).saturating_mul(n_h).saturating_add(h - 1).saturating_mul(n_w).saturating_add(w - 1);
        let taps = geometry.axes.each_ref().map(|axis| most_taps(axis).max(1));
        let n_taps = taps.iter().fold(1, |all: usize, &taps| all.saturating_mul(taps));
        let (bits, lanes) = match element {
            2 => (<u16 as Code>::BITS, lanes::<i16>()),
            _ => (<u32 as Code>::BITS, lanes::<u32>()),
        };
        (width <= ROW && n_taps <= MOST_TAPS && reach < 1 << bits).then(|| {
            let [of_one_depth, of_several] = MOST_COMPARISONS;
            let most = if taps[0] == 1 { of_one_depth } else { of_several };
            // Of channels that do not fill their last vector, it compares more.
            let comparisons =
                geometry.output_len().saturating_mul(n_taps).saturating_mul(width.next_multiple_of(lanes));
            let inputs = geometry.input_len().saturating_mul(width);
            let is_little = comparisons <= inputs.saturating_mul(most);
            let n_rows = taps[0].saturating_mul(taps[1]);
            let is_low = taps[2] / 2 >= n_rows && comparisons.saturating_mul(n_rows) <= inputs.saturating_mul(LOW);
            let [evenly, unevenly] = LEAST_BYTES;
            let axis_w = &geometry.axes[2];
            let is_even = axis_w.taps().is_some() || axis_w.input().is_multiple_of(axis_w.output());
            let is_wide = width * element >= if is_even { evenly } else { unevenly };
            // Elements that are their own keys are read along rows where they lie, which is hard to beat if whole windows fit.
            let is_simple = element == 2 || n_taps <= AT_ONCE || is_low || width > most_channels(geometry, true);
            Self { pays: is_little && is_wide && is_simple }
        })
    }
}

impl<'a, T: Float> ChannelsMax<'a, T> {
    pub(crate) fn new(input: Source<'a, T>, geometry: Geometry, from_memory: bool) -> Self {
        Self { input, geometry, from_memory }
    }

    /// The scratch bytes of one worker.
    pub(crate) fn bytes<I: Index>() -> usize {
        BlockRows::bytes() + Taps::<<T::Key as Key>::Code>::bytes() + Best::<T>::bytes() + Results::<T, I>::bytes()
    }
}

impl<T: Float, I: Index> TileKernel<T, I> for ChannelsMax<'_, T> {
    #[inline(always)]
    fn fill<S: Simd>(&self, simd: S, tile: Tile<'_, T, I>, mut scratch: Scratch<'_>) {
        let range = tile.range();
        let (output, indices) = tile.split();
        let scratch = &mut scratch;
        let (mut taps, mut best) = (Taps::new(scratch), Best::new(scratch));
        let mut results = Results::new(output, indices, scratch);
        let mut columns = BlockRows::new(scratch);
        let [_, n_h, n_w] = self.geometry.input();
        for group in range.groups {
            let plane = Plane::new(&self.input, group, n_w);
            let width = plane.width;
            let whole = plane.whole().expect("the plan has seen that groups are in one piece");
            let most = (BEST / width.next_multiple_of(lanes::<T::Key>())).min(MOST_ROWS);
            let mut ahead = Ahead::default();
            let mut flat = range.flat.start;
            results.put_places(group, range.flat.clone());
            output_rows(
                &self.geometry,
                range.flat.clone(),
                most,
                #[inline(always)]
                |row| {
                    let outputs = flat..flat + row.w.len();
                    flat = outputs.end;
                    let at = results.room(simd, &plane, outputs.start, outputs.len());
                    let (keys, places) = results.rows(group, outputs, at);
                    columns.set(&self.geometry.axes[2], &row.w);
                    if self.from_memory {
                        ahead.turn_to(&plane, &self.geometry, row);
                    }
                    let first = (row.d.first * n_h + row.h.first) * n_w;
                    for (run, spacing) in columns.runs() {
                        let w = columns.taps_of(run.start, 0, usize::MAX);
                        taps.set(&self.geometry, &row.d, &row.h, &w);
                        let outputs = run.start * width..run.end * width;
                        let run = Run { first: first + w.first, spacing, width, n: run.len() };
                        let found = (&mut keys[outputs.clone()], &mut places[outputs]);
                        simd.vectorize(
                            #[inline(always)]
                            || run.find(whole, taps.all(), &mut ahead, &mut best, found),
                        );
                    }
                },
            );
            results.store(simd, &plane);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{AxisWindows, FixedTaps};

    fn fixed(input: [usize; 3], [kernel_size, stride]: [[i64; 3]; 2]) -> Geometry {
        let axes = std::array::from_fn(|i| {
            let taps = FixedTaps { kernel_size: kernel_size[i], stride: stride[i], padding: 0, dilation: 1 };
            AxisWindows::fixed((input[i], (input[i] - kernel_size[i] as usize) / stride[i] as usize + 1), taps)
        });
        Geometry { n: 1, c: 64, axes }
    }

    fn adaptive(input: [usize; 3], output: [usize; 3]) -> Geometry {
        Geometry { n: 1, c: 64, axes: std::array::from_fn(|i| AxisWindows::adaptive(input[i], output[i])) }
    }

    #[test]
    fn it_pays_where_few_windows_share_places_of_many_channels() {
        let plane = [1, 90, 90];
        let cases = [
            ("nine windows", fixed(plane, [[1, 3, 3], [1, 1, 1]]), 64, 4, Some(true)),
            ("sixteen", fixed(plane, [[1, 4, 4], [1, 1, 1]]), 64, 2, Some(false)),
            ("less, of more taps", fixed(plane, [[1, 4, 4], [1, 2, 2]]), 64, 2, Some(true)),
            ("these in wider types", fixed(plane, [[1, 4, 4], [1, 2, 2]]), 64, 4, Some(false)),
            ("half of a vector more", fixed(plane, [[1, 3, 3], [1, 1, 1]]), 48, 2, Some(false)),
            ("the same of fewer windows", fixed(plane, [[1, 3, 3], [1, 2, 2]]), 48, 2, Some(true)),
            ("low windows in wider types", fixed(plane, [[1, 6, 12], [1, 6, 12]]), 64, 4, Some(true)),
            ("taller ones", fixed(plane, [[1, 9, 18], [1, 9, 18]]), 64, 4, Some(false)),
            ("less long ones", fixed(plane, [[1, 6, 11], [1, 6, 11]]), 64, 4, Some(false)),
            ("low ones that overlap more", fixed(plane, [[1, 3, 9], [1, 3, 3]]), 64, 4, Some(false)),
            ("several depths, and few windows", fixed([40, 40, 40], [[3; 3], [2; 3]]), 64, 2, Some(true)),
            ("the same in wider types", fixed([40, 40, 40], [[3; 3], [2; 3]]), 64, 4, Some(false)),
            ("more windows", fixed([40, 40, 40], [[3; 3], [1, 2, 2]]), 64, 2, Some(false)),
            ("as few channels as pay", fixed(plane, [[1, 2, 2], [1, 2, 2]]), 12, 4, Some(true)),
            ("one channel less", fixed(plane, [[1, 2, 2], [1, 2, 2]]), 11, 4, Some(false)),
            ("uneven windows", adaptive(plane, [1, 7, 7]), 32, 2, Some(true)),
            ("these with less channels", adaptive(plane, [1, 7, 7]), 31, 2, Some(false)),
            ("as many channels as it takes", adaptive(plane, [1, 7, 7]), ROW, 2, Some(true)),
            ("one more", adaptive(plane, [1, 7, 7]), ROW + 1, 2, None),
            ("as many taps as it takes", adaptive([1, 128, 128], [1, 1, 1]), 64, 2, Some(true)),
            ("one row of taps more", adaptive([1, 129, 128], [1, 1, 1]), 64, 2, None),
            ("whole windows in wider types", adaptive([1, 64, 64], [1, 1, 1]), 128, 4, Some(false)),
            ("one channel too many for whole windows", adaptive([1, 64, 64], [1, 1, 1]), 129, 4, Some(true)),
            ("offsets that fit 15 bits", adaptive([2, 64, 511], [1, 64, 511]), 64, 2, Some(true)),
            ("offsets that do not", adaptive([2, 64, 512], [1, 64, 512]), 64, 2, None),
            ("which fit 31", adaptive([2, 64, 512], [1, 64, 512]), 64, 4, Some(true)),
        ];
        for (name, geometry, width, element, pays) in cases {
            let shape = ChannelsShape::new(&geometry, width, element);
            assert_eq!(shape.map(|shape| shape.pays), pays, "{name}");
        }
    }
}
