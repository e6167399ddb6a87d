//! Views: a tensor's description together with memory that the caller owns.

use std::fmt;

use super::layout::{Layout, LayoutError};
use super::raw::{Exclusive, Shared};
use super::sizes::Sizes;
use crate::dtype::{DType, Element};

/// The element type and layout of a tensor, without its memory: what a [`Plan`](crate::Plan) is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TensorDesc {
    /// The type of the elements.
    pub dtype: DType,
    /// The shape and strides.
    pub layout: Layout,
}

impl TensorDesc {
    /// The description of a row-major tensor without gaps.
    ///
    /// # Errors
    /// As [`Layout::contiguous`].
    pub fn contiguous(dtype: DType, shape: impl Into<Sizes>) -> Result<Self, LayoutError> {
        Ok(Self { dtype, layout: Layout::contiguous(shape)? })
    }

    /// The sizes of the axes.
    #[must_use]
    pub fn shape(&self) -> &Sizes {
        self.layout.shape()
    }
}

impl fmt::Display for TensorDesc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.dtype, self.layout)
    }
}

/// A tensor to read: any element type, any strides, zero and negative ones included.
///
/// # Examples
/// ```
/// use poolgrad::{Layout, TensorView};
///
/// let values = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
/// let rows = TensorView::new(&values, [1, 2, 3])?;
/// // The same memory, transposed and read backwards along the last axis.
/// let columns = TensorView::strided(&values, Layout::strided([1, 3, 2], [6, 1, -3])?, 3)?;
/// assert_eq!(columns.shape().to_string(), "[1, 3, 2]");
/// # assert_eq!(rows.shape().len(), 3);
/// # Ok::<(), poolgrad::LayoutError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TensorView<'a> {
    pub(super) desc: TensorDesc,
    pub(super) memory: Shared<'a>,
}

impl<'a> TensorView<'a> {
    /// A row-major tensor without gaps that starts with the first element of `data`.
    ///
    /// # Errors
    /// [`LayoutError`] if the shape is no layout, or needs more elements than `data` holds.
    pub fn new<T: Element>(data: &'a [T], shape: impl Into<Sizes>) -> Result<Self, LayoutError> {
        Self::strided(data, Layout::contiguous(shape)?, 0)
    }

    /// A tensor in `data` whose element `[0, 0, …]` is `data[offset]`.
    ///
    /// # Errors
    /// [`LayoutError::OutOfBuffer`] if an element would lie outside `data`.
    pub fn strided<T: Element>(data: &'a [T], layout: Layout, offset: usize) -> Result<Self, LayoutError> {
        let memory = Shared::within(data, &layout, offset)?;
        Ok(Self { desc: TensorDesc { dtype: T::DTYPE, layout }, memory })
    }

    /// The element type and layout.
    #[must_use]
    pub fn desc(&self) -> &TensorDesc {
        &self.desc
    }

    /// The element type.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.desc.dtype
    }

    /// The sizes of the axes.
    #[must_use]
    pub fn shape(&self) -> &Sizes {
        self.desc.shape()
    }
}

/// A tensor to write: any element type, any strides that do not make two elements share a place.
///
/// # Examples
/// ```
/// use poolgrad::TensorViewMut;
///
/// let mut grad_input = vec![0.0f32; 2 * 4 * 4];
/// let view = TensorViewMut::new(&mut grad_input, [1, 2, 4, 4])?;
/// assert_eq!(view.desc().layout.n_elements(), 32);
/// # Ok::<(), poolgrad::LayoutError>(())
/// ```
#[derive(Debug)]
pub struct TensorViewMut<'a> {
    pub(super) desc: TensorDesc,
    pub(super) memory: Exclusive<'a>,
}

impl<'a> TensorViewMut<'a> {
    /// A row-major tensor without gaps that starts with the first element of `data`.
    ///
    /// # Errors
    /// [`LayoutError`] if the shape is no layout, or needs more elements than `data` holds.
    pub fn new<T: Element>(data: &'a mut [T], shape: impl Into<Sizes>) -> Result<Self, LayoutError> {
        Self::strided(data, Layout::contiguous(shape)?, 0)
    }

    /// A tensor in `data` whose element `[0, 0, …]` is `data[offset]`.
    ///
    /// # Errors
    /// [`LayoutError::OutOfBuffer`] if an element would lie outside `data`.
    pub fn strided<T: Element>(data: &'a mut [T], layout: Layout, offset: usize) -> Result<Self, LayoutError> {
        let memory = Exclusive::within(data, &layout, offset)?;
        Ok(Self { desc: TensorDesc { dtype: T::DTYPE, layout }, memory })
    }

    /// The element type and layout.
    #[must_use]
    pub fn desc(&self) -> &TensorDesc {
        &self.desc
    }

    /// The same tensor, borrowed for a shorter time.
    pub fn reborrow(&mut self) -> TensorViewMut<'_> {
        TensorViewMut { desc: self.desc, memory: self.memory.reborrow() }
    }
}
