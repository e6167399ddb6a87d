//! Plans: an operation whose arguments are checked, whose kernel is chosen and whose workspace is booked.

mod check;
mod cost;
mod explain;
mod limits;
mod options;
mod run;
mod select;
mod side_by_side;

pub use explain::Explanation;
pub use options::{BadIndices, PlanOptions};

pub(crate) use check::output_shape;

use half::{bf16, f16};

use self::check::Checked;
use self::select::Choice;
use crate::dtype::{DType, Float, Index};
use crate::error::{Argument, Error};
use crate::spec::{Operands, Spec};
use crate::tensor::{TensorDesc, TensorView, TensorViewMut};

/// An operation ready to run, any number of times, on tensors of the planned element types and layouts.
///
/// Making a plan checks every argument, chooses a kernel and books the workspace; executing it only compares the
/// tensors with what was planned. A plan holds no tensor and can be shared between threads.
///
/// Results are the same bits for every thread count, ISA level, layout and tile size: sums are formed in f32 (f64 for
/// f64) from +0.0, in one documented order, and rounded once to nearest even. Gradients of max poolings add in
/// ascending order of output position; those of average poolings add each output row's shares along W first, in
/// ascending order, and then the rows in ascending order.
///
/// # Examples
/// ```
/// use poolgrad::{DType, Direction, MaxPool, Operands, Plan, TensorDesc, TensorView, TensorViewMut};
///
/// let (grad_output, indices) = ([1.0f32, 2.0], [3i64, 0]);
/// let mut grad_input = [0.0f32; 8];
///
/// let spec = MaxPool::new_2d(2).spec(Direction::Gradient);
/// let plan = Plan::new(&spec, &Operands::Scatter {
///     grad_output: TensorDesc::contiguous(DType::F32, [2, 1, 1])?,
///     indices: TensorDesc::contiguous(DType::I64, [2, 1, 1])?,
///     grad_input: TensorDesc::contiguous(DType::F32, [2, 2, 2])?,
/// })?;
/// println!("{}", plan.explain());
///
/// let mut workspace = vec![0; plan.workspace_bytes()];
/// let operands = Operands::Scatter {
///     grad_output: TensorView::new(&grad_output, [2, 1, 1])?,
///     indices: TensorView::new(&indices, [2, 1, 1])?,
///     grad_input: TensorViewMut::new(&mut grad_input, [2, 2, 2])?,
/// };
/// plan.execute(operands, &mut workspace)?;
/// assert_eq!(grad_input, [0.0, 0.0, 0.0, 1.0, 2.0, 0.0, 0.0, 0.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Plan {
    operands: Operands<TensorDesc>,
    checked: Checked,
    choice: Choice,
    explanation: Explanation,
}

impl Plan {
    /// Checks an operation and chooses how to run it.
    ///
    /// # Errors
    /// The first rule that an argument breaks, in this order: the set of operands, element types, ranks, parameters,
    /// spatial sizes of the input, the output's sizes, N and C, the indices' sizes, the index type against the
    /// volume, and outputs that overlap themselves.
    pub fn new(spec: &Spec, operands: &Operands<TensorDesc>) -> Result<Self, Error> {
        Self::with_options(spec, operands, &PlanOptions::default())
    }

    /// [`Plan::new`] with wishes about how to run it.
    ///
    /// # Errors
    /// As [`Plan::new`], and [`Error::NoSuchKernel`].
    pub fn with_options(
        spec: &Spec,
        operands: &Operands<TensorDesc>,
        options: &PlanOptions,
    ) -> Result<Self, Error> {
        let checked = check::check(spec, operands)?;
        let choice = with_types(&checked, Select { spec, checked: &checked, options })?;
        let explanation = Explanation {
            operation: spec.name(),
            kernel: choice.way.kernel.name(),
            isa: choice.isa,
            threads: choice.n_workers,
            tiles: choice.way.partition.n_tiles(),
            tile_elements: choice.way.partition.tile_len(),
            workspace_bytes: choice.workspace_bytes,
            streaming: choice.way.streaming,
        };
        Ok(Self { operands: *operands, checked, choice, explanation })
    }

    /// The names of the kernels that accept the operation, the preferred first.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn kernels(
        spec: &Spec,
        operands: &Operands<TensorDesc>,
        options: &PlanOptions,
    ) -> Result<Vec<&'static str>, Error> {
        let checked = check::check(spec, operands)?;
        Ok(select::kernels(spec, &checked, options).into_iter().map(|kernel| kernel.name()).collect())
    }

    /// The bytes of workspace that [`Plan::execute`] needs.
    #[must_use]
    pub fn workspace_bytes(&self) -> usize {
        self.explanation.workspace_bytes
    }

    /// What was chosen.
    #[must_use]
    pub fn explain(&self) -> &Explanation {
        &self.explanation
    }

    /// Runs the operation, in a workspace of at least [`Plan::workspace_bytes`], whatever it holds.
    ///
    /// Nothing is allocated. Every element of the outputs is written, and nothing else is.
    ///
    /// # Errors
    /// [`Error::WrongOperands`], [`Error::NotAsPlanned`], [`Error::Misaligned`], [`Error::Aliased`] and
    /// [`Error::WorkspaceTooSmall`], before anything is written. [`Error::IndexOutOfRange`] for the first index in row-major order that does not
    /// point into the volume, unless [`PlanOptions::bad_indices`] says otherwise; the elements of `grad_input` are then
    /// unspecified, and nothing outside it is touched.
    pub fn execute(
        &self,
        operands: Operands<TensorView<'_>, TensorViewMut<'_>>,
        workspace: &mut [u8],
    ) -> Result<(), Error> {
        self.compare(&operands)?;
        let (wanted, got) = (self.workspace_bytes(), workspace.len());
        if got < wanted {
            return Err(Error::WorkspaceTooSmall { wanted, got });
        }
        if self.checked.geometry.n_planes() == 0 {
            return Ok(());
        }
        with_types(&self.checked, run::Run { plan: self, operands, workspace })
    }

    /// Runs the operation in a workspace of its own.
    ///
    /// # Errors
    /// As [`Plan::execute`].
    pub fn run(&self, operands: Operands<TensorView<'_>, TensorViewMut<'_>>) -> Result<(), Error> {
        self.execute(operands, &mut vec![0; self.workspace_bytes()])
    }

    /// Whether the tensors are those that the plan was made for. Without this a caller who confuses two plans would
    /// have kernels walk memory by another tensor's strides.
    fn compare(&self, operands: &Operands<TensorView<'_>, TensorViewMut<'_>>) -> Result<(), Error> {
        if self.operands.names() != operands.names() {
            return Err(Error::WrongOperands { wanted: self.operands.planned(), got: operands.names() });
        }
        let inputs = operands.inputs().map(|input| input.map(|(name, view)| (name, view.desc(), view.placed())));
        let outputs =
            operands.outputs().map(|output| output.map(|(name, view)| (name, view.desc(), view.placed())));
        let planned = self.operands.inputs().into_iter().chain(self.operands.outputs()).flatten();
        let tensors = || inputs.iter().chain(&outputs).flatten();
        for ((argument, got, placed), (_, wanted)) in tensors().zip(planned) {
            if *got != wanted {
                return Err(not_as_planned(*argument, wanted, got));
            }
            if !placed.is_aligned() {
                return Err(Error::Misaligned { argument: *argument, wanted: placed.size });
            }
        }
        for (argument, _, placed) in outputs.iter().flatten() {
            let others = tensors().take_while(|(other, ..)| other != argument);
            if let Some((other, ..)) = others.into_iter().find(|(.., other)| placed.shares_memory_with(other)) {
                return Err(Error::Aliased { argument: *argument, other: *other });
            }
        }
        Ok(())
    }
}

#[cold]
fn not_as_planned(argument: Argument, wanted: &TensorDesc, got: &TensorDesc) -> Error {
    Error::NotAsPlanned { argument, wanted: Box::new(*wanted), got: Box::new(*got) }
}

/// Something to do with the Rust types of values and indices.
trait TypedTask {
    type Output;
    fn run<T: Float, I: Index>(self) -> Self::Output;
}

/// Runs a task with the types that the plan's element types stand for: the only match over them.
fn with_types<K: TypedTask>(checked: &Checked, task: K) -> K::Output {
    use DType::{BF16, F16, F32, F64, I32, I64};
    match (checked.dtype, checked.index_dtype) {
        (F32, I32) => task.run::<f32, i32>(),
        (F32, I64) => task.run::<f32, i64>(),
        (F64, I32) => task.run::<f64, i32>(),
        (F64, I64) => task.run::<f64, i64>(),
        (F16, I32) => task.run::<f16, i32>(),
        (F16, I64) => task.run::<f16, i64>(),
        (BF16, I32) => task.run::<bf16, i32>(),
        (BF16, I64) => task.run::<bf16, i64>(),
        (I32 | I64, _) | (_, F32 | F64 | F16 | BF16) => unreachable!("element types were checked"),
    }
}

struct Select<'a> {
    spec: &'a Spec,
    checked: &'a Checked,
    options: &'a PlanOptions,
}

impl TypedTask for Select<'_> {
    type Output = Result<Choice, Error>;

    fn run<T: Float, I: Index>(self) -> Self::Output {
        select::select::<T, I>(self.spec, self.checked, self.options)
    }
}
