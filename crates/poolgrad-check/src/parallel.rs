//! Many independent problems on all processors.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Calls `run` with every item and returns the results in the order of `items`.
///
/// The threads are no pool's: what `run` calls may wait for a pool without starting on another item meanwhile, as a
/// thread of that pool would.
///
/// # Panics
/// If `run` does.
///
/// # Examples
/// ```
/// assert_eq!(poolgrad_check::on_all_processors(&[3, 1, 2], |n| n * n), [9, 1, 4]);
/// ```
pub fn on_all_processors<T: Sync, R: Send>(items: &[T], run: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let position = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(position) else { return done };
            done.push((position, run(item)));
        }
    };
    let n_threads = thread::available_parallelism().map_or(1, usize::from).min(items.len());
    let mut done: Vec<(usize, R)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..n_threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap_or_else(|cause| resume_unwind(cause))).collect()
    });
    done.sort_unstable_by_key(|&(position, _)| position);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::on_all_processors;

    // Oracle: the same on one thread.
    #[test]
    fn every_item_has_its_result_in_its_place() {
        let items: Vec<u64> = (0..50).collect();
        let wanted: Vec<u64> = items.iter().map(|n| n * n).collect();
        // Long enough for each thread to take some.
        let square = |n: &u64| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            n * n
        };
        assert_eq!(on_all_processors(&items, square), wanted);
        assert!(on_all_processors(&[], |n: &u64| *n).is_empty());
    }

    #[test]
    #[should_panic(expected = "item 7")]
    fn a_panic_is_passed_on() {
        on_all_processors(&[5, 6, 7], |n| assert_ne!(*n, 7, "item {n}"));
    }
}
