/* aclnnAdaptiveAvgPool3dBackward, in C: overlapping windows along W, then the mean over a whole volume in FLOAT and
 * DOUBLE. */
#include "aclnnop/aclnn_adaptive_avg_pool3d_backward.h"
#include "operand.h"

static aclrtStream stream;

static void run(Operand *gradOutput, Operand *self, Operand *out, void *result) {
    uint64_t workspaceSize = 0;
    aclOpExecutor *executor = NULL;
    MUST(aclnnAdaptiveAvgPool3dBackwardGetWorkspaceSize(gradOutput->tensor, self->tensor, out->tensor, &workspaceSize,
                                                        &executor));
    MUST(launch(aclnnAdaptiveAvgPool3dBackward, workspaceSize, executor, stream));
    read_back(out, result);
    release(gradOutput);
    release(self);
    release(out);
}

int main(void) {
    stream = set_up();
    {
        const int64_t whole[] = {1, 1, 2, 2, 3};
        const int64_t pooled[] = {1, 1, 1, 2, 2};
        const float grad[] = {4, 8, 12, 16};
        /* By hand: windows hold 2*1*2 values; along W they are [0, 2) and [1, 3) and share the middle. */
        const float want[] = {1, 3, 2, 3, 7, 4, 1, 3, 2, 3, 7, 4};
        float result[12];
        Operand gradOutput = operand(pooled, 5, ACL_FLOAT, grad);
        Operand self = operand(whole, 5, ACL_FLOAT, NULL);
        Operand out = operand(whole, 5, ACL_FLOAT, NULL);
        run(&gradOutput, &self, &out, result);
        CHECK(same_floats(result, want, 12));
    }
    {
        /* Rank 4 is [C, D, H, W]. */
        const int64_t whole[] = {2, 2, 2, 2};
        const int64_t pooled[] = {2, 1, 1, 1};
        const float grad[] = {8, -4};
        float result[16];
        Operand gradOutput = operand(pooled, 4, ACL_FLOAT, grad);
        Operand self = operand(whole, 4, ACL_FLOAT, NULL);
        Operand out = operand(whole, 4, ACL_FLOAT, NULL);
        run(&gradOutput, &self, &out, result);
        for (int i = 0; i < 16; i++) {
            CHECK(result[i] == (i < 8 ? 1.0F : -0.5F));
        }
    }
    {
        const int64_t whole[] = {1, 1, 1, 1, 3};
        const int64_t pooled[] = {1, 1, 1, 1, 1};
        const double grad[] = {1.0};
        double result[3];
        Operand gradOutput = operand(pooled, 5, ACL_DOUBLE, grad);
        Operand self = operand(whole, 5, ACL_DOUBLE, NULL);
        Operand out = operand(whole, 5, ACL_DOUBLE, NULL);
        run(&gradOutput, &self, &out, result);
        for (int i = 0; i < 3; i++) {
            /* Closer than FLOAT could be: the sums are made in double. */
            CHECK(result[i] - 1.0 / 3.0 < 1e-15 && 1.0 / 3.0 - result[i] < 1e-15);
        }
    }
    take_down(stream);
    return finish();
}
