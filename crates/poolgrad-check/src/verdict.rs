//! One call that runs a problem and judges the result.

use poolgrad::{Explanation, PlanOptions};

use crate::case::Case;
use crate::compare::Comparison;
use crate::failure::Failure;
use crate::problem::Problem;

/// A problem that passed.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The problem.
    pub problem: Problem,
    /// The kernel that ran.
    pub kernel: &'static str,
    /// How far the values are from the reference; `None` if there are none.
    pub comparison: Option<Comparison>,
    /// What the plan said of itself.
    pub explanation: Explanation,
}

/// Runs a problem and compares the result with the reference by every rule that applies.
///
/// # Errors
/// [`Failure`]: what is wrong, where, and the line to see it again.
///
/// # Examples
/// ```
/// let problem = "adaptive_avg_grad n2c3 in9x8 out4 bf16".parse()?;
/// let verdict = poolgrad_check::run(&problem, &poolgrad::PlanOptions::default())?;
/// println!("{} passed with kernel {}", verdict.problem, verdict.kernel);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run(problem: &Problem, options: &PlanOptions) -> Result<Verdict, Failure> {
    let case = Case::new(problem)?;
    let outcome = case.call().execute(options)?;
    let comparison = case.check(&outcome)?;
    Ok(Verdict {
        problem: problem.clone(),
        kernel: outcome.explanation.kernel,
        comparison,
        explanation: outcome.explanation,
    })
}
