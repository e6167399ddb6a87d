/* Handles that are NULL, made up, or dead, in every place that takes one: a code, never a crash. */
#include "aclnnop/aclnn_adaptive_avg_pool3d_backward.h"
#include "operand.h"

static int g_target[16];

/* Things that look like pointers but are no handles. The freed one is as bad as it gets. */
static void *made_up(int which) {
    switch (which) {
        case 0: return (void *)(uintptr_t)1;
        case 1: return (void *)(uintptr_t)0x7fffdead0000;
        case 2: return (void *)(uintptr_t)~(uintptr_t)0;
        default: return g_target;
    }
}
enum { N_MADE_UP = 4 };

/* No crash, and an error that says something. */
#define CHECK_FAILS(call)                        \
    do {                                         \
        (void)aclGetRecentErrMsg();              \
        CHECK((call) != 0);                      \
        CHECK(aclGetRecentErrMsg() != NULL);     \
    } while (0)

static void streams_and_events(void) {
    aclrtStream stream = NULL;
    aclrtEvent event = NULL;
    aclrtStreamStatus status;
    float ms;
    MUST(aclrtCreateStream(&stream));
    MUST(aclrtCreateEvent(&event));
    for (int i = 0; i < N_MADE_UP; i++) {
        void *bad = made_up(i);
        CHECK_CODE(107017, aclrtDestroyStream(bad));
        CHECK_CODE(107017, aclrtSynchronizeStream(bad));
        CHECK_FAILS(aclrtDestroyStreamForce(bad));
        CHECK_FAILS(aclrtStreamQuery(bad, &status));
        CHECK_FAILS(aclrtStreamWaitEvent(bad, event));
        CHECK_FAILS(aclrtStreamWaitEvent(stream, bad));
        CHECK_FAILS(aclrtDestroyEvent(bad));
        CHECK_FAILS(aclrtRecordEvent(bad, stream));
        CHECK_FAILS(aclrtRecordEvent(event, bad));
        CHECK_FAILS(aclrtSynchronizeEvent(bad));
        CHECK_FAILS(aclrtEventElapsedTime(&ms, bad, event));
        CHECK_FAILS(aclrtMemsetAsync(g_target, 4, 0, 4, bad));
    }
    CHECK_CODE(100000, aclrtDestroyStream(NULL));
    CHECK_CODE(100000, aclrtDestroyEvent(NULL));
    /* A handle of another kind is as wrong as any. */
    CHECK_FAILS(aclrtDestroyEvent(stream));
    CHECK_FAILS(aclrtDestroyStream(event));
    CHECK_CODE(0, aclrtDestroyEvent(event));
    CHECK_FAILS(aclrtDestroyEvent(event));
    CHECK_CODE(0, aclrtDestroyStream(stream));
    CHECK_CODE(107017, aclrtDestroyStream(stream));
    CHECK_CODE(107017, aclrtSynchronizeStream(stream));
}

static void contexts(void) {
    aclrtContext primary = NULL;
    aclrtContext own = NULL;
    MUST(aclrtGetCurrentContext(&primary));
    CHECK_CODE(100000, aclrtDestroyContext(NULL));
    CHECK_CODE(107002, aclrtDestroyContext(primary));
    MUST(aclrtCreateContext(&own, 0));
    CHECK_CODE(0, aclrtDestroyContext(own));
    CHECK_CODE(107002, aclrtDestroyContext(own));
    CHECK_FAILS(aclrtSetCurrentContext(own));
    for (int i = 0; i < N_MADE_UP; i++) {
        CHECK_FAILS(aclrtDestroyContext(made_up(i)));
        CHECK_FAILS(aclrtSetCurrentContext(made_up(i)));
    }
    MUST(aclrtSetCurrentContext(primary));
}

static void tensors_and_arrays(void) {
    const int64_t shape[] = {1, 1, 1, 1, 2};
    aclTensor *tensor = aclCreateTensor(shape, 5, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, shape, 5, NULL);
    aclIntArray *array = aclCreateIntArray(shape, 5);
    aclFormat format;
    uint64_t size;
    CHECK_CODE(0, aclDestroyTensor(NULL));
    CHECK_CODE(0, aclDestroyIntArray(NULL));
    CHECK_CODE(0, aclDestroyTensorList(NULL));
    CHECK_CODE(0, aclDestroyScalar(NULL));
    for (int i = 0; i < N_MADE_UP; i++) {
        CHECK_FAILS(aclDestroyTensor((aclTensor *)made_up(i)));
        CHECK_FAILS(aclDestroyIntArray((aclIntArray *)made_up(i)));
        CHECK_FAILS(aclDestroyScalar((aclScalar *)made_up(i)));
        CHECK_FAILS(aclDestroyTensorList((aclTensorList *)made_up(i)));
        CHECK_FAILS(aclGetFormat((aclTensor *)made_up(i), &format));
        CHECK_FAILS(aclGetIntArraySize((aclIntArray *)made_up(i), &size));
    }
    CHECK_FAILS(aclDestroyTensor((aclTensor *)array));
    CHECK_CODE(0, aclDestroyIntArray(array));
    CHECK_FAILS(aclDestroyIntArray(array));
    CHECK_CODE(0, aclDestroyTensor(tensor));
    CHECK_FAILS(aclDestroyTensor(tensor));
    CHECK_FAILS(aclGetFormat(tensor, &format));
}

static void operators(void) {
    const int64_t whole[] = {1, 1, 1, 1, 2};
    const int64_t pooled[] = {1, 1, 1, 1, 1};
    Operand gradOutput = operand(pooled, 5, ACL_FLOAT, NULL);
    Operand self = operand(whole, 5, ACL_FLOAT, NULL);
    Operand out = operand(whole, 5, ACL_FLOAT, NULL);
    uint64_t workspaceSize = 0;
    aclOpExecutor *executor = NULL;
    for (int i = 0; i < N_MADE_UP; i++) {
        aclTensor *bad = (aclTensor *)made_up(i);
        CHECK_FAILS(aclnnAdaptiveAvgPool3dBackwardGetWorkspaceSize(bad, self.tensor, out.tensor, &workspaceSize,
                                                                   &executor));
        CHECK_FAILS(aclnnAdaptiveAvgPool3dBackwardGetWorkspaceSize(gradOutput.tensor, self.tensor, bad, &workspaceSize,
                                                                   &executor));
        MUST(aclnnAdaptiveAvgPool3dBackwardGetWorkspaceSize(gradOutput.tensor, self.tensor, out.tensor, &workspaceSize,
                                                            &executor));
        CHECK_FAILS(aclnnAdaptiveAvgPool3dBackward(NULL, 0, executor, made_up(i)));
    }
    aclTensor *dead = self.tensor;
    CHECK_CODE(0, aclDestroyTensor(dead));
    CHECK_FAILS(aclnnAdaptiveAvgPool3dBackwardGetWorkspaceSize(gradOutput.tensor, dead, out.tensor, &workspaceSize,
                                                               &executor));
    self.tensor = NULL;
    release(&gradOutput);
    release(&self);
    release(&out);
}

int main(void) {
    aclrtStream stream = set_up();
    streams_and_events();
    contexts();
    tensors_and_arrays();
    operators();
    take_down(stream);
    return finish();
}
