// Tensors, arrays and scalars: what they keep, what their getters give, and conversions of numbers.
#include <cmath>
#include <initializer_list>
#include <limits>
#include <memory>

#include "aclnn/aclnn_base.h"
#include "operand.h"

namespace {

void Shapes() {
    const int64_t view[] = {2, 3}, strides[] = {1, 2}, storage[] = {3, 2};
    float data[6];
    aclTensor *tensor = aclCreateTensor(view, 2, ACL_FLOAT, strides, 5, ACL_FORMAT_NCHW, storage, 2, data);
    int64_t *values = nullptr;
    uint64_t count = 0;
    CHECK_CODE(0, aclGetViewShape(tensor, &values, &count));
    CHECK(count == 2 && values[0] == 2 && values[1] == 3);
    delete[] values;
    CHECK_CODE(0, aclGetViewStrides(tensor, &values, &count));
    CHECK(count == 2 && values[0] == 1 && values[1] == 2);
    delete[] values;
    CHECK_CODE(0, aclGetStorageShape(tensor, &values, &count));
    CHECK(count == 2 && values[0] == 3 && values[1] == 2);
    delete[] values;
    int64_t offset = 0;
    aclFormat format;
    aclDataType type;
    void *address = nullptr;
    CHECK_CODE(0, aclGetViewOffset(tensor, &offset));
    CHECK_CODE(0, aclGetFormat(tensor, &format));
    CHECK_CODE(0, aclGetDataType(tensor, &type));
    CHECK_CODE(0, aclGetRawTensorAddr(tensor, &address));
    CHECK(offset == 5 && format == ACL_FORMAT_NCHW && type == ACL_FLOAT && address == data);
    CHECK_CODE(161001, aclGetViewShape(nullptr, &values, &count));
    CHECK_CODE(161001, aclGetViewShape(tensor, nullptr, &count));
    CHECK_CODE(161001, aclGetViewOffset(tensor, nullptr));
    CHECK_CODE(161001, aclGetRawTensorAddr(tensor, nullptr));
    CHECK_CODE(161001, aclSetRawTensorAddr(nullptr, data));
    CHECK_CODE(161001, aclInitTensor(nullptr, view, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, view, 2, data));

    // New sizes, hence contiguous; the address stays because none is given.
    const int64_t wide[] = {4, 5, 6};
    CHECK_CODE(0, aclInitTensor(tensor, wide, 3, ACL_BF16, nullptr, 1, ACL_FORMAT_ND, nullptr, 0, nullptr));
    CHECK_CODE(0, aclGetViewStrides(tensor, &values, &count));
    CHECK(count == 3 && values[0] == 30 && values[1] == 6 && values[2] == 1);
    delete[] values;
    CHECK_CODE(0, aclGetRawTensorAddr(tensor, &address));
    CHECK_CODE(0, aclGetDataType(tensor, &type));
    CHECK(address == data && type == ACL_BF16);
    CHECK_CODE(0, aclSetRawTensorAddr(tensor, data + 1));
    CHECK_CODE(0, aclGetRawTensorAddr(tensor, &address));
    CHECK(address == data + 1);
    CHECK_CODE(0, aclDestroyTensor(tensor));
}

void OddTensors() {
    const int64_t shape[] = {2, 3};
    CHECK(aclCreateTensor(nullptr, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape, 2, nullptr) == nullptr);
    CHECK(aclCreateTensor(shape, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 2, nullptr) == nullptr);
    // Described as they come; operators decide.
    const int64_t negative[] = {2, -3};
    for (aclFormat format : {ACL_FORMAT_UNDEFINED, ACL_FORMAT_FRACTAL_NZ}) {
        aclTensor *tensor = aclCreateTensor(negative, 2, ACL_STRING, nullptr, -9, format, shape, 2, nullptr);
        CHECK(tensor != nullptr);
        CHECK_CODE(0, aclDestroyTensor(tensor));
    }
    aclTensor *scalar = aclCreateTensor(nullptr, 0, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, nullptr);
    CHECK(scalar != nullptr);
    // The prototype that C++ programs rely on when they leave the end to a smart pointer.
    std::unique_ptr<aclTensor, aclnnStatus (*)(const aclTensor *)> owner(scalar, aclDestroyTensor);
}

void Arrays() {
    const int64_t integers[] = {1, 2, 3};
    const float floats[] = {1, 2};
    const bool booleans[] = {true};
    uint64_t size = 9;
    aclIntArray *none = aclCreateIntArray(nullptr, 0);
    CHECK(none != nullptr);
    CHECK_CODE(0, aclGetIntArraySize(none, &size));
    CHECK(size == 0);
    CHECK_CODE(0, aclDestroyIntArray(none));
    CHECK(aclCreateIntArray(nullptr, 3) == nullptr);
    aclIntArray *three = aclCreateIntArray(integers, 3);
    CHECK_CODE(0, aclGetIntArraySize(three, &size));
    CHECK(size == 3);
    CHECK_CODE(161001, aclGetIntArraySize(nullptr, &size));
    CHECK_CODE(161001, aclGetIntArraySize(three, nullptr));
    CHECK_CODE(0, aclDestroyIntArray(three));
    aclFloatArray *two = aclCreateFloatArray(floats, 2);
    CHECK_CODE(0, aclGetFloatArraySize(two, &size));
    CHECK(size == 2);
    CHECK_CODE(0, aclDestroyFloatArray(two));
    aclBoolArray *one = aclCreateBoolArray(booleans, 1);
    CHECK_CODE(0, aclGetBoolArraySize(one, &size));
    CHECK(size == 1);
    CHECK_CODE(0, aclDestroyBoolArray(one));
}

void Lists() {
    float value = 1.5F;
    const int64_t shape[] = {1};
    aclTensor *tensors[] = {aclCreateTensor(shape, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape, 1, &value),
                            aclCreateTensor(shape, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape, 1, &value)};
    aclTensorList *list = aclCreateTensorList(tensors, 2);
    uint64_t size = 0;
    CHECK_CODE(0, aclGetTensorListSize(list, &size));
    CHECK(size == 2);
    // The tensors end with the list.
    CHECK_CODE(0, aclDestroyTensorList(list));
    aclFormat format;
    CHECK(aclGetFormat(tensors[0], &format) != 0);

    CHECK(aclCreateScalar(nullptr, ACL_FLOAT) == nullptr);
    aclScalar *scalars[] = {aclCreateScalar(&value, ACL_FLOAT)};
    aclScalarList *scalarList = aclCreateScalarList(scalars, 1);
    CHECK_CODE(0, aclGetScalarListSize(scalarList, &size));
    CHECK(size == 1);
    CHECK_CODE(0, aclDestroyScalarList(scalarList));
    aclScalar *lone = aclCreateScalar(&value, ACL_FLOAT);
    CHECK_CODE(0, aclDestroyScalar(lone));
}

void Numbers() {
    CHECK(aclFloatToFloat16(1.0F) == 0x3C00 && aclFloat16ToFloat(0x3C00) == 1.0F);
    CHECK(aclFloat16ToFloat(0x0001) == std::ldexp(1.0F, -24));
    CHECK(aclFloat16ToFloat(0xC000) == -2.0F);
    // Too large becomes the largest.
    CHECK(aclFloat16ToFloat(aclFloatToFloat16(1e6F)) == 65504.0F);
    CHECK(aclFloat16ToFloat(aclFloatToFloat16(-std::numeric_limits<float>::infinity())) == -65504.0F);
    CHECK(std::isinf(aclFloat16ToFloat(0x7C00)) && std::isnan(aclFloat16ToFloat(0x7E00)));
    const struct {
        aclDataType type;
        size_t size;
    } sizes[] = {{ACL_DT_UNDEFINED, 0}, {ACL_STRING, 0},    {ACL_BOOL, 1},       {ACL_INT4, 1},   {ACL_INT8, 1},
                 {ACL_FLOAT16, 2},      {ACL_BF16, 2},      {ACL_INT16, 2},      {ACL_FLOAT, 4},  {ACL_INT32, 4},
                 {ACL_COMPLEX32, 4},    {ACL_DOUBLE, 8},    {ACL_INT64, 8},      {ACL_UINT64, 8}, {ACL_COMPLEX64, 8},
                 {ACL_COMPLEX128, 16},  {ACL_HIFLOAT8, 1}};
    for (const auto &row : sizes) {
        CHECK_CODE(row.size, aclDataTypeSize(row.type));
    }
}

void Buffers() {
    int data[4];
    aclDataBuffer *buffer = aclCreateDataBuffer(data, sizeof data);
    CHECK(aclGetDataBufferAddr(buffer) == data && aclGetDataBufferSizeV2(buffer) == sizeof data);
    CHECK_CODE(0, aclUpdateDataBuffer(buffer, data + 1, 4));
    CHECK(aclGetDataBufferAddr(buffer) == data + 1 && aclGetDataBufferSize(buffer) == 4);
    CHECK_CODE(0, aclDestroyDataBuffer(buffer));
    CHECK_CODE(100000, aclDestroyDataBuffer(nullptr));
    CHECK(aclGetDataBufferAddr(nullptr) == nullptr && aclGetDataBufferSizeV2(nullptr) == 0);
}

}  // namespace

int main() {
    CHECK_CODE(0, aclnnInit(nullptr));
    CHECK_CODE(0, aclnnInit(nullptr));
    Shapes();
    OddTensors();
    Arrays();
    Lists();
    Numbers();
    Buffers();
    CHECK_CODE(0, aclnnFinalize());
    return finish();
}
