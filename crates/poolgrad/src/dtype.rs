//! Element types: what a tensor can hold, and how rows of it become rows the kernels compute in.
//!
//! Kernels see only accumulator rows (`f32`, or `f64` for `f64` tensors). A row of a narrower type is widened
//! on the way in and narrowed once, to nearest even, on the way out.

mod index;
mod key;
mod once;
mod word;

use std::fmt;

use fearless_simd::{Select, Simd, SimdBase};
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use zerocopy::{FromBytes, Immutable, IntoBytes};

pub(crate) use self::index::Index;
pub(crate) use self::key::{Code, Key, all_unique};
use self::once::Once;
pub(crate) use self::word::{Word, words, words_mut};
use crate::simd::{self, RoundsBf16};

/// The element type of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DType {
    /// 32-bit IEEE 754 floating point.
    F32,
    /// 64-bit IEEE 754 floating point.
    F64,
    /// 16-bit IEEE 754 floating point.
    F16,
    /// 16-bit brain floating point: the upper half of an `f32`.
    BF16,
    /// 32-bit signed integer, for indices.
    I32,
    /// 64-bit signed integer, for indices.
    I64,
}

impl DType {
    /// Every element type.
    pub const ALL: [DType; 6] = [DType::F32, DType::F64, DType::F16, DType::BF16, DType::I32, DType::I64];
    /// The types that values and gradients can have.
    pub const FLOATS: [DType; 4] = [DType::F32, DType::F64, DType::F16, DType::BF16];
    /// The types that indices can have.
    pub const INDICES: [DType; 2] = [DType::I32, DType::I64];

    /// Bytes of one element.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            DType::F16 | DType::BF16 => 2,
            DType::F32 | DType::I32 => 4,
            DType::F64 | DType::I64 => 8,
        }
    }

    /// Whether values and gradients can have this type.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self, DType::F32 | DType::F64 | DType::F16 | DType::BF16)
    }

    /// The name used in problem lines, on the command line and in messages, such as `bf16`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            DType::F32 => "f32",
            DType::F64 => "f64",
            DType::F16 => "f16",
            DType::BF16 => "bf16",
            DType::I32 => "i32",
            DType::I64 => "i64",
        }
    }

    /// The type called `name`, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|dtype| dtype.name() == name)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A Rust type that is the element of a tensor: `f32`, `f64`, [`half::f16`], [`half::bf16`], `i32`, `i64`.
pub trait Element:
    sealed::Sealed + Copy + Default + Send + Sync + fmt::Debug + FromBytes + IntoBytes + Immutable + 'static
{
    /// The matching [`DType`].
    const DTYPE: DType;
}

/// A type that sums can be formed in.
pub(crate) trait Sum: Element {
    /// Positive zero, where every sum starts.
    const ZERO: Self;
    /// A term that changes no sum.
    const NOTHING: Self;
    /// Adds a term; whether this type can hold the sum.
    fn add_term(&mut self, term: Self) -> bool;
    /// The same without a branch: for where windows overlap, so that nobody can tell which sums are taken.
    #[inline(always)]
    fn add_term_if_free(&mut self, term: Self) -> bool {
        self.add_term(term)
    }
    /// Whether it always can.
    const TAKES_ALL: bool;
    /// The number that its bits are.
    type Word: Word;
    /// The type that can.
    type Wide: Accumulator;
    /// Writes each of `row` exactly into `wide`. Both have the same length.
    fn widen_terms(row: &[Self], wide: &mut [Self::Wide]);
    /// Rounds each of `wide` to nearest even into `row`. Both have the same length.
    fn round_terms(wide: &[Self::Wide], row: &mut [Self]);
}

/// The arithmetic of sums: `f32`, and `f64` for `f64` tensors.
pub(crate) trait Accumulator:
    Sum
    + Summed<Acc = Self>
    + PartialOrd
    + std::ops::Add<Output = Self>
    + std::ops::AddAssign
    + std::ops::Mul<Output = Self>
    + std::ops::Div<Output = Self>
{
    /// A vector of these, as wide as the registers of the level.
    type Vector<S: Simd>: SimdBase<S, Element = Self, ByteVector = S::u8s>;
    /// Adds to each of `sums` its term, if its code is that of `here`.
    fn add_where<S: Simd>(
        sums: Self::Vector<S>,
        terms: Self::Vector<S>,
        codes: <Self::Word as Word>::Vector<S>,
        here: <Self::Word as Word>::Vector<S>,
    ) -> Self::Vector<S>;
    /// The nearest value to a count of elements.
    fn from_count(count: u64) -> Self;
}

/// An element that can be added up.
pub(crate) trait Summed: Element {
    /// The type that its sums are formed in.
    type Acc: Sum;
    /// Writes each of `row` exactly into `wide`. Both have the same length.
    fn widen(row: &[Self], wide: &mut [Self::Acc]);
    /// Rounds each of `wide` to nearest even into `row`. Both have the same length.
    fn narrow(wide: &[Self::Acc], row: &mut [Self]);
    /// [`Summed::narrow`] that leaves zeros, for the next sums to begin with: to clear them elsewhere would take another round through
    /// the cache.
    #[inline(always)]
    fn drain(wide: &mut [Self::Acc], row: &mut [Self]) {
        Self::narrow(wide, row);
        wide.fill(Self::Acc::ZERO);
    }
    /// [`Summed::widen`] of as many as fill a cache line, in registers: where that is no loop, and the level has instructions for it.
    #[inline(always)]
    fn widen_line<S: Simd>(_: S, _: &[Self; 32]) -> Option<[Self::Acc; 32]> {
        None
    }
    /// [`Summed::narrow`] of as many as fill a cache line, in registers: for 16-bit elements, where the level has instructions for it.
    #[inline(always)]
    fn narrow_line<S: Simd>(_: S, _: Option<RoundsBf16>, _: &[Self::Acc; 32]) -> Option<[Self; 32]> {
        None
    }
    /// `row` itself where no widening is needed.
    fn as_wide(row: &[Self]) -> Option<&[Self::Acc]>;
    /// `row` itself as a place for sums, where no narrowing is needed.
    fn as_wide_mut(row: &mut [Self]) -> Option<&mut [Self::Acc]>;
    /// `wide` itself where no narrowing is needed.
    fn from_wide(wide: &[Self::Acc]) -> Option<&[Self]>;
}

/// An element that values and gradients can have.
pub(crate) trait Float: Summed<Acc: Accumulator> {
    /// The same element where sums have at most one term.
    type Once: Summed;
    /// What elements are compared by.
    type Key: Key;
    /// `row` itself where its elements are their own keys.
    fn as_keys(row: &[Self]) -> Option<&[Self::Key]>;
    /// Writes the key of each of `row` into `keys`; returns whether any is not a number. Both have the same length.
    fn put_keys(row: &[Self], keys: &mut [Self::Key]) -> bool;
    /// The key of a number.
    fn key(self) -> Self::Key;
    /// What shows whether some of several elements are not numbers, and possibly even if all are.
    type Trace: Copy;
    fn trace(self) -> Self::Trace;
    fn join(a: Self::Trace, b: Self::Trace) -> Self::Trace;
    fn shows_nan(trace: Self::Trace) -> bool;
    /// Writes an element for each of `keys` into `row`: the only one, or one of several. Both have the same length.
    fn put_values(keys: &[Self::Key], row: &mut [Self]);
}

macro_rules! elements {
    ($($type:ty => $dtype:ident),*) => {$(
        impl sealed::Sealed for $type {}
        impl Element for $type {
            const DTYPE: DType = DType::$dtype;
        }
    )*};
}
elements!(f32 => F32, f64 => F64, f16 => F16, bf16 => BF16, i32 => I32, i64 => I64);

macro_rules! accumulators {
    ($($type:ty => $word:ty, $vector:ident, $words:ident);*) => {$(
        impl Sum for $type {
            const ZERO: Self = 0.0;
            // Negative zero leaves even positive zero as it is.
            const NOTHING: Self = -0.0;
            #[inline(always)]
            fn add_term(&mut self, term: Self) -> bool {
                *self += term;
                true
            }
            const TAKES_ALL: bool = true;
            type Word = $word;
            type Wide = $type;
            #[inline(always)]
            fn widen_terms(row: &[Self], wide: &mut [Self]) {
                wide.copy_from_slice(row);
            }
            #[inline(always)]
            fn round_terms(wide: &[Self], row: &mut [Self]) {
                row.copy_from_slice(wide);
            }
        }
        impl Accumulator for $type {
            type Vector<S: Simd> = S::$vector;
            #[inline(always)]
            fn add_where<S: Simd>(
                sums: S::$vector,
                terms: S::$vector,
                codes: S::$words,
                here: S::$words,
            ) -> S::$vector {
                codes.simd_eq(here).select(sums + terms, sums)
            }
            #[inline(always)]
            fn from_count(count: u64) -> Self {
                count as $type
            }
        }
        impl Summed for $type {
            type Acc = $type;
            #[inline(always)]
            fn widen(row: &[Self], wide: &mut [Self]) {
                wide.copy_from_slice(row);
            }
            #[inline(always)]
            fn narrow(wide: &[Self], row: &mut [Self]) {
                row.copy_from_slice(wide);
            }
            #[inline(always)]
            fn as_wide(row: &[Self]) -> Option<&[Self]> {
                Some(row)
            }
            #[inline(always)]
            fn as_wide_mut(row: &mut [Self]) -> Option<&mut [Self]> {
                Some(row)
            }
            #[inline(always)]
            fn from_wide(wide: &[Self]) -> Option<&[Self]> {
                Some(wide)
            }
        }
    )*};
}
accumulators!(f32 => u32, f32s, u32s; f64 => u64, f64s, u64s);

impl Summed for f16 {
    type Acc = f32;
    #[inline(always)]
    fn widen(row: &[Self], wide: &mut [f32]) {
        if !simd::widen_f16(row, wide) {
            row.convert_to_f32_slice(wide);
        }
    }
    #[inline(always)]
    fn narrow(wide: &[f32], row: &mut [Self]) {
        if !simd::narrow_f16(wide, row) {
            row.convert_from_f32_slice(wide);
        }
    }
    #[inline(always)]
    fn drain(wide: &mut [f32], row: &mut [Self]) {
        if !simd::drain_f16(wide, row) {
            row.convert_from_f32_slice(wide);
            wide.fill(0.0);
        }
    }
    #[inline(always)]
    fn widen_line<S: Simd>(simd: S, row: &[Self; 32]) -> Option<[f32; 32]> {
        simd::widen_f16_line(simd, row)
    }
    #[inline(always)]
    fn narrow_line<S: Simd>(simd: S, _: Option<RoundsBf16>, wide: &[f32; 32]) -> Option<[Self; 32]> {
        simd::narrow_f16_line(simd, wide)
    }
    #[inline(always)]
    fn as_wide(_: &[Self]) -> Option<&[f32]> {
        None
    }
    #[inline(always)]
    fn as_wide_mut(_: &mut [Self]) -> Option<&mut [f32]> {
        None
    }
    #[inline(always)]
    fn from_wide(_: &[f32]) -> Option<&[Self]> {
        None
    }
}

impl Summed for bf16 {
    type Acc = f32;
    // `bf16` is the upper half of an `f32`, so whole rows convert with shifts and adds, which vectorise at every
    // ISA level; `half` has no vector path for it.
    #[inline(always)]
    fn widen(row: &[Self], wide: &mut [f32]) {
        for (wide, value) in wide.iter_mut().zip(row) {
            *wide = f32::from_bits(u32::from(value.to_bits()) << 16);
        }
    }
    #[inline(always)]
    fn narrow(wide: &[f32], row: &mut [Self]) {
        if simd::narrow_bf16(wide, row) {
            return;
        }
        for (value, wide) in row.iter_mut().zip(wide) {
            let bits = wide.to_bits();
            // Ties go to the even neighbour: add half of the dropped place, less one when the kept part is even.
            let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1));
            // A NaN stays one: its sign and upper payload are kept and the quiet bit is set.
            let upper = if wide.is_nan() { bits | 0x0040_0000 } else { rounded };
            *value = bf16::from_bits((upper >> 16) as u16);
        }
    }
    #[inline(always)]
    fn drain(wide: &mut [f32], row: &mut [Self]) {
        if !simd::drain_bf16(wide, row) {
            Self::narrow(wide, row);
            wide.fill(0.0);
        }
    }
    #[inline(always)]
    fn narrow_line<S: Simd>(simd: S, rounds: Option<RoundsBf16>, wide: &[f32; 32]) -> Option<[Self; 32]> {
        simd::narrow_bf16_line(simd, rounds, wide)
    }
    #[inline(always)]
    fn as_wide(_: &[Self]) -> Option<&[f32]> {
        None
    }
    #[inline(always)]
    fn as_wide_mut(_: &mut [Self]) -> Option<&mut [f32]> {
        None
    }
    #[inline(always)]
    fn from_wide(_: &[f32]) -> Option<&[Self]> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every 16-bit pattern with its neighbours in `f32`, by `bits` of the lower half that is rounded away.
    fn f32_near(bits: u32) -> Vec<f32> {
        let half = 1 << (bits - 1);
        let lower = [0, 1, half - 1, half, half + 1, 2 * half - 1];
        (0..1u32 << (32 - bits))
            .flat_map(|upper| lower.map(|lower| f32::from_bits(upper << bits | lower)))
            .collect()
    }

    /// Rows of each length go by other ways.
    fn rows_agree<T: Summed<Acc = f32>>(wide: &[f32], narrow_one: fn(f32) -> T, widen_one: fn(T) -> f32) {
        for len in [5, 13, 16, 21, 32, 75, 1024] {
            for wide in wide.chunks(len) {
                let mut row = vec![T::default(); wide.len()];
                T::narrow(wide, &mut row);
                for (&wide, &got) in wide.iter().zip(&row) {
                    let want = narrow_one(wide);
                    let bits = [got, want].map(|value| widen_one(value).to_bits());
                    assert_eq!(bits[0], bits[1], "narrowing {wide:?} ({:#x}) of {len}", wide.to_bits());
                }
                let (mut sums, mut drained) = (wide.to_vec(), vec![T::default(); wide.len()]);
                T::drain(&mut sums, &mut drained);
                assert_eq!(drained.as_bytes(), row.as_bytes(), "draining {wide:?}");
                assert!(sums.iter().all(|sum| sum.to_bits() == 0), "draining {wide:?} leaves {sums:?}");
                let mut back = vec![0.0; row.len()];
                T::widen(&row, &mut back);
                for (&value, wide) in row.iter().zip(back) {
                    assert_eq!(wide.to_bits(), widen_one(value).to_bits(), "widening to {wide:?} of {len}");
                }
            }
        }
    }

    #[test]
    fn bf16_rows_agree_with_half() {
        rows_agree(&f32_near(16), bf16::from_f32, bf16::to_f32);
    }

    #[test]
    fn f16_rows_agree_with_half() {
        // Thirteen bits are rounded away of normal numbers, and the boundaries of the others are among these.
        rows_agree(&f32_near(13), f16::from_f32, f16::to_f32);
    }

    #[test]
    fn names_round_trip() {
        for dtype in DType::ALL {
            assert_eq!(DType::from_name(dtype.name()), Some(dtype));
        }
        assert_eq!(DType::from_name("f8"), None);
    }
}
