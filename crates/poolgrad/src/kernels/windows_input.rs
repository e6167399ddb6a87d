//! Reading the input of windows: rows of keys.

use std::ops::Range;

use fearless_simd::Simd;
use zerocopy::IntoBytes;

use super::windows::LONGEST;
use crate::dtype::{Float, Key};
use crate::exec::stream::LINE;
use crate::exec::{Scratch, booked};
use crate::tensor::raw::{Row, Source};

/// The keys that rows are made of in a buffer.
pub(super) const SLAB: usize = 24 << 10;

/// The elements of the widest vectors: where there is room behind a row, its last vector is a whole one, too.
pub(super) const fn lanes<K>() -> usize {
    LINE / size_of::<K>()
}

/// Some columns of neighbouring rows, of one depth or of several.
pub(super) struct Slab<'k, K> {
    /// From the first column of the first row on.
    pub(super) keys: &'k [K],
    /// The elements from one row to the next, and from one depth to the next.
    pub(super) pitch: usize,
    pub(super) depth_pitch: usize,
    /// Whether some elements are not numbers, as far as is known.
    pub(super) has_nan: bool,
    /// Whether memory is to be asked for what comes next.
    pub(super) is_far: bool,
}

/// Memory for keys that the input does not have as they are.
pub(super) struct SlabBuffers<'s, T: Float> {
    row: &'s mut [T],
    keys: &'s mut [T::Key],
}

impl<'s, T: Float> SlabBuffers<'s, T> {
    pub(super) fn new(scratch: &mut Scratch<'s>) -> Self {
        Self { row: scratch.row(LONGEST), keys: scratch.row(SLAB + LINE) }
    }

    pub(super) const fn bytes() -> usize {
        booked::<T>(LONGEST) + booked::<T::Key>(SLAB + LINE)
    }
}

/// A group of the input.
pub(super) struct Plane<'k, 'a, T: Float> {
    input: &'k Source<'a, T>,
    pub(super) group: usize,
    /// Its channels.
    pub(super) width: usize,
    /// The elements of a row.
    row_len: usize,
    /// All of it, where memory has it in one piece.
    whole: Option<&'a [T]>,
}

impl<'k, 'a, T: Float> Plane<'k, 'a, T> {
    /// A group whose rows have `n_columns`.
    #[inline(always)]
    pub(super) fn new(input: &'k Source<'a, T>, group: usize, n_columns: usize) -> Self {
        let flat = 0..input.plane_len();
        let whole = match (input.run_len() == flat.end).then(|| input.row(group, flat)) {
            Some(Row::Slice(whole)) => Some(whole),
            _ => None,
        };
        let width = input.width_of(group);
        if width > 1 && whole.is_none() {
            input.fetch_group(group + 1);
        }
        Self { input, group, width, row_len: n_columns * width, whole }
    }

    /// The elements of the input as keys, if they are their own and memory has them in one piece.
    #[inline(always)]
    fn direct(&self) -> Option<&'a [T::Key]> {
        self.whole.and_then(T::as_keys)
    }

    /// All of it, where memory has it in one piece.
    #[inline(always)]
    pub(super) fn whole(&self) -> Option<&'a [T]> {
        self.whole
    }

    /// Whether rows are read where they lie: then there are no slabs to keep small, but none to be read again either.
    #[inline(always)]
    pub(super) fn is_direct(&self) -> bool {
        self.direct().is_some()
    }

    /// Some columns of row `first` and those behind it where they lie, of depths that are `step` rows apart.
    #[inline(always)]
    pub(super) fn rows(&self, first: usize, columns: &Range<usize>, step: usize) -> Slab<'a, T::Key> {
        let start = first * self.row_len + columns.start * self.width;
        let keys = self.direct().map_or(&[][..], |keys| &keys[start..]);
        let depth_pitch = step.wrapping_mul(self.row_len);
        Slab { keys, pitch: self.row_len, depth_pitch, has_nan: false, is_far: self.width == 1 }
    }

    /// The bytes of whole rows, if memory has them in one piece.
    pub(super) fn bytes(&self, rows: Range<usize>) -> &'a [u8] {
        self.whole.map_or(&[], |whole| whole[rows.start * self.row_len..rows.end * self.row_len].as_bytes())
    }

    /// The keys of `columns` of neighbouring `rows` of a depth, which fit into [`SLAB`].
    #[inline(never)]
    pub(super) fn slab<'b, S: Simd>(
        &self,
        simd: S,
        rows: Range<usize>,
        columns: &Range<usize>,
        buffers: &'b mut SlabBuffers<'_, T>,
    ) -> Slab<'b, T::Key>
    where
        'a: 'b,
    {
        let len = columns.len() * self.width;
        let mut has_nan = false;
        // What whole vectors read beyond the last row should not look as if it were no number.
        buffers.keys[rows.len() * len..][..LINE].fill(T::Key::LEAST);
        if let Some(whole) = self.whole {
            let whole = &whole[rows.start * self.row_len + columns.start * self.width..];
            let (n, piece) = if len == self.row_len { (1, rows.len() * len) } else { (rows.len(), len) };
            let keys = &mut *buffers.keys;
            simd.vectorize(
                #[inline(always)]
                || {
                    for (i, keys) in keys.chunks_exact_mut(piece).take(n).enumerate() {
                        has_nan |= T::put_keys(&whole[i * self.row_len..][..piece], keys);
                    }
                },
            );
        } else {
            // Whole rows that are neighbours are read together.
            let (n_columns, n_rows) = (self.row_len / self.width, rows.len());
            let are_whole = len == self.row_len && rows.end * n_columns <= self.input.run_len();
            let at_once = if are_whole { (LONGEST / len).clamp(1, n_rows) } else { 1 };
            for (i, keys) in buffers.keys[..n_rows * len].chunks_mut(at_once * len).enumerate() {
                let flat = (rows.start + i * at_once) * n_columns + columns.start;
                let row = self.input.row(self.group, flat..flat + keys.len() / self.width).load(buffers.row);
                simd.vectorize(
                    #[inline(always)]
                    || has_nan |= T::put_keys(row, keys),
                );
            }
        }
        Slab { keys: buffers.keys, pitch: len, depth_pitch: 0, has_nan, is_far: false }
    }

    /// The element of channel `c` at `flat` as it is written: if it is not a number, a quiet one.
    pub(super) fn element(&self, flat: usize, c: usize) -> T {
        let element = match self.whole {
            Some(whole) => whole[flat * self.width + c],
            None => {
                let mut buffer = [T::default(); super::rows::WIDEST];
                self.input.row(self.group, flat..flat + 1).load(&mut buffer)[c]
            }
        };
        let (mut wide, mut narrow) = ([T::Acc::default()], [element]);
        T::widen(&narrow, &mut wide);
        T::narrow(&wide, &mut narrow);
        narrow[0]
    }
}
