//! `aclnnop/aclnn_adaptive_avg_pool3d_backward.h`.

use crate::api::phases::{self, Given, none_null, tensors};
use crate::ffi::handle::Handle;
use crate::ffi::memory::Memory;
use crate::ffi::types::Out;
use crate::lower;
use crate::objects::executor::Executor;
use crate::objects::tensor::Tensor;
use crate::runtime::stream::Stream;
use crate::settings::settings;

/// Phase 1 of `aclnnAdaptiveAvgPool3dBackward`.
#[unsafe(no_mangle)]
extern "C" fn aclnnAdaptiveAvgPool3dBackwardGetWorkspaceSize(
    gradOutput: Handle<Tensor>,
    self_: Handle<Tensor>,
    out: Handle<Tensor>,
    workspaceSize: Out<u64>,
    executor: Out<Handle<Executor>>,
) -> i32 {
    const FUNCTION: &str = "aclnnAdaptiveAvgPool3dBackwardGetWorkspaceSize";
    phases::prepare("aclnnAdaptiveAvgPool3dBackward", FUNCTION, (workspaceSize, executor), || {
        none_null(&[(gradOutput.is_null(), "gradOutput"), (self_.is_null(), "self"), (out.is_null(), "out")])?;
        let given = tensors([(gradOutput, "gradOutput"), (self_, "self"), (out, "out")])?;
        let args = given.each_ref().map(Given::arg);
        let request = lower::adaptive_avg_grad(&args, settings().profile)?;
        let [gradOutput, _, out] = given;
        Ok((request, [Some(gradOutput), Some(out), None]))
    })
}

/// Phase 2 of `aclnnAdaptiveAvgPool3dBackward`.
#[unsafe(no_mangle)]
extern "C" fn aclnnAdaptiveAvgPool3dBackward(
    workspace: Memory,
    workspaceSize: u64,
    executor: Handle<Executor>,
    stream: Handle<Stream>,
) -> i32 {
    phases::launch("aclnnAdaptiveAvgPool3dBackward", workspace, workspaceSize, executor, stream)
}
