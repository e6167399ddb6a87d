//! Sums of columns, and means of them where channels are neighbours in memory: a line of elements at a time, in registers.
//!
//! To widen rows first, and to add them to sums in the cache, takes a store for each element. A line of several rows is added up
//! before its sums are stored, and memory is read as it would be row by row, but from some rows at a time. As everywhere, each
//! sum has its terms in ascending order, from +0.0.

use fearless_simd::Simd;

use super::rows::{self, ROW};
use crate::dtype::{Accumulator, Sum, Summed};

/// The elements that are added up together: as many as [`Summed::widen_line`] takes.
pub(super) const LINE: usize = 32;

/// The rows that are read at a time where they are long. Many that lie apart by a power of two share few sets of the first-level
/// cache.
///
/// On a Zen 4, one thread, 32 problems in channels-last order took 0.85, 0.76 and 0.67 of the time of widened rows with 2, 4 and 8
/// at a time, 1.18 with one, and 0.77 where all rows of a window were read at once, up to 3 then; 6 and 12 were no better than 8.
const AT_ONCE: usize = 8;

/// Rows of elements at even distances.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a, T> {
    /// From the first element of the first row on.
    pub(super) elements: &'a [T],
    /// The elements from one row to the next.
    pub(super) pitch: usize,
    pub(super) n: usize,
}

impl<T: Summed<Acc: Accumulator>> Rows<'_, T> {
    /// Puts the sum of each column into `sums`, which are as many as columns; or adds its elements to these, if `adds`.
    #[inline(always)]
    pub(super) fn sum_up<S: Simd>(self, simd: S, sums: &mut [T::Acc], adds: bool) {
        // Short rows are near each other.
        let at_once = AT_ONCE.max(ROW / self.pitch);
        for start in (0..self.n).step_by(at_once) {
            let some = Self {
                elements: &self.elements[start * self.pitch..],
                pitch: self.pitch,
                n: at_once.min(self.n - start),
            };
            simd.vectorize(
                #[inline(always)]
                || some.sum_up_at_once(simd, sums, adds || start > 0),
            );
        }
    }

    #[inline(always)]
    fn sum_up_at_once<S: Simd>(self, simd: S, sums: &mut [T::Acc], adds: bool) {
        let Some(end) = sums.len().checked_sub(LINE) else {
            return self.sum_up_few(sums, adds);
        };
        // The last line may overlap the one before it.
        let last = self.line(simd, sums, end, adds);
        for at in (0..end).step_by(LINE) {
            let line = self.line(simd, sums, at, adds);
            sums[at..at + LINE].copy_from_slice(&line);
        }
        sums[end..].copy_from_slice(&last);
    }

    /// The sums of a line of columns from `at` on.
    #[inline(always)]
    fn line<S: Simd>(self, simd: S, sums: &[T::Acc], at: usize, adds: bool) -> [T::Acc; LINE] {
        let mut line = [T::Acc::ZERO; LINE];
        if adds {
            line.copy_from_slice(&sums[at..at + LINE]);
        }
        for i in 0..self.n {
            let row = self.elements[i * self.pitch + at..].first_chunk().expect("as many columns as sums");
            let terms = T::widen_line(simd, row).unwrap_or_else(
                #[inline(always)]
                || {
                    let mut terms = [T::Acc::ZERO; LINE];
                    T::widen(row, &mut terms);
                    terms
                },
            );
            for (sum, term) in line.iter_mut().zip(terms) {
                *sum += term;
            }
        }
        line
    }

    /// The same of less than a line.
    #[inline(always)]
    fn sum_up_few(self, sums: &mut [T::Acc], adds: bool) {
        if !adds {
            rows::clear(sums);
        }
        let mut terms = [T::Acc::ZERO; LINE];
        let terms = &mut terms[..sums.len()];
        for i in 0..self.n {
            T::widen(&self.elements[i * self.pitch..][..sums.len()], terms);
            rows::add(sums, terms);
        }
    }
}

/// Puts the mean of each channel into `means`: its sum of `columns`, each of which has all channels, divided by `count`.
#[inline(always)]
pub(super) fn put_means<S: Simd, A: Accumulator>(simd: S, columns: &[A], means: &mut [A], count: u64) {
    simd.vectorize(
        #[inline(always)]
        || match means.len() {
            LINE.. => put_means_by::<A, LINE>(columns, means, count),
            16.. => put_means_by::<A, 16>(columns, means, count),
            8.. => put_means_by::<A, 8>(columns, means, count),
            4.. => put_means_by::<A, 4>(columns, means, count),
            3 => put_means_by::<A, 3>(columns, means, count),
            2 => put_means_by::<A, 2>(columns, means, count),
            _ => put_means_by::<A, 1>(columns, means, count),
        },
    );
}

/// The same, `N` channels at a time. The last may overlap those before them.
#[inline(always)]
fn put_means_by<A: Accumulator, const N: usize>(columns: &[A], means: &mut [A], count: u64) {
    let (width, end) = (means.len(), means.len() - N);
    // To multiply by a power of two is as exact, and takes less time.
    let is_power = count.is_power_of_two();
    let count = A::from_count(count);
    let share = A::from_count(1) / count;
    for at in (0..end).step_by(N).chain([end]) {
        let mut sums = [A::ZERO; N];
        for column in columns.chunks_exact(width) {
            for (sum, &term) in sums.iter_mut().zip(&column[at..at + N]) {
                *sum += term;
            }
        }
        let means = means[at..at + N].iter_mut().zip(sums);
        match is_power {
            true => means.for_each(|(mean, sum)| *mean = sum * share),
            false => means.for_each(|(mean, sum)| *mean = sum / count),
        }
    }
}
