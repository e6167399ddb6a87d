// Eight threads, each with a stream of its own, each a thousand operators: every result has the bits that a single
// thread got. The first argument is the number of operators of each thread.
#include <thread>

#include "operators.hpp"

namespace {

const aclDataType kTypes[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16};

// One operator with tensors of its own.
class Work {
public:
    Work(const Operator &op, aclDataType type, uint64_t seed) : op_(op) {
        Numbers numbers(seed);
        for (size_t i = 0; i < op.parts.size(); i++) {
            const Shape &shape = op.ShapeOf(i);
            const bool output = IsOutput(op.parts[i]);
            const std::vector<unsigned char> bytes =
                output ? std::vector<unsigned char>() : InputBytes(op, i, type, numbers);
            operands_.push_back(operand_as(FormatOf(op), shape.data(), shape.size(), op.TypeOf(i, type),
                                           output ? nullptr : bytes.data()));
            tensors_.push_back(operands_.back().tensor);
        }
    }
    Work(const Work &) = delete;
    Work &operator=(const Work &) = delete;
    ~Work() {
        for (Operand &used : operands_) {
            release(&used);
        }
    }
    std::vector<unsigned char> Result(aclrtStream stream) {
        uint64_t workspaceSize = 0;
        aclOpExecutor *executor = nullptr;
        MUST(op_.plan(tensors_.data(), &workspaceSize, &executor));
        MUST(launch(op_.run, workspaceSize, executor, stream));
        std::vector<unsigned char> bytes;
        for (size_t i = 0; i < operands_.size(); i++) {
            if (IsOutput(op_.parts[i])) {
                const size_t before = bytes.size();
                bytes.resize(before + operands_[i].bytes);
                read_back(&operands_[i], bytes.data() + before);
            }
        }
        return bytes;
    }

private:
    const Operator &op_;
    std::vector<Operand> operands_;
    std::vector<aclTensor *> tensors_;
};

struct Job {
    const Operator *op;
    aclDataType type;
    uint64_t seed;
    std::vector<unsigned char> want;
};

void RunThread(const std::vector<Job> &jobs, size_t first, size_t count) {
    aclrtStream stream = nullptr;
    MUST(aclrtSetDevice(0));
    MUST(aclrtCreateStream(&stream));
    size_t n_equal = 0;
    for (size_t i = 0; i < count; i++) {
        const Job &job = jobs[(first + i) % jobs.size()];
        Work work(*job.op, job.type, job.seed);
        n_equal += work.Result(stream) == job.want;
    }
    CHECK(n_equal == count);
    CHECK_CODE(0, aclrtDestroyStream(stream));
    CHECK_CODE(0, aclrtResetDevice(0));
}

}  // namespace

int main(int argc, char **argv) {
    const size_t count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1000;
    aclrtStream stream = set_up();
    std::vector<Job> jobs;
    for (const Operator &op : Operators()) {
        for (aclDataType type : kTypes) {
            Job job{&op, type, jobs.size(), {}};
            job.want = Work(op, type, job.seed).Result(stream);
            jobs.push_back(job);
        }
    }
    std::vector<std::thread> threads;
    for (size_t i = 0; i < 8; i++) {
        threads.emplace_back(RunThread, std::cref(jobs), i * 5, count);
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    take_down(stream);
    return finish();
}
