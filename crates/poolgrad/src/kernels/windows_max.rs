//! Max pooling: the largest element of each window, and where it lies.
//!
//! For some rows of outputs at a time, and depth by depth:
//!
//! 1. read the rows of the input that their windows see, as keys (`windows_input.rs`);
//! 2. go down the rows of each window and keep, for each column, the best element and where it lies (`windows_best.rs`);
//!    where windows overlap along D, for each depth, which several windows then share;
//! 3. take the best of the depths;
//! 4. for each output, take the best of its columns (`windows_across.rs`).
//!
//! What is *best* has to be the same whichever way a window is walked: a NaN beats a number, and of several NaNs the
//! last in row-major order; otherwise the larger beats the smaller, and of equal elements the first in row-major order.
//! This is a total order, so columns may come first, and an element may be looked at twice. Where an element lies is kept as
//! a code that counts from where its window begins (`windows_codes.rs`). Outputs are kept until there are enough of them
//! to be written: rows may be short.
//!
//! Traffic per input: one read (more where blocks of rows meet, from the cache); per output: one value and one index.

use std::ops::Range;

use fearless_simd::Simd;

use super::windows::{Columns, OutputBox, output_boxes, parts};
use super::windows_across::{Across, RowsOfColumns, Strip};
use super::windows_best::{Best, Depth, RowsShape, Tap};
use super::windows_block::{BlockRows, Depths, Limits, MOST_DEPTHS, Piece, Pieces};
use super::windows_found::FoundRows;
use super::windows_input::{Plane, Slab, SlabBuffers, lanes};
use super::windows_results::Results;
use crate::dtype::{Float, Index, Key};
use crate::exec::stream::LINE;
use crate::exec::{Scratch, TileKernel};
use crate::geometry::{Geometry, Window};
use crate::tensor::raw::{Source, Tile};

/// The values to pool, and the windows.
pub(crate) struct WindowsMax<'a, T: Float> {
    input: Source<'a, T>,
    geometry: Geometry,
}

/// What a worker needs.
struct Work<'s, 't, T: Float, I: Index> {
    buffers: SlabBuffers<'s, T>,
    depths: Depths<'s, T::Key>,
    across: Across<'s, T::Key>,
    rows: BlockRows<'s>,
    results: Results<'s, 't, T, I>,
}

impl<'a, T: Float> WindowsMax<'a, T> {
    pub(crate) fn new(input: Source<'a, T>, geometry: Geometry) -> Self {
        Self { input, geometry }
    }

    /// The scratch bytes of one worker.
    pub(crate) fn bytes<I: Index>() -> usize {
        Columns::bytes()
            + SlabBuffers::<T>::bytes()
            + Depths::<T::Key>::bytes()
            + Across::<T::Key>::bytes()
            + BlockRows::bytes()
            + Results::<T, I>::bytes()
    }
}

impl<T: Float, I: Index> TileKernel<T, I> for WindowsMax<'_, T> {
    #[inline(always)]
    fn fill<S: Simd>(&self, simd: S, tile: Tile<'_, T, I>, mut scratch: Scratch<'_>) {
        let range = tile.range();
        let (output, indices) = tile.split();
        let scratch = &mut scratch;
        let mut work = Work {
            buffers: SlabBuffers::new(scratch),
            depths: Depths::new(scratch),
            across: Across::new(scratch),
            rows: BlockRows::new(scratch),
            results: Results::new(output, indices, scratch),
        };
        let mut pieces = Pieces::new();
        let axis = &Columns::new(self.geometry.axes[2], scratch);
        for group in range.groups {
            let plane = Plane::new(&self.input, group, self.geometry.input()[2]);
            output_boxes(
                self.geometry.output(),
                range.flat.clone(),
                #[inline(always)]
                |part| {
                    let limits = Limits::new(&self.geometry, plane.width, plane.is_direct());
                    let mut ow = part.w.start;
                    while ow < part.w.end {
                        ow = pieces.set::<T::Key>(&self.geometry, (part, ow), limits, axis);
                        self.fill_box(simd, &plane, (part, &pieces), axis, &mut work);
                    }
                },
            );
            work.results.store(simd, &plane);
        }
    }
}

impl<T: Float> WindowsMax<'_, T> {
    /// Finds the maxima of pieces of the rows of a box.
    ///
    /// What is read where it lies is read along rows. Of what is not, depth comes after depth, for windows to share them.
    #[inline(always)]
    fn fill_box<S: Simd, I: Index>(
        &self,
        simd: S,
        plane: &Plane<'_, '_, T>,
        (part, pieces): (&OutputBox, &Pieces),
        axis: &Columns<'_>,
        work: &mut Work<'_, '_, T, I>,
    ) {
        let [axis_d, axis_h, _] = &self.geometry.axes;
        if plane.is_direct() {
            let n_rows = pieces.iter().map(|piece| piece.n_rows).max().unwrap_or(1);
            let n_rows = if pieces.len() > 1 { 1 } else { n_rows };
            for od in part.d.clone() {
                for rows in parts(part.h.clone(), n_rows) {
                    work.rows.set(axis_h, &rows);
                    for piece in pieces.iter() {
                        self.fill_block(simd, plane, (piece, &rows), (od, axis_d.window(od)), axis, work);
                    }
                }
            }
            return;
        }
        for piece in pieces.iter() {
            for rows in parts(part.h.clone(), piece.n_rows) {
                work.rows.set(axis_h, &rows);
                work.depths.forget();
                if let (Some(all), 1..) = (&piece.all, piece.n_kept) {
                    let padding = 0..all.before * plane.width;
                    work.depths.best.clear_each(piece.n_kept * rows.len(), piece.pitch, padding);
                }
                for od in part.d.clone() {
                    self.fill_block(simd, plane, (piece, &rows), (od, axis_d.window(od)), axis, work);
                }
            }
        }
    }

    /// Finds the maxima of some rows of a piece, at position `od` along D.
    #[inline(never)]
    fn fill_block<S: Simd, I: Index>(
        &self,
        simd: S,
        plane: &Plane<'_, '_, T>,
        (piece, rows): (&Piece, &Range<usize>),
        (od, d): (usize, Window),
        axis: &Columns<'_>,
        work: &mut Work<'_, '_, T, I>,
    ) {
        let ([_, n_h, n_w], [_, n_oh, n_ow]) = (self.geometry.input(), self.geometry.output());
        let width = plane.width;
        let flat = (od * n_oh + rows.start) * n_ow + piece.outputs.start;
        // Parts of several rows do not follow what there is.
        let are_apart = piece.outputs.len() < n_ow && rows.len() > 1;
        if are_apart {
            work.results.store(simd, plane);
        }
        let at = work.results.room(simd, plane, flat, rows.len() * piece.outputs.len());
        let mut goes_on = false;
        for span in parts(piece.cover.clone(), piece.longest) {
            let one;
            let strip = match &piece.all {
                Some(all) => all,
                None => {
                    one = Strip::of_one(axis, piece.outputs.start, &span);
                    let Some(one) = &one else { continue };
                    one
                }
            };
            for first_d in (0..d.count).step_by(piece.codes.taps[0]) {
                for first_h in (0..work.rows.most_taps()).step_by(piece.codes.taps[1]) {
                    let taps = first_d..d.count.min(first_d + piece.codes.taps[0]);
                    self.fill_columns(simd, plane, (piece, strip), (d, taps, first_h), work);
                    let Work { rows: block, across, results, .. } = work;
                    let first_depth = d.first + first_d * d.step;
                    for row in 0..rows.len() {
                        let h = block.taps_of(row, first_h, 1).first;
                        block.origins[row] =
                            ((first_depth * n_h + h) * n_w + strip.span.start).wrapping_sub(strip.before);
                    }
                    let mut found = FoundRows {
                        keys: &mut results.keys[at..],
                        places: &mut results.places[at..],
                        row_len: piece.outputs.len() * width,
                        origins: block.origins,
                        offsets: piece.codes.offsets,
                        goes_on,
                    };
                    let columns = RowsOfColumns { n_rows: rows.len(), pitch: piece.pitch, width };
                    across.find(simd, (strip, &columns), axis, &mut found);
                    goes_on = true;
                }
            }
        }
        if are_apart {
            work.results.store_rows(simd, plane, rows.len(), n_ow);
        }
    }

    /// Steps 1 to 3 for some taps along D, and those along H from some number on.
    #[inline(always)]
    fn fill_columns<S: Simd, I: Index>(
        &self,
        simd: S,
        plane: &Plane<'_, '_, T>,
        (piece, strip): (&Piece, &Strip),
        (d, taps, first_h): (Window, Range<usize>, usize),
        work: &mut Work<'_, '_, T, I>,
    ) {
        let Work { buffers, depths, across, rows, .. } = work;
        let Across { from: best, has_nan, .. } = across;
        let n_h = self.geometry.input()[1];
        let n_elements = rows.n_rows * piece.pitch;
        let input = rows.taps(first_h, piece.codes.taps[1]);
        let slab_rows = |depth: usize| depth * n_h + input.start..depth * n_h + input.end;
        let put = |best: &mut Best<'_, T::Key>, slab: &Slab<'_, T::Key>, taps: Range<usize>, ahead: &[u8]| {
            let columns = (piece, strip, plane.width);
            put_rows(simd, columns, rows, (slab, input.start), (taps, first_h), ahead, best)
        };
        // While rows are compared, those of the next depth come from memory.
        let [n_d, _, n_w] = self.geometry.input();
        let ahead = |depth: usize| {
            let is_next = depth + 1 < n_d && strip.span.len() == n_w;
            if is_next { plane.bytes(slab_rows(depth + 1)) } else { &[] }
        };
        if piece.n_kept == 0 && strip.before > 0 {
            best.clear_each(rows.n_rows, piece.pitch, 0..strip.before * plane.width);
        }
        if plane.is_direct() {
            let first = slab_rows(d.first + taps.start * d.step);
            let slab = plane.rows(first.start, &strip.span, d.step.wrapping_mul(n_h));
            *has_nan = put(best, &slab, 0..taps.len(), &[]);
            return;
        }
        if piece.n_kept == 0 {
            *has_nan = false;
            for (i, tap) in taps.enumerate() {
                let slab = plane.slab(simd, slab_rows(d.first + tap * d.step), &strip.span, buffers);
                *has_nan |= put(best, &slab, i..i + 1, ahead(d.first + tap * d.step));
            }
            return;
        }
        for depth in d.first..d.first + d.count {
            let slot = depth % piece.n_kept;
            if depths.kept[slot] != depth {
                let slab = plane.slab(simd, slab_rows(depth), &strip.span, buffers);
                let mut best = depths.best.part(slot * n_elements..(slot + 1) * n_elements);
                (depths.kept[slot], depths.has_nan[slot]) = (depth, put(&mut best, &slab, 0..1, ahead(depth)));
            }
        }
        let empty = Depth { keys: &[], codes: &[], code: piece.codes.code(0, 0) };
        let mut all = [empty; MOST_DEPTHS];
        *has_nan = false;
        for (i, to) in all[..d.count].iter_mut().enumerate() {
            let slot = (d.first + i) % piece.n_kept;
            let range = slot * n_elements..(slot + 1) * n_elements;
            *has_nan |= depths.has_nan[slot];
            let (keys, codes) = (&depths.best.keys[range.clone()], &depths.best.codes[range]);
            *to = Depth { keys, codes, code: piece.codes.code(i, 0) };
        }
        let mut best = best.part(0..n_elements);
        if *has_nan {
            best.take_depths_with_nans(&all[..d.count]);
        } else {
            best.take_depths(simd, &all[..d.count]);
        }
    }
}

/// Step 2: takes some `taps` along D into account, which are the depths of `slab` and start anew if they begin with 0, and those
/// along H from number `first_h` on; returns whether some elements are not numbers. The first row of `slab` is number
/// `first_row` of its depth. The bytes `ahead` are asked for meanwhile.
#[inline(never)]
fn put_rows<S: Simd, K: Key>(
    simd: S,
    (piece, strip, width): (&Piece, &Strip, usize),
    rows: &BlockRows,
    (slab, first_row): (&Slab<'_, K>, usize),
    (taps_d, first_h): (Range<usize>, usize),
    ahead: &[u8],
    best: &mut Best<'_, K>,
) -> bool {
    let mut any_nan = false;
    let pitch = piece.pitch;
    let len = strip.span.len() * width;
    let vectors = len.next_multiple_of(lanes::<K>());
    let ahead_len = ahead.len().div_ceil(rows.n_rows).next_multiple_of(LINE);
    for (run, spacing) in rows.runs() {
        let taps_h = rows.taps_of(run.start, first_h, piece.codes.taps[1]);
        let last_row = rows.taps_of(run.end - 1, first_h, piece.codes.taps[1]).last() - first_row;
        let last = (taps_d.len() - 1) * slab.depth_pitch + last_row * slab.pitch;
        // Whole vectors, if they can be read even of the last row.
        let fits = last + vectors <= slab.keys.len();
        let shape = RowsShape {
            n_rows: run.len(),
            len: if fits { vectors } else { len },
            pitch,
            stride: spacing * slab.pitch,
            ahead: ahead.get(run.start * ahead_len..).unwrap_or(&[]),
            ahead_len,
        };
        let mut best = best.part(run.start * pitch + strip.before * width..run.end * pitch);
        let mut taps = [Tap { code: piece.codes.code(0, 0), keys: &[][..], is_new: false }; 9];
        let (mut n, mut are_first) = (0, taps_d.start == 0);
        for (i, tap_d) in taps_d.clone().enumerate() {
            for tap_h in 0..taps_h.count {
                let row = taps_h.first + tap_h * taps_h.step - first_row;
                taps[n] = Tap {
                    code: piece.codes.code(tap_d, tap_h),
                    keys: &slab.keys[i * slab.depth_pitch + row * slab.pitch..],
                    is_new: slab.is_far && tap_h >= piece.seen,
                };
                n += 1;
                if n < taps.len() && (tap_h + 1 < taps_h.count || tap_d + 1 < taps_d.end) {
                    continue;
                }
                any_nan |= best.take_rows(simd, &shape, &taps[..n], (are_first, slab.has_nan));
                (n, are_first) = (0, false);
            }
        }
    }
    // What goes beyond the end of a row, up to a whole vector, may lie in the padding.
    let behind = strip.before * width + len..strip.len * width;
    if !behind.is_empty() {
        best.clear_each(rows.n_rows, pitch, behind);
    }
    any_nan
}
