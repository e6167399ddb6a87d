//! Max pooling from its definition.

use poolgrad::Spec;

use super::Grid;
use super::windows::{for_each_window, known_windows, output_shape};

/// The result of a max pooling.
#[derive(Clone, Debug, PartialEq)]
pub struct Pooled {
    /// The maxima.
    pub output: Grid,
    /// Their places: offsets `d·H·W + h·W + w` in the input's volume.
    pub indices: Vec<i64>,
}

/// The maxima of `input`'s windows, for max and adaptive max pooling.
///
/// A window is scanned in row-major order. The running maximum starts at negative infinity with the window's first
/// place and gives way to an element that is greater or not a number.
///
/// # Panics
/// If the pooling has no output.
#[must_use]
pub fn max_forward(spec: &Spec, input: &Grid) -> Pooled {
    let windows = known_windows(spec, input.spatial());
    let mut output = Grid { shape: output_shape(&windows, input.shape), values: Vec::new() };
    let mut indices = Vec::new();
    for plane in 0..input.n_planes() {
        for_each_window(&windows, input.spatial(), |_, flats| {
            let (mut best, mut place) = (f64::NEG_INFINITY, flats[0]);
            for &flat in flats {
                let value = input.at(plane, flat);
                if value > best || value.is_nan() {
                    (best, place) = (value, flat);
                }
            }
            output.values.push(input.at(plane, place));
            indices.push(place as i64);
        });
    }
    Pooled { output, indices }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Problem;

    /// Oracle: the tie and NaN rules, on windows written out by hand.
    #[test]
    fn ties_and_nan_follow_the_rules() {
        let spec = "max c1 in3 k3".parse::<Problem>().unwrap().spec;
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        let cases = [
            ([1.0, 2.0, 2.0], 1),
            ([nan, 5.0, inf], 0),
            ([nan, nan, 1.0], 1),
            ([-inf, -inf, -inf], 0),
            ([-inf, -inf, -9.0], 2),
            ([-0.0, 0.0, -0.0], 0),
        ];
        for (values, place) in cases {
            let input = Grid { shape: [1, 1, 1, 1, 3], values: values.to_vec() };
            let pooled = max_forward(&spec, &input);
            assert_eq!(pooled.indices, [place], "{values:?}");
            assert_eq!(pooled.output.values[0].to_bits(), values[place as usize].to_bits(), "{values:?}");
        }
    }
}
