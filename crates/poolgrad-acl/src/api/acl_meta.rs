//! `aclnn/acl_meta.h`: tensors, arrays and lists.

mod executors;
mod getters;
mod lists;

use std::sync::Arc;

use crate::codes;
use crate::fault::{Fault, Outcome};
use crate::ffi::boundary::{enter, enter_for};
use crate::ffi::handle::{Handle, META, Object};
use crate::ffi::memory::Memory;
use crate::ffi::types::{Bytes, In};
use crate::objects::array::{Array, Flag, Scalar};
use crate::objects::tensor::{DataType, Format, Tensor, View};

/// Makes an object, or returns null.
fn create<T: Object>(function: &'static str, make: impl FnOnce() -> Outcome<T>) -> Handle<T> {
    enter_for(function, Handle::null(), || Ok(Handle::new(Arc::new(make()?))))
}

/// Ends an object; null is none, and is no error.
fn destroy<T: Object>(function: &'static str, handle: Handle<T>, name: &str) -> i32 {
    enter(function, || if handle.is_null() { Ok(()) } else { handle.remove(name, META).map(drop) })
}

/// A list of the vendor's two arguments.
fn list<T: Copy>(values: In<T>, len: u64, name: &str) -> Outcome<Box<[T]>> {
    values.list(len).ok_or_else(|| {
        let text = format!(
            "{name} must have its {len} values, got {}",
            if values.is_null() { "NULL" } else { "too many" }
        );
        Fault::new(if values.is_null() { codes::NN_PARAM_NULLPTR } else { codes::NN_PARAM_INVALID }, text)
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclCreateTensor(
    viewDims: In<i64>,
    viewDimsNum: u64,
    dataType: i32,
    stride: In<i64>,
    offset: i64,
    format: i32,
    storageDims: In<i64>,
    storageDimsNum: u64,
    tensorData: Memory,
) -> Handle<Tensor> {
    create("aclCreateTensor", || {
        let dims = list(viewDims, viewDimsNum, "viewDims")?;
        let strides = if stride.is_null() { View::contiguous(&dims) } else { list(stride, viewDimsNum, "stride")? };
        let storage_dims = list(storageDims, storageDimsNum, "storageDims")?;
        let (dtype, format) = (DataType(dataType), Format(format));
        Ok(Tensor::new(View { dims, strides, offset, dtype, format, storage_dims }, tensorData))
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclInitTensor(
    tensor: Handle<Tensor>,
    viewDims: In<i64>,
    viewDimsNum: u64,
    dataType: i32,
    stride: In<i64>,
    offset: i64,
    format: i32,
    storageDims: In<i64>,
    storageDimsNum: u64,
    tensorDataAddr: Memory,
) -> i32 {
    enter("aclInitTensor", || {
        let tensor = tensor.find("tensor", META)?;
        let old = tensor.view();
        let replaced = |values: In<i64>, len, old: &[i64], name| {
            if values.is_null() || len == 0 { Ok(old.into()) } else { list(values, len, name) }
        };
        let dims = replaced(viewDims, viewDimsNum, &old.dims, "viewDims")?;
        let strides =
            if stride.is_null() { View::contiguous(&dims) } else { list(stride, dims.len() as u64, "stride")? };
        let storage_dims = replaced(storageDims, storageDimsNum, &old.storage_dims, "storageDims")?;
        let (dtype, format) = (DataType(dataType), Format(format));
        tensor.set_view(View { dims, strides, offset, dtype, format, storage_dims });
        if !tensorDataAddr.is_null() {
            tensor.set_memory(tensorDataAddr);
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclCreateScalar(value: Bytes, dataType: i32) -> Handle<Scalar> {
    create("aclCreateScalar", || {
        let copy = value.copy(DataType(dataType).size());
        let null = || Fault::new(codes::NN_PARAM_NULLPTR, "value must not be NULL");
        copy.map(Scalar).ok_or_else(null)
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclCreateIntArray(value: In<i64>, size: u64) -> Handle<Array<i64>> {
    create("aclCreateIntArray", || list(value, size, "value").map(Array))
}

#[unsafe(no_mangle)]
extern "C" fn aclCreateFloatArray(value: In<f32>, size: u64) -> Handle<Array<f32>> {
    create("aclCreateFloatArray", || list(value, size, "value").map(Array))
}

#[unsafe(no_mangle)]
extern "C" fn aclCreateBoolArray(value: In<Flag>, size: u64) -> Handle<Array<Flag>> {
    create("aclCreateBoolArray", || list(value, size, "value").map(Array))
}

#[unsafe(no_mangle)]
extern "C" fn aclDestroyTensor(tensor: Handle<Tensor>) -> i32 {
    destroy("aclDestroyTensor", tensor, "tensor")
}

#[unsafe(no_mangle)]
extern "C" fn aclDestroyScalar(scalar: Handle<Scalar>) -> i32 {
    destroy("aclDestroyScalar", scalar, "scalar")
}

#[unsafe(no_mangle)]
extern "C" fn aclDestroyIntArray(array: Handle<Array<i64>>) -> i32 {
    destroy("aclDestroyIntArray", array, "array")
}

#[unsafe(no_mangle)]
extern "C" fn aclDestroyFloatArray(array: Handle<Array<f32>>) -> i32 {
    destroy("aclDestroyFloatArray", array, "array")
}

#[unsafe(no_mangle)]
extern "C" fn aclDestroyBoolArray(array: Handle<Array<Flag>>) -> i32 {
    destroy("aclDestroyBoolArray", array, "array")
}
