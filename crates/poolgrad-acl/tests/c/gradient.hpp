// A small 2-D max gradient that tests of the runtime queue when they need work: any plane, any index.
#ifndef POOLGRAD_TESTS_GRADIENT_HPP
#define POOLGRAD_TESTS_GRADIENT_HPP

#include <vector>

#include "aclnnop/aclnn_adaptive_max_pool2d_backward.h"
#include "operand.h"

// One plane of `height` x `width` that gets the gradients 1, 2, 3 ... at the offsets `places`.
class Gradient {
public:
    Gradient(int64_t height, int64_t width, const std::vector<int64_t> &places) : count_(height * width) {
        const int64_t whole[] = {1, height, width};
        const int64_t pooled[] = {1, 1, static_cast<int64_t>(places.size())};
        std::vector<float> values;
        for (size_t i = 0; i < places.size(); i++) {
            values.push_back(static_cast<float>(i + 1));
        }
        gradOutput = operand(pooled, 3, ACL_FLOAT, values.data());
        self = operand(whole, 3, ACL_FLOAT, nullptr);
        indices = operand(pooled, 3, ACL_INT64, places.data());
        gradInput = operand(whole, 3, ACL_FLOAT, nullptr);
    }
    Gradient(const Gradient &) = delete;
    Gradient &operator=(const Gradient &) = delete;
    ~Gradient() {
        for (Operand *used : {&gradOutput, &self, &indices, &gradInput}) {
            if (used->tensor != nullptr) {
                release(used);
            }
        }
        Forget();
    }
    // Phase 1.
    int Plan() {
        return aclnnAdaptiveMaxPool2dBackwardGetWorkspaceSize(gradOutput.tensor, self.tensor, indices.tensor,
                                                              gradInput.tensor, &workspaceSize, &executor);
    }
    // Phase 2, with a workspace that lives as long as this object.
    int Run(aclrtStream stream) {
        if (workspaceSize > 0 && workspace_ == nullptr) {
            MUST(aclrtMalloc(&workspace_, workspaceSize, ACL_MEM_MALLOC_HUGE_FIRST));
        }
        return aclnnAdaptiveMaxPool2dBackward(workspace_, workspaceSize, executor, stream);
    }
    // Both phases.
    void Queue(aclrtStream stream) {
        MUST(Plan());
        MUST(Run(stream));
    }
    std::vector<float> Result() const {
        std::vector<float> values(count_);
        read_back(&gradInput, values.data());
        return values;
    }
    // Frees the workspace.
    void Forget() {
        if (workspace_ != nullptr) {
            CHECK_CODE(0, aclrtFree(workspace_));
            workspace_ = nullptr;
        }
    }

    Operand gradOutput, self, indices, gradInput;
    uint64_t workspaceSize = 0;
    aclOpExecutor *executor = nullptr;

private:
    size_t count_;
    void *workspace_ = nullptr;
};

#endif
