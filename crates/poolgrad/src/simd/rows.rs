//! Conversions of whole rows between 16-bit elements and `f32` by instructions that no loop compiles to.
//!
//! Each says whether the processor has them for a row of that length; if not, the caller has a loop of its own.

use half::{bf16, f16};

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
use super::Isa;

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

/// Rounds a row to `bf16`.
#[inline]
pub(crate) fn narrow_bf16(wide: &[f32], row: &mut [bf16]) -> bool {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    if let Some(avx512) = Isa::best().level().as_avx512().filter(|_| row.len() >= 32) {
        x86::narrow_bf16_by_32(avx512, wide, row);
        return true;
    }
    let _ = (wide, row);
    false
}

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
mod x86 {
    #[cfg(target_arch = "x86")]
    use core::arch::x86 as arch;
    #[cfg(target_arch = "x86_64")]
    use core::arch::x86_64 as arch;

    use arch::{__m128i, __m256, __m256i, __m512, __m512i, _CMP_UNORD_Q, _MM_FROUND_TO_NEAREST_INT};
    use half::{bf16, f16};
    use zerocopy::transmute;

    /// Converts `N` elements at a time, the last of which may overlap those before them. Fewer are padded.
    #[inline(always)]
    fn convert<T: Copy + Default, U: Copy, const N: usize>(
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
        let mut padded = [T::default(); N];
        padded[..from.len()].copy_from_slice(from);
        to.copy_from_slice(&some(padded)[..to.len()]);
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

    fearless_simd::kernel!(
        pub(super) fn narrow_f16_by_8(_avx2: Avx2, wide: &[f32], row: &mut [f16]) {
            convert(wide, row, |wide: [f32; 8]| {
                let wide: __m256 = transmute!(wide);
                let row: __m128i = arch::_mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(wide);
                transmute!(row)
            });
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
        /// As the loop in `dtype.rs`, but for how the upper halves of two vectors come together: in one operation.
        /// (`vcvtneps2bf16` would take small numbers for zero.)
        pub(super) fn narrow_bf16_by_32(_avx512: Avx512, wide: &[f32], row: &mut [bf16]) {
            let upper_halves: [u16; 32] = std::array::from_fn(|i| 2 * i as u16 + 1);
            let upper_halves: __m512i = transmute!(upper_halves);
            let rounded = |wide: __m512| {
                let bits = arch::_mm512_castps_si512(wide);
                let odd = arch::_mm512_and_si512(arch::_mm512_srli_epi32::<16>(bits), arch::_mm512_set1_epi32(1));
                let rounded = arch::_mm512_add_epi32(bits, arch::_mm512_set1_epi32(0x7fff));
                let rounded = arch::_mm512_add_epi32(rounded, odd);
                let is_nan = arch::_mm512_cmp_ps_mask::<_CMP_UNORD_Q>(wide, wide);
                arch::_mm512_mask_or_epi32(rounded, is_nan, bits, arch::_mm512_set1_epi32(0x0040_0000))
            };
            convert(wide, row, |wide: [f32; 32]| {
                let [first, second]: [__m512; 2] = transmute!(wide);
                transmute!(arch::_mm512_permutex2var_epi16(rounded(first), upper_halves, rounded(second)))
            });
        }
    );
}
