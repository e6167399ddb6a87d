//! Turning blocks: rows of memory become columns of other memory.
//!
//! As many rows as a vector has lanes are interleaved, each with the one half of them further on, and the results again, until
//! every element has gone from its column of its row to the row of that column: for `N` lanes log₂ `N` times, each of which moves
//! the bits of an element's number by one. (Stone, "Parallel processing with the perfect shuffle", 1971.)

use std::marker::PhantomData;

use fearless_simd::{Simd, SimdBase};

use crate::dtype::{Element, Word};
use crate::simd::{Isa, turned};

/// The most lanes of a vector: with more of them rows do not all stay in registers. (32 lanes of 16 bits took ten times as long as 8.)
const MOST_LANES: usize = 16;

/// A matrix in memory whose rows may lie apart.
struct Rows<P> {
    origin: P,
    pitch: isize,
    n_rows: usize,
    n_columns: usize,
}

/// Rows that are read.
pub(super) struct RowsToRead<'a, T>(Rows<*const T>, PhantomData<&'a [T]>);

/// Rows that are written.
pub(super) struct RowsToWrite<'a, T>(Rows<*mut T>, PhantomData<&'a mut [T]>);

impl<P> Rows<P> {
    /// Where an element lies, from the first, if `n` of its row begin there.
    #[inline(always)]
    fn offset(&self, row: usize, column: usize, n: usize) -> isize {
        assert!(row < self.n_rows && n <= self.n_columns && column <= self.n_columns - n, "part of a row");
        (row as isize).wrapping_mul(self.pitch).wrapping_add(column as isize)
    }

    /// The same rows, of words where elements were.
    fn with<W>(&self, origin: W) -> Rows<W> {
        Rows { origin, pitch: self.pitch, n_rows: self.n_rows, n_columns: self.n_columns }
    }
}

/// That words can be read and written where elements are.
fn assert_alike<T: Element, W: Word>() {
    assert!(
        size_of::<W>() == size_of::<T>() && align_of::<W>() <= align_of::<T>(),
        "words are as wide as elements"
    );
}

impl<'a, T> RowsToRead<'a, T> {
    /// `n_rows` rows of `n_columns` elements, which begin `pitch` elements apart.
    ///
    /// # Safety
    /// All of them must be valid, and stay unwritten, for `'a`.
    pub(super) const unsafe fn new(origin: *const T, pitch: isize, [n_rows, n_columns]: [usize; 2]) -> Self {
        Self(Rows { origin, pitch, n_rows, n_columns }, PhantomData)
    }

    /// `n` neighbours of a row.
    #[inline(always)]
    fn part(&self, row: usize, column: usize, n: usize) -> &[T] {
        let offset = self.0.offset(row, column, n);
        // SAFETY: `offset` found them to be of this row, all of whose elements whoever made it vouches for.
        unsafe { std::slice::from_raw_parts(self.0.origin.wrapping_offset(offset), n) }
    }

    fn words<W: Word>(self) -> RowsToRead<'a, W>
    where
        T: Element,
    {
        assert_alike::<T, W>();
        RowsToRead(self.0.with(self.0.origin.cast()), PhantomData)
    }
}

impl<'a, T> RowsToWrite<'a, T> {
    /// `n_rows` rows of `n_columns` elements, which begin `pitch` elements apart.
    ///
    /// # Safety
    /// All of them must be valid for `'a`, and nobody else's.
    pub(super) const unsafe fn new(origin: *mut T, pitch: isize, [n_rows, n_columns]: [usize; 2]) -> Self {
        Self(Rows { origin, pitch, n_rows, n_columns }, PhantomData)
    }

    /// `n` neighbours of a row.
    #[inline(always)]
    fn part(&mut self, row: usize, column: usize, n: usize) -> &mut [T] {
        let offset = self.0.offset(row, column, n);
        // SAFETY: `offset` found them to be of this row, all of whose elements whoever made it vouches for.
        unsafe { std::slice::from_raw_parts_mut(self.0.origin.wrapping_offset(offset), n) }
    }

    fn words<W: Word>(self) -> RowsToWrite<'a, W>
    where
        T: Element,
    {
        assert_alike::<T, W>();
        RowsToWrite(self.0.with(self.0.origin.cast()), PhantomData)
    }
}

/// Copies the rows of `from` to the columns of `to`.
///
/// # Panics
/// If there are not as many.
#[inline]
pub(super) fn turn<T: Element>(from: RowsToRead<'_, T>, to: RowsToWrite<'_, T>) {
    match size_of::<T>() {
        2 => turn_words::<u16>(from.words(), to.words()),
        4 => turn_words::<u32>(from.words(), to.words()),
        _ => turn_words::<u64>(from.words(), to.words()),
    }
}

/// [`turn`] at the best level.
#[inline(never)]
fn turn_words<W: Word>(from: RowsToRead<'_, W>, mut to: RowsToWrite<'_, W>) {
    fearless_simd::dispatch!(Isa::best().level(), simd => turn_at(simd, &from, &mut to));
}

/// [`turn`] by the longest vectors that there are enough rows and columns for.
#[inline(always)]
fn turn_at<S: Simd, W: Word>(simd: S, from: &RowsToRead<'_, W>, to: &mut RowsToWrite<'_, W>) {
    let Rows { n_rows, n_columns, .. } = from.0;
    assert_eq!([n_rows, n_columns], [to.0.n_columns, to.0.n_rows], "as many columns as rows");
    let wide = <W::Vector<S> as SimdBase<S>>::LEN;
    let least = n_rows.min(n_columns);
    if wide <= MOST_LANES && least >= wide {
        turn_by::<S, W::Vector<S>>(simd, from, to);
    } else if least >= <W::Vector<S> as SimdBase<S>>::Block::LEN {
        turn_by::<S, <W::Vector<S> as SimdBase<S>>::Block>(simd, from, to);
    } else {
        for row in 0..n_rows {
            for (column, &element) in from.part(row, 0, n_columns).iter().enumerate() {
                to.part(column, row, 1)[0] = element;
            }
        }
    }
}

/// [`turn`] by vectors `V`, where there are as many rows and columns as one has lanes.
#[inline(always)]
fn turn_by<S: Simd, V: SimdBase<S>>(
    simd: S,
    from: &RowsToRead<'_, V::Element>,
    to: &mut RowsToWrite<'_, V::Element>,
) {
    match V::LEN {
        2 => turn_squares::<S, V, 2>(simd, from, to),
        4 => turn_squares::<S, V, 4>(simd, from, to),
        8 => turn_squares::<S, V, 8>(simd, from, to),
        MOST_LANES => turn_squares::<S, V, MOST_LANES>(simd, from, to),
        lanes => unreachable!("vectors of {lanes} lanes"),
    }
}

/// The same, `N` being the lanes of a vector. Rows and columns that are left over are turned together with some before them.
#[inline(always)]
fn turn_squares<S: Simd, V: SimdBase<S>, const N: usize>(
    simd: S,
    from: &RowsToRead<'_, V::Element>,
    to: &mut RowsToWrite<'_, V::Element>,
) {
    let Rows { n_rows, n_columns, .. } = from.0;
    for row in (0..n_rows).step_by(N).map(|row| row.min(n_rows - N)) {
        for column in (0..n_columns).step_by(N).map(|column| column.min(n_columns - N)) {
            let rows = std::array::from_fn::<_, N, _>(
                #[inline(always)]
                |i| V::from_slice(simd, from.part(row + i, column, N)),
            );
            // By reference: an iterator that owns 16 vectors was copied in memory for each of them, 0.7 ns for an element of `f32`.
            for (i, part) in turned(rows).iter().enumerate() {
                part.store_slice(to.part(column + i, row, N));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: element by element. What lies between rows is not written.
    fn check<W: Word + From<u16> + PartialEq + std::fmt::Debug>() {
        for isa in Isa::available() {
            for sizes in (1..70).flat_map(|n_rows| [1, 3, 4, 7, 8, 15, 16, 17, 31, 32, 49, 65].map(|n| [n_rows, n]))
            {
                let [n_rows, n_columns] = sizes;
                let [from_pitch, to_pitch] = [n_columns + 3, n_rows + 2];
                let from: Vec<W> = (0..(n_rows * from_pitch) as u16).map(W::from).collect();
                let mut to = vec![W::from(u16::MAX); n_columns * to_pitch];
                // SAFETY: rows with what lies between them.
                let rows = unsafe { RowsToRead::new(from.as_ptr(), from_pitch as isize, sizes) };
                // SAFETY: as above.
                let mut columns =
                    unsafe { RowsToWrite::new(to.as_mut_ptr(), to_pitch as isize, [n_columns, n_rows]) };
                fearless_simd::dispatch!(isa.level(), simd => turn_at(simd, &rows, &mut columns));
                for (column, to) in to.chunks(to_pitch).enumerate() {
                    for (row, &to) in to.iter().enumerate() {
                        let is_inside = row < n_rows;
                        let want = if is_inside { from[row * from_pitch + column] } else { W::from(u16::MAX) };
                        assert_eq!(to, want, "{isa} {sizes:?} {row} {column}");
                    }
                }
            }
        }
    }

    #[test]
    fn every_element_goes_to_its_row_of_its_column() {
        check::<u16>();
        check::<u32>();
        check::<u64>();
    }
}
