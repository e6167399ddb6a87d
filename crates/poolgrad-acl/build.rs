//! Link options of the C library.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // The threads of streams run code of the library, so closing it must not take that code away.
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
