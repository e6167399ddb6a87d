//! The arithmetic of pooling: loops over rows in safe Rust, one source for every element type, ISA and dimensionality.
//!
//! A kernel fills one tile of its output at a time (see [`TileKernel`](crate::exec::TileKernel)), reading rows of its
//! inputs. Every function here is `#[inline(always)]`, so that it is compiled for the ISA level that the tile loop
//! was dispatched to.
#![forbid(unsafe_code)]

mod buckets;
mod mean;
mod outputs;
mod rows;
mod scatter;
mod spread;
mod sweep;
mod widen;
mod windows;
mod windows_max;

pub(crate) use buckets::Buckets;
pub(crate) use mean::Mean;
pub(crate) use outputs::Outputs;
pub(crate) use rows::WIDEST;
pub(crate) use scatter::Scatter;
pub(crate) use spread::Spread;
pub(crate) use sweep::{Sweep, SweepShape};
pub(crate) use windows_max::WindowsMax;
