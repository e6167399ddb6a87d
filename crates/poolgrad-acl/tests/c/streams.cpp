// Streams, events, contexts and options: order, time, and the codes for what is asked wrongly.
#include <cstdint>

#include "gradient.hpp"

namespace {

void Order(aclrtStream stream) {
    // Each launch overwrites what the one before it left; the last must win.
    Gradient gradient(8, 8, {0});
    for (int64_t place = 0; place < 64; place++) {
        MUST(aclrtMemcpyAsync(gradient.indices.address, 8, &place, 8, ACL_MEMCPY_HOST_TO_DEVICE, stream));
        gradient.Queue(stream);
    }
    CHECK_CODE(0, aclrtSynchronizeStream(stream));
    const std::vector<float> result = gradient.Result();
    for (size_t i = 0; i < 64; i++) {
        CHECK(result[i] == (i == 63 ? 1.0F : 0.0F));
    }
}

void Events(aclrtStream stream) {
    aclrtEvent start = nullptr, end = nullptr, fresh = nullptr;
    aclrtEventRecordedStatus recorded;
    float ms = -1;
    uint64_t us = 0;
    MUST(aclrtCreateEvent(&start));
    MUST(aclrtCreateEventWithFlag(&end, ACL_EVENT_TIME_LINE | ACL_EVENT_SYNC));
    MUST(aclrtCreateEvent(&fresh));
    Gradient gradient(256, 256, std::vector<int64_t>(65536, 3));
    MUST(aclrtRecordEvent(start, stream));
    gradient.Queue(stream);
    MUST(aclrtRecordEvent(end, stream));
    CHECK_CODE(0, aclrtSynchronizeStream(stream));
    CHECK_CODE(0, aclrtQueryEventStatus(end, &recorded));
    CHECK(recorded == ACL_EVENT_RECORDED_STATUS_COMPLETE);
    CHECK_CODE(0, aclrtEventElapsedTime(&ms, start, end));
    CHECK(ms > 0 && ms < 60000);
    CHECK_CODE(0, aclrtEventElapsedTime(&ms, end, start));
    CHECK(ms < 0);
    CHECK_CODE(0, aclrtEventGetTimestamp(end, &us));
    CHECK_CODE(0, aclrtQueryEventStatus(fresh, &recorded));
    CHECK(recorded == ACL_EVENT_RECORDED_STATUS_NOT_READY);
    CHECK_CODE(507000, aclrtEventElapsedTime(&ms, start, fresh));
    CHECK_CODE(100000, aclrtEventElapsedTime(nullptr, start, end));
    CHECK_CODE(100000, aclrtCreateEvent(nullptr));
    CHECK_CODE(100000, aclrtRecordEvent(nullptr, stream));
    CHECK_CODE(100000, aclrtQueryEventStatus(end, nullptr));
    CHECK_CODE(100000, aclrtRecordEventWithFlag(end, stream, 2));
    CHECK_CODE(107000, aclrtSynchronizeEventWithTimeout(end, -2));
    CHECK_CODE(0, aclrtSynchronizeEventWithTimeout(end, 1000));
    CHECK_CODE(0, aclrtSynchronizeEvent(end));
    for (aclrtEvent event : {start, end, fresh}) {
        CHECK_CODE(0, aclrtDestroyEvent(event));
    }
}

// One stream writes, the other reads after the event: without waiting it would read old values.
void WaitsForEvents(aclrtStream stream) {
    aclrtStream other = nullptr;
    aclrtEvent event = nullptr;
    MUST(aclrtCreateStream(&other));
    MUST(aclrtCreateEvent(&event));
    Gradient slow(256, 256, std::vector<int64_t>(65536, 9));
    std::vector<float> copy(256 * 256);
    slow.Queue(stream);
    MUST(aclrtRecordEvent(event, stream));
    MUST(aclrtStreamWaitEvent(other, event));
    MUST(aclrtMemcpyAsync(copy.data(), slow.gradInput.bytes, slow.gradInput.address, slow.gradInput.bytes,
                          ACL_MEMCPY_DEVICE_TO_HOST, other));
    CHECK_CODE(0, aclrtSynchronizeStream(other));
    CHECK(copy == slow.Result() && copy[9] > 0 && copy[8] == 0);
    CHECK_CODE(100000, aclrtStreamWaitEvent(other, nullptr));
    CHECK_CODE(100000, aclrtStreamWaitEventWithFlag(other, event, 0, 2));
    CHECK_CODE(0, aclrtDestroyEvent(event));
    CHECK_CODE(0, aclrtDestroyStream(other));
}

void Questions(aclrtStream stream) {
    aclrtStreamStatus status;
    aclrtStream made = nullptr, standard = nullptr;
    int32_t id = -1;
    uint32_t left = 0;
    CHECK_CODE(0, aclrtSynchronizeStream(stream));
    CHECK_CODE(0, aclrtStreamQuery(stream, &status));
    CHECK(status == ACL_STREAM_STATUS_COMPLETE);
    CHECK_CODE(100000, aclrtStreamQuery(stream, nullptr));
    CHECK_CODE(100000, aclrtCreateStream(nullptr));
    CHECK_CODE(107000, aclrtSynchronizeStreamWithTimeout(stream, 0));
    CHECK_CODE(107000, aclrtSynchronizeStreamWithTimeout(stream, -2));
    CHECK_CODE(0, aclrtSynchronizeStreamWithTimeout(stream, -1));
    CHECK_CODE(107000, aclrtSynchronizeDeviceWithTimeout(-2));
    CHECK_CODE(0, aclrtSynchronizeDeviceWithTimeout(1000));
    CHECK_CODE(0, aclrtStreamGetId(stream, &id));
    CHECK_CODE(0, aclrtGetStreamAvailableNum(&left));
    CHECK(left > 0);
    CHECK_CODE(0, aclrtCreateStreamWithConfig(&made, 0, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC));
    CHECK_CODE(0, aclrtDestroyStream(made));
    CHECK_CODE(0, aclrtCtxGetCurrentDefaultStream(&standard));
    CHECK(standard != nullptr);
    CHECK_CODE(0, aclrtSynchronizeStream(standard));
}

// There is a limit, and it is told beforehand.
void TooMany() {
    uint32_t left = 0;
    std::vector<aclrtStream> made;
    aclrtStream next = nullptr;
    MUST(aclrtGetStreamAvailableNum(&left));
    while (made.size() < left && CHECK_CODE(0, aclrtCreateStream(&next))) {
        made.push_back(next);
    }
    CHECK_CODE(207008, aclrtCreateStream(&next));
    for (aclrtStream stream : made) {
        CHECK_CODE(0, aclrtDestroyStream(stream));
    }
}

void Contexts(aclrtStream stream) {
    aclrtContext primary = nullptr, own = nullptr, now = nullptr;
    aclrtStream inside = nullptr;
    MUST(aclrtGetCurrentContext(&primary));
    MUST(aclrtCreateContext(&own, 0));
    CHECK_CODE(0, aclrtGetCurrentContext(&now));
    CHECK(now == own);
    MUST(aclrtCreateStream(&inside));
    // A stream belongs to its context; waiting for it works from anywhere.
    CHECK_CODE(107003, aclrtDestroyStream(stream));
    CHECK_CODE(0, aclrtSynchronizeStream(stream));
    CHECK_CODE(0, aclrtDestroyStream(inside));
    CHECK_CODE(0, aclrtDestroyContext(own));
    CHECK_CODE(0, aclrtSetCurrentContext(primary));
    CHECK_CODE(107001, aclrtCreateContext(&own, 5));
    CHECK_CODE(100000, aclrtSetCurrentContext(nullptr));
}

void Options() {
    int64_t value = -1;
    CHECK_CODE(107021, aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
    CHECK_CODE(0, aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
    CHECK(value == 0);
    CHECK_CODE(0, aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1));
    CHECK_CODE(0, aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
    CHECK(value == 1);
    CHECK_CODE(0, aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 3));
    CHECK_CODE(107000, aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 4));
    CHECK_CODE(107000, aclrtSetSysParamOpt(ACL_OPT_STRONG_CONSISTENCY, 2));
    CHECK_CODE(100000, aclrtCtxSetSysParamOpt(ACL_OPT_ENABLE_KERNEL_EARLY_START, 1));
    CHECK_CODE(100000, aclrtSetSysParamOpt(static_cast<aclSysParamOpt>(4), 1));
    aclrtRunMode mode = ACL_DEVICE;
    CHECK_CODE(0, aclrtGetRunMode(&mode));
    CHECK(mode == ACL_HOST);
    CHECK(strcmp(aclrtGetSocName(), "Ascend910B2") == 0);
    int32_t major = 0, minor = 0, patch = -1;
    CHECK_CODE(0, aclrtGetVersion(&major, &minor, &patch));
    CHECK(major == 1 && minor == 17 && patch == 0);
    CHECK_CODE(100000, aclrtGetVersion(nullptr, &minor, &patch));
}

}  // namespace

int main() {
    aclrtStream stream = set_up();
    Order(stream);
    Order(nullptr);
    Events(stream);
    WaitsForEvents(stream);
    Questions(stream);
    TooMany();
    Contexts(stream);
    Options();
    take_down(stream);
    return finish();
}
