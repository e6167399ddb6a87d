//! How many channels are worked on together, as far as a plan tells.
//!
//! Oracle: the number of sums of a plane, of all 1024 channels and of 128, beside the 131072 of four bytes each that a worker
//! holds.

use poolgrad::{Explanation, Isa, PlanOptions};
use poolgrad_check::{Call, Problem};

fn call(line: &str) -> Call {
    let problem: Problem = line.parse().unwrap_or_else(|error| panic!("{line}: {error}"));
    Call::new(&problem).unwrap_or_else(|failure| panic!("{failure}"))
}

/// The kernel that would run if outputs had to be added one by one.
fn first_scatter(line: &str) -> &'static str {
    let kernels =
        call(line).kernels(&PlanOptions::default().threads(1)).unwrap_or_else(|failure| panic!("{failure}"));
    kernels.into_iter().find(|kernel| kernel.starts_with("scatter")).expect("one that takes everything")
}

fn explanation(line: &str) -> Explanation {
    let run = call(line).execute(&PlanOptions::default().threads(1)).unwrap_or_else(|failure| panic!("{failure}"));
    run.explanation
}

#[test]
fn sums_that_fill_pages_are_held_in_narrower_groups_where_windows_overlap_much() {
    assert_eq!(first_scatter("max_grad n1c1024 in14x14 k5 s1 p2 bf16 ndhwc"), "scatter:planes");
    assert_eq!(first_scatter("max_grad n1c1024 in14x14 k3 s1 p1 bf16 ndhwc"), "scatter:sweep");
}

#[test]
fn many_windows_of_few_inputs_need_no_narrower_groups() {
    // 64 inputs, each of which lies in up to 64 windows of up to 8 inputs.
    let explanation = explanation("adaptive_max_grad n1c1024 in4x4x4 out11 bf16 ndhwc");
    assert!(explanation.workspace_bytes >= 64 * 1024 * 4, "{explanation}");
}

#[test]
fn a_mean_of_one_place_is_one_threads_unless_most_would_have_none() {
    let threads = |line: &str, threads: usize| {
        let run = call(line).execute(&PlanOptions::default().threads(threads));
        run.unwrap_or_else(|failure| panic!("{failure}")).explanation.threads
    };
    assert_eq!(threads("adaptive_avg n1c512 in8x8 out1 ndhwc", 2), 1);
    let of_three = |n| if cfg!(feature = "rayon") { n } else { 1 };
    assert_eq!(threads("adaptive_avg n1c512 in8x8 out1 ndhwc", 3), of_three(3));
    assert_eq!(threads("adaptive_avg n2c512 in8x8 out1 ndhwc", 3), of_three(2));
}

#[test]
fn few_sums_are_swept_in_groups_of_which_planes_would_take_no_first_terms() {
    let first = |line: &str| {
        let isa = Isa::available()[0];
        let kernels = call(line).kernels(&PlanOptions::default().threads(1).isa(isa));
        kernels.unwrap_or_else(|failure| panic!("{failure}"))[0]
    };
    // An input lies in 1.57 windows in the mean, and in 1.21.
    assert_eq!(first("adaptive_max_grad n16c64 in7x96 out5x2 f16 ndhwc"), "scatter:sweep");
    assert_eq!(first("adaptive_max_grad n16c64 in7x96 out5x2 f16"), "scatter:planes");
    assert_eq!(first("adaptive_max_grad n8c64 in20x20 out3 f16 ndhwc"), "scatter:planes");
    assert_eq!(first("adaptive_max_grad n8c64 in20x20 out3 f16"), "scatter:planes");
    // Where windows share much, no terms are kept aside.
    assert_eq!(first("max_grad n8c64 in20x20 k18 s1 f16 ndhwc"), "scatter:planes");
}
