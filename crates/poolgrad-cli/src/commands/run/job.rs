//! A request carried out: planned as a whole, executed in parts so that progress can be seen.

use std::time::Instant;

use poolgrad::{
    Argument, DType, Error, Explanation, Layout, Operands as Core, Plan, Sizes, Tensor, TensorDesc, TensorView,
    TensorViewMut,
};

use super::request::{Operands, Request};
use super::spelled;
use crate::console;
use crate::failure::Failure;
use crate::formats::{Location, Outgoing, Part, Source, check_targets, part_mut};
use crate::progress::Progress;

/// About how many bytes one part reads and writes: large enough to be as fast as the whole, small enough that the
/// bar moves.
const PART_BYTES: u64 = 64 << 20;

/// A request whose plan is made and whose outputs have memory.
#[derive(Debug)]
pub(super) struct Job<'a> {
    request: &'a Request<'a>,
    explanation: Explanation,
    outputs: Vec<Pending<'a>>,
}

/// An output; without a place it is computed and dropped.
#[derive(Debug)]
struct Pending<'a> {
    role: &'static str,
    location: Option<&'a Location>,
    tensor: Tensor,
}

/// What was done.
#[derive(Debug)]
pub(super) struct Done<'a> {
    pub(super) explanation: Explanation,
    pub(super) dtype: DType,
    /// The shape of the tensor that was read.
    pub(super) from: Sizes,
    /// The shape of the tensor that was written.
    pub(super) to: Sizes,
    /// The time that execution took, without reading and writing files.
    pub(super) seconds: f64,
    /// The bytes that execution read and wrote.
    pub(super) n_bytes: u64,
    pub(super) outputs: Vec<Outgoing<'a>>,
}

impl Done<'_> {
    pub(super) fn gb_per_s(&self) -> f64 {
        self.n_bytes as f64 / self.seconds.max(1e-9) / 1e9
    }
}

/// An output before it has memory.
type Target<'a> = (&'static str, Option<&'a Location>, TensorDesc);

impl<'a> Job<'a> {
    /// Plans `request` and checks where its outputs go.
    ///
    /// # Errors
    /// The library's, for the caller to spell; or a failure of the files.
    pub(super) fn new(request: &'a Request<'a>) -> Result<Result<Self, Failure>, Error> {
        let targets = targets(request)?;
        let explanation = {
            let operands = whole(request, &targets);
            Plan::with_options(&request.spec, &operands, &request.options)?.explain().clone()
        };
        Ok(Self::allocate(request, explanation, &targets))
    }

    fn allocate(
        request: &'a Request<'a>,
        explanation: Explanation,
        targets: &[Target<'a>],
    ) -> Result<Self, Failure> {
        let written: Vec<_> =
            targets.iter().filter_map(|(role, location, desc)| Some((*role, (*location)?, desc.dtype))).collect();
        check_targets(&written)?;
        if std::env::var("POOLGRAD_VERBOSE").is_ok_and(|value| value != "0") {
            console::note(&explanation);
        }
        let pending = |&(role, location, desc): &Target<'a>| {
            let tensor = Tensor::zeros(desc.dtype, *desc.shape());
            let tensor = tensor.map_err(|error| Failure::work(format!("{role}: {error}")))?;
            Ok(Pending { role, location, tensor })
        };
        let outputs = targets.iter().map(pending);
        Ok(Self { request, explanation, outputs: outputs.collect::<Result<_, Failure>>()? })
    }

    /// Runs all parts.
    ///
    /// # Errors
    /// An index outside the volume, in the request's own coordinates.
    pub(super) fn run(mut self, progress: &Progress) -> Result<Done<'a>, Failure> {
        let direction = self.request.spec.direction;
        let (dtype, from) = match &self.request.operands {
            Operands::Forward { input: source, .. } | Operands::Gradient { grad_output: source, .. } => {
                (source.desc().dtype, *source.desc().shape())
            }
        };
        let n_bytes = self.n_bytes();
        let parts = self.parts(n_bytes);
        progress.say(self.request.spec.name());
        let mut seconds = 0.0;
        let mut planned: Option<(i64, Plan, Vec<u8>)> = None;
        for part in &parts {
            let (descs, operands) = operands(self.request, &mut self.outputs, part)?;
            let len = part.range.end - part.range.start;
            // Parts of one length have one layout, so the plan of the last part serves again.
            let (_, plan, workspace) = match planned.take_if(|(planned, ..)| *planned == len) {
                Some(reused) => planned.insert(reused),
                None => {
                    let plan = Plan::with_options(&self.request.spec, &descs, &self.request.options)
                        .map_err(|error| spelled(error, direction))?;
                    let workspace = vec![0; plan.workspace_bytes()];
                    planned.insert((len, plan, workspace))
                }
            };
            let start = Instant::now();
            let result = plan.execute(operands, workspace);
            seconds += start.elapsed().as_secs_f64();
            result.map_err(|error| spelled(self.shifted(error, part), direction))?;
            progress.step(n_bytes / parts.len() as u64);
        }
        let to = self.outputs.first().map(|output| *output.tensor.shape());
        let outputs = self.outputs.into_iter().filter_map(|pending| {
            Some(Outgoing { role: pending.role, location: pending.location?, tensor: pending.tensor })
        });
        Ok(Done {
            explanation: self.explanation,
            dtype,
            from,
            to: to.unwrap_or_default(),
            seconds,
            n_bytes,
            outputs: outputs.collect(),
        })
    }

    /// The bytes of all tensors.
    pub(super) fn n_bytes(&self) -> u64 {
        let read: u64 = match &self.request.operands {
            Operands::Forward { input, .. } => source_bytes(input),
            Operands::Gradient { grad_output, indices, .. } => {
                source_bytes(grad_output) + indices.as_deref().map_or(0, source_bytes)
            }
        };
        read + self.outputs.iter().map(|output| output.tensor.as_bytes().len() as u64).sum::<u64>()
    }

    /// The bytes of the tensors that go to files.
    pub(super) fn n_saved(&self) -> u64 {
        let saved = self.outputs.iter().filter(|output| output.location.is_some());
        saved.map(|output| output.tensor.as_bytes().len() as u64).sum()
    }

    /// The whole, cut along the first axis that has more than one entry and is not spatial.
    fn parts(&self, n_bytes: u64) -> Vec<Part> {
        let shape = self.outputs.first().map_or_else(Sizes::default, |output| *output.tensor.shape());
        let axis = usize::from(self.is_batched() && shape.first() == Some(&1));
        let size = shape.get(axis).copied().unwrap_or(1);
        if size == 0 {
            return vec![Part { axis, range: 0..0 }];
        }
        let n_parts = i64::try_from(n_bytes.div_ceil(PART_BYTES)).unwrap_or(size);
        let step = size.unsigned_abs().div_ceil(n_parts.clamp(1, size).unsigned_abs());
        let starts = (0..size).step_by(usize::try_from(step).unwrap_or(usize::MAX));
        let range = |start: i64| start..start.saturating_add_unsigned(step).min(size);
        starts.map(|start| Part { axis, range: range(start) }).collect()
    }

    fn is_batched(&self) -> bool {
        let rank = self.outputs.first().map_or(0, |output| output.tensor.shape().len());
        rank == self.request.spec.n_spatial() + 2
    }

    /// An error of a part, with the batch entry and channel counted in the whole.
    fn shifted(&self, error: Error, part: &Part) -> Error {
        let start = usize::try_from(part.range.start).unwrap_or(0);
        match error {
            Error::IndexOutOfRange { n, c, position, value, volume } => {
                let along_n = self.is_batched() && part.axis == 0;
                Error::IndexOutOfRange {
                    n: if along_n { n + start } else { n },
                    c: if along_n { c } else { c + start },
                    position,
                    value,
                    volume,
                }
            }
            other => other,
        }
    }
}

fn source_bytes(source: &Source) -> u64 {
    let desc = source.desc();
    desc.layout.n_elements().unsigned_abs() * desc.dtype.size() as u64
}

/// The outputs that the request makes.
fn targets<'a>(request: &'a Request<'a>) -> Result<Vec<Target<'a>>, Error> {
    let desc = |argument, dtype, shape: Sizes| -> Result<TensorDesc, Error> {
        let layout = Layout::contiguous(shape).map_err(|problem| problem.of(argument))?;
        Ok(TensorDesc { dtype, layout })
    };
    Ok(match &request.operands {
        Operands::Forward { input, output, indices } => {
            let shape = request.spec.output_shape(*input.desc().shape())?;
            let mut targets = vec![("output", Some(*output), desc(Argument::Output, input.desc().dtype, shape)?)];
            if let Some((dtype, location)) = indices {
                targets.push(("indices", *location, desc(Argument::Indices, *dtype, shape)?));
            }
            targets
        }
        Operands::Gradient { grad_output, input_shape, grad_input, .. } => {
            vec![(
                "grad_input",
                Some(*grad_input),
                desc(Argument::GradInput, grad_output.desc().dtype, *input_shape)?,
            )]
        }
    })
}

/// The descriptions of all tensors as a whole.
fn whole(request: &Request<'_>, targets: &[Target<'_>]) -> Core<TensorDesc> {
    let (_, _, first) = targets[0];
    match &request.operands {
        Operands::Forward { input, .. } => match targets.get(1) {
            Some(&(_, _, indices)) => Core::PoolWithIndices { input: *input.desc(), output: first, indices },
            None => Core::Pool { input: *input.desc(), output: first },
        },
        Operands::Gradient { grad_output, indices, .. } => match indices {
            Some(indices) => {
                Core::Scatter { grad_output: *grad_output.desc(), indices: *indices.desc(), grad_input: first }
            }
            None => Core::Spread { grad_output: *grad_output.desc(), grad_input: first },
        },
    }
}

/// The descriptions and views of all tensors' parts.
fn operands<'a>(
    request: &'a Request<'_>,
    outputs: &'a mut [Pending<'_>],
    part: &Part,
) -> Result<(Core<TensorDesc>, Core<TensorView<'a>, TensorViewMut<'a>>), Failure> {
    let mut outputs = outputs.iter_mut();
    let mut next = || {
        let output = outputs.next().ok_or_else(|| Failure::work("an output is missing"))?;
        part_mut(&mut output.tensor, part)
    };
    match &request.operands {
        Operands::Forward { input, indices, .. } => {
            let (input, output) = (input.part(part)?, next()?);
            let (read, written) = (*input.desc(), *output.desc());
            if indices.is_none() {
                let descs = Core::Pool { input: read, output: written };
                return Ok((descs, Core::Pool { input, output }));
            }
            let indices = next()?;
            let descs = Core::PoolWithIndices { input: read, output: written, indices: *indices.desc() };
            let views = Core::PoolWithIndices { input, output, indices };
            Ok((descs, views))
        }
        Operands::Gradient { grad_output, indices, .. } => {
            let (grad_output, grad_input) = (grad_output.part(part)?, next()?);
            let (read, written) = (*grad_output.desc(), *grad_input.desc());
            let Some(indices) = indices else {
                let descs = Core::Spread { grad_output: read, grad_input: written };
                let views = Core::Spread { grad_output, grad_input };
                return Ok((descs, views));
            };
            let indices = indices.part(part)?;
            let descs = Core::Scatter { grad_output: read, indices: *indices.desc(), grad_input: written };
            let views = Core::Scatter { grad_output, indices, grad_input };
            Ok((descs, views))
        }
    }
}
