//! The unsafe room of tensors: memory behind views, rows read from it, and disjoint tiles written to it.
//!
//! Everything outside this file works with three safe ideas, each made true by checks in here:
//!
//! * a [`TensorView`] or [`TensorViewMut`] exists only if every element that its layout can name lies in memory that
//!   is valid for the view's life (checked against the slice, or signed for by the caller of `from_raw_parts`);
//! * a [`Source`] hands out [`Row`]s only for places inside its shape (asserted on every row);
//! * a [`Target`] hands out each tile of a [`Partition`] at most once, to one thread, and a [`Tile`] writes only
//!   inside its own range (asserted on every write). Tiles are disjoint sets of positions, and the layout does not
//!   overlap itself (checked in [`Target::new`]), so they are disjoint sets of memory.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::layout::{Layout, LayoutError};
use super::lift::Lifted;
use super::overlap::Placed;
use super::partition::{Partition, TileRange};
use super::view::{TensorDesc, TensorView, TensorViewMut};
use crate::dtype::{DType, Element};
use crate::exec::stream::Pending;

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

/// A typed, lifted tensor that kernels read rows from.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a, T> {
    origin: *const T,
    lifted: Lifted,
    life: PhantomData<&'a [T]>,
}

// SAFETY: a `Source` stands for a shared borrow of plain numbers.
unsafe impl<T: Element> Sync for Source<'_, T> {}

impl<'a, T: Element> Source<'a, T> {
    /// The view's elements in groups of `width` channels.
    ///
    /// # Panics
    /// If the view's element type is not `T`, its memory is not aligned, or its rank does not fit `n_spatial`: the
    /// plan has checked all three.
    pub(crate) fn new(view: &TensorView<'a>, n_spatial: usize, width: usize) -> Self {
        assert_eq!(view.desc.dtype, T::DTYPE, "the element type was checked by the plan");
        assert!(view.placed().is_aligned(), "the alignment was checked by the plan");
        let lifted = Lifted::new(&view.desc.layout, n_spatial).grouped(width);
        Self { origin: view.memory.origin.cast(), lifted, life: PhantomData }
    }

    /// The length of the runs that planes fall into; a row must not cross from one into the next.
    pub(crate) fn run_len(&self) -> usize {
        self.lifted.run_len()
    }

    /// The channels of group `group`.
    #[inline(always)]
    pub(crate) fn width_of(&self, group: usize) -> usize {
        self.lifted.width_of(group)
    }

    /// The elements at flat offsets `flat` of group `group`: for each offset, those of all channels.
    ///
    /// # Panics
    /// If they are not inside the tensor, or not inside one run.
    #[inline(always)]
    pub(crate) fn row(&self, group: usize, flat: Range<usize>) -> Row<'a, T> {
        let lifted = &self.lifted;
        assert!(
            group < lifted.n_groups()
                && flat.start < flat.end
                && flat.end <= lifted.plane_len()
                && flat.start % lifted.run_len() + (flat.end - flat.start) <= lifted.run_len(),
            "a row lies inside one run of its group"
        );
        let origin = self.origin.wrapping_offset(lifted.place(group, flat.start));
        let (len, width) = (flat.end - flat.start, lifted.width_of(group));
        if lifted.is_row_contiguous(len, width) {
            // SAFETY: the assertion above puts `flat` inside the lifted shape and inside one run, where these are
            // `len * width` consecutive elements that the view's layout names: valid, aligned (checked in `new`),
            // initialised and unwritten for `'a` by the view's construction.
            Row::Slice(unsafe { std::slice::from_raw_parts(origin, len * width) })
        } else {
            let (step, channel_step) = (lifted.step(), lifted.channel_step());
            Row::Strided(Strided { origin, len, width, step, channel_step, life: PhantomData })
        }
    }
}

/// Neighbouring elements of one run of a group.
#[derive(Clone, Copy)]
pub(crate) enum Row<'a, T> {
    /// They are neighbours in memory too.
    Slice(&'a [T]),
    /// They are not.
    Strided(Strided<'a, T>),
}

/// `len` places a constant step apart, each of `width` channels a constant step apart; every element is readable.
#[derive(Clone, Copy)]
pub(crate) struct Strided<'a, T> {
    origin: *const T,
    len: usize,
    width: usize,
    step: isize,
    channel_step: isize,
    life: PhantomData<&'a [T]>,
}

impl<'a, T: Element> Row<'a, T> {
    /// The elements as a slice: where they lie, or copied to the front of `buffer`.
    ///
    /// # Panics
    /// If they have to be copied and `buffer` is shorter than the row.
    #[inline(always)]
    pub(crate) fn load<'b>(self, buffer: &'b mut [T]) -> &'b [T]
    where
        'a: 'b,
    {
        match self {
            Row::Slice(slice) => slice,
            Row::Strided(row) => {
                let buffer = &mut buffer[..row.len * row.width];
                for (i, places) in buffer.chunks_exact_mut(row.width).enumerate() {
                    let origin = row.origin.wrapping_offset(i as isize * row.step);
                    for (c, value) in places.iter_mut().enumerate() {
                        // SAFETY: `i < row.len` and `c < row.width`, and `Source::row` made the row from as many
                        // places of one run and channels of one group, all of them named by the view's layout.
                        *value = unsafe { *origin.wrapping_offset(c as isize * row.channel_step) };
                    }
                }
                buffer
            }
        }
    }
}

/// One typed, lifted tensor that tiles write to.
struct Output<T> {
    origin: *mut T,
    lifted: Lifted,
    streaming: bool,
}

/// One or two output tensors of the same shape, cut by one partition, whose tiles are handed out once each.
pub(crate) struct Target<'a, T, U> {
    first: Output<T>,
    second: Option<Output<U>>,
    partition: Partition,
    next: AtomicUsize,
    life: PhantomData<&'a mut [T]>,
}

// SAFETY: a shared `Target` gives access to its memory only through tiles, each of which is handed out once and covers
// positions that no other covers.
unsafe impl<T: Element, U: Element> Sync for Target<'_, T, U> {}

impl<'a, T: Element, U: Element> Target<'a, T, U> {
    /// Takes the outputs apart by `cut`. With `streaming`, whole rows bypass the cache on their way to memory.
    ///
    /// # Panics
    /// If an output's element type, rank or alignment is not as the plan has checked, if one overlaps itself, or if
    /// the partition is not a cut of exactly these shapes.
    pub(crate) fn new(
        (first, second): (TensorViewMut<'a>, Option<TensorViewMut<'a>>),
        n_spatial: usize,
        cut: Cut,
        streaming: bool,
    ) -> Self {
        Self {
            first: Output::new(first, n_spatial, &cut, streaming),
            second: second.map(|view| Output::new(view, n_spatial, &cut, streaming)),
            partition: cut.partition,
            next: AtomicUsize::new(0),
            life: PhantomData,
        }
    }

    /// The next tile that nobody has had yet, or `None` when all with a number below `end` are given out.
    pub(crate) fn claim_before(&self, end: usize) -> Option<Tile<'_, T, U>> {
        let end = end.min(self.partition.n_tiles());
        // The update gives every number to one caller only; that is all the ordering disjointness needs.
        let advance = |id: usize| (id < end).then_some(id + 1);
        let id = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, advance).ok()?;
        let range = self.partition.tile(id);
        let first = OutTile::new(&self.first, range.clone());
        Some(Tile { first, second: self.second.as_ref(), range })
    }
}

/// How outputs are cut: into groups of `width` channels, and those into tiles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    pub(crate) width: usize,
    pub(crate) partition: Partition,
}

impl<T: Element> Output<T> {
    fn new(view: TensorViewMut<'_>, n_spatial: usize, cut: &Cut, streaming: bool) -> Self {
        assert_eq!(view.desc.dtype, T::DTYPE, "the element type was checked by the plan");
        assert!(view.placed().is_aligned(), "the alignment was checked by the plan");
        assert!(!view.desc.layout.overlaps_itself(), "self-overlap was checked by the plan");
        let lifted = Lifted::new(&view.desc.layout, n_spatial).grouped(cut.width);
        assert!(
            lifted.n_groups() == cut.partition.n_groups() && lifted.plane_len() == cut.partition.plane_len(),
            "the partition cuts the output's own shape"
        );
        Self { origin: view.memory.origin.cast(), lifted, streaming }
    }
}

/// A tile that the holder alone writes: one range of every output of a [`Target`].
pub(crate) struct Tile<'t, T: Element, U> {
    /// The first output's part.
    pub(crate) first: OutTile<'t, T>,
    second: Option<&'t Output<U>>,
    range: TileRange,
}

impl<'t, T: Element, U: Element> Tile<'t, T, U> {
    /// The groups and flat offsets of the tile.
    pub(crate) fn range(&self) -> TileRange {
        self.range.clone()
    }

    /// The parts of both outputs.
    pub(crate) fn split(self) -> (OutTile<'t, T>, Option<OutTile<'t, U>>) {
        let second = self.second.map(|output| OutTile::new(output, self.range));
        (self.first, second)
    }
}

/// One output's part of a tile.
pub(crate) struct OutTile<'t, T: Element> {
    output: &'t Output<T>,
    range: TileRange,
    /// The end of what was streamed last, as far as it does not fill a line.
    pending: Pending<T>,
}

impl<'t, T: Element> OutTile<'t, T> {
    fn new(output: &'t Output<T>, range: TileRange) -> Self {
        Self { output, range, pending: Pending::new(output.origin) }
    }

    fn assert_inside(&self, group: usize, flat: &Range<usize>) {
        assert!(
            self.range.groups.contains(&group)
                && self.range.flat.start <= flat.start
                && flat.start < flat.end
                && flat.end <= self.range.flat.end,
            "a tile writes inside its own range"
        );
    }

    /// Writes `values`, for each place those of all channels, at the flat offsets of group `group` that begin with
    /// `flat`.
    ///
    /// # Panics
    /// If they are not all inside the tile, or not as many as the group has channels at each place.
    #[inline(always)]
    pub(crate) fn write(&mut self, group: usize, flat: usize, values: &[T]) {
        let lifted = self.output.lifted;
        let width = lifted.width_of(group);
        assert!(values.len().is_multiple_of(width), "every place has all channels");
        self.assert_inside(group, &(flat..flat + values.len() / width));
        let (mut flat, mut values) = (flat, values);
        while !values.is_empty() {
            let len = (values.len() / width).min(lifted.run_len() - flat % lifted.run_len());
            let (run, rest) = values.split_at(len * width);
            let origin = self.output.origin.wrapping_offset(lifted.place(group, flat));
            if lifted.is_row_contiguous(len, width) {
                // SAFETY: `len * width` consecutive elements of one run of one group, named by the output's layout:
                // valid and aligned by construction, this tile's alone (see the top of the file), and reached from
                // the output's own pointer.
                unsafe { self.write_consecutive(run, origin) };
            } else {
                for (i, channels) in run.chunks_exact(width).enumerate() {
                    let origin = origin.wrapping_offset(i as isize * lifted.step());
                    if lifted.channel_step() == 1 {
                        // SAFETY: the channels of flat offset `flat + i`, which is inside the tile and inside one
                        // run, are consecutive elements of the output's layout that are this tile's alone.
                        unsafe { self.write_consecutive(channels, origin) };
                        continue;
                    }
                    for (c, &value) in channels.iter().enumerate() {
                        let place = origin.wrapping_offset(c as isize * lifted.channel_step());
                        // SAFETY: as above, one element at a time.
                        unsafe { *place = value };
                    }
                }
            }
            (flat, values) = (flat + len, rest);
        }
    }

    /// Writes neighbours in memory.
    ///
    /// # Safety
    /// As [`Pending::write`].
    #[inline(always)]
    unsafe fn write_consecutive(&mut self, values: &[T], origin: *mut T) {
        if self.output.streaming {
            // SAFETY: the caller's promise is passed on.
            unsafe { self.pending.write(values, origin) };
        } else {
            // SAFETY: the caller vouches for as many elements as `values` has.
            let row = unsafe { std::slice::from_raw_parts_mut(origin, values.len()) };
            row.copy_from_slice(values);
        }
    }

    /// The elements at flat offsets `flat` of group `group`, where they are neighbours
    /// in memory and are not to be streamed.
    ///
    /// # Panics
    /// If they are not all inside the tile.
    #[inline(always)]
    pub(crate) fn row_mut(&mut self, group: usize, flat: Range<usize>) -> Option<&mut [T]> {
        self.assert_inside(group, &flat);
        let lifted = &self.output.lifted;
        let (len, width) = (flat.end - flat.start, lifted.width_of(group));
        let one_run = flat.start % lifted.run_len() + len <= lifted.run_len();
        if self.output.streaming || !one_run || !lifted.is_row_contiguous(len, width) {
            return None;
        }
        let origin = self.output.origin.wrapping_offset(lifted.place(group, flat.start));
        // SAFETY: as in `write`: consecutive elements of one run of one group, inside this tile. The borrow of
        // `self` keeps the tile from being written otherwise meanwhile.
        Some(unsafe { std::slice::from_raw_parts_mut(origin, len * width) })
    }

    /// The channels of group `group`.
    #[inline(always)]
    pub(crate) fn width_of(&self, group: usize) -> usize {
        self.output.lifted.width_of(group)
    }
}

impl<T: Element> Drop for OutTile<'_, T> {
    fn drop(&mut self) {
        // SAFETY: what is pending are elements of this tile, written by `write_consecutive`; the tile still lives.
        unsafe { self.pending.flush() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::partition::Wanted;

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

    #[test]
    fn every_tile_is_claimed_once() {
        let mut data = [0f32; 60];
        let view = TensorViewMut::new(&mut data, [3, 4, 5]).unwrap();
        let partition = Partition::new(3, [1, 4, 5], Wanted { unit: 1, most: 7, least_tiles: 1 });
        let cut = Cut { width: 1, partition };
        let target = Target::<f32, i32>::new((view, None), 2, cut, false);
        let mut n_tiles = 0;
        while let Some(mut tile) = target.claim_before(usize::MAX) {
            n_tiles += 1;
            let TileRange { groups, flat } = tile.range();
            for group in groups {
                tile.first.write(group, flat.start, &vec![1.0; flat.len()]);
            }
        }
        assert_eq!(n_tiles, partition.n_tiles());
        assert!(target.claim_before(usize::MAX).is_none());
        assert_eq!(data, [1.0; 60]);
    }

    #[test]
    #[should_panic(expected = "inside its own range")]
    fn a_tile_cannot_write_its_neighbour() {
        let mut data = [0f32; 20];
        let view = TensorViewMut::new(&mut data, [1, 4, 5]).unwrap();
        let target = Target::<f32, i32>::new(
            (view, None),
            2,
            Cut { width: 1, partition: Partition::new(1, [1, 4, 5], Wanted { unit: 1, most: 5, least_tiles: 1 }) },
            false,
        );
        target.claim_before(usize::MAX).unwrap().first.write(0, 4, &[1.0, 2.0]);
    }
}
