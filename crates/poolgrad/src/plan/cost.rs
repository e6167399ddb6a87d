//! What a problem costs: its work, the bytes that it reads and writes, and whether these are in the cache.

use super::check::Checked;
use crate::dtype::DType;
use crate::exec::stream::keeps_zeros;
use crate::exec::{LastLevelCache, last_level_cache};
use crate::kernels::Summing;
use crate::spec::{Direction, Pool, Spec};

/// How long a problem takes, about: in elements of a gradient in `f32`, which are cleared and written. An output takes at least
/// as long as two of these; to compare inputs, or to round sums of another type, as long as everything else.
pub(super) fn work(spec: &Spec, checked: &Checked, summing: Summing) -> usize {
    let geometry = &checked.geometry;
    let per_plane = geometry.input_len().saturating_add(geometry.output_len().saturating_mul(2));
    let rounds = matches!(checked.dtype, DType::F16 | DType::BF16) && summing == Summing::All;
    let adds = matches!(spec.pool, Pool::Max(_) | Pool::AdaptiveMax(_));
    let times = if spec.direction == Direction::Forward || (rounds && adds) { 2 } else { 1 };
    per_plane.saturating_mul(geometry.n_planes()).saturating_mul(times)
}

/// The bytes of the input or of its gradient, and of all tensors.
fn traffic(checked: &Checked) -> (usize, usize) {
    let Checked { geometry, dtype, index_dtype, has_indices, .. } = checked;
    let bytes = |len: usize, element: usize| len.saturating_mul(geometry.n_planes()).saturating_mul(element);
    let index = if *has_indices { index_dtype.size() } else { 0 };
    let input = bytes(geometry.input_len(), dtype.size());
    (input, input.saturating_add(bytes(geometry.output_len(), dtype.size() + index)))
}

/// Whether what a call reads is too much to be in the last-level cache when it begins, beside what it writes.
pub(super) fn is_read_from_memory(direction: Direction, checked: &Checked) -> bool {
    let (input, all) = traffic(checked);
    let written = match direction {
        Direction::Gradient => input,
        Direction::Forward => all - input,
    };
    is_too_much((written, all), last_level_cache().bytes)
}

/// [`is_read_from_memory`] by the bytes that are written, of all tensors and of the cache.
fn is_too_much((written, all): (usize, usize), cache: usize) -> bool {
    all - written > cache / 2
}

/// Whether what a call writes leaves the last-level cache before anyone can read it: a gradient that is larger, or is
/// pushed out by what is read; and outputs that are those of many maxima, or are pushed out by an input of which they are a small part.
///
/// Of a cache that others use too, less is kept: where it is known how much, by [`keeps_half_of_cache`], gradients are streamed as soon
/// as all tensors take more. Elsewhere those of maxima are from smaller sizes on than those of averages: most of their lines are added to,
/// or are zero, and not only filled. (On a Granite Rapids, whose share is kept, those of 42 to 56 MB take 1.3 to 1.9 times as long if they are
/// streamed.)
///
/// [`keeps_half_of_cache`]: crate::exec::stream::keeps_half_of_cache
///
/// Where all sums of a maximum are rounded into an output, or gathered in registers, nothing of it needs to be near before: on a
/// Zen 4 with as large a cache, gradients of 13 to 18 MB take 0.74 to 1.07 of the time if they are streamed, and in busy hours 0.65
/// to 0.8; gathered ones of 17 and 19 MB in `f32` 0.6 to 0.7, and of 11 and 13 MB 1.0 to 1.1. Those of windows of stride 1, whose
/// outputs are several times as many bytes and push out what was written, do so from smaller sizes on.
///
/// Outputs and indices of maxima are not needed near before they are complete either: on a Zen 4, 22 of 11 to 31 MB take 0.67 to
/// 1.12 of the time if they are streamed, 0.87 by geometric mean; others were not tried.
///
/// Where most of what is written is zeros, see [`keeps_zeros`].
///
/// If the sums of a gradient are formed in the output, streaming costs a copy, but no line is fetched to be cleared: it pays where
/// much is read, and not for groups of channels, whose sums are held in smaller pieces.
pub(super) fn leaves_the_cache(direction: Direction, checked: &Checked, sums: Sums) -> bool {
    let cache = last_level_cache();
    let kept = if sums.are_few && keeps_zeros() { cache.bytes } else { cache.kept };
    leaves(direction, traffic(checked), sums, LastLevelCache { kept, ..cache })
}

/// Whether few sums are better added to zeros in the cache than gathered, zeros and all, on the way past it.
///
/// On a first Zen with 8 MiB, gradients of maxima in groups of channels with at least 32 inputs to an output take 0.39 to 0.71 of the
/// time, if they have 3.2 to 5.6 MB, and 0.75 to 1.29 with 6.4 to 6.9.
pub(super) fn keeps_zeros_instead_of_gathering(checked: &Checked) -> bool {
    keeps_zeros() && traffic(checked).0 <= last_level_cache().bytes / 4 * 3
}

/// How the sums of a gradient are formed.
#[derive(Clone, Copy)]
pub(super) struct Sums {
    /// Whether they are those of a maximum, whose outputs have indices.
    pub(super) of_maxima: bool,
    /// Whether so few have terms that little but zeros is written.
    pub(super) are_few: bool,
    /// Whether they are formed in the output.
    pub(super) in_output: bool,
    /// Whether there are none: windows that touch are filled by comparing places with their outputs.
    pub(super) are_filled: bool,
    /// Whether all of them are rounded, or gathered: whether they are complete when anything is written.
    pub(super) are_complete: bool,
    /// The channels that are worked on together.
    pub(super) width: usize,
}

/// [`leaves_the_cache`] by the bytes of the input or its gradient and of all tensors, and the cache.
fn leaves(direction: Direction, (input, all): (usize, usize), sums: Sums, cache: LastLevelCache) -> bool {
    let LastLevelCache { bytes: cache, kept, kept_of_all } = cache;
    // Windows of single channels that are filled lie in the output as they are formed.
    let fills_output = sums.are_filled && sums.width == 1;
    if let (Direction::Gradient, Some(kept), false) = (direction, kept_of_all, fills_output) {
        return all > kept;
    }
    let is_read_from_memory = is_too_much((input, all), cache);
    let are_in_pieces = sums.in_output && sums.width > 1 && is_read_from_memory;
    let are_maxima_complete = sums.of_maxima && sums.are_complete;
    // Of what is complete when it is written.
    let of_complete = cache / 8 * 3;
    let stays = if are_maxima_complete {
        of_complete
    } else if sums.of_maxima && !are_in_pieces {
        kept
    } else {
        cache
    };
    match direction {
        Direction::Gradient if input > stays => true,
        Direction::Gradient if all <= cache => false,
        Direction::Gradient if sums.in_output => sums.width == 1 && is_read_from_memory,
        Direction::Gradient => input >= cache / 4 * 3 || (are_maxima_complete && all >= cache / 2 * 3),
        Direction::Forward => (sums.of_maxima && all - input > of_complete) || all >= cache.saturating_mul(2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_streamed_from_the_sizes_that_leave_the_cache() {
        let rounded = Sums {
            of_maxima: true,
            are_few: false,
            in_output: false,
            are_filled: false,
            are_complete: true,
            width: 1,
        };
        let once = Sums { in_output: true, are_complete: false, ..rounded };
        let average = Sums { of_maxima: false, ..rounded };
        let cache = LastLevelCache::new(32 << 20, 2, false);
        let cases = [
            ("rounded maxima", rounded, (12, 16), (13, 17)),
            ("rounded maxima that are pushed out", rounded, (11, 47), (11, 48)),
            ("maxima in the output", once, (20, 24), (21, 25)),
            ("maxima in the output that are pushed out", once, (16, 32), (16, 33)),
            ("channels in the output that are pushed out", Sums { width: 32, ..once }, (32, 64), (33, 65)),
            ("rounded averages", average, (32, 32), (33, 33)),
            ("rounded averages that are pushed out", average, (23, 60), (24, 60)),
        ];
        for (name, sums, stays, leaves_it) in cases {
            let leaves =
                |(input, all): (usize, usize)| leaves(Direction::Gradient, (input << 20, all << 20), sums, cache);
            assert!(!leaves(stays) && leaves(leaves_it), "{name}");
            let cache = LastLevelCache::new(32 << 20, 2, true);
            let leaves = |all: usize| super::leaves(Direction::Gradient, (5 << 20, all << 20), sums, cache);
            assert!(!leaves(16) && leaves(17), "{name} where half of the cache is kept");
        }
        let half = LastLevelCache::new(32 << 20, 2, true);
        let leaves_half = |sums| leaves(Direction::Gradient, (20 << 20, 31 << 20), sums, half);
        let first = Sums { are_complete: false, ..rounded };
        let filled = Sums { are_filled: true, ..first };
        assert!(leaves_half(first) && !leaves_half(filled), "first terms, and windows that are filled");
        assert!(leaves_half(Sums { width: 32, ..filled }), "windows of channels that are filled");
        let leaves =
            |(input, all): (usize, usize), sums| leaves(Direction::Forward, (input << 20, all << 20), sums, cache);
        assert!(!leaves((10, 22), once) && leaves((10, 23), once), "maxima by themselves");
        assert!(!leaves((10, 23), average), "means");
        assert!(!leaves((60, 63), average) && leaves((60, 64), average), "outputs that are pushed out");
    }
}
