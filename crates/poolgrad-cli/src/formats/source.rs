//! A tensor read from a file: in place where the file's alignment allows it.

use std::ops::Range;

use poolgrad::{DType, Layout, Sizes, Tensor, TensorDesc, TensorView, TensorViewMut};
use zerocopy::FromBytes;

use super::map::Mapped;
use super::{Format, Header, Location, converted, each_element, npy, safetensors, unreadable};
use crate::failure::Failure;

/// A range of one axis of a tensor, and all of the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) axis: usize,
    pub(crate) range: Range<i64>,
}

/// A tensor that was read from a file.
#[derive(Debug)]
pub(crate) struct Source {
    desc: TensorDesc,
    elements: Elements,
}

/// Where the elements are; aligned for their type.
#[derive(Debug)]
enum Elements {
    /// In the file.
    Mapped { file: Mapped, place: Range<usize> },
    /// In memory, in the order of the file.
    Copied(Tensor),
}

impl Elements {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Mapped { file, place } => &file[place.clone()],
            Self::Copied(tensor) => tensor.as_bytes(),
        }
    }
}

impl Source {
    /// Opens the tensor at `location`.
    ///
    /// # Errors
    /// One line that says what was expected and what the file holds.
    pub(crate) fn open(location: &Location) -> Result<Self, Failure> {
        let file = Mapped::open(&location.path)?;
        let header = match location.format {
            Format::Npy => npy::read_header(&file),
            Format::Safetensors => safetensors::read_header(&file, location.name.as_deref()),
        };
        let header = header.map_err(|message| unreadable(location, message))?;
        // A mapping begins on a page, so the place in the file decides.
        let in_place = header.place.start.is_multiple_of(header.dtype.size());
        let layout = header.layout().map_err(|message| unreadable(location, message))?;
        let desc = TensorDesc { dtype: header.dtype, layout };
        let elements = if in_place {
            Elements::Mapped { file, place: header.place }
        } else {
            copied(&file, &header).map_err(|message| unreadable(location, message))?
        };
        Ok(Self { desc, elements })
    }

    /// The array of a `.npy` file whose bytes are in the program.
    ///
    /// # Errors
    /// As [`Source::open`].
    pub(crate) fn embedded(file: &[u8]) -> Result<Self, Failure> {
        let read = || {
            let header = npy::read_header(file)?;
            let desc = TensorDesc { dtype: header.dtype, layout: header.layout()? };
            Ok(Self { desc, elements: copied(file, &header)? })
        };
        read().map_err(|message: String| Failure::work(format!("the built-in volume: {message}")))
    }

    /// The element type and layout.
    pub(crate) fn desc(&self) -> &TensorDesc {
        &self.desc
    }

    /// A part of the tensor.
    pub(crate) fn part(&self, part: &Part) -> Result<TensorView<'_>, Failure> {
        let (layout, offset) = part_of(&self.desc.layout, part)?;
        each_element!(self.desc.dtype, T => {
            let elements = <[T]>::ref_from_bytes(self.elements.bytes());
            let elements = elements.map_err(|error| Failure::work(error.to_string()))?;
            TensorView::strided(elements, layout, offset).map_err(|error| Failure::work(error.to_string()))
        })
    }

    /// The values in the order in which they lie, each exactly.
    pub(crate) fn values(&self) -> Result<Vec<f64>, Failure> {
        widened(self.desc.dtype, self.elements.bytes())
    }

    /// The same tensor with its values rounded to type `dtype`.
    pub(crate) fn converted(self, dtype: DType) -> Result<Self, Failure> {
        if dtype == self.desc.dtype {
            return Ok(self);
        }
        let values = self.values()?;
        let shape = flat(values.len());
        let elements = Elements::Copied(converted(values.into_iter(), dtype, shape)?);
        let layout = self.desc.layout;
        Ok(Self { desc: TensorDesc { dtype, layout }, elements })
    }
}

/// A part of a tensor that is to be written.
pub(crate) fn part_mut<'a>(tensor: &'a mut Tensor, part: &Part) -> Result<TensorViewMut<'a>, Failure> {
    let failed = |error: poolgrad::LayoutError| Failure::work(error.to_string());
    let whole = Layout::contiguous(*tensor.shape()).map_err(failed)?;
    let (layout, offset) = part_of(&whole, part)?;
    each_element!(tensor.dtype(), T => match tensor.as_mut_slice::<T>() {
        Some(elements) => TensorViewMut::strided(elements, layout, offset).map_err(failed),
        None => Err(Failure::work("a tensor holds elements of another type than it says")),
    })
}

/// The layout of a part, and the place of its first element.
fn part_of(layout: &Layout, part: &Part) -> Result<(Layout, usize), Failure> {
    let (mut shape, strides) = (layout.shape().to_vec(), *layout.strides());
    let offset = match shape.get_mut(part.axis) {
        Some(size) => {
            *size = part.range.end - part.range.start;
            // Of an empty part nothing is read, and it may begin anywhere.
            if shape.contains(&0) { 0 } else { part.range.start * strides[part.axis] }
        }
        // A tensor without axes has one element, and one part.
        None => 0,
    };
    let layout = Sizes::try_from(shape.as_slice()).and_then(|shape| Layout::strided(shape, strides));
    let layout = layout.map_err(|error| Failure::work(error.to_string()))?;
    let offset =
        usize::try_from(offset).map_err(|_| Failure::work("a part begins before its tensor".to_owned()))?;
    Ok((layout, offset))
}

/// The elements that `header` speaks of, in memory of their own.
fn copied(file: &[u8], header: &Header) -> Result<Elements, String> {
    let bytes = &file[header.place.clone()];
    let shape = flat(bytes.len() / header.dtype.size());
    let mut tensor = Tensor::zeros(header.dtype, shape).map_err(|error| error.to_string())?;
    tensor.as_mut_bytes().copy_from_slice(bytes);
    Ok(Elements::Copied(tensor))
}

fn flat(len: usize) -> Sizes {
    // A buffer's length always fits: no buffer is longer than the address space.
    Sizes::from(i64::try_from(len).unwrap_or(i64::MAX))
}

/// The elements of type `dtype` in `bytes`, each exactly; indices too, which are exact below 2^53.
fn widened(dtype: DType, bytes: &[u8]) -> Result<Vec<f64>, Failure> {
    fn read<T: poolgrad::Element>(bytes: &[u8], wide: impl Fn(T) -> f64) -> Result<Vec<f64>, Failure> {
        let elements = <[T]>::ref_from_bytes(bytes).map_err(|error| Failure::work(error.to_string()))?;
        Ok(elements.iter().map(|&value| wide(value)).collect())
    }
    match dtype {
        DType::F32 => read(bytes, |value: f32| f64::from(value)),
        DType::F64 => read(bytes, |value: f64| value),
        DType::F16 => read(bytes, poolgrad::half::f16::to_f64),
        DType::BF16 => read(bytes, poolgrad::half::bf16::to_f64),
        DType::I32 => read(bytes, |value: i32| f64::from(value)),
        DType::I64 => read(bytes, |value: i64| value as f64),
        other => Err(Failure::work(format!("values of type {other} cannot be read"))),
    }
}
