//! `acl/acl_rt.h`, in the groups that the header has.

mod context;
mod device;
mod event;
mod memory;
mod process;
mod stream;

use std::time::{Duration, Instant};

use crate::fault::{Fault, Outcome};

/// When a timeout in milliseconds ends; −1 is never. `least` is the smallest other value that makes sense.
fn deadline(timeout: i32, least: i32) -> Outcome<Option<Instant>> {
    if timeout == -1 {
        return Ok(None);
    }
    if timeout < least {
        let text = format!("timeout must be -1 or at least {least}, got {timeout}");
        return Err(Fault::new(crate::codes::RT_PARAM_INVALID, text));
    }
    Ok(Instant::now().checked_add(Duration::from_millis(timeout.unsigned_abs().into())))
}
