//! Wishes about how a plan runs.

use crate::simd::Isa;

/// What becomes of an index that does not point into its volume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BadIndices {
    /// Execution ends with [`Error::IndexOutOfRange`](crate::Error::IndexOutOfRange).
    #[default]
    Refuse,
    /// Its gradient is left out, as if it were zero: for programs written for devices that do so.
    Drop,
}

/// Each thread has scratch memory and several tiles of its own, so an absurd number must not be taken at its word.
const MOST_THREADS: usize = 1024;

/// How a plan should run. The default lets the library choose everything.
///
/// No option changes a bit of the result of an execution that succeeds by default: they exist for tests, for
/// measurements, and for programs that share the machine. [`PlanOptions::bad_indices`] gives a result to executions
/// that by default have none.
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
    pub(super) bad_indices: BadIndices,
}

impl PlanOptions {
    /// How many threads work on one call, from 1 to 1024; fewer where there are fewer tiles. By default all of rayon's
    /// current pool, or the caller's alone where the problem is small; a number given here holds for small ones too.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads.clamp(1, MOST_THREADS));
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

    /// The most elements that one tile has; at least 1. By default as many as fit the cache, and more where nothing is held.
    #[must_use]
    pub fn tile_elements(mut self, tile_elements: usize) -> Self {
        self.tile_elements = Some(tile_elements.max(1));
        self
    }

    /// Whether outputs bypass the cache. By default those do that would leave the last-level cache before anyone reads them: a
    /// gradient that is larger, or for max pooling larger than what others leave of it, or that is pushed out by what is read; and
    /// the outputs of a forward operator that reads and writes twice as much as the cache holds. Few threads of an older Intel
    /// processor write faster through the cache, and do.
    #[must_use]
    pub fn streaming(mut self, streaming: bool) -> Self {
        self.streaming = Some(streaming);
        self
    }

    /// What becomes of an index that does not point into its volume. By default it is refused.
    ///
    /// # Examples
    /// ```
    /// use poolgrad::{AdaptiveMaxPool, BadIndices, DType, Direction, Operands, Plan, PlanOptions};
    /// use poolgrad::{TensorDesc, TensorView, TensorViewMut};
    ///
    /// let (grad_output, indices) = ([1.0f32, 2.0], [6i64, 3]);
    /// let mut grad_input = [f32::NAN; 4];
    /// let plan = Plan::with_options(
    ///     &AdaptiveMaxPool::new_2d([1, 2]).spec(Direction::Gradient),
    ///     &Operands::Scatter {
    ///         grad_output: TensorDesc::contiguous(DType::F32, [1, 1, 2])?,
    ///         indices: TensorDesc::contiguous(DType::I64, [1, 1, 2])?,
    ///         grad_input: TensorDesc::contiguous(DType::F32, [1, 2, 2])?,
    ///     },
    ///     &PlanOptions::default().bad_indices(BadIndices::Drop),
    /// )?;
    /// plan.run(Operands::Scatter {
    ///     grad_output: TensorView::new(&grad_output, [1, 1, 2])?,
    ///     indices: TensorView::new(&indices, [1, 1, 2])?,
    ///     grad_input: TensorViewMut::new(&mut grad_input, [1, 2, 2])?,
    /// })?;
    /// assert_eq!(grad_input, [0.0, 0.0, 0.0, 2.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn bad_indices(mut self, bad_indices: BadIndices) -> Self {
        self.bad_indices = bad_indices;
        self
    }
}
