//! Executors: what phase 1 leaves for phase 2. A plan, and the tensors that it is for.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use poolgrad::{Argument, Operands, Plan, TensorDesc};

use super::launch::{Bound, Launch};
use super::tensor::{Tensor, View};
use crate::codes;
use crate::fault::{Fault, Outcome};
use crate::ffi::handle::{Object, Registry};
use crate::ffi::memory::Memory;
use crate::lower::Request;
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
    pub(crate) plan: Box<Plan>,
    pub(crate) operands: Operands<TensorDesc>,
    pub(crate) n_spatial: usize,
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
    /// A tensor that is seen as `view`, with elements of `size` bytes; `None` if some are too far away.
    pub(crate) fn new(argument: Argument, (tensor, view): (Arc<Tensor>, &View), size: usize) -> Option<Self> {
        let bytes = |elements: i64| elements.checked_mul(size as i64);
        let Range { start, end } = *view.reach.as_ref()?;
        let reach = Reach { low: bytes(start)?, high: bytes(end)? };
        Some(Self { argument, tensor, origin: bytes(view.offset)?, reach })
    }

    /// Whether the tensor, at this address, and the workspace share bytes.
    fn meets(&self, memory: Memory, workspace: Memory, bytes: usize) -> bool {
        let (base, start) = (memory.addr() as i64, workspace.addr() as i64);
        let (low, high) = (base.saturating_add(self.reach.low), base.saturating_add(self.reach.high));
        low < start.saturating_add(bytes as i64) && start < high
    }
}

impl Work {
    /// The work that a request asks for.
    pub(crate) fn new(plan: Box<Plan>, request: &Request, tensors: [Option<Operand>; 3]) -> Self {
        Self { plan, operands: request.operands, n_spatial: request.spec.n_spatial(), tensors }
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
        let mut launch = Launch {
            workspace,
            workspace_hold: None,
            bound: [const { None }; 3],
            problem: None,
            executor: Arc::clone(&self),
        };
        for (operand, bound) in work.tensors.iter().zip(&mut launch.bound) {
            let Some(operand) = operand else { continue };
            let memory = operand.tensor.memory();
            let name = (self.spelling)(operand.argument);
            if wanted > 0 && operand.meets(memory, workspace, wanted) {
                return Err(Fault::new(codes::NN_PARAM_INVALID, format!("workspace must not overlap {name}")));
            }
            if memory.is_null() {
                launch.problem.get_or_insert_with(|| format!("{name} has no memory: its address is NULL"));
                continue;
            }
            match memory::hold(memory, operand.reach, name) {
                Ok(hold) => *bound = Some(Bound { origin: memory.offset(operand.origin as isize), _hold: hold }),
                Err(text) => drop(launch.problem.get_or_insert(text)),
            }
        }
        if wanted > 0 {
            let hold = memory::hold(workspace, Reach::first(wanted), "workspace");
            launch.workspace_hold = hold.map_err(|text| Fault::new(codes::NN_PARAM_INVALID, text))?;
        }
        Ok(Some(launch))
    }
}
