//! The compiled half of poolgrad's Python package: `poolgrad._core`.
//!
//! It reads tensors of any array library where they lie, and runs the core on them. What users see is written in
//! Python on top of it, in `python/poolgrad`.

mod arguments;
mod call;
mod error;
mod functions;
mod operands;
mod plan;
mod shapes;
mod tensor;
mod workers;

use pyo3::prelude::*;

/// Pooling and its gradients, into tensors that exist already.
// A short call borrows PyTorch's tensors, which is sound as long as nothing else runs in the interpreter meanwhile: a build
// of Python without a global lock has to turn it on.
#[pymodule(gil_used = true)]
mod _core {
    #[pymodule_export]
    use crate::functions::{
        adaptive_avg_pool, adaptive_avg_pool_backward, adaptive_max_pool, adaptive_max_pool_backward, max_pool,
        max_pool_backward,
    };

    #[pymodule_export]
    use crate::plan::{Plan, plan};

    #[pymodule_export]
    use crate::shapes::{adaptive_pool_shape, describe, info, max_pool_shape};

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "the name that Python gives a version")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
