//! The demo's pictures: a slice of the volume, what pooling made of it, and the gradient that flowed back.

use poolgrad::Pool;
use poolgrad_check::reference::Grid;

use super::exhibit::Exhibit;
use super::measure::Measured;
use crate::failure::Failure;
use crate::picture::{Colour, Legend, Panel, diverging, grey, heat, side_by_side};

/// The picture of an operator as a PNG file: three panels of the middle slice of the first channel.
///
/// Panels and their scales:
/// 1. the slice, from its darkest to its brightest half percent;
/// 2. max: the positions that won a maximum, by the number of windows that they won, on the darkened slice;
///    average: the means, on the slice's scale;
/// 3. the gradient, from blue at `-limit` over white at 0 to red at `+limit`. `grad_output` is random in -1..1. For
///    max the limit is 1, so that a position that several windows chose may lie beyond; for averages it is what one
///    window of mean size passes to each of its elements.
pub(super) fn draw(exhibit: &Exhibit, input: &Grid, measured: &Measured) -> Result<Vec<u8>, Failure> {
    let [_, _, depth, height, width] = input.shape;
    let slice = Slice { depth: depth / 2, height, width };
    let values = slice.of(input);
    let range = range(&values);
    let shade = |value: f64| (value - range[0]) / (range[1] - range[0]).max(f64::MIN_POSITIVE);
    let original = Panel {
        caption: vec!["Input".into(), format!("d = {} of {depth}, channel 0", slice.depth)],
        width,
        colours: values.iter().map(|&value| grey(shade(value))).collect(),
        legend: Legend { colour: grey, labels: range_labels(range) },
    };
    let (middle, limit) = if measured.indices.is_empty() {
        let [_, _, d, h, w] = measured.output.shape;
        let pooled = Slice { depth: slice.depth * d / depth, height: h, width: w };
        let colours = pooled.of(&measured.output).iter().map(|&value| grey(shade(value))).collect();
        let panel = Panel {
            caption: vec!["Output".into(), format!("means, d = {} of {d}", pooled.depth)],
            width: w,
            colours: nearest(colours, [h, w], [height, width]),
            legend: Legend { colour: grey, labels: range_labels(range) },
        };
        let n_inputs = (depth * height * width) as f64;
        (Panel { width, ..panel }, (d * h * w) as f64 / n_inputs)
    } else {
        let wins = slice.wins(&measured.indices[..measured.output.plane_len()]);
        let most = wins.iter().copied().max().unwrap_or(0).max(2);
        let colour = |(&n_wins, &value): (&u32, &f64)| -> Colour {
            match n_wins {
                0 => grey(shade(value) * 0.55),
                n_wins => heat(f64::from(n_wins - 1) / f64::from(most - 1)),
            }
        };
        let n_winners = wins.iter().filter(|&&n_wins| n_wins > 0).count();
        let panel = Panel {
            caption: vec!["Where the maxima are".into(), format!("{n_winners} winners, by windows won")],
            width,
            colours: wins.iter().zip(&values).map(colour).collect(),
            legend: Legend { colour: heat, labels: ["1".into(), String::new(), most.to_string()] },
        };
        (panel, 1.0)
    };
    let gradient = slice.of(&measured.grad_input);
    let flowed = Panel {
        caption: vec!["grad_input".into(), "of random grad_output in -1..1".into()],
        width,
        colours: gradient.iter().map(|&value| diverging(value / limit)).collect(),
        legend: Legend {
            colour: |part| diverging(2.0 * part - 1.0),
            labels: [format!("-{}", short(limit)), "0".into(), format!("+{}", short(limit))],
        },
    };
    let [row, _] = &measured.rows;
    let title = format!("{}   {} -> {}   {}", exhibit.name, row.from, row.to, row.dtype);
    side_by_side(&title, &[original, middle, flowed]).png()
}

/// The file that the picture of an operator goes to.
pub(super) fn file_name(exhibit: &Exhibit) -> &'static str {
    match exhibit.pool {
        Pool::AdaptiveAvg(_) => "average.png",
        _ => "max.png",
    }
}

/// One slice of the first plane.
struct Slice {
    depth: usize,
    height: usize,
    width: usize,
}

impl Slice {
    fn of(&self, grid: &Grid) -> Vec<f64> {
        let area = self.height * self.width;
        grid.values[self.depth * area..(self.depth + 1) * area].to_vec()
    }

    /// How many windows each position of the slice won.
    fn wins(&self, indices: &[i64]) -> Vec<u32> {
        let area = self.height * self.width;
        let mut wins = vec![0; area];
        for index in indices.iter().filter_map(|&index| usize::try_from(index).ok()) {
            if index / area == self.depth {
                wins[index % area] += 1;
            }
        }
        wins
    }
}

/// The colours of a small grid on a larger one.
fn nearest(colours: Vec<Colour>, [from_h, from_w]: [usize; 2], [to_h, to_w]: [usize; 2]) -> Vec<Colour> {
    let row = |h: usize| (0..to_w).map(move |w| (h * from_h / to_h) * from_w + w * from_w / to_w);
    (0..to_h).flat_map(row).map(|place| colours[place]).collect()
}

/// The values that all but half a percent at each end lie between.
fn range(values: &[f64]) -> [f64; 2] {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let at = |part: usize| sorted.get(sorted.len() * part / 1000).copied().unwrap_or(0.0);
    [at(5), at(995)]
}

fn range_labels([low, high]: [f64; 2]) -> [String; 3] {
    [short(low), String::new(), short(high)]
}

/// A number of few letters.
fn short(value: f64) -> String {
    match value.abs() {
        magnitude if magnitude >= 10.0 => format!("{value:.0}"),
        magnitude if magnitude >= 1.0 || magnitude == 0.0 => format!("{value:.1}"),
        _ => format!("{value:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Oracle: by hand, on a volume of two slices of two by three.
    #[test]
    fn wins_are_counted_in_the_slice_alone() {
        let slice = Slice { depth: 1, height: 2, width: 3 };
        assert_eq!(slice.wins(&[0, 5, 6, 6, 11, 12, -1]), [2, 0, 0, 0, 0, 1]);
        let grid = Grid { shape: [1, 1, 2, 2, 3], values: (0..12).map(f64::from).collect() };
        assert_eq!(slice.of(&grid), [6.0, 7.0, 8.0, 9.0, 10.0, 11.0]);
    }

    // Oracle: by hand.
    #[test]
    fn small_grids_fill_large_ones() {
        let (a, b) = ([0; 3], [9; 3]);
        assert_eq!(nearest(vec![a, b], [1, 2], [2, 4]), [a, a, b, b, a, a, b, b]);
        assert_eq!(nearest(vec![a, b], [2, 1], [3, 1]), [a, a, b]);
    }

    // Oracle: by hand.
    #[test]
    fn the_range_leaves_out_half_a_percent() {
        let mut values: Vec<f64> = (0..1000).map(f64::from).collect();
        values.extend([f64::NAN, f64::INFINITY]);
        assert_eq!(range(&values), [5.0, 995.0]);
        assert_eq!(range(&[]), [0.0, 0.0]);
    }
}
