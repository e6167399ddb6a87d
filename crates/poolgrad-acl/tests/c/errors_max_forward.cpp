// What the forward max poolings refuse in the default profile.
#include "aclnnop/aclnn_adaptive_max_pool2d.h"
#include "aclnnop/aclnn_adaptive_max_pool3d.h"
#include "aclnnop/aclnn_max_pool3d_with_argmax.h"
#include "refusals.hpp"

namespace {

using PhaseOne = aclnnStatus (*)(const aclTensor *, const aclIntArray *, aclTensor *, aclTensor *, uint64_t *,
                                 aclOpExecutor **);

struct Adaptive {
    PhaseOne phaseOne;
    Desc self;
    List outputSize;
    Desc output, indices;
    Results results;

    int Call(Objects &objects, uint64_t *size, aclOpExecutor **executor) const {
        return phaseOne(objects.Make(self), objects.Make(outputSize), objects.Make(output), objects.Make(indices), size,
                        executor);
    }
};

struct Windowed {
    Desc self;
    List kernel, stride, padding, dilation;
    bool ceilMode;
    Desc out, indices;
    Results results;

    int Call(Objects &objects, uint64_t *size, aclOpExecutor **executor) const {
        return aclnnMaxPool3dWithArgmaxGetWorkspaceSize(
            objects.Make(self), objects.Make(kernel), objects.Make(stride), objects.Make(padding),
            objects.Make(dilation), ceilMode, objects.Make(out), objects.Make(indices), size, executor);
    }
};

void SetType(Adaptive &a, aclDataType type) { a.self.type = a.output.type = type; }
void SetFormat(Adaptive &a, aclFormat format) { a.self.format = a.output.format = a.indices.format = format; }
void SetPooled(Adaptive &a, const std::vector<int64_t> &shape) { a.output.shape = a.indices.shape = shape; }
void SetType(Windowed &a, aclDataType type) { a.self.type = a.out.type = type; }
void SetFormat(Windowed &a, aclFormat format) { a.self.format = a.out.format = a.indices.format = format; }
void SetPooled(Windowed &a, const std::vector<int64_t> &shape) { a.out.shape = a.indices.shape = shape; }

const Row<Adaptive> kNull[] = {
    {"as it is", 0, "", [](Adaptive &) {}},
    {"FLOAT16", 0, "", [](Adaptive &a) { SetType(a, ACL_FLOAT16); }},
    {"BF16", 0, "", [](Adaptive &a) { SetType(a, ACL_BF16); }},
    {"no workspaceSize", 161001, "workspaceSize", [](Adaptive &a) { a.results.nullSize = true; }},
    {"no executor", 161001, "executor", [](Adaptive &a) { a.results.nullExecutor = true; }},
    {"no self", 161001, "self", [](Adaptive &a) { a.self.null = true; }},
    {"no outputSize", 161001, "outputSize", [](Adaptive &a) { a.outputSize.null = true; }},
    {"no outputOut", 161001, "outputOut", [](Adaptive &a) { a.output.null = true; }},
    {"no indicesOut", 161001, "indicesOut", [](Adaptive &a) { a.indices.null = true, a.self.type = ACL_INT8; }},
    {"INT32 values", 161002, "self", [](Adaptive &a) { SetType(a, ACL_INT32); }},
    {"UINT8 values", 161002, "self", [](Adaptive &a) { SetType(a, ACL_UINT8); }},
    {"outputOut's type", 161002, "outputOut",
     [](Adaptive &a) { a.self.type = ACL_FLOAT16, a.output.type = ACL_FLOAT; }},
    {"FLOAT indices", 161002, "indicesOut", [](Adaptive &a) { a.indices.type = ACL_FLOAT; }},
    {"outputSize of 4", 161002, "outputSize", [](Adaptive &a) { a.outputSize.values = {2, 2, 2, 2}; }},
    {"outputSize of 1", 161002, "outputSize", [](Adaptive &a) { a.outputSize.values = {2}; }},
    {"outputSize -1", 161002, "", [](Adaptive &a) { a.outputSize.values.back() = -1; }},
    {"rank 2", 161002, "", [](Adaptive &a) { a.self.shape = {4, 4}, SetPooled(a, {2, 2}); }},
    {"negative size", 161002, "self", [](Adaptive &a) { a.self.shape.back() = -1; }},
    {"size 0", 161002, "self", [](Adaptive &a) { a.self.shape.back() = 0; }},
    {"indicesOut's shape", 161002, "indicesOut", [](Adaptive &a) { a.indices.shape[2] = 3; }},
    {"C", 161002, "", [](Adaptive &a) { a.output.shape[1] = a.indices.shape[1] = 3; }},
    {"outputSize and outputOut", 161002, "", [](Adaptive &a) { a.output.shape[2] = a.indices.shape[2] = 3; }},
};

const Row<Adaptive> k2d[] = {
    {"DOUBLE", 0, "", [](Adaptive &a) { SetType(a, ACL_DOUBLE); }},
    {"rank 3", 0, "", [](Adaptive &a) { a.self.shape = {2, 5, 5}, SetPooled(a, {2, 2, 2}); }},
    {"N = 0", 0, "", [](Adaptive &a) { a.self.shape = {0, 2, 5, 5}, SetPooled(a, {0, 2, 2, 2}); }},
    {"NHWC", 0, "",
     [](Adaptive &a) { a.self.shape = {1, 5, 5, 1}, SetPooled(a, {1, 2, 2, 1}), SetFormat(a, ACL_FORMAT_NHWC); }},
    {"INT32 indices", 161002, "indicesOut", [](Adaptive &a) { a.indices.type = ACL_INT32; }},
    {"rank 5", 161002, "", [](Adaptive &a) { a.self.shape = {1, 2, 1, 5, 5}, SetPooled(a, {1, 2, 1, 2, 2}); }},
    {"outputSize of 3", 161002, "outputSize", [](Adaptive &a) { a.outputSize.values = {1, 2, 2}; }},
};

const Row<Adaptive> k3d[] = {
    {"rank 4", 0, "", [](Adaptive &a) { a.self.shape = {2, 4, 4, 4}, SetPooled(a, {2, 2, 2, 2}); }},
    {"NCHW", 0, "", [](Adaptive &a) { SetFormat(a, ACL_FORMAT_NCHW); }},
    {"indices of another format", 0, "", [](Adaptive &a) { a.indices.format = ACL_FORMAT_ND; }},
    {"more places", 0, "", [](Adaptive &a) { SetPooled(a, {1, 2, 5, 2, 2}), a.outputSize.values = {5, 2, 2}; }},
    {"N = 0", 0, "", [](Adaptive &a) { a.self.shape[0] = a.output.shape[0] = a.indices.shape[0] = 0; }},
    {"C = 0", 161002, "self", [](Adaptive &a) { a.self.shape[1] = a.output.shape[1] = a.indices.shape[1] = 0; }},
    {"DOUBLE", 161002, "self", [](Adaptive &a) { SetType(a, ACL_DOUBLE); }},
    {"INT64 indices", 161002, "indicesOut", [](Adaptive &a) { a.indices.type = ACL_INT64; }},
    {"format ND", 161002, "self", [](Adaptive &a) { SetFormat(a, ACL_FORMAT_ND); }},
    {"outputOut's format", 161002, "outputOut", [](Adaptive &a) { a.output.format = ACL_FORMAT_NCHW; }},
    {"rank 3", 161002, "", [](Adaptive &a) { a.self.shape = {4, 4, 4}, SetPooled(a, {2, 2, 2}); }},
    {"outputOut's rank", 161002, "", [](Adaptive &a) { a.output.shape = {2, 2, 2, 2}; }},
    {"outputSize 0", 161002, "outputSize", [](Adaptive &a) { a.outputSize.values = {2, 0, 2}; }},
    {"volume past int32", 161002, "2147483647", [](Adaptive &a) { a.self.shape = {1, 2, 2048, 2048, 512}; }},
};

const Row<Windowed> kWindowed[] = {
    {"as it is", 0, "", [](Windowed &) {}},
    {"FLOAT16", 0, "", [](Windowed &a) { SetType(a, ACL_FLOAT16); }},
    {"BF16", 0, "", [](Windowed &a) { SetType(a, ACL_BF16); }},
    {"rank 4", 0, "", [](Windowed &a) { a.self.shape = {2, 4, 4, 4}, SetPooled(a, {2, 2, 2, 2}); }},
    {"N = 0", 0, "", [](Windowed &a) { a.self.shape[0] = a.out.shape[0] = a.indices.shape[0] = 0; }},
    {"no workspaceSize", 161001, "workspaceSize", [](Windowed &a) { a.results.nullSize = true; }},
    {"no executor", 161001, "executor", [](Windowed &a) { a.results.nullExecutor = true; }},
    {"no self", 161001, "self", [](Windowed &a) { a.self.null = true; }},
    {"no kernelSize", 161001, "kernelSize", [](Windowed &a) { a.kernel.null = true; }},
    {"no stride", 161001, "stride", [](Windowed &a) { a.stride.null = true; }},
    {"no padding", 161001, "padding", [](Windowed &a) { a.padding.null = true; }},
    {"no dilation", 161001, "dilation", [](Windowed &a) { a.dilation.null = true; }},
    {"no out", 161001, "out", [](Windowed &a) { a.out.null = true; }},
    {"no indices", 161001, "indices", [](Windowed &a) { a.indices.null = true, a.self.type = ACL_INT8; }},
    {"DOUBLE values", 161002, "self", [](Windowed &a) { SetType(a, ACL_DOUBLE); }},
    {"INT64 indices", 161002, "indices", [](Windowed &a) { a.indices.type = ACL_INT64; }},
    {"out's type", 161002, "out", [](Windowed &a) { a.out.type = ACL_FLOAT16; }},
    {"out's format", 161002, "out", [](Windowed &a) { a.out.format = ACL_FORMAT_NCL; }},
    {"indices' format", 161002, "indices", [](Windowed &a) { a.indices.format = ACL_FORMAT_NCHW; }},
    {"rank 3", 161002, "self", [](Windowed &a) { a.self.shape = {4, 4, 4}, SetPooled(a, {2, 2, 2}); }},
    {"kernelSize of 2", 161002, "kernelSize", [](Windowed &a) { a.kernel.values = {2, 2}; }},
    {"kernelSize 0", 161002, "kernelSize", [](Windowed &a) { a.kernel.values = {0}; }},
    {"stride 0", 161002, "stride", [](Windowed &a) { a.stride.values = {0}; }},
    {"stride of 2", 161002, "stride", [](Windowed &a) { a.stride.values = {2, 2}; }},
    {"padding -1", 161002, "padding", [](Windowed &a) { a.padding.values = {-1}; }},
    {"padding over half", 161002, "padding", [](Windowed &a) { a.padding.values = {2, 2, 2}; }},
    {"dilation 2", 161002, "dilation", [](Windowed &a) { a.kernel.values = {1}, a.dilation.values = {2}; }},
    {"dilation 0", 161002, "dilation", [](Windowed &a) { a.dilation.values = {0}; }},
    {"out's shape", 161002, "out", [](Windowed &a) { SetPooled(a, {1, 2, 2, 2, 3}); }},
    {"indices' shape", 161002, "indices", [](Windowed &a) { a.indices.shape = {1, 2, 2, 2, 1}; }},
};

}  // namespace

int main() {
    MUST(aclInit(nullptr));
    MUST(aclrtSetDevice(0));
    const Adaptive good2d{aclnnAdaptiveMaxPool2dGetWorkspaceSize,
                          {{1, 2, 5, 5}, ACL_FLOAT, ACL_FORMAT_NCHW},
                          {{2, 2}},
                          {{1, 2, 2, 2}, ACL_FLOAT, ACL_FORMAT_NCHW},
                          {{1, 2, 2, 2}, ACL_INT64, ACL_FORMAT_NCHW},
                          {}};
    const Adaptive good3d{aclnnAdaptiveMaxPool3dGetWorkspaceSize,
                          {{1, 2, 4, 4, 4}, ACL_FLOAT, ACL_FORMAT_NCDHW},
                          {{2, 2, 2}},
                          {{1, 2, 2, 2, 2}, ACL_FLOAT, ACL_FORMAT_NCDHW},
                          {{1, 2, 2, 2, 2}, ACL_INT32, ACL_FORMAT_NCDHW},
                          {}};
    const Windowed windowed{{{1, 2, 4, 4, 4}}, {{2}}, {{2}}, {{0}}, {{1}}, false,
                            {{1, 2, 2, 2, 2}}, {{1, 2, 2, 2, 2}, ACL_INT32}, {}};
    TryAll("AdaptiveMaxPool2d", good2d, kNull);
    TryAll("AdaptiveMaxPool2d", good2d, k2d);
    TryAll("AdaptiveMaxPool3d", good3d, kNull);
    TryAll("AdaptiveMaxPool3d", good3d, k3d);
    TryAll("MaxPool3dWithArgmax", windowed, kWindowed);
    for (aclFormat format : kPrivateFormats) {
        Windowed bad = windowed;
        SetFormat(bad, format);
        TryOnce(bad, 161002, "format", "MaxPool3dWithArgmax, private format");
    }
    CHECK_CODE(0, aclrtResetDevice(0));
    CHECK_CODE(0, aclFinalize());
    return finish();
}
