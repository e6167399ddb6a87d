//! Widening: one row of outputs, each divided by its window's size and added to the columns of its window.
//!
//! Where no column lies in more than two windows, as in every adaptive pooling to no more outputs than inputs, a table
//! made once for a tile says which outputs each column lies in. A wide row is then fetched, a few columns at a time,
//! instead of being added up window by window: `(0.0 + share of the first) + share of the second`, or of nothing, which
//! is the same sum.

use std::ops::Range;

use super::rows::{self, ROW, RowBuffers};
use crate::dtype::{Accumulator, Float, Sum};
use crate::exec::{Scratch, booked};
use crate::geometry::{AxisWindows, Window};
use crate::tensor::raw::Source;

/// One row of outputs of one group, and the number of rows of its windows.
pub(super) struct OutputRow {
    pub(super) group: usize,
    /// The flat offset of its first output.
    pub(super) flat: usize,
    pub(super) n_rows: u64,
}

/// Widens rows along the columns of one tile.
pub(super) struct Widen<'s, T: Float> {
    axis: AxisWindows,
    /// The columns of the tile, and the outputs that reach them.
    columns: Range<usize>,
    outputs: Range<usize>,
    table: Option<Table<'s>>,
    /// Shares of outputs; the last place is for [`NOTHING`].
    shares: &'s mut [T::Acc; ROW],
    wide: &'s mut [T::Acc],
    buffers: RowBuffers<'s, T>,
}

/// For each column, the outputs whose windows it lies in, counted from the first that reaches the tile.
struct Table<'s> {
    first: &'s mut [u32],
    second: &'s mut [u32],
    /// For each output, the columns of its window.
    counts: &'s mut [u32],
}

/// The number of no output: the share there is zero.
const NOTHING: u32 = ROW as u32 - 1;

impl<'s, T: Float> Widen<'s, T> {
    /// The scratch bytes for rows of up to `n_columns` columns of `width` channels.
    pub(super) fn bytes(n_columns: usize, width: usize) -> usize {
        booked::<T::Acc>(n_columns * width)
            + booked::<T::Acc>(ROW)
            + RowBuffers::<T>::bytes(ROW)
            + 2 * booked::<u32>(n_columns)
            + booked::<u32>(ROW)
    }

    /// For the columns `columns` of rows of `width` channels.
    #[inline(always)]
    pub(super) fn new(axis: AxisWindows, columns: Range<usize>, width: usize, scratch: &mut Scratch<'s>) -> Self {
        let outputs = axis.reaching(columns.clone());
        let wide = scratch.row(columns.len() * width);
        let shares = scratch.row(ROW).try_into().unwrap_or_else(|_| unreachable!("a row of that length"));
        let buffers = RowBuffers::new(scratch, ROW);
        let may_be_table = width == 1 && outputs.len() < ROW && u32::try_from(axis.input()).is_ok();
        let table = if may_be_table { Table::new(&axis, (&columns, &outputs), scratch) } else { None };
        Self { axis, columns, outputs, table, shares, wide, buffers }
    }

    /// The row at `output`, widened.
    #[inline(always)]
    pub(super) fn row(&mut self, grad_output: &Source<'_, T>, output: &OutputRow) -> &[T::Acc] {
        let width = grad_output.width_of(output.group);
        let Self { axis, columns, outputs, table, shares, wide, buffers } = self;
        let wide = &mut wide[..columns.len() * width];
        let row =
            |part: &Range<usize>| grad_output.row(output.group, output.flat + part.start..output.flat + part.end);
        if let Some(table) = table {
            let gradients = buffers.widen(row(outputs));
            for ((share, &gradient), &count) in shares.iter_mut().zip(gradients).zip(&*table.counts) {
                *share = gradient / T::Acc::from_count(output.n_rows * u64::from(count));
            }
            shares[NOTHING as usize] = T::Acc::ZERO;
            for ((wide, &first), &second) in wide.iter_mut().zip(&*table.first).zip(&*table.second) {
                // The remainder changes nothing, and tells the compiler that the place exists.
                *wide = (T::Acc::ZERO + shares[first as usize % ROW]) + shares[second as usize % ROW];
            }
            return wide;
        }
        rows::clear(wide);
        let shares = &mut shares[..width];
        let Range { mut start, end } = outputs.clone();
        while start < end {
            let part = start..end.min(start + ROW / width);
            let gradients = buffers.widen(row(&part));
            for (ow, gradients) in part.clone().zip(gradients.chunks_exact(width)) {
                let window = axis.window(ow);
                let count = T::Acc::from_count(output.n_rows * window.count as u64);
                for (share, &gradient) in shares.iter_mut().zip(gradients) {
                    *share = gradient / count;
                }
                let taps = within(window, columns);
                let sums = &mut wide[(taps.start - columns.start) * width..(taps.end - columns.start) * width];
                match &*shares {
                    &[share] => sums.iter_mut().for_each(|sum| *sum += share),
                    shares => sums.chunks_exact_mut(width).for_each(|sums| rows::add(sums, shares)),
                }
            }
            start = part.end;
        }
        wide
    }
}

impl<'s> Table<'s> {
    /// The table of a tile, or `None` if a column lies in more than two windows.
    #[inline(always)]
    fn new(
        axis: &AxisWindows,
        (columns, outputs): (&Range<usize>, &Range<usize>),
        scratch: &mut Scratch<'s>,
    ) -> Option<Self> {
        let first = scratch.row::<u32>(columns.len());
        let second = scratch.row::<u32>(columns.len());
        let counts = &mut scratch.row::<u32>(ROW)[..outputs.len()];
        first.fill(NOTHING);
        second.fill(NOTHING);
        for (i, (ow, count)) in (0..).zip(outputs.clone().zip(&mut *counts)) {
            let window = axis.window(ow);
            *count = window.count as u32;
            for column in within(window, columns) {
                let column = column - columns.start;
                let place = if first[column] == NOTHING { &mut first[column] } else { &mut second[column] };
                if *place != NOTHING {
                    return None;
                }
                *place = i;
            }
        }
        Some(Self { first, second, counts })
    }
}

/// The part of a window without gaps that lies in `range`; empty at `range.start` if there is none.
#[inline(always)]
pub(super) fn within(window: Window, range: &Range<usize>) -> Range<usize> {
    let start = window.first.max(range.start);
    let end = (window.last() + 1).min(range.end);
    if start < end { start..end } else { range.start..range.start }
}
