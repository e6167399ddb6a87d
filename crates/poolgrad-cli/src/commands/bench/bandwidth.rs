//! How fast this machine's memory is read and written: the two halves of the roofline.
//!
//! Reading is a sum over a buffer of random words, in the widest vectors there are, since some chips read less in narrow
//! ones. Writing is done in three ways, of which the fastest counts: the system's own fill with a byte that is not zero, and
//! the library's streaming stores and its ordinary ones, from a gradient of one average per plane, which reads next to
//! nothing. (Some chips write zeros at twice the speed of other data, so none of these writes any.)

use std::hint::black_box;
use std::time::Instant;

use fearless_simd::{Level, dispatch};
use poolgrad::{DType, Operands, Plan, PlanOptions, Tensor};
use poolgrad_check::{Problem, Random};

use crate::failure::Failure;
use crate::machine;

/// The most bytes that a cache is taken to keep from call to call; larger ones are shared by many processors.
const MOST_CACHED: u64 = 64 << 20;

/// The least and the most bytes of a buffer: beyond the cache, and within the memory of a small machine.
const BUFFER_BYTES: std::ops::RangeInclusive<u64> = 64 << 20..=4 * MOST_CACHED;

/// The bytes that the last-level cache is taken to keep.
pub(super) fn cached_bytes() -> u64 {
    machine::last_level_cache_bytes().min(MOST_CACHED)
}

/// Bytes per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bandwidth {
    pub(super) read: f64,
    pub(super) write: f64,
}

impl Bandwidth {
    /// The seconds that memory alone takes for this traffic.
    pub(super) fn seconds(&self, n_bytes_read: u64, n_bytes_written: u64) -> f64 {
        n_bytes_read as f64 / self.read + n_bytes_written as f64 / self.write
    }
}

/// The buffers in which bandwidth is measured.
pub(super) struct Memory {
    words: Vec<u64>,
    bytes: Vec<u8>,
    grad_output: Tensor,
    grad_input: Tensor,
    problem: Problem,
}

impl Memory {
    /// Buffers that no cache holds, all written once.
    ///
    /// # Errors
    /// If the library refuses the write probe.
    pub(super) fn new() -> Result<Self, Failure> {
        let n_bytes = (4 * cached_bytes()).clamp(*BUFFER_BYTES.start(), *BUFFER_BYTES.end());
        let mut random = Random::new(1);
        let words: Vec<u64> = (0..n_bytes / 8).map(|_| random.next_u64()).collect();
        // Planes of 256 KiB: many tiles, and long rows in each.
        let n_planes = n_bytes >> 18;
        let problem = format!("adaptive_avg_grad n1c{n_planes} in16x64x64 out1");
        let problem: Problem =
            problem.parse().map_err(|error: poolgrad_check::ParseError| Failure::work(error.to_string()))?;
        let failed = |error: poolgrad::LayoutError| Failure::work(error.to_string());
        let gradients: Vec<f32> = (0..n_planes).map(|_| random.signed_unit() as f32 + 2.0).collect();
        let output_shape = problem.output_shape().map_err(|error| Failure::work(error.to_string()))?;
        Ok(Self {
            words,
            bytes: vec![1; n_bytes as usize],
            grad_output: Tensor::from_vec(gradients, output_shape).map_err(failed)?,
            grad_input: Tensor::zeros(DType::F32, problem.input_shape()).map_err(failed)?,
            problem,
        })
    }

    /// The threads that the library uses on large tensors when it is not told otherwise.
    ///
    /// # Errors
    /// If the library refuses the write probe.
    pub(super) fn default_threads(&self) -> Result<usize, Failure> {
        Ok(self.plan(PlanOptions::default())?.explain().threads)
    }

    /// One measurement of both directions with `threads` threads: the fastest of two passes.
    ///
    /// # Errors
    /// If the library fails to run the write probe.
    pub(super) fn measure(&mut self, threads: usize) -> Result<Bandwidth, Failure> {
        let (mut read, mut write) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..2 {
            read = read.min(self.read_seconds(threads));
            write = write.min(self.fill_seconds(threads));
            for streaming in [true, false] {
                write =
                    write.min(self.store_seconds(PlanOptions::default().threads(threads).streaming(streaming))?);
            }
        }
        let n_bytes = self.bytes.len() as f64;
        Ok(Bandwidth { read: n_bytes / read, write: n_bytes / write })
    }

    fn read_seconds(&self, threads: usize) -> f64 {
        let start = Instant::now();
        let parts = self.words.chunks(self.words.len().div_ceil(threads)).collect();
        let level = Level::new();
        on_each(parts, &|part: &[u64]| {
            black_box(dispatch!(level, _simd => part.iter().fold(0, |sum: u64, &word| sum.wrapping_add(word))));
        });
        start.elapsed().as_secs_f64()
    }

    fn fill_seconds(&mut self, threads: usize) -> f64 {
        // A byte other than the last one, so that every line changes.
        let byte = self.bytes.first().map_or(1, |byte| byte % 255 + 1);
        let start = Instant::now();
        let part_len = self.bytes.len().div_ceil(threads);
        on_each(self.bytes.chunks_mut(part_len).collect(), &|part: &mut [u8]| part.fill(byte));
        start.elapsed().as_secs_f64()
    }

    fn store_seconds(&mut self, options: PlanOptions) -> Result<f64, Failure> {
        let plan = self.plan(options)?;
        let mut workspace = vec![0; plan.workspace_bytes()];
        let operands =
            Operands::Spread { grad_output: self.grad_output.view(), grad_input: self.grad_input.view_mut() };
        let start = Instant::now();
        plan.execute(operands, &mut workspace).map_err(|error| Failure::work(error.to_string()))?;
        Ok(start.elapsed().as_secs_f64())
    }

    fn plan(&self, options: PlanOptions) -> Result<Plan, Failure> {
        let operands = Operands::Spread {
            grad_output: *self.grad_output.view().desc(),
            grad_input: *self.grad_input.view().desc(),
        };
        Plan::with_options(&self.problem.spec, &operands, &options)
            .map_err(|error| Failure::work(error.to_string()))
    }
}

/// Runs `work` on every part at once, on the pool that the library uses too.
fn on_each<P: Send>(mut parts: Vec<P>, work: &(impl Fn(P) + Sync)) {
    if 1 < parts.len() {
        let right = parts.split_off(parts.len() / 2);
        rayon::join(|| on_each(parts, work), || on_each(right, work));
    } else {
        parts.into_iter().for_each(work);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: the definition, by hand.
    #[test]
    fn the_roofline_adds_reading_and_writing() {
        let bandwidth = Bandwidth { read: 50e9, write: 40e9 };
        assert_eq!(bandwidth.seconds(100_000_000, 200_000_000), 0.007);
    }

    /// Oracle: each part counted once.
    #[test]
    fn every_part_is_worked_on() {
        for n_parts in 1..6_u64 {
            let sum = std::sync::atomic::AtomicU64::new(0);
            on_each((1..=n_parts).collect(), &|part| {
                sum.fetch_add(part, std::sync::atomic::Ordering::Relaxed);
            });
            assert_eq!(sum.into_inner(), n_parts * (n_parts + 1) / 2);
        }
    }
}
