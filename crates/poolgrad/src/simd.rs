//! ISA levels: detected once, capped by `POOLGRAD_MAX_ISA`, and listable, so that tests can force each.
//!
//! This file, `simd/bf16.rs`, `simd/permute.rs`, `simd/rows.rs`, `exec/floats.rs` and `exec/stream` are the only ones that name an architecture.
//! Kernels are plain loops, compiled once for each level by `fearless_simd`'s `dispatch!` and, in functions of their own, its
//! `vectorize`.

use std::fmt;
use std::sync::OnceLock;

use fearless_simd::{Level, Simd, dispatch};

pub(crate) use bf16::RoundsBf16;
pub(crate) use permute::{permute, turned};
pub(crate) use rows::{
    drain_bf16, drain_f16, narrow_bf16, narrow_bf16_line, narrow_f16, narrow_f16_line, widen_f16, widen_f16_line,
};

mod bf16;
mod permute;
mod rows;

/// An instruction set level of this machine; holding one proves that the machine has it.
///
/// Results never depend on the level, only their speed does.
#[derive(Clone, Copy)]
pub struct Isa(Level);

impl Isa {
    /// Every level that this machine has and that kernels were compiled for, from the least to the best.
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
        levels.into_iter().map(Isa).filter(|&isa| isa == Isa::that_runs(isa.0)).collect()
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
            cap.and_then(|name| Isa::from_name(&name)).unwrap_or_else(|| Isa::that_runs(Level::new()))
        })
    }

    /// The level whose kernels run where a machine has `level`: a build may leave some out.
    fn that_runs(level: Level) -> Isa {
        Isa(dispatch!(level, simd => simd.level()))
    }

    /// The level called `name`, if it is [available](Isa::available).
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

    /// The bytes of its vectors.
    pub(crate) fn vector_bytes(self) -> usize {
        match self.name() {
            "avx512" => 64,
            "avx2" => 32,
            _ => 16,
        }
    }

    pub(crate) fn level(self) -> Level {
        self.0
    }
}

/// Whether the level permutes the bytes of a vector by instructions made for it.
#[inline(always)]
pub(crate) fn permutes<S: Simd>(simd: S) -> bool {
    !matches!(Isa(simd.level()).name(), "sse2" | "portable")
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

#[cfg(test)]
mod tests {
    use super::*;

    // Oracle: the features that `fearless_simd` asks of a target before it leaves out what lies below.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn levels_that_no_kernel_was_compiled_for_are_not_available() {
        let starts_higher =
            cfg!(all(target_feature = "sse4.2", target_feature = "popcnt", target_feature = "cmpxchg16b"));
        assert_eq!(Isa::from_name("sse2").is_none(), starts_higher);
        assert!(Isa::available().contains(&Isa::best()));
    }
}
