//! Whether two elements of one layout lie in the same place.
//!
//! Two different positions share a place exactly when their difference `δ`, with `|δ| < size` on every axis and not
//! all zero, has `Σ δ·stride = 0`. Sorted by stride, most layouts are decided at a glance: if each stride is larger
//! than the whole reach of the smaller ones, no such difference exists. What is left (interleaved strides such as
//! `shape [2, 3], strides [3, 2]`) is a bounded knapsack, searched from the largest stride down and cut off wherever
//! the remaining axes cannot make up the difference.

use super::layout::Layout;
use super::sizes::MAX_AXES;

/// How many partial differences the search looks at before it gives up and answers "overlaps".
const BUDGET: u32 = 20_000;

/// An axis that matters: at least two elements, `stride` in absolute value.
#[derive(Clone, Copy, Default)]
struct Axis {
    stride: i64,
    /// The largest difference between two positions: one less than the size.
    most: i64,
}

pub(super) fn overlaps_itself(layout: &Layout) -> bool {
    if layout.is_empty() {
        return false;
    }
    let mut axes = [Axis::default(); MAX_AXES];
    let mut n_axes = 0;
    for (&size, &stride) in layout.shape().iter().zip(layout.strides().iter()) {
        if size > 1 {
            axes[n_axes] = Axis { stride: stride.abs(), most: size - 1 };
            n_axes += 1;
        }
    }
    let axes = &mut axes[..n_axes];
    axes.sort_unstable_by_key(|axis| axis.stride);
    if axes.first().is_some_and(|axis| axis.stride == 0) {
        return true;
    }
    let mut reach = 0;
    let nested = axes.iter().all(|axis| {
        let clear = axis.stride > reach;
        reach += axis.stride * axis.most;
        clear
    });
    !nested && search(axes, 0, true, &mut BUDGET.clone()).unwrap_or(true)
}

/// Whether `gap` can be made up by differences along `axes`, not all zero while `all_zero` so far; `None` when the
/// budget is spent.
fn search(axes: &[Axis], gap: i64, all_zero: bool, budget: &mut u32) -> Option<bool> {
    let Some((axis, smaller)) = axes.split_last() else {
        return Some(gap == 0 && !all_zero);
    };
    *budget = budget.checked_sub(1)?;
    let reach: i64 = smaller.iter().map(|axis| axis.stride * axis.most).sum();
    // Only differences that leave a gap within reach of the smaller axes can succeed. A difference and its negation
    // are the same pair of positions, so the first non-zero one is taken to be positive.
    let low = (-gap - reach).div_euclid(axis.stride).max(if all_zero { 0 } else { -axis.most });
    let high = (-gap + reach).div_euclid(axis.stride).min(axis.most);
    for difference in low..=high {
        if search(smaller, gap + difference * axis.stride, all_zero && difference == 0, budget)? {
            return Some(true);
        }
    }
    Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::Sizes;

    /// The definition: collect every place and look for a repetition.
    fn by_enumeration(layout: &Layout) -> bool {
        let mut places = vec![0];
        for (&size, &stride) in layout.shape().iter().zip(layout.strides().iter()) {
            places = places.iter().flat_map(|place| (0..size).map(move |i| place + i * stride)).collect();
        }
        places.sort_unstable();
        places.windows(2).any(|pair| pair[0] == pair[1])
    }

    #[test]
    fn agrees_with_enumeration() {
        let sizes = [1, 2, 3, 5];
        let strides = [-7, -3, 0, 1, 2, 3, 4, 6, 15];
        for a in sizes.iter().flat_map(|&n| strides.map(|s| (n, s))) {
            for b in sizes.iter().flat_map(|&n| strides.map(|s| (n, s))) {
                for c in [(1, 1), (2, 1), (3, 15), (2, -30)] {
                    let layout = Layout::strided([a.0, b.0, c.0], [a.1, b.1, c.1]).unwrap();
                    assert_eq!(overlaps_itself(&layout), by_enumeration(&layout), "{layout}");
                }
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
    fn empty_and_single_elements_never_overlap() {
        assert!(!Layout::strided([0, 5], [0, 0]).unwrap().overlaps_itself());
        assert!(!Layout::strided([1, 1], [0, 0]).unwrap().overlaps_itself());
        assert!(!Layout::contiguous(Sizes::default()).unwrap().overlaps_itself());
    }
}
