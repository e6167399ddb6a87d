//! How many channels are worked on together, as far as a plan tells.
//!
//! Oracle: the number of sums of a plane, of all 1024 channels and of 128, beside the 131072 of four bytes each that a worker
//! holds.

use poolgrad::{Explanation, PlanOptions};
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
