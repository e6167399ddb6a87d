//! Executors between the phases.

use crate::codes;
use crate::fault::{Fault, Outcome};
use crate::ffi::boundary::enter;
use crate::ffi::handle::{EXECUTOR, Handle};
use crate::ffi::memory::Memory;
use crate::objects::executor::Executor;
use crate::objects::list::List;
use crate::objects::tensor::Tensor;

#[unsafe(no_mangle)]
extern "C" fn aclSetAclOpExecutorRepeatable(executor: Handle<Executor>) -> i32 {
    enter("aclSetAclOpExecutorRepeatable", || {
        executor.find("executor", EXECUTOR)?.make_repeatable();
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclDestroyAclOpExecutor(executor: Handle<Executor>) -> i32 {
    enter("aclDestroyAclOpExecutor", || executor.remove("executor", EXECUTOR).map(drop))
}

/// Gives a tensor another address for the next launch. As in CANN, which tensor it is says everything.
fn set_address(function: &'static str, executor: Handle<Executor>, tensor: Handle<Tensor>, addr: Memory) -> i32 {
    enter(function, || {
        executor.find("executor", EXECUTOR)?;
        tensor.find("tensor", EXECUTOR)?.set_memory(addr);
        Ok(())
    })
}

/// The same for an element of a list.
fn set_address_in(
    function: &'static str,
    executor: Handle<Executor>,
    (tensors, index): (Handle<List<Tensor>>, usize),
    addr: Memory,
) -> i32 {
    enter(function, || -> Outcome {
        executor.find("executor", EXECUTOR)?;
        let tensors = tensors.find("tensors", EXECUTOR)?;
        let n_tensors = tensors.handles().len();
        let Some(tensor) = tensors.handles().nth(index) else {
            let text = format!("relativeIndex must be below the list's length, {n_tensors}, got {index}");
            return Err(Fault::new(codes::NN_PARAM_INVALID, text));
        };
        tensor.find("tensors[relativeIndex]", EXECUTOR)?.set_memory(addr);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclSetInputTensorAddr(
    executor: Handle<Executor>,
    _index: usize,
    tensor: Handle<Tensor>,
    addr: Memory,
) -> i32 {
    set_address("aclSetInputTensorAddr", executor, tensor, addr)
}

#[unsafe(no_mangle)]
extern "C" fn aclSetOutputTensorAddr(
    executor: Handle<Executor>,
    _index: usize,
    tensor: Handle<Tensor>,
    addr: Memory,
) -> i32 {
    set_address("aclSetOutputTensorAddr", executor, tensor, addr)
}

#[unsafe(no_mangle)]
extern "C" fn aclSetTensorAddr(
    executor: Handle<Executor>,
    _index: usize,
    tensor: Handle<Tensor>,
    addr: Memory,
) -> i32 {
    set_address("aclSetTensorAddr", executor, tensor, addr)
}

#[unsafe(no_mangle)]
extern "C" fn aclSetDynamicInputTensorAddr(
    executor: Handle<Executor>,
    _irIndex: usize,
    relativeIndex: usize,
    tensors: Handle<List<Tensor>>,
    addr: Memory,
) -> i32 {
    set_address_in("aclSetDynamicInputTensorAddr", executor, (tensors, relativeIndex), addr)
}

#[unsafe(no_mangle)]
extern "C" fn aclSetDynamicOutputTensorAddr(
    executor: Handle<Executor>,
    _irIndex: usize,
    relativeIndex: usize,
    tensors: Handle<List<Tensor>>,
    addr: Memory,
) -> i32 {
    set_address_in("aclSetDynamicOutputTensorAddr", executor, (tensors, relativeIndex), addr)
}

#[unsafe(no_mangle)]
extern "C" fn aclSetDynamicTensorAddr(
    executor: Handle<Executor>,
    _irIndex: usize,
    relativeIndex: usize,
    tensors: Handle<List<Tensor>>,
    addr: Memory,
) -> i32 {
    set_address_in("aclSetDynamicTensorAddr", executor, (tensors, relativeIndex), addr)
}

#[unsafe(no_mangle)]
extern "C" fn AclSetInputTensorAddr(
    executor: Handle<Executor>,
    _index: usize,
    tensor: Handle<Tensor>,
    addr: Memory,
) -> i32 {
    set_address("AclSetInputTensorAddr", executor, tensor, addr)
}

#[unsafe(no_mangle)]
extern "C" fn AclSetOutputTensorAddr(
    executor: Handle<Executor>,
    _index: usize,
    tensor: Handle<Tensor>,
    addr: Memory,
) -> i32 {
    set_address("AclSetOutputTensorAddr", executor, tensor, addr)
}

#[unsafe(no_mangle)]
extern "C" fn AclSetTensorAddr(
    executor: Handle<Executor>,
    _index: usize,
    tensor: Handle<Tensor>,
    addr: Memory,
) -> i32 {
    set_address("AclSetTensorAddr", executor, tensor, addr)
}

#[unsafe(no_mangle)]
extern "C" fn AclSetDynamicInputTensorAddr(
    executor: Handle<Executor>,
    _irIndex: usize,
    relativeIndex: usize,
    tensors: Handle<List<Tensor>>,
    addr: Memory,
) -> i32 {
    set_address_in("AclSetDynamicInputTensorAddr", executor, (tensors, relativeIndex), addr)
}

#[unsafe(no_mangle)]
extern "C" fn AclSetDynamicOutputTensorAddr(
    executor: Handle<Executor>,
    _irIndex: usize,
    relativeIndex: usize,
    tensors: Handle<List<Tensor>>,
    addr: Memory,
) -> i32 {
    set_address_in("AclSetDynamicOutputTensorAddr", executor, (tensors, relativeIndex), addr)
}

#[unsafe(no_mangle)]
extern "C" fn AclSetDynamicTensorAddr(
    executor: Handle<Executor>,
    _irIndex: usize,
    relativeIndex: usize,
    tensors: Handle<List<Tensor>>,
    addr: Memory,
) -> i32 {
    set_address_in("AclSetDynamicTensorAddr", executor, (tensors, relativeIndex), addr)
}
