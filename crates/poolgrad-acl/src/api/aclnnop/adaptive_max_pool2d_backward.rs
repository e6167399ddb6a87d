//! `aclnnop/aclnn_adaptive_max_pool2d_backward.h`.

use crate::api::phases::{self, Given, none_null, tensors};
use crate::ffi::handle::Handle;
use crate::ffi::memory::Memory;
use crate::ffi::types::Out;
use crate::lower;
use crate::objects::executor::Executor;
use crate::objects::tensor::Tensor;
use crate::runtime::stream::Stream;
use crate::settings::settings;

/// Phase 1 of `aclnnAdaptiveMaxPool2dBackward`.
#[unsafe(no_mangle)]
extern "C" fn aclnnAdaptiveMaxPool2dBackwardGetWorkspaceSize(
    gradOutput: Handle<Tensor>,
    self_: Handle<Tensor>,
    indices: Handle<Tensor>,
    gradInput: Handle<Tensor>,
    workspaceSize: Out<u64>,
    executor: Out<Handle<Executor>>,
) -> i32 {
    const FUNCTION: &str = "aclnnAdaptiveMaxPool2dBackwardGetWorkspaceSize";
    phases::prepare("aclnnAdaptiveMaxPool2dBackward", FUNCTION, (workspaceSize, executor), || {
        none_null(&[
            (gradOutput.is_null(), "gradOutput"),
            (self_.is_null(), "self"),
            (indices.is_null(), "indices"),
            (gradInput.is_null(), "gradInput"),
        ])?;
        let given =
            tensors([(gradOutput, "gradOutput"), (self_, "self"), (indices, "indices"), (gradInput, "gradInput")])?;
        let args = given.each_ref().map(Given::arg);
        let request = lower::adaptive_max_2d_grad(&args, settings().profile)?;
        let [gradOutput, _, indices, gradInput] = given;
        Ok((request, [Some(gradOutput), Some(indices), Some(gradInput)]))
    })
}

/// Phase 2 of `aclnnAdaptiveMaxPool2dBackward`.
#[unsafe(no_mangle)]
extern "C" fn aclnnAdaptiveMaxPool2dBackward(
    workspace: Memory,
    workspaceSize: u64,
    executor: Handle<Executor>,
    stream: Handle<Stream>,
) -> i32 {
    phases::launch("aclnnAdaptiveMaxPool2dBackward", workspace, workspaceSize, executor, stream)
}
