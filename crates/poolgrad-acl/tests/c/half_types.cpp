// FLOAT16 and BF16: sums are made in FLOAT and rounded once; special values pass.
#include "aclnnop/aclnn_adaptive_avg_pool3d_backward.h"
#include "aclnnop/aclnn_adaptive_max_pool3d_backward.h"
#include <initializer_list>

#include "operand.h"

namespace {

aclrtStream stream;

// Three gradients for one place out of four; gives the bits of that place and checks that the others are +0.
uint16_t Sum(aclDataType type, uint16_t first, uint16_t second, uint16_t third) {
    const int64_t whole[] = {1, 1, 1, 4}, pooled[] = {1, 1, 1, 3};
    const uint16_t gradients[] = {first, second, third};
    const int32_t places[] = {2, 2, 2};
    Operand gradOutput = operand(pooled, 4, type, gradients);
    Operand self = operand(whole, 4, type, nullptr);
    Operand indices = operand(pooled, 4, ACL_INT32, places);
    Operand gradInput = operand(whole, 4, type, nullptr);
    uint64_t workspaceSize = 0;
    aclOpExecutor *executor = nullptr;
    MUST(aclnnAdaptiveMaxPool3dBackwardGetWorkspaceSize(gradOutput.tensor, self.tensor, indices.tensor,
                                                        gradInput.tensor, &workspaceSize, &executor));
    MUST(launch(aclnnAdaptiveMaxPool3dBackward, workspaceSize, executor, stream));
    uint16_t result[4];
    read_back(&gradInput, result);
    CHECK(result[0] == 0 && result[1] == 0 && result[3] == 0);
    for (Operand *used : {&gradOutput, &self, &indices, &gradInput}) {
        release(used);
    }
    return result[2];
}

// A gradient spread evenly over three places.
uint16_t Third(aclDataType type, uint16_t gradient) {
    const int64_t whole[] = {1, 1, 1, 3}, pooled[] = {1, 1, 1, 1};
    Operand gradOutput = operand(pooled, 4, type, &gradient);
    Operand self = operand(whole, 4, type, nullptr);
    Operand out = operand(whole, 4, type, nullptr);
    uint64_t workspaceSize = 0;
    aclOpExecutor *executor = nullptr;
    MUST(aclnnAdaptiveAvgPool3dBackwardGetWorkspaceSize(gradOutput.tensor, self.tensor, out.tensor, &workspaceSize,
                                                        &executor));
    MUST(launch(aclnnAdaptiveAvgPool3dBackward, workspaceSize, executor, stream));
    uint16_t result[3];
    read_back(&out, result);
    CHECK(result[0] == result[1] && result[1] == result[2]);
    for (Operand *used : {&gradOutput, &self, &out}) {
        release(used);
    }
    return result[1];
}

}  // namespace

int main() {
    stream = set_up();
    // 2048 + 1 + 1 in FLOAT16: one by one the ones would be lost.
    CHECK_CODE(0x6801, Sum(ACL_FLOAT16, 0x6800, 0x3C00, 0x3C00));
    // 256 + 1 + 1 in BF16.
    CHECK_CODE(0x4381, Sum(ACL_BF16, 0x4380, 0x3F80, 0x3F80));
    // Ties go to even: 2048 + 1 stays, 2050 + 1 goes up to 2052.
    CHECK_CODE(0x6800, Sum(ACL_FLOAT16, 0x6800, 0x3C00, 0));
    CHECK_CODE(0x6802, Sum(ACL_FLOAT16, 0x6801, 0x3C00, 0));
    // The smallest number of FLOAT16 stays itself; infinity stays, and the largest number twice becomes infinity.
    CHECK_CODE(0x0001, Sum(ACL_FLOAT16, 0x0001, 0, 0));
    CHECK_CODE(0x7C00, Sum(ACL_FLOAT16, 0x7C00, 0x3C00, 0));
    CHECK_CODE(0x7C00, Sum(ACL_FLOAT16, 0x7BFF, 0x7BFF, 0));
    CHECK_CODE(0xFF80, Sum(ACL_BF16, 0xFF80, 0x3F80, 0));
    // Infinity minus infinity is a NaN.
    CHECK((Sum(ACL_FLOAT16, 0x7C00, 0xFC00, 0) & 0x7FFF) > 0x7C00);
    CHECK((Sum(ACL_BF16, 0x7F80, 0xFF80, 0) & 0x7FFF) > 0x7F80);
    // 1/3, rounded once.
    CHECK_CODE(0x3555, Third(ACL_FLOAT16, 0x3C00));
    CHECK_CODE(0x3EAB, Third(ACL_BF16, 0x3F80));
    take_down(stream);
    return finish();
}
