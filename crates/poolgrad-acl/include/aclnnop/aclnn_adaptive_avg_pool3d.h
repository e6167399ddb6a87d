/* Adaptive average pooling over D, H and W. */
#ifndef POOLGRAD_ACLNNOP_ADAPTIVE_AVG_POOL3D_H
#define POOLGRAD_ACLNNOP_ADAPTIVE_AVG_POOL3D_H

#include "aclnn/aclnn_base.h"
#include "aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Phase 1: checks everything, reports the workspace and makes an executor.
 *
 * self: [N, C, D, H, W] or [C, D, H, W]; out: the same with outputSize. FLOAT, FLOAT16 or BF16, equal.
 * outputSize has 3 values.
 * A NULL argument: ACLNN_ERR_PARAM_NULLPTR. Any other wrong one: ACLNN_ERR_PARAM_INVALID. */
ACLNN_API aclnnStatus aclnnAdaptiveAvgPool3dGetWorkspaceSize(
    const aclTensor *self, const aclIntArray *outputSize, aclTensor *out, uint64_t *workspaceSize,
    aclOpExecutor **executor);

/* Phase 2: queues the work on the stream and ends the executor, unless it is repeatable. */
ACLNN_API aclnnStatus aclnnAdaptiveAvgPool3d(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
