//! Codes: where in a window an element lies, in as many bits as its key has.
//!
//! Where they have enough bits, codes are the offsets of elements in their plane, from the first element of the window on. Of
//! those that have not, the taps along D, along H and the columns are a field each, the first in the highest bits. Either way codes
//! are in the order of the elements, and a code plus a number of columns is that of an element so many columns further on. Of a
//! window that has more taps than there are codes, some depths, some rows or some columns are taken at a time.

use crate::dtype::Code;

/// The codes of windows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Codes {
    pub(super) offsets: Offsets,
    /// The taps along D and H that there are codes for.
    pub(super) taps: [usize; 2],
}

/// What tells the offsets of elements from the first of their windows by codes.
pub(super) trait TellsOffsets: Copy {
    fn of<C: Code>(self, code: C) -> u32;
}

/// What codes stand for. Loops are made for each of them, and do not ask which it is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Offsets {
    Codes(Themselves),
    Fields(Fields),
}

/// Codes that are offsets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Themselves {
    /// From tap to tap along D and H.
    steps: [usize; 2],
}

/// The fields of codes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields {
    shift_d: u32,
    shift_h: u32,
    mask_h: u32,
    mask_w: u32,
    step_d: u32,
    step_h: u32,
}

impl Codes {
    /// For windows of up to `taps` along D and H, which are `steps` elements apart, and of `columns`, in rows of `n_columns`.
    pub(super) fn new<C: Code>(taps: [usize; 2], steps: [usize; 2], (columns, n_columns): (usize, usize)) -> Self {
        let reach = |axis: usize| (taps[axis] - 1).saturating_mul(steps[axis]);
        let last = reach(0).saturating_add(reach(1)).saturating_add(columns - 1);
        // Columns of padding, beyond those of a row, would look as if they were of the next.
        if last < 1 << C::BITS && columns <= n_columns {
            return Self { offsets: Offsets::Codes(Themselves { steps }), taps };
        }
        let fields = Fields::new::<C>(taps[1], columns, steps);
        let most = [C::BITS - fields.shift_d, fields.shift_d - fields.shift_h].map(|bits| 1 << bits);
        Self { offsets: Offsets::Fields(fields), taps: [taps[0].min(most[0]), taps[1].min(most[1])] }
    }

    /// The code of the first column of a row, by its taps along D and H.
    #[inline(always)]
    pub(super) fn code<C: Code>(&self, d: usize, h: usize) -> C {
        C::new(match self.offsets {
            Offsets::Codes(Themselves { steps }) => d * steps[0] + h * steps[1],
            Offsets::Fields(fields) => d << fields.shift_d | h << fields.shift_h,
        })
    }
}

impl TellsOffsets for Themselves {
    #[inline(always)]
    fn of<C: Code>(self, code: C) -> u32 {
        code.value()
    }
}

impl TellsOffsets for Fields {
    #[inline(always)]
    fn of<C: Code>(self, code: C) -> u32 {
        let code = code.value();
        let (d, h) = (code >> self.shift_d, (code >> self.shift_h) & self.mask_h);
        let offset = d.wrapping_mul(self.step_d).wrapping_add(h.wrapping_mul(self.step_h));
        offset.wrapping_add(code & self.mask_w)
    }
}

impl TellsOffsets for Offsets {
    #[inline(always)]
    fn of<C: Code>(self, code: C) -> u32 {
        match self {
            Self::Codes(codes) => codes.of(code),
            Self::Fields(fields) => fields.of(code),
        }
    }
}

impl Fields {
    /// For windows of up to `taps_h` along H, and of `columns`.
    fn new<C: Code>(taps_h: usize, columns: usize, steps: [usize; 2]) -> Self {
        let bits_for = |n: usize| usize::BITS - (n - 1).leading_zeros();
        let shift_h = bits_for(columns);
        let shift_d = (shift_h + bits_for(taps_h)).min(C::BITS);
        Self {
            shift_d,
            shift_h,
            mask_h: (1 << (shift_d - shift_h)) - 1,
            mask_w: (1 << shift_h) - 1,
            step_d: steps[0] as u32,
            step_h: steps[1] as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Codes of as many taps as there are codes for, against the offsets that they stand for; returns these taps, and whether codes
    /// are offsets.
    fn codes_agree<C: Code>(taps: [usize; 2], columns: usize, [n_h, n_w]: [usize; 2]) -> ([usize; 2], bool) {
        let steps = [n_h * n_w, n_w];
        let codes = Codes::new::<C>(taps, steps, (columns, n_w));
        let mut last = None;
        for d in 0..codes.taps[0] {
            for h in 0..codes.taps[1] {
                for w in [0, columns / 2, columns - 1] {
                    let code = codes.code::<C>(d, h).plus(C::new(w));
                    assert_eq!(codes.offsets.of(code) as usize, d * steps[0] + h * steps[1] + w);
                    assert!(last.replace(code) <= Some(code), "codes ascend");
                    assert!(code.value() < 1 << C::BITS, "twice a code is one, too");
                }
            }
        }
        (codes.taps, matches!(codes.offsets, Offsets::Codes(_)))
    }

    #[test]
    fn codes_stand_for_offsets() {
        for (taps, columns) in [([3, 3], 3), ([1, 1], 1), ([7, 32], 100)] {
            assert_eq!(codes_agree::<u16>(taps, columns, [1009, 991]), (taps, taps == [1, 1]));
        }
        assert_eq!(codes_agree::<u32>([40, 50], 1000, [1009, 100_003]), ([40, 50], false));
        assert_eq!(codes_agree::<u16>([3, 3], 3, [112, 113]), ([3, 3], true));
        assert_eq!(codes_agree::<u32>([40, 50], 1000, [1009, 1009]), ([40, 50], true));
    }

    #[test]
    fn codes_are_offsets_as_long_as_they_fit() {
        let fits = |n_h: usize| codes_agree::<u16>([2, 2], 3, [n_h, 4]).1;
        // The last offset is that of a depth, a row and two columns.
        let last = |n_h: usize| 4 * n_h + 4 + 2;
        assert!(last(8190) < 1 << 15 && fits(8190));
        assert!(last(8191) >= 1 << 15 && !fits(8191));
    }

    #[test]
    fn columns_of_padding_are_not_those_of_the_next_row() {
        assert_eq!(codes_agree::<u16>([2, 2], 4, [4, 4]), ([2, 2], true));
        assert_eq!(codes_agree::<u16>([2, 2], 9, [4, 4]), ([2, 2], false));
    }

    #[test]
    fn windows_of_too_many_taps_come_in_parts() {
        let parts = |taps, columns| codes_agree::<u16>(taps, columns, [1 << 10, 1 << 14]).0;
        assert_eq!(parts([40, 50], 60), [8, 50]);
        assert_eq!(parts([9, 70], 300), [1, 64]);
        assert_eq!(parts([2, 2], 12_000), [1, 2]);
    }
}
