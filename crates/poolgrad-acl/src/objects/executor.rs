//! Executors: what phase 1 leaves for phase 2. A plan, and the tensors that it is for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use poolgrad::{Argument, Operands, Plan, TensorDesc};

use super::launch::{Bound, Launch};
use super::tensor::Tensor;
use crate::codes;
use crate::fault::{Fault, Outcome};
use crate::ffi::handle::{Object, Registry};
use crate::ffi::memory::Memory;
use crate::runtime::memory::{self, Reach};
use crate::status::Spelling;

/// A plan with its tensors; without a plan there is nothing to do.
pub(crate) struct Executor {
    pub(crate) operator: &'static str,
    pub(crate) spelling: Spelling,
    pub(crate) work: Option<Work>,
    is_repeatable: AtomicBool,
}

/// What there is to do.
pub(crate) struct Work {
    pub(crate) plan: Plan,
    pub(crate) operands: Operands<TensorDesc>,
    /// The tensors in the order of the operands, inputs first.
    tensors: [Option<Operand>; 3],
}

/// One tensor of a plan.
pub(crate) struct Operand {
    pub(crate) argument: Argument,
    tensor: Arc<Tensor>,
    /// From the tensor's address to element `[0, 0, …]`, in bytes.
    origin: i64,
    /// The bytes that the view names, from the tensor's address.
    reach: Reach,
}

impl Object for Executor {
    const NAME: &'static str = "executor";
    const KIND: usize = 12;
    fn registry() -> &'static Registry<Self> {
        static EXECUTORS: Registry<Executor> = Registry::new();
        &EXECUTORS
    }
}

impl Operand {
    /// A tensor as a plan sees it, `offset` elements from its address.
    pub(crate) fn new(argument: Argument, tensor: Arc<Tensor>, desc: &TensorDesc, offset: i64) -> Option<Self> {
        let size = desc.dtype.size() as i64;
        let reach = desc.layout.reach();
        let bytes = |elements: i64| offset.checked_add(elements)?.checked_mul(size);
        let (low, high) = (bytes(*reach.start())?, bytes(reach.end().checked_add(1)?)?);
        Some(Self { argument, tensor, origin: bytes(0)?, reach: Reach { low, high } })
    }
}

impl Work {
    pub(crate) fn new(plan: Plan, operands: Operands<TensorDesc>, tensors: [Option<Operand>; 3]) -> Self {
        Self { plan, operands, tensors }
    }
}

impl Executor {
    pub(crate) fn new(operator: &'static str, spelling: Spelling, work: Option<Work>) -> Self {
        Self { operator, spelling, work, is_repeatable: AtomicBool::new(false) }
    }

    pub(crate) fn workspace_bytes(&self) -> usize {
        self.work.as_ref().map_or(0, |work| work.plan.workspace_bytes())
    }

    pub(crate) fn is_repeatable(&self) -> bool {
        self.is_repeatable.load(Ordering::Relaxed)
    }

    pub(crate) fn make_repeatable(&self) {
        self.is_repeatable.store(true, Ordering::Relaxed);
    }

    /// Checks, as far as addresses are known now, that every view lies inside its allocation.
    pub(crate) fn check_memory(&self) -> Outcome {
        for operand in self.work.iter().flat_map(|work| work.tensors.iter().flatten()) {
            let memory = operand.tensor.memory();
            if !memory.is_null() {
                let name = (self.spelling)(operand.argument);
                memory::hold(memory, operand.reach, name)
                    .map_err(|text| Fault::new(codes::NN_PARAM_INVALID, text))?;
            }
        }
        Ok(())
    }

    /// The launch in this workspace, with the addresses that the tensors have now; `None` if there is nothing to do.
    ///
    /// What is wrong with the workspace is an error here; what is wrong with the tensors' memory fails the launch.
    pub(crate) fn launch(self: Arc<Self>, workspace: Memory, bytes: u64) -> Outcome<Option<Launch>> {
        let wanted = self.workspace_bytes();
        if bytes < wanted as u64 {
            let text = format!("workspaceSize must be at least {wanted}, got {bytes}");
            return Err(Fault::new(codes::NN_PARAM_INVALID, text));
        }
        let Some(work) = &self.work else { return Ok(None) };
        let invalid = |text| Fault::new(codes::NN_PARAM_INVALID, text);
        let workspace_hold = if wanted == 0 {
            None
        } else {
            memory::hold(workspace, Reach::first(wanted), "workspace").map_err(invalid)?
        };
        let mut problem = None;
        let bound = work.tensors.each_ref().map(|operand| {
            let operand = operand.as_ref()?;
            let memory = operand.tensor.memory();
            let name = (self.spelling)(operand.argument);
            if memory.is_null() {
                problem.get_or_insert_with(|| format!("{name} has no memory: its address is NULL"));
                return None;
            }
            match memory::hold(memory, operand.reach, name) {
                Ok(hold) => Some(Bound { origin: memory.offset(operand.origin as isize), _hold: hold }),
                Err(text) => {
                    problem.get_or_insert(text);
                    None
                }
            }
        });
        if wanted > 0 {
            let start = workspace.addr() as i64;
            for operand in work.tensors.iter().flatten() {
                let base = operand.tensor.memory().addr() as i64;
                let (low, high) = (base.saturating_add(operand.reach.low), base.saturating_add(operand.reach.high));
                if low < start.saturating_add(wanted as i64) && start < high {
                    let name = (self.spelling)(operand.argument);
                    return Err(invalid(format!("workspace must not overlap {name}")));
                }
            }
        }
        Ok(Some(Launch { workspace, bound, problem, _workspace_hold: workspace_hold, executor: self }))
    }
}
