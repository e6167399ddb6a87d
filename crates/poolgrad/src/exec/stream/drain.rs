//! Lines of sums that leave zeros where they were, for the next sums to begin with.

use fearless_simd::Simd;
use zerocopy::IntoBytes;

use super::{LINE, Line, imp, is_better_descending};
use crate::dtype::{Sum, Summed};
use crate::simd::RoundsBf16;

/// [`round_lines`](super::round_lines) that leaves zeros, if it can.
///
/// # Panics
/// As that.
#[inline(always)]
pub(crate) fn drain_lines<S: Simd, T: Summed>(simd: S, wide: &mut [T::Acc], to: &mut [T]) -> bool {
    simd.vectorize(
        #[inline(always)]
        || drain_lines_within(simd, wide, to),
    )
}

/// [`drain_lines`] within what is compiled for a level already, so that it is no call.
///
/// # Panics
/// As that.
#[inline(always)]
pub(crate) fn drain_lines_within<S: Simd, T: Summed>(simd: S, wide: &mut [T::Acc], to: &mut [T]) -> bool {
    assert_eq!(wide.len(), to.len(), "as many places as elements");
    let to = Line::of(to);
    if T::from_wide(&[]).is_some() {
        return move_lines(simd, wide.as_mut_bytes().as_chunks_mut().0, to);
    }
    let rounds = RoundsBf16::ask();
    for (wide, to) in wide.as_chunks_mut().0.iter_mut().zip(to) {
        let Some(line) = T::narrow_line(simd, rounds, wide) else { return false };
        *wide = [T::Acc::ZERO; 32];
        imp::store_line(simd, line.as_bytes().try_into().expect("a line"), to);
    }
    true
}

/// Whether [`drain_lines`] can write sums that are lines themselves.
#[inline(always)]
pub(crate) fn drains_lines<S: Simd, T: Summed>(simd: S) -> bool {
    simd.vectorize(
        #[inline(always)]
        || {
            let is_sum = T::from_wide(&[]).is_some();
            is_sum || T::narrow_line(simd, RoundsBf16::ask(), &[T::Acc::ZERO; 32]).is_some()
        },
    )
}

/// [`copy_lines`](super::copy_lines) that leaves zeros, if `from` consists of whole lines, too; whether it does. A zero that
/// reaches from one line into the next takes longer than to clear all lines afterwards: on a Zen 3, planes of 13x13 took 1.6 of
/// the time.
#[inline(always)]
fn move_lines<S: Simd>(simd: S, from: &mut [[u8; LINE]], to: &mut [Line]) -> bool {
    if !from.as_ptr().addr().is_multiple_of(LINE) {
        return from.is_empty();
    }
    let descends = is_better_descending(from.as_ptr().addr(), to.as_ptr().addr());
    let last = to.len().wrapping_sub(1);
    for i in 0..to.len() {
        let i = if descends { last - i } else { i };
        let line = from[i];
        from[i] = [0; LINE];
        imp::store_line(simd, &line, &mut to[i]);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::finish;
    use super::super::tests::rounds_in_registers;
    use super::*;

    /// Oracle: the conversion of rows.
    #[test]
    fn draining_leaves_zeros_where_it_wrote_lines_and_all_where_it_did_not() {
        #[repr(align(64))]
        struct Aligned<T>([T; 256]);
        fn check<T: Summed<Acc: PartialEq> + PartialEq>(can: impl Fn(fearless_simd::Level, usize) -> bool) {
            let per_line = LINE / size_of::<T>();
            let elements: Vec<T> =
                (0..256).map(|i| T::read_from_bytes(&vec![(i % 100) as u8 + 1; size_of::<T>()]).unwrap()).collect();
            for isa in crate::Isa::available() {
                for (start, n_lines) in (0..per_line).flat_map(|start| [0, 1, 3].map(|n_lines| (start, n_lines))) {
                    let len = n_lines * per_line;
                    let mut wide = Aligned([T::Acc::ZERO; 256]);
                    T::widen(&elements, &mut wide.0);
                    let before = wide.0;
                    let mut to = Aligned([T::default(); 256]);
                    let (from, part) = (&mut wide.0[start..start + len], &mut to.0[per_line..per_line + len]);
                    let (is_done, can) = fearless_simd::dispatch!(isa.level(), simd => {
                        (drain_lines(simd, from, part), can(simd.level(), start))
                    });
                    finish();
                    assert!(is_done || !can, "{isa} {start}");
                    if is_done {
                        assert_eq!(to.0[per_line..per_line + len], elements[start..start + len], "{isa} {start}");
                        assert!(wide.0[start..start + len].iter().all(|&sum| sum == T::Acc::ZERO), "{isa} {start}");
                        wide.0[start..start + len].copy_from_slice(&before[start..start + len]);
                    }
                    assert!(wide.0 == before, "{isa} {start}");
                    assert!(
                        to.0[..per_line].iter().chain(&to.0[per_line + len..]).all(|&value| value == T::default())
                    );
                }
            }
        }
        check::<half::f16>(|level, _| rounds_in_registers(level));
        check::<half::bf16>(|level, _| rounds_in_registers(level));
        check::<f32>(|_, start| start == 0);
        check::<f64>(|_, start| start == 0);
    }
}
