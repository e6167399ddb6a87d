//! Along rows of columns: the best element of each window of columns, for single planes.
//!
//! The better of two elements does not depend on how often either was looked at, so windows are put together from
//! overlapping halves: from the best of every `r` neighbouring taps follows the best of every `2r`, for all columns
//! at once, and two of the last such results make any window. So a row of windows of `k` taps takes about `log2(k)`
//! passes over the row, none of which depends on where windows begin, and then one or two elements for each output.
//!
//! Rows of outputs are collected, so that passes are long even where rows are short.

use std::ops::Range;

use super::rows::ROW;
use super::windows::{Columns, LANES};
use super::windows_best::{Best, NOWHERE, beats, select};
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

/// Where the best of windows go: values, places, and what is to be added to a place.
pub(super) struct Found<'o, A, I> {
    pub(super) values: &'o mut [A],
    pub(super) places: &'o mut [I],
    pub(super) origin: usize,
    /// Whether parts of the windows have been here before.
    pub(super) goes_on: bool,
}

impl<A: Accumulator, I: Index> Found<'_, A, I> {
    /// Puts one element, unless what is there already is better.
    #[inline(always)]
    fn put(&mut self, o: usize, value: A, place: u32) {
        let place = self.origin + place as usize;
        if !self.goes_on || beats(value, self.values[o], place > self.places[o].offset()) {
            self.values[o] = value;
            self.places[o] = I::from_offset(place);
        }
    }

    /// Puts the first of every `S` columns, for neighbouring outputs.
    #[inline(always)]
    pub(super) fn put_every<const S: usize>(&mut self, outputs: Range<usize>, (values, places): (&[A], &[u32])) {
        if self.goes_on {
            for (i, o) in outputs.enumerate() {
                self.put(o, values[i * S], places[i * S]);
            }
            return;
        }
        let to = self.values[outputs.clone()].iter_mut().zip(&mut self.places[outputs]);
        let columns = values.as_chunks::<S>().0.iter().zip(places.as_chunks::<S>().0);
        for ((value, place), (new, new_place)) in to.zip(columns) {
            *value = new[0];
            *place = I::from_offset(self.origin + new_place[0] as usize);
        }
    }
}

/// Two sets of rows of columns: in one is the best of so many taps from each column on, in the other will be that of
/// more.
pub(super) struct Across<'s, A> {
    from: Best<'s, A>,
    to: Best<'s, A>,
}

impl<'s, A: Accumulator> Across<'s, A> {
    /// Passes work on whole vectors, and so beyond the end.
    const LEN: usize = MOST + 2 * LANES;

    pub(super) const fn bytes() -> usize {
        2 * Best::<A>::bytes(Self::LEN)
    }

    pub(super) fn new(scratch: &mut Scratch<'s>) -> Self {
        Self { from: Best::new(Self::LEN, scratch), to: Best::new(Self::LEN, scratch) }
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
    /// of a vector.
    #[inline(always)]
    pub(super) fn put_row(&mut self, strip: &Strip, row: usize, fill: impl FnOnce(Best<'_, A>)) {
        let start = row * strip.len;
        let (first, end) = (start + strip.before, start + strip.before + strip.span.len());
        self.clear(start, first);
        fill(self.from.part(first..end + LANES));
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
    pub(super) fn find<I: Index>(
        &mut self,
        strip: &Strip,
        n_rows: usize,
        axis: &Columns<'_>,
        mut found: Found<'_, A, I>,
    ) {
        let mut len = n_rows * strip.len;
        let mut count = 1;
        while count < strip.count {
            let further = count.min(strip.count - count);
            len -= further * strip.step;
            self.pass(further * strip.step, len);
            count += further;
        }
        let n = strip.outputs.len();
        for row in 0..n_rows {
            let at = row * strip.len;
            let (values, places) = (&self.from.values[at..], &self.from.places[at..]);
            let outputs = row * n..(row + 1) * n;
            let Some(stride) = strip.stride else {
                for (o, ow) in outputs.zip(strip.outputs.clone()) {
                    let window = axis.window(ow);
                    let left = window.first - strip.span.start;
                    let right = left + window.count - strip.count;
                    let wins = beats(values[right], values[left], places[right] > places[left]);
                    let value = select(wins, values[right], values[left]);
                    found.put(o, value, select(wins, places[right], places[left]));
                }
                continue;
            };
            match stride {
                1 => found.put_every::<1>(outputs, (values, places)),
                2 => found.put_every::<2>(outputs, (values, places)),
                3 => found.put_every::<3>(outputs, (values, places)),
                _ => {
                    for (i, o) in outputs.enumerate() {
                        found.put(o, values[i * stride], places[i * stride]);
                    }
                }
            }
        }
    }

    /// Makes of each of `len` columns the better of what it has and what the column `shift` further on has.
    #[inline(always)]
    fn pass(&mut self, shift: usize, len: usize) {
        let len = len.next_multiple_of(LANES);
        let (values, places) = (&self.from.values[..len], &self.from.places[..len]);
        let (others, other_places) = (&self.from.values[shift..shift + len], &self.from.places[shift..shift + len]);
        let others = others.iter().zip(other_places);
        let to = self.to.values[..len].iter_mut().zip(&mut self.to.places[..len]);
        for (((best, best_place), (&value, &place)), (&other, &other_place)) in
            to.zip(values.iter().zip(places)).zip(others)
        {
            let wins = beats(other, value, other_place > place);
            *best = select(wins, other, value);
            *best_place = select(wins, other_place, place);
        }
        std::mem::swap(&mut self.from, &mut self.to);
    }
}
