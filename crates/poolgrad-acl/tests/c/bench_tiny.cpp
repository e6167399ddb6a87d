// What phase 1 and phase 2 cost together where the work itself is nothing: one gradient for a plane of 2x2.
// The first argument is the number of rounds. Prints microseconds of a call pair; the goal is less than 3.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "gradient.hpp"

int main(int argc, char **argv) {
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 200000;
    // The queue is emptied now and then, outside the time that counts.
    const int batch = 200;
    aclrtStream stream = set_up();
    Gradient gradient(2, 2, {3});
    std::vector<double> microseconds;
    for (int done = 0; done < rounds; done += batch) {
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < batch; i++) {
            gradient.Queue(stream);
        }
        const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
        microseconds.push_back(time.count() / batch);
        MUST(aclrtSynchronizeStream(stream));
    }
    std::sort(microseconds.begin(), microseconds.end());
    std::printf("phase 1 + phase 2: median %.2f us, best %.2f us, worst %.2f us\n",
                microseconds[microseconds.size() / 2], microseconds.front(), microseconds.back());
    CHECK((gradient.Result() == std::vector<float>{0, 0, 0, 1}));
    return finish();
}
