//! The five operators that the demo shows, with parameters that fit the volume.

use poolgrad::{AdaptiveAvgPool, AdaptiveMaxPool, Direction, Layout, MaxPool, Pool, Spec};
use poolgrad_check::reference::Grid;

use crate::failure::Failure;

/// An operator of the demo.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exhibit {
    /// The operator as CANN names it, with its parameters.
    pub(super) name: &'static str,
    pub(super) pool: Pool,
    pub(super) reading: Reading,
}

/// How an operator reads the volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// As `[1, C, D, H, W]`.
    Volume,
    /// As a batch of slices `[D, C, H, W]`: the same memory with other strides.
    Slices,
}

/// The five operators for a volume of `[1, C, D, H, W]`.
pub(super) fn exhibits([_, _, d, h, w]: [i64; 5]) -> [Exhibit; 5] {
    // Sizes that do not divide the volume's, so that windows overlap.
    let coarse = |size: i64| (size * 5).div_euclid(12).max(1);
    let coarser = |size: i64| (size * 5).div_euclid(24).max(1);
    let volume = |name, pool| Exhibit { name, pool, reading: Reading::Volume };
    [
        volume("AdaptiveMaxPool3d", Pool::AdaptiveMax(AdaptiveMaxPool::new_3d([coarse(d), coarse(h), coarse(w)]))),
        Exhibit {
            name: "AdaptiveMaxPool2d on slices",
            pool: Pool::AdaptiveMax(AdaptiveMaxPool::new_2d([coarse(h), coarse(w)])),
            reading: Reading::Slices,
        },
        volume("MaxPool3dWithArgmax k3 s2 p1", Pool::Max(MaxPool::new_3d(3).stride(2).padding(1))),
        volume(
            "AdaptiveAvgPool3d",
            Pool::AdaptiveAvg(AdaptiveAvgPool::new_3d([coarser(d), coarser(h), coarser(w)])),
        ),
        // Windows that touch without overlap; an axis of one voxel has windows of one.
        volume("MaxPool3DGradWithArgmax k2 s2", Pool::Max(MaxPool::new_3d([d, h, w].map(|size| size.min(2))))),
    ]
}

impl Exhibit {
    pub(super) fn spec(&self, direction: Direction) -> Spec {
        Spec { pool: self.pool, direction }
    }

    pub(super) fn n_spatial(&self) -> usize {
        self.spec(Direction::Forward).n_spatial()
    }
}

impl Reading {
    /// The layout in which a volume of `[1, C, D, H, W]` is read.
    pub(super) fn layout(self, shape: [i64; 5]) -> Result<Layout, Failure> {
        let [_, c, d, h, w] = shape;
        let layout = match self {
            Self::Volume => Layout::contiguous(shape),
            Self::Slices => Layout::strided([d, c, h, w], [h * w, d * h * w, w, 1]),
        };
        layout.map_err(|error| Failure::work(error.to_string()))
    }

    /// The volume as the reference reads it: slices are `[D, C, 1, H, W]`.
    pub(super) fn read(self, volume: Grid) -> Grid {
        match self {
            Self::Volume => volume,
            Self::Slices => swapped(&volume),
        }
    }

    /// [`Reading::read`] backwards.
    pub(super) fn unread(self, read: Grid) -> Grid {
        // Swapping N and D twice changes nothing.
        self.read(read)
    }
}

/// The grid with its axes N and D exchanged.
fn swapped(grid: &Grid) -> Grid {
    let [n, c, d, h, w] = grid.shape;
    let plane = h * w;
    let mut values = Vec::with_capacity(grid.values.len());
    for new_n in 0..d {
        for channel in 0..c {
            for new_d in 0..n {
                let start = ((new_d * c + channel) * d + new_n) * plane;
                values.extend_from_slice(&grid.values[start..start + plane]);
            }
        }
    }
    Grid { shape: [d, c, n, h, w], values }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Oracle: by hand.
    #[test]
    fn slices_are_the_volume_by_depth() {
        let values = (0..12).map(f64::from).collect();
        let volume = Grid { shape: [1, 2, 3, 1, 2], values };
        let slices = Reading::Slices.read(volume.clone());
        assert_eq!(slices.shape, [3, 2, 1, 1, 2]);
        assert_eq!(slices.values, [0.0, 1.0, 6.0, 7.0, 2.0, 3.0, 8.0, 9.0, 4.0, 5.0, 10.0, 11.0]);
        assert_eq!(Reading::Slices.unread(slices), volume);
        let layout = Reading::Slices.layout([1, 2, 3, 1, 2]).unwrap();
        assert_eq!(layout.strides()[..], [2, 6, 2, 1]);
    }
}
