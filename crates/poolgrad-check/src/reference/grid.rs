//! Grids: plain row-major blocks of `f64`.

/// A row-major block of numbers with five axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// The sizes, `[N, C, D, H, W]`.
    pub shape: [usize; 5],
    /// The elements in row-major order.
    pub values: Vec<f64>,
}

impl Grid {
    /// A grid of zeros.
    #[must_use]
    pub fn zeros(shape: [usize; 5]) -> Self {
        Self { shape, values: vec![0.0; shape.iter().product()] }
    }

    /// The spatial sizes, `[D, H, W]`.
    #[must_use]
    pub fn spatial(&self) -> [usize; 3] {
        [self.shape[2], self.shape[3], self.shape[4]]
    }

    /// The number of planes, N·C.
    #[must_use]
    pub fn n_planes(&self) -> usize {
        self.shape[0] * self.shape[1]
    }

    /// The elements of one plane, D·H·W.
    #[must_use]
    pub fn plane_len(&self) -> usize {
        self.spatial().iter().product()
    }

    /// The element at flat offset `flat` of plane `plane`.
    #[must_use]
    pub fn at(&self, plane: usize, flat: usize) -> f64 {
        self.values[plane * self.plane_len() + flat]
    }

    /// The position `[n, c, d, h, w]` of the element that is number `index` in row-major order.
    #[must_use]
    pub fn position(&self, index: usize) -> [usize; 5] {
        position(self.shape, index)
    }
}

/// The position of element number `index` of a row-major block of shape `shape`.
pub(crate) fn position(shape: [usize; 5], index: usize) -> [usize; 5] {
    let mut rest = index;
    let mut position = [0; 5];
    for axis in (0..5).rev() {
        position[axis] = rest % shape[axis];
        rest /= shape[axis];
    }
    position
}
