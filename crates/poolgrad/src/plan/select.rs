//! Which kernel runs: an ordered list for each family. The first that accepts wins, and the last accepts everything.

use super::check::Checked;
use super::limits::Limits;
use super::options::{BadIndices, PlanOptions};
use crate::dtype::{DType, Float, Index, Summed};
use crate::error::Error;
use crate::geometry::Geometry;
use crate::kernels::{
    Buckets, ChannelsMax, Expand, ExpandShape, Gather, GatherShape, Mean, PlanesShape, Room, Spread, SpreadShape,
    Summing, Sweep, SweepLimits, SweepShape, WindowsMax, cut_for_spread,
};
use crate::simd::Isa;
use crate::spec::{Direction, Pool, Spec};
use crate::tensor::partition::{Partition, Wanted};

/// Tiles for each worker, so that one that is held up does not hold up the others.
const TILES_PER_WORKER: usize = 4;

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
    /// Gather to each place what points to it.
    GatherRows,
    /// Spread the outputs of some small planes at a time.
    SpreadPlanes,
    /// Spread rows over their windows.
    SpreadRows,
    /// The maxima of windows, by places of many channels.
    MaxChannels,
    /// The maxima of windows, by rows.
    MaxRows,
    /// The means of windows, by rows.
    MeanRows,
}

impl Kernel {
    /// The kernels of an operation, the preferred first.
    pub(super) const fn family(spec: &Spec) -> &'static [Kernel] {
        match (&spec.pool, spec.direction) {
            (Pool::Max(_) | Pool::AdaptiveMax(_), Direction::Gradient) => &[
                Kernel::ExpandRows,
                Kernel::GatherRows,
                Kernel::ScatterPlanes,
                Kernel::ScatterSweep,
                Kernel::ScatterBuckets,
            ],
            (Pool::Max(_) | Pool::AdaptiveMax(_), Direction::Forward) => &[Kernel::MaxChannels, Kernel::MaxRows],
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
            Kernel::GatherRows => "gather:rows",
            Kernel::SpreadPlanes => "spread:planes",
            Kernel::SpreadRows => "spread:rows",
            Kernel::MaxChannels => "max:channels",
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
            Kernel::GatherRows => limits.gather.is_some(),
            Kernel::MaxChannels => limits.by_channels.is_some(),
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
    /// How places gather from outputs, by the kernel that gathers.
    pub(super) gather: Option<GatherShape>,
    /// How the sums of a max gradient are formed.
    pub(super) summing: Summing,
    /// Whether outputs are written past the cache.
    pub(super) streaming: bool,
    /// Whether whole groups of the output are at hand as slices.
    pub(super) groups_at_hand: bool,
    /// Whether elements are of a type that sums are formed in.
    pub(super) is_wide: bool,
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
        // Sums of 16 bits take half the room of accumulators.
        let sums = if limits.sweeps_once() { 2 } else { 1 };
        let sweep = SweepShape::new(
            geometry,
            &SweepLimits {
                width,
                few_sums: limits.few_sums().saturating_mul(sums),
                most_sums: limits.most_sums().saturating_mul(sums),
                in_place: limits.in_place,
                second_terms: limits.second_terms,
                streamed: limits.streams_rows.then_some(checked.dtype),
                least_tiles,
                n_workers: limits.n_workers,
            },
        );
        let (unit, most) = match kernel {
            Kernel::ScatterPlanes => (geometry.input_len(), limits.tile_elements / width),
            Kernel::SpreadPlanes => (geometry.input_len(), limits.spread_elements / width),
            Kernel::SpreadRows | Kernel::ExpandRows => (1, limits.spread_elements / width),
            _ => (1, limits.tile_elements / width),
        };
        let wanted = Wanted { unit, most: most.max(1), least_tiles };
        let partition = match kernel {
            Kernel::ExpandRows => limits.expand.map(|shape| shape.partition(n_groups, wanted)).expect("accepted"),
            Kernel::GatherRows => limits.gather.map(|shape| shape.partition(n_groups, wanted)).expect("accepted"),
            Kernel::ScatterSweep => sweep.partition(),
            Kernel::MaxChannels | Kernel::MaxRows | Kernel::MeanRows => {
                Partition::new(n_groups, geometry.output(), wanted)
            }
            Kernel::SpreadRows => cut_for_spread(geometry, n_groups, width, wanted),
            _ => Partition::new(n_groups, geometry.input(), wanted),
        };
        // Sorted outputs are added by their index alone, which may be that of others too.
        let summing = match kernel {
            Kernel::ScatterBuckets => Summing::All,
            // Of planes that are too large for a table of all sums, only those with second terms are kept aside.
            Kernel::ScatterSweep if limits.sweeps_once() => Summing::Once,
            Kernel::ScatterSweep => Summing::All,
            Kernel::ScatterPlanes if limits.first_terms => Summing::First,
            _ => limits.summing,
        };
        let groups_at_hand = !limits.streaming && checked.lifted.grouped(width).are_groups_contiguous();
        let Limits { expand, streaming, from_memory, .. } = *limits;
        let spread = (kernel == Kernel::SpreadPlanes).then(|| SpreadShape::new(geometry, width)).flatten();
        let gather = if kernel == Kernel::GatherRows { limits.gather } else { None };
        Self {
            kernel,
            partition,
            width,
            sweep,
            spread,
            expand,
            gather,
            summing,
            streaming,
            groups_at_hand,
            is_wide: matches!(checked.dtype, DType::F32 | DType::F64),
            from_memory,
        }
    }

    /// How planes are scattered to as a whole.
    pub(super) fn planes(&self, geometry: &Geometry) -> PlanesShape {
        let room = match self.groups_at_hand {
            true if self.is_wide || matches!(self.summing, Summing::Once | Summing::First) => Room::Output,
            true => Room::BesideSlices,
            false => Room::Beside,
        };
        PlanesShape::new(geometry, self.width, (self.summing, room), self.from_memory)
    }

    /// Whether a scatter adds every output whose index points into the volume, be it inside its window or not.
    pub(super) fn finds_far_indices(&self) -> bool {
        matches!(self.kernel, Kernel::ScatterPlanes | Kernel::ScatterBuckets) && self.summing != Summing::Once
    }

    /// The bytes of scratch for each worker, and of memory that `n_workers` share.
    fn bytes<T: Float, I: Index>(&self, geometry: &Geometry, n_workers: usize) -> (usize, usize) {
        let bytes = match self.kernel {
            Kernel::ScatterBuckets => {
                let buckets = Buckets::new(geometry, self.partition, n_workers);
                return (buckets.bytes::<T, I>(), buckets.shared_bytes());
            }
            Kernel::ScatterPlanes | Kernel::ScatterSweep | Kernel::ExpandRows => match self.summing {
                Summing::Once | Summing::First => self.bytes_to_scatter::<T::Once, I>(geometry),
                Summing::Few | Summing::All => self.bytes_to_scatter::<T, I>(geometry),
            },
            Kernel::GatherRows => self.gather.as_ref().map_or(0, Gather::<T, I>::bytes),
            Kernel::SpreadPlanes | Kernel::SpreadRows => match &self.spread {
                Some(shape) => shape.bytes::<T>(geometry),
                None => Spread::<T>::bytes(geometry, (&self.partition, self.width)),
            },
            Kernel::MaxChannels => ChannelsMax::<T>::bytes::<I>(),
            Kernel::MaxRows => WindowsMax::<T>::bytes::<I>(),
            Kernel::MeanRows => Mean::<T>::bytes(),
        };
        (bytes, 0)
    }

    /// The bytes of scratch for each worker that adds up elements as `T`.
    fn bytes_to_scatter<T: Summed, I: Index>(&self, geometry: &Geometry) -> usize {
        match self.kernel {
            Kernel::ScatterPlanes => self.planes(geometry).bytes::<T, I>(),
            Kernel::ScatterSweep => Sweep::<T, I>::bytes(&self.sweep),
            _ => self.expand.as_ref().map_or(0, Expand::<T, I>::bytes),
        }
    }
}

/// Everything about how a plan runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub(super) way: Way,
    /// The way to take instead if the output does not begin on a cache line, where that matters.
    pub(super) beside_lines: Option<Way>,
    /// The way to take when indices turn out to point outside their windows.
    pub(super) far: Way,
    pub(super) isa: Isa,
    pub(super) n_workers: usize,
    pub(super) bytes_per_worker: usize,
    /// The bytes of workspace, wherever it begins.
    pub(super) workspace_bytes: usize,
    pub(super) bad_indices: BadIndices,
}

/// The scratch memory of a worker within which far indices are scattered to whole planes, which is several times as fast as
/// to sort them first.
const FAR_BYTES: usize = 1 << 20;

/// Planes for each worker from which on even large ones are shared out as wholes: so many that it matters little which worker
/// has one more.
const ROUNDS: usize = 4;

/// The kernels that accept a problem, the preferred first.
pub(super) fn kernels(spec: &Spec, checked: &Checked, options: &PlanOptions) -> Vec<Kernel> {
    accepting(spec, checked, &Limits::new(spec, checked, options))
}

/// Those that accept it within these limits.
fn accepting(spec: &Spec, checked: &Checked, limits: &Limits) -> Vec<Kernel> {
    let accepting = Kernel::family(spec).iter().copied();
    let mut kernels: Vec<_> = accepting.filter(|kernel| kernel.accepts(&checked.geometry, limits)).collect();
    // What can be done, but takes longer than what the others do, comes last.
    kernels.sort_by_key(|kernel| match kernel {
        Kernel::GatherRows => !limits.gathering_pays,
        Kernel::ScatterPlanes => limits.sweeps_few,
        Kernel::MaxChannels => !limits.by_channels.is_some_and(|shape| shape.pays),
        _ => false,
    });
    kernels
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
    let kernels = accepting(spec, checked, &limits);
    let kernel = match &options.kernel {
        None => kernels[0],
        Some(name) => kernels.iter().copied().find(|kernel| kernel.name() == name).ok_or_else(|| {
            Error::NoSuchKernel { wanted: kernels.iter().map(|kernel| kernel.name()).collect(), got: name.clone() }
        })?,
    };
    let geometry = &checked.geometry;
    let way = Way::new(kernel, checked, &limits);
    // Whole lines leave from registers; with parts of lines it would be slower than other kernels. Who names it gets it anyway.
    let needs_lines = match kernel {
        Kernel::GatherRows => limits.streaming,
        Kernel::ExpandRows => limits.expands_by_lines(),
        _ => false,
    };
    let beside_lines = (needs_lines && options.kernel.is_none()).then(|| {
        let limits = Limits::beside_lines(spec, checked, options);
        Way::new(accepting(spec, checked, &limits)[0], checked, &limits)
    });
    let far = match kernel {
        Kernel::ScatterPlanes | Kernel::ScatterSweep | Kernel::ExpandRows | Kernel::GatherRows => {
            far_way::<T, I>(checked, &limits)
        }
        _ => way,
    };
    let ways = [way, beside_lines.unwrap_or(way), far];
    let n_tiles = ways.iter().map(|way| way.partition.n_tiles()).max().expect("three ways");
    let n_workers = limits.n_workers.min(n_tiles).max(1);
    let bytes = ways.map(|way| way.bytes::<T, I>(geometry, n_workers));
    let bytes_per_worker = bytes.iter().fold(0, |most, bytes| most.max(bytes.0));
    // One way is taken after the other, so that what one shares may be where another has its scratch.
    let all = bytes.map(|(scratch, shared)| n_workers.saturating_mul(scratch).saturating_add(shared));
    let workspace_bytes = all.into_iter().fold(n_workers.saturating_mul(bytes_per_worker), usize::max);
    Ok(Choice {
        way,
        beside_lines,
        far,
        isa: options.isa.unwrap_or_else(Isa::best),
        n_workers,
        bytes_per_worker,
        workspace_bytes,
        bad_indices: options.bad_indices,
    })
}
