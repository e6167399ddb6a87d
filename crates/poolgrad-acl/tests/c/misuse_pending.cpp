// Things taken away while work that needs them is queued: the work still ends, with the numbers it would have had.
#include "gradient.hpp"

namespace {

// Work that keeps a stream busy for a while: planes of 256x256 whose gradients all meet in one place.
class Load {
public:
    void Queue(aclrtStream stream) {
        for (int turn = 0; turn < 10; turn++) {
            for (Gradient &gradient : gradients_) {
                gradient.Queue(stream);
            }
        }
    }

private:
    Gradient gradients_[3] = {{256, 256, std::vector<int64_t>(65536, 5)},
                              {256, 256, std::vector<int64_t>(65536, 6)},
                              {256, 256, std::vector<int64_t>(65536, 7)}};
};

void TensorsDestroyed(aclrtStream stream) {
    Load load;
    Gradient gradient(2, 2, {1, 2});
    load.Queue(stream);
    gradient.Queue(stream);
    for (Operand *used : {&gradient.gradOutput, &gradient.self, &gradient.indices, &gradient.gradInput}) {
        CHECK_CODE(0, aclDestroyTensor(used->tensor));
    }
    CHECK_CODE(0, aclrtSynchronizeStream(stream));
    CHECK((gradient.Result() == std::vector<float>{0, 1, 2, 0}));
    for (Operand *used : {&gradient.gradOutput, &gradient.self, &gradient.indices, &gradient.gradInput}) {
        CHECK_CODE(0, aclrtFree(used->address));
        used->tensor = nullptr;
    }
}

void MemoryFreed(aclrtStream stream) {
    Load load;
    Gradient gradient(2, 2, {1, 2});
    load.Queue(stream);
    gradient.Queue(stream);
    // The gradients and their workspace go. The library may keep what was freed for a while: so much is freed after
    // them that they have to go for good, and new memory comes to lie where they were.
    CHECK_CODE(0, aclrtFree(gradient.gradOutput.address));
    CHECK_CODE(0, aclrtFree(gradient.indices.address));
    gradient.Forget();
    for (int i = 0; i < 1000; i++) {
        CHECK_CODE(0, aclrtFree(device_bytes(nullptr, 8)));
    }
    void *others[8];
    for (void *&other : others) {
        other = device_bytes(nullptr, 8);
    }
    CHECK_CODE(0, aclrtSynchronizeStream(stream));
    CHECK((gradient.Result() == std::vector<float>{0, 1, 2, 0}));
    for (void *other : others) {
        CHECK_CODE(0, aclrtFree(other));
    }
    CHECK_CODE(0, aclDestroyTensor(gradient.gradOutput.tensor));
    CHECK_CODE(0, aclDestroyTensor(gradient.indices.tensor));
    gradient.gradOutput.tensor = gradient.indices.tensor = nullptr;
}

void ResultFreed(aclrtStream stream) {
    Load load;
    Gradient gradient(2, 2, {1});
    load.Queue(stream);
    gradient.Queue(stream);
    release(&gradient.gradInput);
    (void)aclrtSynchronizeStream(stream);
    CHECK_CODE(0, aclrtSynchronizeStream(stream));
}

void ExecutorDestroyed(aclrtStream stream) {
    Load load;
    Gradient gradient(2, 2, {3});
    load.Queue(stream);
    MUST(gradient.Plan());
    MUST(aclSetAclOpExecutorRepeatable(gradient.executor));
    MUST(gradient.Run(stream));
    CHECK_CODE(0, aclDestroyAclOpExecutor(gradient.executor));
    CHECK_CODE(0, aclrtSynchronizeStream(stream));
    CHECK((gradient.Result() == std::vector<float>{0, 0, 0, 1}));
}

void StreamDestroyed() {
    Load load;
    Gradient gradient(2, 2, {0});
    aclrtStream stream = nullptr;
    MUST(aclrtCreateStream(&stream));
    load.Queue(stream);
    gradient.Queue(stream);
    // It waits for the work.
    CHECK_CODE(0, aclrtDestroyStream(stream));
    CHECK((gradient.Result() == std::vector<float>{1, 0, 0, 0}));

    MUST(aclrtCreateStream(&stream));
    load.Queue(stream);
    CHECK_CODE(0, aclrtDestroyStreamForce(stream));
}

void EventDestroyed(aclrtStream stream) {
    Load load;
    aclrtStream other = nullptr;
    aclrtEvent event = nullptr;
    MUST(aclrtCreateStream(&other));
    MUST(aclrtCreateEvent(&event));
    Gradient gradient(2, 2, {2});
    load.Queue(stream);
    MUST(aclrtRecordEvent(event, stream));
    MUST(aclrtStreamWaitEvent(other, event));
    gradient.Queue(other);
    CHECK_CODE(0, aclrtDestroyEvent(event));
    CHECK_CODE(0, aclrtSynchronizeStream(other));
    CHECK((gradient.Result() == std::vector<float>{0, 0, 1, 0}));
    CHECK_CODE(0, aclrtSynchronizeStream(stream));
    CHECK_CODE(0, aclrtDestroyStream(other));
}

}  // namespace

int main() {
    aclrtStream stream = set_up();
    TensorsDestroyed(stream);
    MemoryFreed(stream);
    ResultFreed(stream);
    ExecutorDestroyed(stream);
    StreamDestroyed();
    EventDestroyed(stream);
    take_down(stream);

    // Finalised with work queued, and nothing else taken down: it waits, and what comes after is an error or works,
    // but returns.
    stream = set_up();
    {
        Load load;
        load.Queue(stream);
        CHECK_CODE(0, aclFinalize());
        (void)aclrtSynchronizeStream(stream);
    }
    (void)aclrtDestroyStream(stream);
    (void)aclrtResetDevice(0);

    // A device that is reset with work queued waits for it.
    stream = set_up();
    Gradient *gradient = new Gradient(2, 2, {1});
    {
        Load load;
        load.Queue(stream);
        gradient->Queue(stream);
        CHECK_CODE(0, aclrtResetDevice(0));
        MUST(aclrtSetDevice(0));
        CHECK((gradient->Result() == std::vector<float>{0, 1, 0, 0}));
    }
    // Its streams went with it.
    CHECK(aclrtSynchronizeStream(stream) != 0);
    delete gradient;
    CHECK_CODE(0, aclrtResetDevice(0));
    CHECK_CODE(0, aclFinalize());
    return finish();
}
