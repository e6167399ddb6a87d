//! `poolgrad run`: one operator on files.

mod job;
mod operator;
mod request;

use poolgrad::{Argument, Direction, Error};
use serde_json::{Value, json};

use crate::cli::Run;
use crate::console;
use crate::failure::Failure;
use crate::formats::{Outgoing, save};
use crate::progress::Progress;
use job::{Done, Job};
use operator::Operator;
use request::Request;

pub(crate) fn run(arguments: &Run) -> Result<(), Failure> {
    let operator: Operator = arguments.operator.parse()?;
    let request = Request::new(&operator, arguments)?;
    let direction = request.spec.direction;
    let job = Job::new(&request).map_err(|error| spelled(error, direction))??;
    let progress = Progress::new(job.n_bytes() + job.n_saved());
    let done = job.run(&progress)?;
    save(&done.outputs, &progress)?;
    drop(progress);
    if arguments.json { console::json(&as_json(&request, &done)) } else { print(&request, &done) }
}

/// An error of the library, with arguments named as they are on the command line.
fn spelled(error: Error, direction: Direction) -> Failure {
    Failure::work(error.message(&|argument| match (argument, direction) {
        (Argument::Input, _) => "--input",
        (Argument::Output, _) => "--output",
        (Argument::Indices, Direction::Forward) => "--indices-out",
        (Argument::Indices, Direction::Gradient) => "--indices",
        (Argument::GradOutput, _) => "--grad-output",
        // The gradient of the input has the shape that was asked for.
        (Argument::GradInput, _) => "--input-shape",
        (Argument::KernelSize, _) => "--kernel-size",
        (Argument::Stride, _) => "--stride",
        (Argument::Padding, _) => "--padding",
        (Argument::Dilation, _) => "--dilation",
        (Argument::OutputSize, _) => "--output-size",
        (other, _) => other.name(),
    }))
}

fn print(request: &Request<'_>, done: &Done<'_>) -> Result<(), Failure> {
    let explanation = &done.explanation;
    console::line(format_args!(
        "{} {}: {} -> {}, {} in {} ({:.1} GB/s), kernel {}, {}, {} threads",
        request.spec.name(),
        done.dtype,
        done.from,
        done.to,
        console::bytes(done.n_bytes),
        console::seconds(done.seconds),
        done.gb_per_s(),
        explanation.kernel,
        explanation.isa,
        explanation.threads,
    ))?;
    for output in &done.outputs {
        console::line(format_args!("wrote {} to {}", output.role, output.location))?;
    }
    Ok(())
}

fn as_json(request: &Request<'_>, done: &Done<'_>) -> Value {
    let output = |output: &Outgoing<'_>| {
        json!({
            "argument": output.role,
            "path": output.location.path.to_string_lossy(),
            "name": output.name(),
            "dtype": output.tensor.dtype().name(),
            "shape": output.tensor.shape()[..],
        })
    };
    json!({
        "operator": request.spec.name(),
        "dtype": done.dtype.name(),
        "from": done.from[..],
        "to": done.to[..],
        "kernel": done.explanation.kernel,
        "isa": done.explanation.isa.name(),
        "threads": done.explanation.threads,
        "workspace_bytes": done.explanation.workspace_bytes,
        "seconds": done.seconds,
        "bytes": done.n_bytes,
        "gb_per_s": done.gb_per_s(),
        "outputs": done.outputs.iter().map(output).collect::<Vec<_>>(),
    })
}
