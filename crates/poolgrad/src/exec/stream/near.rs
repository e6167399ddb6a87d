//! Copying rows to an output that stays in the cache.

use super::imp::is_amd;

/// The bytes that one call copies on AMD's processors.
///
/// Up to 256, the C library reads all before it writes any. Longer rows it copies from the end on where the last twelve bits of
/// both addresses are near each other, and those of 2112 bytes and more, up to glibc 2.39, by one instruction that repeats itself
/// (`rep movsb`). On a Zen 4 lines that follow each other are asked for in time: to fill 26 MB with copies of 2 KiB takes 0.6 to
/// 1.2 ms ascending, 1.6 to 3.8 descending, and 0.7 to 2.9 by that instruction, with where in a line the output begins.
const AT_ONCE: usize = 256;

/// Copies `from` to `to`, memory of an output.
///
/// # Panics
/// If the lengths differ.
#[inline(always)]
pub(crate) fn copy_near<T: Copy>(from: &[T], to: &mut [T]) {
    assert_eq!(from.len(), to.len(), "as many places as elements");
    if size_of_val(from) <= AT_ONCE || !is_amd() {
        return to.copy_from_slice(from);
    }
    let n = AT_ONCE / size_of::<T>();
    for (from, to) in from.chunks(n).zip(to.chunks_mut(n)) {
        to.copy_from_slice(from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_any_number_of_elements() {
        let from: Vec<u32> = (1..=2000).collect();
        for len in [0, 1, 63, 64, 65, 128, 129, 2000] {
            let mut to = vec![0; len];
            copy_near(&from[..len], &mut to);
            assert_eq!(to, from[..len]);
        }
    }
}
