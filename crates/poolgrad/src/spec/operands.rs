//! The tensors of one call, by the part they play.

use crate::error::Argument;

/// The tensors of one call: inputs of type `I`, outputs of type `O`.
///
/// The same four sets serve to plan (with [`TensorDesc`](crate::TensorDesc)) and to execute (with
/// [`TensorView`](crate::TensorView) and [`TensorViewMut`](crate::TensorViewMut)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operands<I, O = I> {
    /// Forward: values only.
    Pool {
        /// The tensor that is pooled.
        input: I,
        /// The pooled values.
        output: O,
    },
    /// Forward of a max pooling: values, and where they lie.
    PoolWithIndices {
        /// The tensor that is pooled.
        input: I,
        /// The pooled values.
        output: O,
        /// Offsets `d·H·W + h·W + w` in the input's volume.
        indices: O,
    },
    /// Gradient of an average pooling.
    Spread {
        /// The gradient of the pooled values.
        grad_output: I,
        /// The gradient of the input.
        grad_input: O,
    },
    /// Gradient of a max pooling.
    Scatter {
        /// The gradient of the pooled values.
        grad_output: I,
        /// Offsets `d·H·W + h·W + w` in the input's volume.
        indices: I,
        /// The gradient of the input.
        grad_input: O,
    },
}

impl<I, O> Operands<I, O> {
    /// The names of the operands, for messages.
    pub(crate) const fn names(&self) -> &'static str {
        match self {
            Self::Pool { .. } => "input and output",
            Self::PoolWithIndices { .. } => "input, output and indices",
            Self::Spread { .. } => "grad_output and grad_input",
            Self::Scatter { .. } => "grad_output, indices and grad_input",
        }
    }

    /// What a plan for these operands takes, for messages.
    pub(crate) const fn planned(&self) -> &'static str {
        match self {
            Self::Pool { .. } => "the plan takes input and output",
            Self::PoolWithIndices { .. } => "the plan takes input, output and indices",
            Self::Spread { .. } => "the plan takes grad_output and grad_input",
            Self::Scatter { .. } => "the plan takes grad_output, indices and grad_input",
        }
    }

    /// The inputs, each with its name.
    pub(crate) fn inputs(&self) -> [Option<(Argument, &I)>; 2] {
        match self {
            Self::Pool { input, .. } | Self::PoolWithIndices { input, .. } => {
                [Some((Argument::Input, input)), None]
            }
            Self::Spread { grad_output, .. } => [Some((Argument::GradOutput, grad_output)), None],
            Self::Scatter { grad_output, indices, .. } => {
                [Some((Argument::GradOutput, grad_output)), Some((Argument::Indices, indices))]
            }
        }
    }

    /// The outputs, each with its name.
    pub(crate) fn outputs(&self) -> [Option<(Argument, &O)>; 2] {
        match self {
            Self::Pool { output, .. } => [Some((Argument::Output, output)), None],
            Self::PoolWithIndices { output, indices, .. } => {
                [Some((Argument::Output, output)), Some((Argument::Indices, indices))]
            }
            Self::Spread { grad_input, .. } | Self::Scatter { grad_input, .. } => {
                [Some((Argument::GradInput, grad_input)), None]
            }
        }
    }
}
