//! Cells: the rows that the meetings of stretches along D and H have, with an element for each stretch along W.
//!
//! Each is the sum of the wide rows of the outputs whose windows meet there, `od` by `od` and `oh` by `oh` in each. Where all
//! of these are at hand and few, some columns of each are added up in registers; else row by row, as they are made.

use std::ops::Range;

use fearless_simd::Simd;

use super::repeats::SLACK;
use super::rows;
use super::spread_block::{Block, Rounded};
use super::stretches::Stretches;
use super::widen::{OutputRows, Widen};
use crate::dtype::{Accumulator, Float};
use crate::tensor::raw::Source;

/// The columns that are added up at once in registers; others may be read or written with the last of them.
const COLUMNS: usize = 16;
const _: () = assert!(COLUMNS <= SLACK);

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
            let both = [made(outputs.start), made(outputs.end - 1)];
            add_at_once(&both[..outputs.len()], (&block.h, pitch), &mut self.sums[..len]);
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

/// Adds up the sums of all stretches along H, `pitch` elements apart, from the wide rows of each `od`.
#[inline(always)]
fn add_at_once<A: Accumulator>(wide: &[&[A]], (h, pitch): (&Stretches<'_>, usize), sums: &mut [A]) {
    // What fills the last columns up reaches into the next row, whose sums are formed later, or into what is behind all.
    let len = pitch.next_multiple_of(COLUMNS);
    for (stretch, at) in h.iter().zip((0..).step_by(pitch)) {
        let sums = &mut sums[at..at + len];
        let oh = stretch.outputs.start - h.outputs.start;
        let row = |od: usize, behind: usize| &wide[od][(oh + behind) * pitch..][..len];
        match (wide.len(), stretch.outputs.len()) {
            (1, 1) => put_sums([row(0, 0)], sums),
            (1, 2) => put_sums([row(0, 0), row(0, 1)], sums),
            (2, 1) => put_sums([row(0, 0), row(1, 0)], sums),
            (2, 2) => put_sums([row(0, 0), row(0, 1), row(1, 0), row(1, 1)], sums),
            (n_depths, n_rows) => {
                sums.copy_from_slice(row(0, 0));
                (1..n_depths * n_rows).for_each(|i| rows::add(sums, row(i / n_rows, i % n_rows)));
            }
        }
    }
}

/// Writes the sums of rows, some columns at a time, which stay in registers.
#[inline(always)]
fn put_sums<A: Accumulator, const N: usize>(rows: [&[A]; N], sums: &mut [A]) {
    let rows = rows.map(|row| row[..sums.len()].as_chunks::<COLUMNS>().0);
    for (i, sums) in sums.as_chunks_mut::<COLUMNS>().0.iter_mut().enumerate() {
        let mut total = rows[0][i];
        for row in &rows[1..] {
            total.iter_mut().zip(&row[i]).for_each(|(total, &term)| *total += term);
        }
        *sums = total;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
                let wide: Vec<_> = (0..n_depths).map(of_depth).collect();
                let wide: Vec<_> = wide.iter().map(Vec::as_slice).collect();
                let mut sums = vec![f32::NAN; h.len() * pitch + SLACK];
                add_at_once(&wide, (&h, pitch), &mut sums);
                for (stretch, sums) in h.iter().zip(sums.chunks_exact(pitch)) {
                    for (column, &sum) in sums.iter().enumerate() {
                        let rows = (0..n_depths).flat_map(|od| stretch.outputs.clone().map(move |oh| (od, oh)));
                        let want = rows.fold(0.0, |sum, (od, oh)| sum + wide[od][oh * pitch + column]);
                        assert_eq!(sum, want, "{input} {output} {pitch} {n_depths}");
                    }
                }
            }
        }
    }
}
