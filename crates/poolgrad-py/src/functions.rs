//! The functions of `poolgrad._core`: each reads its arguments, names the operation and makes the call.
#![allow(clippy::too_many_arguments, reason = "Python has keywords, and PyTorch's functions have these parameters")]

use poolgrad::{AdaptiveAvgPool, AdaptiveMaxPool, Argument, Direction, MaxPool, Sizes};
use pyo3::prelude::*;

use crate::arguments::{n_spatial as axis_count, sizes, threads as thread_limit};
use crate::call::{Tensors, call};
use crate::tensor::{Access, Request};

type Any<'a, 'py> = &'a Bound<'py, PyAny>;

/// A max pooling over as many axes as `kernel_size` has numbers.
fn max([kernel_size, stride, padding, dilation]: [Any<'_, '_>; 4], ceil_mode: bool) -> PyResult<MaxPool> {
    let kernel_size = sizes(kernel_size, Argument::KernelSize)?;
    let stride = if stride.is_none() { Sizes::default() } else { sizes(stride, Argument::Stride)? };
    Ok(MaxPool::new(kernel_size.len(), kernel_size)
        .stride(stride)
        .padding(sizes(padding, Argument::Padding)?)
        .dilation(sizes(dilation, Argument::Dilation)?)
        .ceil_mode(ceil_mode))
}

/// The tensors of a forward pass.
fn pooled<'a, 'py>(
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
fn scattered<'a, 'py>(
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
fn spread<'a, 'py>(grad_output: Any<'a, 'py>, grad_input: Any<'a, 'py>) -> PyResult<Tensors<'a, 'py>> {
    let grad_output = Request::new(grad_output, Argument::GradOutput, Access::Read)?;
    let grad_input = Request::new(grad_input, Argument::GradInput, Access::Write)?;
    Ok(Tensors::Spread { grad_output: grad_output.read()?, grad_input: grad_input.read()? })
}

/// The spatial sizes of a gradient's `grad_output`, which are the output size of an adaptive pooling.
fn output_size(tensors: &Tensors<'_, '_>, n_spatial: usize) -> Sizes {
    let shape = match tensors {
        Tensors::Spread { grad_output, .. } | Tensors::Scatter { grad_output, .. } => *grad_output.desc().shape(),
        Tensors::Pool { output, .. } | Tensors::PoolWithIndices { output, .. } => *output.desc().shape(),
    };
    // A tensor with too few axes is the core's to refuse.
    Sizes::try_from(&shape[shape.len().saturating_sub(n_spatial)..]).unwrap_or_default()
}

/// Writes the maxima of `input` into `output` and, unless it is None, their places into `indices`.
#[pyfunction]
#[pyo3(signature = (input, output, indices, kernel_size, stride, padding, dilation, ceil_mode, threads = None))]
pub(crate) fn max_pool<'py>(
    py: Python<'py>,
    input: Any<'_, 'py>,
    output: Any<'_, 'py>,
    indices: Option<Any<'_, 'py>>,
    kernel_size: Any<'_, 'py>,
    stride: Any<'_, 'py>,
    padding: Any<'_, 'py>,
    dilation: Any<'_, 'py>,
    ceil_mode: bool,
    threads: Option<Any<'_, 'py>>,
) -> PyResult<()> {
    let spec = max([kernel_size, stride, padding, dilation], ceil_mode)?.spec(Direction::Forward);
    call(py, &spec, pooled(input, output, indices)?, thread_limit(threads)?)
}

/// Adds each of `grad_output` where its index points, into `grad_input`.
#[pyfunction]
#[pyo3(signature = (grad_output, indices, grad_input, kernel_size, stride, padding, dilation, ceil_mode, threads = None))]
pub(crate) fn max_pool_backward<'py>(
    py: Python<'py>,
    grad_output: Any<'_, 'py>,
    indices: Any<'_, 'py>,
    grad_input: Any<'_, 'py>,
    kernel_size: Any<'_, 'py>,
    stride: Any<'_, 'py>,
    padding: Any<'_, 'py>,
    dilation: Any<'_, 'py>,
    ceil_mode: bool,
    threads: Option<Any<'_, 'py>>,
) -> PyResult<()> {
    let spec = max([kernel_size, stride, padding, dilation], ceil_mode)?.spec(Direction::Gradient);
    call(py, &spec, scattered(grad_output, indices, grad_input)?, thread_limit(threads)?)
}

/// Writes the maxima of `input` into `output` and, unless it is None, their places into `indices`.
#[pyfunction]
#[pyo3(signature = (input, output, indices, output_size, threads = None))]
pub(crate) fn adaptive_max_pool<'py>(
    py: Python<'py>,
    input: Any<'_, 'py>,
    output: Any<'_, 'py>,
    indices: Option<Any<'_, 'py>>,
    output_size: Any<'_, 'py>,
    threads: Option<Any<'_, 'py>>,
) -> PyResult<()> {
    let output_size = sizes(output_size, Argument::OutputSize)?;
    let spec = AdaptiveMaxPool::new(output_size.len(), output_size).spec(Direction::Forward);
    call(py, &spec, pooled(input, output, indices)?, thread_limit(threads)?)
}

/// Adds each of `grad_output` where its index points, into `grad_input`; the last `n_spatial` axes are pooled.
#[pyfunction]
#[pyo3(signature = (grad_output, indices, grad_input, n_spatial, threads = None))]
pub(crate) fn adaptive_max_pool_backward<'py>(
    py: Python<'py>,
    grad_output: Any<'_, 'py>,
    indices: Any<'_, 'py>,
    grad_input: Any<'_, 'py>,
    n_spatial: Any<'_, 'py>,
    threads: Option<Any<'_, 'py>>,
) -> PyResult<()> {
    let n_spatial = axis_count(n_spatial)?;
    let tensors = scattered(grad_output, indices, grad_input)?;
    let spec = AdaptiveMaxPool::new(n_spatial, output_size(&tensors, n_spatial)).spec(Direction::Gradient);
    call(py, &spec, tensors, thread_limit(threads)?)
}

/// Writes the means of the windows of `input` into `output`.
#[pyfunction]
#[pyo3(signature = (input, output, output_size, threads = None))]
pub(crate) fn adaptive_avg_pool<'py>(
    py: Python<'py>,
    input: Any<'_, 'py>,
    output: Any<'_, 'py>,
    output_size: Any<'_, 'py>,
    threads: Option<Any<'_, 'py>>,
) -> PyResult<()> {
    let output_size = sizes(output_size, Argument::OutputSize)?;
    let spec = AdaptiveAvgPool::new(output_size.len(), output_size).spec(Direction::Forward);
    call(py, &spec, pooled(input, output, None)?, thread_limit(threads)?)
}

/// Shares each of `grad_output` among its window in `grad_input`; the last `n_spatial` axes are pooled.
#[pyfunction]
#[pyo3(signature = (grad_output, grad_input, n_spatial, threads = None))]
pub(crate) fn adaptive_avg_pool_backward<'py>(
    py: Python<'py>,
    grad_output: Any<'_, 'py>,
    grad_input: Any<'_, 'py>,
    n_spatial: Any<'_, 'py>,
    threads: Option<Any<'_, 'py>>,
) -> PyResult<()> {
    let n_spatial = axis_count(n_spatial)?;
    let tensors = spread(grad_output, grad_input)?;
    let spec = AdaptiveAvgPool::new(n_spatial, output_size(&tensors, n_spatial)).spec(Direction::Gradient);
    call(py, &spec, tensors, thread_limit(threads)?)
}
