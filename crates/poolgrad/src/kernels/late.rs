//! Late terms: those of whole planes that 16-bit sums cannot take.
//!
//! Where a plane has few outputs, most sums have one term, which reaches `grad_input` as it is. A term that finds its sum
//! taken is listed. When all outputs were seen, the sums that have such terms are formed anew, in `f32` and in a row that has
//! room for all of them:
//!
//! 1. begin each with its first term, which is where the sum is to be;
//! 2. add the terms that came late, in their order;
//! 3. round, and replace the first terms.
//!
//! A place that is listed twice is begun and rounded twice, to the same value. (What [`SecondTerms`](super::second) does for
//! planes that are too large for such a row.)

use super::rows::ROW;
use super::terms::count;
use crate::dtype::{Index, Sum};
use crate::exec::{Scratch, booked};

/// Groups of channels: the sums and the outputs of each, and its channels.
#[derive(Clone, Copy)]
pub(super) struct Groups {
    pub(super) group_len: usize,
    pub(super) output_len: usize,
    pub(super) width: usize,
}

/// The terms that came late, and room for their sums.
pub(super) struct LateTerms<'s, A: Sum> {
    places: &'s mut [u32],
    terms: &'s mut [A],
    n: usize,
    /// A sum for each place of which there may be some.
    sums: &'s mut [A::Wide],
    /// Buffers for the sums that are worked on at a time.
    elements: &'s mut [A],
    wide: &'s mut [A::Wide],
}

impl<'s, A: Sum> LateTerms<'s, A> {
    /// For up to `n_terms` terms of `n_sums` sums.
    #[inline(always)]
    pub(super) fn new(scratch: &mut Scratch<'s>, (n_terms, n_sums): (usize, usize)) -> Self {
        let at_once = n_terms.min(ROW);
        Self {
            places: scratch.row(n_terms),
            terms: scratch.row(n_terms),
            n: 0,
            sums: scratch.row(n_sums),
            elements: scratch.row(at_once),
            wide: scratch.row(at_once),
        }
    }

    pub(super) const fn bytes((n_terms, n_sums): (usize, usize)) -> usize {
        let at_once = if n_terms < ROW { n_terms } else { ROW };
        let listed = booked::<u32>(n_terms).saturating_add(booked::<A>(n_terms));
        let buffers = booked::<A>(at_once) + booked::<A::Wide>(at_once);
        listed.saturating_add(booked::<A::Wide>(n_sums)).saturating_add(buffers)
    }

    /// Adds outputs of groups of channels to those `sums` that their indices point to, if these are free, and lists the others;
    /// returns how many outputs have no sum.
    ///
    /// A function of its own: within a kernel there are not enough registers.
    #[inline(never)]
    pub(super) fn add_or_list<I: Index>(
        &mut self,
        sums: &mut [A],
        (indices, terms): (&[I], &[A]),
        groups: Groups,
    ) -> u64 {
        let Groups { group_len, output_len, width } = groups;
        let outputs = indices.chunks_exact(output_len).zip(terms.chunks_exact(output_len));
        let mut n_missed = 0;
        let mut add = |(base, sums): (usize, &mut [A]), place: usize, term: A| match sums.get_mut(place) {
            // Few are taken: to list all of them, each in the place of one that was free, takes twice as long.
            Some(sum) => {
                if !sum.add_term(term) {
                    self.list(base + place, term);
                }
            }
            None => count(&mut n_missed),
        };
        for (i, (sums, (indices, terms))) in sums.chunks_exact_mut(group_len).zip(outputs).enumerate() {
            let base = i * group_len;
            // To take a row apart into single outputs takes longer than to visit them.
            if width == 1 {
                for (index, &term) in indices.iter().zip(terms) {
                    add((base, &mut *sums), index.small_offset() as usize, term);
                }
                continue;
            }
            for (indices, terms) in indices.chunks_exact(width).zip(terms.chunks_exact(width)) {
                for (c, (index, &term)) in indices.iter().zip(terms).enumerate() {
                    // An index that is no offset is far behind the last place.
                    let place = (index.small_offset() as usize).wrapping_mul(width).wrapping_add(c);
                    add((base, &mut *sums), place, term);
                }
            }
        }
        n_missed
    }

    #[cold]
    #[inline(never)]
    fn list(&mut self, place: usize, term: A) {
        self.places[self.n] = place as u32;
        self.terms[self.n] = term;
        self.n += 1;
    }

    /// Adds the terms that were listed to `sums`, which hold the first term of each, and begins a new list.
    #[inline(always)]
    pub(super) fn settle(&mut self, sums: &mut [A]) {
        if self.n > 0 {
            self.settle_some(sums);
        }
    }

    #[inline(never)]
    fn settle_some(&mut self, first: &mut [A]) {
        let n = std::mem::take(&mut self.n);
        let Self { places, terms, sums, elements, wide, .. } = self;
        let (places, terms) = (&places[..n], &terms[..n]);
        for places in places.chunks(ROW) {
            for (element, &place) in elements.iter_mut().zip(places) {
                *element = first[place as usize];
            }
            A::widen_terms(&elements[..places.len()], &mut wide[..places.len()]);
            for (&place, &wide) in places.iter().zip(wide.iter()) {
                sums[place as usize] = wide;
            }
        }
        for (places, terms) in places.chunks(ROW).zip(terms.chunks(ROW)) {
            A::widen_terms(terms, &mut wide[..terms.len()]);
            for (&place, &term) in places.iter().zip(wide.iter()) {
                sums[place as usize] += term;
            }
        }
        for places in places.chunks(ROW) {
            for (wide, &place) in wide.iter_mut().zip(places) {
                *wide = sums[place as usize];
            }
            A::round_terms(&wide[..places.len()], &mut elements[..places.len()]);
            for (&place, &element) in places.iter().zip(elements.iter()) {
                first[place as usize] = element;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::second::tests::{Once, row, values};
    use super::*;

    fn with_late_terms((n_terms, n_sums): (usize, usize), test: impl FnOnce(&mut LateTerms<'_, Once>)) {
        let mut memory = vec![0xff; LateTerms::<Once>::bytes((n_terms, n_sums))];
        test(&mut LateTerms::new(&mut Scratch::new(&mut memory), (n_terms, n_sums)));
    }

    #[test]
    fn sums_are_rounded_once_whatever_calls_their_terms_come_in() {
        with_late_terms((8, 8), |late| {
            let mut sums = row(&[0.0; 8]);
            let groups = Groups { group_len: 4, output_len: 2, width: 1 };
            // 256 + 1 + 1 is 258 in bf16, but 256 if it is rounded after each addition.
            let terms = row(&[256.0, 1.0, 5.0, -5.0]);
            assert_eq!(late.add_or_list(&mut sums, (&[3i64, 3, 0, 0], &terms), groups), 0);
            let groups = Groups { output_len: 1, ..groups };
            assert_eq!(late.add_or_list(&mut sums, (&[3i64, 1], &row(&[1.0, 2.0])), groups), 0);
            late.settle(&mut sums);
            assert_eq!(values(&sums), [0.0, 0.0, 0.0, 258.0, 0.0, 2.0, 0.0, 0.0]);
            assert_eq!(late.n, 0);
        });
    }

    #[test]
    fn indices_of_no_sum_are_counted_and_touch_no_other_group() {
        with_late_terms((8, 12), |late| {
            let mut sums = row(&[0.0; 12]);
            let groups = Groups { group_len: 6, output_len: 4, width: 2 };
            let indices = [2, 2, 3, i64::MIN, -1, 0, i64::MAX, 2];
            let terms = row(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
            assert_eq!(late.add_or_list(&mut sums, (&indices, &terms), groups), 4);
            late.settle(&mut sums);
            assert_eq!(values(&sums), [0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 0.0, 6.0, 0.0, 0.0, 0.0, 8.0]);
        });
    }

    #[test]
    fn more_terms_than_a_row_come_late() {
        let n = 2 * ROW + 5;
        with_late_terms((2 * n, n), |late| {
            let mut sums = row(&vec![0.0; n]);
            let groups = Groups { group_len: n, output_len: n, width: 1 };
            let indices: Vec<i32> = (0..n as i32).collect();
            for term in [256.0, 1.0, 1.0] {
                let terms = row(&vec![term; n]);
                assert_eq!(late.add_or_list(&mut sums, (&indices, &terms), groups), 0);
            }
            late.settle(&mut sums);
            assert!(values(&sums).iter().all(|&sum| sum == 258.0));
        });
    }
}
