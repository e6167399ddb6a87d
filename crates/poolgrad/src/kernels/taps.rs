//! Taps: which outputs' shares each element of neighbouring rows is the sum of.
//!
//! A table says which, the first of each element, then the second of each, and so on; where there is none, the last share
//! stands, which is zero. Looking shares up one by one takes longer than to add them. But the first taps of neighbours mostly
//! are neighbours too, or the same, and the second is the one behind: then those of a vector are a permutation of the shares
//! from some place on, which is put down once, and the second ones are the same permutation of those behind it.

use fearless_simd::prelude::*;
use fearless_simd::{Simd, SimdBase};
use zerocopy::IntoBytes;

use super::repeats::{Elements, SLACK, VECTOR};
use crate::dtype::Accumulator;
use crate::exec::{Scratch, booked};
use crate::simd::{permute, permutes};

/// The taps of some elements, into `N` shares.
pub(super) struct Taps<'s, const N: usize> {
    /// The elements of a table, of which there is one for each tap that an element has.
    len: usize,
    tables: &'s [u32],
    permuted: Option<Permuted<'s>>,
}

/// The first two taps as permutations.
struct Permuted<'s> {
    /// The first share that each vector reads.
    starts: &'s [u32],
    /// Which bytes each vector has, counted from there.
    patterns: &'s [u8],
    /// Which of its bytes have a second tap; nothing where none has.
    seconds: &'s [u8],
    /// How far the second is behind the first.
    gap: usize,
}

impl<'s, const N: usize> Taps<'s, N> {
    /// The number of no output: the share there is zero.
    pub(super) const NOTHING: u32 = N as u32 - 1;

    /// The most shares that are read, so that a vector may begin with the last of them.
    pub(super) const MOST: usize = N - 1 - SLACK;

    /// The scratch bytes for the permutations of `len` elements of `A`, besides the tables themselves.
    pub(super) fn bytes<A>(len: usize) -> usize {
        let bytes = booked::<u8>(len.saturating_add(SLACK).saturating_mul(size_of::<A>()));
        2 * bytes + booked::<u32>(len.saturating_add(SLACK) / (16 / size_of::<A>()))
    }

    /// The taps of `tables`, each of `len` elements, the second of which is `gap` behind the first if there is one.
    #[inline(always)]
    pub(super) fn new<S: Simd, A: Accumulator>(
        simd: S,
        (tables, len, gap): (&'s [u32], usize, usize),
        scratch: &mut Scratch<'s>,
    ) -> Self {
        let lanes = S::u8s::LEN / size_of::<A>();
        let n_vectors = len.div_ceil(lanes);
        let starts = scratch.row::<u32>(n_vectors);
        let [patterns, seconds] = [(); 2].map(|()| scratch.row::<u8>(n_vectors * S::u8s::LEN));
        let are_few = (1..=2).contains(&(tables.len() / len.max(1)));
        let can = are_few
            && permutes(simd)
            && Self::permute::<S, A>(simd, (tables, len, gap), (starts, patterns, seconds));
        let seconds = if tables.len() == len { &[] } else { &*seconds };
        let permuted = can.then_some(Permuted { starts, patterns, seconds, gap });
        Self { len, tables, permuted }
    }

    /// Puts down the permutations; whether these are all.
    #[inline(always)]
    fn permute<S: Simd, A: Accumulator>(
        simd: S,
        (tables, len, gap): (&[u32], usize, usize),
        (starts, patterns, seconds): (&mut [u32], &mut [u8], &mut [u8]),
    ) -> bool {
        let lanes = S::u8s::LEN / size_of::<A>();
        let elements = Elements::new::<A>(simd);
        let (firsts, others) = tables.split_at(len);
        for (v, start) in starts.iter_mut().enumerate() {
            let part = v * lanes..len.min((v + 1) * lanes);
            let firsts = &firsts[part.clone()];
            *start = firsts.iter().copied().min().filter(|&tap| tap != Self::NOTHING).unwrap_or(0);
            let (mut behind, mut have_second) = ([0; VECTOR], [0; VECTOR]);
            for (behind, &tap) in behind.iter_mut().zip(firsts).filter(|(_, tap)| **tap != Self::NOTHING) {
                if tap - *start >= lanes as u32 {
                    return false;
                }
                *behind = (tap - *start) as u8;
            }
            if !others.is_empty() {
                for ((has_second, &first), &second) in have_second.iter_mut().zip(firsts).zip(&others[part]) {
                    if second != Self::NOTHING {
                        if second as usize != first as usize + gap {
                            return false;
                        }
                        *has_second = u8::MAX;
                    }
                }
            }
            let bytes = v * S::u8s::LEN..(v + 1) * S::u8s::LEN;
            elements.bytes_of::<A>(&behind).store_slice(&mut patterns[bytes.clone()]);
            elements.each(&have_second).store_slice(&mut seconds[bytes]);
        }
        true
    }

    /// Whether there are none: nothing is to be looked up.
    pub(super) fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// Writes the sums of the first `n` elements to `wide`, and anything to up to [`SLACK`] places behind.
    #[inline(always)]
    pub(super) fn sum<S: Simd, A: Accumulator>(&self, simd: S, shares: &[A; N], wide: &mut [A], n: usize) {
        let Some(permuted) = &self.permuted else { return self.look_up(shares, &mut wide[..n]) };
        let lanes = A::Vector::<S>::LEN;
        let vectors = permuted.starts.iter().zip(permuted.patterns.chunks_exact(S::u8s::LEN));
        for (v, ((&start, pattern), wide)) in
            vectors.zip(wide.chunks_exact_mut(lanes)).enumerate().take(n.div_ceil(lanes))
        {
            let pattern = S::u8s::from_slice(simd, pattern);
            let shares_from = |start: usize| {
                let shares = &shares[start..start + lanes];
                permute::<S, A>(simd, S::u8s::from_slice(simd, shares.as_bytes()), pattern)
            };
            let first = A::Vector::<S>::from_bytes(shares_from(start as usize));
            let sum = if permuted.seconds.is_empty() {
                first
            } else {
                let has_second = S::u8s::from_slice(simd, &permuted.seconds[v * S::u8s::LEN..][..S::u8s::LEN]);
                // What is not taken is +0.0, which changes no sum: no share is a negative zero.
                first + A::Vector::<S>::from_bytes(shares_from(start as usize + permuted.gap) & has_second)
            };
            sum.store_slice(wide);
        }
    }

    /// The same one by one, with any number of taps.
    #[inline(always)]
    fn look_up<A: Accumulator>(&self, shares: &[A; N], wide: &mut [A]) {
        // The remainder changes nothing, and tells the compiler that the place exists.
        let share = |tap: u32| shares[tap as usize % N];
        let (first, others) = self.tables.split_at(self.len);
        if others.is_empty() {
            return wide.iter_mut().zip(first).for_each(|(sum, &tap)| *sum = share(tap));
        }
        let (second, others) = others.split_at(self.len);
        for ((sum, &first), &second) in wide.iter_mut().zip(first).zip(second) {
            *sum = share(first) + share(second);
        }
        for taps in others.chunks_exact(self.len) {
            wide.iter_mut().zip(taps).for_each(|(sum, &tap)| *sum += share(tap));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Isa;
    use crate::geometry::AxisWindows;

    const N: usize = 256;
    type SomeTaps<'s> = Taps<'s, N>;

    /// The taps of rows of `input` columns that lie in `output` windows, filled up to `pitch`; a table for each tap.
    fn tables((input, output): (usize, usize), pitch: usize) -> Vec<u32> {
        let axis = AxisWindows::adaptive(input, output);
        let of = |column: usize| (0..output).filter(move |&o| axis.cover(o).contains(&column));
        let n_taps = (0..input).map(|column| of(column).count()).max().unwrap();
        let tap = |row: usize, column: usize, number: usize| {
            let tap = if column < input { of(column).nth(number) } else { None };
            tap.map_or(SomeTaps::NOTHING, |tap| (row * output + tap) as u32)
        };
        let places = (0..3).flat_map(|row| (0..pitch).map(move |column| (row, column)));
        (0..n_taps).flat_map(|number| places.clone().map(move |(row, column)| tap(row, column, number))).collect()
    }

    /// Oracle: the shares that the tables name, looked up one by one.
    fn check<A: Accumulator>(sizes: (usize, usize), pitch: usize, can_be_permuted: bool, share: impl Fn(u8) -> A) {
        let tables = tables(sizes, pitch);
        let len = 3 * pitch;
        let mut shares: [A; N] = std::array::from_fn(|i| share(i as u8));
        shares[SomeTaps::NOTHING as usize] = A::ZERO;
        for isa in Isa::available() {
            let mut bytes = vec![0x5a; SomeTaps::bytes::<A>(len)];
            let mut scratch = Scratch::new(&mut bytes);
            fearless_simd::dispatch!(isa.level(), simd => {
                let taps = SomeTaps::new::<_, A>(simd, (&tables, len, 1), &mut scratch);
                assert_eq!(taps.permuted.is_some(), can_be_permuted && permutes(simd), "{isa} {sizes:?}");
                for n in [1, pitch, len - 1, len] {
                    let (mut got, mut want) = (vec![share(0); len + SLACK], vec![share(0); n]);
                    taps.sum(simd, &shares, &mut got, n);
                    for (number, want) in want.iter_mut().enumerate() {
                        let taps = (0..tables.len() / len).map(|tap| tables[tap * len + number] as usize);
                        *want = taps.fold(A::ZERO, |sum, tap| sum + shares[tap]);
                    }
                    let is_real = |number: &usize| number % pitch < sizes.0;
                    assert!((0..n).filter(is_real).all(|i| got[i] == want[i]), "{isa} {sizes:?} {n}");
                }
            });
        }
    }

    #[test]
    fn shares_are_added_up_at_every_level() {
        for (sizes, pitch, can_be_permuted) in [
            ((7, 7), 8, true),
            ((50, 7), 56, true),
            ((13, 7), 13, true),
            ((57, 14), 64, true),
            ((90, 61), 96, true),
            ((64, 8), 64, true),
            ((5, 1), 5, true),
            ((20, 50), 24, false),
            ((9, 70), 16, false),
        ] {
            check::<f32>(sizes, pitch, can_be_permuted, |i| f32::from(i) + 0.25);
            check::<f64>(sizes, pitch, can_be_permuted, |i| f64::from(i) + 0.25);
        }
    }
}
