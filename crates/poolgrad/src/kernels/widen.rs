//! Widening: rows of outputs, each divided by its window's size and added to the columns of its window.
//!
//! A row has a sum for each stretch of columns and each channel. With one channel, and where no column lies in many windows
//! (two at most in every adaptive pooling to no more outputs than inputs), a table made once for a tile says which outputs each
//! stretch lies in. Wide rows are then fetched, many rows at a time, instead of being added up window by window:
//! `(0.0 + share of the first) + share of the second`, or of nothing, which is the same sum, and so on. Where windows do not
//! overlap, wide rows are the shares.
//!
//! The depths of two neighbouring stretches along D have windows in common, so the rows of the last two `od` are kept,
//! unless there are many.

use std::ops::Range;

use fearless_simd::Simd;

use super::repeats::SLACK;
use super::rows::{self, ROW, RowBuffers};
use super::stretches::Stretches;
use super::taps::Taps;
use crate::dtype::{Accumulator, Float, Sum};
use crate::exec::{Scratch, booked};
use crate::geometry::{AxisWindows, Geometry};
use crate::tensor::raw::Source;

/// Wide rows begin at multiples of this, if they have one channel, so that vectors are full.
const LANES: usize = 8;

/// The elements of the wide rows that are kept, unless a single row has more.
const KEPT: usize = 8 << 10;

/// Rows of outputs of one group, all of one `od`.
#[derive(Clone)]
pub(super) struct OutputRows {
    pub(super) group: usize,
    pub(super) od: usize,
    pub(super) oh: Range<usize>,
}

/// Widens rows along the columns of one tile.
pub(super) struct Widen<'s, T: Float> {
    axes: [AxisWindows; 3],
    width: usize,
    /// The rows that are widened together, and whether they are all that the tile reads of one `od`.
    n_rows: usize,
    are_all: bool,
    table: Option<Table<'s, T::Acc>>,
    /// Shares of outputs; with a table, the last place is for [`NOTHING`].
    shares: &'s mut [T::Acc; ROW],
    /// Wide rows of even and of odd `od`, and the group and `od` that they are of.
    wide: [&'s mut [T::Acc]; 2],
    kept: [Option<(usize, usize)>; 2],
    buffers: RowBuffers<'s, T>,
}

/// What is known of the outputs that reach the tile, where no column lies in more than [`MOST_TAPS`] windows.
struct Table<'s, A> {
    /// The rows that are read together.
    n_rows: usize,
    /// The sizes of the windows of those rows that begin with the second of these numbers, `first` deep.
    sizes: &'s mut [A],
    sized: (usize, usize),
    /// The columns of each window.
    counts: &'s mut [u32],
    /// The outputs that each stretch of each row lies in, counted from the first of all. Nothing where windows do not overlap.
    taps: RowTaps<'s>,
}

/// The most windows that a column lies in for which there is a table: it takes more room with each.
const MOST_TAPS: usize = 8;

/// Taps into the shares of a row.
type RowTaps<'s> = Taps<'s, ROW>;

/// The most outputs that a row of one channel may reach for there to be a table.
pub(super) const MOST_OUTPUTS: usize = RowTaps::MOST;

/// The most elements from one wide row of `n_columns` to the next.
pub(super) fn most_pitch(axis: &AxisWindows, n_columns: usize, width: usize) -> usize {
    pitch(Stretches::most(axis, n_columns), width)
}

/// The elements from one wide row of `n_stretches` to the next.
#[inline(always)]
pub(super) fn pitch(n_stretches: usize, width: usize) -> usize {
    if width == 1 { n_stretches.next_multiple_of(LANES) } else { n_stretches * width }
}

/// At least the windows that a column lies in, and at least two; 0 where windows do not overlap, or there is no table.
fn n_taps(axis: &AxisWindows) -> usize {
    match axis.most_sharing() {
        n if n <= MOST_TAPS && !axis.are_disjoint() => n.max(2),
        _ => 0,
    }
}

impl<'s, T: Float> Widen<'s, T> {
    /// The scratch bytes for rows of up to `n_columns` columns of `width` channels.
    pub(super) fn bytes(axis: &AxisWindows, n_columns: usize, width: usize) -> usize {
        let pitch = most_pitch(axis, n_columns, width);
        2 * booked::<T::Acc>(KEPT.max(pitch) + SLACK)
            + 2 * booked::<T::Acc>(ROW)
            + RowBuffers::<T>::bytes(ROW)
            + booked::<u32>(ROW)
            + booked::<u32>(n_taps(axis) * KEPT.max(pitch))
            + RowTaps::bytes::<T::Acc>(KEPT.max(pitch))
    }

    /// For `columns` of the outputs `oh` of rows of `width` channels.
    #[inline(always)]
    pub(super) fn new<S: Simd>(
        simd: S,
        (grad_output, geometry): (&Source<'_, T>, &Geometry),
        (oh, columns): (&Range<usize>, &Stretches<'_>),
        width: usize,
        scratch: &mut Scratch<'s>,
    ) -> Self {
        let len = KEPT.max(most_pitch(&geometry.axes[2], columns.n_places, width));
        let n_rows = (len / pitch(columns.len(), width)).min(oh.len());
        let wide = [scratch.row(len + SLACK), scratch.row(len + SLACK)];
        let shares = scratch.row(ROW).try_into().unwrap_or_else(|_| unreachable!("a row of that length"));
        let buffers = RowBuffers::new(scratch, ROW);
        let axes = geometry.axes;
        let table = if width == 1 && columns.outputs.len() <= MOST_OUTPUTS {
            let [_, n_h, n_w] = geometry.output();
            let are_neighbours = columns.outputs.len() == n_w && grad_output.run_len() >= n_h * n_w;
            let most = if are_neighbours { MOST_OUTPUTS / n_w } else { 1 };
            Table::new(simd, (&axes[2], columns), n_rows.min(most), scratch)
        } else {
            None
        };
        Self { axes, width, n_rows, are_all: n_rows == oh.len(), table, shares, wide, kept: [None; 2], buffers }
    }

    /// Whether those are all that the tile reads of one `od`.
    #[inline(always)]
    pub(super) fn are_all(&self) -> bool {
        self.are_all
    }

    /// Whether windows along H do not overlap.
    #[inline(always)]
    pub(super) fn are_disjoint_along_h(&self) -> bool {
        self.axes[1].are_disjoint()
    }

    /// The rows that are widened together.
    #[inline(always)]
    pub(super) fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// The elements from one wide row of a group of `width` channels to the next.
    #[inline(always)]
    pub(super) fn pitch(&self, columns: &Stretches<'_>, width: usize) -> usize {
        // A last group of one channel among wider ones is laid out like these.
        if self.width == 1 { pitch(columns.len(), 1) } else { columns.len() * width }
    }

    /// The rows of `outputs` that were made last of their `od`, each with what fills it up, and [`SLACK`] behind the last.
    #[inline(always)]
    pub(super) fn made(&self, outputs: &OutputRows, pitch: usize) -> &[T::Acc] {
        &self.wide[outputs.od % 2][..outputs.oh.len() * pitch + SLACK]
    }

    /// Widens the rows of `outputs`, unless they are kept.
    #[inline(always)]
    pub(super) fn make<S: Simd>(
        &mut self,
        simd: S,
        grad_output: &Source<'_, T>,
        outputs: &OutputRows,
        columns: &Stretches<'_>,
    ) {
        let width = grad_output.width_of(outputs.group);
        let pitch = self.pitch(columns, width);
        let slot = outputs.od % 2;
        let of = Some((outputs.group, outputs.od));
        if self.kept[slot] != of {
            self.kept[slot] = if self.are_all { of } else { None };
            let wide = &mut self.wide[slot][..outputs.oh.len() * pitch + SLACK];
            match &mut self.table {
                Some(table) => {
                    let to = (wide, &mut *self.shares);
                    table.fetch(simd, grad_output, (outputs, columns, &self.axes), to, &mut self.buffers);
                }
                None => self.add_up(grad_output, (outputs, columns), slot, width),
            }
        }
    }

    /// Widens rows window by window.
    #[inline(always)]
    fn add_up(
        &mut self,
        grad_output: &Source<'_, T>,
        (outputs, columns): (&OutputRows, &Stretches<'_>),
        slot: usize,
        width: usize,
    ) {
        let pitch = self.pitch(columns, width);
        let [axis_d, axis_h, axis_w] = &self.axes;
        let n_depths = axis_d.window(outputs.od).count as u64;
        let shares = &mut self.shares[..width];
        // Then each window is as wide as any, and nothing is added up.
        let are_stretches = axis_w.are_disjoint();
        for (oh, wide) in outputs.oh.clone().zip(self.wide[slot].chunks_exact_mut(pitch)) {
            let n_rows = n_depths * axis_h.window(oh).count as u64;
            let flat = (outputs.od * axis_h.output() + oh) * axis_w.output();
            if !are_stretches {
                rows::clear(wide);
            }
            let (mut start, mut stretches) = (columns.outputs.start, 0..0);
            while start < columns.outputs.end {
                let part = start..columns.outputs.end.min(start + ROW / width);
                let row = grad_output.row(outputs.group, flat + part.start..flat + part.end);
                let gradients = self.buffers.widen(row);
                if are_stretches {
                    let count = T::Acc::from_count(n_rows * axis_w.window(part.start).count as u64);
                    let sums = &mut wide[(part.start - columns.outputs.start) * width..][..gradients.len()];
                    let shares = sums.iter_mut().zip(gradients);
                    shares.for_each(|(sum, &gradient)| *sum = T::Acc::ZERO + gradient / count);
                    start = part.end;
                    continue;
                }
                for (ow, gradients) in part.clone().zip(gradients.chunks_exact(width)) {
                    let count = T::Acc::from_count(n_rows * axis_w.window(ow).count as u64);
                    for (share, &gradient) in shares.iter_mut().zip(gradients) {
                        *share = gradient / count;
                    }
                    stretches = columns.of(ow, stretches.start);
                    let sums = wide[stretches.start * width..stretches.end * width].chunks_exact_mut(width);
                    sums.for_each(|sums| rows::add(sums, shares));
                }
                start = part.end;
            }
        }
    }
}

/// The shares of outputs.
#[inline(always)]
fn divide<A: Accumulator>(gradients: &[A], sizes: &[A], shares: &mut [A]) {
    for ((share, &gradient), &size) in shares.iter_mut().zip(gradients).zip(sizes) {
        *share = A::ZERO + gradient / size;
    }
}

impl<'s, A: Accumulator> Table<'s, A> {
    /// The table of a tile whose rows are read `n_rows` at a time, or `None` if columns lie in too many windows.
    #[inline(always)]
    fn new<S: Simd>(
        simd: S,
        (axis, columns): (&AxisWindows, &Stretches<'_>),
        n_rows: usize,
        scratch: &mut Scratch<'s>,
    ) -> Option<Self> {
        let outputs = &columns.outputs;
        let n_taps = match columns.iter().map(|stretch| stretch.outputs.len()).max() {
            _ if axis.are_disjoint() => 0,
            Some(n) if n <= n_taps(axis) => n.max(2),
            _ => return None,
        };
        let sizes = &mut scratch.row::<A>(ROW)[..n_rows * outputs.len()];
        let counts = &mut scratch.row::<u32>(ROW)[..outputs.len()];
        match axis.tiling() {
            Some(size) => counts.fill(u32::try_from(size).ok()?),
            None => {
                let mut windows = axis.windows_from(outputs.start);
                for count in &mut *counts {
                    *count = u32::try_from(windows.next().count).ok()?;
                }
            }
        }
        let pitch = pitch(columns.len(), 1);
        let len = n_rows * pitch;
        let taps = scratch.row::<u32>(n_taps * len);
        taps.fill(RowTaps::NOTHING);
        if n_taps > 0 {
            for (taps, number) in taps.chunks_exact_mut(len).zip(0..) {
                for (row, taps) in taps.chunks_exact_mut(pitch).enumerate() {
                    let first = row * outputs.len() + number;
                    for (tap, stretch) in taps.iter_mut().zip(columns.iter()) {
                        if number < stretch.outputs.len() {
                            *tap = (first + stretch.outputs.start - outputs.start) as u32;
                        }
                    }
                }
            }
        }
        let taps = Taps::new::<S, A>(simd, (taps, len, 1), scratch);
        Some(Self { n_rows, sizes, sized: (0, 0), counts, taps })
    }

    /// Widens rows into `wide`.
    #[inline(always)]
    fn fetch<S: Simd, T: Float<Acc = A>>(
        &mut self,
        simd: S,
        grad_output: &Source<'_, T>,
        (outputs, columns, axes): (&OutputRows, &Stretches<'_>, &[AxisWindows; 3]),
        (wide, shares): (&mut [A], &mut [A; ROW]),
        buffers: &mut RowBuffers<'_, T>,
    ) {
        let pitch = pitch(columns.len(), 1);
        let len = columns.outputs.len();
        let row = |oh: usize| (outputs.od * axes[1].output() + oh) * axes[2].output() + columns.outputs.start;
        for oh in outputs.oh.clone().step_by(self.n_rows) {
            let n_rows = self.n_rows.min(outputs.oh.end - oh);
            let wide = &mut wide[(oh - outputs.oh.start) * pitch..];
            let gradients = buffers.widen(grad_output.row(outputs.group, row(oh)..row(oh) + n_rows * len));
            self.size((outputs.od, oh..oh + n_rows), axes);
            if self.taps.is_empty() {
                // Rows that nothing fills up are one.
                let (len, pitch) = if len == pitch { (n_rows * len, n_rows * len) } else { (len, pitch) };
                let rows = gradients.chunks_exact(len).zip(self.sizes.chunks_exact(len));
                for (wide, (gradients, sizes)) in wide.chunks_exact_mut(pitch).zip(rows) {
                    divide(gradients, sizes, wide);
                }
                continue;
            }
            divide(gradients, self.sizes, shares);
            shares[RowTaps::NOTHING as usize] = A::ZERO;
            self.taps.sum(simd, shares, wide, n_rows * pitch);
        }
    }

    /// Makes the sizes those of the windows of the rows `oh` of `od`.
    #[inline(always)]
    fn size(&mut self, (od, oh): (usize, Range<usize>), axes: &[AxisWindows; 3]) {
        let n_depths = axes[0].window(od).count;
        // Windows that do not overlap are all of one size.
        let first = if axes[1].are_disjoint() { 0 } else { oh.start };
        if self.sized == (n_depths, first) {
            return;
        }
        // The sizes of fewer rows would not do for the next time.
        let known = if oh.len() < self.n_rows { 0 } else { n_depths };
        self.sized = (known, first);
        for (oh, sizes) in oh.zip(self.sizes.chunks_exact_mut(self.counts.len())) {
            let n_rows = n_depths as u64 * axes[1].window(oh).count as u64;
            for (size, &count) in sizes.iter_mut().zip(&*self.counts) {
                *size = A::from_count(n_rows * u64::from(count));
            }
        }
    }
}
