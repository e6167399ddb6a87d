//! What can be known before anything is computed: the shapes of outputs, what a tensor is, and what the library is.

use poolgrad::{AdaptiveAvgPool, Argument, Direction, Isa, Operands, PlanOptions, Sizes, Spec, TensorDesc};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::arguments::sizes;
use crate::error::{exception, name};
use crate::operands::{Any, max};
use crate::tensor::{Access, Request};

/// The shape that `spec` makes of a tensor of shape `input_shape`.
fn output_shape<'py>(spec: &Spec, input_shape: Any<'_, 'py>) -> PyResult<Bound<'py, PyTuple>> {
    let shape = spec
        .output_shape(sizes(input_shape, Argument::Input)?)
        .map_err(|error| exception(&error, Direction::Forward))?;
    PyTuple::new(input_shape.py(), shape.iter())
}

/// The shape of the output of a max pooling over an input of shape `input_shape`.
#[pyfunction]
pub(crate) fn max_pool_shape<'py>(
    input_shape: Any<'_, 'py>,
    kernel_size: Any<'_, 'py>,
    stride: Option<Any<'_, 'py>>,
    padding: Any<'_, 'py>,
    dilation: Any<'_, 'py>,
    ceil_mode: bool,
) -> PyResult<Bound<'py, PyTuple>> {
    let spec = max(kernel_size, [stride, Some(padding), Some(dilation)], ceil_mode)?.spec(Direction::Forward);
    output_shape(&spec, input_shape)
}

/// The shape of the output of an adaptive pooling over an input of shape `input_shape`.
#[pyfunction]
pub(crate) fn adaptive_pool_shape<'py>(
    input_shape: Any<'_, 'py>,
    output_size: Any<'_, 'py>,
) -> PyResult<Bound<'py, PyTuple>> {
    let wanted = sizes(output_size, Argument::OutputSize)?;
    output_shape(&AdaptiveAvgPool::new(wanted.len(), wanted).spec(Direction::Forward), input_shape)
}

/// The shape, the strides in elements, and the name of the element type of an array.
#[pyfunction]
pub(crate) fn describe<'py>(
    array: Any<'_, 'py>,
) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyTuple>, &'static str)> {
    let tensor = Request::new(array, Argument::Input, Access::Read)?.read()?;
    let TensorDesc { dtype, layout } = *tensor.desc();
    let py = array.py();
    Ok((PyTuple::new(py, layout.shape().iter())?, PyTuple::new(py, layout.strides().iter())?, name(dtype)))
}

/// The library's version, the instruction set level it runs on, those it could, and its number of threads.
#[pyfunction]
pub(crate) fn info(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let info = PyDict::new(py);
    info.set_item("version", env!("CARGO_PKG_VERSION"))?;
    info.set_item("isa", Isa::best().name())?;
    let levels: Vec<_> = Isa::available().into_iter().map(Isa::name).collect();
    info.set_item("isa_levels", levels)?;
    info.set_item("threads", n_threads().map_err(|error| exception(&error, Direction::Forward))?)?;
    Ok(info)
}

/// The threads that work on a large problem, which is asked of the plan of one: what limits them is the core's to know.
fn n_threads() -> Result<usize, poolgrad::Error> {
    let spec = AdaptiveAvgPool::new_3d(64).spec(Direction::Forward);
    let desc = TensorDesc::contiguous(poolgrad::DType::F32, Sizes::from([4096, 64, 64, 64]))?;
    let plan = crate::call::plan(&spec, &Operands::Pool { input: desc, output: desc }, 0, &PlanOptions::default())?;
    Ok(plan.explain().threads)
}
