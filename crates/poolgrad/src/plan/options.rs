//! Wishes about how a plan runs; none of them changes a result.

use crate::simd::Isa;

/// How a plan should run. The default lets the library choose everything.
///
/// No option changes a bit of any result: they exist for tests, for measurements, and for programs that share the
/// machine.
///
/// # Examples
/// ```
/// let options = poolgrad::PlanOptions::default().threads(1);
/// # let _ = options;
/// ```
#[derive(Clone, Debug, Default)]
pub struct PlanOptions {
    pub(super) threads: Option<usize>,
    pub(super) isa: Option<Isa>,
    pub(super) kernel: Option<String>,
    pub(super) tile_elements: Option<usize>,
    pub(super) streaming: Option<bool>,
}

impl PlanOptions {
    /// The most threads that work on one call; at least 1. By default all of rayon's current pool.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads.max(1));
        self
    }

    /// The ISA level to run on. By default [`Isa::best`].
    #[must_use]
    pub fn isa(mut self, isa: Isa) -> Self {
        self.isa = Some(isa);
        self
    }

    /// The kernel to run, one of [`Plan::kernels`](crate::Plan::kernels). By default the first of them.
    #[must_use]
    pub fn kernel(mut self, kernel: impl Into<String>) -> Self {
        self.kernel = Some(kernel.into());
        self
    }

    /// The most elements that one tile has; at least 1. By default as many as fit the cache.
    #[must_use]
    pub fn tile_elements(mut self, tile_elements: usize) -> Self {
        self.tile_elements = Some(tile_elements.max(1));
        self
    }

    /// Whether outputs bypass the cache. By default they do when they are larger than the last-level cache.
    #[must_use]
    pub fn streaming(mut self, streaming: bool) -> Self {
        self.streaming = Some(streaming);
        self
    }
}
