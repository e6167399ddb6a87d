// Waits that give up: the code, and the work that goes on all the same.
#include "gradient.hpp"

int main() {
    aclrtStream stream = set_up();
    {
        Gradient slow(1024, 1024, std::vector<int64_t>(1 << 20, 5));
        aclrtEvent event = nullptr;
        aclrtStreamStatus status;
        aclrtEventRecordedStatus recorded;
        MUST(aclrtCreateEvent(&event));
        for (int i = 0; i < 100; i++) {
            slow.Queue(stream);
        }
        MUST(aclrtRecordEvent(event, stream));
        CHECK_CODE(0, aclrtStreamQuery(stream, &status));
        CHECK(status == ACL_STREAM_STATUS_NOT_READY);
        CHECK_CODE(0, aclrtQueryEventStatus(event, &recorded));
        CHECK(recorded == ACL_EVENT_RECORDED_STATUS_NOT_READY);
        CHECK_CODE(507046, aclrtSynchronizeStreamWithTimeout(stream, 1));
        CHECK_CODE(507047, aclrtSynchronizeEventWithTimeout(event, 1));
        CHECK_CODE(507046, aclrtSynchronizeDeviceWithTimeout(1));
        float ms = 0;
        CHECK_CODE(107006, aclrtEventElapsedTime(&ms, event, event));
        CHECK_CODE(0, aclrtSynchronizeStream(stream));
        CHECK(slow.Result()[5] > 0);
        CHECK_CODE(0, aclrtDestroyEvent(event));
    }
    take_down(stream);
    return finish();
}
