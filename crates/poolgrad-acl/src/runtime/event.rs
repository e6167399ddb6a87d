//! Events: marks in a stream that others wait for and that measure time.

use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::lock;
use super::stream::{Stream, Task};
use crate::codes;
use crate::fault::{Fault, Outcome};
use crate::ffi::handle::{Object, Registry};

/// Flag bits: whether a stream can wait for the event, and whether it measures time.
const SYNC: u32 = 1;

/// How an event was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    /// `aclrtCreateEvent` and `…WithFlag`.
    Plain,
    /// `aclrtCreateEventExWithFlag`.
    Extended,
}

/// A mark that can be recorded again and again.
pub(crate) struct Event {
    kind: EventKind,
    flags: u32,
    recorded: Mutex<Option<Record>>,
}

/// One recording.
#[derive(Clone)]
struct Record {
    mark: Arc<Mark>,
    stream: Weak<Stream>,
    number: u64,
}

/// What a recording is waiting for: the time at which the stream gets there.
#[derive(Default)]
struct Mark {
    reached: Mutex<Option<Instant>>,
    told: Condvar,
}

impl Object for Event {
    const NAME: &'static str = "event";
    const KIND: usize = 2;
    fn registry() -> &'static Registry<Self> {
        static EVENTS: Registry<Event> = Registry::new();
        &EVENTS
    }
}

impl Mark {
    fn reach(&self) {
        lock(&self.reached).get_or_insert_with(Instant::now);
        self.told.notify_all();
    }

    fn time(&self) -> Option<Instant> {
        *lock(&self.reached)
    }

    /// Waits; `false` if that takes beyond `deadline`.
    fn wait(&self, deadline: Option<Instant>) -> bool {
        let mut reached = lock(&self.reached);
        while reached.is_none() {
            reached = match deadline {
                None => self.told.wait(reached).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return false;
                    }
                    self.told.wait_timeout(reached, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        true
    }
}

impl Event {
    pub(crate) fn new(kind: EventKind, flags: u32) -> Self {
        Self { kind, flags, recorded: Mutex::new(None) }
    }

    pub(crate) fn kind(&self) -> EventKind {
        self.kind
    }

    fn latest(&self) -> Option<Record> {
        lock(&self.recorded).clone()
    }

    /// Records everything given to the stream so far.
    pub(crate) fn record(&self, stream: &Arc<Stream>) -> Outcome {
        let mark = Arc::new(Mark::default());
        // Held over the giving, so that two threads that record agree on which recording is the latest.
        let mut recorded = lock(&self.recorded);
        let number = stream.give(Reach(Arc::clone(&mark)))?;
        *recorded = Some(Record { mark, stream: Arc::downgrade(stream), number });
        Ok(())
    }

    /// Counts as never recorded, from where the stream is.
    pub(crate) fn reset(self: &Arc<Self>, stream: &Arc<Stream>) -> Outcome {
        stream.give(Forget(Arc::clone(self))).map(drop)
    }

    /// Has the stream wait for the latest recording; one that was never made is not waited for.
    pub(crate) fn hold(&self, stream: &Arc<Stream>, limit: Option<Duration>) -> Outcome {
        if self.flags != 0 && self.flags & SYNC == 0 {
            let text = "event must have ACL_EVENT_SYNC among its flags for a stream to wait for it";
            return Err(Fault::new(codes::RT_FEATURE_NOT_SUPPORT, text));
        }
        match self.latest() {
            None => Ok(()),
            Some(record) => stream.give(Wait { mark: record.mark, limit }).map(drop),
        }
    }

    /// Whether the latest recording is reached. One that was never made is for an extended event only.
    pub(crate) fn is_complete(&self) -> bool {
        self.latest().map_or(self.kind == EventKind::Extended, |record| record.mark.time().is_some())
    }

    /// Waits for the latest recording, and reports a failure of the tasks before it.
    pub(crate) fn synchronize(&self, deadline: Option<Instant>) -> Outcome {
        let Some(record) = self.latest() else { return Ok(()) };
        if !record.mark.wait(deadline) {
            return Err(Fault::new(codes::RT_EVENT_SYNC_TIMEOUT, "the event was not reached in time"));
        }
        record.stream.upgrade().map_or(Ok(()), |stream| stream.take_failure(record.number))
    }

    /// When the latest recording was reached; `name` is the argument's.
    pub(crate) fn time(&self, name: &str) -> Outcome<Instant> {
        let Some(record) = self.latest() else {
            return Err(Fault::new(codes::RT_INTERNAL_ERROR, format!("{name} was never recorded")));
        };
        let not_yet = || Fault::new(codes::RT_EVENT_TIMESTAMP_INVALID, format!("{name} is not complete yet"));
        record.mark.time().ok_or_else(not_yet)
    }
}

/// Microseconds from the first use of the clock to `time`.
pub(crate) fn microseconds(time: Instant) -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let start = *START.get_or_init(|| time);
    u64::try_from(time.saturating_duration_since(start).as_micros()).unwrap_or(u64::MAX)
}

/// Milliseconds from `start` to `end`, negative if they are the other way round.
pub(crate) fn milliseconds(start: Instant, end: Instant) -> f32 {
    let ahead = end.saturating_duration_since(start).as_secs_f64();
    let behind = start.saturating_duration_since(end).as_secs_f64();
    ((ahead - behind) * 1e3) as f32
}

/// The task that reaches a mark; whoever waits goes on even if the task is dropped.
struct Reach(Arc<Mark>);

impl Task for Reach {
    fn is_short(&self) -> bool {
        true
    }
    fn is_marker(&self) -> bool {
        true
    }
    fn run(&mut self) -> Outcome {
        self.0.reach();
        Ok(())
    }
}

impl Drop for Reach {
    fn drop(&mut self) {
        self.0.reach();
    }
}

struct Forget(Arc<Event>);

impl Task for Forget {
    fn is_short(&self) -> bool {
        true
    }
    fn is_marker(&self) -> bool {
        true
    }
    fn run(&mut self) -> Outcome {
        *lock(&self.0.recorded) = None;
        Ok(())
    }
}

struct Wait {
    mark: Arc<Mark>,
    limit: Option<Duration>,
}

impl Task for Wait {
    fn is_short(&self) -> bool {
        self.mark.time().is_some()
    }
    fn is_marker(&self) -> bool {
        true
    }
    fn run(&mut self) -> Outcome {
        let deadline = self.limit.and_then(|limit| Instant::now().checked_add(limit));
        if self.mark.wait(deadline) {
            return Ok(());
        }
        Err(Fault::new(codes::RT_WAIT_TIMEOUT, "the event that the stream waits for was not reached in time"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::stream::{StreamConfig, Waiting};

    fn stream() -> Arc<Stream> {
        Stream::new(usize::MAX, StreamConfig::default()).unwrap()
    }

    /// Occupies a stream until its sender is used or dropped.
    struct Gate(std::sync::mpsc::Receiver<()>);

    impl Task for Gate {
        fn is_short(&self) -> bool {
            false
        }
        fn run(&mut self) -> Outcome {
            let _ = self.0.recv();
            Ok(())
        }
    }

    #[test]
    fn a_stream_waits_for_what_an_event_recorded() {
        let (first, second) = (stream(), stream());
        let (go, gate) = std::sync::mpsc::channel();
        let event = Event::new(EventKind::Plain, 0);
        first.give(Gate(gate)).unwrap();
        event.record(&first).unwrap();
        event.hold(&second, None).unwrap();
        assert!(!event.is_complete() && !second.is_done());
        assert_eq!(event.time("e").unwrap_err().code, codes::RT_EVENT_TIMESTAMP_INVALID);
        let soon = Some(Instant::now() + Duration::from_millis(5));
        assert_eq!(event.synchronize(soon).unwrap_err().code, codes::RT_EVENT_SYNC_TIMEOUT);
        go.send(()).unwrap();
        second.synchronize(None).unwrap();
        assert!(event.is_complete());
        first.close(Waiting::Run);
        second.close(Waiting::Run);
    }

    #[test]
    fn a_dropped_recording_holds_nobody_up() {
        let (first, second) = (stream(), stream());
        let (go, gate) = std::sync::mpsc::channel();
        let event = Event::new(EventKind::Plain, 0);
        first.give(Gate(gate)).unwrap();
        event.record(&first).unwrap();
        event.hold(&second, None).unwrap();
        first.close(Waiting::Drop);
        drop(go);
        second.synchronize(None).unwrap();
        second.close(Waiting::Run);
    }

    #[test]
    fn a_wait_has_a_limit() {
        let (first, second) = (stream(), stream());
        let (go, gate) = std::sync::mpsc::channel();
        let event = Event::new(EventKind::Extended, SYNC);
        assert!(event.is_complete(), "an extended event that was never recorded");
        first.give(Gate(gate)).unwrap();
        event.record(&first).unwrap();
        event.hold(&second, Some(Duration::from_millis(1))).unwrap();
        assert_eq!(second.synchronize(None).unwrap_err().code, codes::RT_WAIT_TIMEOUT);
        drop(go);
        first.close(Waiting::Run);
        second.close(Waiting::Run);
        let timer = Event::new(EventKind::Plain, 8);
        assert_eq!(timer.hold(&first, None).unwrap_err().code, codes::RT_FEATURE_NOT_SUPPORT);
    }
}
