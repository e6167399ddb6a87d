// Many threads at one stream, at each other's streams and at streams that go away: codes, never a crash or a hang.
#include <atomic>
#include <functional>
#include <thread>

#include "gradient.hpp"

namespace {

void InThreads(int count, const std::function<void(int)> &body) {
    std::vector<std::thread> threads;
    for (int i = 0; i < count; i++) {
        threads.emplace_back([&body, i] {
            MUST(aclrtSetDevice(0));
            body(i);
            CHECK_CODE(0, aclrtResetDevice(0));
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
}

void OneStream(aclrtStream stream) {
    InThreads(8, [stream](int number) {
        for (int i = 0; i < 50; i++) {
            Gradient gradient(2, 4, {number});
            gradient.Queue(stream);
            CHECK_CODE(0, aclrtSynchronizeStream(stream));
            CHECK(gradient.Result()[number] == 1.0F);
        }
    });
}

// Failures of one stream that many threads wait for: each is told to somebody, and nobody waits for ever.
void FailuresAreTold(aclrtStream stream) {
    std::atomic<int> told{0};
    InThreads(4, [stream, &told](int) {
        for (int i = 0; i < 20; i++) {
            Gradient gradient(2, 2, {i % 2 == 0 ? 7 : 1});
            gradient.Queue(stream);
            const int status = aclrtSynchronizeStream(stream);
            CHECK(status == 0 || status == 507035);
            told += status == 507035;
        }
    });
    CHECK(told > 0);
    CHECK_CODE(0, aclrtSynchronizeStream(stream));
}

// One thread destroys what the others use.
void StreamsGoAway() {
    for (int round = 0; round < 20; round++) {
        aclrtStream stream = nullptr;
        aclrtEvent event = nullptr;
        MUST(aclrtCreateStream(&stream));
        MUST(aclrtCreateEvent(&event));
        InThreads(4, [stream, event](int number) {
            if (number == 0) {
                CHECK_CODE(0, aclrtDestroyStream(stream));
                CHECK_CODE(0, aclrtDestroyEvent(event));
                return;
            }
            for (int i = 0; i < 10; i++) {
                (void)aclrtRecordEvent(event, stream);
                (void)aclrtSynchronizeEventWithTimeout(event, 1000);
                (void)aclrtStreamWaitEvent(stream, event);
                (void)aclrtSynchronizeStream(stream);
            }
        });
    }
}

// Tensors and memory that several threads destroy at once: one succeeds.
void OneDestroys() {
    for (int round = 0; round < 20; round++) {
        void *address = device_bytes(nullptr, 64);
        const int64_t shape[] = {1};
        aclTensor *tensor = aclCreateTensor(shape, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape, 1, address);
        std::atomic<int> freed{0}, destroyed{0};
        InThreads(4, [&](int) {
            freed += aclrtFree(address) == 0;
            destroyed += aclDestroyTensor(tensor) == 0;
        });
        CHECK(freed == 1);
        CHECK(destroyed == 1);
    }
}

}  // namespace

int main() {
    aclrtStream stream = set_up();
    OneStream(stream);
    FailuresAreTold(stream);
    StreamsGoAway();
    OneDestroys();
    take_down(stream);
    return finish();
}
