//! The outputs of a max pooling as its gradient sees them: a gradient, and the place it goes to.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::locate::Locate;
use super::rows::{ROW, RowBuffers};
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
    /// In the output's own type, as none has more than one term.
    Once,
}

/// The most planes that are worked on side by side.
pub(super) const LANES: usize = 2;

/// Buffers for rows of outputs of one group.
pub(super) struct Lane<'s, T: Summed, I> {
    pub(super) group: usize,
    gradients: RowBuffers<'s, T>,
    indices: &'s mut [I],
    channels: Channels<'s, T::Acc>,
}

impl<'s, T: Summed, I: Index> Lane<'s, T, I> {
    /// A lane for groups of up to `width` channels.
    #[inline(always)]
    pub(super) fn new(scratch: &mut Scratch<'s>, width: usize) -> Self {
        let (gradients, indices) = (RowBuffers::new(scratch, ROW), scratch.row(ROW));
        Self { group: 0, gradients, indices, channels: Channels::new(scratch, width) }
    }

    /// The scratch bytes of a lane.
    pub(super) const fn bytes() -> usize {
        RowBuffers::<T>::bytes(ROW) + booked::<I>(ROW) + Channels::<T::Acc>::bytes()
    }
}

impl<T: Summed, I: Index> Outputs<'_, T, I> {
    /// The channels of group `group`.
    #[inline(always)]
    pub(super) fn width_of(&self, group: usize) -> usize {
        self.indices.width_of(group)
    }

    /// Adds the outputs at flat offsets `flat`, in ascending order, to those `sums` that their indices point to; returns
    /// how many it added.
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
            let Lane { group, gradients, indices, channels } = lane;
            let outputs = self.load((*group, row), (gradients, indices));
            n_added -= channels.add((locate, &mut *sums), width, outputs);
        }
        n_added
    }

    /// [`Outputs::add`] for several planes side by side.
    ///
    /// Neighbouring windows often share their maximum, so that each addition waits for the one before it; the planes
    /// are independent, as the channels of a group are.
    #[inline(always)]
    pub(super) fn add_side_by_side<const N: usize>(
        &self,
        flat: Range<usize>,
        lanes: &mut [Lane<'_, T, I>; N],
        (locate, sums): (impl Locate, [&mut [T::Acc]; N]),
    ) -> u64 {
        let mut n_added = (flat.len() * N) as u64;
        let mut rest = flat;
        let mut sums = sums;
        while let Some(row) = self.next_row(&mut rest, 1) {
            let mut outputs = lanes.iter_mut().map(|Lane { group, gradients, indices, .. }| {
                self.load((*group, row.clone()), (gradients, indices))
            });
            let mut sums = sums.iter_mut();
            n_added -= add_side_by_side(
                locate,
                [(); N].map(|()| {
                    (sums.next().map(|sums| &mut **sums).unwrap_or_default(), outputs.next().unwrap_or_default())
                }),
            );
        }
        n_added
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

    #[inline(always)]
    fn load<'b>(
        &self,
        (group, row): (usize, Range<usize>),
        (gradients, indices): (&'b mut RowBuffers<'_, T>, &'b mut [I]),
    ) -> (&'b [I], &'b [T::Acc])
    where
        Self: 'b,
    {
        (self.indices.row(group, row.clone()).load(indices), gradients.widen(self.grad_output.row(group, row)))
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
        crew.run(&|scratch| {
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

/// Adds one gradient to the sum that its index points to, if that is among `sums`; returns how many it missed.
///
/// Misses are counted, not additions: they are few, and what is not counted costs nothing.
#[inline(always)]
fn add_one<A: Sum, I: Index>((locate, sums): (impl Locate, &mut [A]), index: I, gradient: A) -> u64 {
    let place = locate.place_of(index);
    // The bounds check on the very value that is used is what keeps any index from doing harm.
    if place < sums.len() as u64 { u64::from(!sums[place as usize].add_term(gradient)) } else { 1 }
}

/// Adds outputs, in ascending order, to those `sums` that their indices point to; returns how many it missed.
#[inline(always)]
fn add_at<A: Sum, I: Index>((locate, sums): (impl Locate, &mut [A]), (indices, gradients): (&[I], &[A])) -> u64 {
    let outputs = indices.iter().zip(gradients);
    outputs.map(|(&index, &gradient)| add_one((locate, sums), index, gradient)).sum()
}

/// Adds rows of several channels, each of which has an index of its own.
///
/// Many an output around a block turns out to belong to the next: as good as random, so nothing is branched on. What
/// belongs elsewhere becomes nothing, added to the first place. Where each gradient goes is worked out for a whole row
/// at a time, which takes vectors; only the additions go one by one.
pub(super) struct Channels<'s, A> {
    /// The channel of each element of a row.
    channels: &'s mut [u32],
    places: &'s mut [u32],
    gradients: &'s mut [A],
    width: usize,
}

impl<'s, A: Sum> Channels<'s, A> {
    /// For groups of up to `width` channels; single ones need no buffers.
    #[inline(always)]
    pub(super) fn new(scratch: &mut Scratch<'s>, width: usize) -> Self {
        let len = if width == 1 { 0 } else { ROW };
        Self { channels: scratch.row(len), places: scratch.row(len), gradients: scratch.row(len), width: 0 }
    }

    pub(super) const fn bytes() -> usize {
        2 * booked::<u32>(ROW) + booked::<A>(ROW)
    }

    /// Adds the outputs, in ascending order, of a group of `width` channels to those `sums` that their indices point to;
    /// returns how many it missed.
    #[inline(always)]
    pub(super) fn add<I: Index>(
        &mut self,
        (locate, sums): (impl Locate, &mut [A]),
        width: usize,
        (indices, gradients): (&[I], &[A]),
    ) -> u64 {
        if width == 1 {
            return add_at((locate, sums), (indices, gradients));
        }
        let len = (sums.len() / width) as u32;
        if len == 0 {
            return indices.len() as u64;
        }
        if self.width != width {
            self.width = width;
            for (i, channel) in self.channels.iter_mut().enumerate() {
                *channel = (i % width) as u32;
            }
        }
        let mut n_missed = 0;
        let whole = ROW / width * width;
        for (indices, gradients) in indices.chunks(whole).zip(gradients.chunks(whole)) {
            let outputs = indices.iter().zip(gradients).zip(&*self.channels);
            let targets = self.places.iter_mut().zip(&mut *self.gradients);
            let mut n_outside = 0;
            for (((&index, &gradient), &channel), (target, kept)) in outputs.zip(targets) {
                let place = locate.place(index.small_offset());
                let inside = place < len;
                *target = if inside { place * width as u32 } else { 0 } + channel;
                *kept = if inside { gradient } else { A::NOTHING };
                n_outside += u32::from(!inside);
            }
            n_missed += u64::from(n_outside);
            for (&place, &gradient) in self.places[..indices.len()].iter().zip(&*self.gradients) {
                if let Some(sum) = sums.get_mut(place as usize) {
                    n_missed += u64::from(!sum.add_term(gradient));
                }
            }
        }
        n_missed
    }
}

/// The sums of a plane, and the indices and gradients that go to them.
type PlaneOutputs<'p, A, I> = (&'p mut [A], (&'p [I], &'p [A]));

/// [`add_at`] for several planes, each with as many outputs, in turns.
#[inline(always)]
pub(super) fn add_side_by_side<A: Sum, I: Index, const N: usize>(
    locate: impl Locate,
    planes: [PlaneOutputs<'_, A, I>; N],
) -> u64 {
    let n_outputs = planes.iter().map(|(_, (indices, gradients))| indices.len().min(gradients.len())).min();
    let mut n_missed = 0;
    let mut planes = planes;
    for i in 0..n_outputs.unwrap_or(0) {
        for (sums, (indices, gradients)) in &mut planes {
            n_missed += add_one((locate, sums), indices[i], gradients[i]);
        }
    }
    n_missed
}
