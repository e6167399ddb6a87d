//! The size of the last-level cache, as far as it can be counted on: what leaves it anyway is streamed.

use std::sync::OnceLock;

/// What is assumed where the system does not tell: the order of magnitude of one server core complex.
const ASSUMED: usize = 32 << 20;

/// The most that a processor may count on. A cache of hundreds of megabytes is made of many parts, and belongs to as many
/// processors, also to those of other tenants, which the system does not list: of one of 480 MiB, two processors had 59 MB
/// that they kept from call to call, and not 67.
const SHARE: usize = 28 << 20;

/// The bytes of the largest cache of the first processor, up to the share of those that the program may use, and of two at
/// least; read once.
pub(crate) fn last_level_cache_bytes() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(|| {
        let n_processors = std::thread::available_parallelism().map_or(1, usize::from);
        detect().unwrap_or(ASSUMED).min(SHARE.saturating_mul(n_processors.max(2)))
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
    fn sizes_are_read_with_their_unit() {
        assert_eq!(parse("32768K"), Some(32 << 20));
        assert_eq!(parse("1M"), Some(1 << 20));
        assert_eq!(parse("512"), Some(512));
        for wrong in ["", "K", "-1K", "many", "99999999999999999999K"] {
            assert_eq!(parse(wrong), None, "{wrong:?}");
        }
    }
}
