//! The two phases that every operator has.

use std::ffi::c_void;
use std::sync::Arc;

use poolgrad::{Argument, Operands, PlanOptions};

use crate::codes;
use crate::fault::{Fault, Outcome};
use crate::ffi::boundary::enter;
use crate::ffi::handle::{ARGUMENT, Handle, LAUNCH};
use crate::ffi::memory::Memory;
use crate::ffi::types::Out;
use crate::lower::{Arg, ListArg, Request};
use crate::objects::array::Array;
use crate::objects::executor::{Executor, Operand, Work};
use crate::objects::tensor::{Tensor, View};
use crate::runtime::context;
use crate::runtime::stream::Stream;
use crate::settings::{IndexPolicy, settings};

/// What phase 1 returns through.
pub(super) type Returned = (Out<u64>, Out<Handle<Executor>>);

/// A tensor that C passed, found.
pub(super) struct Given {
    name: &'static str,
    tensor: Arc<Tensor>,
    view: Arc<View>,
}

impl Given {
    /// Finds a tensor.
    pub(super) fn find(handle: Handle<Tensor>, name: &'static str) -> Outcome<Self> {
        let tensor = handle.find(name, ARGUMENT)?;
        let view = tensor.view();
        Ok(Self { name, tensor, view })
    }

    pub(super) fn arg(&self) -> Arg<'_> {
        Arg { name: self.name, view: &self.view }
    }
}

/// Finds tensors, in the order of the signature.
pub(super) fn tensors<const N: usize>(handles: [(Handle<Tensor>, &'static str); N]) -> Outcome<[Given; N]> {
    let mut given = Vec::with_capacity(N);
    for (handle, name) in handles {
        given.push(Given::find(handle, name)?);
    }
    given.try_into().map_err(|_| Fault::new(codes::NN_INNER, "as many were found as were looked for"))
}

/// A list that C passed, found.
pub(super) struct GivenList {
    name: &'static str,
    array: Arc<Array<i64>>,
}

impl GivenList {
    /// Finds an array.
    pub(super) fn find(handle: Handle<Array<i64>>, name: &'static str) -> Outcome<Self> {
        Ok(Self { name, array: handle.find(name, ARGUMENT)? })
    }

    pub(super) fn arg(&self) -> ListArg<'_> {
        ListArg { name: self.name, values: &self.array.0 }
    }
}

/// Refuses the first argument that is NULL, before any other is looked at more closely.
pub(super) fn none_null(arguments: &[(bool, &str)]) -> Outcome {
    match arguments.iter().find(|(is_null, _)| *is_null) {
        None => Ok(()),
        Some((_, name)) => Err(Fault::new(codes::NN_PARAM_NULLPTR, format!("{name} must not be NULL"))),
    }
}

/// Phase 1: `ask` reads and checks the arguments, and says which tensors play the request's parts, in their order.
pub(super) fn prepare(
    operator: &'static str,
    function: &'static str,
    (workspace_size, executor): Returned,
    ask: impl FnOnce() -> Outcome<(Request, [Option<Given>; 3])>,
) -> i32 {
    enter(function, || {
        let workspace_size = workspace_size.place("workspaceSize", ARGUMENT)?;
        let executor = executor.place("executor", ARGUMENT)?;
        let (request, given) = ask()?;
        let plan = request.plan(&PlanOptions::default().bad_indices(policy()))?;
        let work = match plan {
            None => None,
            Some(plan) => Some(Work::new(plan, &request, operands(&request, given)?)),
        };
        let made = Executor::new(operator, request.spelling, work);
        made.check_memory()?;
        workspace_size.set(made.workspace_bytes() as u64);
        executor.set(Handle::new(Arc::new(made)));
        Ok(())
    })
}

fn policy() -> poolgrad::BadIndices {
    match settings().index_policy {
        IndexPolicy::Strict => poolgrad::BadIndices::Refuse,
        IndexPolicy::Drop => poolgrad::BadIndices::Drop,
    }
}

/// The tensors with the parts they play.
fn operands(request: &Request, given: [Option<Given>; 3]) -> Outcome<[Option<Operand>; 3]> {
    use Argument::{GradInput, GradOutput, Indices, Input, Output};
    let parts = match &request.operands {
        Operands::Pool { input, output } => [Some((Input, input)), Some((Output, output)), None],
        Operands::PoolWithIndices { input, output, indices } => {
            [Some((Input, input)), Some((Output, output)), Some((Indices, indices))]
        }
        Operands::Spread { grad_output, grad_input } => {
            [Some((GradOutput, grad_output)), Some((GradInput, grad_input)), None]
        }
        Operands::Scatter { grad_output, indices, grad_input } => {
            [Some((GradOutput, grad_output)), Some((Indices, indices)), Some((GradInput, grad_input))]
        }
        _ => [None; 3],
    };
    let mut operands = [None, None, None];
    for ((operand, part), given) in operands.iter_mut().zip(parts).zip(given) {
        let (Some((argument, desc)), Some(given)) = (part, given) else { continue };
        let too_far = || {
            let text = format!("{} must lie in the address space, got offset {}", given.name, given.view.offset);
            Fault::new(codes::NN_PARAM_INVALID, text)
        };
        let seen = (given.tensor, &*given.view);
        *operand = Some(Operand::new(argument, seen, desc.dtype.size()).ok_or_else(too_far)?);
    }
    Ok(operands)
}

/// Phase 2: queues an executor's work.
pub(super) fn launch(
    function: &'static str,
    workspace: Memory,
    workspace_size: u64,
    executor: Handle<Executor>,
    stream: Handle<Stream>,
) -> i32 {
    enter(function, || {
        let mut found = executor.find("executor", LAUNCH)?;
        // Whatever happens from here on, an executor that is not repeatable is used up; of two threads that use the
        // same one, one gets it.
        if !found.is_repeatable() {
            found = executor.remove("executor", LAUNCH)?;
        }
        if workspace_size > 0 && workspace.is_null() {
            let text = format!("workspace must not be NULL when workspaceSize is {workspace_size}");
            return Err(Fault::new(codes::NN_PARAM_NULLPTR, text));
        }
        let stream =
            context::stream_or_default(stream).map_err(|fault| Fault { code: codes::NN_RUNTIME_ERROR, ..fault })?;
        let Some(launch) = found.launch(workspace, workspace_size)? else { return Ok(()) };
        stream.give(launch).map(drop).map_err(|fault| Fault { code: codes::NN_RUNTIME_ERROR, ..fault })
    })
}

/// What C calls a `void *`.
const _: () = assert!(size_of::<Memory>() == size_of::<*mut c_void>());
