//! Indices outside the volume, dropped on request. Oracle: the same problem with those gradients left out by hand.

use std::collections::BTreeSet;

use poolgrad::{AdaptiveMaxPool, BadIndices, Direction, Error, Operands, Plan, PlanOptions, Tensor};

/// Inputs and outputs of windows that overlap, and of windows that touch, in rows that fill vectors.
const SHAPES: [[[i64; 5]; 2]; 2] = [[[2, 3, 6, 7, 8], [2, 3, 3, 2, 4]], [[2, 3, 4, 6, 64], [2, 3, 4, 3, 32]]];

/// Indices of which some lie outside the volume and the others anywhere in it.
fn indices([input, output]: [[i64; 5]; 2]) -> Vec<i64> {
    let volume: i64 = input[2..].iter().product();
    let n_outputs: i64 = output.iter().product();
    let bad = [-1, volume, i64::MIN, i64::MAX];
    (0..n_outputs).map(|i| if i % 5 == 3 { bad[(i / 5 % 4) as usize] } else { i * 37 % volume }).collect()
}

fn by_hand(grad_output: &[f32], indices: &[i64], [input, output]: [[i64; 5]; 2]) -> Vec<f32> {
    let volume = input[2..].iter().product::<i64>() as usize;
    let per_plane = output[2..].iter().product::<i64>() as usize;
    let mut grad_input = vec![0.0; volume * 6];
    for (i, (gradient, &index)) in grad_output.iter().zip(indices).enumerate() {
        if (0..volume as i64).contains(&index) {
            grad_input[i / per_plane * volume + index as usize] += gradient;
        }
    }
    grad_input
}

#[test]
fn every_kernel_drops_what_it_is_told_to() {
    let seen: BTreeSet<_> = SHAPES.into_iter().flat_map(kernels_that_drop).collect();
    let kernels = ["expand:rows", "scatter:buckets", "scatter:planes", "scatter:sweep"];
    assert!(seen.iter().eq(&kernels), "{seen:?}");
}

/// Checks every kernel that accepts this shape; returns which.
fn kernels_that_drop(shape: [[i64; 5]; 2]) -> BTreeSet<&'static str> {
    let [input, output] = shape;
    let indices = indices(shape);
    let values: Vec<f32> = (0..indices.len()).map(|i| (i as f32 * 0.37).sin()).collect();
    let wanted = by_hand(&values, &indices, shape);
    let grad_output = Tensor::from_vec(values, output).unwrap();
    let indices = Tensor::from_vec(indices, output).unwrap();
    let mut grad_input = Tensor::from_vec(vec![f32::NAN; wanted.len()], input).unwrap();
    let spec = AdaptiveMaxPool::new_3d([output[2], output[3], output[4]]).spec(Direction::Gradient);
    let operands = Operands::Scatter {
        grad_output: *grad_output.view().desc(),
        indices: *indices.view().desc(),
        grad_input: *grad_input.view().desc(),
    };
    let mut seen = BTreeSet::new();
    for (threads, tile_elements, streaming) in
        [(1, 10_000, false), (1, 50, true), (3, 10_000, false), (3, 150, true)]
    {
        let options = PlanOptions::default().threads(threads).tile_elements(tile_elements).streaming(streaming);
        for kernel in Plan::kernels(&spec, &operands, &options).unwrap() {
            seen.insert(kernel);
            let options = options.clone().kernel(kernel);
            let plan =
                Plan::with_options(&spec, &operands, &options.clone().bad_indices(BadIndices::Drop)).unwrap();
            grad_input.as_mut_slice::<f32>().unwrap().fill(f32::NAN);
            let (grad_output, indices) = (grad_output.view(), indices.view());
            plan.run(Operands::Scatter { grad_output, indices, grad_input: grad_input.view_mut() }).unwrap();
            assert_eq!(grad_input.as_slice::<f32>(), Some(&wanted[..]), "{}", plan.explain());

            let plan = Plan::with_options(&spec, &operands, &options).unwrap();
            let refused = plan.run(Operands::Scatter { grad_output, indices, grad_input: grad_input.view_mut() });
            let volume = input[2..].iter().product::<i64>() as usize;
            let first = Error::IndexOutOfRange { n: 0, c: 0, position: [0, 0, 3], value: -1, volume };
            assert_eq!(refused, Err(first), "{}", plan.explain());
        }
    }
    seen
}
