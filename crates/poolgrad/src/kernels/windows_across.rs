//! Along rows of columns: the best element of each window of columns.
//!
//! The better of two elements does not depend on how often either was looked at, so windows are put together from
//! overlapping halves: from the best of every `r` neighbouring taps follows the best of every `2r`, for all columns
//! at once, and two or three of the last such results make any window. So a row of windows of `k` taps takes about
//! `log2(k / 3)` passes over the row, none of which depends on where windows begin, and then up to three elements for each
//! output. This compares numbers only: where others are found, windows are walked tap by tap.
//!
//! The rows of several rows of outputs lie one behind the other, so that passes are long even where rows are short.

use std::ops::Range;

use fearless_simd::Simd;

use super::windows::{Columns, LONGEST};
use super::windows_best::{Best, beats, better};
use super::windows_found::{AT_ONCE, Found, FoundRows, Shifts};
use super::windows_input::lanes;
use crate::dtype::{Code, Index, Key};
use crate::exec::Scratch;
use crate::exec::stream::LINE;
use crate::geometry::Window;

/// The most elements of the rows that are worked on together.
pub(super) const COLUMNS: usize = 8 << 10;

/// The most elements of a row, padding included.
const LONGEST_STRIP: usize = LONGEST + LONGEST / 2;

/// The columns that a row of outputs sees, and what is to be done with them.
#[derive(Clone, Debug)]
pub(super) struct Strip {
    pub(super) outputs: Range<usize>,
    /// The columns that lie in the input.
    pub(super) span: Range<usize>,
    /// The columns of padding in front, and the number of all columns.
    pub(super) before: usize,
    pub(super) len: usize,
    /// The taps that passes take together, and the columns from one to the next.
    count: usize,
    step: usize,
    /// The columns from one window to the next; `None` where windows follow from the sizes alone.
    stride: Option<usize>,
}

impl Strip {
    /// For the windows of several `outputs`, which all lie in `span`, unless their padding takes too many columns.
    #[inline(always)]
    pub(super) fn of_all(
        axis: &Columns<'_>,
        outputs: &Range<usize>,
        span: &Range<usize>,
        width: usize,
    ) -> Option<Self> {
        let Some(taps) = axis.taps() else {
            // The first window is as narrow as any, and none is twice as wide. Up to three columns of channels need no passes.
            let is_narrow = width > 1 && axis.most_covered() <= 3;
            let count = if is_narrow { 1 } else { 1 << axis.window(0).count.ilog2() };
            let (outputs, span) = (outputs.clone(), span.clone());
            return Some(Self { outputs, len: span.len(), span, before: 0, count, step: 1, stride: None });
        };
        let strides = (outputs.len() - 1).saturating_mul(taps.stride as usize);
        let len = strides.saturating_add((taps.dilation * (taps.kernel_size - 1) + 1) as usize);
        let start = outputs.start as i64 * taps.stride - taps.padding;
        (len <= LONGEST_STRIP / width).then(|| Self {
            outputs: outputs.clone(),
            span: span.clone(),
            before: (span.start as i64 - start) as usize,
            len,
            count: taps.kernel_size as usize,
            step: taps.dilation as usize,
            stride: Some(taps.stride as usize),
        })
    }

    /// For what lies in `span` of the window of output `ow`, if there is anything.
    #[inline(always)]
    pub(super) fn of_one(axis: &Columns<'_>, ow: usize, span: &Range<usize>) -> Option<Self> {
        let Window { first, count, step } = axis.window(ow);
        let taps_before = |column: usize| column.saturating_sub(first).div_ceil(step).min(count);
        let (skipped, end) = (taps_before(span.start), taps_before(span.end));
        (skipped < end).then(|| {
            let (first, count) = (first + skipped * step, end - skipped);
            let len = (count - 1) * step + 1;
            Self { outputs: ow..ow + 1, span: first..first + len, before: 0, len, count, step, stride: Some(1) }
        })
    }

    /// How many neighbouring taps passes put together: a power of two, so many that one to three such results, which
    /// may overlap, make a window.
    fn together(&self) -> usize {
        if self.stride.is_some() { self.count.div_ceil(3).next_power_of_two() } else { self.count }
    }

    /// The column that the window of output `ow` begins at, and its taps.
    #[inline(always)]
    fn window(&self, ow: usize, axis: &Columns<'_>) -> (usize, usize) {
        match self.stride {
            Some(stride) => ((ow - self.outputs.start) * stride, self.count),
            None => (axis.window(ow).first - self.span.start, axis.window(ow).count),
        }
    }
}

/// Makes of each column the better number of two, of which the second lies `further` on.
#[inline(always)]
fn put_better<K: Key>(
    (to, to_codes): (&mut [K], &mut [K::Code]),
    (keys, codes): (&[K], &[K::Code]),
    (others, other_codes, further): (&[K], &[K::Code], K::Code),
) {
    let n = to.len();
    let (to_codes, keys, codes) = (&mut to_codes[..n], &keys[..n], &codes[..n]);
    let (others, other_codes) = (&others[..n], &other_codes[..n]);
    for i in 0..n {
        (to[i], to_codes[i]) = better((keys[i], codes[i]), (others[i], other_codes[i].plus(further)));
    }
}

/// The rows of columns of some rows of outputs.
pub(super) struct RowsOfColumns {
    pub(super) n_rows: usize,
    /// The elements from one to the next, and the channels.
    pub(super) pitch: usize,
    pub(super) width: usize,
}

/// Two sets of rows of columns: in one is the best of so many taps from each column on, in the other will be that of
/// more.
pub(super) struct Across<'s, K: Key> {
    pub(super) from: Best<'s, K>,
    to: Best<'s, K>,
    /// Whether some of the elements are not numbers.
    pub(super) has_nan: bool,
}

impl<'s, K: Key> Across<'s, K> {
    /// Passes and outputs come in whole vectors, and so go beyond the end.
    const LEN: usize = LONGEST_STRIP + 8 * (LINE + 1);

    pub(super) const fn bytes() -> usize {
        2 * Best::<K>::bytes(Self::LEN)
    }

    pub(super) fn new(scratch: &mut Scratch<'s>) -> Self {
        Self { from: Best::new(Self::LEN, scratch), to: Best::new(Self::LEN, scratch), has_nan: false }
    }

    /// Finds the best of the windows of a strip for each row.
    #[inline(never)]
    pub(super) fn find<S: Simd, I: Index>(
        &mut self,
        simd: S,
        (strip, rows): (&Strip, &RowsOfColumns),
        axis: &Columns<'_>,
        found: &mut FoundRows<'_, K, I>,
    ) {
        if self.has_nan {
            for row in 0..rows.n_rows {
                self.find_slowly((strip, rows), row, axis, &mut found.row(row));
            }
            return;
        }
        let width = rows.width;
        let together = strip.together();
        let mut count = 1;
        while count < together {
            let len = rows.n_rows * rows.pitch - (count - 1) * strip.step * width;
            self.pass(simd, count * strip.step, width, len);
            count *= 2;
        }
        let n = strip.outputs.len();
        let shifts = |taps: usize| {
            let of = |tap: usize| (tap * strip.step * width, K::Code::new(tap * strip.step));
            [of(0), of(together.min(taps - together)), of(taps - together)]
        };
        let n_shifts = strip.count.div_ceil(together);
        let regular = shifts(strip.count);
        // Each a function of its own, for which the compiler knows how far elements are apart.
        macro_rules! put_best {
            ($($m:literal $s:literal),*; $($any_m:literal),*) => {
                match (n_shifts, strip.stride) {
                    $(($m, Some($s)) if width == 1 && !found.goes_on => simd.vectorize(
                        #[inline(always)]
                        || self.put_rows::<I, $m, $s>((n, rows), found, regular),
                    ),)*
                    $(($any_m, Some(stride)) if width > 1 && !found.goes_on => simd.vectorize(
                        #[inline(always)]
                        || self.put_channels::<I, $any_m>((n, rows), stride, found, regular),
                    ),)*
                    // Windows that are all the same come one by one.
                    $(($any_m, Some(stride @ 1..)) if !found.goes_on => {
                        self.put_gathered::<S, I, $any_m>(simd, (n, rows), stride, found, regular);
                    })*
                    _ => self.put_each(simd, (strip, rows), axis, found, shifts),
                }
            };
        }
        put_best!(1 1, 2 1, 3 1, 2 2, 3 2, 2 3, 3 3, 2 4, 3 4, 2 8; 1, 2, 3);
    }

    /// Puts the best of `M` columns for each of `n` outputs of some rows, which are `S` columns apart and of one channel.
    #[inline(always)]
    fn put_rows<I: Index, const M: usize, const S: usize>(
        &self,
        (n, rows): (usize, &RowsOfColumns),
        found: &mut FoundRows<'_, K, I>,
        shifts: Shifts<K::Code>,
    ) {
        for row in 0..rows.n_rows {
            let at = row * rows.pitch;
            let columns = (&self.from.keys[at..], &self.from.codes[at..]);
            found.row(row).put_best::<M, S>((n, S), columns, shifts);
        }
    }

    /// As [`Across::put_rows`] for any number of columns apart: those that begin the results of passes to choose from are put
    /// side by side first.
    #[inline(always)]
    fn put_gathered<S: Simd, I: Index, const M: usize>(
        &mut self,
        simd: S,
        (n, rows): (usize, &RowsOfColumns),
        stride: usize,
        found: &mut FoundRows<'_, K, I>,
        shifts: Shifts<K::Code>,
    ) {
        let Self { from, to, .. } = self;
        let len = n.next_multiple_of(AT_ONCE);
        let gathered = std::array::from_fn(|m| (m.min(M - 1) * len, shifts[m].1));
        for row in 0..rows.n_rows {
            for (m, &(shift, _)) in shifts[..M].iter().enumerate() {
                let at = row * rows.pitch + shift;
                let columns = from.keys[at..].iter().zip(&from.codes[at..]).step_by(stride);
                let to = to.keys[m * len..][..n].iter_mut().zip(&mut to.codes[m * len..][..n]);
                to.zip(columns).for_each(|((to, to_code), (&key, &code))| (*to, *to_code) = (key, code));
            }
            let (keys, codes) = (&to.keys[..M * len], &to.codes[..M * len]);
            let mut found = found.row(row);
            simd.vectorize(
                #[inline(always)]
                || found.put_best::<M, 1>((n, stride), (keys, codes), gathered),
            );
        }
    }

    /// As [`Across::put_rows`], of several channels and any number of columns apart.
    #[inline(always)]
    fn put_channels<I: Index, const M: usize>(
        &self,
        (n, rows): (usize, &RowsOfColumns),
        stride: usize,
        found: &mut FoundRows<'_, K, I>,
        shifts: Shifts<K::Code>,
    ) {
        let width = rows.width;
        for row in 0..rows.n_rows {
            let mut found = found.row(row);
            for i in 0..n {
                let at = row * rows.pitch + i * stride * width;
                let columns = (&self.from.keys[at..], &self.from.codes[at..]);
                found.channels(i * width, i * stride).put_best::<M, 1>((width, 0), columns, shifts);
            }
        }
    }

    /// Puts the best of each window by itself, of columns that `shifts` tells by its taps.
    #[inline(always)]
    fn put_each<S: Simd, I: Index>(
        &mut self,
        simd: S,
        (strip, rows): (&Strip, &RowsOfColumns),
        axis: &Columns<'_>,
        found: &mut FoundRows<'_, K, I>,
        shifts: impl Fn(usize) -> Shifts<K::Code>,
    ) {
        let width = rows.width;
        for row in 0..rows.n_rows {
            let at = row * rows.pitch;
            let mut found = found.row(row);
            if let (None, 1, false) = (strip.stride, width, found.goes_on)
                && let Some(table) = axis.table(strip.outputs.clone())
            {
                self.find_pairs(simd, at, strip, table, &mut found);
                continue;
            }
            for (i, ow) in strip.outputs.clone().enumerate() {
                let (column, count) = strip.window(ow, axis);
                let at = at + column * width;
                let columns = (&self.from.keys[at..], &self.from.codes[at..]);
                found.put_channels(simd, (i, column), width, columns, shifts(count));
            }
        }
    }

    /// [`Across::find`] for a row, which begins at `at`, of windows that begin and end at columns of a table: of each, two
    /// results of passes are put aside, to choose from them for all windows at once.
    #[inline(always)]
    fn find_pairs<S: Simd, I: Index>(
        &mut self,
        simd: S,
        at: usize,
        strip: &Strip,
        (first, last): (&[u32], &[u32]),
        found: &mut Found<'_, K, I>,
    ) {
        let n = first.len();
        let (a, b) = self.to.keys.split_at_mut(n);
        let (a_codes, b_codes) = self.to.codes.split_at_mut(n);
        let start = strip.span.start;
        let columns =
            first.iter().zip(last).zip(a.iter_mut().zip(&mut *a_codes).zip(b.iter_mut().zip(&mut *b_codes)));
        for ((&first, &last), ((a, a_code), (b, b_code))) in columns {
            let (left, right) = (first as usize, last as usize + 1 - strip.count);
            let column =
                |column: usize| (self.from.keys[at + column - start], self.from.codes[at + column - start]);
            (*a, *a_code) = column(left);
            (*b, *b_code) = column(right);
            *b_code = b_code.plus(K::Code::new(right - left));
        }
        simd.vectorize(
            #[inline(always)]
            || found.put_pairs((a, a_codes), (b, b_codes), first, start as u32),
        );
    }

    /// [`Across::find`] where some elements are not numbers, tap by tap.
    #[cold]
    #[inline(never)]
    fn find_slowly<I: Index>(
        &self,
        (strip, rows): (&Strip, &RowsOfColumns),
        row: usize,
        axis: &Columns<'_>,
        found: &mut Found<'_, K, I>,
    ) {
        for (i, ow) in strip.outputs.clone().enumerate() {
            let (first, count) = strip.window(ow, axis);
            for c in 0..rows.width {
                let column = |tap: usize| {
                    let at = row * rows.pitch + (first + tap * strip.step) * rows.width + c;
                    (self.from.keys[at], self.from.codes[at].plus(K::Code::new(tap * strip.step)))
                };
                let best = (1..count).fold(column(0), |best, tap| {
                    let (key, code) = column(tap);
                    if beats(key, best.0, code > best.1) { (key, code) } else { best }
                });
                found.put(i * rows.width + c, first, best);
            }
        }
    }

    /// Makes of each of `len` elements the better of what it has and what is `shift` columns further on.
    #[inline(always)]
    fn pass<S: Simd>(&mut self, simd: S, shift: usize, width: usize, len: usize) {
        let further = shift * width;
        let len = (len - further).next_multiple_of(lanes::<K>());
        let columns = (&self.from.keys[..len], &self.from.codes[..len]);
        let others = (&self.from.keys[further..][..len], &self.from.codes[further..][..len], K::Code::new(shift));
        let to = (&mut self.to.keys[..len], &mut self.to.codes[..len]);
        simd.vectorize(
            #[inline(always)]
            || put_better(to, columns, others),
        );
        std::mem::swap(&mut self.from, &mut self.to);
    }
}
