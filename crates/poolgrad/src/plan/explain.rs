//! What a plan says of itself.

use std::fmt;

use crate::simd::Isa;

/// The choices that a plan made; `Display` gives them on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explanation {
    /// The operation's name, such as `max_grad`.
    pub operation: &'static str,
    /// The kernel's name, such as `scatter:sweep`. `gather:rows` and `expand:rows` with streaming stores may be those of outputs that
    /// begin on a cache line; others then take another kernel.
    pub kernel: &'static str,
    /// The ISA level that loops are compiled for.
    pub isa: Isa,
    /// The number of threads that take part.
    pub threads: usize,
    /// The number of tiles that the output is cut into.
    pub tiles: usize,
    /// The most elements of one tile.
    pub tile_elements: usize,
    /// The bytes of workspace that [`Plan::execute`](crate::Plan::execute) needs.
    pub workspace_bytes: usize,
    /// Whether outputs bypass the cache.
    pub streaming: bool,
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation, kernel, isa, threads, tiles, tile_elements, workspace_bytes, streaming } = self;
        write!(
            f,
            "{operation}: kernel {kernel}, {isa}, {threads} threads, {tiles} tiles of up to {tile_elements} elements, \
             workspace {workspace_bytes} bytes, {} stores",
            if *streaming { "streaming" } else { "ordinary" }
        )
    }
}
