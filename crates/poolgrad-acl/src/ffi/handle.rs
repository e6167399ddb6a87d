//! Handles: what C holds for an object. They are looked up, never followed, and no two objects ever have the same.
//!
//! A handle looks like an aligned pointer but is a number: the kind of object, a place in a table, and how often that
//! place has been used. So null, garbage, the handle of another kind and that of an object that is gone are all told
//! from a live one, whatever C passes, and there is nothing unsafe in this file.
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::codes;
use crate::fault::{Fault, Outcome};

/// A kind of object that C holds handles of.
pub(crate) trait Object: Send + Sync + Sized + 'static {
    /// What it is called, for messages.
    const NAME: &'static str;
    /// A number below 32 that no other kind has.
    const KIND: usize;
    /// Where its objects live.
    fn registry() -> &'static Registry<Self>;
}

/// What C holds for a `T`; anything at all, until it is looked up.
#[repr(transparent)]
#[derive(Debug)]
pub(crate) struct Handle<T> {
    value: *mut c_void,
    kind: PhantomData<T>,
}

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Handle<T> {}

/// The codes for a handle that is null, and for one that names no live object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Codes {
    pub(crate) null: i32,
    pub(crate) dead: i32,
}

/// For functions of the runtime.
pub(crate) const RUNTIME: Codes = Codes { null: codes::INVALID_PARAM, dead: codes::RT_INVALID_HANDLE };
/// For contexts.
pub(crate) const CONTEXT: Codes = Codes { null: codes::INVALID_PARAM, dead: codes::RT_CONTEXT_NULL };
/// For arguments of operators.
pub(crate) const ARGUMENT: Codes = Codes { null: codes::NN_PARAM_NULLPTR, dead: codes::NN_PARAM_INVALID };
/// For functions about tensors and arrays.
pub(crate) const META: Codes = Codes { null: codes::NN_PARAM_NULLPTR, dead: codes::RT_INVALID_HANDLE };
/// For functions about executors.
pub(crate) const EXECUTOR: Codes = Codes { null: codes::NN_INNER_NULLPTR, dead: codes::NN_INNER_NULLPTR };
/// For the executor of phase 2.
pub(crate) const LAUNCH: Codes = Codes { null: codes::NN_PARAM_NULLPTR, dead: codes::NN_INNER_NULLPTR };

impl<T: Object> Handle<T> {
    /// Gives C a handle of an object, which lives until it is removed.
    pub(crate) fn new(object: Arc<T>) -> Self {
        Self::from_key(T::registry().insert(object))
    }

    /// The handle with this key.
    pub(crate) fn from_key(key: Key) -> Self {
        Self { value: std::ptr::without_provenance_mut(key.0), kind: PhantomData }
    }

    /// The number behind it, whatever C passed.
    pub(crate) fn key(self) -> Key {
        Key(self.value.addr())
    }

    pub(crate) fn null() -> Self {
        Self { value: std::ptr::null_mut(), kind: PhantomData }
    }

    pub(crate) fn is_null(self) -> bool {
        self.value.is_null()
    }

    /// The object; `name` is the argument's, for messages.
    pub(crate) fn find(self, name: &str, codes: Codes) -> Outcome<Arc<T>> {
        T::registry().get(self.key()).ok_or_else(|| self.unknown(name, codes))
    }

    /// The object, of which C holds no handle any more.
    pub(crate) fn remove(self, name: &str, codes: Codes) -> Outcome<Arc<T>> {
        T::registry().remove(self.key()).ok_or_else(|| self.unknown(name, codes))
    }

    #[cold]
    fn unknown(self, name: &str, codes: Codes) -> Fault {
        if self.is_null() {
            return Fault::new(codes.null, format!("{name} must not be NULL"));
        }
        let text =
            format!("{name} must be a live {}, got {:p}, which is none or is destroyed", T::NAME, self.value);
        Fault::new(codes.dead, text)
    }
}

/// The number behind a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key(usize);

// A key from its low end: 4 zero bits, as in a pointer; 5 bits for the kind; 23 for the place, of which the low 4 name
// the shard; 32 for the generation, which starts at 1 so that no key is zero.
const KIND_SHIFT: u32 = 4;
const PLACE_SHIFT: u32 = 9;
const GENERATION_SHIFT: u32 = 32;
const PLACE_BITS: u32 = GENERATION_SHIFT - PLACE_SHIFT;
const N_SHARDS: usize = 16;
const MOST_ENTRIES: usize = (1 << PLACE_BITS) / N_SHARDS;

/// All live objects of one kind. Threads put theirs in different shards, so that they seldom wait for each other.
pub(crate) struct Registry<T> {
    shards: [Mutex<Shard<T>>; N_SHARDS],
}

struct Shard<T> {
    entries: Vec<Entry<T>>,
    free: Vec<u32>,
}

struct Entry<T> {
    generation: u32,
    object: Option<Arc<T>>,
}

impl<T: Object> Registry<T> {
    pub(crate) const fn new() -> Self {
        Self { shards: [const { Mutex::new(Shard { entries: Vec::new(), free: Vec::new() }) }; N_SHARDS] }
    }

    pub(crate) fn insert(&self, object: Arc<T>) -> Key {
        let shard_id = own_shard();
        let mut shard = self.shards[shard_id].lock().unwrap_or_else(PoisonError::into_inner);
        let at = match shard.free.pop() {
            Some(at) => at as usize,
            None => {
                assert!(shard.entries.len() < MOST_ENTRIES, "more than {MOST_ENTRIES} live objects of one thread");
                shard.entries.push(Entry { generation: 1, object: None });
                shard.entries.len() - 1
            }
        };
        let entry = &mut shard.entries[at];
        entry.object = Some(object);
        let place = at * N_SHARDS + shard_id;
        Key((entry.generation as usize) << GENERATION_SHIFT | place << PLACE_SHIFT | T::KIND << KIND_SHIFT)
    }

    fn get(&self, key: Key) -> Option<Arc<T>> {
        let (shard, at, generation) = Self::take_apart(key)?;
        let shard = self.shards[shard].lock().unwrap_or_else(PoisonError::into_inner);
        shard.entries.get(at).filter(|entry| entry.generation == generation)?.object.clone()
    }

    pub(crate) fn remove(&self, key: Key) -> Option<Arc<T>> {
        let (shard, at, generation) = Self::take_apart(key)?;
        let mut shard = self.shards[shard].lock().unwrap_or_else(PoisonError::into_inner);
        let entry = shard.entries.get_mut(at).filter(|entry| entry.generation == generation)?;
        let object = entry.object.take()?;
        // A place whose generations are used up is never used again.
        if let Some(next) = entry.generation.checked_add(1) {
            entry.generation = next;
            shard.free.push(at as u32);
        }
        Some(object)
    }

    fn take_apart(Key(key): Key) -> Option<(usize, usize, u32)> {
        let is_one = key & ((1 << KIND_SHIFT) - 1) == 0
            && key >> KIND_SHIFT & ((1 << (PLACE_SHIFT - KIND_SHIFT)) - 1) == T::KIND;
        let place = key >> PLACE_SHIFT & ((1 << PLACE_BITS) - 1);
        is_one.then_some((place % N_SHARDS, place / N_SHARDS, (key >> GENERATION_SHIFT) as u32))
    }
}

/// The shard that the calling thread puts its objects in.
fn own_shard() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static OWN: Cell<usize> = Cell::new(NEXT.fetch_add(1, Ordering::Relaxed) % N_SHARDS);
    }
    OWN.with(Cell::get)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Apple(i32);
    impl Object for Apple {
        const NAME: &'static str = "apple";
        const KIND: usize = 30;
        fn registry() -> &'static Registry<Self> {
            static APPLES: Registry<Apple> = Registry::new();
            &APPLES
        }
    }
    struct Pear;
    impl Object for Pear {
        const NAME: &'static str = "pear";
        const KIND: usize = 31;
        fn registry() -> &'static Registry<Self> {
            static PEARS: Registry<Pear> = Registry::new();
            &PEARS
        }
    }

    fn handle<T: Object>(value: usize) -> Handle<T> {
        Handle::from_key(Key(value))
    }

    #[test]
    fn only_live_handles_of_the_right_kind_are_found() {
        let apple = Handle::new(Arc::new(Apple(7)));
        assert_eq!(apple.find("x", META).unwrap().0, 7);
        assert_eq!(handle::<Pear>(apple.value.addr()).find("x", META).err().unwrap().code, META.dead);
        for garbage in [1, 16, 0x7fff_1234_5678, usize::MAX, apple.value.addr() + 1, apple.value.addr() ^ 1 << 40] {
            assert!(handle::<Apple>(garbage).find("x", META).is_err(), "{garbage:#x}");
        }
        assert_eq!(Handle::<Apple>::null().find("x", META).err().unwrap().code, META.null);
        assert_eq!(apple.remove("x", META).unwrap().0, 7);
        assert_eq!(apple.remove("x", META).err().unwrap().code, META.dead);
    }

    #[test]
    fn a_place_that_is_used_again_has_another_handle() {
        let first = Handle::new(Arc::new(Apple(1)));
        first.remove("x", META).unwrap();
        let second = Handle::new(Arc::new(Apple(2)));
        assert_ne!(first.value, second.value);
        assert!(first.find("x", META).is_err());
        assert_eq!(second.remove("x", META).unwrap().0, 2);
    }
}
