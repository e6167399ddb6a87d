//! Lists of tensors and of scalars.

use super::{create, list};
use crate::codes;
use crate::fault::Outcome;
use crate::ffi::boundary::enter;
use crate::ffi::handle::{ARGUMENT, Handle, META, Object};
use crate::ffi::types::{In, Out};
use crate::objects::array::{Array, Flag, Scalar};
use crate::objects::list::List;
use crate::objects::tensor::Tensor;

#[unsafe(no_mangle)]
extern "C" fn aclCreateTensorList(value: In<Handle<Tensor>>, size: u64) -> Handle<List<Tensor>> {
    create("aclCreateTensorList", || Ok(List::new(&list(value, size, "value")?)))
}

#[unsafe(no_mangle)]
extern "C" fn aclCreateScalarList(value: In<Handle<Scalar>>, size: u64) -> Handle<List<Scalar>> {
    create("aclCreateScalarList", || Ok(List::new(&list(value, size, "value")?)))
}

#[unsafe(no_mangle)]
extern "C" fn aclDestroyTensorList(array: Handle<List<Tensor>>) -> i32 {
    destroy_with_elements("aclDestroyTensorList", array)
}

#[unsafe(no_mangle)]
extern "C" fn aclDestroyScalarList(array: Handle<List<Scalar>>) -> i32 {
    destroy_with_elements("aclDestroyScalarList", array)
}

/// Ends a list and what it holds; an element that was ended before is passed over, as NULL is.
fn destroy_with_elements<T: Object>(function: &'static str, handle: Handle<List<T>>) -> i32
where
    List<T>: Object,
{
    enter(function, || {
        if !handle.is_null() {
            let elements = handle.remove("array", META)?;
            elements.handles().for_each(|element| drop(element.remove("element", META)));
        }
        Ok(())
    })
}

/// Returns a length.
fn tell_size<T: Object>(
    function: &'static str,
    (handle, name): (Handle<T>, &str),
    size: Out<u64>,
    len: impl FnOnce(&T) -> usize,
) -> i32 {
    enter(function, || -> Outcome {
        let object = handle.find(name, META)?;
        size.place("size", ARGUMENT)?.set(len(&object) as u64);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclGetIntArraySize(array: Handle<Array<i64>>, size: Out<u64>) -> i32 {
    tell_size("aclGetIntArraySize", (array, "array"), size, |array| array.0.len())
}

#[unsafe(no_mangle)]
extern "C" fn aclGetFloatArraySize(array: Handle<Array<f32>>, size: Out<u64>) -> i32 {
    tell_size("aclGetFloatArraySize", (array, "array"), size, |array| array.0.len())
}

#[unsafe(no_mangle)]
extern "C" fn aclGetBoolArraySize(array: Handle<Array<Flag>>, size: Out<u64>) -> i32 {
    tell_size("aclGetBoolArraySize", (array, "array"), size, |array| array.0.len())
}

#[unsafe(no_mangle)]
extern "C" fn aclGetTensorListSize(tensorList: Handle<List<Tensor>>, size: Out<u64>) -> i32 {
    tell_size("aclGetTensorListSize", (tensorList, "tensorList"), size, |list| list.handles().len())
}

#[unsafe(no_mangle)]
extern "C" fn aclGetScalarListSize(scalarList: Handle<List<Scalar>>, size: Out<u64>) -> i32 {
    tell_size("aclGetScalarListSize", (scalarList, "scalarList"), size, |list| list.handles().len())
}

/// Dumps nothing.
#[unsafe(no_mangle)]
extern "C" fn aclDumpOpTensors(
    _opType: crate::ffi::types::Text,
    _opName: crate::ffi::types::Text,
    _tensors: Out<Handle<Tensor>>,
    _inputTensorNum: usize,
    _outputTensorNum: usize,
    _stream: Handle<crate::runtime::stream::Stream>,
) -> i32 {
    codes::SUCCESS
}
