//! The gradient of average pooling into small planes, some of them at a time.
//!
//! The sums are those of [`spread`](super::spread), in the same order. But where a plane is small, what is set up for each of
//! its rows takes longer than the row. So each step is taken for all rows of some planes before the next begins:
//!
//! 1. divide all gradients by the sizes of their windows;
//! 2. widen all rows along W: a table says which outputs each column of each row lies in;
//! 3. add wide rows to *cells*, the different rows of a plane: a list says which rows each is the sum of;
//! 4. round all cells;
//! 5. copy them to the rows of the output, and repeat depths that are copies of each other.
//!
//! The table and the list are made once for a tile (see [`Tables`]). Where columns fall into long stretches of equal ones, a
//! row has one place for each stretch, which is repeated after step 4. A few channels are columns like others.
//!
//! Traffic per output: its gradient; per input: one write of its gradient.

use fearless_simd::Simd;

use super::repeats::SLACK;
use super::rows::widened;
use super::spread_tables::{SHARES, ShareTaps, Tables};
use super::stretches::Stretches;
use crate::dtype::{Float, Sum};
use crate::exec::{Scratch, TileKernel, booked};
use crate::geometry::Geometry;
use crate::tensor::raw::{Source, Tile};

/// The elements that are worked on together, of planes, wide rows or cells: few enough for all to stay in the first-level
/// cache.
const TOGETHER: usize = 2 << 10;

/// The most elements of a single plane, and of its wide rows or cells. Larger ones are faster row by row, and their tables take
/// longer to make than they spare.
const MOST: usize = 16 << 10;
const MOST_CELLS: usize = 8 << 10;

/// The most elements of a row, unless columns fall into long stretches or lie in several windows: longer rows are better
/// filled one by one.
const SHORT: usize = 40;

/// The columns of a stretch from which on these are repeated after rounding, and the elements of a row up to which they are not:
/// to add up and to copy all of these takes few vectors.
const LONG: usize = 6;
const TINY: usize = 32;

/// The most windows that a column lies in: the table takes more room with each.
const MOST_TAPS: usize = 4;

/// The most channels that are taken as columns: more of them fill vectors by themselves.
const CHANNELS: usize = 16;

/// The numbers of elements that follow from the sizes of a plane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpreadShape {
    /// The channels of a group.
    pub(super) width: usize,
    /// The elements of a plane, of its outputs, and of a row.
    pub(super) plane: usize,
    pub(super) outputs: usize,
    pub(super) row: usize,
    /// The elements of a wide row or a cell: as many as a row, or one place for each stretch of it.
    pub(super) cell: usize,
    /// The elements of neighbouring cells that are sums of neighbouring wide rows: all of one depth where windows do not
    /// overlap along H, or one cell.
    pub(super) unit: usize,
    /// The wide rows, the cells of one depth and of all, and at least the wide rows that all cells are sums of.
    pub(super) n_wide: usize,
    n_rows: usize,
    pub(super) n_cells: usize,
    pub(super) n_terms: usize,
    /// At least the windows that a column lies in.
    pub(super) n_taps: usize,
    /// Whether each element of a wide row is an output's share, and whether each cell is a wide row.
    are_shares: bool,
    are_wide: bool,
    /// The planes that are worked on together.
    pub(super) at_once: usize,
}

impl SpreadShape {
    /// For groups of `width` channels, if planes are small and their rows short.
    pub(crate) fn new(geometry: &Geometry, width: usize) -> Option<Self> {
        let [axis_d, axis_h, axis_w] = &geometry.axes;
        let n_w = axis_w.input();
        let [n_od, n_oh, n_ow] = geometry.output();
        let plane = geometry.input_len().saturating_mul(width);
        let outputs = geometry.output_len().saturating_mul(width);
        let most_outputs = ShareTaps::MOST.saturating_sub(width);
        let are_few = width <= CHANNELS && (width == 1 || width == geometry.c);
        // Nothing to write is nobody's, and of a single output all places get the same.
        let is_small = (1..=MOST).contains(&plane) && (1..=most_outputs).contains(&outputs);
        if !is_small || geometry.output_len() == 1 || !are_few {
            return None;
        }
        let n_stretches = Stretches::count(axis_w);
        let are_long = n_stretches * LONG <= n_w && n_w * width > TINY;
        let n_columns = if are_long { n_stretches } else { n_w };
        let (row, cell) = (n_w * width, n_columns * width);
        let n_wide = n_od * n_oh;
        let n_rows = Stretches::count(axis_h);
        let n_cells = Stretches::count(axis_d) * n_rows;
        let shape = Self {
            width,
            plane,
            outputs,
            row,
            cell,
            unit: if axis_h.are_disjoint() { n_oh * cell } else { cell },
            n_wide,
            n_rows,
            n_cells,
            n_terms: n_cells * axis_d.most_sharing() * axis_h.most_sharing(),
            n_taps: if axis_w.are_disjoint() { 1 } else { axis_w.most_sharing() },
            are_shares: n_columns == n_ow,
            are_wide: axis_d.are_disjoint() && axis_h.are_disjoint(),
            at_once: 1,
        };
        let most = (n_wide * cell).max(n_cells * cell);
        let are_short = row <= SHORT || (width > 1 && n_w <= SHORT) || cell < row || !axis_w.are_disjoint();
        let fits = are_short && most <= MOST_CELLS && shape.n_terms <= MOST_CELLS && shape.n_taps <= MOST_TAPS;
        let at_once = (TOGETHER / most.max(plane)).min(most_outputs / outputs).max(1);
        fits.then_some(Self { at_once, ..shape })
    }

    /// Whether rows are repeated as single elements, one for each stretch.
    pub(super) fn are_repeated(&self) -> bool {
        self.width == 1 && self.cell < self.row
    }

    /// The same for a tile of `n_groups` groups.
    fn for_groups(self, n_groups: usize) -> Self {
        Self { at_once: self.at_once.min(n_groups), ..self }
    }

    /// The elements of `rows` wide rows or cells of each plane, with what may be written behind them.
    fn together(&self, rows: usize) -> usize {
        self.at_once * rows * self.cell + SLACK
    }

    /// The scratch bytes of one worker.
    pub(crate) fn bytes<T: Float>(&self, geometry: &Geometry) -> usize {
        let outputs = self.at_once * self.outputs;
        let [wide, cells] = [self.n_wide, self.n_cells].map(|rows| self.together(rows));
        Tables::<T::Acc>::bytes::<T>(geometry, self)
            + booked::<T>(outputs)
            + booked::<T::Acc>(outputs)
            + booked::<T::Acc>(SHARES)
            + booked::<T::Acc>(wide)
            + booked::<T::Acc>(cells)
            + booked::<T>(cells)
            + booked::<T>(self.n_rows * self.row + SLACK)
            + booked::<T>(self.at_once * self.plane)
    }
}

/// The gradients of all outputs, and the windows they are shared among.
pub(crate) struct SpreadPlanes<'a, T: Float> {
    grad_output: Source<'a, T>,
    geometry: Geometry,
    shape: SpreadShape,
}

impl<'a, T: Float> SpreadPlanes<'a, T> {
    /// A spread into tiles of whole groups.
    pub(crate) fn new(grad_output: Source<'a, T>, geometry: Geometry, shape: SpreadShape) -> Self {
        Self { grad_output, geometry, shape }
    }
}

impl<T: Float> TileKernel<T, T> for SpreadPlanes<'_, T> {
    #[inline(always)]
    fn fill<S: Simd>(&self, simd: S, mut tile: Tile<'_, T, T>, mut scratch: Scratch<'_>) {
        let range = tile.range();
        let shape = self.shape.for_groups(range.groups.len());
        let tables = Tables::<T::Acc>::new::<S, T>(simd, (&self.geometry, shape), &mut scratch);
        let outputs = shape.at_once * shape.outputs;
        let (elements, widened_elements) = (scratch.row::<T>(outputs), scratch.row::<T::Acc>(outputs));
        let shares: &mut [T::Acc; SHARES] =
            scratch.row(SHARES).try_into().unwrap_or_else(|_| unreachable!("a row of that length"));
        let wide = scratch.row::<T::Acc>(shape.together(shape.n_wide));
        let sums = scratch.row::<T::Acc>(shape.together(shape.n_cells));
        let rounded = scratch.row::<T>(shape.together(shape.n_cells));
        let repeated = scratch.row::<T>(shape.n_rows * shape.row + SLACK);
        let pieces = scratch.row::<T>(shape.at_once * shape.plane);
        shares[ShareTaps::NOTHING as usize] = T::Acc::ZERO;
        for start in range.groups.clone().step_by(shape.at_once) {
            let groups = start..range.groups.end.min(start + shape.at_once);
            let n = groups.len();
            let gradients = widened(self.grad_output.groups(groups.clone(), elements), widened_elements);
            for ((share, &gradient), &size) in shares.iter_mut().zip(gradients).zip(tables.sizes) {
                *share = T::Acc::ZERO + gradient / size;
            }
            let wide = if shape.are_shares { &shares[..] } else { tables.widen(simd, n, shares, wide) };
            let sums = if shape.are_wide { wide } else { tables.add_up(n, wide, sums) };
            let cells = T::from_wide(sums).unwrap_or_else(|| {
                let rounded = &mut rounded[..n * shape.n_cells * shape.cell + SLACK];
                T::narrow(&sums[..rounded.len()], rounded);
                rounded
            });
            match tile.first.memory(groups.clone(), range.flat.clone()) {
                Some(memory) => tables.copy(simd, cells, (memory, true), repeated),
                None => {
                    let pieces = &mut pieces[..n * shape.plane];
                    tables.copy(simd, cells, (pieces, false), repeated);
                    tile.first.write_groups(groups, pieces);
                }
            }
        }
    }
}
