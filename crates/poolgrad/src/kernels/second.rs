//! Second terms: what 16-bit sums of one term each cannot take.
//!
//! Where few windows share a maximum, most sums have one term, which reaches `grad_input` as it is. A term that finds its
//! sum taken is added up beside it, in `f32`: such sums are found by hashing their places. Once no more terms can come,
//! they are rounded, and replace the first terms.

use std::ops::Range;

use super::rows::ROW;
use crate::dtype::Sum;
use crate::exec::{Scratch, booked};

/// The sums of one lane that have more than one term.
pub(super) struct SecondTerms<'s, A: Sum> {
    /// For each hash of a place, one more than the number of its sum, or 0.
    slots: &'s mut [u16],
    places: &'s mut [u32],
    sums: &'s mut [A::Wide],
    n_sums: usize,
    buffers: Buffers<'s, A>,
}

/// Buffers for the terms that come late among those of one call.
struct Buffers<'s, A: Sum> {
    late: &'s mut [u32],
    elements: &'s mut [A],
    first: &'s mut [A::Wide],
    term: &'s mut [A::Wide],
}

/// The least and the most sums that a lane should have room for. Problems with more are few, and solved in another way.
pub(super) const LEAST: usize = 1 << 6;
pub(super) const MOST: usize = 1 << 13;

impl<'s, A: Sum> SecondTerms<'s, A> {
    /// Room for `most` sums, a power of two.
    #[inline(always)]
    pub(super) fn new(scratch: &mut Scratch<'s>, most: usize) -> Self {
        let slots = scratch.row(2 * most);
        slots.fill(0);
        let (places, sums) = (scratch.row(most), scratch.row(most));
        let (late, elements) = (scratch.row(ROW), scratch.row(ROW));
        let buffers = Buffers { late, elements, first: scratch.row(ROW), term: scratch.row(ROW) };
        Self { slots, places, sums, n_sums: 0, buffers }
    }

    pub(super) const fn bytes(most: usize) -> usize {
        let table = booked::<u16>(2 * most) + booked::<u32>(most) + booked::<A::Wide>(most);
        table + booked::<u32>(ROW) + booked::<A>(ROW) + 2 * booked::<A::Wide>(ROW)
    }

    /// Room for the numbers of the terms that come late.
    #[inline(always)]
    pub(super) fn late(&mut self) -> &mut [u32] {
        self.buffers.late
    }

    /// Adds the first `n_late` of the terms that were listed as late, in that order; returns for how many there is no
    /// room.
    #[inline(never)]
    pub(super) fn add(&mut self, n_late: usize, (places, terms): (&[u32], &[A]), sums: &[A]) -> u64 {
        let Buffers { late, elements, first, term } = &mut self.buffers;
        let (late, elements) = (&late[..n_late], &mut elements[..n_late]);
        let (first, term) = (&mut first[..n_late], &mut term[..n_late]);
        for (element, &i) in elements.iter_mut().zip(late) {
            *element = sums[places[i as usize] as usize];
        }
        A::widen_terms(elements, first);
        for (element, &i) in elements.iter_mut().zip(late) {
            *element = terms[i as usize];
        }
        A::widen_terms(elements, term);
        let mut n_refused = 0;
        let table = (&mut *self.slots, &mut *self.places);
        for ((&i, &first), &term) in late.iter().zip(&*first).zip(&*term) {
            let place = places[i as usize];
            match find((&mut *table.0, &mut *table.1), &mut self.n_sums, place) {
                Some((sum, is_new)) => {
                    let sum = &mut self.sums[sum];
                    if is_new {
                        *sum = first;
                    }
                    *sum += term;
                }
                None => n_refused += 1,
            }
        }
        n_refused
    }

    /// Rounds the sums at `places` into `sums`: no terms will come for these any more.
    #[inline(always)]
    pub(super) fn settle(&mut self, places: Range<usize>, sums: &mut [A]) {
        if self.n_sums > 0 {
            self.settle_some(places, sums);
        }
    }

    #[inline(never)]
    fn settle_some(&mut self, settled: Range<usize>, sums: &mut [A]) {
        let n_sums = std::mem::take(&mut self.n_sums);
        self.slots.fill(0);
        for start in (0..n_sums).step_by(ROW) {
            let elements = &mut self.buffers.elements[..ROW.min(n_sums - start)];
            A::round_terms(&self.sums[start..start + elements.len()], elements);
            for (i, &element) in elements.iter().enumerate() {
                let (place, sum) = (self.places[start + i], self.sums[start + i]);
                if settled.contains(&(place as usize)) {
                    sums[place as usize] = element;
                } else if let Some((kept, _)) = find((self.slots, self.places), &mut self.n_sums, place) {
                    // Those that are kept move to the front, never beyond where they are read.
                    self.sums[kept] = sum;
                }
            }
        }
    }
}

/// The number of the sum of `place`, and whether it is new; `None` if there is no room for it.
#[inline(always)]
fn find((slots, places): (&mut [u16], &mut [u32]), n_sums: &mut usize, place: u32) -> Option<(usize, bool)> {
    // Multiplicative hashing (Knuth, The Art of Computer Programming 3, 6.4), and the next free slot.
    let hash = place.wrapping_mul(0x9e37_79b1) >> (32 - slots.len().ilog2());
    let mut slot = hash as usize % slots.len();
    loop {
        match slots[slot] {
            0 if *n_sums == places.len() => return None,
            0 => {
                places[*n_sums] = place;
                *n_sums += 1;
                slots[slot] = *n_sums as u16;
                return Some((*n_sums - 1, true));
            }
            number if places[usize::from(number) - 1] == place => return Some((usize::from(number) - 1, false)),
            _ => slot = (slot + 1) % slots.len(),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use half::bf16;

    use super::*;
    use crate::dtype::Float;

    pub(in crate::kernels) type Once = <bf16 as Float>::Once;

    pub(in crate::kernels) fn row(values: &[f32]) -> Vec<Once> {
        let mut row = vec![Once::ZERO; values.len()];
        Once::round_terms(values, &mut row);
        row
    }

    pub(in crate::kernels) fn values(row: &[Once]) -> Vec<f32> {
        let mut values = vec![0.0; row.len()];
        Once::widen_terms(row, &mut values);
        values
    }

    /// Adds terms as a lane does.
    fn add(second: &mut SecondTerms<'_, Once>, places: &[u32], terms: &[f32], sums: &mut [Once]) -> u64 {
        let terms = row(terms);
        let mut n_late = 0;
        for (i, (&place, &term)) in places.iter().zip(&terms).enumerate() {
            if !sums[place as usize].add_term(term) {
                second.late()[n_late] = i as u32;
                n_late += 1;
            }
        }
        second.add(n_late, (places, &terms), sums)
    }

    fn with_second_terms(test: impl FnOnce(&mut SecondTerms<'_, Once>)) {
        let mut memory = vec![0xff; SecondTerms::<Once>::bytes(MOST)];
        test(&mut SecondTerms::new(&mut Scratch::new(&mut memory), MOST));
    }

    #[test]
    fn sums_are_rounded_once_and_only_where_they_are_settled() {
        with_second_terms(|second| {
            let mut sums = row(&[0.0; 4]);
            // 256 + 1 + 1 is 258 in bf16, but 256 if it is rounded after each addition.
            assert_eq!(add(second, &[3, 1, 3, 0, 3], &[256.0, 2.0, 1.0, 5.0, 1.0], &mut sums), 0);
            assert_eq!(add(second, &[1, 1], &[-2.0, 4.0], &mut sums), 0);
            second.settle(0..3, &mut sums);
            assert_eq!(values(&sums), [5.0, 4.0, 0.0, 256.0]);
            assert_eq!(add(second, &[3, 3], &[1.0, 3.0], &mut sums), 0);
            second.settle(3..4, &mut sums);
            assert_eq!(values(&sums), [5.0, 4.0, 0.0, 262.0]);
            assert_eq!(second.n_sums, 0);
        });
    }

    #[test]
    fn many_places_are_told_apart_and_too_many_refused() {
        with_second_terms(|second| {
            let places: Vec<u32> = (0..MOST as u32 + 5).map(|place| place * 977 % 20_011).collect();
            let mut sums = row(&[0.0; 20_011]);
            let terms: Vec<f32> = places.iter().map(|&place| (place % 50) as f32 + 1.0).collect();
            let mut n_refused = 0;
            for _ in 0..2 {
                for (places, terms) in places.chunks(ROW).zip(terms.chunks(ROW)) {
                    n_refused += add(second, places, terms, &mut sums);
                }
            }
            assert_eq!(n_refused, 5);
            second.settle(0..usize::MAX, &mut sums);
            let sums = values(&sums);
            for (i, (&place, term)) in places.iter().zip(terms).enumerate() {
                let want = if i < MOST { 2.0 * term } else { term };
                assert_eq!(sums[place as usize], want);
            }
        });
    }
}
