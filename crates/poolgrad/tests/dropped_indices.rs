//! Indices outside the volume, dropped on request. Oracle: the same problem with those gradients left out by hand.

use std::collections::BTreeSet;

use poolgrad::{
    AdaptiveMaxPool, BadIndices, Direction, Error, Layout, Operands, Plan, PlanOptions, TensorView, TensorViewMut,
};

type Shape = [i64; 5];

/// Inputs and outputs of windows that overlap, and of windows that touch, in rows that fill vectors.
const SHAPES: [[Shape; 2]; 2] = [[[2, 3, 6, 7, 8], [2, 3, 3, 2, 4]], [[2, 3, 4, 6, 64], [2, 3, 4, 3, 32]]];

/// The same of channels that fill vectors, and are neighbours: there all processors compare windows that touch.
const CHANNELS: [[Shape; 2]; 2] = [[[2, 21, 6, 7, 8], [2, 21, 3, 2, 4]], [[2, 21, 2, 6, 8], [2, 21, 2, 3, 4]]];

/// The strides of planes one after the other.
fn rows([_, c, d, h, w]: Shape) -> Shape {
    [c * d * h * w, d * h * w, h * w, w, 1]
}

/// Those of channels that are neighbours.
fn channels_last([_, c, d, h, w]: Shape) -> Shape {
    [c * d * h * w, 1, h * w * c, w * c, c]
}

/// Where each element of a tensor lies, by plane and by its offset there.
fn places(shape: Shape, strides: fn(Shape) -> Shape) -> Vec<Vec<usize>> {
    let [n, c, d, h, w] = shape;
    let strides = strides(shape);
    let at = |place: Shape| place.iter().zip(strides).map(|(i, stride)| i * stride).sum::<i64>() as usize;
    let plane =
        |n: i64, c: i64| (0..d * h * w).map(|i| at([n, c, i / (h * w), i / w % h, i % w])).collect::<Vec<usize>>();
    (0..n * c).map(|i| plane(i / c, i % c)).collect()
}

/// Indices of which some lie outside the volume and the others anywhere in it.
fn indices([input, output]: [Shape; 2]) -> Vec<i64> {
    let volume: i64 = input[2..].iter().product();
    let n_outputs: i64 = output.iter().product();
    let bad = [-1, volume, i64::MIN, i64::MAX];
    (0..n_outputs).map(|i| if i % 5 == 3 { bad[(i / 5 % 4) as usize] } else { i * 37 % volume }).collect()
}

fn by_hand(grad_output: &[f32], indices: &[i64], [inputs, outputs]: &[Vec<Vec<usize>>; 2]) -> Vec<f32> {
    let mut grad_input = vec![0.0; inputs.iter().map(Vec::len).sum()];
    for (inputs, outputs) in inputs.iter().zip(outputs) {
        for &output in outputs {
            let index = usize::try_from(indices[output]).unwrap_or(usize::MAX);
            if let Some(&input) = inputs.get(index) {
                grad_input[input] += grad_output[output];
            }
        }
    }
    grad_input
}

#[test]
fn every_kernel_drops_what_it_is_told_to() {
    let mut seen: BTreeSet<_> = SHAPES.into_iter().flat_map(|shape| kernels_that_drop(shape, rows)).collect();
    seen.extend(CHANNELS.into_iter().flat_map(|shape| kernels_that_drop(shape, channels_last)));
    let kernels = ["expand:rows", "gather:rows", "scatter:buckets", "scatter:planes", "scatter:sweep"];
    assert!(seen.iter().eq(&kernels), "{seen:?}");
}

/// Checks every kernel that accepts this shape in these strides; returns which.
fn kernels_that_drop(shape: [Shape; 2], strides: fn(Shape) -> Shape) -> BTreeSet<&'static str> {
    let [input, output] = shape;
    let places = shape.map(|shape| places(shape, strides));
    let indices = indices(shape);
    let values: Vec<f32> = (0..indices.len()).map(|i| (i as f32 * 0.37).sin()).collect();
    let wanted = by_hand(&values, &indices, &places);
    let volume = input[2..].iter().product::<i64>() as usize;
    let is_bad = |&o: &usize| !(0..volume as i64).contains(&indices[places[1][0][o]]);
    let o = (0..places[1][0].len()).find(is_bad).expect("a bad index in the first plane");
    let [h, w] = [output[3] as usize, output[4] as usize];
    let position = [o / (h * w), o / w % h, o % w];
    let value = indices[places[1][0][o]];
    let first = Error::IndexOutOfRange { n: 0, c: 0, position, value, volume };
    let [layout, output_layout] = shape.map(|shape| Layout::strided(shape, strides(shape)).unwrap());
    let grad_output = TensorView::strided(&values, output_layout, 0).unwrap();
    let indices = TensorView::strided(&indices, output_layout, 0).unwrap();
    let spec = AdaptiveMaxPool::new_3d([output[2], output[3], output[4]]).spec(Direction::Gradient);
    let mut memory = vec![f32::NAN; wanted.len()];
    let grad_input = TensorViewMut::strided(&mut memory, layout, 0).unwrap();
    let operands = Operands::Scatter {
        grad_output: *grad_output.desc(),
        indices: *indices.desc(),
        grad_input: *grad_input.desc(),
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
            memory.fill(f32::NAN);
            let grad_input = TensorViewMut::strided(&mut memory, layout, 0).unwrap();
            plan.run(Operands::Scatter { grad_output, indices, grad_input }).unwrap();
            assert_eq!(memory, wanted, "{}", plan.explain());

            let plan = Plan::with_options(&spec, &operands, &options).unwrap();
            let grad_input = TensorViewMut::strided(&mut memory, layout, 0).unwrap();
            let refused = plan.run(Operands::Scatter { grad_output, indices, grad_input });
            assert_eq!(refused, Err(first.clone()), "{}", plan.explain());
        }
    }
    seen
}
