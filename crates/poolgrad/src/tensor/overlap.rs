//! Whether two elements lie in the same place: of one tensor, or of two.
//!
//! Two different positions of one layout share a place exactly when their difference `δ`, with `|δ| < size` on every
//! axis and not all zero, has `Σ δ·stride = 0`; positions of two tensors when such a sum over the axes of both makes
//! up the distance between them. Either is a bounded knapsack. Sorted by stride, most layouts are decided at a glance:
//! where each stride is larger than the whole reach of the smaller ones, at most one or two differences along each
//! axis leave a gap that the smaller ones can close. What is left (interleaved strides such as `shape [2, 3],
//! strides [3, 2]`) is searched from the largest stride down, within a budget; beyond it the answer is "they do".

use super::layout::Layout;
use super::sizes::MAX_AXES;

/// How many partial differences a search looks at before it gives up and answers that places are shared.
const BUDGET: u32 = 20_000;

/// Differences along one axis, or along several of the same stride.
#[derive(Clone, Copy, Default)]
struct Axis {
    /// The step, positive.
    stride: i64,
    least: i64,
    most: i64,
}

/// The axes that matter, those of more than one element and equal strides together, by ascending stride.
#[derive(Default)]
struct Axes {
    axes: [Axis; 2 * MAX_AXES],
    len: usize,
}

impl Axes {
    /// Adds the axes of a layout whose strides count steps of `unit`.
    fn add(&mut self, layout: &Layout, unit: i64, direction: Direction) {
        for (&size, &stride) in layout.shape().iter().zip(layout.strides().iter()) {
            if size < 2 {
                continue;
            }
            let stride = stride.abs() * unit;
            let (least, most) = match direction {
                Direction::Forwards => (0, size - 1),
                Direction::Backwards => (1 - size, 0),
                Direction::Both => (1 - size, size - 1),
            };
            match self.axes[..self.len].iter_mut().find(|axis| axis.stride == stride) {
                // Two axes of one tensor with the same stride do share places: both then move the same way.
                Some(axis) if direction != Direction::Both => {
                    (axis.least, axis.most) = (axis.least + least, axis.most + most)
                }
                _ => {
                    self.axes[self.len] = Axis { stride, least, most };
                    self.len += 1;
                }
            }
        }
        self.axes[..self.len].sort_unstable_by_key(|axis| axis.stride);
    }

    fn as_slice(&self) -> &[Axis] {
        &self.axes[..self.len]
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    /// Positions of a tensor.
    Forwards,
    /// Positions of the tensor that it is compared with, taken away.
    Backwards,
    /// Differences between two positions of one tensor.
    Both,
}

pub(super) fn overlaps_itself(layout: &Layout) -> bool {
    if layout.is_empty() {
        return false;
    }
    let mut axes = Axes::default();
    axes.add(layout, 1, Direction::Both);
    let axes = axes.as_slice();
    let mut reach = 0;
    let nested = axes.iter().all(|axis| {
        let clear = axis.stride > reach;
        reach += axis.stride * axis.most;
        clear
    });
    !nested && Search { target: (0, 0), budget: BUDGET }.finds(axes, 0, true).unwrap_or(true)
}

/// A tensor in memory: its layout, the address of element `[0, 0, …]`, and the bytes of an element.
#[derive(Clone, Copy)]
pub(crate) struct Placed<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) address: usize,
    pub(crate) size: usize,
}

impl Placed<'_> {
    /// The address of the lowest element, and of the byte behind the highest.
    fn bounds(&self) -> (i128, i128) {
        let (reach, size) = (self.layout.reach(), self.size as i128);
        let address = |place: i64| self.address as i128 + i128::from(place) * size;
        (address(*reach.start()), address(*reach.end()) + size)
    }

    /// Whether every element is aligned to its size.
    pub(crate) fn is_aligned(&self) -> bool {
        self.layout.is_empty() || self.begins_at_multiple_of(self.size)
    }

    /// Whether the first element lies at a multiple of so many bytes.
    pub(crate) fn begins_at_multiple_of(&self, bytes: usize) -> bool {
        self.address.is_multiple_of(bytes)
    }

    /// Whether an element of this tensor and one of `other` have a byte in common.
    pub(crate) fn shares_memory_with(&self, other: &Placed<'_>) -> bool {
        if self.layout.is_empty() || other.layout.is_empty() {
            return false;
        }
        let ((low, high), (other_low, other_high)) = (self.bounds(), other.bounds());
        if high <= other_low || other_high <= low {
            return false;
        }
        let mut axes = Axes::default();
        axes.add(self.layout, self.size as i64, Direction::Forwards);
        axes.add(other.layout, other.size as i64, Direction::Backwards);
        // Elements share a byte when one begins less than its own size before the other does.
        let distance = (other_low - low) as i64;
        let target = (distance - self.size as i64 + 1, distance + other.size as i64 - 1);
        Search { target, budget: BUDGET }.finds(axes.as_slice(), 0, false).unwrap_or(true)
    }
}

/// A search for differences whose sum lies in `target`, both ends included.
struct Search {
    target: (i64, i64),
    budget: u32,
}

impl Search {
    /// Whether differences along `axes` bring `sum` into the target, not all of them zero while `all_zero`; `None`
    /// when the budget is spent.
    fn finds(&mut self, axes: &[Axis], sum: i64, all_zero: bool) -> Option<bool> {
        let (target_low, target_high) = self.target;
        let Some((axis, smaller)) = axes.split_last() else {
            return Some((target_low..=target_high).contains(&sum) && !all_zero);
        };
        self.budget = self.budget.checked_sub(1)?;
        if axis.stride == 0 {
            // Only strides of zero are left: any of them gives a difference that is not zero and costs nothing.
            return Some((target_low..=target_high).contains(&sum));
        }
        // Only sums from which the smaller axes reach the target can succeed.
        let least: i64 = smaller.iter().map(|axis| axis.stride * axis.least).sum();
        let most: i64 = smaller.iter().map(|axis| axis.stride * axis.most).sum();
        let low = (target_low - sum - most).div_euclid(axis.stride).max(axis.least);
        let high = (target_high - sum - least).div_euclid(axis.stride).min(axis.most);
        // A difference and its negation are the same pair of positions of one tensor: the first that is not zero may
        // be taken as positive.
        for difference in low.max(if all_zero { 0 } else { low })..=high {
            if self.finds(smaller, sum + difference * axis.stride, all_zero && difference == 0)? {
                return Some(true);
            }
        }
        Some(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::Sizes;

    /// The definition: every place of every element.
    fn places(layout: &Layout) -> Vec<i64> {
        let mut places = vec![0];
        for (&size, &stride) in layout.shape().iter().zip(layout.strides().iter()) {
            places = places.iter().flat_map(|place| (0..size).map(move |i| place + i * stride)).collect();
        }
        places.sort_unstable();
        places
    }

    fn layouts() -> Vec<Layout> {
        let axes =
            || [1, 2, 3, 5].into_iter().flat_map(|n| [-7, -3, 0, 1, 2, 3, 4, 6, 15].map(|stride| (n, stride)));
        let mut layouts = Vec::new();
        for a in axes() {
            for b in axes() {
                for c in [(1, 1), (2, 1), (3, 15), (2, -30)] {
                    layouts.push(Layout::strided([a.0, b.0, c.0], [a.1, b.1, c.1]).unwrap());
                }
            }
        }
        layouts
    }

    #[test]
    fn self_overlap_agrees_with_enumeration() {
        for layout in layouts() {
            let want = places(&layout).windows(2).any(|pair| pair[0] == pair[1]);
            assert_eq!(overlaps_itself(&layout), want, "{layout}");
        }
    }

    #[test]
    fn shared_memory_agrees_with_enumeration() {
        let layouts = layouts();
        for (i, a) in layouts.iter().enumerate().step_by(17) {
            for (j, b) in layouts.iter().enumerate().step_by(41) {
                let (size_a, size_b, start_a, start_b) = (4, [4, 8, 2][j % 3], 4096, 4096 + 2 * ((i + j) % 90));
                let bytes = |layout: &Layout, size: usize, start: usize| {
                    let first = |place: i64| start as i64 + place * size as i64;
                    let places = places(layout).into_iter();
                    places.flat_map(|place| first(place)..first(place) + size as i64).collect::<Vec<_>>()
                };
                let bytes_b = bytes(b, size_b, start_b);
                let want = bytes(a, size_a, start_a).iter().any(|byte| bytes_b.contains(byte));
                let a = Placed { layout: a, address: start_a, size: size_a };
                let b = Placed { layout: b, address: start_b, size: size_b };
                assert_eq!(a.shares_memory_with(&b), want, "{} at {start_a}, {} at {start_b}", a.layout, b.layout);
            }
        }
    }

    #[test]
    fn large_layouts_are_decided_at_a_glance() {
        let shape = Sizes::from([64, 512, 64, 256, 256]);
        let contiguous = Layout::contiguous(shape).unwrap();
        assert!(!contiguous.overlaps_itself());
        let channels_last = [1 << 31, 1, 1 << 25, 1 << 17, 1 << 9];
        assert!(!Layout::strided(shape, channels_last).unwrap().overlaps_itself());
        assert!(Layout::strided(shape, [1 << 31, 1, 1 << 25, 1 << 17, 1 << 8]).unwrap().overlaps_itself());
    }

    #[test]
    fn halves_of_one_buffer_share_nothing() {
        // The first and the second half of the channels of one large tensor: their addresses interleave.
        let strides = [512 * 4096, 4096, 64, 1];
        let half = Layout::strided([64, 256, 64, 64], strides).unwrap();
        let at = |channel: usize| Placed { layout: &half, address: 4096 + channel * 4096 * 4, size: 4 };
        assert!(!at(0).shares_memory_with(&at(256)));
        assert!(at(0).shares_memory_with(&at(255)));
        assert!(at(0).shares_memory_with(&at(0)));
    }

    #[test]
    fn empty_and_single_elements_never_overlap() {
        assert!(!Layout::strided([0, 5], [0, 0]).unwrap().overlaps_itself());
        assert!(!Layout::strided([1, 1], [0, 0]).unwrap().overlaps_itself());
        assert!(!Layout::contiguous(Sizes::default()).unwrap().overlaps_itself());
    }
}
