//! Streams: queues of tasks that run one after the other.
//!
//! A task that is short runs at once on the thread that gives it, if nothing is queued before it: waking another
//! thread would take longer than the task. Otherwise it is queued for the stream's own thread, which is started by the
//! first task that needs it. Either way tasks run in the order in which they were given, one at a time.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use super::lock;
use crate::codes;
use crate::fault::{Fault, Outcome};
use crate::ffi::boundary;
use crate::ffi::handle::{Key, Object, Registry};

/// Something that a stream does.
pub(crate) trait Task: Send + 'static {
    /// Whether it takes no longer than waking another thread would.
    fn is_short(&self) -> bool;
    /// Whether it has to be done even when tasks are skipped after a failure.
    fn is_marker(&self) -> bool {
        false
    }
    /// Does it.
    fn run(&mut self) -> Outcome;
}

/// What a stream is made with.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StreamConfig {
    pub(crate) priority: u32,
    pub(crate) flags: u32,
}

/// A queue of tasks and the thread that does them.
pub(crate) struct Stream {
    id: u32,
    config: StreamConfig,
    /// The context it belongs to, by its number.
    context: usize,
    /// What C calls it by.
    key: OnceLock<Key>,
    state: Mutex<State>,
    /// Told when a task is queued, or when the thread should end.
    work: Condvar,
    /// Told when a task is done.
    done: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Box<dyn Task>>,
    is_busy: bool,
    n_given: u64,
    n_done: u64,
    n_waiting: usize,
    worker: Worker,
    is_closed: bool,
    stops_on_failure: bool,
    overflow_switch: u32,
    /// The first failure that has not been reported, and the number of its task.
    failure: Option<(u64, Fault)>,
}

#[derive(Default)]
struct Worker {
    thread: Option<JoinHandle<()>>,
    is_running: bool,
    is_idle: bool,
    should_end: bool,
}

impl Object for Stream {
    const NAME: &'static str = "stream";
    const KIND: usize = 1;
    fn registry() -> &'static Registry<Self> {
        static STREAMS: Registry<Stream> = Registry::new();
        &STREAMS
    }
}

/// The most streams that there are at a time, as on the device.
pub(crate) const MOST_STREAMS: usize = 1984;
static N_STREAMS: AtomicUsize = AtomicUsize::new(0);

/// How many streams can still be made.
pub(crate) fn n_available() -> usize {
    MOST_STREAMS.saturating_sub(N_STREAMS.load(Ordering::Relaxed))
}

impl Drop for Stream {
    fn drop(&mut self) {
        N_STREAMS.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Stream {
    /// A stream of the context with number `context`, which C can name.
    pub(crate) fn new(context: usize, config: StreamConfig) -> Outcome<Arc<Self>> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let take = |n: usize| (n < MOST_STREAMS).then_some(n + 1);
        if N_STREAMS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_err() {
            let text = format!("there are {MOST_STREAMS} streams already; destroy one first");
            return Err(Fault::new(codes::RT_NO_STREAM_RESOURCE, text));
        }
        let stream = Arc::new(Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            config,
            context,
            key: OnceLock::new(),
            state: Mutex::default(),
            work: Condvar::new(),
            done: Condvar::new(),
        });
        stream.key.get_or_init(|| Self::registry().insert(Arc::clone(&stream)));
        Ok(stream)
    }

    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    pub(crate) fn config(&self) -> StreamConfig {
        self.config
    }

    pub(crate) fn context(&self) -> usize {
        self.context
    }

    /// What C calls it by.
    pub(crate) fn key(&self) -> Option<Key> {
        self.key.get().copied()
    }

    /// Runs a task after all those given before; returns its number.
    pub(crate) fn give(self: &Arc<Self>, mut task: impl Task) -> Outcome<u64> {
        let mut state = lock(&self.state);
        if state.is_closed {
            return Err(Fault::new(codes::RT_INVALID_HANDLE, "the stream is destroyed"));
        }
        state.n_given += 1;
        let number = state.n_given;
        if !state.is_busy && state.queue.is_empty() && task.is_short() {
            state.is_busy = true;
            let skip = state.skips(&task);
            drop(state);
            let result = if skip { Ok(()) } else { guarded(&mut task) };
            drop(task);
            self.finish(lock(&self.state), result);
            return Ok(number);
        }
        state.queue.push_back(Box::new(task));
        self.wake(&mut state)?;
        Ok(number)
    }

    /// Has the thread look at the queue.
    fn wake(self: &Arc<Self>, state: &mut State) -> Outcome {
        if !state.worker.is_running {
            let stream = Arc::clone(self);
            let name = format!("stream {}", self.id);
            let thread = thread::Builder::new().name(name).spawn(move || stream.work_off()).map_err(|error| {
                state.n_given -= 1;
                state.queue.pop_back();
                Fault::new(codes::RT_NO_STREAM_RESOURCE, format!("a stream's thread cannot be started: {error}"))
            })?;
            // The handle of a thread that has ended is dropped with nothing left to wait for.
            state.worker.thread = Some(thread);
            state.worker.is_running = true;
        } else if state.worker.is_idle {
            self.work.notify_one();
        }
        Ok(())
    }

    /// What the stream's thread does.
    fn work_off(self: Arc<Self>) {
        let mut state = lock(&self.state);
        loop {
            if !state.is_busy
                && let Some(mut task) = state.queue.pop_front()
            {
                state.is_busy = true;
                let skip = state.skips(task.as_ref());
                drop(state);
                let result = if skip { Ok(()) } else { guarded(task.as_mut()) };
                drop(task);
                self.finish(lock(&self.state), result);
                state = lock(&self.state);
            } else if state.queue.is_empty() && state.worker.should_end {
                state.worker.is_running = false;
                return;
            } else {
                state.worker.is_idle = true;
                state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.worker.is_idle = false;
            }
        }
    }

    /// Counts a task as done and tells whoever waits.
    fn finish(&self, mut state: MutexGuard<'_, State>, result: Outcome) {
        state.is_busy = false;
        state.n_done += 1;
        if let Err(fault) = result {
            let number = state.n_done;
            state.failure.get_or_insert((number, fault));
        }
        if state.n_waiting > 0 {
            self.done.notify_all();
        }
        if state.worker.is_idle && !state.queue.is_empty() {
            self.work.notify_one();
        }
    }

    /// The number of the last task given.
    pub(crate) fn n_given(&self) -> u64 {
        lock(&self.state).n_given
    }

    /// Whether nothing is queued or running.
    pub(crate) fn is_done(&self) -> bool {
        let state = lock(&self.state);
        state.n_done == state.n_given
    }

    /// Waits until task `number` is done; `false` if that takes beyond `deadline`.
    pub(crate) fn wait(&self, number: u64, deadline: Option<Instant>) -> bool {
        let mut state = lock(&self.state);
        while state.n_done < number {
            state.n_waiting += 1;
            state = match deadline {
                None => self.done.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        state.n_waiting -= 1;
                        return false;
                    }
                    self.done.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
            state.n_waiting -= 1;
        }
        true
    }

    /// The failure of a task up to `number`, which is reported once.
    pub(crate) fn take_failure(&self, number: u64) -> Outcome {
        let mut state = lock(&self.state);
        match state.failure.take_if(|(failed, _)| *failed <= number) {
            Some((_, fault)) => Err(fault),
            None => Ok(()),
        }
    }

    /// Waits for everything given so far, and reports a failure.
    pub(crate) fn synchronize(&self, deadline: Option<Instant>) -> Outcome {
        let number = self.n_given();
        if !self.wait(number, deadline) {
            let text = format!("stream {} was not done in time", self.id);
            return Err(Fault::new(codes::RT_STREAM_SYNC_TIMEOUT, text));
        }
        self.take_failure(number)
    }

    /// Drops the tasks that have not begun.
    pub(crate) fn abort(&self) {
        let mut state = lock(&self.state);
        let dropped = std::mem::take(&mut state.queue);
        state.n_done += dropped.len() as u64;
        if state.n_waiting > 0 {
            self.done.notify_all();
        }
        drop(state);
        // Dropped without the lock: events among them tell others that wait.
        drop(dropped);
    }

    /// Takes no more tasks, does or drops those that wait, and ends.
    pub(crate) fn close(&self, waiting: Waiting) {
        if let Some(key) = self.key() {
            Self::registry().remove(key);
        }
        lock(&self.state).is_closed = true;
        match waiting {
            Waiting::Run => self.retire(),
            // The thread ends by itself after the task that it is at.
            Waiting::Drop => {
                self.abort();
                lock(&self.state).worker.should_end = true;
                self.work.notify_all();
            }
        }
    }

    /// Waits for everything given so far, and for the stream's thread to end; a later task starts another.
    pub(crate) fn retire(&self) {
        self.wait(self.n_given(), None);
        let mut state = lock(&self.state);
        state.worker.should_end = true;
        let thread = state.worker.thread.take();
        self.work.notify_all();
        drop(state);
        // The thread catches what tasks do; there is nothing to learn from how it ended.
        let _ = thread.map(JoinHandle::join);
        lock(&self.state).worker.should_end = false;
    }

    pub(crate) fn set_stops_on_failure(&self, stops: StopsOnFailure) {
        lock(&self.state).stops_on_failure = stops.0;
    }

    /// The number that the overflow switch was set to, which nothing here depends on.
    pub(crate) fn overflow_switch(&self, new: Option<u32>) -> u32 {
        let mut state = lock(&self.state);
        if let Some(new) = new {
            state.overflow_switch = new;
        }
        state.overflow_switch
    }
}

/// Whether tasks behind a failed one are skipped until the failure is reported.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StopsOnFailure(pub(crate) bool);

/// What becomes of the tasks that wait when a stream is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    Run,
    Drop,
}

impl State {
    fn skips(&self, task: &dyn Task) -> bool {
        self.stops_on_failure && self.failure.is_some() && !task.is_marker()
    }
}

/// Runs a task; a failure is written to the log here, when it happens, and is said again where it is reported.
fn guarded(task: &mut dyn Task) -> Outcome {
    let result = catch_unwind(AssertUnwindSafe(|| task.run())).unwrap_or_else(|_| {
        let text = "internal error: this is a bug in poolgrad, please report it";
        Err(Fault::new(codes::RT_INTERNAL_ERROR, text))
    });
    result.map_err(|mut fault| {
        boundary::write("a stream", &fault);
        fault.is_logged = true;
        fault
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::Duration;

    /// A task that may wait for a go, tells its number and ends as it is told.
    struct Step {
        go: Option<Receiver<()>>,
        told: Sender<u32>,
        number: u32,
        result: Outcome,
    }

    impl Task for Step {
        fn is_short(&self) -> bool {
            self.go.is_none()
        }
        fn run(&mut self) -> Outcome {
            if let Some(go) = &self.go {
                go.recv().unwrap();
            }
            self.told.send(self.number).unwrap();
            self.result.clone()
        }
    }

    fn stream() -> Arc<Stream> {
        Stream::new(usize::MAX, StreamConfig::default()).unwrap()
    }

    fn failed() -> Outcome {
        Err(Fault::new(codes::RT_VECTOR_CORE_EXCEPTION, "on purpose"))
    }

    #[test]
    fn tasks_run_in_order_whoever_runs_them() {
        let (stream, (told, heard)) = (stream(), channel());
        let (go, gate) = channel();
        let step = |number, go| Step { go, told: told.clone(), number, result: Ok(()) };
        stream.give(step(0, None)).unwrap();
        assert!(stream.is_done(), "a short task runs at once");
        stream.give(step(1, Some(gate))).unwrap();
        stream.give(step(2, None)).unwrap();
        assert!(!stream.is_done());
        let soon = Instant::now() + Duration::from_millis(5);
        assert_eq!(stream.synchronize(Some(soon)).unwrap_err().code, codes::RT_STREAM_SYNC_TIMEOUT);
        go.send(()).unwrap();
        stream.synchronize(None).unwrap();
        stream.retire();
        stream.give(step(3, None)).unwrap();
        stream.close(Waiting::Run);
        assert!(stream.give(step(4, None)).is_err(), "a closed stream takes no task");
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), [0, 1, 2, 3]);
    }

    #[test]
    fn a_failure_is_reported_once_and_later_tasks_run() {
        let (stream, (told, heard)) = (stream(), channel());
        let step = |number, result| Step { go: None, told: told.clone(), number, result };
        stream.give(step(0, failed())).unwrap();
        stream.give(step(1, Ok(()))).unwrap();
        assert_eq!(stream.take_failure(0), Ok(()), "the failure is that of the first task");
        assert_eq!(stream.synchronize(None).unwrap_err().code, codes::RT_VECTOR_CORE_EXCEPTION);
        assert_eq!(stream.synchronize(None), Ok(()));
        stream.set_stops_on_failure(StopsOnFailure(true));
        stream.give(step(2, failed())).unwrap();
        stream.give(step(3, Ok(()))).unwrap();
        assert!(stream.synchronize(None).is_err());
        stream.give(step(4, Ok(()))).unwrap();
        stream.close(Waiting::Run);
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), [0, 1, 2, 4], "the third is skipped");
    }

    #[test]
    fn what_is_dropped_counts_as_done() {
        for force in [false, true] {
            let (stream, (told, heard)) = (stream(), channel());
            let (go, gate) = channel();
            stream.give(Step { go: Some(gate), told: told.clone(), number: 0, result: Ok(()) }).unwrap();
            while lock(&stream.state).queue.len() == 1 {
                thread::yield_now();
            }
            stream.give(Step { go: None, told, number: 1, result: Ok(()) }).unwrap();
            if force {
                stream.close(Waiting::Drop)
            } else {
                stream.abort()
            }
            go.send(()).unwrap();
            assert!(stream.wait(2, None));
            assert_eq!(heard.iter().collect::<Vec<_>>(), [0]);
        }
    }
}
