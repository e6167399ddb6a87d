//! Events.

use std::sync::Arc;

use super::deadline;
use crate::codes;
use crate::fault::{Fault, Outcome};
use crate::ffi::boundary::enter;
use crate::ffi::handle::{Handle, RUNTIME};
use crate::ffi::types::Out;
use crate::runtime::context::{self, stream_or_default};
use crate::runtime::event::{self, Event, EventKind};
use crate::runtime::stream::Stream;

fn create(event: Out<Handle<Event>>, kind: EventKind, flags: u32) -> Outcome {
    let place = event.place("event", RUNTIME)?;
    context::current()?;
    place.set(Handle::new(Arc::new(Event::new(kind, flags))));
    Ok(())
}

#[unsafe(no_mangle)]
extern "C" fn aclrtCreateEvent(event: Out<Handle<Event>>) -> i32 {
    enter("aclrtCreateEvent", || create(event, EventKind::Plain, 0))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtCreateEventWithFlag(event: Out<Handle<Event>>, flag: u32) -> i32 {
    enter("aclrtCreateEventWithFlag", || create(event, EventKind::Plain, flag))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtCreateEventExWithFlag(event: Out<Handle<Event>>, flag: u32) -> i32 {
    enter("aclrtCreateEventExWithFlag", || create(event, EventKind::Extended, flag))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtDestroyEvent(event: Handle<Event>) -> i32 {
    enter("aclrtDestroyEvent", || event.remove("event", RUNTIME).map(drop))
}

fn record(event: Handle<Event>, stream: Handle<Stream>, flag: u32) -> Outcome {
    let event = event.find("event", RUNTIME)?;
    if flag > 1 {
        return Err(Fault::new(codes::INVALID_PARAM, format!("flag must be 0 or 1, got {flag}")));
    }
    let stream = stream_or_default(stream)?;
    if !context::current()?.owns(&stream) {
        let text = "stream must be one of the current context, got one of another";
        return Err(Fault::new(codes::RT_STREAM_CONTEXT, text));
    }
    event.record(&stream)
}

#[unsafe(no_mangle)]
extern "C" fn aclrtRecordEvent(event: Handle<Event>, stream: Handle<Stream>) -> i32 {
    enter("aclrtRecordEvent", || record(event, stream, 0))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtRecordEventWithFlag(event: Handle<Event>, stream: Handle<Stream>, flag: u32) -> i32 {
    enter("aclrtRecordEventWithFlag", || record(event, stream, flag))
}

/// An event of the kind that can be reset and asked in the old way.
fn plain(event: Handle<Event>) -> Outcome<Arc<Event>> {
    let event = event.find("event", RUNTIME)?;
    if event.kind() == EventKind::Extended {
        let text = "event must not be one that aclrtCreateEventExWithFlag made";
        return Err(Fault::new(codes::RT_FEATURE_NOT_SUPPORT, text));
    }
    Ok(event)
}

#[unsafe(no_mangle)]
extern "C" fn aclrtResetEvent(event: Handle<Event>, stream: Handle<Stream>) -> i32 {
    enter("aclrtResetEvent", || plain(event)?.reset(&stream_or_default(stream)?))
}

/// Returns whether an event is complete, by the number that `complete` has; the other one is `1 - complete`.
fn tell_status(event: &Event, status: Out<i32>, complete: i32) -> Outcome {
    let value = if event.is_complete() { complete } else { 1 - complete };
    status.place("status", RUNTIME)?.set(value);
    Ok(())
}

#[unsafe(no_mangle)]
extern "C" fn aclrtQueryEvent(event: Handle<Event>, status: Out<i32>) -> i32 {
    enter("aclrtQueryEvent", || tell_status(&*plain(event)?, status, 0))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtQueryEventStatus(event: Handle<Event>, status: Out<i32>) -> i32 {
    enter("aclrtQueryEventStatus", || tell_status(&*event.find("event", RUNTIME)?, status, 1))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtQueryEventWaitStatus(event: Handle<Event>, status: Out<i32>) -> i32 {
    enter("aclrtQueryEventWaitStatus", || tell_status(&*plain(event)?, status, 0))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtSynchronizeEvent(event: Handle<Event>) -> i32 {
    enter("aclrtSynchronizeEvent", || event.find("event", RUNTIME)?.synchronize(None))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtSynchronizeEventWithTimeout(event: Handle<Event>, timeout: i32) -> i32 {
    enter("aclrtSynchronizeEventWithTimeout", || {
        let event = event.find("event", RUNTIME)?;
        event.synchronize(deadline(timeout, 0)?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtEventElapsedTime(ms: Out<f32>, startEvent: Handle<Event>, endEvent: Handle<Event>) -> i32 {
    enter("aclrtEventElapsedTime", || {
        let place = ms.place("ms", RUNTIME)?;
        let (start, end) = (startEvent.find("startEvent", RUNTIME)?, endEvent.find("endEvent", RUNTIME)?);
        place.set(event::milliseconds(start.time("startEvent")?, end.time("endEvent")?));
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtEventGetTimestamp(event: Handle<Event>, timestamp: Out<u64>) -> i32 {
    enter("aclrtEventGetTimestamp", || {
        let place = timestamp.place("timestamp", RUNTIME)?;
        place.set(event::microseconds(event.find("event", RUNTIME)?.time("event")?));
        Ok(())
    })
}

/// A limit that is accepted and never reached.
#[unsafe(no_mangle)]
extern "C" fn aclrtSetOpWaitTimeout(_timeout: u32) -> i32 {
    codes::SUCCESS
}

/// A limit that is accepted and never reached.
#[unsafe(no_mangle)]
extern "C" fn aclrtSetOpExecuteTimeOut(_timeout: u32) -> i32 {
    codes::SUCCESS
}
