//! Launches: an executor's work on its way through a stream.

use std::sync::Arc;
use std::time::Instant;

use poolgrad::{Operands, TensorDesc};

use super::executor::{Executor, Work};
use crate::codes;
use crate::fault::{Fault, Outcome};
use crate::ffi::memory::{self, Memory};
use crate::log::{self, Level};
use crate::runtime::memory::Hold;
use crate::runtime::stream::Task;
use crate::status;

/// Work with the memory that it uses, which lives until the launch is done.
pub(crate) struct Launch {
    pub(super) executor: Arc<Executor>,
    pub(super) workspace: Memory,
    pub(super) workspace_hold: Hold,
    /// The tensors in the order of the operands.
    pub(super) bound: [Option<Bound>; 3],
    /// What is wrong with the tensors' memory, which the launch fails with.
    pub(super) problem: Option<String>,
}

/// The memory of one tensor.
pub(super) struct Bound {
    pub(super) origin: Memory,
    pub(super) _hold: Hold,
}

/// Launches of fewer elements than this take less time than waking a thread.
const SHORT: i64 = 2048;

impl Task for Launch {
    fn is_short(&self) -> bool {
        let Some(work) = &self.executor.work else { return true };
        let elements = |desc: &TensorDesc| desc.layout.n_elements();
        self.problem.is_some()
            || SHORT
                > match &work.operands {
                    Operands::Pool { input, .. } | Operands::PoolWithIndices { input, .. } => elements(input),
                    Operands::Spread { grad_output, grad_input }
                    | Operands::Scatter { grad_output, grad_input, .. } => {
                        elements(grad_output).saturating_add(elements(grad_input))
                    }
                    _ => i64::MAX,
                }
    }

    fn run(&mut self) -> Outcome {
        let started = log::is_on(Level::Info).then(Instant::now);
        let executor = &self.executor;
        let Some(work) = &executor.work else { return Ok(()) };
        let mut fault = match self.problem.take() {
            Some(text) => Fault::new(codes::RT_VECTOR_CORE_EXCEPTION, text),
            None => match self.execute(work) {
                Ok(()) => {
                    if let Some(started) = started {
                        let micros = started.elapsed().as_secs_f64() * 1e6;
                        log::line(
                            Level::Info,
                            &format!("info {}: {}, {micros:.1} us", executor.operator, work.plan.explain()),
                        );
                    }
                    return Ok(());
                }
                Err(error) => status::launch_fault(&error, executor.spelling, work.n_spatial),
            },
        };
        fault.origin = Some(executor.operator);
        Err(fault)
    }
}

impl Launch {
    fn execute(&self, work: &Work) -> Result<(), poolgrad::Error> {
        let origin = |at: usize| self.bound[at].as_ref().map_or(Memory::NULL, |bound| bound.origin);
        let operands = match &work.operands {
            Operands::Pool { input, output } => Operands::Pool {
                input: memory::view(origin(0), input),
                output: memory::view_mut(origin(1), output),
            },
            Operands::PoolWithIndices { input, output, indices } => Operands::PoolWithIndices {
                input: memory::view(origin(0), input),
                output: memory::view_mut(origin(1), output),
                indices: memory::view_mut(origin(2), indices),
            },
            Operands::Spread { grad_output, grad_input } => Operands::Spread {
                grad_output: memory::view(origin(0), grad_output),
                grad_input: memory::view_mut(origin(1), grad_input),
            },
            Operands::Scatter { grad_output, indices, grad_input } => Operands::Scatter {
                grad_output: memory::view(origin(0), grad_output),
                indices: memory::view(origin(1), indices),
                grad_input: memory::view_mut(origin(2), grad_input),
            },
            _ => unreachable!("phase 1 makes these four"),
        };
        work.plan.execute(operands, memory::workspace(self.workspace, work.plan.workspace_bytes()))
    }
}
