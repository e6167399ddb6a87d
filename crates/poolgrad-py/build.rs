//! What the linker has to be told: on macOS, that the interpreter brings its symbols when it loads the library.
#![allow(clippy::print_stdout, reason = "cargo reads what a build script prints")]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("macos") {
        println!("cargo::rustc-cdylib-link-arg=-undefined");
        println!("cargo::rustc-cdylib-link-arg=dynamic_lookup");
    }
}
