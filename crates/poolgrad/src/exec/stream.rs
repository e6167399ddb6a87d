//! Writing rows past the cache: the unsafe room of write-out. How memory is asked for ahead is in [`ahead`],
//! copying to what stays in the cache in [`near`], lines of sums that leave zeros in [`drain`], what becomes of parts of
//! lines in [`pending`], vectors that leave from registers in [`vectors`], and what is faster on which processors in
//! [`processors`].
//!
//! An output that is larger than the last-level cache, or is pushed out of it by what is read, is not read again before it
//! has left the cache. An ordinary store would first fetch each line from memory, to fill the part that is not written; a
//! non-temporal store of a whole line does not, and so moves half the bytes. Below the cache's size it would only take the
//! output away from whoever reads it next.
//!
//! What a core has under way is limited too, and Intel's older ones hold a line of a non-temporal store longer than one that
//! is fetched: there few threads write faster by ordinary stores, if lines are asked for in time (see [`streaming_pays`]).
//! On architectures without such stores rows are copied.

mod ahead;
mod drain;
mod near;
mod pending;
mod processors;
mod vectors;

use std::ops::Range;

use fearless_simd::Simd;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::dtype::Summed;
use crate::simd::{Isa, RoundsBf16};

pub(crate) use ahead::{claim_behind, claim_lines, claim_next, claiming_pays, fetch_ahead, fetch_lines};
pub(crate) use drain::{drain_lines, drain_lines_within, drains_lines};
pub(crate) use near::copy_near;
pub(crate) use pending::{LINE_ELEMENTS, Pending};
pub(crate) use processors::{
    Written, comparing_single_channels_pays, keeps_half_of_cache, keeps_zeros, keeps_zeros_of_two_bytes,
    leaving_between_additions_pays, permuted_lines_pay, streaming_by_rows_pays, streaming_pays, turns_pay,
    works_by_halves,
};
pub(crate) use vectors::{Route, round_vectors, store_vectors};

/// The bytes of a cache line: the unit in which non-temporal stores leave the core.
pub(crate) const LINE: usize = 64;

/// The bytes of a page of memory.
const PAGE: usize = 4096;

/// A cache line of an output.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C, align(64))]
struct Line([u8; LINE]);

impl Line {
    /// The lines that `row` consists of.
    ///
    /// # Panics
    /// If it does not consist of whole cache lines.
    #[inline(always)]
    fn of<T: FromBytes + IntoBytes>(row: &mut [T]) -> &mut [Line] {
        // No lines may begin anywhere.
        if row.is_empty() { &mut [] } else { <[Line]>::mut_from_bytes(row.as_mut_bytes()).expect("whole lines") }
    }
}

/// What lines can be copied as: numbers with no bits to spare.
pub(crate) trait Plain: Copy + FromBytes + IntoBytes + Immutable {}

impl<T: Copy + FromBytes + IntoBytes + Immutable> Plain for T {}

/// Copies whole lines from `from` to `to`, whose lines do not stay in the cache where the machine can avoid it. Each takes as
/// few stores as the level allows: what waits to be stored takes the fewest places then, and what comes behind it can go on.
///
/// # Panics
/// If the lengths differ, or `to` does not consist of whole cache lines.
#[inline(always)]
pub(crate) fn copy_lines<S: Simd, T: Plain>(simd: S, from: &[T], to: &mut [T]) {
    assert_eq!(from.len(), to.len(), "as many places as elements");
    let descends = is_better_descending(from.as_ptr().addr(), to.as_ptr().addr());
    let (from, to) = (from.as_bytes().as_chunks().0, Line::of(to));
    let last = to.len().wrapping_sub(1);
    for i in 0..to.len() {
        let line = if descends { last - i } else { i };
        imp::store_line(simd, &from[line], &mut to[line]);
    }
}

/// [`copy_lines`] at the best level.
#[inline]
fn copy_lines_best<T: Plain>(from: &[T], to: &mut [T]) {
    fearless_simd::dispatch!(Isa::best().level(), simd => copy_lines(simd, from, to));
}

/// Whether stores are just ahead of loads, as far as a processor sees at first.
///
/// Processors first compare the last twelve bits of addresses, and let a load wait for a store that has not left yet and
/// agrees in these. Descending puts the stores behind.
#[inline(always)]
fn is_better_descending(from: usize, to: usize) -> bool {
    to.wrapping_sub(from) % PAGE < 512
}

/// How many elements of `vector` lie before the end of a page, if not all do.
///
/// On a Zen 4, a store that reaches over the end of a page waits for all that is on its way past the cache. An average whose rows
/// were put together without regard to it took 3.0 to 4.9 ms, with where the ends of pages were.
#[inline(always)]
pub(crate) fn before_page_end<T>(vector: &[T]) -> Option<usize> {
    let left = PAGE - vector.as_ptr().addr() % PAGE;
    (left < size_of_val(vector)).then_some(left / size_of::<T>())
}

/// The part of `row` that is whole lines.
#[inline(always)]
pub(crate) fn whole_lines<T>(row: &[T]) -> Range<usize> {
    let per_line = LINE / size_of::<T>();
    let skew = row.as_ptr().addr() % LINE / size_of::<T>();
    let start = if skew == 0 { 0 } else { (per_line - skew).min(row.len()) };
    start..row.len() - (row.len() - start) % per_line
}

/// Copies `from` to `to`, whole lines past the cache.
///
/// # Panics
/// If the lengths differ.
#[inline(always)]
pub(crate) fn copy_past<S: Simd, T: Plain>(simd: S, from: &[T], to: &mut [T]) {
    assert_eq!(from.len(), to.len(), "as many places as elements");
    let Range { start, end } = whole_lines(to);
    if start > 0 {
        to[..start].copy_from_slice(&from[..start]);
    }
    copy_lines(simd, &from[start..end], &mut to[start..end]);
    if end < to.len() {
        to[end..].copy_from_slice(&from[end..]);
    }
}

/// What makes one line after the other.
pub(crate) trait Lines {
    /// The bytes of the next line.
    fn next<S: Simd>(&mut self, simd: S) -> [u8; LINE];
}

/// Writes `lines` to `to`, past the cache.
///
/// # Panics
/// If `to` does not consist of whole cache lines.
#[inline(always)]
pub(crate) fn put_lines<S: Simd, T: Plain>(simd: S, lines: impl Lines, to: &mut [T]) {
    simd.vectorize(
        #[inline(always)]
        move || {
            // In a variable of its own, so that it is kept in registers: nothing else should be stored here.
            let mut lines = lines;
            for to in Line::of(to) {
                imp::store_line(simd, &lines.next(simd), to);
            }
        },
    );
}

/// Rounds `wide` once and writes it to `to`, past the cache, if the level can do so in registers; whether it can. What is
/// stored somewhere else first has to be read again, and may wait for all that is on its way past the cache.
///
/// # Panics
/// If the lengths differ, or `to` does not consist of whole cache lines.
#[inline(always)]
pub(crate) fn round_lines<S: Simd, T: Summed>(simd: S, wide: &[T::Acc], to: &mut [T]) -> bool {
    assert_eq!(wide.len(), to.len(), "as many places as elements");
    simd.vectorize(
        #[inline(always)]
        || round_each::<S, T, _>((simd, RoundsBf16::ask()), wide, Line::of(to), imp::store_line),
    )
}

/// Rounds `wide` line by line and stores each; whether the level can round lines in registers.
#[inline(always)]
fn round_each<S: Simd, T: Summed, L>(
    (simd, rounds): (S, Option<RoundsBf16>),
    wide: &[T::Acc],
    to: &mut [L],
    store: impl Fn(S, &[u8; LINE], &mut L),
) -> bool {
    if let Some(elements) = T::from_wide(wide) {
        for (line, to) in elements.as_bytes().as_chunks().0.iter().zip(to) {
            store(simd, line, to);
        }
        return true;
    }
    for (wide, to) in wide.as_chunks().0.iter().zip(to) {
        let Some(line) = T::narrow_line(simd, rounds, wide) else { return false };
        store(simd, line.as_bytes().try_into().expect("a line"), to);
    }
    true
}

/// The same for rows whose ends may be parts of lines.
///
/// # Panics
/// If the lengths differ.
#[inline(always)]
pub(crate) fn round_past<S: Simd, T: Summed>(simd: S, wide: &[T::Acc], to: &mut [T]) -> bool {
    let Range { start, end } = whole_lines(to);
    let can = round_lines(simd, &wide[start..end], &mut to[start..end]);
    for part in [0..start, end..to.len()].into_iter().filter(|part| can && !part.is_empty()) {
        T::narrow(&wide[part.clone()], &mut to[part]);
    }
    can
}

/// Makes streamed rows visible to other threads in order with ordinary stores; each thread calls it when it is done.
#[inline]
pub(crate) fn finish() {
    imp::finish();
}

#[cfg(target_arch = "x86_64")]
mod imp {
    use super::{LINE, Line, Simd};
    use core::arch::x86_64::{
        __cpuid, __cpuid_count, __m128i, __m256i, __m512i, _mm_sfence, _mm_stream_si128, _mm256_stream_si256,
        _mm512_stream_si512,
    };
    use std::sync::OnceLock;

    use zerocopy::transmute;

    /// Of an Intel processor, whether it is of the generations that store whole lines directly (`movdir64b`).
    pub(super) fn intel_stores_lines() -> Option<bool> {
        /// The bit of that instruction in the fourth register of leaf 7.
        const STORES_LINES: u32 = 1 << 28;
        static STORES: OnceLock<Option<bool>> = OnceLock::new();
        *STORES.get_or_init(|| {
            // SAFETY: every x86-64 has the instruction, and knows no less than the leaves that it says it does. (Newer
            // compilers know that, and need no block.)
            #[allow(unused_unsafe)]
            let (first, features) = unsafe { (__cpuid(0), __cpuid_count(7, 0)) };
            let stores_lines = first.eax >= 7 && features.ecx & STORES_LINES != 0;
            (vendor() == *b"GenuineIntel").then_some(stores_lines)
        })
    }

    /// Whether this is one of AMD's processors that have no AVX-512: up to Zen 3.
    pub(super) fn is_older_amd() -> bool {
        is_amd() && !std::arch::is_x86_feature_detected!("avx512f")
    }

    /// Whether this is one of AMD's processors with AVX-512, but without a part of it that came with whole vectors, in Zen 5.
    pub(super) fn works_by_halves() -> bool {
        let has_first = std::arch::is_x86_feature_detected!("avx512f");
        is_amd() && has_first && !std::arch::is_x86_feature_detected!("avx512vp2intersect")
    }

    /// Of one of AMD's processors, what tells its family and model: the first register of leaf 1.
    pub(super) fn amd_signature() -> Option<u32> {
        static SIGNATURE: OnceLock<Option<u32>> = OnceLock::new();
        *SIGNATURE.get_or_init(|| {
            // SAFETY: every x86-64 has the instruction and this leaf. (Newer compilers know that, and need no block.)
            #[allow(unused_unsafe)]
            let leaf = unsafe { __cpuid(1) };
            is_amd().then_some(leaf.eax)
        })
    }

    /// Whether this is one of AMD's processors.
    #[inline]
    pub(super) fn is_amd() -> bool {
        static IS_AMD: OnceLock<bool> = OnceLock::new();
        *IS_AMD.get_or_init(|| vendor() == *b"AuthenticAMD")
    }

    /// The name that the processor's maker gave itself.
    fn vendor() -> [u8; 12] {
        // SAFETY: every x86-64 has the instruction. (Newer compilers know that, and need no block.)
        #[allow(unused_unsafe)]
        let leaf = unsafe { __cpuid(0) };
        transmute!([leaf.ebx, leaf.edx, leaf.ecx].map(u32::to_le_bytes))
    }

    #[inline(always)]
    pub(super) fn store_line<S: Simd>(simd: S, line: &[u8; LINE], to: &mut Line) {
        let level = simd.level();
        if level.as_avx512().is_some() {
            let line: __m512i = transmute!(*line);
            // SAFETY: the level proves that the processor has AVX-512, and a line is as long and as aligned as the register.
            return unsafe { _mm512_stream_si512((&raw mut *to).cast(), line) };
        }
        if level.as_avx2().is_some() {
            let to = (&raw mut *to).cast::<__m256i>();
            let halves: [__m256i; 2] = transmute!(*line);
            for (i, &half) in halves.iter().enumerate() {
                // SAFETY: the level proves that the processor has AVX2, and a line is two registers, as aligned as these.
                unsafe { _mm256_stream_si256(to.wrapping_add(i), half) };
            }
            return;
        }
        let to = (&raw mut *to).cast::<__m128i>();
        let quarters: [__m128i; 4] = transmute!(*line);
        for (i, &quarter) in quarters.iter().enumerate() {
            // SAFETY: SSE2 is part of every x86-64, and a line is four registers, as aligned as these.
            unsafe { _mm_stream_si128(to.wrapping_add(i), quarter) };
        }
    }

    pub(super) fn finish() {
        // SAFETY: SSE is part of every x86-64.
        unsafe { _mm_sfence() };
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod imp {
    use super::{LINE, Line, Simd};

    pub(super) fn store_line<S: Simd>(_: S, line: &[u8; LINE], to: &mut Line) {
        to.0 = *line;
    }

    pub(super) fn intel_stores_lines() -> Option<bool> {
        None
    }

    pub(super) fn is_older_amd() -> bool {
        false
    }

    pub(super) fn works_by_halves() -> bool {
        false
    }

    pub(super) fn amd_signature() -> Option<u32> {
        None
    }

    pub(super) fn is_amd() -> bool {
        false
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
                copy_lines_best(&from[start..start + len], &mut to.0[32..32 + len]);
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

    /// Whether the level has the instructions, which a build may leave out.
    pub(super) fn rounds_in_registers(level: fearless_simd::Level) -> bool {
        #[cfg(target_arch = "x86_64")]
        return level.as_avx2().is_some();
        #[cfg(not(target_arch = "x86_64"))]
        return false;
    }

    /// Oracle: the conversion of rows.
    #[test]
    fn rounds_parts_of_lines_at_every_level_that_can() {
        fn check<T: Summed<Acc = f32> + PartialEq>() {
            // Around what lies halfway between two numbers, small ones, and what is none.
            let lower = |i: u32| [0, 1, 0x7fff, 0x8000, 0x8001, 0xffff, 0x1000, 0x0fff][i as usize % 8];
            let upper =
                |i: u32| [i << 23, 0x3f80_0000 + (i << 16), 0x7f80_0000, 0xff80_0000, i << 16][i as usize % 5];
            let wide: Vec<f32> = (0..301).map(|i| f32::from_bits(upper(i) | lower(i))).collect();
            for isa in crate::Isa::available() {
                for (start, len) in (0..40).flat_map(|start| [0, 1, 31, 32, 33, 100, 200].map(|len| (start, len))) {
                    #[repr(align(64))]
                    struct Aligned<T>([T; 256]);
                    let wide = &wide[301 - len..];
                    let mut want = vec![T::default(); len];
                    T::narrow(wide, &mut want);
                    let mut to = Aligned([T::default(); 256]);
                    let part = &mut to.0[start..start + len];
                    let (is_done, can) = fearless_simd::dispatch!(isa.level(), simd => {
                        (round_past(simd, wide, part), rounds_in_registers(simd.level()))
                    });
                    finish();
                    assert!(is_done || !can, "{isa}");
                    let got = to.0[start..start + len].as_bytes();
                    assert!(!is_done || got == want.as_bytes(), "{isa} {start} {len}");
                    assert!(to.0[..start].iter().chain(&to.0[start + len..]).all(|&value| value == T::default()));
                }
            }
        }
        check::<half::f16>();
        check::<half::bf16>();
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
            copy_lines_best(&from[..20 * LINE], &mut to[..20 * LINE]);
            finish();
            assert_eq!(from[..20 * LINE], to[..20 * LINE], "{distance}");
            assert_eq!(usize::from(to[20 * LINE]), 2048 + distance / 2 + 20 * LINE);
        }
    }

    #[test]
    #[should_panic(expected = "whole lines")]
    fn parts_of_lines_are_refused() {
        copy_lines_best(&[1; 32], &mut Aligned([0; 256]).0[1..33]);
    }
}
