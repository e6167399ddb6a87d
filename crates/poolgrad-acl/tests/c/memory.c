/* Device and host memory: what allocations promise, how copies and fills work, and what they refuse. */
#include "operand.h"

static void allocations(void) {
    void *address = NULL;
    /* 64-byte aligned, zeroed also where memory was used before, with 32 bytes past the next multiple of 32. */
    for (int turn = 0; turn < 2000; turn++) {
        const size_t size = 1 + 33 * (turn % 6);
        MUST(aclrtMalloc(&address, size, ACL_MEM_MALLOC_HUGE_FIRST));
        CHECK((uintptr_t)address % 64 == 0);
        const size_t room = (size + 31) / 32 * 32 + 32;
        size_t n_zero = 0;
        for (size_t i = 0; i < room; i++) {
            n_zero += ((unsigned char *)address)[i] == 0;
        }
        CHECK(n_zero == room);
        MUST(aclrtMemset(address, size, 0xFF, size));
        CHECK_CODE(0, aclrtFree(address));
    }
    MUST(aclrtMallocAlign32(&address, 5, ACL_MEM_MALLOC_NORMAL_ONLY));
    CHECK_CODE(0, aclrtFree(address));
    MUST(aclrtMallocCached(&address, 5, ACL_MEM_MALLOC_HUGE_ONLY));
    CHECK_CODE(0, aclrtFreeWithDevSync(address));
    MUST(aclrtMallocWithCfg(&address, 5, (aclrtMemMallocPolicy)12345, NULL));
    CHECK_CODE(0, aclrtFree(address));
    MUST(aclrtMallocHost(&address, 100));
    CHECK((uintptr_t)address % 64 == 0);
    memset(address, 1, 100);
    CHECK_CODE(0, aclrtFreeHost(address));

    aclrtMallocConfig config = {NULL, 1};
    CHECK_CODE(100000, aclrtMallocWithCfg(&address, 5, ACL_MEM_MALLOC_HUGE_FIRST, &config));
    CHECK_CODE(100000, aclrtMalloc(NULL, 16, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_CODE(100000, aclrtMalloc(&address, 0, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_CODE(100000, aclrtMalloc(&address, SIZE_MAX, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_CODE(207001, aclrtMalloc(&address, (size_t)1 << 60, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_CODE(100000, aclrtMallocHost(&address, 0));
    CHECK_CODE(100000, aclrtMallocHost(NULL, 8));
}

static void frees(void) {
    void *device = NULL;
    void *host = NULL;
    int local = 0;
    MUST(aclrtMalloc(&device, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    MUST(aclrtMallocHost(&host, 64));
    CHECK_CODE(100000, aclrtFree(NULL));
    CHECK_CODE(100000, aclrtFreeHost(NULL));
    CHECK_REFUSED(107000, "aclrtFree", aclrtFree(&local));
    CHECK_CODE(107000, aclrtFree((char *)device + 8));
    CHECK_CODE(107000, aclrtFreeHost(device));
    CHECK_CODE(0, aclrtFree(device));
    CHECK_CODE(107000, aclrtFree(device));
    CHECK_CODE(0, aclrtFreeHost(host));
    CHECK(aclrtFreeHost(host) != 0);
}

static void copies(aclrtStream stream) {
    const unsigned char from[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    unsigned char to[8] = {0};
    void *device = NULL;
    void *other = NULL;
    MUST(aclrtMalloc(&device, 8, ACL_MEM_MALLOC_HUGE_FIRST));
    MUST(aclrtMalloc(&other, 8, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_CODE(0, aclrtMemcpy(device, 8, from, 8, ACL_MEMCPY_HOST_TO_DEVICE));
    CHECK_CODE(0, aclrtMemcpy(other, 8, device, 8, ACL_MEMCPY_DEVICE_TO_DEVICE));
    CHECK_CODE(0, aclrtMemcpy(to, 8, other, 8, ACL_MEMCPY_DEVICE_TO_HOST));
    CHECK(memcmp(from, to, 8) == 0);
    /* The kind is advice: a wrong one copies all the same. */
    memset(to, 0, 8);
    CHECK_CODE(0, aclrtMemcpy(to, 8, device, 8, ACL_MEMCPY_HOST_TO_DEVICE));
    CHECK(memcmp(from, to, 8) == 0);
    CHECK_CODE(0, aclrtMemcpy(NULL, 0, NULL, 0, (aclrtMemcpyKind)99));
    CHECK_CODE(0, aclrtMemcpy(device, 8, device, 8, ACL_MEMCPY_DEVICE_TO_DEVICE));
    CHECK_CODE(100000, aclrtMemcpy(NULL, 8, from, 8, ACL_MEMCPY_HOST_TO_DEVICE));
    CHECK_CODE(100000, aclrtMemcpy(device, 8, NULL, 8, ACL_MEMCPY_HOST_TO_DEVICE));
    CHECK_CODE(100000, aclrtMemcpy(device, 8, from, 8, (aclrtMemcpyKind)6));
    CHECK_CODE(107000, aclrtMemcpy(device, 4, from, 8, ACL_MEMCPY_HOST_TO_DEVICE));
    CHECK_CODE(107000, aclrtMemcpy(device, 0, from, 8, ACL_MEMCPY_HOST_TO_DEVICE));
    /* destMax lies about the allocation, or the source ends early. */
    CHECK(aclrtMemcpy(device, 4096, to, 4096, ACL_MEMCPY_HOST_TO_DEVICE) != 0);
    CHECK(aclrtMemcpy(to, 4096, device, 4096, ACL_MEMCPY_DEVICE_TO_HOST) != 0);

    CHECK_CODE(0, aclrtMemsetAsync(device, 8, 0x1FF, 8, stream));
    CHECK_CODE(0, aclrtMemcpyAsync(to, 8, device, 8, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    CHECK_CODE(0, aclrtSynchronizeStream(stream));
    CHECK(to[0] == 0xFF && to[7] == 0xFF);
    CHECK_CODE(207000, aclrtMemcpyAsync(to, 8, from, 8, ACL_MEMCPY_HOST_TO_HOST, stream));
    CHECK_CODE(107000, aclrtMemcpyAsync(device, 4, from, 8, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    CHECK_CODE(107000, aclrtMemsetAsync(device, 4, 0, 8, stream));

    /* Rows of 2 out of rows of 4, to rows of 3. */
    unsigned char rows[6] = {0};
    CHECK_CODE(0, aclrtMemcpy(device, 8, from, 8, ACL_MEMCPY_HOST_TO_DEVICE));
    CHECK_CODE(0, aclrtMemcpy2d(rows, 3, device, 4, 2, 2, ACL_MEMCPY_DEVICE_TO_HOST));
    CHECK(rows[0] == 1 && rows[1] == 2 && rows[2] == 0 && rows[3] == 5 && rows[4] == 6 && rows[5] == 0);
    CHECK_CODE(0, aclrtMemcpy2d(rows, 3, device, 4, 0, 2, ACL_MEMCPY_DEVICE_TO_HOST));
    CHECK_CODE(100000, aclrtMemcpy2d(rows, 3, device, 4, 5, 1, ACL_MEMCPY_DEVICE_TO_HOST));
    CHECK_CODE(0, aclrtFree(device));
    CHECK_CODE(0, aclrtFree(other));
}

static void fills(void) {
    uint32_t *device = NULL;
    MUST(aclrtMalloc((void **)&device, 16, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_CODE(0, aclrtMemset(device, 16, 0x12345, 16));
    CHECK(device[0] == 0x45454545U && device[3] == 0x45454545U);
    CHECK_CODE(0, aclrtMemsetD32(device, 16, 7, 2));
    CHECK(device[1] == 7 && device[2] == 0x45454545U);
    CHECK_CODE(0, aclrtMemset(NULL, 0, 0, 0));
    CHECK_CODE(100000, aclrtMemset(NULL, 16, 0, 16));
    CHECK(aclrtMemset(device, 8, 0, 16) != 0);
    CHECK(aclrtMemset(device, 4096, 0, 4096) != 0);
    CHECK_CODE(100000, aclrtMemsetD32((char *)device + 1, 8, 7, 1));
    CHECK_CODE(100000, aclrtMemsetD32(device, 8, 7, 4));
    CHECK_CODE(0, aclrtFree(device));
}

static void questions(void) {
    size_t free_bytes = 0, total_bytes = 0;
    aclrtPtrAttributes attributes;
    void *device = NULL;
    int local = 0;
    void *mapped = NULL;
    CHECK_CODE(0, aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes));
    CHECK(free_bytes > 0 && free_bytes <= total_bytes);
    CHECK_CODE(100000, aclrtGetMemInfo(ACL_HBM_MEM, NULL, &total_bytes));
    MUST(aclrtMalloc(&device, 16, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_CODE(0, aclrtPointerGetAttributes((char *)device + 3, &attributes));
    CHECK(attributes.location.type == ACL_MEM_LOCATION_TYPE_DEVICE && attributes.location.id == 0);
    CHECK_CODE(0, aclrtPointerGetAttributes(&local, &attributes));
    CHECK(attributes.location.type == ACL_MEM_LOCATION_TYPE_UNREGISTERED);
    CHECK_CODE(100000, aclrtPointerGetAttributes(NULL, &attributes));
    CHECK_CODE(0, aclrtHostRegister(&local, sizeof local, ACL_HOST_REGISTER_MAPPED, &mapped));
    CHECK_CODE(0, aclrtHostUnregister(&local));
    CHECK_CODE(0, aclrtFree(device));
}

int main(void) {
    aclrtStream stream = set_up();
    allocations();
    frees();
    copies(stream);
    fills();
    questions();
    take_down(stream);
    return finish();
}
