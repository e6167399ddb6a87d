//! Which worker has which tile.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The most sections: with more workers, some begin in the same one.
const SECTIONS: usize = 64;

/// Numbers from 0 up, each handed out once: to a worker those of its own section first, and then what others left.
///
/// So a worker begins where it began in the call before, and finds in its own cache what it wrote there then; lines that
/// change hands between processors are slower than any other memory that is near.
pub(super) struct Claims {
    len: usize,
    n_sections: usize,
    next: [AtomicUsize; SECTIONS],
}

impl Claims {
    /// The numbers below `len`, with a section for each of the workers.
    pub(super) fn new(len: usize, n_workers: usize) -> Self {
        let n_sections = n_workers.clamp(1, SECTIONS);
        let next =
            std::array::from_fn(|section| AtomicUsize::new(start_of(section.min(n_sections), n_sections, len)));
        Self { len, n_sections, next }
    }

    /// A number below `end` that nobody has had yet, or `None` if there is none.
    pub(super) fn claim_before(&self, end: usize, worker: usize) -> Option<usize> {
        let own = worker % self.n_sections;
        (own..self.n_sections).chain(0..own).find_map(|section| {
            let end = end.min(start_of(section + 1, self.n_sections, self.len));
            let advance = |number: usize| (number < end).then_some(number + 1);
            // Sections are disjoint, and the update gives every number of one to one caller only; that is all the
            // ordering that disjoint tiles need.
            self.next[section].fetch_update(Ordering::Relaxed, Ordering::Relaxed, advance).ok()
        })
    }
}

/// Where a section begins, of so many that differ by one number at most.
fn start_of(section: usize, n_sections: usize, len: usize) -> usize {
    len / n_sections * section + section.min(len % n_sections)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_claimed_once() {
        for len in [0, 1, 5, 64, 1000] {
            for n_workers in [0, 1, 2, 3, 64, 65, 1000] {
                let claims = Claims::new(len, n_workers);
                let mut claimed: Vec<_> = (0..).map_while(|i| claims.claim_before(usize::MAX, i * 7)).collect();
                claimed.sort_unstable();
                assert_eq!(claimed, (0..len).collect::<Vec<_>>(), "{n_workers} workers");
            }
        }
    }

    #[test]
    fn workers_begin_apart_and_help_each_other() {
        let claims = Claims::new(7, 3);
        assert_eq!([0, 1, 2].map(|worker| claims.claim_before(7, worker)), [Some(0), Some(3), Some(5)]);
        let rest: Vec<_> = (0..).map_while(|_| claims.claim_before(7, 1)).collect();
        assert_eq!(rest, [4, 6, 1, 2], "its own, and then the next one's");
    }

    #[test]
    fn numbers_from_the_end_on_are_kept() {
        let claims = Claims::new(10, 2);
        let claimed: Vec<_> = (0..).map_while(|_| claims.claim_before(6, 1)).collect();
        assert_eq!(claimed, [5, 0, 1, 2, 3, 4]);
        assert_eq!(claims.claim_before(7, 0), Some(6));
    }

    #[test]
    fn any_count_is_shared_out() {
        let claims = Claims::new(usize::MAX, 64);
        assert_eq!(claims.claim_before(usize::MAX, 63), Some(usize::MAX - usize::MAX / 64));
    }
}
