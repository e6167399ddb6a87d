//! The runtime behind the C functions: devices, contexts, streams, events and memory.

pub(crate) mod config;
pub(crate) mod context;
pub(crate) mod device;
pub(crate) mod event;
pub(crate) mod memory;
pub(crate) mod options;
pub(crate) mod process;
pub(crate) mod stream;
pub(crate) mod transfer;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, whether or not a thread panicked while it held the lock: everything behind a lock is changed in one step.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
