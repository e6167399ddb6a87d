/* Max pooling over D, H and W, with the places of the maxima. */
#ifndef POOLGRAD_ACLNNOP_MAX_POOL3D_WITH_ARGMAX_H
#define POOLGRAD_ACLNNOP_MAX_POOL3D_WITH_ARGMAX_H

#include "aclnn/aclnn_base.h"
#include "aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Phase 1: checks everything, reports the workspace and makes an executor.
 *
 * self: [N, C, D, H, W] or [C, D, H, W]; out, indices: the same with the output's sizes.
 * FLOAT, FLOAT16 or BF16, equal; indices INT32, offsets d*H*W + h*W + w (INT64 too in profile 950).
 * kernelSize and padding have 1 or 3 values, stride 0 (then it is kernelSize), 1 or 3; dilation is 1.
 * A NULL argument: ACLNN_ERR_PARAM_NULLPTR. Any other wrong one: ACLNN_ERR_PARAM_INVALID. */
ACLNN_API aclnnStatus aclnnMaxPool3dWithArgmaxGetWorkspaceSize(
    const aclTensor *self, const aclIntArray *kernelSize, const aclIntArray *stride, const aclIntArray *padding,
    const aclIntArray *dilation, bool ceilMode, aclTensor *out, aclTensor *indices, uint64_t *workspaceSize,
    aclOpExecutor **executor);

/* Phase 2: queues the work on the stream and ends the executor, unless it is repeatable. */
ACLNN_API aclnnStatus aclnnMaxPool3dWithArgmax(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
