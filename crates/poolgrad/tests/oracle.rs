//! Every line of the problem lists, on every kernel that accepts it and every ISA level of this machine.
//!
//! Oracle: the f64 reference of `poolgrad-check`, and its replay of the documented orders of addition.

use poolgrad::{Isa, PlanOptions};
use poolgrad_check::{Case, Failure, Outcome, Problem, lists::List, on_all_processors};

/// The ways to run a problem that lead through different code, apart from kernel and ISA level.
fn ways() -> [PlanOptions; 4] {
    let way = PlanOptions::default;
    [
        way().threads(1),
        way().threads(3).streaming(true),
        way().threads(2).tile_elements(50).streaming(false),
        way().threads(1).tile_elements(7).streaming(true),
    ]
}

/// Runs a problem in every way and returns in how many; equal bits are judged once.
fn run_in_every_way(problem: &Problem) -> Result<usize, Failure> {
    let case = Case::new(problem)?;
    let mut judged: Option<Outcome> = None;
    let mut n_runs = 0;
    for way in ways() {
        for isa in Isa::available() {
            let way = way.clone().isa(isa);
            for kernel in case.call().kernels(&way)? {
                let outcome = case.call().execute(&way.clone().kernel(kernel))?;
                assert_eq!((outcome.explanation.kernel, outcome.explanation.isa), (kernel, isa));
                match &judged {
                    Some(judged) => case.check_same(&outcome, judged)?,
                    None => {
                        case.check(&outcome)?;
                        judged = Some(outcome);
                    }
                }
                n_runs += 1;
            }
        }
    }
    Ok(n_runs)
}

fn run_list(name: &str) {
    let list = List::ALL.into_iter().find(|list| list.name == name).expect("a list of this name");
    let problems = list.problems().expect("a list of problems");
    let outcomes = on_all_processors(&problems, run_in_every_way);
    let mut failures = Vec::new();
    for (problem, outcome) in problems.iter().zip(outcomes) {
        match outcome {
            Ok(n_runs) => assert!(n_runs >= ways().len() * Isa::available().len(), "{problem}: {n_runs} runs"),
            Err(failure) => failures.push(failure.to_string()),
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} problems failed:\n{}",
        failures.len(),
        problems.len(),
        failures.join("\n")
    );
}

#[test]
fn smoke() {
    run_list("smoke");
}

#[test]
fn edges() {
    run_list("edges");
}

#[test]
fn models() {
    run_list("models");
}

#[test]
fn regressions() {
    run_list("regressions");
}
