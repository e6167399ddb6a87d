//! Storage: a tensor in a buffer whose other elements are recognisable garbage.

use poolgrad::{DType, Element, Layout, Sizes, Tensor, TensorDesc, TensorView, TensorViewMut};

use crate::arrange::Arrangement;
use crate::scalar::{Scalar, with_element};

/// The bytes of a cache line.
const LINE: usize = 64;

/// A tensor somewhere in a buffer of garbage.
///
/// Every element starts as garbage: a NaN with a payload that no computation makes, or a number that no index can be.
/// What is garbage after a write was never written; what is no longer garbage outside the tensor was written by mistake.
#[derive(Clone, Debug)]
pub struct Storage {
    buffer: Tensor,
    layout: Layout,
    offset: usize,
}

impl Storage {
    /// A tensor of garbage in a buffer of garbage.
    ///
    /// What the arrangement calls the first place lies on a cache line, as memory of `aclrtMalloc` and PyTorch does.
    #[must_use]
    pub fn garbage(dtype: DType, arrangement: &Arrangement) -> Self {
        let (buffer, first) = with_element!(dtype, T => {
            let len = arrangement.len + LINE / size_of::<T>();
            let buffer = owned(vec![T::GARBAGE; len], len);
            // Of the buffer's own memory: it holds a copy.
            let first = elements::<T>(&buffer).as_ptr().align_offset(LINE);
            (buffer, first)
        });
        Self { buffer, layout: arrangement.layout, offset: first + arrangement.offset }
    }

    /// Writes the tensor's elements in row-major order, each rounded to nearest once.
    ///
    /// Where elements share a place, the last one stays.
    pub fn fill(&mut self, mut next: impl FnMut() -> f64) {
        let places = self.places();
        with_element!(self.buffer.dtype(), T => {
            let buffer = elements_mut::<T>(&mut self.buffer);
            for place in places {
                buffer[place] = T::nearest(next());
            }
        });
    }

    /// Writes one element, counted in row-major order, rounded to nearest once.
    ///
    /// # Panics
    /// If there is no such element.
    pub fn set(&mut self, element: usize, value: f64) {
        let place = self.places()[element];
        with_element!(self.buffer.dtype(), T => elements_mut::<T>(&mut self.buffer)[place] = T::nearest(value));
    }

    /// The tensor's elements in row-major order, without gaps.
    #[must_use]
    pub fn gather(&self) -> Tensor {
        with_element!(self.buffer.dtype(), T => {
            let buffer = elements::<T>(&self.buffer);
            let values: Vec<T> = self.places().into_iter().map(|place| buffer[place]).collect();
            Tensor::from_vec(values, *self.layout.shape()).expect("one value for each element")
        })
    }

    /// The element type and layout, to plan with.
    #[must_use]
    pub fn desc(&self) -> TensorDesc {
        TensorDesc { dtype: self.buffer.dtype(), layout: self.layout }
    }

    /// The tensor to read.
    #[must_use]
    pub fn view(&self) -> TensorView<'_> {
        with_element!(self.buffer.dtype(), T => {
            TensorView::strided(elements::<T>(&self.buffer), self.layout, self.offset)
                .expect("an arrangement lies inside its buffer")
        })
    }

    /// The tensor to write.
    pub fn view_mut(&mut self) -> TensorViewMut<'_> {
        let (layout, offset) = (self.layout, self.offset);
        with_element!(self.buffer.dtype(), T => {
            TensorViewMut::strided(elements_mut::<T>(&mut self.buffer), layout, offset)
                .expect("an arrangement lies inside its buffer")
        })
    }

    /// The first element of the tensor that is still garbage, counted in row-major order.
    #[must_use]
    pub fn first_unwritten(&self) -> Option<usize> {
        with_element!(self.buffer.dtype(), T => {
            let buffer = elements::<T>(&self.buffer);
            self.places().into_iter().position(|place| buffer[place].bits() == T::GARBAGE.bits())
        })
    }

    /// The first place of the buffer outside the tensor that is no longer garbage.
    #[must_use]
    pub fn first_stray(&self) -> Option<usize> {
        with_element!(self.buffer.dtype(), T => {
            let buffer = elements::<T>(&self.buffer);
            let mut foreign = vec![true; buffer.len()];
            for place in self.places() {
                foreign[place] = false;
            }
            (0..buffer.len()).find(|&place| foreign[place] && buffer[place].bits() != T::GARBAGE.bits())
        })
    }

    /// The places of the tensor's elements in the buffer, in row-major order of the elements.
    fn places(&self) -> Vec<usize> {
        let mut places = vec![self.offset as i64];
        for (&size, &stride) in self.layout.shape().iter().zip(self.layout.strides().iter()) {
            let mut longer = Vec::with_capacity(places.len() * size as usize);
            for place in places {
                longer.extend((0..size).map(|i| place + i * stride));
            }
            places = longer;
        }
        places.into_iter().map(|place| place as usize).collect()
    }
}

/// A one-axis tensor of `values`.
fn owned<T: Element>(values: Vec<T>, len: usize) -> Tensor {
    Tensor::from_vec(values, Sizes::from(len as i64)).expect("one value for each element")
}

/// The elements of a tensor that is known to hold `T`.
pub(crate) fn elements<T: Element>(tensor: &Tensor) -> &[T] {
    tensor.as_slice().expect("the element type was matched")
}

fn elements_mut<T: Element>(tensor: &mut Tensor) -> &mut [T] {
    tensor.as_mut_slice().expect("the element type was matched")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrange::Access;
    use crate::problem::MemoryLayout;

    /// Oracle: a counter, which every layout must give back in row-major order.
    #[test]
    fn what_is_filled_is_gathered_and_nothing_else_is_touched() {
        let shape = Sizes::from([2, 3, 4, 5]);
        for (name, layout) in MemoryLayout::ALL {
            for dtype in DType::ALL {
                let mut storage = Storage::garbage(dtype, &Arrangement::new(layout, &shape, 1, Access::Write));
                assert_eq!(storage.first_unwritten(), Some(0), "{name} {dtype}");
                let mut count = 0.0;
                storage.fill(|| {
                    count += 1.0;
                    count
                });
                let grid = crate::to_grid(&storage.gather(), 2);
                assert!(grid.values.iter().zip(1..).all(|(&got, want)| got == f64::from(want)), "{name}");
                assert_eq!((storage.first_unwritten(), storage.first_stray()), (None, None), "{name} {dtype}");
            }
        }
    }

    /// Oracle: the addresses themselves.
    #[test]
    fn tensors_begin_on_cache_lines_and_not_on_more() {
        let arrangement = Arrangement::new(MemoryLayout::Ncdhw, &Sizes::from([3, 5]), 0, Access::Write);
        for dtype in DType::ALL {
            let storages = [0; 40].map(|_| Storage::garbage(dtype, &arrangement));
            let begins_at = |storage: &Storage| with_element!(dtype, T => elements::<T>(&storage.buffer)[storage.offset..].as_ptr().addr());
            let begin_at = |multiple| storages.iter().all(|storage| begins_at(storage).is_multiple_of(multiple));
            assert!(begin_at(64), "{dtype}");
            assert!(!begin_at(4096), "{dtype}: small tensors share pages");
        }
    }

    /// Oracle: one stray and one missed write, made by hand.
    #[test]
    fn stray_and_missed_writes_show() {
        let shape = Sizes::from([2, 3]);
        let arrangement = Arrangement::new(MemoryLayout::Sliced, &shape, 0, Access::Write);
        let mut storage = Storage::garbage(DType::F32, &arrangement);
        let first = storage.offset;
        storage.fill(|| 1.0);
        storage.buffer.as_mut_slice::<f32>().unwrap()[first - 1] = f32::NAN;
        assert_eq!(storage.first_stray(), Some(first - 1));
        storage.buffer.as_mut_slice::<f32>().unwrap()[first + 2] = f32::GARBAGE;
        assert_eq!(storage.first_unwritten(), Some(2));
    }
}
