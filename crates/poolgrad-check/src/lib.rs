//! Conformance tools for poolgrad: a language for problems, a reference, fillers and a comparison.
//!
//! A [`Problem`] is one line of text that says everything about one call: operator, sizes, types, memory layout,
//! contents. [`run`] fills its tensors, runs the library and compares the result with the [`reference`](mod@reference),
//! which forms every result from its definition in `f64` and shares no window arithmetic with the library.
//!
//! ```
//! use poolgrad_check::{Problem, reference};
//!
//! let problem: Problem = "max_grad n1c2 in6x8 k3x2 s2 p1 ndhwc ties".parse()?;
//! assert_eq!(problem.output_shape()?.to_string(), "[1, 2, 3, 5]");
//!
//! let input = reference::Grid { shape: [1, 1, 1, 1, 4], values: vec![1.0, 3.0, 2.0, 0.0] };
//! let pooled = reference::max_forward(&"max c1 in4 k2".parse::<Problem>()?.spec, &input);
//! assert_eq!(pooled.indices, [1, 2]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | what lives there |
//! |---|---|
//! | `problem` | [`Problem`], and the language |
//! | [`reference`](mod@reference) | the operations from their definitions |
//! | `replay` | the library's documented orders of addition, step by step, for comparison bit by bit |
//! | [`compare`] | the table of tolerances |
//! | `arrange`, `storage` | tensors inside buffers of garbage, so that stray accesses show |
//! | `fill`, `random` | contents |
//! | `call`, `expected`, `case`, `verdict`, `failure` | one problem from end to end |
//! | [`lists`] | the problem lists of the repository |
//! | `parallel` | many problems on all processors |
#![forbid(unsafe_code)]

mod arrange;
mod call;
mod case;
pub mod compare;
mod expected;
mod failure;
mod fill;
pub mod lists;
mod parallel;
mod problem;
mod random;
pub mod reference;
mod replay;
mod scalar;
mod storage;
mod verdict;

pub use arrange::{Access, Arrangement, AxisInMemory, Step};
pub use call::{Call, Outcome};
pub use case::Case;
pub use failure::{Failure, Fault};
pub use parallel::on_all_processors;
pub use problem::{Fill, MemoryLayout, ParseError, Problem, parse_list};
pub use random::Random;
pub use reference::windows::NoOutput;
pub use storage::Storage;
pub use verdict::{Verdict, run};

use poolgrad::{Sizes, Tensor};

/// A tensor of any type as numbers of the reference, with size-1 axes where it has fewer than five.
///
/// `n_spatial` is the number of axes behind C; a tensor with one more axis than that has N = 1.
///
/// # Panics
/// If the tensor does not have `n_spatial + 1` or `n_spatial + 2` axes.
///
/// # Examples
/// ```
/// let tensor = poolgrad::Tensor::from_vec(vec![1.0f32; 6], [2, 3])?;
/// assert_eq!(poolgrad_check::to_grid(&tensor, 1).shape, [1, 2, 1, 1, 3]);
/// # Ok::<(), poolgrad::LayoutError>(())
/// ```
#[must_use]
pub fn to_grid(tensor: &Tensor, n_spatial: usize) -> reference::Grid {
    let values = scalar::with_element!(tensor.dtype(), T => {
        storage::elements::<T>(tensor).iter().map(|&value| scalar::Scalar::wide(value)).collect()
    });
    reference::Grid { shape: lift(tensor.shape(), n_spatial), values }
}

/// A shape as `[N, C, D, H, W]`.
fn lift(shape: &Sizes, n_spatial: usize) -> [usize; 5] {
    let batched = shape.len() == n_spatial + 2;
    assert!(batched || shape.len() == n_spatial + 1, "C, the spatial axes, and possibly N before them");
    let mut lifted = [1; 5];
    for (axis, &size) in shape.iter().enumerate() {
        let axis = axis + usize::from(!batched);
        lifted[if axis < 2 { axis } else { axis + 3 - n_spatial }] = size as usize;
    }
    lifted
}

/// A list of at most eight values.
fn sizes(values: &[i64]) -> Sizes {
    Sizes::try_from(values).expect("no tensor of this crate has more than five axes")
}
