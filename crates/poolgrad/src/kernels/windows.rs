//! Walking output rows and the input that their windows see: what both forward kernels share.

use std::ops::Range;

use crate::geometry::{AxisWindows, Geometry, Window};

/// Part of one row of outputs: their windows along D and H, the range of `ow`, and the flat offset of the first.
pub(super) struct OutputRow {
    pub(super) d: Window,
    pub(super) h: Window,
    pub(super) w: Range<usize>,
    pub(super) flat: usize,
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
    let mut start = flat.start;
    while start < flat.end {
        let (row, ow) = (start / n_w, start % n_w);
        let len = (n_w - ow).min(flat.end - start).min(longest);
        visit(&OutputRow {
            d: geometry.axes[0].window(row / n_h),
            h: geometry.axes[1].window(row % n_h),
            w: ow..ow + len,
            flat: start,
        });
        start += len;
    }
}

impl OutputRow {
    /// The number of input rows of the window.
    pub(super) fn n_rows(&self) -> u64 {
        self.d.count as u64 * self.h.count as u64
    }

    /// The flat offset at which row number `row` of the window begins in the input.
    #[inline(always)]
    pub(super) fn input_row(&self, geometry: &Geometry, row: u64) -> usize {
        let [_, n_h, n_w] = geometry.input();
        let per_depth = self.h.count as u64;
        let d = self.d.first + (row / per_depth) as usize * self.d.step;
        let h = self.h.first + (row % per_depth) as usize * self.h.step;
        (d * n_h + h) * n_w
    }

    /// Calls `visit(outputs, span)` for sets of outputs and the input columns that their windows see, at most
    /// `longest` of them. A window that is wider than that comes alone, once for each part of its columns.
    #[inline(always)]
    pub(super) fn for_each_span(
        &self,
        axis: &AxisWindows,
        longest: usize,
        mut visit: impl FnMut(Range<usize>, Range<usize>),
    ) {
        let mut ow = self.w.start;
        while ow < self.w.end {
            let first = axis.cover(ow).start;
            let fits = |ow: usize| axis.cover(ow).end <= first + longest;
            let mut end = ow + 1;
            // Ends of windows ascend, so the last output that fits is found by doubling and halving steps.
            let mut step = 1;
            while end < self.w.end && step > 0 {
                let reach = (end + step).min(self.w.end);
                if fits(reach - 1) {
                    end = reach;
                    step *= 2;
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
