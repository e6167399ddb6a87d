//! Writing rows past the cache: the unsafe room of write-out.
//!
//! An output that is larger than the last-level cache is not read again before it has left the cache. An ordinary
//! store would first fetch each line from memory, to fill the part that is not written; a non-temporal store of a
//! whole line does not, and so moves half the bytes. Below the cache's size it would only take the output away from
//! whoever reads it next. On architectures without such stores rows are copied.

use zerocopy::{Immutable, IntoBytes};

/// Copies `from` to `to`, whose cache lines do not stay in the cache where the machine can avoid it.
///
/// # Panics
/// If the lengths differ.
#[inline]
pub(crate) fn copy<T: Copy + IntoBytes + Immutable>(from: &[T], to: &mut [T]) {
    assert_eq!(from.len(), to.len(), "rows of equal length");
    imp::copy(from, to);
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

    /// A cache line: the unit in which non-temporal stores leave the core.
    const LINE: usize = 64;
    /// One store. SSE2 is part of every x86-64; four such stores fill a line's write-combining buffer as well as
    /// one wide store does.
    const LANE: usize = size_of::<__m128i>();

    pub(super) fn copy<T: Copy + IntoBytes + Immutable>(from: &[T], to: &mut [T]) {
        // Only whole lines profit. The lines shared with neighbours, at both ends, are written ordinarily.
        let skew = to.as_ptr().addr() % LINE;
        let head = if skew == 0 { 0 } else { (LINE - skew) / size_of::<T>() }.min(to.len());
        let n_lines = (to.len() - head) * size_of::<T>() / LINE;
        let body = n_lines * LINE / size_of::<T>();
        let (from_head, from_rest) = from.split_at(head);
        let (to_head, to_rest) = to.split_at_mut(head);
        let (from_body, from_tail) = from_rest.split_at(body);
        let (to_body, to_tail) = to_rest.split_at_mut(body);
        to_head.copy_from_slice(from_head);
        to_tail.copy_from_slice(from_tail);
        let from = from_body.as_ptr().cast::<__m128i>();
        let to = to_body.as_mut_ptr().cast::<__m128i>();
        for lane in 0..n_lines * (LINE / LANE) {
            // SAFETY: `from_body` and `to_body` are both exactly `n_lines * LINE` bytes long, so lane `lane` of each
            // lies inside its slice; the load needs no alignment.
            let value = unsafe { _mm_loadu_si128(from.wrapping_add(lane)) };
            // SAFETY: as above, and `to_body` begins on a line boundary: element sizes divide `LINE`, so after
            // `head` elements the address is a multiple of it.
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

    pub(super) fn copy<T: Copy + IntoBytes + Immutable>(from: &[T], to: &mut [T]) {
        to.copy_from_slice(from);
    }

    pub(super) fn finish() {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_every_element_at_every_alignment() {
        fn check<T: Copy + IntoBytes + Immutable + Default + PartialEq + std::fmt::Debug>(value: fn(usize) -> T) {
            let from: Vec<T> = (0..300).map(value).collect();
            for start in 0..70 {
                for len in [0, 1, 15, 16, 17, 63, 64, 65, 200] {
                    let mut to = [T::default(); 300];
                    copy(&from[..len], &mut to[start..start + len]);
                    finish();
                    assert_eq!(&to[start..start + len], &from[..len]);
                    assert!(to[..start].iter().chain(&to[start + len..]).all(|v| *v == T::default()));
                }
            }
        }
        check(|i| i as u16 + 1);
        check(|i| i as f32 + 1.0);
        check(|i| i as i64 + 1);
    }

    #[test]
    #[should_panic(expected = "equal length")]
    fn lengths_must_agree() {
        copy(&[1u32; 3], &mut [0; 4]);
    }
}
