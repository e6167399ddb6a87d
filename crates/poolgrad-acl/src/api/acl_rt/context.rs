//! Contexts and options.

use crate::codes;
use crate::fault::{Fault, Outcome};
use crate::ffi::boundary::enter;
use crate::ffi::handle::{CONTEXT, Handle, Key, Object, RUNTIME};
use crate::ffi::types::Out;
use crate::runtime::context::{self, Context, Origin};
use crate::runtime::stream::Stream;
use crate::runtime::{device, options};

/// The handle of something that was given one when it was made.
fn handle<T: Object>(key: Option<Key>) -> Handle<T> {
    key.map_or(Handle::null(), Handle::from_key)
}

#[unsafe(no_mangle)]
extern "C" fn aclrtCreateContext(context: Out<Handle<Context>>, deviceId: i32) -> i32 {
    enter("aclrtCreateContext", || {
        let place = context.place("context", RUNTIME)?;
        place.set(handle(device::create_context(deviceId)?.key()));
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtDestroyContext(context: Handle<Context>) -> i32 {
    enter("aclrtDestroyContext", || {
        let context = context.find("context", CONTEXT)?;
        if context.origin() == Origin::Default {
            let text = "context must be one that aclrtCreateContext made, got a device's default context";
            return Err(Fault::new(codes::RT_CONTEXT_NULL, text));
        }
        context.end();
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtSetCurrentContext(context: Handle<Context>) -> i32 {
    enter("aclrtSetCurrentContext", || {
        context.find("context", CONTEXT)?.select();
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtGetCurrentContext(context: Out<Handle<Context>>) -> i32 {
    enter("aclrtGetCurrentContext", || {
        let place = context.place("context", RUNTIME)?;
        place.set(handle(context::current()?.key()));
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtCtxGetCurrentDefaultStream(stream: Out<Handle<Stream>>) -> i32 {
    enter("aclrtCtxGetCurrentDefaultStream", || {
        let place = stream.place("stream", RUNTIME)?;
        place.set(handle(context::current()?.default_stream().key()));
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtGetPrimaryCtxState(deviceId: i32, flags: Out<u32>, active: Out<i32>) -> i32 {
    enter("aclrtGetPrimaryCtxState", || {
        if !flags.is_null() {
            return Err(Fault::new(codes::INVALID_PARAM, "flags must be NULL"));
        }
        let place = active.place("active", RUNTIME)?;
        place.set(i32::from(device::is_set(deviceId)?));
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtCtxSetSysParamOpt(opt: i32, value: i64) -> i32 {
    enter("aclrtCtxSetSysParamOpt", || context::current()?.options.set(opt, value))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtCtxGetSysParamOpt(opt: i32, value: Out<i64>) -> i32 {
    enter("aclrtCtxGetSysParamOpt", || {
        let place = value.place("value", RUNTIME)?;
        place.set(context::current()?.options.get(opt)?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtSetSysParamOpt(opt: i32, value: i64) -> i32 {
    enter("aclrtSetSysParamOpt", || options::set(opt, value))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtGetSysParamOpt(opt: i32, value: Out<i64>) -> i32 {
    enter("aclrtGetSysParamOpt", || -> Outcome {
        let place = value.place("value", RUNTIME)?;
        place.set(options::get(opt)?);
        Ok(())
    })
}
