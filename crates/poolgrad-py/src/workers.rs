//! Threads: when several may work on a call, and how a forked child gets its own.
//!
//! The core works on rayon's global pool. A fork copies the pool's records but not its threads, so a child that used
//! it would wait for ever. The first process that plans anything owns the global pool; any other is a fork of it, and
//! gets a pool of its own the first time that several threads are wanted.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

/// No problem with fewer elements than this is worth more threads than one.
pub(crate) const PARALLEL_FROM: i64 = 64 << 10;

/// The process that the global pool belongs to, and whether it could be started there.
static HOME: OnceLock<(u32, bool)> = OnceLock::new();

/// The pool of a forked process, with the process that it belongs to. Locked with the interpreter held only, as forks
/// are made, so no child finds it locked.
static FORKED: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// Where the threads of a call come from.
pub(crate) enum Workers {
    /// The global pool, which is there.
    Global,
    /// A pool of this process.
    Own(Arc<ThreadPool>),
    /// There are none: the system refused to start any.
    None,
}

/// The threads of this process, started if need be.
pub(crate) fn workers() -> Workers {
    let process = std::process::id();
    let &(home, is_started) = HOME.get_or_init(|| (process, ThreadPoolBuilder::new().build_global().is_ok()));
    if home == process {
        return if is_started { Workers::Global } else { Workers::None };
    }
    let mut forked = FORKED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((owner, pool)) = &*forked
        && *owner == process
    {
        return Workers::Own(Arc::clone(pool));
    }
    let Ok(pool) = ThreadPoolBuilder::new().build() else { return Workers::None };
    let pool = Arc::new(pool);
    // The parent's pool is left as it is: taking it down would signal threads that are not there.
    std::mem::forget(forked.replace((process, Arc::clone(&pool))));
    Workers::Own(pool)
}
