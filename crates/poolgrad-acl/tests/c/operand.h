/* Tensors for tests: device memory with a description, filled from the host and read back. C and C++. */
#ifndef POOLGRAD_TESTS_OPERAND_H
#define POOLGRAD_TESTS_OPERAND_H

#include <stdint.h>

#include "aclnn/acl_meta.h"
#include "check.h"

/* A tensor together with the device memory behind it. */
typedef struct Operand {
    void *address;
    size_t bytes;
    aclTensor *tensor;
} Operand;

static inline uint64_t count_of(const int64_t *shape, uint64_t rank) {
    uint64_t count = 1;
    for (uint64_t axis = 0; axis < rank; axis++) {
        count *= (uint64_t)shape[axis];
    }
    return count;
}

/* Device memory with `bytes` bytes of `host`, or with 0xEE bytes where `host` is NULL: outputs hold garbage at first. */
static inline void *device_bytes(const void *host, size_t bytes) {
    void *address = NULL;
    MUST(aclrtMalloc(&address, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    if (host != NULL) {
        MUST(aclrtMemcpy(address, bytes, host, bytes, ACL_MEMCPY_HOST_TO_DEVICE));
    } else {
        MUST(aclrtMemset(address, bytes, 0xEE, bytes));
    }
    return address;
}

/* A contiguous tensor of this format. */
static inline Operand operand_as(aclFormat format, const int64_t *shape, uint64_t rank, aclDataType type,
                                 const void *host) {
    Operand made;
    made.bytes = (size_t)count_of(shape, rank) * aclDataTypeSize(type);
    made.address = device_bytes(host, made.bytes);
    made.tensor = aclCreateTensor(shape, rank, type, NULL, 0, format, shape, rank, made.address);
    CHECK(made.tensor != NULL);
    return made;
}

/* A contiguous tensor of format ND. */
static inline Operand operand(const int64_t *shape, uint64_t rank, aclDataType type, const void *host) {
    return operand_as(ACL_FORMAT_ND, shape, rank, type, host);
}

/* Copies the whole memory of `from` to the host. */
static inline void read_back(const Operand *from, void *host) {
    MUST(aclrtMemcpy(host, from->bytes, from->address, from->bytes, ACL_MEMCPY_DEVICE_TO_HOST));
}

static inline void release(Operand *used) {
    CHECK_CODE(0, aclDestroyTensor(used->tensor));
    CHECK_CODE(0, aclrtFree(used->address));
    used->tensor = NULL;
    used->address = NULL;
}

/* Device, and a stream on it. */
static inline aclrtStream set_up(void) {
    aclrtStream stream = NULL;
    MUST(aclInit(NULL));
    MUST(aclrtSetDevice(0));
    MUST(aclrtCreateStream(&stream));
    return stream;
}

static inline void take_down(aclrtStream stream) {
    CHECK_CODE(0, aclrtDestroyStream(stream));
    CHECK_CODE(0, aclrtResetDevice(0));
    CHECK_CODE(0, aclFinalize());
}

typedef aclnnStatus (*PhaseTwo)(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

/* Phase 2 with a workspace of its own, then waits; gives the status of the wait. */
static inline int launch(PhaseTwo run, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream) {
    void *workspace = NULL;
    if (workspaceSize > 0) {
        MUST(aclrtMalloc(&workspace, workspaceSize, ACL_MEM_MALLOC_HUGE_FIRST));
    }
    MUST(run(workspace, workspaceSize, executor, stream));
    int status = aclrtSynchronizeStream(stream);
    if (workspace != NULL) {
        CHECK_CODE(0, aclrtFree(workspace));
    }
    return status;
}

/* Equal to the last bit, and the first difference is told. */
static inline int same_floats(const float *got, const float *want, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (memcmp(&got[i], &want[i], sizeof(float)) != 0) {
            fprintf(stderr, "element %zu: wanted %.9g, got %.9g\n", i, want[i], got[i]);
            return 0;
        }
    }
    return 1;
}

#endif
