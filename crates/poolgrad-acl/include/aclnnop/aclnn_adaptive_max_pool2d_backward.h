/* Adaptive max pooling over H and W, backward: each gradient is added where its index points. */
#ifndef POOLGRAD_ACLNNOP_ADAPTIVE_MAX_POOL2D_BACKWARD_H
#define POOLGRAD_ACLNNOP_ADAPTIVE_MAX_POOL2D_BACKWARD_H

#include "aclnn/aclnn_base.h"
#include "aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Phase 1: checks everything, reports the workspace and makes an executor.
 *
 * gradOutput, indices: [N, C, Ho, Wo] or [C, Ho, Wo]; self, gradInput: [N, C, H, W] or [C, H, W].
 * FLOAT, FLOAT16 or BF16, all equal; indices INT32 or INT64, offsets h*W + w.
 * A NULL argument: ACLNN_ERR_PARAM_NULLPTR. Any other wrong one: ACLNN_ERR_PARAM_INVALID. */
ACLNN_API aclnnStatus aclnnAdaptiveMaxPool2dBackwardGetWorkspaceSize(
    const aclTensor *gradOutput, const aclTensor *self, const aclTensor *indices, aclTensor *gradInput,
    uint64_t *workspaceSize, aclOpExecutor **executor);

/* Phase 2: queues the work on the stream and ends the executor, unless it is repeatable. */
ACLNN_API aclnnStatus aclnnAdaptiveMaxPool2dBackward(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
