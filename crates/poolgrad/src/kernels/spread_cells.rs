//! Cells: the rows that the meetings of stretches along D and H have, with an element for each stretch along W.
//!
//! Each is the sum of the wide rows of the outputs whose windows meet there, `od` by `od` and `oh` by `oh` in each. Where all
//! of these are at hand, they are added up in registers, a vector at a time; else row by row, as they are made.

use std::ops::Range;

use fearless_simd::{Simd, SimdBase};

use super::repeats::SLACK;
use super::rows;
use super::spread_block::{Block, Rounded};
use super::stretches::Stretches;
use super::widen::{OutputRows, Widen};
use crate::dtype::{Accumulator, Float};
use crate::tensor::raw::Source;

/// The cells of one depth, and what they are formed with.
pub(super) struct Cells<'s, T: Float> {
    pub(super) sums: &'s mut [T::Acc],
    pub(super) rounded: &'s mut [T],
    pub(super) widen: Widen<'s, T>,
}

impl<T: Float> Cells<'_, T> {
    /// The different rows of a group at the depths that lie in the windows `outputs` along D.
    #[inline(always)]
    pub(super) fn of<S: Simd>(
        &mut self,
        (grad_output, group): (&Source<'_, T>, usize),
        outputs: Range<usize>,
        block: &Block<'_, S>,
    ) -> Rounded<'_, T> {
        let pitch = self.widen.pitch(&block.w, grad_output.width_of(group));
        let len = block.h.len() * pitch + SLACK;
        let first = OutputRows { group, od: outputs.start, oh: block.h.outputs.clone() };
        let is_all_made = self.widen.are_all() && outputs.len() <= 2;
        if is_all_made {
            for od in outputs.clone() {
                let rows = OutputRows { od, ..first.clone() };
                self.widen.make(block.simd, grad_output, &rows, &block.w);
            }
        }
        // Then each has one term, and no wide row has a negative zero, so that it is the sum of +0.0 and itself.
        let are_sums = is_all_made && outputs.len() == 1 && self.widen.are_disjoint_along_h();
        if is_all_made && !are_sums {
            let made = |od| self.widen.made(&OutputRows { od, ..first.clone() }, pitch);
            let (rows, sums) = ((&block.h, pitch), &mut self.sums[..len]);
            match outputs.len() {
                1 => add_at_once(block.simd, [made(outputs.start)], rows, sums),
                _ => add_at_once(block.simd, [made(outputs.start), made(outputs.start + 1)], rows, sums),
            }
        } else if !are_sums {
            self.add_by_rows(grad_output, (&first, outputs), block, pitch);
        }
        let sums = if are_sums { self.widen.made(&first, pitch) } else { &self.sums[..len] };
        let elements = T::from_wide(sums).unwrap_or_else(|| {
            T::narrow(&sums[..len - SLACK], &mut self.rounded[..len - SLACK]);
            &self.rounded[..len]
        });
        Rounded { elements, pitch }
    }

    /// Adds up the sums row by row, as these are made.
    #[inline(always)]
    fn add_by_rows<S: Simd>(
        &mut self,
        grad_output: &Source<'_, T>,
        (first, outputs): (&OutputRows, Range<usize>),
        block: &Block<'_, S>,
        pitch: usize,
    ) {
        for od in outputs.clone() {
            let mut stretches = 0..0;
            let Range { mut start, end } = block.h.outputs;
            while start < end {
                let oh = start..end.min(start + self.widen.n_rows());
                let rows = OutputRows { od, oh, ..first.clone() };
                start = rows.oh.end;
                self.widen.make(block.simd, grad_output, &rows, &block.w);
                for (oh, wide) in rows.oh.clone().zip(self.widen.made(&rows, pitch).chunks_exact(pitch)) {
                    stretches = block.h.of(oh, stretches.start);
                    for number in stretches.clone() {
                        let sums = &mut self.sums[number * pitch..][..pitch];
                        if od == outputs.start && block.h.begins_with(number, oh) {
                            sums.copy_from_slice(wide);
                        } else {
                            rows::add(sums, wide);
                        }
                    }
                }
            }
        }
    }
}

/// Adds up the sums of all stretches along H, `pitch` elements apart, from the wide rows of each of `N` `od`, `oh` by `oh` in each.
///
/// A function of its own, so that there are enough registers: within the kernel each stretch took a hundred instructions to find
/// its rows.
#[inline(never)]
fn add_at_once<S: Simd, A: Accumulator, const N: usize>(
    simd: S,
    wide: [&[A]; N],
    (h, pitch): (&Stretches<'_>, usize),
    sums: &mut [A],
) {
    simd.vectorize(
        #[inline(always)]
        || {
            const { assert!(A::Vector::<S>::LEN <= SLACK, "what is behind all rows has room for a vector") };
            let lanes = A::Vector::<S>::LEN;
            // What fills the last vector up reaches into the next row, whose sums are formed later, or into what is behind all.
            let len = pitch.next_multiple_of(lanes);
            for (stretch, at) in h.iter().zip((0..).step_by(pitch)) {
                let (sums, n_rows) = (&mut sums[at..at + len], stretch.outputs.len());
                let first = (stretch.outputs.start - h.outputs.start) * pitch;
                let mut wide = wide;
                for wide in &mut wide {
                    *wide = &wide[first..][..(n_rows - 1) * pitch + len];
                }
                // Of a number that the compiler knows, the terms are no loop: nearly all places lie in one or two windows.
                match n_rows {
                    1 => put_sums(simd, wide, (1, pitch), sums),
                    2 => put_sums(simd, wide, (2, pitch), sums),
                    _ => put_sums(simd, wide, (n_rows, pitch), sums),
                }
            }
        },
    );
}

/// Writes the sums of `n_rows` rows of each `od`, `pitch` elements apart, a vector at a time.
#[inline(always)]
fn put_sums<S: Simd, A: Accumulator, const N: usize>(
    simd: S,
    wide: [&[A]; N],
    (n_rows, pitch): (usize, usize),
    sums: &mut [A],
) {
    let lanes = A::Vector::<S>::LEN;
    for (sums, column) in sums.chunks_exact_mut(lanes).zip((0..).step_by(lanes)) {
        let term =
            |i: usize| A::Vector::<S>::from_slice(simd, &wide[i / n_rows][i % n_rows * pitch + column..][..lanes]);
        let mut sum = term(0);
        for i in 1..N * n_rows {
            sum += term(i);
        }
        sum.store_slice(sums);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Isa;
    use crate::exec::Scratch;
    use crate::geometry::AxisWindows;

    /// Oracle: the definition, one sum and one term after the other.
    #[test]
    fn cells_are_the_sums_of_their_rows_in_order() {
        // So different in size that their order matters.
        let term = |i: usize| ((i * 37 % 101) as f32).powi(9) * if i.is_multiple_of(3) { -1.0 } else { 1.0 };
        for (input, output) in [(12, 4), (13, 5), (50, 7), (5, 9), (7, 20), (6, 1)] {
            let axis = AxisWindows::adaptive(input, output);
            let mut bytes = vec![0; Stretches::bytes(&axis, input)];
            let h = Stretches::new(&axis, 0..input, &mut Scratch::new(&mut bytes));
            for (pitch, n_depths) in [(8, 1), (8, 2), (24, 2), (5, 1), (39, 2)] {
                let of_depth =
                    |od: usize| (0..output * pitch + SLACK).map(|i| term(i + 7 * od)).collect::<Vec<_>>();
                let wide = [0, 1].map(of_depth);
                for isa in Isa::available() {
                    let mut sums = vec![f32::NAN; h.len() * pitch + SLACK];
                    let rows = (&h, pitch);
                    fearless_simd::dispatch!(isa.level(), simd => match n_depths {
                        1 => add_at_once(simd, [&wide[0]], rows, &mut sums),
                        _ => add_at_once(simd, [&wide[0], &wide[1]], rows, &mut sums),
                    });
                    for (stretch, sums) in h.iter().zip(sums.chunks_exact(pitch)) {
                        for (column, &sum) in sums.iter().enumerate() {
                            let rows = (0..n_depths).flat_map(|od| stretch.outputs.clone().map(move |oh| (od, oh)));
                            let want = rows.fold(0.0, |sum, (od, oh)| sum + wide[od][oh * pitch + column]);
                            assert_eq!(sum, want, "{isa} {input} {output} {pitch} {n_depths}");
                        }
                    }
                }
            }
        }
    }
}
