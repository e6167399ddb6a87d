//! The better of two elements, and the best of each column of some rows.

use std::ops::Range;

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
    let number_wins = (value > best) | ((value == best) & !is_later);
    nan_wins | number_wins
}

#[inline(always)]
pub(super) fn select<V>(condition: bool, yes: V, no: V) -> V {
    if condition { yes } else { no }
}

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

    /// Takes rows into account that come later than all before. Each comes with the place of its first element;
    /// the others are `step` apart.
    ///
    /// Several at a time, so that the best of a column is not loaded and stored for each. The first start anew.
    #[inline(always)]
    pub(super) fn take_rows<const N: usize>(&mut self, rows: [(u32, &[A]); N], step: u32, are_first: bool) {
        let len = rows[0].1.len();
        let (values, places) = (&mut self.values[..len], &mut self.places[..len]);
        let rows = rows.map(|(place, row)| (place, &row[..len]));
        if are_first {
            for i in 0..len {
                let first = (rows[0].1[i], rows[0].0 + i as u32 * step);
                (values[i], places[i]) = best_of(&rows, i, step, first);
            }
        } else {
            for i in 0..len {
                (values[i], places[i]) = best_of(&rows, i, step, (values[i], places[i]));
            }
        }
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

/// The best of `best` and the elements of column `i`, each of which comes later than those before, or is the same.
#[inline(always)]
fn best_of<A: Accumulator, const N: usize>(
    rows: &[(u32, &[A]); N],
    i: usize,
    step: u32,
    best: (A, u32),
) -> (A, u32) {
    let (mut best, mut best_place) = best;
    for &(place, row) in rows {
        let wins = (row[i] > best) | row[i].is_nan();
        best = select(wins, row[i], best);
        best_place = select(wins, place + i as u32 * step, best_place);
    }
    (best, best_place)
}
