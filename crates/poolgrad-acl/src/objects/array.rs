//! Scalars and arrays: copies of values that the program passed.

use crate::ffi::handle::{Object, Registry};

/// One value of any type, as its bytes.
#[derive(Debug)]
pub(crate) struct Scalar(#[expect(dead_code, reason = "no operator here takes a scalar yet")] pub(crate) Box<[u8]>);

/// A list of values.
#[derive(Debug)]
pub(crate) struct Array<T>(pub(crate) Box<[T]>);

/// A C++ `bool` as its byte.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flag(pub(crate) u8);

impl Flag {
    pub(crate) fn is_set(self) -> bool {
        self.0 != 0
    }
}

impl Object for Scalar {
    const NAME: &'static str = "scalar";
    const KIND: usize = 5;
    fn registry() -> &'static Registry<Self> {
        static SCALARS: Registry<Scalar> = Registry::new();
        &SCALARS
    }
}

impl Object for Array<i64> {
    const NAME: &'static str = "int array";
    const KIND: usize = 6;
    fn registry() -> &'static Registry<Self> {
        static ARRAYS: Registry<Array<i64>> = Registry::new();
        &ARRAYS
    }
}

impl Object for Array<f32> {
    const NAME: &'static str = "float array";
    const KIND: usize = 7;
    fn registry() -> &'static Registry<Self> {
        static ARRAYS: Registry<Array<f32>> = Registry::new();
        &ARRAYS
    }
}

impl Object for Array<Flag> {
    const NAME: &'static str = "bool array";
    const KIND: usize = 8;
    fn registry() -> &'static Registry<Self> {
        static ARRAYS: Registry<Array<Flag>> = Registry::new();
        &ARRAYS
    }
}
