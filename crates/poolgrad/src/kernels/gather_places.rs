//! Sums of places, formed in vectors of channels: every output that reaches a place is compared with it.
//!
//! Two neighbouring places are worked on together, as most outputs that reach one reach the other too.

use std::ops::Range;

use fearless_simd::{Simd, SimdBase};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::dtype::{Accumulator, Summed, Word};
use crate::exec::stream::{Route, round_vectors};
use crate::simd::RoundsBf16;

/// Outputs of one group: where their indices point, and their gradients, for each output those of all channels.
#[derive(Clone, Copy)]
pub(super) struct Near<'a, A: Accumulator> {
    pub(super) codes: &'a [A::Word],
    pub(super) terms: &'a [A],
    pub(super) width: usize,
}

/// Where the codes and the terms of a row of outputs begin.
pub(super) type RowAt = [usize; 2];

/// The outputs of a row that reach two neighbouring places: how many reach the first only, both, and the second only. There is
/// no second place behind the last column.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(super) struct Pair {
    start: u32,
    counts: [u32; 3],
}

impl Pair {
    /// For places that are reached by outputs from the first to behind the last of these.
    #[inline(always)]
    pub(super) fn new([a, b]: [[u32; 2]; 2]) -> Self {
        let (from, to) = (a[1].min(b[0]), a[1].max(b[0]));
        let both = a[1].min(to) - from;
        Self { start: a[0], counts: [from - a[0], both, b[1] - to] }
    }
}

impl<A: Accumulator> Near<'_, A> {
    /// Forms the sums of pairs of places from `first` on, which are reached by outputs of `rows`. They go to `lines` from registers, if
    /// there are any and the level can do that, and else to `sums`; whether it did.
    #[inline(always)]
    pub(super) fn gather<S: Simd, T: Summed<Acc = A>>(
        &self,
        simd: S,
        rows: &[RowAt],
        places: (u32, &[Pair]),
        (sums, lines): (&mut [A], (&mut [T], Route)),
    ) -> bool {
        let lanes = A::Vector::<S>::LEN;
        let (wide, two) = (self.width / (4 * lanes) * (4 * lanes), self.width / (2 * lanes) * (2 * lanes));
        let (mut n_parts, mut n_left) = (0, 0);
        let mut count = |has_left: bool| {
            n_parts += 1;
            n_left += u32::from(has_left);
        };
        if wide > 0 {
            count(self.gather_from::<S, T, 4>(simd, (rows, 0..wide), places, (sums, (&mut *lines.0, lines.1))));
        }
        if two > wide {
            count(self.gather_from::<S, T, 2>(simd, (rows, wide..two), places, (sums, (&mut *lines.0, lines.1))));
        }
        if self.width > two {
            count(self.gather_from::<S, T, 1>(
                simd,
                (rows, two..self.width),
                places,
                (sums, (&mut *lines.0, lines.1)),
            ));
        }
        // Whole lines have no part that is none, unless a level never has whole lines.
        assert!(n_left == 0 || n_left == n_parts, "all channels of a place leave, or none");
        n_left > 0
    }

    /// [`Near::gather`] for some channels, `V` vectors of them at a time.
    #[inline(always)]
    fn gather_from<S: Simd, T: Summed<Acc = A>, const V: usize>(
        &self,
        simd: S,
        (rows, channels): (&[RowAt], Range<usize>),
        (first, pairs): (u32, &[Pair]),
        (sums, lines): (&mut [A], (&mut [T], Route)),
    ) -> bool {
        let mut job = Job { channels, first, pairs, sums, lines };
        if let Ok(row) = <&[RowAt; 1]>::try_from(rows) {
            self.gather_rows::<S, T, V>(simd, row, &mut job)
        } else if let Ok(rows) = <&[RowAt; 2]>::try_from(rows) {
            self.gather_rows::<S, T, V>(simd, rows, &mut job)
        } else if let Ok(rows) = <&[RowAt; 4]>::try_from(rows) {
            self.gather_rows::<S, T, V>(simd, rows, &mut job)
        } else {
            self.gather_rows::<S, T, V>(simd, rows, &mut job)
        }
    }

    /// The same from a number of rows that may be known.
    ///
    /// Never inlined: within a kernel there are not enough registers. All arguments are references, and nothing they refer to is
    /// copied: to copy what was stored in smaller pieces just before waits until these, and all that is to be stored before
    /// them, are in the cache.
    #[inline(never)]
    fn gather_rows<S: Simd, T: Summed<Acc = A>, const V: usize>(
        &self,
        simd: S,
        rows: &(impl AsRef<[RowAt]> + ?Sized),
        job: &mut Job<'_, A, T>,
    ) -> bool {
        simd.vectorize(
            #[inline(always)]
            move || {
                let (width, n) = (self.width, V * A::Vector::<S>::LEN);
                let last = job.channels.end.checked_sub(n).expect("as many channels");
                let (lines, route) = (&mut *job.lines.0, job.lines.1);
                let mut have_left = !lines.is_empty();
                let rounds = RoundsBf16::ask();
                let mut place = job.first;
                for (i, &pair) in job.pairs.iter().enumerate() {
                    let [a, b] = [splat::<S, A::Word>(simd, place), splat::<S, A::Word>(simd, place + 1)];
                    place += 2;
                    for at in job.channels.clone().step_by(n) {
                        // The last vector may overlap the one before it.
                        let at = at.min(last);
                        let gathered = self.gather_pair::<S, V>(simd, (rows.as_ref(), at), (pair, [a, b]));
                        let channels = 2 * i * width + at..2 * i * width + at + n;
                        let next = channels.start + width..channels.end + width;
                        if have_left {
                            have_left =
                                round_vectors((simd, rounds), &gathered[0], (&mut lines[channels.clone()], route));
                            if have_left && next.end <= lines.len() {
                                have_left =
                                    round_vectors((simd, rounds), &gathered[1], (&mut lines[next.clone()], route));
                            }
                        }
                        if !have_left {
                            put(&gathered[0], &mut job.sums[channels]);
                            // There is no second place behind the last column.
                            if next.end <= job.sums.len() {
                                put(&gathered[1], &mut job.sums[next]);
                            }
                        }
                    }
                }
                have_left
            },
        )
    }

    /// The sums of two places, in `V` vectors of channels from `at` on.
    #[inline(always)]
    fn gather_pair<S: Simd, const V: usize>(
        &self,
        simd: S,
        (rows, at): (&[RowAt], usize),
        (pair, places): (Pair, [<A::Word as Word>::Vector<S>; 2]),
    ) -> [[A::Vector<S>; V]; 2] {
        let (width, n) = (self.width, V * A::Vector::<S>::LEN);
        let zero = A::Vector::<S>::splat(simd, A::ZERO);
        let (mut sums, mut next_sums) = ([zero; V], [zero; V]);
        let [first, both, second] = pair.counts;
        let (start, len) = (pair.start as usize * width, (first + both + second) as usize * width);
        for &[codes, terms] in rows {
            let mut outputs = (&self.codes[codes + start..][..len], &self.terms[terms + start..][..len]);
            for _ in 0..first {
                let output = next(&mut outputs, width);
                add::<S, A, V>(simd, (&output.0[at..at + n], &output.1[at..at + n]), places[0], &mut sums);
            }
            for _ in 0..both {
                let output = next(&mut outputs, width);
                let sums = [&mut sums, &mut next_sums];
                add_both::<S, A, V>(simd, (&output.0[at..at + n], &output.1[at..at + n]), places, sums);
            }
            for _ in 0..second {
                let output = next(&mut outputs, width);
                add::<S, A, V>(simd, (&output.0[at..at + n], &output.1[at..at + n]), places[1], &mut next_sums);
            }
        }
        [sums, next_sums]
    }
}

/// Pairs of places, some of their channels, and where their sums go.
struct Job<'j, A, T> {
    channels: Range<usize>,
    first: u32,
    pairs: &'j [Pair],
    sums: &'j mut [A],
    lines: (&'j mut [T], Route),
}

/// Takes the next output off.
#[inline(always)]
fn next<'a, W, A>((codes, terms): &mut (&'a [W], &'a [A]), width: usize) -> (&'a [W], &'a [A]) {
    let (code, more_codes) = codes.split_at(width);
    let (term, more_terms) = terms.split_at(width);
    (*codes, *terms) = (more_codes, more_terms);
    (code, term)
}

/// Adds channels of an output to the sums of a place that they point to.
#[inline(always)]
fn add<S: Simd, A: Accumulator, const V: usize>(
    simd: S,
    (codes, terms): (&[A::Word], &[A]),
    place: <A::Word as Word>::Vector<S>,
    sums: &mut [A::Vector<S>; V],
) {
    let lanes = A::Vector::<S>::LEN;
    for (v, sums) in sums.iter_mut().enumerate() {
        let lanes = v * lanes..(v + 1) * lanes;
        let codes = <A::Word as Word>::Vector::<S>::from_slice(simd, &codes[lanes.clone()]);
        let terms = A::Vector::<S>::from_slice(simd, &terms[lanes]);
        *sums = A::add_where(*sums, terms, codes, place);
    }
}

/// The same for two places.
#[inline(always)]
fn add_both<S: Simd, A: Accumulator, const V: usize>(
    simd: S,
    (codes, terms): (&[A::Word], &[A]),
    places: [<A::Word as Word>::Vector<S>; 2],
    [a, b]: [&mut [A::Vector<S>; V]; 2],
) {
    let lanes = A::Vector::<S>::LEN;
    for v in 0..V {
        let lanes = v * lanes..(v + 1) * lanes;
        let codes = <A::Word as Word>::Vector::<S>::from_slice(simd, &codes[lanes.clone()]);
        let terms = A::Vector::<S>::from_slice(simd, &terms[lanes]);
        a[v] = A::add_where(a[v], terms, codes, places[0]);
        b[v] = A::add_where(b[v], terms, codes, places[1]);
    }
}

/// A vector of one offset.
#[inline(always)]
pub(super) fn splat<S: Simd, W: Word>(simd: S, offset: u32) -> W::Vector<S> {
    W::Vector::<S>::splat(simd, W::of_offset(offset))
}

/// Stores vectors one after the other.
#[inline(always)]
fn put<S: Simd, V: SimdBase<S>, const N: usize>(vectors: &[V; N], to: &mut [V::Element]) {
    for (v, vector) in vectors.iter().enumerate() {
        vector.store_slice(&mut to[v * V::LEN..(v + 1) * V::LEN]);
    }
}
