//! The gradient of average pooling where each plane has a single output, so that all of its elements are the same.
//!
//! ```text
//! grad_input[n, c, d, h, w] = 0.0 + grad_output[n, c, 0, 0, 0] / (D·H·W)
//! ```
//!
//! The gradients of some planes are divided and rounded together. Planes of single channels are filled where they lie, or small
//! ones together in the cache if they are to be streamed; of several channels some places are put together there and copied.
//!
//! Traffic per output: its gradient; per input: one write of its gradient.

use std::ops::Range;

use super::rows::ROW;
use super::stretches::multiply;
use crate::dtype::{Accumulator, Element, Float, Sum};
use crate::exec::stream::claim_next;
use crate::exec::{Scratch, booked};
use crate::tensor::raw::{OutTile, Source, Tile};

/// The most bytes of a plane in which it takes longer to find where lines begin than to write over their ends.
const FEW_BYTES: usize = 512;

/// The scratch bytes of one worker.
pub(super) fn bytes<T: Float>() -> usize {
    booked::<T::Acc>(ROW) + 3 * booked::<T>(ROW)
}

/// Fills a tile of groups of `width` channels, whose windows have `n_places` places.
#[inline(always)]
pub(super) fn fill<T: Float>(
    grad_output: &Source<'_, T>,
    (width, n_places): (usize, usize),
    mut tile: Tile<'_, T, T>,
    mut scratch: Scratch<'_>,
) {
    let range = tile.range();
    let (elements, shares) = (scratch.row::<T>(ROW), scratch.row::<T::Acc>(ROW));
    let (rounded, even) = (scratch.row::<T>(ROW), scratch.row::<T>(ROW));
    let count = T::Acc::from_count(n_places as u64);
    // Groups of different widths are not worked on together.
    let at_once = if width == 1 { ROW } else { 1 };
    for start in range.groups.clone().step_by(at_once) {
        let groups = start..range.groups.end.min(start + at_once);
        let gradients = grad_output.groups(groups.clone(), elements);
        let (shares, rounded) = (&mut shares[..gradients.len()], &mut rounded[..gradients.len()]);
        T::widen(gradients, shares);
        shares.iter_mut().for_each(|share| *share = T::Acc::ZERO + *share / count);
        T::narrow(shares, rounded);
        let places = (groups, range.flat.clone());
        if width == 1 {
            fill_planes(rounded, places, even, &mut tile.first);
        } else {
            fill_group(rounded, places, even, &mut tile.first);
        }
    }
}

/// Fills the planes of some groups of single channels with `values`, one for each group. A tile of several groups has their
/// planes as wholes.
#[inline(always)]
fn fill_planes<T: Element>(
    values: &[T],
    (groups, flat): (Range<usize>, Range<usize>),
    even: &mut [T],
    out: &mut OutTile<'_, T>,
) {
    let at_once = (ROW / flat.len()).max(1);
    for (values, start) in values.chunks(at_once).zip(groups.step_by(at_once)) {
        let groups = start..start + values.len();
        let n_elements = values.len() * flat.len();
        if let Some(memory) = out.memory(groups.clone(), flat.clone()) {
            repeat_each(values, memory, true);
        } else if values.len() > 1 {
            repeat_each(values, &mut even[..n_elements], false);
            out.write_groups(groups, &even[..n_elements]);
        } else {
            let even = &mut even[..n_elements.min(ROW)];
            repeat_each(values, even, false);
            write_again_and_again(even, (start, flat.clone()), 1, out);
        }
    }
}

/// Fills the places of a group with `values`, one for each channel.
#[inline(always)]
fn fill_group<T: Element>(
    values: &[T],
    (groups, flat): (Range<usize>, Range<usize>),
    even: &mut [T],
    out: &mut OutTile<'_, T>,
) {
    let width = values.len();
    let even = &mut even[..flat.len().min(ROW / width) * width];
    even[..width].copy_from_slice(values);
    multiply(even, width, false);
    write_again_and_again(even, (groups.start, flat), width, out);
}

/// Writes `even`, places of `width` channels, to the places of a group until all are filled.
#[inline(always)]
fn write_again_and_again<T: Element>(
    even: &[T],
    (group, flat): (usize, Range<usize>),
    width: usize,
    out: &mut OutTile<'_, T>,
) {
    let at_once = even.len() / width;
    for start in flat.clone().step_by(at_once) {
        out.write(group, start, &even[..at_once.min(flat.end - start) * width]);
    }
}

/// Fills `memory` with `values`, each in as many neighbouring places. Of an output, what follows is asked for.
#[inline(always)]
fn repeat_each<T: Element>(values: &[T], memory: &mut [T], in_output: bool) {
    let len = memory.len() / values.len();
    if len * size_of::<T>() <= FEW_BYTES {
        if in_output {
            claim_next(memory);
        }
        return match size_of::<T>() {
            2 => repeat_few::<T, 16>(values, memory, len),
            4 => repeat_few::<T, 8>(values, memory, len),
            _ => repeat_few::<T, 4>(values, memory, len),
        };
    }
    for (i, &value) in values.iter().enumerate() {
        for start in (0..len).step_by(ROW) {
            let memory = &mut memory[i * len + start..];
            let len = ROW.min(len - start);
            if in_output {
                claim_next(&memory[..len]);
            }
            match size_of::<T>() {
                2 => repeat_over::<T, 16>(value, memory, len),
                4 => repeat_over::<T, 8>(value, memory, len),
                _ => repeat_over::<T, 4>(value, memory, len),
            }
        }
    }
}

/// Fills `memory` with `values`, each in `len` places, `N` at a time. The last of them may be written over the first of the next,
/// which follow.
#[inline(always)]
fn repeat_few<T: Element, const N: usize>(values: &[T], memory: &mut [T], len: usize) {
    let n_vectors = len.div_ceil(N);
    let mut rest = memory;
    for &value in values {
        match rest.as_chunks_mut::<N>().0.get_mut(..n_vectors) {
            Some(vectors) => vectors.fill([value; N]),
            None => rest[..len].fill(value),
        }
        rest = &mut rest[len..];
    }
}

/// Fills the first `len` places of `memory` with `value`, `N` at a time, which are half a cache line. What follows them there may
/// be written too: it is filled next, and to stop within a vector would take longer.
///
/// What lies on two lines takes twice as long to write. So only the first vector may, and overlaps the second.
#[inline(always)]
fn repeat_over<T: Element, const N: usize>(value: T, memory: &mut [T], len: usize) {
    let Some(first) = memory.first_chunk_mut::<N>() else { return memory[..len].fill(value) };
    *first = [value; N];
    let second = match first.as_ptr().align_offset(size_of_val(first)) {
        0 => N,
        offset => offset.min(N),
    };
    let (rest, left) = (&mut memory[second..], len.saturating_sub(second));
    match rest.as_chunks_mut::<N>().0.get_mut(..left.div_ceil(N)) {
        Some(vectors) => vectors.fill([value; N]),
        None => rest[..left].fill(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_has_its_places_and_nothing_else() {
        fn check<T: Element + From<u8> + PartialEq>() {
            for (n_values, len) in [(1, 1), (1, 63), (2, 8), (5, 49), (3, 100), (2, 4000), (40, 3)] {
                let values: Vec<T> = (1..=n_values).map(T::from).collect();
                let mut memory = vec![T::default(); usize::from(n_values) * len + 1];
                let end = memory.len() - 1;
                repeat_each(&values, &mut memory[..end], true);
                let want = values.iter().flat_map(|&value| std::iter::repeat_n(value, len));
                assert!(memory[..end].iter().copied().eq(want), "{n_values} times {len}");
                assert!(memory[end] == T::default());
            }
        }
        check::<half::bf16>();
        check::<f32>();
        check::<f64>();
    }
}
