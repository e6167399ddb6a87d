//! ISA levels: detected once, capped by `POOLGRAD_MAX_ISA`, and listable, so that tests can force each.
//!
//! This file and `exec/stream.rs` are the only ones that name an architecture. Kernels are plain loops, compiled once
//! for each level by `fearless_simd`'s `dispatch!` and, in functions of their own, its `vectorize`.

use std::fmt;
use std::sync::OnceLock;

use fearless_simd::Level;
use half::f16;

/// An instruction set level of this machine; holding one proves that the machine has it.
///
/// Results never depend on the level, only their speed does.
#[derive(Clone, Copy)]
pub struct Isa(Level);

impl Isa {
    /// Every level that this machine has, from the least to the best.
    ///
    /// # Examples
    /// ```
    /// let levels = poolgrad::Isa::available();
    /// assert!(levels.contains(&poolgrad::Isa::best()));
    /// ```
    #[must_use]
    pub fn available() -> Vec<Isa> {
        let mut levels = Vec::with_capacity(4);
        let best = Level::new();
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        {
            levels.extend(best.as_sse2().map(Level::Sse2));
            levels.extend(best.as_sse4_2().map(Level::Sse4_2));
            levels.extend(best.as_avx2().map(Level::Avx2));
            levels.extend(best.as_avx512().map(Level::Avx512));
        }
        if levels.is_empty() {
            levels.push(best);
        }
        levels.into_iter().map(Isa).collect()
    }

    /// The best level that this machine has and `POOLGRAD_MAX_ISA` allows.
    ///
    /// The variable holds a level's name, such as `avx2`; a name that is no level of this machine is ignored. It is
    /// read once.
    #[must_use]
    pub fn best() -> Isa {
        static BEST: OnceLock<Isa> = OnceLock::new();
        *BEST.get_or_init(|| {
            let cap = std::env::var("POOLGRAD_MAX_ISA").ok();
            cap.and_then(|name| Isa::from_name(&name)).unwrap_or(Isa(Level::new()))
        })
    }

    /// The level called `name`, if this machine has it.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Isa> {
        Isa::available().into_iter().find(|isa| isa.name() == name)
    }

    /// The level's name, such as `avx512`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self.0 {
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Level::Sse2(_) => "sse2",
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Level::Sse4_2(_) => "sse4.2",
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Level::Avx2(_) => "avx2",
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Level::Avx512(_) => "avx512",
            #[cfg(target_arch = "aarch64")]
            Level::Neon(_) => "neon",
            _ => "portable",
        }
    }

    pub(crate) fn level(self) -> Level {
        self.0
    }
}

/// Widens a row of `f16` with the processor's own instructions; whether it has them.
#[inline]
pub(crate) fn widen_f16(row: &[f16], wide: &mut [f32]) -> bool {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    if let Some(avx2) = Isa::best().0.as_avx2() {
        f16c::widen(avx2, row, wide);
        return true;
    }
    let _ = (row, wide);
    false
}

/// Rounds a row to `f16` with the processor's own instructions; whether it has them.
#[inline]
pub(crate) fn narrow_f16(wide: &[f32], row: &mut [f16]) -> bool {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    if let Some(avx2) = Isa::best().0.as_avx2() {
        f16c::narrow(avx2, wide, row);
        return true;
    }
    let _ = (wide, row);
    false
}

/// Conversions of whole rows: eight at a time without a call in between, the last of which may overlap those before them,
/// and fewer by way of a padded eight.
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
mod f16c {
    #[cfg(target_arch = "x86")]
    use core::arch::x86::{__m128i, __m256, _MM_FROUND_TO_NEAREST_INT, _mm256_cvtph_ps, _mm256_cvtps_ph};
    #[cfg(target_arch = "x86_64")]
    use core::arch::x86_64::{__m128i, __m256, _MM_FROUND_TO_NEAREST_INT, _mm256_cvtph_ps, _mm256_cvtps_ph};

    use half::f16;
    use zerocopy::transmute;

    const LANES: usize = 8;

    fearless_simd::kernel!(
        pub(super) fn widen(_avx2: Avx2, row: &[f16], wide: &mut [f32]) {
            let eight = |values: [f16; LANES]| -> [f32; LANES] {
                let values: __m128i = transmute!(values);
                let wide: __m256 = _mm256_cvtph_ps(values);
                transmute!(wide)
            };
            for (row, wide) in row.as_chunks::<LANES>().0.iter().zip(wide.as_chunks_mut::<LANES>().0) {
                *wide = eight(*row);
            }
            if let (Some(last), Some(wide)) = (row.last_chunk(), wide.last_chunk_mut()) {
                *wide = eight(*last);
                return;
            }
            let mut padded = [f16::ZERO; LANES];
            padded[..row.len()].copy_from_slice(row);
            wide.copy_from_slice(&eight(padded)[..wide.len()]);
        }
    );

    fearless_simd::kernel!(
        pub(super) fn narrow(_avx2: Avx2, wide: &[f32], row: &mut [f16]) {
            let eight = |wide: [f32; LANES]| -> [f16; LANES] {
                let wide: __m256 = transmute!(wide);
                transmute!(_mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(wide))
            };
            for (wide, row) in wide.as_chunks::<LANES>().0.iter().zip(row.as_chunks_mut::<LANES>().0) {
                *row = eight(*wide);
            }
            if let (Some(last), Some(row)) = (wide.last_chunk(), row.last_chunk_mut()) {
                *row = eight(*last);
                return;
            }
            let mut padded = [0.0; LANES];
            padded[..wide.len()].copy_from_slice(wide);
            row.copy_from_slice(&eight(padded)[..row.len()]);
        }
    );
}

impl PartialEq for Isa {
    fn eq(&self, other: &Isa) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Isa {}

impl fmt::Debug for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
