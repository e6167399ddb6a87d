//! Where windows touch: how outputs are expanded over them, and how many at a time.

use super::rows::ROW;
use crate::dtype::Word;
use crate::exec::stream::{LINE, comparing_single_channels_pays};
use crate::geometry::Geometry;
use crate::tensor::partition::{Partition, Wanted, even};

/// The bytes of `grad_input` that are put together before they are written: a part of the first-level cache. Of groups of
/// channels they are more, so that most rows are not cut.
const SLAB: usize = 8 << 10;
const WIDE_SLAB: usize = 16 << 10;

/// The most places of a window. Each is compared with its output, so that larger windows are sooner cleared and added to.
const MOST_PLACES: usize = 8;

/// The places of a window that are compared sooner than sums are formed in the output.
const FEW_PLACES: usize = 4;

/// The elements of a plane of which several fit the second-level cache.
const SMALL: usize = 16 << 10;

/// Windows that touch, and the outputs that are worked on at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExpandShape {
    pub(super) dims: [usize; 3],
    pub(super) output: [usize; 3],
    pub(super) window: [usize; 3],
    /// The channels of a group.
    pub(super) width: usize,
    /// The rows of outputs that are expanded at a time.
    pub(super) rows: usize,
    /// The parts that a row of outputs is cut into, if it is expanded alone.
    pub(super) parts: usize,
    /// Whether vectors fill whole lines of an output whose planes follow each other and which begins on a line.
    fills_lines: bool,
}

impl ExpandShape {
    /// The shape of windows that can be expanded, in groups of `width` channels, to elements of so many bytes, in vectors of
    /// `vector` bytes.
    pub(crate) fn new(geometry: &Geometry, width: usize, (element, vector): (usize, usize)) -> Option<Self> {
        let [d, h, w] = &geometry.axes;
        let window = [d.tiling()?, h.tiling()?, w.tiling()?];
        let (dims, output) = (geometry.input(), geometry.output());
        let n_places = window.iter().try_fold(1usize, |places, &size| places.checked_mul(size))?;
        // The columns of single channels are put together by twos.
        if n_places > MOST_PLACES || (width == 1 && window[2] > 2) {
            return None;
        }
        // Neighbouring outputs, or channels, fill a vector of any level.
        let lanes = LINE / element;
        let narrowest = if width == 1 { output[2] } else { (geometry.c - 1) % width + 1 };
        let n_codes = (window[1] - 1).checked_mul(dims[2])?.checked_add(window[2])?;
        let largest = if element == 2 { <u16 as Word>::LARGEST } else { <u32 as Word>::LARGEST };
        let fits = n_codes <= largest && geometry.input_len() <= i32::MAX as usize;
        // Of the vectors of a row of outputs, little is done twice.
        let is_filled =
            width > 1 || output[2].saturating_mul(4) >= output[2].next_multiple_of(lanes).saturating_mul(3);
        if narrowest < lanes || !is_filled || !fits {
            return None;
        }
        let slab = if width == 1 { SLAB } else { WIDE_SLAB } / element;
        let most = (slab / window[1] / window[2]).min(ROW) / width;
        let (rows, parts) = match output[2] {
            n if n <= most => ((most / n).min(output[1]), 1),
            n => (1, n.div_ceil(most.max(1))),
        };
        let is_even = output[2].is_multiple_of(parts) && (output[2] / parts).is_multiple_of(vector / element);
        let has_lines = (vector * window[2]).is_multiple_of(LINE) && (dims[2] * element).is_multiple_of(LINE);
        let fills_lines = width == 1 && is_even && has_lines && dims[2] == output[2] * window[2];
        Some(Self { dims, output, window, width, rows, parts, fills_lines })
    }

    /// The same if nothing leaves from registers.
    pub(crate) const fn without_lines(self) -> Self {
        Self { fills_lines: false, ..self }
    }

    /// Tiles that cut no window: whole groups, or some depths, or some rows of windows of one depth.
    pub(crate) fn partition(&self, n_groups: usize, wanted: Wanted) -> Partition {
        let Self { dims: dims @ [n_d, n_h, n_w], output, window, .. } = *self;
        let total = n_groups.saturating_mul(n_d * n_h * n_w);
        let most = wanted.most.min(total.div_ceil(wanted.least_tiles.max(1)));
        let (depth, row) = (window[0] * n_h * n_w, window[0] * window[1] * n_w);
        let (groups, block) = match most {
            most if most >= n_d * n_h * n_w => (even(n_groups, most / (n_d * n_h * n_w)), dims),
            most if most >= depth => (1, [even(output[0], most / depth) * window[0], n_h, n_w]),
            most => (1, [window[0], even(output[1], most / row) * window[1], n_w]),
        };
        Partition::blocks(n_groups, dims, (groups, block))
    }

    /// Whether it is faster to fill these windows than to form sums: where few places are compared (those of single channels not on
    /// every processor), where sums would have to be rounded, and past the cache where groups of channels are written, or single ones as
    /// whole lines.
    pub(crate) fn pays(&self, is_narrow: bool, streaming: bool) -> bool {
        let are_few = self.window.iter().product::<usize>() <= FEW_PLACES;
        let are_small = self.dims.iter().product::<usize>() <= SMALL;
        let compares = self.width > 1 || comparing_single_channels_pays(are_small);
        let compares_few = are_few && compares;
        compares_few || is_narrow || (streaming && compares && (self.width > 1 || self.fills_lines))
    }

    /// Whether it is so only because whole lines of single channels leave from registers.
    pub(crate) fn pays_by_lines(&self, is_narrow: bool, streaming: bool) -> bool {
        self.pays(is_narrow, streaming) && !self.without_lines().pays(is_narrow, streaming)
    }

    /// The outputs of a row that are expanded at a time, at most.
    pub(super) fn columns(&self) -> usize {
        self.output[2].div_ceil(self.parts)
    }

    /// The elements of the outputs that are expanded at a time, at most.
    pub(super) fn piece_len(&self) -> usize {
        self.rows * self.columns() * self.width
    }

    /// The elements that are put together, at most: the rows of windows of a depth, or part of one row.
    pub(super) fn slab_len(&self) -> usize {
        let [_, n_rows, n_columns] = self.window;
        let behind = self.dims[2] - self.output[2] * n_columns;
        let row = (self.columns() * n_columns + behind) * self.width;
        if self.parts == 1 { self.rows * n_rows * row } else { row }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{AxisWindows, FixedTaps};

    fn touching(n: usize, c: usize, axes: [(usize, i64); 3]) -> Geometry {
        let axes = axes.map(|(input, size)| {
            let taps = FixedTaps { kernel_size: size, stride: size, padding: 0, dilation: 1 };
            AxisWindows::fixed((input, input / size as usize), taps)
        });
        Geometry { n, c, axes }
    }

    #[test]
    fn tiles_cut_no_window() {
        for axes in [[(7, 2), (9, 2), (128, 2)], [(1, 1), (64, 2), (64, 2)], [(6, 2), (3, 3), (200, 1)]] {
            let shape = ExpandShape::new(&touching(2, 3, axes), 1, (2, LINE)).unwrap();
            for most in [1, 500, 3000, 10_000, 1 << 20] {
                for least_tiles in [1, 4, 100] {
                    let cut = shape.partition(6, Wanted { unit: 1, most, least_tiles });
                    let [d, h, w] = cut.block();
                    assert!(w == axes[2].0 && (h == axes[1].0 || h.is_multiple_of(shape.window[1])), "{cut:?}");
                    assert!(d == axes[0].0 || d.is_multiple_of(shape.window[0]), "{cut:?}");
                }
            }
        }
    }

    #[test]
    fn what_a_vector_or_a_word_cannot_hold_is_refused() {
        let plane = |rows, columns| touching(1, 40, [(1, 1), (rows, 2), (columns, 2)]);
        let accepts = |geometry, width| ExpandShape::new(&geometry, width, (2, LINE)).is_some();
        assert!(accepts(plane(64, 64), 1) && !accepts(plane(64, 63), 1), "32 outputs fill a vector");
        assert!(accepts(plane(64, 128), 1) && !accepts(plane(64, 90), 1), "45 outputs take two vectors");
        assert!(accepts(plane(8, 8), 40) && !accepts(plane(8, 8), 32), "8 channels are left");
        assert!(accepts(plane(4, 65_532), 1) && !accepts(plane(4, 65_534), 1), "a code for every place");
        assert!(ExpandShape::new(&plane(4, 65_534), 1, (4, LINE)).is_some());
        let triples = touching(1, 32, [(1, 1), (9, 3), (96, 3)]);
        assert!(!accepts(triples, 1) && !accepts(triples, 32), "nine places");
        assert!(!accepts(touching(1, 1, [(1, 1), (1, 1), (400, 4)]), 1), "columns come in pairs");
    }

    #[test]
    fn lines_are_filled_by_whole_vectors_of_whole_rows() {
        let fills = |columns, vector| {
            let geometry = touching(1, 32, [(4, 2), (64, 2), columns]);
            ExpandShape::new(&geometry, 1, (4, vector)).unwrap().fills_lines
        };
        assert!(fills((64, 2), LINE) && fills((64, 2), LINE / 2), "two vectors are put together");
        assert!(!fills((64, 2), LINE / 4), "which is half a line");
        assert!(fills((64, 1), LINE) && !fills((64, 1), LINE / 2), "one vector");
        assert!(!fills((48, 2), LINE), "24 outputs take vectors that overlap");
        assert!(!fills((56, 2), LINE), "rows of three lines and a half");
        assert!(!fills((65, 2), LINE), "a place behind the last window");
        assert!(fills((4096, 2), LINE), "rows that are cut in even parts");
    }

    #[test]
    fn pieces_fit_what_is_booked() {
        for width in [1, 32, 512, 1024] {
            for columns in [65, 127, 4098, 60_001] {
                let shape =
                    ExpandShape::new(&touching(1, width, [(2, 2), (40, 2), (columns, 2)]), width, (2, LINE))
                        .unwrap();
                assert!(shape.piece_len() <= ROW && shape.slab_len() <= 2 * WIDE_SLAB, "{shape:?}");
                assert!(width > 1 || shape.output[2] / shape.parts >= 32, "{shape:?}");
            }
        }
    }
}
