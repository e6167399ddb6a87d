//! `aclnnop/aclnn_adaptive_avg_pool3d.h`.

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

/// Phase 1 of `aclnnAdaptiveAvgPool3d`.
#[unsafe(no_mangle)]
extern "C" fn aclnnAdaptiveAvgPool3dGetWorkspaceSize(
    self_: Handle<Tensor>,
    outputSize: Handle<Array<i64>>,
    out: Handle<Tensor>,
    workspaceSize: Out<u64>,
    executor: Out<Handle<Executor>>,
) -> i32 {
    const FUNCTION: &str = "aclnnAdaptiveAvgPool3dGetWorkspaceSize";
    phases::prepare("aclnnAdaptiveAvgPool3d", FUNCTION, (workspaceSize, executor), || {
        none_null(&[(self_.is_null(), "self"), (outputSize.is_null(), "outputSize"), (out.is_null(), "out")])?;
        let given = tensors([(self_, "self"), (out, "out")])?;
        let outputSize = GivenList::find(outputSize, "outputSize")?;
        let args = given.each_ref().map(Given::arg);
        let request = lower::adaptive_avg(&args, &outputSize.arg(), settings().profile)?;
        let [self_, out] = given;
        Ok((request, [Some(self_), Some(out), None]))
    })
}

/// Phase 2 of `aclnnAdaptiveAvgPool3d`.
#[unsafe(no_mangle)]
extern "C" fn aclnnAdaptiveAvgPool3d(
    workspace: Memory,
    workspaceSize: u64,
    executor: Handle<Executor>,
    stream: Handle<Stream>,
) -> i32 {
    phases::launch("aclnnAdaptiveAvgPool3d", workspace, workspaceSize, executor, stream)
}
