//! The outputs of a max pooling as its gradient sees them: a gradient, and the place it goes to.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::rows::{ROW, RowBuffers, WIDEST};
use crate::dtype::{Accumulator, Float, Index};
use crate::exec::{Crew, Queue, Scratch, booked};
use crate::geometry::Geometry;
use crate::tensor::raw::Source;

/// The gradients and indices of all outputs.
#[derive(Clone, Copy)]
pub(crate) struct Outputs<'a, T, I> {
    pub(crate) grad_output: Source<'a, T>,
    pub(crate) indices: Source<'a, I>,
}

/// Sums of part of one group, and buffers for the rows of outputs that are added to them.
pub(super) struct Lane<'s, T: Float, I> {
    pub(super) group: usize,
    pub(super) sums: &'s mut [T::Acc],
    gradients: RowBuffers<'s, T>,
    indices: &'s mut [I],
}

impl<'s, T: Float, I: Index> Lane<'s, T, I> {
    /// A lane of `len` sums, and one place more than they belong to (see [`add_channels_at`]).
    #[inline(always)]
    pub(super) fn new(scratch: &mut Scratch<'s>, len: usize) -> Self {
        let sums = scratch.row(len + WIDEST);
        Self { group: 0, sums, gradients: RowBuffers::new(scratch, ROW), indices: scratch.row(ROW) }
    }

    /// The scratch bytes of a lane.
    pub(super) fn bytes(len: usize) -> usize {
        booked::<T::Acc>(len.saturating_add(WIDEST)) + RowBuffers::<T>::bytes(ROW) + booked::<I>(ROW)
    }
}

impl<T: Float, I: Index> Outputs<'_, T, I> {
    /// The channels of group `group`.
    #[inline(always)]
    pub(super) fn width_of(&self, group: usize) -> usize {
        self.indices.width_of(group)
    }

    /// Adds the outputs at flat offsets `flat`, in ascending order, to those sums of each lane that their indices
    /// point to, where sums begin at flat offset `first` and are those of `len` places; returns how many it added.
    ///
    /// Neighbouring windows often share their maximum, so that each addition waits for the one before it. Two lanes
    /// of single planes are therefore worked side by side: they are independent, as the channels of a group are.
    #[inline(always)]
    pub(super) fn add(
        &self,
        flat: Range<usize>,
        (first, len): (usize, usize),
        lanes: &mut [Lane<'_, T, I>],
    ) -> u64 {
        let mut n_added = 0;
        let mut start = flat.start;
        while start < flat.end {
            // A row is cut where a run of either tensor ends.
            let left = |run_len: usize| run_len - start % run_len;
            let runs = left(self.grad_output.run_len()).min(left(self.indices.run_len()));
            let width = self.width_of(lanes[0].group);
            let row = start..start + (flat.end - start).min(runs).min(ROW / width);
            start = row.end;
            match lanes {
                [lane] => {
                    let (indices, gradients) = self.load(lane.group, row, (&mut lane.gradients, lane.indices));
                    n_added += match width {
                        1 => add_at((first, &mut lane.sums[..len]), indices, gradients),
                        _ => {
                            let sums = &mut lane.sums[..(len + 1) * width];
                            add_channels_at((first, sums), width, indices, gradients)
                        }
                    };
                }
                [one, two] => {
                    let a = self.load(one.group, row.clone(), (&mut one.gradients, one.indices));
                    let b = self.load(two.group, row, (&mut two.gradients, two.indices));
                    n_added += add_both_at(first, (&mut one.sums[..len], a), (&mut two.sums[..len], b));
                }
                _ => unreachable!("one lane or two"),
            }
        }
        n_added
    }

    #[inline(always)]
    fn load<'b>(
        &self,
        group: usize,
        row: Range<usize>,
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

/// Adds one gradient to the sum that its index points to, if that is among `sums`; returns how many it added.
#[inline(always)]
fn add_one<A: Accumulator, I: Index>((first, sums): (usize, &mut [A]), index: I, gradient: A) -> u64 {
    // The bounds check on the very value that is used is what keeps any index from doing harm.
    match sums.get_mut(index.offset().wrapping_sub(first)) {
        Some(sum) => {
            *sum += gradient;
            1
        }
        None => 0,
    }
}

#[inline(always)]
fn add_at<A: Accumulator, I: Index>((first, sums): (usize, &mut [A]), indices: &[I], gradients: &[A]) -> u64 {
    let outputs = indices.iter().zip(gradients);
    outputs.map(|(&index, &gradient)| add_one((first, sums), index, gradient)).sum()
}

/// As [`add_at`], where each place has `width` channels, each with an index of its own.
///
/// Channels-last planes are worked on in small parts, and many an output around one turns out to belong to the next:
/// as good as random, so nothing is branched on. What belongs elsewhere goes to one place behind the others, whose sums
/// mean nothing.
#[inline(always)]
fn add_channels_at<A: Accumulator, I: Index>(
    (first, sums): (usize, &mut [A]),
    width: usize,
    indices: &[I],
    gradients: &[A],
) -> u64 {
    let len = sums.len() / width - 1;
    let mut n_added = 0;
    for (indices, gradients) in indices.chunks_exact(width).zip(gradients.chunks_exact(width)) {
        for (c, (&index, &gradient)) in indices.iter().zip(gradients).enumerate() {
            let place = index.offset().wrapping_sub(first);
            sums[place.min(len) * width + c] += gradient;
            n_added += u64::from(place < len);
        }
    }
    n_added
}

#[inline(always)]
fn add_both_at<A: Accumulator, I: Index>(
    first: usize,
    (sums_a, (indices_a, gradients_a)): (&mut [A], (&[I], &[A])),
    (sums_b, (indices_b, gradients_b)): (&mut [A], (&[I], &[A])),
) -> u64 {
    let outputs = indices_a.iter().zip(gradients_a).zip(indices_b.iter().zip(gradients_b));
    let added = outputs.map(|((&index_a, &gradient_a), (&index_b, &gradient_b))| {
        add_one((first, sums_a), index_a, gradient_a) + add_one((first, sums_b), index_b, gradient_b)
    });
    added.sum()
}
