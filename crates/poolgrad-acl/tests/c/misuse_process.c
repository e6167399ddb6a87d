/* Calls in the wrong order: before aclInit, without a device, from threads that chose none, twice. */
#include <pthread.h>

#include "aclnnop/aclnn_adaptive_avg_pool3d_backward.h"
#include "operand.h"

static void *without_device(void *unused) {
    void *address = NULL;
    aclrtStream stream = NULL;
    aclrtContext context = NULL;
    int32_t device = 0;
    size_t free_bytes, total_bytes;
    char byte = 0;
    CHECK_REFUSED(107002, "aclrtMalloc", aclrtMalloc(&address, 16, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_CODE(107002, aclrtMallocHost(&address, 16));
    CHECK_CODE(107002, aclrtCreateStream(&stream));
    CHECK_CODE(107002, aclrtSynchronizeStream(NULL));
    CHECK_CODE(107002, aclrtSynchronizeDevice());
    CHECK_CODE(107002, aclrtGetCurrentContext(&context));
    CHECK_CODE(107002, aclrtGetDevice(&device));
    CHECK_CODE(107002, aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes));
    CHECK_CODE(107002, aclrtMemcpy(&byte, 1, &device, 1, ACL_MEMCPY_HOST_TO_HOST));
    CHECK_CODE(107002, aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1));
    CHECK(address == NULL && stream == NULL && context == NULL);
    return unused;
}

/* Descriptions need no device; phase 2 does. */
static void operator_without_device(void) {
    const int64_t shape[] = {1, 1, 1, 1, 1};
    float value = 1;
    aclTensor *tensor = aclCreateTensor(shape, 5, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, shape, 5, &value);
    float result = 0;
    aclTensor *out = aclCreateTensor(shape, 5, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, shape, 5, &result);
    uint64_t workspaceSize = 0;
    aclOpExecutor *executor = NULL;
    MUST(aclnnAdaptiveAvgPool3dBackwardGetWorkspaceSize(tensor, tensor, out, &workspaceSize, &executor));
    CHECK(aclnnAdaptiveAvgPool3dBackward(NULL, 0, executor, NULL) != 0);
    CHECK_CODE(0, aclDestroyTensor(tensor));
    CHECK_CODE(0, aclDestroyTensor(out));
}

int main(void) {
    int64_t value = 0;
    uint64_t count = 0;
    uint32_t n_devices = 0;
    pthread_t thread;

    without_device(NULL);
    operator_without_device();
    CHECK_CODE(0, aclrtGetDeviceCount(&n_devices));
    CHECK(n_devices == 1);

    /* Without aclInit everything else works; real programs do that. */
    CHECK_CODE(0, aclrtSetDevice(0));
    void *address = NULL;
    CHECK_CODE(0, aclrtMalloc(&address, 16, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_CODE(0, aclrtFree(address));
    CHECK_CODE(0, aclrtResetDevice(0));
    CHECK_CODE(507007, aclrtResetDevice(0));
    without_device(NULL);

    CHECK_CODE(100003, aclInit("/no/such/file.json"));
    CHECK_CODE(0, aclInit(NULL));
    CHECK_CODE(100002, aclInit(NULL));
    CHECK_CODE(0, aclFinalizeReference(&count));
    CHECK(count == 1);
    CHECK_CODE(0, aclFinalize());
    CHECK_CODE(100037, aclFinalize());
    CHECK_CODE(100037, aclFinalizeReference(NULL));
    CHECK_CODE(0, aclInit(""));

    CHECK_CODE(107001, aclrtSetDevice(-1));
    CHECK_CODE(107001, aclrtSetDevice(1));
    CHECK_CODE(107001, aclrtResetDevice(7));
    CHECK_CODE(0, aclrtSetDevice(0));
    CHECK_CODE(0, aclrtSetDevice(0));
    /* Another thread has chosen nothing. */
    CHECK(pthread_create(&thread, NULL, without_device, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    /* Set twice, reset twice. */
    CHECK_CODE(0, aclrtResetDevice(0));
    CHECK_CODE(0, aclrtSynchronizeDevice());
    CHECK_CODE(0, aclrtResetDevice(0));
    CHECK_CODE(107002, aclrtSynchronizeDevice());

    CHECK_CODE(100000, aclrtGetDeviceCount(NULL));
    CHECK_CODE(100000, aclrtGetDevice(NULL));
    CHECK_CODE(100000, aclrtGetRunMode(NULL));
    CHECK_CODE(100000, aclrtCreateContext(NULL, 0));
    CHECK_CODE(100000, aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, NULL));
    CHECK_CODE(0, aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
    CHECK_CODE(0, aclFinalize());
    return finish();
}
