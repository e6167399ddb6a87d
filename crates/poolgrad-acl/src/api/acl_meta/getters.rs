//! What a tensor is.

use crate::codes;
use crate::fault::{Fault, Outcome};
use crate::ffi::boundary::enter;
use crate::ffi::handle::{Handle, META};
use crate::ffi::memory::{self, Memory, Owned};
use crate::ffi::types::Out;
use crate::objects::tensor::{Tensor, View};

/// An argument with its name.
type Named<'a, T> = (T, &'a str);

/// Returns a list of a tensor's, in memory that C++ ends with `delete[]`.
fn tell_list(
    function: &'static str,
    tensor: Handle<Tensor>,
    (values, n_values): (Named<'_, Out<Owned>>, Named<'_, Out<u64>>),
    list: impl FnOnce(&View) -> &[i64],
) -> i32 {
    enter(function, || {
        let view = tensor.find("tensor", META)?.view();
        let (values, n_values) = (values.0.place(values.1, META)?, n_values.0.place(n_values.1, META)?);
        let list = list(&view);
        let out_of_memory = || Fault::new(codes::NN_INNER, "there is no memory for the list");
        values.set(memory::for_delete(list).ok_or_else(out_of_memory)?);
        n_values.set(list.len() as u64);
        Ok(())
    })
}

/// Returns a number of a tensor's.
fn tell<T>(
    function: &'static str,
    tensor: Handle<Tensor>,
    (place, name): (Out<T>, &str),
    value: impl FnOnce(&View) -> T,
) -> i32 {
    enter(function, || -> Outcome {
        let view = tensor.find("tensor", META)?.view();
        place.place(name, META)?.set(value(&view));
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclGetViewShape(tensor: Handle<Tensor>, viewDims: Out<Owned>, viewDimsNum: Out<u64>) -> i32 {
    let places = ((viewDims, "viewDims"), (viewDimsNum, "viewDimsNum"));
    tell_list("aclGetViewShape", tensor, places, |view| &view.dims)
}

#[unsafe(no_mangle)]
extern "C" fn aclGetStorageShape(tensor: Handle<Tensor>, storageDims: Out<Owned>, storageDimsNum: Out<u64>) -> i32 {
    let places = ((storageDims, "storageDims"), (storageDimsNum, "storageDimsNum"));
    tell_list("aclGetStorageShape", tensor, places, |view| &view.storage_dims)
}

#[unsafe(no_mangle)]
extern "C" fn aclGetViewStrides(tensor: Handle<Tensor>, stridesValue: Out<Owned>, stridesNum: Out<u64>) -> i32 {
    let places = ((stridesValue, "stridesValue"), (stridesNum, "stridesNum"));
    tell_list("aclGetViewStrides", tensor, places, |view| &view.strides)
}

#[unsafe(no_mangle)]
extern "C" fn aclGetViewOffset(tensor: Handle<Tensor>, offset: Out<i64>) -> i32 {
    tell("aclGetViewOffset", tensor, (offset, "offset"), |view| view.offset)
}

#[unsafe(no_mangle)]
extern "C" fn aclGetFormat(tensor: Handle<Tensor>, format: Out<i32>) -> i32 {
    tell("aclGetFormat", tensor, (format, "format"), |view| view.format.0)
}

#[unsafe(no_mangle)]
extern "C" fn aclGetDataType(tensor: Handle<Tensor>, dataType: Out<i32>) -> i32 {
    tell("aclGetDataType", tensor, (dataType, "dataType"), |view| view.dtype.0)
}

#[unsafe(no_mangle)]
extern "C" fn aclSetRawTensorAddr(tensor: Handle<Tensor>, addr: Memory) -> i32 {
    enter("aclSetRawTensorAddr", || {
        tensor.find("tensor", META)?.set_memory(addr);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclGetRawTensorAddr(tensor: Handle<Tensor>, addr: Out<Memory>) -> i32 {
    enter("aclGetRawTensorAddr", || {
        let tensor = tensor.find("tensor", META)?;
        addr.place("addr", META)?.set(tensor.memory());
        Ok(())
    })
}
