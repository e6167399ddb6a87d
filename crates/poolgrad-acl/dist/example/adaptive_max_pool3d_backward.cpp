// Gradient of adaptive 3-D max pooling: one volume of 2x2x2 values, pooled to one; its maximum was at offset 5.
//
// The order of calls is that of every two-phase operator: set up, copy in, plan (phase 1), run (phase 2), wait, copy
// out, take down.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "acl/acl.h"
#include "aclnnop/aclnn_adaptive_max_pool3d_backward.h"

namespace {

// Ends the program unless a call succeeded.
void Require(int status, const char *call) {
    if (status == 0) {
        return;
    }
    const char *message = aclGetRecentErrMsg();
    std::fprintf(stderr, "%s failed with %d: %s\n", call, status, message == nullptr ? "no message" : message);
    std::exit(1);
}

// A tensor together with the device memory that it describes.
struct DeviceTensor {
    void *address = nullptr;
    aclTensor *tensor = nullptr;
};

// Copies `values` to the device and describes them as a contiguous tensor of this shape.
template <typename T>
DeviceTensor Upload(const std::vector<T> &values, const std::vector<int64_t> &shape, aclDataType type) {
    DeviceTensor made;
    const size_t bytes = values.size() * sizeof(T);
    Require(aclrtMalloc(&made.address, bytes, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
    Require(aclrtMemcpy(made.address, bytes, values.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE), "aclrtMemcpy");
    std::vector<int64_t> strides(shape.size(), 1);
    for (size_t axis = shape.size() - 1; axis > 0; axis--) {
        strides[axis - 1] = strides[axis] * shape[axis];
    }
    made.tensor = aclCreateTensor(shape.data(), shape.size(), type, strides.data(), 0, ACL_FORMAT_NCDHW, shape.data(),
                                  shape.size(), made.address);
    Require(made.tensor == nullptr, "aclCreateTensor");
    return made;
}

void Release(const DeviceTensor &used) {
    Require(aclDestroyTensor(used.tensor), "aclDestroyTensor");
    Require(aclrtFree(used.address), "aclrtFree");
}

}  // namespace

int main() {
    const int32_t device = 0;
    aclrtStream stream = nullptr;
    Require(aclInit(nullptr), "aclInit");
    Require(aclrtSetDevice(device), "aclrtSetDevice");
    Require(aclrtCreateStream(&stream), "aclrtCreateStream");

    // gradOutput and indices have the shape of the pooled tensor; self and gradInput that of the tensor before.
    const std::vector<int64_t> pooled = {1, 1, 1, 1, 1};
    const std::vector<int64_t> whole = {1, 1, 2, 2, 2};
    const DeviceTensor gradOutput = Upload<float>({2.5F}, pooled, ACL_FLOAT);
    const DeviceTensor self = Upload<float>({1, 2, 3, 4, 5, 9, 7, 8}, whole, ACL_FLOAT);
    const DeviceTensor indices = Upload<int32_t>({5}, pooled, ACL_INT32);
    const DeviceTensor gradInput = Upload<float>(std::vector<float>(8, -1.0F), whole, ACL_FLOAT);

    uint64_t workspaceSize = 0;
    aclOpExecutor *executor = nullptr;
    Require(aclnnAdaptiveMaxPool3dBackwardGetWorkspaceSize(gradOutput.tensor, self.tensor, indices.tensor,
                                                           gradInput.tensor, &workspaceSize, &executor),
            "aclnnAdaptiveMaxPool3dBackwardGetWorkspaceSize");
    void *workspace = nullptr;
    if (workspaceSize > 0) {
        Require(aclrtMalloc(&workspace, workspaceSize, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
    }
    Require(aclnnAdaptiveMaxPool3dBackward(workspace, workspaceSize, executor, stream),
            "aclnnAdaptiveMaxPool3dBackward");
    Require(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");

    std::vector<float> result(8);
    const size_t bytes = result.size() * sizeof(float);
    Require(aclrtMemcpy(result.data(), bytes, gradInput.address, bytes, ACL_MEMCPY_DEVICE_TO_HOST), "aclrtMemcpy");
    for (size_t offset = 0; offset < result.size(); offset++) {
        std::printf("gradInput[%zu] = %g\n", offset, result[offset]);
    }

    for (const DeviceTensor &used : {gradOutput, self, indices, gradInput}) {
        Release(used);
    }
    if (workspace != nullptr) {
        Require(aclrtFree(workspace), "aclrtFree");
    }
    Require(aclrtDestroyStream(stream), "aclrtDestroyStream");
    Require(aclrtResetDevice(device), "aclrtResetDevice");
    Require(aclFinalize(), "aclFinalize");
    return 0;
}
