//! Tensors: how memory of the program is to be seen.

use std::sync::{Arc, Mutex};

use crate::ffi::handle::{Object, Registry};
use crate::ffi::memory::Memory;
use crate::runtime::lock;

/// An element type by the number that CANN gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DataType(pub(crate) i32);

/// A format by the number that CANN gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format(pub(crate) i32);

/// What a tensor is, without its memory. Nothing here has been checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct View {
    pub(crate) dims: Box<[i64]>,
    pub(crate) strides: Box<[i64]>,
    pub(crate) offset: i64,
    pub(crate) dtype: DataType,
    pub(crate) format: Format,
    pub(crate) storage_dims: Box<[i64]>,
}

/// A view, and the address of its memory; both can be replaced while C holds the handle.
#[derive(Debug)]
pub(crate) struct Tensor {
    view: Mutex<Arc<View>>,
    memory: Mutex<Memory>,
}

impl Object for Tensor {
    const NAME: &'static str = "tensor";
    const KIND: usize = 4;
    fn registry() -> &'static Registry<Self> {
        static TENSORS: Registry<Tensor> = Registry::new();
        &TENSORS
    }
}

impl View {
    /// The strides of a tensor of this shape without gaps. Shapes that no memory holds wrap: they are refused where
    /// the tensor is used.
    pub(crate) fn contiguous(dims: &[i64]) -> Box<[i64]> {
        let mut strides = vec![1i64; dims.len()].into_boxed_slice();
        for axis in (1..dims.len()).rev() {
            strides[axis - 1] = strides[axis].wrapping_mul(dims[axis]);
        }
        strides
    }

    /// Whether there is no element.
    pub(crate) fn is_empty(&self) -> bool {
        self.dims.contains(&0)
    }
}

impl Tensor {
    pub(crate) fn new(view: View, memory: Memory) -> Self {
        Self { view: Mutex::new(Arc::new(view)), memory: Mutex::new(memory) }
    }

    pub(crate) fn view(&self) -> Arc<View> {
        Arc::clone(&lock(&self.view))
    }

    pub(crate) fn set_view(&self, view: View) {
        *lock(&self.view) = Arc::new(view);
    }

    pub(crate) fn memory(&self) -> Memory {
        *lock(&self.memory)
    }

    pub(crate) fn set_memory(&self, memory: Memory) {
        *lock(&self.memory) = memory;
    }
}

impl DataType {
    pub(crate) const FLOAT: Self = Self(0);
    pub(crate) const FLOAT16: Self = Self(1);
    pub(crate) const INT32: Self = Self(3);
    pub(crate) const INT64: Self = Self(9);
    pub(crate) const DOUBLE: Self = Self(11);
    pub(crate) const BF16: Self = Self(27);

    /// The bytes that `aclDataTypeSize` gives, for every number.
    pub(crate) fn size(self) -> usize {
        match self.0 {
            -1 | 13 => 0,
            2 | 4 | 12 | 29 | 30 | 34..=37 => 1,
            1 | 6 | 7 | 27 => 2,
            0 | 3 | 8 | 33 => 4,
            17 => 16,
            _ => 8,
        }
    }

    /// The name in the header, less `ACL_`.
    pub(crate) fn name(self) -> String {
        let name = match self.0 {
            -1 => "DT_UNDEFINED",
            0 => "FLOAT",
            1 => "FLOAT16",
            2 => "INT8",
            3 => "INT32",
            4 => "UINT8",
            6 => "INT16",
            7 => "UINT16",
            8 => "UINT32",
            9 => "INT64",
            10 => "UINT64",
            11 => "DOUBLE",
            12 => "BOOL",
            13 => "STRING",
            16 => "COMPLEX64",
            17 => "COMPLEX128",
            27 => "BF16",
            other => return format!("type {other}"),
        };
        name.to_owned()
    }
}

impl Format {
    pub(crate) const NCHW: Self = Self(0);
    pub(crate) const NHWC: Self = Self(1);
    pub(crate) const ND: Self = Self(2);
    pub(crate) const NDHWC: Self = Self(27);
    pub(crate) const NCDHW: Self = Self(30);

    /// Whether elements lie in blocks, which no operator here takes.
    pub(crate) fn is_private(self) -> bool {
        matches!(self.0, 3 | 4 | 12 | 29 | 32 | 33 | 50..=54)
    }

    /// The name in the header, less `ACL_FORMAT_`.
    pub(crate) fn name(self) -> String {
        let name = match self.0 {
            -1 => "UNDEFINED",
            0 => "NCHW",
            1 => "NHWC",
            2 => "ND",
            3 => "NC1HWC0",
            4 => "FRACTAL_Z",
            12 => "NC1HWC0_C04",
            16 => "HWCN",
            27 => "NDHWC",
            29 => "FRACTAL_NZ",
            30 => "NCDHW",
            32 => "NDC1HWC0",
            33 => "FRACTAL_Z_3D",
            35 => "NC",
            47 => "NCL",
            other => return format!("format {other}"),
        };
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contiguous_strides_of_any_shape() {
        let cases: [(&[i64], &[i64]); 4] =
            [(&[], &[]), (&[5], &[1]), (&[2, 3, 4], &[12, 4, 1]), (&[2, 0, 4], &[0, 4, 1])];
        for (dims, strides) in cases {
            assert_eq!(&*View::contiguous(dims), strides);
        }
        View::contiguous(&[i64::MAX, i64::MIN, -1, i64::MAX]);
    }

    /// Oracle: the contract's table.
    #[test]
    fn sizes_of_all_types() {
        let sizes = [(13, 0), (-1, 0), (30, 1), (29, 1), (12, 1), (2, 1), (4, 1), (34, 1), (35, 1), (36, 1)];
        let more = [(37, 1), (1, 2), (27, 2), (6, 2), (7, 2), (0, 4), (3, 4), (8, 4), (33, 4), (17, 16)];
        let rest = [(9, 8), (10, 8), (11, 8), (16, 8), (38, 8), (39, 8), (40, 8), (41, 8)];
        for (number, size) in sizes.into_iter().chain(more).chain(rest) {
            assert_eq!(DataType(number).size(), size, "{number}");
        }
    }

    #[test]
    fn private_formats_are_exactly_those_of_the_contract() {
        let private: Vec<i32> = (-2..100).filter(|&number| Format(number).is_private()).collect();
        assert_eq!(private, [3, 4, 12, 29, 32, 33, 50, 51, 52, 53, 54]);
    }
}
