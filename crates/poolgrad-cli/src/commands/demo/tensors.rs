//! The tensors of one operator in one type, forward and gradient.

use poolgrad::{DType, Direction, Layout, Operands, Pool, Sizes, Tensor, TensorDesc, TensorView, TensorViewMut};
use poolgrad_check::Random;

use super::exhibit::Exhibit;
use super::volume::Volume;
use crate::failure::Failure;
use crate::formats::{converted, each_element};

/// A tensor of the volume's shape, read or written with the operator's layout.
pub(super) struct Lying {
    pub(super) tensor: Tensor,
    layout: Layout,
}

/// The tensors of an operator, forward and gradient.
pub(super) struct Tensors {
    pub(super) input: Lying,
    pub(super) output: Tensor,
    /// Absent for averages.
    pub(super) indices: Option<Tensor>,
    /// Random numbers in -1..1, the same in every run.
    pub(super) grad_output: Tensor,
    pub(super) grad_input: Lying,
}

impl Tensors {
    /// The volume, random `grad_output`, and zeros where results go.
    pub(super) fn new(exhibit: &Exhibit, volume: &Volume, dtype: DType) -> Result<Self, Failure> {
        let layout = exhibit.reading.layout(volume.shape)?;
        let shape = exhibit.spec(Direction::Forward).output_shape(*layout.shape());
        let shape = shape.map_err(|error| Failure::work(format!("{}: {error}", exhibit.name)))?;
        let mut random = Random::new(1);
        let values = (0..shape.iter().product::<i64>()).map(|_| random.signed_unit());
        Ok(Self {
            input: Lying { tensor: volume.tensor(dtype)?, layout },
            output: zeros(dtype, shape)?,
            indices: match exhibit.pool {
                Pool::AdaptiveAvg(_) => None,
                _ => Some(zeros(DType::I32, shape)?),
            },
            grad_output: converted(values, dtype, shape)?,
            grad_input: Lying { tensor: zeros(dtype, Sizes::from(volume.shape))?, layout },
        })
    }

    /// The shapes of what is read and what is written.
    pub(super) fn shapes(&self, direction: Direction) -> [Sizes; 2] {
        let (volume, pooled) = (*self.input.layout.shape(), *self.output.shape());
        match direction {
            Direction::Forward => [volume, pooled],
            Direction::Gradient => [pooled, volume],
        }
    }

    /// The bytes that either direction reads and writes.
    pub(super) fn n_bytes(&self) -> usize {
        let indices = self.indices.as_ref().map_or(0, |indices| indices.as_bytes().len());
        self.input.tensor.as_bytes().len() + self.output.as_bytes().len() + indices
    }

    pub(super) fn descs(&self, direction: Direction) -> Operands<TensorDesc> {
        let desc = |tensor: &Tensor| *tensor.view().desc();
        match (direction, &self.indices) {
            (Direction::Forward, Some(indices)) => Operands::PoolWithIndices {
                input: self.input.desc(),
                output: desc(&self.output),
                indices: desc(indices),
            },
            (Direction::Forward, None) => Operands::Pool { input: self.input.desc(), output: desc(&self.output) },
            (Direction::Gradient, Some(indices)) => Operands::Scatter {
                grad_output: desc(&self.grad_output),
                indices: desc(indices),
                grad_input: self.grad_input.desc(),
            },
            (Direction::Gradient, None) => {
                Operands::Spread { grad_output: desc(&self.grad_output), grad_input: self.grad_input.desc() }
            }
        }
    }

    pub(super) fn views(
        &mut self,
        direction: Direction,
    ) -> Result<Operands<TensorView<'_>, TensorViewMut<'_>>, Failure> {
        Ok(match (direction, &mut self.indices) {
            (Direction::Forward, Some(indices)) => Operands::PoolWithIndices {
                input: self.input.view()?,
                output: self.output.view_mut(),
                indices: indices.view_mut(),
            },
            (Direction::Forward, None) => {
                Operands::Pool { input: self.input.view()?, output: self.output.view_mut() }
            }
            (Direction::Gradient, Some(indices)) => Operands::Scatter {
                grad_output: self.grad_output.view(),
                indices: indices.view(),
                grad_input: self.grad_input.view_mut()?,
            },
            (Direction::Gradient, None) => {
                Operands::Spread { grad_output: self.grad_output.view(), grad_input: self.grad_input.view_mut()? }
            }
        })
    }
}

impl Lying {
    fn desc(&self) -> TensorDesc {
        TensorDesc { dtype: self.tensor.dtype(), layout: self.layout }
    }

    fn view(&self) -> Result<TensorView<'_>, Failure> {
        each_element!(self.tensor.dtype(), T => {
            let values = self.tensor.as_slice::<T>().unwrap_or_default();
            TensorView::strided(values, self.layout, 0).map_err(|error| Failure::work(error.to_string()))
        })
    }

    fn view_mut(&mut self) -> Result<TensorViewMut<'_>, Failure> {
        let layout = self.layout;
        each_element!(self.tensor.dtype(), T => {
            let values = self.tensor.as_mut_slice::<T>().unwrap_or_default();
            TensorViewMut::strided(values, layout, 0).map_err(|error| Failure::work(error.to_string()))
        })
    }
}

fn zeros(dtype: DType, shape: Sizes) -> Result<Tensor, Failure> {
    Tensor::zeros(dtype, shape).map_err(|error| Failure::work(error.to_string()))
}
