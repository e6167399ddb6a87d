//! Which planes forward operators read side by side.

use super::check::Checked;
use crate::geometry::Geometry;
use crate::kernels::rows_of_windows_fit;
use crate::spec::Pool;

/// The elements of a row of the input and of the output, and the bytes of a plane, up to which forward operators work on some planes
/// side by side, maxima and means; how many, and from how many channels on.
const SHORT: [usize; 2] = [40, 28];
const SMALL: usize = 32 << 10;
const SMALL_MEAN: usize = 4 << 10;
/// The bytes of a row up to which maxima of larger planes are found so, too, if the rows of whole windows are read at once.
///
/// On a Zen 4, two threads, 29 problems of rows of up to 40 elements of 16 bits take 0.58 of the time by geometric mean, 0.14 to
/// 1.08, and nine of up to 20 in `f32` 0.60. 52 of 24 to 40 in `f32` would take 0.95, up to 1.7 times as long, and four of taller
/// windows 1.3.
const SHORT_OF_LARGE: usize = 80;
pub(super) const SIDE_BY_SIDE: usize = 32;
const LEAST_SIDE_BY_SIDE: usize = 8;

/// Whether the planes of an input are so small that some are read side by side, as if they were the channels of one place:
/// alone, their rows do not fill vectors, and what is set up for a plane takes longer than its elements.
pub(super) fn are_small(pool: &Pool, checked: &Checked) -> bool {
    let Checked { geometry, dtype, lifted, .. } = checked;
    let [_, _, columns] = &geometry.axes;
    let [bytes, row_bytes] = [geometry.input_len(), columns.input()].map(|n| n.saturating_mul(dtype.size()));
    let pays = match pool {
        Pool::Max(_) | Pool::AdaptiveMax(_) => {
            bytes <= SMALL || row_bytes <= SHORT_OF_LARGE && rows_of_windows_fit(geometry, SIDE_BY_SIDE)
        }
        Pool::AdaptiveAvg(_) => bytes <= SMALL_MEAN && are_quicker_together(geometry),
    };
    let are_short = columns.input() <= SHORT[0] && columns.output() <= SHORT[1];
    pays && are_short && geometry.c >= LEAST_SIDE_BY_SIDE && !lifted.is_channels_last()
}

/// Whether the means of a small plane take longer alone than side by side with others.
///
/// On a Zen 5 they take, alone, 45 ns for each depth of outputs, 5 for each row of outputs, and 10 more for every depth that it
/// sees, 16 if rows do not fill a vector; side by side, 0.38 ns for an input and 1.1 for an output. Here the unit is what an
/// input takes. (An input took longer then, as blocks were not turned by vectors.)
fn are_quicker_together(geometry: &Geometry) -> bool {
    let ([n_d, _, n_w], [n_od, n_oh, _]) = (geometry.input(), geometry.output());
    let a_depth = if n_w < 16 { 42 } else { 26 };
    // The input is small, but the output may have any size.
    let (n_rows, n_depths) = (n_od.saturating_mul(n_oh), n_d.max(n_od).saturating_mul(n_oh));
    let alone = [(118, n_od), (13, n_rows), (a_depth, n_depths)];
    let alone = alone.iter().fold(0, |sum: usize, &(each, n)| sum.saturating_add(n.saturating_mul(each)));
    geometry.input_len().saturating_add(geometry.output_len().saturating_mul(3)) < alone
}
