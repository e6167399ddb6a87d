//! One call from end to end: a plan, remembered from the last time; the tensors' memory; the interpreter let go.

use std::cell::RefCell;
use std::sync::Arc;

use poolgrad::{Direction, Operands, Plan, PlanOptions, Pool, Spec, TensorDesc, TensorView, TensorViewMut};
use pyo3::exceptions::{PyMemoryError, PyRuntimeError};
use pyo3::prelude::*;

use crate::error::exception;
use crate::tensor::Tensor;
use crate::workers::{PARALLEL_FROM, Workers, workers};

/// The tensors of a call.
pub(crate) enum Tensors<'a, 'py> {
    Pool { input: Tensor<'a, 'py>, output: Tensor<'a, 'py> },
    PoolWithIndices { input: Tensor<'a, 'py>, output: Tensor<'a, 'py>, indices: Tensor<'a, 'py> },
    Spread { grad_output: Tensor<'a, 'py>, grad_input: Tensor<'a, 'py> },
    Scatter { grad_output: Tensor<'a, 'py>, indices: Tensor<'a, 'py>, grad_input: Tensor<'a, 'py> },
}

impl<'a, 'py> Tensors<'a, 'py> {
    pub(crate) fn descs(&self) -> Operands<TensorDesc> {
        match self {
            Self::Pool { input, output } => Operands::Pool { input: *input.desc(), output: *output.desc() },
            Self::PoolWithIndices { input, output, indices } => {
                Operands::PoolWithIndices { input: *input.desc(), output: *output.desc(), indices: *indices.desc() }
            }
            Self::Spread { grad_output, grad_input } => {
                Operands::Spread { grad_output: *grad_output.desc(), grad_input: *grad_input.desc() }
            }
            Self::Scatter { grad_output, indices, grad_input } => Operands::Scatter {
                grad_output: *grad_output.desc(),
                indices: *indices.desc(),
                grad_input: *grad_input.desc(),
            },
        }
    }

    fn views(&mut self) -> Operands<TensorView<'_>, TensorViewMut<'_>> {
        match self {
            Self::Pool { input, output } => Operands::Pool { input: input.view(), output: output.view_mut() },
            Self::PoolWithIndices { input, output, indices } => Operands::PoolWithIndices {
                input: input.view(),
                output: output.view_mut(),
                indices: indices.view_mut(),
            },
            Self::Spread { grad_output, grad_input } => {
                Operands::Spread { grad_output: grad_output.view(), grad_input: grad_input.view_mut() }
            }
            Self::Scatter { grad_output, indices, grad_input } => Operands::Scatter {
                grad_output: grad_output.view(),
                indices: indices.view(),
                grad_input: grad_input.view_mut(),
            },
        }
    }

    /// Whether these are tensors like those that a plan was made for.
    fn are_like(&self, planned: &Operands<TensorDesc>) -> bool {
        match (self, planned) {
            (Self::Pool { input: a, output: b }, Operands::Pool { input, output }) => {
                a.desc() == input && b.desc() == output
            }
            (
                Self::PoolWithIndices { input: a, output: b, indices: c },
                Operands::PoolWithIndices { input, output, indices },
            ) => a.desc() == input && b.desc() == output && c.desc() == indices,
            (Self::Spread { grad_output: a, grad_input: b }, Operands::Spread { grad_output, grad_input }) => {
                a.desc() == grad_output && b.desc() == grad_input
            }
            (
                Self::Scatter { grad_output: a, indices: b, grad_input: c },
                Operands::Scatter { grad_output, indices, grad_input },
            ) => a.desc() == grad_output && b.desc() == indices && c.desc() == grad_input,
            _ => false,
        }
    }

    fn list(&mut self) -> [Option<&mut Tensor<'a, 'py>>; 3] {
        match self {
            Self::Pool { input, output } => [Some(input), Some(output), None],
            Self::PoolWithIndices { input, output, indices } => [Some(input), Some(output), Some(indices)],
            Self::Spread { grad_output, grad_input } => [Some(grad_output), Some(grad_input), None],
            Self::Scatter { grad_output, indices, grad_input } => {
                [Some(grad_output), Some(indices), Some(grad_input)]
            }
        }
    }

    /// Has the memory stay where something may run in the interpreter: during a call that is not short, and, since
    /// reading another kind of tensor can run Python code, where not all tensors are borrowed.
    fn settle(&mut self, is_short: bool) -> PyResult<()> {
        if is_short && self.list().into_iter().flatten().all(|tensor| tensor.is_borrowed()) {
            return Ok(());
        }
        self.list().into_iter().flatten().try_for_each(Tensor::hold)
    }

    fn direction(&self) -> Direction {
        match self {
            Self::Pool { .. } | Self::PoolWithIndices { .. } => Direction::Forward,
            Self::Spread { .. } | Self::Scatter { .. } => Direction::Gradient,
        }
    }

    /// Whether the interpreter is kept during the call.
    fn is_short(&self, spec: &Spec) -> bool {
        let (large, small) = match self {
            Self::Pool { input, output } | Self::PoolWithIndices { input, output, .. } => (input, output),
            Self::Spread { grad_output, grad_input } | Self::Scatter { grad_output, grad_input, .. } => {
                (grad_input, grad_output)
            }
        };
        let (n_large, n_small) = (large.desc().layout.n_elements(), small.desc().layout.n_elements());
        // Few elements can be seen by many windows, if those are large.
        let window = match (&spec.pool, spec.direction) {
            (Pool::Max(pool), Direction::Forward) => {
                pool.kernel_size.iter().fold(1i64, |n, &k| n.saturating_mul(k))
            }
            _ => 1,
        };
        n_large.max(n_small) < RELEASE_FROM && n_small.saturating_mul(window) < 32 * RELEASE_FROM
    }
}

/// From this many elements on, the interpreter is left to other threads while the call computes. Below, a call takes some
/// tens of microseconds, and a thread that lets go waits for its turn again: beside one that is busy, a call of 50
/// microseconds was measured to take 240.
const RELEASE_FROM: i64 = 32 << 10;

/// Plans, or finds the plan of the last time, and runs it.
pub(crate) fn call(py: Python<'_>, spec: &Spec, mut tensors: Tensors<'_, '_>, threads: usize) -> PyResult<()> {
    let is_short = tensors.is_short(spec);
    tensors.settle(is_short)?;
    let (plan, workspace) = RECENT.with_borrow_mut(|recent| {
        let plan = recent.plan(spec, &tensors, threads)?;
        PyResult::Ok((plan, std::mem::take(&mut recent.workspace)))
    })?;
    execute((!is_short).then_some(py), &plan, tensors, workspace)
}

/// Runs a plan for `spec` that the caller keeps.
pub(crate) fn run(py: Python<'_>, spec: &Spec, plan: &Plan, mut tensors: Tensors<'_, '_>) -> PyResult<()> {
    let is_short = tensors.is_short(spec);
    tensors.settle(is_short)?;
    let workspace = RECENT.with_borrow_mut(|recent| std::mem::take(&mut recent.workspace));
    execute((!is_short).then_some(py), plan, tensors, workspace)
}

/// Runs a plan in this thread's workspace, which is made larger if it has to be. The interpreter is let go if it is passed.
fn execute(
    release: Option<Python<'_>>,
    plan: &Plan,
    mut tensors: Tensors<'_, '_>,
    mut workspace: Vec<u8>,
) -> PyResult<()> {
    let wanted = plan.workspace_bytes();
    if let Some(more) = wanted.checked_sub(workspace.len()) {
        if workspace.try_reserve_exact(more).is_err() {
            return Err(PyMemoryError::new_err(format!("there is no memory for a workspace of {wanted} bytes")));
        }
        workspace.resize(wanted, 0);
    }
    let direction = tensors.direction();
    let pool = match if plan.explain().threads > 1 { workers() } else { Workers::Global } {
        Workers::Global => None,
        Workers::Own(pool) => Some(pool),
        // A plan from before a fork, and a system that starts no more threads: the core would wait for them.
        Workers::None => return Err(PyRuntimeError::new_err("this process can start no threads: pass threads=1")),
    };
    let views = tensors.views();
    let run = || match pool {
        Some(pool) => pool.install(|| plan.execute(views, &mut workspace)),
        None => plan.execute(views, &mut workspace),
    };
    let result = match release {
        Some(py) => py.detach(run),
        None => run(),
    };
    if workspace.capacity() <= KEPT_BYTES {
        RECENT.with_borrow_mut(|recent| recent.workspace = workspace);
    }
    result.map_err(|error| exception(&error, direction))
}

/// A plan for these tensors, on at most `threads` threads, or as many as the library likes for 0.
pub(crate) fn plan(
    spec: &Spec,
    operands: &Operands<TensorDesc>,
    threads: usize,
    options: &PlanOptions,
) -> Result<Plan, poolgrad::Error> {
    let limited = |threads| Plan::with_options(spec, operands, &options.clone().threads(threads));
    // One thread needs no pool, so none is started for it.
    if threads == 1 || largest(operands) < PARALLEL_FROM || matches!(workers(), Workers::None) {
        return limited(1);
    }
    let plan = Plan::with_options(spec, operands, options)?;
    if threads != 0 && threads < plan.explain().threads { limited(threads) } else { Ok(plan) }
}

/// The elements of the largest tensor.
fn largest(operands: &Operands<TensorDesc>) -> i64 {
    let (from, to) = match operands {
        Operands::Pool { input, output } | Operands::PoolWithIndices { input, output, .. } => (input, output),
        Operands::Spread { grad_output, grad_input } | Operands::Scatter { grad_output, grad_input, .. } => {
            (grad_output, grad_input)
        }
        // What the core may come to know is no smaller for being unknown here.
        _ => return i64::MAX,
    };
    from.layout.n_elements().max(to.layout.n_elements())
}

/// What a plan was made for.
struct Key {
    spec: Spec,
    operands: Operands<TensorDesc>,
    threads: usize,
}

/// The plans that a thread used last, and a workspace.
struct Recent {
    plans: Vec<(Key, Arc<Plan>)>,
    /// Where the plan stands that is used next in a program that repeats itself.
    next: usize,
    workspace: Vec<u8>,
}

/// The most plans that a thread remembers. A plan is made in microseconds, a network has a few poolings.
const MOST_PLANS: usize = 32;

/// The most workspace that a thread keeps between calls.
const KEPT_BYTES: usize = 32 << 20;

thread_local! {
    static RECENT: RefCell<Recent> = const { RefCell::new(Recent { plans: Vec::new(), next: 0, workspace: Vec::new() }) };
}

impl Recent {
    fn plan(&mut self, spec: &Spec, tensors: &Tensors<'_, '_>, threads: usize) -> PyResult<Arc<Plan>> {
        let n_plans = self.plans.len();
        // Compared where they lie: the descriptions of three tensors are half a kilobyte.
        let is_wanted = |key: &Key| key.threads == threads && key.spec == *spec && tensors.are_like(&key.operands);
        let found = (0..n_plans).map(|i| (self.next + i) % n_plans).find(|&i| is_wanted(&self.plans[i].0));
        if let Some(i) = found {
            self.next = i + 1;
            return Ok(Arc::clone(&self.plans[i].1));
        }
        let key = Key { spec: *spec, operands: tensors.descs(), threads };
        let made = plan(&key.spec, &key.operands, key.threads, &PlanOptions::default())
            .map_err(|error| exception(&error, key.spec.direction))?;
        let made = Arc::new(made);
        let entry = (key, Arc::clone(&made));
        if n_plans < MOST_PLANS {
            self.plans.push(entry);
            self.next = n_plans + 1;
        } else {
            // The place after the one used last holds the plan that was not needed for longest, more or less.
            let i = self.next % n_plans;
            self.plans[i] = entry;
            self.next = i + 1;
        }
        Ok(made)
    }
}
