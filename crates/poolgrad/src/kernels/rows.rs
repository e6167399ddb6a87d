//! Row primitives: the few loops that every kernel is made of.
//!
//! None of them adds across a row, so a compiler may use vectors of any width without changing a bit.

use std::hint::black_box;
use std::ops::Range;

use fearless_simd::Simd;
use zerocopy::IntoBytes;

use crate::dtype::{Accumulator, Element, Sum, Summed};
use crate::exec::stream::{claim_next, claiming_pays, whole_lines};
use crate::exec::{Scratch, booked};
use crate::tensor::raw::{OutTile, Row};

/// The longest row that is converted at once: long enough to amortise a call, short enough for its buffers to stay in
/// the first-level cache.
pub(crate) const ROW: usize = 2048;

/// The most channels that every kernel works on together: a row still has a few places. Some take up to [`ROW`].
pub(crate) const WIDEST: usize = ROW / 16;

/// The bytes of a row that is better cleared by the system's own routine.
const LONG: usize = 32 << 10;

/// The same for memory of an output, whose lines that routine does not ask for.
const LONG_OUTPUT: usize = 2 << 10;

/// The elements of an output that are cleared at a time: some lines.
const CLEARED: usize = 64;

/// Sets every element to +0.0.
#[inline(always)]
pub(crate) fn clear<A: Sum>(row: &mut [A]) {
    if size_of_val(row) > LONG {
        return clear_long(row);
    }
    // Of a zero that it knows, the compiler makes a call, which takes longer to begin than a short row takes.
    row.fill(black_box(A::ZERO));
}

/// Clears a row that may begin and end within a line. No store reaches from one line into the next, and so over the end of a page,
/// where on a Zen 4 it would wait for all that is on its way past the cache: rows of 113 and 65 sums take 0.85 to 0.93 of the time.
#[inline(always)]
pub(super) fn clear_by_lines<A: Sum>(row: &mut [A]) {
    let Range { start, end } = whole_lines(row);
    clear(&mut row[..start]);
    clear(&mut row[start..end]);
    clear(&mut row[end..]);
}

/// [`clear`] by the system's own routine: positive zero is made of zero bytes. Of elements that are zero, compilers made one loop
/// together with that for short rows.
#[inline(always)]
fn clear_long<A: Sum>(row: &mut [A]) {
    row.as_mut_bytes().fill(0);
}

/// [`clear`] for memory of an output, whose lines come from afar.
#[inline(always)]
pub(crate) fn clear_output<A: Sum>(row: &mut [A]) {
    if size_of_val(row) >= LONG_OUTPUT && !claiming_pays() {
        return clear_long(row);
    }
    let zeros = [black_box(A::ZERO); CLEARED];
    let (parts, rest) = row.as_chunks_mut();
    for part in parts {
        claim_next(part);
        *part = zeros;
    }
    claim_next(rest);
    clear(rest);
}

/// Adds `terms` to `sums`, element by element.
#[inline(always)]
pub(crate) fn add<A: Accumulator>(sums: &mut [A], terms: &[A]) {
    for (sum, &term) in sums.iter_mut().zip(terms) {
        *sum += term;
    }
}

/// Adds rows, each as long as `sums` and one after the other in `rows`, to `sums`.
#[inline(always)]
pub(crate) fn add_rows<A: Accumulator>(sums: &mut [A], rows: &[A]) {
    let len = sums.len();
    // The columns behind the last whole part, or those of that.
    let left = |part: usize| (len - 1) % part + 1;
    match len {
        0 => (),
        _ if len == rows.len() => add(sums, rows),
        32.. => match left(32) {
            17.. => add_columns::<A, 32, 32>(sums, rows),
            9.. => add_columns::<A, 32, 16>(sums, rows),
            _ => add_columns::<A, 32, 8>(sums, rows),
        },
        16.. if left(16) > 8 => add_columns::<A, 16, 16>(sums, rows),
        16.. => add_columns::<A, 16, 8>(sums, rows),
        8.. => add_columns::<A, 8, 8>(sums, rows),
        4.. => add_columns::<A, 4, 4>(sums, rows),
        _ => rows.chunks_exact(len).for_each(|row| add(sums, row)),
    }
}

/// As [`add_rows`], `N` columns at a time, whose sums stay in registers, and the last `LAST`, of which some may be among those
/// before them.
#[inline(always)]
fn add_columns<A: Accumulator, const N: usize, const LAST: usize>(sums: &mut [A], rows: &[A]) {
    let end = sums.len() - LAST;
    let last = with_rows::<A, LAST>(sums, rows, end);
    for at in (0..end).step_by(N) {
        let columns = with_rows::<A, N>(sums, rows, at);
        sums[at..at + N].copy_from_slice(&columns);
    }
    sums[end..].copy_from_slice(&last);
}

/// The `N` sums from `at` on, with the terms of `rows`.
#[inline(always)]
fn with_rows<A: Accumulator, const N: usize>(sums: &[A], rows: &[A], at: usize) -> [A; N] {
    let mut columns = [A::ZERO; N];
    columns.copy_from_slice(&sums[at..at + N]);
    for row in rows.chunks_exact(sums.len()) {
        for (sum, &term) in columns.iter_mut().zip(&row[at..at + N]) {
            *sum += term;
        }
    }
    columns
}

/// Buffers for rows that do not lie in memory as a kernel reads them.
pub(crate) struct RowBuffers<'s, T: Summed> {
    elements: &'s mut [T],
    wide: &'s mut [T::Acc],
}

impl<'s, T: Summed> RowBuffers<'s, T> {
    /// Buffers for rows of up to `len` elements.
    #[inline(always)]
    pub(crate) fn new(scratch: &mut Scratch<'s>, len: usize) -> Self {
        Self { elements: scratch.row(len), wide: scratch.row(len) }
    }

    /// The bytes to book for them.
    pub(crate) const fn bytes(len: usize) -> usize {
        booked::<T>(len) + booked::<T::Acc>(len)
    }

    /// The elements of `row`, widened: where they lie if they can be read so, or in a buffer.
    #[inline(always)]
    pub(crate) fn widen<'b>(&'b mut self, row: Row<'b, T>) -> &'b [T::Acc] {
        widened(row.load(self.elements), self.wide)
    }
}

/// `elements`, widened: where they lie if that is no change, or in `buffer`.
#[inline(always)]
pub(crate) fn widened<'b, T: Summed>(elements: &'b [T], buffer: &'b mut [T::Acc]) -> &'b [T::Acc] {
    match T::as_wide(elements) {
        Some(wide) => wide,
        // In no closure: one is compiled for no level, and was not always inlined.
        None => {
            let wide = &mut buffer[..elements.len()];
            T::widen(elements, wide);
            wide
        }
    }
}

/// Rounds `wide` once and writes it at the flat offsets of `group` that begin with `flat`.
///
/// `staging` holds rounded elements on their way to memory that cannot be rounded into directly.
#[inline(always)]
pub(crate) fn store<S: Simd, T: Summed>(
    simd: S,
    out: &mut OutTile<'_, T>,
    (group, flat): (usize, usize),
    wide: &[T::Acc],
    staging: &mut [T],
) {
    if T::from_wide(wide).is_some() || !out.round(simd, (group, flat), wide) {
        store_few(out, (group, flat), wide, staging);
    }
}

/// [`store`] for results that are few beside what is read.
#[inline(always)]
pub(crate) fn store_few<T: Summed>(
    out: &mut OutTile<'_, T>,
    (group, flat): (usize, usize),
    wide: &[T::Acc],
    staging: &mut [T],
) {
    if let Some(elements) = T::from_wide(wide) {
        return out.write(group, flat, elements);
    }
    let width = out.width_of(group);
    if let Some(row) = out.memory(group..group + 1, flat..flat + wide.len() / width) {
        return T::narrow(wide, row);
    }
    let places = staging.len() / width;
    for (i, wide) in wide.chunks(places * width).enumerate() {
        let elements = &mut staging[..wide.len()];
        T::narrow(wide, elements);
        out.write(group, flat + i * places, elements);
    }
}

/// [`store`] that leaves zeros.
#[inline(always)]
pub(crate) fn drain<S: Simd, T: Summed>(
    simd: S,
    out: &mut OutTile<'_, T>,
    (group, flat): (usize, usize),
    wide: &mut [T::Acc],
    staging: &mut [T],
) {
    if out.drain(simd, (group, flat), wide) {
        return;
    }
    if let Some(elements) = T::from_wide(wide) {
        out.write(group, flat, elements);
        return clear(wide);
    }
    let width = out.width_of(group);
    if let Some(row) = out.memory(group..group + 1, flat..flat + wide.len() / width) {
        return T::drain(wide, row);
    }
    let places = staging.len() / width;
    for (i, wide) in wide.chunks_mut(places * width).enumerate() {
        let elements = &mut staging[..wide.len()];
        T::drain(wide, elements);
        out.write(group, flat + i * places, elements);
    }
}

/// [`drain`] of all places of `groups`, one group after the other: of the sums from `at` on. Before these may lie some that were
/// left there with the groups before, because they do not fill a line (see [`OutTile::stream_groups`]). `staging` has room for
/// all, unless no rounding is needed.
#[inline(always)]
pub(crate) fn drain_groups<S: Simd, T: Summed>(
    simd: S,
    out: &mut OutTile<'_, T>,
    groups: Range<usize>,
    (wide, at): (&mut [T::Acc], usize),
    staging: &mut [T],
) {
    if let Some(left) = out.drain_groups(simd, &groups, wide) {
        if left.start > 0 {
            wide.copy_within(left.clone(), 0);
            clear(&mut wide[left]);
        }
        return;
    }
    let wide = &mut wide[at..];
    if let Some(elements) = T::from_wide(wide) {
        out.write_groups(groups, elements);
        return clear(wide);
    }
    let elements = &mut staging[..wide.len()];
    T::drain(wide, elements);
    out.write_groups(groups, elements);
}

/// Writes elements to all places of `groups`, one group after the other: those from `at` on, as in [`drain_groups`].
#[inline(always)]
pub(crate) fn copy_groups<S: Simd, T: Element>(
    simd: S,
    out: &mut OutTile<'_, T>,
    groups: Range<usize>,
    (elements, at): (&mut [T], usize),
) {
    match out.copy_groups(simd, &groups, elements) {
        Some(left) => elements.copy_within(left, 0),
        None => out.write_groups(groups, &elements[at..]),
    }
}

/// A staging row for [`store`].
#[inline(always)]
pub(crate) fn staging<'s, T: Element>(scratch: &mut Scratch<'s>) -> &'s mut [T] {
    scratch.row(ROW)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_added_column_by_column_in_their_order() {
        for len in 0..100 {
            for n_rows in [0, 1, 2, 5] {
                // So different in size that their order matters.
                let element =
                    |i: usize| ((i * 37 % 101) as f32).powi(9) * if i.is_multiple_of(3) { -1.0 } else { 1.0 };
                let rows: Vec<f32> = (0..n_rows * len).map(element).collect();
                let mut sums: Vec<f32> = (0..len).map(|column| column as f32 / 3.0).collect();
                let mut want = sums.clone();
                for (i, term) in rows.iter().enumerate() {
                    want[i % len] += term;
                }
                add_rows(&mut sums, &rows);
                assert_eq!(sums, want, "{n_rows} rows of {len}");
            }
        }
    }
}
