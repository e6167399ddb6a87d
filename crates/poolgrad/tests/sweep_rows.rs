//! Gradients that are swept row by row, whose indices point to slices that are held, but to rows that are not.
//!
//! Oracle: sums by hand, of numbers so small that they are exact.

use poolgrad::{Direction, MaxPool, Operands, Plan, PlanOptions, Tensor};

const INPUT: [i64; 5] = [2, 3, 7, 40, 50];
const OUTPUT: [i64; 5] = [2, 3, 4, 20, 25];

/// For the output at each place, where its gradient goes.
fn indices(row: impl Fn(i64) -> i64) -> Vec<i64> {
    let [n, c, d, h, w] = OUTPUT;
    let places =
        (0..n * c).flat_map(|_| (0..d).flat_map(|d| (0..h).flat_map(move |h| (0..w).map(move |w| (d, h, w)))));
    places.map(|(d, h, w)| (2 * d * INPUT[3] + row(h)) * INPUT[4] + w * 3 % INPUT[4]).collect()
}

fn by_hand(grad_output: &[f32], indices: &[i64]) -> Vec<f32> {
    let len = |sizes: [i64; 5]| sizes[2..].iter().product::<i64>() as usize;
    let mut grad_input = vec![0.0; 6 * len(INPUT)];
    for (i, (gradient, &index)) in grad_output.iter().zip(indices).enumerate() {
        grad_input[i / len(OUTPUT) * len(INPUT) + index as usize] += gradient;
    }
    grad_input
}

#[test]
fn rows_that_are_not_held_are_found_by_other_means() {
    // The row of each window, the first and the last of all, and any.
    let rows: [fn(i64) -> i64; 4] = [|h| 2 * h, |_| 0, |_| INPUT[3] - 1, |h| h * 7 % INPUT[3]];
    for row in rows {
        let indices = indices(row);
        let values: Vec<f32> = (0..indices.len()).map(|i| (i % 61) as f32 - 20.0).collect();
        let wanted = by_hand(&values, &indices);
        let grad_output = Tensor::from_vec(values, OUTPUT).unwrap();
        let indices = Tensor::from_vec(indices, OUTPUT).unwrap();
        let mut grad_input = Tensor::from_vec(vec![f32::NAN; wanted.len()], INPUT).unwrap();
        let spec = MaxPool::new_3d([3, 3, 3]).stride([2, 2, 2]).padding([1, 1, 1]).spec(Direction::Gradient);
        let operands = Operands::Scatter {
            grad_output: *grad_output.view().desc(),
            indices: *indices.view().desc(),
            grad_input: *grad_input.view().desc(),
        };
        for threads in [1, 3] {
            let options = PlanOptions::default().threads(threads).streaming(true).kernel("scatter:sweep");
            let plan = Plan::with_options(&spec, &operands, &options).unwrap();
            grad_input.as_mut_slice::<f32>().unwrap().fill(f32::NAN);
            let (grad_output, indices) = (grad_output.view(), indices.view());
            plan.run(Operands::Scatter { grad_output, indices, grad_input: grad_input.view_mut() }).unwrap();
            assert!(grad_input.as_slice::<f32>() == Some(&wanted[..]), "{}", plan.explain());
        }
    }
}
