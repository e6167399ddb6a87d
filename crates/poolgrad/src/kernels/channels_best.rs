//! The best of the places that windows see, channel by channel.
//!
//! Rows of channels come in ascending order, as in `windows_best.rs`, so that of equal numbers the first is best if a later one
//! has to be larger. What is not a number shows in a trace of the elements, and is put right afterwards.

use super::channels_taps::Ahead;
use super::windows_best::later;
use super::windows_input::lanes;
use crate::dtype::{Code, Float, Index, Key};
use crate::exec::stream::LINE;
use crate::exec::{Scratch, booked};

/// The most elements that the best are found of at a time: of neighbouring outputs all channels.
pub(super) const BEST: usize = 4 << 10;

/// The most rows of channels that are compared in registers.
pub(super) const AT_ONCE: usize = 9;

type CodeOf<T> = <<T as Float>::Key as Key>::Code;

/// The best of the channels of some outputs, each of which begins with a whole vector.
pub(super) struct Best<'s, T: Float> {
    keys: &'s mut [T::Key],
    codes: &'s mut [CodeOf<T>],
}

impl<'s, T: Float> Best<'s, T> {
    pub(super) fn new(scratch: &mut Scratch<'s>) -> Self {
        Self { keys: scratch.row(BEST + LINE), codes: scratch.row(BEST + LINE) }
    }

    pub(super) const fn bytes() -> usize {
        booked::<T::Key>(BEST + LINE) + booked::<CodeOf<T>>(BEST + LINE)
    }
}

/// Neighbouring outputs whose windows have the same taps, and are evenly spaced.
pub(super) struct Run {
    /// The first place of the first window, and the places from one to the next.
    pub(super) first: usize,
    pub(super) spacing: usize,
    /// The channels of a place.
    pub(super) width: usize,
    /// How many outputs these are.
    pub(super) n: usize,
}

impl Run {
    /// Finds the best of each window, with these taps, in a group whose elements are `whole`.
    #[inline(always)]
    pub(super) fn find<T: Float, I: Index>(
        &self,
        whole: &[T],
        taps: &[CodeOf<T>],
        ahead: &mut Ahead<'_>,
        best: &mut Best<'_, T>,
        (keys, places): (&mut [T::Key], &mut [I]),
    ) {
        let Self { first, spacing, width, n } = *self;
        let rows = &whole[first * width..];
        // What windows of neighbouring places see are neighbours, too, as if it were one place of more channels.
        let (n_rows, len) = if spacing == 1 { (1, n * width) } else { (n, width) };
        let pitch = len.next_multiple_of(lanes::<T::Key>());
        // Whole vectors, if they can be read even of the last tap.
        let last = (n_rows - 1) * spacing + taps.last().map_or(0, |last| last.value() as usize);
        let len = if last * width + pitch <= rows.len() { pitch } else { len };
        let shape = Shape { n: n_rows, len, pitch, stride: spacing * width, width };
        take_taps(rows, &shape, taps, ahead, best.keys, best.codes);
        let pitch = if spacing == 1 { width } else { pitch };
        for (i, (keys, places)) in keys.chunks_exact_mut(width).zip(places.chunks_exact_mut(width)).enumerate() {
            let found = i * pitch..i * pitch + width;
            keys.copy_from_slice(&best.keys[found.clone()]);
            put_places(first + i * spacing, &best.codes[found], places);
        }
    }
}

/// Puts where elements lie that have these codes, in a window that begins at `first`.
#[inline(always)]
fn put_places<C: Code, I: Index>(first: usize, codes: &[C], places: &mut [I]) {
    for (place, code) in places.iter_mut().zip(codes) {
        *place = I::from_offset(first.wrapping_add(code.value() as usize));
    }
}

/// How rows of channels follow each other.
struct Shape {
    /// The outputs, and of each the elements.
    n: usize,
    len: usize,
    /// The elements from one output to the next, and from what one sees to what the next sees.
    pitch: usize,
    stride: usize,
    /// The elements of a place.
    width: usize,
}

/// Finds the best of rows of channels, which begin at `taps`.
///
/// Memory comes as arguments by themselves, here and below: so the compiler knows what is apart.
#[inline(always)]
fn take_taps<T: Float>(
    rows: &[T],
    shape: &Shape,
    mut taps: &[CodeOf<T>],
    ahead: &mut Ahead<'_>,
    keys: &mut [T::Key],
    codes: &mut [CodeOf<T>],
) {
    let mut are_first = true;
    while !taps.is_empty() {
        let n = [AT_ONCE, 4, 3, 2].into_iter().find(|&n| n <= taps.len()).unwrap_or(1);
        let (some, rest) = taps.split_at(n);
        macro_rules! best_of {
            ($best_of:ident) => {
                match are_first {
                    true => $best_of::<T, true>(rows, shape, some, ahead, keys, codes),
                    false => $best_of::<T, false>(rows, shape, some, ahead, keys, codes),
                }
            };
        }
        let has_nan = match n {
            AT_ONCE => best_of!(best_of_9),
            4 => best_of!(best_of_4),
            3 => best_of!(best_of_3),
            2 => best_of!(best_of_2),
            _ => best_of!(best_of_1),
        };
        if has_nan {
            put_nans(rows, shape, some, keys, codes);
        }
        (taps, are_first) = (rest, false);
    }
}

/// Puts the last element of each channel that is not a number where there is one.
#[cold]
#[inline(never)]
fn put_nans<T: Float>(rows: &[T], shape: &Shape, taps: &[CodeOf<T>], keys: &mut [T::Key], codes: &mut [CodeOf<T>]) {
    for i in 0..shape.n {
        let best = i * shape.pitch..i * shape.pitch + shape.len;
        for &tap in taps {
            let row = &rows[i * shape.stride + tap.value() as usize * shape.width..][..shape.len];
            let best = keys[best.clone()].iter_mut().zip(&mut codes[best.clone()]);
            for ((key, code), &element) in best.zip(row) {
                let mut one = [T::Key::LEAST];
                if T::put_keys(&[element], &mut one) {
                    (*key, *code) = (one[0], tap);
                }
            }
        }
    }
}

impl Shape {
    /// Calls `visit(rows, keys, codes)` for each output, with the rows from the first that it sees on; returns whether any call
    /// returned true. Meanwhile memory is asked for.
    #[inline(always)]
    fn for_each_output<T: Float>(
        &self,
        rows: &[T],
        ahead: &mut Ahead<'_>,
        keys: &mut [T::Key],
        codes: &mut [CodeOf<T>],
        visit: impl Fn(&[T], &mut [T::Key], &mut [CodeOf<T>]) -> bool,
    ) -> bool {
        let mut any = false;
        for i in 0..self.n {
            ahead.ask();
            let best = i * self.pitch..i * self.pitch + self.len;
            any |= visit(&rows[i * self.stride..], &mut keys[best.clone()], &mut codes[best]);
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
        fn $name<T: Float, const FIRST: bool>(
            rows: &[T],
            shape: &Shape,
            taps: &[CodeOf<T>],
            ahead: &mut Ahead<'_>,
            keys: &mut [T::Key],
            codes: &mut [CodeOf<T>],
        ) -> bool {
            let [first, $($tap),*] = *taps else { unreachable!("so many rows") };
            shape.for_each_output(rows, ahead, keys, codes, #[inline(always)] |rows, keys, codes| {
                let of = |tap: CodeOf<T>| (&rows[tap.value() as usize * shape.width..][..shape.len], tap);
                let first = of(first);
                $(let $tap = of($tap);)*
                put_best::<T, FIRST>(keys, codes, #[inline(always)] |c| {
                    let (best, trace) = ((first.0[c].key(), first.1), first.0[c].trace());
                    $(let (best, trace) = (later(best, ($tap.0[c].key(), $tap.1)), T::join(trace, $tap.0[c].trace()));)*
                    (best, trace)
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

/// Puts the best of each channel, given that of what is to be taken into account, and a trace of it; returns whether any trace
/// shows what is not a number.
#[inline(always)]
fn put_best<T: Float, const FIRST: bool>(
    keys: &mut [T::Key],
    codes: &mut [CodeOf<T>],
    new: impl Fn(usize) -> ((T::Key, CodeOf<T>), T::Trace),
) -> bool {
    let n = keys.len();
    let codes = &mut codes[..n];
    // As wide as codes: truth values would not become vectors.
    let mut doubt = CodeOf::<T>::new(0);
    for c in 0..n {
        let (new, trace) = new(c);
        doubt = doubt.max(CodeOf::<T>::new(usize::from(T::shows_nan(trace))));
        (keys[c], codes[c]) = if FIRST { new } else { later((keys[c], codes[c]), new) };
    }
    doubt > CodeOf::<T>::new(0)
}
