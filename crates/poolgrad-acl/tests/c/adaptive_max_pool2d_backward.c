/* aclnnAdaptiveMaxPool2dBackward, in C: two planes of 3x3, pooled to 2x2, INT64 indices that meet in one place. */
#include "aclnnop/aclnn_adaptive_max_pool2d_backward.h"
#include "operand.h"

int main(void) {
    const int64_t whole[] = {1, 2, 3, 3};
    const int64_t pooled[] = {1, 2, 2, 2};
    const float grad_output[] = {1, 2, 3, 4, 0.5F, 0.25F, 0.125F, 8};
    const int64_t indices[] = {4, 4, 4, 8, 0, 5, 4, 4};
    /* By hand: every gradient goes to the place that its index names, and gradients of one place add up. */
    const float want[] = {0, 0, 0, 0, 6, 0, 0, 0, 4, 0.5F, 0, 0, 0, 8.125F, 0.25F, 0, 0, 0};
    float result[18];

    aclrtStream stream = set_up();
    Operand gradOutput = operand(pooled, 4, ACL_FLOAT, grad_output);
    Operand self = operand(whole, 4, ACL_FLOAT, NULL);
    Operand index = operand(pooled, 4, ACL_INT64, indices);
    Operand gradInput = operand(whole, 4, ACL_FLOAT, NULL);

    uint64_t workspaceSize = 0;
    aclOpExecutor *executor = NULL;
    MUST(aclnnAdaptiveMaxPool2dBackwardGetWorkspaceSize(gradOutput.tensor, self.tensor, index.tensor, gradInput.tensor,
                                                        &workspaceSize, &executor));
    CHECK(executor != NULL);
    MUST(launch(aclnnAdaptiveMaxPool2dBackward, workspaceSize, executor, stream));
    read_back(&gradInput, result);
    CHECK(same_floats(result, want, 18));

    release(&gradOutput);
    release(&self);
    release(&index);
    release(&gradInput);
    take_down(stream);
    return finish();
}
