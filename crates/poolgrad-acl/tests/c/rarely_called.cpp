// Functions that pooling programs seldom call: each does what is documented, or nothing, and refuses NULL.
#include <initializer_list>

#include "aclnn/aclnn_base.h"
#include "gradient.hpp"

namespace {

void Devices() {
    aclrtUtilizationInfo use = {};
    aclrtDeviceStatus status = ACL_RT_DEVICE_STATUS_ABNORMAL;
    int64_t cores = 0;
    int32_t can = -1, active = -1;
    aclCANNPackageVersion version = {};
    CHECK_CODE(0, aclrtGetDeviceUtilizationRate(0, &use));
    CHECK_CODE(100000, aclrtGetDeviceUtilizationRate(0, nullptr));
    CHECK_CODE(0, aclrtQueryDeviceStatus(0, &status));
    CHECK(status == ACL_RT_DEVICE_STATUS_NORMAL);
    CHECK_CODE(100000, aclrtQueryDeviceStatus(0, nullptr));
    CHECK_CODE(0, aclrtGetDeviceInfo(0, ACL_DEV_ATTR_AICORE_CORE_NUM, &cores));
    CHECK(cores > 0);
    CHECK_CODE(100000, aclrtGetDeviceInfo(0, ACL_DEV_ATTR_AICORE_CORE_NUM, nullptr));
    CHECK_CODE(100000, aclrtDeviceCanAccessPeer(&can, 0, 0));
    CHECK_CODE(200006, aclrtDeviceEnablePeerAccess(0, 1));
    CHECK(aclrtDeviceDisablePeerAccess(99) != 0);
    CHECK_CODE(0, aclrtGetPrimaryCtxState(0, nullptr, &active));
    CHECK(active == 1);
    uint32_t flags = 0;
    CHECK_CODE(100000, aclrtGetPrimaryCtxState(0, &flags, &active));
    CHECK_CODE(0, aclsysGetCANNVersion(ACL_PKG_NAME_CANN, &version));
    CHECK(version.version[0] != '\0');
    CHECK_CODE(100000, aclsysGetCANNVersion(ACL_PKG_NAME_CANN, nullptr));
    CHECK_CODE(0, aclrtSetOpWaitTimeout(5));
    CHECK_CODE(0, aclrtSetOpExecuteTimeOut(5));
    CHECK_CODE(0, aclDumpOpTensors("MaxPool", "name", nullptr, 0, 0, nullptr));
    aclAppLog(ACL_ERROR, __func__, __FILE__, __LINE__, "plain text");
    ACL_APP_LOG(ACL_ERROR, "a number: %d, a word: %s", 7, "seven");
}

void StreamParameters(aclrtStream stream) {
    aclrtStream made = nullptr;
    uint32_t priority = 9, flags = 9, overflow = 9;
    aclrtStreamConfigHandle *config = aclrtCreateStreamConfigHandle();
    const uint32_t wanted = 3, flag = ACL_STREAM_FAST_LAUNCH;
    CHECK(config != nullptr);
    CHECK_CODE(0, aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_PRIORITY, &wanted, sizeof wanted));
    CHECK_CODE(0, aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_FLAG, &flag, sizeof flag));
    CHECK(aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_FLAG, &flag, 1) != 0);
    CHECK_CODE(100000, aclrtSetStreamConfigOpt(nullptr, ACL_RT_STREAM_FLAG, &flag, sizeof flag));
    CHECK_CODE(0, aclrtCreateStreamV2(&made, config));
    CHECK_CODE(100000, aclrtCreateStreamV2(nullptr, config));
    CHECK_CODE(0, aclrtStreamGetPriority(made, &priority));
    CHECK_CODE(0, aclrtStreamGetFlags(made, &flags));
    CHECK(priority == 3 && flags == ACL_STREAM_FAST_LAUNCH);
    CHECK_CODE(100000, aclrtStreamGetPriority(made, nullptr));
    CHECK_CODE(0, aclrtDestroyStreamConfigHandle(config));
    CHECK(aclrtDestroyStreamConfigHandle(config) != 0);
    CHECK_CODE(100000, aclrtDestroyStreamConfigHandle(nullptr));
    CHECK_CODE(0, aclrtDestroyStream(made));
    CHECK_CODE(0, aclrtSetStreamOverflowSwitch(stream, 1));
    CHECK_CODE(0, aclrtGetStreamOverflowSwitch(stream, &overflow));
    CHECK(overflow == 1);
    CHECK_CODE(100000, aclrtSetStreamOverflowSwitch(stream, 2));
    CHECK_CODE(100000, aclrtSetStreamFailureMode(stream, 2));
}

void FailureModeAndAbort() {
    aclrtStream stream = nullptr;
    MUST(aclrtCreateStream(&stream));
    CHECK_CODE(0, aclrtSetStreamFailureMode(stream, ACL_STOP_ON_FAILURE));
    Gradient bad(2, 2, {4}), later(2, 2, {1});
    MUST(aclrtMemset(later.gradInput.address, 16, 0, 16));
    bad.Queue(stream);
    later.Queue(stream);
    CHECK_CODE(507035, aclrtSynchronizeStream(stream));
    CHECK((later.Result() == std::vector<float>{0, 0, 0, 0}));
    later.Queue(stream);
    CHECK_CODE(0, aclrtSynchronizeStream(stream));
    CHECK((later.Result() == std::vector<float>{0, 1, 0, 0}));
    CHECK_CODE(0, aclrtStreamAbort(stream));
    (void)aclrtSynchronizeStream(stream);
    CHECK_CODE(0, aclrtDestroyStream(stream));
}

void Events(aclrtStream stream) {
    aclrtEvent extended = nullptr, plain = nullptr, waited = nullptr;
    aclrtEventStatus old;
    aclrtEventRecordedStatus recorded;
    aclrtEventWaitStatus wait;
    MUST(aclrtCreateEventExWithFlag(&extended, ACL_EVENT_SYNC));
    MUST(aclrtCreateEvent(&plain));
    MUST(aclrtCreateEventWithFlag(&waited, ACL_EVENT_SYNC));
    CHECK_CODE(0, aclrtQueryEventStatus(extended, &recorded));
    CHECK(recorded == ACL_EVENT_RECORDED_STATUS_COMPLETE);
    CHECK_CODE(207000, aclrtQueryEvent(extended, &old));
    CHECK_CODE(207000, aclrtResetEvent(extended, stream));
    CHECK_CODE(207000, aclrtQueryEventWaitStatus(extended, &wait));
    MUST(aclrtRecordEvent(plain, stream));
    CHECK_CODE(0, aclrtSynchronizeStream(stream));
    CHECK_CODE(0, aclrtQueryEvent(plain, &old));
    CHECK(old == ACL_EVENT_STATUS_COMPLETE);
    MUST(aclrtRecordEvent(waited, stream));
    CHECK_CODE(0, aclrtStreamWaitEventWithTimeout(stream, waited, 100));
    CHECK_CODE(0, aclrtSynchronizeStream(stream));
    CHECK_CODE(0, aclrtQueryEventWaitStatus(waited, &wait));
    CHECK(wait == ACL_EVENT_WAIT_STATUS_COMPLETE);
    CHECK_CODE(0, aclrtResetEvent(waited, stream));
    CHECK_CODE(0, aclrtSynchronizeStream(stream));
    CHECK_CODE(0, aclrtQueryEventStatus(waited, &recorded));
    CHECK(recorded == ACL_EVENT_RECORDED_STATUS_NOT_READY);
    CHECK_CODE(100000, aclrtQueryEvent(nullptr, &old));
    CHECK_CODE(100000, aclrtQueryEventWaitStatus(waited, nullptr));
    CHECK_CODE(100000, aclrtResetEvent(nullptr, stream));
    for (aclrtEvent event : {extended, plain, waited}) {
        CHECK_CODE(0, aclrtDestroyEvent(event));
    }
}

void Memory(aclrtStream stream) {
    void *device = nullptr, *host = nullptr;
    const unsigned char from[6] = {1, 2, 3, 4, 5, 6};
    MUST(aclrtMallocForTaskScheduler(&device, 16, ACL_MEM_MALLOC_HUGE_FIRST, nullptr));
    MUST(aclrtMallocHost(&host, 16));
    CHECK_CODE(0, aclrtMemsetD32Async(device, 16, 0x01020304, 4, stream));
    CHECK_CODE(0, aclrtMemcpy2dAsync(device, 4, from, 3, 2, 2, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    CHECK_CODE(0, aclrtSynchronizeStream(stream));
    const unsigned char want[8] = {1, 2, 2, 1, 4, 5, 2, 1};
    CHECK(memcmp(device, want, 8) == 0);
    CHECK_CODE(100000, aclrtMemsetD32Async(device, 4, 0, 4, stream));
    CHECK_CODE(100000, aclrtMemcpy2dAsync(device, 1, from, 3, 2, 2, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    CHECK_CODE(0, aclrtFree(device));
    CHECK_CODE(0, aclrtFreeHostWithDevSync(host));
    CHECK_CODE(100000, aclrtFreeHostWithDevSync(nullptr));
}

using SetAddress = aclnnStatus (*)(aclOpExecutor *, size_t, aclTensor *, void *);
using SetListAddress = aclnnStatus (*)(aclOpExecutor *, size_t, size_t, aclTensorList *, void *);

void Addresses() {
    Gradient gradient(2, 2, {1});
    MUST(gradient.Plan());
    MUST(aclSetAclOpExecutorRepeatable(gradient.executor));
    for (SetAddress set : {aclSetInputTensorAddr, aclSetOutputTensorAddr, aclSetTensorAddr, AclSetInputTensorAddr,
                           AclSetOutputTensorAddr, AclSetTensorAddr}) {
        CHECK_CODE(561103, set(nullptr, 0, gradient.self.tensor, nullptr));
        CHECK_CODE(561103, set(gradient.executor, 0, nullptr, nullptr));
        CHECK_CODE(0, set(gradient.executor, 0, gradient.self.tensor, gradient.self.address));
    }
    const int64_t shape[] = {1};
    float value = 0, other = 0;
    const aclTensor *tensors[] = {
        aclCreateTensor(shape, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape, 1, &value)};
    aclTensorList *list = aclCreateTensorList(tensors, 1);
    for (SetListAddress set :
         {aclSetDynamicInputTensorAddr, aclSetDynamicOutputTensorAddr, aclSetDynamicTensorAddr,
          AclSetDynamicInputTensorAddr, AclSetDynamicOutputTensorAddr, AclSetDynamicTensorAddr}) {
        void *now = nullptr;
        CHECK_CODE(0, aclSetRawTensorAddr(const_cast<aclTensor *>(tensors[0]), &value));
        CHECK_CODE(561103, set(nullptr, 0, 0, list, &other));
        CHECK_CODE(561103, set(gradient.executor, 0, 0, nullptr, &other));
        CHECK_CODE(161002, set(gradient.executor, 0, 1, list, &other));
        CHECK_CODE(0, set(gradient.executor, 0, 0, list, &other));
        CHECK_CODE(0, aclGetRawTensorAddr(tensors[0], &now));
        CHECK(now == &other);
    }
    CHECK_CODE(0, aclDestroyTensorList(list));
    CHECK_CODE(0, aclDestroyAclOpExecutor(gradient.executor));
}

}  // namespace

int main() {
    aclrtStream stream = set_up();
    Devices();
    StreamParameters(stream);
    FailureModeAndAbort();
    Events(stream);
    Memory(stream);
    Addresses();
    CHECK_CODE(0, aclrtSetDevice(0));
    CHECK_CODE(0, aclrtSetDevice(0));
    CHECK_CODE(0, aclrtResetDeviceForce(0));
    CHECK_CODE(507007, aclrtResetDeviceForce(0));
    CHECK_CODE(0, aclFinalize());
    return finish();
}
