//! Means of whole planes of single channels: global average pooling.
//!
//! ```text
//! output[n, c, 0, 0, 0] = Σ input[n, c, d, h, w] / (D·H·W)
//! ```
//!
//! The order of additions is that of [`mean`](super::mean): down each column, and then from one column to the next. The latter
//! wait for each other, so those of some planes are done in turn, and their means are written together.
//!
//! Traffic per input: one read; per output: one write.

use std::ops::Range;

use fearless_simd::{Simd, SimdBase};

use super::mean_columns::{LINE, Rows};
use super::rows::{self, ROW};
use crate::dtype::{Accumulator, Float, Sum};
use crate::exec::{Scratch, booked};
use crate::geometry::Geometry;
use crate::simd::turned;
use crate::tensor::raw::{Row, Source, Tile};

/// The planes whose columns are added up in turn: as many additions as a processor begins before the first of them is done.
const PLANES: usize = 8;

/// The columns of a plane that are added up in one go, so that those of all planes stay in the first-level cache.
const COLUMNS: usize = 256;

/// The lanes of the widest vector.
const MOST_LANES: usize = 16;

/// A vector of sums, and a block of 128 bits, which all processors turn without moving anything from one half to the other.
type Vector<S, A> = <A as Accumulator>::Vector<S>;
type Block<S, A> = <Vector<S, A> as SimdBase<S>>::Block;

/// The scratch bytes of one worker.
pub(super) fn bytes<T: Float>() -> usize {
    booked::<T::Acc>(PLANES * COLUMNS) + 2 * booked::<T::Acc>(ROW) + 2 * booked::<T>(ROW)
}

/// Fills a tile of single channels.
#[inline(always)]
pub(super) fn fill<S: Simd, T: Float>(
    simd: S,
    (input, from_memory): (&Source<'_, T>, bool),
    geometry: &Geometry,
    mut tile: Tile<'_, T, T>,
    mut scratch: Scratch<'_>,
) {
    let range = tile.range();
    let (means, rounded) = (scratch.row::<T::Acc>(ROW), scratch.row::<T>(ROW));
    let columns = scratch.row::<T::Acc>(PLANES * COLUMNS);
    let mut buffers = Buffers { wide: scratch.row(ROW), copied: scratch.row(ROW) };
    let n_w = geometry.input()[2];
    let planes = Planes { simd, n_w, n_rows: geometry.input_len() / n_w, from_memory };
    let count = T::Acc::from_count(geometry.input_len() as u64);
    for start in range.groups.clone().step_by(ROW) {
        let groups = start..range.groups.end.min(start + ROW);
        let means = &mut means[..groups.len()];
        planes.put_sums(input, groups.clone(), means, (columns, &mut buffers));
        means.iter_mut().for_each(|mean| *mean = *mean / count);
        let rounded = &mut rounded[..means.len()];
        T::narrow(means, rounded);
        tile.first.write_groups(groups, rounded);
    }
}

/// Buffers for what is not read where it lies.
struct Buffers<'s, T: Float> {
    wide: &'s mut [T::Acc],
    copied: &'s mut [T],
}

/// Planes of so many columns and rows, of all depths.
struct Planes<S> {
    simd: S,
    n_w: usize,
    n_rows: usize,
    /// Whether they are too large to be in the cache.
    from_memory: bool,
}

impl<S: Simd> Planes<S> {
    /// Puts the sums of the planes of `groups` into `sums`.
    #[inline(always)]
    fn put_sums<T: Float>(
        &self,
        input: &Source<'_, T>,
        groups: Range<usize>,
        sums: &mut [T::Acc],
        (columns, buffers): (&mut [T::Acc], &mut Buffers<'_, T>),
    ) {
        let Buffers { wide, copied } = buffers;
        let len = self.n_w * self.n_rows;
        let at_hand = input.consecutive_groups(groups.clone()).and_then(T::as_wide);
        let at_once = match at_hand {
            Some(_) => groups.len(),
            None => (ROW / len).max(PLANES),
        };
        for (sums, first) in sums.chunks_mut(at_once).zip(groups.step_by(at_once)) {
            let planes = match at_hand {
                Some(planes) => planes,
                None if sums.len() * len <= ROW => {
                    rows::widened(input.groups(first..first + sums.len(), copied), wide)
                }
                None => {
                    let all = self.sums_of_columns(
                        sums.len(),
                        columns,
                        #[inline(always)]
                        |plane, span, columns| {
                            let buffers = (&mut **wide, &mut **copied);
                            self.sum_rows(input, (first + plane, span), columns, buffers);
                        },
                    );
                    sums.copy_from_slice(&all[..sums.len()]);
                    continue;
                }
            };
            for (i, sums) in sums.chunks_mut(PLANES).enumerate() {
                let all = self.sums_at_hand(&planes[i * PLANES * len..], sums.len(), columns);
                sums.copy_from_slice(&all[..sums.len()]);
            }
        }
    }

    /// The sums of the first planes of `planes`, and of the last of these in the place of those that are missing.
    #[inline(always)]
    fn sums_at_hand<A: Accumulator>(&self, planes: &[A], n_planes: usize, columns: &mut [A]) -> [A; PLANES] {
        let len = self.n_w * self.n_rows;
        if self.n_rows == 1 || self.n_w == 1 {
            let mut sums = [A::ZERO; PLANES];
            self.add_in_turn(&mut sums, planes, (n_planes, len, len));
            return sums;
        }
        if self.n_w <= Block::<S, A>::LEN {
            return self.sums_of_few_columns::<A, Block<S, A>>(planes, n_planes, columns);
        }
        if self.n_w <= Vector::<S, A>::LEN {
            return self.sums_of_few_columns::<A, Vector<S, A>>(planes, n_planes, columns);
        }
        self.sums_of_columns(
            n_planes,
            columns,
            #[inline(always)]
            |plane, span, sums| {
                let plane = &planes[plane * len..(plane + 1) * len];
                if span.len() == self.n_w {
                    rows::clear(sums);
                    rows::add_rows(sums, plane);
                } else {
                    let rows = Rows { elements: &plane[span.start..], pitch: self.n_w, n: self.n_rows };
                    rows.sum_up(self.simd, sums, false);
                }
            },
        )
    }

    /// The sums of planes whose rows are no longer than a vector `V`.
    #[inline(always)]
    fn sums_of_few_columns<A: Accumulator, V: SimdBase<S, Element = A>>(
        &self,
        planes: &[A],
        n_planes: usize,
        columns: &mut [A],
    ) -> [A; PLANES] {
        let Self { n_w, n_rows, .. } = *self;
        let mut starts = [0; PLANES];
        for (plane, start) in starts.iter_mut().enumerate() {
            *start = plane.min(n_planes - 1) * n_rows * n_w;
        }
        // The rows of which whole vectors can be read, even of the last plane; of the others only what is there.
        let behind = planes.len() - starts[PLANES - 1];
        let n_whole = (behind + n_w).saturating_sub(V::LEN) / n_w;
        let mut of_planes = [V::splat(self.simd, A::ZERO); PLANES];
        for row in 0..n_rows.min(n_whole) {
            for (sums, &start) in of_planes.iter_mut().zip(&starts) {
                let at = start + row * n_w;
                *sums += V::from_slice(self.simd, &planes[at..at + V::LEN]);
            }
        }
        for row in n_whole..n_rows {
            for (sums, &start) in of_planes.iter_mut().zip(&starts) {
                *sums += self.vector::<V>(planes, start + row * n_w);
            }
        }
        for (columns, sums) in columns.chunks_exact_mut(COLUMNS).zip(&of_planes) {
            sums.store_slice(&mut columns[..V::LEN]);
        }
        let mut sums = [A::ZERO; PLANES];
        self.add_in_turn(&mut sums, columns, (PLANES, COLUMNS, self.n_w));
        sums
    }

    /// The sums of planes, whose columns `sum_up` adds up: of a plane, those of a span.
    #[inline(always)]
    fn sums_of_columns<A: Accumulator>(
        &self,
        n_planes: usize,
        columns: &mut [A],
        mut sum_up: impl FnMut(usize, Range<usize>, &mut [A]),
    ) -> [A; PLANES] {
        let mut sums = [A::ZERO; PLANES];
        for start in (0..self.n_w).step_by(COLUMNS) {
            let span = start..self.n_w.min(start + COLUMNS);
            for (plane, columns) in columns.chunks_exact_mut(COLUMNS).take(n_planes).enumerate() {
                sum_up(plane, span.clone(), &mut columns[..span.len()]);
            }
            self.add_in_turn(&mut sums, columns, (n_planes, COLUMNS, span.len()));
        }
        sums
    }

    /// Puts the sums of the columns of `span` into `sums`, from rows that are read one by one, or some at a time.
    #[inline(always)]
    fn sum_rows<T: Float>(
        &self,
        input: &Source<'_, T>,
        (group, span): (usize, Range<usize>),
        sums: &mut [T::Acc],
        (wide, copied): (&mut [T::Acc], &mut [T]),
    ) {
        let Self { n_w, n_rows, .. } = *self;
        let is_one_run = input.run_len() >= input.plane_len();
        // Elements of 16 bits are added up without being stored as sums before, where rows are so long and near.
        if span.len() >= LINE
            && !self.from_memory
            && T::as_wide(&[]).is_none()
            && is_one_run
            && let Row::Slice(plane) = input.row(group, 0..n_rows * n_w)
        {
            return Rows { elements: &plane[span.start..], pitch: n_w, n: n_rows }.sum_up(self.simd, sums, false);
        }
        rows::clear(sums);
        let at_once = if is_one_run && span.len() == n_w { ROW / n_w } else { 1 };
        for row in (0..n_rows).step_by(at_once) {
            let flat = row * n_w + span.start;
            let len = at_once.min(n_rows - row) * span.len();
            let elements = input.row(group, flat..flat + len).load(copied);
            rows::add_rows(sums, rows::widened(elements, wide));
        }
    }

    /// Adds `len` columns of each plane, `pitch` from one plane to the next, to `sums`: the first of all, then the second, and so on.
    #[inline(always)]
    fn add_in_turn<A: Accumulator>(&self, sums: &mut [A; PLANES], columns: &[A], places: (usize, usize, usize)) {
        match Block::<S, A>::LEN {
            2 => self.add_blocks_in_turn::<A, 2, 4>(sums, columns, places),
            4 => self.add_blocks_in_turn::<A, 4, 2>(sums, columns, places),
            lanes => unreachable!("blocks of {lanes} lanes"),
        }
    }

    /// The same by `N_BLOCKS` blocks of `N` lanes each, one for each plane.
    #[inline(always)]
    fn add_blocks_in_turn<A: Accumulator, const N: usize, const N_BLOCKS: usize>(
        &self,
        sums: &mut [A; PLANES],
        columns: &[A],
        (n_planes, pitch, len): (usize, usize, usize),
    ) {
        let mut blocks = [Block::<S, A>::splat(self.simd, A::ZERO); N_BLOCKS];
        for (block, sums) in blocks.iter_mut().zip(sums.chunks_exact(N)) {
            *block = Block::<S, A>::from_slice(self.simd, sums);
        }
        let start_of = |plane: usize| plane.min(n_planes - 1) * pitch;
        let whole = len - len % N;
        for at in (0..whole).step_by(N) {
            for (i, block) in blocks.iter_mut().enumerate() {
                let mut planes = [Block::<S, A>::splat(self.simd, A::ZERO); N];
                for (plane, elements) in planes.iter_mut().enumerate() {
                    let elements_at = start_of(i * N + plane) + at;
                    *elements = Block::<S, A>::from_slice(self.simd, &columns[elements_at..elements_at + N]);
                }
                for column in &turned(planes) {
                    *block += *column;
                }
            }
        }
        for at in whole..len {
            for (i, block) in blocks.iter_mut().enumerate() {
                let mut column = [A::ZERO; N];
                for (plane, element) in column.iter_mut().enumerate() {
                    *element = columns[start_of(i * N + plane) + at];
                }
                *block += Block::<S, A>::from_slice(self.simd, &column);
            }
        }
        for (block, sums) in blocks.iter().zip(sums.chunks_exact_mut(N)) {
            block.store_slice(sums);
        }
    }

    /// The elements from `at` on, and nothing behind the last.
    #[inline(always)]
    fn vector<V: SimdBase<S, Element: Sum>>(&self, elements: &[V::Element], at: usize) -> V {
        if let Some(elements) = elements.get(at..at + V::LEN) {
            return V::from_slice(self.simd, elements);
        }
        let mut padded = [V::Element::ZERO; MOST_LANES];
        padded[..elements.len() - at].copy_from_slice(&elements[at..]);
        V::from_slice(self.simd, &padded[..V::LEN])
    }
}
