// A launch that fails while it runs: which waits say so, how often, and what goes on regardless.
#include <cstdint>
#include <limits>
#include <string>

#include "gradient.hpp"

namespace {

const int kFailed = 507035;

void ReportedOnceByStream(aclrtStream stream) {
    Gradient bad(2, 2, {0, 6}), good(2, 2, {3});
    bad.Queue(stream);
    good.Queue(stream);
    (void)aclGetRecentErrMsg();
    CHECK_CODE(kFailed, aclrtSynchronizeStream(stream));
    const char *text = aclGetRecentErrMsg();
    const std::string message = text == nullptr ? "" : text;
    for (const char *part : {"aclnnAdaptiveMaxPool2dBackward", "indices", "6", "4"}) {
        check_that(message.find(part) != std::string::npos, __FILE__, __LINE__, part);
    }
    // Later work ran, and the failure has been told.
    CHECK((good.Result() == std::vector<float>{0, 0, 0, 1}));
    CHECK_CODE(0, aclrtSynchronizeStream(stream));
    CHECK(aclGetRecentErrMsg() == nullptr);
}

void ReportedByEvent(aclrtStream stream) {
    Gradient bad(2, 2, {-1});
    aclrtEvent event = nullptr;
    MUST(aclrtCreateEvent(&event));
    bad.Queue(stream);
    MUST(aclrtRecordEvent(event, stream));
    CHECK_REFUSED(kFailed, "-1", aclrtSynchronizeEvent(event));
    (void)aclrtSynchronizeStream(stream);
    CHECK_CODE(0, aclrtSynchronizeStream(stream));
    CHECK_CODE(0, aclrtDestroyEvent(event));
}

void ReportedByDevice(aclrtStream stream) {
    Gradient bad(2, 2, {std::numeric_limits<int64_t>::max()});
    bad.Queue(stream);
    CHECK_REFUSED(kFailed, "9223372036854775807", aclrtSynchronizeDevice());
    (void)aclrtSynchronizeStream(stream);
    CHECK_CODE(0, aclrtSynchronizeDevice());
}

void ReportedByDefaultStream() {
    Gradient bad(2, 2, {4});
    bad.Queue(nullptr);
    CHECK_CODE(kFailed, aclrtSynchronizeStream(nullptr));
    CHECK_CODE(0, aclrtSynchronizeStream(nullptr));
}

void OtherStreamsDoNotCare(aclrtStream stream) {
    aclrtStream other = nullptr;
    MUST(aclrtCreateStream(&other));
    Gradient bad(2, 2, {std::numeric_limits<int64_t>::min()}), good(1, 3, {1, 1});
    bad.Queue(stream);
    good.Queue(other);
    CHECK_CODE(0, aclrtSynchronizeStream(other));
    CHECK((good.Result() == std::vector<float>{0, 3, 0}));
    CHECK_CODE(kFailed, aclrtSynchronizeStream(stream));
    CHECK_CODE(0, aclrtDestroyStream(other));
}

// The plane lies in the middle of a larger allocation; bad indices would hit what stands around it.
void NothingAroundIsTouched(aclrtStream stream) {
    for (int64_t place : {-3, -1, 4, 6, 1 << 20}) {
        std::vector<float> room(12, 5.0F);
        void *address = device_bytes(room.data(), 48);
        const int64_t shape[] = {1, 2, 2}, storage[] = {12};
        Gradient bad(2, 2, {place});
        release(&bad.gradInput);
        bad.gradInput.tensor =
            aclCreateTensor(shape, 3, ACL_FLOAT, nullptr, 4, ACL_FORMAT_ND, storage, 1, address);
        bad.Queue(stream);
        CHECK_CODE(kFailed, aclrtSynchronizeStream(stream));
        MUST(aclrtMemcpy(room.data(), 48, address, 48, ACL_MEMCPY_DEVICE_TO_HOST));
        for (size_t i = 0; i < 12; i++) {
            CHECK((i >= 4 && i < 8) || room[i] == 5.0F);
        }
        CHECK_CODE(0, aclDestroyTensor(bad.gradInput.tensor));
        bad.gradInput.tensor = nullptr;
        CHECK_CODE(0, aclrtFree(address));
    }
}

}  // namespace

int main() {
    aclrtStream stream = set_up();
    ReportedOnceByStream(stream);
    ReportedByEvent(stream);
    ReportedByDevice(stream);
    ReportedByDefaultStream();
    OtherStreamsDoNotCare(stream);
    NothingAroundIsTouched(stream);
    take_down(stream);
    return finish();
}
