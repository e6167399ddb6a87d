//! Which kernel runs: an ordered list for each family. The first that accepts wins, and the last accepts everything.

use super::check::Checked;
use super::options::{BadIndices, PlanOptions};
use crate::dtype::{DType, Float, Index};
use crate::error::Error;
use crate::exec::{last_level_cache_bytes, max_workers};
use crate::kernels::{Buckets, Mean, Scatter, Spread, WindowsMax};
use crate::simd::Isa;
use crate::spec::{Direction, Pool, Spec};
use crate::tensor::partition::Partition;

/// A way to compute an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kernel {
    /// Scatter into tiles of whole planes: indices may point anywhere.
    ScatterPlanes,
    /// Scatter into parts of planes: one pass where indices are local to their windows.
    ScatterParts,
    /// Sort outputs by the part they fall into, then scatter.
    ScatterBuckets,
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
                &[Kernel::ScatterPlanes, Kernel::ScatterParts, Kernel::ScatterBuckets]
            }
            (Pool::Max(_) | Pool::AdaptiveMax(_), Direction::Forward) => &[Kernel::MaxRows],
            (Pool::AdaptiveAvg(_), Direction::Gradient) => &[Kernel::SpreadRows],
            (Pool::AdaptiveAvg(_), Direction::Forward) => &[Kernel::MeanRows],
        }
    }

    /// The name that plans explain themselves by.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Kernel::ScatterPlanes => "scatter:planes",
            Kernel::ScatterParts => "scatter:parts",
            Kernel::ScatterBuckets => "scatter:buckets",
            Kernel::SpreadRows => "spread:rows",
            Kernel::MaxRows => "max:rows",
            Kernel::MeanRows => "mean:rows",
        }
    }

    /// Whether this kernel can, and should, compute the problem with these limits.
    fn accepts(self, checked: &Checked, limits: &Limits) -> bool {
        match self {
            // Whole planes need a plane that fits the cache, and a plane for every worker.
            Kernel::ScatterPlanes => {
                let Checked { geometry, .. } = checked;
                geometry.input_len() <= limits.tile_elements && limits.n_workers <= geometry.n_planes().max(1)
            }
            _ => true,
        }
    }
}

/// Everything about how a plan runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub(super) kernel: Kernel,
    pub(super) isa: Isa,
    pub(super) n_workers: usize,
    pub(super) partition: Partition,
    pub(super) bytes_per_worker: usize,
    pub(super) shared_bytes: usize,
    pub(super) streaming: bool,
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

/// Problems of fewer elements than this run on the caller's thread: waking others would take longer.
const PARALLEL_FROM: usize = 32 << 10;

/// Tiles for each worker, so that one that is held up does not hold up the others.
const TILES_PER_WORKER: usize = 8;

struct Limits {
    tile_elements: usize,
    n_workers: usize,
}

impl Limits {
    fn new(checked: &Checked, options: &PlanOptions) -> Self {
        let accumulator = if checked.dtype == DType::F64 { size_of::<f64>() } else { size_of::<f32>() };
        let tile_elements = options.tile_elements.unwrap_or(TILE_BYTES / accumulator);
        let geometry = &checked.geometry;
        let per_plane = geometry.input_len().saturating_add(geometry.output_len());
        let is_small = per_plane.saturating_mul(geometry.n_planes()) < PARALLEL_FROM;
        // The pool is only asked, and so only started, by a problem that is worth it.
        let n_workers = match options.threads {
            Some(threads) => threads,
            None if is_small => 1,
            None => max_workers(),
        };
        Self { tile_elements, n_workers: if cfg!(feature = "rayon") { n_workers } else { 1 } }
    }
}

/// The kernels that accept a problem, the preferred first.
pub(super) fn kernels(spec: &Spec, checked: &Checked, options: &PlanOptions) -> Vec<Kernel> {
    let limits = Limits::new(checked, options);
    let accepting = Kernel::family(spec).iter().copied();
    accepting.filter(|kernel| kernel.accepts(checked, &limits)).collect()
}

/// Chooses the kernel and how it runs, for values of type `T` and indices of type `I`.
pub(super) fn select<T: Float, I: Index>(
    spec: &Spec,
    checked: &Checked,
    options: &PlanOptions,
) -> Result<Choice, Error> {
    let limits = Limits::new(checked, options);
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
    let written = match spec.direction {
        Direction::Forward => geometry.output(),
        Direction::Gradient => geometry.input(),
    };
    let least_tiles = if limits.n_workers == 1 { 1 } else { limits.n_workers * TILES_PER_WORKER };
    let whole_planes = kernel == Kernel::ScatterPlanes;
    // Tiles of whole planes cannot be made smaller than a plane; the others are cut as finely as balance asks for.
    let least_tiles = if whole_planes { least_tiles.min(geometry.n_planes()) } else { least_tiles };
    let partition = Partition::new(geometry.n_planes(), written, limits.tile_elements, least_tiles);
    let n_workers = limits.n_workers.min(partition.n_tiles()).max(1);
    let buckets = Buckets::new(geometry, partition, n_workers);
    let scatter_bytes = Scatter::<T, I>::bytes(&partition);
    let (bytes_per_worker, shared_bytes) = match kernel {
        Kernel::ScatterPlanes => (scatter_bytes, 0),
        Kernel::ScatterParts | Kernel::ScatterBuckets => (scatter_bytes, buckets.shared_bytes()),
        Kernel::SpreadRows => (Spread::<T>::bytes(geometry, &partition), 0),
        Kernel::MaxRows => (WindowsMax::<T>::bytes::<I>(), 0),
        Kernel::MeanRows => (Mean::<T>::bytes(), 0),
    };
    let written_bytes = partition.plane_len().saturating_mul(geometry.n_planes()).saturating_mul(size_of::<T>());
    Ok(Choice {
        kernel,
        isa: options.isa.unwrap_or_else(Isa::best),
        n_workers,
        partition,
        bytes_per_worker,
        shared_bytes,
        streaming: options.streaming.unwrap_or_else(|| written_bytes > last_level_cache_bytes()),
        bad_indices: options.bad_indices,
    })
}
