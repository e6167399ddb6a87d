//! Every small window along one axis, legal or not, along W and along D.
//!
//! Oracle: the reference of `poolgrad-check`, which says which windows exist and what they hold.

use poolgrad::{AdaptiveAvgPool, AdaptiveMaxPool, DType, Direction, MaxPool, PlanOptions, Pool, Sizes, Spec};
use poolgrad_check::{Case, Fault, Fill, MemoryLayout, Problem};

/// Runs a pooling of an input with the given spatial sizes in both directions, or sees it refused if it has no output.
/// Returns whether it has one.
fn run(input: Sizes, pool: Pool) -> bool {
    let runs = [Direction::Forward, Direction::Gradient].map(|direction| {
        let problem = Problem {
            spec: Spec { pool, direction },
            batch: None,
            channels: 2,
            input,
            dtype: DType::F32,
            index_dtype: DType::I32,
            layout: MemoryLayout::Sliced,
            fill: Fill::Ties,
        };
        let case = match Case::new(&problem) {
            Ok(case) => case,
            Err(failure) => {
                assert!(matches!(*failure.fault, Fault::NoOutput(_)), "{failure}");
                let got = problem.spec.output_shape(problem.input_shape());
                assert!(got.is_err(), "{failure}\nbut the library makes {got:?} of it");
                return false;
            }
        };
        let outcome = case.call().execute(&PlanOptions::default()).unwrap_or_else(|failure| panic!("{failure}"));
        case.check(&outcome).unwrap_or_else(|failure| panic!("{failure}"));
        true
    });
    assert_eq!(runs[0], runs[1]);
    runs[0]
}

/// The axis alone, as W, and as D before two axes of 2 that are not pooled.
fn run_along_w_and_d(size: i64, pool: impl Fn(usize, &dyn Fn(i64, i64) -> Sizes) -> Pool) -> bool {
    let along_w = run(Sizes::from(size), pool(1, &|value, _| Sizes::from(value)));
    let along_d = run(Sizes::from([size, 2, 2]), pool(3, &|value, other| Sizes::from([value, other, other])));
    assert_eq!(along_w, along_d);
    along_w
}

#[test]
fn every_small_max_window() {
    let mut n_with_output = 0;
    let mut count = |has_output: bool| n_with_output += usize::from(has_output);
    for size in 0..=9 {
        for k in 0..=5 {
            for s in 0..=4 {
                for p in 0..=3 {
                    for d in 0..=4 {
                        for ceil_mode in [false, true] {
                            count(run_along_w_and_d(size, |n_spatial, along| {
                                let pool = MaxPool::new(n_spatial, along(k, 1)).stride(along(s, 1));
                                let pool = pool.padding(along(p, 0)).dilation(along(d, 1));
                                Pool::Max(pool.ceil_mode(ceil_mode))
                            }));
                        }
                    }
                }
            }
        }
    }
    assert!((1000..6000).contains(&n_with_output), "{n_with_output} have an output, others have none");
}

#[test]
fn every_small_adaptive_window() {
    for size in 0..=12 {
        for output in 0..=12 {
            let max = run_along_w_and_d(size, |n_spatial, along| {
                Pool::AdaptiveMax(AdaptiveMaxPool::new(n_spatial, along(output, 2)))
            });
            let avg = run_along_w_and_d(size, |n_spatial, along| {
                Pool::AdaptiveAvg(AdaptiveAvgPool::new(n_spatial, along(output, 2)))
            });
            assert_eq!((max, avg), (size > 0 && output > 0, size > 0 && output > 0));
        }
    }
}
