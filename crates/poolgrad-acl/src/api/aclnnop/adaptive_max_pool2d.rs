//! `aclnnop/aclnn_adaptive_max_pool2d.h`.

use crate::api::phases::{self, Given, GivenList, none_null, tensors};
use crate::ffi::handle::Handle;
use crate::ffi::memory::Memory;
use crate::ffi::types::Out;
use crate::lower;
use crate::objects::array::Array;
use crate::objects::executor::Executor;
use crate::objects::tensor::Tensor;
use crate::runtime::stream::Stream;
use crate::settings::settings;

/// Phase 1 of `aclnnAdaptiveMaxPool2d`.
#[unsafe(no_mangle)]
extern "C" fn aclnnAdaptiveMaxPool2dGetWorkspaceSize(
    self_: Handle<Tensor>,
    outputSize: Handle<Array<i64>>,
    outputOut: Handle<Tensor>,
    indicesOut: Handle<Tensor>,
    workspaceSize: Out<u64>,
    executor: Out<Handle<Executor>>,
) -> i32 {
    const FUNCTION: &str = "aclnnAdaptiveMaxPool2dGetWorkspaceSize";
    phases::prepare("aclnnAdaptiveMaxPool2d", FUNCTION, (workspaceSize, executor), || {
        none_null(&[
            (self_.is_null(), "self"),
            (outputSize.is_null(), "outputSize"),
            (outputOut.is_null(), "outputOut"),
            (indicesOut.is_null(), "indicesOut"),
        ])?;
        let given = tensors([(self_, "self"), (outputOut, "outputOut"), (indicesOut, "indicesOut")])?;
        let outputSize = GivenList::find(outputSize, "outputSize")?;
        let args = given.each_ref().map(Given::arg);
        let request = lower::adaptive_max_2d(&args, &outputSize.arg(), settings().profile)?;
        let [self_, outputOut, indicesOut] = given;
        Ok((request, [Some(self_), Some(outputOut), Some(indicesOut)]))
    })
}

/// Phase 2 of `aclnnAdaptiveMaxPool2d`.
#[unsafe(no_mangle)]
extern "C" fn aclnnAdaptiveMaxPool2d(
    workspace: Memory,
    workspaceSize: u64,
    executor: Handle<Executor>,
    stream: Handle<Stream>,
) -> i32 {
    phases::launch("aclnnAdaptiveMaxPool2d", workspace, workspaceSize, executor, stream)
}
