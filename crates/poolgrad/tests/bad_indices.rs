//! Indices outside the volume: the first in row-major order is named, whichever way the call runs, and no memory but
//! that of `grad_input` is touched.
//!
//! Oracle: a search through the indices from the first to the last; garbage around the tensors.

use poolgrad::{Error, Isa, PlanOptions, Tensor};
use poolgrad_check::{Call, Fault, Problem, Random, lists, on_all_processors, to_grid};

/// The error that the indices of a problem call for.
fn wanted(problem: &Problem, indices: &Tensor) -> Error {
    let volume: i64 = problem.input.iter().product();
    let grid = to_grid(indices, problem.spec.n_spatial());
    let first = grid.values.iter().position(|&index| index < 0.0 || index >= volume as f64).expect("a bad index");
    let [n, c, d, h, w] = grid.position(first);
    let value = match (indices.as_slice::<i32>(), indices.as_slice::<i64>()) {
        (Some(indices), _) => i64::from(indices[first]),
        (_, Some(indices)) => indices[first],
        _ => unreachable!("indices are i32 or i64"),
    };
    Error::IndexOutOfRange { n, c, position: [d, h, w], value, volume: volume as usize }
}

/// Spoils one to three indices of a call, anywhere, with values just outside the volume or far from it.
fn spoil(call: &mut Call, random: &mut Random) {
    let n_elements: i64 = call.indices().expect("indices").shape().iter().product();
    let volume: i64 = call.problem().input.iter().product();
    for _ in 0..=random.below(3) {
        let values = [-1, volume, volume + 1, i64::from(i32::MAX), i64::from(i32::MIN)];
        let value = values[random.below(values.len() as u64) as usize];
        call.spoil_index(random.below(n_elements as u64) as usize, value);
    }
}

#[test]
fn the_first_in_row_major_order_is_named() {
    let mut problems = lists::all().expect("lists of problems");
    problems.retain(|problem| problem.reads_indices() && !problem.input_shape().contains(&0));
    let numbered: Vec<(u64, Problem)> = (0..).zip(problems).collect();
    on_all_processors(&numbered, |(number, problem)| {
        let mut random = Random::new(*number);
        let mut call = Call::new(problem).unwrap_or_else(|failure| panic!("{failure}"));
        spoil(&mut call, &mut random);
        let wanted = wanted(problem, &call.indices().expect("indices"));
        for options in [PlanOptions::default().threads(1), PlanOptions::default().threads(3).tile_elements(300)] {
            for isa in Isa::available() {
                let options = options.clone().isa(isa);
                for kernel in call.kernels(&options).unwrap_or_else(|failure| panic!("{failure}")) {
                    let failure = call.execute(&options.clone().kernel(kernel)).expect_err("a bad index");
                    assert_eq!(*failure.fault, Fault::Execute(wanted.clone()), "{failure}");
                }
            }
        }
    });
}

/// Kernels count what they add, several planes at a time and by themselves: one that counted a miss as an addition would
/// make up for a miss elsewhere, and two bad indices would pass for none.
#[test]
fn misses_in_two_planes_do_not_make_up_for_each_other() {
    let problem: Problem = "max_grad n5c1 in8x9 k3 s1 p1".parse().expect("a problem");
    let clean = Call::new(&problem).unwrap_or_else(|failure| panic!("{failure}"));
    let shape = *clean.indices().expect("indices").shape();
    let plane_len = shape[2..].iter().product::<i64>() as usize;
    for (a, b) in (0..5).flat_map(|a| (a + 1..5).map(move |b| (a, b))) {
        let mut call = Call::new(&problem).unwrap_or_else(|failure| panic!("{failure}"));
        for plane in [a, b] {
            call.spoil_index(plane * plane_len + 7, -1);
        }
        let wanted = wanted(&problem, &call.indices().expect("indices"));
        for threads in [1, 2] {
            let options = PlanOptions::default().threads(threads);
            for kernel in call.kernels(&options).unwrap_or_else(|failure| panic!("{failure}")) {
                let failure = call.execute(&options.clone().kernel(kernel)).expect_err("two bad indices");
                assert_eq!(*failure.fault, Fault::Execute(wanted.clone()), "planes {a} and {b}: {failure}");
            }
        }
    }
}
