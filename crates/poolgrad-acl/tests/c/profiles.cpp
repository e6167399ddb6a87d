// What each value of POOLGRAD_PROFILE accepts: the first argument names the column to check.
#include "operators.hpp"

namespace {

struct Row {
    const char *what;
    int a2, v950, permissive;
    int (*plan)();
};

// Phase 1 of an operator of the table with its tensors changed; no tensor has data.
int PlanOf(const char *name, void (*change)(Operator &, aclDataType &, aclFormat &)) {
    for (Operator op : Operators()) {
        if (std::string(op.name) != name) {
            continue;
        }
        aclDataType values = ACL_FLOAT;
        aclFormat format = FormatOf(op);
        change(op, values, format);
        std::vector<aclTensor *> tensors;
        for (size_t i = 0; i < op.parts.size(); i++) {
            const Shape &shape = op.ShapeOf(i);
            tensors.push_back(aclCreateTensor(shape.data(), shape.size(), op.TypeOf(i, values), nullptr, 0, format,
                                              shape.data(), shape.size(), nullptr));
        }
        uint64_t workspaceSize = 0;
        aclOpExecutor *executor = nullptr;
        const int status = op.plan(tensors.data(), &workspaceSize, &executor);
        if (status == 0) {
            CHECK_CODE(0, aclDestroyAclOpExecutor(executor));
        }
        for (aclTensor *tensor : tensors) {
            CHECK_CODE(0, aclDestroyTensor(tensor));
        }
        return status;
    }
    return -1;
}

const Row kRows[] = {
    {"INT64 indices, gradient of adaptive 3-D", 161002, 0, 0,
     [] { return PlanOf("AdaptiveMaxPool3dBackward",
                        [](Operator &op, aclDataType &, aclFormat &) { op.indexType = ACL_INT64; }); }},
    {"INT64 indices, gradient of windows", 161002, 0, 0,
     [] { return PlanOf("MaxPool3dWithArgmaxBackward",
                        [](Operator &op, aclDataType &, aclFormat &) { op.indexType = ACL_INT64; }); }},
    {"INT64 indices, adaptive 3-D", 161002, 0, 0,
     [] { return PlanOf("AdaptiveMaxPool3d",
                        [](Operator &op, aclDataType &, aclFormat &) { op.indexType = ACL_INT64; }); }},
    {"volumes past int32", 161002, 0, 0,
     [] { return PlanOf("AdaptiveMaxPool3dBackward", [](Operator &op, aclDataType &, aclFormat &) {
              op.indexType = ACL_INT64;
              op.whole = {2, 3, 2048, 2048, 513};
          }); }},
    {"DOUBLE, gradient of adaptive 3-D", 161002, 161002, 0,
     [] { return PlanOf("AdaptiveMaxPool3dBackward",
                        [](Operator &, aclDataType &values, aclFormat &) { values = ACL_DOUBLE; }); }},
    {"DOUBLE, average to one place", 0, 0, 0,
     [] { return PlanOf("AdaptiveAvgPool3dBackward", [](Operator &op, aclDataType &values, aclFormat &) {
              op.pooled = {2, 3, 1, 1, 1};
              values = ACL_DOUBLE;
          }); }},
    {"DOUBLE, average to more", 161002, 161002, 0,
     [] { return PlanOf("AdaptiveAvgPool3dBackward",
                        [](Operator &, aclDataType &values, aclFormat &) { values = ACL_DOUBLE; }); }},
    {"N = 0, gradient of averages", 161002, 0, 0,
     [] { return PlanOf("AdaptiveAvgPool3dBackward",
                        [](Operator &op, aclDataType &, aclFormat &) { op.whole[0] = op.pooled[0] = 0; }); }},
    {"format ND, adaptive 3-D", 161002, 0, 0,
     [] { return PlanOf("AdaptiveMaxPool3d",
                        [](Operator &, aclDataType &, aclFormat &format) { format = ACL_FORMAT_ND; }); }},
    {"INT32 indices, adaptive 2-D gradient", 0, 0, 0,
     [] { return PlanOf("AdaptiveMaxPool2dBackward",
                        [](Operator &op, aclDataType &, aclFormat &) { op.indexType = ACL_INT32; }); }},
    {"INT32 values", 161002, 161002, 161002,
     [] { return PlanOf("AdaptiveMaxPool2dBackward",
                        [](Operator &, aclDataType &values, aclFormat &) { values = ACL_INT32; }); }},
};

}  // namespace

int main(int argc, char **argv) {
    const std::string profile = argc > 1 ? argv[1] : "";
    for (const Row &row : kRows) {
        const int want = profile == "950" ? row.v950 : profile == "permissive" ? row.permissive : row.a2;
        check_code(want, row.plan(), __FILE__, __LINE__, row.what);
    }
    return finish();
}
