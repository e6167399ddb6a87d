//! A tensor that owns its elements.

use super::layout::LayoutError;
use super::sizes::Sizes;
use super::view::{TensorDesc, TensorView, TensorViewMut};
use crate::dtype::{DType, Element};
use half::{bf16, f16};
use zerocopy::{FromBytes, IntoBytes};

/// A row-major tensor that owns its elements: what the one-call conveniences return.
///
/// # Examples
/// ```
/// use poolgrad::Tensor;
///
/// let tensor = Tensor::from_vec(vec![1.0f32, 2.0, 3.0, 4.0], [1, 2, 2])?;
/// assert_eq!(tensor.as_slice::<f32>(), Some(&[1.0, 2.0, 3.0, 4.0][..]));
/// assert_eq!(tensor.as_slice::<f64>(), None);
/// # Ok::<(), poolgrad::LayoutError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    shape: Sizes,
    data: Data,
}

/// The elements, in the vector of their own type, so that alignment is right.
#[derive(Clone, Debug, PartialEq)]
enum Data {
    F32(Vec<f32>),
    F64(Vec<f64>),
    F16(Vec<f16>),
    BF16(Vec<bf16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
}

/// Runs `$body` with `$vec` bound to the vector, whatever its type.
macro_rules! each {
    ($data:expr, $vec:ident => $body:expr) => {
        match $data {
            Data::F32($vec) => $body,
            Data::F64($vec) => $body,
            Data::F16($vec) => $body,
            Data::BF16($vec) => $body,
            Data::I32($vec) => $body,
            Data::I64($vec) => $body,
        }
    };
}

impl Data {
    fn zeros(dtype: DType, len: usize) -> Self {
        match dtype {
            DType::F32 => Data::F32(vec![0.0; len]),
            DType::F64 => Data::F64(vec![0.0; len]),
            DType::F16 => Data::F16(vec![f16::ZERO; len]),
            DType::BF16 => Data::BF16(vec![bf16::ZERO; len]),
            DType::I32 => Data::I32(vec![0; len]),
            DType::I64 => Data::I64(vec![0; len]),
        }
    }
}

impl Tensor {
    /// A tensor of zeros.
    ///
    /// # Errors
    /// [`LayoutError`] if a size is negative, or the tensor is too large for an address or for memory.
    pub fn zeros(dtype: DType, shape: impl Into<Sizes>) -> Result<Self, LayoutError> {
        let desc = TensorDesc::contiguous(dtype, shape)?;
        let shape = *desc.shape();
        let len = usize::try_from(desc.layout.n_elements()).map_err(|_| LayoutError::TooLarge { shape })?;
        // Zeroed memory comes untouched from the system, but asking for it cannot fail politely; this can.
        let bytes = len.saturating_mul(dtype.size());
        Vec::<u8>::new().try_reserve_exact(bytes).map_err(|_| LayoutError::OutOfMemory { bytes })?;
        Ok(Self { shape, data: Data::zeros(dtype, len) })
    }

    /// A tensor of the elements of `values`, in row-major order.
    ///
    /// # Errors
    /// [`LayoutError::OutOfBuffer`] if `values` does not hold exactly as many elements as `shape` has.
    pub fn from_vec<T: Element>(values: Vec<T>, shape: impl Into<Sizes>) -> Result<Self, LayoutError> {
        let desc = TensorDesc::contiguous(T::DTYPE, shape)?;
        let n_elements = desc.layout.n_elements();
        if i64::try_from(values.len()) != Ok(n_elements) {
            return Err(LayoutError::OutOfBuffer { low: 0, high: n_elements - 1, len: values.len() });
        }
        let mut tensor = Self { shape: *desc.shape(), data: Data::zeros(T::DTYPE, values.len()) };
        if let Some(slice) = tensor.as_mut_slice::<T>() {
            slice.copy_from_slice(&values);
        }
        Ok(tensor)
    }

    /// The element type.
    #[must_use]
    pub fn dtype(&self) -> DType {
        match self.data {
            Data::F32(_) => DType::F32,
            Data::F64(_) => DType::F64,
            Data::F16(_) => DType::F16,
            Data::BF16(_) => DType::BF16,
            Data::I32(_) => DType::I32,
            Data::I64(_) => DType::I64,
        }
    }

    /// The sizes of the axes.
    #[must_use]
    pub fn shape(&self) -> &Sizes {
        &self.shape
    }

    /// The elements in row-major order, if they are of type `T`.
    #[must_use]
    pub fn as_slice<T: Element>(&self) -> Option<&[T]> {
        if T::DTYPE != self.dtype() {
            return None;
        }
        <[T]>::ref_from_bytes(self.as_bytes()).ok()
    }

    /// The elements in row-major order, if they are of type `T`.
    pub fn as_mut_slice<T: Element>(&mut self) -> Option<&mut [T]> {
        if T::DTYPE != self.dtype() {
            return None;
        }
        <[T]>::mut_from_bytes(self.as_mut_bytes()).ok()
    }

    /// The elements in row-major order, as bytes of this machine.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        each!(&self.data, values => values.as_slice().as_bytes())
    }

    /// The elements in row-major order, as bytes of this machine.
    pub fn as_mut_bytes(&mut self) -> &mut [u8] {
        each!(&mut self.data, values => values.as_mut_slice().as_mut_bytes())
    }

    /// The tensor to read.
    #[must_use]
    pub fn view(&self) -> TensorView<'_> {
        // The vector holds exactly the shape's elements, so the view always fits.
        each!(&self.data, values => TensorView::new(values, self.shape)).unwrap_or_else(|_| unreachable!())
    }

    /// The tensor to write.
    pub fn view_mut(&mut self) -> TensorViewMut<'_> {
        let shape = self.shape;
        // The vector holds exactly the shape's elements, so the view always fits.
        each!(&mut self.data, values => TensorViewMut::new(values, shape)).unwrap_or_else(|_| unreachable!())
    }
}

impl<'a> From<&'a Tensor> for TensorView<'a> {
    fn from(tensor: &'a Tensor) -> Self {
        tensor.view()
    }
}
