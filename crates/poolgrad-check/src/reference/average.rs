//! Average pooling from its definition.

use poolgrad::Spec;

use super::Grid;
use super::sum::{Sum, Sums, finish};
use super::windows::{for_each_window, known_windows, output_shape};

/// The means of `input`'s windows.
///
/// # Panics
/// If the pooling has no output.
#[must_use]
pub fn average_forward(spec: &Spec, input: &Grid) -> Grid {
    average_forward_sums(spec, input).values
}

/// [`average_forward`], with what is needed to bound errors.
///
/// # Panics
/// If the pooling has no output.
#[must_use]
pub fn average_forward_sums(spec: &Spec, input: &Grid) -> Sums {
    let windows = known_windows(spec, input.spatial());
    let mut sums = Vec::new();
    for plane in 0..input.n_planes() {
        for_each_window(&windows, input.spatial(), |_, flats| {
            let mut sum = Sum::default();
            flats.iter().for_each(|&flat| sum.add(input.at(plane, flat)));
            sums.push((sum, flats.len() as f64));
        });
    }
    finish(output_shape(&windows, input.shape), sums.into_iter())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Problem;

    /// Oracle: means worked out by hand.
    #[test]
    fn each_window_is_divided_by_its_own_size() {
        let spec = "adaptive_avg c1 in2x3 out1x2".parse::<Problem>().unwrap().spec;
        let input = Grid { shape: [1, 1, 1, 2, 3], values: vec![1.0, 2.0, 3.0, 4.0, -5.0, 6.0] };
        let sums = average_forward_sums(&spec, &input);
        assert_eq!(sums.values.values, [0.5, 1.5]);
        assert_eq!(sums.magnitude.values, [3.0, 4.0]);
        assert_eq!((sums.values.shape, sums.n_terms), ([1, 1, 1, 1, 2], 4));
    }
}
