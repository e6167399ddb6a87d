//! Errors: which rule an argument broke, what was wanted and what came.
//!
//! An error is a value. Its text names arguments as Rust spells them (`grad_output`); a front end that spells them
//! otherwise (`gradOutput`) passes its own spelling to [`Error::message`].

use std::fmt;

use crate::dtype::DType;
use crate::tensor::{Layout, LayoutError, TensorDesc};

/// An argument of a pooling operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Argument {
    /// The tensor that is pooled.
    Input,
    /// The pooled values.
    Output,
    /// The places of the maxima.
    Indices,
    /// The gradient of the loss with respect to the pooled values.
    GradOutput,
    /// The gradient of the loss with respect to the tensor that was pooled.
    GradInput,
    /// The size of the pooling window.
    KernelSize,
    /// The step from one window to the next.
    Stride,
    /// The border of implicit padding.
    Padding,
    /// The step between the elements of a window.
    Dilation,
    /// The spatial size that adaptive pooling produces.
    OutputSize,
}

impl Argument {
    /// The name as Rust, Python and PyTorch spell it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Argument::Input => "input",
            Argument::Output => "output",
            Argument::Indices => "indices",
            Argument::GradOutput => "grad_output",
            Argument::GradInput => "grad_input",
            Argument::KernelSize => "kernel_size",
            Argument::Stride => "stride",
            Argument::Padding => "padding",
            Argument::Dilation => "dilation",
            Argument::OutputSize => "output_size",
        }
    }
}

impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Why an operation cannot be planned or executed.
///
/// `axis` always counts the axes of the tensor as the caller passed it, from 0; for parameter lists it counts the
/// list's entries.
///
/// # Examples
/// ```
/// use poolgrad::{Argument, Error, MaxPool, Tensor};
///
/// let input = Tensor::from_vec(vec![0.0f32; 16], [1, 4, 4])?;
/// let error = MaxPool::new_2d(3).padding(2).forward(&input).unwrap_err();
/// assert_eq!(error, Error::PaddingTooLarge { axis: 0, most: 1, got: 2 });
/// assert_eq!(error.to_string(), "padding[0] must be at most half of kernel_size, which is 1, got 2");
/// assert_eq!(
///     error.message(&|argument| if argument == Argument::KernelSize { "kernelSize" } else { argument.name() }),
///     "padding[0] must be at most half of kernelSize, which is 1, got 2",
/// );
/// # Ok::<(), poolgrad::LayoutError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The tensors passed are not those that the operation takes.
    WrongOperands {
        /// The operation and the operands it takes.
        wanted: &'static str,
        /// The operands passed.
        got: &'static str,
    },
    /// A shape, strides and a buffer do not make a tensor.
    Layout {
        /// The tensor, where it is known.
        argument: Option<Argument>,
        /// What is wrong.
        problem: LayoutError,
    },
    /// A tensor has an element type that it cannot have.
    WrongDType {
        /// The tensor.
        argument: Argument,
        /// The types it can have.
        wanted: &'static [DType],
        /// The type it has.
        got: DType,
    },
    /// Two tensors that must share an element type do not.
    DTypesDiffer {
        /// The tensor.
        argument: Argument,
        /// Its element type.
        got: DType,
        /// The tensor it must agree with.
        other: Argument,
        /// The other's element type.
        wanted: DType,
    },
    /// The operation has no spatial axes, or more than three.
    WrongDimensionality {
        /// The number of spatial axes asked for.
        got: usize,
    },
    /// A tensor has a rank that is not `C, …` or `N, C, …` with the operation's spatial axes.
    WrongRank {
        /// The tensor.
        argument: Argument,
        /// The rank without a batch axis; one more with it.
        wanted: usize,
        /// Its rank.
        got: usize,
    },
    /// Two tensors that must share a rank do not.
    RanksDiffer {
        /// The tensor.
        argument: Argument,
        /// Its rank.
        got: usize,
        /// The tensor it must agree with.
        other: Argument,
        /// The other's rank.
        wanted: usize,
    },
    /// A parameter list has neither one value nor one for each spatial axis.
    WrongLength {
        /// The parameter.
        argument: Argument,
        /// The number of spatial axes.
        wanted: usize,
        /// The number of values.
        got: usize,
    },
    /// A parameter is too small.
    TooSmall {
        /// The parameter.
        argument: Argument,
        /// The entry of the list.
        axis: usize,
        /// The least value it can have.
        least: i64,
        /// Its value.
        got: i64,
    },
    /// A parameter is so large that window arithmetic would overflow.
    TooLarge {
        /// The parameter.
        argument: Argument,
        /// The entry of the list.
        axis: usize,
        /// The largest value it can have.
        most: i64,
        /// Its value.
        got: i64,
    },
    /// Padding is more than half of the window.
    PaddingTooLarge {
        /// The entry of the list.
        axis: usize,
        /// Half of the window's size, rounded down.
        most: i64,
        /// The padding.
        got: i64,
    },
    /// A spatial axis of a tensor has size zero.
    EmptyAxis {
        /// The tensor.
        argument: Argument,
        /// The axis.
        axis: usize,
    },
    /// A size does not agree with another tensor's.
    SizesDiffer {
        /// The tensor.
        argument: Argument,
        /// The axis.
        axis: usize,
        /// Its size.
        got: i64,
        /// The tensor it must agree with.
        other: Argument,
        /// The other's size.
        wanted: i64,
    },
    /// A size is not the one that the windows produce.
    WrongSize {
        /// The tensor.
        argument: Argument,
        /// The axis.
        axis: usize,
        /// The size that the parameters and the input's size produce.
        wanted: i64,
        /// Its size.
        got: i64,
    },
    /// No window fits on an axis.
    NoWindow {
        /// The axis, counted among the spatial ones.
        axis: usize,
        /// The size of the input with its padding.
        padded: i64,
        /// The extent of a window: `dilation * (kernel_size - 1) + 1`.
        extent: i64,
    },
    /// A dilated window steps over the whole input.
    EmptyWindow {
        /// The axis, counted among the spatial ones.
        axis: usize,
        /// The output position whose window has no element.
        output: i64,
    },
    /// The volume has more elements than the index type can count.
    VolumeTooLarge {
        /// The elements of one plane, D·H·W.
        volume: i64,
        /// The type of the indices.
        dtype: DType,
    },
    /// Two elements of an output lie in the same place.
    Overlap {
        /// The output.
        argument: Argument,
        /// Its layout.
        layout: Box<Layout>,
    },
    /// A plan was executed with a tensor that is not the one it was made for.
    NotAsPlanned {
        /// The tensor.
        argument: Argument,
        /// The element type and layout that the plan was made for.
        wanted: Box<TensorDesc>,
        /// The element type and layout of the tensor.
        got: Box<TensorDesc>,
    },
    /// A tensor's memory is not aligned for its element type.
    Misaligned {
        /// The tensor.
        argument: Argument,
        /// The alignment it needs, in bytes.
        wanted: usize,
    },
    /// An output shares memory with another tensor of the call.
    Aliased {
        /// The output.
        argument: Argument,
        /// The other tensor.
        other: Argument,
    },
    /// The workspace is too small.
    WorkspaceTooSmall {
        /// The bytes that the plan needs.
        wanted: usize,
        /// The bytes passed.
        got: usize,
    },
    /// The kernel that was asked for by name does not exist or does not accept the problem.
    NoSuchKernel {
        /// The kernels that accept the problem, in order of preference.
        wanted: Vec<&'static str>,
        /// The name asked for.
        got: String,
    },
    /// An index does not point into the volume.
    IndexOutOfRange {
        /// The batch entry.
        n: usize,
        /// The channel.
        c: usize,
        /// The position `[d, h, w]` of the index among the outputs.
        position: [usize; 3],
        /// The index.
        value: i64,
        /// The elements of the volume, D·H·W: valid indices are `0..volume`.
        volume: usize,
    },
}

impl Error {
    /// The text, with arguments spelled by `name`.
    #[must_use]
    pub fn message(&self, name: &dyn Fn(Argument) -> &'static str) -> String {
        match self {
            Self::WrongOperands { wanted, got } => format!("{wanted}, got {got}"),
            Self::Layout { argument: Some(argument), problem } => format!("{}: {problem}", name(*argument)),
            Self::Layout { argument: None, problem } => problem.to_string(),
            Self::WrongDType { argument, wanted, got } => {
                let wanted: Vec<_> = wanted.iter().map(|dtype| dtype.name()).collect();
                format!("{} must have element type {}, got {got}", name(*argument), wanted.join(" or "))
            }
            Self::DTypesDiffer { argument, got, other, wanted } => format!(
                "{} must have the element type of {}, which is {wanted}, got {got}",
                name(*argument),
                name(*other)
            ),
            Self::WrongDimensionality { got } => {
                format!("pooling is 1-D, 2-D or 3-D, got {got} spatial axes")
            }
            Self::WrongRank { argument, wanted, got } => format!(
                "{} must have {wanted} axes (C and the spatial ones) or {} (with N before them), got {got}",
                name(*argument),
                wanted + 1
            ),
            Self::RanksDiffer { argument, got, other, wanted } => {
                format!("{} must have as many axes as {}, {wanted}, got {got}", name(*argument), name(*other))
            }
            Self::WrongLength { argument, wanted, got } => {
                format!("{} must have 1 value or {wanted}, one for each spatial axis, got {got}", name(*argument))
            }
            Self::TooSmall { argument, axis, least, got } => {
                format!("{}[{axis}] must be at least {least}, got {got}", name(*argument))
            }
            Self::TooLarge { argument, axis, most, got } => {
                format!("{}[{axis}] must be at most {most}, got {got}", name(*argument))
            }
            Self::PaddingTooLarge { axis, most, got } => format!(
                "{}[{axis}] must be at most half of {}, which is {most}, got {got}",
                name(Argument::Padding),
                name(Argument::KernelSize)
            ),
            Self::EmptyAxis { argument, axis } => {
                format!("{} must have spatial sizes of at least 1, got 0 on axis {axis}", name(*argument))
            }
            Self::SizesDiffer { argument, axis, got, other, wanted } => format!(
                "{} must have the size of {} on axis {axis}, which is {wanted}, got {got}",
                name(*argument),
                name(*other)
            ),
            Self::WrongSize { argument, axis, wanted, got } => {
                format!(
                    "{} must have size {wanted} on axis {axis}, as the windows produce, got {got}",
                    name(*argument)
                )
            }
            Self::NoWindow { axis, padded, extent } => format!(
                "no window fits on spatial axis {axis}: the padded size is {padded} and a window extends over {extent}"
            ),
            Self::EmptyWindow { axis, output } => format!(
                "the window of output {output} on spatial axis {axis} has no element: {} steps over the whole input",
                name(Argument::Dilation)
            ),
            Self::VolumeTooLarge { volume, dtype } => format!(
                "{} of type {dtype} cannot count the {volume} elements of a volume; use {}",
                name(Argument::Indices),
                DType::I64
            ),
            Self::Overlap { argument, layout } => {
                format!("{} is written, so no two of its elements may share a place, got {layout}", name(*argument))
            }
            Self::NotAsPlanned { argument, wanted, got } => {
                format!("{} must be as planned, {wanted}, got {got}", name(*argument))
            }
            Self::Misaligned { argument, wanted } => {
                format!("the memory of {} must be aligned to {wanted} bytes", name(*argument))
            }
            Self::Aliased { argument, other } => {
                format!("{} is written, so it must not share memory with {}", name(*argument), name(*other))
            }
            Self::WorkspaceTooSmall { wanted, got } => {
                format!("the workspace must have at least {wanted} bytes, got {got}")
            }
            Self::NoSuchKernel { wanted, got } => {
                format!("the kernel must be one of {}, got {got}", wanted.join(", "))
            }
            Self::IndexOutOfRange { n, c, position: [d, h, w], value, volume } => format!(
                "{} must be at least 0 and below {volume}, got {value} at n = {n}, c = {c}, output position [{d}, {h}, {w}]",
                name(Argument::Indices)
            ),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message(&Argument::name))
    }
}

impl std::error::Error for Error {}

impl From<LayoutError> for Error {
    fn from(problem: LayoutError) -> Self {
        Self::Layout { argument: None, problem }
    }
}

impl LayoutError {
    /// This error, said of a particular tensor.
    #[must_use]
    pub fn of(self, argument: Argument) -> Error {
        Error::Layout { argument: Some(argument), problem: self }
    }
}
