//! A call together with its right result.

use std::sync::OnceLock;

use poolgrad::{DType, PlanOptions, Tensor};

use crate::call::{Call, Outcome};
use crate::compare::{self, Comparison, Mismatch};
use crate::expected::Expected;
use crate::failure::{Failure, Fault};
use crate::problem::Problem;
use crate::reference::{Sums, grid_position};
use crate::to_grid;

/// A problem whose inputs are filled and whose right result is known, to be run any number of times.
///
/// # Examples
/// ```
/// use poolgrad::PlanOptions;
/// use poolgrad_check::Case;
///
/// let case = Case::new(&"adaptive_max n2c3 in9x8 out4".parse()?)?;
/// for kernel in case.call().kernels(&PlanOptions::default())? {
///     let outcome = case.call().execute(&PlanOptions::default().kernel(kernel))?;
///     case.check(&outcome)?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Case {
    call: Call,
    expected: Expected,
    /// The library's own result in f32, for the half types.
    in_f32: OnceLock<Result<Tensor, Failure>>,
}

impl Case {
    /// Fills the inputs of a problem and works out its right result.
    ///
    /// # Errors
    /// As [`Call::new`].
    pub fn new(problem: &Problem) -> Result<Self, Failure> {
        Call::new(problem).map(Self::of)
    }

    /// Works out the right result of a call.
    #[must_use]
    pub fn of(call: Call) -> Self {
        Self { expected: Expected::of(&call), call, in_f32: OnceLock::new() }
    }

    /// The call.
    #[must_use]
    pub fn call(&self) -> &Call {
        &self.call
    }

    /// Compares an outcome with the right result by every rule that applies; see [`compare`].
    ///
    /// What is returned is the comparison with the exact values; `None` if there are no values.
    ///
    /// # Errors
    /// [`Failure`] if an element is wrong.
    pub fn check(&self, outcome: &Outcome) -> Result<Option<Comparison>, Failure> {
        let failed = |fault| self.call.failed(fault).with_run(outcome.explanation.to_string());
        let judge = |oracle, comparison: Comparison| {
            if comparison.passed() { Ok(comparison) } else { Err(failed(Fault::Values { oracle, comparison })) }
        };
        if let (Some(got), Some(want)) = (&outcome.indices, &self.expected.indices) {
            let comparison = compare::exact(got, want);
            if !comparison.passed() {
                return Err(failed(Fault::Indices { comparison }));
            }
        }
        let got = &outcome.values;
        // A result far off is told by its distance from the exact values before its bits are looked at.
        let sums = self.expected.sums.as_ref();
        let distance =
            sums.map(|Sums { values, magnitude, n_terms }| compare::values(got, values, magnitude, *n_terms));
        let distance = distance.map(|distance| judge("the exact sums", distance)).transpose()?;
        let bits = judge("the bits of the documented order", compare::exact(got, &self.expected.bits))?;
        if matches!(self.call.problem().dtype, DType::F16 | DType::BF16) {
            let run_in_f32 = || Ok(self.call.in_f32().execute(&PlanOptions::default())?.values);
            let in_f32 = self.in_f32.get_or_init(run_in_f32).as_ref().map_err(Failure::clone)?;
            let in_f32 = to_grid(in_f32, self.call.problem().spec.n_spatial());
            judge("the f32 result rounded once", compare::exact(got, &in_f32))?;
        }
        Ok((!got.as_bytes().is_empty()).then(|| distance.unwrap_or(bits)))
    }

    /// Compares an outcome with another one of the same case, bit by bit.
    ///
    /// # Errors
    /// [`Failure`] if an element differs.
    pub fn check_same(&self, outcome: &Outcome, other: &Outcome) -> Result<(), Failure> {
        let values = Some((&outcome.values, &other.values));
        let indices = outcome.indices.as_ref().zip(other.indices.as_ref());
        for (got, want) in values.into_iter().chain(indices) {
            if let Some(index) = compare::first_difference(got, want) {
                let n_spatial = self.call.problem().spec.n_spatial();
                let (got, want) = (to_grid(got, n_spatial), to_grid(want, n_spatial));
                let mismatch = Mismatch {
                    position: grid_position(got.shape, index),
                    got: got.values[index],
                    want: want.values[index],
                };
                let run = format!("{}\n  against: {}", outcome.explanation, other.explanation);
                return Err(self.call.failed(Fault::Bits { mismatch }).with_run(run));
            }
        }
        Ok(())
    }
}
