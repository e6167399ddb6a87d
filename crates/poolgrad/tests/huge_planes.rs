//! Planes of more places than 32 bits number, of which a broadcast makes three elements enough. Oracle: maxima by hand.

use poolgrad::{DType, Direction, Layout, MaxPool, Operands, Plan, Tensor, TensorDesc, TensorView};

const SIZES: [i64; 3] = [3, 65_536, 32_768];
const STRIDE: [i64; 3] = [1, 40_000, 20_000];

/// Pools an input of `c` channels that has `values[d * c + channel]` at all places of depth `d`, by four windows of 3x2x2
/// elements that are far apart.
fn pooled(values: &[f32], c: i64) -> (Vec<f32>, Vec<i64>) {
    let layout = Layout::strided([1, c, SIZES[0], SIZES[1], SIZES[2]], [0, 1, c, 0, 0]).unwrap();
    let input = TensorView::strided(values, layout, 0).unwrap();
    let mut output = Tensor::zeros(DType::F32, [1, c, 1, 2, 2]).unwrap();
    let mut indices = Tensor::zeros(DType::I64, [1, c, 1, 2, 2]).unwrap();
    let spec = MaxPool::new_3d([3, 2, 2]).stride(STRIDE).spec(Direction::Forward);
    let descs = Operands::PoolWithIndices {
        input: TensorDesc { dtype: DType::F32, layout },
        output: *output.view().desc(),
        indices: *indices.view().desc(),
    };
    let tensors = Operands::PoolWithIndices { input, output: output.view_mut(), indices: indices.view_mut() };
    Plan::new(&spec, &descs).unwrap().run(tensors).unwrap();
    (output.as_slice().unwrap().to_vec(), indices.as_slice().unwrap().to_vec())
}

/// The indices of an element of each window: its depth, and its row and column in the window.
fn indices([d, h, w]: [i64; 3]) -> [i64; 4] {
    let index = |oh: i64, ow: i64| (d * SIZES[1] + oh * STRIDE[1] + h) * SIZES[2] + ow * STRIDE[2] + w;
    [index(0, 0), index(0, 1), index(1, 0), index(1, 1)]
}

#[test]
fn a_maximum_is_the_first_of_its_window() {
    assert_eq!(pooled(&[1.0, 2.0, 3.0], 1), (vec![3.0; 4], indices([2, 0, 0]).to_vec()));
    assert_eq!(pooled(&[1.0, 4.0, 3.0], 1), (vec![4.0; 4], indices([1, 0, 0]).to_vec()));
}

#[test]
fn a_nan_is_the_last_of_its_window() {
    let (output, at) = pooled(&[f32::NAN, 5.0, f32::NAN], 1);
    assert!(output.iter().all(|value| value.is_nan()));
    assert_eq!(at, indices([2, 1, 1]));
}

#[test]
fn channels_have_their_own_maxima() {
    let (output, at) = pooled(&[1.0, 9.0, 2.0, 8.0, 3.0, 7.0], 2);
    assert_eq!(output, [[3.0; 4], [9.0; 4]].concat());
    assert_eq!(at, [indices([2, 0, 0]), indices([0, 0, 0])].concat());
}
