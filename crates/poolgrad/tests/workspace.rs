//! A thread needs no more than a mebibyte beside the tensors. Oracle: that number.
//!
//! A plan looks at descriptions only, so that these may be of tensors that nobody has.

use poolgrad::{
    AdaptiveAvgPool, AdaptiveMaxPool, DType, Direction, Layout, MaxPool, Operands, Plan, PlanOptions, Spec,
    TensorDesc,
};

const MOST: usize = 1 << 20;

/// The outputs of a plane for each thread beyond which a list of them takes more, where indices may point far from their windows:
/// half a byte for each.
const MANY: usize = 896 << 10;

/// A tensor of groups of `channels` channels, which are neighbours in memory if they are several.
fn tensor(dtype: DType, [n, channels]: [i64; 2], [d, h, w]: [i64; 3]) -> TensorDesc {
    let volume = d * h * w;
    let strides = match channels {
        1 => [volume, volume, h * w, w, 1],
        _ => [volume * channels, 1, h * w * channels, w * channels, channels],
    };
    TensorDesc { dtype, layout: Layout::strided([n, channels, d, h, w], strides).unwrap() }
}

/// The outputs of an axis that are tried.
fn outputs_of(side: i64) -> impl Iterator<Item = i64> + Clone {
    [0, 1, 13, 30, 50, 93, 100, 320].into_iter().map(move |hundredths| (side * hundredths / 100).max(1))
}

#[test]
fn averages_of_deep_high_and_wide_planes_need_no_more_than_a_mebibyte_for_a_thread() {
    let sides = [1, 7, 57, 600, 4096, 9001, 30_000, 655_360];
    let planes = sides.into_iter().flat_map(|h| sides.into_iter().map(move |w| (h, w)));
    let inputs = planes.flat_map(|(h, w)| [1, 30, 16_000].map(|d| [d, h, w]));
    let mut most = 0;
    for input in inputs.filter(|input| input.iter().product::<i64>() <= 1 << 26) {
        let [d, h, w] = input.map(outputs_of);
        let rows = d.flat_map(|d| h.clone().map(move |h| (d, h)));
        let outputs = rows.flat_map(|(d, h)| w.clone().map(move |w| [d, h, w]));
        for output in outputs {
            for (dtype, channels) in [(DType::F64, 1), (DType::F32, 1), (DType::BF16, 1), (DType::F32, 200)] {
                let spec = AdaptiveAvgPool::new_3d(output).spec(Direction::Gradient);
                let operands = Operands::Spread {
                    grad_output: tensor(dtype, [1, channels], output),
                    grad_input: tensor(dtype, [1, channels], input),
                };
                let plan = Plan::with_options(&spec, &operands, &PlanOptions::default().threads(2)).unwrap();
                let of_a_thread = plan.workspace_bytes() / plan.explain().threads;
                assert!(of_a_thread <= MOST, "{input:?} to {output:?}, {channels} channels: {}", plan.explain());
                most = most.max(of_a_thread);
            }
        }
    }
    assert!(most > MOST / 2, "{most}: no problem came near");
}

#[test]
fn maxima_of_deep_high_and_wide_planes_need_no_more_than_a_mebibyte_for_a_thread() {
    let sides = [1, 7, 57, 600, 4096, 30_000];
    let planes = sides.into_iter().flat_map(|h| sides.into_iter().map(move |w| (h, w)));
    let inputs = planes.flat_map(|(h, w)| [1, 17, 300].map(|d| [d, h, w]));
    let mut most = 0;
    for input in inputs.filter(|input| input.iter().product::<i64>() <= 1 << 24) {
        let pools = pools(input);
        let dtypes = [DType::F64, DType::F32, DType::BF16];
        for (dtype, channels) in dtypes.into_iter().flat_map(|dtype| [1, 64, 200].map(|c| (dtype, c))) {
            for (spec, output) in &pools {
                for index in [DType::I32, DType::I64] {
                    let operands = Operands::Scatter {
                        grad_output: tensor(dtype, [2, channels], *output),
                        indices: tensor(index, [2, channels], *output),
                        grad_input: tensor(dtype, [2, channels], input),
                    };
                    for options in options() {
                        let plan = Plan::with_options(spec, &operands, &options).unwrap();
                        let of_a_thread = plan.workspace_bytes() / plan.explain().threads;
                        let listed = output.iter().product::<i64>() as usize / plan.explain().threads;
                        let may_take = if listed > MANY { MOST + listed / 2 } else { MOST };
                        assert!(
                            of_a_thread <= may_take,
                            "{input:?} to {output:?}, {channels} channels: {}",
                            plan.explain()
                        );
                        most = most.max(if listed > MANY { 0 } else { of_a_thread });
                    }
                }
            }
        }
    }
    assert!(most > MOST / 2, "{most}: no problem came near");
}

/// What plans depend on that differs from machine to machine.
fn options() -> impl Iterator<Item = PlanOptions> {
    let of = |threads| PlanOptions::default().threads(threads);
    [of(1), of(2), of(2).streaming(true), of(2).streaming(false), of(7)].into_iter()
}

/// Poolings of planes of this size, with the sizes of their outputs.
fn pools(input: [i64; 3]) -> Vec<(Spec, [i64; 3])> {
    let mut pools = Vec::new();
    for hundredths in [0, 3, 13, 30, 50, 93, 130] {
        let output = input.map(|side| (side * hundredths / 100).max(1));
        pools.push((AdaptiveMaxPool::new_3d(output).spec(Direction::Gradient), output));
    }
    for (kernel_size, stride) in [(2, 2), (3, 1), (3, 2), (3, 4), (9, 1), (50, 7)] {
        let kernel = input.map(|side| side.min(kernel_size));
        let output: [i64; 3] = std::array::from_fn(|i| (input[i] - kernel[i]) / stride + 1);
        pools.push((MaxPool::new_3d(kernel).stride(stride).spec(Direction::Gradient), output));
    }
    pools
}
