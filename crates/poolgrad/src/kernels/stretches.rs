//! Stretches: neighbouring places along an axis that lie in the same windows, and so have the same gradients.
//!
//! What a place gets is formed once for its stretch, rounded, and repeated.

use std::ops::Range;

use crate::dtype::Element;
use crate::exec::stream::{before_page_end, claim_next, copy_near};
use crate::exec::{Scratch, booked};
use crate::geometry::AxisWindows;

/// The most elements that are copied at once to repeat them: they come from the first-level cache.
const CLOSE: usize = 2048;

/// The bytes of a stretch that are filled at once.
const FILLED: usize = 32;

/// The stretches of some neighbouring places along one axis.
pub(super) struct Stretches<'s> {
    /// The first place and how many there are.
    pub(super) first_place: usize,
    pub(super) n_places: usize,
    /// The outputs whose windows the places lie in.
    pub(super) outputs: Range<usize>,
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

/// The stretches of `places` of adaptive windows, in ascending order.
///
/// There are two or more for each output of a wide axis, so that little may be done for one. With no more outputs than places,
/// a place lies in one window or in two; with more, each place is a stretch, and its outputs are a window of the same rule.
#[inline(always)]
fn of_axis(axis: &AxisWindows, places: Range<usize>) -> impl Iterator<Item = Stretch> {
    let are_many = axis.output() > axis.input();
    let of = if are_many { AxisWindows::adaptive(axis.output(), axis.input()) } else { *axis };
    let mut output = if are_many { places.start } else { axis.reaching(places.start..places.start + 1).start };
    let mut windows = of.windows_from(output);
    // The window of that output, and the one after it, be there one or not.
    let (mut here, mut next) = (windows.next(), windows.next());
    let (origin, mut start) = (places.start, places.start);
    std::iter::from_fn(move || {
        if start == places.end {
            return None;
        }
        let first = start - origin;
        if are_many {
            start += 1;
            let outputs = here.first..here.first + here.count;
            (here, next) = (next, windows.next());
            return Some(Stretch { places: first..first + 1, outputs });
        }
        let here_end = here.first + here.count;
        let (end, last) = if start < next.first { (next.first, output) } else { (here_end, output + 1) };
        let outputs = output..last + 1;
        if end == here_end {
            output += 1;
            (here, next) = (next, windows.next());
        }
        start = end.min(places.end);
        Some(Stretch { places: first..start - origin, outputs })
    })
}

/// The ends of stretches, their first outputs and the ends of their outputs, where each window of `size` is one; how many there
/// are.
#[inline(always)]
fn put_equal_windows(size: usize, places: &Range<usize>, [ends, firsts, lasts]: [&mut [usize]; 3]) -> usize {
    let outputs = places.start / size..places.end.div_ceil(size);
    let n = outputs.len();
    for (output, (end, (first, last))) in outputs.zip(ends.iter_mut().zip(firsts.iter_mut().zip(lasts))) {
        (*end, *first, *last) = ((output + 1) * size - places.start, output, output + 1);
    }
    ends[n - 1] = places.len();
    n
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
        debug_assert!(axis.is_adaptive(), "windows without gaps, of which none lies behind the last place");
        let most = Self::most(axis, places.len());
        let [ends, firsts, lasts] = std::array::from_fn(|_| scratch.row::<usize>(most));
        let n = match axis.tiling() {
            Some(size) => put_equal_windows(size, &places, [ends, firsts, lasts]),
            None => {
                let mut n = 0;
                for stretch in of_axis(axis, places.clone()) {
                    (ends[n], firsts[n], lasts[n]) =
                        (stretch.places.end, stretch.outputs.start, stretch.outputs.end);
                    n += 1;
                }
                n
            }
        };
        Self {
            first_place: places.start,
            n_places: places.len(),
            outputs: firsts[0]..lasts[n - 1],
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

    /// Whether each is a single place.
    #[inline(always)]
    pub(super) fn are_places(&self) -> bool {
        self.len() == self.n_places
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

    /// Repeats the cell of each stretch, of `width` elements, for each of its places; `in_output` as for [`multiply`].
    #[inline(always)]
    pub(super) fn repeat<T: Element>(&self, cells: &[T], width: usize, row: &mut [T], in_output: bool) {
        if self.are_places() {
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

impl Stretches<'_> {
    /// Whether they are as long as what [`Stretches::fill`] writes at once, in the mean.
    pub(super) fn are_long<T>(&self) -> bool {
        self.len() * FILLED <= self.n_places * size_of::<T>()
    }

    /// Writes the cell of each stretch, one element, to all of its places, at the beginning of `row`, each over the beginning of the
    /// next: up to [`FILLED`] bytes behind the last may be written too. Whether it did: not over the end of a page, where stores
    /// may wait for others.
    #[inline(always)]
    pub(super) fn fill<T: Element>(&self, cells: &[T], row: &mut [T]) -> bool {
        let row = &mut row[..self.n_places + FILLED / size_of::<T>()];
        if before_page_end(row).is_some() {
            return false;
        }
        match size_of::<T>() {
            2 => self.fill_by::<T, { FILLED / 2 }>(cells, row),
            4 => self.fill_by::<T, { FILLED / 4 }>(cells, row),
            _ => self.fill_by::<T, { FILLED / 8 }>(cells, row),
        }
        true
    }

    /// The same, `N` elements at a time.
    #[inline(always)]
    fn fill_by<T: Element, const N: usize>(&self, cells: &[T], row: &mut [T]) {
        let mut start = 0;
        for (&end, &cell) in self.ends.iter().zip(cells) {
            for places in row[start..end + N - 1].as_chunks_mut().0 {
                *places = [cell; N];
            }
            start = end;
        }
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
            let (from, to) = row.split_at_mut(done);
            claim_next(&to[..more]);
            copy_near(&from[..more], &mut to[..more]);
        } else {
            row.copy_within(..more, done);
        }
        done += more;
    }
}

#[cfg(test)]
mod tests {
    use half::bf16;
    use zerocopy::FromBytes;

    use super::*;

    /// Oracle: the stretch that a place lies in.
    fn check_fill<T: Element + PartialEq>(axis: &AxisWindows, of: impl Fn(usize) -> T) {
        #[repr(align(4096))]
        struct Pages([u8; 8192]);
        let n = axis.input();
        let mut bytes = vec![0xa5; Stretches::bytes(axis, n)];
        let stretches = Stretches::new(axis, 0..n, &mut Scratch::new(&mut bytes));
        let cells: Vec<T> = (0..stretches.len()).map(&of).collect();
        let want: Vec<T> =
            stretches.iter().zip(&cells).flat_map(|(stretch, &cell)| vec![cell; stretch.places.len()]).collect();
        let mut pages = Pages([0; 8192]);
        let row = <[T]>::mut_from_bytes(&mut pages.0).unwrap();
        let behind = FILLED / size_of::<T>();
        let page = 4096 / size_of::<T>();
        for start in [0, 1, page - n - behind, page] {
            row.fill(T::default());
            assert!(stretches.fill(&cells, &mut row[start..]), "{axis:?}");
            assert!(row[start..start + n] == want, "{axis:?}");
            assert!(row[..start].iter().chain(&row[start + n + behind..]).all(|&place| place == T::default()));
        }
        for start in [page - n - behind + 1, page - 1] {
            row.fill(T::default());
            assert!(!stretches.fill(&cells, &mut row[start..]), "{axis:?}");
            assert!(row.iter().all(|&place| place == T::default()), "{axis:?}");
        }
    }

    #[test]
    fn rows_are_filled_unless_they_reach_over_the_end_of_a_page() {
        for (input, output) in [(56, 2), (56, 7), (50, 7), (13, 6), (80, 4), (112, 14), (1, 1), (7, 9), (300, 3)] {
            let axis = AxisWindows::adaptive(input, output);
            check_fill(&axis, |number| number as f32 + 1.0);
            check_fill(&axis, |number| number as f64 + 1.0);
            check_fill(&axis, |number| bf16::from_bits(number as u16 + 1));
        }
    }

    /// Oracle: the windows that each place lies in.
    #[test]
    fn places_of_a_stretch_lie_in_the_same_windows_and_neighbours_do_not() {
        for (input, output) in (1..24).flat_map(|input| (1..40).map(move |output| (input, output))) {
            let axis = AxisWindows::adaptive(input, output);
            let outputs_of = |place: usize| -> Vec<usize> {
                (0..output).filter(|&output| axis.cover(output).contains(&place)).collect()
            };
            for places in (0..input).flat_map(|start| (start + 1..=input).map(move |end| start..end)) {
                let mut bytes = vec![0xa5; Stretches::bytes(&axis, places.len())];
                let stretches = Stretches::new(&axis, places.clone(), &mut Scratch::new(&mut bytes));
                let mut next = 0;
                let mut before = Vec::new();
                for stretch in stretches.iter() {
                    assert_eq!(stretch.places.start, next, "{axis:?} {places:?}");
                    let outputs: Vec<usize> = stretch.outputs.collect();
                    assert!(outputs != before, "{axis:?} {places:?}");
                    for place in stretch.places.clone() {
                        assert_eq!(outputs_of(places.start + place), outputs, "{place} of {places:?} of {axis:?}");
                    }
                    (next, before) = (stretch.places.end, outputs);
                }
                assert_eq!(next, places.len());
                assert!(places.len() < input || stretches.len() == Stretches::count(&axis));
                let all = outputs_of(places.start)[0]..outputs_of(places.end - 1).pop().unwrap() + 1;
                assert_eq!(stretches.outputs, all, "{axis:?} {places:?}");
                let are_places = stretches.iter().all(|stretch| stretch.places.len() == 1);
                assert_eq!(stretches.are_places(), are_places);
            }
        }
    }
}
