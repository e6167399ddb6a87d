//! How windows are taken together: pieces of rows of outputs, and blocks of such rows.

use std::ops::Range;

use super::rows::WIDEST;
use super::windows::{Columns, LONGEST, OutputBox};
use super::windows_across::{COLUMNS, Strip};
use super::windows_best::Best;
use super::windows_codes::Codes;
use super::windows_input::{SLAB, lanes};
use super::windows_results::RESULTS;
use crate::dtype::Key;
use crate::exec::{Scratch, booked};
use crate::geometry::{AxisWindows, Geometry, Window};

/// The most elements of the depths that windows share.
const DEPTHS: usize = 24 << 10;

/// The most elements of the rows that are worked on together where rows are read where they lie.
const DIRECT: usize = 4 << 10;

/// The most depths that are kept for windows to share.
pub(super) const MOST_DEPTHS: usize = 16;

/// The most columns that are read at once where they lie, counting channels: what comes of them stays in the first-level cache.
const DIRECT_COLUMNS: usize = 2 << 10;

/// The most rows of outputs that are worked on together.
pub(super) const MOST_ROWS: usize = 128;

/// A piece of the rows of a box of outputs: all that is to be known to work on some of these rows together.
pub(super) struct Piece {
    /// The outputs of a row, and the columns from where their windows begin to where they end.
    pub(super) outputs: Range<usize>,
    pub(super) cover: Range<usize>,
    /// All columns at once; `None` if a window comes alone, up to so many columns at a time.
    pub(super) all: Option<Strip>,
    pub(super) longest: usize,
    /// The first taps along H of a window that the window before it has seen.
    pub(super) seen: usize,
    pub(super) codes: Codes,
    /// The elements from one row of columns to the next.
    pub(super) pitch: usize,
    /// The rows that are worked on together.
    pub(super) n_rows: usize,
    /// The depths that are kept for windows to share; 0 if they do not.
    pub(super) n_kept: usize,
}

/// How input is read: groups of so many channels, up to so many columns at once, and whether where it lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Limits {
    pub(super) width: usize,
    pub(super) longest: usize,
    pub(super) is_direct: bool,
}

impl Limits {
    #[inline(always)]
    pub(super) fn new(geometry: &Geometry, width: usize, is_direct: bool) -> Self {
        let [_, axis_h, axis_w] = &geometry.axes;
        let whole = Some(extent(axis_w)).filter(|columns| columns.saturating_mul(width) <= LONGEST).unwrap_or(0);
        let longest = match (is_direct, width > WIDEST) {
            (true, false) => DIRECT_COLUMNS / width,
            (false, false) => LONGEST / width,
            // Of many channels there are few columns, but whole windows if they fit.
            (true, true) => (DIRECT_COLUMNS / width).max(whole),
            (false, true) => ((SLAB / extent(axis_h)).min(LONGEST) / width).max(whole),
        };
        let longest = longest.max(1);
        Self { width, longest, is_direct }
    }
}

/// The most channels of which whole windows can be worked on together, where memory has all channels in one piece.
pub(crate) fn most_channels(geometry: &Geometry, is_direct: bool) -> usize {
    let [_, h, w] = geometry.axes.each_ref().map(|axis| extent(axis).max(1));
    // Rows that are put into a buffer are better those of several windows.
    if is_direct { LONGEST / w } else { (SLAB / 2 / h).min(LONGEST) / w }
}

/// Whether all rows of the input that a window sees along H fit into a buffer, of `width` channels.
pub(crate) fn rows_of_windows_fit(geometry: &Geometry, width: usize) -> bool {
    let [_, h, w] = &geometry.axes;
    extent(h).saturating_mul(w.input()).saturating_mul(width) <= SLAB
}

/// The most taps of a window.
pub(super) fn most_taps(axis: &AxisWindows) -> usize {
    axis.taps().map_or_else(|| axis.most_covered(1), |taps| axis.input().min(taps.kernel_size as usize))
}

/// The most inputs from the first tap of a window to its last, padding included.
pub(super) fn extent(axis: &AxisWindows) -> usize {
    let of_taps = |taps: crate::geometry::FixedTaps| (taps.dilation * (taps.kernel_size - 1) + 1) as usize;
    axis.taps().map_or_else(|| axis.most_covered(1), of_taps)
}

impl Piece {
    pub(super) fn new<K: Key>(
        geometry: &Geometry,
        part: &OutputBox,
        (outputs, cover, all): (Range<usize>, Range<usize>, Option<Strip>),
        limits: Limits,
    ) -> Self {
        let Limits { width, longest, is_direct } = limits;
        let [axis_d, axis_h, axis_w] = &geometry.axes;
        let some = cover.len().min(longest);
        let (span, before, len) = all.as_ref().map_or((some, 0, some), |all| (all.span.len(), all.before, all.len));
        let vectors = before * width + (span * width).next_multiple_of(lanes::<K>());
        let pitch = vectors.max(len * width).next_multiple_of(lanes::<K>());
        let is_one_part = all.is_some() || some == cover.len();

        // Offsets are kept as 32 bits, half of what they could need; in a plane too large for that, each row is taken by
        // itself.
        let is_huge = u32::try_from(geometry.input_len()).is_err();
        let most = [axis_d, axis_h].map(|axis| if is_huge { 1 } else { most_taps(axis) });
        let [_, n_h, n_w] = geometry.input();
        let [step_d, step_h] = [axis_d, axis_h].map(|axis| axis.taps().map_or(1, |taps| taps.dilation as usize));
        let steps = [step_d.saturating_mul(n_h * n_w), step_h.saturating_mul(n_w)];
        let mut codes = Codes::new::<K::Code>(most, steps, (extent(axis_w).min(len), n_w));
        let slab_rows = if is_direct { usize::MAX } else { SLAB / (span * width) };
        codes.taps[1] = codes.taps[1].min(1 + (slab_rows - 1) / step_h);
        let is_one_part = is_one_part && codes.taps[1] >= most_taps(axis_h);

        let shares = !is_direct && is_one_part && !axis_d.are_disjoint() && part.d.len() > 1;
        let is_dense = axis_d.taps().is_none_or(|taps| taps.dilation == 1);
        let fits = codes.taps[0] >= most_taps(axis_d) && most[0] <= MOST_DEPTHS && most[0] * pitch <= DEPTHS;
        let n_kept = if shares && is_dense && fits { most[0] } else { 0 };

        let n_rows = if is_one_part {
            let by_slab = match axis_h.taps() {
                // What lies between windows is not read.
                Some(taps) if taps.stride as usize > extent(axis_h) => 1,
                Some(taps) => 1 + slab_rows.saturating_sub(extent(axis_h)) / taps.stride as usize,
                None => slab_rows.saturating_sub(2).saturating_mul(axis_h.output()) / axis_h.input(),
            };
            let by_depths = if n_kept > 0 { DEPTHS / (n_kept * pitch) } else { MOST_ROWS };
            let by_results = RESULTS / (outputs.len() * width);
            let by_columns = if is_direct { DIRECT } else { COLUMNS } / pitch;
            by_slab.min(by_depths).min(by_results).min(by_columns).clamp(1, MOST_ROWS)
        } else {
            1
        };
        let seen = match axis_h.taps() {
            Some(taps) if taps.dilation == 1 => (taps.kernel_size - taps.stride).max(0) as usize,
            _ => 0,
        };
        Self { outputs, cover, all, longest, seen, codes, pitch, n_rows, n_kept }
    }
}

/// The most pieces that are known at once.
const MOST_PIECES: usize = 16;

/// Pieces of the rows of a box.
pub(super) struct Pieces {
    /// What they are pieces of, if they are all.
    of: Option<(OutputBox, Limits)>,
    pieces: [Option<Piece>; MOST_PIECES],
    n_pieces: usize,
}

impl Pieces {
    pub(super) fn new() -> Self {
        Self { of: None, pieces: [const { None }; MOST_PIECES], n_pieces: 0 }
    }

    /// Makes these the pieces from output `ow` on: all, if there are not too many. Returns the output behind the last. Mostly
    /// one box after the other has the same.
    #[inline(never)]
    pub(super) fn set<K: Key>(
        &mut self,
        geometry: &Geometry,
        (part, mut ow): (&OutputBox, usize),
        limits: Limits,
        axis: &Columns<'_>,
    ) -> usize {
        let end = part.w.end;
        if self.of.as_ref().is_some_and(|(same, at)| same == part && *at == limits) {
            return end;
        }
        let is_first = ow == part.w.start;
        self.n_pieces = 0;
        while ow < end && self.n_pieces < MOST_PIECES {
            let some = ow..end.min(ow + RESULTS / limits.width);
            let (mut outputs, mut cover) = axis.fitting(some, limits.longest);
            let several = outputs.len() > 1;
            let all = several.then(|| Strip::of_all(axis, &outputs, &cover, limits.width)).flatten();
            if all.is_none() {
                // One at a time, if not all together.
                (outputs, cover) = (ow..ow + 1, axis.cover(ow));
            }
            ow = outputs.end;
            let piece = Piece::new::<K>(geometry, part, (outputs, cover, all), limits);
            self.pieces[self.n_pieces] = Some(piece);
            self.n_pieces += 1;
        }
        self.of = (is_first && ow == end).then(|| (part.clone(), limits));
        ow
    }

    /// The pieces, in ascending order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Piece> {
        self.pieces[..self.n_pieces].iter().flatten()
    }

    pub(super) fn len(&self) -> usize {
        self.n_pieces
    }
}

/// The rows of a block.
pub(super) struct BlockRows<'s> {
    pub(super) n_rows: usize,
    outputs: Range<usize>,
    /// Of their windows along H, the first tap and how many there are; and the step, which is the same for all.
    windows: &'s mut [[usize; 2]],
    pub(super) step: usize,
    /// Where runs begin, and the last ends, of rows whose windows have as many taps each and are evenly spaced.
    runs: &'s mut [usize],
    n_runs: usize,
    /// The places that their columns begin at.
    pub(super) origins: &'s mut [usize],
}

impl<'s> BlockRows<'s> {
    #[inline(always)]
    pub(super) fn new(scratch: &mut Scratch<'s>) -> Self {
        let (windows, runs, origins) = (scratch.row(MOST_ROWS), scratch.row(MOST_ROWS + 1), scratch.row(MOST_ROWS));
        Self { n_rows: 0, outputs: 0..0, windows, step: 1, runs, n_runs: 0, origins }
    }

    pub(super) const fn bytes() -> usize {
        booked::<[usize; 2]>(MOST_ROWS) + 2 * booked::<usize>(MOST_ROWS + 1)
    }

    /// Makes these rows those at `outputs` along H.
    #[inline(never)]
    pub(super) fn set(&mut self, axis: &AxisWindows, outputs: &Range<usize>) {
        if self.outputs == *outputs {
            return;
        }
        self.outputs = outputs.clone();
        let mut windows = axis.windows_from(outputs.start);
        (self.n_rows, self.n_runs) = (outputs.len(), 0);
        for row in 0..self.n_rows {
            let window = windows.next();
            self.windows[row] = [window.first, window.count];
            self.step = window.step;
            if self.n_runs > 0 {
                let start = self.runs[self.n_runs - 1];
                let [[first, count], [second, _]] = [self.windows[start], self.windows[start + 1]];
                let goes_on = window.first.checked_sub(self.windows[row - 1][0]) == second.checked_sub(first);
                if window.count == count && goes_on && second >= first {
                    continue;
                }
            }
            self.runs[self.n_runs] = row;
            self.n_runs += 1;
        }
        self.runs[self.n_runs] = self.n_rows;
    }

    /// Rows whose windows have as many taps each and are evenly spaced, and how far they are apart.
    #[inline(always)]
    pub(super) fn runs(&self) -> impl Iterator<Item = (Range<usize>, usize)> {
        self.runs[..=self.n_runs].windows(2).map(|bounds| {
            let (start, end) = (bounds[0], bounds[1]);
            let [first, second] = [start, (start + 1).min(end - 1)].map(|row| self.windows[row][0]);
            (start..end, second - first)
        })
    }

    /// The most taps of a row's window.
    #[inline(always)]
    pub(super) fn most_taps(&self) -> usize {
        self.windows[..self.n_rows].iter().map(|window| window[1]).max().unwrap_or(0)
    }

    /// Up to `most` taps of a row's window, from number `first` on.
    #[inline(always)]
    pub(super) fn taps_of(&self, row: usize, first: usize, most: usize) -> Window {
        let [start, count] = self.windows[row];
        Window { first: start + first * self.step, count: count.saturating_sub(first).min(most), step: self.step }
    }

    /// From the first to the last of these taps, of all rows.
    #[inline(always)]
    pub(super) fn taps(&self, first: usize, most: usize) -> Range<usize> {
        let windows = || (0..self.n_rows).map(|row| self.taps_of(row, first, most));
        let (start, last) = (windows().map(|taps| taps.first).min(), windows().map(|taps| taps.last()).max());
        start.unwrap_or(0)..last.map_or(0, |last| last + 1)
    }
}

/// The best of some depths, which several windows share.
pub(super) struct Depths<'s, K: Key> {
    pub(super) best: Best<'s, K>,
    /// Which depths these are, and whether some of their elements are not numbers.
    pub(super) kept: [usize; MOST_DEPTHS],
    pub(super) has_nan: [bool; MOST_DEPTHS],
}

impl<'s, K: Key> Depths<'s, K> {
    #[inline(always)]
    pub(super) fn new(scratch: &mut Scratch<'s>) -> Self {
        let none = usize::MAX;
        Self { best: Best::new(DEPTHS, scratch), kept: [none; MOST_DEPTHS], has_nan: [false; MOST_DEPTHS] }
    }

    pub(super) const fn bytes() -> usize {
        Best::<K>::bytes(DEPTHS)
    }

    #[inline(always)]
    pub(super) fn forget(&mut self) {
        self.kept = [usize::MAX; MOST_DEPTHS];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_windows_fit_of_as_many_channels_as_are_taken_together() {
        for (h, w) in [(3, 3), (4, 2), (7, 7), (2, 11), (2, 2), (1, 6)] {
            let axes =
                [(1, 1), (28, 28 / h), (28, 28 / w)].map(|(input, output)| AxisWindows::adaptive(input, output));
            let geometry = Geometry { n: 1, c: 2048, axes };
            let [_, h, w] = axes.each_ref().map(extent);
            for is_direct in [false, true] {
                let most = most_channels(&geometry, is_direct);
                assert!(most > WIDEST, "{h}x{w}");
                for width in [WIDEST + 1, most] {
                    let longest = Limits::new(&geometry, width, is_direct).longest;
                    assert!(longest >= w && longest * width <= LONGEST, "{h}x{w} {width}");
                    assert!(is_direct || longest * width * h <= SLAB, "{h}x{w} {width}");
                }
            }
        }
    }
}
