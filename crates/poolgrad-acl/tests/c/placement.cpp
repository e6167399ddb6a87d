// Where tensors may lie: views past their allocation, outputs that overlap inputs or themselves, memory of the
// program's own.
#include "gradient.hpp"

namespace {

// What phase 1 and, if it agrees, phase 2 and the wait say to a 2x2 gradient with this tensor for one part.
enum class Part { kGradOutput, kIndices, kGradInput };

int Try(Part part, aclTensor *tensor, aclrtStream stream) {
    Gradient gradient(2, 2, {1});
    Operand &replaced = part == Part::kGradOutput ? gradient.gradOutput
                        : part == Part::kIndices  ? gradient.indices
                                                  : gradient.gradInput;
    release(&replaced);
    replaced.tensor = tensor;
    int status = gradient.Plan();
    if (status == 0) {
        status = gradient.Run(stream);
    }
    if (status == 0) {
        status = aclrtSynchronizeStream(stream);
    }
    CHECK_CODE(0, aclDestroyTensor(tensor));
    replaced.tensor = nullptr;
    return status;
}

aclTensor *Plane(const int64_t (&strides)[3], int64_t offset, void *address) {
    const int64_t shape[] = {1, 2, 2}, storage[] = {4};
    return aclCreateTensor(shape, 3, ACL_FLOAT, strides, offset, ACL_FORMAT_ND, storage, 1, address);
}

aclTensor *One(aclDataType type, int64_t offset, void *address) {
    const int64_t shape[] = {1, 1, 1}, strides[] = {1, 1, 1}, storage[] = {1};
    return aclCreateTensor(shape, 3, type, strides, offset, ACL_FORMAT_ND, storage, 1, address);
}

void PastTheAllocation(aclrtStream stream) {
    // 64 bytes are asked for, so 96 are there: 24 elements.
    void *room = device_bytes(nullptr, 64);
    CHECK_CODE(0, Try(Part::kGradInput, Plane({4, 2, 1}, 20, room), stream));
    CHECK_CODE(161002, Try(Part::kGradInput, Plane({4, 2, 1}, 21, room), stream));
    CHECK_CODE(161002, Try(Part::kGradInput, Plane({4, 2, 1}, -1, room), stream));
    CHECK_CODE(161002, Try(Part::kGradInput, Plane({4, 1 << 20, 1}, 0, room), stream));
    CHECK_CODE(161002, Try(Part::kGradInput, Plane({4, -2, 1}, 1, room), stream));
    CHECK_CODE(0, Try(Part::kGradInput, Plane({4, -2, 1}, 2, room), stream));
    CHECK_CODE(161002, Try(Part::kGradInput, Plane({4, INT64_MAX, INT64_MAX}, INT64_MAX, room), stream));
    CHECK_CODE(161002, Try(Part::kGradInput, Plane({4, INT64_MIN, 1}, INT64_MIN, room), stream));
    CHECK_CODE(161002, Try(Part::kGradOutput, One(ACL_FLOAT, 24, room), stream));
    CHECK_CODE(161002, Try(Part::kIndices, One(ACL_INT64, 12, room), stream));
    CHECK_CODE(161002, Try(Part::kIndices, One(ACL_INT64, -1, room), stream));
    // Not the start of the allocation, but inside: counted from there.
    CHECK_CODE(0, Try(Part::kGradInput, Plane({4, 2, 1}, 0, static_cast<char *>(room) + 80), stream));
    CHECK_CODE(161002, Try(Part::kGradInput, Plane({4, 2, 1}, 1, static_cast<char *>(room) + 80), stream));
    CHECK_CODE(0, aclrtFree(room));
}

void WithoutAddress(aclrtStream stream) {
    // Phase 1 does not mind; the work does.
    CHECK(Try(Part::kGradInput, Plane({4, 2, 1}, 0, nullptr), stream) != 0);
    CHECK(Try(Part::kGradOutput, One(ACL_FLOAT, 0, nullptr), stream) != 0);
    CHECK(Try(Part::kIndices, One(ACL_INT64, 0, nullptr), stream) != 0);
}

void Misaligned(aclrtStream stream) {
    char *room = static_cast<char *>(device_bytes(nullptr, 64));
    CHECK(Try(Part::kGradInput, Plane({4, 2, 1}, 0, room + 1), stream) != 0);
    CHECK_CODE(0, aclrtFree(room));
}

void Overlapping(aclrtStream stream) {
    void *room = device_bytes(nullptr, 64);
    // Two elements of an output in one place.
    CHECK_CODE(161002, Try(Part::kGradInput, Plane({4, 1, 1}, 0, room), stream));
    CHECK_CODE(161002, Try(Part::kGradInput, Plane({4, 0, 1}, 0, room), stream));
    // An output on top of an input.
    Gradient gradient(2, 2, {1});
    CHECK_CODE(0, aclSetRawTensorAddr(gradient.gradOutput.tensor, gradient.gradInput.address));
    int status = gradient.Plan();
    if (status == 0) {
        status = gradient.Run(stream);
    }
    if (status == 0) {
        status = aclrtSynchronizeStream(stream);
    }
    CHECK(status != 0);
    CHECK_CODE(0, aclrtFree(room));
}

void HostMemory(aclrtStream stream) {
    // Programs for one machine pass their own memory.
    std::vector<float> result(4, 9.0F);
    CHECK_CODE(0, Try(Part::kGradInput, Plane({4, 2, 1}, 0, result.data()), stream));
    CHECK((result == std::vector<float>{0, 1, 0, 0}));
}

// An executor takes the address that its tensor has in phase 2.
void AddressBetweenThePhases(aclrtStream stream) {
    Gradient gradient(2, 2, {1});
    std::vector<float> result(4, 9.0F);
    void *other = device_bytes(nullptr, 16);
    MUST(gradient.Plan());
    CHECK_CODE(0, aclSetOutputTensorAddr(gradient.executor, 0, gradient.gradInput.tensor, other));
    MUST(gradient.Run(stream));
    CHECK_CODE(0, aclrtSynchronizeStream(stream));
    MUST(aclrtMemcpy(result.data(), 16, other, 16, ACL_MEMCPY_DEVICE_TO_HOST));
    CHECK((result == std::vector<float>{0, 1, 0, 0}));
    CHECK_CODE(0, aclrtFree(other));
}

}  // namespace

int main() {
    aclrtStream stream = set_up();
    PastTheAllocation(stream);
    WithoutAddress(stream);
    Misaligned(stream);
    Overlapping(stream);
    HostMemory(stream);
    AddressBetweenThePhases(stream);
    take_down(stream);
    return finish();
}
