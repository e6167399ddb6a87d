//! What is the same for all planes of an average's gradient, made once for a tile, and the steps that look it up.

use fearless_simd::Simd;

use super::repeats::{Repeats, SLACK};
use super::spread_planes::SpreadShape;
use super::stretches::{Stretches, copy_over, multiply};
use super::taps::Taps;
use crate::dtype::{Accumulator, Element};
use crate::exec::stream::claim_next;
use crate::exec::{Scratch, booked};
use crate::geometry::{AxisWindows, Geometry};

/// The shares of the planes that are worked on together, and of nothing.
pub(super) const SHARES: usize = 1024;

/// Taps into these.
pub(super) type ShareTaps<'s> = Taps<'s, SHARES>;

/// The rows of a stretch from which on these are repeated by themselves.
const MANY: usize = 16;

/// The columns that are added up at once where rows are long; others may be read or written with the last of them.
const WIDE: usize = 16;
const _: () = assert!(WIDE <= SLACK);

/// The tables of some planes.
pub(super) struct Tables<'s, A> {
    shape: SpreadShape,
    /// The sizes of all windows.
    pub(super) sizes: &'s [A],
    /// The outputs that each element of each wide row lies in, counted from the first of all.
    taps: ShareTaps<'s>,
    /// The elements before each wide row that cells of one plane are sums of, and the end of those of each unit of cells.
    terms: &'s [u32],
    ends: &'s [u32],
    /// The elements before the cell of each row of a depth, where cells are as long as rows.
    rows: &'s [u32],
    depths: Stretches<'s>,
    heights: Stretches<'s>,
    columns: Stretches<'s>,
    /// How columns are repeated, if they are single channels and have to be.
    repeats: Option<Repeats<'s>>,
}

impl<'s, A: Accumulator> Tables<'s, A> {
    /// The scratch bytes for them.
    pub(super) fn bytes<T: Element>(geometry: &Geometry, shape: &SpreadShape) -> usize {
        let lengths = geometry.axes.iter().zip(geometry.input());
        lengths.map(|(axis, len)| Stretches::bytes(axis, len)).sum::<usize>()
            + booked::<A>(shape.at_once * shape.outputs)
            + booked::<u32>(shape.n_taps * shape.at_once * shape.n_wide * shape.cell)
            + ShareTaps::bytes::<A>(shape.at_once * shape.n_wide * shape.cell)
            + booked::<u32>(shape.n_terms)
            + booked::<u32>(shape.n_cells)
            + booked::<u32>(geometry.input()[1])
            + if shape.are_repeated() { Repeats::bytes::<T>(shape.row) } else { 0 }
    }

    #[inline(always)]
    pub(super) fn new<S: Simd, T: Element>(
        simd: S,
        (geometry, shape): (&Geometry, SpreadShape),
        scratch: &mut Scratch<'s>,
    ) -> Self {
        let [axis_d, axis_h, axis_w] = &geometry.axes;
        let [n_d, n_h, n_w] = geometry.input();
        let depths = Stretches::new(axis_d, 0..n_d, scratch);
        let heights = Stretches::new(axis_h, 0..n_h, scratch);
        let columns = Stretches::new(axis_w, 0..n_w, scratch);

        let sizes = scratch.row(shape.at_once * shape.outputs);
        put_sizes(&geometry.axes, &shape, sizes);
        let len = shape.at_once * shape.n_wide * shape.cell;
        let taps = scratch.row(shape.n_taps * len);
        put_taps(axis_w.output(), &columns, &shape, taps);
        let taps = Taps::new::<S, A>(simd, (taps, len, shape.width), scratch);

        let (terms, ends) = (scratch.row(shape.n_terms), scratch.row(shape.n_cells));
        let (mut n_terms, mut n_ends) = (0, 0);
        let n_units = if shape.unit == shape.cell { heights.len() } else { 1 };
        for depth in depths.iter() {
            for height in heights.iter().take(n_units) {
                for first in depth.outputs.clone().map(|od| od * axis_h.output()) {
                    for oh in height.outputs.clone() {
                        terms[n_terms] = ((first + oh) * shape.cell) as u32;
                        n_terms += 1;
                    }
                }
                ends[n_ends] = n_terms as u32;
                n_ends += 1;
            }
        }

        let rows = scratch.row::<u32>(n_h);
        for (number, stretch) in heights.iter().enumerate() {
            rows[stretch.places].fill((number * shape.row) as u32);
        }
        let (terms, ends) = (&terms[..n_terms], &ends[..n_ends]);
        let repeats = shape.are_repeated().then(|| Repeats::new::<S, T>(simd, &columns, scratch));
        Self { shape, sizes, taps, terms, ends, rows, depths, heights, columns, repeats }
    }

    /// The wide rows of `n` planes.
    #[inline(always)]
    pub(super) fn widen<'w, S: Simd>(&self, simd: S, n: usize, shares: &[A; SHARES], wide: &'w mut [A]) -> &'w [A] {
        self.taps.sum(simd, shares, wide, n * self.shape.n_wide * self.shape.cell);
        wide
    }

    /// The cells of `n` planes, the sums of wide rows.
    #[inline(always)]
    pub(super) fn add_up<'w>(&self, n: usize, wide: &[A], sums: &'w mut [A]) -> &'w [A] {
        match self.shape.unit {
            ..=8 | 17..=24 => self.add_columns::<8>(n, wide, sums),
            _ => self.add_columns::<WIDE>(n, wide, sums),
        }
        sums
    }

    /// As [`Tables::add_up`], `N` columns at a time. The last of a unit may reach into the next, which is formed later.
    #[inline(always)]
    fn add_columns<const N: usize>(&self, n: usize, wide: &[A], sums: &mut [A]) {
        let SpreadShape { unit, n_wide, cell, .. } = self.shape;
        let mut first = 0;
        for plane in 0..n {
            let wide = &wide[plane * n_wide * cell..];
            let mut start = 0;
            for &end in self.ends {
                let terms = &self.terms[start..end as usize];
                for at in (0..unit).step_by(N) {
                    let Some(sum) = sums[first + at..].first_chunk_mut::<N>() else { break };
                    put_sum(wide, (terms, at), sum);
                }
                start = end as usize;
                first += unit;
            }
        }
    }

    /// Copies the cells of the planes of `memory` to all of their rows; those of one depth have their columns in `repeated`
    /// before. `in_output` as for [`multiply`].
    #[inline(always)]
    pub(super) fn copy<S: Simd, T: Element>(
        &self,
        simd: S,
        mut cells: &[T],
        (mut memory, in_output): (&mut [T], bool),
        repeated: &mut [T],
    ) {
        let SpreadShape { row, cell, plane, .. } = self.shape;
        let (n_rows, slab) = (self.heights.len(), self.heights.n_places * row);
        while !memory.is_empty() {
            for depths in self.depths.iter() {
                let (start, end) = (depths.places.start * slab, depths.places.end * slab);
                let of_depth = if cell == row { cells } else { self.repeat(simd, cells, repeated) };
                self.copy_rows(of_depth, &mut memory[start..], in_output);
                multiply(&mut memory[start..end], slab, in_output);
                cells = &cells[n_rows * cell..];
            }
            memory = &mut memory[plane..];
        }
    }

    /// The cells of one depth with the element of each stretch in all of its columns. A function of its own, since it would
    /// take registers from the ways that are used more.
    #[inline(always)]
    fn repeat<'r, S: Simd, T: Element>(&self, simd: S, cells: &[T], repeated: &'r mut [T]) -> &'r [T] {
        let SpreadShape { row, cell, width, .. } = self.shape;
        let are_long = width == 1 && self.columns.are_long::<T>();
        simd.vectorize(
            #[inline(always)]
            || {
                for number in 0..self.heights.len() {
                    let (cells, row) = (&cells[number * cell..], &mut repeated[number * row..]);
                    match &self.repeats {
                        _ if are_long && self.columns.fill(cells, row) => (),
                        Some(repeats) => repeats.put(simd, cells, row, 1),
                        None => self.columns.repeat(&cells[..cell], width, row, false),
                    }
                }
            },
        );
        repeated
    }

    /// Copies the cells of one depth, as long as rows, to all of its rows. What follows them there may be written too.
    #[inline(always)]
    fn copy_rows<T: Element>(&self, cells: &[T], slab: &mut [T], in_output: bool) {
        let row = self.shape.row;
        let (n_cells, n_rows) = (self.heights.len(), self.heights.n_places);
        if n_cells * MANY <= n_rows {
            return self.repeat_rows(cells, slab, in_output);
        }
        let is_short = row * size_of::<T>() <= 32;
        if in_output && (is_short || n_cells == n_rows) {
            claim_next(&slab[..n_rows * row]);
        }
        match (size_of::<T>(), row * size_of::<T>()) {
            _ if n_cells == n_rows => copy_over(cells, slab, n_rows * row),
            (2, ..=16) => self.copy_short::<T, 8>(cells, slab),
            (2, ..=32) => self.copy_short::<T, 16>(cells, slab),
            (4, ..=16) => self.copy_short::<T, 4>(cells, slab),
            (4, ..=32) => self.copy_short::<T, 8>(cells, slab),
            (8, ..=32) => self.copy_short::<T, 4>(cells, slab),
            _ => {
                for (number, &cell) in self.rows.iter().enumerate() {
                    let slab = &mut slab[number * row..];
                    if in_output {
                        claim_next(&slab[..row]);
                    }
                    copy_over(&cells[cell as usize..], slab, row);
                }
            }
        }
    }

    /// As [`Tables::copy_rows`] where many rows have the same cell: copies of copies, which are longer. Never inlined, since it
    /// would take registers from the ways that are used more.
    #[inline(never)]
    fn repeat_rows<T: Element>(&self, cells: &[T], slab: &mut [T], in_output: bool) {
        self.heights.repeat(cells, self.shape.row, slab, in_output);
    }

    /// As [`Tables::copy_rows`] for rows of up to `N` elements, in one go each.
    #[inline(always)]
    fn copy_short<T: Element, const N: usize>(&self, cells: &[T], slab: &mut [T]) {
        let row = self.shape.row;
        let mut at = 0;
        for &cell in self.rows {
            let from = &cells[cell as usize..];
            match (from.first_chunk::<N>(), slab[at..].first_chunk_mut::<N>()) {
                (Some(from), Some(to)) => *to = *from,
                _ => slab[at..at + row].copy_from_slice(&from[..row]),
            }
            at += row;
        }
    }
}

/// Writes the sizes of the windows of all outputs, for each plane.
#[inline(always)]
fn put_sizes<A: Accumulator>([d, h, w]: &[AxisWindows; 3], shape: &SpreadShape, sizes: &mut [A]) {
    let counts = |axis: &AxisWindows| {
        let mut windows = axis.windows_from(0);
        (0..axis.output()).map(move |_| windows.next().count)
    };
    let (of_plane, others) = sizes.split_at_mut(shape.outputs);
    let mut places = of_plane.chunks_exact_mut(shape.width);
    for n_depths in counts(d) {
        for n_rows in counts(h) {
            for (n_columns, sizes) in counts(w).zip(&mut places) {
                sizes.fill(A::from_count((n_depths * n_rows * n_columns) as u64));
            }
        }
    }
    others.chunks_exact_mut(shape.outputs).for_each(|sizes| sizes.copy_from_slice(of_plane));
}

/// Writes the outputs that each element of each wide row lies in, for each plane.
#[inline(always)]
fn put_taps(n_columns: usize, columns: &Stretches<'_>, shape: &SpreadShape, taps: &mut [u32]) {
    let &SpreadShape { width, row, cell, n_wide, at_once, .. } = shape;
    for (number, taps) in taps.chunks_exact_mut(at_once * n_wide * cell).enumerate() {
        let (of_plane, others) = taps.split_at_mut(n_wide * cell);
        let (of_row, other_rows) = of_plane.split_at_mut(cell);
        for (i, stretch) in columns.iter().enumerate() {
            let places = if cell == row { stretch.places } else { i..i + 1 };
            let output = stretch.outputs.clone().nth(number);
            for place in of_row[places.start * width..places.end * width].chunks_exact_mut(width) {
                for (c, tap) in place.iter_mut().enumerate() {
                    *tap = output.map_or(ShareTaps::NOTHING, |output| (output * width + c) as u32);
                }
            }
        }
        let behind = |tap: u32, by: usize| if tap == ShareTaps::NOTHING { tap } else { tap + by as u32 };
        for (i, taps) in (1..).zip(other_rows.chunks_exact_mut(cell)) {
            taps.iter_mut().zip(&*of_row).for_each(|(to, &tap)| *to = behind(tap, i * n_columns * width));
        }
        for (i, taps) in (1..).zip(others.chunks_exact_mut(n_wide * cell)) {
            taps.iter_mut().zip(&*of_plane).for_each(|(to, &tap)| *to = behind(tap, i * shape.outputs));
        }
    }
}

/// Writes the sum of the elements of `wide` behind each of `terms`, from `at` on. It begins with the first and not with
/// +0.0: no element of a wide row is a negative zero.
#[inline(always)]
fn put_sum<A: Accumulator, const N: usize>(wide: &[A], (terms, at): (&[u32], usize), sum: &mut [A; N]) {
    let term = |number: usize| -> &[A; N] {
        let elements = &wide[terms[number] as usize + at..][..N];
        elements.try_into().unwrap_or_else(|_| unreachable!("as many as were taken"))
    };
    // These keep what is added in registers.
    match terms.len() {
        1 => *sum = *term(0),
        2 => {
            let (a, b) = (term(0), term(1));
            *sum = std::array::from_fn(|i| a[i] + b[i]);
        }
        4 => {
            let (a, b, c, d) = (term(0), term(1), term(2), term(3));
            *sum = std::array::from_fn(|i| a[i] + b[i] + c[i] + d[i]);
        }
        n => {
            *sum = *term(0);
            for number in 1..n {
                sum.iter_mut().zip(term(number)).for_each(|(sum, &term)| *sum += term);
            }
        }
    }
}
