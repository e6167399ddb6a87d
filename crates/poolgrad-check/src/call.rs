//! One call of the library: tensors in buffers of garbage, planned and executed.

use poolgrad::{
    DType, Direction, Explanation, Operands, Plan, PlanOptions, Sizes, Tensor, TensorDesc, TensorView,
    TensorViewMut,
};

use crate::arrange::{Access, Arrangement};
use crate::failure::{Failure, Fault};
use crate::problem::{MemoryLayout, Problem};
use crate::reference::{self, grid_position};
use crate::storage::Storage;
use crate::{fill, to_grid};

/// The most elements that a tensor of a call may have: what the reference can hold.
const MOST_ELEMENTS: i64 = 1 << 27;

/// A problem whose inputs are filled, to be run any number of times.
#[derive(Clone, Debug)]
pub struct Call {
    problem: Problem,
    source: Storage,
    indices: Option<Storage>,
    output: Arrangement,
}

/// What one run wrote.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What the plan said of itself.
    pub explanation: Explanation,
    /// The output or `grad_input`, in row-major order.
    pub values: Tensor,
    /// The indices that a forward max pooling wrote.
    pub indices: Option<Tensor>,
}

/// The tensors that a run writes.
struct Written {
    values: Storage,
    indices: Option<Storage>,
}

impl Call {
    /// The call that a problem describes.
    ///
    /// # Errors
    /// [`Failure`] if the problem has no output, is too large, or the library thinks otherwise of its shape.
    pub fn new(problem: &Problem) -> Result<Self, Failure> {
        let channel_axis = usize::from(problem.batch.is_some());
        Self::arranged(problem, |shape, access| Arrangement::new(problem.layout, shape, channel_axis, access))
    }

    /// The call that a problem describes, with every tensor arranged by `arrange` instead of the problem's layout.
    ///
    /// # Errors
    /// As [`Call::new`].
    pub fn arranged(
        problem: &Problem,
        mut arrange: impl FnMut(&Sizes, Access) -> Arrangement,
    ) -> Result<Self, Failure> {
        let (input, output) = shapes(problem).map_err(|fault| Failure::new(problem, *fault))?;
        let (source_shape, target_shape) = match problem.spec.direction {
            Direction::Forward => (input, output),
            Direction::Gradient => (output, input),
        };
        let mut source = Storage::garbage(problem.dtype, &arrange(&source_shape, Access::Read));
        source.fill(fill::values(problem));
        let indices = problem.reads_indices().then(|| {
            let mut indices = Storage::garbage(problem.index_dtype, &arrange(&source_shape, Access::Read));
            let input_shape = crate::lift(&input, problem.spec.n_spatial());
            let n_elements = source_shape.iter().product::<i64>() as usize;
            let mut values = fill::indices(problem, input_shape, n_elements).into_iter();
            indices.fill(|| values.next().map_or(f64::NAN, |index| index as f64));
            indices
        });
        Ok(Self { problem: problem.clone(), source, indices, output: arrange(&target_shape, Access::Write) })
    }

    /// The same values and indices in f32, row-major.
    pub(crate) fn in_f32(&self) -> Self {
        let copied = |storage: &Storage, dtype| {
            let arrangement = contiguous(storage.desc().shape());
            let mut copy = Storage::garbage(dtype, &arrangement);
            let mut values = to_grid(&storage.gather(), self.problem.spec.n_spatial()).values.into_iter();
            copy.fill(|| values.next().unwrap_or(f64::NAN));
            copy
        };
        Self {
            problem: Problem { dtype: DType::F32, layout: MemoryLayout::Ncdhw, ..self.problem.clone() },
            source: copied(&self.source, DType::F32),
            indices: self.indices.as_ref().map(|indices| copied(indices, self.problem.index_dtype)),
            output: contiguous(self.output.layout.shape()),
        }
    }

    /// The problem.
    #[must_use]
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The input or `grad_output`, in row-major order.
    #[must_use]
    pub fn source(&self) -> Tensor {
        self.source.gather()
    }

    /// The indices that the gradient of a max pooling reads, in row-major order.
    #[must_use]
    pub fn indices(&self) -> Option<Tensor> {
        self.indices.as_ref().map(Storage::gather)
    }

    /// Overwrites the index at one element, counted in row-major order, with any value that its type can have.
    ///
    /// # Panics
    /// If the call reads no indices, or has no such element.
    pub fn spoil_index(&mut self, element: usize, value: i64) {
        let indices = self.indices.as_mut().expect("a call that reads indices");
        indices.set(element, value as f64);
    }

    /// The kernels that accept the problem when it runs with `options`, the preferred first.
    ///
    /// # Errors
    /// [`Failure`] if the library refuses the problem.
    pub fn kernels(&self, options: &PlanOptions) -> Result<Vec<&'static str>, Failure> {
        let operands = self.descs(&self.garbage());
        Plan::kernels(&self.problem.spec, &operands, options).map_err(|error| self.failed(Fault::Plan(error)))
    }

    /// Plans and runs the problem once, and checks that every element of the outputs was written and nothing else.
    ///
    /// # Errors
    /// [`Failure`] if the library refuses or fails, or writes too little or too much.
    pub fn execute(&self, options: &PlanOptions) -> Result<Outcome, Failure> {
        let mut written = self.garbage();
        let plan = Plan::with_options(&self.problem.spec, &self.descs(&written), options)
            .map_err(|error| self.failed(Fault::Plan(error)))?;
        let failed = |fault| self.failed(fault).with_run(plan.explain().to_string());
        // The workspace is as small as it may be, at an odd address, and holds garbage.
        let mut workspace = vec![0xa5; plan.workspace_bytes() + 1];
        let done = plan.execute(self.views(&mut written), &mut workspace[1..]);
        // A call that fails may leave an output unfinished, but it may not touch anything else either.
        self.find_stray(&written).map_or(Ok(()), |fault| Err(failed(fault)))?;
        done.map_err(|error| failed(Fault::Execute(error)))?;
        self.find_unwritten(&written).map_or(Ok(()), |fault| Err(failed(fault)))?;
        Ok(Outcome {
            explanation: plan.explain().clone(),
            values: written.values.gather(),
            indices: written.indices.map(|indices| indices.gather()),
        })
    }

    pub(crate) fn failed(&self, fault: Fault) -> Failure {
        Failure::new(&self.problem, fault)
    }

    /// The tensors that a run writes, full of garbage.
    fn garbage(&self) -> Written {
        let garbage = |dtype| Storage::garbage(dtype, &self.output);
        let writes_indices = self.problem.has_indices() && !self.problem.reads_indices();
        Written {
            values: garbage(self.problem.dtype),
            indices: writes_indices.then(|| garbage(self.problem.index_dtype)),
        }
    }

    fn descs(&self, written: &Written) -> Operands<TensorDesc> {
        self.operands(
            (self.source.desc(), self.indices.as_ref().map(Storage::desc)),
            (written.values.desc(), written.indices.as_ref().map(Storage::desc)),
        )
    }

    fn views<'a>(&'a self, written: &'a mut Written) -> Operands<TensorView<'a>, TensorViewMut<'a>> {
        self.operands(
            (self.source.view(), self.indices.as_ref().map(Storage::view)),
            (written.values.view_mut(), written.indices.as_mut().map(Storage::view_mut)),
        )
    }

    /// The tensors by the part they play; each pair is values and indices.
    fn operands<I, O>(&self, read: (I, Option<I>), written: (O, Option<O>)) -> Operands<I, O> {
        match (self.problem.spec.direction, read, written) {
            (Direction::Forward, (input, _), (output, Some(indices))) => {
                Operands::PoolWithIndices { input, output, indices }
            }
            (Direction::Forward, (input, _), (output, None)) => Operands::Pool { input, output },
            (Direction::Gradient, (grad_output, Some(indices)), (grad_input, _)) => {
                Operands::Scatter { grad_output, indices, grad_input }
            }
            (Direction::Gradient, (grad_output, None), (grad_input, _)) => {
                Operands::Spread { grad_output, grad_input }
            }
        }
    }

    /// Memory that was written although it is no element of an output.
    fn find_stray(&self, written: &Written) -> Option<Fault> {
        self.named(written).find_map(|(tensor, storage)| {
            storage.first_stray().map(|place| Fault::Stray { tensor, place, origin: self.output.offset })
        })
    }

    /// An element of an output that was not written.
    fn find_unwritten(&self, written: &Written) -> Option<Fault> {
        self.named(written).find_map(|(tensor, storage)| {
            let shape = crate::lift(storage.desc().shape(), self.problem.spec.n_spatial());
            storage
                .first_unwritten()
                .map(|index| Fault::Unwritten { tensor, position: grid_position(shape, index) })
        })
    }

    /// The outputs with their names.
    fn named<'a>(&self, written: &'a Written) -> impl Iterator<Item = (&'static str, &'a Storage)> {
        let values = match self.problem.spec.direction {
            Direction::Forward => "output",
            Direction::Gradient => "grad_input",
        };
        [(values, Some(&written.values)), ("indices", written.indices.as_ref())]
            .into_iter()
            .filter_map(|(name, storage)| Some((name, storage?)))
    }
}

/// The arrangement of a row-major tensor; where its channels are makes no difference.
fn contiguous(shape: &Sizes) -> Arrangement {
    Arrangement::new(MemoryLayout::Ncdhw, shape, 0, Access::Write)
}

/// The shapes of input and output, if the problem has them, they are small enough and the library agrees.
fn shapes(problem: &Problem) -> Result<(Sizes, Sizes), Box<Fault>> {
    let input = problem.input_shape();
    let output = problem.output_shape()?;
    for shape in [&input, &output] {
        let n_elements = shape.iter().try_fold(1i64, |product, &size| product.checked_mul(size.max(1)));
        if n_elements.is_none_or(|n_elements| n_elements > MOST_ELEMENTS) {
            return Err(Box::new(Fault::TooLarge { most: MOST_ELEMENTS }));
        }
    }
    // That a window has no element shows only when the windows are listed.
    let [_, _, d, h, w] = crate::lift(&input, problem.spec.n_spatial());
    reference::windows::windows(&problem.spec, [d, h, w])?;
    let got = problem.spec.output_shape(input);
    if got.as_ref() != Ok(&output) {
        return Err(Box::new(Fault::OutputShape { wanted: output, got }));
    }
    Ok((input, output))
}
