// Every operator with a problem of its own, as data, for tests that treat them all alike.
#ifndef POOLGRAD_TESTS_OPERATORS_HPP
#define POOLGRAD_TESTS_OPERATORS_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "aclnnop/aclnn_adaptive_avg_pool3d.h"
#include "aclnnop/aclnn_adaptive_avg_pool3d_backward.h"
#include "aclnnop/aclnn_adaptive_max_pool2d.h"
#include "aclnnop/aclnn_adaptive_max_pool2d_backward.h"
#include "aclnnop/aclnn_adaptive_max_pool3d.h"
#include "aclnnop/aclnn_adaptive_max_pool3d_backward.h"
#include "aclnnop/aclnn_max_pool3d_with_argmax.h"
#include "aclnnop/aclnn_max_pool3d_with_argmax_backward.h"
#include "operand.h"

using Shape = std::vector<int64_t>;

// What stands at one place of an operator's signature.
enum class Part { kWholeIn, kPooledIn, kIndicesIn, kWholeOut, kPooledOut, kIndicesOut };

inline bool IsOutput(Part part) {
    return part == Part::kWholeOut || part == Part::kPooledOut || part == Part::kIndicesOut;
}

// Lists live as long as one phase 1.
class ListOf {
public:
    ListOf(std::initializer_list<int64_t> values) : array_(aclCreateIntArray(values.begin(), values.size())) {
        CHECK(array_ != nullptr);
    }
    ListOf(const ListOf &) = delete;
    ListOf &operator=(const ListOf &) = delete;
    ~ListOf() { CHECK_CODE(0, aclDestroyIntArray(array_)); }
    operator const aclIntArray *() const { return array_; }

private:
    aclIntArray *array_;
};

struct Operator {
    const char *name;
    std::vector<Part> parts;
    Shape whole, pooled;
    aclDataType indexType;
    aclnnStatus (*plan)(aclTensor *const *, uint64_t *, aclOpExecutor **);
    PhaseTwo run;

    const Shape &ShapeOf(size_t place) const {
        const Part part = parts[place];
        return part == Part::kWholeIn || part == Part::kWholeOut ? whole : pooled;
    }
    aclDataType TypeOf(size_t place, aclDataType values) const {
        const Part part = parts[place];
        return part == Part::kIndicesIn || part == Part::kIndicesOut ? indexType : values;
    }
    // Values in one plane of the tensor before pooling.
    int64_t PlaneLength() const {
        int64_t length = 1;
        for (size_t axis = 2; axis < whole.size(); axis++) {
            length *= whole[axis];
        }
        return length;
    }
};

inline const std::vector<Operator> &Operators() {
    static const std::vector<Operator> all = {
        {"AdaptiveMaxPool3dBackward",
         {Part::kPooledIn, Part::kWholeIn, Part::kIndicesIn, Part::kWholeOut},
         {2, 3, 4, 5, 6}, {2, 3, 2, 3, 4}, ACL_INT32,
         [](aclTensor *const *t, uint64_t *size, aclOpExecutor **executor) {
             return aclnnAdaptiveMaxPool3dBackwardGetWorkspaceSize(t[0], t[1], t[2], t[3], size, executor);
         },
         aclnnAdaptiveMaxPool3dBackward},
        {"AdaptiveMaxPool2dBackward",
         {Part::kPooledIn, Part::kWholeIn, Part::kIndicesIn, Part::kWholeOut},
         {2, 3, 5, 6}, {2, 3, 2, 4}, ACL_INT64,
         [](aclTensor *const *t, uint64_t *size, aclOpExecutor **executor) {
             return aclnnAdaptiveMaxPool2dBackwardGetWorkspaceSize(t[0], t[1], t[2], t[3], size, executor);
         },
         aclnnAdaptiveMaxPool2dBackward},
        {"MaxPool3dWithArgmaxBackward",
         {Part::kPooledIn, Part::kWholeIn, Part::kIndicesIn, Part::kWholeOut},
         {2, 3, 4, 5, 6}, {2, 3, 2, 3, 5}, ACL_INT32,
         [](aclTensor *const *t, uint64_t *size, aclOpExecutor **executor) {
             const ListOf kernel{2, 3, 2}, stride{2, 2, 1}, padding{0, 1, 0}, dilation{1};
             return aclnnMaxPool3dWithArgmaxBackwardGetWorkspaceSize(t[0], t[1], t[2], kernel, stride, padding,
                                                                     dilation, false, t[3], size, executor);
         },
         aclnnMaxPool3dWithArgmaxBackward},
        {"AdaptiveAvgPool3dBackward",
         {Part::kPooledIn, Part::kWholeIn, Part::kWholeOut},
         {2, 3, 4, 5, 6}, {2, 3, 2, 3, 4}, ACL_INT32,
         [](aclTensor *const *t, uint64_t *size, aclOpExecutor **executor) {
             return aclnnAdaptiveAvgPool3dBackwardGetWorkspaceSize(t[0], t[1], t[2], size, executor);
         },
         aclnnAdaptiveAvgPool3dBackward},
        {"AdaptiveMaxPool2d",
         {Part::kWholeIn, Part::kPooledOut, Part::kIndicesOut},
         {2, 3, 5, 6}, {2, 3, 2, 4}, ACL_INT64,
         [](aclTensor *const *t, uint64_t *size, aclOpExecutor **executor) {
             const ListOf outputSize{2, 4};
             return aclnnAdaptiveMaxPool2dGetWorkspaceSize(t[0], outputSize, t[1], t[2], size, executor);
         },
         aclnnAdaptiveMaxPool2d},
        {"AdaptiveMaxPool3d",
         {Part::kWholeIn, Part::kPooledOut, Part::kIndicesOut},
         {2, 3, 4, 5, 6}, {2, 3, 2, 3, 4}, ACL_INT32,
         [](aclTensor *const *t, uint64_t *size, aclOpExecutor **executor) {
             const ListOf outputSize{2, 3, 4};
             return aclnnAdaptiveMaxPool3dGetWorkspaceSize(t[0], outputSize, t[1], t[2], size, executor);
         },
         aclnnAdaptiveMaxPool3d},
        {"MaxPool3dWithArgmax",
         {Part::kWholeIn, Part::kPooledOut, Part::kIndicesOut},
         {2, 3, 4, 5, 6}, {2, 3, 2, 3, 5}, ACL_INT32,
         [](aclTensor *const *t, uint64_t *size, aclOpExecutor **executor) {
             const ListOf kernel{2, 3, 2}, stride{2, 2, 1}, padding{0, 1, 0}, dilation{1};
             return aclnnMaxPool3dWithArgmaxGetWorkspaceSize(t[0], kernel, stride, padding, dilation, false, t[1],
                                                             t[2], size, executor);
         },
         aclnnMaxPool3dWithArgmax},
        {"AdaptiveAvgPool3d",
         {Part::kWholeIn, Part::kPooledOut},
         {2, 3, 4, 5, 6}, {2, 3, 2, 3, 4}, ACL_INT32,
         [](aclTensor *const *t, uint64_t *size, aclOpExecutor **executor) {
             const ListOf outputSize{2, 3, 4};
             return aclnnAdaptiveAvgPool3dGetWorkspaceSize(t[0], outputSize, t[1], size, executor);
         },
         aclnnAdaptiveAvgPool3d},
    };
    return all;
}

// Planes that formats may say anything of: what these operators take for both ranks.
inline aclFormat FormatOf(const Operator &op) { return op.whole.size() == 5 ? ACL_FORMAT_NCDHW : ACL_FORMAT_NCHW; }

// Numbers that look random and are the same everywhere.
class Numbers {
public:
    explicit Numbers(uint64_t seed) : state_(seed * 2862933555777941757ULL + 3037000493ULL) {}
    uint32_t Next() {
        state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
        return static_cast<uint32_t>(state_ >> 33);
    }

private:
    uint64_t state_;
};

// The bytes of contiguous inputs: small odd multiples of 1/8 (exact in every type), indices inside the plane.
inline std::vector<unsigned char> InputBytes(const Operator &op, size_t place, aclDataType values, Numbers &numbers) {
    const size_t count = count_of(op.ShapeOf(place).data(), op.ShapeOf(place).size());
    const aclDataType type = op.TypeOf(place, values);
    std::vector<unsigned char> bytes(count * aclDataTypeSize(type));
    for (size_t i = 0; i < count; i++) {
        unsigned char *to = bytes.data() + i * aclDataTypeSize(type);
        if (op.parts[place] == Part::kIndicesIn) {
            const int64_t index = numbers.Next() % op.PlaneLength();
            const int32_t narrow = static_cast<int32_t>(index);
            memcpy(to, type == ACL_INT64 ? static_cast<const void *>(&index) : &narrow, aclDataTypeSize(type));
            continue;
        }
        const float value = (static_cast<int>(numbers.Next() % 128) - 64) / 8.0F;
        uint32_t bits;
        memcpy(&bits, &value, 4);
        const uint16_t half = type == ACL_BF16 ? static_cast<uint16_t>(bits >> 16) : aclFloatToFloat16(value);
        memcpy(to, type == ACL_FLOAT ? static_cast<const void *>(&value) : &half, aclDataTypeSize(type));
    }
    return bytes;
}

#endif
