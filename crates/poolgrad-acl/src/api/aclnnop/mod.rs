//! The operators, one file for each header.

mod adaptive_avg_pool3d;
mod adaptive_avg_pool3d_backward;
mod adaptive_max_pool2d;
mod adaptive_max_pool2d_backward;
mod adaptive_max_pool3d;
mod adaptive_max_pool3d_backward;
mod max_pool3d_with_argmax;
mod max_pool3d_with_argmax_backward;
