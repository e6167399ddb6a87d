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
    let pays = match pool {
        Pool::Max(_) | Pool::AdaptiveMax(_) => pays_for_maxima(geometry, dtype.size()),
        Pool::AdaptiveAvg(_) => pays_for_means(geometry, dtype.size()),
    };
    pays && geometry.c >= LEAST_SIDE_BY_SIDE && !lifted.is_channels_last()
}

fn are_short(geometry: &Geometry) -> bool {
    let [_, _, columns] = &geometry.axes;
    columns.input() <= SHORT[0] && columns.output() <= SHORT[1]
}

fn pays_for_maxima(geometry: &Geometry, element: usize) -> bool {
    let [_, _, n_w] = geometry.input();
    let [plane, row] = [geometry.input_len(), n_w].map(|n| n.saturating_mul(element));
    let pays = plane <= SMALL || (row <= SHORT_OF_LARGE && rows_of_windows_fit(geometry, SIDE_BY_SIDE));
    pays && are_short(geometry)
}

fn pays_for_means(geometry: &Geometry, element: usize) -> bool {
    let plane = geometry.input_len().saturating_mul(element);
    // Whole planes are worked on some at a time anyway.
    geometry.output_len() > 1 && plane <= SMALL_MEAN && are_short(geometry) && are_quicker_together(geometry)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::AxisWindows;

    fn adaptive(input: [usize; 3], output: [usize; 3]) -> Geometry {
        Geometry { n: 1, c: 64, axes: std::array::from_fn(|i| AxisWindows::adaptive(input[i], output[i])) }
    }

    #[test]
    fn maxima_of_small_planes_and_of_short_rows_are_found_side_by_side() {
        let cases = [
            ("a small plane", [1, 40, 40], [1, 7, 7], 4, true),
            ("the largest of the small ones", [8, 32, 32], [8, 7, 7], 4, true),
            ("one more depth", [9, 32, 32], [9, 7, 7], 4, false),
            ("with shorter rows", [16, 32, 20], [16, 7, 7], 4, true),
            ("with rows one longer", [16, 32, 21], [16, 7, 7], 4, false),
            ("of half as many bytes", [18, 32, 32], [18, 7, 7], 2, true),
            ("windows as tall as fit", [64, 24, 32], [64, 1, 7], 2, true),
            ("one row taller", [64, 25, 32], [64, 1, 7], 2, false),
            ("a row too long", [1, 8, 41], [1, 8, 7], 2, false),
            ("too many outputs", [1, 8, 40], [1, 8, 29], 2, false),
        ];
        for (name, input, output, element, pays) in cases {
            assert_eq!(pays_for_maxima(&adaptive(input, output), element), pays, "{name}");
        }
    }

    #[test]
    fn means_of_few_elements_are_formed_side_by_side() {
        let cases = [
            ("few elements", [1, 7, 7], [1, 1, 2], true),
            ("a whole plane", [1, 7, 7], [1, 1, 1], false),
            ("more than one alone takes", [1, 30, 30], [1, 1, 2], false),
            ("few for each of many outputs", [1, 60, 12], [1, 30, 1], true),
            ("the same in a larger plane", [1, 100, 12], [1, 50, 1], false),
            ("as many outputs as still pay", [1, 60, 12], [1, 30, 11], true),
            ("more outputs", [1, 60, 12], [1, 30, 12], false),
        ];
        for (name, input, output, pays) in cases {
            assert_eq!(pays_for_means(&adaptive(input, output), 4), pays, "{name}");
        }
    }
}
