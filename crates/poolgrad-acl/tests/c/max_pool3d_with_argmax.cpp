// aclnnMaxPool3dWithArgmax, and its gradient with the indices that it found: what was taken is given back.
#include "aclnnop/aclnn_max_pool3d_with_argmax.h"

#include <initializer_list>

#include "aclnnop/aclnn_max_pool3d_with_argmax_backward.h"
#include "operand.h"

int main() {
    const int64_t whole[] = {1, 1, 1, 3, 3};
    const int64_t pooled[] = {1, 1, 1, 2, 2};
    const float values[] = {1, 8, 3, 4, 5, 6, 7, 2, 9};
    // Windows of 2x2 with one row and column of padding in front, stride 2: rows {0}, {1, 2}, columns the same.
    const float want[] = {1, 8, 7, 9};
    const int32_t wantPlaces[] = {0, 1, 6, 8};
    const float wantGrad[] = {1, 8, 0, 0, 0, 0, 7, 0, 9};
    const int64_t kernelValues[] = {1, 2, 2}, strideValues[] = {1, 2, 2}, paddingValues[] = {0, 1, 1};
    const int64_t one = 1;

    aclrtStream stream = set_up();
    Operand self = operand(whole, 5, ACL_FLOAT, values);
    Operand out = operand(pooled, 5, ACL_FLOAT, nullptr);
    Operand indices = operand(pooled, 5, ACL_INT32, nullptr);
    Operand gradInput = operand(whole, 5, ACL_FLOAT, nullptr);
    aclIntArray *kernel = aclCreateIntArray(kernelValues, 3);
    aclIntArray *stride = aclCreateIntArray(strideValues, 3);
    aclIntArray *padding = aclCreateIntArray(paddingValues, 3);
    aclIntArray *dilation = aclCreateIntArray(&one, 1);

    uint64_t workspaceSize = 0;
    aclOpExecutor *executor = nullptr;
    MUST(aclnnMaxPool3dWithArgmaxGetWorkspaceSize(self.tensor, kernel, stride, padding, dilation, false, out.tensor,
                                                  indices.tensor, &workspaceSize, &executor));
    MUST(launch(aclnnMaxPool3dWithArgmax, workspaceSize, executor, stream));
    float result[4];
    int32_t places[4];
    read_back(&out, result);
    read_back(&indices, places);
    CHECK(same_floats(result, want, 4));
    CHECK(memcmp(places, wantPlaces, sizeof places) == 0);

    // The output serves as its own gradient here.
    MUST(aclnnMaxPool3dWithArgmaxBackwardGetWorkspaceSize(out.tensor, self.tensor, indices.tensor, kernel, stride,
                                                          padding, dilation, false, gradInput.tensor, &workspaceSize,
                                                          &executor));
    MUST(launch(aclnnMaxPool3dWithArgmaxBackward, workspaceSize, executor, stream));
    float grad[9];
    read_back(&gradInput, grad);
    CHECK(same_floats(grad, wantGrad, 9));

    for (aclIntArray *array : {kernel, stride, padding, dilation}) {
        CHECK_CODE(0, aclDestroyIntArray(array));
    }
    for (Operand *used : {&self, &out, &indices, &gradInput}) {
        release(used);
    }
    take_down(stream);
    return finish();
}
