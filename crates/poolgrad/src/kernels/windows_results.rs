//! The maxima of windows on their way to memory.

use std::ops::Range;

use fearless_simd::Simd;

use super::rows::{self, ROW};
use super::windows_input::Plane;
use crate::dtype::{Float, Index, Key, all_unique};
use crate::exec::stream::LINE;
use crate::exec::{Scratch, booked};
use crate::tensor::raw::OutTile;

/// The most that are kept until they are written.
pub(super) const RESULTS: usize = 4 << 10;

/// The keys of maxima, and where they lie, of neighbouring outputs that are not yet written.
pub(super) struct Results<'s, 't, T: Float, I: Index> {
    pub(super) keys: &'s mut [T::Key],
    pub(super) places: &'s mut [I],
    /// The flat offset of the first, and their number.
    flat: usize,
    n_places: usize,
    staging: &'s mut [T],
    output: OutTile<'t, T>,
    indices: Option<OutTile<'t, I>>,
    /// Whether places are put where they belong in memory at once.
    puts_places: bool,
}

impl<'s, 't, T: Float, I: Index> Results<'s, 't, T, I> {
    /// With room for whole vectors behind the last.
    const LEN: usize = RESULTS + LINE + 1;

    #[inline(always)]
    pub(super) fn new(output: OutTile<'t, T>, indices: Option<OutTile<'t, I>>, scratch: &mut Scratch<'s>) -> Self {
        let (keys, places) = (scratch.row(Self::LEN), scratch.row(Self::LEN));
        Self {
            keys,
            places,
            flat: 0,
            n_places: 0,
            staging: rows::staging(scratch),
            output,
            indices,
            puts_places: false,
        }
    }

    pub(super) const fn bytes() -> usize {
        booked::<T::Key>(Self::LEN) + booked::<I>(Self::LEN) + booked::<T>(ROW)
    }

    /// Where the maxima of `n_places` outputs go that begin at `flat`, no more than there is room for: those before are
    /// written if these do not follow, or do not fit.
    #[inline(always)]
    pub(super) fn room<S: Simd>(
        &mut self,
        simd: S,
        plane: &Plane<'_, '_, T>,
        flat: usize,
        n_places: usize,
    ) -> usize {
        if flat != self.flat + self.n_places || (self.n_places + n_places) * plane.width > RESULTS {
            self.store(simd, plane);
            self.flat = flat;
        }
        self.n_places += n_places;
        (self.n_places - n_places) * plane.width
    }

    /// From here on places of the outputs `flat` of a group are put where they belong in memory at once, if that is one piece
    /// which need not be written past the cache.
    #[inline(always)]
    pub(super) fn put_places(&mut self, group: usize, flat: Range<usize>) {
        let in_memory =
            |indices: &mut OutTile<'_, I>| !indices.streams() && indices.consecutive(group, flat).is_some();
        self.puts_places = self.indices.as_mut().is_some_and(in_memory);
    }

    /// Where the keys and the places of outputs `flat` go, for which there is [`room`](Results::room) from element `at` on.
    #[inline(always)]
    pub(super) fn rows(&mut self, group: usize, flat: Range<usize>, at: usize) -> (&mut [T::Key], &mut [I]) {
        let places = match &mut self.indices {
            Some(indices) if self.puts_places => indices.consecutive(group, flat),
            _ => None,
        };
        (&mut self.keys[at..], places.unwrap_or(&mut self.places[at..]))
    }

    /// Writes all that there is.
    #[inline(always)]
    pub(super) fn store<S: Simd>(&mut self, simd: S, plane: &Plane<'_, '_, T>) {
        self.store_rows(simd, plane, 1, 0);
    }

    /// Writes all that there is: `n_rows`, which begin `pitch` places apart.
    #[inline(never)]
    pub(super) fn store_rows<S: Simd>(&mut self, simd: S, plane: &Plane<'_, '_, T>, n_rows: usize, pitch: usize) {
        let len = self.n_places / n_rows;
        for row in 0..if len > 0 { n_rows } else { 0 } {
            let range = row * len * plane.width..(row + 1) * len * plane.width;
            let flat = self.flat + row * pitch;
            let (keys, places) = (&self.keys[range.clone()], &self.places[range]);
            let values = (&mut self.output, &mut *self.staging);
            match &mut self.indices {
                Some(indices) if self.puts_places => {
                    let places =
                        indices.consecutive(plane.group, flat..flat + len).expect("it was one piece before");
                    store_values(simd, plane, (flat, keys, places), values);
                }
                Some(indices) => {
                    store_values(simd, plane, (flat, keys, places), values);
                    indices.write(plane.group, flat, places);
                }
                None => store_values(simd, plane, (flat, keys, places), values),
            }
        }
        self.n_places = 0;
    }
}

/// Writes the elements that have these keys, or lie at these places, to the outputs from `flat` on.
#[inline(always)]
fn store_values<S: Simd, T: Float, I: Index>(
    simd: S,
    plane: &Plane<'_, '_, T>,
    (flat, keys, places): (usize, &[T::Key], &[I]),
    (output, staging): (&mut OutTile<'_, T>, &mut [T]),
) {
    let n = ROW / plane.width * plane.width;
    for (i, (keys, places)) in keys.chunks(n).zip(places.chunks(n)).enumerate() {
        let values = &mut staging[..keys.len()];
        let are_unique = simd.vectorize(
            #[inline(always)]
            || {
                T::put_values(keys, values);
                all_unique(keys)
            },
        );
        if !are_unique {
            look_up(plane, keys, places, values);
        }
        output.write(plane.group, flat + i * (n / plane.width), values);
    }
}

/// Puts elements that their keys do not tell.
#[inline(never)]
fn look_up<T: Float, I: Index>(plane: &Plane<'_, '_, T>, keys: &[T::Key], places: &[I], values: &mut [T]) {
    for (i, key) in keys.iter().enumerate() {
        if !key.is_unique() {
            values[i] = plane.element(places[i].offset(), i % plane.width);
        }
    }
}
