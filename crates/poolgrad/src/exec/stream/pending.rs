//! Rows that end within a line: the rest of it waits for the next row.

use super::{LINE, Plain, copy_lines_best};

/// The most elements of a cache line.
pub(crate) const LINE_ELEMENTS: usize = LINE / size_of::<u16>();

/// The first `len` elements of the line that begins at `line`, not yet written.
pub(crate) struct Pending<T> {
    line: *mut T,
    elements: [T; LINE_ELEMENTS],
    len: usize,
}

impl<T: Plain + Default> Pending<T> {
    /// Nothing pending; `origin` is any pointer of the output.
    pub(crate) fn new(origin: *mut T) -> Self {
        Self { line: origin, elements: [T::default(); LINE_ELEMENTS], len: 0 }
    }

    /// Writes `from` at `to`: whole lines past the cache, and the part of a line at the end only when the rest of the
    /// line comes or the tile is done.
    ///
    /// An ordinary store to a line that is not in the cache waits for memory, and the streaming stores behind it wait
    /// too; so there should be few of them, and not two at the ends of every row.
    ///
    /// # Safety
    /// `to` must point to as many elements as `from` has, aligned and this tile's alone for as long as it lives, by
    /// way of a pointer that may be used for all of the tile.
    #[inline(always)]
    pub(crate) unsafe fn write(&mut self, mut from: &[T], mut to: *mut T) {
        let per_line = LINE / size_of::<T>();
        if self.len > 0 && self.line.wrapping_add(self.len) == to {
            let n = from.len().min(per_line - self.len);
            self.elements[self.len..self.len + n].copy_from_slice(&from[..n]);
            self.len += n;
            (from, to) = (&from[n..], to.wrapping_add(n));
            if self.len < per_line {
                return;
            }
            // SAFETY: the line consists of elements that were left pending by a call before and of the first of this
            // one's, all of which the callers vouch for.
            let line = unsafe { std::slice::from_raw_parts_mut(self.line, per_line) };
            copy_lines_best(&self.elements[..per_line], line);
            self.len = 0;
        }
        // SAFETY: the callers vouch for what is pending, as for the line above.
        unsafe { self.flush() };
        let skew = to.addr() % LINE / size_of::<T>();
        let head = if skew == 0 { 0 } else { (per_line - skew).min(from.len()) };
        let body = (from.len() - head) / per_line * per_line;
        // SAFETY: `head + body` is at most the length of `from`, so the caller vouches for these elements.
        let row = unsafe { std::slice::from_raw_parts_mut(to, head + body) };
        let (row_head, row_body) = row.split_at_mut(head);
        row_head.copy_from_slice(&from[..head]);
        copy_lines_best(&from[head..head + body], row_body);
        let rest = &from[head + body..];
        self.line = to.wrapping_add(head + body);
        self.elements[..rest.len()].copy_from_slice(rest);
        self.len = rest.len();
    }

    /// Writes what is pending.
    ///
    /// # Safety
    /// The elements that [`Pending::write`] was handed must still be this tile's alone.
    #[inline(always)]
    pub(crate) unsafe fn flush(&mut self) {
        // SAFETY: `write` left these elements when it was handed the places that they belong to.
        let line = unsafe { std::slice::from_raw_parts_mut(self.line, self.len) };
        line.copy_from_slice(&self.elements[..self.len]);
        self.len = 0;
    }
}
