//! Single elements of every type: to and from `f64`, rounding once, and the garbage that fills gaps.

use poolgrad::half::{bf16, f16};
use poolgrad::{DType, Element};

/// An element that can be made from and turned into the `f64` of the reference.
pub(crate) trait Scalar: Element {
    /// A pattern that no filler and no computation makes: a NaN with a payload, or a number no index can be.
    const GARBAGE: Self;
    /// The nearest value, ties to even, in one rounding.
    fn nearest(value: f64) -> Self;
    /// The value itself, without rounding.
    fn wide(self) -> f64;
    /// The bits, in the low end.
    fn bits(self) -> u64;
    /// Whether the bits are equal, any NaN being as good as any other.
    fn same(self, other: Self) -> bool {
        self.bits() == other.bits() || (self.wide().is_nan() && other.wide().is_nan())
    }
}

/// `value` rounded to `f32` such that a second rounding to a type with at most 22 bits is right: an inexact result is
/// cut off and its last bit set, so that it can never look like a tie.
fn to_odd(value: f64) -> f32 {
    let near = value as f32;
    if near.is_nan() || f64::from(near) == value {
        return near;
    }
    let cut = if f64::from(near).abs() > value.abs() { near.to_bits() - 1 } else { near.to_bits() };
    f32::from_bits(cut | 1)
}

macro_rules! scalars {
    ($($type:ty, $garbage:expr, |$value:ident| $nearest:expr, |$own:ident| $wide:expr, |$raw:ident| $bits:expr;)*) => {$(
        impl Scalar for $type {
            const GARBAGE: Self = $garbage;
            fn nearest($value: f64) -> Self {
                $nearest
            }
            fn wide(self) -> f64 {
                let $own = self;
                $wide
            }
            fn bits(self) -> u64 {
                let $raw = self;
                $bits
            }
        }
    )*};
}

scalars! {
    f32, f32::from_bits(0x7fda_5a5a), |v| v as f32, |v| f64::from(v), |v| u64::from(v.to_bits());
    f64, f64::from_bits(0x7ffa_5a5a_5a5a_5a5a), |v| v, |v| v, |v| v.to_bits();
    f16, f16::from_bits(0x7e5a), |v| f16::from_f32(to_odd(v)), |v| f64::from(v.to_f32()), |v| u64::from(v.to_bits());
    bf16, bf16::from_bits(0x7fda), |v| bf16::from_f32(to_odd(v)), |v| f64::from(v.to_f32()), |v| u64::from(v.to_bits());
    i32, -0x5a5a_5a5a, |v| v as i32, |v| f64::from(v), |v| u64::from(v as u32);
    i64, -0x5a5a_5a5a_5a5a_5a5a, |v| v as i64, |v| v as f64, |v| v as u64;
}

/// Runs `$body` with `$type` naming the Rust type of `$dtype`.
macro_rules! with_element {
    ($dtype:expr, $type:ident => $body:expr) => {
        match $dtype {
            poolgrad::DType::F32 => {
                type $type = f32;
                $body
            }
            poolgrad::DType::F64 => {
                type $type = f64;
                $body
            }
            poolgrad::DType::F16 => {
                type $type = poolgrad::half::f16;
                $body
            }
            poolgrad::DType::BF16 => {
                type $type = poolgrad::half::bf16;
                $body
            }
            poolgrad::DType::I32 => {
                type $type = i32;
                $body
            }
            poolgrad::DType::I64 => {
                type $type = i64;
                $body
            }
            other => unreachable!("{other} is no element type that this crate knows"),
        }
    };
}
pub(crate) use with_element;

/// The smallest positive number of a type.
pub(crate) fn smallest(dtype: DType) -> f64 {
    with_element!(dtype, T => match dtype {
        DType::F64 => f64::from_bits(1),
        DType::F16 => f16::from_bits(1).wide(),
        DType::BF16 => bf16::from_bits(1).wide(),
        DType::F32 => f64::from(f32::from_bits(1)),
        _ => T::nearest(1.0).wide(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: the neighbours of the result, by exact distance in `f64`.
    #[test]
    fn narrowing_is_nearest_even() {
        let mut random = crate::Random::new(1);
        for _ in 0..20_000 {
            let upper = random.next_u64() as u16;
            // Around each boundary between two neighbours, off by far less than an f32 can show.
            for nudge in [-1e-12, 0.0, 1e-12] {
                let value = f16::from_bits(upper);
                let next = f16::from_bits(upper.wrapping_add(1));
                if value.is_finite() && next.is_finite() && upper != 0x7fff {
                    let (low, high) = (value.wide(), next.wide());
                    let middle = (low + high) / 2.0;
                    let got = f16::nearest(middle + middle.abs() * nudge);
                    let even = if upper & 1 == 0 { value } else { next };
                    let want = if nudge == 0.0 { even } else { nearer(middle + middle.abs() * nudge, value, next) };
                    assert!(got.same(want), "{middle} {nudge}: {got} {want}");
                }
            }
        }
        assert_eq!(bf16::nearest(1e300), bf16::INFINITY);
        assert_eq!(bf16::nearest(1.0 + 1.0 / 256.0 + 1e-15).wide(), 1.0 + 1.0 / 128.0);
        assert_eq!(bf16::nearest(1.0 + 1.0 / 256.0).wide(), 1.0);
    }

    fn nearer(moved: f64, value: f16, next: f16) -> f16 {
        if (moved - value.wide()).abs() < (moved - next.wide()).abs() { value } else { next }
    }
}
