//! The arithmetic of pooling: loops over rows in safe Rust, one source for every element type, ISA and dimensionality.
//!
//! A kernel fills one tile of its output at a time (see [`TileKernel`](crate::exec::TileKernel)), reading rows of its
//! inputs. Functions with loops over rows are `#[inline(always)]`, so that they are compiled for the ISA level that the tile
//! loop was dispatched to; where one needs all registers, `Simd::vectorize` makes it a function of its own for that level.
//! Where compilers do not find the vectors of a loop, it is written with those of the level, whatever their width.
//! Those that add or look up one element at a time gain nothing from that, and neither do the rare ways for NaNs.
#![forbid(unsafe_code)]

mod buckets;
mod channels_best;
mod channels_max;
mod channels_taps;
mod expand;
mod expand_rows;
mod expand_shape;
mod gather;
mod gather_places;
mod gather_shape;
mod gather_stock;
mod late;
mod leaving;
mod locate;
mod mean;
mod mean_columns;
mod mean_single;
mod mean_whole;
mod outputs;
mod planes;
mod repeats;
mod rows;
mod second;
mod spread;
mod spread_block;
mod spread_cells;
mod spread_evenly;
mod spread_planes;
mod spread_tables;
mod stretches;
mod sweep;
mod sweep_lines;
mod sweep_rows;
mod sweep_shape;
mod taps;
mod terms;
mod widen;
mod windows;
mod windows_across;
mod windows_best;
mod windows_block;
mod windows_codes;
mod windows_found;
mod windows_input;
mod windows_max;
mod windows_results;

pub(crate) use buckets::Buckets;
pub(crate) use channels_max::{ChannelsMax, ChannelsShape};
pub(crate) use expand::Expand;
pub(crate) use expand_shape::ExpandShape;
pub(crate) use gather::Gather;
pub(crate) use gather_shape::{Comparing, GatherShape};
pub(crate) use mean::Mean;
pub(crate) use outputs::{Outputs, Summing};
pub(crate) use planes::{Planes, PlanesShape, Room};
pub(crate) use rows::{ROW, WIDEST};
pub(crate) use spread::{Spread, cut_for_spread};
pub(crate) use spread_planes::{SpreadPlanes, SpreadShape};
pub(crate) use sweep::Sweep;
pub(crate) use sweep_shape::{SweepLimits, SweepShape};
pub(crate) use windows_block::{most_channels, rows_of_windows_fit};
pub(crate) use windows_max::WindowsMax;
