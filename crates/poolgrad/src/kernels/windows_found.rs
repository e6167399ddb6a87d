//! Where the best of windows go.

use std::ops::Range;

use super::windows::LANES;
use super::windows_best::{Best, beats, better};
use crate::dtype::{Accumulator, Index};

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
    pub(super) fn put(&mut self, o: usize, value: A, place: u32) {
        let place = self.origin + place as usize;
        if !self.goes_on || beats(value, self.values[o], place > self.places[o].offset()) {
            self.values[o] = value;
            self.places[o] = I::from_offset(place);
        }
    }

    /// Puts as many elements as there are places for, one at each.
    #[inline(always)]
    pub(super) fn put_each(&mut self, (values, places): (&[A], &[u32])) {
        let n = self.values.len();
        let (values, places) = (&values[..n], &places[..n]);
        if self.goes_on {
            for o in 0..n {
                self.put(o, values[o], places[o]);
            }
            return;
        }
        self.values.copy_from_slice(values);
        for (place, &new) in self.places.iter_mut().zip(places) {
            *place = I::from_offset(self.origin + new as usize);
        }
    }

    /// Puts the best of three columns, which begin at `shifts`, for each of `outputs`, `stride` columns apart.
    ///
    /// There is no NaN among the columns.
    #[inline(always)]
    pub(super) fn put_best_each(
        &mut self,
        outputs: Range<usize>,
        stride: usize,
        (values, places): (&[A], &[u32]),
        shifts: [usize; 3],
    ) {
        for (i, o) in outputs.enumerate() {
            let [a, b, c] = shifts.map(|shift| (values[i * stride + shift], places[i * stride + shift]));
            let best = better(better(a, b), c);
            self.put(o, best.0, best.1);
        }
    }

    /// As [`Found::put_best_each`], of the first `M` columns and `S` columns apart, for `n` outputs from `o` on or a few more.
    ///
    /// Nothing that counts is where they go.
    #[inline(always)]
    pub(super) fn put_best<const M: usize, const S: usize>(
        &mut self,
        (o, n): (usize, usize),
        columns: (&[A], &[u32]),
        shifts: [usize; 3],
    ) {
        // Whole vectors, and one more because a compiler leaves that to a loop of single ones where `S` leaves gaps. What is
        // behind the last output comes later.
        let n = n.next_multiple_of(LANES) + 1;
        let (to, to_places) = (&mut self.values[o..o + n], &mut self.places[o..o + n]);
        put_best_strided::<A, I, M, S>(to, to_places, columns, shifts.map(|shift| (shift, 0)), self.origin);
    }

    /// Puts the best of `M` columns, `step` columns apart, for each of `width` channels.
    ///
    /// In `columns`, the places are those of the first column, and there is no NaN.
    #[inline(always)]
    pub(super) fn put_best_columns<const M: usize>(
        &mut self,
        columns: &Best<'_, A>,
        (first, step): (usize, usize),
        width: usize,
    ) {
        let column = |m: usize| first + m * step;
        let of = |m: usize| (column(m) * width, column(m) as u32);
        let shifts = [of(0), of(M.min(2) - 1), of(M - 1)];
        let (to, to_places) = (&mut self.values[..width], &mut self.places[..width]);
        put_best_strided::<A, I, M, 1>(to, to_places, (columns.values, columns.places), shifts, self.origin);
    }
}

/// Puts the best of `M` elements for each of `to`, at multiples of `S` from where each begins. With that comes what is to be
/// added to its places.
#[inline(always)]
fn put_best_strided<A: Accumulator, I: Index, const M: usize, const S: usize>(
    to: &mut [A],
    to_places: &mut [I],
    (values, places): (&[A], &[u32]),
    shifts: [(usize, u32); 3],
    origin: usize,
) {
    let n = to.len();
    let to_places = &mut to_places[..n];
    let of = |m: usize| {
        let (shift, further) = shifts[m];
        let columns = shift..shift + n * S;
        (&values[columns.clone()].as_chunks::<S>().0[..n], &places[columns].as_chunks::<S>().0[..n], further)
    };
    let (a, b, c) = (of(0), of(M.min(2) - 1), of(M - 1));
    for i in 0..n {
        let mut best = (a.0[i][0], a.1[i][0].wrapping_add(a.2));
        if M > 1 {
            best = better(best, (b.0[i][0], b.1[i][0].wrapping_add(b.2)));
        }
        if M > 2 {
            best = better(best, (c.0[i][0], c.1[i][0].wrapping_add(c.2)));
        }
        (to[i], to_places[i]) = (best.0, I::from_offset(origin + best.1 as usize));
    }
}
