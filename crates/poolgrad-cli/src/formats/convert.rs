//! From one floating-point type to another, rounded once.

use poolgrad::half::{bf16, f16};
use poolgrad::{DType, Element, Sizes, Tensor};

use crate::failure::Failure;

/// A row-major tensor of the given values in type `dtype`, each rounded to nearest even.
///
/// # Errors
/// If `dtype` is no floating-point type, or there are not as many values as `shape` has elements.
pub(crate) fn converted(values: impl Iterator<Item = f64>, dtype: DType, shape: Sizes) -> Result<Tensor, Failure> {
    fn collect<T: Element>(values: impl Iterator<Item = T>, shape: Sizes) -> Result<Tensor, Failure> {
        Tensor::from_vec(values.collect(), shape).map_err(|error| Failure::work(error.to_string()))
    }
    match dtype {
        DType::F64 => collect(values, shape),
        DType::F32 => collect(values.map(|value| value as f32), shape),
        DType::F16 => collect(values.map(|value| f16::from_f32(to_odd(value))), shape),
        DType::BF16 => collect(values.map(|value| bf16::from_f32(to_odd(value))), shape),
        other => Err(Failure::work(format!("values cannot be converted to {other}"))),
    }
}

/// `value` in `f32`, rounded to odd: of two neighbours that enclose it, the one whose last bit is set.
///
/// The last bit then remembers whether anything was cut off, so that a second rounding to a type of at most 22
/// significant bits gives what one rounding would have given. (`half` converts from `f64` by cutting bits off, which
/// is wrong next to a tie.)
fn to_odd(value: f64) -> f32 {
    let nearest = value as f32;
    if nearest.is_nan() || f64::from(nearest) == value {
        return nearest;
    }
    let outward = f64::from(nearest).abs() > value.abs();
    // The bits of a float count up with its magnitude, so the neighbour nearer to zero is one less.
    f32::from_bits((nearest.to_bits() - u32::from(outward)) | 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Oracle: by hand, with values next to the tie between two neighbours of the narrow type.
    #[test]
    fn values_beside_a_tie_round_to_the_nearer_neighbour() {
        let tie = 1.0 + 2f64.powi(-11);
        let values = [tie, tie + 2f64.powi(-40), tie - 2f64.powi(-40), -tie - 2f64.powi(-40)];
        let tensor = converted(values.into_iter(), DType::F16, Sizes::from(4)).unwrap();
        let next = 1.0 + 2f32.powi(-10);
        let got: Vec<f32> = tensor.as_slice::<f16>().unwrap().iter().map(|v| v.to_f32()).collect();
        assert_eq!(got, [1.0, next, 1.0, -next]);
    }

    // Oracle: IEEE 754: what is too large is infinite, zero keeps its sign, no number stays none.
    #[test]
    fn special_values_survive() {
        let values = [1e300, -1e300, f64::INFINITY, -0.0, 1e-300, f64::NAN, 65520.0];
        for (dtype, last) in [(DType::F16, f64::INFINITY), (DType::BF16, 65536.0)] {
            let tensor = converted(values.into_iter(), dtype, Sizes::from(7)).unwrap();
            let got: Vec<f64> = match dtype {
                DType::F16 => tensor.as_slice::<f16>().unwrap().iter().map(|v| v.to_f64()).collect(),
                _ => tensor.as_slice::<bf16>().unwrap().iter().map(|v| v.to_f64()).collect(),
            };
            assert_eq!(got[..3], [f64::INFINITY, f64::NEG_INFINITY, f64::INFINITY], "{dtype}");
            assert!(got[3] == 0.0 && got[3].is_sign_negative() && got[4] == 0.0, "{dtype}");
            assert!(got[5].is_nan() && got[6] == last, "{dtype}: {}", got[6]);
        }
    }
}
