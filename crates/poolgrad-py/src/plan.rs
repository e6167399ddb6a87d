//! `poolgrad.Plan`: an operation that is checked and chosen once, and run as often as one likes.

use poolgrad::{AdaptiveAvgPool, AdaptiveMaxPool, Argument, BadIndices, Direction, Isa, PlanOptions, Spec};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::arguments::{n_spatial as axis_count, sizes, threads as thread_limit};
use crate::call::{self, Tensors};
use crate::error::exception;
use crate::operands::{Any, max, output_size as size_of_output, pooled, scattered, spread};

/// An operation that is checked and chosen once, and run as often as one likes.
///
/// Made by `poolgrad.plan`. It holds no array, and any thread may run it.
#[pyclass(frozen, module = "poolgrad")]
pub(crate) struct Plan {
    plan: poolgrad::Plan,
    spec: Spec,
    operation: Operation,
}

/// The operations, by the names of their functions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    MaxPool,
    MaxPoolBackward,
    AdaptiveMaxPool,
    AdaptiveMaxPoolBackward,
    AdaptiveAvgPool,
    AdaptiveAvgPoolBackward,
}

impl Operation {
    const ALL: [Self; 6] = [
        Self::MaxPool,
        Self::MaxPoolBackward,
        Self::AdaptiveMaxPool,
        Self::AdaptiveMaxPoolBackward,
        Self::AdaptiveAvgPool,
        Self::AdaptiveAvgPoolBackward,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::MaxPool => "max_pool",
            Self::MaxPoolBackward => "max_pool_backward",
            Self::AdaptiveMaxPool => "adaptive_max_pool",
            Self::AdaptiveMaxPoolBackward => "adaptive_max_pool_backward",
            Self::AdaptiveAvgPool => "adaptive_avg_pool",
            Self::AdaptiveAvgPoolBackward => "adaptive_avg_pool_backward",
        }
    }

    fn from_name(name: &str) -> PyResult<Self> {
        Self::ALL.into_iter().find(|operation| operation.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            PyValueError::new_err(format!("operation must be one of {names}, got {name:?}"))
        })
    }

    /// The arrays that the operation takes, by the part they play.
    fn tensors<'a, 'py>(self, arrays: &'a [Bound<'py, PyAny>]) -> PyResult<Tensors<'a, 'py>> {
        match (self, arrays) {
            (Self::MaxPool | Self::AdaptiveMaxPool | Self::AdaptiveAvgPool, [input, output]) => {
                pooled(input, output, None)
            }
            (Self::MaxPool | Self::AdaptiveMaxPool, [input, output, indices]) => {
                pooled(input, output, Some(indices))
            }
            (Self::MaxPoolBackward | Self::AdaptiveMaxPoolBackward, [grad_output, indices, grad_input]) => {
                scattered(grad_output, indices, grad_input)
            }
            (Self::AdaptiveAvgPoolBackward, [grad_output, grad_input]) => spread(grad_output, grad_input),
            _ => {
                let wanted = match self {
                    Self::MaxPool | Self::AdaptiveMaxPool => "input, out and, if wanted, indices_out",
                    Self::MaxPoolBackward | Self::AdaptiveMaxPoolBackward => "grad_output, indices and grad_input",
                    Self::AdaptiveAvgPool => "input and out",
                    Self::AdaptiveAvgPoolBackward => "grad_output and grad_input",
                };
                let (name, got) = (self.name(), arrays.len());
                Err(PyTypeError::new_err(format!("{name} takes {wanted}, got {got} arrays")))
            }
        }
    }
}

/// Plans an operation on arrays like these, of which only element types, shapes and strides count.
///
/// A plan checks everything once, chooses a kernel and books its scratch memory; running it only compares the arrays with
/// those planned for. The functions of this package remember their plans by themselves, so a plan of one's own serves to
/// see what was chosen, and to choose otherwise. No choice but that of `bad_indices` changes a bit of the result.
///
/// Args:
///     operation: what is computed, which decides what `arrays` and parameters are:
///         "max_pool": input, out and, if wanted, indices_out; kernel_size, stride, padding, dilation, ceil_mode;
///         "max_pool_backward": grad_output, indices, grad_input; the same parameters;
///         "adaptive_max_pool": input, out and, if wanted, indices_out; output_size;
///         "adaptive_max_pool_backward": grad_output, indices, grad_input; n_spatial;
///         "adaptive_avg_pool": input, out; output_size;
///         "adaptive_avg_pool_backward": grad_output, grad_input; n_spatial.
///     kernel_size, output_size: a tuple with a number for each spatial axis.
///     n_spatial: the number of spatial axes, 1, 2 or 3, which a gradient's arrays do not tell by themselves.
///     threads: the most threads; 0 or None leaves it to the library.
///     isa: the instruction set level, one of `poolgrad.info()["isa_levels"]`.
///     kernel: the kernel by its name; a wrong name is an error that lists them.
///     bad_indices: "refuse", or "drop" to leave out the gradient of an index that points outside its volume.
///
/// Raises:
///     TypeError, ValueError: as the function of the operation, and for a name that is none.
///
/// Examples:
///     >>> import numpy as np, poolgrad
///     >>> grad_output, grad_input = np.ones((1, 2, 1, 1)), np.empty((1, 2, 2, 2))
///     >>> plan = poolgrad.plan("adaptive_avg_pool_backward", grad_output, grad_input, n_spatial=2)
///     >>> plan.kernel, plan.threads
///     ('spread:rows', 1)
///     >>> plan.run(grad_output, grad_input)
///     >>> grad_input.ravel()
///     array([0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25])
#[pyfunction]
#[pyo3(signature = (
    operation, *arrays, kernel_size = None, stride = None, padding = None, dilation = None, ceil_mode = false,
    output_size = None, n_spatial = None, threads = None, isa = None, kernel = None, bad_indices = "refuse",
))]
#[expect(
    clippy::too_many_arguments,
    reason = "all but the first two are keywords, each for some of the operations"
)]
pub(crate) fn plan(
    operation: &str,
    arrays: &Bound<'_, PyTuple>,
    kernel_size: Option<Any<'_, '_>>,
    stride: Option<Any<'_, '_>>,
    padding: Option<Any<'_, '_>>,
    dilation: Option<Any<'_, '_>>,
    ceil_mode: bool,
    output_size: Option<Any<'_, '_>>,
    n_spatial: Option<Any<'_, '_>>,
    threads: Option<Any<'_, '_>>,
    isa: Option<&str>,
    kernel: Option<&str>,
    bad_indices: &str,
) -> PyResult<Plan> {
    let operation = Operation::from_name(operation)?;
    let mut options = PlanOptions::default();
    if let Some(name) = isa {
        options = options.isa(Isa::from_name(name).ok_or_else(|| {
            let levels = Isa::available().into_iter().map(Isa::name).collect::<Vec<_>>().join(", ");
            PyValueError::new_err(format!("isa must be one of {levels}, got {name:?}"))
        })?);
    }
    if let Some(name) = kernel {
        options = options.kernel(name);
    }
    options = options.bad_indices(match bad_indices {
        "refuse" => BadIndices::Refuse,
        "drop" => BadIndices::Drop,
        _ => {
            let message = format!("bad_indices must be \"refuse\" or \"drop\", got {bad_indices:?}");
            return Err(PyValueError::new_err(message));
        }
    });
    let missing = |name: &str| PyTypeError::new_err(format!("{} needs {name}", operation.name()));
    let arrays: Vec<_> = arrays.iter().collect();
    let threads = thread_limit(threads)?;
    let spec = |tensors: &Tensors<'_, '_>| -> PyResult<Spec> {
        let n_axes = || axis_count(n_spatial.ok_or_else(|| missing("n_spatial"))?);
        let wanted = || sizes(output_size.ok_or_else(|| missing("output_size"))?, Argument::OutputSize);
        let max = |direction| -> PyResult<Spec> {
            let kernel_size = kernel_size.ok_or_else(|| missing("kernel_size"))?;
            Ok(max(kernel_size, [stride, padding, dilation], ceil_mode)?.spec(direction))
        };
        Ok(match operation {
            Operation::MaxPool => max(Direction::Forward)?,
            Operation::MaxPoolBackward => max(Direction::Gradient)?,
            Operation::AdaptiveMaxPool => {
                let wanted = wanted()?;
                AdaptiveMaxPool::new(wanted.len(), wanted).spec(Direction::Forward)
            }
            Operation::AdaptiveAvgPool => {
                let wanted = wanted()?;
                AdaptiveAvgPool::new(wanted.len(), wanted).spec(Direction::Forward)
            }
            Operation::AdaptiveMaxPoolBackward => {
                let n_axes = n_axes()?;
                AdaptiveMaxPool::new(n_axes, size_of_output(tensors, n_axes)).spec(Direction::Gradient)
            }
            Operation::AdaptiveAvgPoolBackward => {
                let n_axes = n_axes()?;
                AdaptiveAvgPool::new(n_axes, size_of_output(tensors, n_axes)).spec(Direction::Gradient)
            }
        })
    };
    let tensors = operation.tensors(&arrays)?;
    let spec = spec(&tensors)?;
    let plan = call::plan(&spec, &tensors.descs(), threads, &options)
        .map_err(|error| exception(&error, spec.direction))?;
    Ok(Plan { plan, spec, operation })
}

#[pymethods]
impl Plan {
    /// Runs the operation on these arrays, which must have the element types, shapes and strides planned for.
    #[pyo3(signature = (*arrays))]
    fn run(&self, py: Python<'_>, arrays: &Bound<'_, PyTuple>) -> PyResult<()> {
        let arrays: Vec<_> = arrays.iter().collect();
        call::run(py, &self.spec, &self.plan, self.operation.tensors(&arrays)?)
    }

    /// All that was chosen, on one line.
    fn explain(&self) -> String {
        self.plan.explain().to_string()
    }

    /// The operation, as `plan` was asked for it.
    #[getter]
    fn operation(&self) -> &'static str {
        self.operation.name()
    }

    /// The kernel's name.
    #[getter]
    fn kernel(&self) -> &'static str {
        self.plan.explain().kernel
    }

    /// The instruction set level that the kernel runs on.
    #[getter]
    fn isa(&self) -> &'static str {
        self.plan.explain().isa.name()
    }

    /// The number of threads that take part.
    #[getter]
    fn threads(&self) -> usize {
        self.plan.explain().threads
    }

    /// The number of tiles that the output is cut into.
    #[getter]
    fn tiles(&self) -> usize {
        self.plan.explain().tiles
    }

    /// The bytes of scratch memory that a run takes.
    #[getter]
    fn workspace_bytes(&self) -> usize {
        self.plan.workspace_bytes()
    }

    fn __repr__(&self) -> String {
        format!("<poolgrad.Plan {}>", self.plan.explain())
    }
}
