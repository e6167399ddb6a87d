//! Gradients of windows that touch, written past the cache: as whole lines from registers where rows, or channels, are such lines,
//! and otherwise by other means, wherever the output begins. What lies before and behind it is the caller's.
//!
//! Oracle: by hand, of numbers so small that they are exact in every type.

mod around;

use poolgrad::{Direction, Element, Layout, MaxPool, PlanOptions, TensorView};

/// Planes, depths, rows and columns; the last row is in no window.
const SIZES: [[i64; 4]; 4] = [
    [32, 6, 5, 64],
    // Rows that are no whole lines, columns that are in no window, and rows that are expanded in parts.
    [32, 4, 5, 72],
    [32, 4, 5, 65],
    [3, 2, 3, 4096],
];

/// Where an index points.
#[derive(Clone, Copy, PartialEq)]
enum Far {
    Never,
    /// The last of a plane, and only there, to the first place of the volume.
    Last,
}

struct Case {
    c: i64,
    input: [i64; 3],
    is_channels_last: bool,
}

impl Case {
    fn output(&self) -> [i64; 3] {
        self.input.map(|size| size / 2)
    }

    fn layout(&self, [d, h, w]: [i64; 3]) -> Layout {
        let c = self.c;
        let strides = if self.is_channels_last {
            [c * d * h * w, 1, h * w * c, w * c, c]
        } else {
            [c * d * h * w, d * h * w, h * w, w, 1]
        };
        Layout::strided([1, c, d, h, w], strides).unwrap()
    }

    /// Where element `i` of a channel is in memory.
    fn at(&self, (c, i): (i64, i64), sizes: [i64; 3]) -> usize {
        let len: i64 = sizes.iter().product();
        (if self.is_channels_last { i * self.c + c } else { c * len + i }) as usize
    }

    /// The gradients, the indices and what becomes of them, each as it lies in memory.
    fn contents(&self, far: Far) -> (Vec<f32>, Vec<i64>, Vec<f32>) {
        let ([_, n_h, n_w], [o_d, o_h, o_w]) = (self.input, self.output());
        let n = o_d * o_h * o_w;
        let (mut values, mut indices) = (vec![0.0; (self.c * n) as usize], vec![0; (self.c * n) as usize]);
        let mut sums = vec![0.0; (self.c * self.input.iter().product::<i64>()) as usize];
        for (c, o) in (0..self.c).flat_map(|c| (0..n).map(move |o| (c, o))) {
            let (d, h, w) = (o / (o_h * o_w), o / o_w % o_h, o % o_w);
            let of_window = (c + o * 7 + o / 3) % 8;
            let near = ((2 * d + of_window / 4) * n_h + 2 * h + of_window / 2 % 2) * n_w + 2 * w + of_window % 2;
            let index = if far == Far::Last && o == n - 1 { 0 } else { near };
            let (from, value) = (self.at((c, o), self.output()), ((c + o) % 7 - 3) as f32);
            values[from] = value;
            indices[from] = index;
            sums[self.at((c, index), self.input)] += value;
        }
        (values, indices, sums)
    }

    fn check<T: Element + PartialEq>(&self, far: Far, of: impl Fn(f32) -> T) {
        let spec = MaxPool::new_3d([2; 3]).stride([2; 3]).spec(Direction::Gradient);
        let (values, indices, sums) = self.contents(far);
        let [values, sums] = [values, sums].map(|row| row.into_iter().map(&of).collect::<Vec<T>>());
        let outputs = self.layout(self.output());
        let grad_output = TensorView::strided(&values, outputs, 0).unwrap();
        let indices = TensorView::strided(&indices, outputs, 0).unwrap();
        let wanted = (self.layout(self.input), &sums[..]);
        around::check(&spec, (grad_output, indices), wanted, (&PlanOptions::default(), of(f32::INFINITY)));
    }
}

#[test]
fn cells_leave_as_lines_or_by_other_means() {
    for ([c, input @ ..], is_channels_last) in SIZES.into_iter().flat_map(|sizes| [(sizes, false), (sizes, true)]) {
        for far in [Far::Never, Far::Last] {
            let case = Case { c, input, is_channels_last };
            case.check(far, |value| value);
            case.check(far, f64::from);
            case.check(far, half::f16::from_f32);
            case.check(far, half::bf16::from_f32);
        }
    }
}
