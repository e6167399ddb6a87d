//! How planes are gathered to: in blocks of what size, so that the outputs that reach them stay close.

use super::rows::ROW;
use crate::geometry::{AxisWindows, Geometry};
use crate::tensor::partition::{Partition, Wanted, even};

/// The most bytes of codes and terms that are held: half of a second-level cache of one mebibyte.
const HELD: usize = 512 << 10;

/// The most parts that rows are cut into.
const MOST_PARTS: usize = 64;

/// The most places of a block along each axis, for each of which it is written down which outputs reach it.
const MOST_PLACES: usize = 4096;

/// The bytes of sums that are formed before they are written.
const SLAB: usize = 4 << 10;

/// The most rows of outputs that reach a place.
pub(super) const MOST_ROWS: usize = 64;

/// What is read of the outputs if none is read twice.
const ALL: usize = 32;

/// The channels that are worked on at a time as far as there are so many: four vectors of the widest.
const CHANNELS: usize = 64;

/// What it costs to copy the indices and the gradient of an output, in thirds of a comparison.
const COPIES: [usize; 2] = [85, 40];

/// The lanes from which on it may be faster to compare where the output stays in the cache.
const LANES_NEAR: usize = 16;

/// The places that an output is compared with, in the mean, from which on a sweep may be faster there where vectors are worked on by
/// halves. On a Zen 4 a sweep of 4 and 9 takes 0.9 to 1.7 of the time, of 16 to 27 in `f32` 0.4 to 0.9 in groups of up to 512
/// channels, and of 16 bits, whose sums are rounded one by one, 0.8 to 1.0 in groups of up to 256 if inputs are less than ten times
/// the outputs. In wider groups, whose sums lie on many pages, it takes 1.1 to 2.
const SWEPT_BY_HALVES: usize = 16;

/// The channels of a group up to which it may be, of wide types and of 16 bits; and, of these, the inputs to an output below which.
const SWEPT_CHANNELS: [usize; 2] = [512, 256];
const SWEPT_INPUTS: usize = 10;

/// How places are compared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Comparing {
    /// The sums of a vector.
    pub(crate) lanes: usize,
    /// Whether indices have another type than what is compared, and gradients than what is added.
    pub(crate) copies_indices: bool,
    pub(crate) copies_gradients: bool,
    /// Whether outputs are too many to be in the cache.
    pub(crate) from_memory: bool,
    /// Whether wide vectors take as long as two of half the width.
    pub(crate) by_halves: bool,
}

/// Groups of channels, and the blocks of them that are gathered to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GatherShape {
    pub(super) axes: [AxisWindows; 3],
    /// The depths, rows and columns of a block.
    pub(super) block: [usize; 3],
    /// The depths, rows and columns of outputs that are held.
    pub(super) held: [usize; 3],
    /// The channels of a group.
    pub(super) width: usize,
}

impl GatherShape {
    /// The shape of planes that can be gathered to, in groups of `width` channels, with sums of `element` bytes in vectors of
    /// `lanes`. No more outputs than `close` are held, unless the place of a block is reached by more.
    pub(crate) fn new(
        geometry: &Geometry,
        (width, close): (usize, usize),
        (element, lanes): (usize, usize),
    ) -> Option<Self> {
        let axes = geometry.axes;
        let reaching = axes.map(|axis| axis.most_reaching(1));
        let is_small = geometry.input_len() <= i32::MAX as usize;
        let has_rows = reaching[0].saturating_mul(reaching[1]) <= MOST_ROWS;
        if width <= 1 || width > ROW || narrowest(geometry, width) < lanes || !has_rows || !is_small {
            return None;
        }
        let at_most = |outputs: usize| outputs / (width * reaching[0].max(1));
        let least = reaching[1] * reaching[2].min(MOST_PLACES);
        let most = at_most(close).max(least).min(at_most(HELD / element / 2));
        // The fewer outputs are held by two neighbouring blocks, the better, and the fewer parts of rows.
        let mut best: Option<(usize, Self)> = None;
        for parts in 1..=MOST_PARTS {
            if best.is_some_and(|(cost, _)| cost <= ALL + parts) {
                break;
            }
            if let Some(shape) = Self::cut(axes, width, (parts, most)) {
                let cost = shape.read() + parts;
                best = best.filter(|&(least, _)| least <= cost).or(Some((cost, shape)));
            }
        }
        best.map(|(_, shape)| shape)
    }

    /// The shape with rows in so many parts, if it holds no more places of outputs of one depth than these.
    fn cut(axes: [AxisWindows; 3], width: usize, (parts, most): (usize, usize)) -> Option<Self> {
        let [n_d, n_h, n_w] = axes.map(|axis| axis.input());
        let columns = n_w.div_ceil(parts).min(MOST_PLACES);
        let held_columns = axes[2].most_reaching(columns);
        let fits = |rows: usize| axes[1].most_reaching(rows).saturating_mul(held_columns) <= most;
        // Halving the step each time, the most rows that fit.
        let mut rows = 0;
        let mut step = n_h.min(MOST_PLACES).next_power_of_two();
        while step > 0 {
            if rows + step <= n_h.min(MOST_PLACES) && fits(rows + step) {
                rows += step;
            }
            step /= 2;
        }
        if rows == 0 {
            return None;
        }
        let rows = even(n_h, rows);
        let held = [axes[0].most_reaching(1), axes[1].most_reaching(rows), held_columns];
        Some(Self { axes, block: [n_d.min(MOST_PLACES), rows, columns], held, width })
    }

    /// What all blocks read of the outputs of a depth, in parts of these: [`ALL`], if none is read twice.
    fn read(&self) -> usize {
        let of = |counts: [usize; 3]| (counts[1] as u128).saturating_mul(counts[2] as u128);
        let [inputs, outputs] =
            [AxisWindows::input, AxisWindows::output].map(|len| of(self.axes.each_ref().map(len)));
        let read = of(self.held).saturating_mul(inputs).saturating_mul(ALL as u128);
        (read / (of(self.block) * outputs).max(1)) as usize
    }

    /// Whether it is faster to compare each place with all outputs that reach it than to add outputs one by one.
    ///
    /// Measured with 8 and 16 lanes. The more inputs to an output, the more is saved by not clearing sums, and reading them again
    /// to write them; past the cache that counts several times. There, outputs that are as many as the inputs are read too slowly,
    /// and so are any that come from memory where sums stay in the cache. There, also, few additions to sums that are cleared in long
    /// rows are faster, as where windows do not overlap, and indices are not worth a copy unless that saves the rounding of sums
    /// in the second-level cache.
    pub(crate) fn pays(&self, geometry: &Geometry, comparing: Comparing, streaming: bool) -> bool {
        let Comparing { lanes, copies_indices, copies_gradients, from_memory, by_halves } = comparing;
        let is_whole = |width: usize| width >= CHANNELS && width.is_multiple_of(CHANNELS / 2);
        let compared = self.axes.iter().map(|axis| axis.most_covered(1)).fold(1, usize::saturating_mul);
        let are_disjoint = self.axes.iter().all(AxisWindows::are_disjoint);
        let (inputs, outputs) = (geometry.input_len(), geometry.output_len().max(1));
        let is_swept_faster = by_halves
            && self.axes.iter().map(AxisWindows::mean_covered).fold(1, usize::saturating_mul) >= SWEPT_BY_HALVES
            && match copies_gradients {
                false => self.width <= SWEPT_CHANNELS[0],
                true => self.width <= SWEPT_CHANNELS[1] && inputs / outputs < SWEPT_INPUTS,
            };
        let copies = usize::from(copies_indices) * COPIES[0] + usize::from(copies_gradients) * COPIES[1];
        let [compared, copies, inputs, outputs, n] = [compared, copies, inputs, outputs, lanes].map(|n| n as u128);
        let are_few = match streaming {
            true => inputs >= 2 * outputs && (3 * compared + copies) * outputs <= n * (outputs + inputs),
            false => {
                let is_light = copies_gradients || !copies_indices;
                let is_near = lanes >= LANES_NEAR && !from_memory && !are_disjoint && !is_swept_faster;
                is_light && is_near && 10 * compared * outputs <= n * (10 * outputs + inputs)
            }
        };
        is_whole(narrowest(geometry, self.width)) && is_whole(self.width) && are_few
    }

    /// The tiles: blocks of a group, or a few whole groups.
    pub(crate) fn partition(&self, n_groups: usize, wanted: Wanted) -> Partition {
        let dims = self.axes.map(|axis| axis.input());
        let mut block = self.block;
        let stacks = n_groups * dims[1].div_ceil(block[1]) * dims[2].div_ceil(block[2]);
        let parts = wanted.least_tiles.div_ceil(stacks.max(1));
        block[0] = even(dims[0], dims[0].div_ceil(parts));
        let n_elements = block.iter().product::<usize>().max(1);
        let groups = if block == dims {
            even(n_groups, (wanted.most / n_elements).min(n_groups / wanted.least_tiles.max(1)).max(1))
        } else {
            1
        };
        Partition::blocks(n_groups, dims, (groups, block))
    }

    /// The outputs that are held.
    pub(super) fn held_len(&self) -> usize {
        self.held.iter().product::<usize>() * self.width
    }

    /// The columns whose sums of `element` bytes are formed before they are written.
    pub(super) fn columns_at_once(&self, element: usize) -> usize {
        (SLAB / element / self.width / 2 * 2).clamp(2, self.block[2].next_multiple_of(2))
    }
}

/// The channels of the narrowest group.
fn narrowest(geometry: &Geometry, width: usize) -> usize {
    (geometry.c - 1) % width + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::FixedTaps;

    /// Planes by the input, `kernel_size`, `stride` and dilation of each axis.
    fn planes(c: usize, axes: [(usize, i64, i64, i64); 3]) -> Geometry {
        let axes = axes.map(|(input, kernel_size, stride, dilation)| {
            let taps = FixedTaps { kernel_size, stride, padding: kernel_size / 2, dilation };
            let reach = input as i64 + 2 * taps.padding - dilation * (kernel_size - 1) - 1;
            AxisWindows::fixed((input, (reach / stride + 1) as usize), taps)
        });
        Geometry { n: 1, c, axes }
    }

    #[test]
    fn blocks_hold_all_outputs_that_reach_them() {
        let problems = [
            planes(64, [(16, 3, 2, 1), (112, 3, 2, 1), (112, 3, 2, 1)]),
            planes(512, [(7, 3, 1, 1), (56, 3, 1, 1), (57, 3, 1, 1)]),
            planes(2048, [(3, 1, 1, 1), (40, 5, 3, 1), (300, 7, 4, 1)]),
            planes(33, [(20, 3, 1, 4), (30, 3, 2, 3), (31, 2, 5, 2)]),
            planes(16, [(5000, 3, 2, 1), (1, 1, 1, 1), (9000, 3, 2, 1)]),
        ];
        for (geometry, close) in
            problems.iter().flat_map(|problem| [1, 5000, 1 << 20].map(|close| (problem, close)))
        {
            let shape = GatherShape::new(geometry, (geometry.c, close), (4, 16));
            let Some(shape) = shape else {
                assert!(close < 1 << 20 && geometry.input()[2] > MOST_PARTS, "{geometry:?}");
                continue;
            };
            assert!(shape.held_len() * 8 <= HELD, "{shape:?}");
            for (axis, (block, held)) in shape.axes.iter().zip(shape.block.into_iter().zip(shape.held)) {
                assert!((1..=MOST_PLACES).contains(&block));
                for start in 0..axis.input() {
                    assert!(axis.reaching(start..start + 1).len() <= held, "{start} of {shape:?}");
                }
            }
            for (axis, block, held) in [1, 2].map(|i| (shape.axes[i], shape.block[i], shape.held[i])) {
                for start in (0..axis.input()).step_by(block) {
                    let end = (start + block).min(axis.input());
                    assert!(axis.reaching(start..end).len() <= held, "{start}..{end} of {shape:?}");
                }
            }
        }
    }

    #[test]
    fn what_vectors_cannot_be_filled_with_is_refused() {
        let problem = |c| planes(c, [(4, 3, 2, 1), (9, 3, 2, 1), (9, 3, 2, 1)]);
        let accepts = |c, width, lanes| GatherShape::new(&problem(c), (width, 1 << 16), (4, lanes)).is_some();
        assert!(accepts(16, 16, 16) && !accepts(15, 15, 16) && accepts(15, 15, 8));
        assert!(accepts(48, 32, 16) && !accepts(47, 32, 16), "15 channels are left");
        assert!(accepts(ROW, ROW, 16) && !accepts(ROW + 1, ROW + 1, 16) && !accepts(64, 1, 4));
        let wide = planes(64, [(40, 17, 1, 1), (40, 5, 1, 1), (40, 3, 1, 1)]);
        assert_eq!(GatherShape::new(&wide, (64, 1 << 16), (4, 16)), None, "85 rows of outputs");
    }

    #[test]
    fn places_are_compared_where_they_are_with_few_outputs() {
        let pays_so = |c, axes, comparing: Comparing, streaming| {
            let geometry = planes(c, axes);
            let shape = GatherShape::new(&geometry, (c, 1 << 16), (4, comparing.lanes)).expect("it can");
            shape.pays(&geometry, comparing, streaming)
        };
        let as_it_is = |lanes| Comparing {
            lanes,
            copies_indices: false,
            copies_gradients: false,
            from_memory: false,
            by_halves: false,
        };
        let pays = |c, axes, lanes, streaming| pays_so(c, axes, as_it_is(lanes), streaming);
        let volume = |size, stride| [(16, size, stride, 1), (64, size, stride, 1), (64, size, stride, 1)];
        let plane = |size, stride| [(1, 1, 1, 1), (64, size, stride, 1), (64, size, stride, 1)];
        assert!(pays(64, volume(3, 2), 16, true) && pays(64, plane(3, 2), 8, true));
        assert!(!pays(64, volume(3, 2), 8, true) && !pays(64, volume(3, 1), 16, true));
        assert!(pays(64, volume(3, 2), 16, false) && !pays(64, plane(3, 2), 8, false));
        assert!(!pays(64, plane(5, 2), 16, false));
        assert!(pays(64, plane(3, 1), 16, false) && !pays(64, plane(3, 1), 16, true), "as much is read as written");
        assert!(pays(96, plane(3, 2), 16, false) && !pays(48, plane(3, 2), 16, false));
        assert!(pays(64, plane(4, 4), 16, true) && !pays(64, plane(4, 4), 16, false));
        assert!(!pays(100, plane(3, 2), 16, false), "vectors of 4 channels are left");
        let half = Comparing { copies_gradients: true, ..as_it_is(16) };
        assert!(
            pays_so(64, volume(3, 2), half, true)
                && !pays_so(64, plane(3, 2), Comparing { lanes: 8, ..half }, true)
        );
        assert!(pays_so(64, plane(3, 2), half, false));
        let wide_indices = Comparing { copies_indices: true, ..as_it_is(16) };
        assert!(!pays_so(64, plane(3, 2), wide_indices, true) && pays_so(64, plane(4, 4), wide_indices, true));
        assert!(!pays_so(64, plane(3, 2), wide_indices, false));
        assert!(pays_so(64, plane(3, 2), Comparing { copies_indices: true, ..half }, false), "rounding is saved");
        assert!(!pays_so(64, plane(3, 2), Comparing { from_memory: true, ..as_it_is(16) }, false));
        let halves = Comparing { by_halves: true, ..as_it_is(16) };
        assert!(pays_so(64, plane(3, 2), halves, false) && !pays_so(64, volume(3, 2), halves, false));
        assert!(pays_so(64, volume(3, 2), halves, true));
        assert!(!pays_so(512, volume(3, 2), halves, false));
        assert!(pays_so(1024, volume(3, 2), halves, false), "sums on many pages");
        let thirteen = AxisWindows::adaptive(13, 6);
        let geometry = Geometry { n: 1, c: 256, axes: [AxisWindows::adaptive(1, 1), thirteen, thirteen] };
        let shape = GatherShape::new(&geometry, (256, 1 << 16), (4, 16)).expect("it can");
        assert!(shape.pays(&geometry, halves, false), "windows of three, though some of that size may cover four");
        let half = Comparing { copies_gradients: true, ..halves };
        assert!(!pays_so(256, volume(3, 2), half, false) && pays_so(512, volume(3, 2), half, false));
        assert!(pays_so(64, [(16, 3, 3, 1), (64, 3, 2, 1), (64, 3, 2, 1)], half, false), "much to round");
    }
}
