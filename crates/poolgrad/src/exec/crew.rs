//! The workers of one call: the same function runs on each, with scratch memory of its own.

use std::ops::Range;
#[cfg(feature = "rayon")]
use std::sync::atomic::AtomicBool;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::floats::with_all_numbers;
use crate::simd::Isa;

/// The workers of one call, with the scratch memory that belongs to them.
pub(crate) struct Crew<'a> {
    pub(crate) isa: Isa,
    pub(crate) n_workers: usize,
    /// Scratch of each worker, one after the other, and perhaps more.
    pub(crate) scratch: &'a mut [u8],
    /// The bytes of one worker's scratch.
    pub(crate) bytes_per_worker: usize,
}

impl Crew<'_> {
    /// The same workers with so many bytes each, and the memory that is left.
    pub(crate) fn with_scratch(&mut self, bytes_per_worker: usize) -> (Crew<'_>, &mut [u8]) {
        let (scratch, rest) = self.scratch.split_at_mut(self.n_workers * bytes_per_worker);
        (Crew { isa: self.isa, n_workers: self.n_workers, scratch, bytes_per_worker }, rest)
    }

    /// Runs `work` on every worker, with its number and its scratch, and returns when all are done. The caller's thread is
    /// the worker with number 0.
    ///
    /// Workers share out what there is to do among themselves, from a [`Queue`] or a target's tiles: one that comes
    /// late finds nothing left. So a pool with fewer threads than workers, or a busy one, is no problem, and a
    /// single worker does everything on the caller's thread.
    pub(crate) fn run(&mut self, work: &(impl Fn(usize, &mut [u8]) + Sync)) {
        // Threads may have been told to compute in ways of their own.
        let work = &|worker, scratch: &mut [u8]| with_all_numbers(|| work(worker, scratch));
        #[cfg(feature = "rayon")]
        if self.n_workers > 1 && rayon::current_thread_index().is_none() {
            return self.run_beside_pool(work);
        }
        fan_out(0..self.n_workers, self.scratch, self.bytes_per_worker, work);
    }

    /// [`Crew::run`] for a caller that is not a thread of the pool.
    ///
    /// A join would hand in all of the work and let the caller sleep: one thread of the pool would have to be woken before
    /// anything is done, another by that one, and the caller in the end. The price of a scope is that it boxes its task.
    #[cfg(feature = "rayon")]
    fn run_beside_pool(&mut self, work: &(impl Fn(usize, &mut [u8]) + Sync)) {
        let (bytes, others) = (self.bytes_per_worker, 1..self.n_workers);
        let (own, scratch) = self.scratch.split_at_mut(bytes);
        let are_done = AtomicBool::new(false);
        rayon::in_place_scope(|scope| {
            scope.spawn(|_| {
                fan_out(others, scratch, bytes, work);
                are_done.store(true, Ordering::Release);
            });
            work(0, own);
            // The scope would put the caller to sleep at once, though what the others still do is often less than a tile.
            (0..SPINS).any(|_| {
                std::hint::spin_loop();
                are_done.load(Ordering::Acquire)
            });
        });
    }
}

/// How often to look whether others are done before going to sleep: for a few times as long as it takes to wake a thread.
#[cfg(feature = "rayon")]
const SPINS: usize = 2000;

/// A tree of joins: `rayon::join` keeps both halves on the stack, where a scope would allocate each task.
fn fan_out(workers: Range<usize>, scratch: &mut [u8], bytes: usize, work: &(impl Fn(usize, &mut [u8]) + Sync)) {
    #[cfg(feature = "rayon")]
    if workers.len() > 1 {
        let middle = workers.start + workers.len() / 2;
        let (left, right) = scratch.split_at_mut((middle - workers.start) * bytes);
        rayon::join(
            || fan_out(workers.start..middle, left, bytes, work),
            || fan_out(middle..workers.end, right, bytes, work),
        );
        return;
    }
    work(workers.start, &mut scratch[..bytes]);
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
    use std::thread::{self, ThreadId};

    /// The threads that the workers of a crew of four ran on.
    fn threads_of_workers() -> Vec<(usize, ThreadId)> {
        let seen = Mutex::new(Vec::new());
        let mut scratch = vec![0; 4 * 8];
        let mut crew = Crew { isa: Isa::best(), n_workers: 4, scratch: &mut scratch, bytes_per_worker: 8 };
        crew.run(&|worker, _| seen.lock().unwrap().push((worker, thread::current().id())));
        let mut seen = seen.into_inner().unwrap();
        seen.sort_unstable_by_key(|&(worker, _)| worker);
        seen
    }

    #[test]
    fn the_caller_is_the_first_worker() {
        let check = || {
            let seen = threads_of_workers();
            let workers: &[usize] = if cfg!(feature = "rayon") { &[0, 1, 2, 3] } else { &[0] };
            assert_eq!(seen.iter().map(|&(worker, _)| worker).collect::<Vec<_>>(), workers);
            assert_eq!(seen[0].1, thread::current().id());
        };
        check();
        #[cfg(feature = "rayon")]
        rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap().install(check);
    }

    #[cfg(feature = "rayon")]
    #[test]
    #[should_panic(expected = "worker 2")]
    fn a_panic_reaches_the_caller() {
        let mut scratch = vec![0; 4 * 8];
        let mut crew = Crew { isa: Isa::best(), n_workers: 4, scratch: &mut scratch, bytes_per_worker: 8 };
        crew.run(&|worker, _| assert!(worker != 2, "worker {worker}"));
    }

    #[test]
    fn the_queue_is_emptied_once_by_any_number_of_workers() {
        for n_workers in [1, 2, 3, 7] {
            let (queue, seen) = (Queue::new(50), Mutex::new(Vec::new()));
            let mut scratch = vec![0; n_workers * 8];
            let mut crew = Crew { isa: Isa::best(), n_workers, scratch: &mut scratch, bytes_per_worker: 8 };
            crew.run(&|_, scratch| {
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
