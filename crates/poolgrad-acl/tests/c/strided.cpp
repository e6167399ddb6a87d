// Every operator on tensors of every layout: the same bits as on contiguous tensors, and gaps in outputs untouched.
#include "operators.hpp"

namespace {

enum class Layout { kContiguous, kOffset, kChannelLast, kReversedAxes, kSliced, kBackwards, kExpanded };

const struct {
    Layout layout;
    const char *name;
} kLayouts[] = {{Layout::kOffset, "offset"},         {Layout::kChannelLast, "channel-last"},
                {Layout::kReversedAxes, "reversed axes"}, {Layout::kSliced, "sliced"},
                {Layout::kBackwards, "backwards"},   {Layout::kExpanded, "expanded"}};

// Where a tensor's elements lie in its memory.
struct Placement {
    Shape shape, strides;
    int64_t offset = 0;
    int64_t room = 0;

    // The place of the element with this number in row-major order.
    int64_t Place(int64_t number) const {
        int64_t place = offset;
        for (size_t axis = shape.size(); axis-- > 0;) {
            place += number % shape[axis] * strides[axis];
            number /= shape[axis];
        }
        return place;
    }
};

Placement Place(const Shape &shape, Layout layout) {
    const size_t rank = shape.size();
    Placement made{shape, Shape(rank), 0, 1};
    std::vector<size_t> order(rank);  // axes from the one with the smallest stride to the largest
    for (size_t i = 0; i < rank; i++) {
        order[i] = layout == Layout::kReversedAxes ? i : rank - 1 - i;
    }
    if (layout == Layout::kChannelLast) {
        order.erase(order.end() - 2);
        order.insert(order.begin(), 1);
    }
    for (size_t axis : order) {
        made.strides[axis] = made.room;
        made.room *= layout == Layout::kSliced ? shape[axis] + 2 : shape[axis];
    }
    if (layout == Layout::kOffset) {
        made.offset = 7;
    } else if (layout == Layout::kSliced) {
        for (size_t axis = 0; axis < rank; axis++) {
            made.offset += made.strides[axis];
        }
    } else if (layout == Layout::kBackwards) {
        for (size_t axis = 2; axis < rank; axis++) {
            made.offset += made.strides[axis] * (shape[axis] - 1);
            made.strides[axis] = -made.strides[axis];
        }
    } else if (layout == Layout::kExpanded) {
        made.strides[0] = 0;
    }
    made.room += made.offset;
    return made;
}

// A tensor somewhere in device memory.
struct Placed {
    Placement where;
    size_t width;
    void *address;
    aclTensor *tensor;

    unsigned char *At(int64_t place) const { return static_cast<unsigned char *>(address) + place * width; }
    int64_t Count() const { return static_cast<int64_t>(count_of(where.shape.data(), where.shape.size())); }
};

Placed Put(const Placement &where, aclDataType type, aclFormat format, const std::vector<unsigned char> *bytes) {
    Placed made{where, aclDataTypeSize(type), nullptr, nullptr};
    made.address = device_bytes(nullptr, where.room * made.width);
    for (int64_t i = 0; bytes != nullptr && i < made.Count(); i++) {
        memcpy(made.At(where.Place(i)), bytes->data() + i * made.width, made.width);
    }
    made.tensor = aclCreateTensor(where.shape.data(), where.shape.size(), type, where.strides.data(), where.offset,
                                  format, &where.room, 1, made.address);
    CHECK(made.tensor != nullptr);
    return made;
}

std::vector<unsigned char> Take(const Placed &from) {
    std::vector<unsigned char> bytes(from.Count() * from.width);
    for (int64_t i = 0; i < from.Count(); i++) {
        memcpy(bytes.data() + i * from.width, from.At(from.where.Place(i)), from.width);
    }
    return bytes;
}

// Bytes of memory that belong to no element still hold what they were filled with.
bool GapsAreUntouched(const Placed &output) {
    std::vector<bool> used(output.where.room);
    for (int64_t i = 0; i < output.Count(); i++) {
        used[output.where.Place(i)] = true;
    }
    for (int64_t place = 0; place < output.where.room; place++) {
        for (size_t i = 0; !used[place] && i < output.width; i++) {
            if (output.At(place)[i] != 0xEE) {
                return false;
            }
        }
    }
    return true;
}

using Bytes = std::vector<std::vector<unsigned char>>;

// Runs an operator with every tensor in this layout; gives the outputs, or what the inputs hold as seen by the views.
Bytes Run(const Operator &op, aclDataType type, Layout layout, Bytes &inputs, aclrtStream stream) {
    std::vector<Placed> placed;
    std::vector<aclTensor *> tensors;
    size_t input = 0;
    for (size_t i = 0; i < op.parts.size(); i++) {
        const bool output = IsOutput(op.parts[i]);
        const Layout mine = output && layout == Layout::kExpanded ? Layout::kContiguous : layout;
        placed.push_back(Put(Place(op.ShapeOf(i), mine), op.TypeOf(i, type), FormatOf(op),
                             output ? nullptr : &inputs[input++]));
        tensors.push_back(placed.back().tensor);
    }
    input = 0;
    for (size_t i = 0; i < op.parts.size(); i++) {
        if (!IsOutput(op.parts[i])) {
            // Expanded tensors hold only the last of the values that were put into one place.
            inputs[input++] = Take(placed[i]);
        }
    }
    uint64_t workspaceSize = 0;
    aclOpExecutor *executor = nullptr;
    MUST(op.plan(tensors.data(), &workspaceSize, &executor));
    MUST(launch(op.run, workspaceSize, executor, stream));
    Bytes outputs;
    for (size_t i = 0; i < op.parts.size(); i++) {
        if (IsOutput(op.parts[i])) {
            outputs.push_back(Take(placed[i]));
            CHECK(GapsAreUntouched(placed[i]));
        }
        CHECK_CODE(0, aclDestroyTensor(placed[i].tensor));
        CHECK_CODE(0, aclrtFree(placed[i].address));
    }
    return outputs;
}

}  // namespace

int main() {
    aclrtStream stream = set_up();
    for (const Operator &op : Operators()) {
        for (aclDataType type : {ACL_FLOAT, ACL_FLOAT16, ACL_BF16}) {
            for (const auto &row : kLayouts) {
                Numbers numbers(row.name[0] + type);
                Bytes inputs;
                for (size_t i = 0; i < op.parts.size(); i++) {
                    if (!IsOutput(op.parts[i])) {
                        inputs.push_back(InputBytes(op, i, type, numbers));
                    }
                }
                const Bytes got = Run(op, type, row.layout, inputs, stream);
                const Bytes want = Run(op, type, Layout::kContiguous, inputs, stream);
                const std::string what = std::string(op.name) + ", type " + std::to_string(type) + ", " + row.name;
                check_that(got == want, __FILE__, __LINE__, what.c_str());
            }
        }
    }
    take_down(stream);
    return finish();
}
