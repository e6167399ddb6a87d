//! The log on standard error: one line for each error, and more if `POOLGRAD_LOG` asks for it.

use std::io::Write;
use std::sync::OnceLock;

use crate::settings;

/// How much is written; each level includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Nothing.
    Off,
    /// Every error, once.
    Error,
    /// Every launch, with its plan and the time it took.
    Info,
    /// Every call.
    Debug,
}

/// Whether lines of this level are written.
pub(crate) fn is_on(level: Level) -> bool {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    let choose = || {
        let names = [("error", Level::Error), ("off", Level::Off), ("info", Level::Info), ("debug", Level::Debug)];
        settings::choose("POOLGRAD_LOG", &names)
    };
    level <= *LEVEL.get_or_init(choose)
}

/// Writes a line, if its level is on.
pub(crate) fn line(level: Level, text: &str) {
    if is_on(level) {
        complain(text);
    }
}

/// Writes a line whatever the level is: for what is wrong with the settings themselves.
pub(crate) fn complain(text: &str) {
    // One write, so that lines of several threads do not mix. A closed standard error is no reason to fail.
    let _ = std::io::stderr().lock().write_all(format!("poolgrad: {text}\n").as_bytes());
}
