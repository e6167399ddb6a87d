// What aclnnMaxPool3dWithArgmaxBackward refuses, argument by argument, in the default profile.
#include "aclnnop/aclnn_max_pool3d_with_argmax_backward.h"
#include "refusals.hpp"

namespace {

struct Arguments {
    Desc gradOutput, self, indices, gradInput;
    List kernel, stride, padding, dilation;
    bool ceilMode;
    Results results;

    int Call(Objects &objects, uint64_t *size, aclOpExecutor **executor) const {
        return aclnnMaxPool3dWithArgmaxBackwardGetWorkspaceSize(
            objects.Make(gradOutput), objects.Make(self), objects.Make(indices), objects.Make(kernel),
            objects.Make(stride), objects.Make(padding), objects.Make(dilation), ceilMode, objects.Make(gradInput),
            size, executor);
    }
};

void SetType(Arguments &a, aclDataType type) {
    a.gradOutput.type = a.self.type = a.gradInput.type = type;
}

void SetFormat(Arguments &a, aclFormat format) {
    a.gradOutput.format = a.self.format = a.gradInput.format = format;
}

void SetShapes(Arguments &a, const std::vector<int64_t> &pooled, const std::vector<int64_t> &whole) {
    a.gradOutput.shape = a.indices.shape = pooled;
    a.self.shape = a.gradInput.shape = whole;
}

const Row<Arguments> kRows[] = {
    {"as it is", 0, "", [](Arguments &) {}},
    {"FLOAT16", 0, "", [](Arguments &a) { SetType(a, ACL_FLOAT16), a.stride.values = {1}; }},
    {"BF16", 0, "", [](Arguments &a) { SetType(a, ACL_BF16); }},
    {"rank 4", 0, "", [](Arguments &a) { SetShapes(a, {2, 1, 1, 1}, {2, 2, 2, 2}), a.ceilMode = false; }},
    {"empty stride", 0, "", [](Arguments &a) { a.stride.values = {}; }},
    {"lists of three", 0, "", [](Arguments &a) { a.kernel.values = {2, 2, 2}, a.padding.values = {0, 0, 0}; }},
    {"dilation 2", 0, "", [](Arguments &a) { a.kernel.values = {1}, a.dilation.values = {2}; }},
    {"indices of another format", 0, "", [](Arguments &a) { a.indices.format = ACL_FORMAT_NCHW; }},
    {"an odd public format", 0, "", [](Arguments &a) { SetFormat(a, ACL_FORMAT_HWCN); }},
    {"undefined format", 0, "", [](Arguments &a) { SetFormat(a, ACL_FORMAT_UNDEFINED); }},
    {"N = 0", 0, "", [](Arguments &a) { SetShapes(a, {0, 3, 1, 1, 1}, {0, 3, 2, 2, 2}); }},
    {"no workspaceSize", 161001, "workspaceSize", [](Arguments &a) { a.results.nullSize = true; }},
    {"no executor", 161001, "executor", [](Arguments &a) { a.results.nullExecutor = true; }},
    {"no gradOutput", 161001, "gradOutput", [](Arguments &a) { a.gradOutput.null = true; }},
    {"no self", 161001, "self", [](Arguments &a) { a.self.null = true; }},
    {"no indices", 161001, "indices", [](Arguments &a) { a.indices.null = true; }},
    {"no kernelSize", 161001, "kernelSize", [](Arguments &a) { a.kernel.null = true; }},
    {"no stride", 161001, "stride", [](Arguments &a) { a.stride.null = true; }},
    {"no padding", 161001, "padding", [](Arguments &a) { a.padding.null = true; }},
    {"no dilation", 161001, "dilation", [](Arguments &a) { a.dilation.null = true; }},
    {"no gradInput", 161001, "gradInput", [](Arguments &a) { a.gradInput.null = true; }},
    // Null pointers are looked for before anything else.
    {"no gradInput, bad self", 161001, "gradInput",
     [](Arguments &a) { a.gradInput.null = true, a.self.type = ACL_INT8, a.kernel.values = {0}; }},
    {"INT32 values", 161002, "self", [](Arguments &a) { SetType(a, ACL_INT32); }},
    {"DOUBLE values", 161002, "self", [](Arguments &a) { SetType(a, ACL_DOUBLE); }},
    {"gradOutput's type", 161002, "gradOutput", [](Arguments &a) { a.gradOutput.type = ACL_FLOAT16; }},
    {"gradInput's type", 161002, "gradInput", [](Arguments &a) { a.gradInput.type = ACL_BF16; }},
    {"INT64 indices", 161002, "indices", [](Arguments &a) { a.indices.type = ACL_INT64; }},
    {"FLOAT indices", 161002, "indices", [](Arguments &a) { a.indices.type = ACL_FLOAT; }},
    {"gradOutput's format", 161002, "gradOutput", [](Arguments &a) { a.gradOutput.format = ACL_FORMAT_NCDHW; }},
    {"gradInput's format", 161002, "gradInput", [](Arguments &a) { a.gradInput.format = ACL_FORMAT_NCHW; }},
    {"indices' private format", 161002, "indices", [](Arguments &a) { a.indices.format = ACL_FORMAT_NDC1HWC0; }},
    {"rank 3", 161002, "gradOutput", [](Arguments &a) { SetShapes(a, {1, 1, 1}, {2, 2, 2}); }},
    {"rank 6", 161002, "gradOutput", [](Arguments &a) { SetShapes(a, {1, 1, 1, 1, 1, 1}, {1, 1, 1, 2, 2, 2}); }},
    {"rank 4 and 5", 161002, "", [](Arguments &a) { a.gradOutput.shape = a.indices.shape = {3, 1, 1, 1}; }},
    {"kernelSize of 2", 161002, "kernelSize", [](Arguments &a) { a.kernel.values = {2, 2}; }},
    {"kernelSize of none", 161002, "kernelSize", [](Arguments &a) { a.kernel.values = {}; }},
    {"kernelSize 0", 161002, "kernelSize", [](Arguments &a) { a.kernel.values = {0}; }},
    {"kernelSize -1", 161002, "kernelSize", [](Arguments &a) { a.kernel.values = {2, 2, -1}; }},
    {"stride of 2", 161002, "stride", [](Arguments &a) { a.stride.values = {2, 2}; }},
    {"stride 0", 161002, "stride", [](Arguments &a) { a.stride.values = {2, 0, 2}; }},
    {"padding of 2", 161002, "padding", [](Arguments &a) { a.padding.values = {0, 0}; }},
    {"padding of none", 161002, "padding", [](Arguments &a) { a.padding.values = {}; }},
    {"padding -1", 161002, "padding", [](Arguments &a) { a.padding.values = {-1}; }},
    {"padding over half", 161002, "padding", [](Arguments &a) { a.padding.values = {2}; }},
    {"dilation of 2", 161002, "dilation", [](Arguments &a) { a.dilation.values = {1, 1}; }},
    {"dilation 0", 161002, "dilation", [](Arguments &a) { a.dilation.values = {0}; }},
    {"volume past int32", 161002, "2147483647",
     [](Arguments &a) {
         SetShapes(a, {1, 1, 1, 1, 1}, {1, 1, 2048, 2048, 512});
         a.kernel.values = a.stride.values = {2048, 2048, 512};
     }},
    {"indices' shape", 161002, "indices", [](Arguments &a) { a.indices.shape = {2, 3, 2, 1, 1}; }},
    {"gradInput's shape", 161002, "gradInput", [](Arguments &a) { a.gradInput.shape = {2, 3, 2, 2, 1}; }},
    // What CANN reports late, from phase 2.
    {"pooled size", 161002, "gradOutput",
     [](Arguments &a) { a.gradOutput.shape = a.indices.shape = {2, 3, 2, 1, 1}; }},
    {"N", 161002, "gradOutput", [](Arguments &a) { a.gradOutput.shape = a.indices.shape = {1, 3, 1, 1, 1}; }},
    {"C", 161002, "gradOutput", [](Arguments &a) { a.gradOutput.shape = a.indices.shape = {2, 4, 1, 1, 1}; }},
    {"negative size", 161002, "", [](Arguments &a) { SetShapes(a, {2, 3, 1, 1, 1}, {2, 3, 2, 2, -2}); }},
};

}  // namespace

int main() {
    MUST(aclInit(nullptr));
    MUST(aclrtSetDevice(0));
    const Desc pooled{{2, 3, 1, 1, 1}}, whole{{2, 3, 2, 2, 2}};
    const Arguments good{pooled, whole, {{2, 3, 1, 1, 1}, ACL_INT32}, whole, {{2}}, {{2}}, {{0}}, {{1}}, true, {}};
    TryAll("MaxPool3dWithArgmaxBackward", good, kRows);
    for (aclFormat format : kPrivateFormats) {
        Arguments bad = good;
        SetFormat(bad, format);
        TryOnce(bad, 161002, "format", "MaxPool3dWithArgmaxBackward, private format " + std::to_string(format));
    }
    CHECK_CODE(0, aclrtResetDevice(0));
    CHECK_CODE(0, aclFinalize());
    return finish();
}
