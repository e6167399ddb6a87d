//! From an index to the sum that it stands for, without a division.

use std::ops::Range;

/// Finds the sum of a flat offset.
///
/// Offsets and places are 32 bits, so that more of them fit a vector: [`LARGEST_VOLUME`] sees to it that this is enough.
pub(super) trait Locate: Copy {
    /// The number of the sum, counted in places; that of none, if it is not smaller than the number of sums.
    fn place(self, offset: u32) -> u32;

    /// The same, or any number, and whether there is one among `n_places`: where that is known without another comparison.
    #[inline(always)]
    fn find(self, offset: u32, n_places: u32) -> (u32, bool) {
        let place = self.place(offset);
        (place, place < n_places)
    }
}

/// The largest volume whose offsets are located. An offset beyond it is in no block.
pub(super) const LARGEST_VOLUME: usize = i32::MAX as usize;

/// The sums of consecutive flat offsets, the first of which is this one.
#[derive(Clone, Copy)]
pub(super) struct FlatFrom(u32);

impl FlatFrom {
    pub(super) fn new(first: usize) -> Self {
        Self(small(first))
    }
}

impl Locate for FlatFrom {
    #[inline(always)]
    fn place(self, offset: u32) -> u32 {
        offset.wrapping_sub(self.0)
    }
}

/// The sums of a block of depths, rows and columns, in row-major order.
#[derive(Clone, Copy)]
pub(super) struct InBlock {
    depths: Divisor,
    rows: Divisor,
    first: [u32; 3],
    sizes: [u32; 3],
}

impl InBlock {
    /// `dims` are the sizes of a plane of at most [`LARGEST_VOLUME`].
    pub(super) fn new(dims: [usize; 3], block: [Range<usize>; 3]) -> Self {
        let [_, h, w] = dims;
        Self {
            depths: Divisor::new(small(h * w)),
            rows: Divisor::new(small(w)),
            first: block.each_ref().map(|range| small(range.start)),
            sizes: block.map(|range| small(range.len())),
        }
    }

    /// The same block with other depths.
    #[inline(always)]
    pub(super) fn with_depths(self, depths: &Range<usize>) -> Self {
        let ([_, h, w], [_, n_h, n_w]) = (self.first, self.sizes);
        Self { first: [depths.start as u32, h, w], sizes: [depths.len() as u32, n_h, n_w], ..self }
    }

    /// The same block, if its rows are whole ones.
    #[inline(always)]
    pub(super) fn of_whole_rows(self) -> InRows {
        let ([depth, h, _], [_, n_h, n_w]) = (self.first, self.sizes);
        InRows { depths: self.depths, depth, flat: h * n_w, len: n_h * n_w }
    }
}

impl Locate for InBlock {
    #[inline(always)]
    fn place(self, offset: u32) -> u32 {
        let [n_d, n_h, n_w] = self.sizes;
        let (d, in_depth) = self.depths.divide(offset);
        let (h, w) = self.rows.divide(in_depth);
        let [d, h, w] =
            [d.wrapping_sub(self.first[0]), h.wrapping_sub(self.first[1]), w.wrapping_sub(self.first[2])];
        let inside = (d < n_d) & (h < n_h) & (w < n_w);
        let place = d.wrapping_mul(n_h).wrapping_add(h).wrapping_mul(n_w).wrapping_add(w);
        if inside { place } else { u32::MAX }
    }
}

/// The sums of some whole rows of some depths.
#[derive(Clone, Copy)]
pub(super) struct InRows {
    depths: Divisor,
    /// The first depth, and the first offset within each.
    depth: u32,
    flat: u32,
    /// The sums of one depth.
    len: u32,
}

impl Locate for InRows {
    #[inline(always)]
    fn place(self, offset: u32) -> u32 {
        let (d, in_depth) = self.depths.divide(offset);
        let in_depth = in_depth.wrapping_sub(self.flat);
        // A depth before the first gives a place far behind the last.
        let place = d.wrapping_sub(self.depth).wrapping_mul(self.len).wrapping_add(in_depth);
        if in_depth < self.len { place } else { u32::MAX }
    }
}

/// Some of the sums of another way to find them, in a ring: behind the last place comes the first.
#[derive(Clone, Copy)]
pub(super) struct InRing<L> {
    locate: L,
    /// The places that are held, where in the ring the first of them is, and the length of the ring.
    held: u32,
    first: u32,
    len: u32,
}

impl<L: Locate> InRing<L> {
    /// `held` places from `first` on in a ring of `len`, at most [`LARGEST_VOLUME`].
    pub(super) fn new(locate: L, held: usize, (first, len): (usize, usize)) -> Self {
        Self { locate, held: small(held), first: small(first), len: small(len) }
    }
}

impl<L: Locate> Locate for InRing<L> {
    #[inline(always)]
    fn place(self, offset: u32) -> u32 {
        let (place, is_held) = self.find(offset, self.len);
        if is_held { place } else { u32::MAX }
    }

    #[inline(always)]
    fn find(self, offset: u32, _: u32) -> (u32, bool) {
        let place = self.locate.place(offset);
        let at = place.wrapping_add(self.first);
        // Of the two, the smaller is the one that did not wrap around.
        (at.min(at.wrapping_sub(self.len)), place < self.held)
    }
}

/// The sums of some whole rows of up to [`InSlices::MOST`] slices that are held in a ring: comparisons instead of a division, and
/// none for the end of the ring.
#[derive(Clone, Copy)]
pub(super) struct InSlices {
    /// The flat offset of the first sum, and its place.
    first: u32,
    at: u32,
    /// The sums of one slice.
    len: u32,
    /// From which offset on, counted from the first, each further slice begins, and by how much less the offset and the place
    /// are in it than they would be in the one before.
    starts: [i32; InSlices::MOST - 1],
    steps: [u32; InSlices::MOST - 1],
    gaps: [u32; InSlices::MOST - 1],
}

impl InSlices {
    pub(super) const MOST: usize = 3;

    /// For the slices `held` of `slice_len` offsets, of each of which those in `rows` are held, the first of them at `place_of` the
    /// slice. The numbers are those of a volume of at most [`LARGEST_VOLUME`].
    pub(super) fn new(
        held: &Range<usize>,
        slice_len: usize,
        rows: Range<usize>,
        place_of: impl Fn(usize) -> usize,
    ) -> Self {
        let has = |i: usize| i + 1 < held.len();
        let place = |i: usize| small(place_of(held.start + i));
        let gap = |i: usize| small(slice_len).wrapping_add(place(i)).wrapping_sub(place(i + 1));
        let further: [usize; Self::MOST - 1] = std::array::from_fn(|i| i);
        Self {
            first: small(held.start * slice_len + rows.start),
            at: place(0),
            len: small(rows.len()),
            starts: further.map(|i| if has(i) { ((i + 1) * slice_len) as i32 } else { i32::MAX }),
            steps: further.map(|i| if has(i) { small(slice_len) } else { 0 }),
            gaps: further.map(|i| if has(i) { gap(i) } else { 0 }),
        }
    }
}

impl Locate for InSlices {
    #[inline(always)]
    fn place(self, offset: u32) -> u32 {
        let (place, is_held) = self.find(offset, u32::MAX);
        if is_held { place } else { u32::MAX }
    }

    #[inline(always)]
    fn find(self, offset: u32, _: u32) -> (u32, bool) {
        let from = offset.wrapping_sub(self.first);
        let (mut in_slice, mut place) = (from, from.wrapping_add(self.at));
        for i in 0..Self::MOST - 1 {
            // What lies before the first is negative, and so in no further slice; as a number without a sign it is too large.
            let is_behind = self.starts[i] <= from as i32;
            in_slice = in_slice.wrapping_sub(if is_behind { self.steps[i] } else { 0 });
            place = place.wrapping_sub(if is_behind { self.gaps[i] } else { 0 });
        }
        (place, in_slice < self.len)
    }
}

/// Division by a number that is not known to the compiler, as a multiplication by its rounded reciprocal (Granlund and
/// Montgomery, Division by Invariant Integers using Multiplication, 1994).
#[derive(Clone, Copy)]
pub(super) struct Divisor {
    divisor: u32,
    /// `ceil(2^shift / divisor)`, where `shift` is 31 more than the bits that `divisor - 1` has.
    reciprocal: u32,
    shift: u32,
}

impl Divisor {
    /// `divisor` is from 1 to [`LARGEST_VOLUME`].
    pub(super) fn new(divisor: u32) -> Self {
        let shift = 31 + (u32::BITS - (divisor - 1).leading_zeros());
        Self { divisor, reciprocal: (1u64 << shift).div_ceil(u64::from(divisor)) as u32, shift }
    }

    /// The quotient and the remainder of `number`.
    ///
    /// Exact for numbers up to [`LARGEST_VOLUME`]: the reciprocal is too large by less than 1, so the product by less
    /// than `2^31`, and `2^shift / divisor`, by which products of different quotients differ, is at least that. For a
    /// larger number the quotient may be too large by 1, and then the remainder is no place of any tensor.
    #[inline(always)]
    pub(super) fn divide(self, number: u32) -> (u32, u32) {
        let quotient = ((u64::from(number) * u64::from(self.reciprocal)) >> self.shift) as u32;
        (quotient, number.wrapping_sub(quotient.wrapping_mul(self.divisor)))
    }
}

/// A size or an offset of a volume that is not too large.
fn small(number: usize) -> u32 {
    u32::try_from(number).expect("the volume was found small enough")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_is_exact_for_every_volume_that_is_accepted() {
        let largest = LARGEST_VOLUME as u32;
        for divisor in (1..2000).chain([65535, 65536, 65537, largest / 3, largest / 2, largest - 1, largest]) {
            let by = Divisor::new(divisor);
            let around = |number: u32| number.saturating_sub(2)..(number + 3).min(largest + 1);
            let quotients = [0, 1, 2, 3, 77, largest / divisor / 2, largest / divisor - 1, largest / divisor];
            for number in quotients
                .into_iter()
                .flat_map(|quotient: u32| around(quotient.saturating_mul(divisor).min(largest)))
                .chain(around(largest))
            {
                assert_eq!(by.divide(number), (number / divisor, number % divisor), "{number} by {divisor}");
            }
        }
    }

    #[test]
    fn places_are_those_of_the_block_and_no_others() {
        let dims = [5, 7, 6];
        for block in [[1..3, 2..5, 0..6], [0..5, 0..7, 0..6], [2..3, 6..7, 3..5], [4..5, 0..1, 5..6]] {
            let [n_d, n_h, n_w] = block.each_ref().map(|range| range.len());
            let locate = InBlock::new(dims, block.clone());
            let rows = (n_w == dims[2]).then(|| locate.of_whole_rows());
            let far = [u32::MAX, u32::MAX - 1, 1 << 31, i32::MAX as u32, 211, 1000];
            for offset in (0..210).chain(far) {
                let at = [offset / 42, offset / 6 % 7, offset % 6].map(|at| at as usize);
                let inside = offset < 210 && at.iter().zip(&block).all(|(at, range)| range.contains(at));
                let [d, h, w] = std::array::from_fn(|axis| at[axis].wrapping_sub(block[axis].start));
                let want =
                    inside.then_some((d.wrapping_mul(n_h).wrapping_add(h)).wrapping_mul(n_w).wrapping_add(w));
                let found = |place: u32| Some(place as usize).filter(|&place| place < n_d * n_h * n_w);
                assert_eq!(found(locate.place(offset)), want, "{offset} in {block:?}");
                if let Some(rows) = rows {
                    assert_eq!(found(rows.place(offset)), want, "{offset} in rows of {block:?}");
                }
            }
        }
    }

    #[test]
    fn a_ring_begins_again_behind_its_end() {
        // Offsets 20 to 26 are held in a ring of 8, the first of them at 5.
        let locate = InRing::new(FlatFrom::new(20), 7, (5, 8));
        let places: Vec<u32> = (18..30).map(|offset| locate.place(offset)).collect();
        let none = u32::MAX;
        assert_eq!(places, [none, none, 5, 6, 7, 0, 1, 2, 3, none, none, none]);
        let whole = InRing::new(FlatFrom::new(0), LARGEST_VOLUME, (0, LARGEST_VOLUME));
        assert_eq!(whole.place(LARGEST_VOLUME as u32 - 1), LARGEST_VOLUME as u32 - 1);
        assert!([LARGEST_VOLUME as u32, u32::MAX].iter().all(|&offset| whole.place(offset) == none));
    }

    /// Oracle: division.
    #[test]
    fn slices_are_told_apart_without_a_division() {
        let (slice_len, width) = (42, 6);
        for (rows, held, ring) in
            [(0..4, 1..4, 3), (2..5, 0..2, 3), (6..7, 2..5, 3), (1..7, 3..4, 3), (0..7, 1..3, 2), (3..5, 0..3, 4)]
        {
            let rows = rows.start * width..rows.end * width;
            for slot in 0..ring {
                let locate = InSlices::new(&held, slice_len, rows.clone(), |slice| {
                    (slot + slice - held.start) % ring * rows.len()
                });
                let far = [u32::MAX, u32::MAX - 41, 1 << 31, (1 << 31) + 60, i32::MAX as u32, i32::MAX as u32 - 42];
                for offset in (0..300).chain(far) {
                    let (slice, in_slice) = (offset as usize / slice_len, offset as usize % slice_len);
                    let place = (held.contains(&slice) && rows.contains(&in_slice))
                        .then(|| (slot + slice - held.start) % ring * rows.len() + in_slice - rows.start);
                    let found = Some(locate.place(offset) as usize).filter(|&place| place < ring * rows.len());
                    assert_eq!(found, place, "{offset} in {rows:?} of {held:?}, slot {slot} of {ring}");
                }
            }
        }
    }

    #[test]
    fn depths_can_move() {
        let moved = InBlock::new([5, 7, 6], [0..1, 2..4, 1..3]).with_depths(&(2..4));
        assert_eq!(moved.place(3 * 42 + 3 * 6 + 2), 7);
        assert!(moved.place(42 + 2 * 6 + 1) >= 8);
    }
}
