//! The C interface of poolgrad: programs written for CANN's `acl` and `aclnn` compile and run on the CPU, unchanged.
//!
//! This crate speaks C for the library [`poolgrad`] and knows no pooling itself. One call comes in through `api` (one
//! file for each header), which reads handles and arguments with the types of `ffi`; `lower` turns an operator's
//! arguments into a spec and tensor descriptions; a plan is made, and kept in an executor (`objects`); phase 2 queues
//! it on a stream (`runtime`), where it runs. What goes wrong is a `fault::Fault`, which leaves through one
//! function, `ffi::boundary::enter`.
//!
//! The functions are for C. From Rust use the crate `poolgrad`.

#![deny(unsafe_code)]

mod api;
mod codes;
mod fault;
mod ffi;
mod log;
mod lower;
mod objects;
mod runtime;
mod settings;
mod status;
