//! What is wrong is noticed, and said with the line that shows it again.
//!
//! Oracle: a right outcome with one thing spoiled by hand.

use poolgrad::PlanOptions;
use poolgrad_check::{Case, Failure, Fault, Outcome, Problem, run};

fn case(line: &str) -> (Case, Outcome) {
    let case = Case::new(&line.parse().unwrap()).unwrap();
    let outcome = case.call().execute(&PlanOptions::default()).unwrap();
    assert!(case.check(&outcome).unwrap().is_some(), "{line}");
    (case, outcome)
}

fn assert_tells(failure: &Failure, line: &str, what: &str) {
    let text = failure.to_string();
    assert!(text.contains(what), "{text}");
    assert!(text.contains(&format!("reproduce: {line}")), "{text}");
}

#[test]
fn one_wrong_bit_is_noticed() {
    for line in [
        "max n1c2 in7x8 k3 s2 p1",
        "max_grad n1c2 in7x8 k3 s2 p1",
        "adaptive_avg n1c2 in7x8 out3 f64",
        "adaptive_avg_grad n1c2 in7x8 out3",
        "adaptive_avg_grad n1c2 in7x8 out3 bf16",
    ] {
        let (case, right) = case(line);
        for byte in [0, right.values.as_bytes().len() / 2] {
            let mut wrong = right.clone();
            wrong.values.as_mut_bytes()[byte] ^= 1;
            let failure = case.check(&wrong).unwrap_err();
            assert!(matches!(*failure.fault, Fault::Values { .. }), "{failure}");
            assert_tells(&failure, line, "1 elements are wrong");
            let failure = case.check_same(&wrong, &right).unwrap_err();
            assert!(matches!(*failure.fault, Fault::Bits { .. }), "{failure}");
            assert_tells(&failure, line, "two runs differ");
        }
    }
}

#[test]
fn a_value_far_off_is_measured() {
    let (case, mut outcome) = case("adaptive_avg_grad n1c2 in7x8 out3");
    outcome.values.as_mut_slice::<f32>().unwrap()[60] += 100.0;
    let failure = case.check(&outcome).unwrap_err();
    let Fault::Values { oracle, comparison } = *failure.fault else { panic!("{failure}") };
    assert_eq!((oracle, comparison.n_wrong), ("the exact sums", 1));
    assert!((comparison.max_error - 100.0).abs() < 1e-4 && comparison.tolerance < 1e-4, "{comparison:?}");
    assert_eq!(comparison.worst.unwrap().position, [0, 1, 0, 0, 4]);
}

#[test]
fn a_wrong_index_is_noticed() {
    let line = "max n1c2 in7x8 k3 s2 p1 i32 ties";
    let (case, mut outcome) = case(line);
    outcome.indices.as_mut().unwrap().as_mut_slice::<i32>().unwrap()[5] += 1;
    let failure = case.check(&outcome).unwrap_err();
    assert!(matches!(*failure.fault, Fault::Indices { .. }), "{failure}");
    assert_tells(&failure, line, "indices: 1 elements are wrong");
}

#[test]
fn what_cannot_run_says_why() {
    let fails = |line: &str, options: &PlanOptions| run(&line.parse::<Problem>().unwrap(), options).unwrap_err();
    let default = PlanOptions::default();
    assert_tells(&fails("max c1 in2 k3", &default), "max c1 in2 k3", "no window fits on spatial axis 0");
    assert_tells(&fails("max c1 in4 k2 p1 d5", &default), "max c1 in4 k2 p1 d5", "has no element");
    let large = "max c1 in99999x99999x99999 k1";
    assert_tells(&fails(large, &default), large, "too many for the reference");
    let line = "adaptive_avg c1 in4 out2";
    assert_tells(&fails(line, &PlanOptions::default().kernel("none")), line, "planning failed");
}

#[test]
fn a_verdict_names_the_kernel_and_the_distance() {
    let problem: Problem = "adaptive_avg n1c2 in7x8 out3".parse().unwrap();
    let verdict = run(&problem, &PlanOptions::default()).unwrap();
    assert_eq!((verdict.problem, verdict.kernel), (problem, verdict.explanation.kernel));
    let comparison = verdict.comparison.unwrap();
    assert!(comparison.max_error > 0.0 && comparison.max_error <= comparison.tolerance, "{comparison:?}");
    let empty = run(&"adaptive_avg n0c2 in7x8 out3".parse().unwrap(), &PlanOptions::default()).unwrap();
    assert_eq!(empty.comparison, None);
}
