//! Contexts: a device with the streams that work on it.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use super::options::ContextOptions;
use super::stream::{Stream, StreamConfig, Waiting};
use super::{device, lock, process};
use crate::codes;
use crate::fault::{Fault, Outcome};
use crate::ffi::handle::{Handle, Key, Object, RUNTIME, Registry};

/// Whether a context is its device's own or was made by the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Default,
    Created,
}

/// Where a thread's work goes.
pub(crate) struct Context {
    number: usize,
    device: i32,
    origin: Origin,
    key: OnceLock<Key>,
    is_alive: AtomicBool,
    default_stream: Arc<Stream>,
    streams: Mutex<Vec<Arc<Stream>>>,
    pub(crate) options: ContextOptions,
}

impl Object for Context {
    const NAME: &'static str = "context";
    const KIND: usize = 3;
    fn registry() -> &'static Registry<Self> {
        static CONTEXTS: Registry<Context> = Registry::new();
        &CONTEXTS
    }
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<Context>>> = const { RefCell::new(None) };
}

/// The calling thread's context.
pub(crate) fn current() -> Outcome<Arc<Context>> {
    match selected() {
        Some(context) => Ok(context),
        None => by_default(),
    }
}

/// The context that the calling thread has selected and that is still alive.
pub(crate) fn selected() -> Option<Arc<Context>> {
    CURRENT.with_borrow(|current| current.clone()).filter(|context| context.is_alive.load(Ordering::Acquire))
}

/// The context of the device that the configuration names.
#[cold]
fn by_default() -> Outcome<Arc<Context>> {
    if let Some(device) = process::default_device() {
        device::set(device)?;
        return selected().ok_or_else(no_context);
    }
    Err(no_context())
}

#[cold]
fn no_context() -> Fault {
    Fault::new(codes::RT_CONTEXT_NULL, "the calling thread has no context; call aclrtSetDevice first")
}

/// The stream that a handle names, or the current context's default stream for null. Either way the calling thread
/// must have a context.
pub(crate) fn stream_or_default(stream: Handle<Stream>) -> Outcome<Arc<Stream>> {
    let context = current()?;
    if stream.is_null() { Ok(Arc::clone(&context.default_stream)) } else { stream.find("stream", RUNTIME) }
}

impl Context {
    pub(crate) fn new(device: i32, origin: Origin) -> Outcome<Arc<Self>> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let context = Arc::new(Self {
            number,
            device,
            origin,
            key: OnceLock::new(),
            is_alive: AtomicBool::new(true),
            default_stream: Stream::new(number, StreamConfig::default())?,
            streams: Mutex::default(),
            options: ContextOptions::default(),
        });
        context.key.get_or_init(|| Self::registry().insert(Arc::clone(&context)));
        Ok(context)
    }

    pub(crate) fn device(&self) -> i32 {
        self.device
    }

    pub(crate) fn origin(&self) -> Origin {
        self.origin
    }

    pub(crate) fn default_stream(&self) -> &Arc<Stream> {
        &self.default_stream
    }

    /// What C calls it by.
    pub(crate) fn key(&self) -> Option<Key> {
        self.key.get().copied()
    }

    /// Makes it the calling thread's.
    pub(crate) fn select(self: &Arc<Self>) {
        CURRENT.set(Some(Arc::clone(self)));
    }

    /// A stream of this context.
    pub(crate) fn create_stream(&self, config: StreamConfig) -> Outcome<Arc<Stream>> {
        let stream = Stream::new(self.number, config)?;
        lock(&self.streams).push(Arc::clone(&stream));
        Ok(stream)
    }

    /// Whether a stream was made in this context.
    pub(crate) fn owns(&self, stream: &Stream) -> bool {
        stream.context() == self.number
    }

    /// Ends a stream that was made in this context.
    pub(crate) fn destroy_stream(&self, stream: &Arc<Stream>, waiting: Waiting) -> Outcome {
        if !self.owns(stream) {
            let text = "stream must be one of the current context, got one of another";
            return Err(Fault::new(codes::RT_STREAM_CONTEXT, text));
        }
        let mut streams = lock(&self.streams);
        let Some(at) = streams.iter().position(|other| Arc::ptr_eq(other, stream)) else {
            let text = "stream must be one that aclrtCreateStream made, got the default stream";
            return Err(Fault::new(codes::RT_PARAM_INVALID, text));
        };
        streams.swap_remove(at);
        drop(streams);
        stream.close(waiting);
        Ok(())
    }

    /// All its streams.
    pub(crate) fn streams(&self) -> Vec<Arc<Stream>> {
        let mut streams = lock(&self.streams).clone();
        streams.push(Arc::clone(&self.default_stream));
        streams
    }

    /// Waits for its work, and ends it and its streams.
    pub(crate) fn end(&self) {
        if let Some(key) = self.key() {
            Self::registry().remove(key);
        }
        self.is_alive.store(false, Ordering::Release);
        for stream in self.streams() {
            stream.close(Waiting::Run);
        }
        lock(&self.streams).clear();
    }
}
