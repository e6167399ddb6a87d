//! One operator in one type: forward and gradient, timed, and compared with the reference.

use std::time::Instant;

use poolgrad::{DType, Direction, Plan, PlanOptions, Pool, Sizes, Tensor};
use poolgrad_check::compare::{self, Comparison};
use poolgrad_check::reference::{self, Grid};
use poolgrad_check::to_grid;

use super::exhibit::Exhibit;
use super::tensors::Tensors;
use super::volume::Volume;
use crate::failure::Failure;

/// The runs of which the median time counts.
const RUNS: usize = 5;

/// A row of the demo's table.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) direction: Direction,
    pub(super) dtype: DType,
    pub(super) from: Sizes,
    pub(super) to: Sizes,
    pub(super) kernel: &'static str,
    /// The median of some runs.
    pub(super) seconds: f64,
    pub(super) n_bytes: usize,
    /// How far the result is from the reference.
    pub(super) comparison: Comparison,
}

impl Row {
    pub(super) fn gb_per_s(&self) -> f64 {
        self.n_bytes as f64 / self.seconds.max(1e-9) / 1e9
    }
}

/// What an operator made of the volume.
pub(super) struct Measured {
    pub(super) rows: [Row; 2],
    /// The pooled values.
    pub(super) output: Grid,
    /// The places of the maxima; empty for averages.
    pub(super) indices: Vec<i64>,
    /// The gradient that flowed back, `[1, C, D, H, W]`.
    pub(super) grad_input: Grid,
}

/// Runs `exhibit` on the volume in type `dtype`.
///
/// # Errors
/// If the library refuses the volume or fails. A wrong result is no error but a row that says so.
pub(super) fn measure(
    exhibit: &Exhibit,
    volume: &Volume,
    dtype: DType,
    options: &PlanOptions,
) -> Result<Measured, Failure> {
    let mut tensors = Tensors::new(exhibit, volume, dtype)?;
    let [forward, gradient] = [Direction::Forward, Direction::Gradient].map(|direction| {
        let row = time(exhibit, &mut tensors, direction, options);
        row.map(|(kernel, seconds)| {
            let [from, to] = tensors.shapes(direction);
            let n_bytes = tensors.n_bytes();
            move |comparison| {
                let name = exhibit.name;
                Row { name, direction, dtype, from, to, kernel, seconds, n_bytes, comparison }
            }
        })
    });
    let (forward, gradient) = (forward?, gradient?);
    let [forward_judged, gradient_judged] = judge(exhibit, &tensors);
    Ok(Measured {
        rows: [forward(forward_judged), gradient(gradient_judged)],
        output: to_grid(&tensors.output, exhibit.n_spatial()),
        indices: tensors.indices.as_ref().map(integers).unwrap_or_default(),
        grad_input: to_grid(&tensors.grad_input.tensor, 3),
    })
}

/// The kernel that runs, and the median time of a run.
fn time(
    exhibit: &Exhibit,
    tensors: &mut Tensors,
    direction: Direction,
    options: &PlanOptions,
) -> Result<(&'static str, f64), Failure> {
    let failed = |error: poolgrad::Error| Failure::work(format!("{}: {error}", exhibit.name));
    let plan = Plan::with_options(&exhibit.spec(direction), &tensors.descs(direction), options).map_err(failed)?;
    let mut workspace = vec![0; plan.workspace_bytes()];
    // The first run touches the memory and does not count.
    plan.execute(tensors.views(direction)?, &mut workspace).map_err(failed)?;
    let mut times = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        let operands = tensors.views(direction)?;
        let start = Instant::now();
        plan.execute(operands, &mut workspace).map_err(failed)?;
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok((plan.explain().kernel, times[RUNS / 2]))
}

/// Compares both directions with the reference, which shares no arithmetic with the library.
fn judge(exhibit: &Exhibit, tensors: &Tensors) -> [Comparison; 2] {
    let spec = exhibit.spec(Direction::Forward);
    let input = exhibit.reading.read(to_grid(&tensors.input.tensor, 3));
    let grad_output = to_grid(&tensors.grad_output, spec.n_spatial());
    let (forward, sums) = match (&exhibit.pool, &tensors.indices) {
        (Pool::AdaptiveAvg(_), _) | (_, None) => {
            let sums = reference::average_forward_sums(&spec, &input);
            let forward = compare::values(&tensors.output, &sums.values, &sums.magnitude, sums.n_terms);
            let spec = exhibit.spec(Direction::Gradient);
            (forward, reference::spread_sums(&spec, &grad_output, input.shape))
        }
        (_, Some(indices)) => {
            let pooled = reference::max_forward(&spec, &input);
            let values = compare::exact(&tensors.output, &pooled.output);
            let shape = pooled.output.shape;
            let wanted = Grid { shape, values: pooled.indices.iter().map(|&index| index as f64).collect() };
            let places = compare::exact(indices, &wanted);
            let forward = if places.passed() { values } else { places };
            (forward, reference::scatter_sums(&grad_output, &pooled.indices, input.shape))
        }
    };
    let [values, magnitude] = [sums.values, sums.magnitude].map(|grid| exhibit.reading.unread(grid));
    [forward, compare::values(&tensors.grad_input.tensor, &values, &magnitude, sums.n_terms)]
}

fn integers(indices: &Tensor) -> Vec<i64> {
    indices.as_slice::<i32>().unwrap_or_default().iter().map(|&index| i64::from(index)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::exhibit::exhibits;
    use super::*;

    // Oracle: a result that is spoiled by hand, one element at a time.
    #[test]
    fn one_wrong_element_is_seen() {
        let volume = Volume::open(None).unwrap();
        for exhibit in exhibits(volume.shape) {
            let mut tensors = Tensors::new(&exhibit, &volume, DType::F32).unwrap();
            for direction in [Direction::Forward, Direction::Gradient] {
                time(&exhibit, &mut tensors, direction, &PlanOptions::default()).unwrap();
            }
            let verdicts = |tensors: &Tensors| judge(&exhibit, tensors).map(|comparison| comparison.passed());
            assert_eq!(verdicts(&tensors), [true, true], "{}", exhibit.name);
            let mut spoil = |spoil: &dyn Fn(&mut Tensors), wanted| {
                spoil(&mut tensors);
                assert_eq!(verdicts(&tensors), wanted, "{}", exhibit.name);
            };
            let nudge = |tensor: &mut Tensor, by: f32| tensor.as_mut_slice::<f32>().unwrap()[1000] += by;
            spoil(&|tensors| nudge(&mut tensors.grad_input.tensor, 1.0), [true, false]);
            spoil(&|tensors| nudge(&mut tensors.output, 1.0), [false, false]);
            spoil(&|tensors| nudge(&mut tensors.output, -1.0), [true, false]);
            if tensors.indices.is_some() {
                let miss = |tensors: &mut Tensors| {
                    let indices = tensors.indices.as_mut().and_then(Tensor::as_mut_slice::<i32>);
                    indices.unwrap()[1000] ^= 1;
                };
                miss(&mut tensors);
                assert_eq!(verdicts(&tensors), [false, false], "{}", exhibit.name);
            }
        }
    }
}
