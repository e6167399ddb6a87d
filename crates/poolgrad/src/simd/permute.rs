//! Permutations of the elements of a vector, by the instruction that the level has for elements of their size.

use fearless_simd::{Simd, SimdBase};

/// The bytes that `pattern` names of those of `elements`, where it names all bytes of an element of type `T` one after the other.
///
/// A vector of AVX2 has no instruction that moves bytes from one of its halves to the other, so that takes six of them; but it has
/// one for words of four bytes. (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, `VPERMD`.)
#[inline(always)]
pub(crate) fn permute<S: Simd, T>(simd: S, elements: S::u8s, pattern: S::u8s) -> S::u8s {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    if size_of::<T>() >= size_of::<u32>()
        && S::u8s::LEN == x86::BYTES
        && let Some(avx2) = simd.level().as_avx2()
    {
        let [mut bytes, mut of_words] = [[0; x86::BYTES]; 2];
        elements.store_slice(&mut bytes);
        pattern.store_slice(&mut of_words);
        return S::u8s::from_slice(simd, &x86::permute_words(avx2, &bytes, &of_words));
    }
    let _ = simd;
    elements.swizzle_dyn(pattern)
}

/// The columns of `N` rows of `N` elements.
#[inline(always)]
pub(crate) fn turned<S: Simd, V: SimdBase<S>, const N: usize>(mut rows: [V; N]) -> [V; N] {
    for _ in 0..N.ilog2() {
        let before = rows;
        for i in 0..N / 2 {
            (rows[2 * i], rows[2 * i + 1]) = before[i].interleave(before[N / 2 + i]);
        }
    }
    rows
}

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
mod x86 {
    #[cfg(target_arch = "x86")]
    use core::arch::x86 as arch;
    #[cfg(target_arch = "x86_64")]
    use core::arch::x86_64 as arch;

    use arch::__m256i;
    use zerocopy::transmute;

    /// Those of a vector.
    pub(super) const BYTES: usize = size_of::<__m256i>();

    fearless_simd::kernel!(
        /// The words whose first bytes are the first of each four in `pattern`, of which the last three bits of the word count.
        pub(super) fn permute_words(_avx2: Avx2, bytes: &[u8; BYTES], pattern: &[u8; BYTES]) -> [u8; BYTES] {
            let [words, firsts]: [__m256i; 2] = [transmute!(*bytes), transmute!(*pattern)];
            transmute!(arch::_mm256_permutevar8x32_epi32(words, arch::_mm256_srli_epi32::<2>(firsts)))
        }
    );
}
