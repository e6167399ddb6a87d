//! A C-callable entry to poolgrad for the comparison with other libraries: plan once, run many times.
//!
//! A caller describes one problem by a line of the problem language and its tensors by address, shape and strides, as
//! NumPy and PyTorch show them. It is no general interface: it knows the gradients only, and its caller is
//! `benches/peers/peers.py`.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_void};
use std::slice;

use poolgrad::{DType, Layout, Operands, Plan, PlanOptions, Sizes, TensorDesc, TensorView, TensorViewMut};
use poolgrad_check::Problem;

/// A tensor in the caller's memory.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PeerTensor {
    /// The address of element `[0, 0, …]`.
    pub data: *mut c_void,
    /// The name of the element type, such as `bf16`.
    pub dtype: *const c_char,
    /// The number of axes.
    pub n_axes: usize,
    /// The sizes of the axes.
    pub shape: *const i64,
    /// The steps from one element to the next along each axis, in elements.
    pub strides: *const i64,
}

/// A planned gradient and its tensors.
pub struct Peer {
    plan: Plan,
    workspace: Vec<u8>,
    tensors: Tensors,
    description: CString,
}

/// The tensors of a gradient; averages have no indices.
struct Tensors {
    grad_output: Place,
    indices: Option<Place>,
    grad_input: Place,
}

/// Where a tensor is.
#[derive(Clone, Copy)]
struct Place {
    data: *mut c_void,
    desc: TensorDesc,
}

thread_local! {
    static ERROR: RefCell<CString> = RefCell::new(CString::default());
}

/// Plans the gradient that `problem` describes, on these tensors, with at most `threads` threads (0: all).
///
/// Returns null if that fails, and `poolgrad_peer_error` says why. `indices` is null for averages.
///
/// # Safety
/// `problem` and each `dtype` end in NUL; `shape` and `strides` have `n_axes` elements; `data` is the address of a
/// tensor of that type, shape and strides, which stays valid until [`poolgrad_peer_free`]. `grad_input` overlaps none
/// of the others.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn poolgrad_peer_new(
    problem: *const c_char,
    grad_output: *const PeerTensor,
    indices: *const PeerTensor,
    grad_input: *const PeerTensor,
    threads: usize,
) -> *mut Peer {
    // SAFETY: the caller vouches for a NUL at the end.
    let problem = unsafe { CStr::from_ptr(problem) };
    let make = || {
        // SAFETY: the caller vouches for the three descriptions; each is null or valid.
        let place = |tensor| unsafe { place(tensor) };
        let [grad_output, indices, grad_input] = [grad_output, indices, grad_input].map(place);
        let tensors = Tensors {
            grad_output: grad_output?.ok_or("grad_output is missing")?,
            indices: indices?,
            grad_input: grad_input?.ok_or("grad_input is missing")?,
        };
        Peer::new(&problem.to_string_lossy(), tensors, threads)
    };
    match make() {
        Ok(peer) => Box::into_raw(Box::new(peer)),
        Err(error) => {
            remember(&error);
            std::ptr::null_mut()
        }
    }
}

/// Computes the gradient `n_calls` times. Returns 0, or 1 if that fails, and `poolgrad_peer_error` says why.
///
/// # Safety
/// `peer` is from [`poolgrad_peer_new`] and was not freed; nobody else uses it or writes its tensors meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn poolgrad_peer_run(peer: *mut Peer, n_calls: usize) -> i32 {
    // SAFETY: the caller vouches for a peer that nobody else uses.
    let peer = unsafe { &mut *peer };
    match (0..n_calls).try_for_each(|_| peer.run()) {
        Ok(()) => 0,
        Err(error) => {
            remember(&error);
            1
        }
    }
}

/// What the plan says of itself, until the peer is freed.
///
/// # Safety
/// `peer` is from [`poolgrad_peer_new`] and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn poolgrad_peer_describe(peer: *const Peer) -> *const c_char {
    // SAFETY: the caller vouches for the peer.
    let peer = unsafe { &*peer };
    peer.description.as_ptr()
}

/// Frees a peer; null is ignored.
///
/// # Safety
/// `peer` is null, or from [`poolgrad_peer_new`] and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn poolgrad_peer_free(peer: *mut Peer) {
    if !peer.is_null() {
        // SAFETY: the caller vouches that the box is still there.
        drop(unsafe { Box::from_raw(peer) });
    }
}

/// Why the last call of this thread failed, until the next one fails.
#[unsafe(no_mangle)]
pub extern "C" fn poolgrad_peer_error() -> *const c_char {
    ERROR.with_borrow(|error| error.as_ptr())
}

impl Peer {
    fn new(problem: &str, tensors: Tensors, threads: usize) -> Result<Self, String> {
        let problem: Problem = problem.parse().map_err(|error: poolgrad_check::ParseError| error.to_string())?;
        let (grad_output, grad_input) = (tensors.grad_output.desc, tensors.grad_input.desc);
        let operands = match tensors.indices {
            Some(indices) => Operands::Scatter { grad_output, indices: indices.desc, grad_input },
            None => Operands::Spread { grad_output, grad_input },
        };
        let options = match threads {
            0 => PlanOptions::default(),
            threads => PlanOptions::default().threads(threads),
        };
        let plan = Plan::with_options(&problem.spec, &operands, &options).map_err(|error| error.to_string())?;
        let description = CString::new(plan.explain().to_string()).map_err(|error| error.to_string())?;
        Ok(Self { workspace: vec![0; plan.workspace_bytes()], plan, tensors, description })
    }

    fn run(&mut self) -> Result<(), String> {
        let Tensors { grad_output, indices, grad_input } = &self.tensors;
        // SAFETY: `poolgrad_peer_new` was promised that the tensors stay valid, and `poolgrad_peer_run` that nobody
        // writes them meanwhile.
        let read = |Place { data, desc }: Place| unsafe {
            TensorView::from_raw_parts(data.cast_const(), desc.dtype, desc.layout)
        };
        let Place { data, desc } = *grad_input;
        // SAFETY: as above, and `grad_input` overlaps none of the others.
        let grad_input = unsafe { TensorViewMut::from_raw_parts(data, desc.dtype, desc.layout) };
        let grad_output = read(*grad_output);
        let operands = match indices.map(read) {
            Some(indices) => Operands::Scatter { grad_output, indices, grad_input },
            None => Operands::Spread { grad_output, grad_input },
        };
        self.plan.execute(operands, &mut self.workspace).map_err(|error| error.to_string())
    }
}

/// Keeps a message for `poolgrad_peer_error`.
fn remember(error: &str) {
    let text = CString::new(error.replace('\0', " ")).unwrap_or_default();
    ERROR.with_borrow_mut(|error| *error = text);
}

/// The place that a caller describes; `None` for null.
///
/// # Safety
/// `tensor` is null or describes a tensor as [`poolgrad_peer_new`] demands.
unsafe fn place(tensor: *const PeerTensor) -> Result<Option<Place>, String> {
    // SAFETY: the caller vouches that it is null or valid.
    let Some(tensor) = (unsafe { tensor.as_ref() }) else { return Ok(None) };
    // SAFETY: the caller vouches for a NUL at the end.
    let dtype = unsafe { CStr::from_ptr(tensor.dtype) }.to_string_lossy();
    // SAFETY: the caller vouches for `n_axes` sizes.
    let shape = unsafe { slice::from_raw_parts(tensor.shape, tensor.n_axes) };
    // SAFETY: the caller vouches for `n_axes` strides.
    let strides = unsafe { slice::from_raw_parts(tensor.strides, tensor.n_axes) };
    let found = DType::ALL.into_iter().find(|known| known.name() == dtype);
    let dtype = found.ok_or_else(|| format!("there is no element type {dtype}"))?;
    let sizes = |values| Sizes::try_from(values).map_err(|error: poolgrad::LayoutError| error.to_string());
    let layout = Layout::strided(sizes(shape)?, sizes(strides)?).map_err(|error| error.to_string())?;
    Ok(Some(Place { data: tensor.data, desc: TensorDesc { dtype, layout } }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described<T>(data: &mut [T], dtype: &'static CStr, shape: &[i64; 3], strides: &[i64; 3]) -> PeerTensor {
        let (shape, strides) = (shape.as_ptr(), strides.as_ptr());
        PeerTensor { data: data.as_mut_ptr().cast(), dtype: dtype.as_ptr(), n_axes: 3, shape, strides }
    }

    /// Oracle: worked by hand; the second plane's gradients point to its last and first place.
    #[test]
    fn a_gradient_is_computed_in_place() {
        let (mut grad_output, mut indices, mut grad_input) =
            ([5.0f32, 7.0, 1.0, 2.0], [1i64, 2, 3, 0], [9.0f32; 8]);
        let (small, small_strides, large, large_strides) = ([2, 1, 2], [2, 2, 1], [2, 2, 2], [4, 2, 1]);
        let grad_output = described(&mut grad_output, c"f32", &small, &small_strides);
        let indices = described(&mut indices, c"i64", &small, &small_strides);
        let target = described(&mut grad_input, c"f32", &large, &large_strides);
        let problem = c"max_grad c2 in2x2 k2x1 s1".as_ptr();
        // SAFETY: the descriptions are those of arrays that live until the end of this test.
        let peer = unsafe { poolgrad_peer_new(problem, &grad_output, &indices, &target, 1) };
        assert!(!peer.is_null());
        // SAFETY: the peer was just made.
        assert_eq!(unsafe { poolgrad_peer_run(peer, 2) }, 0);
        // SAFETY: the peer was just made.
        let text = unsafe { poolgrad_peer_describe(peer) };
        // SAFETY: the text lives as long as the peer.
        let text = unsafe { CStr::from_ptr(text) };
        assert!(text.to_string_lossy().starts_with("max_grad: kernel "));
        // SAFETY: the peer was just made, and is not used again.
        unsafe { poolgrad_peer_free(peer) };
        assert_eq!(grad_input, [0.0, 5.0, 7.0, 0.0, 2.0, 0.0, 0.0, 1.0]);
    }

    /// Oracle: each message by its subject.
    #[test]
    fn mistakes_are_told() {
        let (mut data, sizes, strides) = ([0.0f32; 8], [2, 2, 2], [4, 2, 1]);
        let tensor = described(&mut data, c"f32", &sizes, &strides);
        let odd = PeerTensor { dtype: c"f7".as_ptr(), ..tensor };
        let none = std::ptr::null();
        let average = c"adaptive_avg_grad c2 in2x2 out2";
        let cases: [(&CStr, *const PeerTensor, &str); 4] = [
            (c"pool c2", &tensor, "wanted"),
            (average, none, "grad_output is missing"),
            (average, &odd, "there is no element type f7"),
            (c"max_grad c2 in2x2 k1", &tensor, "indices"),
        ];
        for (problem, grad_output, message) in cases {
            // SAFETY: the descriptions are those of arrays that live until the end of this test, or null.
            let peer = unsafe { poolgrad_peer_new(problem.as_ptr(), grad_output, none, &tensor, 1) };
            assert!(peer.is_null());
            // SAFETY: the message lives until the next one.
            let got = unsafe { CStr::from_ptr(poolgrad_peer_error()) };
            assert!(got.to_string_lossy().contains(message), "{got:?}");
        }
        // SAFETY: null is allowed.
        unsafe { poolgrad_peer_free(std::ptr::null_mut()) };
    }
}
