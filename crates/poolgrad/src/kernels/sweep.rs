//! The gradient of max pooling, swept along a plane: each output is read once, and sums leave when no window needs them.
//!
//! ```text
//! grad_input[n, c, i] = Σ { grad_output[n, c, o] : indices[n, c, o] = i },   o ascending, from +0.0
//! ```
//!
//! A plane is a stack of *slices*: its depths, or its rows if it has one depth. The sums of as many slices as a few
//! consecutive outputs can reach are held in the cache. Along the stack, again and again:
//!
//! 1. write out, rounded, the slices that lie before the windows of the next outputs, and move the rest to the front;
//! 2. clear the sums of the slices that those windows reach anew;
//! 3. add those outputs, in ascending order, where their indices point.
//!
//! An index may point outside its window: that is legal, and then its sum may not be held any more, or not yet. So
//! the kernel counts the additions. If all outputs were added, nothing more needs to be looked at; otherwise the
//! caller finds out why. With all slices of a plane held at once, every index of its volume is found.
//!
//! A tile that is part of a plane also reads the outputs of its neighbours that reach into it, and adds only what is
//! its own; so every output is still added at most once.
//!
//! Traffic per output: its gradient and index, read once; per input: one write of its gradient.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::outputs::{Lane, Outputs};
use super::rows;
use crate::dtype::{Float, Index};
use crate::exec::{Scratch, TileKernel, booked};
use crate::geometry::{AxisWindows, Geometry};
use crate::tensor::raw::{OutTile, Tile};

/// How planes are swept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SweepShape {
    axis: AxisWindows,
    /// The inputs, and the outputs, of one place along the axis.
    slice_len: usize,
    output_slice_len: usize,
    /// How many places of outputs are added at a time, and the most slices that their windows reach.
    step: usize,
    held: usize,
    /// The channels of a group.
    width: usize,
    /// The groups that are swept side by side.
    n_lanes: usize,
}

impl SweepShape {
    /// A sweep that holds about `most` sums, if it can: windows of a single place may reach more.
    pub(crate) fn new(geometry: &Geometry, width: usize, most: usize) -> Self {
        let (input, output) = (geometry.input(), geometry.output());
        // The slowest axis that has more than one place; a single place of output would have to span them all.
        let i = (0..2).find(|&i| input[i] > 1 || output[i] > 1).unwrap_or(2);
        let after = |sizes: [usize; 3]| sizes[i + 1..].iter().product::<usize>();
        let (axis, slice_len) = (geometry.axes[i], after(input));
        let mut step = 1;
        while step < axis.output() && axis.most_covered(2 * step).saturating_mul(slice_len * width) <= most {
            step *= 2;
        }
        let held = if step >= axis.output() { axis.input() } else { axis.most_covered(step) };
        // Single planes are swept two at a time where both fit; channels of a wider group are independent anyway.
        let sums_len = held.saturating_mul(slice_len).saturating_mul(width);
        let n_lanes = if width == 1 && sums_len / 4 <= most { 2 } else { 1 };
        Self { axis, slice_len, output_slice_len: after(output), step, held, width, n_lanes }
    }

    /// A sweep that holds whole planes.
    pub(crate) fn whole(geometry: &Geometry, width: usize) -> Self {
        Self::new(geometry, width, usize::MAX)
    }

    /// The sums that one lane holds.
    pub(crate) fn sums_len(&self) -> usize {
        self.held.saturating_mul(self.slice_len).saturating_mul(self.width)
    }

    /// The sums of lane number `lane`.
    fn lane_len(&self, lane: usize) -> usize {
        if lane < self.n_lanes { self.sums_len() } else { 0 }
    }

    /// The unit that tiles must not cut.
    pub(crate) fn slice_len(&self) -> usize {
        self.slice_len
    }

    /// The scratch bytes of one worker.
    pub(crate) fn bytes<T: Float, I: Index>(&self) -> usize {
        let lanes = (0..2).map(|lane| Lane::<T, I>::bytes(self.lane_len(lane)));
        lanes.fold(booked::<T>(rows::ROW), usize::saturating_add)
    }
}

/// The outputs, how planes are swept, and the count of outputs that were added.
pub(crate) struct Sweep<'a, T: Float, I: Index> {
    outputs: Outputs<'a, T, I>,
    shape: SweepShape,
    n_added: AtomicU64,
}

impl<'a, T: Float, I: Index> Sweep<'a, T, I> {
    pub(crate) fn new(outputs: Outputs<'a, T, I>, shape: SweepShape) -> Self {
        Self { outputs, shape, n_added: AtomicU64::new(0) }
    }

    /// The number of outputs that were added.
    pub(crate) fn n_added(&self) -> u64 {
        self.n_added.load(Ordering::Relaxed)
    }
}

impl<T: Float, I: Index> TileKernel<T, I> for Sweep<'_, T, I> {
    #[inline(always)]
    fn fill(&self, mut tile: Tile<'_, T, I>, mut scratch: Scratch<'_>) {
        let range = tile.range();
        let n_lanes = self.shape.n_lanes;
        let mut lanes = std::array::from_fn::<_, 2, _>(|lane| Lane::new(&mut scratch, self.shape.lane_len(lane)));
        let staging = rows::staging(&mut scratch);
        let slices = range.flat.start / self.shape.slice_len..range.flat.end / self.shape.slice_len;
        let mut n_added = 0;
        let mut group = range.groups.start;
        while group < range.groups.end {
            let n_lanes = n_lanes.min(range.groups.end - group);
            for (lane, group) in lanes.iter_mut().zip(group..) {
                lane.group = group;
            }
            n_added += self.sweep(slices.clone(), &mut lanes[..n_lanes], (&mut tile.first, staging));
            group += n_lanes;
        }
        self.n_added.fetch_add(n_added, Ordering::Relaxed);
    }
}

impl<T: Float, I: Index> Sweep<'_, T, I> {
    /// Fills `slices` of the groups of all lanes; returns how many outputs it added.
    #[inline(always)]
    fn sweep(
        &self,
        slices: Range<usize>,
        lanes: &mut [Lane<'_, T, I>],
        (out, staging): (&mut OutTile<'_, T>, &mut [T]),
    ) -> u64 {
        let SweepShape { axis, slice_len, output_slice_len, step, .. } = self.shape;
        let sums_per_slice = slice_len * self.outputs.width_of(lanes[0].group);
        // The slices whose sums are held, the first of them at the front.
        let mut held = slices.start..slices.start;
        let mut n_added = 0;
        let Range { start: mut first, end } = axis.reaching(slices.clone());
        while first < end {
            let last = end.min(first + step);
            // Where everything is held, so are the slices that no window reaches: an index may point there too.
            let stop = if step < axis.output() { axis.cover(last - 1).end.min(slices.end) } else { slices.end };
            let start = axis.cover(first).start;
            self.release(&mut held, start.min(slices.end), lanes, (out, staging));
            for lane in &mut *lanes {
                let (from, to) = (held.len(), stop.saturating_sub(held.start));
                rows::clear(&mut lane.sums[from * sums_per_slice..to.max(from) * sums_per_slice]);
            }
            held.end = held.end.max(stop);
            let outputs = first * output_slice_len..last * output_slice_len;
            n_added += self.outputs.add(outputs, (held.start * slice_len, held.len() * slice_len), lanes);
            first = last;
        }
        self.release(&mut held, slices.end, lanes, (out, staging));
        n_added
    }

    /// Writes out all slices before `start`, and moves those that are held beyond it to the front.
    #[inline(always)]
    fn release(
        &self,
        held: &mut Range<usize>,
        start: usize,
        lanes: &mut [Lane<'_, T, I>],
        (out, staging): (&mut OutTile<'_, T>, &mut [T]),
    ) {
        let slice_len = self.shape.slice_len;
        let sums_per_slice = slice_len * self.outputs.width_of(lanes[0].group);
        while held.start < start {
            if held.start == held.end {
                // No window reaches these slices.
                held.end = start.min(held.start + self.shape.held);
                for lane in &mut *lanes {
                    rows::clear(&mut lane.sums[..held.len() * sums_per_slice]);
                }
            }
            let n_done = start.min(held.end) - held.start;
            for lane in &mut *lanes {
                let done = &lane.sums[..n_done * sums_per_slice];
                rows::store(out, (lane.group, held.start * slice_len), done, staging);
                lane.sums.copy_within(n_done * sums_per_slice..held.len() * sums_per_slice, 0);
            }
            held.start += n_done;
        }
    }
}
