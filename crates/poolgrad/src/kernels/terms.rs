//! Terms: outputs of a max pooling, as places of sums and what is added there.
//!
//! Outputs are made ready a few at a time: where each gradient goes is worked out in vectors, without a branch, and what
//! belongs elsewhere becomes nothing, added to the first place. Then only the additions go one by one, in a loop so
//! short that all of it stays in registers.

use std::ops::Range;

use super::locate::Locate;
use super::rows::widened;
use super::second::SecondTerms;
use crate::dtype::{Index, Sum, Summed};
use crate::exec::stream::{LINE, fetch_ahead};
use crate::exec::{Scratch, booked};

/// The outputs that are made ready at a time, unless one place has more channels: few, so that they stay in the first-level
/// cache together with the sums.
const FEW: usize = 256;

/// How many outputs ahead memory is asked for. The processor's own guesses end with each page of four kilobytes, so that
/// each page of indices and of gradients would begin with a wait.
const AHEAD: usize = 512;

/// Terms of outputs of one group, ready to be added.
pub(super) struct Terms<'s, A: Sum> {
    wide: &'s mut [A],
    places: &'s mut [u32],
    terms: &'s mut [A],
    /// The channels of outputs, for how many of them these are known, and for groups of how many channels.
    channels: &'s mut [u32],
    known: (usize, usize),
    second: Option<SecondTerms<'s, A>>,
}

impl<'s, A: Sum> Terms<'s, A> {
    /// For up to `len` outputs at a time.
    #[inline(always)]
    pub(super) fn new(scratch: &mut Scratch<'s>, len: usize) -> Self {
        Self {
            wide: scratch.row(len),
            places: scratch.row(len),
            terms: scratch.row(len),
            channels: scratch.row(len),
            known: (0, 0),
            second: None,
        }
    }

    /// The same, with room for second terms of up to `most` sums, a power of two, where sums can take only one.
    #[inline(always)]
    pub(super) fn with_second_terms(self, scratch: &mut Scratch<'s>, most: usize) -> Self {
        Self { second: Some(SecondTerms::new(scratch, most)), ..self }
    }

    /// Rounds the second terms of the sums at `places`: no more will come for these.
    #[inline(always)]
    pub(super) fn settle(&mut self, places: Range<usize>, sums: &mut [A]) {
        if let Some(second) = &mut self.second {
            second.settle(places, sums);
        }
    }

    /// The scratch bytes for up to `len` outputs at a time.
    pub(super) const fn bytes(len: usize) -> usize {
        2 * booked::<u32>(len) + 2 * booked::<A>(len)
    }

    /// How many outputs of groups of `width` channels are made ready at a time.
    #[inline(always)]
    pub(super) const fn most(width: usize) -> usize {
        if width < FEW { FEW / width * width } else { width }
    }

    /// Adds outputs of a group of `width` channels, in ascending order, to those `sums` that their indices point to;
    /// returns how many it missed.
    #[inline(always)]
    pub(super) fn add_all<T: Summed<Acc = A>, I: Index>(
        &mut self,
        (locate, sums): (impl Locate, &mut [A]),
        width: usize,
        (indices, gradients): (&[I], &[T]),
    ) -> u64 {
        let most = Self::most(width);
        let mut n_missed = 0;
        for outputs in indices.chunks(most).zip(gradients.chunks(most)) {
            n_missed += self.prepare((locate, sums.len()), width, outputs);
            n_missed += self.add(outputs, sums);
        }
        n_missed
    }

    /// Makes outputs of a group of `width` channels ready that go to `n_sums` sums; returns how many belong elsewhere.
    #[inline(always)]
    pub(super) fn prepare<T: Summed<Acc = A>, I: Index>(
        &mut self,
        (locate, n_sums): (impl Locate, usize),
        width: usize,
        (indices, gradients): (&[I], &[T]),
    ) -> u64 {
        if self.known.0 < indices.len() || self.known.1 != width {
            self.known = (indices.len(), width);
            for channels in self.channels[..indices.len()].chunks_mut(width) {
                channels.iter_mut().zip(0..).for_each(|(channel, c)| *channel = c);
            }
        }
        let gradients = widened::<T>(gradients, self.wide);
        let (n_places, width) = ((n_sums / width) as u32, width as u32);
        let mut n_outside = 0;
        let targets = self.places.iter_mut().zip(&mut *self.terms);
        for (((&index, &gradient), &channel), (place, term)) in
            indices.iter().zip(gradients).zip(&*self.channels).zip(targets)
        {
            let found = locate.place(index.small_offset());
            let inside = found < n_places;
            *place = if inside { found * width } else { 0 } + channel;
            *term = if inside { gradient } else { A::NOTHING };
            n_outside += u32::from(!inside);
        }
        u64::from(n_outside)
    }

    /// Adds the terms that were made of `outputs`; returns how many `sums` could not take.
    #[inline(always)]
    pub(super) fn add<T, I>(&mut self, outputs: (&[I], &[T]), sums: &mut [A]) -> u64 {
        let terms = (&self.places[..outputs.0.len()], &*self.terms);
        match &mut self.second {
            Some(second) if !A::TAKES_ALL => {
                let n_late = add_or_list(sums, terms, outputs, second.late());
                second.add(n_late, terms, sums)
            }
            _ => add(sums, terms, outputs),
        }
    }

    /// [`Terms::add`] for two groups in turns: neighbouring windows often share their maximum, so that each addition waits
    /// for the one before it, and the groups are independent.
    #[inline(always)]
    pub(super) fn add_in_turns<T, I>(
        [a, b]: [&Self; 2],
        outputs: [(&[I], &[T]); 2],
        [sums_a, sums_b]: [&mut [A]; 2],
    ) -> u64 {
        add_in_turns((sums_a, sums_b), (&a.places[..outputs[0].0.len()], a.terms), (b.places, b.terms), outputs)
    }
}

// These are functions of their own, whatever they are called from: within a kernel there are not enough registers.

#[inline(never)]
fn add<A: Sum, T, I>(sums: &mut [A], (places, terms): (&[u32], &[A]), outputs: (&[I], &[T])) -> u64 {
    let mut n_refused = 0;
    for (i, (places, terms)) in places.chunks(AT_ONCE).zip(terms.chunks(AT_ONCE)).enumerate() {
        fetch_ahead_of(outputs, i);
        for (&place, &term) in places.iter().zip(terms) {
            n_refused += add_one(sums, place, term);
        }
    }
    n_refused
}

/// [`add`], with a list of the terms that the sums could not take; returns how many these are.
#[inline(never)]
fn add_or_list<A: Sum, T, I>(
    sums: &mut [A],
    (places, terms): (&[u32], &[A]),
    outputs: (&[I], &[T]),
    late: &mut [u32],
) -> usize {
    let mut n_late = 0;
    for (i, (places, terms)) in places.chunks(AT_ONCE).zip(terms.chunks(AT_ONCE)).enumerate() {
        fetch_ahead_of(outputs, i);
        for (j, (&place, &term)) in places.iter().zip(terms).enumerate() {
            // Whether a sum is taken is as good as random, so each term is listed, and the next one in its place.
            late[n_late] = (i * AT_ONCE + j) as u32;
            n_late += add_one(sums, place, term) as usize;
        }
    }
    n_late
}

#[inline(never)]
fn add_in_turns<A: Sum, T, I>(
    (sums_a, sums_b): (&mut [A], &mut [A]),
    (places_a, terms_a): (&[u32], &[A]),
    (places_b, terms_b): (&[u32], &[A]),
    [outputs_a, outputs_b]: [(&[I], &[T]); 2],
) -> u64 {
    let mut n_refused = 0;
    let lines_a = places_a.chunks(AT_ONCE).zip(terms_a.chunks(AT_ONCE));
    let lines_b = places_b.chunks(AT_ONCE).zip(terms_b.chunks(AT_ONCE));
    for (i, ((places_a, terms_a), (places_b, terms_b))) in lines_a.zip(lines_b).enumerate() {
        fetch_ahead_of(outputs_a, i);
        fetch_ahead_of(outputs_b, i);
        for (((&place_a, &term_a), &place_b), &term_b) in places_a.iter().zip(terms_a).zip(places_b).zip(terms_b) {
            n_refused += add_one(sums_a, place_a, term_a);
            n_refused += add_one(sums_b, place_b, term_b);
        }
    }
    n_refused
}

/// The outputs for which memory is asked for at a time.
pub(super) const AT_ONCE: usize = 16;

/// Asks for the outputs that follow, at some distance, the `i`th [`AT_ONCE`] of those.
#[inline(always)]
pub(super) fn fetch_ahead_of<T, I>((indices, gradients): (&[I], &[T]), i: usize) {
    if let (Some(index), Some(gradient)) = (indices.get(i * AT_ONCE), gradients.get(i * AT_ONCE)) {
        (0..AT_ONCE).step_by(LINE / size_of::<I>()).for_each(|at| fetch_ahead(index, AHEAD + at));
        (0..AT_ONCE).step_by(LINE / size_of::<T>()).for_each(|at| fetch_ahead(gradient, AHEAD + at));
    }
}

#[inline(always)]
fn add_one<A: Sum>(sums: &mut [A], place: u32, term: A) -> u64 {
    // The bounds check on the very value that is used is what keeps any index from doing harm.
    match sums.get_mut(place as usize) {
        Some(sum) => u64::from(!sum.add_term(term)),
        None => 1,
    }
}
