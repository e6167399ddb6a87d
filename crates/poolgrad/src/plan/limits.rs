//! What a plan may use: how many threads and accumulators, how many channels at a time, and what pays where.

use super::check::Checked;
use super::cost::{Sums, is_read_from_memory, keeps_zeros_instead_of_gathering, leaves_the_cache, work};
use super::options::PlanOptions;
use super::select::Kernel;
use super::side_by_side::{SIDE_BY_SIDE, are_small};
use crate::dtype::DType;
use crate::exec::stream::{
    Written, keeps_zeros_of_two_bytes, streaming_by_rows_pays, streaming_pays, works_by_halves,
};
use crate::exec::{last_level_cache, max_workers};
use crate::geometry::{AxisWindows, Geometry};
use crate::kernels::{
    ChannelsShape, Comparing, ExpandShape, GatherShape, ROW, Summing, SweepShape, WIDEST, most_channels,
};
use crate::simd::Isa;
use crate::spec::{Direction, Spec};

/// The bytes of accumulators that a tile may have: they should stay in the second-level cache.
const TILE_BYTES: usize = 256 << 10;

/// The bytes up to which sums that are still added to may lie in the output; half of a worker's part of the last-level cache,
/// if that is more. Beyond that they would leave the caches before they are complete; smaller blocks, which are copied to the
/// output, do not.
const IN_PLACE_BYTES: usize = 4 << 20;

/// How much larger tiles are that outputs are spread over. These are filled piece by piece, so that nothing has to stay close,
/// and their tables are made once for each: with tiles of a plane or less they take a tenth of the time, and up to a quarter.
const SPREAD: usize = 32;

/// The most accumulators that a tile may be wished to have: what a worker holds is located by 31 bits.
const LARGEST_TILE: usize = 1 << 29;

/// Less [`work`] than this is done by the caller's thread: waking others would take longer.
const PARALLEL_FROM: usize = 256 << 10;

/// Inputs to each output from which on rounding only the sums with terms is faster than rounding all.
const SPARSE: usize = 32;

/// The same of `bf16` by vectors of less than 64 bytes, where to round all takes longest.
const SPARSE_NARROWLY: usize = 16;

/// The same in a sweep, which keeps second terms aside instead: of single channels, and of groups by vectors of 64 bytes.
const SPARSE_TO_SWEEP: usize = 48;

/// Inputs to each output, for each window that an input lies in, from which on second terms kept aside are few enough: the more
/// windows share an input, the more of them share a maximum, and a term that is not the first takes as long as to round many sums.
///
/// On a first Zen, two threads, 26 problems in 16 bits and channels-last order, with 2 to 16, take 0.75 of the time if all sums are
/// rounded, 0.48 to 1.12.
const APART: u128 = 18;

/// The same of `bf16` by vectors of less than 64 bytes.
const APART_NARROWLY: u128 = 12;

/// Inputs to each output up to which it matters how often outputs are read.
const MUCH: usize = 8;

/// Windows that an input lies in, and inputs of a window, from which on it matters that sums of neighbouring places lie on pages
/// of their own.
const MANY: usize = 16;

/// Channels from which on it matters that their sums share few sets of the first-level cache: with fewer, to read outputs in narrower
/// groups takes longer than that.
const FEWER_SETS: usize = 4 * WIDEST;

/// The bytes of a page: a processor finds some tens of them at once.
const PAGE: usize = 4 << 10;

/// What a plan may use.
pub(super) struct Limits {
    /// The accumulators that stay close to a worker.
    pub(super) tile_elements: usize,
    /// The elements of a tile that outputs are spread over.
    pub(super) spread_elements: usize,
    pub(super) n_workers: usize,
    /// The channels that are worked on together.
    pub(super) width: usize,
    /// The bytes of an accumulator.
    pub(super) accumulator: usize,
    /// How outputs are expanded over their windows, if they can be.
    pub(super) expand: Option<ExpandShape>,
    /// How places gather from outputs, if they can, and whether that is faster than to add outputs to places.
    pub(super) gather: Option<GatherShape>,
    pub(super) gathering_pays: bool,
    /// How the sums of a max gradient are formed.
    pub(super) summing: Summing,
    /// Whether, in a sweep, few are given more than one term, and there is room for these.
    pub(super) second_terms: bool,
    /// Whether, in whole planes, the output takes the first term of each. On a first Zen, two threads, 40 problems in 16 bits take
    /// 0.62 to 0.92 of the time that they took cleared and rounded or, of channels, swept; with windows that share more inputs than
    /// this tells of, 1.1 to 1.7.
    pub(super) first_terms: bool,
    /// Whether to sweep is faster than to clear and to round few sums of whole planes: on a first Zen, two threads, 24 problems in
    /// 16 bits and channels-last order take 0.76 of the time, 0.59 to 1.06, but in rows of single channels 1.3 to 3.1. With vectors
    /// of 64 bytes it was not timed.
    pub(super) sweeps_few: bool,
    /// Whether the output can hold them.
    pub(super) in_place: bool,
    /// Whether outputs are written past the cache.
    pub(super) streaming: bool,
    /// Whether they may be row by row.
    pub(super) streams_rows: bool,
    /// Whether what is read is too much to be in the cache.
    pub(super) from_memory: bool,
    /// How maxima are found by places of many channels, if they can be.
    pub(super) by_channels: Option<ChannelsShape>,
}

impl Limits {
    /// The accumulators that are cleared, added to and written out in quick succession, so that they should be close.
    pub(super) fn few_sums(&self) -> usize {
        (self.tile_elements / 4).max(1)
    }

    /// Whether there are as many groups of planes as `rounds` for each worker.
    pub(super) fn occupies_workers(&self, geometry: &Geometry, rounds: usize) -> bool {
        let rounds = if self.n_workers == 1 { 1 } else { rounds };
        self.n_workers.saturating_mul(rounds) <= (geometry.n * geometry.c.div_ceil(self.width)).max(1)
    }

    /// Whether outputs are expanded only because whole lines leave from registers.
    pub(super) fn expands_by_lines(&self) -> bool {
        self.expand.is_some_and(|shape| shape.pays_by_lines(self.summing == Summing::Once, self.streaming))
    }

    /// The accumulators that a worker holds at all.
    pub(super) fn most_sums(&self) -> usize {
        self.tile_elements.saturating_mul(2)
    }

    /// Whether a sweep forms sums of 16 bits, which take one term each.
    pub(super) fn sweeps_once(&self) -> bool {
        self.summing == Summing::Once || self.second_terms
    }

    /// Limits for groups of as many channels as are good to work on together.
    pub(super) fn new(spec: &Spec, checked: &Checked, options: &PlanOptions) -> Self {
        Self::for_outputs(true, (spec, checked, options))
    }

    /// The same if outputs do not begin on a cache line, so that no whole lines can leave from registers.
    pub(super) fn beside_lines(spec: &Spec, checked: &Checked, options: &PlanOptions) -> Self {
        Self::for_outputs(false, (spec, checked, options))
    }

    fn for_outputs(of_lines: bool, (spec, checked, options): (&Spec, &Checked, &PlanOptions)) -> Self {
        let up_to = |channels| Self::of_groups_up_to((channels, of_lines), (spec, checked, options));
        let sweeps = Kernel::family(spec).contains(&Kernel::ScatterSweep);
        let geometry = &checked.geometry;
        let reads_much = geometry.output_len().saturating_mul(MUCH) >= geometry.input_len();
        let exceeds = |limits: &Self, sums: fn(&Geometry, usize) -> usize| {
            !limits.in_place && reads_much && sums(geometry, limits.width) > limits.most_sums()
        };
        let widest = up_to(usize::MAX);
        let times =
            |count: fn(&AxisWindows) -> usize| geometry.axes.iter().map(count).fold(1, usize::saturating_mul);
        let sharing = times(AxisWindows::most_sharing);
        let overlaps_much = sharing >= MANY && times(|axis| axis.most_covered(1)) >= MANY;
        let bytes = widest.width.saturating_mul(widest.accumulator);
        let fills_pages = !widest.in_place && bytes >= PAGE;
        // Channels of places that lie half pages apart share few sets of the first-level cache, wherever sums are formed.
        let shares_sets = bytes.is_multiple_of(PAGE / 2) && widest.width >= FEWER_SETS;
        let is_apart = fills_pages || (shares_sets && bytes.saturating_mul(sharing) >= PAGE * MANY);
        let is_too_wide = exceeds(&widest, SweepShape::least_sums) || (overlaps_much && is_apart);
        if !sweeps || !is_too_wide {
            return widest;
        }
        // Blocks shorter than windows would read each output again and again, and sums on many pages are hard to find. Narrower
        // groups read and write memory in small pieces, which is slow, so they should at least read nothing again.
        let narrower =
            [1, 2, 4, 8].into_iter().map(|parts| WIDEST / parts).filter(|&channels| channels < widest.width);
        narrower.map(up_to).find(|limits| !exceeds(limits, SweepShape::ample_sums)).unwrap_or(widest)
    }

    /// Limits for groups of at most `channels` channels.
    fn of_groups_up_to(
        (channels, of_lines): (usize, bool),
        (spec, checked, options): (&Spec, &Checked, &PlanOptions),
    ) -> Self {
        let accumulator = if checked.dtype == DType::F64 { size_of::<f64>() } else { size_of::<f32>() };
        let [tile_elements, spread_elements] = [1, SPREAD]
            .map(|times| options.tile_elements.unwrap_or(TILE_BYTES / accumulator * times).min(LARGEST_TILE));
        let geometry = &checked.geometry;
        let vector_bytes = options.isa.unwrap_or_else(Isa::best).vector_bytes();
        let is_narrow = vector_bytes < 64;
        let rounds_slowly = is_narrow && checked.dtype == DType::BF16;
        let summing = summing(checked, if rounds_slowly { SPARSE_NARROWLY } else { SPARSE });
        let is_small = work(spec, checked, summing) < PARALLEL_FROM;
        // The pool is only asked, and so only started, by a problem that is worth it.
        let n_workers = match options.threads {
            Some(threads) => threads,
            None if is_small => 1,
            None => max_workers(),
        };
        // Elements that are added and compared as they are.
        let is_wide = matches!(checked.dtype, DType::F32 | DType::F64);
        let by_channels = by_channels(spec, checked);
        let width = good_width(spec, checked, (by_channels, is_wide), (tile_elements, n_workers)).min(channels);
        let n_workers = if cfg!(feature = "rayon") { n_workers } else { 1 };
        let from_memory = is_read_from_memory(spec.direction, checked);
        let second_terms = summing == Summing::Few
            && (is_sparse(geometry, SPARSE_TO_SWEEP) || (width > 1 && is_narrow))
            && are_apart(geometry, if rounds_slowly { APART_NARROWLY } else { APART })
            && SweepShape::takes_second_terms(geometry, width);
        // An input lies in at most one and a half windows in the mean.
        let first_terms = summing == Summing::Few
            && covered(geometry).saturating_mul(2) <= geometry.input_len().saturating_mul(3);
        let own_type = summing == Summing::Once || second_terms || is_wide;
        let is_one_of = |kernel| Kernel::family(spec).contains(&kernel);
        let bytes = (checked.dtype.size(), vector_bytes);
        let expand = is_one_of(Kernel::ExpandRows).then(|| ExpandShape::new(geometry, width, bytes)).flatten();
        let has_lines = of_lines && checked.lifted.are_planes_contiguous();
        let expand = expand.map(|shape| if has_lines { shape } else { shape.without_lines() });
        let comparing = Comparing {
            lanes: vector_bytes / accumulator,
            copies_indices: (checked.index_dtype, accumulator) != (DType::I32, size_of::<i32>()),
            copies_gradients: !is_wide,
            from_memory,
            by_halves: works_by_halves(),
        };
        let gather = (of_lines && is_one_of(Kernel::GatherRows) && summing == Summing::All)
            .then(|| GatherShape::new(geometry, (width, tile_elements), (accumulator, comparing.lanes)))
            .flatten();
        let expands_anyway = expand.is_some_and(|shape| shape.pays(summing == Summing::Once, false));
        let share = last_level_cache().bytes / n_workers.saturating_mul(2).max(1);
        let stays_close =
            SweepShape::reached(geometry, width).saturating_mul(accumulator) <= share.max(IN_PLACE_BYTES);
        // Those of other planes are copied from where they are held.
        let are_close = geometry.input_len().saturating_mul(width) <= tile_elements.saturating_mul(2);
        let keeps_far = is_wide || (second_terms && keeps_zeros_of_two_bytes());
        let added = Sums {
            of_maxima: checked.has_indices,
            are_few: is_sparse(geometry, SPARSE) && (are_close || (stays_close && keeps_far)),
            in_output: own_type && !expands_anyway,
            are_filled: expands_anyway,
            are_complete: !own_type && summing == Summing::All,
            width,
        };
        let keeps_zeros = added.are_few && keeps_zeros_instead_of_gathering(checked);
        let gathers_past = !keeps_zeros && gather.is_some_and(|shape| shape.pays(geometry, comparing, true));
        let sums = Sums {
            in_output: added.in_output && !gathers_past,
            are_complete: added.are_complete || gathers_past,
            ..added
        };
        let leaves = || leaves_the_cache(spec.direction, checked, sums);
        let streaming = options.streaming.unwrap_or_else(|| streaming_pays(n_workers) && leaves());
        // Who asks for it gets it anyway.
        let written = if own_type { Written::AsIs } else { Written::Rounded };
        let by_rows = options.streaming.unwrap_or_else(|| streaming_by_rows_pays(written, width));
        let are_contiguous = match width {
            1 => checked.lifted.are_planes_contiguous(),
            _ => checked.lifted.grouped(width).are_groups_contiguous(),
        };
        let streams_rows = streaming && by_rows && are_contiguous;
        let gathering_pays = gather.is_some_and(|shape| shape.pays(geometry, comparing, streaming));
        // Places of channels are 32 bits.
        let is_small = geometry.input_len().saturating_mul(width) <= i32::MAX as usize;
        let in_place = stays_close
            && own_type
            && !streaming
            && is_small
            && checked.lifted.grouped(width).are_groups_contiguous();
        Self {
            tile_elements,
            spread_elements,
            n_workers,
            width,
            accumulator,
            expand,
            gather,
            gathering_pays,
            summing,
            second_terms,
            first_terms,
            sweeps_few: second_terms && width > 1 && is_narrow && !first_terms,
            in_place,
            streaming,
            streams_rows,
            from_memory,
            by_channels: by_channels.filter(|_| width == geometry.c),
        }
    }
}

/// Whether there are so many inputs to each output, or more.
fn is_sparse(geometry: &Geometry, least: usize) -> bool {
    geometry.output_len().saturating_mul(least) <= geometry.input_len()
}

/// Whether windows share so few inputs that few sums have second terms.
fn are_apart(geometry: &Geometry, least: u128) -> bool {
    let [inputs, outputs, covered] =
        [geometry.input_len(), geometry.output_len(), covered(geometry)].map(|n| n as u128);
    // Inputs to an output, by windows that an input lies in.
    inputs * inputs >= outputs.saturating_mul(covered).saturating_mul(least)
}

/// The inputs of all windows of a plane, each counted as often as it lies in one.
fn covered(geometry: &Geometry) -> usize {
    geometry.axes.iter().map(AxisWindows::all_covered).fold(1, usize::saturating_mul)
}

/// How the sums of a max gradient are formed, if they are few from so many inputs to an output on.
fn summing(checked: &Checked, sparse: usize) -> Summing {
    let geometry = &checked.geometry;
    match checked.dtype {
        DType::F16 | DType::BF16 if geometry.axes.iter().all(AxisWindows::are_disjoint) => Summing::Once,
        DType::F16 | DType::BF16 if is_sparse(geometry, sparse) => Summing::Few,
        _ => Summing::All,
    }
}

/// How maxima are found by places of many channels, if they can be.
fn by_channels(spec: &Spec, checked: &Checked) -> Option<ChannelsShape> {
    let geometry = &checked.geometry;
    let finds_maxima = Kernel::family(spec).contains(&Kernel::MaxChannels);
    let is_whole = checked.lifted.grouped(geometry.c).are_groups_contiguous();
    (finds_maxima && is_whole && checked.lifted.is_channels_last())
        .then(|| ChannelsShape::new(geometry, geometry.c, checked.dtype.size()))
        .flatten()
}

/// How many channels are good to work on together.
fn good_width(
    spec: &Spec,
    checked: &Checked,
    (by_channels, is_wide): (Option<ChannelsShape>, bool),
    (tile_elements, n_workers): (usize, usize),
) -> usize {
    let geometry = &checked.geometry;
    // A place of a group cannot be shared out among workers. To take channels in parts is slower all the same, unless most workers
    // would have none: one thread is faster than two that have a half of the channels each.
    let has_places = geometry.n.saturating_mul(geometry.output_len()).saturating_mul(2) >= n_workers;
    let takes_one_row = match Kernel::family(spec)[0] {
        // Sums are formed in as many rows as are needed.
        Kernel::ExpandRows | Kernel::SpreadPlanes | Kernel::SpreadRows => true,
        Kernel::MeanRows => has_places,
        Kernel::MaxChannels => {
            let is_whole = checked.lifted.grouped(geometry.c).are_groups_contiguous();
            let fits = by_channels.is_some_and(|shape| shape.pays)
                || geometry.c <= ROW.min(most_channels(geometry, is_wide));
            has_places && is_whole && fits
        }
        _ => false,
    };
    match geometry.c {
        c if spec.direction == Direction::Forward && are_small(&spec.pool, checked) => c.min(SIDE_BY_SIDE),
        _ if !checked.lifted.is_channels_last() => 1,
        // Groups of all channels are contiguous; scattering to them, and filling them, takes no more than one row.
        c if c <= WIDEST || (c <= ROW && takes_one_row) => c,
        // Whole cache lines, where the channels fill them; the more, the smaller planes are. A power of two, so that what
        // is filled by whole groups has room for the last one too, which may be narrower.
        _ if takes_one_row => {
            let close = tile_elements / geometry.input_len().max(1);
            1 << close.clamp(WIDEST / 2, ROW).ilog2()
        }
        _ => WIDEST / 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::FixedTaps;

    #[test]
    fn windows_are_apart_from_so_many_inputs_to_each_output_by_windows_of_an_input_on() {
        let plane = |axis: AxisWindows| Geometry { n: 1, c: 1, axes: [AxisWindows::adaptive(1, 1), axis, axis] };
        let fixed = |kernel_size| {
            let taps = FixedTaps { kernel_size, stride: 4, padding: 0, dilation: 1 };
            plane(AxisWindows::fixed((64, 15), taps))
        };
        let volume = |n| Geometry { n: 1, c: 1, axes: [AxisWindows::adaptive(n, n); 3] };
        let cases = [
            ("windows that touch", plane(AxisWindows::adaptive(16, 4)), 16),
            // 4096 inputs to 225 outputs, and an input in 0.88 and 3.5 windows.
            ("gaps between windows", fixed(4), 20),
            ("windows that overlap", fixed(8), 5),
            ("windows of one and two inputs", plane(AxisWindows::adaptive(5, 4)), 0),
            ("more inputs than memory holds", volume(1 << 21), 1),
        ];
        for (name, geometry, most) in cases {
            assert!(are_apart(&geometry, most) && !are_apart(&geometry, most + 1), "{name}");
        }
    }
}
