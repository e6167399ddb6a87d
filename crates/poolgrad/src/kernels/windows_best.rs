//! The better of two elements, and the best of some rows, column by column.
//!
//! Rows come in ascending order, so that of equal numbers the first is best if a later one has to be larger, and of several
//! elements that are not numbers the last. These show as keys are made or, of elements that are their own keys, in a sum of
//! each column; they are put right afterwards, and what has any goes a slow way from there on.

use std::ops::Range;

use fearless_simd::Simd;

use crate::dtype::{Code, Key};
use crate::exec::stream::{LINE, fetch_ahead};
use crate::exec::{Scratch, booked};

/// The code of no element: with [`Key::LEAST`] it is worse than any, even if codes are added to it.
#[inline(always)]
pub(super) fn nowhere<C: Code>() -> C {
    C::new(1 << C::BITS)
}

#[inline(always)]
pub(super) fn select<V>(condition: bool, yes: V, no: V) -> V {
    if condition { yes } else { no }
}

/// The better of two elements, by their keys and where they lie.
///
/// Which of two wins is as good as random, so it is computed without a branch to be predicted.
#[inline(always)]
pub(super) fn better<K: Key>(a: (K, K::Code), b: (K, K::Code)) -> (K, K::Code) {
    let wins = (b.0 > a.0) | ((b.0 == a.0) & (b.1 < a.1));
    (select(wins, b.0, a.0), select(wins, b.1, a.1))
}

/// Whether an element beats the best so far, given whether it lies behind it. Neither need be a number.
#[inline(always)]
pub(super) fn beats<K: Key>(key: K, best: K, is_later: bool) -> bool {
    if key.is_nan() || best.is_nan() {
        return key.is_nan() && (is_later || !best.is_nan());
    }
    key > best || (key == best && !is_later)
}

/// The best elements of columns.
pub(super) struct Best<'s, K: Key> {
    pub(super) keys: &'s mut [K],
    pub(super) codes: &'s mut [K::Code],
}

impl<'s, K: Key> Best<'s, K> {
    pub(super) fn new(len: usize, scratch: &mut Scratch<'s>) -> Self {
        Self { keys: scratch.row(len), codes: scratch.row(len) }
    }

    pub(super) const fn bytes(len: usize) -> usize {
        booked::<K>(len) + booked::<K::Code>(len)
    }

    /// Some of the columns.
    #[inline(always)]
    pub(super) fn part(&mut self, range: Range<usize>) -> Best<'_, K> {
        Best { keys: &mut self.keys[range.clone()], codes: &mut self.codes[range] }
    }

    /// Puts no element into some columns of rows that lie `pitch` elements apart.
    #[inline(always)]
    pub(super) fn clear_each(&mut self, n_rows: usize, pitch: usize, columns: Range<usize>) {
        for row in 0..n_rows {
            let columns = row * pitch + columns.start..row * pitch + columns.end;
            let best = self.keys[columns.clone()].iter_mut().zip(&mut self.codes[columns]);
            best.for_each(|(key, code)| (*key, *code) = (K::LEAST, nowhere()));
        }
    }

    /// Takes rows of keys into account, in ascending order; the first start anew if they `are_first`. Returns whether any
    /// element is not a number, and looks for these only if there may be some.
    ///
    /// Several rows at a time, so that the best of a column is not loaded and stored for each.
    #[inline(always)]
    pub(super) fn take_rows<S: Simd>(
        &mut self,
        simd: S,
        shape: &RowsShape<'_>,
        mut taps: &[Tap<'_, K>],
        (mut are_first, may_have_nan): (bool, bool),
    ) -> bool {
        let mut any_nan = false;
        // Each a function of its own, for which the compiler has all registers.
        macro_rules! best_of {
            ($best_of:ident, $taps:ident) => {
                if are_first {
                    simd.vectorize(
                        #[inline(always)]
                        || $best_of::<K, true>(self, shape, $taps),
                    )
                } else {
                    simd.vectorize(
                        #[inline(always)]
                        || $best_of::<K, false>(self, shape, $taps),
                    )
                }
            };
        }
        while !taps.is_empty() {
            let n = [9, 4, 3, 2].into_iter().find(|&n| n <= taps.len()).unwrap_or(1);
            let (some, rest) = taps.split_at(n);
            let has_nan = match n {
                9 => best_of!(best_of_9, some),
                4 => best_of!(best_of_4, some),
                3 => best_of!(best_of_3, some),
                2 => best_of!(best_of_2, some),
                _ => best_of!(best_of_1, some),
            };
            if has_nan || may_have_nan {
                any_nan |= self.put_nans(shape, some);
            }
            (taps, are_first) = (rest, false);
        }
        any_nan
    }

    /// Puts the last element of each column that is not a number where one is; returns whether there is any.
    #[cold]
    #[inline(never)]
    fn put_nans(&mut self, shape: &RowsShape<'_>, taps: &[Tap<'_, K>]) -> bool {
        let mut any = false;
        for row in 0..shape.n_rows {
            for &Tap { code, keys, .. } in taps {
                let best = self.keys[row * shape.pitch..].iter_mut().zip(&mut self.codes[row * shape.pitch..]);
                let keys = &keys[row * shape.stride..][..shape.len];
                for ((best, best_code), &key) in best.zip(keys).filter(|(_, key)| key.is_nan()) {
                    (*best, *best_code) = (key, code);
                    any = true;
                }
            }
        }
        any
    }

    /// Takes the best of further depths into account, in ascending order, from all of the columns; anew.
    #[inline(always)]
    pub(super) fn take_depths<S: Simd>(&mut self, simd: S, mut depths: &[Depth<'_, K>]) {
        let mut are_first = true;
        while !depths.is_empty() {
            let n = depths.len().min(if are_first { 3 } else { 1 });
            let (some, rest) = depths.split_at(n);
            simd.vectorize(
                #[inline(always)]
                || match some.len() {
                    3 => best_of_3_depths::<K, true>(self, some),
                    2 => best_of_2_depths::<K, true>(self, some),
                    _ if are_first => best_of_depth::<K, true>(self, some),
                    _ => best_of_depth::<K, false>(self, some),
                },
            );
            (depths, are_first) = (rest, false);
        }
    }

    /// [`Best::take_depths`] where some elements are not numbers.
    #[cold]
    #[inline(never)]
    pub(super) fn take_depths_with_nans(&mut self, depths: &[Depth<'_, K>]) {
        for (i, depth) in depths.iter().enumerate() {
            let best = self.keys.iter_mut().zip(&mut *self.codes);
            for ((best, best_code), (&key, &code)) in best.zip(depth.keys.iter().zip(depth.codes)) {
                if i == 0 || beats(key, *best, true) {
                    (*best, *best_code) = (key, code.plus(depth.code));
                }
            }
        }
    }
}

/// How many elements ahead memory is asked for: some rows, which a processor does not guess by itself where a window
/// spans several depths.
const AHEAD: usize = 512;

/// How rows of outputs and the rows that they see follow each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowsShape<'a> {
    pub(super) n_rows: usize,
    /// The columns of each.
    pub(super) len: usize,
    /// The elements from one row of outputs to the next, and from the rows that one sees to those that the next sees.
    pub(super) pitch: usize,
    pub(super) stride: usize,
    /// Memory that will be read next, and is asked for meanwhile: of each row, so many bytes.
    pub(super) ahead: &'a [u8],
    pub(super) ahead_len: usize,
}

/// A row that the first row of outputs sees, with those behind it.
#[derive(Clone, Copy)]
pub(super) struct Tap<'r, K: Key> {
    pub(super) code: K::Code,
    pub(super) keys: &'r [K],
    /// Whether it comes from memory: no row of outputs before has seen it.
    pub(super) is_new: bool,
}

impl<K: Key> Tap<'_, K> {
    /// What a row of outputs sees of it; what others will see is asked for.
    #[inline(always)]
    fn row(&self, row: Range<usize>) -> (&[K], K::Code) {
        let keys = &self.keys[row];
        if self.is_new {
            for line in keys.chunks(LINE / size_of::<K>()) {
                fetch_ahead(&line[0], AHEAD);
            }
        }
        (keys, self.code)
    }
}

/// The best elements of the rows of a depth, and what is to be added to their codes.
#[derive(Clone, Copy)]
pub(super) struct Depth<'r, K: Key> {
    pub(super) keys: &'r [K],
    pub(super) codes: &'r [K::Code],
    pub(super) code: K::Code,
}

impl RowsShape<'_> {
    #[inline(always)]
    fn for_each_row<K: Key>(
        &self,
        best: &mut Best<'_, K>,
        mut visit: impl FnMut(&mut [K], &mut [K::Code], Range<usize>) -> bool,
    ) -> bool {
        let mut any = false;
        for row in 0..self.n_rows {
            for line in self.ahead.chunks(LINE).skip(row * (self.ahead_len / LINE)).take(self.ahead_len / LINE) {
                fetch_ahead(&line[0], 0);
            }
            let to = row * self.pitch..row * self.pitch + self.len;
            let from = row * self.stride..row * self.stride + self.len;
            any |= visit(&mut best.keys[to.clone()], &mut best.codes[to], from);
        }
        any
    }
}

/// Functions that take so many rows into account, which come later than what there is or, if they are the `FIRST`, start anew;
/// and return whether there may be an element that is not a number.
///
/// Rows by name, of which the compiler sees that they are long enough: of an array's it does not.
macro_rules! best_of_rows {
    ($($name:ident $($tap:ident)*;)*) => {$(
        #[inline(always)]
        fn $name<K: Key, const FIRST: bool>(best: &mut Best<'_, K>, shape: &RowsShape<'_>, taps: &[Tap<'_, K>]) -> bool {
            let [first, $($tap),*] = taps else { unreachable!("so many rows") };
            shape.for_each_row(best, #[inline(always)] |keys, codes, from| {
                let first = first.row(from.clone());
                $(let $tap = $tap.row(from.clone());)*
                put_best::<K, FIRST>(keys, codes, #[inline(always)] |i| {
                    let (best, sum) = ((first.0[i], first.1), first.0[i]);
                    $(let (best, sum) = (later(best, ($tap.0[i], $tap.1)), sum.sum($tap.0[i]));)*
                    (best, sum)
                })
            })
        }
    )*};
}
best_of_rows! {
    best_of_1;
    best_of_2 b;
    best_of_3 b c;
    best_of_4 b c d;
    best_of_9 b c d e f g h j;
}

/// As [`best_of_rows`], with the best of so many depths.
macro_rules! best_of_depths {
    ($($name:ident $($depth:ident)*;)*) => {$(
        #[inline(always)]
        fn $name<K: Key, const FIRST: bool>(best: &mut Best<'_, K>, depths: &[Depth<'_, K>]) {
            let [first, $($depth),*] = depths else { unreachable!("so many depths") };
            let n = best.keys.len();
            let first = (&first.keys[..n], &first.codes[..n], first.code);
            $(let $depth = (&$depth.keys[..n], &$depth.codes[..n], $depth.code);)*
            put_best::<K, FIRST>(best.keys, best.codes, #[inline(always)] |i| {
                let best = (first.0[i], first.1[i].plus(first.2));
                $(let best = later(best, ($depth.0[i], $depth.1[i].plus($depth.2)));)*
                (best, best.0)
            });
        }
    )*};
}
best_of_depths! {
    best_of_depth;
    best_of_2_depths b;
    best_of_3_depths b c;
}

/// The better of two numbers, of which the second lies behind the first.
#[inline(always)]
pub(super) fn later<K: Key>(a: (K, K::Code), b: (K, K::Code)) -> (K, K::Code) {
    (select(b.0 > a.0, b.0, a.0), select(b.0 > a.0, b.1, a.1))
}

/// Puts the best of each column, given that of what is to be taken into account, and a sum that shows if any of that is not a
/// number; returns whether any sum does.
#[inline(always)]
fn put_best<K: Key, const FIRST: bool>(
    keys: &mut [K],
    codes: &mut [K::Code],
    new: impl Fn(usize) -> ((K, K::Code), K),
) -> bool {
    let n = keys.len();
    let codes = &mut codes[..n];
    let mut has_nan = false;
    for i in 0..n {
        let (new, sum) = new(i);
        has_nan |= sum.shows_nan();
        (keys[i], codes[i]) = if FIRST { new } else { later((keys[i], codes[i]), new) };
    }
    has_nan
}
