//! Laws that hold between results, on generated problems.
//!
//! Oracle: algebra. Nothing here knows what a window is, except that some of them coincide.

mod generate;

use generate::{any_arrangement, problem_of, sizes};
use poolgrad::{
    AdaptiveAvgPool, AdaptiveMaxPool, Element, Layout, MaxPool, PlanOptions, Pool, Sizes, Spec, Tensor, TensorView,
};
use poolgrad_check::{Call, Outcome, Problem, Random};
use proptest::prelude::*;

fn run(call: &Call) -> Outcome {
    call.execute(&PlanOptions::default()).unwrap_or_else(|failure| panic!("{failure}"))
}

/// Whether two runs gave the same bits, any NaN being as good as any other.
fn assert_same(got: &Outcome, want: &Outcome) {
    let pairs = [(Some(&got.values), Some(&want.values)), (got.indices.as_ref(), want.indices.as_ref())];
    for pair in pairs {
        match pair {
            (Some(got), Some(want)) => {
                assert_eq!(got.dtype(), want.dtype());
                let difference = poolgrad_check::compare::first_difference(got, want);
                assert_eq!(difference, None, "the first element that differs; {got:?} {want:?}");
            }
            (got, want) => assert!(got.is_none() && want.is_none()),
        }
    }
}

fn whole_numbers<T: Element>(shape: Sizes, seed: u64, number: impl Fn(i32) -> T) -> Tensor {
    let mut random = Random::new(seed);
    let n_elements: i64 = shape.iter().product();
    let values: Vec<T> = (0..n_elements).map(|_| number(random.below(41) as i32 - 20)).collect();
    Tensor::from_vec(values, shape).expect("one value for each element")
}

fn dot<T: Element + Into<f64>>(one: &Tensor, other: &Tensor) -> f64 {
    let (one, other) = (one.as_slice::<T>().expect("the type"), other.as_slice::<T>().expect("the type"));
    assert_eq!(one.len(), other.len());
    one.iter().zip(other).map(|(&one, &other)| one.into() * other.into()).sum()
}

fn total<T: Element + Into<f64>>(tensor: &Tensor) -> f64 {
    tensor.as_slice::<T>().expect("the type").iter().map(|&value| value.into()).sum()
}

fn magnitude(tensor: &Tensor) -> f64 {
    tensor.as_slice::<f64>().expect("the type").iter().map(|value| value.abs()).sum()
}

type Pair = (Tensor, Tensor);

fn max_forward(pool: Pool, input: &Tensor) -> Pair {
    match pool {
        Pool::Max(pool) => pool.forward(input),
        Pool::AdaptiveMax(pool) => pool.forward(input),
        other => panic!("{other:?} has no indices"),
    }
    .expect("the problem has an output")
}

fn max_backward(pool: Pool, (grad_output, indices): &Pair, input_shape: Sizes) -> Tensor {
    match pool {
        Pool::Max(pool) => pool.backward(grad_output, indices, input_shape),
        Pool::AdaptiveMax(pool) => pool.backward(grad_output, indices, input_shape),
        other => panic!("{other:?} has no indices"),
    }
    .expect("the problem has an output")
}

proptest! {
    // A case that fails is printed; it belongs into the problem lists, not into a file of seeds.
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// `⟨pool x, g⟩ = ⟨x, grad g⟩`, and `Σ grad g = Σ g`: exactly for maxima of whole numbers, up to rounding for means.
    #[test]
    fn gradient_is_the_adjoint_and_conserves_mass(problem in problem_of(1..=3), seed in any::<u64>()) {
        let (input_shape, pool) = (problem.input_shape(), problem.spec.pool);
        if let Pool::AdaptiveAvg(pool) = pool {
            let input = whole_numbers(input_shape, seed, f64::from);
            let output = pool.forward(&input).expect("the problem has an output");
            let grad_output = whole_numbers(*output.shape(), !seed, f64::from);
            let grad_input = pool.backward(&grad_output, input_shape).expect("the problem has an output");
            let tolerance = 1e-13 * magnitude(&grad_output);
            prop_assert!((dot::<f64>(&output, &grad_output) - dot::<f64>(&input, &grad_input)).abs() <= 20.0 * tolerance);
            prop_assert!((total::<f64>(&grad_input) - total::<f64>(&grad_output)).abs() <= tolerance);
        } else {
            let input = whole_numbers(input_shape, seed, |value| value as f32);
            let (output, indices) = max_forward(pool, &input);
            let grad_output = whole_numbers(*output.shape(), !seed, |value| value as f32);
            let grad_input = max_backward(pool, &(grad_output.clone(), indices), input_shape);
            prop_assert_eq!(dot::<f32>(&output, &grad_output), dot::<f32>(&input, &grad_input));
            prop_assert_eq!(total::<f32>(&grad_input), total::<f32>(&grad_output));
        }
    }

    /// How tensors lie in memory, each in a way of its own, does not change a bit.
    #[test]
    fn strided_is_contiguous(problem in problem_of(1..=3), seed in any::<u64>()) {
        let mut random = Random::new(seed);
        let strided = Call::arranged(&problem, |shape, _| any_arrangement(shape, &mut random)).expect("a call");
        assert_same(&run(&strided), &run(&Call::new(&problem).expect("a call")));
    }

    /// A problem with fewer axes is the same as one with axes of size 1 before them.
    #[test]
    fn fewer_axes_are_axes_of_one(problem in problem_of(1..=2)) {
        let mut lifted = problem.clone();
        let want = run(&Call::new(&problem).expect("a call"));
        while lifted.spec.n_spatial() < 3 {
            lifted = lift(&lifted);
            let got = run(&Call::new(&lifted).expect("a call"));
            assert_same(&got, &want);
        }
    }

    /// Where the output divides the input, adaptive windows are fixed ones.
    #[test]
    fn adaptive_is_fixed_where_sizes_divide(
        axes in prop::collection::vec((1i64..5, 1i64..5), 1..=3),
        mut problem in problem_of(1..=1),
    ) {
        let n_spatial = axes.len();
        let each = |value: &dyn Fn(&(i64, i64)) -> i64| sizes(&axes.iter().map(value).collect::<Vec<_>>());
        problem.input = each(&|axis| axis.0 * axis.1);
        problem.spec.pool = Pool::AdaptiveMax(AdaptiveMaxPool::new(n_spatial, each(&|axis| axis.0)));
        let adaptive = run(&Call::new(&problem).expect("a call"));
        problem.spec.pool = Pool::Max(MaxPool::new(n_spatial, each(&|axis| axis.1)));
        let fixed = run(&Call::new(&problem).expect("a call"));
        assert_same(&adaptive, &fixed);
    }

    /// The entries of a batch do not see each other.
    #[test]
    fn a_batch_is_its_entries(problem in problem_of(1..=3), n in 2i64..4, seed in any::<u64>()) {
        let one = Problem { batch: None, ..problem.clone() };
        let all = Problem { batch: Some(n), ..problem };
        let input = whole_numbers(all.input_shape(), seed, |value| value as f32 / 3.0);
        let (values, len) = (input.as_slice::<f32>().expect("f32"), one.input_shape().iter().product::<i64>() as usize);
        let entry = |i: usize| {
            let layout = Layout::contiguous(one.input_shape()).expect("a small tensor");
            TensorView::strided(values, layout, i * len).expect("an entry of the batch")
        };
        let mut joined = Vec::new();
        if let Pool::AdaptiveAvg(pool) = all.spec.pool {
            let output = pool.forward(&input).expect("an output");
            for i in 0..n as usize {
                joined.extend_from_slice(pool.forward(entry(i)).expect("an output").as_slice::<f32>().expect("f32"));
            }
            prop_assert_eq!(output.as_slice::<f32>(), Some(&joined[..]));
        } else {
            let (output, indices) = max_forward(all.spec.pool, &input);
            let grad_input = max_backward(all.spec.pool, &(output.clone(), indices), all.input_shape());
            let mut joined_gradients = Vec::new();
            for i in 0..n as usize {
                let copy = Tensor::from_vec(values[i * len..(i + 1) * len].to_vec(), one.input_shape()).expect("a copy");
                let pair = max_forward(one.spec.pool, &copy);
                let gradient = max_backward(one.spec.pool, &pair, one.input_shape());
                joined.extend_from_slice(pair.0.as_slice::<f32>().expect("f32"));
                joined_gradients.extend_from_slice(gradient.as_slice::<f32>().expect("f32"));
            }
            prop_assert_eq!(output.as_slice::<f32>(), Some(&joined[..]));
            prop_assert_eq!(grad_input.as_slice::<f32>(), Some(&joined_gradients[..]));
        }
    }
}

/// The same problem with one more spatial axis, of size 1, before the others.
fn lift(problem: &Problem) -> Problem {
    let n_spatial = problem.spec.n_spatial() + 1;
    let before = |value: i64, list: &Sizes| {
        let mut values = vec![value];
        values.extend_from_slice(list);
        sizes(&values)
    };
    let pool = match problem.spec.pool {
        Pool::Max(pool) => Pool::Max(MaxPool {
            n_spatial,
            kernel_size: before(1, &pool.kernel_size),
            stride: before(1, &pool.stride),
            padding: before(0, &pool.padding),
            dilation: before(1, &pool.dilation),
            ..pool
        }),
        Pool::AdaptiveMax(pool) => Pool::AdaptiveMax(AdaptiveMaxPool::new(n_spatial, before(1, &pool.output_size))),
        Pool::AdaptiveAvg(pool) => Pool::AdaptiveAvg(AdaptiveAvgPool::new(n_spatial, before(1, &pool.output_size))),
        other => panic!("no lifting of {other:?} is known"),
    };
    Problem { spec: Spec { pool, ..problem.spec }, input: before(1, &problem.input), ..problem.clone() }
}
