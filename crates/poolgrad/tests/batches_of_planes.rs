//! Gradients of small planes that are written past the cache some at a time, wherever the output begins: few of these batches end
//! with a cache line, and what lies before and behind the output is the caller's.
//!
//! Oracle: sums by hand, of numbers so small that they are exact in every type.

use poolgrad::{
    AdaptiveMaxPool, Direction, Element, Isa, MaxPool, Operands, Plan, PlanOptions, Spec, TensorView, TensorViewMut,
};

/// The planes, and the sizes of each and of its outputs.
struct Case {
    planes: usize,
    input: [usize; 2],
    output: [usize; 2],
    windows: Windows,
}

#[derive(Clone, Copy)]
enum Windows {
    Adaptive,
    /// So long, and so far apart.
    Even(usize, usize),
}

const CASES: [Case; 6] = [
    // Some to a batch, two and one.
    Case { planes: 300, input: [13, 13], output: [6, 6], windows: Windows::Adaptive },
    Case { planes: 40, input: [27, 27], output: [13, 13], windows: Windows::Even(3, 2) },
    Case { planes: 12, input: [43, 41], output: [21, 20], windows: Windows::Even(3, 2) },
    // Most sums are zero, and most others have one term, or several.
    Case { planes: 150, input: [31, 33], output: [2, 2], windows: Windows::Adaptive },
    Case { planes: 150, input: [31, 31], output: [5, 5], windows: Windows::Even(11, 5) },
    // So many outputs that each batch is a plane, and so few sums that many of them fill a line.
    Case { planes: 200, input: [1, 3], output: [1, 1700], windows: Windows::Adaptive },
];

/// The elements before and behind the output, at least as many as fill a line.
const AROUND: usize = 64;

impl Case {
    /// For each output an index into its window.
    fn indices(&self) -> Vec<i64> {
        let windows: [Vec<(usize, usize)>; 2] = [0, 1].map(|axis| {
            let (input, output) = (self.input[axis], self.output[axis]);
            let window = |o: usize| match self.windows {
                Windows::Adaptive => (o * input / output, ((o + 1) * input).div_ceil(output)),
                Windows::Even(kernel, stride) => (o * stride, o * stride + kernel),
            };
            (0..output).map(window).collect()
        });
        let within = |(start, end): (usize, usize), i: usize| start + i % (end - start);
        let [h, w] = self.output;
        (0..self.planes * h * w)
            .map(|i| {
                let row = within(windows[0][i / w % h], i * 7 / 5);
                (row * self.input[1] + within(windows[1][i % w], i * 5 / 3)) as i64
            })
            .collect()
    }

    fn spec(&self) -> Spec {
        let even = |size: usize| [size as i64; 2];
        match self.windows {
            Windows::Adaptive => {
                AdaptiveMaxPool::new_2d(self.output.map(|size| size as i64)).spec(Direction::Gradient)
            }
            Windows::Even(kernel, stride) => {
                MaxPool::new_2d(even(kernel)).stride(even(stride)).spec(Direction::Gradient)
            }
        }
    }

    fn by_hand(&self, values: &[f32], indices: &[i64]) -> Vec<f32> {
        let [n_sums, n_outputs] = [self.input, self.output].map(|sizes| sizes.iter().product::<usize>());
        let mut sums = vec![0.0; self.planes * n_sums];
        for (i, (value, &index)) in values.iter().zip(indices).enumerate() {
            sums[i / n_outputs * n_sums + index as usize] += value;
        }
        sums
    }

    fn check<T: Element + PartialEq>(&self, of: impl Fn(f32) -> T) {
        let spec = self.spec();
        let shape = |[h, w]: [usize; 2]| [self.planes, h, w].map(|size| size as i64);
        let indices = self.indices();
        let values: Vec<f32> = (0..indices.len()).map(|i| (i % 7) as f32 - 3.0).collect();
        let untouched = of(f32::INFINITY);
        let sums: Vec<T> = self.by_hand(&values, &indices).into_iter().map(&of).collect();
        let values: Vec<T> = values.into_iter().map(&of).collect();
        let grad_output = TensorView::new(&values, shape(self.output)).unwrap();
        let indices = TensorView::new(&indices, shape(self.output)).unwrap();
        for (first, threads) in [0, 1, 5, 31].into_iter().flat_map(|first| [(first, 1), (first, 3)]) {
            let mut memory = vec![untouched; AROUND + first + sums.len() + AROUND];
            let part = AROUND + first..AROUND + first + sums.len();
            for isa in Isa::available() {
                memory.fill(untouched);
                let grad_input = TensorViewMut::new(&mut memory[part.clone()], shape(self.input)).unwrap();
                let operands = Operands::Scatter {
                    grad_output: *grad_output.desc(),
                    indices: *indices.desc(),
                    grad_input: *grad_input.desc(),
                };
                let options =
                    PlanOptions::default().threads(threads).streaming(true).isa(isa).kernel("scatter:planes");
                let plan = Plan::with_options(&spec, &operands, &options).unwrap();
                plan.run(Operands::Scatter { grad_output, indices, grad_input }).unwrap();
                assert!(memory[part.clone()] == sums[..], "{first}: {}", plan.explain());
                let around = memory[..part.start].iter().chain(&memory[part.end..]);
                assert!(around.into_iter().all(|value| *value == untouched), "{first}: {}", plan.explain());
            }
        }
    }
}

#[test]
fn batches_that_end_within_a_line_are_continued_by_the_next() {
    for case in CASES {
        case.check(|value| value);
        case.check(f64::from);
        case.check(half::f16::from_f32);
        case.check(half::bf16::from_f32);
    }
}
