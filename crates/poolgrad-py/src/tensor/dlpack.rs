//! Tensors of any library, read through DLPack: its C exchange interface where a type has one, else `__dlpack__`.
//!
//! A capsule is never renamed: to DLPack that means that nobody took the tensor out of it, so the capsule's own
//! destructor lets go of the tensor when this library drops it.
//!
//! Source: the DLPack specification, version 1.3, and the Python array API standard.

use std::ffi::{CStr, c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::slice;

use poolgrad::{DType, Layout, MAX_AXES, Sizes, TensorDesc};
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods, PyDict, PyType};

use super::{Hold, Place, Subject};

/// `DLTensor`: a tensor without ownership.
#[repr(C)]
struct DlTensor {
    data: *mut c_void,
    device: c_int,
    device_id: i32,
    n_axes: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *const i64,
    strides: *const i64,
    byte_offset: u64,
}

/// `DLPackVersion`.
#[repr(C)]
struct Version {
    major: u32,
    minor: u32,
}

/// `DLManagedTensorVersioned`: a tensor with its owner.
#[repr(C)]
struct ManagedTensor {
    version: Version,
    owner: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut ManagedTensor)>,
    flags: u64,
    tensor: DlTensor,
}

/// The head of `DLPackExchangeAPI`, as far as it is used.
#[repr(C)]
pub(super) struct ExchangeApi {
    version: Version,
    previous: *const ExchangeApi,
    allocate: *const c_void,
    from_object: Option<unsafe extern "C" fn(*mut c_void, *mut *mut ManagedTensor) -> c_int>,
    to_object: *const c_void,
    /// Describes a tensor as it is until something else is called; optional.
    borrow: Option<unsafe extern "C" fn(*mut c_void, *mut DlTensor) -> c_int>,
}

impl ExchangeApi {
    /// Whether [`borrow`] works.
    pub(super) fn can_lend(&self) -> bool {
        self.borrow.is_some()
    }
}

// SAFETY: the table is constant, and its functions are called with the interpreter held.
unsafe impl Sync for ExchangeApi {}

/// The version of DLPack whose structures these are.
const MAJOR: u32 = 1;

const READ_ONLY: u64 = 1;
const IS_COPIED: u64 = 2;

/// Devices whose memory the processor reads as its own: itself, and memory pinned for CUDA or ROCm.
const PROCESSOR: [c_int; 3] = [1, 3, 11];

/// The C interface of a type, if it has one that this library can read.
pub(super) fn exchange_api(kind: &Bound<'_, PyType>) -> PyResult<Option<&'static ExchangeApi>> {
    let py = kind.py();
    let Some(capsule) = kind.getattr_opt(intern!(py, "__dlpack_c_exchange_api__"))? else { return Ok(None) };
    let Ok(capsule) = capsule.cast::<PyCapsule>() else { return Ok(None) };
    if !capsule.is_valid_checked(Some(c"dlpack_exchange_api")) {
        return Ok(None);
    }
    let mut next =
        capsule.pointer_checked(Some(c"dlpack_exchange_api"))?.as_ptr().cast_const().cast::<ExchangeApi>();
    // SAFETY: a capsule of this name holds such a table, which the library keeps as long as the process lives; each
    // table leads to an older one, or to none by an address of zero.
    while let Some(api) = unsafe { next.as_ref() } {
        if api.version.major == MAJOR {
            return Ok(api.from_object.is_some().then_some(api));
        }
        next = api.previous;
    }
    Ok(None)
}

/// A tensor that the C interface gave, until it is given back.
pub(super) struct Managed(NonNull<ManagedTensor>);

impl Drop for Managed {
    fn drop(&mut self) {
        // SAFETY: the library gave the tensor to `exchange`, and only this takes it back.
        let deleter = unsafe { self.0.as_ref() }.deleter;
        if let Some(deleter) = deleter {
            // SAFETY: as above; the deleter is called once.
            unsafe { deleter(self.0.as_ptr()) };
        }
    }
}

/// Where a tensor of a type that lends its tensors lies, until something else is called.
pub(super) fn borrow(api: &ExchangeApi, object: &Bound<'_, PyAny>, subject: Subject) -> PyResult<Place> {
    let lend = api.borrow.ok_or_else(|| subject.wrong("cannot be read"))?;
    let mut tensor = MaybeUninit::uninit();
    // SAFETY: `object` is of the type that the function was found on, and the interpreter is held.
    let status = unsafe { lend(object.as_ptr().cast(), tensor.as_mut_ptr()) };
    if status != 0 {
        return Err(subject.refused(object.py(), PyErr::fetch(object.py())));
    }
    // SAFETY: the library reports success, so it has filled the structure.
    place(unsafe { tensor.assume_init_ref() }, subject)
}

/// Where a tensor of a type with a C interface lies.
pub(super) fn exchange<'a, 'py>(
    api: &ExchangeApi,
    object: &Bound<'py, PyAny>,
    subject: Subject,
) -> PyResult<(Place, Hold<'a, 'py>)> {
    let mut managed = std::ptr::null_mut();
    let from_object = api.from_object.ok_or_else(|| subject.wrong("cannot be read"))?;
    // SAFETY: `object` is of the type, or of one derived from it, that the function was found on, and the interpreter
    // is held.
    let status = unsafe { from_object(object.as_ptr().cast(), &raw mut managed) };
    let managed = match NonNull::new(managed) {
        Some(managed) if status == 0 => Managed(managed),
        _ => return Err(subject.refused(object.py(), PyErr::fetch(object.py()))),
    };
    // SAFETY: the library has just filled the structure, and `managed` keeps it.
    let place = versioned(unsafe { managed.0.as_ref() }, subject)?;
    Ok((place, Hold::Managed { _managed: managed }))
}

/// Where a tensor with `__dlpack__` lies.
pub(super) fn protocol<'a, 'py>(object: &Bound<'py, PyAny>, subject: Subject) -> PyResult<(Place, Hold<'a, 'py>)> {
    const VERSIONED: &CStr = c"dltensor_versioned";
    const UNVERSIONED: &CStr = c"dltensor";
    let py = object.py();
    let method = object.getattr(intern!(py, "__dlpack__"))?;
    let keywords = PyDict::new(py);
    keywords.set_item(intern!(py, "max_version"), (MAJOR, 3u32))?;
    let capsule = match method.call((), Some(&keywords)) {
        // Libraries of the time before versions do not know the keyword.
        Err(error) if error.is_instance_of::<PyTypeError>(py) => method.call0(),
        result => result,
    };
    let capsule = capsule.map_err(|error| subject.refused(py, error))?;
    let no_capsule = || subject.wrong("has a __dlpack__ that returns no DLPack capsule");
    let holder = capsule.cast::<PyCapsule>().map_err(|_| no_capsule())?;
    let place = if holder.is_valid_checked(Some(VERSIONED)) {
        let pointer = holder.pointer_checked(Some(VERSIONED))?;
        // SAFETY: a capsule of this name holds this structure, and keeps it.
        versioned(unsafe { pointer.cast::<ManagedTensor>().as_ref() }, subject)?
    } else if holder.is_valid_checked(Some(UNVERSIONED)) {
        let pointer = holder.pointer_checked(Some(UNVERSIONED))?;
        // SAFETY: a capsule of this name holds a structure that begins with this one, and keeps it.
        place(unsafe { pointer.cast::<DlTensor>().as_ref() }, subject)?
    } else {
        return Err(no_capsule());
    };
    Ok((place, Hold::Capsule { _capsule: capsule }))
}

/// Where a tensor with version and flags lies.
fn versioned(managed: &ManagedTensor, subject: Subject) -> PyResult<Place> {
    if managed.version.major != MAJOR {
        let Version { major, minor } = managed.version;
        return Err(subject.wrong(&format!("comes in DLPack {major}.{minor}, and this library reads {MAJOR}")));
    }
    // What is written to a copy would be lost.
    subject.check_writable(managed.flags & (READ_ONLY | IS_COPIED) == 0)?;
    place(&managed.tensor, subject)
}

fn place(tensor: &DlTensor, subject: Subject) -> PyResult<Place> {
    if !PROCESSOR.contains(&tensor.device) {
        return Err(subject.wrong(&format!("must be in the processor's memory, got {}", device(tensor.device))));
    }
    let dtype = dtype(tensor, subject)?;
    let n_axes = usize::try_from(tensor.n_axes).ok().filter(|&n_axes| n_axes <= MAX_AXES);
    let n_axes =
        n_axes.ok_or_else(|| subject.wrong(&format!("must have at most 5 axes, got {}", tensor.n_axes)))?;
    let list = |numbers: *const i64| -> Sizes {
        if n_axes == 0 {
            return Sizes::default();
        }
        // SAFETY: the library gives as many numbers as axes, and the callers have looked for an address of zero.
        let numbers = unsafe { slice::from_raw_parts(numbers, n_axes) };
        Sizes::try_from(numbers).unwrap_or_default()
    };
    if n_axes > 0 && tensor.shape.is_null() {
        return Err(subject.wrong("has axes without sizes"));
    }
    let shape = list(tensor.shape);
    // Before version 1.2, no strides meant row-major order.
    let layout = if tensor.strides.is_null() {
        Layout::contiguous(shape)
    } else {
        Layout::strided(shape, list(tensor.strides))
    };
    let layout = layout.map_err(|problem| subject.no_layout(problem))?;
    // An address of zero says that there is no memory, whatever is added to it.
    let origin = match tensor.data {
        data if data.is_null() => data,
        data => data.wrapping_byte_add(tensor.byte_offset as usize),
    };
    Ok(Place { origin, desc: TensorDesc { dtype, layout } })
}

fn dtype(tensor: &DlTensor, subject: Subject) -> PyResult<DType> {
    let DlTensor { code, bits, lanes, .. } = *tensor;
    match (code, bits, lanes) {
        (2, 32, 1) => Ok(DType::F32),
        (2, 64, 1) => Ok(DType::F64),
        (2, 16, 1) => Ok(DType::F16),
        (4, 16, 1) => Ok(DType::BF16),
        (0, 32, 1) => Ok(DType::I32),
        (0, 64, 1) => Ok(DType::I64),
        _ => {
            let kind = match code {
                0 => "int",
                1 => "uint",
                2 => "float",
                4 => "bfloat",
                5 => "complex",
                6 => return Err(subject.wrong_dtype("bool")),
                7.. => "a narrow float of bits: ",
                _ => "an opaque type of bits: ",
            };
            let lanes = if lanes == 1 { String::new() } else { format!("x{lanes}") };
            Err(subject.wrong_dtype(&format!("{kind}{bits}{lanes}")))
        }
    }
}

fn device(code: c_int) -> String {
    match code {
        2 => "a tensor on a CUDA device".into(),
        8 => "a tensor on a Metal device".into(),
        10 => "a tensor on a ROCm device".into(),
        13 => "CUDA managed memory".into(),
        _ => format!("a tensor on DLPack device type {code}"),
    }
}
