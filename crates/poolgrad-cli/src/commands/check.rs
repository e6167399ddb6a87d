//! `poolgrad check`: problem lines against the reference.

use std::io::Read;
use std::path::Path;

use poolgrad::{Isa, PlanOptions};
use poolgrad_check::{Case, Failure as Fault, Outcome, Problem, parse_list};
use serde_json::{Value, json};

use crate::cli::{self, Check};
use crate::console;
use crate::failure::Failure;
use crate::progress::Progress;

/// One way to run a problem; what is absent is the library's choice.
#[derive(Clone, Debug)]
struct Way {
    isa: Option<Isa>,
    threads: Option<usize>,
    kernel: Option<String>,
}

/// A problem that failed, and the way in which it did.
struct Failed {
    fault: Fault,
    way: Way,
}

pub(crate) fn run(arguments: &Check) -> Result<(), Failure> {
    let ways = ways(arguments)?;
    let mut problems = Vec::new();
    for argument in &arguments.problems {
        problems.extend(problems_of(argument)?);
    }
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

/// Every combination of the instruction sets and thread counts asked for.
fn ways(arguments: &Check) -> Result<Vec<Way>, Failure> {
    let isas = match arguments.isa.as_deref() {
        None => vec![None],
        Some("all") => Isa::available().into_iter().map(Some).collect(),
        Some(name) => {
            let isa = cli::isa(name).map_err(|has| Failure::usage(format!("--isa {name}: {has}")))?;
            vec![Some(isa)]
        }
    };
    let threads = if arguments.threads.is_empty() {
        vec![None]
    } else {
        arguments.threads.iter().copied().map(Some).collect()
    };
    let way = |isa| {
        let kernel = &arguments.kernel;
        threads.iter().map(move |&threads| Way { isa, threads, kernel: kernel.clone() })
    };
    Ok(isas.into_iter().flat_map(way).collect())
}

/// The problems that an argument names: a file, standard input, or itself.
fn problems_of(argument: &str) -> Result<Vec<Problem>, Failure> {
    let path = Path::new(argument);
    let text = if argument == "-" {
        let mut text = String::new();
        let read = std::io::stdin().read_to_string(&mut text);
        read.map_err(|error| Failure::file(Path::new("standard input"), &error))?;
        text
    } else if path.exists() {
        std::fs::read_to_string(path).map_err(|error| Failure::file(path, &error))?
    } else if argument.contains(char::is_whitespace) {
        let problem = argument.parse::<Problem>();
        return problem.map(|problem| vec![problem]).map_err(|error| {
            // A line number says nothing about a single line.
            Failure::usage(if error.token.is_empty() {
                format!("problem '{argument}' lacks {}", error.wanted)
            } else {
                format!("problem '{argument}': wanted {}, got {}", error.wanted, error.token)
            })
        });
    } else {
        return Err(Failure::usage(format!(
            "there is no file {argument}; a problem goes in quotes, such as 'max_grad n1c2 in6x8 k3x2 s2'"
        )));
    };
    let name = if argument == "-" { "standard input" } else { argument };
    let problems = parse_list(&text).map_err(|error| Failure::work(format!("{name}: {error}")))?;
    if problems.is_empty() {
        return Err(Failure::work(format!("{name}: expected problem lines, found none")));
    }
    Ok(problems)
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

impl Way {
    fn options(&self) -> PlanOptions {
        let mut options = PlanOptions::default();
        if let Some(isa) = self.isa {
            options = options.isa(isa);
        }
        if let Some(threads) = self.threads {
            options = options.threads(threads);
        }
        if let Some(kernel) = &self.kernel {
            options = options.kernel(kernel);
        }
        options
    }

    /// The arguments that choose this way.
    fn arguments(&self) -> String {
        let isa = self.isa.map(|isa| format!(" --isa {isa}"));
        let threads = self.threads.map(|threads| format!(" --threads {threads}"));
        let kernel = self.kernel.as_ref().map(|kernel| format!(" --kernel {kernel}"));
        [isa, threads, kernel].into_iter().flatten().collect()
    }
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
