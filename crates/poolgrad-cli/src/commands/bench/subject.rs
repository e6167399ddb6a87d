//! What is timed: the tensors of one problem, filled and allocated once, and the check of what a run wrote.
//!
//! The reference is far slower than what it judges, so a large problem is filled with few patterns: plane `i` (planes
//! are counted over N and C) holds what plane `i mod n_patterns` holds. Planes do not know of each other, so the result
//! is right if its first planes agree with the reference and all others with the first, bit by bit. Every element is
//! checked, and no plane shares memory with another. There are as many patterns as there is time for: in channels-last
//! order the indices of neighbouring channels that hold the same pattern would point to the same few lines.

use poolgrad::{Direction, Operands, Plan, Sizes, Tensor, TensorDesc, TensorView, TensorViewMut};
use poolgrad_check::{Access, Arrangement, Case, MemoryLayout, Outcome, Problem, Storage, to_grid};

use crate::failure::Failure;

/// The elements of input up to which the reference works on all planes.
const REFERENCE_ELEMENTS: i64 = 1 << 22;

/// A problem with its tensors.
pub(super) struct Subject {
    problem: Problem,
    /// The planes that the reference works on, and their right result.
    case: Case,
    n_patterns: i64,
    source: Storage,
    indices: Option<Storage>,
    values_out: Storage,
    indices_out: Option<Storage>,
}

impl Subject {
    /// Allocates and fills the tensors of a problem.
    ///
    /// # Errors
    /// If the problem has no output.
    pub(super) fn new(problem: &Problem) -> Result<Self, Failure> {
        let (input, output) = (problem.input_shape(), shape_of_output(problem)?);
        let n_planes = problem.batch.unwrap_or(1) * problem.channels;
        let plane_len: i64 = problem.input.iter().product();
        let n_patterns = match problem.layout {
            // All planes of the inputs share their memory.
            MemoryLayout::Expanded => 1,
            _ => (REFERENCE_ELEMENTS / plane_len.max(1)).clamp(1, n_planes.max(1)),
        };
        let pattern = Problem {
            batch: None,
            channels: n_patterns.min(n_planes),
            layout: MemoryLayout::Ncdhw,
            ..problem.clone()
        };
        let case = Case::new(&pattern).map_err(|fault| Failure::work(fault.to_string()))?;
        let (source_shape, target_shape) = match problem.spec.direction {
            Direction::Forward => (input, output),
            Direction::Gradient => (output, input),
        };
        let storage = |dtype, shape, access| {
            let channel_axis = usize::from(problem.batch.is_some());
            Storage::garbage(dtype, &Arrangement::new(problem.layout, shape, channel_axis, access))
        };
        let n_spatial = problem.spec.n_spatial();
        let filled = |pattern: &Tensor| {
            let mut filled = storage(pattern.dtype(), &source_shape, Access::Read);
            let pattern = to_grid(pattern, n_spatial).values;
            let mut values = pattern.iter().cycle();
            filled.fill(|| values.next().copied().unwrap_or(f64::NAN));
            filled
        };
        let writes_indices = problem.has_indices() && !problem.reads_indices();
        Ok(Self {
            source: filled(&case.call().source()),
            indices: case.call().indices().as_ref().map(filled),
            values_out: storage(problem.dtype, &target_shape, Access::Write),
            indices_out: writes_indices.then(|| storage(problem.index_dtype, &target_shape, Access::Write)),
            problem: problem.clone(),
            case,
            n_patterns: pattern.channels,
        })
    }

    /// The problem.
    pub(super) fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The tensors' types and layouts, to plan with.
    pub(super) fn descs(&self) -> Operands<TensorDesc> {
        operands(
            self.problem.spec.direction,
            (self.source.desc(), self.indices.as_ref().map(Storage::desc)),
            (self.values_out.desc(), self.indices_out.as_ref().map(Storage::desc)),
        )
    }

    /// The tensors, to execute with.
    pub(super) fn views(&mut self) -> Operands<TensorView<'_>, TensorViewMut<'_>> {
        operands(
            self.problem.spec.direction,
            (self.source.view(), self.indices.as_ref().map(Storage::view)),
            (self.values_out.view_mut(), self.indices_out.as_mut().map(Storage::view_mut)),
        )
    }

    /// The least that a run must read, and the least that it must write, in bytes.
    pub(super) fn traffic(&self) -> (u64, u64) {
        let read = n_bytes(&self.source) + self.indices.as_ref().map_or(0, n_bytes);
        let written = n_bytes(&self.values_out) + self.indices_out.as_ref().map_or(0, n_bytes);
        (read, written)
    }

    /// How [`Subject::check`] checks, in a few words.
    pub(super) fn how_checked(&self) -> String {
        let n_planes = self.problem.batch.unwrap_or(1) * self.problem.channels;
        if self.n_patterns == n_planes {
            "all planes against the reference".into()
        } else {
            format!("{} planes against the reference, the other {} against these", self.n_patterns, {
                n_planes - self.n_patterns
            })
        }
    }

    /// Forgets what was written, so that a check sees the next run only.
    pub(super) fn spoil(&mut self) {
        self.values_out.fill(|| f64::NAN);
        if let Some(indices) = &mut self.indices_out {
            indices.fill(|| -1.0);
        }
    }

    /// Checks every element of what the last run wrote.
    ///
    /// # Errors
    /// If an element is wrong, with the line that shows it again.
    pub(super) fn check(&self, plan: &Plan) -> Result<(), Failure> {
        let values = self.values_out.gather();
        let indices = self.indices_out.as_ref().map(Storage::gather);
        let pattern_shape = match self.problem.spec.direction {
            Direction::Forward => shape_of_output(self.case.call().problem())?,
            Direction::Gradient => self.case.call().problem().input_shape(),
        };
        // Blocks of as many planes as there are patterns; the last may be shorter and keeps the planes of the first.
        let block = |tensor: &Tensor, first: Option<&Tensor>, i: usize| {
            let mut block = match first {
                Some(first) => first.clone(),
                None => Tensor::zeros(tensor.dtype(), pattern_shape).map_err(|error| error.to_string())?,
            };
            let size = block.as_bytes().len();
            let bytes = tensor.as_bytes().chunks(size.max(1)).nth(i).unwrap_or_default();
            block.as_mut_bytes()[..bytes.len()].copy_from_slice(bytes);
            Ok::<_, String>(block)
        };
        let outcome = |first: Option<&Outcome>, i| {
            let indices = indices.as_ref().map(|indices| {
                let first = first.and_then(|first| first.indices.as_ref());
                block(indices, first, i)
            });
            Ok::<_, String>(Outcome {
                explanation: plan.explain().clone(),
                values: block(&values, first.map(|first| &first.values), i)?,
                indices: indices.transpose()?,
            })
        };
        let wrong = |error: String| {
            Failure::work(format!("{}: wrong, so not timed: {}", self.problem, error.replace('\n', ";")))
        };
        let first = outcome(None, 0).map_err(wrong)?;
        self.case.check(&first).map_err(|fault| wrong(fault.to_string()))?;
        let n_blocks = values.as_bytes().len().div_ceil(first.values.as_bytes().len().max(1));
        for i in 1..n_blocks {
            let other = outcome(Some(&first), i).map_err(wrong)?;
            self.case
                .check_same(&other, &first)
                .map_err(|fault| wrong(format!("from plane {} on, {fault}", i as i64 * self.n_patterns)))?;
        }
        Ok(())
    }
}

fn shape_of_output(problem: &Problem) -> Result<Sizes, Failure> {
    problem.output_shape().map_err(|none| Failure::work(format!("{problem}: {none}")))
}

/// The bytes of a tensor's elements; those that share a place count once.
fn n_bytes(storage: &Storage) -> u64 {
    let TensorDesc { dtype, layout } = storage.desc();
    let axes = layout.shape().iter().zip(layout.strides().iter());
    let n_places: i64 = axes.map(|(&size, &stride)| if stride == 0 { size.min(1) } else { size }).product();
    n_places as u64 * dtype.size() as u64
}

/// Tensors by the part they play; each pair is values and indices.
fn operands<I, O>(direction: Direction, read: (I, Option<I>), written: (O, Option<O>)) -> Operands<I, O> {
    match (direction, read, written) {
        (Direction::Forward, (input, _), (output, Some(indices))) => {
            Operands::PoolWithIndices { input, output, indices }
        }
        (Direction::Forward, (input, _), (output, None)) => Operands::Pool { input, output },
        (Direction::Gradient, (grad_output, Some(indices)), (grad_input, _)) => {
            Operands::Scatter { grad_output, indices, grad_input }
        }
        (Direction::Gradient, (grad_output, None), (grad_input, _)) => Operands::Spread { grad_output, grad_input },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(line: &str) -> Subject {
        Subject::new(&line.parse().unwrap()).unwrap()
    }

    /// Oracle: elements counted by hand.
    #[test]
    fn traffic_counts_each_element_once() {
        // 2 x 3 outputs of 2 x 4 with i64 indices, and 2 x 3 inputs of 4 x 8.
        assert_eq!(subject("max_grad n2c3 in4x8 k2").traffic(), (6 * 8 * (4 + 8), 6 * 32 * 4));
        assert_eq!(subject("max n2c3 in4x8 k2 bf16 i32").traffic(), (6 * 32 * 2, 6 * 8 * (2 + 4)));
        assert_eq!(subject("adaptive_avg_grad n2c3 in4x8 out2 f64 expanded").traffic(), (4 * 8, 6 * 32 * 8));
    }

    /// Oracle: results spoilt by hand, in a plane that the reference sees and in others.
    #[test]
    fn every_plane_is_checked() {
        for line in ["max n5c7 in400x400 k3 s2 ndhwc f16", "adaptive_avg_grad n5c7 in400x400 out9 bf16"] {
            let mut subject = subject(line);
            assert!(1 < subject.n_patterns && subject.n_patterns < 35, "{}", subject.n_patterns);
            let plan = Plan::new(&subject.problem.spec, &subject.descs()).unwrap();
            plan.run(subject.views()).unwrap();
            subject.check(&plan).unwrap();
            let n_elements = subject.values_out.desc().layout.n_elements() as usize;
            for element in [0, n_elements / 2, n_elements - 1] {
                plan.run(subject.views()).unwrap();
                subject.values_out.set(element, 77.0);
                subject.check(&plan).unwrap_err();
            }
            plan.run(subject.views()).unwrap();
            subject.spoil();
            subject.check(&plan).unwrap_err();
        }
    }
}
