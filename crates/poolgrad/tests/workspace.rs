//! A thread needs no more than a mebibyte beside the tensors. Oracle: that number.
//!
//! A plan looks at descriptions only, so that these may be of tensors that nobody has.

use poolgrad::{AdaptiveAvgPool, DType, Direction, Layout, Operands, Plan, PlanOptions, TensorDesc};

const MOST: usize = 1 << 20;

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
                let desc = |[d, h, w]: [i64; 3]| {
                    let strides =
                        if channels > 1 { [h * w, w, 1].map(|step| step * channels) } else { [h * w, w, 1] };
                    let (group, channel) = (d * h * w * channels, if channels > 1 { 1 } else { d * h * w });
                    let strides = [group, channel, strides[0], strides[1], strides[2]];
                    TensorDesc { dtype, layout: Layout::strided([1, channels, d, h, w], strides).unwrap() }
                };
                let spec = AdaptiveAvgPool::new_3d(output).spec(Direction::Gradient);
                let operands = Operands::Spread { grad_output: desc(output), grad_input: desc(input) };
                let plan = Plan::with_options(&spec, &operands, &PlanOptions::default().threads(2)).unwrap();
                let of_a_thread = plan.workspace_bytes() / plan.explain().threads;
                assert!(of_a_thread <= MOST, "{input:?} to {output:?}, {channels} channels: {}", plan.explain());
                most = most.max(of_a_thread);
            }
        }
    }
    assert!(most > MOST / 2, "{most}: no problem came near");
}
