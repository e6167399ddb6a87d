//! `poolgrad info`: what this build is and what it finds on this machine.

use poolgrad::{DType, Direction, Isa, MaxPool, Operands, Plan, TensorDesc};
use serde_json::{Map, Value, json};

use crate::cli::Info;
use crate::console;
use crate::failure::Failure;
use crate::machine;

/// The environment variables that the library and its front ends read.
const VARIABLES: [&str; 4] = ["POOLGRAD_MAX_ISA", "POOLGRAD_NUM_THREADS", "POOLGRAD_VERBOSE", "RAYON_NUM_THREADS"];

pub(crate) fn run(arguments: &Info) -> Result<(), Failure> {
    let levels: Vec<_> = Isa::available().into_iter().map(Isa::name).collect();
    let threads = threads()?;
    let caches = machine::caches();
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
    let caches: Vec<_> = caches.iter().map(machine::Cache::to_string).collect();
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
