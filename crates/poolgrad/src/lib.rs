//! Pooling gradients that are fast, deterministic, bounds-checked and native on strided tensors.
//!
//! The crate computes the gradients of max pooling, adaptive max pooling and adaptive average pooling in one, two and
//! three dimensions, and the forward operations that belong to them. Values are `f32`, `f64`, `f16` or `bf16`, indices
//! `i32` or `i64`. Inputs may have any strides (transposed, sliced, channels-last, repeated, reversed), outputs any
//! that do not make two elements share a place; none of them is copied whole.
//!
//! # One call
//!
//! A pooling is a plain value, and runs itself:
//!
//! ```
//! use poolgrad::{MaxPool, Tensor};
//!
//! // One channel of 1 x 4 x 4 voxels, as [C, D, H, W].
//! let input = Tensor::from_vec((0..16).map(|i| (i * 7 % 16) as f32).collect(), [1, 1, 4, 4])?;
//! let pool = MaxPool::new_3d([1, 2, 2]);
//!
//! let (output, indices) = pool.forward(&input)?;
//! assert_eq!(output.as_slice::<f32>(), Some(&[12.0, 14.0, 15.0, 13.0][..]));
//! assert_eq!(indices.as_slice::<i64>(), Some(&[4, 2, 9, 11][..]));
//!
//! // The gradient of the sum of all outputs: one at each maximum.
//! let ones = Tensor::from_vec(vec![1.0f32; 4], *output.shape())?;
//! let grad_input = pool.backward(&ones, &indices, *input.shape())?;
//! assert_eq!(
//!     grad_input.as_slice::<f32>().unwrap().iter().enumerate().filter(|(_, g)| **g == 1.0).map(|(i, _)| i).collect::<Vec<_>>(),
//!     [2, 4, 9, 11],
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Plans
//!
//! Under the conveniences an operation takes three steps. A [`Spec`] says what is asked; a [`Plan`] checks it, chooses a
//! kernel and books a workspace; [`Plan::execute`] runs it, as often as you like, in memory that you own, without
//! allocating. This is the way to write into existing tensors, to use strides, and to know what runs:
//!
//! ```
//! use poolgrad::{AdaptiveAvgPool, DType, Direction, Layout, Operands, Plan, TensorDesc, TensorView, TensorViewMut};
//!
//! // grad_output is [N, C, H, W] = [1, 2, 1, 2]; grad_input is [1, 2, 2, 4] in channels-last order.
//! let grad_output = [4.0f32, 8.0, 40.0, 80.0];
//! let mut grad_input = [f32::NAN; 16];
//! let channels_last = Layout::strided([1, 2, 2, 4], [16, 1, 8, 2])?;
//!
//! let spec = AdaptiveAvgPool::new_2d([1, 2]).spec(Direction::Gradient);
//! let plan = Plan::new(&spec, &Operands::Spread {
//!     grad_output: TensorDesc::contiguous(DType::F32, [1, 2, 1, 2])?,
//!     grad_input: TensorDesc { dtype: DType::F32, layout: channels_last },
//! })?;
//! plan.run(Operands::Spread {
//!     grad_output: TensorView::new(&grad_output, [1, 2, 1, 2])?,
//!     grad_input: TensorViewMut::strided(&mut grad_input, channels_last, 0)?,
//! })?;
//! assert_eq!(grad_input[..8], [1.0, 10.0, 1.0, 10.0, 2.0, 20.0, 2.0, 20.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is promised
//!
//! * **The same bits, always.** Sums are formed in `f32` (`f64` for `f64`), from +0.0, in one documented order, and
//!   rounded once to nearest even. Thread count, ISA level, layout and run make no difference.
//! * **No index does harm.** An index may point anywhere in its volume, and its gradient is added there. One that points
//!   outside is an [`Error`] that names where it stands; nothing outside `grad_input` is touched.
//! * **Every error is a value** that names the argument, what was wanted and what came.
//! * **Nothing is allocated** by [`Plan::execute`], and small problems wake no thread. (Of larger ones, rayon boxes the task
//!   that is handed to its pool when the caller is not one of the pool's threads.)
//!
//! # Where things are
//!
//! | You have | Look at |
//! |---|---|
//! | a pooling in mind | [`MaxPool`], [`AdaptiveMaxPool`], [`AdaptiveAvgPool`], [`Spec`] |
//! | tensors in memory | [`TensorView`], [`TensorViewMut`], [`Layout`], [`Tensor`] |
//! | an operation to run | [`Plan`], [`Operands`], [`PlanOptions`], [`Explanation`] |
//! | an error | [`Error`], [`Argument`], [`LayoutError`] |
//! | a machine | [`Isa`] |
//!
//! # Environment
//!
//! `POOLGRAD_NUM_THREADS` limits the threads (as does rayon's `RAYON_NUM_THREADS`), `POOLGRAD_MAX_ISA` the ISA level
//! (`sse2`, `sse4.2`, `avx2`, `avx512`). Both are read once. The feature `rayon`, on by default, is what makes calls
//! parallel.

mod dtype;
mod error;
mod exec;
mod functions;
mod geometry;
mod kernels;
mod plan;
mod simd;
mod spec;
mod tensor;

pub use half;

pub use dtype::{DType, Element};
pub use error::{Argument, Error};
pub use plan::{BadIndices, Explanation, Plan, PlanOptions};
pub use simd::Isa;
pub use spec::{AdaptiveAvgPool, AdaptiveMaxPool, Direction, MaxPool, Operands, Pool, Spec};
pub use tensor::{Layout, LayoutError, MAX_AXES, Sizes, Tensor, TensorDesc, TensorView, TensorViewMut};
