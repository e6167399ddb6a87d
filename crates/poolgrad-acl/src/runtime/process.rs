//! The process: how often it is initialised, and with what.

use std::sync::Mutex;

use super::config::{Config, ConfigError};
use super::{device, lock};
use crate::codes;
use crate::fault::{Fault, Outcome};
use crate::ffi::boundary;

#[derive(Default)]
struct Process {
    n_inits: u64,
    /// Whether the last of both was a finalisation.
    is_ended: bool,
    /// The text of the first configuration that was accepted.
    config_text: Option<Vec<u8>>,
    default_device: Option<i32>,
}

static PROCESS: Mutex<Process> =
    Mutex::new(Process { n_inits: 0, is_ended: false, config_text: None, default_device: None });

/// Initialises, with the file at `path` if there is one.
pub(crate) fn init(path: Option<&str>) -> Outcome {
    let text = match path.filter(|path| !path.is_empty()) {
        None => Vec::new(),
        Some(path) => std::fs::read(path).map_err(|error| {
            Fault::new(
                codes::INVALID_FILE,
                format!("configPath must name a file that can be read, got {path}: {error}"),
            )
        })?,
    };
    let mut process = lock(&PROCESS);
    if process.config_text.as_ref().is_some_and(|first| *first != text) {
        let text = "the configuration must be that of the first aclInit of the process, got another";
        return Err(Fault::new(codes::INVALID_PARAM, text));
    }
    let config = Config::parse(&text).map_err(|error| match error {
        ConfigError::Syntax(_) => Fault::new(codes::PARSE_FILE, format!("the configuration is not JSON: {error}")),
        ConfigError::Value(_) => Fault::new(codes::INVALID_PARAM, error.to_string()),
    })?;
    process.config_text = Some(text);
    process.n_inits += 1;
    process.is_ended = false;
    if process.n_inits > 1 {
        let text = format!("already initialised, {} times now; this can be ignored", process.n_inits);
        return Err(Fault::new(codes::REPEAT_INITIALIZE, text));
    }
    process.default_device = config.default_device;
    boundary::share_messages(config.shares_messages);
    Ok(())
}

/// Ends what all initialisations began.
pub(crate) fn finalize() -> Outcome {
    let mut process = lock(&PROCESS);
    if process.is_ended {
        return Err(ended());
    }
    end(&mut process);
    drop(process);
    device::retire_all();
    Ok(())
}

/// Takes one initialisation back; returns how many are left.
pub(crate) fn release() -> Outcome<u64> {
    let mut process = lock(&PROCESS);
    if process.n_inits == 0 {
        return Err(ended());
    }
    process.n_inits -= 1;
    let left = process.n_inits;
    if left == 0 {
        end(&mut process);
        drop(process);
        device::retire_all();
    }
    Ok(left)
}

fn end(process: &mut Process) {
    process.n_inits = 0;
    process.is_ended = true;
    process.default_device = None;
    boundary::share_messages(false);
}

fn ended() -> Fault {
    Fault::new(codes::REPEAT_FINALIZE, "aclInit must come first: everything is finalised already")
}

/// The device that threads have which set none.
pub(crate) fn default_device() -> Option<i32> {
    lock(&PROCESS).default_device
}
