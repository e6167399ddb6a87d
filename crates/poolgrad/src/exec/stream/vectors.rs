//! Vectors that leave from registers, as whole lines.

use fearless_simd::{Simd, SimdBase};
use zerocopy::IntoBytes;

use super::{LINE, Line, imp, round_each};
use crate::dtype::{Accumulator, Sum, Summed, Word};
use crate::simd::RoundsBf16;

/// Where lines go: past the cache, or into it like all that is stored.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    Past,
    Near,
}

/// Rounds sums in registers, which leave from there at once, if they are whole lines, and the level can round them there; whether they
/// did. `to` may begin anywhere, unless it is written past the cache.
#[inline(always)]
pub(crate) fn round_vectors<S: Simd, T: Summed<Acc: Accumulator>, const V: usize>(
    (simd, rounds): (S, Option<RoundsBf16>),
    sums: &[<T::Acc as Accumulator>::Vector<S>; V],
    (to, route): (&mut [T], Route),
) -> bool {
    let lanes = <T::Acc as Accumulator>::Vector::<S>::LEN;
    let mut wide = [T::Acc::ZERO; 64];
    if V * lanes > 64 || !(V * lanes * size_of::<T>()).is_multiple_of(LINE) {
        return false;
    }
    for (sums, wide) in sums.iter().zip(wide.chunks_exact_mut(lanes)) {
        sums.store_slice(wide);
    }
    let wide = &wide[..V * lanes];
    match route {
        Route::Past => round_each::<S, T, _>((simd, rounds), wide, Line::of(to), imp::store_line),
        Route::Near => {
            let lines = to.as_mut_bytes().as_chunks_mut().0;
            round_each::<S, T, _>(
                (simd, rounds),
                wide,
                lines,
                #[inline(always)]
                |_, line, to| *to = *line,
            )
        }
    }
}

/// Writes vectors past the cache, one behind the other.
///
/// # Panics
/// If `to` does not consist of whole cache lines.
#[inline(always)]
pub(crate) fn store_vectors<S: Simd, V: SimdBase<S, Element: Word>, const N: usize>(
    simd: S,
    vectors: &[V; N],
    to: &mut [V::Element],
) {
    let lanes = V::LEN;
    let mut words = [V::Element::of_offset(0); 64];
    for (vector, words) in vectors.iter().zip(words.chunks_exact_mut(lanes)) {
        vector.store_slice(words);
    }
    let lines = words[..N * lanes].as_bytes().as_chunks().0;
    for (line, to) in lines.iter().zip(Line::of(to)) {
        imp::store_line(simd, line, to);
    }
}
