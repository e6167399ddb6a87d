//! The maxima of windows on their way to memory.

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
}

impl<'s, 't, T: Float, I: Index> Results<'s, 't, T, I> {
    /// With room for whole vectors behind the last.
    const LEN: usize = RESULTS + LINE + 1;

    #[inline(always)]
    pub(super) fn new(output: OutTile<'t, T>, indices: Option<OutTile<'t, I>>, scratch: &mut Scratch<'s>) -> Self {
        let (keys, places) = (scratch.row(Self::LEN), scratch.row(Self::LEN));
        Self { keys, places, flat: 0, n_places: 0, staging: rows::staging(scratch), output, indices }
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
            let n = ROW / plane.width * plane.width;
            for (i, (keys, places)) in keys.chunks(n).zip(places.chunks(n)).enumerate() {
                let flat = flat + i * (n / plane.width);
                let values = &mut self.staging[..keys.len()];
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
                self.output.write(plane.group, flat, values);
            }
            if let Some(indices) = &mut self.indices {
                indices.write(plane.group, flat, places);
            }
        }
        self.n_places = 0;
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
