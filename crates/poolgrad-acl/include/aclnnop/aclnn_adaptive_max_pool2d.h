/* Adaptive max pooling over H and W, with the places of the maxima. */
#ifndef POOLGRAD_ACLNNOP_ADAPTIVE_MAX_POOL2D_H
#define POOLGRAD_ACLNNOP_ADAPTIVE_MAX_POOL2D_H

#include "aclnn/aclnn_base.h"
#include "aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Phase 1: checks everything, reports the workspace and makes an executor.
 *
 * self: [N, C, H, W] or [C, H, W], or [N, H, W, C] with format NHWC; outputOut, indicesOut: the same with outputSize.
 * FLOAT, FLOAT16, BF16 or DOUBLE, equal; indicesOut INT64, offsets h*W + w. outputSize has 2 values.
 * A NULL argument: ACLNN_ERR_PARAM_NULLPTR. Any other wrong one: ACLNN_ERR_PARAM_INVALID. */
ACLNN_API aclnnStatus aclnnAdaptiveMaxPool2dGetWorkspaceSize(
    const aclTensor *self, const aclIntArray *outputSize, aclTensor *outputOut, aclTensor *indicesOut,
    uint64_t *workspaceSize, aclOpExecutor **executor);

/* Phase 2: queues the work on the stream and ends the executor, unless it is repeatable. */
ACLNN_API aclnnStatus aclnnAdaptiveMaxPool2d(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
