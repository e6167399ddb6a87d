// Programs that end untidily. The argument says how: `globals` cleans up in destructors of global objects, after main;
// `abandoned` leaves work queued and everything it made; `threads` ends threads that own streams and messages.
#include <cstdlib>
#include <string>
#include <thread>

#include "gradient.hpp"

namespace {

// Ends what it holds when the program does, when thread-local storage has gone already.
class Session {
public:
    ~Session() {
        if (gradient == nullptr) {
            return;
        }
        CHECK_CODE(0, aclrtSynchronizeStream(stream));
        CHECK((gradient->Result() == std::vector<float>{0, 0, 1, 0}));
        delete gradient;
        CHECK_CODE(100000, aclrtFree(nullptr));
        (void)aclGetRecentErrMsg();
        CHECK_CODE(0, aclrtDestroyStream(stream));
        CHECK_CODE(0, aclrtResetDevice(0));
        CHECK_CODE(0, aclFinalize());
        // The exit status is settled already.
        if (finish() != 0) {
            std::_Exit(1);
        }
    }
    aclrtStream stream = nullptr;
    Gradient *gradient = nullptr;
};

Session g_session;

void Globals() {
    g_session.stream = set_up();
    CHECK_CODE(100000, aclrtFree(nullptr));
    g_session.gradient = new Gradient(2, 2, {2});
    g_session.gradient->Queue(g_session.stream);
}

// Static, so that leak checkers see who holds them.
Gradient *g_left[20];

void Abandoned() {
    aclrtStream stream = set_up();
    for (Gradient *&gradient : g_left) {
        gradient = new Gradient(256, 256, std::vector<int64_t>(65536, 5));
        gradient->Queue(stream);
    }
    (void)aclrtFree(nullptr);
}

void Threads() {
    MUST(aclInit(nullptr));
    for (int i = 0; i < 16; i++) {
        std::thread([] {
            aclrtStream stream = nullptr;
            MUST(aclrtSetDevice(0));
            MUST(aclrtCreateStream(&stream));
            Gradient gradient(2, 2, {1});
            gradient.Queue(stream);
            CHECK_CODE(0, aclrtSynchronizeStream(stream));
            CHECK((gradient.Result() == std::vector<float>{0, 1, 0, 0}));
            // The message stays with the thread, the stream with the device.
            CHECK_CODE(100000, aclrtFree(nullptr));
        }).join();
    }
    CHECK(aclGetRecentErrMsg() == nullptr);
    CHECK_CODE(0, aclFinalize());
}

}  // namespace

int main(int argc, char **argv) {
    const std::string how = argc > 1 ? argv[1] : "";
    if (how == "globals") {
        Globals();
        return 0;
    }
    if (how == "abandoned") {
        Abandoned();
    } else {
        Threads();
    }
    return finish();
}
