//! Options of the process and of contexts, which are kept and returned; no result depends on them.

use std::sync::Mutex;

use super::lock;
use crate::codes;
use crate::fault::{Fault, Outcome};

/// The options: determinism, debug kernels, strong consistency, early start of kernels.
const N_OPTIONS: usize = 4;
/// Contexts have all but the last.
const N_CONTEXT_OPTIONS: usize = 3;

/// Options of one context; unset until they are set.
#[derive(Default)]
pub(crate) struct ContextOptions(Mutex<[Option<i64>; N_CONTEXT_OPTIONS]>);

static PROCESS: Mutex<[i64; N_OPTIONS]> = Mutex::new([0; N_OPTIONS]);

fn place(option: i32, n_options: usize) -> Outcome<usize> {
    usize::try_from(option).ok().filter(|at| *at < n_options).ok_or_else(|| {
        Fault::new(codes::INVALID_PARAM, format!("opt must be at least 0 and below {n_options}, got {option}"))
    })
}

fn check(at: usize, value: i64) -> Outcome {
    let end = if at == 0 { 4 } else { 2 };
    if (0..end).contains(&value) {
        return Ok(());
    }
    Err(Fault::new(codes::RT_PARAM_INVALID, format!("value must be at least 0 and below {end}, got {value}")))
}

impl ContextOptions {
    /// Sets an option here and, as CANN does, for the process.
    pub(crate) fn set(&self, option: i32, value: i64) -> Outcome {
        let at = place(option, N_CONTEXT_OPTIONS)?;
        check(at, value)?;
        lock(&self.0)[at] = Some(value);
        lock(&PROCESS)[at] = value;
        Ok(())
    }

    pub(crate) fn get(&self, option: i32) -> Outcome<i64> {
        let at = place(option, N_CONTEXT_OPTIONS)?;
        let unset =
            || Fault::new(codes::RT_SYSPARAMOPT_NOT_SET, format!("option {option} is not set in this context"));
        lock(&self.0)[at].ok_or_else(unset)
    }
}

/// Sets an option of the process.
pub(crate) fn set(option: i32, value: i64) -> Outcome {
    let at = place(option, N_OPTIONS)?;
    check(at, value)?;
    lock(&PROCESS)[at] = value;
    Ok(())
}

/// An option of the process; 0 until it is set.
pub(crate) fn get(option: i32) -> Outcome<i64> {
    Ok(lock(&PROCESS)[place(option, N_OPTIONS)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_kept_within_their_ranges() {
        let context = ContextOptions::default();
        assert_eq!(context.get(0).unwrap_err().code, codes::RT_SYSPARAMOPT_NOT_SET);
        context.set(0, 3).unwrap();
        assert_eq!((context.get(0), get(0)), (Ok(3), Ok(3)));
        assert_eq!(context.set(0, 4).unwrap_err().code, codes::RT_PARAM_INVALID);
        assert_eq!(context.set(3, 0).unwrap_err().code, codes::INVALID_PARAM);
        assert_eq!(set(1, 2).unwrap_err().code, codes::RT_PARAM_INVALID);
        assert_eq!(get(-1).unwrap_err().code, codes::INVALID_PARAM);
        assert_eq!(set(3, 1), Ok(()));
    }
}
