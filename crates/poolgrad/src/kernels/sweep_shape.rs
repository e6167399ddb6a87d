//! How planes are swept: along which axis, in blocks of what size, and how much of a block is held at a time.

use crate::dtype::DType;
use crate::exec::stream::leaving_between_additions_pays;
use crate::geometry::{AxisWindows, Geometry};
use crate::tensor::partition::{Partition, even};

use super::locate::{InSlices, LARGEST_VOLUME};
use super::outputs::LANES;
use super::second;
use super::sweep_rows::MOST;

/// The bytes that are written past the cache at a time, so that additions go on meanwhile: all of them wait in the first level.
const BURST: usize = 4 << 10;

/// The least outputs of a row that is worth working on alone.
const LEAST_COLUMNS: usize = 16;

/// How complete sums are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leave {
    /// By whole slices, before outputs are added that reach others.
    Slices,
    /// By rows: after so many rows of outputs those that they complete, or between the additions of the next ones.
    Rows { n_rows: usize, between: bool },
    /// By lines: what a row of outputs completes, between the additions of the next row.
    Lines,
}

/// How planes are swept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SweepShape {
    /// The axis of the slices, that of their rows and that of their columns.
    pub(super) axes: [AxisWindows; 3],
    /// How many places of outputs are added at a time, and the most slices that their windows reach.
    pub(super) step: usize,
    pub(super) held: usize,
    pub(super) leave: Leave,
    /// The groups that are swept side by side.
    pub(super) n_lanes: usize,
    /// Whether sums are formed in the output.
    pub(super) in_place: bool,
    /// How many sums that can take only one term may be given more.
    pub(super) second_terms: usize,
    /// The slices, rows and columns of a block.
    block: [usize; 3],
    /// The channels of a group.
    pub(super) width: usize,
    n_groups: usize,
    groups_per_tile: usize,
}

/// What a sweep may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SweepLimits {
    /// The channels of a group.
    pub(crate) width: usize,
    /// The sums that are held in quick succession, and the most that are held at all.
    pub(crate) few_sums: usize,
    pub(crate) most_sums: usize,
    /// Whether sums are formed in the output, so that none are held.
    pub(crate) in_place: bool,
    /// Whether sums that can take only one term may be given more.
    pub(crate) second_terms: bool,
    /// The type of elements, if whole groups of these are written past the cache.
    pub(crate) streamed: Option<DType>,
    /// How many tiles there should be at least.
    pub(crate) least_tiles: usize,
    pub(crate) n_workers: usize,
}

impl SweepLimits {
    /// The slices, rows and columns of a block whose sums can be held.
    fn block(&self, axes: &[AxisWindows; 3]) -> [usize; 3] {
        let dims = axes.map(|axis| axis.input());
        let reach = axes.map(|axis| axis.most_covered(1));
        let mut block = [reach[0], dims[1], dims[2]];
        // Neighbouring blocks both read the outputs between them, so first the axis is cut that costs the least, and none to
        // less than windows are long as long as another can be.
        let ([_, rows, columns], [_, least_rows, least_columns]) = (ample_block(reach), least_block(reach));
        let least = [(1, rows), (2, columns), (1, least_rows), (2, least_columns), (0, 1), (1, 1), (2, 1)];
        for (axis, least) in least.into_iter().filter(|_| !self.in_place) {
            let others = block.iter().product::<usize>().saturating_mul(self.width) / block[axis];
            let fitting = (self.most_sums / others.max(1)).max(least);
            if fitting < block[axis] {
                block[axis] = even(dims[axis], fitting);
            }
        }
        block
    }

    /// Whether groups of channels are better written past the cache line by line, where their blocks have whole rows.
    fn leaves_by_lines(&self, axes: &[AxisWindows; 3]) -> bool {
        let [slices, rows, columns] = axes;
        let are_long = slices.output() > 1 && rows.output() > 1 && columns.output() >= LEAST_COLUMNS;
        self.streamed.is_some()
            && self.width > 1
            && !self.second_terms
            && slices.covers_all()
            && rows.covers_all()
            && are_long
            && held_at_once(slices) <= InSlices::MOST
            && completed_rows(axes) > 1
    }

    /// A block of whole rows for that, if enough of these can be held. It may be half as large again as others: what a row of
    /// outputs touches, and what leaves meanwhile, is only a part of it.
    fn block_of_rows(&self, axes: &[AxisWindows; 3]) -> Option<[usize; 3]> {
        let [slices, rows, columns] = axes;
        let row = held_at_once(slices).saturating_mul(columns.input()).saturating_mul(self.width);
        let fitting = (self.most_sums / 2).saturating_mul(3) / row.max(1);
        let block = [slices.most_covered(1), even(rows.input(), fitting.max(1)), columns.input()];
        (fitting > rows.most_covered(1)).then_some(block)
    }
}

impl SweepShape {
    /// A sweep along blocks that meet the limits.
    pub(crate) fn new(geometry: &Geometry, limits: &SweepLimits) -> Self {
        let axes = stacked(geometry);
        let dims = axes.map(|axis| axis.input());
        let reach = axes.map(|axis| axis.most_covered(1));
        let width = limits.width;
        let by_lines = limits.leaves_by_lines(&axes).then(|| limits.block_of_rows(&axes)).flatten();
        let mut block = by_lines.unwrap_or_else(|| limits.block(&axes));
        let n_groups = geometry.n.saturating_mul(geometry.c.div_ceil(width));
        let blocks_per_slice = dims[1].div_ceil(block[1]) * dims[2].div_ceil(block[2]);
        if block[0] >= reach[0] {
            // A long stack is read with the fewest repetitions, unless there would be too few of them.
            let stacks = n_groups.saturating_mul(blocks_per_slice).max(1);
            let parts = limits.least_tiles.div_ceil(stacks);
            let least = (4 * reach[0]).min(dims[0].div_ceil(limits.n_workers.saturating_mul(2).div_ceil(stacks)));
            let parts = dims[0].div_ceil(dims[0].div_ceil(parts).max(least));
            block[0] = even(dims[0], dims[0].div_ceil(balanced(parts, stacks, limits.n_workers)));
        }
        let mut shape = Self {
            axes,
            step: 1,
            held: 0,
            leave: Leave::Slices,
            n_lanes: 1,
            in_place: limits.in_place,
            second_terms: 0,
            block,
            width,
            n_groups,
            groups_per_tile: 1,
        };
        let part = shape.part_len();
        shape.leave = match shape.rows_at_once(limits) {
            _ if by_lines.is_some() && block[0] >= held_at_once(&axes[0]) => Leave::Lines,
            0 => Leave::Slices,
            n_rows => {
                let pays = |elements| leaving_between_additions_pays(elements, shape.slice_len());
                Leave::Rows { n_rows, between: limits.streamed.is_some_and(pays) }
            }
        };
        while shape.leave == Leave::Slices
            && shape.step < axes[0].output()
            && axes[0].most_covered(2 * shape.step).saturating_mul(part) <= limits.few_sums
        {
            shape.step *= 2;
        }
        let most_held = match shape.leave {
            Leave::Slices => axes[0].most_covered(shape.step),
            Leave::Rows { .. } | Leave::Lines => held_at_once(&axes[0]),
        };
        shape.held = if shape.step < axes[0].output() { most_held } else { dims[0] };
        shape.held = if limits.in_place { 0 } else { shape.held.min(block[0]) };
        if limits.second_terms {
            let [_, rows, columns] = axes.map(|axis| axis.output());
            let n_outputs = rows.saturating_mul(columns).saturating_mul(width).saturating_mul(shape.step);
            shape.second_terms = n_outputs.clamp(second::LEAST, second::MOST).next_power_of_two();
        }
        let tile_len = block.iter().product::<usize>().saturating_mul(width);
        if block == dims && n_groups / 4 >= limits.n_workers {
            // Single planes are swept side by side where they fit; channels of a wider group are independent anyway.
            let fits = width == 1
                && shape.leave == Leave::Slices
                && shape.sums_len().saturating_mul(LANES) <= limits.most_sums;
            shape.n_lanes = if fits { LANES } else { 1 };
            let most = (n_groups / limits.least_tiles.max(1)).min(limits.most_sums / tile_len.max(1));
            shape.groups_per_tile = most.next_multiple_of(shape.n_lanes).max(shape.n_lanes);
        }
        shape
    }

    /// The rows of outputs to add before what they complete is written past the cache; 0, if this is better done slice by slice.
    fn rows_at_once(&self, limits: &SweepLimits) -> usize {
        let Some(element) = limits.streamed.map(DType::size) else { return 0 };
        let [slices, rows, columns] = self.axes;
        let are_single = self.width == 1 && !limits.second_terms;
        let are_whole = self.block[1] == rows.input() && self.block[2] == columns.input();
        let have_no_gaps = slices.covers_all() && rows.covers_all();
        let are_long = slices.output() > 1 && rows.output() > 1 && columns.output() >= LEAST_COLUMNS;
        if !(are_single && are_whole && have_no_gaps && are_long) {
            return 0;
        }
        let held = held_at_once(&slices);
        if held > MOST || held.saturating_mul(self.part_len()) > limits.most_sums {
            return 0;
        }
        // If it is no more than one, most of the time goes to additions.
        let completed = completed_rows(&self.axes);
        let bytes = completed.saturating_mul(columns.input()).saturating_mul(element);
        if completed > 1 { BURST / bytes } else { 0 }
    }

    /// Whether a plane of this size can be swept.
    pub(crate) fn accepts(geometry: &Geometry) -> bool {
        geometry.input_len() <= LARGEST_VOLUME
    }

    /// Whether there is room for the second terms of sums while they are held, if most sums have one term.
    pub(crate) fn takes_second_terms(geometry: &Geometry, width: usize) -> bool {
        let [_, rows, columns] = stacked(geometry).map(|axis| axis.output());
        rows.saturating_mul(columns).saturating_mul(width) <= 2 * second::MOST
    }

    /// The sums of the smallest blocks that are as long as windows, along each axis.
    pub(crate) fn least_sums(geometry: &Geometry, width: usize) -> usize {
        block_sums(geometry, width, least_block)
    }

    /// The same of blocks that read few outputs again for their neighbours, and do not cut rows short.
    pub(crate) fn ample_sums(geometry: &Geometry, width: usize) -> usize {
        block_sums(geometry, width, ample_block)
    }

    /// The sums that the windows of one place of the stack reach.
    pub(crate) fn reached(geometry: &Geometry, width: usize) -> usize {
        let [axis, rows, columns] = stacked(geometry);
        let slice = rows.input().saturating_mul(columns.input()).saturating_mul(width);
        axis.most_covered(1).saturating_mul(slice)
    }

    /// The sums that one lane holds.
    pub(crate) fn sums_len(&self) -> usize {
        self.held.saturating_mul(self.part_len())
    }

    /// The sums of a block in one slice.
    fn part_len(&self) -> usize {
        self.block[1].saturating_mul(self.block[2]).saturating_mul(self.width)
    }

    /// The tiles: blocks of a group, or a few whole groups.
    pub(crate) fn partition(&self) -> Partition {
        Partition::blocks(self.n_groups, self.dims(), (self.groups_per_tile, self.block))
    }

    /// The places of a slice.
    pub(super) fn slice_len(&self) -> usize {
        self.axes[1].input() * self.axes[2].input()
    }

    /// The slices, rows and columns of a plane.
    pub(super) fn dims(&self) -> [usize; 3] {
        self.axes.map(|axis| axis.input())
    }

    /// The same of its outputs.
    pub(super) fn output_dims(&self) -> [usize; 3] {
        self.axes.map(|axis| axis.output())
    }
}

/// The parts of each stack, no more than `parts` and more than half as many, that give all workers as many tiles: what a part reads
/// that its neighbours read too takes less time than a worker that is alone with the last one.
fn balanced(parts: usize, stacks: usize, n_workers: usize) -> usize {
    let is_balanced = |parts: &usize| stacks.saturating_mul(*parts).is_multiple_of(n_workers);
    (parts / 2 + 1..=parts).rev().find(is_balanced).unwrap_or(parts)
}

/// The most slices that are held at a time where all between two windows are written together, and those behind the last one
/// with it.
fn held_at_once(slices: &AxisWindows) -> usize {
    let behind = slices.input() - slices.cover(slices.output() - 1).end;
    slices.most_covered(1).saturating_add(behind)
}

/// The rows that a row of outputs completes on the average.
fn completed_rows([slices, rows, _]: &[AxisWindows; 3]) -> usize {
    let completed = |axis: &AxisWindows| axis.input().div_ceil(axis.output());
    completed(slices).saturating_mul(completed(rows))
}

/// The sums of blocks that are as large as `block` finds fit for the windows.
fn block_sums(geometry: &Geometry, width: usize, block: fn([usize; 3]) -> [usize; 3]) -> usize {
    let axes = stacked(geometry);
    let [slices, rows, columns] = block(axes.map(|axis| axis.most_covered(1)));
    let [_, n_rows, n_columns] = axes.map(|axis| axis.input());
    let sizes = [slices, even(n_rows, rows), even(n_columns, columns)];
    sizes.into_iter().fold(width, |sums, size| sums.saturating_mul(size))
}

/// The least slices, rows and columns of a block where windows reach over so many. Rows in pieces are read less well, and it
/// takes longer to find their places.
fn least_block([slices, rows, columns]: [usize; 3]) -> [usize; 3] {
    [slices, rows, columns.saturating_mul(4)]
}

/// The same of a block to whose neighbours it matters little what they read again.
fn ample_block(reach: [usize; 3]) -> [usize; 3] {
    let [slices, rows, columns] = least_block(reach);
    [slices, rows.saturating_mul(2), columns.max(64)]
}

/// The axes of the slices, rows and columns: the first is the slowest that has more than one place. Flat offsets are the
/// same.
fn stacked(geometry: &Geometry) -> [AxisWindows; 3] {
    let single = |axis: &AxisWindows| axis.input() == 1 && axis.output() == 1;
    let n_single = geometry.axes.iter().take_while(|axis| single(axis)).count().min(2);
    let mut axes = geometry.axes;
    axes.rotate_left(n_single);
    axes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::FixedTaps;

    const F16: Option<DType> = Some(DType::F16);
    const F32: Option<DType> = Some(DType::F32);

    fn limits(width: usize) -> SweepLimits {
        SweepLimits {
            width,
            few_sums: 1 << 14,
            most_sums: 1 << 17,
            in_place: false,
            second_terms: false,
            streamed: None,
            least_tiles: 16,
            n_workers: 2,
        }
    }

    fn adaptive(axes: [(usize, usize); 3]) -> Geometry {
        Geometry { n: 1, c: 1, axes: axes.map(|(i, o)| AxisWindows::adaptive(i, o)) }
    }

    #[test]
    fn sums_that_are_held_meet_the_limit() {
        for axes in [
            [(64, 16), (256, 32), (256, 32)],
            [(4, 2), (4, 2), (655_360, 81_920)],
            [(40_000, 1), (16, 1), (16, 1)],
            [(1, 1), (1, 1), (10_000_000, 3)],
            [(3000, 1), (3000, 1), (100, 1)],
            [(2, 5), (3, 7), (4, 9)],
        ] {
            for width in [1, 32, 128] {
                let shape = SweepShape::new(&adaptive(axes), &limits(width));
                assert!(shape.sums_len() <= 1 << 17, "{axes:?} {shape:?}");
                assert!(shape.n_lanes * shape.sums_len() <= 1 << 17, "{shape:?}");
                assert!(shape.held <= shape.block[0] && shape.step >= 1);
            }
        }
    }

    #[test]
    fn blocks_are_as_long_as_windows_where_the_least_ones_are_held() {
        let fixed = |(input, kernel_size): (usize, i64)| {
            AxisWindows::fixed(
                (input, input),
                FixedTaps { kernel_size, stride: 1, padding: kernel_size / 2, dilation: 1 },
            )
        };
        let mut n_held = 0;
        for axes in [[(10, 5), (28, 5), (17, 5)], [(16, 3), (112, 3), (112, 3)], [(16, 7), (56, 7), (300, 7)]] {
            let geometry = Geometry { n: 1, c: 512, axes: axes.map(fixed) };
            for width in [16, 32, 64, 96, 128, 512] {
                let shape = SweepShape::new(&geometry, &limits(width));
                if SweepShape::least_sums(&geometry, width) <= limits(width).most_sums {
                    n_held += 1;
                    assert!(shape.block[0] >= axes[0].1 as usize, "{axes:?} {shape:?}");
                } else {
                    assert!(shape.block[0] < axes[0].1 as usize, "{axes:?} {shape:?}");
                }
            }
        }
        assert!((1..18).contains(&n_held), "both happen");
    }

    #[test]
    fn rows_are_cut_to_windows_before_columns_and_slices() {
        let windows = |input| {
            AxisWindows::fixed((input, input), FixedTaps { kernel_size: 3, stride: 1, padding: 1, dilation: 1 })
        };
        let block = |c| {
            let geometry = Geometry { n: 1, c, axes: [windows(8), windows(56), windows(56)] };
            assert!(SweepShape::least_sums(&geometry, c) <= limits(c).most_sums);
            SweepShape::new(&geometry, &limits(c)).block
        };
        assert_eq!(block(64)[1..], [12, 56], "several windows of whole rows");
        assert_eq!(block(256)[1..], [3, 56], "windows of whole rows");
        assert_eq!(block(512)[1..], [3, 28], "windows of half rows");
    }

    #[test]
    fn stacks_are_cut_no_shorter_than_keeps_workers_busy() {
        let windows = |input| {
            AxisWindows::fixed((input, input), FixedTaps { kernel_size: 9, stride: 1, padding: 4, dilation: 1 })
        };
        let longest = |n, input| {
            let geometry = Geometry { n, c: 1, axes: [windows(input), windows(input), windows(16)] };
            SweepShape::new(&geometry, &limits(1)).block[0]
        };
        assert_eq!([1, 2, 4].map(|n| longest(n, 19)), [5, 10, 19], "two tiles for each of two workers");
        assert_eq!(longest(4, 400), 100, "many tiles where they are much longer than windows");
    }

    #[test]
    fn all_workers_have_as_many_tiles_where_stacks_can_be_cut_so() {
        let windows = |input: usize| {
            AxisWindows::fixed((input, input / 2), FixedTaps { kernel_size: 3, stride: 2, padding: 1, dilation: 1 })
        };
        let n_tiles = |n, n_workers| {
            let geometry = Geometry { n, c: 1, axes: [windows(32), windows(192), windows(192)] };
            let least_tiles = if n_workers == 1 { 1 } else { 4 * n_workers };
            let limits = SweepLimits { least_tiles, n_workers, ..limits(1) };
            n * 32usize.div_ceil(SweepShape::new(&geometry, &limits).block[0])
        };
        assert_eq!([1, 2, 3, 5, 7].map(|n| n_tiles(n, 2)), [4, 6, 6, 10, 14]);
        assert_eq!([1, 3, 5].map(|n| n_tiles(n, 1)), [1, 3, 5], "one worker reads nothing again");
        assert_eq!(n_tiles(1, 5), 5);
        assert_eq!(n_tiles(7, 5), 21, "no two parts become one, and so tiles are uneven");
    }

    /// Of axes with so many inputs and this size and stride of windows, padded by one; channels, and how many are taken together.
    fn padded(axes: [(usize, i64, i64); 3], (c, width): (usize, usize), streamed: Option<DType>) -> SweepShape {
        let axes = axes.map(|(input, kernel_size, stride)| {
            let taps = FixedTaps { kernel_size, stride, padding: 1, dilation: 1 };
            AxisWindows::fixed((input, input / stride as usize), taps)
        });
        SweepShape::new(&Geometry { n: 2, c, axes }, &SweepLimits { streamed, ..limits(width) })
    }

    #[test]
    fn rows_are_written_alone_where_that_is_little_but_more_than_is_added() {
        let rows = |axes, streamed| match padded(axes, (64, 1), streamed).leave {
            Leave::Rows { n_rows, .. } => n_rows,
            _ => 0,
        };
        let windows = [(16, 3, 2), (112, 3, 2), (112, 3, 2)];
        assert_eq!([None, F16, F32, Some(DType::F64)].map(|streamed| rows(windows, streamed)), [0, 4, 2, 1]);
        let long_rows = [(16, 3, 2), (16, 3, 2), (1600, 3, 2)];
        assert_eq!(rows(long_rows, F32), 0, "what a row completes does not fit the first level");
        assert_eq!(rows([(16, 3, 1), (112, 3, 1), (112, 3, 1)], F32), 0, "a row for each row");
        assert_eq!(rows([(16, 2, 3), (112, 3, 2), (112, 3, 2)], F32), 0, "slices that no window reaches");
        assert_eq!(rows([(16, 3, 2), (112, 3, 2), (30, 3, 2)], F32), 0, "short rows");
        assert_eq!(rows([(16, 5, 2), (112, 3, 2), (112, 3, 2)], F32), 0, "more slices than are told apart");
        assert_eq!(rows([(16, 3, 2), (350, 3, 2), (112, 3, 2)], F16), 4);
        assert_eq!(rows([(16, 3, 2), (400, 3, 2), (112, 3, 2)], F16), 0, "slices that are cut");
    }

    #[test]
    fn channels_leave_by_lines_where_whole_rows_of_enough_of_them_are_held() {
        let shape = |axes, channels, streamed| padded(axes, (channels, channels), streamed);
        let windows = [(16, 3, 2), (112, 3, 2), (112, 3, 2)];
        let leaving = |axes, channels| {
            let SweepShape { leave, block, .. } = shape(axes, channels, F32);
            (leave == Leave::Lines).then_some(block)
        };
        assert_eq!(leaving(windows, 64), Some([16, 9, 112]));
        assert_eq!(leaving(windows, 128), Some([16, 4, 112]));
        assert_eq!(leaving(windows, 256), None, "no more rows than a window has");
        assert_eq!(leaving([(16, 3, 1), (112, 3, 1), (112, 3, 1)], 64), None, "a row for each row");
        assert_eq!(leaving([(16, 2, 3), (112, 3, 2), (112, 3, 2)], 64), None, "slices that no window reaches");
        assert_eq!(leaving([(16, 3, 2), (112, 3, 2), (30, 3, 2)], 64), None, "short rows");
        assert_eq!(leaving([(16, 4, 2), (112, 3, 2), (112, 3, 2)], 64), None, "more slices than are told apart");
        assert_eq!(shape(windows, 64, None).leave, Leave::Slices);
    }

    #[test]
    fn one_plane_is_enough_for_all_workers() {
        for axes in
            [[(64, 16), (256, 32), (256, 32)], [(1, 1), (2048, 1), (2048, 1)], [(4, 2), (4, 2), (655_360, 9)]]
        {
            let partition = SweepShape::new(&adaptive(axes), &limits(1)).partition();
            assert!(partition.n_tiles() >= 2, "{axes:?} {partition:?}");
        }
    }

    #[test]
    fn the_slowest_axis_with_places_is_swept() {
        let shape = SweepShape::new(&adaptive([(1, 1), (5, 2), (8, 4)]), &limits(1));
        assert_eq!((shape.dims(), shape.output_dims()), ([5, 8, 1], [2, 4, 1]));
        let shape = SweepShape::new(&adaptive([(1, 1), (1, 1), (8, 4)]), &limits(1));
        assert_eq!(shape.dims(), [8, 1, 1]);
        let shape = SweepShape::new(&adaptive([(1, 2), (1, 1), (8, 4)]), &limits(1));
        assert_eq!(shape.dims(), [1, 1, 8], "a single place with several outputs stays in front");
    }
}
