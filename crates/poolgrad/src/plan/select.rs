//! Which kernel runs: an ordered list for each family. The first that accepts wins, and the last accepts everything.

use super::check::Checked;
use super::cost::{Sums, is_read_from_memory, leaves_the_cache, work};
use super::options::{BadIndices, PlanOptions};
use super::side_by_side::{SIDE_BY_SIDE, are_small};
use crate::dtype::{DType, Float, Index};
use crate::error::Error;
use crate::exec::stream::{Written, streaming_by_rows_pays, streaming_pays};
use crate::exec::{last_level_cache, max_workers};
use crate::geometry::{AxisWindows, Geometry};
use crate::kernels::{
    Buckets, Expand, ExpandShape, Mean, PlanesShape, ROW, Spread, SpreadShape, Summing, Sweep, SweepLimits,
    SweepShape, WIDEST, WindowsMax, cut_for_spread, most_channels,
};
use crate::simd::Isa;
use crate::spec::{Direction, Pool, Spec};
use crate::tensor::partition::{Partition, Wanted};

/// A way to compute an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kernel {
    /// Scatter into whole planes at once: indices may point anywhere.
    ScatterPlanes,
    /// Scatter along blocks of planes, holding the slices that windows reach: one pass where indices are local to them.
    ScatterSweep,
    /// Sort outputs by the part they fall into, then scatter.
    ScatterBuckets,
    /// Fill windows that touch, each with its output.
    ExpandRows,
    /// Spread the outputs of some small planes at a time.
    SpreadPlanes,
    /// Spread rows over their windows.
    SpreadRows,
    /// The maxima of windows, by rows.
    MaxRows,
    /// The means of windows, by rows.
    MeanRows,
}

impl Kernel {
    /// The kernels of an operation, the preferred first.
    const fn family(spec: &Spec) -> &'static [Kernel] {
        match (&spec.pool, spec.direction) {
            (Pool::Max(_) | Pool::AdaptiveMax(_), Direction::Gradient) => {
                &[Kernel::ExpandRows, Kernel::ScatterPlanes, Kernel::ScatterSweep, Kernel::ScatterBuckets]
            }
            (Pool::Max(_) | Pool::AdaptiveMax(_), Direction::Forward) => &[Kernel::MaxRows],
            (Pool::AdaptiveAvg(_), Direction::Gradient) => &[Kernel::SpreadPlanes, Kernel::SpreadRows],
            (Pool::AdaptiveAvg(_), Direction::Forward) => &[Kernel::MeanRows],
        }
    }

    /// The name that plans explain themselves by.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Kernel::ScatterPlanes => "scatter:planes",
            Kernel::ScatterSweep => "scatter:sweep",
            Kernel::ScatterBuckets => "scatter:buckets",
            Kernel::ExpandRows => "expand:rows",
            Kernel::SpreadPlanes => "spread:planes",
            Kernel::SpreadRows => "spread:rows",
            Kernel::MaxRows => "max:rows",
            Kernel::MeanRows => "mean:rows",
        }
    }

    /// Whether this kernel can, and should, compute the problem with these limits.
    fn accepts(self, geometry: &Geometry, limits: &Limits) -> bool {
        match self {
            // Whole planes need a plane that a worker can hold, and as many as keep all workers busy to the end.
            Kernel::ScatterPlanes => {
                let plane_elements = geometry.input_len().saturating_mul(limits.width);
                let is_small = plane_elements <= limits.few_sums();
                let rounds = if is_small || limits.summing == Summing::Few { 1 } else { ROUNDS };
                plane_elements <= limits.most_sums() && limits.occupies_workers(geometry, rounds)
            }
            Kernel::ExpandRows => {
                limits.expand.is_some_and(|shape| shape.pays(limits.summing == Summing::Once, limits.streaming))
            }
            Kernel::ScatterSweep => SweepShape::accepts(geometry),
            Kernel::SpreadPlanes => {
                SpreadShape::new(geometry, limits.width).is_some() && limits.occupies_workers(geometry, ROUNDS)
            }
            _ => true,
        }
    }
}

/// A kernel with the tiles it fills and the memory it needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    pub(super) kernel: Kernel,
    pub(super) partition: Partition,
    /// The channels that are worked on together: 1, unless they are neighbours in memory.
    pub(super) width: usize,
    /// How planes are swept, by the kernel that sweeps.
    pub(super) sweep: SweepShape,
    /// How outputs are spread over some planes at a time, if they can be.
    pub(super) spread: Option<SpreadShape>,
    /// How outputs are expanded over their windows, if they can be.
    pub(super) expand: Option<ExpandShape>,
    /// How the sums of a max gradient are formed.
    pub(super) summing: Summing,
    /// Whether outputs are written past the cache.
    pub(super) streaming: bool,
    /// Whether whole groups of the output are at hand as slices.
    pub(super) groups_at_hand: bool,
    /// Whether what is read is too much to be in the cache.
    pub(super) from_memory: bool,
}

impl Way {
    fn new(kernel: Kernel, checked: &Checked, limits: &Limits) -> Self {
        let geometry = &checked.geometry;
        // Sorting knows single planes only.
        let width = if kernel == Kernel::ScatterBuckets { 1 } else { limits.width };
        let n_groups = geometry.n.saturating_mul(geometry.c.div_ceil(width));
        let least_tiles = if limits.n_workers == 1 { 1 } else { limits.n_workers.saturating_mul(TILES_PER_WORKER) };
        let sweep = SweepShape::new(
            geometry,
            &SweepLimits {
                width,
                few_sums: limits.few_sums(),
                most_sums: limits.most_sums(),
                in_place: limits.in_place,
                second_terms: limits.second_terms,
                streamed: limits.streams_rows.then(|| checked.dtype.size()),
                least_tiles,
                n_workers: limits.n_workers,
            },
        );
        let (unit, most) = match (kernel, limits.summing) {
            // The sums of a plane are cleared once for each tile.
            (Kernel::ScatterPlanes, Summing::Few) => {
                let planes = geometry.input_len().saturating_mul(FEW_PLANES);
                (geometry.input_len(), planes.max(limits.tile_elements / width))
            }
            (Kernel::ScatterPlanes, _) => (geometry.input_len(), limits.tile_elements / width),
            (Kernel::SpreadPlanes, _) => (geometry.input_len(), limits.spread_elements / width),
            (Kernel::SpreadRows | Kernel::ExpandRows, _) => (1, limits.spread_elements / width),
            _ => (1, limits.tile_elements / width),
        };
        let wanted = Wanted { unit, most: most.max(1), least_tiles };
        let partition = match kernel {
            Kernel::ExpandRows => limits.expand.map(|shape| shape.partition(n_groups, wanted)).expect("accepted"),
            Kernel::ScatterSweep => sweep.partition(),
            Kernel::MaxRows | Kernel::MeanRows => Partition::new(n_groups, geometry.output(), wanted),
            Kernel::SpreadRows => cut_for_spread(geometry, n_groups, width, wanted),
            _ => Partition::new(n_groups, geometry.input(), wanted),
        };
        // Sorted outputs are added by their index alone, which may be that of others too.
        let summing = match kernel {
            Kernel::ScatterBuckets => Summing::All,
            // Of planes that are too large for a table of all sums, only those with second terms are kept aside.
            Kernel::ScatterSweep if limits.second_terms => Summing::Once,
            Kernel::ScatterSweep if limits.summing == Summing::Few => Summing::All,
            _ => limits.summing,
        };
        let groups_at_hand = !limits.streaming && checked.lifted.grouped(width).are_groups_contiguous();
        let Limits { streaming, from_memory, .. } = *limits;
        let spread = (kernel == Kernel::SpreadPlanes).then(|| SpreadShape::new(geometry, width)).flatten();
        let expand = limits.expand;
        Self { kernel, partition, width, sweep, spread, expand, summing, streaming, groups_at_hand, from_memory }
    }

    /// How planes are scattered to as a whole.
    pub(super) fn planes(&self, geometry: &Geometry) -> PlanesShape {
        let shape = PlanesShape::new(geometry, self.width, self.summing, self.groups_at_hand);
        if self.from_memory { shape.fetching() } else { shape }
    }

    /// Whether a scatter adds every output whose index points into the volume, be it inside its window or not.
    pub(super) fn finds_far_indices(&self) -> bool {
        matches!(self.kernel, Kernel::ScatterPlanes | Kernel::ScatterBuckets) && self.summing != Summing::Once
    }

    /// The bytes of scratch for each worker, and of memory that `n_workers` share.
    fn bytes<T: Float, I: Index>(&self, geometry: &Geometry, n_workers: usize) -> (usize, usize) {
        match self.kernel {
            Kernel::ScatterPlanes => (self.planes(geometry).bytes::<T, I>(), 0),
            Kernel::ScatterSweep => (Sweep::<T, I>::bytes(&self.sweep), 0),
            Kernel::ExpandRows => (self.expand.as_ref().map_or(0, Expand::<T, I>::bytes), 0),
            Kernel::ScatterBuckets => {
                let buckets = Buckets::new(geometry, self.partition, n_workers);
                (buckets.bytes::<T, I>(), buckets.shared_bytes())
            }
            Kernel::SpreadPlanes | Kernel::SpreadRows => match &self.spread {
                Some(shape) => (shape.bytes::<T>(geometry), 0),
                None => (Spread::<T>::bytes(geometry, (&self.partition, self.width)), 0),
            },
            Kernel::MaxRows => (WindowsMax::<T>::bytes::<I>(), 0),
            Kernel::MeanRows => (Mean::<T>::bytes(), 0),
        }
    }
}

/// Everything about how a plan runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub(super) way: Way,
    /// The way to take when indices turn out to point outside their windows.
    pub(super) far: Way,
    pub(super) isa: Isa,
    pub(super) n_workers: usize,
    pub(super) bytes_per_worker: usize,
    pub(super) shared_bytes: usize,
    pub(super) bad_indices: BadIndices,
}

impl Choice {
    /// The bytes of workspace, wherever it begins.
    pub(super) fn workspace_bytes(&self) -> usize {
        self.n_workers.saturating_mul(self.bytes_per_worker).saturating_add(self.shared_bytes)
    }
}

/// The bytes of accumulators that a tile may have: they should stay in the second-level cache.
const TILE_BYTES: usize = 256 << 10;

/// The bytes up to which sums that are still added to may lie in the output; half of a worker's part of the last-level cache,
/// if that is more. Beyond that they would leave the caches before they are complete; smaller blocks, which are copied to the
/// output, do not.
const IN_PLACE_BYTES: usize = 4 << 20;

/// How much larger tiles are that outputs are spread over. These are filled piece by piece, so that nothing has to stay close,
/// and their tables are made once for each: with tiles of a plane or less they take a tenth of the time, and up to a quarter.
const SPREAD: usize = 32;

/// The planes of a tile where only the sums with terms are rounded.
const FEW_PLANES: usize = 32;

/// The most accumulators that a tile may be wished to have: what a worker holds is located by 31 bits.
const LARGEST_TILE: usize = 1 << 29;

/// Less [`work`] than this is done by the caller's thread: waking others would take longer.
const PARALLEL_FROM: usize = 256 << 10;

/// Tiles for each worker, so that one that is held up does not hold up the others.
const TILES_PER_WORKER: usize = 4;

/// The scratch memory of a worker within which far indices are scattered to whole planes, which is several times as fast as
/// to sort them first.
const FAR_BYTES: usize = 1 << 20;

/// Inputs to each output from which on rounding only the sums with terms is faster than rounding all.
const SPARSE: usize = 32;

/// The same in a sweep, which keeps second terms aside instead.
const SPARSE_TO_SWEEP: usize = 48;

/// Inputs to each output up to which it matters how often outputs are read.
const MUCH: usize = 8;

/// Windows that an input lies in, and inputs of a window, from which on it matters that sums of neighbouring places lie on pages
/// of their own.
const MANY: usize = 16;

/// The bytes of a page: a processor finds some tens of them at once.
const PAGE: usize = 4 << 10;

/// Planes for each worker from which on even large ones are shared out as wholes: so many that it matters little which worker
/// has one more.
const ROUNDS: usize = 4;

/// What a plan may use.
struct Limits {
    /// The accumulators that stay close to a worker.
    tile_elements: usize,
    /// The elements of a tile that outputs are spread over.
    spread_elements: usize,
    n_workers: usize,
    /// The channels that are worked on together.
    width: usize,
    /// The bytes of an accumulator.
    accumulator: usize,
    /// How outputs are expanded over their windows, if they can be.
    expand: Option<ExpandShape>,
    /// How the sums of a max gradient are formed.
    summing: Summing,
    /// Whether, in a sweep, few are given more than one term, and there is room for these.
    second_terms: bool,
    /// Whether the output can hold them.
    in_place: bool,
    /// Whether outputs are written past the cache.
    streaming: bool,
    /// Whether they may be row by row.
    streams_rows: bool,
    /// Whether what is read is too much to be in the cache.
    from_memory: bool,
}

impl Limits {
    /// The accumulators that are cleared, added to and written out in quick succession, so that they should be close.
    fn few_sums(&self) -> usize {
        (self.tile_elements / 4).max(1)
    }

    /// Whether there are as many groups of planes as `rounds` for each worker.
    fn occupies_workers(&self, geometry: &Geometry, rounds: usize) -> bool {
        let rounds = if self.n_workers == 1 { 1 } else { rounds };
        self.n_workers.saturating_mul(rounds) <= (geometry.n * geometry.c.div_ceil(self.width)).max(1)
    }

    /// The accumulators that a worker holds at all.
    fn most_sums(&self) -> usize {
        self.tile_elements.saturating_mul(2)
    }

    /// Limits for groups of as many channels as are good to work on together.
    fn new(spec: &Spec, checked: &Checked, options: &PlanOptions) -> Self {
        let up_to = |channels| Self::of_groups_up_to(channels, (spec, checked, options));
        let sweeps = Kernel::family(spec).contains(&Kernel::ScatterSweep);
        let geometry = &checked.geometry;
        let reads_much = geometry.output_len().saturating_mul(MUCH) >= geometry.input_len();
        let exceeds = |limits: &Self, sums: fn(&Geometry, usize) -> usize| {
            !limits.in_place && reads_much && sums(geometry, limits.width) > limits.most_sums()
        };
        let widest = up_to(usize::MAX);
        let times =
            |count: fn(&AxisWindows) -> usize| geometry.axes.iter().map(count).fold(1, usize::saturating_mul);
        let overlaps_much = times(AxisWindows::most_sharing) >= MANY && times(|axis| axis.most_covered(1)) >= MANY;
        let fills_pages = !widest.in_place && widest.width.saturating_mul(widest.accumulator) >= PAGE;
        let is_too_wide = exceeds(&widest, SweepShape::least_sums) || (overlaps_much && fills_pages);
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
    fn of_groups_up_to(channels: usize, (spec, checked, options): (&Spec, &Checked, &PlanOptions)) -> Self {
        let accumulator = if checked.dtype == DType::F64 { size_of::<f64>() } else { size_of::<f32>() };
        let [tile_elements, spread_elements] = [1, SPREAD]
            .map(|times| options.tile_elements.unwrap_or(TILE_BYTES / accumulator * times).min(LARGEST_TILE));
        let geometry = &checked.geometry;
        let disjoint = geometry.axes.iter().all(|axis| axis.are_disjoint());
        let is_sparse = |least: usize| geometry.output_len().saturating_mul(least) <= geometry.input_len();
        let summing = match checked.dtype {
            DType::F16 | DType::BF16 if disjoint => Summing::Once,
            DType::F16 | DType::BF16 if is_sparse(SPARSE) => Summing::Few,
            _ => Summing::All,
        };
        let is_small = work(spec, checked, summing) < PARALLEL_FROM;
        // The pool is only asked, and so only started, by a problem that is worth it.
        let n_workers = match options.threads {
            Some(threads) => threads,
            None if is_small => 1,
            None => max_workers(),
        };
        // Elements that are added and compared as they are.
        let is_wide = matches!(checked.dtype, DType::F32 | DType::F64);
        // A place of a group cannot be shared out among workers.
        let has_places =
            geometry.n.saturating_mul(geometry.output_len()) >= n_workers.saturating_mul(TILES_PER_WORKER);
        let takes_one_row = match Kernel::family(spec)[0] {
            // Sums are formed in as many rows as are needed.
            Kernel::ExpandRows | Kernel::SpreadPlanes | Kernel::SpreadRows => true,
            Kernel::MeanRows => has_places,
            Kernel::MaxRows => {
                let is_whole = checked.lifted.grouped(geometry.c).are_groups_contiguous();
                has_places && is_whole && geometry.c <= ROW.min(most_channels(geometry, is_wide))
            }
            _ => false,
        };
        let width = match geometry.c {
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
        };
        let width = width.min(channels);
        let n_workers = if cfg!(feature = "rayon") { n_workers } else { 1 };
        let second_terms = summing == Summing::Few
            && is_sparse(SPARSE_TO_SWEEP)
            && SweepShape::takes_second_terms(geometry, width);
        let own_type = summing == Summing::Once || second_terms || is_wide;
        let expands = Kernel::family(spec).contains(&Kernel::ExpandRows);
        let expand = expands.then(|| ExpandShape::new(geometry, width, checked.dtype.size())).flatten();
        let expands_anyway = expand.is_some_and(|shape| shape.pays(summing == Summing::Once, false));
        let in_output = own_type && !expands_anyway;
        let sums = Sums {
            of_maxima: checked.has_indices,
            in_output,
            are_rounded: !own_type && summing == Summing::All,
            width,
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
        let from_memory = is_read_from_memory(checked);
        // Places of channels are 32 bits.
        let is_small = geometry.input_len().saturating_mul(width) <= i32::MAX as usize;
        let share = last_level_cache().bytes / n_workers.saturating_mul(2).max(1);
        let stays_close =
            SweepShape::reached(geometry, width).saturating_mul(accumulator) <= share.max(IN_PLACE_BYTES);
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
            summing,
            second_terms,
            in_place,
            streaming,
            streams_rows,
            from_memory,
        }
    }
}

/// The kernels that accept a problem, the preferred first.
pub(super) fn kernels(spec: &Spec, checked: &Checked, options: &PlanOptions) -> Vec<Kernel> {
    let limits = Limits::new(spec, checked, options);
    let accepting = Kernel::family(spec).iter().copied();
    accepting.filter(|kernel| kernel.accepts(&checked.geometry, &limits)).collect()
}

/// The way to take when indices turn out to point outside their windows.
fn far_way<T: Float, I: Index>(checked: &Checked, limits: &Limits) -> Way {
    let geometry = &checked.geometry;
    // Such indices may meet.
    let summing = if limits.summing == Summing::Few { Summing::Few } else { Summing::All };
    let n_sums = geometry.input_len().saturating_mul(limits.width);
    let takes = |way: &Way| {
        let is_light = way.bytes::<T, I>(geometry, 1).0 <= FAR_BYTES && n_sums <= i32::MAX as usize;
        n_sums <= limits.tile_elements || (limits.occupies_workers(geometry, 1) && is_light)
    };
    let planes = |limits: &Limits| Way { summing, ..Way::new(Kernel::ScatterPlanes, checked, limits) };
    // Without streaming, an output that can hold the sums does.
    let ways = [planes(limits), planes(&Limits { streaming: false, ..*limits })];
    ways.into_iter().find(takes).unwrap_or_else(|| Way::new(Kernel::ScatterBuckets, checked, limits))
}

/// Chooses the kernel and how it runs, for values of type `T` and indices of type `I`.
pub(super) fn select<T: Float, I: Index>(
    spec: &Spec,
    checked: &Checked,
    options: &PlanOptions,
) -> Result<Choice, Error> {
    let limits = Limits::new(spec, checked, options);
    let accepting = kernels(spec, checked, options);
    let kernel = match &options.kernel {
        None => accepting[0],
        Some(name) => {
            accepting.iter().copied().find(|kernel| kernel.name() == name).ok_or_else(|| Error::NoSuchKernel {
                wanted: accepting.iter().map(|kernel| kernel.name()).collect(),
                got: name.clone(),
            })?
        }
    };
    let geometry = &checked.geometry;
    let way = Way::new(kernel, checked, &limits);
    let far = match kernel {
        Kernel::ScatterPlanes | Kernel::ScatterSweep | Kernel::ExpandRows => far_way::<T, I>(checked, &limits),
        _ => way,
    };
    let n_workers = limits.n_workers.min(way.partition.n_tiles().max(far.partition.n_tiles())).max(1);
    let (bytes, shared_bytes) = way.bytes::<T, I>(geometry, n_workers);
    let (far_bytes, far_shared_bytes) = far.bytes::<T, I>(geometry, n_workers);
    Ok(Choice {
        way,
        far,
        isa: options.isa.unwrap_or_else(Isa::best),
        n_workers,
        bytes_per_worker: bytes.max(far_bytes),
        shared_bytes: shared_bytes.max(far_shared_bytes),
        bad_indices: options.bad_indices,
    })
}
