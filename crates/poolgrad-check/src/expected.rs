//! The right result of a problem.

use poolgrad::Direction;

use crate::call::Call;
use crate::reference::{self, Grid, Pooled, Sums};
use crate::{replay, to_grid};

/// The right result, by every rule that applies to it.
#[derive(Debug)]
pub(crate) struct Expected {
    /// The bits of the values, as numbers before rounding to their type.
    pub(crate) bits: Grid,
    /// The indices that a forward max pooling writes.
    pub(crate) indices: Option<Grid>,
    /// The exact sums, where the values are sums.
    pub(crate) sums: Option<Sums>,
}

impl Expected {
    /// The right result of a call.
    pub(crate) fn of(call: &Call) -> Self {
        let problem = call.problem();
        let (spec, dtype, n_spatial) = (&problem.spec, problem.dtype, problem.spec.n_spatial());
        let source = to_grid(&call.source(), n_spatial);
        let input_shape = crate::lift(&problem.input_shape(), n_spatial);
        match (spec.direction, call.indices()) {
            (Direction::Forward, _) if problem.has_indices() => {
                let Pooled { output, indices } = reference::max_forward(spec, &source);
                let indices =
                    Grid { shape: output.shape, values: indices.into_iter().map(|index| index as f64).collect() };
                Self { bits: output, indices: Some(indices), sums: None }
            }
            (Direction::Forward, _) => Self {
                bits: replay::average(dtype, spec, &source),
                indices: None,
                sums: Some(reference::average_forward_sums(spec, &source)),
            },
            (Direction::Gradient, None) => Self {
                bits: replay::spread(dtype, spec, &source, input_shape),
                indices: None,
                sums: Some(reference::spread_sums(spec, &source, input_shape)),
            },
            (Direction::Gradient, Some(indices)) => {
                let indices = to_grid(&indices, n_spatial).values;
                let indices: Vec<i64> = indices.into_iter().map(|index| index as i64).collect();
                Self {
                    bits: replay::scatter(dtype, &source, &indices, input_shape),
                    indices: None,
                    sums: Some(reference::scatter_sums(&source, &indices, input_shape)),
                }
            }
        }
    }
}
