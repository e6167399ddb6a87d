//! The arguments of every command.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use poolgrad::{DType, Isa, Sizes};

use crate::formats::Location;

const EXAMPLES: &str = "\
Examples:
  poolgrad                        the demo: five operators on a brain scan, checked, with pictures
  poolgrad run max_3d --input x.npy --kernel-size 3 --stride 2 --output y.npy --indices-out i.npy
  poolgrad check 'adaptive_max_grad n2c16 in16x56x56 out8x7x7 bf16 i32'
  poolgrad bench --quick
  poolgrad info";

/// Pooling gradients: fast, deterministic, bounds-checked, native on strided tensors.
///
/// Without a command, the demo runs.
#[derive(Debug, Parser)]
#[command(name = "poolgrad", version, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run five operators and their gradients on a real MRI volume, check them, time them and draw them.
    Demo(Demo),
    /// Run one operator on files.
    Run(Box<Run>),
    /// Run problem lines against the high-precision reference.
    Check(Check),
    /// Time problem lines and compare with what this machine's memory allows.
    Bench(Bench),
    /// Print the version, instruction sets, threads, caches and environment variables in force.
    Info(Info),
}

impl Default for Command {
    fn default() -> Self {
        Self::Demo(Demo::default())
    }
}

const DEMO_EXAMPLES: &str = "\
Examples:
  poolgrad demo                          the built-in volume; pictures go to poolgrad-demo/
  poolgrad demo --out pictures --json    results as JSON
  poolgrad demo --input scan.npy         your volume of [D, H, W], [C, D, H, W] or [N, C, D, H, W]";

#[derive(Args, Clone, Debug)]
#[command(after_help = DEMO_EXAMPLES)]
pub(crate) struct Demo {
    /// A volume to use instead of the built-in one: FILE.npy, FILE.safetensors or FILE.safetensors:NAME.
    #[arg(long, value_name = "FILE")]
    pub(crate) input: Option<Location>,
    /// The folder for the pictures; it is made if it is not there.
    #[arg(long, value_name = "DIR", default_value = Demo::OUT)]
    pub(crate) out: PathBuf,
    /// The most threads that work on one call [default: all].
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) threads: Option<usize>,
    /// Print the results as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

impl Demo {
    const OUT: &str = "poolgrad-demo";
}

impl Default for Demo {
    fn default() -> Self {
        Self { input: None, out: Self::OUT.into(), threads: None, json: false }
    }
}

const RUN_EXAMPLES: &str = "\
Operators:
  max, adaptive_max, adaptive_avg                   forward: --input, --output
                                                    (max also: --indices-out)
  max_grad, adaptive_max_grad, adaptive_avg_grad    gradient: --grad-output, --input-shape,
                                                    --grad-input (max also: --indices)
  A name may say the number of spatial axes: max_3d, adaptive_max_2d_grad.

Files:
  FILE.npy                  NumPy array: f16, f32, f64; indices i32, i64
  FILE.safetensors[:NAME]   tensor NAME of a safetensors file: these and bf16

Examples:
  poolgrad run max_3d --kernel-size 3 --input x.npy --output y.npy --indices-out i.npy
  poolgrad run max_3d_grad --kernel-size 3 --input x.npy --grad-output g.npy --indices i.npy
      --grad-input gx.npy
  poolgrad run adaptive_avg_grad --input-shape 2,24,96,128 --dims 3 --grad-output w.safetensors:g
      --dtype bf16 --grad-input out.safetensors:gx";

#[derive(Args, Debug)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct Run {
    /// The operator, such as adaptive_max_grad; the list is below.
    #[arg(value_name = "OPERATOR")]
    pub(crate) operator: String,

    /// Forward: the tensor to pool. Gradient: a tensor whose shape is the input's, instead of --input-shape.
    #[arg(long, value_name = "FILE", help_heading = "Tensors to read")]
    pub(crate) input: Option<Location>,
    /// Gradient: the gradient of the loss with respect to the pooled values.
    #[arg(long, value_name = "FILE", help_heading = "Tensors to read")]
    pub(crate) grad_output: Option<Location>,
    /// Gradient of max: where the maxima lie, as the forward run wrote it.
    #[arg(long, value_name = "FILE", help_heading = "Tensors to read")]
    pub(crate) indices: Option<Location>,
    /// Gradient: the shape of the tensor that was pooled, such as 1,2,24,96,128.
    #[arg(long, value_name = "SIZES", value_parser = sizes, allow_hyphen_values = true, help_heading = "Tensors to read")]
    pub(crate) input_shape: Option<Sizes>,

    /// Forward: where the pooled values go.
    #[arg(long, value_name = "FILE", help_heading = "Tensors to write")]
    pub(crate) output: Option<Location>,
    /// Forward of max: where the places of the maxima go.
    #[arg(long, value_name = "FILE", help_heading = "Tensors to write")]
    pub(crate) indices_out: Option<Location>,
    /// Gradient: where the gradient of the input goes.
    #[arg(long, value_name = "FILE", help_heading = "Tensors to write")]
    pub(crate) grad_input: Option<Location>,

    /// The size of the window: one value, or one for each spatial axis.
    #[arg(long, value_name = "SIZES", value_parser = sizes, allow_hyphen_values = true, help_heading = "Parameters")]
    pub(crate) kernel_size: Option<Sizes>,
    /// The step from one window to the next [default: the kernel size].
    #[arg(long, value_name = "SIZES", value_parser = sizes, allow_hyphen_values = true, help_heading = "Parameters")]
    pub(crate) stride: Option<Sizes>,
    /// The border of padding, at most half of the kernel size [default: 0].
    #[arg(long, value_name = "SIZES", value_parser = sizes, allow_hyphen_values = true, help_heading = "Parameters")]
    pub(crate) padding: Option<Sizes>,
    /// The step between the elements of a window [default: 1].
    #[arg(long, value_name = "SIZES", value_parser = sizes, allow_hyphen_values = true, help_heading = "Parameters")]
    pub(crate) dilation: Option<Sizes>,
    /// Count a last window that is cut off by the border.
    #[arg(long, help_heading = "Parameters")]
    pub(crate) ceil_mode: bool,
    /// Adaptive: the spatial size of the output [gradient: default that of --grad-output].
    #[arg(long, value_name = "SIZES", value_parser = sizes, allow_hyphen_values = true, help_heading = "Parameters")]
    pub(crate) output_size: Option<Sizes>,
    /// The number of spatial axes, where neither the operator's name nor the sizes say it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=3), help_heading = "Parameters")]
    pub(crate) dims: Option<u8>,

    /// Convert values to this type first: f32, f64, f16, bf16 [default: the file's].
    #[arg(long, value_name = "TYPE", value_parser = float_dtype, help_heading = "Types and execution")]
    pub(crate) dtype: Option<DType>,
    /// Forward of max: the type of the indices, i32 or i64 [default: i64].
    #[arg(long, value_name = "TYPE", value_parser = index_dtype, help_heading = "Types and execution")]
    pub(crate) index_dtype: Option<DType>,
    /// The most threads that work on one call [default: all].
    #[arg(long, value_name = "N", value_parser = count, help_heading = "Types and execution")]
    pub(crate) threads: Option<usize>,
    /// The instruction set to run on; `poolgrad info` lists them [default: the best].
    #[arg(long, value_name = "NAME", value_parser = isa, help_heading = "Types and execution")]
    pub(crate) isa: Option<Isa>,
    /// Print what was done as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

const CHECK_EXAMPLES: &str = "\
A problem is one line: operator, sizes, parameters, types, layout, fill. A file holds one a line, with # comments.
  adaptive_max_grad n2c16 in16x56x56 out8x7x7 bf16 i32 ncdhw
  max_grad n2c64 in16x112x112 k3x3x3 s2x2x2 p1x1x1 ceil f32 i64 ndhwc ties

Examples:
  poolgrad check problems/edges.txt --isa all --threads 1,2,7
  poolgrad check 'adaptive_avg_grad c3 in5x7x9 out2x3x4 f16'
  generate-problems | poolgrad check -";

#[derive(Args, Debug)]
#[command(after_help = CHECK_EXAMPLES)]
pub(crate) struct Check {
    /// Files of problem lines, - for standard input, or problems in quotes.
    #[arg(value_name = "FILE|PROBLEM", required = true)]
    pub(crate) problems: Vec<String>,
    /// Run each problem with each of these thread counts, such as 1,2,7 [default: all threads].
    #[arg(long, value_name = "N", value_parser = count, value_delimiter = ',')]
    pub(crate) threads: Vec<usize>,
    /// Run on this instruction set, or on `all` of this machine's [default: the best].
    #[arg(long, value_name = "NAME")]
    pub(crate) isa: Option<String>,
    /// Run this kernel [default: the one that the library prefers].
    #[arg(long, value_name = "NAME")]
    pub(crate) kernel: Option<String>,
    /// Print the results as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

const BENCH_EXAMPLES: &str = "\
Each result is checked before it is timed. The roofline is the time that memory alone would take,
from the bandwidths measured between the runs; docs/performance.md explains.

Examples:
  poolgrad bench                                      the built-in list, problems/bench.txt
  poolgrad bench 'max_grad n2c64 in16x112x112 k3 s2 p1 bf16 i32' --threads 1,2
  poolgrad bench --html report.html --record benchmarks/record";

#[derive(Args, Debug)]
#[command(after_help = BENCH_EXAMPLES)]
pub(crate) struct Bench {
    /// Files of problem lines, - for standard input, or problems in quotes [default: the built-in list].
    #[arg(value_name = "FILE|PROBLEM")]
    pub(crate) problems: Vec<String>,
    /// Time each problem with each of these thread counts, such as 1,2 [default: all threads].
    #[arg(long, value_name = "N", value_parser = count, value_delimiter = ',')]
    pub(crate) threads: Vec<usize>,
    /// Run on this instruction set, or on `all` of this machine's [default: the best].
    #[arg(long, value_name = "NAME")]
    pub(crate) isa: Option<String>,
    /// Run this kernel [default: the one that the library prefers].
    #[arg(long, value_name = "NAME")]
    pub(crate) kernel: Option<String>,
    /// Time this many runs of each problem [default: 0.3 seconds of them, at least 9].
    #[arg(long, value_name = "N", value_parser = count, conflicts_with = "quick")]
    pub(crate) repeat: Option<usize>,
    /// Time few runs: a look rather than a measurement.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Print the results as one JSON array.
    #[arg(long, conflicts_with = "markdown")]
    pub(crate) json: bool,
    /// Print the results as a Markdown table.
    #[arg(long)]
    pub(crate) markdown: bool,
    /// Also write a page with charts.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Also write the results with machine, compiler and commit, as JSON and Markdown.
    #[arg(long, value_name = "DIR")]
    pub(crate) record: Option<PathBuf>,
}

const INFO_EXAMPLES: &str = "\
Examples:
  poolgrad info
  POOLGRAD_MAX_ISA=avx2 poolgrad info --json";

#[derive(Args, Debug)]
#[command(after_help = INFO_EXAMPLES)]
pub(crate) struct Info {
    /// Print the facts as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Reads `3` or `3,3,3`; what the values may be is the library's business.
fn sizes(text: &str) -> Result<Sizes, String> {
    let values: Result<Vec<i64>, _> = text.split(',').map(|part| part.trim().parse()).collect();
    let values = values.map_err(|_| "whole numbers separated by commas are wanted, such as 3,3,3")?;
    Sizes::try_from(values.as_slice()).map_err(|error| error.to_string())
}

fn count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count) if 1 <= count => Ok(count),
        _ => Err("a whole number from 1 is wanted".into()),
    }
}

/// Reads an instruction set of this machine.
pub(crate) fn isa(text: &str) -> Result<Isa, String> {
    Isa::from_name(text).ok_or_else(|| {
        let names: Vec<_> = Isa::available().into_iter().map(Isa::name).collect();
        format!("this machine has {}", names.join(", "))
    })
}

fn float_dtype(text: &str) -> Result<DType, String> {
    dtype_among(&DType::FLOATS, text)
}

fn index_dtype(text: &str) -> Result<DType, String> {
    dtype_among(&DType::INDICES, text)
}

fn dtype_among(wanted: &[DType], text: &str) -> Result<DType, String> {
    let found = wanted.iter().copied().find(|dtype| dtype.name() == text);
    found.ok_or_else(|| {
        let names: Vec<_> = wanted.iter().map(|dtype| dtype.name()).collect();
        format!("one of {} is wanted", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // Oracle: clap's own consistency check of the whole argument tree.
    #[test]
    fn arguments_are_consistent() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }

    // Oracle: by hand.
    #[test]
    fn size_lists_are_read_or_refused() {
        assert_eq!(sizes("3"), Ok(Sizes::from(3)));
        assert_eq!(sizes("1, 2,-3"), Ok(Sizes::from([1, 2, -3])));
        for wrong in ["", "3x3", "1,,2", "9223372036854775808", "1,2,3,4,5,6,7,8,9"] {
            assert!(sizes(wrong).is_err(), "{wrong}");
        }
    }
}
