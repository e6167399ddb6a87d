//! The arguments of operators, checked and turned into what the core plans: no pointers, no handles.
//!
//! Each operator has a function here. It makes the checks that the core cannot make, because they are CANN's alone
//! (`self` of a gradient, formats, element types by platform, lengths of lists), in the order of the contract; the
//! core makes the others when the request is planned. All of them give one code, so their order decides the message
//! and nothing else.

mod adaptive_avg;
mod adaptive_max;
mod checks;
mod max_pool;

pub(crate) use adaptive_avg::{adaptive_avg, adaptive_avg_grad};
pub(crate) use adaptive_max::{adaptive_max_2d, adaptive_max_2d_grad, adaptive_max_3d, adaptive_max_3d_grad};
pub(crate) use max_pool::{Parameters, max_with_argmax, max_with_argmax_grad};

use poolgrad::{Direction, Layout, Operands, Plan, PlanOptions, Sizes, Spec, TensorDesc};

use crate::codes;
use crate::fault::{Fault, Outcome};
use crate::objects::tensor::{DataType, View};
use crate::status::{self, Spelling};

/// A tensor argument: its name in the vendor's signature, and what it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arg<'a> {
    pub(crate) name: &'static str,
    pub(crate) view: &'a View,
}

/// A list argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListArg<'a> {
    pub(crate) name: &'static str,
    pub(crate) values: &'a [i64],
}

/// What an operator asks of the core.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) spec: Spec,
    /// The tensors it is about.
    pub(crate) operands: Operands<TensorDesc>,
    /// Whether an empty tensor leaves nothing to do, though the parameters still have to be right.
    pub(crate) is_empty: bool,
    pub(crate) spelling: Spelling,
}

impl Request {
    /// The plan; `None` if there is nothing to compute, nor to write.
    pub(crate) fn plan(&self, options: &PlanOptions) -> Outcome<Option<Box<Plan>>> {
        match Plan::with_options(&self.spec, &self.operands, options) {
            // In a box, since a plan is large and is handed on a few times.
            Ok(plan) => Ok((!self.is_empty && !self.has_no_plane()).then(|| Box::new(plan))),
            Err(error) if self.is_empty && !status::concerns_parameter(&error) => Ok(None),
            Err(error) => Err(status::fault(&error, self.spelling)),
        }
    }

    /// Whether the batch or the channels are empty, which the core takes: then tensors need no memory.
    fn has_no_plane(&self) -> bool {
        match &self.operands {
            Operands::Pool { input, .. } | Operands::PoolWithIndices { input, .. } => input.layout.is_empty(),
            Operands::Spread { grad_input, .. } | Operands::Scatter { grad_input, .. } => {
                grad_input.layout.is_empty()
            }
            _ => false,
        }
    }
}

/// An argument that cannot be as it is.
#[cold]
fn invalid(text: impl Into<String>) -> Fault {
    Fault::new(codes::NN_PARAM_INVALID, text)
}

impl Arg<'_> {
    /// The tensor as the core sees it.
    fn desc(&self) -> Outcome<TensorDesc> {
        let Some(dtype) = dtype(self.view.dtype) else {
            return Err(invalid(format!("{} cannot have type {}", self.name, self.view.dtype.name())));
        };
        let layout = self.view.layout.map_err(|problem| invalid(format!("{}: {problem}", self.name)))?;
        Ok(TensorDesc { dtype, layout })
    }

    /// The tensor as the core sees it, whose last axis is the channels.
    fn desc_channels_last(&self) -> Outcome<TensorDesc> {
        let TensorDesc { dtype, layout } = self.desc()?;
        let reorder = |list: &[i64]| {
            let mut list = list.to_vec();
            list[1..].rotate_right(1);
            Sizes::try_from(&list[..])
        };
        let shape = reorder(layout.shape());
        let layout = shape.and_then(|shape| Layout::strided(shape, reorder(layout.strides())?));
        let layout = layout.map_err(|problem| invalid(format!("{}: {problem}", self.name)))?;
        Ok(TensorDesc { dtype, layout })
    }
}

/// The core's element type, of those that pooling knows.
fn dtype(dtype: DataType) -> Option<poolgrad::DType> {
    use poolgrad::DType::{BF16, F16, F32, F64, I32, I64};
    Some(match dtype {
        DataType::FLOAT => F32,
        DataType::DOUBLE => F64,
        DataType::FLOAT16 => F16,
        DataType::BF16 => BF16,
        DataType::INT32 => I32,
        DataType::INT64 => I64,
        _ => return None,
    })
}

/// The operands of a gradient by index, or of one of averages.
fn gradient(
    grad_output: &Arg<'_>,
    indices: Option<&Arg<'_>>,
    grad_input: &Arg<'_>,
) -> Outcome<Operands<TensorDesc>> {
    let (grad_output, grad_input) = (grad_output.desc()?, grad_input.desc()?);
    Ok(match indices {
        Some(indices) => Operands::Scatter { grad_output, indices: indices.desc()?, grad_input },
        None => Operands::Spread { grad_output, grad_input },
    })
}

/// The sizes behind the first `leading` axes of a shape whose rank has been checked.
fn spatial(view: &View, n_spatial: usize) -> &[i64] {
    &view.dims()[view.dims().len() - n_spatial..]
}

/// A list as the core wants it; one that is too long for it is too long for any operator.
fn sizes(list: &ListArg<'_>) -> Outcome<Sizes> {
    Sizes::try_from(list.values)
        .map_err(|_| invalid(format!("{} must have at most 3 values, got {}", list.name, list.values.len())))
}

/// The spec of an adaptive gradient, whose output size is that of the tensor that comes in.
fn backwards(pool: impl FnOnce(Sizes) -> Spec, grad_output: &View, n_spatial: usize) -> Outcome<Spec> {
    let output_size =
        Sizes::try_from(spatial(grad_output, n_spatial)).map_err(|problem| invalid(problem.to_string()))?;
    let spec = pool(output_size);
    debug_assert_eq!(spec.direction, Direction::Gradient);
    Ok(spec)
}

#[cfg(test)]
mod testing;
