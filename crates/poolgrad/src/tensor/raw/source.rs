//! Rows of a tensor that is read.

use std::marker::PhantomData;
use std::ops::Range;

use super::turn::{RowsToRead, RowsToWrite, turn};
use crate::dtype::Element;
use crate::exec::stream::{LINE, fetch_lines};
use crate::tensor::lift::Lifted;
use crate::tensor::view::TensorView;

/// The bytes that are asked for at once: they should not push out what is in use.
const FETCHED: usize = 32 << 10;

/// How many places ahead memory is asked for where places lie apart: a processor does not ask for such memory by itself.
const AHEAD: isize = 8;

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

    /// The flat offsets of a group.
    pub(crate) fn plane_len(&self) -> usize {
        self.lifted.plane_len()
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

    /// Asks for the memory of a group of small planes that lie one behind the other, if there is such a group.
    #[inline(always)]
    pub(crate) fn fetch_group(&self, group: usize) {
        let lifted = &self.lifted;
        let bytes = lifted.plane_len().saturating_mul(lifted.width_of(0)).saturating_mul(size_of::<T>());
        if group < lifted.n_groups() && bytes <= FETCHED && lifted.channel_step() == lifted.plane_len() as isize {
            fetch_lines(self.origin.wrapping_offset(lifted.place(group, 0)), bytes / LINE);
        }
    }

    /// All elements of `groups`, one group after the other, if they lie so.
    ///
    /// # Panics
    /// If there are no such groups.
    #[inline(always)]
    pub(crate) fn consecutive_groups(&self, groups: Range<usize>) -> Option<&'a [T]> {
        let lifted = &self.lifted;
        assert!(groups.start < groups.end && groups.end <= lifted.n_groups(), "groups of this tensor");
        if !lifted.are_groups_contiguous() {
            return None;
        }
        let n_elements = groups.len() * lifted.plane_len() * lifted.width_of(groups.start);
        let origin = self.origin.wrapping_offset(lifted.place(groups.start, 0));
        // SAFETY: the assertion above puts the groups inside the lifted shape, where these are consecutive elements
        // that the view's layout names, as in `row`.
        Some(unsafe { std::slice::from_raw_parts(origin, n_elements) })
    }

    /// The same: where they lie, or copied to the front of `buffer`.
    ///
    /// # Panics
    /// As [`Source::consecutive_groups`], or if they have to be copied and `buffer` is too short.
    #[inline(never)]
    pub(crate) fn groups<'b>(&self, groups: Range<usize>, buffer: &'b mut [T]) -> &'b [T]
    where
        'a: 'b,
    {
        if let Some(elements) = self.consecutive_groups(groups.clone()) {
            return elements;
        }
        let lifted = &self.lifted;
        let len = lifted.plane_len();
        let mut n_elements = 0;
        for group in groups {
            for run in 0..len / lifted.run_len() {
                let flat = run * lifted.run_len()..(run + 1) * lifted.run_len();
                let place = &mut buffer[n_elements..][..flat.len() * lifted.width_of(group)];
                self.row(group, flat).copy_to(place);
                n_elements += place.len();
            }
        }
        &buffer[..n_elements]
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
                self.copy_to(buffer);
                buffer
            }
        }
    }

    /// Copies the elements to `to`, which has as many.
    ///
    /// # Panics
    /// If it has not.
    #[inline(never)]
    fn copy_to(self, to: &mut [T]) {
        match self {
            Row::Slice(slice) => to.copy_from_slice(slice),
            Row::Strided(row) => {
                assert_eq!(to.len(), row.len * row.width, "a place for each element");
                if row.step == 1 && row.width > 1 {
                    // SAFETY: as below: so many channels, each of so many neighbouring places.
                    let from = unsafe { RowsToRead::new(row.origin, row.channel_step, [row.width, row.len]) };
                    // SAFETY: the assertion above tells how many elements `to` has.
                    let to = unsafe { RowsToWrite::new(to.as_mut_ptr(), row.width as isize, [row.len, row.width]) };
                    return turn(from, to);
                }
                let are_neighbours = row.width > 1 && row.channel_step == 1;
                for (i, places) in to.chunks_exact_mut(row.width).enumerate() {
                    let origin = row.origin.wrapping_offset(i as isize * row.step);
                    if are_neighbours {
                        fetch_lines(origin.wrapping_offset(AHEAD * row.step), size_of_val(places).div_ceil(LINE));
                        // SAFETY: as below, and the channels of a place are neighbours.
                        places.copy_from_slice(unsafe { std::slice::from_raw_parts(origin, row.width) });
                        continue;
                    }
                    for (c, value) in places.iter_mut().enumerate() {
                        // SAFETY: `i < row.len` and `c < row.width`, and `Source::row` made the row from as many
                        // places of one run and channels of one group, all of them named by the view's layout.
                        *value = unsafe { *origin.wrapping_offset(c as isize * row.channel_step) };
                    }
                }
            }
        }
    }
}
