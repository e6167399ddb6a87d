//! Arrangements: where in a buffer the elements of a tensor lie, with room around and between them.

use poolgrad::{Layout, Sizes};

use crate::problem::MemoryLayout;

/// Foreign elements before and behind every tensor: of every type whole cache lines.
const GUARD: i64 = 32;

/// Whether a tensor is read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It is an input: elements may share a place.
    Read,
    /// It is an output: no two elements share a place.
    Write,
}

/// How one axis of a tensor lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Each element is this many places behind the one before it; at least 1.
    Forward(i64),
    /// Each element is this many places before the one before it; at least 1.
    Backward(i64),
    /// All elements share one place.
    Repeat,
}

/// One axis of a tensor in memory: the step, and foreign elements before and behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AxisInMemory {
    /// The way from one element to the next.
    pub step: Step,
    /// Foreign places before the first element.
    pub before: i64,
    /// Foreign places behind the last element.
    pub behind: i64,
}

impl AxisInMemory {
    /// An axis that lies forward without gaps.
    pub const DENSE: AxisInMemory = AxisInMemory { step: Step::Forward(1), before: 0, behind: 0 };

    /// The places that an axis of `size` elements takes, foreign ones included.
    fn extent(&self, size: i64) -> i64 {
        let between = match self.step {
            Step::Forward(step) | Step::Backward(step) => (size - 1).max(0) * step,
            Step::Repeat => 0,
        };
        self.before + between + 1 + self.behind
    }
}

/// Where in a buffer the elements of a tensor lie.
///
/// # Examples
/// ```
/// use poolgrad::Sizes;
/// use poolgrad_check::{Access, Arrangement, MemoryLayout};
///
/// let shape = Sizes::from([2, 3, 4, 5]);
/// let arrangement = Arrangement::new(MemoryLayout::Ndhwc, &shape, 1, Access::Write);
/// assert_eq!(arrangement.layout.strides().to_string(), "[60, 1, 15, 3]");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrangement {
    /// The shape and the strides.
    pub layout: Layout,
    /// The place of element `[0, 0, …]` in the buffer.
    pub offset: usize,
    /// The length of the buffer.
    pub len: usize,
}

impl Arrangement {
    /// The arrangement that a layout of the problem language gives to a tensor.
    ///
    /// `channel_axis` is 1 for `[N, C, …]` and 0 for `[C, …]`.
    #[must_use]
    pub fn new(layout: MemoryLayout, shape: &Sizes, channel_axis: usize, access: Access) -> Self {
        let rank = shape.len();
        let mut order: Vec<usize> = (0..rank).collect();
        let mut axes = vec![AxisInMemory::DENSE; rank];
        let mut lead = 0;
        match layout {
            MemoryLayout::Ncdhw => {}
            MemoryLayout::Offset => lead = 3,
            MemoryLayout::Ndhwc => order[channel_axis..].rotate_left(1),
            MemoryLayout::Transposed => order[channel_axis + 1..].reverse(),
            MemoryLayout::Sliced => axes.fill(AxisInMemory { before: 1, behind: 2, ..AxisInMemory::DENSE }),
            MemoryLayout::Stepped => {
                axes[channel_axis..].fill(AxisInMemory { step: Step::Forward(2), ..AxisInMemory::DENSE })
            }
            MemoryLayout::Reversed => axes.fill(AxisInMemory { step: Step::Backward(1), ..AxisInMemory::DENSE }),
            MemoryLayout::Expanded => {
                if access == Access::Read {
                    axes[..=channel_axis].fill(AxisInMemory { step: Step::Repeat, ..AxisInMemory::DENSE });
                }
            }
        }
        Self::of_axes(shape, &order, &axes, lead)
    }

    /// The arrangement with the given axes in memory, the slowest axis of `order` first, and `lead` more foreign
    /// elements before it.
    ///
    /// # Panics
    /// If `order` is not an order of the shape's axes, or the tensor is larger than the address space.
    #[must_use]
    pub fn of_axes(shape: &Sizes, order: &[usize], axes: &[AxisInMemory], lead: i64) -> Self {
        assert!(order.len() == shape.len() && axes.len() == shape.len(), "an axis for each size");
        let mut strides = vec![0; shape.len()];
        let (mut offset, mut places) = (0, 1);
        for &axis in order.iter().rev() {
            let AxisInMemory { step, before, .. } = axes[axis];
            offset += before * places;
            match step {
                Step::Forward(step) => strides[axis] = step * places,
                Step::Backward(step) => {
                    strides[axis] = -step * places;
                    offset += (shape[axis] - 1).max(0) * step * places;
                }
                Step::Repeat => {}
            }
            places *= axes[axis].extent(shape[axis]);
        }
        let layout = Layout::strided(*shape, crate::sizes(&strides)).expect("the tensor fits the address space");
        let whole = |places: i64| usize::try_from(places).expect("places in a buffer are counted from 0");
        Self { layout, offset: whole(GUARD + lead + offset), len: whole(GUARD + lead + places + GUARD) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: the meaning of each name, as strides worked out by hand for `[2, 3, 4, 5]`.
    #[test]
    fn layouts_have_the_strides_their_names_say() {
        let shape = Sizes::from([2, 3, 4, 5]);
        let cases = [
            (MemoryLayout::Ncdhw, Access::Read, [60, 20, 5, 1], 0),
            (MemoryLayout::Offset, Access::Read, [60, 20, 5, 1], 3),
            (MemoryLayout::Ndhwc, Access::Read, [60, 1, 15, 3], 0),
            (MemoryLayout::Transposed, Access::Write, [60, 20, 1, 4], 0),
            (MemoryLayout::Sliced, Access::Write, [336, 56, 8, 1], 336 + 56 + 8 + 1),
            (MemoryLayout::Stepped, Access::Write, [315, 126, 18, 2], 0),
            (MemoryLayout::Reversed, Access::Write, [-60, -20, -5, -1], 119),
            (MemoryLayout::Expanded, Access::Read, [0, 0, 5, 1], 0),
            (MemoryLayout::Expanded, Access::Write, [60, 20, 5, 1], 0),
        ];
        for (layout, access, strides, offset) in cases {
            let got = Arrangement::new(layout, &shape, 1, access);
            assert_eq!(got.layout.strides()[..], strides, "{layout:?}");
            assert_eq!(got.offset, offset + GUARD as usize, "{layout:?}");
            let reach = got.layout.reach();
            assert!(got.offset as i64 + reach.start() >= GUARD, "{layout:?}");
            assert!(got.offset as i64 + reach.end() + GUARD < got.len as i64, "{layout:?}");
        }
    }
}
