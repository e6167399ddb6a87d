//! Replays: the library's documented orders of addition, one step after the other, for comparison bit by bit.
//!
//! The reference says what a result is; the order of additions says which of the neighbouring floating-point numbers
//! it is. Sums are formed in `f32`, and in `f64` for `f64` tensors, start from +0.0 and are rounded once at the end.

use poolgrad::{DType, Spec};

use crate::reference::Grid;
use crate::reference::windows::{Windows, windows};
use crate::scalar::Scalar;

/// A type that sums are formed in.
trait Accumulator: Scalar + std::ops::AddAssign + std::ops::Add<Output = Self> + std::ops::Div<Output = Self> {}
impl Accumulator for f32 {}
impl Accumulator for f64 {}

/// Runs `$body` with `$acc` naming the type that sums of `$dtype` are formed in, and rounds the values that it gives.
macro_rules! accumulate {
    ($dtype:expr, $acc:ident => $body:expr) => {
        if $dtype == DType::F64 {
            type $acc = f64;
            $body.into_iter().map(Scalar::wide).collect()
        } else {
            type $acc = f32;
            $body.into_iter().map(Scalar::wide).collect()
        }
    };
}

/// The gradient of a max pooling: contributions in ascending order of output position.
pub(crate) fn scatter(dtype: DType, grad_output: &Grid, indices: &[i64], input_shape: [usize; 5]) -> Grid {
    fn sums<A: Accumulator>(grad_output: &Grid, indices: &[i64], input_shape: [usize; 5]) -> Vec<A> {
        let plane_len: usize = input_shape[2..].iter().product();
        let mut sums = vec![A::nearest(0.0); input_shape.iter().product()];
        for (i, (&grad, &index)) in grad_output.values.iter().zip(indices).enumerate() {
            sums[i / grad_output.plane_len() * plane_len + index as usize] += A::nearest(grad);
        }
        sums
    }
    Grid { shape: input_shape, values: accumulate!(dtype, A => sums::<A>(grad_output, indices, input_shape)) }
}

/// The gradient of an average pooling, row by row of `grad_output`.
///
/// Each element is divided by the size of its window. The quotients of one row are first added along W, in ascending
/// order of output position, into a row as wide as the input; then these wide rows are added to the rows of
/// `grad_input` that their windows cover, in ascending order of (d, h).
pub(crate) fn spread(dtype: DType, spec: &Spec, grad_output: &Grid, input_shape: [usize; 5]) -> Grid {
    fn sums<A: Accumulator>(windows: &Windows, grad_output: &Grid, input_shape: [usize; 5]) -> Vec<A> {
        let [_, _, depth, height, width] = input_shape;
        let [depths, heights, widths] = windows;
        let mut sums = vec![A::nearest(0.0); input_shape.iter().product()];
        for plane in 0..grad_output.n_planes() {
            let mut flat = 0;
            for ds in depths {
                for hs in heights {
                    let mut wide = vec![A::nearest(0.0); width];
                    for ws in widths {
                        let count = A::nearest((ds.len() * hs.len() * ws.len()) as f64);
                        let share = A::nearest(grad_output.at(plane, flat)) / count;
                        ws.iter().for_each(|&w| wide[w] += share);
                        flat += 1;
                    }
                    for d in ds {
                        for h in hs {
                            let row = ((plane * depth + d) * height + h) * width;
                            sums[row..row + width].iter_mut().zip(&wide).for_each(|(sum, &wide)| *sum += wide);
                        }
                    }
                }
            }
        }
        sums
    }
    let [_, _, d, h, w] = input_shape;
    let windows = windows(spec, [d, h, w]).expect("the output's shape was asked for before");
    Grid { shape: input_shape, values: accumulate!(dtype, A => sums::<A>(&windows, grad_output, input_shape)) }
}

/// The means of an average pooling: first sums down the columns of the window, (d, h) ascending, for each w; then
/// their sum along W; then one division.
pub(crate) fn average(dtype: DType, spec: &Spec, input: &Grid) -> Grid {
    fn means<A: Accumulator>(windows: &Windows, input: &Grid) -> Vec<A> {
        let [_, height, width] = input.spatial();
        let [depths, heights, widths] = windows;
        let mut means = Vec::new();
        for plane in 0..input.n_planes() {
            for ds in depths {
                for hs in heights {
                    for ws in widths {
                        let mut sum = A::nearest(0.0);
                        for w in ws {
                            let mut column = A::nearest(0.0);
                            for d in ds {
                                for h in hs {
                                    column += A::nearest(input.at(plane, (d * height + h) * width + w));
                                }
                            }
                            sum += column;
                        }
                        means.push(sum / A::nearest((ds.len() * hs.len() * ws.len()) as f64));
                    }
                }
            }
        }
        means
    }
    let windows = windows(spec, input.spatial()).expect("the output's shape was asked for before");
    let [n, c, ..] = input.shape;
    Grid {
        shape: [n, c, windows[0].len(), windows[1].len(), windows[2].len()],
        values: accumulate!(dtype, A => means::<A>(&windows, input)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Problem;

    /// Oracle: terms whose sum depends on the order, added by hand.
    #[test]
    fn order_is_what_is_replayed() {
        let big = 16_777_216.0;
        let grad_output = Grid { shape: [1, 1, 1, 1, 3], values: vec![big, 1.0, 1.0] };
        let one = scatter(DType::F32, &grad_output, &[0, 0, 0], [1, 1, 1, 1, 1]);
        assert_eq!(one.values, [big], "each 1 is lost against the sum so far");
        let backwards = Grid { values: vec![1.0, 1.0, big], ..grad_output.clone() };
        assert_eq!(scatter(DType::F32, &backwards, &[0, 0, 0], [1, 1, 1, 1, 1]).values, [big + 2.0]);
        assert_eq!(scatter(DType::F64, &grad_output, &[0, 0, 0], [1, 1, 1, 1, 1]).values, [big + 2.0]);
    }

    /// Oracle: the column order, by hand: (big + 1) is lost, but 1 + 1 down a column is not.
    #[test]
    fn means_add_down_columns_first() {
        let spec = "adaptive_avg c1 in2x2 out1".parse::<Problem>().unwrap().spec;
        let big = 16_777_216.0;
        let input = Grid { shape: [1, 1, 1, 2, 2], values: vec![big, 1.0, 0.0, 1.0] };
        assert_eq!(average(DType::F32, &spec, &input).values, [(big + 2.0) / 4.0]);
        let input = Grid { shape: [1, 1, 1, 2, 2], values: vec![big, 0.0, 1.0, 1.0] };
        assert_eq!(average(DType::F32, &spec, &input).values, [big / 4.0]);
    }
}
