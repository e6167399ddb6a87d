//! Gradients that are swept row by row or line by line: wherever the output begins, and with indices that point to slices that are
//! held, but to rows that are not.
//!
//! Oracle: sums by hand, of numbers so small that they are exact.

mod around;

use poolgrad::{Direction, Element, Layout, MaxPool, Operands, Plan, PlanOptions, TensorView, TensorViewMut};

const INPUT: [i64; 5] = [2, 3, 7, 40, 50];
const OUTPUT: [i64; 5] = [2, 3, 4, 20, 25];

/// For the output at each place, where its gradient goes.
fn indices(row: impl Fn(i64) -> i64) -> Vec<i64> {
    let [n, c, d, h, w] = OUTPUT;
    let places =
        (0..n * c).flat_map(|_| (0..d).flat_map(|d| (0..h).flat_map(move |h| (0..w).map(move |w| (d, h, w)))));
    places.map(|(d, h, w)| (2 * d * INPUT[3] + row(h)) * INPUT[4] + w * 3 % INPUT[4]).collect()
}

/// Of planes with so many inputs and outputs.
fn by_hand(grad_output: &[f32], indices: &[i64], [inputs, outputs]: [usize; 2]) -> Vec<f32> {
    let mut grad_input = vec![0.0; grad_output.len() / outputs * inputs];
    for (i, (gradient, &index)) in grad_output.iter().zip(indices).enumerate() {
        grad_input[i / outputs * inputs + index as usize] += gradient;
    }
    grad_input
}

/// The strides of channels that are neighbours.
fn channels_last([_, c, d, h, w]: [i64; 5]) -> [i64; 5] {
    [c * d * h * w, 1, h * w * c, w * c, c]
}

/// Those of planes.
fn channels_first([_, c, d, h, w]: [i64; 5]) -> [i64; 5] {
    [c * d * h * w, d * h * w, h * w, w, 1]
}

/// Elements in row-major order, put where these strides want them.
fn arranged<T: Copy + Default>(elements: &[T], sizes: [i64; 5], strides: [i64; 5]) -> Vec<T> {
    let mut memory = vec![T::default(); elements.len()];
    for (i, &element) in elements.iter().enumerate() {
        let mut rest = i as i64;
        let mut at = 0;
        for axis in (0..5).rev() {
            at += rest % sizes[axis] * strides[axis];
            rest /= sizes[axis];
        }
        memory[at as usize] = element;
    }
    memory
}

#[test]
fn rows_that_are_not_held_are_found_by_other_means() {
    // The row of each window, the first and the last of all, and any.
    let rows: [fn(i64) -> i64; 4] = [|h| 2 * h, |_| 0, |_| INPUT[3] - 1, |h| h * 7 % INPUT[3]];
    let spec = MaxPool::new_3d([3, 3, 3]).stride([2, 2, 2]).padding([1, 1, 1]).spec(Direction::Gradient);
    let layouts: [fn([i64; 5]) -> [i64; 5]; 2] = [channels_first, channels_last];
    for (row, strides_of) in rows.into_iter().flat_map(|row| layouts.map(|strides_of| (row, strides_of))) {
        let (strides, output_strides) = (strides_of(INPUT), strides_of(OUTPUT));
        let layout = Layout::strided(OUTPUT, output_strides).unwrap();
        let indices = indices(row);
        let values: Vec<f32> = (0..indices.len()).map(|i| (i % 61) as f32 - 20.0).collect();
        let lens = [INPUT, OUTPUT].map(|sizes| sizes[2..].iter().product::<i64>() as usize);
        let wanted = arranged(&by_hand(&values, &indices, lens), INPUT, strides);
        let values = arranged(&values, OUTPUT, output_strides);
        let indices = arranged(&indices, OUTPUT, output_strides);
        let grad_output = TensorView::strided(&values, layout, 0).unwrap();
        let indices = TensorView::strided(&indices, layout, 0).unwrap();
        for threads in [1, 3] {
            let mut memory = vec![f32::NAN; wanted.len()];
            let layout = Layout::strided(INPUT, strides).unwrap();
            let grad_input = TensorViewMut::strided(&mut memory, layout, 0).unwrap();
            let operands = Operands::Scatter {
                grad_output: *grad_output.desc(),
                indices: *indices.desc(),
                grad_input: *grad_input.desc(),
            };
            let options = PlanOptions::default().threads(threads).streaming(true).kernel("scatter:sweep");
            let plan = Plan::with_options(&spec, &operands, &options).unwrap();
            plan.run(Operands::Scatter { grad_output, indices, grad_input }).unwrap();
            assert!(memory == wanted, "{strides:?}: {}", plan.explain());
        }
    }
}

/// Planes whose slices are whole lines, no lines, lines of eight bytes for a sum only, and lines of rows that leave one by one. Where the
/// windows are not padded, some lie behind the last one.
const PLANES: [[i64; 3]; 4] = [[7, 40, 50], [6, 33, 50], [8, 17, 72], [6, 8, 130]];

/// Of three planes, for each output where its gradient goes: any place of its window.
fn within(input: [i64; 3], output: [i64; 3], padding: i64) -> Vec<i64> {
    let place = |axis: usize, o: i64, turn: i64| (2 * o - padding + turn % 3).clamp(0, input[axis] - 1);
    let places = (0..3 * output.iter().product::<i64>()).map(|i| {
        let o = [i / output[2] / output[1] % output[0], i / output[2] % output[1], i % output[2]];
        let turn = i * 7 + i / 5;
        (place(0, o[0], turn) * input[1] + place(1, o[1], turn / 3)) * input[2] + place(2, o[2], turn / 9)
    });
    places.collect()
}

/// One of these planes, with elements of a type.
fn check_rows<T: Element + PartialEq>(input: [i64; 3], padding: i64, of: impl Fn(f32) -> T) {
    let output = input.map(|size| (size + 2 * padding - 3) / 2 + 1);
    let spec = MaxPool::new_3d([3; 3]).stride([2; 3]).padding([padding; 3]).spec(Direction::Gradient);
    let indices = within(input, output, padding);
    let values: Vec<f32> = (0..indices.len()).map(|i| (i % 7) as f32 - 3.0).collect();
    let lens = [input, output].map(|sizes| sizes.iter().product::<i64>() as usize);
    let sums = by_hand(&values, &indices, lens);
    let [values, sums] = [values, sums].map(|row| row.into_iter().map(&of).collect::<Vec<T>>());
    let layout = |[d, h, w]: [i64; 3]| Layout::contiguous([1, 3, d, h, w]).unwrap();
    let grad_output = TensorView::strided(&values, layout(output), 0).unwrap();
    let indices = TensorView::strided(&indices, layout(output), 0).unwrap();
    let options = PlanOptions::default().kernel("scatter:sweep");
    around::check(&spec, (grad_output, indices), (layout(input), &sums), (&options, of(f32::INFINITY)));
}

#[test]
fn rows_leave_wherever_the_output_begins() {
    for (input, padding) in PLANES.into_iter().flat_map(|input| [(input, 0), (input, 1)]) {
        check_rows(input, padding, |value| value);
        check_rows(input, padding, f64::from);
        check_rows(input, padding, half::f16::from_f32);
        check_rows(input, padding, half::bf16::from_f32);
    }
}
