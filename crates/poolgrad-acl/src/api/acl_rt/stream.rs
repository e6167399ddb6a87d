//! Streams.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::deadline;
use crate::codes;
use crate::fault::{Fault, Outcome};
use crate::ffi::boundary::{enter, enter_for};
use crate::ffi::handle::{Handle, Object, RUNTIME, Registry};
use crate::ffi::memory::Memory;
use crate::ffi::types::{Bytes, Out};
use crate::runtime::context::{self, stream_or_default};
use crate::runtime::event::Event;
use crate::runtime::lock;
use crate::runtime::stream::{self, StopsOnFailure, Stream, StreamConfig, Waiting};

/// What a stream is to be made with, filled one attribute at a time.
struct ConfigHandle(Mutex<StreamConfig>);

impl Object for ConfigHandle {
    const NAME: &'static str = "stream configuration";
    const KIND: usize = 13;
    fn registry() -> &'static Registry<Self> {
        static CONFIGS: Registry<ConfigHandle> = Registry::new();
        &CONFIGS
    }
}

/// Streams of these kinds are not waited for: nothing on them ever counts as finished.
const UNWAITED: u32 = 0x4 | 0x10 | 0x20;

fn create(place: Out<Handle<Stream>>, config: StreamConfig) -> Outcome {
    let place = place.place("stream", RUNTIME)?;
    let stream = context::current()?.create_stream(config)?;
    place.set(stream.key().map_or(Handle::null(), Handle::from_key));
    Ok(())
}

#[unsafe(no_mangle)]
extern "C" fn aclrtCreateStream(stream: Out<Handle<Stream>>) -> i32 {
    enter("aclrtCreateStream", || create(stream, StreamConfig::default()))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtCreateStreamWithConfig(stream: Out<Handle<Stream>>, priority: u32, flag: u32) -> i32 {
    enter("aclrtCreateStreamWithConfig", || create(stream, StreamConfig { priority, flags: flag }))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtCreateStreamConfigHandle() -> Handle<ConfigHandle> {
    let make = || Ok(Handle::new(Arc::new(ConfigHandle(Mutex::default()))));
    enter_for("aclrtCreateStreamConfigHandle", Handle::null(), make)
}

#[unsafe(no_mangle)]
extern "C" fn aclrtDestroyStreamConfigHandle(handle: Handle<ConfigHandle>) -> i32 {
    enter("aclrtDestroyStreamConfigHandle", || handle.remove("handle", RUNTIME).map(drop))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtSetStreamConfigOpt(
    handle: Handle<ConfigHandle>,
    attr: i32,
    attrValue: Bytes,
    valueSize: usize,
) -> i32 {
    enter("aclrtSetStreamConfigOpt", || {
        let config = handle.find("handle", RUNTIME)?;
        let is_number = attr == 2 || attr == 3;
        let wanted = if is_number { size_of::<u32>() } else { size_of::<Memory>() };
        if !(0..=3).contains(&attr) || valueSize != wanted {
            let text = format!("attr must be from 0 to 3 with its size, got {attr} with {valueSize} bytes");
            return Err(Fault::new(codes::INVALID_PARAM, text));
        }
        let null = || Fault::new(codes::INVALID_PARAM, "attrValue must not be NULL");
        let value = attrValue.copy(valueSize).ok_or_else(null)?;
        // The address and size of work memory have no use here.
        if let Some(value) = value.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes)).filter(|_| is_number) {
            let mut config = lock(&config.0);
            if attr == 2 { config.flags = value } else { config.priority = value }
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtCreateStreamV2(stream: Out<Handle<Stream>>, handle: Handle<ConfigHandle>) -> i32 {
    enter("aclrtCreateStreamV2", || {
        let config = *lock(&handle.find("handle", RUNTIME)?.0);
        create(stream, config)
    })
}

fn destroy(stream: Handle<Stream>, waiting: Waiting) -> Outcome {
    let found = stream.find("stream", RUNTIME);
    // NULL is told before the lack of a context, a dead handle after it.
    if stream.is_null() {
        return found.map(drop);
    }
    context::current()?.destroy_stream(&found?, waiting)
}

#[unsafe(no_mangle)]
extern "C" fn aclrtDestroyStream(stream: Handle<Stream>) -> i32 {
    enter("aclrtDestroyStream", || destroy(stream, Waiting::Run))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtDestroyStreamForce(stream: Handle<Stream>) -> i32 {
    enter("aclrtDestroyStreamForce", || destroy(stream, Waiting::Drop))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtSynchronizeStream(stream: Handle<Stream>) -> i32 {
    enter("aclrtSynchronizeStream", || {
        let stream = stream_or_default(stream)?;
        if stream.config().flags & UNWAITED != 0 { Ok(()) } else { stream.synchronize(None) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtSynchronizeStreamWithTimeout(stream: Handle<Stream>, timeout: i32) -> i32 {
    enter("aclrtSynchronizeStreamWithTimeout", || {
        let deadline = deadline(timeout, 1)?;
        let stream = stream_or_default(stream)?;
        if stream.config().flags & UNWAITED != 0 { Ok(()) } else { stream.synchronize(deadline) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtStreamQuery(stream: Handle<Stream>, status: Out<i32>) -> i32 {
    enter("aclrtStreamQuery", || {
        let place = status.place("status", RUNTIME)?;
        place.set(i32::from(!stream_or_default(stream)?.is_done()));
        Ok(())
    })
}

fn wait_event(stream: Handle<Stream>, event: Handle<Event>, limit: Option<Duration>) -> Outcome {
    let event = event.find("event", RUNTIME)?;
    event.hold(&stream_or_default(stream)?, limit)
}

#[unsafe(no_mangle)]
extern "C" fn aclrtStreamWaitEvent(stream: Handle<Stream>, event: Handle<Event>) -> i32 {
    enter("aclrtStreamWaitEvent", || wait_event(stream, event, None))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtStreamWaitEventWithTimeout(stream: Handle<Stream>, event: Handle<Event>, timeout: i32) -> i32 {
    enter("aclrtStreamWaitEventWithTimeout", || {
        let limit = deadline(timeout, 0)?.map(|_| Duration::from_millis(timeout.unsigned_abs().into()));
        wait_event(stream, event, limit)
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtStreamWaitEventWithFlag(
    stream: Handle<Stream>,
    event: Handle<Event>,
    timeout: u32,
    flag: u32,
) -> i32 {
    enter("aclrtStreamWaitEventWithFlag", || {
        if !event.is_null() && flag > 1 {
            return Err(Fault::new(codes::INVALID_PARAM, format!("flag must be 0 or 1, got {flag}")));
        }
        // 0 and the largest value are no limit.
        let limit = Some(timeout).filter(|&timeout| timeout != 0 && timeout != u32::MAX);
        wait_event(stream, event, limit.map(|timeout| Duration::from_millis(timeout.into())))
    })
}

/// Returns a number of a stream's.
fn tell<T>(
    function: &'static str,
    stream: Handle<Stream>,
    (place, name): (Out<T>, &str),
    value: impl FnOnce(&Stream) -> T,
) -> i32 {
    enter(function, || -> Outcome {
        let place = place.place(name, RUNTIME)?;
        let stream = stream_or_default(stream)?;
        place.set(value(&stream));
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtStreamGetId(stream: Handle<Stream>, streamId: Out<i32>) -> i32 {
    tell("aclrtStreamGetId", stream, (streamId, "streamId"), |stream| stream.id() as i32)
}

#[unsafe(no_mangle)]
extern "C" fn aclrtGetStreamAvailableNum(streamCount: Out<u32>) -> i32 {
    enter("aclrtGetStreamAvailableNum", || {
        let place = streamCount.place("streamCount", RUNTIME)?;
        context::current()?;
        place.set(stream::n_available() as u32);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtStreamGetPriority(stream: Handle<Stream>, priority: Out<u32>) -> i32 {
    tell("aclrtStreamGetPriority", stream, (priority, "priority"), |stream| stream.config().priority)
}

#[unsafe(no_mangle)]
extern "C" fn aclrtStreamGetFlags(stream: Handle<Stream>, flags: Out<u32>) -> i32 {
    tell("aclrtStreamGetFlags", stream, (flags, "flags"), |stream| stream.config().flags)
}

#[unsafe(no_mangle)]
extern "C" fn aclrtSetStreamFailureMode(stream: Handle<Stream>, mode: u64) -> i32 {
    enter("aclrtSetStreamFailureMode", || {
        let stream = stream_or_default(stream)?;
        if mode > 1 {
            return Err(Fault::new(codes::INVALID_PARAM, format!("mode must be 0 or 1, got {mode}")));
        }
        stream.set_stops_on_failure(StopsOnFailure(mode == 1));
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtStreamAbort(stream: Handle<Stream>) -> i32 {
    enter("aclrtStreamAbort", || {
        stream_or_default(stream)?.abort();
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtSetStreamOverflowSwitch(stream: Handle<Stream>, flag: u32) -> i32 {
    enter("aclrtSetStreamOverflowSwitch", || {
        let stream = stream_or_default(stream)?;
        if flag > 1 {
            return Err(Fault::new(codes::INVALID_PARAM, format!("flag must be 0 or 1, got {flag}")));
        }
        stream.overflow_switch(Some(flag));
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtGetStreamOverflowSwitch(stream: Handle<Stream>, flag: Out<u32>) -> i32 {
    tell("aclrtGetStreamOverflowSwitch", stream, (flag, "flag"), |stream| stream.overflow_switch(None))
}
