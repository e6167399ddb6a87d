//! Writing rows past the cache: the unsafe room of write-out.
//!
//! An output that is larger than the last-level cache is not read again before it has left the cache. An ordinary
//! store would first fetch each line from memory, to fill the part that is not written; a non-temporal store of a
//! whole line does not, and so moves half the bytes. Below the cache's size it would only take the output away from
//! whoever reads it next. On architectures without such stores rows are copied.

use zerocopy::{Immutable, IntoBytes};

/// The bytes of a cache line: the unit in which non-temporal stores leave the core.
pub(crate) const LINE: usize = 64;

/// Copies whole lines from `from` to `to`, whose lines do not stay in the cache where the machine can avoid it.
///
/// # Panics
/// If the lengths differ, or `to` does not consist of whole cache lines.
#[inline(always)]
pub(crate) fn copy_lines<T: Copy + IntoBytes + Immutable>(from: &[T], to: &mut [T]) {
    let whole = size_of_val(to).is_multiple_of(LINE) && (to.is_empty() || to.as_ptr().addr().is_multiple_of(LINE));
    assert!(from.len() == to.len() && whole, "whole lines of equal length");
    imp::copy_lines(from, to);
}

/// Makes streamed rows visible to other threads in order with ordinary stores; each thread calls it when it is done.
#[inline]
pub(crate) fn finish() {
    imp::finish();
}

#[cfg(target_arch = "x86_64")]
mod imp {
    use super::{Immutable, IntoBytes};
    use core::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};

    #[inline(always)]
    pub(super) fn copy_lines<T: Copy + IntoBytes + Immutable>(from: &[T], to: &mut [T]) {
        // SSE2 is part of every x86-64; four of its stores fill a line's write-combining buffer as well as one wide
        // store does.
        let n_lanes = size_of_val(to) / size_of::<__m128i>();
        let from = from.as_ptr().cast::<__m128i>();
        let to = to.as_mut_ptr().cast::<__m128i>();
        for lane in 0..n_lanes {
            // SAFETY: both slices have the same length, a whole number of lanes (asserted by the caller), and `lane`
            // is below that number; the load needs no alignment.
            let value = unsafe { _mm_loadu_si128(from.wrapping_add(lane)) };
            // SAFETY: as above, and `to` begins on a line (asserted by the caller), so every lane of it is aligned.
            unsafe { _mm_stream_si128(to.wrapping_add(lane), value) };
        }
    }

    pub(super) fn finish() {
        // SAFETY: SSE is part of every x86-64.
        unsafe { _mm_sfence() };
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod imp {
    use super::{Immutable, IntoBytes};

    pub(super) fn copy_lines<T: Copy + IntoBytes + Immutable>(from: &[T], to: &mut [T]) {
        to.copy_from_slice(from);
    }

    pub(super) fn finish() {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A buffer whose elements lie on whole lines.
    #[repr(align(64))]
    struct Aligned([u16; 256]);

    #[test]
    fn copies_lines_from_any_alignment() {
        let from: Vec<u16> = (1..=400).collect();
        for start in 0..40 {
            for n_lines in 0..=4 {
                let len = n_lines * LINE / 2;
                let mut to = Aligned([0; 256]);
                copy_lines(&from[start..start + len], &mut to.0[32..32 + len]);
                finish();
                assert_eq!(&to.0[32..32 + len], &from[start..start + len]);
                assert!(to.0[..32].iter().chain(&to.0[32 + len..]).all(|&value| value == 0));
            }
        }
    }

    #[test]
    #[should_panic(expected = "whole lines")]
    fn parts_of_lines_are_refused() {
        copy_lines(&[1; 32], &mut Aligned([0; 256]).0[1..33]);
    }
}
