//! The outputs of a max pooling as its gradient sees them: a gradient, and the place it goes to.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use fearless_simd::Simd;

use super::locate::Locate;
use super::rows::ROW;
use super::terms::Terms;
use crate::dtype::{Index, Sum, Summed};
use crate::exec::{Crew, Queue, Scratch, booked};
use crate::geometry::Geometry;
use crate::tensor::raw::Source;

/// The gradients and indices of all outputs.
#[derive(Clone, Copy)]
pub(crate) struct Outputs<'a, T, I> {
    pub(crate) grad_output: Source<'a, T>,
    pub(crate) indices: Source<'a, I>,
}

/// How the sums of a max gradient are formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Summing {
    /// All of them in a type that can hold them, and all of them rounded.
    All,
    /// The same, but only those with terms are rounded: they are few.
    Few,
    /// In the output's own type, as none has more than one term, or few have.
    Once,
    /// The first term of each in the output's own type, and those that come late beside it: few of few sums.
    First,
}

/// The most planes that are worked on side by side.
pub(super) const LANES: usize = 2;

/// Buffers for outputs of one group.
pub(super) struct Lane<'s, T: Summed, I> {
    pub(super) group: usize,
    pub(super) elements: &'s mut [T],
    pub(super) indices: &'s mut [I],
    pub(super) terms: Terms<'s, T::Acc>,
}

impl<'s, T: Summed, I: Index> Lane<'s, T, I> {
    /// A lane that makes up to `len` outputs ready at a time.
    #[inline(always)]
    pub(super) fn new(scratch: &mut Scratch<'s>, len: usize) -> Self {
        Self { group: 0, elements: scratch.row(ROW), indices: scratch.row(ROW), terms: Terms::new(scratch, len) }
    }

    /// The same, with room for second terms of up to `most` sums, a power of two, where sums can take only one.
    #[inline(always)]
    pub(super) fn with_second_terms(self, scratch: &mut Scratch<'s>, most: usize) -> Self {
        Self { terms: self.terms.with_second_terms(scratch, most), ..self }
    }

    /// See [`Terms::settle`].
    #[inline(always)]
    pub(super) fn settle(&mut self, places: Range<usize>, sums: &mut [T::Acc]) {
        self.terms.settle(places, sums);
    }

    /// The scratch bytes of such a lane.
    pub(super) const fn bytes(len: usize) -> usize {
        booked::<T>(ROW) + booked::<I>(ROW) + Terms::<T::Acc>::bytes(len)
    }
}

impl<T: Summed, I: Index> Outputs<'_, T, I> {
    /// The channels of group `group`.
    #[inline(always)]
    pub(super) fn width_of(&self, group: usize) -> usize {
        self.indices.width_of(group)
    }

    /// Adds the outputs at flat offsets `flat` of the lane's group, in ascending order, to those `sums` that their
    /// indices point to; returns how many it added.
    #[inline(always)]
    pub(super) fn add(
        &self,
        flat: Range<usize>,
        lane: &mut Lane<'_, T, I>,
        (locate, sums): (impl Locate, &mut [T::Acc]),
    ) -> u64 {
        let width = self.width_of(lane.group);
        let mut n_added = (flat.len() * width) as u64;
        let mut rest = flat;
        while let Some(row) = self.next_row(&mut rest, width) {
            let Lane { group, elements, indices, terms } = lane;
            let outputs = self.load((*group, row), (indices, elements));
            n_added -= terms.add_all((locate, &mut *sums), width, outputs);
        }
        n_added
    }

    /// [`Outputs::add`], with `between` after each few outputs, which is handed the sums.
    #[inline(always)]
    pub(super) fn add_between<S: Simd>(
        &self,
        simd: S,
        flat: Range<usize>,
        lane: &mut Lane<'_, T, I>,
        (locate, sums): (impl Locate, &mut [T::Acc]),
        mut between: impl FnMut(&mut [T::Acc]),
    ) -> u64 {
        let width = self.width_of(lane.group);
        let mut n_added = (flat.len() * width) as u64;
        let mut rest = flat;
        while let Some(row) = self.next_row(&mut rest, width) {
            let Lane { group, elements, indices, terms } = lane;
            let (indices, gradients) = self.load((*group, row), (indices, elements));
            let most = Terms::<T::Acc>::most(width);
            for outputs in indices.chunks(most).zip(gradients.chunks(most)) {
                n_added -= terms.prepare((locate, sums.len()), width, outputs);
                n_added -= terms.add_between(simd, outputs, sums, &mut between);
            }
        }
        n_added
    }

    /// [`Outputs::add`] for several planes side by side.
    #[inline(always)]
    pub(super) fn add_side_by_side(
        &self,
        flat: Range<usize>,
        lanes: &mut [Lane<'_, T, I>; LANES],
        (locate, sums): (impl Locate, [&mut [T::Acc]; LANES]),
    ) -> u64 {
        let most = Terms::<T::Acc>::most(1);
        let mut n_added = (flat.len() * LANES) as u64;
        let [sums_a, sums_b] = sums;
        let [a, b] = lanes;
        let mut rest = flat;
        while let Some(row) = self.next_row(&mut rest, 1) {
            let (indices_a, gradients_a) = self.load((a.group, row.clone()), (a.indices, a.elements));
            let (indices_b, gradients_b) = self.load((b.group, row), (b.indices, b.elements));
            let outputs_a = indices_a.chunks(most).zip(gradients_a.chunks(most));
            let outputs_b = indices_b.chunks(most).zip(gradients_b.chunks(most));
            for (outputs_a, outputs_b) in outputs_a.zip(outputs_b) {
                n_added -= a.terms.prepare((locate, sums_a.len()), 1, outputs_a);
                n_added -= b.terms.prepare((locate, sums_b.len()), 1, outputs_b);
                if !T::Acc::TAKES_ALL {
                    n_added -= a.terms.add(outputs_a, sums_a) + b.terms.add(outputs_b, sums_b);
                    continue;
                }
                let sums = [&mut *sums_a, &mut *sums_b];
                n_added -= Terms::add_in_turns([&a.terms, &b.terms], [outputs_a, outputs_b], sums);
            }
        }
        n_added
    }

    /// The indices and gradients of a row: where they lie, or in the buffers.
    #[inline(always)]
    pub(super) fn load<'b>(
        &self,
        (group, row): (usize, Range<usize>),
        (indices, elements): (&'b mut [I], &'b mut [T]),
    ) -> (&'b [I], &'b [T])
    where
        Self: 'b,
    {
        (self.indices.row(group, row.clone()).load(indices), self.grad_output.row(group, row).load(elements))
    }

    /// Takes a row off the front of `rest`; it is cut where a run of either tensor ends.
    #[inline(always)]
    pub(super) fn next_row(&self, rest: &mut Range<usize>, width: usize) -> Option<Range<usize>> {
        if rest.start >= rest.end {
            return None;
        }
        let left = |run_len: usize| run_len - rest.start % run_len;
        let runs = left(self.grad_output.run_len()).min(left(self.indices.run_len()));
        let row = rest.start..rest.start + rest.len().min(runs).min(ROW / width);
        rest.start = row.end;
        Some(row)
    }

    /// The plane and flat offset of the first index, in row-major order, that lies outside its volume. Outputs must be
    /// in groups of one plane.
    pub(crate) fn find_bad_index(&self, geometry: &Geometry, crew: &mut Crew<'_>) -> Option<(usize, usize)> {
        let (volume, len) = (geometry.input_len(), geometry.output_len());
        let indices = &self.indices;
        // Ordinals over all planes are compared, so the first in row-major order is found whichever worker meets it.
        let first = AtomicU64::new(u64::MAX);
        let piece = indices.run_len().min(ROW);
        let pieces_per_run = indices.run_len().div_ceil(piece);
        let runs_per_plane = len / indices.run_len();
        let queue = Queue::new(geometry.n_planes() * runs_per_plane * pieces_per_run);
        crew.run(&|_, scratch| {
            let buffer = Scratch::new(scratch).row::<I>(ROW);
            while let Some(id) = queue.claim() {
                let (run, part) = (id / pieces_per_run, id % pieces_per_run);
                let (plane, run) = (run / runs_per_plane, run % runs_per_plane * indices.run_len());
                let start = run + part * piece;
                let end = (start + piece).min(run + indices.run_len());
                let row = indices.row(plane, start..end).load(buffer);
                if let Some(at) = row.iter().position(|index| index.offset() >= volume) {
                    first.fetch_min(plane as u64 * len as u64 + (start + at) as u64, Ordering::Relaxed);
                }
            }
        });
        let first = first.into_inner();
        (first != u64::MAX).then(|| ((first / len as u64) as usize, (first % len as u64) as usize))
    }
}
