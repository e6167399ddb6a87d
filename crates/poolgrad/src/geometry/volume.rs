//! The sizes of a whole problem: N, C and the windows of three axes.

use super::axis::AxisWindows;

/// N, C, and the windows along D, H and W; missing axes have size 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    pub(crate) n: usize,
    pub(crate) c: usize,
    pub(crate) axes: [AxisWindows; 3],
}

impl Geometry {
    /// The number of planes: N·C.
    pub(crate) fn n_planes(&self) -> usize {
        self.n * self.c
    }

    /// The input's `[D, H, W]`.
    pub(crate) fn input(&self) -> [usize; 3] {
        self.axes.map(|axis| axis.input())
    }

    /// The output's `[D, H, W]`.
    pub(crate) fn output(&self) -> [usize; 3] {
        self.axes.map(|axis| axis.output())
    }

    /// The elements of one plane of the input: the volume that indices point into.
    pub(crate) fn input_len(&self) -> usize {
        self.input().iter().product()
    }

    /// The elements of one plane of the output.
    pub(crate) fn output_len(&self) -> usize {
        self.output().iter().product()
    }
}
