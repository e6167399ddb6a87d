//! Copying and filling memory, at once or as a task of a stream.

use super::memory::{Hold, Reach, Spot, hold, spot};
use super::stream::Task;
use crate::codes;
use crate::fault::{Fault, Outcome};
use crate::ffi::memory::{self, Memory};

/// Bytes on their way, with the allocations that they come from and go to.
pub(crate) struct Transfer {
    what: What,
    _holds: [Hold; 2],
}

/// What is done, and where.
#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    Copy { to: Memory, from: Memory, bytes: usize },
    CopyRows { to: Rows, from: Rows, bytes: usize, n_rows: usize },
    Fill { to: Memory, value: u8, bytes: usize },
    FillWords { to: Memory, value: u32, words: usize },
}

/// Rows of memory, and the bytes from one to the next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows {
    pub(crate) start: Memory,
    pub(crate) pitch: usize,
}

impl Rows {
    /// The bytes from the start of the first of `n_rows` rows to the end of the last.
    fn extent(&self, n_rows: usize, bytes: usize) -> usize {
        self.pitch.saturating_mul(n_rows.saturating_sub(1)).saturating_add(bytes)
    }

    fn row(&self, at: usize) -> Memory {
        self.start.offset((at * self.pitch) as isize)
    }
}

impl Transfer {
    /// Checks that the bytes are there, as far as they lie in allocations of this library.
    pub(crate) fn new(what: What) -> Outcome<Self> {
        let invalid = |text| Fault::new(codes::RT_PARAM_INVALID, text);
        let hold = |memory, bytes, name| hold(memory, Reach::first(bytes), name).map_err(invalid);
        let holds = match what {
            What::Copy { to, from, bytes } => [hold(to, bytes, "dst")?, hold(from, bytes, "src")?],
            What::CopyRows { to, from, bytes, n_rows } => [
                hold(to.start, to.extent(n_rows, bytes), "dst")?,
                hold(from.start, from.extent(n_rows, bytes), "src")?,
            ],
            What::Fill { to, bytes, .. } => [hold(to, bytes, "devPtr")?, None],
            What::FillWords { to, words, .. } => [hold(to, words.saturating_mul(4), "ptr")?, None],
        };
        Ok(Self { what, _holds: holds })
    }

    /// Whether all of the memory came from this library, and so is still there when a stream gets to it.
    pub(crate) fn is_held(&self) -> bool {
        let is_ours = |memory| matches!(spot(memory), Spot::Live { .. });
        match self.what {
            What::Copy { to, from, .. } => is_ours(to) && is_ours(from),
            What::CopyRows { to, from, .. } => is_ours(to.start) && is_ours(from.start),
            What::Fill { to, .. } | What::FillWords { to, .. } => is_ours(to),
        }
    }

    /// Does it.
    pub(crate) fn perform(&self) {
        match self.what {
            What::Copy { to, from, bytes } => memory::copy(to, from, bytes),
            What::CopyRows { to, from, bytes, n_rows } => {
                (0..n_rows).for_each(|at| memory::copy(to.row(at), from.row(at), bytes));
            }
            What::Fill { to, value, bytes } => memory::fill(to, value, bytes),
            What::FillWords { to, value, words } => memory::fill_words(to, value, words),
        }
    }
}

/// Transfers of fewer bytes than this take less time than waking a thread.
const SHORT_BYTES: usize = 32 << 10;

impl Task for Transfer {
    fn is_short(&self) -> bool {
        let bytes = match self.what {
            What::Copy { bytes, .. } | What::Fill { bytes, .. } => bytes,
            What::CopyRows { bytes, n_rows, .. } => bytes.saturating_mul(n_rows),
            What::FillWords { words, .. } => words.saturating_mul(4),
        };
        bytes < SHORT_BYTES
    }

    fn run(&mut self) -> Outcome {
        self.perform();
        Ok(())
    }
}
