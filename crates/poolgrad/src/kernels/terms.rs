//! Terms: outputs of a max pooling, as places of sums and what is added there.
//!
//! Outputs are made ready a few at a time: where each gradient goes is worked out in vectors, without a branch, and what
//! belongs elsewhere becomes nothing, added to the first place. Then only the additions go one by one, in a loop so
//! short that all of it stays in registers.

use std::ops::Range;

use fearless_simd::Simd;

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
    offsets: &'s mut [u32],
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
            offsets: scratch.row(len),
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

    /// Room for gradients of a row that are made wide.
    #[inline(always)]
    pub(super) fn wide(&mut self) -> &mut [A] {
        self.wide
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
        3 * booked::<u32>(len) + 2 * booked::<A>(len)
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
        let offsets = I::small_offsets(indices, self.offsets);
        let (n_places, width) = ((n_sums / width) as u32, width as u32);
        let mut n_outside = 0;
        let targets = self.places.iter_mut().zip(&mut *self.terms);
        for (((&offset, &gradient), &channel), (place, term)) in
            offsets.iter().zip(gradients).zip(&*self.channels).zip(targets)
        {
            let (found, inside) = locate.find(offset, n_places);
            *place = if inside { found * width } else { 0 } + channel;
            *term = if inside { gradient } else { A::NOTHING };
            n_outside += u32::from(!inside);
        }
        u64::from(n_outside)
    }

    /// Adds the terms that were made of `outputs`; returns how many `sums` could not take.
    #[inline(always)]
    pub(super) fn add<T, I>(&mut self, outputs: (&[I], &[T]), sums: &mut [A]) -> u64 {
        let n = outputs.0.len();
        let terms = (&self.places[..n], &self.terms[..n]);
        match &mut self.second {
            Some(second) if !A::TAKES_ALL => {
                let n_late = add_or_list(sums, terms, outputs, second.late());
                second.add(n_late, terms, sums)
            }
            _ => add(sums, terms, outputs),
        }
    }

    /// [`Terms::add`], with `between` after each few terms, which is handed the sums.
    #[inline(always)]
    pub(super) fn add_between<S: Simd, T, I>(
        &self,
        simd: S,
        outputs: (&[I], &[T]),
        sums: &mut [A],
        between: &mut impl FnMut(&mut [A]),
    ) -> u64 {
        let n = outputs.0.len();
        add_between(simd, sums, (&self.places[..n], &self.terms[..n]), outputs, between)
    }

    /// [`Terms::add`] for two groups in turns: neighbouring windows often share their maximum, so that each addition waits
    /// for the one before it, and the groups are independent.
    #[inline(always)]
    pub(super) fn add_in_turns<T, I>(
        [a, b]: [&Self; 2],
        outputs: [(&[I], &[T]); 2],
        [sums_a, sums_b]: [&mut [A]; 2],
    ) -> u64 {
        let n = outputs[0].0.len();
        let terms = [a, b].map(|terms| (&terms.places[..n], &terms.terms[..n]));
        add_in_turns([sums_a, sums_b], terms, outputs)
    }
}

// These are functions of their own, whatever they are called from: within a kernel there are not enough registers. Terms
// come in arrays, so that the compiler unrolls the loops.

#[inline(never)]
fn add<A: Sum, T, I>(sums: &mut [A], (places, terms): (&[u32], &[A]), outputs: (&[I], &[T])) -> u64 {
    let mut n_refused = 0;
    for (i, (places, terms)) in lines(places, terms).enumerate() {
        fetch_ahead_of(outputs, i);
        add_each(sums, pairs(places, terms), |_| count(&mut n_refused));
    }
    fetch_ahead_of_last(outputs);
    let (places, terms) = last(places, terms);
    add_each(sums, pairs(places, terms), |_| count(&mut n_refused));
    n_refused
}

/// [`add`] with something to do between terms.
#[inline(never)]
fn add_between<S: Simd, A: Sum, T, I>(
    simd: S,
    sums: &mut [A],
    (places, terms): (&[u32], &[A]),
    outputs: (&[I], &[T]),
    between: &mut impl FnMut(&mut [A]),
) -> u64 {
    simd.vectorize(
        #[inline(always)]
        || {
            let mut n_refused = 0;
            for (i, (places, terms)) in lines(places, terms).enumerate() {
                fetch_ahead_of(outputs, i);
                add_each(sums, pairs(places, terms), |_| count(&mut n_refused));
                // Not by way of the reference's own `call_mut`, which is compiled for the lowest level.
                (*between)(sums);
            }
            fetch_ahead_of_last(outputs);
            let (places, terms) = last(places, terms);
            add_each(sums, pairs(places, terms), |_| count(&mut n_refused));
            n_refused
        },
    )
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
    // All are listed, and the next is listed in the place of one that was taken.
    let mut add = |(i, (place, term)): (usize, (usize, A))| {
        late[n_late] = i as u32;
        n_late += usize::from(!sums.get_mut(place).is_some_and(|sum| sum.add_term_if_free(term)));
    };
    for (i, (places, terms)) in lines(places, terms).enumerate() {
        fetch_ahead_of(outputs, i);
        (i * AT_ONCE..).zip(pairs(places, terms)).for_each(&mut add);
    }
    fetch_ahead_of_last(outputs);
    let n_before = places.len() / AT_ONCE * AT_ONCE;
    let (places, terms) = last(places, terms);
    (n_before..).zip(pairs(places, terms)).for_each(add);
    n_late
}

#[inline(never)]
fn add_in_turns<A: Sum, T, I>(
    [sums_a, sums_b]: [&mut [A]; 2],
    [(places_a, terms_a), (places_b, terms_b)]: [(&[u32], &[A]); 2],
    [outputs_a, outputs_b]: [(&[I], &[T]); 2],
) -> u64 {
    let mut n_refused = 0;
    for (i, (a, b)) in lines(places_a, terms_a).zip(lines(places_b, terms_b)).enumerate() {
        fetch_ahead_of(outputs_a, i);
        fetch_ahead_of(outputs_b, i);
        add_each_in_turns([&mut *sums_a, &mut *sums_b], pairs(a.0, a.1).zip(pairs(b.0, b.1)), &mut n_refused);
    }
    fetch_ahead_of_last(outputs_a);
    fetch_ahead_of_last(outputs_b);
    let (a, b) = (last(places_a, terms_a), last(places_b, terms_b));
    add_each_in_turns([sums_a, sums_b], pairs(a.0, a.1).zip(pairs(b.0, b.1)), &mut n_refused);
    n_refused
}

/// Two slices of the same length, as arrays side by side.
#[inline(always)]
pub(super) fn lines<'a, P, A>(places: &'a [P], terms: &'a [A]) -> impl Iterator<Item = (&'a Line<P>, &'a Line<A>)> {
    places.as_chunks().0.iter().zip(terms.as_chunks().0)
}

/// What [`lines`] leaves of both.
#[inline(always)]
pub(super) fn last<'a, P, A>(places: &'a [P], terms: &'a [A]) -> (&'a [P], &'a [A]) {
    (places.as_chunks::<AT_ONCE>().1, terms.as_chunks::<AT_ONCE>().1)
}

/// The terms that are added between asking for memory.
type Line<T> = [T; AT_ONCE];

/// Places with their terms.
#[inline(always)]
fn pairs<A: Copy>(places: &[u32], terms: &[A]) -> impl Iterator<Item = (usize, A)> {
    places.iter().map(|&place| place as usize).zip(terms.iter().copied())
}

/// Adds terms to the sums at their places, and calls `refuse` with the number of each that there is no sum for, or whose
/// sum takes no more.
#[inline(always)]
pub(super) fn add_each<A: Sum>(
    sums: &mut [A],
    terms: impl Iterator<Item = (usize, A)>,
    mut refuse: impl FnMut(usize),
) {
    for (i, (place, term)) in terms.enumerate() {
        if !add_one(sums, place, term) {
            refuse(i);
        }
    }
}

/// [`add_each`] for the terms of two groups, counting those that are refused.
#[inline(always)]
pub(super) fn add_each_in_turns<A: Sum>(
    [sums_a, sums_b]: [&mut [A]; 2],
    terms: impl Iterator<Item = ((usize, A), (usize, A))>,
    n_refused: &mut u64,
) {
    for (a, b) in terms {
        if !add_one(sums_a, a.0, a.1) {
            count(n_refused);
        }
        if !add_one(sums_b, b.0, b.1) {
            count(n_refused);
        }
    }
}

#[inline(always)]
fn add_one<A: Sum>(sums: &mut [A], place: usize, term: A) -> bool {
    // The bounds check on the very value that is used is what keeps any index from doing harm.
    sums.get_mut(place).is_some_and(|sum| sum.add_term(term))
}

/// Counts what is rare. Were it not a call, there would be something to count for every term.
#[cold]
#[inline(never)]
pub(super) fn count(n: &mut u64) {
    *n += 1;
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

/// The same for those that [`lines`] leaves: else every so many outputs there would be a line that nobody asked for.
#[inline(always)]
fn fetch_ahead_of_last<T, I>(outputs: (&[I], &[T])) {
    fetch_ahead_of(outputs, outputs.0.len() / AT_ONCE);
}

/// Asks for the outputs that lie as far behind those `at` these places as there are outputs.
#[inline(always)]
pub(super) fn fetch_after<T, I>((indices, gradients): (&[I], &[T]), at: Range<usize>) {
    for index in indices[at.clone()].chunks(LINE / size_of::<I>()) {
        fetch_ahead(&index[0], indices.len());
    }
    for gradient in gradients[at].chunks(LINE / size_of::<T>()) {
        fetch_ahead(&gradient[0], gradients.len());
    }
}
