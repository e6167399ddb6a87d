//! Cutting the groups of an output (see [`Lifted`](super::lift::Lifted)) into disjoint tiles.

use std::ops::Range;

/// A cut of `n_groups` groups of `[D, H, W]` into tiles that cover every element once.
///
/// A tile is a block of some depths, rows and columns, of one group or of several. [`Partition::new`] makes blocks that
/// are contiguous: whole groups, or some depths, or some rows of one depth, or part of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Partition {
    n_groups: usize,
    dims: [usize; 3],
    groups_per_tile: usize,
    /// Sizes of a tile along D, H, W.
    block: [usize; 3],
}

/// The tiles that a cut should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// The elements that stay together, at least 1.
    pub(crate) unit: usize,
    /// The most elements of a tile, unless a unit has more.
    pub(crate) most: usize,
    /// How many tiles there should be at least.
    pub(crate) least_tiles: usize,
}

/// One tile: this block of each of these groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TileRange {
    pub(crate) groups: Range<usize>,
    /// The depths, rows and columns.
    pub(crate) block: [Range<usize>; 3],
    /// The flat offsets from the first of the block to its last: all of them, if it is contiguous.
    pub(crate) flat: Range<usize>,
    dims: [usize; 3],
}

impl TileRange {
    /// Whether all of `flat` of `group` belongs to the tile.
    #[inline(always)]
    pub(crate) fn contains(&self, group: usize, flat: &Range<usize>) -> bool {
        let in_hull = self.groups.contains(&group)
            && self.flat.start <= flat.start
            && flat.start < flat.end
            && flat.end <= self.flat.end;
        in_hull && (self.is_contiguous() || self.is_in_block(flat))
    }

    /// Whether the block is all that lies between its first and its last element.
    #[inline(always)]
    pub(crate) fn is_contiguous(&self) -> bool {
        self.flat.len() == self.block.iter().map(|range| range.len()).product::<usize>()
    }

    /// Whether `flat` lies within one depth, and within one row unless rows are whole, of the block.
    fn is_in_block(&self, flat: &Range<usize>) -> bool {
        let [_, n_h, n_w] = self.dims;
        let (first, last) = (flat.start, flat.end - 1);
        let [d, h, w] = &self.block;
        let (row, last_row) = (first / n_w, last / n_w);
        let one_depth = row / n_h == last_row / n_h && d.contains(&(row / n_h));
        let rows = h.contains(&(row % n_h)) && h.contains(&(last_row % n_h));
        let columns = row == last_row && w.contains(&(first % n_w)) && w.contains(&(last % n_w));
        one_depth && rows && (columns || w.len() == n_w)
    }
}

impl Partition {
    /// Tiles of whole `unit`s of elements, at most about `most` each, and small enough that there are `least_tiles`
    /// where the problem is large enough for that.
    ///
    /// A unit is a single element, a row, a depth or a plane; a tile has at least one.
    pub(crate) fn new(n_groups: usize, dims: [usize; 3], wanted: Wanted) -> Self {
        let [d, h, w] = dims;
        let plane_len = d * h * w;
        let total = n_groups.saturating_mul(plane_len);
        let most = wanted.most.min(total.div_ceil(wanted.least_tiles.max(1))).max(wanted.unit);
        // Equal parts of at most `most` elements, each place being `unit` elements.
        let even = |len: usize, unit: usize| even(len, most / unit.max(1));
        let (mut groups_per_tile, mut block) = (1, dims.map(|size| size.max(1)));
        if plane_len <= most {
            groups_per_tile = even(n_groups, plane_len);
        } else if h * w <= most {
            block[0] = even(d, h * w);
        } else if w <= most {
            block = [1, even(h, w), w];
        } else {
            block = [1, 1, even(w, 1)];
        }
        Self { n_groups, dims, groups_per_tile, block }
    }

    /// Tiles of `groups_per_tile` groups and of `block` places along each axis, or less at the ends.
    pub(crate) fn blocks(n_groups: usize, dims: [usize; 3], (groups_per_tile, block): (usize, [usize; 3])) -> Self {
        Self { n_groups, dims, groups_per_tile: groups_per_tile.max(1), block: block.map(|size| size.max(1)) }
    }

    /// The number of groups that are cut.
    pub(crate) fn n_groups(&self) -> usize {
        self.n_groups
    }

    /// The flat offsets of one group.
    pub(crate) fn plane_len(&self) -> usize {
        self.dims.iter().product()
    }

    /// The depths, rows and columns of a group.
    pub(crate) fn dims(&self) -> [usize; 3] {
        self.dims
    }

    /// The number of tiles along D, H, W.
    pub(crate) fn tiles_per_axis(&self) -> [usize; 3] {
        std::array::from_fn(|axis| self.dims[axis].div_ceil(self.block[axis]))
    }

    /// The number of tiles.
    pub(crate) fn n_tiles(&self) -> usize {
        self.n_groups.div_ceil(self.groups_per_tile) * self.tiles_per_axis().iter().product::<usize>()
    }

    /// The most depths, rows and columns of a tile.
    pub(crate) fn block(&self) -> [usize; 3] {
        self.block
    }

    /// The most flat offsets that a tile has.
    pub(crate) fn flat_len(&self) -> usize {
        self.block.iter().product()
    }

    /// The most flat offsets, over all its groups, that a tile has.
    pub(crate) fn tile_len(&self) -> usize {
        self.groups_per_tile * self.flat_len()
    }

    /// The same cut of each group, with no tile of more than one group.
    pub(crate) fn one_group_at_a_time(self) -> Self {
        Self { groups_per_tile: 1, ..self }
    }

    /// The number of tiles that one group is cut into.
    pub(crate) fn tiles_per_group(&self) -> usize {
        self.tiles_per_axis().iter().product()
    }

    /// The number, within its group, of the tile that flat offset `flat` falls into.
    #[inline(always)]
    pub(crate) fn part_of(&self, flat: usize) -> usize {
        let [_, n_h, n_w] = self.tiles_per_axis();
        let [_, h, w] = self.dims;
        (flat / (h * w) / self.block[0] * n_h + flat / w % h / self.block[1]) * n_w + flat % w / self.block[2]
    }

    /// The tile with number `id`, from 0 to `n_tiles`, in row-major order.
    pub(crate) fn tile(&self, id: usize) -> TileRange {
        let [n_d, n_h, n_w] = self.tiles_per_axis();
        let part_of_groups = id / (n_d * n_h * n_w);
        let part = [id / (n_h * n_w) % n_d, id / n_w % n_h, id % n_w];
        let first = std::array::from_fn::<_, 3, _>(|axis| part[axis] * self.block[axis]);
        let last = std::array::from_fn::<_, 3, _>(|axis| {
            (first[axis] + self.block[axis]).min(self.dims[axis]).saturating_sub(1)
        });
        let flat = |at: [usize; 3]| (at[0] * self.dims[1] + at[1]) * self.dims[2] + at[2];
        let groups = part_of_groups * self.groups_per_tile;
        TileRange {
            groups: groups..(groups + self.groups_per_tile).min(self.n_groups),
            block: std::array::from_fn(|axis| first[axis]..last[axis] + 1),
            flat: flat(first)..flat(last) + 1,
            dims: self.dims,
        }
    }
}

/// The size of equal parts of `len`, none of them larger than `most`, and at least 1.
pub(crate) fn even(len: usize, most: usize) -> usize {
    len.div_ceil(len.div_ceil(most.max(1)).max(1)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_cover_every_element_once() {
        for (n_groups, dims) in [(1, [4, 5, 6]), (7, [1, 3, 2]), (2, [1, 1, 100]), (3, [2, 40, 3]), (5, [1, 1, 1])]
        {
            for most in [1, 2, 7, 30, 64, 1000] {
                for least_tiles in [1, 3, 16] {
                    let cut = Partition::new(n_groups, dims, Wanted { unit: 1, most, least_tiles });
                    let mut seen = vec![0; n_groups * cut.plane_len()];
                    for id in 0..cut.n_tiles() {
                        let tile = cut.tile(id);
                        assert!(tile.flat.len() <= cut.flat_len());
                        assert!(tile.flat.len() * tile.groups.len() <= most.max(1), "{cut:?} {tile:?}");
                        for group in tile.groups {
                            for flat in tile.flat.clone() {
                                assert_eq!(cut.part_of(flat), id % cut.tiles_per_group());
                                seen[group * cut.plane_len() + flat] += 1;
                            }
                        }
                    }
                    assert!(seen.iter().all(|&count| count == 1), "{cut:?}");
                }
            }
        }
    }

    #[test]
    fn units_stay_together() {
        for (unit, dims) in [(30, [4, 5, 6]), (6, [1, 5, 6]), (120, [4, 5, 6])] {
            let cut = Partition::new(3, dims, Wanted { unit, most: 1, least_tiles: 100 });
            assert!((0..cut.n_tiles()).all(|id| cut.tile(id).flat.start.is_multiple_of(unit)), "{cut:?}");
            assert_eq!(cut.tile_len(), unit);
        }
    }

    #[test]
    fn blocks_cover_every_element_once() {
        for dims in [[4, 5, 6], [1, 7, 3], [3, 1, 8]] {
            for block in [[2, 2, 6], [1, 3, 2], [4, 1, 6], [9, 9, 9], [3, 2, 5]] {
                let cut = Partition::blocks(3, dims, (2, block));
                let mut seen = vec![0; 3 * cut.plane_len()];
                for id in 0..cut.n_tiles() {
                    let tile = cut.tile(id);
                    for group in 0..3 {
                        for flat in 0..cut.plane_len() {
                            seen[group * cut.plane_len() + flat] +=
                                u32::from(tile.contains(group, &(flat..flat + 1)));
                        }
                    }
                }
                assert!(seen.iter().all(|&count| count == 1), "{cut:?}");
            }
        }
    }

    #[test]
    fn a_block_contains_its_rows_and_nothing_that_leaves_them() {
        let cut = Partition::blocks(1, [3, 4, 5], (1, [2, 2, 5]));
        let tile = cut.tile(1);
        assert_eq!(tile.block, [0..2, 2..4, 0..5]);
        assert!(!tile.is_contiguous());
        assert!(tile.contains(0, &(10..20)) && tile.contains(0, &(30..40)) && tile.contains(0, &(12..17)));
        for outside in [9..11, 10..21, 20..25, 19..31, 30..41, 10..40, 15..15] {
            assert!(!tile.contains(0, &outside), "{outside:?}");
        }
        assert!(!tile.contains(1, &(10..20)));
        let columns = Partition::blocks(1, [3, 4, 5], (1, [2, 2, 3])).tile(0);
        assert!(columns.contains(0, &(5..8)) && !columns.contains(0, &(0..4)) && !columns.contains(0, &(0..8)));
    }

    #[test]
    fn nothing_to_cut_is_no_tile() {
        let wanted = Wanted { unit: 1, most: 64, least_tiles: 4 };
        assert_eq!(Partition::new(0, [4, 4, 4], wanted).n_tiles(), 0);
    }
}
