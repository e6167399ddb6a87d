//! Running a kernel over all tiles of its outputs.

use fearless_simd::{Level, Simd};

use super::crew::Crew;
use super::scratch::Scratch;
use super::stream;
use crate::dtype::Element;
use crate::tensor::raw::{Target, Tile};

/// A computation that fills one tile at a time.
pub(crate) trait TileKernel<T: Element, U: Element>: Sync {
    /// Fills every element of `tile`, by loops that are compiled for the level `simd`.
    ///
    /// Implementations are `#[inline(always)]`, so that they are compiled into the loop below once for each ISA level.
    fn fill<S: Simd>(&self, simd: S, tile: Tile<'_, T, U>, scratch: Scratch<'_>);

    /// Fills tiles of `target` with a number below `end` until none is left, at this level, as the worker of this number.
    ///
    /// A method that is never inlined, not a function, since the compiler then counts the loop as a part of the kernel's
    /// module: it compiles the modules of all kernels side by side, where one module with every loop had to wait.
    #[inline(never)]
    #[cfg_attr(test, expect(unused_variables, reason = "unit tests come without kernels"))]
    fn fill_tiles(
        &self,
        level: Level,
        (target, end): (&Target<'_, T, U>, usize),
        (worker, scratch): (usize, &mut [u8]),
    ) {
        #[cfg(not(test))]
        fearless_simd::dispatch!(level, simd => self.fill_tiles_by(simd, (target, end), (worker, scratch)));
        // Kernels are tested from outside; here they would only be compiled, for minutes.
        #[cfg(test)]
        unreachable!("unit tests come without kernels");
    }

    /// The loop of `fill_tiles`.
    #[inline(always)]
    #[cfg_attr(test, expect(dead_code, reason = "unit tests come without kernels"))]
    fn fill_tiles_by<S: Simd>(
        &self,
        simd: S,
        (target, end): (&Target<'_, T, U>, usize),
        (worker, scratch): (usize, &mut [u8]),
    ) {
        let mut is_new = true;
        while let Some(tile) = target.claim_before(end, worker) {
            self.fill(simd, tile, Scratch::of_tile(scratch, is_new));
            is_new = false;
        }
    }
}

/// Fills every tile of `target` with a number below `end`.
pub(crate) fn run_tiles<T: Element, U: Element>(
    kernel: &impl TileKernel<T, U>,
    target: &Target<'_, T, U>,
    end: usize,
    crew: &mut Crew<'_>,
) {
    let level = crew.isa.level();
    crew.run(&|worker, scratch| {
        kernel.fill_tiles(level, (target, end), (worker, scratch));
        stream::finish();
    });
}
