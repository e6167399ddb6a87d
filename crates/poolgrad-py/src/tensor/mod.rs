//! Tensors of any array library, as views of the core: where they lie, and what keeps them there.
//!
//! NumPy arrays are read through `__array_struct__`, PyTorch tensors and what else has it through DLPack's C exchange
//! interface, everything else through `__dlpack__`. Nothing is copied. A [`Tensor`] owns whatever its library wants
//! held for as long as the memory is used, so the interpreter may be left to other threads meanwhile.

mod array_struct;
mod dlpack;
mod kinds;

use std::ffi::c_void;

use poolgrad::{Argument, Direction, LayoutError, TensorDesc, TensorView, TensorViewMut};
use pyo3::exceptions::{PyException, PyMemoryError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;

use crate::error::{exception, spelled};

use self::dlpack::ExchangeApi;
use self::kinds::{Family, Kind, kind_of};

/// What is to be done with a tensor.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// A tensor that is about to be read. Whatever needs Python code is done when it is made, so that nothing runs between
/// the reading of one tensor and of the next.
pub(crate) struct Request<'a, 'py> {
    object: &'a Bound<'py, PyAny>,
    subject: Subject,
    kind: Kind,
}

/// A tensor of the caller's.
pub(crate) struct Tensor<'a, 'py> {
    place: Place,
    subject: Subject,
    hold: Hold<'a, 'py>,
}

/// Where a tensor lies.
#[derive(Clone, Copy)]
struct Place {
    origin: *mut c_void,
    desc: TensorDesc,
}

/// What keeps the memory of a tensor in place, until it is dropped.
enum Hold<'a, 'py> {
    /// Nothing: the memory stays as long as nothing else runs in the interpreter.
    Borrowed(&'static ExchangeApi, &'a Bound<'py, PyAny>),
    /// A capsule, whose destructor lets go.
    Capsule { _capsule: Bound<'py, PyAny> },
    /// A tensor of the exchange interface, which is given back.
    Managed { _managed: dlpack::Managed },
}

impl Place {
    /// Refuses a tensor without memory; libraries mark such, as PyTorch's fake ones, by an address of zero.
    fn check(&self, subject: Subject) -> PyResult<()> {
        if self.origin.is_null() && !self.desc.layout.is_empty() {
            return Err(subject.wrong("has no memory"));
        }
        Ok(())
    }
}

impl<'a, 'py> Request<'a, 'py> {
    /// A request for the tensor that `object` is.
    ///
    /// # Errors
    /// `TypeError` for what is no tensor, `ValueError` for a tensor that stands for the negative of its memory.
    pub(crate) fn new(object: &'a Bound<'py, PyAny>, argument: Argument, access: Access) -> PyResult<Self> {
        let subject = Subject { argument, access };
        let kind = kind_of(object)?;
        let wrong = "is a view of a conjugate, negated on the fly: pass .resolve_neg()";
        match kind {
            Kind::Exchange(_, family) if family != Family::Foreign && is_negated(object, argument)? => {
                Err(subject.wrong(wrong))
            }
            Kind::Other => Err(subject.no_array(object)),
            _ => Ok(Self { object, subject, kind }),
        }
    }

    /// Reads the tensor.
    ///
    /// # Errors
    /// `TypeError` for an element type that no tensor of this library has; `ValueError` for other memory than the
    /// processor's, for strides between elements, and for an output that must not be written.
    pub(crate) fn read(self) -> PyResult<Tensor<'a, 'py>> {
        let Self { object, subject, kind } = self;
        let (place, hold) = match kind {
            Kind::Array => array_struct::read(object, subject)?,
            // PyTorch's tensors may be written, so there is nothing to ask of the slower way.
            Kind::Exchange(api, Family::Torch) if api.can_lend() => {
                (dlpack::borrow(api, object, subject)?, Hold::Borrowed(api, object))
            }
            Kind::Exchange(api, _) => dlpack::exchange(api, object, subject)?,
            Kind::Protocol | Kind::Other => dlpack::protocol(object, subject)?,
        };
        place.check(subject)?;
        Ok(Tensor { place, subject, hold })
    }
}

impl Tensor<'_, '_> {
    /// Whether the tensor is good only until something else runs in the interpreter.
    pub(crate) fn is_borrowed(&self) -> bool {
        matches!(self.hold, Hold::Borrowed(..))
    }

    /// Has the memory stay while other things run in the interpreter, and reads the tensor anew.
    ///
    /// # Errors
    /// As [`Request::read`].
    pub(crate) fn hold(&mut self) -> PyResult<()> {
        if let Hold::Borrowed(api, object) = self.hold {
            let (place, hold) = dlpack::exchange(api, object, self.subject)?;
            place.check(self.subject)?;
            (self.place, self.hold) = (place, hold);
        }
        Ok(())
    }

    /// The element type and layout.
    pub(crate) fn desc(&self) -> &TensorDesc {
        &self.place.desc
    }

    /// The tensor, to read.
    pub(crate) fn view(&self) -> TensorView<'_> {
        let Place { origin, desc } = self.place;
        // SAFETY: the array library described this memory, and promises by its protocol that it stays as long as
        // `hold`, which outlives the view; `Place::check` has refused addresses of nothing. What is only borrowed stays
        // until something else runs, and `call` lets nothing run before it has asked for a hold.
        unsafe { TensorView::from_raw_parts(origin.cast_const(), desc.dtype, desc.layout) }
    }

    /// The tensor, to write.
    pub(crate) fn view_mut(&mut self) -> TensorViewMut<'_> {
        let Place { origin, desc } = self.place;
        // SAFETY: as in `view`. That the memory may be written was asked of the library when the tensor was read with
        // `Access::Write`, and a plan refuses outputs that share memory with another tensor of the call.
        unsafe { TensorViewMut::from_raw_parts(origin, desc.dtype, desc.layout) }
    }
}

/// Whether a tensor of PyTorch's stands for the negative of its memory, which indices never do.
fn is_negated(tensor: &Bound<'_, PyAny>, argument: Argument) -> PyResult<bool> {
    if argument == Argument::Indices {
        return Ok(false);
    }
    tensor.call_method0(intern!(tensor.py(), "is_neg"))?.is_truthy()
}

/// The tensor that is being read, for messages.
#[derive(Clone, Copy)]
struct Subject {
    argument: Argument,
    access: Access,
}

impl Subject {
    fn direction(self) -> Direction {
        // Indices are written by forward passes and read by gradients.
        if self.access == Access::Write { Direction::Forward } else { Direction::Gradient }
    }

    /// The argument as the caller spells it.
    fn name(self) -> &'static str {
        spelled(self.argument, self.direction())
    }

    fn no_array(self, object: &Bound<'_, PyAny>) -> PyErr {
        PyTypeError::new_err(format!(
            "{} must be a NumPy array, a PyTorch tensor or another array with __dlpack__, got {}",
            self.name(),
            object.get_type()
        ))
    }

    fn no_layout(self, problem: LayoutError) -> PyErr {
        exception(&problem.of(self.argument), self.direction())
    }

    /// Refuses a tensor that must not be written, if it is to be.
    fn check_writable(self, is_writable: bool) -> PyResult<()> {
        if self.access == Access::Write && !is_writable {
            return Err(PyValueError::new_err(format!("{} is written, but it is read-only", self.name())));
        }
        Ok(())
    }

    fn wrong_dtype(self, got: &str) -> PyErr {
        let wanted = match self.argument {
            Argument::Indices => "int32 or int64",
            _ => "float32, float64, float16 or bfloat16",
        };
        PyTypeError::new_err(format!("{} must have element type {wanted}, got {got}", self.name()))
    }

    fn wrong(self, problem: &str) -> PyErr {
        PyValueError::new_err(format!("{} {problem}", self.name()))
    }

    /// A library's refusal to show its tensor, told of the argument. What is no fault of the tensor passes through.
    fn refused(self, py: Python<'_>, error: PyErr) -> PyErr {
        if !error.is_instance_of::<PyException>(py) || error.is_instance_of::<PyMemoryError>(py) {
            return error;
        }
        // Some libraries add a trace of their own after the first line.
        let reason = error.value(py).to_string();
        let reason = reason.lines().next().unwrap_or_default();
        let told = PyTypeError::new_err(format!("{} cannot be read: {reason}", self.name()));
        told.set_cause(py, Some(error));
        told
    }
}
