//! How many channels are worked on together, as far as the kernel tells.
//!
//! Oracle: the sums of a plane of all channels, 200704, which are more than a worker holds as a whole; those of 128 are not.

use poolgrad::PlanOptions;
use poolgrad_check::{Call, Problem};

fn kernel(line: &str) -> &'static str {
    let problem: Problem = line.parse().unwrap_or_else(|error| panic!("{line}: {error}"));
    let call = Call::new(&problem).unwrap_or_else(|failure| panic!("{failure}"));
    let run = call.execute(&PlanOptions::default().threads(1)).unwrap_or_else(|failure| panic!("{failure}"));
    run.explanation.kernel
}

#[test]
fn sums_that_fill_pages_are_held_in_narrower_groups_where_windows_are_many() {
    assert_eq!(kernel("max_grad n1c1024 in14x14 k5 s1 p2 bf16 ndhwc"), "scatter:planes");
    assert_eq!(kernel("max_grad n1c1024 in14x14 k3 s1 p1 bf16 ndhwc"), "scatter:sweep");
}
