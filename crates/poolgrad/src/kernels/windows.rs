//! Walking output rows and the input that their windows see: what both forward kernels share.

use std::ops::Range;

use super::rows::ROW;
use crate::exec::{Scratch, booked};
use crate::geometry::{AxisWindows, FixedTaps, Geometry, Window};

/// Elements that vectors are whole numbers of: where there is room behind a row, its last vector is a whole one, too.
pub(super) const LANES: usize = 16;

/// The windows along W, looked up where computing them would take divisions for every output of every row.
pub(super) struct Columns<'s> {
    axis: AxisWindows,
    /// The first and the last column of each window.
    table: Option<(&'s [u32], &'s [u32])>,
    /// The taps of windows that are all alike, padding included.
    taps: Option<FixedTaps>,
}

impl<'s> Columns<'s> {
    pub(super) const fn bytes() -> usize {
        2 * booked::<u32>(ROW)
    }

    #[inline(always)]
    pub(super) fn new(axis: AxisWindows, scratch: &mut Scratch<'s>) -> Self {
        let n = axis.output();
        if !axis.is_adaptive() || n > ROW || u32::try_from(axis.input()).is_err() {
            return Self { axis, table: None, taps: axis.taps() };
        }
        let (first, last) = (&mut scratch.row::<u32>(ROW)[..n], &mut scratch.row::<u32>(ROW)[..n]);
        for (o, (first, last)) in first.iter_mut().zip(last.iter_mut()).enumerate() {
            let window = axis.window(o);
            (*first, *last) = (window.first as u32, window.last() as u32);
        }
        let taps = evenly_spaced(first, last);
        Self { axis, table: Some((first, last)), taps }
    }

    /// The taps of windows that are all alike, padding included; `None` where they are not.
    #[inline(always)]
    pub(super) fn taps(&self) -> Option<FixedTaps> {
        self.taps
    }

    /// The window of output `o`.
    #[inline(always)]
    pub(super) fn window(&self, o: usize) -> Window {
        match self.table {
            Some((first, last)) => {
                Window { first: first[o] as usize, count: (last[o] - first[o]) as usize + 1, step: 1 }
            }
            None => self.axis.window(o),
        }
    }

    /// The columns from where window `o` starts to where it ends, padding left out.
    #[inline(always)]
    fn cover(&self, o: usize) -> Range<usize> {
        match self.table {
            Some((first, last)) => first[o] as usize..last[o] as usize + 1,
            None => self.axis.cover(o),
        }
    }
}

/// Adaptive windows, by their first and last columns, as fixed ones, if there are such.
fn evenly_spaced(first: &[u32], last: &[u32]) -> Option<FixedTaps> {
    let stride = first.get(1)? - first[0];
    let width = last[0] - first[0];
    let alike = |(o, (&first, &last)): (u32, (&u32, &u32))| first == o * stride && last == first + width;
    (0..).zip(first.iter().zip(last)).all(alike).then(|| FixedTaps {
        kernel_size: i64::from(width) + 1,
        stride: i64::from(stride),
        padding: 0,
        dilation: 1,
    })
}

/// Part of one row of outputs: their windows along D and H, and the range of `ow`.
pub(super) struct OutputRow {
    pub(super) d: Window,
    pub(super) h: Window,
    pub(super) w: Range<usize>,
}

/// Calls `visit` for the rows that a range of flat output offsets falls into, in pieces of up to `longest`.
#[inline(always)]
pub(super) fn output_rows(
    geometry: &Geometry,
    flat: Range<usize>,
    longest: usize,
    mut visit: impl FnMut(&OutputRow),
) {
    for row in OutputRows::new(geometry, flat, longest) {
        visit(&row);
    }
}

/// The rows that a range of flat output offsets falls into, in pieces of up to `longest`.
pub(super) struct OutputRows<'g> {
    geometry: &'g Geometry,
    longest: usize,
    /// What is left of the range, and the place of its first output.
    flat: Range<usize>,
    place: [usize; 3],
    /// The window along D.
    d: Window,
}

impl<'g> OutputRows<'g> {
    #[inline(always)]
    pub(super) fn new(geometry: &'g Geometry, flat: Range<usize>, longest: usize) -> Self {
        let [_, n_h, n_w] = geometry.output();
        let row = flat.start / n_w;
        let place = [row / n_h, row % n_h, flat.start % n_w];
        Self { geometry, longest, flat, place, d: geometry.axes[0].window(place[0]) }
    }

    #[inline(always)]
    pub(super) fn is_done(&self) -> bool {
        self.flat.is_empty()
    }

    /// How many whole rows, none of them in pieces, come next.
    #[inline(always)]
    pub(super) fn n_whole(&self) -> usize {
        let n_w = self.geometry.output()[2];
        if self.place[2] > 0 || n_w > self.longest { 0 } else { self.flat.len() / n_w }
    }
}

impl Iterator for OutputRows<'_> {
    type Item = OutputRow;

    #[inline(always)]
    fn next(&mut self) -> Option<OutputRow> {
        if self.flat.is_empty() {
            return None;
        }
        let [n_d, n_h, n_w] = self.geometry.output();
        let [d, h, w] = &mut self.place;
        let len = (n_w - *w).min(self.flat.len()).min(self.longest);
        let row = OutputRow { d: self.d, h: self.geometry.axes[1].window(*h), w: *w..*w + len };
        self.flat.start += len;
        *w += len;
        if *w == n_w {
            (*h, *w) = (*h + 1, 0);
        }
        if *h == n_h {
            (*d, *h) = (*d + 1, 0);
            if *d < n_d {
                self.d = self.geometry.axes[0].window(*d);
            }
        }
        Some(row)
    }
}

/// The rows of a window, walked without a multiplication for each.
pub(super) struct InputRows {
    /// The offset of the next, and how far it is to those behind it along H and, from the last along H, along D.
    flat: usize,
    step: usize,
    jump: usize,
    /// How many are left of the window, and of those along H how many there are and are left.
    left: u64,
    n_h: usize,
    left_h: usize,
}

impl InputRows {
    /// Which tap along H comes next.
    #[inline(always)]
    pub(super) fn tap(&self) -> usize {
        self.n_h - self.left_h
    }
}

impl Iterator for InputRows {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let flat = self.flat;
        let is_last = self.left_h == 1;
        self.flat = flat.wrapping_add(if is_last { self.jump } else { self.step });
        self.left_h = if is_last { self.n_h } else { self.left_h - 1 };
        Some(flat)
    }
}

impl OutputRow {
    /// The number of input rows of the window.
    pub(super) fn n_rows(&self) -> u64 {
        self.d.count as u64 * self.h.count as u64
    }

    /// The flat offsets at which the rows of the window begin in the input, in ascending order, from row number `start`
    /// on.
    #[inline(always)]
    pub(super) fn input_rows(&self, geometry: &Geometry, start: u64) -> InputRows {
        let [_, n_h, n_w] = geometry.input();
        let n_taps = self.h.count;
        let tap = if start == 0 { 0 } else { (start % n_taps as u64) as usize };
        let step = self.h.step.wrapping_mul(n_w);
        let depth = self.d.step.wrapping_mul(n_h).wrapping_mul(n_w);
        InputRows {
            flat: self.input_row(geometry, start),
            step,
            jump: depth.wrapping_sub((n_taps - 1).wrapping_mul(step)),
            left: self.n_rows() - start,
            n_h: n_taps,
            left_h: n_taps - tap,
        }
    }

    /// The flat offset at which row number `row` of the window begins in the input.
    #[inline(always)]
    pub(super) fn input_row(&self, geometry: &Geometry, row: u64) -> usize {
        let [_, n_h, n_w] = geometry.input();
        // Mostly it is the first or the last that is asked for, and a division takes longer than all the rest.
        let (d, h) = match row {
            0 => (self.d.first, self.h.first),
            _ if row + 1 == self.n_rows() => (self.d.last(), self.h.last()),
            _ => {
                let per_depth = self.h.count as u64;
                let (d, h) = ((row / per_depth) as usize, (row % per_depth) as usize);
                (self.d.first + d * self.d.step, self.h.first + h * self.h.step)
            }
        };
        (d * n_h + h) * n_w
    }

    /// Calls `visit(outputs, span)` for sets of outputs and the input columns that their windows see, at most
    /// `longest` of them. A window that is wider than that comes alone, once for each part of its columns.
    #[inline(always)]
    pub(super) fn for_each_span(
        &self,
        axis: &Columns<'_>,
        longest: usize,
        mut visit: impl FnMut(Range<usize>, Range<usize>),
    ) {
        let mut ow = self.w.start;
        while ow < self.w.end {
            let first = axis.cover(ow).start;
            let fits = |ow: usize| axis.cover(ow).end <= first + longest;
            let mut end = ow + 1;
            // Ends of windows ascend, so the last output that fits is found by halving steps; mostly all of them do.
            let mut step = self.w.end - end;
            while step > 0 {
                if fits(end + step - 1) {
                    end += step;
                    step = step.min(self.w.end - end);
                } else {
                    step /= 2;
                }
            }
            let last = axis.cover(end - 1).end - 1;
            let mut start = first;
            while start <= last {
                let span = start..(last + 1).min(start + longest);
                visit(ow..end, span.clone());
                start = span.end;
            }
            ow = end;
        }
    }
}
