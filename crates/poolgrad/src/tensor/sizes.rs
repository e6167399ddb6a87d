//! Short lists of sizes, held inline: shapes, strides, and the parameters of a pooling.

use std::fmt;
use std::ops::Deref;

use super::LayoutError;

/// The most axes a tensor can have.
pub const MAX_AXES: usize = 8;

/// A list of up to [`MAX_AXES`] integers, without allocation.
///
/// Shapes, strides and parameters such as `kernel_size` are all lists of this kind. Values are signed and
/// unchecked: what they may be depends on what they are for, and [`Plan::new`](crate::Plan::new) says so.
///
/// # Examples
/// ```
/// use poolgrad::Sizes;
///
/// let shape = Sizes::from([2, 3, 16, 56, 56]);
/// assert_eq!(shape.len(), 5);
/// assert_eq!(shape.to_string(), "[2, 3, 16, 56, 56]");
/// assert_eq!(Sizes::from(3), Sizes::from([3]));
/// assert!(Sizes::try_from([1; 9].as_slice()).is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Sizes {
    len: u8,
    values: [i64; MAX_AXES],
}

impl Sizes {
    /// A list of `len` equal values.
    ///
    /// # Panics
    /// If `len` is above [`MAX_AXES`].
    #[must_use]
    pub fn splat(value: i64, len: usize) -> Self {
        Self::collect(std::iter::repeat_n(value, len))
    }

    /// # Panics
    /// If there are more than [`MAX_AXES`] values.
    pub(crate) fn collect(values: impl IntoIterator<Item = i64>) -> Self {
        let mut sizes = Self::default();
        for value in values {
            sizes.values[usize::from(sizes.len)] = value;
            sizes.len += 1;
        }
        sizes
    }
}

impl Deref for Sizes {
    type Target = [i64];

    fn deref(&self) -> &[i64] {
        &self.values[..usize::from(self.len)]
    }
}

impl<const N: usize> From<[i64; N]> for Sizes {
    fn from(values: [i64; N]) -> Self {
        const { assert!(N <= MAX_AXES) };
        Self::collect(values)
    }
}

impl From<i64> for Sizes {
    fn from(value: i64) -> Self {
        Self::from([value])
    }
}

impl TryFrom<&[i64]> for Sizes {
    type Error = LayoutError;

    fn try_from(values: &[i64]) -> Result<Self, LayoutError> {
        let mut sizes = Self { len: values.len() as u8, ..Self::default() };
        let filled = sizes.values.get_mut(..values.len()).ok_or(LayoutError::TooManyAxes { got: values.len() })?;
        filled.copy_from_slice(values);
        Ok(sizes)
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &**self)
    }
}

impl fmt::Debug for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
