//! Where the elements of a tensor lie: shape and strides, with every product and sum checked.

use std::fmt;
use std::ops::RangeInclusive;

use super::overlap;
use super::sizes::{MAX_AXES, Sizes};

/// The shape of a tensor and the step in memory, in elements, along each of its axes.
///
/// Element `[i0, i1, …]` lies at `Σ i·stride` elements from element `[0, 0, …]`. Strides may be negative or zero.
/// A `Layout` that exists is sound: sizes are non-negative and no address computed from it overflows.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Layout {
    shape: Sizes,
    strides: Sizes,
}

impl Layout {
    /// The layout of a row-major tensor without gaps.
    ///
    /// # Errors
    /// [`LayoutError`] if a size is negative or the element count is too large for an address.
    ///
    /// # Examples
    /// ```
    /// use poolgrad::Layout;
    ///
    /// let layout = Layout::contiguous([2, 3, 4])?;
    /// assert_eq!(&layout.strides()[..], [12, 4, 1]);
    /// assert_eq!(layout.n_elements(), 24);
    /// # Ok::<(), poolgrad::LayoutError>(())
    /// ```
    pub fn contiguous(shape: impl Into<Sizes>) -> Result<Self, LayoutError> {
        let shape = shape.into();
        let mut strides = Sizes::splat(1, shape.len());
        let mut step = 1i64;
        let mut values = [0; MAX_AXES];
        for axis in (0..shape.len()).rev() {
            values[axis] = step;
            step = step.checked_mul(shape[axis].max(1)).ok_or(LayoutError::TooLarge { shape })?;
        }
        if !shape.is_empty() {
            strides = Sizes::collect(values.into_iter().take(shape.len()));
        }
        Self::strided(shape, strides)
    }

    /// A layout with the given strides, in elements.
    ///
    /// # Errors
    /// [`LayoutError`] if the lists differ in length, a size is negative, or the element count or an address
    /// would overflow.
    ///
    /// # Examples
    /// ```
    /// use poolgrad::Layout;
    ///
    /// // [N, C, H, W] in channels-last order.
    /// let layout = Layout::strided([1, 3, 4, 5], [60, 1, 15, 3])?;
    /// assert_eq!(layout.reach(), 0..=59);
    /// assert!(!layout.overlaps_itself());
    /// # Ok::<(), poolgrad::LayoutError>(())
    /// ```
    pub fn strided(shape: impl Into<Sizes>, strides: impl Into<Sizes>) -> Result<Self, LayoutError> {
        let (shape, strides) = (shape.into(), strides.into());
        if shape.len() != strides.len() {
            return Err(LayoutError::StridesLength { wanted: shape.len(), got: strides.len() });
        }
        if let Some(axis) = shape.iter().position(|&size| size < 0) {
            return Err(LayoutError::NegativeSize { axis, got: shape[axis] });
        }
        let layout = Self { shape, strides };
        // The count is checked with zero sizes read as one, so that it does not depend on where the zero stands;
        // addresses are checked in bytes of the widest element.
        let mut count = 1i64;
        let (mut low, mut high) = (0i64, 0i64);
        for (&size, &stride) in shape.iter().zip(strides.iter()) {
            let fits = || -> Option<(i64, i64, i64)> {
                let span = (size - 1).max(0).checked_mul(stride)?;
                let count = count.checked_mul(size.max(1))?;
                Some((count, low.checked_add(span.min(0))?, high.checked_add(span.max(0))?))
            };
            (count, low, high) = fits().ok_or(LayoutError::TooLarge { shape })?;
        }
        let limit = isize::MAX as i64 / 16;
        if low < -limit || high > limit {
            return Err(LayoutError::TooLarge { shape });
        }
        Ok(layout)
    }

    /// The sizes of the axes.
    #[must_use]
    pub fn shape(&self) -> &Sizes {
        &self.shape
    }

    /// The steps along the axes, in elements.
    #[must_use]
    pub fn strides(&self) -> &Sizes {
        &self.strides
    }

    /// The number of axes.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// The number of elements: the product of the sizes.
    #[must_use]
    pub fn n_elements(&self) -> i64 {
        self.shape.iter().product()
    }

    /// Whether there is no element, because some size is zero.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// The lowest and the highest place of an element, counted in elements from element `[0, 0, …]`.
    ///
    /// The places of an empty layout are `0..=0`, although nothing lies there.
    #[must_use]
    pub fn reach(&self) -> RangeInclusive<i64> {
        let spans = || self.shape.iter().zip(self.strides.iter()).map(|(&size, &stride)| (size - 1) * stride);
        if self.is_empty() {
            return 0..=0;
        }
        spans().map(|span| span.min(0)).sum()..=spans().map(|span| span.max(0)).sum()
    }

    /// Whether the elements lie in row-major order without gaps.
    #[must_use]
    pub fn is_contiguous(&self) -> bool {
        let mut step = 1;
        self.is_empty()
            || (0..self.rank()).rev().all(|axis| {
                let fits = self.shape[axis] == 1 || self.strides[axis] == step;
                step *= self.shape[axis];
                fits
            })
    }

    /// Whether two elements lie in the same place, so that the tensor cannot be an output.
    ///
    /// Layouts made by permuting, slicing, stepping through or reversing a tensor are decided exactly. For exotic
    /// interleaved strides the search for a common place is bounded; when it runs out the answer is `true`.
    #[must_use]
    pub fn overlaps_itself(&self) -> bool {
        overlap::overlaps_itself(self)
    }
}

impl fmt::Debug for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.shape)?;
        if self.is_contiguous() { Ok(()) } else { write!(f, " with strides {}", self.strides) }
    }
}

/// Why a shape, strides and a buffer do not make a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LayoutError {
    /// There are more axes than [`MAX_AXES`].
    TooManyAxes {
        /// How many there are.
        got: usize,
    },
    /// A size is below zero.
    NegativeSize {
        /// The axis, counted from 0.
        axis: usize,
        /// Its size.
        got: i64,
    },
    /// There is not one stride for each size.
    StridesLength {
        /// The number of sizes.
        wanted: usize,
        /// The number of strides.
        got: usize,
    },
    /// The element count, or the distance between two elements, is too large for an address.
    TooLarge {
        /// The shape.
        shape: Sizes,
    },
    /// The system has not that much memory.
    OutOfMemory {
        /// The bytes of the tensor.
        bytes: usize,
    },
    /// Elements would lie outside the buffer.
    OutOfBuffer {
        /// The lowest place of an element in the buffer, in elements.
        low: i64,
        /// The highest place of an element in the buffer, in elements.
        high: i64,
        /// The number of elements in the buffer.
        len: usize,
    },
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyAxes { got } => write!(f, "at most {MAX_AXES} axes are supported, got {got}"),
            Self::NegativeSize { axis, got } => {
                write!(f, "the size of axis {axis} must be at least 0, got {got}")
            }
            Self::StridesLength { wanted, got } => {
                write!(f, "a stride is needed for each of the {wanted} axes, got {got}")
            }
            Self::TooLarge { shape } => {
                write!(f, "shape {shape} with these strides is larger than the address space")
            }
            Self::OutOfMemory { bytes } => write!(f, "there is no memory for a tensor of {bytes} bytes"),
            Self::OutOfBuffer { low, high, len } => {
                write!(f, "elements lie at {low}..={high} of a buffer that holds {len}")
            }
        }
    }
}

impl std::error::Error for LayoutError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_do_not_fit_are_refused() {
        let cases: [(&[i64], &[i64]); 5] = [
            (&[i64::MAX, 2], &[1, 1]),
            (&[1 << 32, 1 << 32], &[1, 1]),
            (&[3, 3], &[i64::MAX / 2, 1]),
            (&[2, 2], &[i64::MAX, i64::MAX]),
            (&[0, i64::MAX, 2], &[1, 1, 1]),
        ];
        for (shape, strides) in cases {
            let (shape, strides) = (Sizes::try_from(shape).unwrap(), Sizes::try_from(strides).unwrap());
            assert_eq!(Layout::strided(shape, strides), Err(LayoutError::TooLarge { shape }), "{shape}");
        }
        assert!(Layout::contiguous([1 << 40, 1 << 40]).is_err());
        assert!(Layout::strided([1 << 40, 2], [0, 1]).is_ok(), "a repeated element needs no memory");
    }

    #[test]
    fn reach_counts_negative_strides_down() {
        let layout = Layout::strided([2, 3], [-3, 1]).unwrap();
        assert_eq!(layout.reach(), -3..=2);
        assert_eq!(Layout::strided([0, 3], [-3, 1]).unwrap().reach(), 0..=0);
    }

    #[test]
    fn contiguous_ignores_strides_of_single_elements() {
        assert!(Layout::strided([1, 4], [99, 1]).unwrap().is_contiguous());
        assert!(Layout::strided([4, 1], [1, 7]).unwrap().is_contiguous());
        assert!(!Layout::strided([2, 4], [5, 1]).unwrap().is_contiguous());
        assert!(Layout::strided([2, 0], [9, 9]).unwrap().is_contiguous());
        assert!(Layout::contiguous(Sizes::default()).unwrap().is_contiguous());
    }
}
