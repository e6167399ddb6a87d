//! A problem: one operation with its sizes, types, memory layout and contents.

mod language;
mod print;

pub use language::{ParseError, parse_list};

use poolgrad::{DType, Direction, Pool, Sizes, Spec};

use crate::reference::windows::{self, NoOutput};

/// How the tensors of a problem lie in memory.
///
/// Every layout has foreign elements around it, and most also between its own, so that a stray access shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryLayout {
    /// Row-major without gaps: the default.
    Ncdhw,
    /// Channels last: the C values of one voxel are neighbours.
    Ndhwc,
    /// The memory order of the spatial axes is reversed, so that the first of them has the smallest step.
    Transposed,
    /// A box cut out of a larger row-major tensor: gaps on every axis, W contiguous.
    Sliced,
    /// Every second element of a row, every second row: no two neighbours along W touch.
    Stepped,
    /// Every axis runs backwards: all strides are negative.
    Reversed,
    /// N and C of the inputs have stride 0, as after a broadcast. Outputs are row-major.
    Expanded,
    /// Row-major without gaps, starting at an odd element of its buffer.
    Offset,
}

impl MemoryLayout {
    /// Every layout, with its name in the problem language.
    pub const ALL: [(&'static str, MemoryLayout); 8] = [
        ("ncdhw", MemoryLayout::Ncdhw),
        ("ndhwc", MemoryLayout::Ndhwc),
        ("transposed", MemoryLayout::Transposed),
        ("sliced", MemoryLayout::Sliced),
        ("stepped", MemoryLayout::Stepped),
        ("reversed", MemoryLayout::Reversed),
        ("expanded", MemoryLayout::Expanded),
        ("offset", MemoryLayout::Offset),
    ];
}

/// What the tensors of a problem hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fill {
    /// Values spread evenly over -2..2: the default.
    Random,
    /// Small whole numbers, whose sums are exact in every type.
    Integers,
    /// Few distinct values, so that most windows have several maxima.
    Ties,
    /// NaN, infinities, zeros of both signs and denormal numbers among ordinary values.
    Special,
    /// Indices anywhere in the volume, mostly outside their window. Only for gradients of max pooling.
    Far,
    /// Every index the same. Only for gradients of max pooling.
    Same,
}

impl Fill {
    /// Every fill, with its name in the problem language.
    pub const ALL: [(&'static str, Fill); 6] = [
        ("random", Fill::Random),
        ("integers", Fill::Integers),
        ("ties", Fill::Ties),
        ("special", Fill::Special),
        ("far", Fill::Far),
        ("same", Fill::Same),
    ];
}

/// One operation with everything needed to run it: a line of the problem language.
///
/// A line names the operator and then, in any order, what it works on:
///
/// | token | meaning | default |
/// |---|---|---|
/// | `n2c16`, `c16` | batch and channels; unbatched without `n` | needed |
/// | `in16x56x56`, `in56x56`, `in56` | the input's spatial sizes, `[D, H, W]`, `[H, W]` or `[W]` | needed |
/// | `out8x7x7` | `output_size` of adaptive pooling | needed there |
/// | `k3x3x3` | `kernel_size` of max pooling | needed there |
/// | `s2x2x2`, `p1x1x1`, `d1x1x1`, `ceil` | `stride`, `padding`, `dilation`, `ceil_mode` | `k`, 0, 1, off |
/// | `f32` `f64` `f16` `bf16` | the type of values and gradients | `f32` |
/// | `i32` `i64` | the type of indices | `i64` |
/// | a name of [`MemoryLayout::ALL`] | how tensors lie in memory | `ncdhw` |
/// | a name of [`Fill::ALL`] | what they hold | `random` |
///
/// A list with one value counts for every spatial axis: `k3` is `k3x3x3`. What is printed leaves defaults out.
///
/// # Examples
/// ```
/// use poolgrad_check::Problem;
///
/// let problem: Problem = "adaptive_max_grad n2c16 in16x56x56 out8x7x7 bf16 i32 ncdhw".parse()?;
/// assert_eq!(problem.input_shape().to_string(), "[2, 16, 16, 56, 56]");
/// assert_eq!(problem.to_string(), "adaptive_max_grad n2c16 in16x56x56 out8x7x7 bf16 i32");
/// # Ok::<(), poolgrad_check::ParseError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// The pooling and the direction; parameter lists have one value for each spatial axis.
    pub spec: Spec,
    /// The batch size; `None` for tensors without a batch axis.
    pub batch: Option<i64>,
    /// The number of channels.
    pub channels: i64,
    /// The spatial sizes of the input, `[D, H, W]`, `[H, W]` or `[W]`.
    pub input: Sizes,
    /// The type of values and gradients.
    pub dtype: DType,
    /// The type of indices; without meaning for average pooling.
    pub index_dtype: DType,
    /// How the tensors lie in memory.
    pub layout: MemoryLayout,
    /// What the tensors hold.
    pub fill: Fill,
}

impl Problem {
    /// The shape of the input, `[N, C, D, H, W]`, or fewer axes.
    #[must_use]
    pub fn input_shape(&self) -> Sizes {
        self.with_leading_axes(&self.input)
    }

    /// The shape of the output, by this crate's own arithmetic.
    ///
    /// # Errors
    /// [`NoOutput`] if no output exists: a parameter is out of range, or a window has no element.
    pub fn output_shape(&self) -> Result<Sizes, NoOutput> {
        Ok(self.with_leading_axes(&windows::output_sizes(&self.spec, &self.input)?))
    }

    /// Whether the operation has a tensor of indices, to read or to write.
    #[must_use]
    pub fn has_indices(&self) -> bool {
        !matches!(self.spec.pool, Pool::AdaptiveAvg(_))
    }

    /// Whether the operation reads a tensor of indices.
    #[must_use]
    pub fn reads_indices(&self) -> bool {
        self.has_indices() && self.spec.direction == Direction::Gradient
    }

    fn with_leading_axes(&self, spatial: &[i64]) -> Sizes {
        let leading = self.batch.into_iter().chain([self.channels]);
        let all: Vec<i64> = leading.chain(spatial.iter().copied()).collect();
        crate::sizes(&all)
    }
}
