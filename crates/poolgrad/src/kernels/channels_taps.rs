//! The places that a window of many channels sees, and those that the next row of windows will see.

use std::ops::Range;

use super::channels_best::AT_ONCE;
use super::windows::OutputRow;
use super::windows_input::Plane;
use crate::dtype::{Code, Float};
use crate::exec::stream::{LINE, fetch_ahead};
use crate::exec::{Scratch, booked};
use crate::geometry::{AxisWindows, Geometry, Window};

/// The most taps of a window.
pub(super) const MOST_TAPS: usize = 16 << 10;

/// The taps of a window, in ascending order: how many places each lies behind the first.
pub(super) struct Taps<'s, C> {
    codes: &'s mut [C],
    /// How many these are along each axis.
    counts: [usize; 3],
}

impl<'s, C: Code> Taps<'s, C> {
    pub(super) fn new(scratch: &mut Scratch<'s>) -> Self {
        Self { codes: scratch.row(MOST_TAPS), counts: [0; 3] }
    }

    pub(super) const fn bytes() -> usize {
        booked::<C>(MOST_TAPS)
    }

    /// Makes these the taps of a window along D, H and W. Mostly one has as many as the one before.
    #[inline(always)]
    pub(super) fn set(&mut self, geometry: &Geometry, d: &Window, h: &Window, w: &Window) {
        let [n_d, n_h, n_w] = self.counts;
        if w.count != n_w || h.count != n_h || d.count != n_d {
            self.fill(geometry, d, h, w);
        }
    }

    #[inline(never)]
    fn fill(&mut self, geometry: &Geometry, d: &Window, h: &Window, w: &Window) {
        let [_, n_h, n_w] = geometry.input();
        self.counts = [d.count, h.count, w.count];
        let mut codes = self.codes.iter_mut();
        for tap_d in 0..d.count {
            for tap_h in 0..h.count {
                let row = (tap_d * d.step * n_h + tap_h * h.step) * n_w;
                let columns = (0..w.count).map(|tap_w| C::new(row + tap_w * w.step));
                codes.by_ref().zip(columns).for_each(|(code, column)| *code = column);
            }
        }
    }

    #[inline(always)]
    pub(super) fn all(&self) -> &[C] {
        &self.codes[..self.counts.iter().product()]
    }
}

/// The most bytes that are asked for while a row is found: more would be gone again when they are needed. Rows of so many a processor
/// asks for by itself.
const MOST_AHEAD: usize = 512 << 10;

/// The most depths of which rows are asked for.
const MOST_DEPTHS: usize = 16;

/// Memory that the next row of outputs sees and this one does not: it is asked for little by little, while this row is found.
///
/// Where windows jump from row to row and from depth to depth a processor does not ask for it by itself. On a Zen 4, one thread,
/// 22 problems, most with inputs from memory, take 0.95 of the time, 0.75 to 1.17.
#[derive(Default)]
pub(super) struct Ahead<'a> {
    /// Of each depth.
    pieces: [&'a [u8]; MOST_DEPTHS],
    n_pieces: usize,
    /// The bytes to ask for at a time.
    at_once: usize,
}

/// The depths, and the rows of each, that the next row of outputs sees behind windows along D and H.
fn rows_behind(geometry: &Geometry, d: &Window, h: &Window) -> [Range<usize>; 2] {
    let [axis_d, axis_h, _] = &geometry.axes;
    let behind = |axis: &AxisWindows, last: usize| {
        let stride = axis.taps().map_or_else(|| axis.input().div_ceil(axis.output()), |taps| taps.stride as usize);
        last + 1..axis.input().min(stride.saturating_add(last + 1))
    };
    match h.last() + 1 < axis_h.input() {
        true => [d.first..d.last() + 1, behind(axis_h, h.last())],
        false => [behind(axis_d, d.last()), 0..h.count],
    }
}

impl<'a> Ahead<'a> {
    /// Makes this what is to be asked for while `row` is found.
    #[inline(never)]
    pub(super) fn turn_to<T: Float>(&mut self, plane: &Plane<'_, 'a, T>, geometry: &Geometry, row: &OutputRow) {
        let ([_, n_h, _], [d, h]) = (geometry.input(), [row.d, row.h]);
        let [depths, rows] = rows_behind(geometry, &d, &h);
        self.n_pieces = 0;
        for (piece, depth) in self.pieces.iter_mut().zip(depths.step_by(d.step)) {
            *piece = plane.bytes(depth * n_h + rows.start..depth * n_h + rows.end);
            self.n_pieces += 1;
        }
        let n_bytes: usize = self.pieces[..self.n_pieces].iter().map(|piece| piece.len()).sum();
        if n_bytes > MOST_AHEAD {
            self.n_pieces = 0;
            return;
        }
        let taps_of_columns = d.count * h.count * geometry.axes[2].most_covered(1);
        let times = row.w.len() * (taps_of_columns / AT_ONCE).max(1);
        self.at_once = n_bytes.div_ceil(times).next_multiple_of(LINE);
    }

    /// Asks for some of it.
    #[inline(always)]
    pub(super) fn ask(&mut self) {
        let Some(piece) = self.pieces[..self.n_pieces].last_mut() else { return };
        let (some, rest) = piece.split_at(self.at_once.min(piece.len()));
        some.chunks(LINE).for_each(|line| fetch_ahead(&line[0], 0));
        *piece = rest;
        if rest.is_empty() {
            self.n_pieces -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::FixedTaps;

    #[test]
    fn rows_behind_are_those_that_the_next_row_of_outputs_sees() {
        let fixed = |kernel_size, stride, padding, dilation, output| {
            AxisWindows::fixed((17, output), FixedTaps { kernel_size, stride, padding, dilation })
        };
        let axes = [
            fixed(3, 2, 1, 1, 9),
            fixed(3, 1, 0, 1, 15),
            fixed(2, 5, 0, 1, 4),
            fixed(3, 2, 2, 2, 9),
            AxisWindows::adaptive(17, 5),
            AxisWindows::adaptive(17, 1),
        ];
        for (axis_d, axis_h) in axes.iter().flat_map(|d| axes.iter().map(move |h| (*d, *h))) {
            let geometry = Geometry { n: 1, c: 1, axes: [axis_d, axis_h, axes[0]] };
            for (od, oh) in (0..axis_d.output()).flat_map(|od| (0..axis_h.output()).map(move |oh| (od, oh))) {
                let (d, h) = (axis_d.window(od), axis_h.window(oh));
                let [depths, rows] = rows_behind(&geometry, &d, &h);
                assert!(depths.end <= 17 && rows.end <= 17, "{geometry:?} {od} {oh}: {depths:?} {rows:?}");
                if h.last() < 16 && oh + 1 < axis_h.output() {
                    assert_eq!(depths, d.first..d.last() + 1);
                    let next = axis_h.window(oh + 1).last();
                    assert!(next < rows.end || next <= h.last(), "{geometry:?} {od} {oh}: {rows:?}");
                }
            }
        }
    }
}
