//! The machine: its processor and caches, as far as the system tells.

use std::fs;
use std::path::Path;

/// A cache of the first processor core.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Cache {
    pub(crate) level: u32,
    /// `Data`, `Instruction` or `Unified`.
    pub(crate) kind: String,
    pub(crate) bytes: u64,
}

impl std::fmt::Display for Cache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self.kind.as_str() {
            "Data" => "d",
            "Instruction" => "i",
            _ => "",
        };
        write!(f, "L{}{kind} {} KiB", self.level, self.bytes / 1024)
    }
}

/// The caches of the first processor core; none where the system does not list them.
pub(crate) fn caches() -> Vec<Cache> {
    caches_in(Path::new("/sys/devices/system/cpu/cpu0/cache"))
}

/// The bytes of the largest cache, 0 if unknown.
pub(crate) fn last_level_cache_bytes() -> u64 {
    caches().iter().map(|cache| cache.bytes).max().unwrap_or(0)
}

/// The name of the processor, as the system tells it.
pub(crate) fn processor() -> String {
    let list = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = list.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.trim().to_owned())
}

/// The number of processors that this program may use.
pub(crate) fn n_processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The caches that Linux lists in `folder`; none where there is no such folder.
fn caches_in(folder: &Path) -> Vec<Cache> {
    let read = |index: usize, name: &str| {
        let path = folder.join(format!("index{index}")).join(name);
        fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
    };
    let cache = |index| {
        Some(Cache {
            level: read(index, "level")?.parse().ok()?,
            kind: read(index, "type")?,
            bytes: cache_bytes(&read(index, "size")?)?,
        })
    };
    (0..).map_while(cache).collect()
}

/// Reads `48K` or `32M`.
fn cache_bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Oracle: by hand, from the kernel's documentation of the sysfs format.
    #[test]
    fn cache_sizes_are_read_or_unknown() {
        assert_eq!(cache_bytes("48K"), Some(49152));
        assert_eq!(cache_bytes("32M"), Some(32 << 20));
        assert_eq!(cache_bytes("512"), Some(512));
        for wrong in ["", "K", "48KB", "-1K", "99999999999999999999G", "18446744073709551615K"] {
            assert_eq!(cache_bytes(wrong), None, "{wrong}");
        }
        assert_eq!(caches_in(Path::new("/no/such/folder")), []);
    }
}
