//! Where the best of windows go.

use fearless_simd::Simd;

use super::windows_best::{beats, better};
use super::windows_codes::{Offsets, TellsOffsets};
use crate::dtype::{Code, Index, Key};

/// The best of rows of outputs, one behind the other.
pub(super) struct FoundRows<'o, K, I> {
    pub(super) keys: &'o mut [K],
    pub(super) places: &'o mut [I],
    /// The elements of a row.
    pub(super) row_len: usize,
    /// Of each row, the place of column 0, which may be one of padding; and what codes add to it.
    pub(super) origins: &'o [usize],
    pub(super) offsets: Offsets,
    /// Whether parts of the windows have been here before.
    pub(super) goes_on: bool,
}

impl<K, I> FoundRows<'_, K, I> {
    #[inline(always)]
    pub(super) fn row(&mut self, row: usize) -> Found<'_, K, I> {
        Found {
            keys: &mut self.keys[row * self.row_len..],
            places: &mut self.places[row * self.row_len..],
            origin: self.origins[row],
            offsets: self.offsets,
            goes_on: self.goes_on,
        }
    }
}

/// The best of a row of outputs: their keys and their places, `width` channels of each.
pub(super) struct Found<'o, K, I> {
    pub(super) keys: &'o mut [K],
    pub(super) places: &'o mut [I],
    /// The place of column 0, which may be one of padding, and what codes add to it.
    pub(super) origin: usize,
    pub(super) offsets: Offsets,
    /// Whether parts of the windows have been here before.
    pub(super) goes_on: bool,
}

/// Outputs are put in so many at a time, where nothing that counts is behind them.
pub(super) const AT_ONCE: usize = 16;

/// One to three columns to choose from: where they begin, and what is to be added to their codes.
pub(super) type Shifts<C> = [(usize, C); 3];

impl<K: Key, I: Index> Found<'_, K, I> {
    /// Puts an element of a window that begins at `column`, unless what is there already is better.
    #[inline(always)]
    pub(super) fn put(&mut self, o: usize, column: usize, (key, code): (K, K::Code)) {
        let place = self.place(column, code);
        if !self.goes_on || beats(key, self.keys[o], place > self.places[o].offset()) {
            (self.keys[o], self.places[o]) = (key, I::from_offset(place));
        }
    }

    #[inline(always)]
    fn place(&self, column: usize, code: K::Code) -> usize {
        self.origin.wrapping_add(column).wrapping_add(self.offsets.of(code) as usize)
    }

    /// The channels of an output, from element `at` on, whose window begins at `column`.
    #[inline(always)]
    pub(super) fn channels(&mut self, at: usize, column: usize) -> Found<'_, K, I> {
        Found {
            keys: &mut self.keys[at..],
            places: &mut self.places[at..],
            origin: self.origin.wrapping_add(column),
            ..*self
        }
    }

    /// Puts the best of three columns, for each of `width` channels of output `o`, whose window begins at `column`.
    #[inline(always)]
    pub(super) fn put_channels<S: Simd>(
        &mut self,
        simd: S,
        (o, column): (usize, usize),
        width: usize,
        (keys, codes): (&[K], &[K::Code]),
        shifts: Shifts<K::Code>,
    ) {
        let at = o * width;
        if width == 1 || self.goes_on {
            for c in 0..width {
                let [a, b, d] = shifts.map(|(shift, code)| (keys[shift + c], codes[shift + c].plus(code)));
                self.put(at + c, column, better(better(a, b), d));
            }
            return;
        }
        let mut found = self.channels(at, column);
        let columns = (keys, codes);
        simd.vectorize(
            #[inline(always)]
            || {
                if shifts[1].0 == shifts[2].0 {
                    found.put_best::<2, 1>((width, 0), columns, shifts);
                } else {
                    found.put_best::<3, 1>((width, 0), columns, shifts);
                }
            },
        );
    }

    /// Puts the better of two for each output of one channel, whose windows begin at `columns`, counted from `start`.
    ///
    /// It is the first part of their windows.
    #[inline(always)]
    pub(super) fn put_pairs(&mut self, a: (&[K], &[K::Code]), b: (&[K], &[K::Code]), columns: &[u32], start: u32) {
        let n = columns.len();
        let (keys, places) = (&mut self.keys[..n], &mut self.places[..n]);
        match self.offsets {
            Offsets::Codes(codes) => put_pairs_of(keys, places, a, b, columns, self.origin, start, codes),
            Offsets::Fields(fields) => put_pairs_of(keys, places, a, b, columns, self.origin, start, fields),
        }
    }

    /// Puts the best of `M` columns for each of `n` outputs of one channel, or of the channels of an output, and for a few more:
    /// `S` elements apart, and `step` columns.
    ///
    /// Nothing that counts is where they go, and it is the first part of their windows.
    #[inline(always)]
    pub(super) fn put_best<const M: usize, const S: usize>(
        &mut self,
        (n, step): (usize, usize),
        (keys, codes): (&[K], &[K::Code]),
        shifts: Shifts<K::Code>,
    ) {
        // Whole vectors, and one more because a compiler leaves that to a loop of single ones where `S` leaves gaps. What is
        // behind the last output comes later.
        let n = n.next_multiple_of(AT_ONCE) + usize::from(S > 1);
        let (to, places) = (&mut self.keys[..n], &mut self.places[..n]);
        let start = (self.origin, step);
        match self.offsets {
            Offsets::Codes(offsets) => put_best_of::<K, I, M, S>(to, places, keys, codes, shifts, start, offsets),
            Offsets::Fields(offsets) => put_best_of::<K, I, M, S>(to, places, keys, codes, shifts, start, offsets),
        }
    }
}

/// What [`Found::put_best`] does, with memory by names of its own: so the compiler knows it to be apart.
#[inline(always)]
fn put_best_of<K: Key, I: Index, const M: usize, const S: usize>(
    to: &mut [K],
    places: &mut [I],
    keys: &[K],
    codes: &[K::Code],
    shifts: Shifts<K::Code>,
    (origin, step): (usize, usize),
    offsets: impl TellsOffsets,
) {
    let n = to.len();
    let places = &mut places[..n];
    let of = |m: usize| {
        let (shift, code) = shifts[m];
        let columns = shift..shift + n * S;
        (&keys[columns.clone()].as_chunks::<S>().0[..n], &codes[columns].as_chunks::<S>().0[..n], code)
    };
    let (a, b, c) = (of(0), of(M.min(2) - 1), of(M - 1));
    for i in 0..n {
        let mut best = (a.0[i][0], a.1[i][0].plus(a.2));
        if M > 1 {
            best = better(best, (b.0[i][0], b.1[i][0].plus(b.2)));
        }
        if M > 2 {
            best = better(best, (c.0[i][0], c.1[i][0].plus(c.2)));
        }
        let column = (i * step) as u32;
        let place = origin.wrapping_add(column.wrapping_add(offsets.of(best.1)) as usize);
        (to[i], places[i]) = (best.0, I::from_offset(place));
    }
}

/// What [`Found::put_pairs`] does, with memory by names of its own.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "memory by names of its own")]
fn put_pairs_of<K: Key, I: Index>(
    to: &mut [K],
    places: &mut [I],
    (keys, codes): (&[K], &[K::Code]),
    (others, other_codes): (&[K], &[K::Code]),
    columns: &[u32],
    origin: usize,
    start: u32,
    offsets: impl TellsOffsets,
) {
    let n = to.len();
    let (places, columns) = (&mut places[..n], &columns[..n]);
    let (keys, codes, others, other_codes) = (&keys[..n], &codes[..n], &others[..n], &other_codes[..n]);
    for i in 0..n {
        let best = better((keys[i], codes[i]), (others[i], other_codes[i]));
        let place = origin.wrapping_add(columns[i].wrapping_sub(start).wrapping_add(offsets.of(best.1)) as usize);
        (to[i], places[i]) = (best.0, I::from_offset(place));
    }
}
