//! `poolgrad bench`: problems timed, each beside the time that memory alone would take.

mod bandwidth;
mod chart;
mod page;
mod record;
mod report;
mod row;
mod subject;
mod timing;

use poolgrad::Plan;
use poolgrad_check::{Problem, parse_list};

use self::bandwidth::Memory;
use self::row::Row;
use self::subject::Subject;
use self::timing::{Contender, Effort, measure};
use super::problems::problems;
use super::ways::{Way, ways};
use crate::cli::Bench;
use crate::console;
use crate::failure::Failure;
use crate::formats::save_bytes;
use crate::progress::Progress;

/// The list of problems that are timed by default.
const LIST: &str = include_str!("../../../../../problems/bench.txt");

pub(crate) fn run(arguments: &Bench) -> Result<(), Failure> {
    let ways = ways(arguments.isa.as_deref(), &arguments.threads, arguments.kernel.as_deref())?;
    let problems = if arguments.problems.is_empty() { default_list()? } else { problems(&arguments.problems)? };
    let effort = match arguments.repeat {
        Some(n_runs) => Effort::runs(n_runs),
        None if arguments.quick => Effort::QUICK,
        None => Effort::FULL,
    };
    let rows = rows(&problems, &ways, effort)?;
    if arguments.json {
        console::json(&rows.iter().map(Row::json).collect())?;
    } else if arguments.markdown {
        console::line(report::markdown(&rows))?;
    } else {
        console::line(report::table(&rows))?;
        console::line(report::summary(&rows))?;
    }
    if let Some(path) = &arguments.html {
        save_bytes(path, page::page(&rows).as_bytes())?;
        console::note(format_args!("wrote {}", path.display()));
    }
    if let Some(folder) = &arguments.record {
        for path in record::write(folder, &rows)? {
            console::note(format_args!("wrote {}", path.display()));
        }
    }
    Ok(())
}

fn default_list() -> Result<Vec<Problem>, Failure> {
    parse_list(LIST).map_err(|error| Failure::work(format!("the built-in list: {error}")))
}

fn rows(problems: &[Problem], ways: &[Way], effort: Effort) -> Result<Vec<Row>, Failure> {
    let progress = Progress::new(problems.len() as u64);
    progress.say("filling memory");
    let mut memory = Memory::new()?;
    let mut rows = Vec::new();
    for problem in problems {
        progress.say(problem.to_string());
        rows.extend(rows_of(problem, ways, effort, &mut memory)?);
        progress.step(1);
    }
    Ok(rows)
}

/// Checks a problem in every way, then times it in every way.
fn rows_of(problem: &Problem, ways: &[Way], effort: Effort, memory: &mut Memory) -> Result<Vec<Row>, Failure> {
    let mut subject = Subject::new(problem)?;
    let default_threads = memory.default_threads()?;
    let mut contenders = Vec::with_capacity(ways.len());
    for way in ways {
        let threads = way.threads.unwrap_or(default_threads);
        // To ask for what is the default would only take the choice of fewer threads from small problems.
        let way = Way { threads: way.threads.filter(|&threads| threads != default_threads), ..way.clone() };
        let plan = Plan::with_options(&problem.spec, &subject.descs(), &way.options())
            .map_err(|error| Failure::work(format!("{problem}: {error}")))?;
        let workspace = vec![0; plan.workspace_bytes()];
        let mut contender = Contender { plan, workspace, threads };
        if !contenders.is_empty() {
            subject.spoil();
        }
        contender.run(&mut subject)?;
        subject.check(&contender.plan)?;
        contenders.push(contender);
    }
    let measured = measure(&mut subject, &mut contenders, memory, effort)?;
    let first_seconds = measured.first().map_or(f64::NAN, |first| first.times.median());
    let (n_bytes_read, n_bytes_written) = subject.traffic();
    let row = |(contender, measured): (Contender, _)| Row {
        problem: problem.clone(),
        explanation: contender.plan.explain().clone(),
        threads: contender.threads,
        measured,
        n_bytes_read,
        n_bytes_written,
        checked: subject.how_checked(),
        first_seconds,
    };
    Ok(contenders.into_iter().zip(measured).map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use poolgrad::DType;
    use poolgrad_check::MemoryLayout;

    /// Oracle: what docs/performance.md says of the list.
    #[test]
    fn the_list_has_ten_problems_in_three_types_and_two_layouts() {
        let list = default_list().unwrap();
        let mut expected = Vec::new();
        for first in list[..60].chunks(6) {
            for layout in [MemoryLayout::Ncdhw, MemoryLayout::Ndhwc] {
                for dtype in [DType::F32, DType::BF16, DType::F16] {
                    expected.push(Problem { layout, dtype, ..first[0].clone() });
                }
            }
        }
        assert_eq!(list[..60], expected);
        assert!(list[..60].iter().all(|problem| !problem.has_indices() || problem.index_dtype == DType::I32));
        assert!(list[60..].iter().all(|problem| !list[..60].contains(problem)));
    }
}
