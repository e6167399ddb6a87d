//! Writing rows past the cache, and asking for memory ahead: the unsafe room of write-out.
//!
//! An output that is larger than the last-level cache, or is pushed out of it by what is read, is not read again before it
//! has left the cache. An ordinary store would first fetch each line from memory, to fill the part that is not written; a
//! non-temporal store of a whole line does not, and so moves half the bytes. Below the cache's size it would only take the
//! output away from whoever reads it next.
//!
//! What a core has under way is limited too, and Intel's older ones hold a line of a non-temporal store longer than one that
//! is fetched: there few threads write faster by ordinary stores, if lines are asked for in time (see [`streaming_pays`]).
//! On architectures without such stores rows are copied, and nothing is asked for ahead.

use std::ops::Range;

use fearless_simd::Simd;
use zerocopy::{Immutable, IntoBytes};

/// How many threads of an older Intel processor are taken to write faster by ordinary stores. Each then moves a line twice, and more
/// of them would want more than six channels of memory give: then it is better to move half the bytes. (Two were measured.)
const FEW_THREADS: usize = 8;

/// Whether an output that leaves the cache anyway should be written past it by this many threads.
///
/// One core of a Cascade Lake at 2.5 GHz writes 6.4 GB/s past the cache, and 9.5 GB/s by ordinary stores to lines that it has
/// asked for. One of a Granite Rapids at 2.6 GHz writes 24 and 15 GB/s, two 47 and 28; of a Zen 4, past the cache is faster too.
pub(crate) fn streaming_pays(n_threads: usize) -> bool {
    n_threads > FEW_THREADS || imp::intel_stores_lines() != Some(false)
}

/// Whether a few kilobytes at a time should be written past the cache, with other work in between that goes on meanwhile.
///
/// On a Granite Rapids gradients so take 0.85 to 1.03 of the time. It was not tried elsewhere; on a Zen 4, ordinary stores among those
/// past the cache were slow.
pub(crate) fn streaming_by_rows_pays() -> bool {
    imp::intel_stores_lines() == Some(true)
}

/// The bytes of a cache line: the unit in which non-temporal stores leave the core.
pub(crate) const LINE: usize = 64;

/// Copies whole lines from `from` to `to`, whose lines do not stay in the cache where the machine can avoid it.
///
/// # Panics
/// If the lengths differ, or `to` does not consist of whole cache lines.
#[inline(always)]
fn copy_lines<T: Copy + IntoBytes + Immutable>(from: &[T], to: &mut [T]) {
    assert_whole_lines(from, to);
    imp::copy_lines(from, to);
}

#[inline(always)]
fn assert_whole_lines<T>(from: &[T], to: &[T]) {
    let whole = size_of_val(to).is_multiple_of(LINE) && (to.is_empty() || to.as_ptr().addr().is_multiple_of(LINE));
    assert!(from.len() == to.len() && whole, "whole lines of equal length");
}

/// The part of `row` that is whole lines.
#[inline(always)]
pub(crate) fn whole_lines<T>(row: &[T]) -> Range<usize> {
    let per_line = LINE / size_of::<T>();
    let skew = row.as_ptr().addr() % LINE / size_of::<T>();
    let start = if skew == 0 { 0 } else { (per_line - skew).min(row.len()) };
    start..row.len() - (row.len() - start) % per_line
}

/// Copies `from` to `to`, whole lines past the cache, each by one store where the level has such: what waits to be stored
/// takes the fewest places then, and what comes behind it can go on.
///
/// # Panics
/// If the lengths differ.
#[inline(always)]
pub(crate) fn copy_past<S: Simd, T: Copy + IntoBytes + Immutable>(simd: S, from: &[T], to: &mut [T]) {
    assert_eq!(from.len(), to.len(), "as many places as elements");
    let Range { start, end } = whole_lines(to);
    if start > 0 {
        to[..start].copy_from_slice(&from[..start]);
    }
    let (lines, to_lines) = (&from[start..end], &mut to[start..end]);
    assert_whole_lines(lines, to_lines);
    imp::copy_lines_by(simd, lines, to_lines);
    if end < to.len() {
        to[end..].copy_from_slice(&from[end..]);
    }
}

/// The most elements of a cache line.
const LINE_ELEMENTS: usize = LINE / size_of::<u16>();

/// The first `len` elements of the line that begins at `line`, not yet written.
pub(crate) struct Pending<T> {
    line: *mut T,
    elements: [T; LINE_ELEMENTS],
    len: usize,
}

impl<T: Copy + Default + IntoBytes + Immutable> Pending<T> {
    /// Nothing pending; `origin` is any pointer of the output.
    pub(crate) fn new(origin: *mut T) -> Self {
        Self { line: origin, elements: [T::default(); LINE_ELEMENTS], len: 0 }
    }

    /// Writes `from` at `to`: whole lines past the cache, and the part of a line at the end only when the rest of the
    /// line comes or the tile is done.
    ///
    /// An ordinary store to a line that is not in the cache waits for memory, and the streaming stores behind it wait
    /// too; so there should be few of them, and not two at the ends of every row.
    ///
    /// # Safety
    /// `to` must point to as many elements as `from` has, aligned and this tile's alone for as long as it lives, by
    /// way of a pointer that may be used for all of the tile.
    #[inline(always)]
    pub(crate) unsafe fn write(&mut self, mut from: &[T], mut to: *mut T) {
        let per_line = LINE / size_of::<T>();
        if self.len > 0 && self.line.wrapping_add(self.len) == to {
            let n = from.len().min(per_line - self.len);
            self.elements[self.len..self.len + n].copy_from_slice(&from[..n]);
            self.len += n;
            (from, to) = (&from[n..], to.wrapping_add(n));
            if self.len < per_line {
                return;
            }
            // SAFETY: the line consists of elements that were left pending by a call before and of the first of this
            // one's, all of which the callers vouch for.
            let line = unsafe { std::slice::from_raw_parts_mut(self.line, per_line) };
            copy_lines(&self.elements[..per_line], line);
            self.len = 0;
        }
        // SAFETY: the callers vouch for what is pending, as for the line above.
        unsafe { self.flush() };
        let skew = to.addr() % LINE / size_of::<T>();
        let head = if skew == 0 { 0 } else { (per_line - skew).min(from.len()) };
        let body = (from.len() - head) / per_line * per_line;
        // SAFETY: `head + body` is at most the length of `from`, so the caller vouches for these elements.
        let row = unsafe { std::slice::from_raw_parts_mut(to, head + body) };
        let (row_head, row_body) = row.split_at_mut(head);
        row_head.copy_from_slice(&from[..head]);
        copy_lines(&from[head..head + body], row_body);
        let rest = &from[head + body..];
        self.line = to.wrapping_add(head + body);
        self.elements[..rest.len()].copy_from_slice(rest);
        self.len = rest.len();
    }

    /// Writes what is pending.
    ///
    /// # Safety
    /// The elements that [`Pending::write`] was handed must still be this tile's alone.
    #[inline(always)]
    pub(crate) unsafe fn flush(&mut self) {
        // SAFETY: `write` left these elements when it was handed the places that they belong to.
        let line = unsafe { std::slice::from_raw_parts_mut(self.line, self.len) };
        line.copy_from_slice(&self.elements[..self.len]);
        self.len = 0;
    }
}

/// Asks for the line that is `ahead` elements behind `element`, which will be read soon.
#[inline(always)]
pub(crate) fn fetch_ahead<T>(element: &T, ahead: usize) {
    imp::fetch((&raw const *element).wrapping_add(ahead).cast());
}

/// Asks for `n` lines from `origin` on, which will be read soon.
#[inline(always)]
pub(crate) fn fetch_lines<T>(origin: *const T, n: usize) {
    (0..n).for_each(|line| imp::fetch(origin.cast::<i8>().wrapping_add(line * LINE)));
}

/// How far ahead of what is written lines are asked for. The processor's own guesses end with each page of four kilobytes.
const CLAIMED_AHEAD: usize = 2 << 10;

/// Asks for the lines behind those of `row`, at some distance, which will be written soon: where rows are written one after
/// the other, as many as each takes.
#[inline(always)]
pub(crate) fn claim_behind<T>(row: &[T]) {
    claim_lines(row.as_ptr().wrapping_byte_add(CLAIMED_AHEAD), row.len());
}

/// Asks for the lines of `n` elements from `origin` on, which will be written soon.
#[inline(always)]
pub(crate) fn claim_lines<T>(origin: *const T, n: usize) {
    let origin = origin.cast::<i8>();
    (0..n * size_of::<T>()).step_by(LINE).for_each(|at| imp::claim(origin.wrapping_add(at)));
}

/// Makes streamed rows visible to other threads in order with ordinary stores; each thread calls it when it is done.
#[inline]
pub(crate) fn finish() {
    imp::finish();
}

#[cfg(target_arch = "x86_64")]
mod imp {
    use super::{Immutable, IntoBytes, LINE, Simd};
    use core::arch::asm;
    use core::arch::x86_64::{
        __cpuid, __cpuid_count, __m128i, __m512i, _MM_HINT_T0, _mm_loadu_si128, _mm_prefetch, _mm_sfence,
        _mm_stream_si128, _mm512_loadu_si512, _mm512_stream_si512,
    };
    use std::sync::OnceLock;

    /// Of an Intel processor, whether it is of the generations that store whole lines directly (`movdir64b`).
    pub(super) fn intel_stores_lines() -> Option<bool> {
        /// The bit of that instruction in the fourth register of leaf 7.
        const STORES_LINES: u32 = 1 << 28;
        static STORES: OnceLock<Option<bool>> = OnceLock::new();
        *STORES.get_or_init(|| {
            // SAFETY: every x86-64 has the instruction, and knows no less than the leaves that it says it does. (Newer
            // compilers know that, and need no block.)
            #[allow(unused_unsafe)]
            let (vendor, features) = unsafe { (__cpuid(0), __cpuid_count(7, 0)) };
            let name = [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes);
            let stores_lines = vendor.eax >= 7 && features.ecx & STORES_LINES != 0;
            (name.as_flattened() == b"GenuineIntel").then_some(stores_lines)
        })
    }

    #[inline(always)]
    pub(super) fn copy_lines<T: Copy + IntoBytes + Immutable>(from: &[T], to: &mut [T]) {
        // SSE2 is part of every x86-64; four of its stores fill a line's write-combining buffer as well as one wide
        // store does.
        const LANES: usize = LINE / size_of::<__m128i>();
        let n_lines = size_of_val(to) / LINE;
        let from = from.as_ptr().cast::<__m128i>();
        let to = to.as_mut_ptr().cast::<__m128i>();
        let copy_line = |line: usize| {
            for lane in line * LANES..(line + 1) * LANES {
                // SAFETY: both slices have the same length, a whole number of lines (asserted by the caller), and `line`
                // is below that number; the load needs no alignment.
                let value = unsafe { _mm_loadu_si128(from.wrapping_add(lane)) };
                // SAFETY: as above, and `to` begins on a line (asserted by the caller), so every lane of it is aligned.
                unsafe { _mm_stream_si128(to.wrapping_add(lane), value) };
            }
        };
        if is_better_descending(from.addr(), to.addr()) {
            (0..n_lines).rev().for_each(copy_line);
        } else {
            (0..n_lines).for_each(copy_line);
        }
    }

    /// Whether stores are just ahead of loads, as far as a processor sees at first.
    ///
    /// Processors first compare the last twelve bits of addresses, and let a load wait for a store that has not left yet and
    /// agrees in these. Descending puts the stores behind.
    #[inline(always)]
    fn is_better_descending(from: usize, to: usize) -> bool {
        to.wrapping_sub(from) % 4096 < 512
    }

    /// As [`copy_lines`], in stores of whole lines where the level has such.
    #[inline(always)]
    pub(super) fn copy_lines_by<S: Simd, T: Copy + IntoBytes + Immutable>(simd: S, from: &[T], to: &mut [T]) {
        if simd.level().as_avx512().is_none() {
            return copy_lines(from, to);
        }
        let n_lines = size_of_val(to) / LINE;
        let from = from.as_ptr().cast::<__m512i>();
        let to = to.as_mut_ptr().cast::<__m512i>();
        let descends = is_better_descending(from.addr(), to.addr());
        for i in 0..n_lines {
            let line = if descends { n_lines - 1 - i } else { i };
            // SAFETY: the level proves that the processor has AVX-512. As in `copy_lines`, both slices have the same length, a whole
            // number of lines, and `line` is below that number; the load needs no alignment.
            let value = unsafe { _mm512_loadu_si512(from.wrapping_add(line)) };
            // SAFETY: as above, and `to` begins on a line (asserted by the caller).
            unsafe { _mm512_stream_si512(to.wrapping_add(line), value) };
        }
    }

    #[inline(always)]
    pub(super) fn fetch(at: *const i8) {
        // SAFETY: SSE is part of every x86-64, and this is a hint: an address that cannot be read is no error.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at) };
    }

    #[inline(always)]
    pub(super) fn claim(at: *const i8) {
        // SAFETY: a hint: an address that cannot be written is no error, and a processor that does not know it does nothing.
        // (The intrinsic of this name needs a feature that levels do not name.)
        unsafe { asm!("prefetchw byte ptr [{}]", in(reg) at.addr(), options(nomem, nostack, preserves_flags)) };
    }

    pub(super) fn finish() {
        // SAFETY: SSE is part of every x86-64.
        unsafe { _mm_sfence() };
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod imp {
    use super::{Immutable, IntoBytes, Simd};

    pub(super) fn copy_lines<T: Copy + IntoBytes + Immutable>(from: &[T], to: &mut [T]) {
        to.copy_from_slice(from);
    }

    pub(super) fn copy_lines_by<S: Simd, T: Copy + IntoBytes + Immutable>(_: S, from: &[T], to: &mut [T]) {
        copy_lines(from, to);
    }

    pub(super) fn intel_stores_lines() -> Option<bool> {
        None
    }

    pub(super) fn fetch(_: *const i8) {}

    pub(super) fn claim(_: *const i8) {}

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
    fn copies_parts_of_lines_at_every_level() {
        let from: Vec<u16> = (1..=300).collect();
        for isa in crate::Isa::available() {
            for (start, len) in (0..40).flat_map(|start| [0, 1, 31, 32, 33, 100, 200].map(|len| (start, len))) {
                let mut to = Aligned([0; 256]);
                let part = &mut to.0[start..start + len];
                fearless_simd::dispatch!(isa.level(), simd => copy_past(simd, &from[start..start + len], part));
                finish();
                assert_eq!(to.0[start..start + len], from[start..start + len], "{isa} {start} {len}");
                assert!(to.0[..start].iter().chain(&to.0[start + len..]).all(|&value| value == 0));
            }
        }
    }

    #[test]
    fn whole_lines_begin_and_end_on_lines() {
        let row = Aligned([0; 256]);
        assert_eq!(whole_lines(&row.0), 0..256);
        assert_eq!(whole_lines(&row.0[1..100]), 31..95);
        assert_eq!(whole_lines(&row.0[1..20]), 19..19, "no line begins in it");
        assert_eq!(whole_lines(&row.0[..20]), 0..0);
    }

    /// Rows at every distance modulo a page, so upwards and downwards.
    #[test]
    fn copies_lines_to_any_distance() {
        #[repr(align(4096))]
        struct Pages([u16; 6144]);
        for distance in (0..4096).step_by(LINE) {
            let mut pages = Pages(std::array::from_fn(|i| i as u16));
            let (from, to) = pages.0.split_at_mut(2048);
            let to = &mut to[distance / 2..];
            copy_lines(&from[..20 * LINE], &mut to[..20 * LINE]);
            finish();
            assert_eq!(from[..20 * LINE], to[..20 * LINE], "{distance}");
            assert_eq!(usize::from(to[20 * LINE]), 2048 + distance / 2 + 20 * LINE);
        }
    }

    #[test]
    #[should_panic(expected = "whole lines")]
    fn parts_of_lines_are_refused() {
        copy_lines(&[1; 32], &mut Aligned([0; 256]).0[1..33]);
    }
}
