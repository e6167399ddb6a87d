// Rounds of everything, also of what fails, with messages that nobody reads: the process must not grow. Leak checkers
// do not see what a library still points to.
#include <cstdio>
#include <fstream>
#include <string>

#include "gradient.hpp"

namespace {

void Round(aclrtStream stream) {
    {
        Gradient good(2, 2, {1}), bad(2, 2, {9}), unused(2, 2, {1});
        good.Queue(stream);
        bad.Queue(stream);
        CHECK_CODE(507035, aclrtSynchronizeStream(stream));
        MUST(unused.Plan());
        CHECK_CODE(0, aclDestroyAclOpExecutor(unused.executor));
        CHECK_CODE(161002, aclInitTensor(unused.self.tensor, nullptr, 0, ACL_INT8, nullptr, 0, ACL_FORMAT_ND, nullptr, 0,
                                         nullptr) == 0
                               ? unused.Plan()
                               : -1);
        CHECK_CODE(100000, aclrtFree(nullptr));
    }
    aclrtStream other = nullptr;
    aclrtEvent event = nullptr;
    MUST(aclrtCreateStream(&other));
    MUST(aclrtCreateEvent(&event));
    MUST(aclrtRecordEvent(event, stream));
    MUST(aclrtStreamWaitEvent(other, event));
    CHECK_CODE(0, aclrtDestroyEvent(event));
    CHECK_CODE(0, aclrtDestroyStream(other));
}

// Resident memory in KiB.
long Resident() {
    std::ifstream status("/proc/self/status");
    std::string word;
    long kib = -1;
    while (status >> word) {
        if (word == "VmRSS:") {
            status >> kib;
        }
    }
    return kib;
}

}  // namespace

int main() {
    aclrtStream stream = set_up();
    // Until everything that is kept for reuse is there.
    for (int i = 0; i < 2000; i++) {
        Round(stream);
    }
    const long before = Resident();
    const int rounds = 10000;
    for (int i = 0; i < rounds; i++) {
        Round(stream);
    }
    const long grown = Resident() - before;
    std::printf("%d rounds, %ld KiB before, %ld KiB more after\n", rounds, before, grown);
    // 30 allocations a round: a pointer lost in each would be more than this.
    CHECK(before > 0 && grown < 512);
    take_down(stream);
    return finish();
}
