//! NumPy arrays, read through `__array_struct__`.
//!
//! The attribute is a capsule around a small C structure that has not changed since NumPy's first release; it needs
//! neither NumPy's headers nor its C interface, and says everything that matters: byte order, strides, whether the
//! array may be written. The capsule holds the array.
//!
//! Source: NumPy's documentation, "The array interface protocol".

use std::ffi::{c_char, c_int, c_void};
use std::slice;

use poolgrad::{DType, Layout, MAX_AXES, Sizes, TensorDesc};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods, PyType};

use super::{Hold, Place, Subject};

/// The structure in the capsule, called `PyArrayInterface` by NumPy.
#[repr(C)]
struct ArrayInterface {
    /// Always 2.
    two: c_int,
    n_axes: c_int,
    /// The letter of the element type.
    kind: c_char,
    item_bytes: c_int,
    flags: c_int,
    shape: *const isize,
    /// In bytes.
    strides: *const isize,
    origin: *mut c_void,
}

const NATIVE_BYTE_ORDER: c_int = 0x200;
const WRITEABLE: c_int = 0x400;

/// Where an array lies.
pub(super) fn read<'a, 'py>(object: &Bound<'py, PyAny>, subject: Subject) -> PyResult<(Place, Hold<'a, 'py>)> {
    let py = object.py();
    let capsule = object.getattr(intern!(py, "__array_struct__")).map_err(|error| subject.refused(py, error))?;
    let not_numpy = || subject.wrong("has an __array_struct__ that is not NumPy's");
    let pointer = capsule.cast::<PyCapsule>().map_err(|_| not_numpy())?.pointer_checked(None)?;
    // SAFETY: a capsule without a name in this attribute holds the structure, which lives as long as the capsule.
    let interface = unsafe { pointer.cast::<ArrayInterface>().as_ref() };
    if interface.two != 2 {
        return Err(not_numpy());
    }
    let dtype = dtype(object, interface, subject)?;
    if interface.flags & NATIVE_BYTE_ORDER == 0 {
        return Err(subject.wrong("must be in this machine's byte order"));
    }
    subject.check_writable(interface.flags & WRITEABLE != 0)?;
    let n_axes = usize::try_from(interface.n_axes).ok().filter(|&n_axes| n_axes <= MAX_AXES);
    let n_axes =
        n_axes.ok_or_else(|| subject.wrong(&format!("must have at most 5 axes, got {}", interface.n_axes)))?;
    let layout = if n_axes == 0 {
        Layout::contiguous(Sizes::default())
    } else if interface.shape.is_null() || interface.strides.is_null() {
        return Err(not_numpy());
    } else {
        // SAFETY: the structure has as many sizes as axes, of which there are some, and the address is not zero.
        let shape = unsafe { slice::from_raw_parts(interface.shape, n_axes) };
        // SAFETY: the same for the strides.
        let strides = unsafe { slice::from_raw_parts(interface.strides, n_axes) };
        let (mut sizes, mut steps) = ([0i64; MAX_AXES], [0i64; MAX_AXES]);
        for axis in 0..n_axes {
            sizes[axis] = shape[axis] as i64;
            // No element is a step away along an axis of one element, so any step will do there.
            steps[axis] = if shape[axis] > 1 { elements(strides[axis], dtype, subject)? } else { 1 };
        }
        let of = |numbers: &[i64; MAX_AXES]| Sizes::try_from(&numbers[..n_axes]);
        of(&sizes).and_then(|sizes| Layout::strided(sizes, of(&steps)?))
    };
    let layout = layout.map_err(|problem| subject.no_layout(problem))?;
    let place = Place { origin: interface.origin, desc: TensorDesc { dtype, layout } };
    Ok((place, Hold::Capsule { _capsule: capsule }))
}

/// A stride in elements.
fn elements(bytes: isize, dtype: DType, subject: Subject) -> PyResult<i64> {
    let size = dtype.size() as isize;
    if bytes % size != 0 {
        let problem = format!("must have strides that are multiples of its element's {size} bytes, got {bytes}");
        return Err(subject.wrong(&problem));
    }
    Ok((bytes / size) as i64)
}

fn dtype(object: &Bound<'_, PyAny>, interface: &ArrayInterface, subject: Subject) -> PyResult<DType> {
    let py = object.py();
    match (interface.kind as u8, interface.item_bytes) {
        (b'f', 4) => Ok(DType::F32),
        (b'f', 8) => Ok(DType::F64),
        (b'f', 2) => Ok(DType::F16),
        (b'i', 4) => Ok(DType::I32),
        (b'i', 8) => Ok(DType::I64),
        (_, item_bytes) => {
            let dtype = object.getattr(intern!(py, "dtype")).map_err(|error| subject.refused(py, error))?;
            // To NumPy itself the elements of `ml_dtypes` are opaque bytes.
            let scalar = dtype.getattr(intern!(py, "type"))?;
            if item_bytes == 2 && is_bfloat16(&scalar)? {
                return Ok(DType::BF16);
            }
            Err(subject.wrong_dtype(&dtype.str()?.to_cow()?))
        }
    }
}

fn is_bfloat16(scalar: &Bound<'_, PyAny>) -> PyResult<bool> {
    let Ok(scalar) = scalar.cast::<PyType>() else { return Ok(false) };
    Ok(scalar.name()? == "bfloat16" && scalar.module()? == "ml_dtypes")
}
