//! Running a kernel over all tiles of its outputs.

use fearless_simd::{Simd, dispatch};

use super::crew::Crew;
use super::scratch::Scratch;
use super::stream;
use crate::dtype::Element;
use crate::tensor::raw::{Target, Tile};

/// A computation that fills one tile at a time.
///
/// Its methods are `#[inline(always)]`, so that they are compiled into the loop below once for each ISA level.
pub(crate) trait TileKernel<T: Element, U: Element>: Sync {
    /// Fills every element of `tile`, by loops that are compiled for the level `simd`.
    fn fill<S: Simd>(&self, simd: S, tile: Tile<'_, T, U>, scratch: Scratch<'_>);
}

/// Fills every tile of `target` with a number below `end`.
pub(crate) fn run_tiles<T: Element, U: Element>(
    kernel: &impl TileKernel<T, U>,
    target: &Target<'_, T, U>,
    end: usize,
    crew: &mut Crew<'_>,
) {
    let level = crew.isa.level();
    crew.run(&|scratch| {
        dispatch!(level, simd => while let Some(tile) = target.claim_before(end) {
            kernel.fill(simd, tile, Scratch::new(scratch));
        });
        stream::finish();
    });
}
