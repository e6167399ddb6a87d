//! Repeats: rows that have the element of each stretch in all of their columns.
//!
//! As many neighbouring columns as a vector has lie in no more stretches than that, so they are a permutation, with
//! repetitions, of the vector that begins with the element of the first. Which, is the same for every row, so it is put down
//! once for a tile, and a vector takes a load, a permutation of bytes and a store. It may begin with any column, so that rows
//! that are written past the cache are made line by line, wherever lines begin. Those that come once are not stored anywhere
//! else before; those that come again are put together once, and their lines are copied.
//!
//! Elements are anything that has bytes: nothing is computed with them.

use fearless_simd::prelude::*;
use fearless_simd::{Simd, SimdBase};
use zerocopy::IntoBytes;

use super::stretches::Stretches;
use crate::dtype::Element;
use crate::exec::stream::{LINE, Lines, before_page_end, copy_lines};
use crate::exec::{Scratch, booked};
use crate::simd::{permute, permutes};

/// The bytes of the widest vectors.
pub(super) const VECTOR: usize = 64;

/// The elements behind those of a row that are read with the last of them, whatever they are.
pub(super) const SLACK: usize = VECTOR / size_of::<u16>();

/// The columns whose stretch is put down at once, even if it has fewer.
const AT_ONCE: usize = 8;

/// The columns behind a row that are known too: a vector may begin with the last one, and tables are made by whole vectors.
const BEHIND: usize = 2 * VECTOR;

/// Which columns of a row are copies of which stretch.
pub(super) struct Repeats<'s> {
    n_columns: usize,
    n_stretches: usize,
    /// The stretch of each column, and of the first columns of a row that follows.
    stretches: &'s [u16],
    /// The bytes before its element among those of all stretches, as far as a byte can tell.
    before: &'s [u8],
    /// For each byte of these columns, the one that it is of all stretches, as far as a byte can tell. Nothing where the level has
    /// no permutations.
    patterns: &'s [u8],
}

impl<'s> Repeats<'s> {
    /// The scratch bytes for rows of `n_columns` elements.
    pub(super) fn bytes<T: Element>(n_columns: usize) -> usize {
        let n_numbers = n_columns.saturating_add(BEHIND);
        booked::<u16>(n_numbers) + booked::<u8>(n_numbers) + booked::<u8>(n_numbers.saturating_mul(size_of::<T>()))
    }

    /// For rows of `T` with these `columns`.
    #[inline(always)]
    pub(super) fn new<S: Simd, T: Element>(simd: S, columns: &Stretches<'_>, scratch: &mut Scratch<'s>) -> Self {
        let (n_columns, n_stretches) = (columns.n_places, columns.len());
        let n_numbers = n_columns + BEHIND;
        let (stretches, numbers) = (scratch.row::<u16>(n_numbers), scratch.row::<u8>(n_numbers));
        let mut start = 0;
        for (number, stretch) in columns.iter().enumerate() {
            while start < stretch.places.end {
                stretches[start..start + AT_ONCE].fill(number as u16);
                numbers[start..start + AT_ONCE].fill(number as u8);
                start += AT_ONCE;
            }
            start = stretch.places.end;
        }
        for behind in n_columns..n_numbers {
            (stretches[behind], numbers[behind]) = (stretches[behind - n_columns], numbers[behind - n_columns]);
        }
        if !permutes(simd) {
            return Self { n_columns, n_stretches, stretches, before: &[], patterns: &[] };
        }
        let lanes = S::u8s::LEN / size_of::<T>();
        let patterns = scratch.row::<u8>((n_columns + lanes).next_multiple_of(lanes) * size_of::<T>());
        let elements = Elements::new::<T>(simd);
        for (v, pattern) in patterns.chunks_exact_mut(S::u8s::LEN).enumerate() {
            elements.bytes_of::<T>(&numbers[v * lanes..]).store_slice(pattern);
        }
        for number in &mut *numbers {
            *number = number.wrapping_mul(size_of::<T>() as u8);
        }
        Self { n_columns, n_stretches, stretches, before: numbers, patterns }
    }

    /// Whether rows of `T` can be made line by line: not if that takes longer, or a line reaches over a whole row.
    #[inline(always)]
    pub(super) fn have_lines<T>(&self) -> bool {
        !self.patterns.is_empty() && self.n_columns * size_of::<T>() >= LINE
    }

    /// Whether a line is a vector, and so are the cells of a row: then each line takes a permutation of what is held already, and
    /// another where the next row begins.
    #[inline(always)]
    pub(super) fn hold_rows<S: Simd, T>(&self) -> bool {
        S::u8s::LEN == LINE && self.n_stretches * size_of::<T>() <= LINE && self.have_lines::<T>()
    }

    /// The vector of the columns from `column` on of the row of `cells`; what is behind the row is anything.
    #[inline(always)]
    fn vector<S: Simd, T: Element>(&self, simd: S, cells: &[T], column: usize) -> S::u8s {
        let first = usize::from(self.stretches[column]);
        let cells = &cells[first..first + S::u8s::LEN / size_of::<T>()];
        let pattern = &self.patterns[column * size_of::<T>()..][..S::u8s::LEN];
        let pattern = S::u8s::from_slice(simd, pattern) - self.before[column];
        permute::<S, T>(simd, S::u8s::from_slice(simd, cells.as_bytes()), pattern)
    }

    /// Writes the row of `cells`, which have [`SLACK`] more elements than there are stretches, `n_rows` times to the
    /// beginning of `rows`. What follows there may be written too.
    #[inline(always)]
    pub(super) fn put<S: Simd, T: Element>(&self, simd: S, cells: &[T], rows: &mut [T], n_rows: usize) {
        let n_columns = self.n_columns;
        if self.patterns.is_empty() {
            for row in rows.chunks_exact_mut(n_columns).take(n_rows) {
                row.iter_mut()
                    .zip(self.stretches)
                    .for_each(|(place, &stretch)| *place = cells[usize::from(stretch)]);
            }
            return;
        }
        let lanes = S::u8s::LEN / size_of::<T>();
        if n_columns <= lanes {
            return self.put_short(simd, cells, rows, n_rows);
        }
        let (row, copies) = rows[..n_rows * n_columns].split_at_mut(n_columns);
        let is_simple = before_page_end(row).is_none();
        for column in (0..n_columns).step_by(lanes) {
            // The last vector may overlap the one before it.
            let column = column.min(n_columns - lanes);
            let vector = self.vector(simd, cells, column);
            let places = &mut row[column..column + lanes];
            if is_simple {
                vector.store_slice(places.as_mut_bytes());
            } else {
                put_with_care(vector, places, lanes);
            }
        }
        for copy in copies.chunks_exact_mut(n_columns) {
            copy_row(simd, row.as_bytes(), copy.as_mut_bytes());
        }
    }

    /// The same for rows that are no longer than a vector, each of which is written over the beginning of the next.
    #[inline(always)]
    fn put_short<S: Simd, T: Element>(&self, simd: S, cells: &[T], rows: &mut [T], n_rows: usize) {
        let (n_columns, lanes) = (self.n_columns, S::u8s::LEN / size_of::<T>());
        let end = (n_rows - 1) * n_columns + lanes;
        let are_simple = rows.get(..end).is_some_and(|rows| before_page_end(rows).is_none());
        let vector = self.vector(simd, cells, 0);
        for at in (0..n_rows * n_columns).step_by(n_columns) {
            if are_simple {
                vector.store_slice(rows[at..at + lanes].as_mut_bytes());
            } else {
                put_with_care(vector, &mut rows[at..], n_columns);
            }
        }
    }

    /// The elements that [`Repeats::stream`] needs for rows of `n_columns` elements.
    pub(super) const fn built_len<T: Element>(n_columns: usize) -> usize {
        n_columns + LINE / size_of::<T>()
    }

    /// Writes lines of rows that follow each other, the cells of each behind one of `starts`, from element `at` on, past the
    /// cache.
    ///
    /// A row is put together in `built` once, however often it comes, with the beginning of the next behind it, so that lines
    /// are read from any of its columns on.
    #[inline(always)]
    pub(super) fn stream<S: Simd, T: Element>(
        &self,
        simd: S,
        (cells, starts, at): (&[T], &[u32], usize),
        mut to: &mut [T],
        built: &mut [T],
    ) {
        simd.vectorize(
            #[inline(always)]
            || {
                let (lanes, per_line) = (S::u8s::LEN / size_of::<T>(), LINE / size_of::<T>());
                let n_columns = self.n_columns;
                let (mut row, mut column) = (at / n_columns, at % n_columns);
                let mut is_built = None;
                while !to.is_empty() {
                    let start = starts[row];
                    // What comes behind the last row is not read.
                    let next = starts.get(row + 1).copied().unwrap_or(start);
                    if is_built != Some((start, next)) {
                        if is_built.is_none_or(|(built, _)| built != start) {
                            self.put(simd, &cells[start as usize..], built, 1);
                        }
                        let head = built[n_columns..n_columns + per_line].chunks_exact_mut(lanes);
                        for (v, head) in head.enumerate() {
                            let vector = self.vector(simd, &cells[next as usize..], v * lanes);
                            vector.store_slice(head.as_mut_bytes());
                        }
                        is_built = Some((start, next));
                    }
                    // The lines that begin in this row.
                    let len = (n_columns - column).next_multiple_of(per_line).min(to.len());
                    let (lines, behind) = std::mem::take(&mut to).split_at_mut(len);
                    copy_lines(simd, &built[column..column + len], lines);
                    (to, row, column) = (behind, row + 1, (column + len).saturating_sub(n_columns));
                }
            },
        );
    }

    /// The lines of rows that [are held](Repeats::hold_rows), which come again and again, from element `at` on.
    #[inline(always)]
    pub(super) fn held_lines<'r, T: Element>(
        &'r self,
        cells: &'r [T],
        starts: &'r [u32],
        at: usize,
    ) -> HeldLines<'r, T> {
        let (row, column) = (at / self.n_columns % starts.len(), at % self.n_columns);
        let mut lines = HeldLines {
            patterns: self.patterns,
            n_columns: self.n_columns,
            cells,
            starts,
            row,
            column,
            held: [0; LINE],
        };
        lines.held = lines.cells();
        lines
    }

    /// The lines of rows that follow each other, the cells of each behind one of `starts`, from element `at` on.
    #[inline(always)]
    pub(super) fn lines<'r, T: Element>(&'r self, cells: &'r [T], starts: &'r [u32], at: usize) -> RowLines<'r, T> {
        RowLines { repeats: self, cells, starts, row: at / self.n_columns, column: at % self.n_columns }
    }
}

/// Rows on their way past the cache.
pub(super) struct RowLines<'r, T> {
    repeats: &'r Repeats<'r>,
    cells: &'r [T],
    starts: &'r [u32],
    row: usize,
    column: usize,
}

impl<T: Element> Lines for RowLines<'_, T> {
    #[inline(always)]
    fn next<S: Simd>(&mut self, simd: S) -> [u8; LINE] {
        let mut line = [0; LINE];
        for part in line.chunks_exact_mut(S::u8s::LEN) {
            self.vector(simd).store_slice(part);
        }
        line
    }
}

impl<T: Element> RowLines<'_, T> {
    #[inline(always)]
    fn vector<S: Simd>(&mut self, simd: S) -> S::u8s {
        let Self { repeats, cells, starts, row, column } = *self;
        let next = column + S::u8s::LEN / size_of::<T>();
        let here = repeats.vector(simd, &cells[starts[row] as usize..], column);
        if next < repeats.n_columns {
            self.column = next;
            return here;
        }
        (self.row, self.column) = (row + 1, next - repeats.n_columns);
        if self.column == 0 {
            return here;
        }
        // The first columns of the next row are permuted like the others, but of its own cells.
        let cells = &cells[starts[row + 1] as usize..][..S::u8s::LEN / size_of::<T>()];
        let pattern = &repeats.patterns[column * size_of::<T>()..][..S::u8s::LEN];
        let pattern = S::u8s::from_slice(simd, pattern);
        let behind = permute::<S, T>(simd, S::u8s::from_slice(simd, cells.as_bytes()), pattern);
        let n_here = ((repeats.n_columns - column) * size_of::<T>()) as u8;
        let bytes = S::u8s::from_slice(simd, &BYTES[..S::u8s::LEN]);
        bytes.simd_lt(n_here).select(here, behind)
    }
}

/// Rows on their way past the cache, the cells of one of which are held.
pub(super) struct HeldLines<'r, T> {
    patterns: &'r [u8],
    n_columns: usize,
    cells: &'r [T],
    starts: &'r [u32],
    row: usize,
    column: usize,
    held: [u8; LINE],
}

impl<T: Element> HeldLines<'_, T> {
    /// Those of the row.
    #[inline(always)]
    fn cells(&self) -> [u8; LINE] {
        let cells = &self.cells[self.starts[self.row] as usize..][..LINE / size_of::<T>()];
        cells.as_bytes().try_into().expect("a line")
    }
}

impl<T: Element> Lines for HeldLines<'_, T> {
    #[inline(always)]
    fn next<S: Simd>(&mut self, simd: S) -> [u8; LINE] {
        let vector = |bytes: &[u8]| S::u8s::from_slice(simd, bytes);
        let pattern = vector(&self.patterns[self.column * size_of::<T>()..][..S::u8s::LEN]);
        let mut line = permute::<S, T>(simd, vector(&self.held[..S::u8s::LEN]), pattern);
        self.column += LINE / size_of::<T>();
        if self.column >= self.n_columns {
            self.column -= self.n_columns;
            self.row = if self.row + 1 < self.starts.len() { self.row + 1 } else { 0 };
            self.held = self.cells();
            let behind = permute::<S, T>(simd, vector(&self.held[..S::u8s::LEN]), pattern);
            let n_here = (LINE - self.column * size_of::<T>()) as u8;
            line = vector(&BYTES[..S::u8s::LEN]).simd_lt(n_here).select(line, behind);
        }
        let mut bytes = [0; LINE];
        line.store_slice(&mut bytes[..S::u8s::LEN]);
        bytes
    }
}

/// Copies the bytes of a row, of which there are at least as many as a vector has.
#[inline(always)]
fn copy_row<S: Simd>(simd: S, row: &[u8], copy: &mut [u8]) {
    if let Some(n) = before_page_end(copy) {
        let (before, behind) = copy.split_at_mut(n);
        before.copy_from_slice(&row[..n]);
        behind.copy_from_slice(&row[n..]);
        return;
    }
    // The last vector may overlap the one before it.
    let last = row.len() - S::u8s::LEN;
    for (row, copy) in row.chunks_exact(S::u8s::LEN).zip(copy.chunks_exact_mut(S::u8s::LEN)) {
        S::u8s::from_slice(simd, row).store_slice(copy);
    }
    S::u8s::from_slice(simd, &row[last..]).store_slice(&mut copy[last..]);
}

/// Writes at least the first `n` elements of `vector` to `places`: all of it, or, over the end of a page and where there are
/// fewer places, what lies on one page, and then what lies on the next.
#[inline(always)]
fn put_with_care<V: SimdBase<S, Element = u8>, S: Simd, T: Element>(vector: V, places: &mut [T], n: usize) {
    let lanes = V::LEN / size_of::<T>();
    match places.get_mut(..lanes) {
        Some(places) if before_page_end(places).is_none() => vector.store_slice(places.as_mut_bytes()),
        _ => {
            let places = &mut places[..n];
            let n_before = before_page_end(places).unwrap_or(n);
            let (before, behind) = places.as_mut_bytes().split_at_mut(n_before * size_of::<T>());
            let (bytes_before, bytes) = vector.as_slice().split_at(before.len());
            before.copy_from_slice(bytes_before);
            behind.copy_from_slice(&bytes[..behind.len()]);
        }
    }
}

/// The number of each byte of a vector.
const BYTES: [u8; VECTOR] = {
    let mut bytes = [0; VECTOR];
    let mut byte = 0;
    while byte < VECTOR {
        bytes[byte] = byte as u8;
        byte += 1;
    }
    bytes
};

/// The elements of a vector, whose bytes are permuted.
pub(super) struct Elements<S: Simd> {
    simd: S,
    /// The element that each byte belongs to, and where it is within that.
    elements: S::u8s,
    within: S::u8s,
}

impl<S: Simd> Elements<S> {
    /// Those of type `T`.
    #[inline(always)]
    pub(super) fn new<T>(simd: S) -> Self {
        let [elements, within] = &const { elements::<T>() };
        Self {
            simd,
            elements: S::u8s::from_slice(simd, &elements[..S::u8s::LEN]),
            within: S::u8s::from_slice(simd, &within[..S::u8s::LEN]),
        }
    }

    /// For each byte that of its element; `of_elements` has at least as many as a vector has.
    #[inline(always)]
    pub(super) fn each(&self, of_elements: &[u8]) -> S::u8s {
        S::u8s::from_slice(self.simd, &of_elements[..S::u8s::LEN]).swizzle_dyn(self.elements)
    }

    /// The numbers of the bytes of the elements `numbers`, as far as a byte can tell.
    #[inline(always)]
    pub(super) fn bytes_of<T>(&self, numbers: &[u8]) -> S::u8s {
        // The bytes of an element are neighbours: its number times their number, and how far each is behind the first.
        let mut firsts = self.each(numbers);
        for _ in 0..size_of::<T>().ilog2() {
            firsts += firsts;
        }
        firsts + self.within
    }
}

const fn elements<T>() -> [[u8; VECTOR]; 2] {
    let mut bytes = [BYTES; 2];
    let mut byte = 0;
    while byte < VECTOR {
        bytes[0][byte] = (byte / size_of::<T>()) as u8;
        bytes[1][byte] = (byte % size_of::<T>()) as u8;
        byte += 1;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use half::bf16;

    use super::*;
    use crate::Isa;
    use crate::exec::stream::whole_lines;
    use crate::geometry::AxisWindows;

    /// Oracle: the stretch that a column lies in.
    fn check<T: Element + PartialEq>(axis: &AxisWindows, places: Range<usize>, of: impl Fn(usize) -> T) {
        fn hold<S: Simd, T>(_: S, repeats: &Repeats<'_>) -> bool {
            repeats.hold_rows::<S, T>()
        }
        let n_columns = places.len();
        for isa in Isa::available() {
            let mut bytes = vec![0xa5; Stretches::bytes(axis, n_columns) + Repeats::bytes::<T>(n_columns)];
            let mut scratch = Scratch::new(&mut bytes);
            let columns = Stretches::new(axis, places.clone(), &mut scratch);
            let pitch = columns.len();
            let cells: Vec<T> = (0..3 * pitch + SLACK).map(&of).collect();
            let row = |first: usize| -> Vec<T> {
                let stretches = cells[first..].iter().zip(columns.iter());
                stretches.flat_map(|(&cell, stretch)| vec![cell; stretch.places.len()]).collect()
            };
            fearless_simd::dispatch!(isa.level(), simd => {
                let repeats = Repeats::new::<_, T>(simd, &columns, &mut scratch);
                for n_rows in [1, 2, 5] {
                    let want: Vec<T> = (0..n_rows).flat_map(|_| row(0)).collect();
                    let mut rows = vec![T::default(); n_rows * n_columns];
                    repeats.put(simd, &cells, &mut rows, n_rows);
                    assert!(rows == want, "{isa} {n_rows} rows for {axis:?}");
                }
                let holds = isa.vector_bytes() == LINE && pitch * size_of::<T>() <= LINE;
                if repeats.have_lines::<T>() {
                    assert_eq!(hold::<_, T>(simd, &repeats), holds, "{isa} for {axis:?}");
                    let starts = [0, 0, 1, 1, 2, 2].map(|number: usize| (number * pitch) as u32);
                    let want: Vec<T> = starts.iter().flat_map(|&first| row(first as usize)).collect();
                    let per_line = LINE / size_of::<T>();
                    let mut built = vec![T::default(); Repeats::built_len::<T>(n_columns)];
                    let mut memory = vec![T::default(); want.len() + per_line];
                    let first = whole_lines(&memory).start;
                    for start in (0..want.len().min(per_line + n_columns)).chain(want.len() - per_line..=want.len()) {
                        let len = (want.len() - start) / per_line * per_line;
                        let to = &mut memory[first..first + len];
                        repeats.stream(simd, (&cells, &starts, start), to, &mut built);
                        assert!(*to == want[start..start + len], "{isa} streamed from {start} for {axis:?}");
                        let mut lines = repeats.lines(&cells, &starts, start);
                        for want in want[start..].chunks_exact(per_line) {
                            assert!(lines.next(simd) == want.as_bytes(), "{isa} from {start} for {axis:?}");
                        }
                        if holds {
                            let again = [&want[start..], &want, &want[..start]].concat();
                            let mut lines = repeats.held_lines(&cells, &starts, want.len() + start);
                            for want in again.chunks_exact(per_line) {
                                assert!(lines.next(simd) == want.as_bytes(), "{isa} held from {start} for {axis:?}");
                            }
                        }
                    }
                }
            });
        }
    }

    #[test]
    fn rows_have_the_element_of_each_stretch_at_every_level() {
        for (input, output) in
            [(50, 7), (56, 14), (13, 6), (7, 5), (200, 3), (90, 89), (1000, 400), (3, 2), (300, 1)]
        {
            let axis = AxisWindows::adaptive(input, output);
            for places in [0..input, input / 3..input, 1..input / 2 + 1] {
                check::<f32>(&axis, places.clone(), |number| number as f32);
                check::<f64>(&axis, places.clone(), |number| number as f64);
                check::<bf16>(&axis, places, |number| bf16::from_bits(number as u16));
            }
        }
    }
}
