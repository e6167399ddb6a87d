// What adaptive average pooling and its gradient refuse in the default profile.
#include "aclnnop/aclnn_adaptive_avg_pool3d.h"
#include "aclnnop/aclnn_adaptive_avg_pool3d_backward.h"
#include "refusals.hpp"

namespace {

struct Backward {
    Desc gradOutput, self, out;
    Results results;

    int Call(Objects &objects, uint64_t *size, aclOpExecutor **executor) const {
        return aclnnAdaptiveAvgPool3dBackwardGetWorkspaceSize(objects.Make(gradOutput), objects.Make(self),
                                                              objects.Make(out), size, executor);
    }
};

struct Forward {
    Desc self;
    List outputSize;
    Desc out;
    Results results;

    int Call(Objects &objects, uint64_t *size, aclOpExecutor **executor) const {
        return aclnnAdaptiveAvgPool3dGetWorkspaceSize(objects.Make(self), objects.Make(outputSize), objects.Make(out),
                                                      size, executor);
    }
};

void SetType(Backward &a, aclDataType type) { a.gradOutput.type = a.self.type = a.out.type = type; }
void SetFormat(Backward &a, aclFormat format) { a.gradOutput.format = a.self.format = a.out.format = format; }
void SetWhole(Backward &a, const std::vector<int64_t> &shape) { a.self.shape = a.out.shape = shape; }
void SetType(Forward &a, aclDataType type) { a.self.type = a.out.type = type; }
void SetFormat(Forward &a, aclFormat format) { a.self.format = a.out.format = format; }

const Row<Backward> kBackward[] = {
    {"as it is", 0, "", [](Backward &) {}},
    {"FLOAT16", 0, "", [](Backward &a) { SetType(a, ACL_FLOAT16); }},
    {"BF16", 0, "", [](Backward &a) { SetType(a, ACL_BF16); }},
    {"DOUBLE for 1x1x1", 0, "", [](Backward &a) { SetType(a, ACL_DOUBLE); }},
    {"more places", 0, "", [](Backward &a) { a.gradOutput.shape = {2, 2, 1, 2, 7}; }},
    {"rank 4", 0, "", [](Backward &a) { a.gradOutput.shape = {2, 1, 2, 1}, SetWhole(a, {2, 2, 2, 2}); }},
    {"NCHW for rank 5", 0, "", [](Backward &a) { SetFormat(a, ACL_FORMAT_NCHW); }},
    {"no workspaceSize", 161001, "workspaceSize", [](Backward &a) { a.results.nullSize = true; }},
    {"no executor", 161001, "executor", [](Backward &a) { a.results.nullExecutor = true; }},
    {"no gradOutput", 161001, "gradOutput", [](Backward &a) { a.gradOutput.null = true; }},
    {"no self", 161001, "self", [](Backward &a) { a.self.null = true; }},
    {"no out", 161001, "out", [](Backward &a) { a.out.null = true, a.self.type = ACL_INT32; }},
    {"rank 3", 161002, "self", [](Backward &a) { a.gradOutput.shape = {1, 1, 1}, SetWhole(a, {2, 2, 2}); }},
    {"rank 6", 161002, "self",
     [](Backward &a) { a.gradOutput.shape = {1, 1, 1, 1, 1, 1}, SetWhole(a, {1, 1, 1, 2, 2, 2}); }},
    {"gradOutput's rank", 161002, "gradOutput", [](Backward &a) { a.gradOutput.shape = {2, 1, 1, 1}; }},
    {"out's rank", 161002, "out", [](Backward &a) { a.out.shape = {2, 2, 2, 2}; }},
    {"self's size -1", 161002, "self", [](Backward &a) { SetWhole(a, {2, 2, -1, 2, 2}); }},
    {"self's size 0", 161002, "self", [](Backward &a) { SetWhole(a, {2, 2, 0, 2, 2}); }},
    {"N = 0", 161002, "self", [](Backward &a) { a.gradOutput.shape = {0, 2, 1, 1, 1}, SetWhole(a, {0, 2, 2, 2, 2}); }},
    {"out's shape", 161002, "out", [](Backward &a) { a.out.shape = {2, 2, 2, 1, 2}; }},
    {"C", 161002, "gradOutput", [](Backward &a) { a.gradOutput.shape = {2, 3, 1, 1, 1}; }},
    {"N", 161002, "gradOutput", [](Backward &a) { a.gradOutput.shape = {1, 2, 1, 1, 1}; }},
    {"gradOutput's size 0", 161002, "gradOutput", [](Backward &a) { a.gradOutput.shape = {2, 2, 0, 0, 1}; }},
    {"gradOutput's size -1", 161002, "gradOutput", [](Backward &a) { a.gradOutput.shape = {2, 2, 1, 1, -1}; }},
    {"INT32", 161002, "", [](Backward &a) { SetType(a, ACL_INT32); }},
    {"COMPLEX64", 161002, "", [](Backward &a) { SetType(a, ACL_COMPLEX64); }},
    {"DOUBLE for more", 161002, "", [](Backward &a) { SetType(a, ACL_DOUBLE), a.gradOutput.shape = {2, 2, 1, 2, 1}; }},
    {"gradOutput's type", 161002, "gradOutput", [](Backward &a) { a.gradOutput.type = ACL_FLOAT16; }},
    {"out's type", 161002, "out", [](Backward &a) { a.out.type = ACL_FLOAT16; }},
    {"gradOutput's format", 161002, "gradOutput", [](Backward &a) { a.gradOutput.format = ACL_FORMAT_NCDHW; }},
    {"out's format", 161002, "out", [](Backward &a) { a.out.format = ACL_FORMAT_NCDHW; }},
};

const Row<Forward> kForward[] = {
    {"as it is", 0, "", [](Forward &) {}},
    {"FLOAT16", 0, "", [](Forward &a) { SetType(a, ACL_FLOAT16); }},
    {"BF16", 0, "", [](Forward &a) { SetType(a, ACL_BF16); }},
    {"rank 4", 0, "", [](Forward &a) { a.self.shape = {2, 4, 4, 4}, a.out.shape = {2, 2, 2, 2}; }},
    {"format ND", 0, "", [](Forward &a) { SetFormat(a, ACL_FORMAT_ND); }},
    {"more places", 0, "", [](Forward &a) { a.out.shape = {1, 2, 5, 1, 9}, a.outputSize.values = {5, 1, 9}; }},
    {"no workspaceSize", 161001, "workspaceSize", [](Forward &a) { a.results.nullSize = true; }},
    {"no executor", 161001, "executor", [](Forward &a) { a.results.nullExecutor = true; }},
    {"no self", 161001, "self", [](Forward &a) { a.self.null = true; }},
    {"no outputSize", 161001, "outputSize", [](Forward &a) { a.outputSize.null = true; }},
    {"no out", 161001, "out", [](Forward &a) { a.out.null = true, a.self.type = ACL_INT8; }},
    {"rank 3", 161002, "self", [](Forward &a) { a.self.shape = {4, 4, 4}, a.out.shape = {2, 2, 2}; }},
    {"out's rank", 161002, "out", [](Forward &a) { a.out.shape = {2, 2, 2, 2}; }},
    {"self's size 0", 161002, "self", [](Forward &a) { a.self.shape = {1, 2, 4, 0, 4}; }},
    {"N = 0", 161002, "self", [](Forward &a) { a.self.shape[0] = a.out.shape[0] = 0; }},
    {"N", 161002, "out", [](Forward &a) { a.out.shape = {2, 2, 2, 2, 2}; }},
    {"C", 161002, "out", [](Forward &a) { a.out.shape = {1, 3, 2, 2, 2}; }},
    {"INT32", 161002, "self", [](Forward &a) { SetType(a, ACL_INT32); }},
    {"DOUBLE", 161002, "self", [](Forward &a) { SetType(a, ACL_DOUBLE); }},
    {"out's type", 161002, "out", [](Forward &a) { a.out.type = ACL_FLOAT16; }},
    {"out's format", 161002, "out", [](Forward &a) { a.out.format = ACL_FORMAT_ND; }},
    {"outputSize of 2", 161002, "outputSize", [](Forward &a) { a.outputSize.values = {2, 2}; }},
    {"outputSize 0", 161002, "outputSize", [](Forward &a) { a.outputSize.values = {2, 0, 2}; }},
    {"outputSize and out", 161002, "out", [](Forward &a) { a.out.shape = {1, 2, 2, 3, 2}; }},
};

}  // namespace

int main() {
    MUST(aclInit(nullptr));
    MUST(aclrtSetDevice(0));
    const Backward backward{{{2, 2, 1, 1, 1}}, {{2, 2, 2, 2, 2}}, {{2, 2, 2, 2, 2}}, {}};
    const Forward forward{{{1, 2, 4, 4, 4}, ACL_FLOAT, ACL_FORMAT_NCDHW},
                          {{2, 2, 2}},
                          {{1, 2, 2, 2, 2}, ACL_FLOAT, ACL_FORMAT_NCDHW},
                          {}};
    TryAll("AdaptiveAvgPool3dBackward", backward, kBackward);
    TryAll("AdaptiveAvgPool3d", forward, kForward);
    for (aclFormat format : kPrivateFormats) {
        Backward badBackward = backward;
        SetFormat(badBackward, format);
        TryOnce(badBackward, 161002, "format", "AdaptiveAvgPool3dBackward, private format");
        Forward badForward = forward;
        SetFormat(badForward, format);
        TryOnce(badForward, 161002, "format", "AdaptiveAvgPool3d, private format");
    }
    CHECK_CODE(0, aclrtResetDevice(0));
    CHECK_CODE(0, aclFinalize());
    return finish();
}
