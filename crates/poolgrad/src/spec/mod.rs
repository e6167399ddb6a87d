//! What the user asks for: plain fields without checks.
//!
//! A pooling ([`MaxPool`], [`AdaptiveMaxPool`], [`AdaptiveAvgPool`]) and a [`Direction`] make a [`Spec`]; what the
//! values may be is decided in one place, when a [`Plan`](crate::Plan) is made.

mod adaptive;
mod max;
mod operands;

pub use adaptive::{AdaptiveAvgPool, AdaptiveMaxPool};
pub use max::MaxPool;
pub use operands::Operands;

/// Which way an operation goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the input to the pooled output.
    Forward,
    /// From the gradient of the output to the gradient of the input.
    Gradient,
}

/// A kind of pooling with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[expect(
    clippy::large_enum_variant,
    reason = "specs are short-lived values; a box would only make them harder to write"
)]
pub enum Pool {
    /// The maximum of each window.
    Max(MaxPool),
    /// The maximum of windows that divide the input evenly.
    AdaptiveMax(AdaptiveMaxPool),
    /// The mean of windows that divide the input evenly.
    AdaptiveAvg(AdaptiveAvgPool),
}

/// An operation: a pooling, and the direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Spec {
    /// The pooling and its parameters.
    pub pool: Pool,
    /// Forward, or its gradient.
    pub direction: Direction,
}

impl Spec {
    /// The name used in problem lines and on the command line, such as `adaptive_max_grad`.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match (&self.pool, self.direction) {
            (Pool::Max(_), Direction::Forward) => "max",
            (Pool::Max(_), Direction::Gradient) => "max_grad",
            (Pool::AdaptiveMax(_), Direction::Forward) => "adaptive_max",
            (Pool::AdaptiveMax(_), Direction::Gradient) => "adaptive_max_grad",
            (Pool::AdaptiveAvg(_), Direction::Forward) => "adaptive_avg",
            (Pool::AdaptiveAvg(_), Direction::Gradient) => "adaptive_avg_grad",
        }
    }

    /// The number of spatial axes: 1, 2 or 3.
    #[must_use]
    pub const fn n_spatial(&self) -> usize {
        match &self.pool {
            Pool::Max(pool) => pool.n_spatial,
            Pool::AdaptiveMax(pool) => pool.n_spatial,
            Pool::AdaptiveAvg(pool) => pool.n_spatial,
        }
    }
}
