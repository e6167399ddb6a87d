//! The functions that compute: each reads its parameters, names the operation and makes the call.
//!
//! Parameters are read before arrays, without exception: a number's `__index__` is Python code, and could take the memory
//! of an array that was read before it.
#![allow(clippy::too_many_arguments, reason = "Python has keywords, and PyTorch's functions have these parameters")]

use poolgrad::{AdaptiveAvgPool, AdaptiveMaxPool, Argument, Direction};
use pyo3::prelude::*;

use crate::arguments::{n_spatial as axis_count, sizes, threads as thread_limit};
use crate::call::call;
use crate::operands::{Any, max, output_size, pooled, scattered, spread};

/// Writes the maxima of `input` into `out` and, unless it is None, their places into `indices_out`.
#[pyfunction]
#[pyo3(signature = (input, out, indices_out, kernel_size, stride, padding, dilation, ceil_mode, threads = None))]
pub(crate) fn max_pool<'py>(
    py: Python<'py>,
    input: Any<'_, 'py>,
    out: Any<'_, 'py>,
    indices_out: Option<Any<'_, 'py>>,
    kernel_size: Any<'_, 'py>,
    stride: Option<Any<'_, 'py>>,
    padding: Any<'_, 'py>,
    dilation: Any<'_, 'py>,
    ceil_mode: bool,
    threads: Option<Any<'_, 'py>>,
) -> PyResult<()> {
    let threads = thread_limit(threads)?;
    let spec = max(kernel_size, [stride, Some(padding), Some(dilation)], ceil_mode)?.spec(Direction::Forward);
    call(py, &spec, pooled(input, out, indices_out)?, threads)
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
    stride: Option<Any<'_, 'py>>,
    padding: Any<'_, 'py>,
    dilation: Any<'_, 'py>,
    ceil_mode: bool,
    threads: Option<Any<'_, 'py>>,
) -> PyResult<()> {
    let threads = thread_limit(threads)?;
    let spec = max(kernel_size, [stride, Some(padding), Some(dilation)], ceil_mode)?.spec(Direction::Gradient);
    call(py, &spec, scattered(grad_output, indices, grad_input)?, threads)
}

/// Writes the maxima of `input` into `out` and, unless it is None, their places into `indices_out`.
#[pyfunction]
#[pyo3(signature = (input, out, indices_out, output_size, threads = None))]
pub(crate) fn adaptive_max_pool<'py>(
    py: Python<'py>,
    input: Any<'_, 'py>,
    out: Any<'_, 'py>,
    indices_out: Option<Any<'_, 'py>>,
    output_size: Any<'_, 'py>,
    threads: Option<Any<'_, 'py>>,
) -> PyResult<()> {
    let threads = thread_limit(threads)?;
    let wanted = sizes(output_size, Argument::OutputSize)?;
    let spec = AdaptiveMaxPool::new(wanted.len(), wanted).spec(Direction::Forward);
    call(py, &spec, pooled(input, out, indices_out)?, threads)
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
    let threads = thread_limit(threads)?;
    let n_spatial = axis_count(n_spatial)?;
    let tensors = scattered(grad_output, indices, grad_input)?;
    let spec = AdaptiveMaxPool::new(n_spatial, output_size(&tensors, n_spatial)).spec(Direction::Gradient);
    call(py, &spec, tensors, threads)
}

/// Writes the means of the windows of `input` into `out`.
#[pyfunction]
#[pyo3(signature = (input, out, output_size, threads = None))]
pub(crate) fn adaptive_avg_pool<'py>(
    py: Python<'py>,
    input: Any<'_, 'py>,
    out: Any<'_, 'py>,
    output_size: Any<'_, 'py>,
    threads: Option<Any<'_, 'py>>,
) -> PyResult<()> {
    let threads = thread_limit(threads)?;
    let wanted = sizes(output_size, Argument::OutputSize)?;
    let spec = AdaptiveAvgPool::new(wanted.len(), wanted).spec(Direction::Forward);
    call(py, &spec, pooled(input, out, None)?, threads)
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
    let threads = thread_limit(threads)?;
    let n_spatial = axis_count(n_spatial)?;
    let tensors = spread(grad_output, grad_input)?;
    let spec = AdaptiveAvgPool::new(n_spatial, output_size(&tensors, n_spatial)).spec(Direction::Gradient);
    call(py, &spec, tensors, threads)
}
