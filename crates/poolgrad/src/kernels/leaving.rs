//! Complete sums that leave past the cache, at once or a few lines at a time, between additions, and then leave zeros.
//!
//! What is written past the cache waits in a few lines of the first level until memory takes it, and stores leave a core in their
//! order: behind many such lines, additions wait too. So a few lines leave after each few additions. Zeros are left where they
//! were, as these lines are at hand then: to clear them when they are needed again would be as many stores once more, to lines that
//! have gone back to the second level.

use std::ops::Range;

use fearless_simd::Simd;

use super::rows::clear_by_lines;
use crate::dtype::Summed;
use crate::exec::stream::{LINE, copy_past, drain_lines, drain_lines_within, round_past, whole_lines};

/// Sums that are written one after the other, a few lines at a time.
pub(super) struct Leaving<'m, T> {
    /// Where the next of them is.
    from: usize,
    /// The memory for these, and how much of it is for sums that are complete: whole lines.
    memory: &'m mut [T],
    n_complete: usize,
}

impl<'m, T: Summed> Leaving<'m, T> {
    /// The sums from `from` on, for which there is `memory`; none of them are complete.
    #[inline(always)]
    pub(super) fn new(from: usize, memory: &'m mut [T]) -> Self {
        Self { from, memory, n_complete: 0 }
    }

    /// How many sums have not left.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.memory.len()
    }

    /// How many of them may leave by lines.
    #[inline(always)]
    pub(super) fn n_complete(&self) -> usize {
        self.n_complete
    }

    /// Of those that have not left, so many are complete. What lies before the first line leaves at once, and what does not fill one
    /// with those behind it.
    #[inline(always)]
    pub(super) fn complete<S: Simd>(&mut self, simd: S, sums: &mut [T::Acc], n: usize, staging: &mut [T]) {
        let Range { start, end } = whole_lines(&self.memory[..n]);
        if start > 0 {
            self.leave(simd, sums, start, staging);
        }
        self.n_complete = end - start;
    }

    /// Writes up to `most` that are complete, within what is compiled for a level already.
    #[inline(always)]
    pub(super) fn some<S: Simd>(&mut self, simd: S, sums: &mut [T::Acc], most: usize, staging: &mut [T]) {
        let n = most.min(self.n_complete);
        self.n_complete -= n;
        let (from, now) = self.next(n);
        let sums = &mut sums[from..from + n];
        if !drain_lines_within(simd, sums, now) {
            drain(simd, sums, now, staging);
        }
    }

    /// Writes the next `n`.
    #[inline(always)]
    pub(super) fn leave<S: Simd>(&mut self, simd: S, sums: &mut [T::Acc], n: usize, staging: &mut [T]) {
        let (from, now) = self.next(n);
        drain(simd, &mut sums[from..from + n], now, staging);
    }

    /// Of those that have not left, so many are complete: they leave at once, up to the last whole line or the end of all, and leave
    /// what they were.
    #[inline(always)]
    pub(super) fn write<S: Simd>(&mut self, simd: S, sums: &[T::Acc], n: usize, staging: &mut [T]) {
        let n = if n < self.len() { whole_lines(&self.memory[..n]).end } else { n };
        let (from, now) = self.next(n);
        write(simd, &sums[from..from + n], now, staging);
    }

    /// Takes the next `n`.
    #[inline(always)]
    fn next(&mut self, n: usize) -> (usize, &'m mut [T]) {
        let (now, rest) = std::mem::take(&mut self.memory).split_at_mut(n);
        let from = self.from;
        (self.from, self.memory) = (from + n, rest);
        (from, now)
    }
}

/// How many of `n` sums should leave at a time to have left after so many turns: whole lines.
#[inline(always)]
pub(super) fn at_once<T>(n: usize, n_turns: usize) -> usize {
    n.div_ceil(n_turns.max(1)).next_multiple_of(LINE / size_of::<T>())
}

/// Rounds sums and writes them past the cache, and leaves zeros.
#[inline(always)]
pub(super) fn drain<S: Simd, T: Summed>(simd: S, sums: &mut [T::Acc], memory: &mut [T], staging: &mut [T]) {
    let Range { start, end } = whole_lines(memory);
    if drain_lines(simd, &mut sums[start..end], &mut memory[start..end]) {
        for part in [0..start, end..memory.len()].into_iter().filter(|part| !part.is_empty()) {
            T::drain(&mut sums[part.clone()], &mut memory[part]);
        }
        return;
    }
    if let Some(elements) = T::from_wide(sums) {
        copy_past(simd, elements, memory);
        return clear_by_lines(sums);
    }
    for (sums, memory) in sums.chunks_mut(staging.len()).zip(memory.chunks_mut(staging.len())) {
        let elements = &mut staging[..sums.len()];
        T::drain(sums, elements);
        copy_past(simd, elements, memory);
    }
}

/// Rounds sums and writes them past the cache.
#[inline(always)]
pub(super) fn write<S: Simd, T: Summed>(simd: S, sums: &[T::Acc], memory: &mut [T], staging: &mut [T]) {
    if let Some(elements) = T::from_wide(sums) {
        return copy_past(simd, elements, memory);
    }
    if round_past(simd, sums, memory) {
        return;
    }
    for (sums, memory) in sums.chunks(staging.len()).zip(memory.chunks_mut(staging.len())) {
        let elements = &mut staging[..sums.len()];
        T::narrow(sums, elements);
        copy_past(simd, elements, memory);
    }
}
