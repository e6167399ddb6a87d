/* Adaptive average pooling over D, H and W, backward: each gradient is shared equally by its window. */
#ifndef POOLGRAD_ACLNNOP_ADAPTIVE_AVG_POOL3D_BACKWARD_H
#define POOLGRAD_ACLNNOP_ADAPTIVE_AVG_POOL3D_BACKWARD_H

#include "aclnn/aclnn_base.h"
#include "aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Phase 1: checks everything, reports the workspace and makes an executor.
 *
 * gradOutput: [N, C, Do, Ho, Wo] or [C, Do, Ho, Wo]; self, out: [N, C, D, H, W] or [C, D, H, W].
 * FLOAT, FLOAT16 or BF16, all equal; DOUBLE too if Do = Ho = Wo = 1. No size may be zero.
 * A NULL argument: ACLNN_ERR_PARAM_NULLPTR. Any other wrong one: ACLNN_ERR_PARAM_INVALID. */
ACLNN_API aclnnStatus aclnnAdaptiveAvgPool3dBackwardGetWorkspaceSize(
    const aclTensor *gradOutput, const aclTensor *self, aclTensor *out, uint64_t *workspaceSize,
    aclOpExecutor **executor);

/* Phase 2: queues the work on the stream and ends the executor, unless it is repeatable. */
ACLNN_API aclnnStatus aclnnAdaptiveAvgPool3dBackward(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
