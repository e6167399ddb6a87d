//! Cutting the groups of an output (see [`Lifted`](super::lift::Lifted)) into disjoint tiles, each one a contiguous range of flat offsets.

use std::ops::Range;

/// A cut of `n_groups` groups of `[D, H, W]` into tiles that cover every element once.
///
/// A tile is either several whole groups, or part of one: some depths, or some rows of one depth, or part of
/// one row. So in every case it is a range of groups times a range of flat offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Partition {
    n_groups: usize,
    dims: [usize; 3],
    groups_per_tile: usize,
    /// Sizes of a tile along D, H, W; only the first that is smaller than its axis cuts, those before it are 1.
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

/// One tile: these flat offsets of each of these groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TileRange {
    pub(crate) groups: Range<usize>,
    pub(crate) flat: Range<usize>,
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
        let even = |len: usize, unit: usize| {
            // Cuts `len` into equal parts of at most `most` elements, each place being `unit` elements.
            let parts = len.div_ceil((most / unit.max(1)).max(1)).max(1);
            len.div_ceil(parts).max(1)
        };
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

    /// The number of groups that are cut.
    pub(crate) fn n_groups(&self) -> usize {
        self.n_groups
    }

    /// The flat offsets of one group.
    pub(crate) fn plane_len(&self) -> usize {
        self.dims.iter().product()
    }

    fn tiles_per_axis(&self) -> [usize; 3] {
        std::array::from_fn(|axis| self.dims[axis].div_ceil(self.block[axis]))
    }

    /// The number of tiles.
    pub(crate) fn n_tiles(&self) -> usize {
        self.n_groups.div_ceil(self.groups_per_tile) * self.tiles_per_axis().iter().product::<usize>()
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
            flat: flat(first)..flat(last) + 1,
        }
    }
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
    fn nothing_to_cut_is_no_tile() {
        let wanted = Wanted { unit: 1, most: 64, least_tiles: 4 };
        assert_eq!(Partition::new(0, [4, 4, 4], wanted).n_tiles(), 0);
    }
}
