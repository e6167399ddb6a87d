//! The better of two elements, and the best of each column of some rows.

use std::ops::Range;

use fearless_simd::Simd;

use crate::dtype::Accumulator;
use crate::exec::{Scratch, booked};

/// The place of no element, later than all others; with [`Accumulator::LEAST`] it is worse than any element.
pub(super) const NOWHERE: u32 = u32::MAX;

/// Whether an element beats the best so far, given whether it comes later in row-major order.
///
/// Which of two elements wins is as good as random, so it is computed without a branch to be predicted.
#[inline(always)]
pub(super) fn beats<A: Accumulator>(value: A, best: A, is_later: bool) -> bool {
    let nan_wins = value.is_nan() & (is_later | !best.is_nan());
    nan_wins | number_beats(value, best, is_later)
}

/// [`beats`] for two numbers.
#[inline(always)]
fn number_beats<A: Accumulator>(value: A, best: A, is_later: bool) -> bool {
    (value > best) | ((value == best) & !is_later)
}

/// The better of two numbers and its place.
#[inline(always)]
pub(super) fn better<A: Accumulator>(a: (A, u32), b: (A, u32)) -> (A, u32) {
    let wins = number_beats(b.0, a.0, b.1 > a.1);
    (select(wins, b.0, a.0), select(wins, b.1, a.1))
}

#[inline(always)]
pub(super) fn select<V>(condition: bool, yes: V, no: V) -> V {
    if condition { yes } else { no }
}

/// The elements of a row, and the place of the first.
pub(super) type PlacedRow<'r, A> = (u32, &'r [A]);

/// The best elements of some columns: their values and their places.
pub(super) struct Best<'s, A> {
    pub(super) values: &'s mut [A],
    pub(super) places: &'s mut [u32],
}

impl<'s, A: Accumulator> Best<'s, A> {
    pub(super) fn new(len: usize, scratch: &mut Scratch<'s>) -> Self {
        Self { values: scratch.row(len), places: scratch.row(len) }
    }

    pub(super) const fn bytes(len: usize) -> usize {
        booked::<A>(len) + booked::<u32>(len)
    }

    /// Some of the columns.
    #[inline(always)]
    pub(super) fn part(&mut self, range: Range<usize>) -> Best<'_, A> {
        Best { values: &mut self.values[range.clone()], places: &mut self.places[range] }
    }

    /// Takes rows into account that come later than all before; returns whether any of them has a NaN. In each row,
    /// places are `step` apart.
    ///
    /// Several rows at a time, so that the best of a column is not loaded and stored for each. The first start anew.
    #[inline(always)]
    pub(super) fn take_rows<S: Simd>(
        &mut self,
        simd: S,
        mut rows: &[PlacedRow<'_, A>],
        step: u32,
        mut are_first: bool,
    ) -> bool {
        let len = rows[0].1.len();
        let (values, places) = (&mut self.values[..len], &mut self.places[..len]);
        let mut any_nan = false;
        // Each a function of its own, for which the compiler has all registers.
        macro_rules! largest_of {
            ($largest:ident, $rows:ident) => {
                if are_first {
                    simd.vectorize(
                        #[inline(always)]
                        || $largest::<A, true>(values, places, $rows, step),
                    )
                } else {
                    simd.vectorize(
                        #[inline(always)]
                        || $largest::<A, false>(values, places, $rows, step),
                    )
                }
            };
        }
        while !rows.is_empty() {
            let n_rows = [9, 6, 4, 3, 2].into_iter().find(|&n| n <= rows.len()).unwrap_or(1);
            let (some, rest) = rows.split_at(n_rows);
            let has_nan = match n_rows {
                9 => largest_of!(largest_of_9, some),
                6 => largest_of!(largest_of_6, some),
                4 => largest_of!(largest_of_4, some),
                3 => largest_of!(largest_of_3, some),
                2 => largest_of!(largest_of_2, some),
                _ => largest_of!(largest_of_1, some),
            };
            if has_nan {
                any_nan |= put_nans(values, places, some, step);
            }
            (rows, are_first) = (rest, false);
        }
        any_nan
    }

    /// The best of some columns, for each of `width` channels; whether there is any. In `columns`, the places are those
    /// of the first column.
    #[inline(always)]
    pub(super) fn take_columns(
        &mut self,
        columns: &Best<'_, A>,
        taps: impl Iterator<Item = usize>,
        width: usize,
    ) -> bool {
        let (values, places) = (&mut self.values[..width], &mut self.places[..width]);
        let mut any = false;
        for column in taps {
            let at = column * width;
            let others = columns.values[at..at + width].iter().zip(&columns.places[at..at + width]);
            let best = values.iter_mut().zip(&mut *places).zip(others);
            if !any {
                any = true;
                for ((value, place), (&other, &row)) in best {
                    (*value, *place) = (other, row + column as u32);
                }
                continue;
            }
            for ((value, place), (&other, &row)) in best {
                let other_place = row + column as u32;
                let wins = beats(other, *value, other_place > *place);
                *value = select(wins, other, *value);
                *place = select(wins, other_place, *place);
            }
        }
        any
    }
}

/// Functions that make `values` the largest numbers of columns, and `places` theirs, by so many rows that come later than
/// what is there or, if they are the `FIRST`, anew; and return whether there may be a NaN.
///
/// Rows by name, of which the compiler sees that they are long enough: of an array's it does not.
macro_rules! largest {
    ($($name:ident $($row:ident)*;)*) => {$(
        #[inline(always)]
        fn $name<A: Accumulator, const FIRST: bool>(
            values: &mut [A],
            places: &mut [u32],
            rows: &[PlacedRow<'_, A>],
            step: u32,
        ) -> bool {
            let [first, $($row),*] = rows else { unreachable!("so many rows") };
            let len = values.len();
            let first = (&first.1[..len], first.0);
            $(let $row = (&$row.1[..len], $row.0);)*
            put_largest::<A, FIRST>(values, places, step, #[inline(always)] |i| {
                let (best, place, sum) = (first.0[i], first.1, first.0[i]);
                $(
                    let place = select($row.0[i] > best, $row.1, place);
                    let (best, sum) = (select($row.0[i] > best, $row.0[i], best), sum + $row.0[i]);
                )*
                (best, place, sum)
            })
        }
    )*};
}
largest! {
    largest_of_1;
    largest_of_2 b;
    largest_of_3 b c;
    largest_of_4 b c d;
    largest_of_6 b c d e f;
    largest_of_9 b c d e f g h j;
}

/// What these functions do, given the largest number of each column, the place of its row, and the sum of the column.
#[inline(always)]
fn put_largest<A: Accumulator, const FIRST: bool>(
    values: &mut [A],
    places: &mut [u32],
    step: u32,
    largest: impl Fn(usize) -> (A, u32, A),
) -> bool {
    let n = values.len();
    let places = &mut places[..n];
    let mut has_nan = false;
    for i in 0..n {
        let (value, place, sum) = largest(i);
        // A sum is a NaN if one of its terms is, and else if it has infinities of both signs.
        has_nan |= sum.is_nan();
        let wins = FIRST || value > values[i];
        values[i] = select(wins, value, values[i]);
        places[i] = select(wins, place.wrapping_add(i as u32 * step), places[i]);
    }
    has_nan
}

/// Puts the last NaN of each column where one is; returns whether there is any.
#[cold]
#[inline(never)]
fn put_nans<A: Accumulator>(values: &mut [A], places: &mut [u32], rows: &[PlacedRow<'_, A>], step: u32) -> bool {
    let mut any = false;
    for &(place, row) in rows {
        let best = values.iter_mut().zip(&mut *places);
        for ((best, best_place), (i, &value)) in best.zip((0..).zip(row)).filter(|(_, (_, value))| value.is_nan()) {
            (*best, *best_place) = (value, place + i * step);
            any = true;
        }
    }
    any
}
