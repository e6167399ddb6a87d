//! Every argument check of the library, in the order in which errors are reported.
//!
//! 1. the operands are those of the operation, and it has 1 to 3 spatial axes;
//! 2. element types: the first float tensor's, then the others' agreement with it, then the indices';
//! 3. ranks: each tensor's in order, then their agreement with the first;
//! 4. parameters: lengths, then values, then padding against the window;
//! 5. spatial sizes of the input are at least 1;
//! 6. windows exist and have elements; the output's sizes are what they produce;
//! 7. N and C agree, the indices' sizes agree;
//! 8. the index type can count the volume;
//! 9. no output overlaps itself.
//!
//! Source: the contract of the gradient operators, sections 1.3, 2.3, 3.2 and 4.2, whose order (element types, ranks,
//! attributes, shapes) this follows.

use crate::dtype::DType;
use crate::error::{Argument, Error};
use crate::geometry::{AxisWindows, FixedTaps, Geometry};
use crate::spec::{Direction, Operands, Pool, Spec};
use crate::tensor::lift::Lifted;
use crate::tensor::{Layout, Sizes, TensorDesc};

/// What is left of the arguments once they are checked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Checked {
    pub(super) geometry: Geometry,
    pub(super) n_spatial: usize,
    /// The element type of values and gradients.
    pub(super) dtype: DType,
    /// The tensor of the input's sizes, the largest.
    pub(super) lifted: Lifted,
    /// The element type of the indices; `i64` where there are none.
    pub(super) index_dtype: DType,
    pub(super) has_indices: bool,
}

/// Window arithmetic is done in `i64`; with every term below this no sum of a few of them overflows.
const LARGEST: i64 = 1 << 59;

/// Checks everything that can be known before execution.
pub(super) fn check(spec: &Spec, operands: &Operands<TensorDesc>) -> Result<Checked, Error> {
    let tensors = Tensors::new(spec, operands)?;
    let n_spatial = check_dimensionality(spec)?;
    let dtype = check_dtypes(&tensors)?;
    let ranked = || [Some(tensors.pooled), Some(tensors.input), tensors.indices].into_iter().flatten();
    let (first, first_desc) = tensors.first();
    for (argument, desc) in ranked() {
        check_rank(argument, desc.layout.rank(), n_spatial)?;
    }
    for (argument, desc) in ranked() {
        let (got, wanted) = (desc.layout.rank(), first_desc.layout.rank());
        if got != wanted {
            return Err(Error::RanksDiffer { argument, got, other: first, wanted });
        }
    }
    let (input_argument, input) = tensors.input;
    let axes = windows(spec, input.shape(), input_argument)?;
    let (pooled_argument, pooled) = tensors.pooled;
    let leading = input.layout.rank() - n_spatial;
    for (i, windows) in axes[3 - n_spatial..].iter().enumerate() {
        let (axis, wanted) = (leading + i, windows.output() as i64);
        let got = pooled.shape()[axis];
        if got != wanted {
            return Err(Error::WrongSize { argument: pooled_argument, axis, wanted, got });
        }
    }
    for axis in 0..leading {
        let (wanted, got) = (input.shape()[axis], pooled.shape()[axis]);
        if got != wanted {
            return Err(Error::SizesDiffer { argument: pooled_argument, axis, got, other: input_argument, wanted });
        }
    }
    if let Some((argument, indices)) = tensors.indices {
        let sizes = indices.shape().iter().zip(pooled.shape().iter()).enumerate();
        if let Some((axis, (&got, &wanted))) = sizes.into_iter().find(|(_, (got, wanted))| got != wanted) {
            return Err(Error::SizesDiffer { argument, axis, got, other: pooled_argument, wanted });
        }
    }
    let index_dtype = tensors.indices.map_or(DType::I64, |(_, desc)| desc.dtype);
    let volume: i64 = input.shape()[leading..].iter().product();
    if index_dtype == DType::I32 && volume > i64::from(i32::MAX) {
        return Err(Error::VolumeTooLarge { volume, dtype: index_dtype });
    }
    for (argument, desc) in operands.outputs().into_iter().flatten() {
        if desc.layout.overlaps_itself() {
            return Err(Error::Overlap { argument, layout: Box::new(desc.layout) });
        }
    }
    let [n, c] = leading_sizes(&input.layout, leading, input_argument)?;
    let lifted = Lifted::new(&input.layout, n_spatial);
    let has_indices = tensors.indices.is_some();
    Ok(Checked { geometry: Geometry { n, c, axes }, n_spatial, dtype, lifted, index_dtype, has_indices })
}

/// The shape of the output that a pooling makes of an input.
pub(crate) fn output_shape(spec: &Spec, input_shape: &Sizes) -> Result<Sizes, Error> {
    let n_spatial = check_dimensionality(spec)?;
    check_rank(Argument::Input, input_shape.len(), n_spatial)?;
    // Negative sizes and overflowing products are refused before anything is computed from them.
    Layout::contiguous(*input_shape).map_err(|problem| problem.of(Argument::Input))?;
    let axes = windows(spec, input_shape, Argument::Input)?;
    let leading = input_shape.len() - n_spatial;
    let spatial = axes[3 - n_spatial..].iter().map(|axis| axis.output() as i64);
    Ok(Sizes::collect(input_shape[..leading].iter().copied().chain(spatial)))
}

/// The tensors of a call by the part they play in the size equations, whichever direction it goes.
struct Tensors<'a> {
    /// The tensor with the output's sizes: `output` or `grad_output`.
    pooled: (Argument, &'a TensorDesc),
    /// The tensor with the input's sizes: `input` or `grad_input`.
    input: (Argument, &'a TensorDesc),
    indices: Option<(Argument, &'a TensorDesc)>,
    direction: Direction,
}

impl<'a> Tensors<'a> {
    fn new(spec: &Spec, operands: &'a Operands<TensorDesc>) -> Result<Self, Error> {
        use Argument::{GradInput, GradOutput, Indices, Input, Output};
        let direction = spec.direction;
        let is_max = !matches!(spec.pool, Pool::AdaptiveAvg(_));
        match operands {
            Operands::Pool { input, output } if direction == Direction::Forward => {
                Ok(Self { pooled: (Output, output), input: (Input, input), indices: None, direction })
            }
            Operands::PoolWithIndices { input, output, indices } if direction == Direction::Forward && is_max => {
                let indices = Some((Indices, indices));
                Ok(Self { pooled: (Output, output), input: (Input, input), indices, direction })
            }
            Operands::Spread { grad_output, grad_input } if direction == Direction::Gradient && !is_max => {
                let (pooled, input) = ((GradOutput, grad_output), (GradInput, grad_input));
                Ok(Self { pooled, input, indices: None, direction })
            }
            Operands::Scatter { grad_output, indices, grad_input }
                if direction == Direction::Gradient && is_max =>
            {
                let (pooled, input) = ((GradOutput, grad_output), (GradInput, grad_input));
                Ok(Self { pooled, input, indices: Some((Indices, indices)), direction })
            }
            other => {
                let wanted = match (direction, is_max) {
                    (Direction::Forward, true) => "max pooling takes input and output, and possibly indices",
                    (Direction::Forward, false) => "average pooling takes input and output",
                    (Direction::Gradient, true) => {
                        "the gradient of max pooling takes grad_output, indices and grad_input"
                    }
                    (Direction::Gradient, false) => {
                        "the gradient of average pooling takes grad_output and grad_input"
                    }
                };
                Err(Error::WrongOperands { wanted, got: other.names() })
            }
        }
    }

    /// The tensor that the caller fills: the others have to agree with it.
    fn first(&self) -> (Argument, &'a TensorDesc) {
        match self.direction {
            Direction::Forward => self.input,
            Direction::Gradient => self.pooled,
        }
    }
}

fn check_dimensionality(spec: &Spec) -> Result<usize, Error> {
    match spec.n_spatial() {
        n_spatial @ 1..=3 => Ok(n_spatial),
        got => Err(Error::WrongDimensionality { got }),
    }
}

fn check_dtypes(tensors: &Tensors<'_>) -> Result<DType, Error> {
    let (first, desc) = tensors.first();
    if !desc.dtype.is_float() {
        return Err(Error::WrongDType { argument: first, wanted: &DType::FLOATS, got: desc.dtype });
    }
    for (argument, other) in [tensors.pooled, tensors.input] {
        if other.dtype != desc.dtype {
            return Err(Error::DTypesDiffer { argument, got: other.dtype, other: first, wanted: desc.dtype });
        }
    }
    match tensors.indices {
        Some((argument, indices)) if indices.dtype.is_float() => {
            Err(Error::WrongDType { argument, wanted: &DType::INDICES, got: indices.dtype })
        }
        _ => Ok(desc.dtype),
    }
}

fn check_rank(argument: Argument, got: usize, n_spatial: usize) -> Result<(), Error> {
    let wanted = n_spatial + 1;
    if got == wanted || got == wanted + 1 { Ok(()) } else { Err(Error::WrongRank { argument, wanted, got }) }
}

/// N and C, as sizes of this machine.
fn leading_sizes(layout: &Layout, leading: usize, argument: Argument) -> Result<[usize; 2], Error> {
    let size = |axis: usize| {
        let got = layout.shape()[axis];
        usize::try_from(got).map_err(|_| Error::TooLarge { argument, axis, most: LARGEST, got })
    };
    Ok(if leading == 2 { [size(0)?, size(1)?] } else { [1, size(0)?] })
}

/// The windows along D, H and W of an input of shape `shape`; axes that it lacks have one window of one element.
fn windows(spec: &Spec, shape: &Sizes, argument: Argument) -> Result<[AxisWindows; 3], Error> {
    let n_spatial = spec.n_spatial();
    let leading = shape.len() - n_spatial;
    let parameters = Parameters::new(spec)?;
    if let Some(axis) = (leading..shape.len()).find(|&axis| shape[axis] == 0) {
        return Err(Error::EmptyAxis { argument, axis });
    }
    let mut axes = [AxisWindows::adaptive(1, 1); 3];
    for (i, windows) in axes[3 - n_spatial..].iter_mut().enumerate() {
        let (axis, got) = (leading + i, shape[leading + i]);
        let too_large = Error::TooLarge { argument, axis, most: LARGEST.min(isize::MAX as i64), got };
        let input = usize::try_from(got).ok().filter(|_| got <= LARGEST).ok_or(too_large)?;
        *windows = match &parameters {
            Parameters::Adaptive { output_size } => AxisWindows::adaptive(input, output_size[i] as usize),
            Parameters::Fixed { taps, ceil_mode } => fixed_windows(i, input, taps[i], *ceil_mode)?,
        };
    }
    Ok(axes)
}

/// The parameters of a pooling with one value for each spatial axis, each in its range.
enum Parameters {
    Fixed { taps: [FixedTaps; 3], ceil_mode: bool },
    Adaptive { output_size: [i64; 3] },
}

impl Parameters {
    fn new(spec: &Spec) -> Result<Self, Error> {
        let n_spatial = spec.n_spatial();
        match &spec.pool {
            Pool::AdaptiveMax(crate::spec::AdaptiveMaxPool { output_size, .. })
            | Pool::AdaptiveAvg(crate::spec::AdaptiveAvgPool { output_size, .. }) => {
                let output_size = per_axis(Argument::OutputSize, output_size, n_spatial)?;
                in_range(Argument::OutputSize, &output_size[..n_spatial], 1)?;
                Ok(Self::Adaptive { output_size })
            }
            Pool::Max(pool) => {
                let kernel_size = per_axis(Argument::KernelSize, &pool.kernel_size, n_spatial)?;
                let stride = if pool.stride.is_empty() {
                    kernel_size
                } else {
                    per_axis(Argument::Stride, &pool.stride, n_spatial)?
                };
                let padding = per_axis(Argument::Padding, &pool.padding, n_spatial)?;
                let dilation = per_axis(Argument::Dilation, &pool.dilation, n_spatial)?;
                in_range(Argument::KernelSize, &kernel_size[..n_spatial], 1)?;
                in_range(Argument::Stride, &stride[..n_spatial], 1)?;
                in_range(Argument::Padding, &padding[..n_spatial], 0)?;
                for axis in 0..n_spatial {
                    let (most, got) = (kernel_size[axis] / 2, padding[axis]);
                    if got > most {
                        return Err(Error::PaddingTooLarge { axis, most, got });
                    }
                }
                in_range(Argument::Dilation, &dilation[..n_spatial], 1)?;
                let taps = std::array::from_fn(|axis| FixedTaps {
                    kernel_size: kernel_size[axis],
                    stride: stride[axis],
                    padding: padding[axis],
                    dilation: dilation[axis],
                });
                Ok(Self::Fixed { taps, ceil_mode: pool.ceil_mode })
            }
        }
    }
}

/// One value for each of `n_spatial` axes, from a list with that many values or a single one.
fn per_axis(argument: Argument, list: &Sizes, n_spatial: usize) -> Result<[i64; 3], Error> {
    match list.len() {
        1 => Ok([list[0]; 3]),
        len if len == n_spatial => Ok(std::array::from_fn(|axis| list.get(axis).copied().unwrap_or(1))),
        got => Err(Error::WrongLength { argument, wanted: n_spatial, got }),
    }
}

fn in_range(argument: Argument, values: &[i64], least: i64) -> Result<(), Error> {
    for (axis, &got) in values.iter().enumerate() {
        if got < least {
            return Err(Error::TooSmall { argument, axis, least, got });
        }
        if got > LARGEST {
            return Err(Error::TooLarge { argument, axis, most: LARGEST, got });
        }
    }
    Ok(())
}

/// The fixed windows along one axis: their number by the contract's formula, and that each has an element.
fn fixed_windows(axis: usize, input: usize, taps: FixedTaps, ceil_mode: bool) -> Result<AxisWindows, Error> {
    let FixedTaps { kernel_size, stride, padding, dilation } = taps;
    let padded = input as i64 + 2 * padding;
    // The only product: a window cannot extend over more than the padded input and, in ceil mode, one stride.
    let extent = dilation.checked_mul(kernel_size - 1).and_then(|reach| reach.checked_add(1)).unwrap_or(i64::MAX);
    let no_window = Error::NoWindow { axis, padded, extent };
    if extent > padded + stride {
        return Err(no_window);
    }
    let room = padded - extent;
    let mut output =
        if ceil_mode { (room + stride - 1).div_euclid(stride) + 1 } else { room.div_euclid(stride) + 1 };
    // The last window must start inside the input or its left padding.
    if ceil_mode && (output - 1) * stride >= input as i64 + padding {
        output -= 1;
    }
    if output < 1 {
        return Err(no_window);
    }
    let output_len = usize::try_from(output).map_err(|_| no_window)?;
    // A dilated window that starts in the padding can step over a short input. Windows that start inside the input
    // have their first tap there, so only the first few need to be looked at.
    if input as i64 >= dilation {
        return Ok(AxisWindows::fixed((input, output_len), taps));
    }
    for o in (0..output).take_while(|o| o * stride < padding) {
        if (o * stride - padding).rem_euclid(dilation) >= input as i64 {
            return Err(Error::EmptyWindow { axis, output: o });
        }
    }
    Ok(AxisWindows::fixed((input, output_len), taps))
}
