//! Gradients of channels that are neighbours in memory, but not all that there are: places are neither next to each other nor whole
//! lines, and what lies between them is the caller's.
//!
//! Oracle: sums by hand, of numbers so small that they are exact.

use poolgrad::{
    AdaptiveMaxPool, Direction, Element, Layout, MaxPool, Operands, Plan, PlanOptions, TensorView, TensorViewMut,
};

type Shape = [i64; 5];

/// Windows that overlap, of channels that fill vectors of any level.
const INPUT: Shape = [2, 41, 5, 7, 9];
const OUTPUT: Shape = [2, 41, 3, 5, 4];

/// All channels that there are, and the first of those that take part.
const CHANNELS: i64 = 60;
const FIRST: usize = 7;

/// The elements between the rows of a tensor.
const GAPS: [i64; 2] = [0, 3];

/// A tensor with all channels, and what lies between its rows.
#[derive(Clone, Copy)]
struct Whole {
    shape: Shape,
    gap: i64,
}

impl Whole {
    fn strides(self) -> Shape {
        let [_, _, d, h, w] = self.shape;
        let row = w * CHANNELS + self.gap;
        [d * h * row, 1, h * row, row, CHANNELS]
    }

    fn len(self) -> usize {
        (self.shape[0] * self.strides()[0]) as usize
    }

    /// The layout of the channels that take part.
    fn layout(self) -> Layout {
        Layout::strided(self.shape, self.strides()).unwrap()
    }

    /// Where the elements of a plane lie.
    fn plane(self, n: i64, c: i64) -> Vec<usize> {
        let ([_, _, depths, h, w], [batch, _, depth, row, column]) = (self.shape, self.strides());
        let at = |i: i64| n * batch + c + i / (h * w) * depth + i / w % h * row + i % w * column;
        (0..depths * h * w).map(|i| at(i) as usize + FIRST).collect()
    }
}

/// What is wanted in memory that held infinities.
fn by_hand([input, output]: [Whole; 2], grad_output: &[f32], indices: &[i64]) -> Vec<f32> {
    let mut grad_input = vec![f32::INFINITY; input.len()];
    for (n, c) in (0..INPUT[0]).flat_map(|n| (0..INPUT[1]).map(move |c| (n, c))) {
        let places = input.plane(n, c);
        places.iter().for_each(|&place| grad_input[place] = 0.0);
        for o in output.plane(n, c) {
            grad_input[places[indices[o] as usize]] += grad_output[o];
        }
    }
    grad_input
}

/// For each output an index into its window; that of the last of the first batch entry, which `far` channel has, points to the
/// first place of all.
fn indices(output: Whole, far: Option<i64>) -> Vec<i64> {
    let windows: [Vec<(i64, i64)>; 3] = [2, 3, 4].map(|axis| {
        let (input, output) = (INPUT[axis], OUTPUT[axis]);
        (0..output).map(|o| (o * input / output, ((o + 1) * input + output - 1) / output)).collect()
    });
    let within = |(start, end): (i64, i64), i: i64| start + i % (end - start);
    let mut indices = vec![-1; output.len()];
    let [_, _, _, h, w] = OUTPUT;
    for (n, c) in (0..OUTPUT[0]).flat_map(|n| (0..OUTPUT[1]).map(move |c| (n, c))) {
        for (o, at) in (0..).zip(output.plane(n, c)) {
            let depth = within(windows[0][(o / (h * w)) as usize], c / 2);
            let row = within(windows[1][(o / w % h) as usize], c / 3 + o);
            indices[at] = (depth * INPUT[3] + row) * INPUT[4] + within(windows[2][(o % w) as usize], c + o);
        }
    }
    if let Some(c) = far {
        indices[*output.plane(0, c).last().unwrap()] = 0;
    }
    indices
}

/// Checks all kernels that accept these indices.
fn check<I: Element>([input, output]: [Whole; 2], values: &[f32], indices: &[I], wanted: &[f32]) {
    let spec = AdaptiveMaxPool::new_3d([OUTPUT[2], OUTPUT[3], OUTPUT[4]]).spec(Direction::Gradient);
    let [layout, output_layout] = [input.layout(), output.layout()];
    let grad_output = TensorView::strided(values, output_layout, FIRST).unwrap();
    let indices = TensorView::strided(indices, output_layout, FIRST).unwrap();
    let mut memory = vec![f32::INFINITY; wanted.len()];
    let operands = Operands::Scatter {
        grad_output: *grad_output.desc(),
        indices: *indices.desc(),
        grad_input: *TensorViewMut::strided(&mut memory, layout, FIRST).unwrap().desc(),
    };
    for (threads, streaming) in [(1, false), (1, true), (3, false), (3, true)] {
        let options = PlanOptions::default().threads(threads).streaming(streaming);
        let kernels = Plan::kernels(&spec, &operands, &options).unwrap();
        assert!(kernels.contains(&"gather:rows"), "{kernels:?}");
        for kernel in kernels {
            let plan = Plan::with_options(&spec, &operands, &options.clone().kernel(kernel)).unwrap();
            memory.fill(f32::INFINITY);
            let grad_input = TensorViewMut::strided(&mut memory, layout, FIRST).unwrap();
            plan.run(Operands::Scatter { grad_output, indices, grad_input }).unwrap();
            assert!(memory == wanted, "{}", plan.explain());
        }
    }
}

fn check_all(far: Option<i64>) {
    for (gap, output_gap) in GAPS.into_iter().flat_map(|gap| GAPS.map(|output_gap| (gap, output_gap))) {
        let (input, output) = (Whole { shape: INPUT, gap }, Whole { shape: OUTPUT, gap: output_gap });
        let indices = indices(output, far);
        let values: Vec<f32> = (0..output.len()).map(|i| (i % 61) as f32 - 20.0).collect();
        let wanted = by_hand([input, output], &values, &indices);
        check([input, output], &values, &indices, &wanted);
        let narrow: Vec<i32> = indices.iter().map(|&index| index as i32).collect();
        check([input, output], &values, &narrow, &wanted);
    }
}

#[test]
fn channels_beside_others_leave_these_alone() {
    check_all(None);
}

#[test]
fn a_single_index_outside_its_window_is_found_in_any_channel() {
    for channel in [0, 15, 16, 40] {
        check_all(Some(channel));
    }
}

#[test]
fn gradients_are_the_same_wherever_lines_begin() {
    let (input, output) = ([1, 64, 5, 9, 8], [1, 64, 3, 5, 4]);
    let strides = |[_, c, d, h, w]: Shape| [c * d * h * w, 1, h * w * c, w * c, c];
    let len = |shape: Shape| shape.iter().product::<i64>() as usize;
    let spec = MaxPool::new_3d([3, 3, 3]).stride([2, 2, 2]).padding([1, 1, 1]).spec(Direction::Gradient);
    // The first place of each window.
    let first = |o: usize| [o / 20, o / 4 % 5, o % 4].map(|at| (2 * at).saturating_sub(1));
    let index = |i: usize| first(i / 64).into_iter().zip([0, 9, 8]).fold(0, |index, (at, size)| index * size + at);
    let values: Vec<f32> = (0..len(output)).map(|i| (i % 61) as f32 - 20.0).collect();
    let indices: Vec<i32> = (0..len(output)).map(|i| index(i) as i32).collect();
    let mut wanted = vec![0.0; len(input)];
    for (i, (value, &index)) in values.iter().zip(&indices).enumerate() {
        wanted[index as usize * 64 + i % 64] += value;
    }
    let layout = |shape| Layout::strided(shape, strides(shape)).unwrap();
    let grad_output = TensorView::strided(&values, layout(output), 0).unwrap();
    let indices = TensorView::strided(&indices, layout(output), 0).unwrap();
    let mut memory = vec![0.0f32; wanted.len() + 32];
    let on_a_line = memory.as_ptr().align_offset(64);
    for offset in [on_a_line, on_a_line + 4, on_a_line + 16, 15 - on_a_line % 16] {
        memory.fill(f32::INFINITY);
        let grad_input = TensorViewMut::strided(&mut memory, layout(input), offset).unwrap();
        let operands = Operands::Scatter {
            grad_output: *grad_output.desc(),
            indices: *indices.desc(),
            grad_input: *grad_input.desc(),
        };
        let plan = Plan::with_options(&spec, &operands, &PlanOptions::default().streaming(true)).unwrap();
        plan.run(Operands::Scatter { grad_output, indices, grad_input }).unwrap();
        assert!(memory[offset..][..wanted.len()] == wanted, "{offset}: {}", plan.explain());
        let beside = memory[..offset].iter().chain(&memory[offset + wanted.len()..]);
        assert!(beside.into_iter().all(|&element| element == f32::INFINITY), "{offset}: {}", plan.explain());
    }
}
