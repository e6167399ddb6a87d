//! The workers of one call: the same function runs on each, with scratch memory of its own.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::simd::Isa;

/// The workers of one call, with the scratch memory that belongs to them.
pub(crate) struct Crew<'a> {
    pub(crate) isa: Isa,
    pub(crate) n_workers: usize,
    /// Scratch of each worker, one after the other.
    pub(crate) scratch: &'a mut [u8],
    /// The bytes of one worker's scratch.
    pub(crate) bytes_per_worker: usize,
}

impl Crew<'_> {
    /// Runs `work` on every worker and returns when all are done.
    ///
    /// Workers share out what there is to do among themselves, from a [`Queue`] or a target's tiles: one that comes
    /// late finds nothing left. So a pool with fewer threads than workers, or a busy one, is no problem, and a
    /// single worker does everything on the caller's thread.
    pub(crate) fn run(&mut self, work: &(impl Fn(&mut [u8]) + Sync)) {
        fan_out(self.scratch, self.n_workers, self.bytes_per_worker, work);
    }
}

/// A tree of joins: `rayon::join` keeps both halves on the stack, where a scope would allocate each task.
fn fan_out(scratch: &mut [u8], n_workers: usize, bytes: usize, work: &(impl Fn(&mut [u8]) + Sync)) {
    #[cfg(feature = "rayon")]
    if n_workers > 1 {
        let left_workers = n_workers / 2;
        let (left, right) = scratch.split_at_mut(left_workers * bytes);
        rayon::join(
            || fan_out(left, left_workers, bytes, work),
            || fan_out(right, n_workers - left_workers, bytes, work),
        );
        return;
    }
    let _ = n_workers;
    work(&mut scratch[..bytes]);
}

/// The most workers that can run at once: the threads of the current pool, or one without the `rayon` feature.
///
/// `POOLGRAD_NUM_THREADS`, read once, limits it further.
pub(crate) fn max_workers() -> usize {
    #[cfg(feature = "rayon")]
    {
        static LIMIT: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
        let limit = *LIMIT.get_or_init(|| {
            let limit = std::env::var("POOLGRAD_NUM_THREADS").ok().and_then(|text| text.trim().parse().ok());
            limit.filter(|&n| n > 0).unwrap_or(usize::MAX)
        });
        rayon::current_num_threads().min(limit)
    }
    #[cfg(not(feature = "rayon"))]
    1
}

/// Numbers from 0 up, each handed out once.
pub(crate) struct Queue {
    next: AtomicUsize,
    len: usize,
}

impl Queue {
    pub(crate) fn new(len: usize) -> Self {
        Self { next: AtomicUsize::new(0), len }
    }

    pub(crate) fn claim(&self) -> Option<usize> {
        let advance = |id: usize| (id < self.len).then_some(id + 1);
        self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, advance).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn the_queue_is_emptied_once_by_any_number_of_workers() {
        for n_workers in [1, 2, 3, 7] {
            let (queue, seen) = (Queue::new(50), Mutex::new(Vec::new()));
            let mut scratch = vec![0; n_workers * 8];
            let mut crew = Crew { isa: Isa::best(), n_workers, scratch: &mut scratch, bytes_per_worker: 8 };
            crew.run(&|scratch| {
                assert_eq!(scratch.len(), 8);
                while let Some(id) = queue.claim() {
                    seen.lock().unwrap().push(id);
                }
            });
            let mut seen = seen.into_inner().unwrap();
            seen.sort_unstable();
            assert_eq!(seen, (0..50).collect::<Vec<_>>());
        }
    }
}
