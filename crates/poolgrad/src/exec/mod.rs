//! How work is run: workers, their scratch memory, tiles, and write-out. Nothing in here knows pooling.

mod cache;
mod crew;
mod floats;
mod scratch;
pub(crate) mod stream;
mod tiles;

pub(crate) use cache::{LastLevelCache, last_level_cache};
pub(crate) use crew::{Crew, Queue, max_workers};
pub(crate) use scratch::{Scratch, booked};
pub(crate) use tiles::{TileKernel, run_tiles};
