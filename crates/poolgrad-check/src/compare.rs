//! The comparison of a result with the reference, and the one table of tolerances.
//!
//! | result | tolerance | why |
//! |---|---|---|
//! | max forward: values and indices | none: equal bits | nothing is computed, an element is chosen |
//! | max gradients | none: the bits of a sequential scatter | the order of additions is part of the contract |
//! | averages, forward and gradient | none: the bits of the documented order | likewise |
//! | every sum, against the exact sum | `(terms + 3) · ε · Σ\|terms\|`, then one rounding | see below |
//! | f16 and bf16, against the f32 result | none: its bits, rounded once | half types are stored, never computed with |
//!
//! Two NaNs count as equal whatever their payloads, because IEEE 754 leaves the payload of a sum open. Zeros of
//! different signs are different bits; the bound on sums does not see the sign.
//!
//! **The bound on sums.** Adding `n` terms in any order in a type with rounding unit `ε / 2` is wrong by at most
//! `(n - 1) · ε / 2 · Σ|terms|` to first order; dividing once adds `ε / 2`. Twice that, and two more terms for the
//! second-order parts and for the reference's own rounding, is `(n + 3) · ε · Σ|terms|`. Terms that are denormal round
//! absolutely instead, so as many times the smallest number is added. The result is then rounded once to the type it
//! is stored in. Rounding keeps order, so a result is right exactly when it lies between the rounded ends of the
//! interval around the exact sum; half a unit of the stored type and overflow to infinity need no rule of their own.

use std::fmt;

use poolgrad::{DType, Tensor};

use crate::reference::Grid;
use crate::reference::grid_position;
use crate::scalar::{Scalar, smallest, with_element};
use crate::storage::elements;

/// An element that differs from what it should be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mismatch {
    /// The position `[n, c, d, h, w]`.
    pub position: [usize; 5],
    /// The value there.
    pub got: f64,
    /// The value that should be there.
    pub want: f64,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { position: [n, c, d, h, w], got, want } = self;
        write!(f, "got {got:e}, wanted {want:e} at n = {n}, c = {c}, [{d}, {h}, {w}]")
    }
}

/// How far a result is from the reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// The largest absolute error of an element.
    pub max_error: f64,
    /// The tolerance of the worst element.
    pub tolerance: f64,
    /// The number of elements that are further away than their tolerance.
    pub n_wrong: usize,
    /// The worst element that is too far away.
    pub worst: Option<Mismatch>,
}

impl Comparison {
    /// Whether every element is within its tolerance.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.n_wrong == 0
    }
}

/// The distance from 1 to the next number of the type that sums of `dtype` are formed in.
#[must_use]
pub fn accumulator_epsilon(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => f64::EPSILON,
        _ => f64::from(f32::EPSILON),
    }
}

/// The smallest number of the type that sums of `dtype` are formed in.
fn accumulator_smallest(dtype: DType) -> f64 {
    smallest(if dtype == DType::F64 { DType::F64 } else { DType::F32 })
}

/// Compares sums with exact ones: `magnitude` holds, for each element, the sum of its terms' absolute values, and
/// `n_terms` is the most terms that an element has.
///
/// # Panics
/// If the three do not have the same number of elements.
///
/// # Examples
/// ```
/// use poolgrad::Tensor;
/// use poolgrad_check::{compare, reference::Grid};
///
/// let grid = |value: f64| Grid { shape: [1, 1, 1, 1, 1], values: vec![value] };
/// let got = Tensor::from_vec(vec![1.000_000_1f32], [1, 1])?;
/// assert!(compare::values(&got, &grid(1.0), &grid(1.0), 1).passed());
/// assert!(!compare::values(&got, &grid(1.0), &grid(0.001), 1).passed());
/// # Ok::<(), poolgrad::LayoutError>(())
/// ```
#[must_use]
pub fn values(got: &Tensor, want: &Grid, magnitude: &Grid, n_terms: usize) -> Comparison {
    let steps = (n_terms + 3) as f64;
    let relative = steps * accumulator_epsilon(got.dtype());
    let absolute = steps * accumulator_smallest(got.dtype());
    with_element!(got.dtype(), T => {
        let got = elements::<T>(got);
        assert_eq!((got.len(), magnitude.values.len()), (want.values.len(), want.values.len()));
        let judged = got.iter().zip(&want.values).zip(&magnitude.values);
        summary(want, judged.map(|((&got, &want), &magnitude)| {
            let bound = magnitude * relative + absolute;
            let low = T::nearest(want - bound).wide();
            let high = T::nearest(want + bound).wide();
            Judged::within(got.wide(), want, (low, high))
        }))
    })
}

/// Compares elements that must have the bits of the reference's, once those are rounded to their type.
///
/// # Panics
/// If the two do not have the same number of elements.
#[must_use]
pub fn exact(got: &Tensor, want: &Grid) -> Comparison {
    with_element!(got.dtype(), T => {
        let got = elements::<T>(got);
        assert_eq!(got.len(), want.values.len());
        summary(want, got.iter().zip(&want.values).map(|(&got, &want)| {
            let want = T::nearest(want);
            Judged { got: got.wide(), want: want.wide(), tolerance: 0.0, right: got.same(want) }
        }))
    })
}

/// The row-major number of the first element whose bits differ; `None` if all are equal.
///
/// # Panics
/// If the tensors differ in type or in their number of elements.
#[must_use]
pub fn first_difference(one: &Tensor, other: &Tensor) -> Option<usize> {
    assert_eq!(one.dtype(), other.dtype());
    if one.as_bytes() == other.as_bytes() {
        return None;
    }
    with_element!(one.dtype(), T => {
        let (one, other) = (elements::<T>(one), elements::<T>(other));
        assert_eq!(one.len(), other.len());
        one.iter().zip(other).position(|(one, other)| !one.same(*other))
    })
}

/// One element and the judgement on it.
struct Judged {
    got: f64,
    want: f64,
    tolerance: f64,
    right: bool,
}

impl Judged {
    fn within(got: f64, want: f64, (low, high): (f64, f64)) -> Self {
        let right = if want.is_finite() {
            low <= got && got <= high
        } else {
            got == want || (got.is_nan() && want.is_nan())
        };
        let tolerance = if want.is_finite() { (want - low).max(high - want) } else { 0.0 };
        Self { got, want, tolerance, right }
    }

    /// The absolute error: 0 where a non-finite value is as it should be, infinite where it is not.
    fn error(&self) -> f64 {
        let error = (self.got - self.want).abs();
        match (error.is_finite(), self.right) {
            (true, _) => error,
            (false, true) => 0.0,
            (false, false) => f64::INFINITY,
        }
    }
}

fn summary(want: &Grid, judged: impl Iterator<Item = Judged>) -> Comparison {
    let mut comparison = Comparison { max_error: 0.0, tolerance: 0.0, n_wrong: 0, worst: None };
    let mut worst_error = -1.0;
    for (i, judged) in judged.enumerate() {
        let error = judged.error();
        comparison.max_error = comparison.max_error.max(error);
        // Wrong elements come before right ones, and among either the largest error counts.
        let first_wrong = !judged.right && comparison.n_wrong == 0;
        let same_kind = judged.right == (comparison.n_wrong == 0);
        comparison.n_wrong += usize::from(!judged.right);
        if first_wrong || (same_kind && error > worst_error) {
            worst_error = error;
            comparison.tolerance = judged.tolerance;
            if !judged.right {
                let position = grid_position(want.shape, i);
                comparison.worst = Some(Mismatch { position, got: judged.got, want: judged.want });
            }
        }
    }
    comparison
}

#[cfg(test)]
mod tests {
    use super::*;
    use poolgrad::half::f16;

    fn row(values: &[f64]) -> Grid {
        Grid { shape: [1, 1, 1, 1, values.len()], values: values.to_vec() }
    }

    /// Oracle: by hand, which of the pairs are within the bound.
    #[test]
    fn the_bound_tells_right_from_wrong() {
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        let cases = [
            (1.0, 1.0, 1.0, true),
            (1.0 + 3e-7, 1.0, 1.0, true),
            (1.0 + 2e-6, 1.0, 1.0, false),
            (2e-6, 0.0, 100.0, true),
            (nan, nan, nan, true),
            (nan, 1.0, 1.0, false),
            (1.0, nan, nan, false),
            (inf, inf, inf, true),
            (inf, -inf, inf, false),
            (inf, 1.0, 1.0, false),
            (1.0, inf, inf, false),
            (1e-45, 0.0, 0.0, true),
            (1e-40, 0.0, 0.0, false),
        ];
        for (got, want, magnitude, passes) in cases {
            let tensor = Tensor::from_vec(vec![got as f32], [1, 1]).unwrap();
            let comparison = values(&tensor, &row(&[want]), &row(&[magnitude]), 1);
            assert_eq!(comparison.passed(), passes, "{got} {want}: {comparison:?}");
            assert_eq!(comparison.worst.is_none(), passes);
        }
    }

    /// Oracle: f16 steps by hand: near 2048 its numbers are 2 apart, and 65520 is the first that rounds to infinity.
    #[test]
    fn stored_types_round_the_ends_of_the_interval() {
        for (got, want, passes) in [
            (2048.0, 2049.0, true),
            (2050.0, 2049.0, true),
            (2052.0, 2051.1, true),
            (2052.0, 2050.9, false),
            (f64::INFINITY, 65521.0, true),
            (f64::INFINITY, 65503.0, false),
        ] {
            let tensor = Tensor::from_vec(vec![f16::from_f64(got)], [1, 1]).unwrap();
            assert_eq!(values(&tensor, &row(&[want]), &row(&[want]), 1).passed(), passes, "{got} {want}");
        }
    }

    /// Oracle: by hand.
    #[test]
    fn exact_means_bits_but_any_nan() {
        let got = Tensor::from_vec(vec![0.0f32, -f32::NAN, 3.0, 5.0], [1, 4]).unwrap();
        let comparison = exact(&got, &row(&[-0.0, f64::NAN, 4.0, 5.0]));
        assert_eq!((comparison.n_wrong, comparison.max_error), (2, 1.0));
        assert_eq!(comparison.worst.unwrap().position, [0, 0, 0, 0, 2]);
        let other = Tensor::from_vec(vec![0.0f32, f32::NAN, 3.0, 5.5], [1, 4]).unwrap();
        assert_eq!(first_difference(&got, &other), Some(3));
        assert_eq!(first_difference(&got, &got), None);
    }
}
