//! Fillers: what the tensors of a problem hold.

use poolgrad::DType;

use crate::problem::{Fill, Problem};
use crate::random::Random;
use crate::reference::{self, Grid};
use crate::scalar::smallest;

/// Where the sequence of values and the sequence of indices start.
const VALUES_SEED: u64 = 0x706f_6f6c;
const INDICES_SEED: u64 = 0x6772_6164;

/// Repeatable values for the tensor that a problem reads: the same in row-major order for every type and layout,
/// up to rounding.
pub(crate) fn values(problem: &Problem) -> impl FnMut() -> f64 {
    let (fill, dtype) = (problem.fill, problem.dtype);
    let mut random = Random::new(VALUES_SEED);
    move || value(fill, dtype, &mut random)
}

fn value(fill: Fill, dtype: DType, random: &mut Random) -> f64 {
    match fill {
        Fill::Random | Fill::Far | Fill::Same => random.signed_unit() * 2.0,
        Fill::Integers => random.below(17) as f64 - 8.0,
        Fill::Ties => random.below(3) as f64 - 1.0,
        Fill::Special => special(dtype, random),
    }
}

/// Mostly ordinary values: windows of nothing but NaN would test little else.
fn special(dtype: DType, random: &mut Random) -> f64 {
    match random.below(64) {
        0..=1 => f64::NAN,
        2..=3 => f64::INFINITY,
        4..=9 => f64::NEG_INFINITY,
        10..=17 => -0.0,
        18..=25 => 0.0,
        26..=33 => smallest(dtype) * (random.below(9) as f64 - 4.0),
        _ => random.signed_unit() * 2.0,
    }
}

/// Repeatable indices for the gradient of a max pooling, in row-major order.
///
/// Unless the fill asks for others they are the places of the maxima of a forward pass, so that each lies in its window.
pub(crate) fn indices(problem: &Problem, input_shape: [usize; 5], output_len: usize) -> Vec<i64> {
    let plane_len: usize = input_shape[2..].iter().product();
    let mut random = Random::new(INDICES_SEED);
    match problem.fill {
        Fill::Far => (0..output_len).map(|_| random.below(plane_len as u64) as i64).collect(),
        Fill::Same => vec![(plane_len - 1) as i64 * 2 / 3; output_len],
        Fill::Random | Fill::Integers | Fill::Ties | Fill::Special => {
            let n_elements = input_shape.iter().product();
            let input = Grid {
                shape: input_shape,
                values: (0..n_elements).map(|_| value(problem.fill, problem.dtype, &mut random)).collect(),
            };
            reference::max_forward(&problem.spec, &input).indices
        }
    }
}
