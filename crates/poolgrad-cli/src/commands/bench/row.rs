//! One line of the results: a problem, how it was run, and how long it took.

use poolgrad::Explanation;
use poolgrad_check::{MemoryLayout, Problem};
use serde_json::{Value, json};

use super::timing::Measured;

/// A problem timed in one way.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) problem: Problem,
    pub(super) explanation: Explanation,
    /// The threads that the call could have used; fewer take part in small problems.
    pub(super) threads: usize,
    pub(super) measured: Measured,
    pub(super) n_bytes_read: u64,
    pub(super) n_bytes_written: u64,
    /// How the result was checked.
    pub(super) checked: String,
    /// The median of the first way in which the problem was timed.
    pub(super) first_seconds: f64,
}

impl Row {
    pub(super) fn seconds(&self) -> f64 {
        self.measured.times.median()
    }

    /// The time that memory alone would take.
    pub(super) fn roofline_seconds(&self) -> f64 {
        self.measured.bandwidth.seconds(self.n_bytes_read, self.n_bytes_written)
    }

    /// The roofline's time as a part of the measured one.
    pub(super) fn share_of_roofline(&self) -> f64 {
        self.roofline_seconds() / self.seconds()
    }

    pub(super) fn gb_per_s(&self) -> f64 {
        (self.n_bytes_read + self.n_bytes_written) as f64 / self.seconds() / 1e9
    }

    /// How many times as fast as the first way.
    pub(super) fn speedup(&self) -> f64 {
        self.first_seconds / self.seconds()
    }

    pub(super) fn layout(&self) -> &'static str {
        let named = MemoryLayout::ALL.into_iter().find(|(_, layout)| *layout == self.problem.layout);
        named.map_or("", |(name, _)| name)
    }

    pub(super) fn index_dtype(&self) -> Option<&'static str> {
        self.problem.has_indices().then(|| self.problem.index_dtype.name())
    }

    pub(super) fn json(&self) -> Value {
        let milliseconds = |seconds: f64| seconds * 1e3;
        json!({
            "problem": self.problem.to_string(),
            "dtype": self.problem.dtype.name(),
            "index_dtype": self.index_dtype(),
            "layout": self.layout(),
            "median_ms": milliseconds(self.seconds()),
            "min_ms": milliseconds(self.measured.times.min()),
            "spread": self.measured.times.spread(),
            "n_samples": self.measured.times.len(),
            "gbps": self.gb_per_s(),
            "roofline_ms": milliseconds(self.roofline_seconds()),
            "roofline_percent": self.share_of_roofline() * 100.0,
            "read_gbps": self.measured.bandwidth.read / 1e9,
            "write_gbps": self.measured.bandwidth.write / 1e9,
            "bytes_read": self.n_bytes_read,
            "bytes_written": self.n_bytes_written,
            "kernel": self.explanation.kernel,
            "isa": self.explanation.isa.name(),
            "threads": self.threads,
            "workers": self.explanation.threads,
            "speedup": self.speedup(),
            "streaming": self.explanation.streaming,
            "workspace_bytes": self.explanation.workspace_bytes,
            "checked": self.checked,
        })
    }
}
