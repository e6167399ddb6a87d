//! Rows of cells, filled in vectors: every output is compared with each place of its window.
//!
//! An output has a *code*, which says where in its window its index points, and a *term*. A cell is the term if the code is
//! that of the cell's place, and zero if not. The cells of some neighbouring outputs in one column are formed at once; those
//! of two columns of single channels are then put together by turns, while channels have a place of their own.

use fearless_simd::{Select, Simd, SimdBase, SimdMask};

use crate::dtype::Word;
use crate::exec::stream::{LINE, claim_behind, fetch_lines, store_vectors, whole_lines};

/// The rows of cells that belong to some rows of outputs.
#[derive(Clone, Copy)]
pub(super) struct CellRows {
    /// The elements of a row of outputs, and the channels of each output.
    pub(super) outputs: usize,
    pub(super) width: usize,
    /// The rows of cells for each row of outputs, and the columns for each output.
    pub(super) window: [usize; 2],
    /// The cells from one row to the next; those behind the last window are zero.
    pub(super) pitch: usize,
    /// The code of the first cell of a window, and how much larger that of the cell below is.
    pub(super) first: u32,
    pub(super) step: u32,
    /// What to ask for meanwhile.
    pub(super) ahead: [Ahead; 2],
    /// Where the cells are.
    pub(super) to: To,
}

/// Where cells are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum To {
    /// To what is in the cache.
    Near,
    /// To memory of the output, whose lines come from afar.
    Far,
    /// Past the cache, from registers.
    Past,
}

/// Memory that will be read when these rows are filled.
#[derive(Clone, Copy)]
pub(super) struct Ahead {
    from: *const u8,
    /// The bytes for each row of outputs, or for each output of several channels.
    each: usize,
}

impl Ahead {
    /// Nothing.
    pub(super) const NONE: Self = Self { from: std::ptr::null(), each: 0 };

    /// What lies behind `row`, `each` elements at a time.
    #[inline(always)]
    pub(super) fn behind<T>(row: &[T], each: usize) -> Self {
        Self { from: row.as_ptr_range().end.cast(), each: each * size_of::<T>() }
    }

    /// Asks for the `i`th part.
    #[inline(always)]
    fn fetch(self, i: usize) {
        fetch_lines(self.from.wrapping_add(i * self.each), self.each.div_ceil(LINE));
    }
}

impl CellRows {
    /// Whether what is formed at once fills whole lines of `cells`, so that it can leave from registers.
    #[inline(always)]
    pub(super) fn are_lines<S: Simd, W: Word>(&self, _: S, cells: &[W]) -> bool {
        let Self { outputs, width, window: [_, n_columns], pitch, .. } = *self;
        let lanes = W::Vector::<S>::LEN;
        let (unit, at_once) = match width {
            1 if n_columns % 2 == 0 => (outputs, 2 * lanes),
            1 => (outputs, lanes),
            _ => (width, lanes),
        };
        let fills_lines = |n: usize| (n * size_of::<W>()).is_multiple_of(LINE);
        // No vector overlaps the one before it, and nothing lies behind the last window.
        let are_apart = unit.is_multiple_of(lanes) && pitch == outputs * n_columns;
        are_apart && fills_lines(at_once) && fills_lines(pitch) && whole_lines(cells) == (0..cells.len())
    }

    /// Fills `cells` with outputs of these codes and terms; returns how many terms there are among them.
    #[inline(always)]
    pub(super) fn fill<S: Simd, W: Word>(self, simd: S, outputs: (&[W], &[W]), cells: &mut [W]) -> usize {
        let [rows, columns] = self.window.map(|len| len % 2 == 0);
        match (self.width, rows, columns) {
            (1, true, true) => self.fill_by::<S, W, 2, 2, false>(simd, outputs, cells),
            (1, false, true) => self.fill_by::<S, W, 1, 2, false>(simd, outputs, cells),
            (_, true, true) => self.fill_by::<S, W, 2, 2, true>(simd, outputs, cells),
            (_, true, false) => self.fill_by::<S, W, 2, 1, true>(simd, outputs, cells),
            (_, false, _) => self.fill_by::<S, W, 1, 1, true>(simd, outputs, cells),
        }
    }

    /// The same by `R` rows and `C` columns of each window at a time, whose cells lie `APART` or by turns.
    ///
    /// Never inlined: within a kernel there are not enough registers.
    #[inline(never)]
    fn fill_by<S: Simd, W: Word, const R: usize, const C: usize, const APART: bool>(
        self,
        simd: S,
        outputs: (&[W], &[W]),
        cells: &mut [W],
    ) -> usize {
        simd.vectorize(
            #[inline(always)]
            || self.fill_rows::<S, W, R, C, APART>(simd, outputs, cells),
        )
    }

    /// The loops of [`CellRows::fill_by`]: over rows of windows, of outputs, and over outputs that are neighbours with all cells of
    /// a column.
    #[inline(always)]
    fn fill_rows<S: Simd, W: Word, const R: usize, const C: usize, const APART: bool>(
        self,
        simd: S,
        (codes, terms): (&[W], &[W]),
        cells: &mut [W],
    ) -> usize {
        let Self { window: [n_rows, n_columns], pitch, .. } = self;
        let unit = if self.width == 1 { self.outputs } else { self.width };
        let mut n_found = 0;
        for h in (0..n_rows).step_by(R) {
            let first = self.first + h as u32 * self.step;
            let mut places = [[splat::<S, W>(simd, first); C]; R];
            for (places, row) in places.iter_mut().zip(0..) {
                for (place, column) in places.iter_mut().zip(0..) {
                    *place = splat::<S, W>(simd, first + row * self.step + column);
                }
            }
            let mut n_units = 0;
            let outputs = codes.chunks_exact(self.outputs).zip(terms.chunks_exact(self.outputs));
            for ((codes, terms), cells) in outputs.zip(cells.chunks_exact_mut(n_rows * pitch)) {
                let mut rows = split::<W, R>(&mut cells[h * pitch..], pitch);
                let mut at = 0;
                for outputs in codes.chunks_exact(unit).zip(terms.chunks_exact(unit)) {
                    if h == 0 {
                        self.ahead.iter().for_each(|ahead| ahead.fetch(n_units));
                        n_units += 1;
                    }
                    let mut places = places;
                    for _ in (0..n_columns).step_by(C) {
                        let cells = rows.each_mut().map(|row| &mut row[at..at + C * unit]);
                        n_found += fill_unit::<S, W, R, C, APART>(simd, outputs, places, (cells, self.to));
                        at += C * unit;
                        if n_columns > C {
                            let next = splat::<S, W>(simd, C as u32);
                            places.iter_mut().flatten().for_each(|place| *place += next);
                        }
                    }
                }
            }
        }
        let used = self.outputs * n_columns;
        if used < pitch {
            cells.chunks_exact_mut(pitch).for_each(|row| row[used..].fill(W::of_offset(0)));
        }
        n_found
    }
}

/// Fills the cells of neighbouring outputs, at least as many as a vector has lanes, in `R` rows.
///
/// By loops: an array's `map` is compiled for no level, and where it is not inlined each comparison in it is a call.
#[inline(always)]
fn fill_unit<S: Simd, W: Word, const R: usize, const C: usize, const APART: bool>(
    simd: S,
    (codes, terms): (&[W], &[W]),
    places: [[W::Vector<S>; C]; R],
    (mut rows, to): ([&mut [W]; R], To),
) -> usize {
    let lanes = W::Vector::<S>::LEN;
    let unit = codes.len();
    let zero = splat::<S, W>(simd, 0);
    let mut n_found = 0;
    for at in (0..unit).step_by(lanes) {
        // The last vector may overlap the one before it.
        let start = at.min(unit - lanes);
        let codes = W::Vector::<S>::from_slice(simd, &codes[start..start + lanes]);
        let terms = W::Vector::<S>::from_slice(simd, &terms[start..start + lanes]);
        let mut found = <W::Vector<S> as SimdBase<S>>::Mask::splat(simd, false);
        for (places, row) in places.iter().zip(&mut rows) {
            let mut picked = [zero; C];
            for (picked, &place) in picked.iter_mut().zip(places) {
                let here = codes.simd_eq(place);
                found |= here;
                *picked = here.select(terms, zero);
            }
            let picked = if APART { picked } else { by_turns(picked) };
            if to == To::Past && !APART {
                store_vectors(simd, &picked, &mut row[start * C..(start + lanes) * C]);
                continue;
            }
            for (c, picked) in picked.iter().enumerate() {
                let first = if APART { start + c * unit } else { start * C + c * lanes };
                let cells = &mut row[first..first + lanes];
                if to == To::Past {
                    store_vectors(simd, &[*picked], cells);
                    continue;
                }
                if to == To::Far {
                    claim_behind(cells);
                }
                picked.store_slice(cells);
            }
        }
        n_found += (found.to_bitmask() >> (at - start)).count_ones() as usize;
    }
    n_found
}

/// A vector of one offset.
#[inline(always)]
fn splat<S: Simd, W: Word>(simd: S, offset: u32) -> W::Vector<S> {
    W::Vector::<S>::splat(simd, W::of_offset(offset))
}

/// The first `R` rows of cells.
#[inline(always)]
fn split<W, const R: usize>(mut cells: &mut [W], pitch: usize) -> [&mut [W]; R] {
    std::array::from_fn(|_| {
        let (row, rest) = std::mem::take(&mut cells).split_at_mut(pitch);
        cells = rest;
        row
    })
}

/// The elements of two vectors by turns; a single one as it is.
#[inline(always)]
fn by_turns<S: Simd, V: SimdBase<S>, const C: usize>(mut columns: [V; C]) -> [V; C] {
    if let [a, b] = &mut columns[..] {
        (*a, *b) = a.interleave(*b);
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::stream::finish;
    use crate::simd::Isa;

    /// Oracle: cell by cell. Every seventh output points elsewhere. With nothing behind the last window, cells leave from registers
    /// where they can; returns at how many levels they did.
    fn check<W: Word + Into<u64> + std::fmt::Debug>(
        (width, n_units): (usize, usize),
        window: [usize; 2],
        behind: usize,
    ) -> usize {
        let [n_rows, n_columns] = window;
        let (n, n_lines, step, first) = (n_units * width, 3, 100, 7);
        let behind = behind * width;
        let pitch = n * n_columns + behind;
        let place =
            |i: usize| if i % 7 == 3 { 60 } else { (i * 5 % n_rows * step + i * 3 % n_columns + first) as u32 };
        let codes: Vec<W> = (0..n * n_lines).map(|i| W::of_offset(place(i))).collect();
        let terms: Vec<W> = (0..n * n_lines).map(|i| W::of_offset(1 + i as u32)).collect();
        let mut wanted = vec![0; n_lines * n_rows * pitch];
        for i in (0..n * n_lines).filter(|i| i % 7 != 3) {
            let (line, unit, channel) = (i / n, i % n / width, i % width);
            let (row, column) = (line * n_rows + i * 5 % n_rows, unit * n_columns + i * 3 % n_columns);
            wanted[row * pitch + column * width + channel] = 1 + i as u64;
        }
        let ahead = [Ahead::behind(&codes, n), Ahead::NONE];
        let (first, step) = (first as u32, step as u32);
        let to = if n_rows == 1 { To::Far } else { To::Near };
        let rows = CellRows { outputs: n, width, window, pitch, first, step, ahead, to };
        let mut n_past = 0;
        for isa in Isa::available() {
            let mut memory = vec![W::of_offset(9); wanted.len() + LINE];
            let start = whole_lines(&memory).start;
            let cells = &mut memory[start..start + wanted.len()];
            let n_found = fearless_simd::dispatch!(isa.level(), simd => {
                let is_past = rows.are_lines(simd, cells);
                n_past += usize::from(is_past);
                let rows = if is_past { CellRows { to: To::Past, ..rows } } else { rows };
                rows.fill(simd, (&codes, &terms), cells)
            });
            finish();
            let others = memory[..start].iter().chain(&memory[start + wanted.len()..]);
            assert!(others.copied().all(|cell| cell.into() == 9), "{isa} {width} {n_units} {window:?}");
            let cells = &memory[start..start + wanted.len()];
            let got: Vec<u64> = cells.iter().map(|&cell| cell.into()).collect();
            assert!(got == wanted, "{isa} {width} {n_units} {window:?}");
            assert_eq!(
                n_found,
                wanted.iter().filter(|&&cell| cell > 0).count(),
                "{isa} {width} {n_units} {window:?}"
            );
        }
        n_past
    }

    #[test]
    fn cells_are_those_of_their_outputs() {
        for (rows, n_units) in [(1, 32), (2, 33), (3, 64), (4, 127)] {
            for columns in [1, 2] {
                check::<u16>((1, n_units), [rows, columns], 3);
                check::<u32>((1, n_units), [rows, columns], 3);
                check::<u64>((1, n_units), [rows, columns], 3);
            }
            for columns in [1, 2, 3, 4] {
                check::<u16>((n_units, 5), [rows, columns], 3);
                check::<u32>((n_units, 3), [rows, columns], 3);
            }
        }
    }

    #[test]
    fn whole_lines_leave_from_registers() {
        // The vectors of the levels, and of two that are put together.
        let [single, double] = [1, 2].map(|times| {
            let bytes = |isa: &Isa| isa.vector_bytes() * times;
            Isa::available().iter().filter(|isa| bytes(isa).is_multiple_of(LINE)).count()
        });
        for rows in [1, 2, 3, 4] {
            for columns in [1, 2] {
                let n = if columns == 2 { double } else { single };
                assert_eq!(check::<u16>((1, 64), [rows, columns], 0), n);
                assert_eq!(check::<u32>((1, 48), [rows, columns], 0), n);
                assert_eq!(check::<u64>((1, 24), [rows, columns], 0), n);
                assert_eq!(check::<u32>((64, 3), [rows, columns], 0), single);
                assert_eq!(check::<u32>((1, 34), [rows, columns], 0), 0, "vectors that overlap");
                assert_eq!(check::<u32>((1, 48), [rows, columns], 1), 0, "places behind the last window");
            }
            assert_eq!(check::<u16>((32, 5), [rows, 3], 0), single);
        }
    }
}
