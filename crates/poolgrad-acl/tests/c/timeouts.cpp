// Waits that give up and questions that come too early: the code, and the work that goes on all the same.
#include <functional>

#include "gradient.hpp"

namespace {

// Queues work, and asks before it can be done. On a busy machine it may be done all the same, so there are some tries.
void Early(const char *what, const std::function<bool(aclrtStream, aclrtEvent)> &is_told) {
    Gradient slow(512, 512, std::vector<int64_t>(1 << 18, 5));
    aclrtStream stream = nullptr;
    aclrtEvent event = nullptr;
    MUST(aclrtCreateStream(&stream));
    MUST(aclrtCreateEvent(&event));
    bool told = false;
    for (int tries = 0; tries < 20 && !told; tries++) {
        for (int i = 0; i < 30; i++) {
            slow.Queue(stream);
        }
        MUST(aclrtRecordEvent(event, stream));
        told = is_told(stream, event);
        CHECK_CODE(0, aclrtSynchronizeStream(stream));
        CHECK(slow.Result()[5] > 0);
    }
    check_that(told, __FILE__, __LINE__, what);
    CHECK_CODE(0, aclrtDestroyEvent(event));
    CHECK_CODE(0, aclrtDestroyStream(stream));
}

}  // namespace

int main() {
    aclrtStream stream = set_up();
    Early("a stream is not ready", [](aclrtStream busy, aclrtEvent) {
        aclrtStreamStatus status;
        CHECK_CODE(0, aclrtStreamQuery(busy, &status));
        return status == ACL_STREAM_STATUS_NOT_READY;
    });
    Early("an event is not ready", [](aclrtStream, aclrtEvent event) {
        aclrtEventRecordedStatus status;
        CHECK_CODE(0, aclrtQueryEventStatus(event, &status));
        return status == ACL_EVENT_RECORDED_STATUS_NOT_READY;
    });
    Early("a wait for a stream ends", [](aclrtStream busy, aclrtEvent) {
        return aclrtSynchronizeStreamWithTimeout(busy, 1) == 507046;
    });
    Early("a wait for an event ends", [](aclrtStream, aclrtEvent event) {
        return aclrtSynchronizeEventWithTimeout(event, 1) == 507047;
    });
    Early("a wait for the device ends", [](aclrtStream, aclrtEvent) {
        return aclrtSynchronizeDeviceWithTimeout(1) == 507046;
    });
    Early("an event has no time yet", [](aclrtStream, aclrtEvent event) {
        float ms = 0;
        return aclrtEventElapsedTime(&ms, event, event) == 107006;
    });
    take_down(stream);
    return finish();
}
