//! Lifting: every tensor becomes `[N, C, D, H, W]`, with size-1 axes where it has none.
//!
//! This happens once, on entry; below it nothing knows whether a problem was 1-D, 2-D or 3-D.

use super::layout::Layout;

/// Sizes and strides as `[N, C, D, H, W]`, and the longest stretch of a plane that is walked with one step.
///
/// A *plane* is the D·H·W block of one `(n, c)`. A place in it is a *flat* offset `d·H·W + h·W + w`, as indices are.
/// A plane falls into equal *runs*: within one, neighbouring flat offsets are `step` elements apart in memory. For
/// a contiguous tensor the whole plane is one run of step 1, for a channels-last one it is one run of step C, and
/// for a window cut out of a larger tensor each row is a run.
///
/// Planes are worked on in *groups* of `width` channels of one `n`, so that a channels-last tensor can be walked as it
/// lies: a row of a group holds, for each flat offset, the elements of all its channels. A group of one channel is a
/// plane. Where C is no multiple of `width`, the last group of each `n` is narrower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lifted {
    pub(crate) shape: [usize; 5],
    strides: [isize; 5],
    run_len: usize,
    step: isize,
    width: usize,
}

impl Lifted {
    /// The lifted form of a layout with `n_spatial` axes behind C, and possibly N before it.
    ///
    /// # Panics
    /// If the rank is neither `n_spatial + 1` nor `n_spatial + 2`, or `n_spatial` is not 1, 2 or 3.
    pub(crate) fn new(layout: &Layout, n_spatial: usize) -> Self {
        assert!((1..=3).contains(&n_spatial), "pooling is 1-D, 2-D or 3-D");
        let batched = layout.rank() == n_spatial + 2;
        assert!(batched || layout.rank() == n_spatial + 1, "the rank was checked by the plan");
        let (mut shape, mut strides) = ([1usize; 5], [0isize; 5]);
        for axis in 0..layout.rank() {
            let leading = usize::from(!batched);
            let place = if axis + leading < 2 { axis + leading } else { axis + leading + 3 - n_spatial };
            // A size that does not fit `usize` cannot belong to memory of this machine unless its stride is 0;
            // the plan refuses such sizes, and saturating keeps this function total.
            shape[place] = usize::try_from(layout.shape()[axis]).unwrap_or(usize::MAX);
            strides[place] = isize::try_from(layout.strides()[axis]).unwrap_or(0);
        }
        let (mut run_len, mut step) = (1usize, 1isize);
        for axis in [4, 3, 2] {
            if shape[axis] == 1 {
                continue;
            }
            if run_len == 1 {
                (run_len, step) = (shape[axis], strides[axis]);
            } else if strides[axis] == step.wrapping_mul(run_len as isize) {
                run_len *= shape[axis];
            } else {
                break;
            }
        }
        Self { shape, strides, run_len, step, width: 1 }
    }

    /// The same tensor in groups of `width` channels.
    pub(crate) fn grouped(self, width: usize) -> Self {
        Self { width: width.clamp(1, self.shape[1].max(1)), ..self }
    }

    /// Whether the channels of one place are neighbours in memory, and places are not.
    pub(crate) fn is_channels_last(&self) -> bool {
        self.shape[1] > 1 && self.strides[1] == 1 && self.step != 1
    }

    /// The number of groups of all `n`.
    pub(crate) fn n_groups(&self) -> usize {
        self.shape[0] * self.groups_per_batch()
    }

    fn groups_per_batch(&self) -> usize {
        self.shape[1].div_ceil(self.width)
    }

    /// The channels of group `group`.
    #[inline(always)]
    pub(crate) fn width_of(&self, group: usize) -> usize {
        if self.width == 1 {
            1
        } else {
            self.width.min(self.shape[1] - group % self.groups_per_batch() * self.width)
        }
    }

    /// Whether `len` places of `width` channels, inside one run, are neighbours in memory.
    #[inline(always)]
    pub(crate) fn is_row_contiguous(&self, len: usize, width: usize) -> bool {
        let places = len == 1 || self.step == width as isize;
        places && (width == 1 || self.strides[1] == 1)
    }

    /// Whether every group is contiguous, and begins where the one before it ends.
    pub(crate) fn are_groups_contiguous(&self) -> bool {
        let [n, c, ..] = self.shape;
        let (len, width) = (self.plane_len(), self.width);
        let next_to = |stride: isize, elements: usize| usize::try_from(stride).is_ok_and(|step| step == elements);
        self.run_len == len
            && self.is_row_contiguous(len, width)
            && (c == width || (width == 1 && next_to(self.strides[1], len)))
            && (n == 1 || next_to(self.strides[0], len * c))
    }

    /// Whether every plane is contiguous.
    pub(crate) fn are_planes_contiguous(&self) -> bool {
        self.run_len == self.plane_len() && (self.run_len == 1 || self.step == 1)
    }

    /// The step in memory between the channels of a group, in elements.
    pub(crate) fn channel_step(&self) -> isize {
        self.strides[1]
    }

    /// The elements of one plane: D·H·W.
    pub(crate) fn plane_len(&self) -> usize {
        self.shape[2] * self.shape[3] * self.shape[4]
    }

    /// The flat offsets that one run covers; it divides the plane's length.
    pub(crate) fn run_len(&self) -> usize {
        self.run_len
    }

    /// The step in memory between flat neighbours of one run, in elements.
    pub(crate) fn step(&self) -> isize {
        self.step
    }

    /// Where flat offset `flat` of the first channel of group `group` lies, in elements from `[0, 0, 0, 0, 0]`.
    #[inline(always)]
    pub(crate) fn place(&self, group: usize, flat: usize) -> isize {
        let [_, _, _, n_h, n_w] = self.shape;
        let per_batch = self.groups_per_batch();
        let [n, c, d, h, _] = self.strides;
        let within = (flat % self.run_len) as isize * self.step;
        let start = flat - flat % self.run_len;
        let row =
            if start == 0 { 0 } else { (start / (n_h * n_w)) as isize * d + (start / n_w % n_h) as isize * h };
        // A run is never cut inside a row, unless rows have a single element and the run spans columns of them.
        (group / per_batch) as isize * n + (group % per_batch * self.width) as isize * c + row + within
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::Sizes;

    fn lifted(shape: &[i64], strides: &[i64], n_spatial: usize) -> Lifted {
        let sizes = |list| Sizes::try_from(list).unwrap();
        Lifted::new(&Layout::strided(sizes(shape), sizes(strides)).unwrap(), n_spatial)
    }

    #[test]
    fn missing_axes_have_size_one() {
        assert_eq!(lifted(&[2, 3, 5], &[15, 5, 1], 1).shape, [2, 3, 1, 1, 5]);
        assert_eq!(lifted(&[3, 4, 5], &[20, 5, 1], 2).shape, [1, 3, 1, 4, 5]);
        assert_eq!(lifted(&[3, 6, 4, 5], &[120, 20, 5, 1], 3).shape, [1, 3, 6, 4, 5]);
    }

    #[test]
    fn runs_merge_as_far_as_one_step_reaches() {
        let run = |shape: &[i64], strides: &[i64]| {
            let lifted = lifted(shape, strides, 3);
            (lifted.run_len(), lifted.step())
        };
        assert_eq!(run(&[2, 3, 4, 5, 6], &[360, 120, 30, 6, 1]), (120, 1), "contiguous");
        assert_eq!(run(&[2, 3, 4, 5, 6], &[360, 1, 90, 18, 3]), (120, 3), "channels last");
        assert_eq!(run(&[2, 3, 4, 5, 6], &[840, 280, 70, 14, 2]), (6, 2), "every other column of a wider tensor");
        assert_eq!(run(&[2, 3, 4, 5, 1], &[60, 20, 5, 1, 77]), (20, 1), "single columns");
        assert_eq!(run(&[2, 3, 4, 1, 6], &[72, 24, 6, 99, 1]), (24, 1), "single rows");
        assert_eq!(run(&[2, 3, 4, 5, 6], &[0, 0, 0, 0, 0]), (120, 0), "one repeated element");
    }

    #[test]
    fn places_are_sums_over_the_axes() {
        let shape = [2i64, 3, 4, 5, 6];
        for strides in [
            [360, 120, 30, 6, 1],
            [360, 1, 90, 18, 3],
            [-360, 120, -30, 6, -1],
            [1, 2, 6, 24, 120],
            [840, 280, 70, 14, 2],
            [720, 240, 60, 6, 1],
        ] {
            let lifted = lifted(&shape, &strides, 3);
            for plane in 0..6 {
                for flat in 0..120 {
                    let (n, c) = (plane / 3, plane % 3);
                    let (d, h, w) = (flat / 30, flat / 6 % 5, flat % 6);
                    let want: i64 = [n, c, d, h, w].iter().zip(&strides).map(|(&i, s)| i as i64 * s).sum();
                    assert_eq!(lifted.place(plane, flat) as i64, want, "{strides:?} plane {plane} flat {flat}");
                }
            }
        }
    }

    #[test]
    fn groups_are_contiguous_without_gaps_between_planes() {
        let contiguous =
            |strides: &[i64], width| lifted(&[2, 3, 1, 4, 5], strides, 3).grouped(width).are_groups_contiguous();
        assert!(contiguous(&[60, 20, 20, 5, 1], 1));
        assert!(contiguous(&[60, 1, 60, 15, 3], 3), "channels last");
        assert!(!contiguous(&[60, 1, 60, 15, 3], 1), "channels last, one by one");
        assert!(!contiguous(&[60, 1, 60, 15, 3], 2), "channels last, in two groups");
        assert!(!contiguous(&[60, 20, 20, 5, 1], 3), "planes side by side");
        for strides in
            [[61, 20, 20, 5, 1], [63, 21, 20, 5, 1], [72, 24, 24, 6, 1], [-60, 20, 20, 5, 1], [20, 40, 20, 5, 1]]
        {
            assert!(!contiguous(&strides, 1), "{strides:?}");
        }
    }

    #[test]
    fn groups_take_channels_together() {
        let shape = [2i64, 5, 1, 3, 4];
        let lifted = lifted(&shape, &[60, 1, 60, 20, 5], 3);
        assert!(lifted.is_channels_last());
        let grouped = lifted.grouped(2);
        assert_eq!(grouped.n_groups(), 6);
        assert_eq!((0..6).map(|group| grouped.width_of(group)).collect::<Vec<_>>(), [2, 2, 1, 2, 2, 1]);
        for group in 0..6 {
            let plane = group / 3 * 5 + group % 3 * 2;
            assert_eq!(grouped.place(group, 7), lifted.place(plane, 7));
        }
        assert_eq!(lifted.grouped(99).n_groups(), 2, "no group is wider than C");
    }
}
