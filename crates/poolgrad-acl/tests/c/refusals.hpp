// Tables of broken arguments: each row takes a call that works, breaks one thing, and names the code that must come.
#ifndef POOLGRAD_TESTS_REFUSALS_HPP
#define POOLGRAD_TESTS_REFUSALS_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "aclnn/acl_meta.h"
#include "check.h"

// What a tensor says of itself. It has no data: phase 1 may not look at any.
struct Desc {
    std::vector<int64_t> shape;
    aclDataType type = ACL_FLOAT;
    aclFormat format = ACL_FORMAT_ND;
    bool null = false;
};

struct List {
    std::vector<int64_t> values;
    bool null = false;
};

// Where the results of phase 1 go, or that they have nowhere to go.
struct Results {
    bool nullSize = false;
    bool nullExecutor = false;
};

// The objects of one call; destroyed at the end of it.
class Objects {
public:
    Objects() = default;
    Objects(const Objects &) = delete;
    Objects &operator=(const Objects &) = delete;
    ~Objects() {
        for (aclTensor *tensor : tensors_) {
            CHECK_CODE(0, aclDestroyTensor(tensor));
        }
        for (aclIntArray *list : lists_) {
            CHECK_CODE(0, aclDestroyIntArray(list));
        }
    }
    aclTensor *Make(const Desc &desc) {
        if (desc.null) {
            return nullptr;
        }
        aclTensor *made = aclCreateTensor(desc.shape.data(), desc.shape.size(), desc.type, nullptr, 0, desc.format,
                                          desc.shape.data(), desc.shape.size(), nullptr);
        CHECK(made != nullptr);
        tensors_.push_back(made);
        return made;
    }
    aclIntArray *Make(const List &list) {
        if (list.null) {
            return nullptr;
        }
        aclIntArray *made = aclCreateIntArray(list.values.data(), list.values.size());
        CHECK(made != nullptr);
        lists_.push_back(made);
        return made;
    }

private:
    std::vector<aclTensor *> tensors_;
    std::vector<aclIntArray *> lists_;
};

// A row: what is broken, the code, a word of the message, and the change that breaks it.
template <typename Arguments>
struct Row {
    const char *what;
    int want;
    const char *part;
    void (*change)(Arguments &);
};

// Formats of the device's own, which no operator takes.
constexpr aclFormat kPrivateFormats[] = {
    ACL_FORMAT_NC1HWC0,         ACL_FORMAT_FRACTAL_Z,       ACL_FORMAT_NC1HWC0_C04,     ACL_FORMAT_FRACTAL_NZ,
    ACL_FORMAT_NDC1HWC0,        ACL_FRACTAL_Z_3D,           ACL_FORMAT_FRACTAL_NZ_C0_16, ACL_FORMAT_FRACTAL_NZ_C0_32,
    ACL_FORMAT_FRACTAL_NZ_C0_2, ACL_FORMAT_FRACTAL_NZ_C0_4, ACL_FORMAT_FRACTAL_NZ_C0_8};

// Makes the call once. `Arguments` has `Results results` and `int Call(Objects &, uint64_t *, aclOpExecutor **) const`.
template <typename Arguments>
void TryOnce(const Arguments &arguments, int want, const char *part, const std::string &what) {
    const uint64_t untouchedSize = 0xABCDEF;
    aclOpExecutor *const untouched = reinterpret_cast<aclOpExecutor *>(&g_checks);
    uint64_t size = untouchedSize;
    aclOpExecutor *executor = untouched;
    (void)aclGetRecentErrMsg();
    Objects objects;
    const int got = arguments.Call(objects, arguments.results.nullSize ? nullptr : &size,
                                   arguments.results.nullExecutor ? nullptr : &executor);
    if (!check_code(want, got, __FILE__, __LINE__, what.c_str())) {
        return;
    }
    if (want == 0) {
        CHECK(executor != untouched && size != untouchedSize);
        CHECK_CODE(0, aclDestroyAclOpExecutor(executor));
    } else {
        check_that(executor == untouched && size == untouchedSize, __FILE__, __LINE__,
                   (what + ": a failing call writes no result").c_str());
        check_that(message_has(part), __FILE__, __LINE__, (what + ": the message names it").c_str());
    }
}

template <typename Arguments, size_t kCount>
void TryAll(const char *name, const Arguments &good, const Row<Arguments> (&rows)[kCount]) {
    for (const Row<Arguments> &row : rows) {
        Arguments arguments = good;
        row.change(arguments);
        TryOnce(arguments, row.want, row.part, std::string(name) + ", " + row.what);
    }
}

#endif
