//! What Python passes as what a call takes: parameters as a pooling, objects as tensors by the part they play.

use poolgrad::{Argument, MaxPool, Sizes};
use pyo3::prelude::*;

use crate::arguments::sizes;
use crate::call::Tensors;
use crate::tensor::{Access, Request};

pub(crate) type Any<'a, 'py> = &'a Bound<'py, PyAny>;

/// A max pooling over as many axes as `kernel_size` has numbers.
pub(crate) fn max(
    kernel_size: Any<'_, '_>,
    [stride, padding, dilation]: [Option<Any<'_, '_>>; 3],
    ceil_mode: bool,
) -> PyResult<MaxPool> {
    let or =
        |value: Option<Any<'_, '_>>, argument, default| value.map_or(Ok(default), |value| sizes(value, argument));
    let kernel_size = sizes(kernel_size, Argument::KernelSize)?;
    Ok(MaxPool::new(kernel_size.len(), kernel_size)
        // No stride is that of windows that touch.
        .stride(or(stride, Argument::Stride, Sizes::default())?)
        .padding(or(padding, Argument::Padding, Sizes::from(0))?)
        .dilation(or(dilation, Argument::Dilation, Sizes::from(1))?)
        .ceil_mode(ceil_mode))
}

/// The tensors of a forward pass.
pub(crate) fn pooled<'a, 'py>(
    input: Any<'a, 'py>,
    output: Any<'a, 'py>,
    indices: Option<Any<'a, 'py>>,
) -> PyResult<Tensors<'a, 'py>> {
    let input = Request::new(input, Argument::Input, Access::Read)?;
    let output = Request::new(output, Argument::Output, Access::Write)?;
    let indices = indices.map(|indices| Request::new(indices, Argument::Indices, Access::Write)).transpose()?;
    let (input, output) = (input.read()?, output.read()?);
    Ok(match indices {
        Some(indices) => Tensors::PoolWithIndices { input, output, indices: indices.read()? },
        None => Tensors::Pool { input, output },
    })
}

/// The tensors of the gradient of a max pooling.
pub(crate) fn scattered<'a, 'py>(
    grad_output: Any<'a, 'py>,
    indices: Any<'a, 'py>,
    grad_input: Any<'a, 'py>,
) -> PyResult<Tensors<'a, 'py>> {
    let grad_output = Request::new(grad_output, Argument::GradOutput, Access::Read)?;
    let indices = Request::new(indices, Argument::Indices, Access::Read)?;
    let grad_input = Request::new(grad_input, Argument::GradInput, Access::Write)?;
    let (grad_output, indices) = (grad_output.read()?, indices.read()?);
    Ok(Tensors::Scatter { grad_output, indices, grad_input: grad_input.read()? })
}

/// The tensors of the gradient of an average pooling.
pub(crate) fn spread<'a, 'py>(grad_output: Any<'a, 'py>, grad_input: Any<'a, 'py>) -> PyResult<Tensors<'a, 'py>> {
    let grad_output = Request::new(grad_output, Argument::GradOutput, Access::Read)?;
    let grad_input = Request::new(grad_input, Argument::GradInput, Access::Write)?;
    Ok(Tensors::Spread { grad_output: grad_output.read()?, grad_input: grad_input.read()? })
}

/// The spatial sizes of a gradient's `grad_output`, which are the output size of an adaptive pooling.
pub(crate) fn output_size(tensors: &Tensors<'_, '_>, n_spatial: usize) -> Sizes {
    let shape = match tensors {
        Tensors::Spread { grad_output, .. } | Tensors::Scatter { grad_output, .. } => *grad_output.desc().shape(),
        Tensors::Pool { output, .. } | Tensors::PoolWithIndices { output, .. } => *output.desc().shape(),
    };
    // A tensor with too few axes is the core's to refuse.
    Sizes::try_from(&shape[shape.len().saturating_sub(n_spatial)..]).unwrap_or_default()
}
