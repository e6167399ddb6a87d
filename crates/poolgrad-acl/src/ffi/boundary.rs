//! The way out: results become codes, panics become codes, and messages are kept for `aclGetRecentErrMsg`.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::codes;
use crate::fault::{Fault, Outcome};
use crate::log::{self, Level};

/// Runs the body of a C function and returns its code.
#[inline]
pub(crate) fn enter(function: &'static str, body: impl FnOnce() -> Outcome) -> i32 {
    match guarded(function, body) {
        Ok(()) => codes::SUCCESS,
        Err(code) => code,
    }
}

/// Runs the body of a C function that returns a value; `otherwise` stands for failure.
#[inline]
pub(crate) fn enter_for<T>(function: &'static str, otherwise: T, body: impl FnOnce() -> Outcome<T>) -> T {
    guarded(function, body).unwrap_or(otherwise)
}

#[inline]
fn guarded<T>(function: &'static str, body: impl FnOnce() -> Outcome<T>) -> Result<T, i32> {
    // What a panic leaves behind is never seen again: every lock is taken whether poisoned or not, and every
    // structure behind one is changed in one step.
    let result = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| Err(panicked(function)));
    if log::is_on(Level::Debug) {
        let code = result.as_ref().map_or_else(|fault| fault.code, |_| codes::SUCCESS);
        log::line(Level::Debug, &format!("debug {function} returns {code}"));
    }
    result.map_err(|fault| report(function, fault))
}

#[cold]
fn panicked(function: &str) -> Fault {
    let code = if function.starts_with("aclnn") { codes::NN_INNER } else { codes::INTERNAL_ERROR };
    Fault::new(code, "internal error: this is a bug in poolgrad, please report it")
}

/// Keeps the message, writes the line, and gives the code.
#[cold]
fn report(function: &'static str, fault: Fault) -> i32 {
    if !fault.is_logged {
        write(function, &fault);
    }
    let origin = fault.origin.unwrap_or(function);
    let kind =
        if fault.code == codes::INTERNAL_ERROR || fault.code == codes::NN_INNER { "EZ9999" } else { "EZ1001" };
    keep(format!("{kind}: [{}] {origin}: {}", fault.code, fault.text));
    fault.code
}

/// Writes a fault to standard error.
pub(crate) fn write(function: &str, fault: &Fault) {
    let origin = fault.origin.unwrap_or(function);
    log::line(Level::Error, &format!("error {} in {origin}: {}", fault.code, fault.text));
}

/// The most messages kept for a thread that never asks for them.
const MOST_MESSAGES: usize = 16;

type Messages = VecDeque<String>;

thread_local! {
    static RECENT: RefCell<Messages> = const { RefCell::new(Messages::new()) };
    /// The text that `aclGetRecentErrMsg` returned last, which stays valid until the next call.
    static RETURNED: RefCell<Option<CString>> = const { RefCell::new(None) };
}

static IS_SHARED: AtomicBool = AtomicBool::new(false);
static SHARED: Mutex<Messages> = Mutex::new(Messages::new());

/// Whether all threads share their messages, as `err_msg_mode` asks.
pub(crate) fn share_messages(is_shared: bool) {
    IS_SHARED.store(is_shared, Ordering::Relaxed);
}

fn with_messages<T>(change: impl FnOnce(&mut Messages) -> T) -> Option<T> {
    if IS_SHARED.load(Ordering::Relaxed) {
        return Some(change(&mut SHARED.lock().unwrap_or_else(PoisonError::into_inner)));
    }
    // A thread that is ending has no messages any more.
    RECENT.try_with(|recent| change(&mut recent.borrow_mut())).ok()
}

fn keep(message: String) {
    with_messages(|messages| {
        messages.truncate(MOST_MESSAGES - 1);
        messages.push_front(message);
    });
}

/// The messages since the last call, the newest first, as C wants them; null if there are none.
pub(crate) fn recent_message() -> *const c_char {
    let lines = with_messages(|messages| messages.drain(..).collect::<Vec<_>>()).unwrap_or_default();
    if lines.is_empty() {
        return ptr::null();
    }
    let text = lines.join("\n").replace('\0', " ");
    let returned = |text: CString| RETURNED.with(|returned| returned.borrow_mut().insert(text).as_ptr());
    CString::new(text).map_or(ptr::null(), returned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_newest_first_and_once() {
        enter("aclOne", || Err(Fault::new(100_000, "first")));
        enter("aclTwo", || Err(Fault::new(107_000, "second")));
        let lines = with_messages(|messages| messages.iter().cloned().collect::<Vec<_>>()).unwrap();
        assert_eq!(lines, ["EZ1001: [107000] aclTwo: second", "EZ1001: [100000] aclOne: first"]);
        assert!(!recent_message().is_null());
        assert!(recent_message().is_null());
    }

    #[test]
    fn a_panic_is_a_code() {
        assert_eq!(enter("aclnnX", || panic!("on purpose")), codes::NN_INNER);
        assert_eq!(enter("aclX", || panic!("on purpose")), codes::INTERNAL_ERROR);
        assert!(!recent_message().is_null());
    }
}
