//! Reading the rows of windows.

use super::rows::RowBuffers;
use super::windows::LANES;
use crate::dtype::Float;
use crate::exec::stream::{LINE, fetch_ahead};
use crate::tensor::raw::{Row, Source};

/// A group of the input, to be read row by row.
pub(super) struct Plane<'k, 'a, T: Float> {
    input: &'k Source<'a, T>,
    group: usize,
    /// Its channels.
    pub(super) width: usize,
    /// All of it, where memory has it in one piece: parts of it are found without divisions.
    whole: Option<&'a [T]>,
}

impl<'k, 'a, T: Float> Plane<'k, 'a, T> {
    #[inline(always)]
    pub(super) fn new(input: &'k Source<'a, T>, group: usize) -> Self {
        let flat = 0..input.plane_len();
        let whole = match (input.run_len() == flat.end).then(|| input.row(group, flat)) {
            Some(Row::Slice(whole)) => Some(whole),
            _ => None,
        };
        Self { input, group, width: input.width_of(group), whole }
    }

    /// The elements of `n_places`; or a few more, which make whole vectors, if they can be read even of the row that
    /// begins at `last`.
    #[inline(always)]
    pub(super) fn row_len(&self, n_places: usize, last: usize) -> usize {
        let len = n_places * self.width;
        let vectors = len.next_multiple_of(LANES);
        match self.whole {
            Some(whole) if last * self.width + vectors <= whole.len() => vectors,
            _ => len,
        }
    }

    /// Asks for the memory of `len` elements of a single plane, `ahead` behind flat offset `flat`.
    #[inline(always)]
    pub(super) fn fetch(&self, flat: usize, ahead: usize, len: usize) {
        if let Some(whole) = self.whole
            && let Some(element) = whole.get(flat)
        {
            for line in (0..len).step_by(LINE / size_of::<T>()) {
                fetch_ahead(element, ahead + line);
            }
        }
    }

    /// `len` elements from flat offset `flat` on, widened.
    #[inline(always)]
    pub(super) fn row<'b>(&self, flat: usize, len: usize, buffers: &'b mut RowBuffers<'_, T>) -> &'b [T::Acc]
    where
        'a: 'b,
    {
        buffers.widen(match self.whole {
            Some(whole) => Row::Slice(&whole[flat * self.width..][..len]),
            None => self.input.row(self.group, flat..flat + len / self.width),
        })
    }
}
