// aclnnAdaptiveMaxPool2d: ties keep the first place, NaN wins, sizes that do not divide; NHWC data are channel-last.
#include "aclnnop/aclnn_adaptive_max_pool2d.h"

#include <cmath>
#include <limits>
#include <vector>

#include "operand.h"

namespace {

aclrtStream stream;

struct Pooled {
    std::vector<float> values;
    std::vector<int64_t> indices;
};

Pooled Pool(aclFormat format, const std::vector<int64_t> &whole, const std::vector<int64_t> &pooled,
            const std::vector<int64_t> &outputSize, const std::vector<float> &values) {
    Operand self = operand_as(format, whole.data(), whole.size(), ACL_FLOAT, values.data());
    Operand output = operand_as(format, pooled.data(), pooled.size(), ACL_FLOAT, nullptr);
    Operand indices = operand_as(format, pooled.data(), pooled.size(), ACL_INT64, nullptr);
    aclIntArray *size = aclCreateIntArray(outputSize.data(), outputSize.size());

    uint64_t workspaceSize = 0;
    aclOpExecutor *executor = nullptr;
    MUST(aclnnAdaptiveMaxPool2dGetWorkspaceSize(self.tensor, size, output.tensor, indices.tensor, &workspaceSize,
                                                &executor));
    MUST(launch(aclnnAdaptiveMaxPool2d, workspaceSize, executor, stream));

    const size_t count = count_of(pooled.data(), pooled.size());
    Pooled result{std::vector<float>(count), std::vector<int64_t>(count)};
    read_back(&output, result.values.data());
    read_back(&indices, result.indices.data());
    CHECK_CODE(0, aclDestroyIntArray(size));
    for (Operand *used : {&self, &output, &indices}) {
        release(used);
    }
    return result;
}

}  // namespace

int main() {
    stream = set_up();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float inf = std::numeric_limits<float>::infinity();
    {
        // Windows of rows and columns [0, 2) and [1, 3).
        const Pooled got = Pool(ACL_FORMAT_NCHW, {1, 2, 3, 3}, {1, 2, 2, 2}, {2, 2},
                                {5, 5, 1, 5, 2, 7, 3, 7, 7,                          // ties
                                 -inf, -inf, 1, -inf, -inf, 2, nan, 3, nan});  // all -inf; NaN
        CHECK((got.indices == std::vector<int64_t>{0, 5, 7, 5, 0, 5, 6, 8}));
        CHECK((std::vector<float>(got.values.begin(), got.values.begin() + 6) ==
               std::vector<float>{5, 7, 7, 7, -inf, 2}));
        CHECK(std::isnan(got.values[6]) && std::isnan(got.values[7]));
    }
    {
        // Without a batch, and to more places than there are values.
        const Pooled got = Pool(ACL_FORMAT_ND, {1, 1, 2}, {1, 1, 3}, {1, 3}, {4, 9});
        CHECK((got.values == std::vector<float>{4, 9, 9}));
        CHECK((got.indices == std::vector<int64_t>{0, 1, 1}));
    }
    {
        // Two channels, channel-last; indices stay offsets in the plane.
        const Pooled got =
            Pool(ACL_FORMAT_NHWC, {1, 2, 2, 2}, {1, 1, 1, 2}, {1, 1}, {1, 80, 2, 70, 3, 60, 4, 50});
        CHECK((got.values == std::vector<float>{4, 80}));
        CHECK((got.indices == std::vector<int64_t>{3, 0}));
    }
    take_down(stream);
    return finish();
}
