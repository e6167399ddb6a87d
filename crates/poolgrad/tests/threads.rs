//! How many threads a plan takes that is not told: one for little work, and all of the pool for more.
//!
//! Oracle: the work of each problem reckoned by hand, beside the threshold of 262144.
#![cfg(feature = "rayon")]

use poolgrad::PlanOptions;
use poolgrad_check::{Call, Problem};
use rayon::ThreadPoolBuilder;

fn threads(line: &str) -> usize {
    let problem: Problem = line.parse().unwrap_or_else(|error| panic!("{line}: {error}"));
    let call = Call::new(&problem).unwrap_or_else(|failure| panic!("{failure}"));
    let pool = ThreadPoolBuilder::new().num_threads(2).build().expect("a thread pool");
    let run = || call.execute(&PlanOptions::default()).unwrap_or_else(|failure| panic!("{failure}"));
    pool.install(run).explanation.threads
}

#[test]
fn other_threads_are_woken_for_enough_work() {
    // 16 x (12544 inputs + 2 x 1568 outputs) = 250880, and twice that if sums are rounded.
    assert_eq!(threads("max_grad n1c16 in16x28x28 k3 s2 p1"), 1);
    assert_eq!(threads("max_grad n1c16 in16x28x28 k3 s2 p1 bf16"), 2);
    // Those of windows that touch are not.
    assert_eq!(threads("max_grad n1c16 in16x28x28 k2 bf16"), 1);
    // 8 x (12544 + 2 x 12544) = 301056: outputs count twice.
    assert_eq!(threads("max_grad n1c8 in16x28x28 k3 s1 p1"), 2);
    // 512 x (196 + 2 x 49) = 150528, and twice that forward.
    assert_eq!(threads("adaptive_max_grad n8c64 in14x14 out7"), 1);
    assert_eq!(threads("adaptive_max n8c64 in14x14 out7"), 2);
    // Sums of averages are rounded as they are written: 16 x (12544 + 2 x 64) = 202752.
    assert_eq!(threads("adaptive_avg_grad n1c16 in16x28x28 out4 bf16"), 1);
}
