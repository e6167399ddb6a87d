//! Stretches: neighbouring places along an axis that lie in the same windows, and so have the same gradients.
//!
//! What a place gets is formed once for its stretch, rounded, and repeated.

use std::ops::Range;

use crate::dtype::Element;
use crate::exec::stream::claim_next;
use crate::exec::{Scratch, booked};
use crate::geometry::AxisWindows;

/// The elements that are filled at once, even if fewer are wanted: a register of most machines.
const AT_ONCE: usize = 8;

/// The most elements that are copied at once to repeat them: they come from the first-level cache.
const CLOSE: usize = 2048;

/// The stretches of some neighbouring places along one axis.
pub(super) struct Stretches<'s> {
    /// The first place and how many there are.
    pub(super) first_place: usize,
    pub(super) n_places: usize,
    /// The outputs whose windows the places lie in.
    pub(super) outputs: Range<usize>,
    /// The places of each stretch, if all have as many.
    length: Option<usize>,
    /// Where each stretch ends, counted from the first place.
    ends: &'s [usize],
    /// The first output of each stretch, and the end of its outputs.
    firsts: &'s [usize],
    lasts: &'s [usize],
}

/// One stretch: its places, counted from the first of all, and the outputs whose windows hold them.
pub(super) struct Stretch {
    pub(super) places: Range<usize>,
    pub(super) outputs: Range<usize>,
}

/// The stretches of `places`, whose windows have no gaps, in ascending order.
#[inline(always)]
fn of_axis(axis: &AxisWindows, places: Range<usize>) -> impl Iterator<Item = Stretch> {
    let mut outputs = axis.reaching(places.start..places.start + 1);
    // Where the first window of a stretch ends, and where the one after its last begins, be there one or not.
    let (mut ending, mut beginning) = (axis.windows_from(outputs.start), axis.windows_from(outputs.end));
    let (mut end, mut begin) = (ending.next().last() + 1, beginning.next().first);
    let (origin, mut start) = (places.start, places.start);
    std::iter::from_fn(move || {
        if start == places.end {
            return None;
        }
        while begin <= start {
            (outputs.end, begin) = (outputs.end + 1, beginning.next().first);
        }
        while end <= start {
            (outputs.start, end) = (outputs.start + 1, ending.next().last() + 1);
        }
        let first = start - origin;
        start = end.min(begin).min(places.end);
        Some(Stretch { places: first..start - origin, outputs: outputs.clone() })
    })
}

impl<'s> Stretches<'s> {
    /// The most stretches that `n_places` neighbours fall into: each but the last ends where a window begins or ends.
    pub(super) fn most(axis: &AxisWindows, n_places: usize) -> usize {
        let n_outputs = n_places as u128 * axis.output() as u128 / axis.input() as u128 + 2;
        usize::try_from(2 * n_outputs).map_or(n_places, |most| most.min(n_places))
    }

    /// The scratch bytes for `n_places` neighbours.
    pub(super) fn bytes(axis: &AxisWindows, n_places: usize) -> usize {
        3 * booked::<usize>(Self::most(axis, n_places))
    }

    /// The stretches of `places`, in scratch.
    #[inline(always)]
    pub(super) fn new(axis: &AxisWindows, places: Range<usize>, scratch: &mut Scratch<'s>) -> Self {
        let most = Self::most(axis, places.len());
        let [ends, firsts, lasts] = std::array::from_fn(|_| scratch.row::<usize>(most));
        let (mut n, mut length) = (0, None);
        for stretch in of_axis(axis, places.clone()) {
            (ends[n], firsts[n], lasts[n]) = (stretch.places.end, stretch.outputs.start, stretch.outputs.end);
            let len = Some(stretch.places.len());
            length = if n == 0 || length == len { len } else { None };
            n += 1;
        }
        Self {
            first_place: places.start,
            n_places: places.len(),
            outputs: firsts[0]..lasts[n - 1],
            length,
            ends: &ends[..n],
            firsts: &firsts[..n],
            lasts: &lasts[..n],
        }
    }

    /// How many a whole axis falls into.
    pub(super) fn count(axis: &AxisWindows) -> usize {
        of_axis(axis, 0..axis.input()).count()
    }

    /// How many there are.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// All of them, in ascending order.
    #[inline(always)]
    pub(super) fn iter(&self) -> impl Iterator<Item = Stretch> {
        let mut start = 0;
        self.ends.iter().zip(self.firsts.iter().zip(self.lasts)).map(move |(&end, (&first, &last))| Stretch {
            places: std::mem::replace(&mut start, end)..end,
            outputs: first..last,
        })
    }

    /// The stretches that lie in the window of `output`, where those before number `from` lie in earlier ones only.
    #[inline(always)]
    pub(super) fn of(&self, output: usize, from: usize) -> Range<usize> {
        let mut start = from;
        while self.lasts[start] <= output {
            start += 1;
        }
        let mut end = start;
        while end < self.len() && self.firsts[end] <= output {
            end += 1;
        }
        start..end
    }

    /// Whether `output` is the first of the outputs of stretch `number`.
    #[inline(always)]
    pub(super) fn begins_with(&self, number: usize, output: usize) -> bool {
        self.firsts[number] == output
    }

    /// The places of the stretches that lie in the window of `output`, counted from the first.
    #[inline(always)]
    pub(super) fn places_of(&self, axis: &AxisWindows, output: usize) -> Range<usize> {
        let window = axis.window(output);
        let start = window.first.max(self.first_place);
        let end = (window.last() + 1).min(self.first_place + self.n_places);
        start - self.first_place..end - self.first_place
    }

    /// Repeats the value of each stretch for each of its places.
    #[inline(always)]
    pub(super) fn spread<T: Element>(&self, values: &[T], row: &mut [T]) {
        match self.length {
            Some(1) => copy_over(values, row, self.n_places),
            Some(2) => interleave::<T, 2>(values, row),
            Some(3) => interleave::<T, 3>(values, row),
            Some(4) => interleave::<T, 4>(values, row),
            Some(7) => interleave::<T, 7>(values, row),
            Some(8) => interleave::<T, 8>(values, row),
            Some(16) => interleave::<T, 16>(values, row),
            _ => fill(self.ends, values, row),
        }
    }

    /// Repeats the cell of each stretch, of `width` elements, for each of its places; `in_output` as for [`multiply`].
    #[inline(always)]
    pub(super) fn repeat<T: Element>(&self, cells: &[T], width: usize, row: &mut [T], in_output: bool) {
        if self.length == Some(1) {
            return row[..self.n_places * width].copy_from_slice(&cells[..self.n_places * width]);
        }
        let mut start = 0;
        for (&end, cell) in self.ends.iter().zip(cells.chunks_exact(width)) {
            let places = &mut row[start * width..end * width];
            places[..width].copy_from_slice(cell);
            multiply(places, width, in_output);
            start = end;
        }
    }
}

/// Repeats each value `N` times.
#[inline(always)]
fn interleave<T: Element, const N: usize>(values: &[T], row: &mut [T]) {
    for (places, &value) in row.as_chunks_mut::<N>().0.iter_mut().zip(values) {
        *places = [value; N];
    }
}

/// Fills the places up to each of `ends` with one of `values`; what follows the last may be filled too.
#[inline(always)]
fn fill<T: Element>(ends: &[usize], values: &[T], row: &mut [T]) {
    let mut start = 0;
    for (&end, &value) in ends.iter().zip(values) {
        while start < end {
            match row[start..].first_chunk_mut::<AT_ONCE>() {
                Some(places) => *places = [value; AT_ONCE],
                None => row[start..end].fill(value),
            }
            start += AT_ONCE;
        }
        start = end;
    }
}

/// Copies the first `len` elements of `from` to `to`. What follows them there may be written too.
#[inline(always)]
pub(super) fn copy_over<T: Element>(from: &[T], to: &mut [T], len: usize) {
    match size_of::<T>() {
        _ if len > CLOSE / 4 => to[..len].copy_from_slice(&from[..len]),
        2 => copy_lines::<T, 32>(from, to, len),
        4 => copy_lines::<T, 16>(from, to, len),
        _ => copy_lines::<T, 8>(from, to, len),
    }
}

/// As [`copy_over`], `N` elements at a time: without a call, which would take longer.
#[inline(always)]
fn copy_lines<T: Element, const N: usize>(from: &[T], to: &mut [T], len: usize) {
    let mut at = 0;
    while at < len {
        match (from[at..].first_chunk::<N>(), to[at..].first_chunk_mut::<N>()) {
            (Some(from), Some(to)) => *to = *from,
            _ => return to[at..len].copy_from_slice(&from[at..len]),
        }
        at += N;
    }
}

/// Repeats the first `len` elements of `row` to its end. Of an output, what follows is asked for; of what is in the cache
/// already, that would take a tenth of the time.
#[inline(always)]
pub(super) fn multiply<T: Element>(row: &mut [T], len: usize, in_output: bool) {
    let mut done = len;
    while done < row.len() {
        let more = done.min(row.len() - done).min((CLOSE / len).max(1) * len);
        if in_output {
            claim_next(&row[done..done + more]);
        }
        row.copy_within(..more, done);
        done += more;
    }
}
