//! What is faster on which processors. How these are told apart is in `stream.rs`.

use super::{LINE, imp};
use crate::dtype::DType;

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
/// On a Granite Rapids gradients so take 0.85 to 1.03 of the time, and on a Zen 3 0.8 to 0.9 if they are written as they are,
/// but up to 1.13 if they are rounded on their way. It was not tried on a Zen 4 or 5, and that of groups of channels, which are
/// written between additions on a Granite Rapids, on none of AMD's.
pub(crate) fn streaming_by_rows_pays(way: Written, width: usize) -> bool {
    imp::intel_stores_lines() == Some(true) || (way == Written::AsIs && width == 1 && imp::is_older_amd())
}

/// Whether rows of sums that are written past the cache should leave between the additions of the next ones, and leave zeros, rather
/// than at once after theirs; of slices of so many sums. Where these are not whole lines, zeros reach from one line into the next.
///
/// On an Emerald Rapids five gradients of 51 to 103 MB so take 0.85 to 0.93 of the time, 0.89 by geometric mean; but two of 83 and 95 MB
/// whose slices are not whole lines 1.1, and one in `bf16` 1.2. It was not tried on AMD's processors.
pub(crate) fn leaving_between_additions_pays(elements: DType, n_sums: usize) -> bool {
    // Those of 16 bits are formed in four bytes.
    let are_lines = (n_sums * elements.size().max(size_of::<f32>())).is_multiple_of(LINE);
    are_lines && elements != DType::BF16 && imp::intel_stores_lines() == Some(true)
}

/// Whether this is one of AMD's processors that work on vectors of 64 bytes by halves: Zen 4.
pub(crate) fn works_by_halves() -> bool {
    imp::works_by_halves()
}

/// The processors of which fewer are taken to share their last-level cache with those of other programs. Eight cores of a Zen 3 have
/// one.
const FEW_PROCESSORS: usize = 8;

/// Whether half of the last-level cache is what so many processors keep from call to call, of all that is read and written.
///
/// Two of a Zen 3 with 32 MiB kept 16: 37 contiguous gradients with 16 to 48 MiB of tensors, of maxima and averages in all types, take 0.58 to
/// 1.19 of the time if they are streamed, 0.81 by geometric mean, and 16 in groups of channels 0.47 to 1.07, 0.73. With 3 to 15 MiB
/// most take longer. So do windows of single channels that are filled in 16 bits, 0.94 to 1.39. (Forward operators take 0.81 to 1.08,
/// and are streamed as elsewhere.) A Zen 2 was not tried. On a Zen 4 with as large a cache gradients of maxima gain from 11 MB on in busy
/// hours, and averages were not tried.
pub(crate) fn keeps_half_of_cache(n_processors: usize) -> bool {
    n_processors < FEW_PROCESSORS && imp::is_older_amd() && !is_first_zen()
}

/// Whether zeros are better kept in the last-level cache as long as they fit it, even if others may use it too.
///
/// To clear lines in the cache takes less than to make them elsewhere and to write them past it: on a Zen 4 with 32 MiB, gradients of
/// maxima of 25 to 34 MB with at least 32 inputs to an output take 0.38 to 0.99 of the time by ordinary stores. On a Zen 3 others of
/// that size gained from the opposite, and so do these: 13 of 23 to 51 MB take 0.97 to 2.1 of the time by ordinary stores, 1.4 by
/// geometric mean. (On Intel's processors all of a share is kept anyway.) On a first Zen with 8 MiB one of 6.6 MB takes 0.64 of the time.
pub(crate) fn keeps_zeros() -> bool {
    !imp::is_older_amd() || is_first_zen()
}

/// Whether that goes for swept planes of two bytes for an element, too: on a first Zen one of 5.5 MB takes 0.47 of the time. It was
/// not tried on others.
pub(crate) fn keeps_zeros_of_two_bytes() -> bool {
    is_first_zen()
}

/// Whether rows of averages that are written so many times should be made line by line on their way past the cache, by permutations of
/// the bytes of vectors, rather than put together in the cache and copied from there.
///
/// A first Zen (an EPYC 7001 was measured) permutes 32 bytes by 18 operations, eight of which turn its halves round: 17 averages
/// take 0.49 to 1.03 of the time if rows are put together, 0.76 by geometric mean. (Permutations of 16 bytes take longer, 1.1 and 1.2
/// of the time by lines and together.)
///
/// A Zen 3 permutes words by one instruction, but makes a line by some 80: 13 averages in `f32` and `f64` whose slabs are repeated take
/// 0.60 to 1.21 of the time if these are put together, 0.85 by geometric mean; three whose slabs are not, 1.2 to 1.5, and five in 16
/// bits 1.00 to 1.13. (That was before lines were read from rows that come again, but eight averages take 1.01 of the time together
/// as well.)
pub(crate) fn permuted_lines_pay<T>(n_copies: usize) -> bool {
    let are_repeated_words = n_copies > 1 && size_of::<T>() >= size_of::<u32>();
    !(is_first_zen() || (are_repeated_words && imp::is_older_amd()))
}

/// Whether cells of single channels should be filled by comparing few places with each output, rather than cleared and added to; of
/// planes of which several fit the second-level cache (`are_small`), or of larger ones.
///
/// A first Zen takes two operations for each on 32 bytes: 16 gradients of windows of two and four places in `f32` and `f64` take 0.30 to
/// 0.98 of the time by sums, 0.69 by geometric mean, and six whose planes are too large for that, and which are swept, 0.79 to 1.05. In
/// 16 bits sums took 0.70 to 1.20 of the time, and 0.85 to 1.58 where planes are swept, so that these are compared there, too.
///
/// On a Zen 3, 22 problems in `f32` and `f64` with small planes take 0.42 to 1.14 of the time by sums, 0.83 by geometric mean, and twelve
/// with larger ones 0.71 to 1.36, 1.03 by geometric mean: three less, and those that are swept all more.
pub(crate) fn comparing_single_channels_pays(are_small: bool) -> bool {
    !(is_first_zen() || (are_small && imp::is_older_amd()))
}

/// From how many outputs on a plane is better added to by itself where [`turns_pay`] does not hold for all.
const LEAST_ALONE: usize = 64;

/// Whether planes with so many outputs should be added to in turns with another: neighbouring windows often share their maximum, so
/// that each addition waits for the one before it, and planes are independent.
///
/// On a Zen 3 that gains nothing in the cache (14 gradients take 0.97 of the time one by one, 0.82 to 1.17), and what comes from
/// memory comes later: 14 of up to 48 MB, with 64 outputs and more to a plane, take 0.54 to 1.15 of the time one by one, 0.78 by
/// geometric mean, and 11 with fewer outputs 0.84 to 1.15, 1.00. A Zen 2 was not tried, nor were those that take turns everywhere.
pub(crate) fn turns_pay(n_outputs: usize) -> bool {
    n_outputs < LEAST_ALONE || !imp::is_older_amd() || is_first_zen()
}

/// Whether this is one of AMD's first Zen processors, which work on vectors of 32 bytes by halves.
fn is_first_zen() -> bool {
    imp::amd_signature().is_some_and(is_first_zen_by)
}

/// The same of a processor of AMD's with this signature: family 17h, below model 30h.
fn is_first_zen_by(signature: u32) -> bool {
    let part = |shift: u32, mask: u32| signature >> shift & mask;
    let (family, model) = (part(8, 0xf) + part(20, 0xff), part(4, 0xf) | part(16, 0xf) << 4);
    family == 0x17 && model < 0x30
}

/// How sums become elements.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Written {
    AsIs,
    Rounded,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_zen_is_told_from_others() {
        for (signature, is_first) in [
            (0x0080_0f12, true),  // EPYC 7001
            (0x0080_0f82, true),  // Zen+
            (0x0083_0f10, false), // EPYC 7002
            (0x00a0_0f11, false), // EPYC 7003
            (0x0060_0f20, false), // family 15h
        ] {
            assert_eq!(is_first_zen_by(signature), is_first, "{signature:#010x}");
        }
    }
}
