/* Adaptive max pooling over D, H and W, with the places of the maxima. */
#ifndef POOLGRAD_ACLNNOP_ADAPTIVE_MAX_POOL3D_H
#define POOLGRAD_ACLNNOP_ADAPTIVE_MAX_POOL3D_H

#include "aclnn/aclnn_base.h"
#include "aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Phase 1: checks everything, reports the workspace and makes an executor.
 *
 * self: [N, C, D, H, W] or [C, D, H, W], format NCDHW or NCHW; outputOut, indicesOut: the same with outputSize.
 * FLOAT, FLOAT16 or BF16, equal; indicesOut INT32, offsets d*H*W + h*W + w (INT64 too in profile 950).
 * A NULL argument: ACLNN_ERR_PARAM_NULLPTR. Any other wrong one: ACLNN_ERR_PARAM_INVALID. */
ACLNN_API aclnnStatus aclnnAdaptiveMaxPool3dGetWorkspaceSize(
    const aclTensor *self, const aclIntArray *outputSize, aclTensor *outputOut, aclTensor *indicesOut,
    uint64_t *workspaceSize, aclOpExecutor **executor);

/* Phase 2: queues the work on the stream and ends the executor, unless it is repeatable. */
ACLNN_API aclnnStatus aclnnAdaptiveMaxPool3d(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
