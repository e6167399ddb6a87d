// aclnnAdaptiveMaxPool3dBackward: a batch of two volumes of 2x3x2, pooled to 1x2x2, sizes that do not divide.
#include "aclnnop/aclnn_adaptive_max_pool3d_backward.h"

#include <initializer_list>

#include "operand.h"

int main() {
    const int64_t whole[] = {2, 1, 2, 3, 2};
    const int64_t pooled[] = {2, 1, 1, 2, 2};
    const float gradValues[] = {1, 10, 100, 1000, -1, 0.5F, 4, 2};
    // Offset of [d, h, w] is d*6 + h*2 + w. The row h = 1 belongs to both windows along H.
    const int32_t indexValues[] = {8, 3, 8, 11, 0, 1, 2, 3};
    const float want[] = {0, 0, 0, 10, 0, 0, 0, 0, 101, 0, 0, 1000,  // n = 0
                          -1, 0.5F, 4, 2, 0, 0, 0, 0, 0, 0, 0, 0};   // n = 1
    float result[24];

    aclrtStream stream = set_up();
    Operand gradOutput = operand(pooled, 5, ACL_FLOAT, gradValues);
    Operand self = operand(whole, 5, ACL_FLOAT, nullptr);
    Operand indices = operand(pooled, 5, ACL_INT32, indexValues);
    Operand gradInput = operand(whole, 5, ACL_FLOAT, nullptr);

    uint64_t workspaceSize = 0;
    aclOpExecutor *executor = nullptr;
    MUST(aclnnAdaptiveMaxPool3dBackwardGetWorkspaceSize(gradOutput.tensor, self.tensor, indices.tensor,
                                                        gradInput.tensor, &workspaceSize, &executor));
    MUST(launch(aclnnAdaptiveMaxPool3dBackward, workspaceSize, executor, stream));
    read_back(&gradInput, result);
    CHECK(same_floats(result, want, 24));

    for (Operand *used : {&gradOutput, &self, &indices, &gradInput}) {
        release(used);
    }
    take_down(stream);
    return finish();
}
