//! Walking output rows and the input that their windows see: what both forward kernels share.

use std::ops::Range;

use super::rows::ROW;
use crate::exec::{Scratch, booked};
use crate::geometry::{AxisWindows, FixedTaps, Geometry, Window};

/// The most columns of a row that are read at once, counting channels.
pub(super) const LONGEST: usize = 8 << 10;

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

    /// The most columns that a window covers, or one more.
    #[inline(always)]
    pub(super) fn most_covered(&self) -> usize {
        self.axis.most_covered(1)
    }

    /// The first and the last columns of the windows of `outputs`, if they were looked up.
    #[inline(always)]
    pub(super) fn table(&self, outputs: Range<usize>) -> Option<(&[u32], &[u32])> {
        self.table.map(|(first, last)| (&first[outputs.clone()], &last[outputs]))
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

    /// The first of `outputs`, as many as fit, and the columns from where their windows start to where they end: at most
    /// `longest`, or a window that is wider than that.
    #[inline(always)]
    pub(super) fn fitting(&self, outputs: Range<usize>, longest: usize) -> (Range<usize>, Range<usize>) {
        let first = self.cover(outputs.start).start;
        let fits = |ow: usize| self.cover(ow).end <= first + longest;
        let mut end = outputs.start + 1;
        // Ends of windows ascend, so the last output that fits is found by halving steps; mostly all of them do.
        let mut step = outputs.end - end;
        while step > 0 {
            if fits(end + step - 1) {
                end += step;
                step = step.min(outputs.end - end);
            } else {
                step /= 2;
            }
        }
        (outputs.start..end, first..self.cover(end - 1).end)
    }

    /// The columns from where window `o` starts to where it ends, padding left out.
    #[inline(always)]
    pub(super) fn cover(&self, o: usize) -> Range<usize> {
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
    let [_, n_h, n_w] = geometry.output();
    let (mut row, mut start) = (flat.start / n_w, flat.start % n_w);
    let mut left = flat.len();
    while left > 0 {
        let [d, h] = [(0, row / n_h), (1, row % n_h)].map(|(axis, o)| geometry.axes[axis].window(o));
        let len = (n_w - start).min(left).min(longest);
        visit(&OutputRow { d, h, w: start..start + len });
        (left, start) = (left - len, start + len);
        if start == n_w {
            (row, start) = (row + 1, 0);
        }
    }
}

impl OutputRow {
    /// The number of input rows of the window.
    pub(super) fn n_rows(&self) -> u64 {
        self.d.count as u64 * self.h.count as u64
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
        for_each_cover(
            axis,
            self.w.clone(),
            longest,
            #[inline(always)]
            |outputs, cover| {
                for span in parts(cover, longest) {
                    visit(outputs.clone(), span);
                }
            },
        );
    }
}

/// Calls `visit(outputs, cover)` for sets of outputs and the input columns from where their windows begin to where they
/// end: at most `longest`, or a window that is wider than that.
#[inline(always)]
fn for_each_cover(
    axis: &Columns<'_>,
    mut outputs: Range<usize>,
    longest: usize,
    mut visit: impl FnMut(Range<usize>, Range<usize>),
) {
    while !outputs.is_empty() {
        let (some, cover) = axis.fitting(outputs.clone(), longest);
        outputs.start = some.end;
        visit(some, cover);
    }
}

/// Parts of `range`, of up to `longest`.
#[inline(always)]
pub(super) fn parts(range: Range<usize>, longest: usize) -> impl Iterator<Item = Range<usize>> {
    range.clone().step_by(longest).map(move |start| start..range.end.min(start + longest))
}

/// Outputs of a plane: those at some positions along each axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OutputBox {
    pub(super) d: Range<usize>,
    pub(super) h: Range<usize>,
    pub(super) w: Range<usize>,
}

/// Calls `visit` for the boxes that a range of flat output offsets consists of, in ascending order: parts of rows, whole rows
/// of one depth, whole depths.
#[inline(always)]
pub(super) fn output_boxes(output: [usize; 3], flat: Range<usize>, mut visit: impl FnMut(&OutputBox)) {
    let [_, n_h, n_w] = output;
    let (mut start, end) = (flat.start, flat.end);
    while start < end {
        let (row, w) = (start / n_w, start % n_w);
        let (d, h) = (row / n_h, row % n_h);
        let n_rows = (end - start) / n_w;
        let part = if w > 0 || n_rows == 0 {
            OutputBox { d: d..d + 1, h: h..h + 1, w: w..n_w.min(w + end - start) }
        } else if h > 0 || n_rows < n_h {
            OutputBox { d: d..d + 1, h: h..n_h.min(h + n_rows), w: 0..n_w }
        } else {
            OutputBox { d: d..d + n_rows / n_h, h: 0..n_h, w: 0..n_w }
        };
        start += part.d.len() * part.h.len() * part.w.len();
        visit(&part);
    }
}
