//! Devices: how often each is set, and the contexts on it.

use std::sync::{Arc, Mutex, Weak};
use std::time::Instant;

use super::context::{Context, Origin};
use super::lock;
use super::stream::Stream;
use crate::codes;
use crate::fault::{Fault, Outcome};
use crate::settings::settings;

#[derive(Default)]
struct Device {
    n_set: u64,
    default: Option<Arc<Context>>,
    contexts: Vec<Weak<Context>>,
}

static DEVICES: Mutex<Vec<Device>> = Mutex::new(Vec::new());

/// Finds a device and changes it in one step.
fn with_device<T>(id: i32, change: impl FnOnce(&mut Device) -> Outcome<T>) -> Outcome<T> {
    let at = check(id)?;
    let mut devices = lock(&DEVICES);
    if devices.len() <= at {
        devices.resize_with(at + 1, Device::default);
    }
    change(&mut devices[at])
}

/// The device's place, if there is such a device.
pub(crate) fn check(id: i32) -> Outcome<usize> {
    let n_devices = settings().n_devices;
    if 0 <= id && id < n_devices {
        return Ok(id as usize);
    }
    let text = format!("deviceId must be at least 0 and below {n_devices}, got {id}");
    Err(Fault::new(codes::RT_INVALID_DEVICEID, text))
}

impl Device {
    fn add(&mut self, context: &Arc<Context>) {
        self.contexts.retain(|context| context.strong_count() > 0);
        self.contexts.push(Arc::downgrade(context));
    }
}

/// Makes a device and its default context the calling thread's.
pub(crate) fn set(id: i32) -> Outcome {
    let context = with_device(id, |device| {
        let context = match &device.default {
            Some(context) => Arc::clone(context),
            None => {
                let context = Context::new(id, Origin::Default)?;
                device.add(&context);
                device.default.insert(context).clone()
            }
        };
        device.n_set += 1;
        Ok(context)
    })?;
    context.select();
    Ok(())
}

/// How much of a device a reset takes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reset {
    /// One call of [`set`].
    One,
    /// All of them.
    All,
}

/// Takes calls of [`set`] back; the last one ends the default context.
pub(crate) fn reset(id: i32, how: Reset) -> Outcome {
    let ended = with_device(id, |device| {
        if device.n_set == 0 {
            let text = format!("device {id} is not set, or is reset already");
            return Err(Fault::new(codes::RT_CONTEXT_RELEASE_ERROR, text));
        }
        device.n_set = if how == Reset::All { 0 } else { device.n_set - 1 };
        Ok(if device.n_set == 0 { device.default.take() } else { None })
    })?;
    if let Some(context) = ended {
        context.end();
    }
    Ok(())
}

/// A context of the program's own, which becomes the calling thread's.
pub(crate) fn create_context(id: i32) -> Outcome<Arc<Context>> {
    check(id)?;
    let context = Context::new(id, Origin::Created)?;
    with_device(id, |device| {
        device.add(&context);
        Ok(())
    })?;
    context.select();
    Ok(context)
}

/// Whether the default context of a device exists.
pub(crate) fn is_set(id: i32) -> Outcome<bool> {
    with_device(id, |device| Ok(device.n_set > 0))
}

fn streams(id: i32) -> Outcome<Vec<Arc<Stream>>> {
    let contexts: Vec<_> =
        with_device(id, |device| Ok(device.contexts.iter().filter_map(Weak::upgrade).collect()))?;
    Ok(contexts.iter().flat_map(|context| context.streams()).collect())
}

/// Waits for everything given to a device so far, and reports a failure.
pub(crate) fn synchronize(id: i32, deadline: Option<Instant>) -> Outcome {
    let marks: Vec<_> = streams(id)?.into_iter().map(|stream| (stream.n_given(), stream)).collect();
    for (number, stream) in &marks {
        if !stream.wait(*number, deadline) {
            let text = format!("stream {} of device {id} was not done in time", stream.id());
            return Err(Fault::new(codes::RT_STREAM_SYNC_TIMEOUT, text));
        }
    }
    // Each stream's failure is told by this call or the next ones: none is lost.
    marks.iter().try_for_each(|(number, stream)| stream.take_failure(*number))
}

/// Waits for all work everywhere, and for the streams' threads to end.
pub(crate) fn retire_all() {
    for id in 0..settings().n_devices {
        for stream in streams(id).unwrap_or_default() {
            stream.retire();
        }
    }
}
