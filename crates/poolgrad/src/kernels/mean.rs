//! Average pooling: the mean of each window.
//!
//! For each output row, over the input columns that its windows see:
//!
//! 1. add up the rows `(d, h)` of the window, in ascending order, from +0.0: one sum for each column;
//! 2. for each output, add the sums of its columns in ascending order, from +0.0, and divide once by the window's size.
//!
//! Step 1 works on whole rows and is where the time goes. Where rows are neighbours in memory and not too long, some
//! output rows are taken together and their input is read depth by depth, as memory is best read; otherwise an output row
//! is taken at a time, and of a long one some columns. Sums are formed in f32 (f64 for f64) and rounded once. This order
//! does not depend on how many columns are taken at a time, so a window wider than the buffers is no exception.
//!
//! Traffic per input: one read (more where windows overlap, from the cache); per output: one write.

use std::ops::Range;

use fearless_simd::Simd;

use super::rows::{self, ROW, RowBuffers};
use super::windows::{Columns, OutputRow, output_rows};
use crate::dtype::{Accumulator, Float};
use crate::exec::{Scratch, TileKernel, booked};
use crate::geometry::Geometry;
use crate::tensor::raw::{OutTile, Row, Source, Tile};

/// The sums of columns that are formed together: few enough to stay in the first-level cache.
const TOGETHER: usize = 4 << 10;

/// The most elements of a row that is read whole: its sums stay in the second-level cache.
const LONGEST: usize = 16 << 10;

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
        booked::<T::Acc>(LONGEST)
            + 2 * booked::<T::Acc>(ROW)
            + RowBuffers::<T>::bytes(ROW)
            + booked::<T>(ROW)
            + Columns::bytes()
    }
}

impl<T: Float> TileKernel<T, T> for Mean<'_, T> {
    #[inline(always)]
    fn fill<S: Simd>(&self, _: S, mut tile: Tile<'_, T, T>, mut scratch: Scratch<'_>) {
        let range = tile.range();
        let mut work = Work {
            columns: scratch.row(LONGEST),
            sums: scratch.row(ROW),
            buffers: RowBuffers::new(&mut scratch, ROW),
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
            let are_whole = row_len <= LONGEST && n_ow <= ROW && self.input.run_len() >= n_h * n_w;
            work.means.flat = range.flat.start;
            let mut flat = range.flat.start;
            while flat < range.flat.end {
                let (row, len) = (flat / n_ow, range.flat.end - flat);
                if are_whole && flat.is_multiple_of(n_ow) && len >= n_ow {
                    let oh = row % n_oh;
                    let n = (n_oh - oh).min(len / n_ow).min((TOGETHER / row_len).max(1));
                    self.push_rows((group, row / n_oh, oh..oh + n), axis, &mut work);
                    flat += n * n_ow;
                } else {
                    let len = len.min(n_ow - flat % n_ow);
                    output_rows(
                        &self.geometry,
                        flat..flat + len,
                        ROW / width,
                        #[inline(always)]
                        |row| self.push_spans(group, row, axis, &mut work),
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
    fn push_rows(
        &self,
        (group, od, oh): (usize, usize, Range<usize>),
        axis: &Columns<'_>,
        work: &mut Work<'_, '_, '_, T>,
    ) {
        let width = self.input.width_of(group);
        let [axis_d, axis_h, _] = &self.geometry.axes;
        let [_, n_h, n_w] = self.geometry.input();
        let n_ow = self.geometry.output()[2];
        let row_len = n_w * width;
        let columns = &mut work.columns[..oh.len() * row_len];
        rows::clear(columns);
        let d = axis_d.window(od);
        let (first, last) = (axis_h.window(oh.start).first, axis_h.window(oh.end - 1).last());
        for d in d.first..=d.last() {
            let flat = (d * n_h + first) * n_w;
            let all = self.input.row(group, flat..flat + (last + 1 - first) * n_w);
            let part = |places: Range<usize>| match all {
                Row::Slice(all) => Row::Slice(&all[places.start * width..places.end * width]),
                Row::Strided(_) => self.input.row(group, flat + places.start..flat + places.end),
            };
            let mut windows = axis_h.windows_from(oh.start);
            // Few elements are widened at once, even those that several windows see.
            if (last + 1 - first) * row_len <= ROW {
                let wide = work.buffers.widen(all);
                for columns in columns.chunks_exact_mut(row_len) {
                    let h = windows.next();
                    rows::add_rows(columns, &wide[(h.first - first) * row_len..(h.last() + 1 - first) * row_len]);
                }
                continue;
            }
            for columns in columns.chunks_exact_mut(row_len) {
                let h = windows.next();
                let h = h.first - first..h.last() + 1 - first;
                if row_len <= ROW {
                    let at_once = ROW / row_len;
                    for start in h.clone().step_by(at_once) {
                        let end = h.end.min(start + at_once);
                        rows::add_rows(columns, work.buffers.widen(part(start * n_w..end * n_w)));
                    }
                    continue;
                }
                let at_once = ROW / width;
                for h in h {
                    for (i, columns) in columns.chunks_mut(at_once * width).enumerate() {
                        let start = h * n_w + i * at_once;
                        rows::add(columns, work.buffers.widen(part(start..start + columns.len() / width)));
                    }
                }
            }
        }
        let mut windows = axis_h.windows_from(oh.start);
        for columns in columns.chunks_exact(row_len) {
            let n_rows = (d.count * windows.next().count) as u64;
            if width == 1 {
                self.push_means(n_rows, columns, work.means.places((group, 1), n_ow), axis);
                continue;
            }
            for ow in 0..n_ow {
                let window = axis.window(ow);
                let columns = &columns[window.first * width..(window.last() + 1) * width];
                let sums = work.means.places((group, width), 1);
                rows::clear(sums);
                rows::add_rows(sums, columns);
                let count = T::Acc::from_count(n_rows * window.count as u64);
                sums.iter_mut().for_each(|sum| *sum = *sum / count);
            }
        }
    }

    /// The means of a row of outputs from the sums of its columns, of `n_rows` rows and one channel.
    #[inline(always)]
    fn push_means(&self, n_rows: u64, columns: &[T::Acc], means: &mut [T::Acc], axis: &Columns<'_>) {
        let count = |n_columns: usize| T::Acc::from_count(n_rows * n_columns as u64);
        if !self.geometry.axes[2].are_disjoint() {
            // The first window is as narrow as any, and none has more than one column more.
            let least = axis.window(0).count;
            let counts = [count(least), count(least + 1)];
            match (axis.table(0..means.len()), least) {
                (Some(table), 1) => put_means::<_, 1>(table, columns, means, counts),
                (Some(table), 2) => put_means::<_, 2>(table, columns, means, counts),
                (Some(table), 3) => put_means::<_, 3>(table, columns, means, counts),
                (Some(table), 4) => put_means::<_, 4>(table, columns, means, counts),
                (Some(table), 5) => put_means::<_, 5>(table, columns, means, counts),
                (Some(table), 6) => put_means::<_, 6>(table, columns, means, counts),
                (Some(table), 7) => put_means::<_, 7>(table, columns, means, counts),
                (Some(table), 8) => put_means::<_, 8>(table, columns, means, counts),
                _ => {
                    for (ow, mean) in means.iter_mut().enumerate() {
                        let window = axis.window(ow);
                        *mean = sum(&columns[window.first..=window.last()]) / count(window.count);
                    }
                }
            }
            return;
        }
        // Windows that do not overlap are all of one size.
        let size = columns.len() / means.len();
        match size {
            2 => sum_up::<_, 2>(columns, means),
            3 => sum_up::<_, 3>(columns, means),
            4 => sum_up::<_, 4>(columns, means),
            _ => means.iter_mut().zip(columns.chunks_exact(size)).for_each(|(mean, columns)| *mean = sum(columns)),
        }
        let size = count(size);
        means.iter_mut().for_each(|mean| *mean = *mean / size);
    }

    /// The means of a row of outputs whose input is read row by row, some columns at a time.
    #[inline(always)]
    fn push_spans(&self, group: usize, row: &OutputRow, axis: &Columns<'_>, work: &mut Work<'_, '_, '_, T>) {
        let width = self.input.width_of(group);
        let means = work.means.places((group, width), row.w.len());
        let sums = &mut work.sums[..width];
        row.for_each_span(
            axis,
            ROW / width,
            #[inline(always)]
            |outputs, span| {
                let columns = &mut work.columns[..span.len() * width];
                rows::clear(columns);
                for i in 0..row.n_rows() {
                    let flat = row.input_row(&self.geometry, i);
                    let input = self.input.row(group, flat + span.start..flat + span.end);
                    rows::add(columns, work.buffers.widen(input));
                }
                for ow in outputs {
                    let window = axis.window(ow);
                    // A window that began in the span before goes on from its sums.
                    if span.start <= window.first {
                        rows::clear(sums);
                    }
                    let taps = window.first.max(span.start)..(window.last() + 1).min(span.end);
                    let taps = (taps.start - span.start) * width..(taps.end - span.start) * width;
                    match &mut *sums {
                        [sum] => *sum = columns[taps].iter().fold(*sum, |sum, &column| sum + column),
                        sums => rows::add_rows(sums, &columns[taps]),
                    }
                    let count = T::Acc::from_count(row.n_rows() * window.count as u64);
                    let at = (ow - row.w.start) * width;
                    for (mean, &sum) in means[at..at + width].iter_mut().zip(&*sums) {
                        *mean = sum / count;
                    }
                }
            },
        );
    }
}

/// The sum of some columns, from +0.0.
#[inline(always)]
fn sum<A: Accumulator>(columns: &[A]) -> A {
    columns.iter().fold(A::ZERO, |sum, &column| sum + column)
}

/// The means of windows of `N` columns, or one more: all of them are read the same way, as a loop that ends sooner for one output
/// than for the next would be mispredicted. No sum is a negative zero, so that adding nothing changes none.
#[inline(always)]
fn put_means<A: Accumulator, const N: usize>(
    (first, last): (&[u32], &[u32]),
    columns: &[A],
    means: &mut [A],
    counts: [A; 2],
) {
    for ((mean, &first), &last) in means.iter_mut().zip(first).zip(last) {
        let (first, last) = (first as usize, last as usize);
        let has_more = last - first == N;
        let more = if has_more { columns[last] } else { A::ZERO };
        *mean = (sum(&columns[first..][..N]) + more) / counts[usize::from(has_more)];
    }
}

/// The sums of `N` columns each.
#[inline(always)]
fn sum_up<A: Accumulator, const N: usize>(columns: &[A], sums: &mut [A]) {
    for (to, columns) in sums.iter_mut().zip(columns.as_chunks::<N>().0) {
        *to = sum(columns);
    }
}

/// What a worker needs for one group after the other.
struct Work<'s, 't, 'o, T: Float> {
    columns: &'s mut [T::Acc],
    sums: &'s mut [T::Acc],
    buffers: RowBuffers<'s, T>,
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
