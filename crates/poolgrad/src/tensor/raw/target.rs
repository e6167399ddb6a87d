//! Tiles of tensors that are written.

mod groups;
mod rounded;

use std::marker::PhantomData;
use std::ops::Range;

use zerocopy::IntoBytes;

use super::claims::Claims;
use super::turn::{RowsToRead, RowsToWrite, turn};
use crate::dtype::Element;
use crate::exec::stream::{LINE, LINE_ELEMENTS, Pending, claim_lines, claim_next, copy_near, whole_lines};
use crate::tensor::lift::Lifted;
use crate::tensor::partition::{Partition, TileRange};
use crate::tensor::view::TensorViewMut;

/// The elements that are written between asking for memory.
const AT_ONCE: usize = 1024;

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
    claims: Claims,
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
            claims: Claims::new(cut.partition.n_tiles(), cut.n_workers),
            life: PhantomData,
        }
    }

    /// A tile that nobody has had yet, or `None` when all with a number below `end` are given out.
    pub(crate) fn claim_before(&self, end: usize, worker: usize) -> Option<Tile<'_, T, U>> {
        let id = self.claims.claim_before(end, worker)?;
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
    /// How many workers fill the tiles.
    pub(crate) n_workers: usize,
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
        assert!(self.range.contains(group, flat), "a tile writes inside its own range");
    }

    /// Writes `values`, for each place those of all channels, at the flat offsets of group `group` that begin with
    /// `flat`.
    ///
    /// # Panics
    /// If they are not all inside the tile, or not as many as the group has channels at each place.
    #[inline(never)]
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
            } else if lifted.step() == 1 && lifted.channel_step() != 1 {
                if !self.output.streaming {
                    // What follows in each channel, and is written next, is as long as a rule.
                    let next = (0..width).map(|c| origin.wrapping_offset(c as isize * lifted.channel_step()));
                    next.for_each(|next| claim_lines(next.wrapping_add(len), len));
                }
                // SAFETY: `run` has so many elements.
                let from = unsafe { RowsToRead::new(run.as_ptr(), width as isize, [len, width]) };
                // SAFETY: so many channels, each of so many neighbouring elements of one run of one group, named by the output's
                // layout and this tile's alone, as above.
                let to = unsafe { RowsToWrite::new(origin, lifted.channel_step(), [width, len]) };
                turn(from, to);
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
            for (row, values) in row.chunks_mut(AT_ONCE).zip(values.chunks(AT_ONCE)) {
                claim_next(row);
                copy_near(values, row);
            }
        }
    }

    /// Writes `values`, those of all places of `groups`, one group after the other.
    ///
    /// # Panics
    /// If the tile does not have all of these groups, or `values` is not as long as they are.
    #[inline(never)]
    pub(crate) fn write_groups(&mut self, groups: Range<usize>, values: &[T]) {
        if let Some(origin) = self.whole_groups(&groups, values.len()) {
            // SAFETY: `whole_groups` found that these are consecutive elements of the output's layout, all of this tile,
            // and as many as `values` has.
            return unsafe { self.write_consecutive(values, origin) };
        }
        let mut rest = values;
        for group in groups {
            let (values, after) = rest.split_at(self.output.lifted.plane_len() * self.width_of(group));
            self.write(group, 0, values);
            rest = after;
        }
        assert!(rest.is_empty(), "as many values as places");
    }

    /// The elements at flat offsets `flat` of `groups`, where they are neighbours in memory and are not to be streamed.
    /// Several groups are neighbours only as a whole.
    ///
    /// # Panics
    /// If they are not all inside the tile.
    #[inline(never)]
    pub(crate) fn memory(&mut self, groups: Range<usize>, flat: Range<usize>) -> Option<&mut [T]> {
        let lifted = &self.output.lifted;
        if self.output.streaming {
            return None;
        }
        if flat == (0..lifted.plane_len()) {
            let n_elements = groups.len() * flat.len() * lifted.width_of(groups.start);
            if let Some(origin) = self.whole_groups(&groups, n_elements) {
                // SAFETY: as in `write_groups`. The borrow of `self` keeps the tile from being written otherwise meanwhile.
                return Some(unsafe { std::slice::from_raw_parts_mut(origin, n_elements) });
            }
        }
        if groups.len() > 1 { None } else { self.consecutive(groups.start, flat) }
    }

    /// The elements at flat offsets `flat` of a group, where they are neighbours in memory, be they to be streamed or not.
    ///
    /// # Panics
    /// If they are not all inside the tile.
    #[inline(always)]
    pub(crate) fn consecutive(&mut self, group: usize, flat: Range<usize>) -> Option<&mut [T]> {
        let len = flat.len() * self.width_of(group);
        let origin = self.origin_of(group, &flat)?;
        // SAFETY: as in `write`: consecutive elements of one run of one group, inside this tile. The borrow of
        // `self` keeps the tile from being written otherwise meanwhile.
        Some(unsafe { std::slice::from_raw_parts_mut(origin, len) })
    }

    /// Whether rows are to be streamed.
    #[inline(always)]
    pub(crate) fn streams(&self) -> bool {
        self.output.streaming
    }

    /// Where the elements at flat offsets `flat` of a group begin, if they are neighbours in memory.
    ///
    /// # Panics
    /// If they are not all inside the tile.
    #[inline(always)]
    fn origin_of(&self, group: usize, flat: &Range<usize>) -> Option<*mut T> {
        let lifted = &self.output.lifted;
        self.assert_inside(group, flat);
        let one_run = flat.start % lifted.run_len() + flat.len() <= lifted.run_len();
        let are_neighbours = one_run && lifted.is_row_contiguous(flat.len(), lifted.width_of(group));
        are_neighbours.then(|| self.output.origin.wrapping_offset(lifted.place(group, flat.start)))
    }

    /// The same for the `len` elements that begin at flat offset `flat`.
    ///
    /// # Panics
    /// As that, or if these are not all channels of their places.
    #[inline(always)]
    fn origin_from(&self, (group, flat): (usize, usize), len: usize) -> Option<*mut T> {
        let width = self.width_of(group);
        assert!(len.is_multiple_of(width), "every place has all channels");
        self.origin_of(group, &(flat..flat + len / width))
    }

    /// Streams `len` elements to the flat offsets of a group that begin where `from` says, if they are neighbours in memory and
    /// are to be streamed; whether it did. `put` writes whole lines, the first of which begins with the element that it is told,
    /// and `line` makes the one that begins with any.
    ///
    /// # Panics
    /// As [`OutTile::write`], or if there are fewer than fill a line.
    #[inline(always)]
    pub(crate) fn stream(
        &mut self,
        from: (usize, usize),
        len: usize,
        mut put: impl FnMut(usize, &mut [T]),
        line: impl Fn(usize) -> [u8; LINE],
    ) -> bool {
        let per_line = LINE / size_of::<T>();
        assert!(len >= per_line, "a line of elements");
        let Some(origin) = self.origin_from(from, len) else { return false };
        // SAFETY: `origin_from` found that these are `len` consecutive elements of one run of one group, inside this tile.
        unsafe {
            self.stream_consecutive(
                (origin, len),
                #[inline(always)]
                |part, row, is_lines| {
                    if is_lines {
                        put(part.start, row);
                        return true;
                    }
                    let first = part.start.min(len - per_line);
                    let row = row.as_mut_bytes();
                    row.copy_from_slice(&line(first)[(part.start - first) * size_of::<T>()..][..row.len()]);
                    true
                },
            )
        }
    }

    /// Streams neighbours in memory, if they are to be streamed: `put` first writes those of them that fill whole lines and returns
    /// whether it can, and then the others, which may be parts of lines that come before or after.
    ///
    /// # Safety
    /// `origin` must point to as many elements of this tile as `len` says, by way of the output's own pointer.
    #[inline(always)]
    unsafe fn stream_consecutive(
        &mut self,
        (origin, len): (*mut T, usize),
        mut put: impl FnMut(Range<usize>, &mut [T], bool) -> bool,
    ) -> bool {
        if !self.output.streaming {
            return false;
        }
        // SAFETY: the caller vouches for these elements.
        let row = unsafe { std::slice::from_raw_parts_mut(origin, len) };
        let Range { start, end } = whole_lines(row);
        if !put(start..end, &mut row[start..end], true) {
            return false;
        }
        for part in [0..start, end..len].into_iter().filter(|part| !part.is_empty()) {
            let mut elements = [T::default(); LINE_ELEMENTS];
            let (elements, origin) = (&mut elements[..part.len()], origin.wrapping_add(part.start));
            put(part, elements, false);
            // SAFETY: these are elements of the row above, which is not used any more.
            unsafe { self.pending.write(elements, origin) };
        }
        true
    }

    /// Where `groups` begin, if they are consecutive in memory.
    ///
    /// # Panics
    /// If the tile does not have all of them, or they do not have `n_elements`.
    #[inline(always)]
    fn whole_groups(&self, groups: &Range<usize>, n_elements: usize) -> Option<*mut T> {
        let lifted = &self.output.lifted;
        if !lifted.are_groups_contiguous() {
            return None;
        }
        let plane = 0..lifted.plane_len();
        self.assert_inside(groups.start, &plane);
        self.assert_inside(groups.end - 1, &plane);
        // Contiguous groups are all equally wide.
        assert_eq!(
            groups.len() * plane.len() * lifted.width_of(groups.start),
            n_elements,
            "as many values as places"
        );
        Some(self.output.origin.wrapping_offset(lifted.place(groups.start, 0)))
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
    fn every_tile_is_claimed_once() {
        let mut data = [0f32; 60];
        let view = TensorViewMut::new(&mut data, [3, 4, 5]).unwrap();
        let partition = Partition::new(3, [1, 4, 5], Wanted { unit: 1, most: 7, least_tiles: 1 });
        let cut = Cut { width: 1, partition, n_workers: 2 };
        let target = Target::<f32, i32>::new((view, None), 2, cut, false);
        let mut n_tiles = 0;
        while let Some(mut tile) = target.claim_before(usize::MAX, 0) {
            n_tiles += 1;
            let TileRange { groups, flat, .. } = tile.range();
            for group in groups {
                tile.first.write(group, flat.start, &vec![1.0; flat.len()]);
            }
        }
        assert_eq!(n_tiles, partition.n_tiles());
        assert!(target.claim_before(usize::MAX, 0).is_none());
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
            Cut {
                width: 1,
                partition: Partition::new(1, [1, 4, 5], Wanted { unit: 1, most: 5, least_tiles: 1 }),
                n_workers: 1,
            },
            false,
        );
        target.claim_before(usize::MAX, 0).unwrap().first.write(0, 4, &[1.0, 2.0]);
    }
}
