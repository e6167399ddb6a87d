//! `acl/acl_base_mdl.h`: data buffers.

use std::sync::{Arc, Mutex};

use crate::ffi::boundary::{enter, enter_for};
use crate::ffi::handle::{Handle, RUNTIME};
use crate::ffi::memory::Memory;
use crate::objects::buffer::Buffer;
use crate::runtime::lock;

#[unsafe(no_mangle)]
extern "C" fn aclCreateDataBuffer(data: Memory, size: usize) -> Handle<Buffer> {
    let buffer = || Ok(Handle::new(Arc::new(Buffer(Mutex::new((data, size))))));
    enter_for("aclCreateDataBuffer", Handle::null(), buffer)
}

#[unsafe(no_mangle)]
extern "C" fn aclDestroyDataBuffer(dataBuffer: Handle<Buffer>) -> i32 {
    enter("aclDestroyDataBuffer", || dataBuffer.remove("dataBuffer", RUNTIME).map(drop))
}

#[unsafe(no_mangle)]
extern "C" fn aclUpdateDataBuffer(dataBuffer: Handle<Buffer>, data: Memory, size: usize) -> i32 {
    enter("aclUpdateDataBuffer", || {
        *lock(&dataBuffer.find("dataBuffer", RUNTIME)?.0) = (data, size);
        Ok(())
    })
}

/// What a buffer holds; nothing for null, which is no error here.
fn contents(function: &'static str, buffer: Handle<Buffer>) -> (Memory, usize) {
    if buffer.is_null() {
        return (Memory::NULL, 0);
    }
    enter_for(function, (Memory::NULL, 0), || Ok(*lock(&buffer.find("dataBuffer", RUNTIME)?.0)))
}

#[unsafe(no_mangle)]
extern "C" fn aclGetDataBufferAddr(dataBuffer: Handle<Buffer>) -> Memory {
    contents("aclGetDataBufferAddr", dataBuffer).0
}

#[unsafe(no_mangle)]
extern "C" fn aclGetDataBufferSize(dataBuffer: Handle<Buffer>) -> u32 {
    contents("aclGetDataBufferSize", dataBuffer).1 as u32
}

#[unsafe(no_mangle)]
extern "C" fn aclGetDataBufferSizeV2(dataBuffer: Handle<Buffer>) -> usize {
    contents("aclGetDataBufferSizeV2", dataBuffer).1
}
