// Executors: used once, used often, used wrongly; and what phase 2 says about workspaces.
#include "aclnnop/aclnn_adaptive_max_pool3d_backward.h"
#include "gradient.hpp"

namespace {

void UsedTwice(aclrtStream stream) {
    Gradient once(2, 2, {1});
    once.Queue(stream);
    CHECK_REFUSED(561103, "executor", once.Run(stream));
    CHECK_CODE(0, aclrtSynchronizeStream(stream));
    CHECK((once.Result() == std::vector<float>{0, 1, 0, 0}));
}

void NullUnknownAndDestroyed(aclrtStream stream) {
    CHECK_REFUSED(161001, "executor", aclnnAdaptiveMaxPool2dBackward(nullptr, 0, nullptr, stream));
    int local = 0;
    auto *unknown = reinterpret_cast<aclOpExecutor *>(&local);
    CHECK_REFUSED(561103, "executor", aclnnAdaptiveMaxPool2dBackward(nullptr, 0, unknown, stream));
    Gradient unused(2, 2, {1});
    MUST(unused.Plan());
    CHECK_CODE(0, aclDestroyAclOpExecutor(unused.executor));
    CHECK_REFUSED(561103, "executor", unused.Run(stream));
    CHECK_CODE(561103, aclDestroyAclOpExecutor(unused.executor));
    CHECK_CODE(561103, aclDestroyAclOpExecutor(nullptr));
    CHECK_CODE(561103, aclSetAclOpExecutorRepeatable(nullptr));
    CHECK_CODE(561103, aclSetAclOpExecutorRepeatable(unused.executor));
    // Phase 2 runs what phase 1 planned, whatever operator's name it is called by: so does CANN.
    Gradient other(2, 2, {1});
    MUST(other.Plan());
    void *workspace = device_bytes(nullptr, other.workspaceSize + 1);
    CHECK_CODE(0, aclnnAdaptiveMaxPool3dBackward(workspace, other.workspaceSize, other.executor, stream));
    CHECK_CODE(0, aclrtSynchronizeStream(stream));
    CHECK((other.Result() == std::vector<float>{0, 1, 0, 0}));
    CHECK_CODE(0, aclrtFree(workspace));
}

void Repeated(aclrtStream stream) {
    Gradient often(2, 2, {1});
    MUST(often.Plan());
    MUST(aclSetAclOpExecutorRepeatable(often.executor));
    for (int i = 0; i < 3; i++) {
        CHECK_CODE(0, often.Run(stream));
    }
    CHECK_CODE(0, aclrtSynchronizeStream(stream));
    CHECK((often.Result() == std::vector<float>{0, 1, 0, 0}));

    // Other gradients and another result, by address.
    const float gradients[] = {5};
    const std::vector<float> nothing(4);
    void *input = device_bytes(gradients, sizeof gradients);
    void *output = device_bytes(nullptr, 16);
    CHECK_CODE(0, aclSetInputTensorAddr(often.executor, 0, often.gradOutput.tensor, input));
    CHECK_CODE(0, aclSetOutputTensorAddr(often.executor, 0, often.gradInput.tensor, output));
    CHECK_CODE(0, often.Run(stream));
    CHECK_CODE(0, aclrtSynchronizeStream(stream));
    std::vector<float> result(4);
    MUST(aclrtMemcpy(result.data(), 16, output, 16, ACL_MEMCPY_DEVICE_TO_HOST));
    CHECK((result == std::vector<float>{0, 5, 0, 0}));
    CHECK((often.Result() == std::vector<float>{0, 1, 0, 0}));

    // The third spelling counts all tensors; the capital names are the same functions.
    CHECK_CODE(0, aclSetTensorAddr(often.executor, 0, often.gradOutput.tensor, often.gradOutput.address));
    CHECK_CODE(0, AclSetOutputTensorAddr(often.executor, 0, often.gradInput.tensor, often.gradInput.address));
    MUST(aclrtMemset(often.gradInput.address, 16, 0, 16));
    CHECK_CODE(0, often.Run(stream));
    CHECK_CODE(0, aclrtSynchronizeStream(stream));
    CHECK((often.Result() == std::vector<float>{0, 1, 0, 0}));

    CHECK_CODE(561103, aclSetInputTensorAddr(nullptr, 0, often.gradOutput.tensor, input));
    CHECK_CODE(561103, aclSetInputTensorAddr(often.executor, 0, nullptr, input));
    CHECK_CODE(0, aclDestroyAclOpExecutor(often.executor));
    CHECK_CODE(561103, often.Run(stream));
    CHECK_CODE(0, aclrtFree(input));
    CHECK_CODE(0, aclrtFree(output));
}

// An address that is too small for the tensor shows when the work runs; nothing is read or written past it.
void AddressTooSmall(aclrtStream stream) {
    Gradient wide(64, 64, {1});
    MUST(wide.Plan());
    MUST(aclSetAclOpExecutorRepeatable(wide.executor));
    void *small = device_bytes(nullptr, 16);
    CHECK_CODE(0, aclSetOutputTensorAddr(wide.executor, 0, wide.gradInput.tensor, small));
    const int launched = wide.Run(stream);
    const int waited = aclrtSynchronizeStream(stream);
    CHECK(launched != 0 || waited != 0);
    CHECK(aclGetRecentErrMsg() != nullptr);
    CHECK_CODE(0, aclDestroyAclOpExecutor(wide.executor));
    CHECK_CODE(0, aclrtFree(small));
}

// A workspace that is missing uses the executor up, as does one that is too small.
void Workspaces(aclrtStream stream) {
    Gradient missing(2, 2, {1});
    MUST(missing.Plan());
    CHECK_REFUSED(161001, "workspace", aclnnAdaptiveMaxPool2dBackward(nullptr, 64, missing.executor, stream));
    CHECK_CODE(561103, aclnnAdaptiveMaxPool2dBackward(nullptr, 0, missing.executor, stream));

    Gradient large(300, 300, std::vector<int64_t>(900, 7));
    MUST(large.Plan());
    if (large.workspaceSize > 1) {
        void *workspace = device_bytes(nullptr, 1);
        CHECK_REFUSED(161002, "workspace", aclnnAdaptiveMaxPool2dBackward(workspace, 1, large.executor, stream));
        CHECK_CODE(0, aclrtFree(workspace));
    } else {
        MUST(large.Run(stream));
    }
    CHECK_CODE(0, aclrtSynchronizeStream(stream));
    // More than asked for is fine.
    Gradient generous(2, 2, {1});
    MUST(generous.Plan());
    const uint64_t size = generous.workspaceSize + 4096;
    void *workspace = device_bytes(nullptr, size);
    CHECK_CODE(0, aclnnAdaptiveMaxPool2dBackward(workspace, size, generous.executor, stream));
    CHECK_CODE(0, aclrtSynchronizeStream(stream));
    CHECK((generous.Result() == std::vector<float>{0, 1, 0, 0}));
    CHECK_CODE(0, aclrtFree(workspace));
}

}  // namespace

int main() {
    aclrtStream stream = set_up();
    UsedTwice(stream);
    NullUnknownAndDestroyed(stream);
    Repeated(stream);
    AddressTooSmall(stream);
    Workspaces(stream);
    take_down(stream);
    return finish();
}
