//! The last-level cache, as far as it can be counted on: what leaves it anyway is streamed.

use std::sync::OnceLock;

use super::stream::keeps_half_of_cache;

/// What is assumed where the system does not tell: the order of magnitude of one server core complex.
const ASSUMED: usize = 32 << 20;

/// The most that a processor may count on. A cache of hundreds of megabytes is made of many parts, and belongs to as many
/// processors, also to those of other tenants, which the system does not list: of one of 480 MiB, two processors had 59 MB
/// that they kept from call to call, and not 67.
const SHARE: usize = 28 << 20;

/// The last-level cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastLevelCache {
    /// The bytes of the largest cache of the first processor, up to the share of those that the program may use, and of two at
    /// least.
    pub(crate) bytes: usize,
    /// How many of them are kept from call to call even if others use the cache too.
    pub(crate) kept: usize,
    /// How many bytes of all tensors of a gradient are kept, where that was measured: what is read takes its part.
    pub(crate) kept_of_all: Option<usize>,
}

impl LastLevelCache {
    /// One of so many bytes, for so many processors, which may be known to keep half of it.
    ///
    /// A share is what was seen to be kept. Of a smaller cache all may be at hand or less: on a Zen 3 with 32 MiB, two processors
    /// kept 16 of them.
    pub(crate) fn new(bytes: usize, n_processors: usize, keeps_half: bool) -> Self {
        let share = SHARE.saturating_mul(n_processors.max(2));
        if bytes > share {
            return Self { bytes: share, kept: share, kept_of_all: None };
        }
        Self { bytes, kept: bytes / 8 * 5, kept_of_all: keeps_half.then_some(bytes / 2) }
    }
}

/// This machine's, read once.
pub(crate) fn last_level_cache() -> LastLevelCache {
    static CACHE: OnceLock<LastLevelCache> = OnceLock::new();
    *CACHE.get_or_init(|| {
        let n_processors = std::thread::available_parallelism().map_or(1, usize::from);
        LastLevelCache::new(detect().unwrap_or(ASSUMED), n_processors, keeps_half_of_cache(n_processors))
    })
}

/// Linux lists a processor's caches as files; elsewhere there are none.
fn detect() -> Option<usize> {
    let caches = std::fs::read_dir("/sys/devices/system/cpu/cpu0/cache").ok()?;
    let sizes = caches.filter_map(|cache| std::fs::read_to_string(cache.ok()?.path().join("size")).ok());
    sizes.filter_map(|text| parse(text.trim())).max()
}

/// A size such as `32768K`.
fn parse(text: &str) -> Option<usize> {
    let (number, unit) = match text.split_at_checked(text.len().checked_sub(1)?)? {
        (number, "K") => (number, 1 << 10),
        (number, "M") => (number, 1 << 20),
        _ => (text, 1),
    };
    number.parse::<usize>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_of_many_processors_is_counted_by_shares() {
        let cache = |mebibytes: usize, n_processors| {
            let LastLevelCache { bytes, kept, .. } = LastLevelCache::new(mebibytes << 20, n_processors, false);
            (bytes >> 20, kept >> 20)
        };
        assert_eq!(cache(32, 2), (32, 20));
        assert_eq!(cache(480, 1), (56, 56), "of two at least");
        assert_eq!(cache(480, 4), (112, 112));
        assert_eq!(cache(480, 64), (480, 300));
        let half = |mebibytes: usize| LastLevelCache::new(mebibytes << 20, 2, true).kept_of_all;
        assert_eq!((half(32), half(480)), (Some(16 << 20), None), "of a share all is kept");
    }

    #[test]
    fn sizes_are_read_with_their_unit() {
        assert_eq!(parse("32768K"), Some(32 << 20));
        assert_eq!(parse("1M"), Some(1 << 20));
        assert_eq!(parse("512"), Some(512));
        for wrong in ["", "K", "-1K", "many", "99999999999999999999K"] {
            assert_eq!(parse(wrong), None, "{wrong:?}");
        }
    }
}
