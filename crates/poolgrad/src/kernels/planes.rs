//! The gradient of max pooling, by whole planes: several small ones at a time, so that none is a call of its own.
//!
//! ```text
//! grad_input[n, c, i] = Σ { grad_output[n, c, o] : indices[n, c, o] = i },   o ascending, from +0.0
//! ```
//!
//! For some small groups (see [`Room`]), or one that fits the second-level cache:
//!
//! 1. clear their sums, unless what was written before left zeros there;
//! 2. add each output, in ascending order, where its index points; small planes in turns with others where that pays (see
//!    [`turns_pay`]), and meanwhile ask for the outputs of the next groups, if they are in memory;
//! 3. round the sums and write them out in one go.
//!
//! The sums are the output itself where it can hold them and is not to be streamed. Where it is of a narrower type and has
//! many elements to each output, most of them zero, it is cleared instead of rounded, and only the sums that indices point
//! to are cleared, rounded and written; or, if few windows share an input, it takes the first term of each sum itself, and
//! only sums of several terms are formed beside it (see [`LateTerms`]).
//!
//! Every index of the volume is found, inside its window or not: so this is also what larger planes come to when a sweep has
//! met far indices, as long as there is one for each worker and its sums take no more than a mebibyte beside the output.
//!
//! Traffic per output: its gradient and index, read once; per input: one write of its gradient.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use fearless_simd::Simd;

use super::late::{Groups, LateTerms};
use super::locate::FlatFrom;
use super::outputs::{Outputs, Summing};
use super::rows::{self, ROW};
use super::terms::{AT_ONCE, Terms, add_each, add_each_in_turns, count, fetch_after, fetch_ahead_of, last, lines};
use crate::dtype::{Index, Sum, Summed};
use crate::exec::stream::{LINE, turns_pay};
use crate::exec::{Scratch, TileKernel, booked};
use crate::geometry::Geometry;
use crate::tensor::raw::Tile;

/// The outputs whose sums are formed at a time at most, unless one group has more.
const MOST_OUTPUTS: usize = 24 << 10;

/// Where the sums of planes are formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// In the output, of which whole groups are at hand as slices.
    Output,
    /// Beside it, and rounded into such slices.
    BesideSlices,
    /// Beside it, and copied to wherever its elements are, or past the cache.
    Beside,
}

impl Room {
    /// The sums that are formed at a time, unless one group has more; whether outputs are asked for from memory meanwhile.
    const fn sums(self, summing: Summing, fetches: bool) -> usize {
        match (self, summing) {
            (Room::Output, Summing::First) => 12 << 10,
            // Only the calls cost time that each batch takes. Outputs that are asked for too early are in the way: on a Zen 4 with
            // as many of them as inputs, planes of 28x28 take 1.6 of the time.
            (Room::Output, _) if !fetches => 64 << 10,
            // Little is read and written of these.
            (Room::BesideSlices, Summing::Few) => 12 << 10,
            (Room::BesideSlices, _) if !fetches => 3 << 10,
            // What they become leaves the processor while the next are formed; for a batch of more than these it would wait.
            (_, Summing::Once) => 3 << 10,
            (_, Summing::Few | Summing::First) => 6 << 10,
            (_, Summing::All) => 3 << 9,
        }
    }
}

/// How many planes are worked on at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlanesShape {
    /// The elements of a group, and of its outputs.
    group_len: usize,
    output_len: usize,
    /// The groups of a batch.
    batch: usize,
    /// The outputs that are loaded at a time: those of the batch, or part of those of one group.
    loaded: usize,
    /// The channels of a group.
    width: usize,
    summing: Summing,
    room: Room,
    /// Whether outputs are asked for before they are needed.
    fetches: bool,
    /// Whether single planes are added to in turns with others.
    in_turns: bool,
}

impl PlanesShape {
    /// For groups of `width` channels, with outputs that are in memory rather than in the cache if it `fetches` them.
    pub(crate) fn new(geometry: &Geometry, width: usize, (summing, room): (Summing, Room), fetches: bool) -> Self {
        let group_len = geometry.input_len().saturating_mul(width);
        let output_len = geometry.output_len().saturating_mul(width);
        // Groups of different widths are not worked on together.
        let alike = geometry.c.is_multiple_of(width);
        let sums = room.sums(summing, fetches);
        let fit = (sums / group_len.max(1)).min(MOST_OUTPUTS.min(sums) / output_len.max(1));
        let batch = if alike { fit.max(1) } else { 1 };
        let loaded = if batch == 1 { output_len.min(ROW / width * width) } else { batch * output_len };
        let in_turns = turns_pay(output_len);
        Self { group_len, output_len, batch, loaded, width, summing, room, fetches, in_turns }
    }

    /// The outputs of one group that are made ready at a time. Those of single planes are added as they come: sums and
    /// outputs are all close, and to make them ready would take longer than it saves.
    const fn ready(&self) -> usize {
        if self.width == 1 || self.lists_late() { 0 } else { Terms::<f32>::most(self.width) }
    }

    /// Whether sums are formed beside the output once a term came late to them.
    const fn lists_late(&self) -> bool {
        matches!(self.summing, Summing::First)
    }

    /// The most terms that come late to the sums of a batch, and the number of these sums.
    const fn late(&self) -> (usize, usize) {
        if self.lists_late() {
            (self.batch.saturating_mul(self.output_len), self.batch.saturating_mul(self.group_len))
        } else {
            (0, 0)
        }
    }

    /// The sums, and what they are rounded to, that a worker holds beside the output.
    fn held<T: Summed>(&self) -> [usize; 2] {
        let len = self.batch.saturating_mul(self.group_len);
        let sums_are_output = T::from_wide(&[]).is_some();
        match self.room {
            Room::Output => [0, 0],
            Room::BesideSlices => [len, 0],
            Room::Beside => {
                let with_line = len.saturating_add(LINE / size_of::<T>() - 1);
                [with_line, if sums_are_output { 0 } else { with_line }]
            }
        }
    }

    /// The scratch bytes of one worker.
    pub(crate) fn bytes<T: Summed, I: Index>(&self) -> usize {
        let [n_sums, n_rounded] = self.held::<T>();
        let outputs = booked::<T>(self.loaded) + booked::<T::Acc>(self.loaded) + booked::<I>(self.loaded);
        let outputs = outputs + Terms::<T::Acc>::bytes(self.ready());
        let outputs = outputs.saturating_add(LateTerms::<T::Acc>::bytes(self.late()));
        let all = booked::<T::Acc>(n_sums).saturating_add(booked::<T>(n_rounded)).saturating_add(outputs);
        // A row of indices is what the search for a bad one takes.
        all.max(booked::<I>(ROW))
    }
}

/// The outputs, how many planes are worked on at a time, and the count of outputs that were added.
pub(crate) struct Planes<'a, T: Summed, I: Index> {
    outputs: Outputs<'a, T, I>,
    shape: PlanesShape,
    n_added: AtomicU64,
}

impl<'a, T: Summed, I: Index> Planes<'a, T, I> {
    pub(crate) fn new(outputs: Outputs<'a, T, I>, shape: PlanesShape) -> Self {
        Self { outputs, shape, n_added: AtomicU64::new(0) }
    }

    /// The number of outputs that were added.
    pub(crate) fn n_added(&self) -> u64 {
        self.n_added.load(Ordering::Relaxed)
    }
}

/// Buffers for outputs that do not lie in memory as they are needed.
struct Buffers<'s, T: Summed, I> {
    elements: &'s mut [T],
    wide: &'s mut [T::Acc],
    indices: &'s mut [I],
    terms: Terms<'s, T::Acc>,
    late: LateTerms<'s, T::Acc>,
}

impl<T: Summed, I: Index> TileKernel<T, I> for Planes<'_, T, I> {
    #[inline(always)]
    fn fill<S: Simd>(&self, simd: S, mut tile: Tile<'_, T, I>, mut scratch: Scratch<'_>) {
        let PlanesShape { batch, loaded, .. } = self.shape;
        let range = tile.range();
        let [n_sums, n_rounded] = self.shape.held::<T>();
        let is_new = scratch.is_new();
        let (sums, rounded) = (scratch.row::<T::Acc>(n_sums), scratch.row::<T>(n_rounded));
        let mut buffers = Buffers {
            elements: scratch.row(loaded),
            wide: scratch.row(loaded),
            indices: scratch.row(loaded),
            terms: Terms::new(&mut scratch, self.shape.ready()),
            late: LateTerms::new(&mut scratch, self.shape.late()),
        };
        let sums_are_output = T::from_wide(&[]).is_some();
        let mut n_added = 0;
        // Each batch leaves zeros to the next.
        if is_new && self.shape.summing != Summing::Few {
            rows::clear(sums);
        }
        for start in range.groups.clone().step_by(batch) {
            let groups = start..range.groups.end.min(start + batch);
            let len = groups.len() * range.flat.len() * self.outputs.width_of(start);
            // Beside the output they begin as far behind a line as the groups do in the output (see `OutTile::stream_groups`).
            let at = if self.shape.room == Room::Beside { tile.first.in_line(start) } else { 0 };
            let memory = tile.first.memory(groups.clone(), range.flat.clone());
            let in_memory = memory.is_some();
            let (into, target) = match memory {
                Some(memory) if sums_are_output => (T::as_wide_mut(memory).unwrap_or_default(), Default::default()),
                Some(memory) => (&mut sums[..len], memory),
                None if sums_are_output => (&mut sums[at..at + len], Default::default()),
                None => (&mut sums[at..at + len], &mut rounded[at..at + len]),
            };
            if self.shape.summing == Summing::Few {
                target.fill(T::default());
                self.for_each_few(&groups, buffers.indices, |indices, planes| planes.clear(indices, into));
                n_added += self.add(groups.clone(), into, &mut buffers);
                let Buffers { elements, wide, indices, .. } = &mut buffers;
                self.for_each_few(&groups, indices, |indices, planes| {
                    planes.round(indices, (into, target), (wide, elements));
                });
            } else {
                if in_memory && sums_are_output {
                    rows::clear_output(into);
                }
                n_added += self.add(groups.clone(), into, &mut buffers);
                if in_memory && !sums_are_output {
                    T::drain(into, target);
                }
            }
            if in_memory {
                continue;
            }
            if self.shape.summing == Summing::Few {
                rows::copy_groups(simd, &mut tile.first, groups, (&mut rounded[..at + len], at));
            } else {
                rows::drain_groups(simd, &mut tile.first, groups, (&mut sums[..at + len], at), rounded);
            }
        }
        self.n_added.fetch_add(n_added, Ordering::Relaxed);
    }
}

impl<T: Summed, I: Index> Planes<'_, T, I> {
    /// Calls `visit` with the indices of `groups`, and how they belong to these: all at once, or some rows of one group.
    #[inline(always)]
    fn for_each_few(&self, groups: &Range<usize>, buffer: &mut [I], mut visit: impl FnMut(&[I], Few)) {
        let indices = &self.outputs.indices;
        let width = self.outputs.width_of(groups.start);
        // The last group may have fewer channels.
        let of_group = |len: usize| len / self.shape.width * width;
        let (group_len, output_len) = (of_group(self.shape.group_len), of_group(self.shape.output_len));
        if self.shape.loaded == self.shape.batch * self.shape.output_len {
            return visit(indices.groups(groups.clone(), buffer), Few { group_len, output_len, width });
        }
        let mut rest = 0..indices.plane_len();
        while let Some(row) = self.outputs.next_row(&mut rest, width) {
            let row = indices.row(groups.start, row).load(buffer);
            visit(row, Few { group_len, output_len: row.len(), width });
        }
    }

    /// Adds all outputs of `groups` to `sums`; returns how many it added.
    #[inline(always)]
    fn add(&self, groups: Range<usize>, sums: &mut [T::Acc], buffers: &mut Buffers<'_, T, I>) -> u64 {
        let width = self.outputs.width_of(groups.start);
        if self.shape.batch == 1 {
            let n_added = self.add_group(groups.start, sums, buffers);
            buffers.late.settle(sums);
            return n_added;
        }
        let indices = self.outputs.indices.groups(groups.clone(), buffers.indices);
        let elements = self.outputs.grad_output.groups(groups, buffers.elements);
        let PlanesShape { group_len, output_len, fetches, in_turns, .. } = self.shape;
        let mut n_added = indices.len() as u64;
        if !T::Acc::TAKES_ALL && self.shape.lists_late() {
            if fetches {
                fetch_after((indices, elements), 0..indices.len());
            }
            let gradients = rows::widened::<T>(elements, buffers.wide);
            let groups = Groups { group_len, output_len, width };
            n_added -= buffers.late.add_or_list(sums, (indices, gradients), groups);
            buffers.late.settle(sums);
            return n_added;
        }
        let mut planes = sums.chunks_exact_mut(group_len);
        if width == 1 {
            let gradients = rows::widened::<T>(elements, buffers.wide);
            if output_len < AT_ONCE {
                if fetches {
                    fetch_after((indices, elements), 0..indices.len());
                }
                return n_added - add_planes(sums, (indices, gradients), (group_len, output_len));
            }
            let mut outputs = indices.chunks_exact(output_len).zip(gradients.chunks_exact(output_len));
            while in_turns && planes.len() >= 2 {
                if fetches {
                    let n_left = outputs.len() * output_len;
                    fetch_after(
                        (indices, elements),
                        indices.len() - n_left..indices.len() - n_left + 2 * output_len,
                    );
                }
                let mut next = || (planes.next().unwrap_or_default(), outputs.next().unwrap_or_default());
                n_added -= add_in_turns(next(), next());
            }
            return n_added
                - planes.zip(outputs).map(|(sums, outputs)| add_plane(sums, outputs, elements)).sum::<u64>();
        }
        let outputs = indices.chunks_exact(output_len).zip(elements.chunks_exact(output_len));
        for (sums, outputs) in planes.zip(outputs) {
            n_added -= buffers.terms.add_all((FlatFrom::new(0), sums), width, outputs);
        }
        n_added
    }

    /// Adds the outputs of one group, some at a time.
    #[inline(always)]
    fn add_group(&self, group: usize, sums: &mut [T::Acc], buffers: &mut Buffers<'_, T, I>) -> u64 {
        let Outputs { grad_output, indices } = &self.outputs;
        let width = self.outputs.width_of(group);
        let mut rest = 0..indices.plane_len();
        let mut n_added = (rest.len() * width) as u64;
        while let Some(row) = self.outputs.next_row(&mut rest, width) {
            let indices = indices.row(group, row.clone()).load(buffers.indices);
            let elements = grad_output.row(group, row).load(buffers.elements);
            n_added -= if !T::Acc::TAKES_ALL && self.shape.lists_late() {
                let gradients = rows::widened::<T>(elements, buffers.wide);
                let groups = Groups { group_len: sums.len(), output_len: indices.len(), width };
                buffers.late.add_or_list(sums, (indices, gradients), groups)
            } else if width == 1 {
                add_plane(sums, (indices, rows::widened::<T>(elements, buffers.wide)), elements)
            } else {
                buffers.terms.add_all((FlatFrom::new(0), &mut *sums), width, (indices, elements))
            };
        }
        n_added
    }
}

/// Adds outputs of a plane, in ascending order, where their indices point; returns how many it missed.
///
/// The gradients were widened from `elements`, behind which lie those that follow.
///
/// A function of its own for the reason that [`Terms`] has some.
#[inline(never)]
fn add_plane<A: Sum, I: Index, T>(sums: &mut [A], (indices, gradients): (&[I], &[A]), elements: &[T]) -> u64 {
    // To ask for what follows takes longer than it saves, unless much does.
    let is_long = indices.len() == ROW;
    let mut n_missed = 0;
    for (i, (line, gradients)) in lines(indices, gradients).enumerate() {
        if is_long {
            fetch_ahead_of((indices, elements), i);
        }
        add_each(sums, terms(line, gradients), |_| count(&mut n_missed));
    }
    let (indices, gradients) = last(indices, gradients);
    add_each(sums, terms(indices, gradients), |_| count(&mut n_missed));
    n_missed
}

/// [`add_plane`] for planes of `group_len` elements one after the other, with `output_len` outputs each: too few for a call.
#[inline(never)]
fn add_planes<A: Sum, I: Index>(
    sums: &mut [A],
    (indices, gradients): (&[I], &[A]),
    (group_len, output_len): (usize, usize),
) -> u64 {
    let mut n_missed = 0;
    let outputs = indices.chunks_exact(output_len).zip(gradients.chunks_exact(output_len));
    for (sums, outputs) in sums.chunks_exact_mut(group_len).zip(outputs) {
        add_each(sums, terms(outputs.0, outputs.1), |_| count(&mut n_missed));
    }
    n_missed
}

/// [`add_plane`] for two planes with as many outputs, in turns (see [`Terms::add_in_turns`]).
#[inline(never)]
fn add_in_turns<A: Sum, I: Index>(a: PlaneOutputs<'_, A, I>, b: PlaneOutputs<'_, A, I>) -> u64 {
    let ((sums_a, outputs_a), (sums_b, outputs_b)) = (a, b);
    let mut n_missed = 0;
    let outputs = terms(outputs_a.0, outputs_a.1).zip(terms(outputs_b.0, outputs_b.1));
    add_each_in_turns([sums_a, sums_b], outputs, &mut n_missed);
    n_missed
}

/// The sums of a plane, and the indices and gradients that go to them.
type PlaneOutputs<'p, A, I> = (&'p mut [A], (&'p [I], &'p [A]));

/// Gradients with the places that indices point to: none, if one is negative.
#[inline(always)]
fn terms<A: Copy, I: Index>(indices: &[I], gradients: &[A]) -> impl Iterator<Item = (usize, A)> {
    let place = |index: &I| usize::try_from(index.wide_offset()).unwrap_or(usize::MAX);
    indices.iter().map(place).zip(gradients.iter().copied())
}

/// Groups of planes of which few sums have terms: the sums of each, its outputs, and the channels of these.
#[derive(Clone, Copy)]
struct Few {
    group_len: usize,
    output_len: usize,
    width: usize,
}

impl Few {
    /// Makes the sums zero that indices point to.
    #[inline(always)]
    fn clear<A: Sum, I: Index>(self, indices: &[I], sums: &mut [A]) {
        let groups = sums.chunks_exact_mut(self.group_len).zip(indices.chunks_exact(self.output_len));
        for (sums, indices) in groups {
            for_each_place(indices, self.width, |_, place| {
                if let Some(sum) = sums.get_mut(place) {
                    *sum = A::ZERO;
                }
            });
        }
    }

    /// Rounds these sums, by way of buffers for as many as there are indices.
    #[inline(always)]
    fn round<T: Summed, I: Index>(
        self,
        indices: &[I],
        (sums, rounded): (&[T::Acc], &mut [T]),
        (wide, narrow): (&mut [T::Acc], &mut [T]),
    ) {
        let Self { group_len, output_len, width } = self;
        let (wide, narrow) = (&mut wide[..indices.len()], &mut narrow[..indices.len()]);
        let groups = sums.chunks_exact(group_len).zip(indices.chunks_exact(output_len));
        for ((sums, indices), wide) in groups.zip(wide.chunks_exact_mut(output_len)) {
            for_each_place(indices, width, |i, place| wide[i] = sums.get(place).copied().unwrap_or_default());
        }
        T::narrow(wide, narrow);
        let groups = rounded.chunks_exact_mut(group_len).zip(indices.chunks_exact(output_len));
        for ((rounded, indices), narrow) in groups.zip(narrow.chunks_exact(output_len)) {
            for_each_place(indices, width, |i, place| {
                if let Some(rounded) = rounded.get_mut(place) {
                    *rounded = narrow[i];
                }
            });
        }
    }
}

/// Calls `visit` with the number of each output of a row of `width` channels, and the place that its index points to.
#[inline(always)]
fn for_each_place<I: Index>(indices: &[I], width: usize, mut visit: impl FnMut(usize, usize)) {
    if width == 1 {
        // To take the row apart into single outputs takes longer than to visit them.
        return indices.iter().enumerate().for_each(|(i, index)| visit(i, index.small_offset() as usize));
    }
    for (row, indices) in indices.chunks_exact(width).enumerate() {
        for (c, index) in indices.iter().enumerate() {
            // An index that is no offset is far behind the last place.
            visit(row * width + c, (index.small_offset() as usize).wrapping_mul(width).wrapping_add(c));
        }
    }
}
