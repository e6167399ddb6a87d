//! Keys: what elements are compared by, and codes, which tell where in a window they lie.
//!
//! Floating-point numbers are their own keys. Those of 16 bits have integers of 16 bits, which are in the same order and
//! compare twice as many at a time as if they were widened: the size of the number, with its sign.

use half::{bf16, f16};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use super::once::Bits;
use super::{Float, Once};

/// What elements are compared by: of two numbers, the larger has the larger key, and equal ones have equal keys.
pub(crate) trait Key: Copy + PartialOrd + FromBytes + IntoBytes + Immutable + 'static {
    /// Codes as wide as keys, so that vectors hold as many of both; or of 32 bits.
    type Code: Code;
    /// No key of a number is less.
    const LEAST: Self;
    /// Whether the element is not a number.
    fn is_nan(self) -> bool;
    /// Something that shows whether either is not a number, and possibly even if both are numbers: their sum. Of keys that
    /// are made of elements, this is known already.
    fn sum(self, other: Self) -> Self;
    fn shows_nan(self) -> bool;
    /// Whether no other element has the same key.
    fn is_unique(self) -> bool;
}

/// Where in a window an element lies: numbers below `2^BITS`, to which as much can be added again.
pub(crate) trait Code: Copy + Ord + FromBytes + IntoBytes + Immutable + 'static {
    const BITS: u32;
    fn new(code: usize) -> Self;
    fn value(self) -> u32;
    /// The sum, which may wrap around if neither means anything.
    fn plus(self, other: Self) -> Self;
}

macro_rules! codes {
    ($($type:ty),*) => {$(
        impl Code for $type {
            const BITS: u32 = <$type>::BITS - 1;
            #[inline(always)]
            fn new(code: usize) -> Self {
                code as $type
            }
            #[inline(always)]
            fn value(self) -> u32 {
                u32::from(self)
            }
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
        }
    )*};
}
codes!(u16, u32);

impl Key for i16 {
    type Code = u16;
    const LEAST: Self = i16::MIN;
    #[inline(always)]
    fn is_nan(self) -> bool {
        self == NAN
    }
    #[inline(always)]
    fn sum(self, _: Self) -> Self {
        self
    }
    #[inline(always)]
    fn shows_nan(self) -> bool {
        false
    }
    /// Both zeros have one key, and all NaNs.
    #[inline(always)]
    fn is_unique(self) -> bool {
        (self != 0) & (self != NAN)
    }
}

/// Whether other elements than those that `keys` tell may have the same.
#[inline(always)]
pub(crate) fn all_unique<K: Key>(keys: &[K]) -> bool {
    !any(keys, |key| !key.is_unique())
}

/// Whether `is` holds for any key: by numbers as wide as keys, which become vectors where truth values do not.
#[inline(always)]
fn any<K: Key>(keys: &[K], is: impl Fn(K) -> bool) -> bool {
    let one = |key: &K| K::Code::new(usize::from(is(*key)));
    keys.iter().map(one).fold(K::Code::new(0), Ord::max) > K::Code::new(0)
}

/// The key of everything that is not a number.
const NAN: i16 = i16::MAX;

/// The key of the number with these bits.
#[inline(always)]
fn key_of(bits: u16) -> i16 {
    let sign = bits as i16 >> 15;
    (size_of_bits(bits) ^ sign).wrapping_sub(sign)
}

/// A number's bits without the sign.
#[inline(always)]
fn size_of_bits(bits: u16) -> i16 {
    (bits & 0x7fff) as i16
}

/// The bits of the number with this key.
#[inline(always)]
fn bits_of(key: i16) -> u16 {
    let sign = key >> 15;
    (key ^ sign).wrapping_sub(sign) as u16 | key as u16 & 0x8000
}

/// Writes the key of each of `row` into `keys`; returns whether any is not a number. Both have the same length.
#[inline(always)]
fn put_keys<T: Bits>(row: &[T], keys: &mut [i16]) -> bool {
    let mut largest = 0;
    for (key, value) in keys.iter_mut().zip(row) {
        *key = key_of(value.bits());
        largest = largest.max(size_of_bits(value.bits()));
    }
    let any_nan = largest > T::INFINITY as i16;
    if any_nan {
        put_nans(row, keys);
    }
    any_nan
}

#[cold]
#[inline(never)]
fn put_nans<T: Bits>(row: &[T], keys: &mut [i16]) {
    for (key, _) in keys.iter_mut().zip(row).filter(|(_, value)| size_of_bits(value.bits()) > T::INFINITY as i16) {
        *key = NAN;
    }
}

/// Writes the only element, or one of several, that has each of `keys` into `row`. Both have the same length.
#[inline(always)]
fn put_values<T: Bits>(keys: &[i16], row: &mut [T]) {
    for (value, &key) in row.iter_mut().zip(keys) {
        *value = T::of_bits(bits_of(key));
    }
}

macro_rules! by_size {
    ($($type:ty),*) => {$(
        impl Float for $type {
            type Once = Once<$type>;
            type Key = i16;
            type Trace = i16;
            #[inline(always)]
            fn key(self) -> i16 {
                key_of(self.bits())
            }
            #[inline(always)]
            fn trace(self) -> i16 {
                size_of_bits(self.bits())
            }
            #[inline(always)]
            fn join(a: i16, b: i16) -> i16 {
                a.max(b)
            }
            #[inline(always)]
            fn shows_nan(trace: i16) -> bool {
                trace > <$type as Bits>::INFINITY as i16
            }
            #[inline(always)]
            fn as_keys(_: &[Self]) -> Option<&[i16]> {
                None
            }
            #[inline(always)]
            fn put_keys(row: &[Self], keys: &mut [i16]) -> bool {
                put_keys(row, keys)
            }
            #[inline(always)]
            fn put_values(keys: &[i16], row: &mut [Self]) {
                put_values(keys, row);
            }
        }
    )*};
}
by_size!(f16, bf16);

macro_rules! by_value {
    ($($type:ty),*) => {$(
        impl Key for $type {
            type Code = u32;
            const LEAST: Self = <$type>::NEG_INFINITY;
            #[inline(always)]
            fn is_nan(self) -> bool {
                self != self
            }
            #[inline(always)]
            fn sum(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn shows_nan(self) -> bool {
                self != self
            }
            #[inline(always)]
            fn is_unique(self) -> bool {
                true
            }
        }
        impl Float for $type {
            type Once = $type;
            type Key = $type;
            type Trace = $type;
            #[inline(always)]
            fn key(self) -> $type {
                self
            }
            #[inline(always)]
            fn trace(self) -> $type {
                self
            }
            #[inline(always)]
            fn join(a: $type, b: $type) -> $type {
                a + b
            }
            #[inline(always)]
            fn shows_nan(trace: $type) -> bool {
                trace.is_nan()
            }
            #[inline(always)]
            fn as_keys(row: &[Self]) -> Option<&[Self]> {
                Some(row)
            }
            #[inline(always)]
            fn put_keys(row: &[Self], keys: &mut [Self]) -> bool {
                keys.copy_from_slice(row);
                any(row, Key::is_nan)
            }
            #[inline(always)]
            fn put_values(keys: &[Self], row: &mut [Self]) {
                row.copy_from_slice(keys);
            }
        }
    )*};
}
by_value!(f32, f64);

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys of every 16-bit pattern, against the numbers that these are.
    fn keys_agree<T: Float<Key = i16> + Bits>(widen: fn(T) -> f32) {
        let row: Vec<T> = (0..=u16::MAX).map(T::of_bits).collect();
        let mut keys = vec![0; row.len()];
        assert!(T::put_keys(&row, &mut keys), "some are not numbers");
        let mut back = row.clone();
        T::put_values(&keys, &mut back);
        let mut sorted = Vec::new();
        for ((value, key), back) in row.into_iter().zip(keys).zip(back) {
            let wide = widen(value);
            assert_eq!(key.is_nan(), wide.is_nan(), "{wide}");
            assert!(!key.is_unique() || back.bits() == value.bits(), "{wide} comes back as {}", widen(back));
            assert_eq!(key.is_unique(), !wide.is_nan() && wide != 0.0, "{wide}");
            if !wide.is_nan() {
                sorted.push((wide, key));
            }
        }
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (a, b) in sorted.iter().zip(&sorted[1..]) {
            assert_eq!(a.0.partial_cmp(&b.0), a.1.partial_cmp(&b.1), "{a:?} and {b:?}");
        }
        let numbers: Vec<T> = sorted.iter().map(|(_, key)| T::of_bits(bits_of(*key))).collect();
        assert!(!T::put_keys(&numbers, &mut vec![0; numbers.len()]), "all are numbers");
    }

    #[test]
    fn keys_of_16_bits_are_in_the_order_of_numbers() {
        keys_agree::<f16>(f16::to_f32);
        keys_agree::<bf16>(bf16::to_f32);
    }

    #[test]
    fn sums_show_what_is_not_a_number() {
        assert!(1.0f32.sum(f32::NAN).sum(2.0).shows_nan() && f64::NAN.sum(0.0).shows_nan());
        assert!(!1.0f32.sum(f32::INFINITY).sum(2.0).shows_nan());
    }
}
