//! `poolgrad check`: problem lines against the reference.

use poolgrad_check::{Case, Failure as Fault, Outcome, Problem};
use serde_json::{Value, json};

use super::problems::problems;
use super::ways::{Way, ways};
use crate::cli::Check;
use crate::console;
use crate::failure::Failure;
use crate::progress::Progress;

/// A problem that failed, and the way in which it did.
struct Failed {
    fault: Fault,
    way: Way,
}

pub(crate) fn run(arguments: &Check) -> Result<(), Failure> {
    let ways = ways(arguments.isa.as_deref(), &arguments.threads, arguments.kernel.as_deref())?;
    let problems = problems(&arguments.problems)?;
    let progress = Progress::new(problems.len() as u64);
    let mut failures = Vec::new();
    for problem in &problems {
        progress.say(problem.spec.name());
        if let Err(failed) = check(problem, &ways) {
            failures.push(failed);
        }
        progress.step(1);
    }
    drop(progress);
    let (n_failed, n_passed) = (failures.len(), problems.len() - failures.len());
    if arguments.json {
        let failures: Vec<_> = failures.iter().map(Failed::as_json).collect();
        console::json(&json!({"passed": n_passed, "failed": n_failed, "failures": failures}))?;
    } else {
        failures.iter().try_for_each(Failed::print)?;
        console::line(format_args!("{n_passed} passed, {n_failed} failed"))?;
    }
    if n_failed == 0 {
        Ok(())
    } else {
        Err(Failure::work(format!("{n_failed} of {} problems failed", problems.len())))
    }
}

/// Runs a problem in every way: each result must be right, and all must have the same bits.
fn check(problem: &Problem, ways: &[Way]) -> Result<(), Failed> {
    let failed = |way: &Way| {
        let way = way.clone();
        move |fault| Failed { fault, way }
    };
    let Some(first_way) = ways.first() else { return Ok(()) };
    let case = Case::new(problem).map_err(failed(first_way))?;
    let mut first: Option<Outcome> = None;
    for way in ways {
        let outcome = case.call().execute(&way.options()).map_err(failed(way))?;
        case.check(&outcome).map_err(failed(way))?;
        match &first {
            Some(first) => case.check_same(&outcome, first).map_err(failed(way))?,
            None => first = Some(outcome),
        }
    }
    Ok(())
}

impl Failed {
    fn reproduce(&self) -> String {
        format!("poolgrad check '{}'{}", self.fault.problem, self.way.arguments())
    }

    fn print(&self) -> Result<(), Failure> {
        console::line(format_args!("FAILED {}", self.fault.problem))?;
        console::line(format_args!("  {}", self.fault.fault))?;
        if !self.fault.run.is_empty() {
            console::line(format_args!("  as run: {}", self.fault.run))?;
        }
        console::line(format_args!("  reproduce: {}", self.reproduce()))
    }

    fn as_json(&self) -> Value {
        json!({
            "problem": self.fault.problem.to_string(),
            "fault": self.fault.fault.to_string(),
            "run": self.fault.run,
            "reproduce": self.reproduce(),
        })
    }
}
