// One gradient for a plane of 2x2, at the offset that the first argument gives; 6 lies outside. Prints what published
// samples of CANN print, and like them gives up at the first call that fails.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "acl/acl.h"
#include "aclnnop/aclnn_adaptive_max_pool2d_backward.h"

namespace {

bool Succeeded(int status, const char *call) {
    if (status != 0) {
        std::printf("%s failed. ERROR: %d\n", call, status);
    }
    return status == 0;
}

template <typename T>
aclTensor *Upload(const std::vector<T> &values, const std::vector<int64_t> &shape, aclDataType type, void **address) {
    const size_t bytes = values.size() * sizeof(T);
    if (!Succeeded(aclrtMalloc(address, bytes, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc") ||
        !Succeeded(aclrtMemcpy(*address, bytes, values.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE), "aclrtMemcpy")) {
        return nullptr;
    }
    return aclCreateTensor(shape.data(), shape.size(), type, nullptr, 0, aclFormat::ACL_FORMAT_ND, shape.data(),
                           shape.size(), *address);
}

}  // namespace

int main(int argc, char **argv) {
    const int64_t index = argc > 1 ? std::atoll(argv[1]) : 6;
    aclrtStream stream;
    if (!Succeeded(aclInit(nullptr), "aclInit") || !Succeeded(aclrtSetDevice(0), "aclrtSetDevice") ||
        !Succeeded(aclrtCreateStream(&stream), "aclrtCreateStream")) {
        return 1;
    }
    void *addresses[4] = {};
    aclTensor *gradOutput = Upload<float>({0.4757F}, {1, 1, 1, 1}, aclDataType::ACL_FLOAT, &addresses[0]);
    aclTensor *self = Upload<float>({0.5F, -0.5F, 1.5F, 2.5F}, {1, 1, 2, 2}, aclDataType::ACL_FLOAT, &addresses[1]);
    aclTensor *indices = Upload<int64_t>({index}, {1, 1, 1, 1}, aclDataType::ACL_INT64, &addresses[2]);
    aclTensor *gradInput = Upload<float>({7, 7, 7, 7}, {1, 1, 2, 2}, aclDataType::ACL_FLOAT, &addresses[3]);

    uint64_t workspaceSize = 0;
    aclOpExecutor *executor;
    if (!Succeeded(aclnnAdaptiveMaxPool2dBackwardGetWorkspaceSize(gradOutput, self, indices, gradInput, &workspaceSize,
                                                                  &executor),
                   "aclnnAdaptiveMaxPool2dBackwardGetWorkspaceSize")) {
        return 1;
    }
    void *workspace = nullptr;
    if (workspaceSize > 0 &&
        !Succeeded(aclrtMalloc(&workspace, workspaceSize, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc")) {
        return 1;
    }
    if (!Succeeded(aclnnAdaptiveMaxPool2dBackward(workspace, workspaceSize, executor, stream),
                   "aclnnAdaptiveMaxPool2dBackward") ||
        !Succeeded(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream")) {
        return 1;
    }
    std::vector<float> result(4);
    if (!Succeeded(aclrtMemcpy(result.data(), 16, addresses[3], 16, ACL_MEMCPY_DEVICE_TO_HOST), "aclrtMemcpy")) {
        return 1;
    }
    for (int i = 0; i < 4; i++) {
        std::printf("result[%d] is: %f\n", i, result[i]);
    }
    for (aclTensor *tensor : {gradOutput, self, indices, gradInput}) {
        aclDestroyTensor(tensor);
    }
    for (void *address : addresses) {
        aclrtFree(address);
    }
    aclrtDestroyStream(stream);
    aclrtResetDevice(0);
    aclFinalize();
    return 0;
}
