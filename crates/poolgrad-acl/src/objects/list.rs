//! Lists, which own the objects whose handles they hold.

use std::marker::PhantomData;

use super::array::Scalar;
use super::tensor::Tensor;
use crate::ffi::handle::{Handle, Key, Object, Registry};

/// Handles of objects that end with the list.
pub(crate) struct List<T> {
    keys: Box<[Key]>,
    kind: PhantomData<fn() -> T>,
}

impl<T: Object> List<T> {
    pub(crate) fn new(handles: &[Handle<T>]) -> Self {
        Self { keys: handles.iter().map(|handle| handle.key()).collect(), kind: PhantomData }
    }

    pub(crate) fn handles(&self) -> impl ExactSizeIterator<Item = Handle<T>> {
        self.keys.iter().map(|&key| Handle::from_key(key))
    }
}

impl Object for List<Tensor> {
    const NAME: &'static str = "tensor list";
    const KIND: usize = 9;
    fn registry() -> &'static Registry<Self> {
        static LISTS: Registry<List<Tensor>> = Registry::new();
        &LISTS
    }
}

impl Object for List<Scalar> {
    const NAME: &'static str = "scalar list";
    const KIND: usize = 10;
    fn registry() -> &'static Registry<Self> {
        static LISTS: Registry<List<Scalar>> = Registry::new();
        &LISTS
    }
}
