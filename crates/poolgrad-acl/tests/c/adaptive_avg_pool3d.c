/* aclnnAdaptiveAvgPool3d, in C: means of overlapping windows. */
#include "aclnnop/aclnn_adaptive_avg_pool3d.h"
#include "operand.h"

int main(void) {
    const int64_t whole[] = {1, 1, 2, 1, 3};
    const int64_t pooled[] = {1, 1, 1, 1, 2};
    const int64_t output_size[] = {1, 1, 2};
    const float values[] = {1, 2, 3, 5, 8, 11};
    const float want[] = {4, 6};
    float result[2];

    aclrtStream stream = set_up();
    Operand self = operand_as(ACL_FORMAT_NCDHW, whole, 5, ACL_FLOAT, values);
    Operand out = operand_as(ACL_FORMAT_NCDHW, pooled, 5, ACL_FLOAT, NULL);
    aclIntArray *outputSize = aclCreateIntArray(output_size, 3);

    uint64_t workspaceSize = 0;
    aclOpExecutor *executor = NULL;
    MUST(aclnnAdaptiveAvgPool3dGetWorkspaceSize(self.tensor, outputSize, out.tensor, &workspaceSize, &executor));
    MUST(launch(aclnnAdaptiveAvgPool3d, workspaceSize, executor, stream));
    read_back(&out, result);
    CHECK(same_floats(result, want, 2));

    CHECK_CODE(0, aclDestroyIntArray(outputSize));
    release(&self);
    release(&out);
    take_down(stream);
    return finish();
}
