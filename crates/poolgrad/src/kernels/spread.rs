//! The gradient of average pooling: each output's gradient is shared among the elements of its window.
//!
//! ```text
//! grad_input[n, c, d, h, w] = Σ grad_output[n, c, od, oh, ow] / (|od|·|oh|·|ow|)
//! ```
//!
//! over the windows that hold `(d, h, w)`, where `|·|` are their sizes along each axis. The sum is separable, and this
//! fixes the one order in which it is formed, in f32 (f64 for f64), from +0.0:
//!
//! 1. for each output row `(od, oh)`, in ascending order, divide its gradients once by their windows' sizes;
//! 2. widen it along W: at each `w`, from +0.0, add the shares of the windows that hold it, `ow` ascending;
//! 3. add the wide row to every row `(d, h)` of its window.
//!
//! Places that lie in the same windows have the same gradients. So each axis is taken in *stretches* of such places, and
//! a row is formed, and rounded, once for each meeting of a stretch along D and one along H, and copied to all their
//! rows. It has one place for each stretch along W, which is repeated last (see [`repeats`](super::repeats)). Short rows are put
//! together in the cache to a *slab*, the part of one depth that a tile has, and slabs of small planes to longer pieces;
//! they are formed in the output itself where it can hold them and is not to be streamed. To be streamed, large slabs and
//! long rows of single channels are made line by line, [where that is faster](permuted_lines_pay), from rows that are put
//! together one at a time where they [come again](Repeats::stream); and so are slabs of any size whose rows' cells [fit a
//! register](Repeats::hold_rows). Planes of a single output are [filled evenly](super::spread_evenly).
//!
//! Traffic per output: its gradient; per input: one write of its gradient.

use std::ops::Range;

use fearless_simd::Simd;

use super::repeats::{Repeats, SLACK};
use super::spread_block::{Block, LONG, Rounded};
use super::spread_cells::Cells;
use super::spread_evenly;
use super::stretches::{Stretches, multiply};
use super::widen::{MOST_OUTPUTS, Widen, most_pitch, pitch};
use crate::dtype::{Element, Float};
use crate::exec::stream::permuted_lines_pay;
use crate::exec::{Scratch, TileKernel, booked};
use crate::geometry::{AxisWindows, Geometry};
use crate::tensor::partition::{Partition, Wanted, even};
use crate::tensor::raw::{OutTile, Source, Tile};

/// The elements of the slabs that are gathered at a time: long enough to be written out in one go, short enough to stay
/// in the first-level cache.
const GATHERED: usize = 4096;

/// The most elements of a slab where a tile need not be whole depths.
const SLAB: usize = 16 << 10;

/// The bytes of a slab that is put together in the cache even if it could be made line by line on its way to memory, by more
/// than a permutation of what a register holds: half of the first-level cache of most machines. A slab is written several times,
/// which takes less than to make it again; if these are few, half as many bytes are put together.
const CLOSE: usize = 16 << 10;

/// The depths that repeat a slab below which these are few.
const FEW_DEPTHS: usize = 4;

/// The elements of a row that is better put together with others, however many rows a window has.
const SHORT: usize = 256;

/// The most elements of a row that is not cut.
const LONGEST: usize = 8 << 10;

/// The gradients of all outputs, and the windows they are shared among.
pub(crate) struct Spread<'a, T: Float> {
    grad_output: Source<'a, T>,
    geometry: Geometry,
    cut: Partition,
    width: usize,
}

/// The elements that a worker holds.
struct Lens {
    /// The different rows of one depth, as sums, and as elements if these have to be rounded.
    cells: usize,
    rounded: usize,
    /// What is written out in one go.
    pieces: usize,
    /// Whether that is a row.
    by_rows: bool,
    /// A row that lines are read from.
    built: usize,
}

impl Lens {
    fn new<T: Float>(axes: &[AxisWindows; 3], cut: &Partition, width: usize) -> Self {
        let [d, h, w] = cut.block();
        let cells = Stretches::most(&axes[1], h) * most_pitch(&axes[2], w, width) + SLACK;
        let rounded = if T::from_wide(&[]).is_some() { 0 } else { cells };
        let (row, slab) = (w * width, h * w * width);
        let by_rows = w < axes[2].input() || row >= LONG || slab > SLAB;
        let is_depth = h == axes[1].input();
        let n_slabs = if is_depth { (GATHERED / slab).clamp(1, d) } else { 1 };
        let built = if width == 1 { Repeats::built_len::<T>(w.min(LONG)) } else { 0 };
        Self { cells, rounded, pieces: if by_rows { row } else { n_slabs * slab }, by_rows, built }
    }
}

/// How `n_groups` groups of `width` channels are cut into tiles as `wanted`: where depths are long, into blocks that reach
/// over the depths and rows that are copies of each other.
pub(crate) fn cut_for_spread(geometry: &Geometry, n_groups: usize, width: usize, wanted: Wanted) -> Partition {
    let dims @ [n_d, n_h, n_w] = geometry.input();
    // The elements of a row, or of its cells where those are filled up to more.
    let room = |w: usize| most_pitch(&geometry.axes[2], w, width).max(w * width);
    let is_small = n_w <= SLAB && n_h.saturating_mul(room(n_w)) <= SLAB && n_d <= SLAB;
    if geometry.output_len() <= 1 || is_small {
        return Partition::new(n_groups, dims, wanted);
    }
    let n_places = n_groups.saturating_mul(geometry.input_len());
    let most = wanted.most.min(n_places.div_ceil(wanted.least_tiles.max(1)));
    // As much of an axis as is allowed, in equal parts, of whole windows if they are so short.
    let window = |axis: usize| dims[axis].div_ceil(geometry.output()[axis]);
    let part = |axis: usize, most: usize| {
        let even = even(dims[axis], most);
        let windows = even.next_multiple_of(window(axis));
        if windows <= most { windows } else { even }
    };
    // A row of single channels has a table, if it is not of too many outputs: two may reach in from outside.
    let columns = if width == 1 { LONGEST.min((MOST_OUTPUTS - 2) * window(2)) } else { LONGEST / width };
    let w = part(2, columns.min(most));
    // Short rows are put together. Of others only the cells are held, those of two stretches for each window, and what is made
    // for a tile should serve for a whole one.
    let rows = match w * width {
        row if row < SHORT => SLAB / room(w),
        row if row < LONG => (SLAB / row).max(window(1)),
        _ => (SLAB / most_pitch(&geometry.axes[2], w, width) / 2).max(1) * window(1),
    };
    let h = part(1, rows.min(most / w).max(1));
    let d = part(0, (most / (w * h)).min(SLAB));
    // What is the same for blocks of all groups is made once for a tile.
    let groups = (most / (w * h * d)).max(1);
    Partition::blocks(n_groups, dims, (even(n_groups, groups), [d, h, w]))
}

impl<'a, T: Float> Spread<'a, T> {
    /// A spread into the tiles of `cut`, of groups of `width` channels.
    pub(crate) fn new(grad_output: Source<'a, T>, geometry: Geometry, (cut, width): (Partition, usize)) -> Self {
        Self { grad_output, geometry, cut, width }
    }

    /// The scratch bytes of one worker.
    pub(crate) fn bytes(geometry: &Geometry, (cut, width): (&Partition, usize)) -> usize {
        if geometry.output_len() == 1 {
            return spread_evenly::bytes::<T>();
        }
        let axes = &geometry.axes;
        let block = cut.block();
        let lens = Lens::new::<T>(axes, cut, width);
        let stretches: usize = axes.iter().zip(block).map(|(axis, len)| Stretches::bytes(axis, len)).sum();
        let rounded = booked::<T>(lens.rounded) + booked::<T>(lens.pieces) + booked::<T>(lens.built);
        let repeats = if width == 1 { Repeats::bytes::<T>(block[2]) } else { 0 };
        let widen = Widen::<T>::bytes(&axes[2], block[2], width);
        let starts = booked::<u32>(block[1]);
        stretches + repeats + starts + booked::<T::Acc>(lens.cells) + rounded + widen
    }
}

impl<T: Float> TileKernel<T, T> for Spread<'_, T> {
    #[inline(always)]
    fn fill<S: Simd>(&self, simd: S, mut tile: Tile<'_, T, T>, mut scratch: Scratch<'_>) {
        if self.geometry.output_len() == 1 {
            let plane = (self.width, self.geometry.input_len());
            return spread_evenly::fill(&self.grad_output, plane, tile, scratch);
        }
        let range = tile.range();
        let lens = Lens::new::<T>(&self.geometry.axes, &self.cut, self.width);
        let [axis_d, axis_h, axis_w] = &self.geometry.axes;
        let [d, h, w] = range.block.clone();
        // One after the other: an array's `map` is compiled for no level.
        let d = Stretches::new(axis_d, d, &mut scratch);
        let h = Stretches::new(axis_h, h, &mut scratch);
        let w = Stretches::new(axis_w, w, &mut scratch);
        let repeats = (self.width == 1 && !w.are_places()).then(|| Repeats::new::<S, T>(simd, &w, &mut scratch));
        let starts = scratch.row(h.n_places);
        for (number, stretch) in h.iter().enumerate() {
            starts[stretch.places].fill((number * pitch(w.len(), 1)) as u32);
        }
        let block = Block { simd, d, h, w, repeats, starts };
        let mut cells = Cells {
            sums: scratch.row(lens.cells),
            rounded: scratch.row(lens.rounded),
            widen: Widen::new(
                simd,
                (&self.grad_output, &self.geometry),
                (&block.h.outputs, &block.w),
                self.width,
                &mut scratch,
            ),
        };
        let (pieces, built) = (scratch.row::<T>(lens.pieces), scratch.row::<T>(lens.built));
        let in_one_piece = range.is_contiguous();
        for group in range.groups {
            let mut slabs = Slabs { pieces: &mut *pieces, built: &mut *built, first: 0, n_gathered: 0 };
            let flat = range.flat.clone();
            let memory = if in_one_piece { tile.first.memory(group..group + 1, flat) } else { None };
            let mut to = match memory {
                Some(memory) => To::Memory(memory),
                None => To::Rows(&mut tile.first),
            };
            for depths in block.d.iter() {
                let rounded = cells.of((&self.grad_output, group), depths.outputs, &block);
                match &mut to {
                    To::Memory(memory) => self.fill_memory((group, depths.places), (&block, rounded), memory),
                    To::Rows(out) => {
                        let written =
                            self.stream_slabs((group, depths.places.clone()), (&block, rounded), &mut slabs, out);
                        let depths = depths.places.start + written..depths.places.end;
                        if lens.by_rows {
                            self.write_rows((group, depths), (&block, rounded), &mut slabs, out);
                        } else {
                            self.write_slabs((group, depths), (&block, rounded), &mut slabs, out);
                        }
                    }
                }
            }
            if let To::Rows(out) = to {
                self.flush(group, &block, &mut slabs, out);
            }
        }
    }
}

/// Where a plane of a tile goes.
enum To<'m, 't, T: Element> {
    /// Into the output itself.
    Memory(&'m mut [T]),
    /// There by rows or slabs.
    Rows(&'m mut OutTile<'t, T>),
}

/// Slabs on their way to the output.
struct Slabs<'s, T> {
    pieces: &'s mut [T],
    built: &'s mut [T],
    /// The first depth that is not written, and the number of those that are gathered.
    first: usize,
    n_gathered: usize,
}

impl<T: Float> Spread<'_, T> {
    /// Fills depths of a block where they lie.
    #[inline(always)]
    fn fill_memory<S: Simd>(
        &self,
        (group, depths): (usize, Range<usize>),
        (block, rounded): (&Block<'_, S>, Rounded<'_, T>),
        memory: &mut [T],
    ) {
        let width = self.grad_output.width_of(group);
        let len = block.slab_len(width);
        let memory = &mut memory[depths.start * len..depths.end * len];
        block.fill_slab(rounded, width, memory, true);
        multiply(memory, len, true);
    }

    /// Writes depths of a block whose rows are long or many, each row alone.
    #[inline(always)]
    fn write_rows<S: Simd>(
        &self,
        (group, depths): (usize, Range<usize>),
        (block, rounded): (&Block<'_, S>, Rounded<'_, T>),
        slabs: &mut Slabs<'_, T>,
        out: &mut OutTile<'_, T>,
    ) {
        let width = self.grad_output.width_of(group);
        let row = &mut slabs.pieces[..block.w.n_places * width];
        for (number, rows) in block.h.iter().enumerate() {
            let cells = &rounded.elements[number * rounded.pitch..];
            let by_lines = permuted_lines_pay::<T>(depths.len() * rows.places.len());
            let mut is_repeated = false;
            for d in depths.clone() {
                for h in rows.places.clone() {
                    let flat = self.flat(block, d, h);
                    if by_lines && block.stream((cells, &[0], 1), (group, flat), out, slabs.built) {
                        continue;
                    }
                    if block.w.are_places() {
                        out.write(group, flat, &cells[..row.len()]);
                        continue;
                    }
                    if !is_repeated {
                        block.repeat(cells, width, row);
                        is_repeated = true;
                    }
                    out.write(group, flat, row);
                }
            }
        }
    }

    /// Writes depths of a block line by line, if they are large and to be streamed; how many.
    #[inline(always)]
    fn stream_slabs<S: Simd>(
        &self,
        (group, depths): (usize, Range<usize>),
        (block, rounded): (&Block<'_, S>, Rounded<'_, T>),
        slabs: &mut Slabs<'_, T>,
        out: &mut OutTile<'_, T>,
    ) -> usize {
        let are_whole = block.w.n_places == self.geometry.input()[2];
        let close = if depths.len() < FEW_DEPTHS { CLOSE / 2 } else { CLOSE };
        let is_long = block.slab_len(1) * size_of::<T>() > close;
        let are_held = block.holds_rows::<T>();
        if !(are_whole && (are_held || is_long && permuted_lines_pay::<T>(depths.len()))) {
            return 0;
        }
        self.flush(group, block, slabs, out);
        let place = (group, self.flat(block, depths.start, 0));
        let n_slabs = depths.len();
        if are_held
            && block.h.n_places == self.geometry.input()[1]
            && block.stream((rounded.elements, block.starts, n_slabs), place, out, slabs.built)
        {
            return n_slabs;
        }
        let flats = depths.map(|d| self.flat(block, d, 0));
        let rows = (rounded.elements, block.starts, 1);
        flats.take_while(|&flat| block.stream(rows, (group, flat), out, slabs.built)).count()
    }

    /// Writes depths of a block whose rows are short: slab by slab, or several small ones together.
    #[inline(always)]
    fn write_slabs<S: Simd>(
        &self,
        (group, depths): (usize, Range<usize>),
        (block, rounded): (&Block<'_, S>, Rounded<'_, T>),
        slabs: &mut Slabs<'_, T>,
        out: &mut OutTile<'_, T>,
    ) {
        let width = self.grad_output.width_of(group);
        let len = block.slab_len(width);
        let mut last = None;
        for d in depths {
            if (slabs.n_gathered + 1) * len > slabs.pieces.len() {
                self.flush(group, block, slabs, out);
            }
            if slabs.n_gathered == 0 {
                slabs.first = d;
            }
            let at = slabs.n_gathered * len;
            match last {
                None => block.fill_slab(rounded, width, &mut slabs.pieces[at..], false),
                Some(last) if last == at => (),
                Some(last) => slabs.pieces.copy_within(last..last + len, at),
            }
            last = Some(at);
            slabs.n_gathered += 1;
        }
    }

    /// Writes the slabs that are gathered.
    #[inline(always)]
    fn flush<S: Simd>(
        &self,
        group: usize,
        block: &Block<'_, S>,
        slabs: &mut Slabs<'_, T>,
        out: &mut OutTile<'_, T>,
    ) {
        let len = slabs.n_gathered * block.slab_len(self.grad_output.width_of(group));
        if len > 0 {
            out.write(group, self.flat(block, slabs.first, 0), &slabs.pieces[..len]);
            slabs.n_gathered = 0;
        }
    }

    /// The flat offset of the first element of row `h` of depth `d` of a block.
    #[inline(always)]
    fn flat<S: Simd>(&self, block: &Block<'_, S>, d: usize, h: usize) -> usize {
        let [_, n_h, n_w] = self.geometry.input();
        ((block.d.first_place + d) * n_h + block.h.first_place + h) * n_w + block.w.first_place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_many_planes_share_what_is_made_for_a_tile() {
        let adaptive = |axes: [(usize, usize); 3]| Geometry {
            n: 1,
            c: 256,
            axes: axes.map(|(input, output)| AxisWindows::adaptive(input, output)),
        };
        let wanted = Wanted { unit: 1, most: 2 << 20, least_tiles: 16 };
        let flat = cut_for_spread(&adaptive([(1, 1), (224, 56), (224, 74)]), 256, 1, wanted);
        assert!(flat.flat_len() <= SLAB && flat.tile_len() > (1 << 19), "{flat:?}");
        assert!(flat.n_tiles() >= 16, "{flat:?}");
        let single = cut_for_spread(&adaptive([(1, 1), (2000, 56), (2000, 74)]), 1, 1, wanted);
        assert!(single.n_tiles() >= 16, "{single:?}");
    }
}
