//! Conversions of whole rows between 16-bit elements and `f32` by instructions that no loop compiles to.
//!
//! Each says whether the processor has them for a row of that length; if not, the caller has a loop of its own.
//!
//! A line of 32 elements, as many as fill a cache line, is rounded in registers, on its way past the cache: what is stored
//! somewhere else first has to be read again, and waits there behind all that was to be stored before. So nothing of that may
//! be a call, which would store the line to return it.

use fearless_simd::Simd;
use half::{bf16, f16};

use super::bf16::RoundsBf16;

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
use {
    super::Isa,
    super::bf16::round_line,
    fearless_simd::prelude::*,
    fearless_simd::{f32x16, u32x16},
    zerocopy::{transmute, transmute_ref},
};

/// Widens a row of `f16`.
#[inline]
pub(crate) fn widen_f16(row: &[f16], wide: &mut [f32]) -> bool {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    {
        let best = Isa::best().level();
        if let Some(avx512) = best.as_avx512().filter(|_| row.len() >= 16) {
            x86::widen_f16_by_16(avx512, row, wide);
            return true;
        }
        if let Some(avx2) = best.as_avx2() {
            x86::widen_f16_by_8(avx2, row, wide);
            return true;
        }
    }
    let _ = (row, wide);
    false
}

/// Rounds a row to `f16`.
#[inline]
pub(crate) fn narrow_f16(wide: &[f32], row: &mut [f16]) -> bool {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    {
        let best = Isa::best().level();
        if let Some(avx512) = best.as_avx512().filter(|_| row.len() >= 16) {
            x86::narrow_f16_by_16(avx512, wide, row);
            return true;
        }
        if let Some(avx2) = best.as_avx2() {
            x86::narrow_f16_by_8(avx2, wide, row);
            return true;
        }
    }
    let _ = (wide, row);
    false
}

/// Rounds a row to `f16`, and leaves zeros.
#[inline]
pub(crate) fn drain_f16(wide: &mut [f32], row: &mut [f16]) -> bool {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    {
        let best = Isa::best().level();
        if let Some(avx512) = best.as_avx512().filter(|_| row.len() >= 16) {
            x86::drain_f16_by_16(avx512, wide, row);
            return true;
        }
        if let Some(avx2) = best.as_avx2() {
            x86::drain_f16_by_8(avx2, wide, row);
            return true;
        }
    }
    let _ = (wide, row);
    false
}

/// Rounds a row to `bf16`.
#[inline]
pub(crate) fn narrow_bf16(wide: &[f32], row: &mut [bf16]) -> bool {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    {
        let best = Isa::best().level();
        if best.as_avx2().is_some() && row.len() >= 32 {
            let rounds = RoundsBf16::ask();
            fearless_simd::dispatch!(best, simd => {
                x86::convert(wide, row, #[inline(always)] |wide| round_bf16_line(simd, rounds, &wide));
            });
            return true;
        }
    }
    let _ = (wide, row);
    false
}

/// Rounds a row to `bf16`, and leaves zeros.
#[inline]
pub(crate) fn drain_bf16(wide: &mut [f32], row: &mut [bf16]) -> bool {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    {
        let best = Isa::best().level();
        if best.as_avx2().is_some() && row.len() >= 32 {
            let rounds = RoundsBf16::ask();
            fearless_simd::dispatch!(best, simd => {
                x86::convert_and_clear(wide, row, #[inline(always)] |wide| round_bf16_line(simd, rounds, &wide));
            });
            return true;
        }
    }
    let _ = (wide, row);
    false
}

/// Widens a line of `f16`.
#[inline(always)]
pub(crate) fn widen_f16_line<S: Simd>(simd: S, row: &[f16; 32]) -> Option<[f32; 32]> {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    {
        if let Some(avx512) = simd.level().as_avx512() {
            return Some(x86::widen_f16_line_by_16(avx512, row));
        }
        if let Some(avx2) = simd.level().as_avx2() {
            return Some(x86::widen_f16_line_by_8(avx2, row));
        }
    }
    let _ = (simd, row);
    None
}

/// Rounds a line to `f16`.
#[inline(always)]
pub(crate) fn narrow_f16_line<S: Simd>(simd: S, wide: &[f32; 32]) -> Option<[f16; 32]> {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    {
        if let Some(avx512) = simd.level().as_avx512() {
            return Some(x86::f16_line_by_16(avx512, wide));
        }
        if let Some(avx2) = simd.level().as_avx2() {
            return Some(x86::f16_line_by_8(avx2, wide));
        }
    }
    let _ = (simd, wide);
    None
}

/// Rounds a line to `bf16`.
#[inline(always)]
pub(crate) fn narrow_bf16_line<S: Simd>(
    simd: S,
    rounds: Option<RoundsBf16>,
    wide: &[f32; 32],
) -> Option<[bf16; 32]> {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    if simd.level().as_avx2().is_some() {
        return Some(round_bf16_line(simd, rounds, wide));
    }
    let _ = (simd, rounds, wide);
    None
}

/// Rounds a line to `bf16` as the loop in `dtype.rs` does: by one instruction, or by operations so small that each is inlined.
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
#[inline(always)]
fn round_bf16_line<S: Simd>(simd: S, rounds: Option<RoundsBf16>, wide: &[f32; 32]) -> [bf16; 32] {
    if let (Some(avx512), Some(rounds)) = (simd.level().as_avx512(), rounds)
        && let Some(line) = round_line(avx512, rounds, wide)
    {
        return line;
    }
    let [first, second]: &[[f32; 16]; 2] = transmute_ref!(wide);
    let [first, second] = [f32x16::simd_from(simd, *first), f32x16::simd_from(simd, *second)];
    let mut halves = (upper_halves(first), upper_halves(second));
    // Few lines have one, and to choose for each number takes a quarter of all operations.
    let nans = (first.is_nan(), second.is_nan());
    if (nans.0 | nans.1).any_true() {
        halves.0 = nans.0.select(quiet_halves(first), halves.0);
        halves.1 = nans.1.select(quiet_halves(second), halves.1);
    }
    let line: [u16; 32] = simd.relaxed_narrow_u32x16(halves.0, halves.1).into();
    transmute!(line)
}

/// The upper halves of numbers, rounded.
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
#[inline(always)]
fn upper_halves<S: Simd>(wide: f32x16<S>) -> u32x16<S> {
    let bits: u32x16<S> = wide.bitcast();
    (bits + 0x7fff + ((bits >> 16) & 1)) >> 16
}

/// Those of NaNs, made quiet.
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
#[inline(always)]
fn quiet_halves<S: Simd>(wide: f32x16<S>) -> u32x16<S> {
    let bits: u32x16<S> = wide.bitcast();
    (bits >> 16) | 0x0040
}

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
mod x86 {
    #[cfg(target_arch = "x86")]
    use core::arch::x86 as arch;
    #[cfg(target_arch = "x86_64")]
    use core::arch::x86_64 as arch;

    use arch::{__m128i, __m256, __m256i, __m512, _MM_FROUND_TO_NEAREST_INT};
    use half::f16;
    use std::hint::black_box;
    use zerocopy::transmute;

    /// Converts `N` elements at a time, the last of which may overlap those before them. Fewer are padded.
    #[inline(always)]
    pub(super) fn convert<T: Copy + Default, U: Copy, const N: usize>(
        from: &[T],
        to: &mut [U],
        some: impl Fn([T; N]) -> [U; N],
    ) {
        for (from, to) in from.as_chunks::<N>().0.iter().zip(to.as_chunks_mut::<N>().0) {
            *to = some(*from);
        }
        if let (Some(last), Some(to)) = (from.last_chunk(), to.last_chunk_mut()) {
            *to = some(*last);
            return;
        }
        convert_few(from, to, some);
    }

    /// The same for less than `N`.
    #[inline(always)]
    fn convert_few<T: Copy + Default, U: Copy, const N: usize>(
        from: &[T],
        to: &mut [U],
        some: impl Fn([T; N]) -> [U; N],
    ) {
        let mut padded = [T::default(); N];
        padded[..from.len()].copy_from_slice(from);
        to.copy_from_slice(&some(padded)[..to.len()]);
    }

    /// [`convert`], which leaves zeros.
    #[inline(always)]
    pub(super) fn convert_and_clear<T: Copy + Default, U: Copy, const N: usize>(
        from: &mut [T],
        to: &mut [U],
        some: impl Fn([T; N]) -> [U; N],
    ) {
        // As long as they are all there.
        match (from.last_chunk(), to.last_chunk_mut()) {
            (Some(last), Some(to)) => *to = some(*last),
            _ => convert_few(from, to, &some),
        }
        let (parts, rest) = from.as_chunks_mut::<N>();
        for (from, to) in parts.iter_mut().zip(to.as_chunks_mut::<N>().0) {
            *to = some(*from);
            *from = [T::default(); N];
        }
        rest.fill(T::default());
    }

    fearless_simd::kernel!(
        pub(super) fn widen_f16_by_8(_avx2: Avx2, row: &[f16], wide: &mut [f32]) {
            convert(row, wide, |row: [f16; 8]| {
                let row: __m128i = transmute!(row);
                let wide: __m256 = arch::_mm256_cvtph_ps(row);
                transmute!(wide)
            });
        }
    );

    /// Zeros that the compiler does not know. Combined with these, what was rounded is stored from a register: a Zen 3 takes twice as
    /// long to round and store by one instruction.
    #[inline(always)]
    fn unknown_zeros() -> __m128i {
        transmute!([black_box(0u64); 2])
    }

    fearless_simd::kernel!(
        pub(super) fn narrow_f16_by_8(_avx2: Avx2, wide: &[f32], row: &mut [f16]) {
            let zeros = unknown_zeros();
            convert(wide, row, |wide: [f32; 8]| {
                let wide: __m256 = transmute!(wide);
                let row: __m128i = arch::_mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(wide);
                transmute!(arch::_mm_or_si128(row, zeros))
            });
        }
    );

    fearless_simd::kernel!(
        pub(super) fn drain_f16_by_8(_avx2: Avx2, wide: &mut [f32], row: &mut [f16]) {
            let zeros = unknown_zeros();
            convert_and_clear(wide, row, |wide: [f32; 8]| {
                let wide: __m256 = transmute!(wide);
                let row: __m128i = arch::_mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(wide);
                transmute!(arch::_mm_or_si128(row, zeros))
            });
        }
    );

    fearless_simd::kernel!(
        pub(super) fn widen_f16_line_by_8(_avx2: Avx2, row: &[f16; 32]) -> [f32; 32] {
            let [a, b, c, d]: [__m128i; 4] = transmute!(*row);
            let wide = |row: __m128i| arch::_mm256_cvtph_ps(row);
            transmute!([wide(a), wide(b), wide(c), wide(d)])
        }
    );

    fearless_simd::kernel!(
        pub(super) fn widen_f16_line_by_16(_avx512: Avx512, row: &[f16; 32]) -> [f32; 32] {
            let [first, second]: [__m256i; 2] = transmute!(*row);
            let wide = |row: __m256i| arch::_mm512_cvtph_ps(row);
            transmute!([wide(first), wide(second)])
        }
    );

    fearless_simd::kernel!(
        pub(super) fn f16_line_by_8(_avx2: Avx2, wide: &[f32; 32]) -> [f16; 32] {
            let [a, b, c, d]: [__m256; 4] = transmute!(*wide);
            let rounded = |wide: __m256| arch::_mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(wide);
            // Spelled out: an array's `map` is compiled for no level, and would not always be inlined.
            transmute!([rounded(a), rounded(b), rounded(c), rounded(d)])
        }
    );

    fearless_simd::kernel!(
        pub(super) fn widen_f16_by_16(_avx512: Avx512, row: &[f16], wide: &mut [f32]) {
            convert(row, wide, |row: [f16; 16]| {
                let row: __m256i = transmute!(row);
                let wide: __m512 = arch::_mm512_cvtph_ps(row);
                transmute!(wide)
            });
        }
    );

    fearless_simd::kernel!(
        pub(super) fn narrow_f16_by_16(_avx512: Avx512, wide: &[f32], row: &mut [f16]) {
            convert(wide, row, |wide: [f32; 16]| {
                let wide: __m512 = transmute!(wide);
                let row: __m256i = arch::_mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(wide);
                transmute!(row)
            });
        }
    );

    fearless_simd::kernel!(
        pub(super) fn drain_f16_by_16(_avx512: Avx512, wide: &mut [f32], row: &mut [f16]) {
            convert_and_clear(wide, row, |wide: [f32; 16]| {
                let wide: __m512 = transmute!(wide);
                let row: __m256i = arch::_mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(wide);
                transmute!(row)
            });
        }
    );

    fearless_simd::kernel!(
        pub(super) fn f16_line_by_16(_avx512: Avx512, wide: &[f32; 32]) -> [f16; 32] {
            let [first, second]: [__m512; 2] = transmute!(*wide);
            let rounded = |wide: __m512| arch::_mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(wide);
            transmute!([rounded(first), rounded(second)])
        }
    );
}
