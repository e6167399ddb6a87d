//! The rows of a tile that averages are spread over, and how those of a depth are repeated: in the cache, or line by line on
//! their way past it.

use fearless_simd::{Simd, SimdBase};

use super::repeats::Repeats;
use super::stretches::{Stretches, copy_over, multiply};
use crate::dtype::Element;
use crate::exec::stream::{LINE, Lines, claim_next, put_lines};
use crate::tensor::raw::OutTile;

/// The elements of a row that is long enough to be written out alone.
pub(super) const LONG: usize = 1 << 10;

/// The depths, rows and columns of a tile.
pub(super) struct Block<'s, S> {
    pub(super) simd: S,
    pub(super) d: Stretches<'s>,
    pub(super) h: Stretches<'s>,
    pub(super) w: Stretches<'s>,
    /// How columns are repeated, if they are single channels and have to be.
    pub(super) repeats: Option<Repeats<'s>>,
    /// Where the cells of each row are, if columns are single channels.
    pub(super) starts: &'s [u32],
}

impl<S: Simd> Block<'_, S> {
    /// Whether cells of rows of `T` [are held](Repeats::hold_rows) while lines are made of them.
    #[inline(always)]
    pub(super) fn holds_rows<T>(&self) -> bool {
        self.repeats.as_ref().is_some_and(Repeats::hold_rows::<S, T>)
    }

    /// Streams `n_times` the rows whose cells are behind `starts` line by line, if they can be made so; whether it did. Only rows that
    /// are held may come more than once. `built` is room for a row that many lines are read from.
    #[inline(always)]
    pub(super) fn stream<T: Element>(
        &self,
        (cells, starts, n_times): (&[T], &[u32], usize),
        place: (usize, usize),
        out: &mut OutTile<'_, T>,
        built: &mut [T],
    ) -> bool {
        let Some(repeats) = self.repeats.as_ref().filter(|repeats| repeats.have_lines::<T>()) else { return false };
        let len = starts.len() * self.w.n_places;
        let lines = |at| repeats.lines(cells, starts, at % len);
        let are_held = repeats.hold_rows::<S, T>();
        assert!(are_held || n_times == 1, "rows are held to be written more than once");
        // A line that is one vector takes one permutation, and another where the next row begins in it.
        let are_repeated = S::u8s::LEN < LINE && self.h.len() * 2 <= starts.len();
        out.stream(
            place,
            n_times * len,
            |at, to| {
                if are_held {
                    put_lines(self.simd, repeats.held_lines(cells, starts, at), to);
                } else if are_repeated && self.w.n_places < LONG {
                    repeats.stream(self.simd, (cells, starts, at), to, built);
                } else {
                    put_lines(self.simd, lines(at), to);
                }
            },
            |at| lines(at).next(self.simd),
        )
    }

    /// The elements of the block at one depth, in a group of `width` channels.
    #[inline(always)]
    pub(super) fn slab_len(&self, width: usize) -> usize {
        self.h.n_places * self.w.n_places * width
    }

    /// Repeats the cell of each stretch in a row.
    #[inline(always)]
    pub(super) fn repeat<T: Element>(&self, cells: &[T], width: usize, row: &mut [T]) {
        match &self.repeats {
            Some(repeats) => repeats.put(self.simd, cells, row, 1),
            None => self.w.repeat(cells, width, row, false),
        }
    }

    /// Repeats the different rows of a depth; `in_output` as for [`multiply`]. What follows the slab may be written too.
    #[inline(always)]
    pub(super) fn fill_slab<T: Element>(
        &self,
        rounded: Rounded<'_, T>,
        width: usize,
        slab: &mut [T],
        in_output: bool,
    ) {
        let len = self.w.n_places * width;
        for (number, rows) in self.h.iter().enumerate() {
            let cells = &rounded.elements[number * rounded.pitch..];
            let places = rows.places.start * len..rows.places.end * len;
            // An output is written from one line to the next, unless these are few.
            let at_once = if in_output { places.len() } else { len };
            match &self.repeats {
                Some(repeats) if at_once < LONG => {
                    if in_output {
                        claim_next(&slab[places.clone()]);
                    }
                    repeats.put(self.simd, cells, &mut slab[places.start..], rows.places.len());
                }
                Some(repeats) => {
                    repeats.put(self.simd, cells, &mut slab[places.clone()], 1);
                    multiply(&mut slab[places], len, in_output);
                }
                None if self.w.are_places() => {
                    for row in rows.places {
                        if in_output {
                            claim_next(&slab[row * len..(row + 1) * len]);
                        }
                        copy_over(cells, &mut slab[row * len..], len);
                    }
                }
                None => {
                    let rows = &mut slab[places];
                    self.w.repeat(cells, width, &mut rows[..len], in_output);
                    multiply(rows, len, in_output);
                }
            }
        }
    }
}

/// The different rows of one depth, with [`SLACK`](super::repeats::SLACK) behind the last, and how far they are apart.
#[derive(Clone, Copy)]
pub(super) struct Rounded<'c, T> {
    pub(super) elements: &'c [T],
    pub(super) pitch: usize,
}
