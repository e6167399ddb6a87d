//! The reference: every operation from its definition, in plain nested loops and `f64`.
//!
//! Nothing here uses the library's window arithmetic, so that a mistake in one shows against the other. Sums are
//! compensated, so that their own error is far below what any accumulator of the library can reach.

mod average;
mod gradient;
mod grid;
mod max;
mod sum;
pub mod windows;

pub use average::{average_forward, average_forward_sums};
pub use gradient::{scatter, scatter_sums, spread, spread_sums};
pub use grid::Grid;
pub(crate) use grid::position as grid_position;
pub use max::{Pooled, max_forward};
pub use sum::Sums;
