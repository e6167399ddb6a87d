//! `poolgrad info`: what this build is and what it finds on this machine.

use std::fs;
use std::path::Path;

use poolgrad::{DType, Direction, Isa, MaxPool, Operands, Plan, TensorDesc};
use serde_json::{Map, Value, json};

use crate::cli::Info;
use crate::console;
use crate::failure::Failure;

/// The environment variables that the library and its front ends read.
const VARIABLES: [&str; 4] = ["POOLGRAD_MAX_ISA", "POOLGRAD_NUM_THREADS", "POOLGRAD_VERBOSE", "RAYON_NUM_THREADS"];

pub(crate) fn run(arguments: &Info) -> Result<(), Failure> {
    let levels: Vec<_> = Isa::available().into_iter().map(Isa::name).collect();
    let threads = threads()?;
    let caches = caches(Path::new("/sys/devices/system/cpu/cpu0/cache"));
    let variables = VARIABLES.map(|name| (name, std::env::var_os(name)));
    let set =
        variables.iter().filter_map(|(name, value)| Some((*name, value.as_ref()?.to_string_lossy().into_owned())));
    if arguments.json {
        let environment: Map<String, Value> = set.map(|(name, value)| (name.into(), value.into())).collect();
        let caches: Vec<_> = caches
            .iter()
            .map(|cache| json!({"level": cache.level, "kind": cache.kind, "bytes": cache.bytes}))
            .collect();
        return console::json(&json!({
            "version": env!("CARGO_PKG_VERSION"),
            "isa_levels": levels,
            "isa": Isa::best().name(),
            "threads": threads,
            "caches": caches,
            "environment": environment,
        }));
    }
    console::line(format_args!("version      {}", env!("CARGO_PKG_VERSION")))?;
    console::line(format_args!("isa levels   {}", levels.join(", ")))?;
    console::line(format_args!("isa in use   {}", Isa::best()))?;
    console::line(format_args!("threads      {threads}"))?;
    let caches: Vec<_> = caches.iter().map(Cache::to_string).collect();
    console::line(format_args!("caches       {}", or(&caches, "unknown")))?;
    let set: Vec<_> = set.map(|(name, value)| format!("{name}={value}")).collect();
    console::line(format_args!("environment  {}", or(&set, "nothing set")))
}

fn or(parts: &[String], otherwise: &str) -> String {
    if parts.is_empty() { otherwise.into() } else { parts.join(", ") }
}

/// The threads that work on a large call: the plan of one says so.
fn threads() -> Result<usize, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::work(error.to_string());
    let pool = MaxPool::new_3d(2).spec(Direction::Forward);
    let desc =
        |dtype, size| TensorDesc::contiguous(dtype, [64, 64, size, size, size]).map_err(|error| failed(&error));
    let operands = Operands::PoolWithIndices {
        input: desc(DType::F32, 64)?,
        output: desc(DType::F32, 32)?,
        indices: desc(DType::I64, 32)?,
    };
    let plan = Plan::new(&pool, &operands).map_err(|error| failed(&error))?;
    Ok(plan.explain().threads)
}

/// A cache of the first processor core.
#[derive(Debug, PartialEq, Eq)]
struct Cache {
    level: u32,
    /// `Data`, `Instruction` or `Unified`.
    kind: String,
    bytes: u64,
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

/// The caches that Linux lists in `folder`; none where there is no such folder.
fn caches(folder: &Path) -> Vec<Cache> {
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
        assert_eq!(caches(Path::new("/no/such/folder")), []);
    }
}
