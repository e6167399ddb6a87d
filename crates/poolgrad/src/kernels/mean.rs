//! Average pooling: the mean of each window.
//!
//! For each output row, over the input columns that its windows see:
//!
//! 1. add up the rows `(d, h)` of the window, in ascending order, from +0.0: one sum for each column;
//! 2. for each output, add the sums of its columns in ascending order, from +0.0, and divide once by the window's size.
//!
//! Step 1 is where the time goes. Where rows are neighbours in memory and not too long, some output rows are taken together and
//! their input is read depth by depth, as memory is best read; otherwise an output row is taken at a time, and of a long one some
//! columns. Most rows are added up in registers (`mean_columns.rs`). Of single channels, whole planes are averaged some at a time
//! (`mean_whole.rs`). Sums are formed in f32 (f64 for f64) and rounded once. This order does not depend on how many columns are
//! taken at a time, so a window wider than the buffers is no exception.
//!
//! Traffic per input: one read (more where windows overlap, from the cache); per output: one write.

use std::ops::Range;

use fearless_simd::Simd;

use super::mean_columns::{self, LINE, Rows};
use super::rows::{self, ROW};
use super::windows::{Columns, OutputRow, output_rows};
use super::{mean_single, mean_whole};
use crate::dtype::{Accumulator, Float};
use crate::exec::{Scratch, TileKernel, booked};
use crate::geometry::Geometry;
use crate::tensor::raw::{OutTile, Row, Source, Tile};

/// The sums of columns that are formed together: few enough to stay in the first-level cache.
const TOGETHER: usize = 4 << 10;

/// The most elements of several rows that are copied at once, where they are not neighbours in memory.
const COPIED: usize = 16 << 10;

/// The values to average, and the windows.
pub(crate) struct Mean<'a, T: Float> {
    input: Source<'a, T>,
    geometry: Geometry,
    /// Whether the input is too large to be in the cache.
    from_memory: bool,
}

impl<'a, T: Float> Mean<'a, T> {
    pub(crate) fn new(input: Source<'a, T>, geometry: Geometry, from_memory: bool) -> Self {
        Self { input, geometry, from_memory }
    }

    /// The scratch bytes of one worker.
    pub(crate) fn bytes() -> usize {
        booked::<T::Acc>(TOGETHER)
            + 3 * booked::<T::Acc>(ROW)
            + booked::<T>(COPIED)
            + booked::<T>(ROW)
            + Columns::bytes().max(mean_whole::bytes::<T>())
    }
}

impl<T: Float> TileKernel<T, T> for Mean<'_, T> {
    #[inline(always)]
    fn fill<S: Simd>(&self, simd: S, mut tile: Tile<'_, T, T>, mut scratch: Scratch<'_>) {
        let range = tile.range();
        if self.geometry.output_len() == 1 && self.input.width_of(0) == 1 {
            return mean_whole::fill(simd, (&self.input, self.from_memory), &self.geometry, tile, scratch);
        }
        let mut work = Work {
            columns: scratch.row(TOGETHER),
            sums: scratch.row(ROW),
            copied: scratch.row(COPIED),
            wide: scratch.row(ROW),
            means: Means {
                flat: 0,
                n_places: 0,
                values: scratch.row(ROW),
                staging: rows::staging(&mut scratch),
                out: &mut tile.first,
            },
        };
        let axis = &Columns::new(self.geometry.axes[2], &mut scratch);
        let ([_, n_h, n_w], [_, n_oh, n_ow]) = (self.geometry.input(), self.geometry.output());
        for group in range.groups {
            let width = self.input.width_of(group);
            let row_len = n_w * width;
            if width > 1 {
                self.input.fetch_group(group + 1);
            }
            let are_whole = row_len <= TOGETHER && n_ow <= ROW && self.input.run_len() >= n_h * n_w;
            work.means.flat = range.flat.start;
            let mut flat = range.flat.start;
            while flat < range.flat.end {
                let (row, len) = (flat / n_ow, range.flat.end - flat);
                if are_whole && flat.is_multiple_of(n_ow) && len >= n_ow {
                    let oh = row % n_oh;
                    let n = (n_oh - oh).min(len / n_ow).min(TOGETHER / row_len);
                    self.push_rows(simd, (group, row / n_oh, oh..oh + n), axis, &mut work);
                    flat += n * n_ow;
                } else {
                    let len = len.min(n_ow - flat % n_ow);
                    output_rows(
                        &self.geometry,
                        flat..flat + len,
                        ROW / width,
                        #[inline(always)]
                        |row| self.push_spans((simd, group), row, axis, &mut work),
                    );
                    flat += len;
                }
            }
            work.means.store(group, width);
        }
    }
}

impl<T: Float> Mean<'_, T> {
    /// The means of the output rows `oh` of `od`, whose input rows are read whole.
    #[inline(always)]
    fn push_rows<S: Simd>(
        &self,
        simd: S,
        (group, od, oh): (usize, usize, Range<usize>),
        axis: &Columns<'_>,
        work: &mut Work<'_, '_, '_, T>,
    ) {
        let width = self.input.width_of(group);
        let [axis_d, axis_h, axis_w] = &self.geometry.axes;
        let [_, n_h, n_w] = self.geometry.input();
        let n_ow = self.geometry.output()[2];
        let row_len = n_w * width;
        let columns = &mut work.columns[..oh.len() * row_len];
        let window = axis_d.window(od);
        let (first, last) = (axis_h.window(oh.start).first, axis_h.window(oh.end - 1).last());
        let n_rows = last + 1 - first;
        for d in window.first..=window.last() {
            let adds = d > window.first;
            let flat = (d * n_h + first) * n_w;
            let all = self.input.row(group, flat..flat + n_rows * n_w);
            let mut windows = axis_h.windows_from(oh.start);
            if matches!(all, Row::Strided(_)) && n_rows * row_len > COPIED {
                for columns in columns.chunks_exact_mut(row_len) {
                    let h = windows.next();
                    let flat = flat + (h.first - first) * n_w;
                    self.sum_up((simd, group), (flat, h.count), work.copied, (columns, adds));
                }
                continue;
            }
            let all = all.load(work.copied);
            let are_widened = self.are_widened(row_len, width);
            if are_widened && !adds {
                rows::clear(columns);
            }
            // Few elements are widened at once, even those that several windows see.
            if are_widened && all.len() <= ROW {
                let wide = rows::widened(all, work.wide);
                for columns in columns.chunks_exact_mut(row_len) {
                    let h = windows.next();
                    rows::add_rows(columns, &wide[(h.first - first) * row_len..(h.last() + 1 - first) * row_len]);
                }
                continue;
            }
            for columns in columns.chunks_exact_mut(row_len) {
                let h = windows.next();
                let elements = &all[(h.first - first) * row_len..(h.last() + 1 - first) * row_len];
                if are_widened {
                    let parts = elements.chunks(ROW / row_len * row_len);
                    parts.for_each(|part| rows::add_rows(columns, rows::widened(part, work.wide)));
                } else {
                    Rows { elements, pitch: row_len, n: h.count }.sum_up(simd, columns, adds);
                }
            }
        }
        let mut windows = axis_h.windows_from(oh.start);
        for columns in columns.chunks_exact(row_len) {
            let n_rows = (window.count * windows.next().count) as u64;
            if width == 1 {
                let means = work.means.places((group, 1), n_ow);
                mean_single::put_means(n_rows, columns, means, (axis, axis_w.are_disjoint()));
                continue;
            }
            for ow in 0..n_ow {
                let window = axis.window(ow);
                let columns = &columns[window.first * width..(window.last() + 1) * width];
                let means = work.means.places((group, width), 1);
                mean_columns::put_means(simd, columns, means, n_rows * window.count as u64);
            }
        }
    }

    /// Whether whole rows are widened one after the other and added up then.
    ///
    /// Rows of one channel are short, and memory gives them faster one after the other than some at a time: on a Zen 4, 14 problems
    /// that read 15 MiB and more took 1.1 of the time in registers, up to 1.6. What needs no widening is added up in registers anyway.
    #[inline(always)]
    fn are_widened(&self, row_len: usize, width: usize) -> bool {
        row_len < LINE || (row_len <= ROW && width == 1 && (self.from_memory || T::as_wide(&[]).is_some()))
    }

    /// Puts the sums of columns of `n` rows into `sums`, or adds to these, if `adds`: the columns from `flat` on, each of all channels.
    #[inline(always)]
    fn sum_up<S: Simd>(
        &self,
        (simd, group): (S, usize),
        (flat, n): (usize, usize),
        copied: &mut [T],
        (sums, adds): (&mut [T::Acc], bool),
    ) {
        let width = self.input.width_of(group);
        let n_w = self.geometry.input()[2];
        let len = sums.len() / width;
        let are_in_one_run = self.input.run_len() >= self.input.plane_len();
        let all = are_in_one_run.then(|| self.input.row(group, flat..flat + (n - 1) * n_w + len));
        if let Some(Row::Slice(elements)) = all {
            return Rows { elements, pitch: n_w * width, n }.sum_up(simd, sums, adds);
        }
        for i in 0..n {
            let flat = flat + i * n_w;
            let elements = self.input.row(group, flat..flat + len).load(copied);
            Rows { elements, pitch: elements.len(), n: 1 }.sum_up(simd, sums, adds || i > 0);
        }
    }

    /// The means of a row of outputs whose input is read some columns at a time.
    #[inline(always)]
    fn push_spans<S: Simd>(
        &self,
        (simd, group): (S, usize),
        row: &OutputRow,
        axis: &Columns<'_>,
        work: &mut Work<'_, '_, '_, T>,
    ) {
        let width = self.input.width_of(group);
        let [_, n_h, n_w] = self.geometry.input();
        let means = work.means.places((group, width), row.w.len());
        let sums = &mut work.sums[..width];
        let size = self.geometry.axes[2].tiling().unwrap_or(0);
        row.for_each_span(
            axis,
            TOGETHER / width,
            #[inline(always)]
            |outputs, span| {
                let columns = &mut work.columns[..span.len() * width];
                for d in 0..row.d.count {
                    let flat = ((row.d.first + d) * n_h + row.h.first) * n_w + span.start;
                    self.sum_up((simd, group), (flat, row.h.count), work.copied, (columns, d > 0));
                }
                // Windows that touch, and not a part of one.
                if width == 1 && span.len() == outputs.len() * size {
                    let means = &mut means[outputs.start - row.w.start..outputs.end - row.w.start];
                    return mean_single::put_equal_means(row.n_rows(), columns, means);
                }
                for ow in outputs {
                    let window = axis.window(ow);
                    let count = row.n_rows() * window.count as u64;
                    let taps = window.first.max(span.start)..(window.last() + 1).min(span.end);
                    let columns = &columns[(taps.start - span.start) * width..(taps.end - span.start) * width];
                    let at = (ow - row.w.start) * width;
                    let means = &mut means[at..at + width];
                    if taps.len() == window.count && width > 1 {
                        mean_columns::put_means(simd, columns, means, count);
                        continue;
                    }
                    // A window that began in the span before goes on from its sums.
                    if span.start <= window.first {
                        rows::clear(sums);
                    }
                    match &mut *sums {
                        [sum] => *sum = columns.iter().fold(*sum, |sum, &column| sum + column),
                        sums => rows::add_rows(sums, columns),
                    }
                    let count = T::Acc::from_count(count);
                    for (mean, &sum) in means.iter_mut().zip(&*sums) {
                        *mean = sum / count;
                    }
                }
            },
        );
    }
}

/// What a worker needs for one group after the other.
struct Work<'s, 't, 'o, T: Float> {
    columns: &'s mut [T::Acc],
    sums: &'s mut [T::Acc],
    /// Elements that are not neighbours in memory, and elements widened.
    copied: &'s mut [T],
    wide: &'s mut [T::Acc],
    means: Means<'s, 't, 'o, T>,
}

/// Means of neighbouring outputs that are not yet written.
struct Means<'s, 't, 'o, T: Float> {
    /// The flat offset of the first, and how many there are.
    flat: usize,
    n_places: usize,
    values: &'s mut [T::Acc],
    staging: &'s mut [T],
    out: &'o mut OutTile<'t, T>,
}

impl<T: Float> Means<'_, '_, '_, T> {
    /// The places for the next `n` means of each of the `width` channels of `group`, no more than a row.
    #[inline(always)]
    fn places(&mut self, (group, width): (usize, usize), n: usize) -> &mut [T::Acc] {
        if (self.n_places + n) * width > ROW {
            self.store(group, width);
        }
        self.n_places += n;
        &mut self.values[(self.n_places - n) * width..self.n_places * width]
    }

    /// Writes the means that there are.
    #[inline(always)]
    fn store(&mut self, group: usize, width: usize) {
        rows::store_few(self.out, (group, self.flat), &self.values[..self.n_places * width], self.staging);
        (self.flat, self.n_places) = (self.flat + self.n_places, 0);
    }
}
