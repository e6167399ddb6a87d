//! How an answer is compared with PyTorch's: bit for bit, or within a bound that has reasons.

use poolgrad::{DType, Tensor};

use crate::case::values;

/// Asserts that two tensors hold the same values, down to the sign of zeros.
#[track_caller]
pub(crate) fn assert_same(got: &Tensor, want: &Tensor, what: &str) {
    assert_eq!(got.shape(), want.shape(), "shape of {what}");
    assert_eq!(got.dtype(), want.dtype(), "element type of {what}");
    for (at, (got, want)) in values(got).into_iter().zip(values(want)).enumerate() {
        let same = got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan());
        assert!(same, "{what}, element {at}: got {got:?}, PyTorch has {want:?}");
    }
}

/// How far a sum of rounded terms may lie from another one of the same terms.
///
/// With `n` terms whose absolute values sum to `magnitude`, each side makes at most `n + 2` roundings: the division
/// or the product with a reciprocal, the additions, and the last one. A rounding moves a partial sum by at most half
/// of `epsilon` of its size, which `magnitude` bounds, or by less than the smallest number of the type.
pub(crate) struct Bound {
    n_terms: f64,
    /// Twice the largest relative error of one rounding.
    pub(crate) epsilon: f64,
    pub(crate) smallest: f64,
}

impl Bound {
    pub(crate) fn new(dtype: DType, n_terms: usize) -> Self {
        let (epsilon, smallest) = match dtype {
            DType::F32 => (f64::from(f32::EPSILON), f64::from(f32::from_bits(1))),
            DType::F64 => (f64::EPSILON, f64::from_bits(1)),
            DType::F16 => (2f64.powi(-10), 2f64.powi(-24)),
            DType::BF16 => (2f64.powi(-7), 2f64.powi(-133)),
            other => panic!("{other} has no rounding"),
        };
        Self { n_terms: n_terms as f64, epsilon, smallest }
    }

    /// The bound on the distance of two such sums.
    pub(crate) fn at(&self, magnitude: f64) -> f64 {
        (self.n_terms + 2.0) * (self.epsilon * magnitude + self.smallest)
    }
}

/// Asserts that two tensors agree within `bound`, which is given the magnitude sum at each element.
#[track_caller]
pub(crate) fn assert_near(got: &Tensor, want: &Tensor, magnitude: &Tensor, bound: impl Fn(f64) -> f64, what: &str) {
    assert_eq!(got.shape(), want.shape(), "shape of {what}");
    let elements = values(got).into_iter().zip(values(want)).zip(values(magnitude));
    for (at, ((got, want), magnitude)) in elements.enumerate() {
        let near = if want.is_finite() {
            (got - want).abs() <= bound(magnitude)
        } else {
            // Infinite and NaN terms decide by themselves, in any order.
            got == want || (got.is_nan() && want.is_nan())
        };
        assert!(near, "{what}, element {at}: got {got:?}, PyTorch has {want:?} ± {:?}", bound(magnitude));
    }
}

/// `wide`, an `f32` tensor, rounded once to `dtype`.
pub(crate) fn rounded_once(wide: &Tensor, dtype: DType) -> Tensor {
    use poolgrad::half::{bf16, f16};
    let row = wide.as_slice::<f32>().unwrap().iter();
    match dtype {
        DType::F16 => Tensor::from_vec(row.map(|&value| f16::from_f32(value)).collect(), *wide.shape()),
        DType::BF16 => Tensor::from_vec(row.map(|&value| bf16::from_f32(value)).collect(), *wide.shape()),
        other => panic!("{other} is no half type"),
    }
    .unwrap()
}
