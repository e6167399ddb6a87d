//! A bar on standard error, for work that turns out to take longer than a second.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar that shows itself after a second, on a terminal, and goes when it is dropped.
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A bar over `len` units of work: problems, or bytes.
    pub(crate) fn new(len: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(len), ProgressDrawTarget::hidden());
        // The template is constant: were it wrong, the default style is as good.
        if let Ok(style) = ProgressStyle::with_template("{msg} [{wide_bar}] {percent}% {elapsed}") {
            bar.set_style(style.progress_chars("=> "));
        }
        let shown_later = bar.downgrade();
        // The thread owns nothing that the work needs, so nobody waits for it.
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_secs(1));
            if let Some(bar) = shown_later.upgrade()
                && !bar.is_finished()
            {
                bar.set_draw_target(ProgressDrawTarget::stderr());
                bar.enable_steady_tick(Duration::from_millis(200));
            }
        });
        Self { bar }
    }

    /// Says what is being done.
    pub(crate) fn say(&self, message: impl Into<String>) {
        self.bar.set_message(message.into());
    }

    /// So many units are done.
    pub(crate) fn step(&self, len: u64) {
        self.bar.inc(len);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
