//! Sums of at most one term: 16-bit elements that need no wider type to be added up in.
//!
//! Where windows do not overlap, no two outputs have the same maximum, and each gradient reaches `grad_input` as it is.
//! So the sums can be formed in `grad_input` itself, with half the memory and no rounding. That no two terms meet is not
//! taken for granted: a second term that is not zero is refused, and the caller counts it or adds it elsewhere.

use half::{bf16, f16};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use super::{DType, Element, Sum, Summed, sealed};

/// A 16-bit element, as a sum that takes one term.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable)]
#[repr(transparent)]
pub(crate) struct Once<T>(T);

/// A 16-bit floating-point type, by its bits.
pub(crate) trait Bits: Summed<Acc = f32> {
    /// Those of infinity, which only NaNs exceed, and the one that a quiet NaN has.
    const INFINITY: u16;
    const QUIET: u16;
    /// Positive zero.
    const ZERO: Self;
    fn bits(self) -> u16;
    fn of_bits(bits: u16) -> Self;
}

macro_rules! bits {
    ($($type:ty => $quiet:literal),*) => {$(
        impl Bits for $type {
            const INFINITY: u16 = <$type>::INFINITY.to_bits();
            const QUIET: u16 = $quiet;
            const ZERO: Self = <$type>::ZERO;
            #[inline(always)]
            fn bits(self) -> u16 {
                self.to_bits()
            }
            #[inline(always)]
            fn of_bits(bits: u16) -> Self {
                Self::from_bits(bits)
            }
        }
    )*};
}
bits!(f16 => 0x0200, bf16 => 0x0040);

impl<T> sealed::Sealed for Once<T> {}

impl<T: Bits> Element for Once<T> {
    const DTYPE: DType = T::DTYPE;
}

impl<T: Bits> Sum for Once<T> {
    const ZERO: Self = Once(T::ZERO);
    const NOTHING: Self = Self::ZERO;

    #[inline(always)]
    fn add_term(&mut self, term: Self) -> bool {
        if self.0.bits() == 0 {
            *self = term;
            true
        } else {
            term.0.bits() == 0
        }
    }

    #[inline(always)]
    fn add_term_if_free(&mut self, term: Self) -> bool {
        let (sum, new) = (self.0.bits(), term.0.bits());
        self.0 = T::of_bits(if sum == 0 { new } else { sum });
        (sum == 0) | (new == 0)
    }

    const TAKES_ALL: bool = false;
    type Word = u16;
    type Wide = f32;

    #[inline(always)]
    fn widen_terms(row: &[Self], wide: &mut [f32]) {
        let mut elements = [T::ZERO; AT_ONCE];
        for (row, wide) in row.chunks(AT_ONCE).zip(wide.chunks_mut(AT_ONCE)) {
            let elements = &mut elements[..row.len()];
            elements.iter_mut().zip(row).for_each(|(element, term)| *element = term.0);
            T::widen(elements, wide);
        }
    }

    #[inline(always)]
    fn round_terms(wide: &[f32], row: &mut [Self]) {
        let mut elements = [T::ZERO; AT_ONCE];
        for (wide, row) in wide.chunks(AT_ONCE).zip(row.chunks_mut(AT_ONCE)) {
            let elements = &mut elements[..row.len()];
            T::narrow(wide, elements);
            row.iter_mut().zip(elements).for_each(|(term, element)| *term = Once(*element));
        }
    }
}

/// The elements that are converted at a time.
const AT_ONCE: usize = 64;

impl<T: Bits> Summed for Once<T> {
    type Acc = Self;

    /// Each element as it would be after it was added to +0.0 and rounded: -0.0 becomes +0.0, and a NaN quiet.
    #[inline(always)]
    fn widen(row: &[Self], wide: &mut [Self]) {
        for (wide, value) in wide.iter_mut().zip(row) {
            let bits = value.0.bits();
            let magnitude = bits & 0x7fff;
            let bits = if magnitude > T::INFINITY { bits | T::QUIET } else { bits };
            *wide = Once(T::of_bits(if magnitude == 0 { 0 } else { bits }));
        }
    }

    #[inline(always)]
    fn narrow(wide: &[Self], row: &mut [Self]) {
        row.copy_from_slice(wide);
    }

    #[inline(always)]
    fn as_wide(_: &[Self]) -> Option<&[Self]> {
        None
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What becomes of one gradient by way of a sum in `f32`, for every bit pattern.
    fn one_term_is_what_f32_makes_of_it<T: Bits + Summed<Acc = f32>>() {
        let all: Vec<T> = (0..=u16::MAX).map(T::of_bits).collect();
        let mut wide = vec![0.0; all.len()];
        T::widen(&all, &mut wide);
        wide.iter_mut().for_each(|value| *value += 0.0);
        let mut want = all.clone();
        T::narrow(&wide, &mut want);
        let row: Vec<Once<T>> = all.iter().map(|&value| Once(value)).collect();
        let mut terms = row.clone();
        Once::widen(&row, &mut terms);
        for ((term, want), value) in terms.iter().zip(&want).zip(&all) {
            let mut sum = Once::ZERO;
            assert!(sum.add_term(*term));
            assert_eq!(sum.0.bits(), want.bits(), "{:#06x}", value.bits());
        }
    }

    #[test]
    fn one_f16_is_what_f32_makes_of_it() {
        one_term_is_what_f32_makes_of_it::<f16>();
    }

    #[test]
    fn one_bf16_is_what_f32_makes_of_it() {
        one_term_is_what_f32_makes_of_it::<bf16>();
    }

    #[test]
    fn a_second_term_is_refused_unless_one_is_zero() {
        let term = |bits| Once(bf16::of_bits(bits));
        let mut sum = Once::ZERO;
        assert!(sum.add_term(Once::NOTHING) && sum.add_term(term(0x3f80)) && sum.add_term(Once::NOTHING));
        assert!(!sum.add_term(term(0x3f80)));
        assert_eq!(sum.0.bits(), 0x3f80);
    }

    #[test]
    fn a_branch_changes_nothing() {
        let bits = [0, 0x3f80, 0xbf80, 0x7fc0, 0x0001];
        for (sum, new) in bits.into_iter().flat_map(|sum| bits.map(|new| (sum, new))) {
            let [mut with, mut without] = [Once(bf16::of_bits(sum)); 2];
            let new = Once(bf16::of_bits(new));
            assert_eq!(with.add_term(new), without.add_term_if_free(new), "{sum:#06x}");
            assert_eq!(with.0.bits(), without.0.bits(), "{sum:#06x}");
        }
    }
}
