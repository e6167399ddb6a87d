//! `aclnnop/aclnn_max_pool3d_with_argmax.h`.

use crate::api::phases::{self, Given, GivenList, none_null, tensors};
use crate::ffi::handle::Handle;
use crate::ffi::memory::Memory;
use crate::ffi::types::Out;
use crate::lower::{self, Parameters};
use crate::objects::array::{Array, Flag};
use crate::objects::executor::Executor;
use crate::objects::tensor::Tensor;
use crate::runtime::stream::Stream;
use crate::settings::settings;

/// Phase 1 of `aclnnMaxPool3dWithArgmax`.
#[unsafe(no_mangle)]
extern "C" fn aclnnMaxPool3dWithArgmaxGetWorkspaceSize(
    self_: Handle<Tensor>,
    kernelSize: Handle<Array<i64>>,
    stride: Handle<Array<i64>>,
    padding: Handle<Array<i64>>,
    dilation: Handle<Array<i64>>,
    ceilMode: Flag,
    out: Handle<Tensor>,
    indices: Handle<Tensor>,
    workspaceSize: Out<u64>,
    executor: Out<Handle<Executor>>,
) -> i32 {
    const FUNCTION: &str = "aclnnMaxPool3dWithArgmaxGetWorkspaceSize";
    phases::prepare("aclnnMaxPool3dWithArgmax", FUNCTION, (workspaceSize, executor), || {
        none_null(&[
            (self_.is_null(), "self"),
            (kernelSize.is_null(), "kernelSize"),
            (stride.is_null(), "stride"),
            (padding.is_null(), "padding"),
            (dilation.is_null(), "dilation"),
            (out.is_null(), "out"),
            (indices.is_null(), "indices"),
        ])?;
        let given = tensors([(self_, "self"), (out, "out"), (indices, "indices")])?;
        let kernelSize = GivenList::find(kernelSize, "kernelSize")?;
        let stride = GivenList::find(stride, "stride")?;
        let padding = GivenList::find(padding, "padding")?;
        let dilation = GivenList::find(dilation, "dilation")?;
        let parameters = Parameters {
            kernel_size: kernelSize.arg(),
            stride: stride.arg(),
            padding: padding.arg(),
            dilation: dilation.arg(),
            ceil_mode: ceilMode.is_set(),
        };
        let args = given.each_ref().map(Given::arg);
        let request = lower::max_with_argmax(&args, &parameters, settings().profile)?;
        let [self_, out, indices] = given;
        Ok((request, [Some(self_), Some(out), Some(indices)]))
    })
}

/// Phase 2 of `aclnnMaxPool3dWithArgmax`.
#[unsafe(no_mangle)]
extern "C" fn aclnnMaxPool3dWithArgmax(
    workspace: Memory,
    workspaceSize: u64,
    executor: Handle<Executor>,
    stream: Handle<Stream>,
) -> i32 {
    phases::launch("aclnnMaxPool3dWithArgmax", workspace, workspaceSize, executor, stream)
}
