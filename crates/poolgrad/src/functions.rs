//! One-call conveniences: plan, allocate, run.

use crate::dtype::DType;
use crate::error::{Argument, Error};
use crate::plan::{Plan, output_shape};
use crate::spec::{AdaptiveAvgPool, AdaptiveMaxPool, Direction, MaxPool, Operands, Spec};
use crate::tensor::{Sizes, Tensor, TensorDesc, TensorView};

impl Spec {
    /// The shape of the output that this pooling makes of an input of shape `input_shape`.
    ///
    /// # Errors
    /// The first rule that a parameter or the shape breaks.
    pub fn output_shape(&self, input_shape: impl Into<Sizes>) -> Result<Sizes, Error> {
        output_shape(self, &input_shape.into())
    }
}

impl MaxPool {
    /// The maxima of `input`, `[N, C, …]` or `[C, …]`, and their places as `i64`.
    ///
    /// To write into tensors of your own, or to have `i32` indices or none, use a [`Plan`].
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn forward<'a>(&self, input: impl Into<TensorView<'a>>) -> Result<(Tensor, Tensor), Error> {
        max_forward(&self.spec(Direction::Forward), &input.into())
    }

    /// The gradient of an input of shape `input_shape`: each output's gradient added where its index points.
    ///
    /// # Errors
    /// As [`Plan::new`] and [`Plan::execute`].
    pub fn backward<'a>(
        &self,
        grad_output: impl Into<TensorView<'a>>,
        indices: impl Into<TensorView<'a>>,
        input_shape: impl Into<Sizes>,
    ) -> Result<Tensor, Error> {
        max_backward(&self.spec(Direction::Gradient), (&grad_output.into(), &indices.into()), input_shape.into())
    }
}

impl AdaptiveMaxPool {
    /// The maxima of `input`, `[N, C, …]` or `[C, …]`, and their places as `i64`.
    ///
    /// To write into tensors of your own, or to have `i32` indices or none, use a [`Plan`].
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn forward<'a>(&self, input: impl Into<TensorView<'a>>) -> Result<(Tensor, Tensor), Error> {
        max_forward(&self.spec(Direction::Forward), &input.into())
    }

    /// The gradient of an input of shape `input_shape`: each output's gradient added where its index points.
    ///
    /// # Errors
    /// As [`Plan::new`] and [`Plan::execute`].
    pub fn backward<'a>(
        &self,
        grad_output: impl Into<TensorView<'a>>,
        indices: impl Into<TensorView<'a>>,
        input_shape: impl Into<Sizes>,
    ) -> Result<Tensor, Error> {
        max_backward(&self.spec(Direction::Gradient), (&grad_output.into(), &indices.into()), input_shape.into())
    }
}

impl AdaptiveAvgPool {
    /// The means of the windows of `input`, `[N, C, …]` or `[C, …]`.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn forward<'a>(&self, input: impl Into<TensorView<'a>>) -> Result<Tensor, Error> {
        let (spec, input) = (self.spec(Direction::Forward), input.into());
        let mut output = Tensor::zeros(input.dtype(), spec.output_shape(*input.shape())?)?;
        let planned = Operands::Pool { input: *input.desc(), output: *output.view().desc() };
        let plan = Plan::new(&spec, &planned)?;
        plan.run(Operands::Pool { input, output: output.view_mut() })?;
        Ok(output)
    }

    /// The gradient of an input of shape `input_shape`: each output's gradient shared equally among its window.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn backward<'a>(
        &self,
        grad_output: impl Into<TensorView<'a>>,
        input_shape: impl Into<Sizes>,
    ) -> Result<Tensor, Error> {
        let (spec, grad_output) = (self.spec(Direction::Gradient), grad_output.into());
        let desc = grad_input_desc(grad_output.dtype(), input_shape.into())?;
        let plan = Plan::new(&spec, &Operands::Spread { grad_output: *grad_output.desc(), grad_input: desc })?;
        let mut grad_input = Tensor::zeros(desc.dtype, *desc.shape())?;
        plan.run(Operands::Spread { grad_output, grad_input: grad_input.view_mut() })?;
        Ok(grad_input)
    }
}

fn max_forward(spec: &Spec, input: &TensorView<'_>) -> Result<(Tensor, Tensor), Error> {
    let shape = spec.output_shape(*input.shape())?;
    let (mut output, mut indices) = (Tensor::zeros(input.dtype(), shape)?, Tensor::zeros(DType::I64, shape)?);
    let planned = Operands::PoolWithIndices {
        input: *input.desc(),
        output: *output.view().desc(),
        indices: *indices.view().desc(),
    };
    let plan = Plan::new(spec, &planned)?;
    let (output_view, indices_view) = (output.view_mut(), indices.view_mut());
    plan.run(Operands::PoolWithIndices { input: *input, output: output_view, indices: indices_view })?;
    Ok((output, indices))
}

fn max_backward(
    spec: &Spec,
    (grad_output, indices): (&TensorView<'_>, &TensorView<'_>),
    input_shape: Sizes,
) -> Result<Tensor, Error> {
    let desc = grad_input_desc(grad_output.dtype(), input_shape)?;
    let planned =
        Operands::Scatter { grad_output: *grad_output.desc(), indices: *indices.desc(), grad_input: desc };
    // Planned before it is allocated, so that an absurd size is an error and not an attempt.
    let plan = Plan::new(spec, &planned)?;
    let mut grad_input = Tensor::zeros(desc.dtype, *desc.shape())?;
    let grad_input_view = grad_input.view_mut();
    plan.run(Operands::Scatter { grad_output: *grad_output, indices: *indices, grad_input: grad_input_view })?;
    Ok(grad_input)
}

fn grad_input_desc(dtype: DType, shape: Sizes) -> Result<TensorDesc, Error> {
    TensorDesc::contiguous(dtype, shape).map_err(|problem| problem.of(Argument::GradInput))
}
