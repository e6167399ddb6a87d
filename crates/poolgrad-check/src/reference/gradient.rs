//! The gradients from their definitions.

use poolgrad::Spec;

use super::Grid;
use super::sum::{Sum, Sums, finish};
use super::windows::{for_each_window, known_windows};

/// The gradient of a max pooling: each element of `grad_output` is added at the place that its index names.
///
/// # Panics
/// If an index lies outside the volume, or there is not one for each element of `grad_output`.
#[must_use]
pub fn scatter(grad_output: &Grid, indices: &[i64], input_shape: [usize; 5]) -> Grid {
    scatter_sums(grad_output, indices, input_shape).values
}

/// [`scatter`], with what is needed to bound errors.
///
/// # Panics
/// As [`scatter`].
#[must_use]
pub fn scatter_sums(grad_output: &Grid, indices: &[i64], input_shape: [usize; 5]) -> Sums {
    assert_eq!(indices.len(), grad_output.values.len(), "one index for each element");
    let plane_len: usize = input_shape[2..].iter().product();
    let mut sums = vec![Sum::default(); input_shape.iter().product()];
    for (i, (&grad, &index)) in grad_output.values.iter().zip(indices).enumerate() {
        let index = usize::try_from(index).ok().filter(|&index| index < plane_len);
        let index = index.expect("indices lie in the volume");
        sums[i / grad_output.plane_len() * plane_len + index].add(grad);
    }
    finish(input_shape, sums.into_iter().map(|sum| (sum, 1.0)))
}

/// The gradient of an average pooling: each element of `grad_output`, divided by the size of its window, is added to
/// every element of the window.
///
/// # Panics
/// If the pooling has no output, or another one than `grad_output`'s shape.
#[must_use]
pub fn spread(spec: &Spec, grad_output: &Grid, input_shape: [usize; 5]) -> Grid {
    spread_sums(spec, grad_output, input_shape).values
}

/// [`spread`], with what is needed to bound errors.
///
/// # Panics
/// As [`spread`].
#[must_use]
pub fn spread_sums(spec: &Spec, grad_output: &Grid, input_shape: [usize; 5]) -> Sums {
    let [_, _, d, h, w] = input_shape;
    let windows = known_windows(spec, [d, h, w]);
    assert_eq!(
        grad_output.shape,
        super::windows::output_shape(&windows, input_shape),
        "grad_output has the shape of the output"
    );
    let plane_len = d * h * w;
    let mut sums = vec![Sum::default(); input_shape.iter().product()];
    for plane in 0..grad_output.n_planes() {
        for_each_window(&windows, [d, h, w], |output, flats| {
            let share = grad_output.at(plane, output) / flats.len() as f64;
            flats.iter().for_each(|flat| sums[plane * plane_len + flat].add(share));
        });
    }
    finish(input_shape, sums.into_iter().map(|sum| (sum, 1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Problem;

    /// Oracle: sums worked out by hand.
    #[test]
    fn contributions_meet_where_indices_do() {
        let grad_output = Grid { shape: [1, 2, 1, 1, 3], values: vec![1.0, 2.0, 4.0, 8.0, 16.0, -32.0] };
        let sums = scatter_sums(&grad_output, &[3, 0, 3, 1, 1, 1], [1, 2, 1, 2, 2]);
        assert_eq!(sums.values.values, [2.0, 0.0, 0.0, 5.0, 0.0, -8.0, 0.0, 0.0]);
        assert_eq!(sums.magnitude.values[5], 56.0);
        assert_eq!(sums.n_terms, 3);
    }

    /// Oracle: sums worked out by hand.
    #[test]
    fn shares_meet_where_windows_overlap() {
        let spec = "adaptive_avg_grad c1 in5 out2".parse::<Problem>().unwrap().spec;
        let grad_output = Grid { shape: [1, 1, 1, 1, 2], values: vec![3.0, 6.0] };
        let grad_input = spread(&spec, &grad_output, [1, 1, 1, 1, 5]);
        assert_eq!(grad_input.values, [1.0, 1.0, 3.0, 2.0, 2.0]);
    }
}
