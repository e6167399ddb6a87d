// What the gradients of adaptive max pooling refuse, 2-D and 3-D, in the default profile.
#include "aclnnop/aclnn_adaptive_max_pool2d_backward.h"
#include "aclnnop/aclnn_adaptive_max_pool3d_backward.h"
#include "refusals.hpp"

namespace {

using PhaseOne = aclnnStatus (*)(const aclTensor *, const aclTensor *, const aclTensor *, aclTensor *, uint64_t *,
                                 aclOpExecutor **);

struct Arguments {
    PhaseOne phaseOne;
    Desc gradOutput, self, indices, gradInput;
    Results results;

    int Call(Objects &objects, uint64_t *size, aclOpExecutor **executor) const {
        return phaseOne(objects.Make(gradOutput), objects.Make(self), objects.Make(indices), objects.Make(gradInput),
                        size, executor);
    }
};

void SetType(Arguments &a, aclDataType type) {
    a.gradOutput.type = a.self.type = a.gradInput.type = type;
}

void SetFormat(Arguments &a, aclFormat format) {
    a.gradOutput.format = a.self.format = a.indices.format = a.gradInput.format = format;
}

void SetShapes(Arguments &a, const std::vector<int64_t> &pooled, const std::vector<int64_t> &whole) {
    a.gradOutput.shape = a.indices.shape = pooled;
    a.self.shape = a.gradInput.shape = whole;
}

// What both operators answer alike.
const Row<Arguments> kCommon[] = {
    {"as it is", 0, "", [](Arguments &) {}},
    {"FLOAT16", 0, "", [](Arguments &a) { SetType(a, ACL_FLOAT16); }},
    {"BF16", 0, "", [](Arguments &a) { SetType(a, ACL_BF16); }},
    {"no workspaceSize", 161001, "workspaceSize", [](Arguments &a) { a.results.nullSize = true; }},
    {"no executor", 161001, "executor", [](Arguments &a) { a.results.nullExecutor = true; }},
    {"no gradOutput", 161001, "gradOutput", [](Arguments &a) { a.gradOutput.null = true; }},
    {"no self", 161001, "self", [](Arguments &a) { a.self.null = true; }},
    {"no indices", 161001, "indices", [](Arguments &a) { a.indices.null = true; }},
    {"no gradInput", 161001, "gradInput", [](Arguments &a) { a.gradInput.null = true; }},
    {"no gradInput, bad self", 161001, "gradInput",
     [](Arguments &a) { a.gradInput.null = true, a.self.type = ACL_INT8; }},
    {"INT32 values", 161002, "", [](Arguments &a) { SetType(a, ACL_INT32); }},
    {"DOUBLE values", 161002, "", [](Arguments &a) { SetType(a, ACL_DOUBLE); }},
    {"gradOutput's type", 161002, "gradOutput", [](Arguments &a) { a.gradOutput.type = ACL_INT32; }},
    {"gradInput's type", 161002, "gradInput", [](Arguments &a) { a.gradInput.type = ACL_FLOAT16; }},
    {"FLOAT indices", 161002, "indices", [](Arguments &a) { a.indices.type = ACL_FLOAT; }},
    {"INT16 indices", 161002, "indices", [](Arguments &a) { a.indices.type = ACL_INT16; }},
    {"indices' format", 161002, "indices", [](Arguments &a) { a.indices.format = ACL_FORMAT_NC; }},
    {"gradInput's format", 161002, "gradInput", [](Arguments &a) { a.gradInput.format = ACL_FORMAT_NC; }},
    {"gradOutput's format", 161002, "gradOutput", [](Arguments &a) { a.gradOutput.format = ACL_FORMAT_NC; }},
    {"rank 2", 161002, "", [](Arguments &a) { SetShapes(a, {1, 1}, {2, 2}); }},
    {"rank 6", 161002, "", [](Arguments &a) { SetShapes(a, {1, 1, 1, 1, 1, 1}, {1, 1, 1, 2, 2, 2}); }},
    {"negative size", 161002, "",
     [](Arguments &a) { a.self.shape.back() = a.gradInput.shape.back() = -2; }},
    {"zero pooled size", 0, "", [](Arguments &a) { a.gradOutput.shape.back() = a.indices.shape.back() = 0; }},
};

const Row<Arguments> kRows3d[] = {
    {"rank 4", 0, "", [](Arguments &a) { SetShapes(a, {2, 1, 1, 1}, {2, 2, 2, 2}); }},
    {"NCHW for rank 5", 0, "", [](Arguments &a) { SetFormat(a, ACL_FORMAT_NCHW); }},
    {"pooled larger than whole", 0, "", [](Arguments &a) { SetShapes(a, {2, 3, 3, 1, 4}, {2, 3, 2, 2, 2}); }},
    {"N = 0", 0, "", [](Arguments &a) { SetShapes(a, {0, 3, 1, 1, 1}, {0, 3, 2, 2, 2}); }},
    {"rank 3", 161002, "", [](Arguments &a) { SetShapes(a, {2, 1, 1}, {2, 2, 2}); }},
    {"INT64 indices", 161002, "indices", [](Arguments &a) { a.indices.type = ACL_INT64; }},
    {"indices' shape", 161002, "indices", [](Arguments &a) { a.indices.shape = {2, 3, 2, 1, 1}; }},
    {"gradInput's shape", 161002, "gradInput", [](Arguments &a) { a.gradInput.shape = {2, 3, 2, 2, 1}; }},
    {"indices' rank", 161002, "indices", [](Arguments &a) { a.indices.shape = {3, 1, 1, 1}; }},
    {"gradOutput's rank", 161002, "", [](Arguments &a) { a.gradOutput.shape = a.indices.shape = {3, 1, 1, 1}; }},
    {"N", 161002, "gradOutput", [](Arguments &a) { a.gradOutput.shape = a.indices.shape = {1, 3, 1, 1, 1}; }},
    {"C", 161002, "gradOutput", [](Arguments &a) { a.gradOutput.shape = a.indices.shape = {2, 2, 1, 1, 1}; }},
    {"volume past int32", 161002, "2147483647",
     [](Arguments &a) { SetShapes(a, {2, 3, 1, 1, 1}, {2, 3, 10000, 10000, 1000}); }},
};

const Row<Arguments> kRows2d[] = {
    {"INT64 indices", 0, "", [](Arguments &a) { a.indices.type = ACL_INT64; }},
    {"rank 3", 0, "", [](Arguments &a) { SetShapes(a, {2, 1, 1}, {2, 2, 2}), SetFormat(a, ACL_FORMAT_NCL); }},
    {"pooled larger than whole", 0, "", [](Arguments &a) { SetShapes(a, {2, 3, 3, 1}, {2, 3, 2, 2}); }},
    {"N = 0", 0, "", [](Arguments &a) { SetShapes(a, {0, 3, 1, 1}, {0, 3, 2, 2}); }},
    {"rank 5", 161002, "", [](Arguments &a) { SetShapes(a, {2, 3, 1, 1, 1}, {2, 3, 2, 2, 2}); }},
    {"indices' shape", 161002, "indices", [](Arguments &a) { a.indices.shape = {2, 1, 1, 1}; }},
    {"gradInput's shape", 161002, "gradInput", [](Arguments &a) { a.gradInput.shape = {2, 3, 2, 1}; }},
    {"rank 3 and 4", 161002, "", [](Arguments &a) { a.gradOutput.shape = a.indices.shape = {3, 1, 1}; }},
    {"N", 161002, "gradOutput", [](Arguments &a) { a.gradOutput.shape = a.indices.shape = {1, 3, 1, 1}; }},
    {"plane past int32", 161002, "2147483647",
     [](Arguments &a) { SetShapes(a, {2, 3, 1, 1}, {2, 3, 100000000, 1000}); }},
};

void TryOperator(const char *name, const Arguments &good) {
    TryAll(name, good, kCommon);
    for (aclFormat format : kPrivateFormats) {
        Arguments bad = good;
        SetFormat(bad, format);
        TryOnce(bad, 161002, "format", std::string(name) + ", private format " + std::to_string(format));
    }
}

}  // namespace

int main() {
    MUST(aclInit(nullptr));
    MUST(aclrtSetDevice(0));
    const Desc whole3d{{2, 3, 2, 2, 2}}, whole2d{{2, 3, 2, 2}};
    const Arguments good3d{aclnnAdaptiveMaxPool3dBackwardGetWorkspaceSize,
                           {{2, 3, 1, 1, 1}}, whole3d, {{2, 3, 1, 1, 1}, ACL_INT32}, whole3d, {}};
    const Arguments good2d{aclnnAdaptiveMaxPool2dBackwardGetWorkspaceSize,
                           {{2, 3, 1, 1}}, whole2d, {{2, 3, 1, 1}, ACL_INT32}, whole2d, {}};
    TryOperator("AdaptiveMaxPool3dBackward", good3d);
    TryAll("AdaptiveMaxPool3dBackward", good3d, kRows3d);
    TryOperator("AdaptiveMaxPool2dBackward", good2d);
    TryAll("AdaptiveMaxPool2dBackward", good2d, kRows2d);
    CHECK_CODE(0, aclrtResetDevice(0));
    CHECK_CODE(0, aclFinalize());
    return finish();
}
