//! The gradient of max pooling, swept along a plane: each output is read once, and sums leave when no window needs them.
//!
//! ```text
//! grad_input[n, c, i] = Σ { grad_output[n, c, o] : indices[n, c, o] = i },   o ascending, from +0.0
//! ```
//!
//! A plane is a stack of *slices*: its depths, or its rows if it has one depth. The sums of as many slices as a few
//! consecutive outputs can reach are held in the cache, as a ring. Along the stack, again and again:
//!
//! 1. write out, rounded, the slices that lie before the windows of the next outputs, and leave zeros in their places;
//! 2. begin there with the sums of the slices that those windows reach anew;
//! 3. add those outputs, in ascending order, where their indices point (see [`Terms`]).
//!
//! Where slices are too large for that, a block of the plane is swept at a time: some rows of each slice, or some columns
//! of some rows. Where the output can hold the sums and is not to be streamed, they are formed in it. Sums of a
//! narrower type are held as such where each has one term, and also where few have more (see [`SecondTerms`]).
//! What is written past the cache leaves row by row of single planes, and line by line of groups of channels, while outputs are
//! added that come after, where windows reach few slices (see `sweep_rows` and `sweep_lines`).
//!
//! An index may point outside its window: that is legal, and then its sum may not be held any more, or not yet. So
//! the kernel counts the additions. If all outputs were added, nothing more needs to be looked at; otherwise the
//! caller finds out why; tiles that come after planes that were not are left as they are.
//!
//! A tile that is part of a plane also reads the outputs of its neighbours that reach into it, and adds only what is
//! its own; so every output is still added at most once.
//!
//! Traffic per output: its gradient and index, read once, and once more for each neighbouring block that its window
//! reaches; per input: one write of its gradient.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use fearless_simd::Simd;

use super::locate::{FlatFrom, InBlock, InRing, InSlices, Locate};
use super::outputs::{LANES, Lane, Outputs};
use super::rows::{self, ROW};
use super::second::SecondTerms;
use super::sweep_shape::{Leave, SweepShape};
use super::terms::Terms;
use crate::dtype::{Index, Summed};
use crate::exec::{Scratch, TileKernel, booked};
use crate::tensor::raw::{OutTile, Tile};

/// The outputs, how planes are swept, and the count of outputs that were added.
pub(crate) struct Sweep<'a, T: Summed, I: Index> {
    pub(super) outputs: Outputs<'a, T, I>,
    pub(super) shape: SweepShape,
    n_added: AtomicU64,
    /// Whether some planes have outputs that were not added, so that the caller will fill all tiles by other means.
    in_vain: AtomicBool,
}

impl<'a, T: Summed, I: Index> Sweep<'a, T, I> {
    pub(crate) fn new(outputs: Outputs<'a, T, I>, shape: SweepShape) -> Self {
        Self { outputs, shape, n_added: AtomicU64::new(0), in_vain: AtomicBool::new(false) }
    }

    /// The number of outputs that were added.
    pub(crate) fn n_added(&self) -> u64 {
        self.n_added.load(Ordering::Relaxed)
    }

    /// The scratch bytes of one worker.
    pub(crate) fn bytes(shape: &SweepShape) -> usize {
        let sums = booked::<T::Acc>(shape.sums_len()).saturating_mul(shape.n_lanes);
        let second = if shape.second_terms > 0 { SecondTerms::<T::Acc>::bytes(shape.second_terms) } else { 0 };
        let lane = Lane::<T, I>::bytes(Terms::<T::Acc>::most(shape.width));
        // The sums of a lane that is not used are empty, and still begin on a line.
        let others = LANES * (lane + booked::<T::Acc>(0)) + shape.n_lanes * second + booked::<T>(ROW);
        sums.saturating_add(others)
    }
}

impl<T: Summed, I: Index> TileKernel<T, I> for Sweep<'_, T, I> {
    #[inline(always)]
    fn fill<S: Simd>(&self, simd: S, mut tile: Tile<'_, T, I>, mut scratch: Scratch<'_>) {
        if self.in_vain.load(Ordering::Relaxed) {
            return;
        }
        let range = tile.range();
        let SweepShape { n_lanes, width, second_terms, .. } = self.shape;
        let sums_len = self.shape.sums_len();
        let is_new = scratch.is_new();
        let lane_len = |lane| if lane < n_lanes { sums_len } else { 0 };
        let mut held: [_; LANES] = std::array::from_fn(|lane| scratch.row::<T::Acc>(lane_len(lane)));
        // Afterwards those that are written leave zeros, unless they are cleared before they are used.
        if is_new && !matches!(self.shape.leave, Leave::Rows { between: false, .. }) {
            held.iter_mut().for_each(|sums| rows::clear(sums));
        }
        let staging = rows::staging(&mut scratch);
        let mut lanes: [_; LANES] = std::array::from_fn(|i| {
            let lane = Lane::new(&mut scratch, Terms::<T::Acc>::most(width));
            let has_second = second_terms > 0 && i < n_lanes;
            if has_second { lane.with_second_terms(&mut scratch, second_terms) } else { lane }
        });
        let stack = Stack::new(&self.shape, &range.block);
        let mut n_added = 0;
        let mut group = range.groups.start;
        while group < range.groups.end {
            let n_left = range.groups.end - group;
            let n_now = if n_left < n_lanes { 1 } else { n_lanes };
            let groups = group..group + n_now;
            for (lane, group) in lanes.iter_mut().zip(groups.clone()) {
                lane.group = group;
            }
            n_added += match self.shape.leave {
                Leave::Slices => {
                    let memory = if self.shape.in_place {
                        tile.first.memory(groups.clone(), range.flat.clone())
                    } else {
                        None
                    };
                    let sums = match memory.and_then(T::as_wide_mut) {
                        Some(memory) => {
                            let mut parts = memory.chunks_exact_mut(memory.len() / n_now);
                            let lanes = [(); LANES].map(|()| parts.next().unwrap_or_default());
                            Sums { lanes, ring: stack.slices.len(), out: None }
                        }
                        None => {
                            let mut parts = held.iter_mut();
                            let lanes =
                                [(); LANES].map(|()| parts.next().map(|part| &mut **part).unwrap_or_default());
                            Sums { lanes, ring: self.shape.held, out: Some((&mut tile.first, &mut *staging)) }
                        }
                    };
                    self.sweep(simd, &stack, &mut lanes[..n_now], sums)
                }
                Leave::Rows { n_rows, between } => {
                    let out = (&mut tile.first, &mut *staging);
                    self.sweep_rows(simd, (stack.slices.clone(), n_rows, between), &mut lanes[0], held[0], out)
                }
                Leave::Lines => {
                    self.sweep_lines(simd, &stack, &mut lanes[0], held[0], (&mut tile.first, &mut *staging))
                }
            };
            group = groups.end;
        }
        self.n_added.fetch_add(n_added, Ordering::Relaxed);
        // What a tile of part of a plane should add is not known.
        let width: usize = range.groups.clone().map(|group| self.outputs.width_of(group)).sum();
        let is_whole = range.flat.len() == self.shape.dims().iter().product();
        if is_whole && n_added < (self.outputs.indices.plane_len() * width) as u64 {
            self.in_vain.store(true, Ordering::Relaxed);
        }
    }
}

/// The sums of each lane, and where they are written to; the output's own memory, if nowhere.
struct Sums<'m, 't, T: Summed> {
    lanes: [&'m mut [T::Acc]; LANES],
    /// The slices that there is room for: the sums of a slice lie where those of the slice so many before it lay.
    ring: usize,
    out: Option<(&'m mut OutTile<'t, T>, &'m mut [T])>,
}

/// A block of a plane as a stack of parts of slices.
pub(super) struct Stack {
    pub(super) slices: Range<usize>,
    /// The rows and the columns, and the outputs that reach them.
    pub(super) rows: Range<usize>,
    columns: Range<usize>,
    pub(super) reaching: [Range<usize>; 2],
    /// The places of the block in each slice.
    pub(super) part: usize,
    cut: Cut,
    locate: InBlock,
}

/// What is left out of a slice.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cut {
    Nothing,
    Rows,
    Columns,
}

impl Stack {
    fn new(shape: &SweepShape, block: &[Range<usize>; 3]) -> Self {
        let [slices, rows, columns] = block.clone();
        let [_, n_rows, n_columns] = shape.dims();
        let cut = match (rows.len() == n_rows, columns.len() == n_columns) {
            (true, true) => Cut::Nothing,
            (false, true) => Cut::Rows,
            (_, false) => Cut::Columns,
        };
        Self {
            reaching: [shape.axes[1].reaching(rows.clone()), shape.axes[2].reaching(columns.clone())],
            part: rows.len() * columns.len(),
            cut,
            locate: InBlock::new(shape.dims(), block.clone()),
            slices,
            rows,
            columns,
        }
    }

    /// Where in a ring of `ring` slices a slice is.
    #[inline(always)]
    pub(super) fn slot(&self, slice: usize, ring: usize) -> usize {
        (slice - self.slices.start) % ring
    }
}

impl<T: Summed, I: Index> Sweep<'_, T, I> {
    /// Forms the sums of a block of the groups of all lanes; returns how many outputs it added.
    #[inline(always)]
    fn sweep<S: Simd>(
        &self,
        simd: S,
        stack: &Stack,
        lanes: &mut [Lane<'_, T, I>],
        mut sums: Sums<'_, '_, T>,
    ) -> u64 {
        let SweepShape { axes: [axis, ..], step, .. } = self.shape;
        let slices = &stack.slices;
        // The slices whose sums are held.
        let mut held = slices.start..slices.start;
        let mut n_added = 0;
        let Range { start: mut first, end } = axis.reaching(slices.clone());
        loop {
            let last = end.min(first + step);
            let (mut start, mut stop) = (slices.end, slices.end);
            if first < end {
                start = start.min(axis.cover(first).start);
                // Where everything is held, so are the slices that no window reaches: an index may point there too.
                stop = if step < axis.output() { stop.min(axis.cover(last - 1).end) } else { stop };
            }
            while held.start < start {
                if held.start == held.end {
                    // No window reaches these slices.
                    let most = held.start + sums.ring;
                    self.hold(stack, &mut held, start.min(most), lanes, &mut sums);
                }
                let released = held.start..start.min(held.end);
                held.start = released.end;
                self.release(simd, (stack, released), lanes, &mut sums);
            }
            if first >= end {
                return n_added;
            }
            let stop = stop.max(held.end);
            self.hold(stack, &mut held, stop, lanes, &mut sums);
            n_added += self.add(stack, (first..last, &held), lanes, &mut sums);
            first = last;
        }
    }

    /// Holds slices up to `end` too.
    #[inline(always)]
    fn hold(
        &self,
        stack: &Stack,
        held: &mut Range<usize>,
        end: usize,
        lanes: &[Lane<'_, T, I>],
        sums: &mut Sums<'_, '_, T>,
    ) {
        let part = stack.part * self.outputs.width_of(lanes[0].group);
        while held.end < end {
            let slot = stack.slot(held.end, sums.ring);
            let n_slices = (end - held.end).min(sums.ring - slot);
            if sums.out.is_none() {
                for lane in sums.lanes.iter_mut().take(lanes.len()) {
                    rows::clear_output(&mut lane[slot * part..(slot + n_slices) * part]);
                }
            }
            held.end += n_slices;
        }
    }

    /// Adds the outputs at `places` of the stack to the sums of the slices that are held.
    #[inline(always)]
    fn add(
        &self,
        stack: &Stack,
        (places, held): (Range<usize>, &Range<usize>),
        lanes: &mut [Lane<'_, T, I>],
        sums: &mut Sums<'_, '_, T>,
    ) -> u64 {
        let [_, n_rows, n_columns] = self.shape.output_dims();
        let first = stack.slot(held.start, sums.ring) * stack.part;
        let ring = (first, sums.ring * stack.part);
        let n_held = held.len() * stack.part;
        let n_sums = ring.1 * self.outputs.width_of(lanes[0].group);
        let sums = sums.lanes.each_mut().map(|sums| &mut sums[..]);
        let locate = stack.locate.with_depths(held);
        match stack.cut {
            Cut::Nothing => {
                let flat = places.start * n_rows * n_columns..places.end * n_rows * n_columns;
                let locate = InRing::new(FlatFrom::new(held.start * stack.part), n_held, ring);
                // Two functions, as the compiler needs to know the number of planes.
                if let Ok(lanes) = <&mut [_; LANES]>::try_from(&mut *lanes) {
                    return self.outputs.add_side_by_side(
                        flat,
                        lanes,
                        (locate, sums.map(|sums| &mut sums[..n_sums])),
                    );
                }
                let [sums, ..] = sums;
                self.outputs.add(flat, &mut lanes[0], (locate, &mut sums[..n_sums]))
            }
            Cut::Rows if held.len() <= InSlices::MOST => {
                let [sums, ..] = sums;
                let rows = stack.rows.start * stack.columns.len()..stack.rows.end * stack.columns.len();
                let n_slots = ring.1 / stack.part;
                let locate = InSlices::new(held, self.shape.slice_len(), rows, |slice| {
                    stack.slot(slice, n_slots) * stack.part
                });
                self.add_rows(stack, places, &mut lanes[0], (locate, &mut sums[..n_sums]))
            }
            Cut::Rows => {
                let [sums, ..] = sums;
                let locate = InRing::new(locate.of_whole_rows(), n_held, ring);
                self.add_rows(stack, places, &mut lanes[0], (locate, &mut sums[..n_sums]))
            }
            Cut::Columns => {
                let [sums, ..] = sums;
                self.add_rows(
                    stack,
                    places,
                    &mut lanes[0],
                    (InRing::new(locate, n_held, ring), &mut sums[..n_sums]),
                )
            }
        }
    }

    /// [`Sweep::add`] for part of each slice.
    #[inline(always)]
    fn add_rows(
        &self,
        stack: &Stack,
        places: Range<usize>,
        lane: &mut Lane<'_, T, I>,
        (locate, sums): (impl Locate, &mut [T::Acc]),
    ) -> u64 {
        let [_, n_rows, n_columns] = self.shape.output_dims();
        let [rows, columns] = &stack.reaching;
        let mut n_added = 0;
        for place in places {
            let first = place * n_rows;
            if columns.len() == n_columns {
                let flat = (first + rows.start) * n_columns..(first + rows.end) * n_columns;
                n_added += self.outputs.add(flat, lane, (locate, &mut *sums));
                continue;
            }
            for row in first + rows.start..first + rows.end {
                let flat = row * n_columns + columns.start..row * n_columns + columns.end;
                n_added += self.outputs.add(flat, lane, (locate, &mut *sums));
            }
        }
        n_added
    }

    /// Lets go of `slices`: rounds and writes their sums.
    #[inline(always)]
    fn release<S: Simd>(
        &self,
        simd: S,
        (stack, slices): (&Stack, Range<usize>),
        lanes: &mut [Lane<'_, T, I>],
        sums: &mut Sums<'_, '_, T>,
    ) {
        for (sums_of, lane) in sums.lanes.iter_mut().zip(lanes) {
            let part = stack.part * self.outputs.width_of(lane.group);
            let mut first = slices.start;
            while first < slices.end {
                let slot = stack.slot(first, sums.ring);
                let n_slices = (slices.end - first).min(sums.ring - slot);
                let places = slot * part..(slot + n_slices) * part;
                lane.settle(places.clone(), sums_of);
                if let Some((out, staging)) = &mut sums.out {
                    let out = (&mut **out, &mut **staging);
                    self.drain(simd, (stack, (lane.group, first)), &mut sums_of[places], out);
                }
                first += n_slices;
            }
        }
    }

    /// Writes the sums of some slices from `first` on, and leaves zeros.
    #[inline(always)]
    fn drain<S: Simd>(
        &self,
        simd: S,
        (stack, (group, first)): (&Stack, (usize, usize)),
        sums: &mut [T::Acc],
        (out, staging): (&mut OutTile<'_, T>, &mut [T]),
    ) {
        let [_, n_rows, n_columns] = self.shape.dims();
        let width = self.outputs.width_of(group);
        // The places that are neighbours in the plane.
        let piece = match stack.cut {
            Cut::Nothing => sums.len() / width,
            Cut::Rows => stack.part,
            Cut::Columns => stack.columns.len(),
        };
        for (i, sums) in sums.chunks_exact_mut(piece * width).enumerate() {
            let (slice, row) = match stack.cut {
                Cut::Nothing | Cut::Rows => (first + i, stack.rows.start),
                Cut::Columns => (first + i / stack.rows.len(), stack.rows.start + i % stack.rows.len()),
            };
            let flat = (slice * n_rows + row) * n_columns + stack.columns.start;
            rows::drain(simd, out, (group, flat), sums, staging);
        }
    }
}
