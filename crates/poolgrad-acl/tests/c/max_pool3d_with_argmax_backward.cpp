// aclnnMaxPool3dWithArgmaxBackward: windows of 1x2x2 with padding, gaps and overlap; lists of length 3, 1 and 0.
#include "aclnnop/aclnn_max_pool3d_with_argmax_backward.h"

#include <initializer_list>

#include "operand.h"

namespace {

aclrtStream stream;

struct Lists {
    std::initializer_list<int64_t> kernel, stride, padding, dilation;
};

aclIntArray *ListOf(const std::initializer_list<int64_t> &values) {
    aclIntArray *made = aclCreateIntArray(values.begin(), values.size());
    CHECK(made != nullptr);
    return made;
}

// One volume `whole`, pooled to `pooled`; compares gradInput with `want`.
void Try(const int64_t (&whole)[5], const int64_t (&pooled)[5], const Lists &lists, bool ceilMode,
         const float *gradValues, const int32_t *indexValues, const float *want) {
    Operand gradOutput = operand(pooled, 5, ACL_FLOAT, gradValues);
    Operand self = operand(whole, 5, ACL_FLOAT, nullptr);
    Operand indices = operand(pooled, 5, ACL_INT32, indexValues);
    Operand gradInput = operand(whole, 5, ACL_FLOAT, nullptr);
    aclIntArray *arrays[] = {ListOf(lists.kernel), ListOf(lists.stride), ListOf(lists.padding),
                             ListOf(lists.dilation)};

    uint64_t workspaceSize = 0;
    aclOpExecutor *executor = nullptr;
    MUST(aclnnMaxPool3dWithArgmaxBackwardGetWorkspaceSize(gradOutput.tensor, self.tensor, indices.tensor, arrays[0],
                                                          arrays[1], arrays[2], arrays[3], ceilMode, gradInput.tensor,
                                                          &workspaceSize, &executor));
    // The lists have done their service in phase 1.
    for (aclIntArray *array : arrays) {
        CHECK_CODE(0, aclDestroyIntArray(array));
    }
    MUST(launch(aclnnMaxPool3dWithArgmaxBackward, workspaceSize, executor, stream));
    float result[64];
    read_back(&gradInput, result);
    CHECK(same_floats(result, want, gradInput.bytes / sizeof(float)));
    for (Operand *used : {&gradOutput, &self, &indices, &gradInput}) {
        release(used);
    }
}

}  // namespace

int main() {
    stream = set_up();
    // Every list with one value for each axis; windows along W overlap by one and start in the padding.
    {
        const int64_t whole[] = {1, 1, 1, 2, 4}, pooled[] = {1, 1, 1, 1, 5};
        const float grad[] = {1, 2, 4, 8, 16};
        const int32_t index[] = {4, 1, 1, 2, 3};
        const float want[] = {0, 6, 8, 16, 1, 0, 0, 0};
        Try(whole, pooled, {{1, 2, 2}, {1, 2, 1}, {0, 0, 1}, {1, 1, 1}}, false, grad, index, want);
    }
    // A single value serves for all axes; an empty stride means the kernel size.
    {
        const int64_t whole[] = {1, 2, 2, 2, 2}, pooled[] = {1, 2, 1, 1, 1};
        const float grad[] = {3, 5};
        const int32_t index[] = {7, 0};
        const float want[] = {0, 0, 0, 0, 0, 0, 0, 3, 5, 0, 0, 0, 0, 0, 0, 0};
        Try(whole, pooled, {{2}, {}, {0}, {1}}, false, grad, index, want);
    }
    // With ceilMode a last window that sticks out counts: 3 values, windows of 2, stride 2 give two windows.
    {
        const int64_t whole[] = {1, 1, 1, 1, 3}, pooled[] = {1, 1, 1, 1, 2};
        const float grad[] = {7, 9};
        const int32_t index[] = {1, 2};
        const float want[] = {0, 7, 9};
        Try(whole, pooled, {{1, 1, 2}, {1, 1, 2}, {0}, {1}}, true, grad, index, want);
    }
    // Dilation 2 reaches offsets 0 and 2, then 1 and 3.
    {
        const int64_t whole[] = {1, 1, 1, 1, 4}, pooled[] = {1, 1, 1, 1, 2};
        const float grad[] = {7, 9};
        const int32_t index[] = {2, 3};
        const float want[] = {0, 0, 7, 9};
        Try(whole, pooled, {{1, 1, 2}, {1}, {0}, {1, 1, 2}}, false, grad, index, want);
    }
    take_down(stream);
    return finish();
}
