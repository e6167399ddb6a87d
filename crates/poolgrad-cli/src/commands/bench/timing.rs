//! Times of runs, and what is said about them.

use std::time::Instant;

use poolgrad::Plan;

use super::bandwidth::{Bandwidth, Memory};
use super::subject::Subject;
use crate::failure::Failure;

/// The runs of a problem are spread over rounds, each of which visits every way to run it and measures the bandwidth
/// anew: what disturbs the machine for a while then disturbs all of them.
const ROUNDS: usize = 5;

/// A single measurement lasts at least this long; shorter calls are made several times in a row.
const SAMPLE_SECONDS: f64 = 30e-6;

/// How long to measure.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    rounds: usize,
    /// The measurements of one round go on until there are this many and this much time has passed.
    runs_per_round: usize,
    seconds_per_round: f64,
}

impl Effort {
    /// At least 9 runs and 0.3 seconds.
    pub(super) const FULL: Self = Self { rounds: ROUNDS, runs_per_round: 2, seconds_per_round: 0.06 };

    /// At least 9 runs.
    pub(super) const QUICK: Self = Self { rounds: 3, runs_per_round: 3, seconds_per_round: 0.0 };

    /// At least this many runs, and no more than one for each round on top.
    pub(super) fn runs(n_runs: usize) -> Self {
        let rounds = ROUNDS.min(n_runs);
        Self { rounds, runs_per_round: n_runs.div_ceil(rounds), seconds_per_round: 0.0 }
    }
}

/// Measurements of one thing, sorted.
#[derive(Clone, Debug)]
pub(super) struct Samples(Vec<f64>);

impl Samples {
    fn new(mut samples: Vec<f64>) -> Self {
        samples.sort_by(f64::total_cmp);
        Self(samples)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The value below which this part of the samples lies, by linear interpolation; NaN if there are none.
    fn quantile(&self, part: f64) -> f64 {
        let place = part * self.0.len().saturating_sub(1) as f64;
        let at = |place: f64| self.0.get(place as usize).copied().unwrap_or(f64::NAN);
        at(place.floor()) + (at(place.ceil()) - at(place.floor())) * place.fract()
    }

    pub(super) fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    pub(super) fn min(&self) -> f64 {
        self.quantile(0.0)
    }

    /// The distance between the quartiles, as a part of the median.
    pub(super) fn spread(&self) -> f64 {
        (self.quantile(0.75) - self.quantile(0.25)) / self.median()
    }
}

/// A way to run a problem: its plan and its workspace.
pub(super) struct Contender {
    pub(super) plan: Plan,
    pub(super) workspace: Vec<u8>,
    /// The threads that it may use.
    pub(super) threads: usize,
}

impl Contender {
    /// Runs once.
    ///
    /// # Errors
    /// If the library fails.
    pub(super) fn run(&mut self, subject: &mut Subject) -> Result<(), Failure> {
        let done = self.plan.execute(subject.views(), &mut self.workspace);
        done.map_err(|error| Failure::work(format!("{}: {error}", subject.problem())))
    }

    /// The seconds of one of `n_calls` runs.
    fn seconds(&mut self, subject: &mut Subject, n_calls: usize) -> Result<f64, Failure> {
        let start = Instant::now();
        for _ in 0..n_calls {
            self.run(subject)?;
        }
        Ok(start.elapsed().as_secs_f64() / n_calls as f64)
    }
}

/// What was measured of one contender.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    /// Seconds.
    pub(super) times: Samples,
    /// The medians over the rounds.
    pub(super) bandwidth: Bandwidth,
}

/// Times the contenders in turn, and the memory between them.
///
/// # Errors
/// If the library fails.
pub(super) fn measure(
    subject: &mut Subject,
    contenders: &mut [Contender],
    memory: &mut Memory,
    effort: Effort,
) -> Result<Vec<Measured>, Failure> {
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); contenders.len()];
    let mut bandwidths: Vec<Vec<Bandwidth>> = vec![Vec::new(); contenders.len()];
    for _ in 0..effort.rounds {
        for (i, contender) in contenders.iter_mut().enumerate() {
            bandwidths[i].push(memory.measure(contender.threads)?);
            // The memory's measurement has emptied the cache, so the first run does not count. It tells how many
            // calls are needed for a time that the clock can resolve.
            let first = contender.seconds(subject, 1)?;
            let n_calls = (SAMPLE_SECONDS / first.max(1e-9)).ceil().max(1.0) as usize;
            let start = Instant::now();
            for n_runs in 0.. {
                if effort.runs_per_round <= n_runs && effort.seconds_per_round <= start.elapsed().as_secs_f64() {
                    break;
                }
                times[i].push(contender.seconds(subject, n_calls)?);
            }
        }
    }
    let median = |rounds: &[Bandwidth], direction: fn(&Bandwidth) -> f64| {
        Samples::new(rounds.iter().map(direction).collect()).median()
    };
    let measured = |(times, rounds): (Vec<f64>, Vec<Bandwidth>)| Measured {
        times: Samples::new(times),
        bandwidth: Bandwidth {
            read: median(&rounds, |bandwidth| bandwidth.read),
            write: median(&rounds, |bandwidth| bandwidth.write),
        },
    };
    Ok(times.into_iter().zip(bandwidths).map(measured).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: by hand.
    #[test]
    fn quantiles_are_interpolated() {
        let samples = Samples::new(vec![4.0, 1.0, 2.0, 3.0, 10.0]);
        assert_eq!((samples.median(), samples.min()), (3.0, 1.0));
        assert_eq!(samples.spread(), (4.0 - 2.0) / 3.0);
        assert_eq!(Samples::new(vec![1.0, 2.0]).median(), 1.5);
        assert!(Samples::new(Vec::new()).median().is_nan());
    }

    /// Oracle: the number that was asked for.
    #[test]
    fn efforts_reach_the_number_of_runs() {
        for n_runs in 1..30 {
            let effort = Effort::runs(n_runs);
            let got = effort.rounds * effort.runs_per_round;
            assert!((n_runs..n_runs + ROUNDS).contains(&got), "{n_runs}: {got}");
        }
        for effort in [Effort::FULL, Effort::QUICK] {
            assert!(9 <= effort.rounds * effort.runs_per_round);
        }
    }
}
