//! C and C++ programs against the installed tree, as a user would build them: every test compiles with the system's
//! compiler and sees nothing of this repository but what `cargo xtask dist` lays out.

mod documents;
mod headers;
mod index_errors;
mod same_numbers;
mod settings;
mod support;
mod symbols;
mod table;
mod tree;
