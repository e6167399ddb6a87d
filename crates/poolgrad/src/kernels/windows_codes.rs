//! Codes: where in a window an element lies, in as many bits as its key has.
//!
//! The taps along D, along H and the columns are a field each, the first in the highest bits; so codes are in the order of
//! the elements, and a code plus a number of columns is that of an element so many columns further on. Of a window that has
//! more taps than there are codes, some depths, some rows or some columns are taken at a time.

use crate::dtype::Code;

/// The fields of codes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields {
    shift_d: u32,
    shift_h: u32,
    /// The taps along D and H that there are codes for.
    pub(super) taps: [usize; 2],
}

impl Fields {
    /// For windows of up to `taps` along D and H, and of `columns`.
    pub(super) fn new<C: Code>(taps: [usize; 2], columns: usize) -> Self {
        let bits_for = |n: usize| usize::BITS - (n - 1).leading_zeros();
        let shift_h = bits_for(columns);
        let shift_d = (shift_h + bits_for(taps[1])).min(C::BITS);
        let most = [C::BITS - shift_d, shift_d - shift_h].map(|bits| 1 << bits);
        Self { shift_d, shift_h, taps: [taps[0].min(most[0]), taps[1].min(most[1])] }
    }

    /// The code of the first column of a row, by its taps along D and H.
    #[inline(always)]
    pub(super) fn code<C: Code>(&self, d: usize, h: usize) -> C {
        C::new(d << self.shift_d | h << self.shift_h)
    }

    /// What codes stand for, if it is so many elements from tap to tap along D and H.
    #[inline(always)]
    pub(super) fn offsets(&self, steps: [usize; 2]) -> Offsets {
        Offsets {
            shift_d: self.shift_d,
            shift_h: self.shift_h,
            mask_h: (1 << (self.shift_d - self.shift_h)) - 1,
            mask_w: (1 << self.shift_h) - 1,
            step_d: steps[0] as u32,
            step_h: steps[1] as u32,
        }
    }
}

/// The offsets of elements from the first of their windows, by their codes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offsets {
    shift_d: u32,
    shift_h: u32,
    mask_h: u32,
    mask_w: u32,
    step_d: u32,
    step_h: u32,
}

impl Offsets {
    #[inline(always)]
    pub(super) fn of<C: Code>(&self, code: C) -> u32 {
        let code = code.value();
        let (d, h) = (code >> self.shift_d, (code >> self.shift_h) & self.mask_h);
        let offset = d.wrapping_mul(self.step_d).wrapping_add(h.wrapping_mul(self.step_h));
        offset.wrapping_add(code & self.mask_w)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Codes of as many taps as there are codes for, against the offsets that they stand for.
    fn codes_agree<C: Code>(taps: [usize; 2], columns: usize) -> [usize; 2] {
        let fields = Fields::new::<C>(taps, columns);
        let offsets = fields.offsets([1_000_003, 1009]);
        let mut last = None;
        for d in 0..fields.taps[0] {
            for h in 0..fields.taps[1] {
                for w in [0, columns / 2, columns - 1] {
                    let code = fields.code::<C>(d, h).plus(C::new(w));
                    assert_eq!(offsets.of(code) as usize, d * 1_000_003 + h * 1009 + w);
                    assert!(last.replace(code) <= Some(code), "codes ascend");
                    assert!(code.value() < 1 << C::BITS, "twice a code is one, too");
                }
            }
        }
        fields.taps
    }

    #[test]
    fn codes_stand_for_offsets() {
        assert_eq!(codes_agree::<u16>([3, 3], 3), [3, 3]);
        assert_eq!(codes_agree::<u16>([1, 1], 1), [1, 1]);
        assert_eq!(codes_agree::<u16>([7, 32], 100), [7, 32]);
        assert_eq!(codes_agree::<u32>([40, 50], 1000), [40, 50]);
    }

    #[test]
    fn windows_of_too_many_taps_come_in_parts() {
        assert_eq!(codes_agree::<u16>([40, 50], 60), [8, 50]);
        assert_eq!(codes_agree::<u16>([9, 70], 300), [1, 64]);
        assert_eq!(codes_agree::<u16>([2, 2], 12_000), [1, 2]);
    }
}
