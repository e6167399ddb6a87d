//! Generated problems and layouts.

use poolgrad::{AdaptiveAvgPool, AdaptiveMaxPool, DType, Direction, MaxPool, Pool, Sizes, Spec};
use poolgrad_check::{Arrangement, AxisInMemory, Call, Fill, MemoryLayout, Problem, Random, Step};
use proptest::prelude::*;

/// A short list.
pub(crate) fn sizes(values: &[i64]) -> Sizes {
    Sizes::try_from(values).expect("few sizes")
}

/// The parameters along one axis: input size, and kernel size, stride, padding, dilation.
fn fixed_axis() -> impl Strategy<Value = (i64, [i64; 4])> {
    (1i64..10, 1i64..5, 1i64..4, 1i64..4)
        .prop_flat_map(|(input, k, s, d)| (Just(input), Just(k), Just(s), 0..=k / 2, Just(d)))
        .prop_map(|(input, k, s, p, d)| (input, [k, s, p, d]))
}

fn max_pool(n_spatial: usize) -> impl Strategy<Value = (Sizes, Pool)> {
    (prop::collection::vec(fixed_axis(), n_spatial), any::<bool>()).prop_map(move |(axes, ceil_mode)| {
        let each = |i: usize| sizes(&axes.iter().map(|axis| axis.1[i]).collect::<Vec<_>>());
        let pool = MaxPool::new(n_spatial, each(0)).stride(each(1)).padding(each(2)).dilation(each(3));
        let input = sizes(&axes.iter().map(|axis| axis.0).collect::<Vec<_>>());
        (input, Pool::Max(pool.ceil_mode(ceil_mode)))
    })
}

fn adaptive_pool(n_spatial: usize) -> impl Strategy<Value = (Sizes, Pool)> {
    (prop::collection::vec((1i64..10, 1i64..10), n_spatial), any::<bool>()).prop_map(move |(axes, is_max)| {
        let input = sizes(&axes.iter().map(|axis| axis.0).collect::<Vec<_>>());
        let output = sizes(&axes.iter().map(|axis| axis.1).collect::<Vec<_>>());
        let pool = if is_max {
            Pool::AdaptiveMax(AdaptiveMaxPool::new(n_spatial, output))
        } else {
            Pool::AdaptiveAvg(AdaptiveAvgPool::new(n_spatial, output))
        };
        (input, pool)
    })
}

/// Any small problem of `n_spatial` axes that has an output, in row-major order.
pub(crate) fn problem_of(n_spatial: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = Problem> {
    let pool = n_spatial.prop_flat_map(|n_spatial| prop_oneof![max_pool(n_spatial), adaptive_pool(n_spatial)]);
    let direction = prop_oneof![Just(Direction::Forward), Just(Direction::Gradient)];
    let fill = prop_oneof![Just(Fill::Random), Just(Fill::Ties), Just(Fill::Special), Just(Fill::Far)];
    let types = (prop::sample::select(&DType::FLOATS), prop::sample::select(&DType::INDICES));
    (pool, direction, prop::option::of(1i64..4), 1i64..5, types, fill)
        .prop_map(|((input, pool), direction, batch, channels, (dtype, index_dtype), fill)| Problem {
            spec: Spec { pool, direction },
            batch,
            channels,
            input,
            dtype,
            index_dtype,
            layout: MemoryLayout::Ncdhw,
            fill,
        })
        .prop_map(|problem| match problem.fill {
            Fill::Far if !problem.reads_indices() => Problem { fill: Fill::Random, ..problem },
            _ => problem,
        })
        .prop_filter("an output, and no empty window", |problem| Call::new(problem).is_ok())
}

/// Any order of axes in memory, either direction, steps and gaps.
pub(crate) fn any_arrangement(shape: &Sizes, random: &mut Random) -> Arrangement {
    let mut order: Vec<usize> = (0..shape.len()).collect();
    for i in (1..order.len()).rev() {
        order.swap(i, random.below(i as u64 + 1) as usize);
    }
    let axes: Vec<_> = order
        .iter()
        .map(|_| {
            let step = random.below(3) as i64 + 1;
            let step = if random.below(3) == 0 { Step::Backward(step) } else { Step::Forward(step) };
            AxisInMemory { step, before: random.below(3) as i64, behind: random.below(3) as i64 }
        })
        .collect();
    Arrangement::of_axes(shape, &order, &axes, random.below(4) as i64)
}
