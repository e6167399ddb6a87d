//! Along rows of columns: the best element of each window of columns, for single planes.
//!
//! The better of two elements does not depend on how often either was looked at, so windows are put together from
//! overlapping halves: from the best of every `r` neighbouring taps follows the best of every `2r`, for all columns
//! at once, and two or three of the last such results make any window. So a row of windows of `k` taps takes about
//! `log2(k / 3)` passes over the row, none of which depends on where windows begin, and then up to three elements for each
//! output. This compares numbers only: where there is a NaN, windows are walked tap by tap.
//!
//! Rows of outputs are collected, so that passes are long even where rows are short.

use std::ops::Range;

use fearless_simd::Simd;

use super::rows::ROW;
use super::windows::{Columns, LANES};
use super::windows_best::{Best, NOWHERE, beats, better};
use super::windows_found::Found;
use crate::dtype::{Accumulator, Index};
use crate::exec::Scratch;
use crate::geometry::Window;

/// The most columns of a strip, those in the padding included.
const MOST: usize = 2 * ROW;

/// The most columns of several rows together: enough to make passes long, few enough to stay in the first-level cache.
const ENOUGH: usize = ROW / 2;

/// The columns that a row of outputs sees, and what is to be done with them.
pub(super) struct Strip {
    pub(super) outputs: Range<usize>,
    /// The columns that lie in the input.
    pub(super) span: Range<usize>,
    /// The columns of padding in front, and the number of all columns.
    before: usize,
    len: usize,
    /// The taps that passes take together, and the columns from one to the next.
    count: usize,
    step: usize,
    /// The columns from one window to the next; `None` where windows follow from the sizes alone.
    stride: Option<usize>,
}

impl Strip {
    /// For the windows of several `outputs`, which all lie in `span`, unless their padding takes too many columns.
    #[inline(always)]
    fn of_all(axis: &Columns<'_>, outputs: &Range<usize>, span: &Range<usize>) -> Option<Self> {
        let Some(taps) = axis.taps() else {
            // The first window is as narrow as any, and none is twice as wide.
            let count = 1 << axis.window(0).count.ilog2();
            let (outputs, span) = (outputs.clone(), span.clone());
            return Some(Self { outputs, len: span.len(), span, before: 0, count, step: 1, stride: None });
        };
        let strides = (outputs.len() - 1).saturating_mul(taps.stride as usize);
        let len = strides.saturating_add((taps.dilation * (taps.kernel_size - 1) + 1) as usize);
        let start = outputs.start as i64 * taps.stride - taps.padding;
        (len <= MOST).then(|| Self {
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
    fn of_one(axis: &Columns<'_>, ow: usize, span: &Range<usize>) -> Option<Self> {
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

    /// Whether all of the windows lies in it.
    #[inline(always)]
    pub(super) fn has_all(&self, axis: &Columns<'_>) -> bool {
        let Range { start, end } = self.outputs;
        self.span.start <= axis.window(start).first && axis.window(end - 1).last() < self.span.end
    }

    /// Calls `visit` for strips of `outputs`, in which is all that their windows see of `span`: one of all, or one each.
    #[inline(always)]
    pub(super) fn for_each(
        axis: &Columns<'_>,
        (outputs, span): (&Range<usize>, &Range<usize>),
        mut visit: impl FnMut(&Self),
    ) {
        let all = if outputs.len() > 1 { Self::of_all(axis, outputs, span) } else { None };
        let n_strips = if all.is_some() { 1 } else { outputs.len() };
        for i in 0..n_strips {
            let one = if all.is_some() { None } else { Self::of_one(axis, outputs.start + i, span) };
            if let Some(strip) = all.as_ref().or(one.as_ref()) {
                visit(strip);
            }
        }
    }
}

/// Makes of each column the better number of two.
#[inline(always)]
fn put_better<A: Accumulator>(
    (to, to_places): (&mut [A], &mut [u32]),
    (values, places): (&[A], &[u32]),
    (others, other_places): (&[A], &[u32]),
) {
    let n = to.len();
    let (to_places, values, places) = (&mut to_places[..n], &values[..n], &places[..n]);
    let (others, other_places) = (&others[..n], &other_places[..n]);
    for i in 0..n {
        (to[i], to_places[i]) = better((values[i], places[i]), (others[i], other_places[i]));
    }
}

/// Two sets of rows of columns: in one is the best of so many taps from each column on, in the other will be that of
/// more.
pub(super) struct Across<'s, A> {
    from: Best<'s, A>,
    to: Best<'s, A>,
    /// Whether there is a NaN among the columns.
    has_nan: bool,
}

impl<'s, A: Accumulator> Across<'s, A> {
    /// Passes and outputs, which are up to eight columns apart, come in whole vectors, and so go beyond the end.
    const LEN: usize = MOST + 2 * LANES + 8 * (LANES + 1);

    pub(super) const fn bytes() -> usize {
        2 * Best::<A>::bytes(Self::LEN)
    }

    pub(super) fn new(scratch: &mut Scratch<'s>) -> Self {
        Self { from: Best::new(Self::LEN, scratch), to: Best::new(Self::LEN, scratch), has_nan: false }
    }

    /// Both, for columns without padding and for whatever else.
    #[inline(always)]
    pub(super) fn both(&mut self) -> (&mut Best<'s, A>, &mut Best<'s, A>) {
        (&mut self.from, &mut self.to)
    }

    /// The rows of a strip that there is room for.
    #[inline(always)]
    pub(super) fn most_rows(strip: &Strip) -> usize {
        (ENOUGH / strip.len).max(1)
    }

    /// Makes row `row` of a strip: `fill` does so with its columns that lie in the input, and may go beyond them by part
    /// of a vector; and returns whether there is a NaN among them.
    #[inline(always)]
    pub(super) fn put_row(&mut self, strip: &Strip, row: usize, fill: impl FnOnce(Best<'_, A>) -> bool) {
        let start = row * strip.len;
        let (first, end) = (start + strip.before, start + strip.before + strip.span.len());
        self.clear(start, first);
        self.has_nan |= fill(self.from.part(first..end + LANES));
        self.clear(end, start + strip.len);
    }

    /// Puts nothing from `start` to `end`, and possibly beyond by part of a vector.
    #[inline(always)]
    fn clear(&mut self, mut start: usize, end: usize) {
        while start < end {
            self.from.values[start..start + LANES].copy_from_slice(&[A::LEAST; LANES]);
            self.from.places[start..start + LANES].copy_from_slice(&[NOWHERE; LANES]);
            start += LANES;
        }
    }

    /// Finds the best of the windows of so many rows of a strip.
    #[inline(always)]
    pub(super) fn find<S: Simd, I: Index>(
        &mut self,
        simd: S,
        strip: &Strip,
        n_rows: usize,
        axis: &Columns<'_>,
        mut found: Found<'_, A, I>,
    ) {
        if self.has_nan {
            self.has_nan = false;
            return self.find_slowly(strip, n_rows, axis, &mut found);
        }
        let together = strip.together();
        let mut count = 1;
        while count < together {
            self.pass(simd, count * strip.step, n_rows * strip.len - (count - 1) * strip.step);
            count *= 2;
        }
        let n = strip.outputs.len();
        let shifts = [0, together.min(strip.count - together) * strip.step, (strip.count - together) * strip.step];
        for row in 0..n_rows {
            let at = row * strip.len;
            let columns = (&self.from.values[at..], &self.from.places[at..]);
            let outputs = row * n..(row + 1) * n;
            let Some(stride) = strip.stride else {
                for (o, ow) in outputs.zip(strip.outputs.clone()) {
                    let window = axis.window(ow);
                    let left = window.first - strip.span.start;
                    let right = left + window.count - together;
                    let best = better((columns.0[left], columns.1[left]), (columns.0[right], columns.1[right]));
                    found.put(o, best.0, best.1);
                }
                continue;
            };
            macro_rules! put_best {
                ($($m:literal $s:literal),*) => {
                    match (strip.count.div_ceil(together), stride) {
                        $(($m, $s) if !found.goes_on => simd.vectorize(
                            #[inline(always)]
                            || found.put_best::<$m, $s>((outputs.start, n), columns, shifts),
                        ),)*
                        _ => found.put_best_each(outputs, stride, columns, shifts),
                    }
                };
            }
            put_best!(2 1, 3 1, 2 2, 3 2, 2 4, 2 8);
        }
    }

    /// [`Across::find`] where there are NaNs, tap by tap.
    #[cold]
    #[inline(never)]
    fn find_slowly<I: Index>(&self, strip: &Strip, n_rows: usize, axis: &Columns<'_>, found: &mut Found<'_, A, I>) {
        let n = strip.outputs.len();
        for row in 0..n_rows {
            for (i, ow) in strip.outputs.clone().enumerate() {
                let (first, count) = match strip.stride {
                    Some(stride) => (i * stride, strip.count),
                    None => (axis.window(ow).first - strip.span.start, axis.window(ow).count),
                };
                let column = |tap: usize| {
                    let at = row * strip.len + first + tap * strip.step;
                    (self.from.values[at], self.from.places[at])
                };
                let best = (1..count).fold(column(0), |best, tap| {
                    let (value, place) = column(tap);
                    if beats(value, best.0, place > best.1) { (value, place) } else { best }
                });
                found.put(row * n + i, best.0, best.1);
            }
        }
    }

    /// Makes of each of `len` columns the better of what it has and what the column `shift` further on has.
    #[inline(always)]
    fn pass<S: Simd>(&mut self, simd: S, shift: usize, len: usize) {
        let len = (len - shift).next_multiple_of(LANES);
        let columns = (&self.from.values[..len], &self.from.places[..len]);
        let others = (&self.from.values[shift..shift + len], &self.from.places[shift..shift + len]);
        let to = (&mut self.to.values[..len], &mut self.to.places[..len]);
        simd.vectorize(
            #[inline(always)]
            || put_better(to, columns, others),
        );
        std::mem::swap(&mut self.from, &mut self.to);
    }
}
