//! The unsafe rooms: where values cross from C to Rust and back.
//!
//! A value of a type of these rooms ([`types::Out`], [`memory::Memory`], …) has no constructor in safe Rust. It can
//! only come from a C caller, who by calling has signed what the header says of that argument; the `SAFETY:` comments
//! refer to that signature.
#![allow(unsafe_code)]

pub(crate) mod boundary;
pub(crate) mod handle;
pub(crate) mod memory;
pub(crate) mod types;
