//! The gradient of max pooling where indices point anywhere, of planes that [`Planes`](super::Planes) cannot take whole:
//! outputs are first sorted by the tile they fall into.
//!
//! One plane at a time, with all workers:
//!
//! 1. each chunk of outputs counts how many of its indices fall into each tile;
//! 2. the counts become places in one list, by tile and then by chunk;
//! 3. each chunk writes its outputs' numbers to their places;
//! 4. each tile adds its outputs in the order of the list, which is ascending, and is written out.
//!
//! A list of very many outputs would take more memory than it is worth, so it holds those of some tiles, and all steps but
//! the first are repeated for the next. A tile with more outputs than the list has room for looks at all of the plane by
//! itself. Both happen a few times at most.
//!
//! So every sum has the same order as in [`Sweep`](super::Sweep), and work is proportional to outputs plus inputs
//! whatever the indices are. This is a counting sort (Knuth, The Art of Computer Programming, volume 3, 5.2, the
//! distribution form).
//!
//! Traffic per output: its index, three times, and once more for each further part of the list; its number in the list, of four
//! bytes, written and read; its gradient. Per input: one write of its gradient.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use fearless_simd::Simd;

use super::locate::{Divisor, LARGEST_VOLUME};
use super::outputs::Outputs;
use super::rows::{self, ROW};
use crate::dtype::{Index, Sum, Summed};
use crate::exec::{Crew, Queue, Scratch, TileKernel, booked, run_tiles};
use crate::geometry::Geometry;
use crate::tensor::partition::Partition;
use crate::tensor::raw::{Source, Target, Tile};

/// The counts of a cache line.
const LINE_COUNTS: usize = 64 / size_of::<u64>();

/// The outputs of a list for each worker: with the sums that a sweep holds, these take less than a mebibyte.
const LISTED: usize = 112 << 10;

/// A list has room for at least one of so many parts of a plane's outputs, so that work stays proportional to these.
const PARTS: usize = 8;

/// How one plane's outputs are cut into chunks and its inputs into tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Buckets {
    partition: Partition,
    n_chunks: usize,
    chunk_len: usize,
    output_len: usize,
    /// The outputs that the list has room for.
    list_len: usize,
    /// The counts of a chunk: whole cache lines, as workers that count in the same line wait for each other.
    counts_per_chunk: usize,
}

impl Buckets {
    /// For `n_workers` workers, on the tiles of `partition`, each plane's by themselves.
    pub(crate) fn new(geometry: &Geometry, partition: Partition, n_workers: usize) -> Self {
        let output_len = geometry.output_len();
        // The list holds places within a chunk as 32 bits, so that it is half as long as with whole offsets.
        let chunk_len = output_len.div_ceil(2 * n_workers).clamp(1, u32::MAX as usize);
        let partition = partition.one_group_at_a_time();
        let counts_per_chunk = partition.tiles_per_group().next_multiple_of(LINE_COUNTS);
        let list_len = output_len.min(output_len.div_ceil(PARTS).max(n_workers.saturating_mul(LISTED)));
        let n_chunks = output_len.div_ceil(chunk_len);
        Self { partition, n_chunks, chunk_len, output_len, list_len, counts_per_chunk }
    }

    /// The cut that a target must have.
    pub(crate) fn partition(&self) -> Partition {
        self.partition
    }

    /// The bytes shared by all workers: the list and the counts.
    pub(crate) fn shared_bytes(&self) -> usize {
        booked::<AtomicU32>(self.list_len) + booked::<AtomicU64>(self.n_counts())
    }

    /// The scratch bytes of one worker.
    pub(crate) fn bytes<T: Summed, I: Index>(&self) -> usize {
        let sums = booked::<T::Acc>(self.partition.flat_len()) + booked::<T>(ROW);
        sums.max(booked::<I>(ROW))
    }

    fn n_counts(&self) -> usize {
        self.n_chunks.saturating_mul(self.counts_per_chunk)
    }

    /// Where the count of a tile and a chunk lies.
    #[inline(always)]
    fn count(&self, tile: usize, chunk: usize) -> usize {
        chunk * self.counts_per_chunk + tile
    }

    /// Every one of some tiles with every chunk, in the order of the list: by tile and then by chunk.
    fn in_order(&self, tiles: Range<usize>) -> impl Iterator<Item = usize> {
        let of_tile = move |tile| (0..self.n_chunks).map(move |chunk| self.count(tile, chunk));
        tiles.flat_map(of_tile)
    }

    /// The first of some tiles and those behind it whose outputs the list has room for, and how many outputs they have.
    fn listed(&self, tiles: Range<usize>, counts: &[AtomicU64]) -> (Range<usize>, u64) {
        let count_of = |tile| self.in_order(tile..tile + 1).map(|count| counts[count].load(Relaxed)).sum::<u64>();
        let (mut end, mut n) = (tiles.start + 1, count_of(tiles.start));
        while end < tiles.end && n + count_of(end) <= self.list_len as u64 {
            (end, n) = (end + 1, n + count_of(end));
        }
        (tiles.start..end, n)
    }

    fn chunk(&self, chunk: usize) -> Range<usize> {
        chunk * self.chunk_len..((chunk + 1) * self.chunk_len).min(self.output_len)
    }

    /// Fills all of `target`; returns the number of outputs that were added: those whose index lies in the volume.
    pub(crate) fn run<T: Summed, I: Index>(
        &self,
        outputs: &Outputs<'_, T, I>,
        target: &Target<'_, T, I>,
        crew: &mut Crew<'_>,
        shared: &mut [u8],
    ) -> u64 {
        let mut shared = Scratch::new(shared);
        let list: &[AtomicU32] = shared.row(self.list_len);
        let counts: &[AtomicU64] = shared.row(self.n_counts());
        let n_tiles = self.partition.tiles_per_group();
        let mut n_added = 0;
        for plane in 0..self.partition.n_groups() {
            counts.iter().for_each(|count| count.store(0, Relaxed));
            self.for_each_output(&outputs.indices, plane, crew, &|chunk, _, tile| {
                let count = &counts[self.count(tile, chunk)];
                count.store(count.load(Relaxed) + 1, Relaxed);
            });
            let mut start = 0;
            while start < n_tiles {
                let (tiles, n) = self.listed(start..n_tiles, counts);
                let is_listed = n <= self.list_len as u64;
                if is_listed {
                    self.list(&outputs.indices, (plane, &tiles), crew, (list, counts));
                }
                let list = is_listed.then_some(list);
                let sums = Sums { buckets: self, outputs, first: tiles.start, list, ends: counts };
                run_tiles(&sums, target, plane * n_tiles + tiles.end, crew);
                n_added += n;
                start = tiles.end;
            }
        }
        n_added
    }

    /// Lists the outputs of some tiles of a plane. What were counts become the places behind the last that they count.
    fn list<I: Index>(
        &self,
        indices: &Source<'_, I>,
        (plane, tiles): (usize, &Range<usize>),
        crew: &mut Crew<'_>,
        (list, counts): (&[AtomicU32], &[AtomicU64]),
    ) {
        let mut end = 0;
        for count in self.in_order(tiles.clone()) {
            let n = counts[count].load(Relaxed);
            counts[count].store(end, Relaxed);
            end += n;
        }
        self.for_each_output(indices, plane, crew, &|chunk, output, tile| {
            if tiles.contains(&tile) {
                let place = &counts[self.count(tile, chunk)];
                let at = place.load(Relaxed);
                place.store(at + 1, Relaxed);
                list[at as usize].store((output - chunk * self.chunk_len) as u32, Relaxed);
            }
        });
    }

    /// Calls `visit(chunk, output, tile)` for every output of a plane whose index lies in the volume, in ascending
    /// order within each chunk; a chunk is visited by one worker. Each place of the counts belongs to one chunk, so plain
    /// loads and stores suffice.
    fn for_each_output<I: Index>(
        &self,
        indices: &Source<'_, I>,
        plane: usize,
        crew: &mut Crew<'_>,
        visit: &(impl Fn(usize, usize, usize) + Sync),
    ) {
        let queue = Queue::new(self.n_chunks);
        let volume = self.partition.plane_len();
        let parts = Parts::new(self.partition);
        crew.run(&|_, scratch| {
            let buffer = Scratch::new(scratch).row::<I>(ROW);
            while let Some(chunk) = queue.claim() {
                let Range { mut start, end } = self.chunk(chunk);
                while start < end {
                    let left = indices.run_len() - start % indices.run_len();
                    let len = (end - start).min(left).min(ROW);
                    for (i, index) in indices.row(plane, start..start + len).load(buffer).iter().enumerate() {
                        if index.offset() < volume {
                            visit(chunk, start + i, parts.part_of(index.offset()));
                        }
                    }
                    start += len;
                }
            }
        });
    }
}

/// Finds the tile of an offset, without divisions where the volume is small enough.
enum Parts {
    Small { depths: Divisor, rows: Divisor, block: [Divisor; 3], n_tiles: [u32; 3] },
    Large(Partition),
}

impl Parts {
    fn new(partition: Partition) -> Self {
        if partition.plane_len() > LARGEST_VOLUME {
            return Parts::Large(partition);
        }
        let [_, h, w] = partition.dims();
        let by = |size: usize| Divisor::new(size as u32);
        let n_tiles = partition.tiles_per_axis().map(|n| n as u32);
        Parts::Small { depths: by(h * w), rows: by(w), block: partition.block().map(by), n_tiles }
    }

    /// [`Partition::part_of`] an offset of the volume.
    #[inline(always)]
    fn part_of(&self, flat: usize) -> usize {
        match self {
            Parts::Small { depths, rows, block: [by_d, by_h, by_w], n_tiles: [_, n_h, n_w] } => {
                let (d, in_depth) = depths.divide(flat as u32);
                let (h, w) = rows.divide(in_depth);
                ((by_d.divide(d).0 * n_h + by_h.divide(h).0) * n_w + by_w.divide(w).0) as usize
            }
            Parts::Large(partition) => partition.part_of(flat),
        }
    }
}

/// The last step: the sums of each tile, from the sorted list of some of one plane.
struct Sums<'a, T: Summed, I: Index> {
    buckets: &'a Buckets,
    outputs: &'a Outputs<'a, T, I>,
    /// The first tile of the list; there is none for a tile of too many outputs.
    first: usize,
    list: Option<&'a [AtomicU32]>,
    ends: &'a [AtomicU64],
}

impl<T: Summed, I: Index> TileKernel<T, I> for Sums<'_, T, I> {
    #[inline(always)]
    fn fill<S: Simd>(&self, simd: S, mut tile: Tile<'_, T, I>, mut scratch: Scratch<'_>) {
        let Buckets { partition, n_chunks, chunk_len, output_len, .. } = *self.buckets;
        let range = tile.range();
        let sums = &mut scratch.row::<T::Acc>(partition.flat_len())[..range.flat.len()];
        let staging = rows::staging::<T>(&mut scratch);
        let mut gradient = [T::Acc::default()];
        let plane = range.groups.start;
        rows::clear(sums);
        let mut add = |output: usize| {
            let index = self.outputs.indices.row(plane, output..output + 1).load(&mut [])[0];
            if let Some(sum) = sums.get_mut(index.offset().wrapping_sub(range.flat.start)) {
                T::widen(self.outputs.grad_output.row(plane, output..output + 1).load(&mut []), &mut gradient);
                sum.add_term(gradient[0]);
            }
        };
        match self.list {
            None => (0..output_len).for_each(add),
            Some(list) => {
                let part = partition.part_of(range.flat.start);
                // The list holds tile after tile, and chunk after chunk in each; what ends one begins the next.
                let end_of = |tile, chunk| self.ends[self.buckets.count(tile, chunk)].load(Relaxed);
                let mut start = if part == self.first { 0 } else { end_of(part - 1, n_chunks - 1) };
                for chunk in 0..n_chunks {
                    let end = end_of(part, chunk);
                    for entry in &list[start as usize..end as usize] {
                        add(chunk * chunk_len + entry.load(Relaxed) as usize);
                    }
                    start = end;
                }
            }
        }
        rows::store(simd, &mut tile.first, (plane, range.flat.start), sums, staging);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::partition::Wanted;

    #[test]
    fn offsets_fall_into_the_tiles_of_the_partition() {
        for dims in [[4, 5, 6], [1, 7, 30], [1, 1, 100], [9, 1, 1]] {
            for most in [1, 7, 13, 60, 1000] {
                let partition = Partition::new(1, dims, Wanted { unit: 1, most, least_tiles: 1 });
                let parts = Parts::new(partition);
                for flat in 0..partition.plane_len() {
                    assert_eq!(parts.part_of(flat), partition.part_of(flat), "{flat} of {partition:?}");
                }
            }
        }
    }
}
