//! The unsafe room of tensors: memory behind views, rows read from it, and disjoint tiles written to it.
//!
//! Everything outside this room works with three safe ideas, each made true by checks in here:
//!
//! * a [`TensorView`] or [`TensorViewMut`] exists only if every element that its layout can name lies in memory that
//!   is valid for the view's life (checked against the slice, or signed for by the caller of `from_raw_parts`);
//! * a [`Source`] hands out [`Row`]s only for places inside its shape (asserted on every row);
//! * a [`Target`] hands out each tile of a [`Partition`] at most once, to one thread, and a [`Tile`] writes only
//!   inside its own range (asserted on every write). Tiles are disjoint sets of positions, and the layout does not
//!   overlap itself (checked in [`Target::new`]), so they are disjoint sets of memory.

mod claims;
mod source;
mod target;
mod turn;

use std::ffi::c_void;
use std::marker::PhantomData;

use super::layout::{Layout, LayoutError};
use super::overlap::Placed;
use super::view::{TensorDesc, TensorView, TensorViewMut};
use crate::dtype::{DType, Element};

pub(crate) use source::{Row, Source};
pub(crate) use target::{Cut, OutTile, Target, Tile};

/// The address of element `[0, 0, …]` of memory that may be read for `'a`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shared<'a> {
    origin: *const c_void,
    life: PhantomData<&'a [u8]>,
}

/// The address of element `[0, 0, …]` of memory that this view alone may use for `'a`.
#[derive(Debug)]
pub(crate) struct Exclusive<'a> {
    origin: *mut c_void,
    life: PhantomData<&'a mut [u8]>,
}

// SAFETY: `Shared` stands for a shared borrow of plain numbers, which may be read from any thread.
unsafe impl Send for Shared<'_> {}
// SAFETY: as above.
unsafe impl Sync for Shared<'_> {}
// SAFETY: `Exclusive` stands for an exclusive borrow of plain numbers, which may move to any thread.
unsafe impl Send for Exclusive<'_> {}
// SAFETY: a shared `Exclusive` gives no access to its memory; only taking it by value or `&mut` does.
unsafe impl Sync for Exclusive<'_> {}

/// Checks that a layout whose element `[0, 0, …]` is number `offset` of a buffer stays inside its `len` elements.
fn check_reach(layout: &Layout, offset: usize, len: usize) -> Result<(), LayoutError> {
    let reach = layout.reach();
    let offset = i64::try_from(offset).unwrap_or(i64::MAX);
    let (low, high) = (offset.saturating_add(*reach.start()), offset.saturating_add(*reach.end()));
    // An empty layout names no element, but its origin still has to be an address of the buffer or its end.
    let end = i64::try_from(len).unwrap_or(i64::MAX).saturating_add(i64::from(layout.is_empty()));
    if low < 0 || high >= end {
        return Err(LayoutError::OutOfBuffer { low, high, len });
    }
    Ok(())
}

impl<'a> Shared<'a> {
    pub(super) fn within<T: Element>(data: &'a [T], layout: &Layout, offset: usize) -> Result<Self, LayoutError> {
        check_reach(layout, offset, data.len())?;
        Ok(Self { origin: data.as_ptr().wrapping_add(offset).cast(), life: PhantomData })
    }
}

impl<'a> Exclusive<'a> {
    pub(super) fn within<T: Element>(
        data: &'a mut [T],
        layout: &Layout,
        offset: usize,
    ) -> Result<Self, LayoutError> {
        check_reach(layout, offset, data.len())?;
        Ok(Self { origin: data.as_mut_ptr().wrapping_add(offset).cast(), life: PhantomData })
    }

    /// The same memory for a shorter time, while `self` cannot be used.
    pub(super) fn reborrow(&mut self) -> Exclusive<'_> {
        Exclusive { origin: self.origin, life: PhantomData }
    }
}

impl TensorView<'_> {
    /// A tensor in memory that was obtained elsewhere; `origin` is the address of its element `[0, 0, …]`.
    ///
    /// # Safety
    /// For the whole of the returned lifetime, every element that `layout` names from `origin` must lie in one
    /// allocation, be initialised, and not be written. `origin` may be anything if the layout is empty. An address
    /// that is not aligned for `dtype` is refused with an error when a plan uses the view.
    #[must_use]
    pub unsafe fn from_raw_parts(origin: *const c_void, dtype: DType, layout: Layout) -> Self {
        Self { desc: TensorDesc { dtype, layout }, memory: Shared { origin, life: PhantomData } }
    }

    /// Where the tensor lies.
    pub(crate) fn placed(&self) -> Placed<'_> {
        Placed { layout: &self.desc.layout, address: self.memory.origin.addr(), size: self.desc.dtype.size() }
    }
}

impl TensorViewMut<'_> {
    /// A tensor in memory that was obtained elsewhere; `origin` is the address of its element `[0, 0, …]`.
    ///
    /// # Safety
    /// For the whole of the returned lifetime, every element that `layout` names from `origin` must lie in one
    /// allocation, be initialised, and be read and written through this view alone. `origin` may be anything if the
    /// layout is empty. An address that is not aligned for `dtype` is refused with an error when a plan uses the
    /// view, and so is a layout that overlaps itself.
    #[must_use]
    pub unsafe fn from_raw_parts(origin: *mut c_void, dtype: DType, layout: Layout) -> Self {
        Self { desc: TensorDesc { dtype, layout }, memory: Exclusive { origin, life: PhantomData } }
    }

    /// Where the tensor lies.
    pub(crate) fn placed(&self) -> Placed<'_> {
        Placed { layout: &self.desc.layout, address: self.memory.origin.addr(), size: self.desc.dtype.size() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_stay_inside_their_buffer() {
        let data = [0f32; 12];
        let layout = |shape: [i64; 3], strides: [i64; 3]| Layout::strided(shape, strides).unwrap();
        let fits = |layout: Layout, offset: usize| TensorView::strided(&data, layout, offset).is_ok();
        assert!(fits(layout([1, 3, 4], [12, 4, 1]), 0));
        assert!(!fits(layout([1, 3, 4], [12, 4, 1]), 1));
        assert!(fits(layout([1, 3, 4], [12, -4, 1]), 8));
        assert!(!fits(layout([1, 3, 4], [12, -4, 1]), 7));
        assert!(!fits(layout([1, 3, 4], [12, 4, 1]), usize::MAX));
        assert!(fits(layout([0, 3, 4], [12, 4, 1]), 12));
        assert!(!fits(layout([0, 3, 4], [12, 4, 1]), 13));
    }
}
