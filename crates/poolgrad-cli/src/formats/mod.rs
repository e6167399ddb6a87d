//! Tensors in files: where one lies, how it is read in place, and how several are written or none.

mod convert;
mod map;
mod npy;
mod safetensors;
mod save;
mod source;

pub(crate) use convert::converted;
pub(crate) use save::{Outgoing, check_targets, save, save_bytes};
pub(crate) use source::{Part, Source, part_mut};

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::str::FromStr;

use poolgrad::{DType, Layout, Sizes};

use crate::failure::Failure;

/// Runs `$body`, a `Result<_, Failure>`, with `$type` standing for the Rust type of `$dtype`.
macro_rules! each_element {
    ($dtype:expr, $type:ident => $body:expr) => {
        match $dtype {
            poolgrad::DType::F32 => {
                type $type = f32;
                $body
            }
            poolgrad::DType::F64 => {
                type $type = f64;
                $body
            }
            poolgrad::DType::F16 => {
                type $type = poolgrad::half::f16;
                $body
            }
            poolgrad::DType::BF16 => {
                type $type = poolgrad::half::bf16;
                $body
            }
            poolgrad::DType::I32 => {
                type $type = i32;
                $body
            }
            poolgrad::DType::I64 => {
                type $type = i64;
                $body
            }
            other => Err($crate::failure::Failure::work(format!("element type {other} is not supported here"))),
        }
    };
}
pub(crate) use each_element;

/// A kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// One NumPy array.
    Npy,
    /// Named tensors.
    Safetensors,
}

/// A tensor in a file: `FILE.npy`, `FILE.safetensors` or `FILE.safetensors:NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) path: PathBuf,
    pub(crate) format: Format,
    /// The tensor's name in the file; absent means the only one.
    pub(crate) name: Option<String>,
}

impl FromStr for Location {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const MARK: &str = ".safetensors";
        if let Some(at) = text.rfind(".safetensors:") {
            let (path, name) = (&text[..at + MARK.len()], &text[at + MARK.len() + 1..]);
            return if name.is_empty() {
                Err("a tensor's name is wanted after the colon".into())
            } else {
                Ok(Self { path: path.into(), format: Format::Safetensors, name: Some(name.into()) })
            };
        }
        let path = PathBuf::from(text);
        let format = match path.extension().and_then(|extension| extension.to_str()) {
            Some("npy") => Format::Npy,
            Some("safetensors") => Format::Safetensors,
            _ => return Err("a file name that ends with .npy or .safetensors[:NAME] is wanted".into()),
        };
        Ok(Self { path, format, name: None })
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        match &self.name {
            Some(name) => write!(f, ":{name}"),
            None => Ok(()),
        }
    }
}

/// Which axis lies densest in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// The last: row-major.
    C,
    /// The first: column-major.
    Fortran,
}

/// What a file's header says of a tensor; the place is not checked yet.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Header {
    dtype: DType,
    shape: Sizes,
    order: Order,
    /// The bytes of the elements in the file.
    place: Range<usize>,
}

impl Header {
    /// The layout, if the shape is one.
    fn layout(&self) -> Result<Layout, String> {
        let contiguous = Layout::contiguous(self.shape).map_err(|error| error.to_string())?;
        if self.order == Order::C {
            return Ok(contiguous);
        }
        // Column-major is row-major with the axes in reverse.
        let reversed = |sizes: &Sizes| {
            let values: Vec<i64> = sizes.iter().rev().copied().collect();
            Sizes::try_from(values.as_slice()).map_err(|error| error.to_string())
        };
        let strides = *Layout::contiguous(reversed(&self.shape)?).map_err(|error| error.to_string())?.strides();
        Layout::strided(self.shape, reversed(&strides)?).map_err(|error| error.to_string())
    }
}

/// The bytes that a tensor of `shape` has, if they can be counted.
fn n_bytes(dtype: DType, shape: &[i64]) -> Option<usize> {
    let size = i64::try_from(dtype.size()).ok()?;
    let count = shape.iter().try_fold(size, |count, &size| count.checked_mul(size))?;
    usize::try_from(count).ok()
}

/// A failure to read `location`: what was expected and what the file holds.
fn unreadable(location: &Location, message: impl fmt::Display) -> Failure {
    Failure::work(format!("{location}: {message}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Oracle: by hand.
    #[test]
    fn locations_are_read_or_refused() {
        let location = |text: &str| text.parse::<Location>();
        let named = location("a/b.safetensors:x.safetensors").map(|found| (found.path, found.name));
        assert_eq!(named, Ok(("a/b.safetensors".into(), Some("x.safetensors".into()))));
        assert_eq!(location("x.npy").map(|found| (found.format, found.name)), Ok((Format::Npy, None)));
        assert_eq!(
            location("x.safetensors").map(|found| (found.format, found.name)),
            Ok((Format::Safetensors, None))
        );
        for wrong in ["", "x", "x.npz", "/dev/null", "x.safetensors:", ".npy:a"] {
            assert!(location(wrong).is_err(), "{wrong}");
        }
    }

    // Oracle: by hand; NumPy's strides of a column-major array, in elements.
    #[test]
    fn column_major_headers_have_ascending_strides() {
        let header =
            Header { dtype: DType::F32, shape: Sizes::from([2, 3, 4]), order: Order::Fortran, place: 0..96 };
        assert_eq!(header.layout().unwrap().strides()[..], [1, 2, 6]);
    }

    // Oracle: by hand.
    #[test]
    fn bytes_are_counted_without_overflow() {
        assert_eq!(n_bytes(DType::F16, &[3, 4]), Some(24));
        assert_eq!(n_bytes(DType::F16, &[]), Some(2));
        assert_eq!(n_bytes(DType::F64, &[i64::MAX, 2]), None);
        assert_eq!(n_bytes(DType::F64, &[-1]), None);
    }
}
