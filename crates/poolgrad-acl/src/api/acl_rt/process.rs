//! The process.

use std::ffi::c_char;

use crate::codes;
use crate::fault::Fault;
use crate::ffi::boundary::{self, enter};
use crate::ffi::handle::RUNTIME;
use crate::ffi::types::{Out, Text};
use crate::runtime::process;

#[unsafe(no_mangle)]
extern "C" fn aclInit(configPath: Text) -> i32 {
    enter("aclInit", || process::init(configPath.read().as_deref()))
}

#[unsafe(no_mangle)]
extern "C" fn aclFinalize() -> i32 {
    enter("aclFinalize", process::finalize)
}

#[unsafe(no_mangle)]
extern "C" fn aclFinalizeReference(refCount: Out<u64>) -> i32 {
    enter("aclFinalizeReference", || {
        let left = process::release()?;
        if let Some(place) = refCount.wanted() {
            place.set(left);
        }
        Ok(())
    })
}

/// The version of the interface, as in the header.
const VERSION: [i32; 3] = [1, 17, 0];

#[unsafe(no_mangle)]
extern "C" fn aclrtGetVersion(majorVersion: Out<i32>, minorVersion: Out<i32>, patchVersion: Out<i32>) -> i32 {
    enter("aclrtGetVersion", || {
        let major = majorVersion.place("majorVersion", RUNTIME)?;
        let minor = minorVersion.place("minorVersion", RUNTIME)?;
        let patch = patchVersion.place("patchVersion", RUNTIME)?;
        for (place, value) in [major, minor, patch].into_iter().zip(VERSION) {
            place.set(value);
        }
        Ok(())
    })
}

/// `aclCANNPackageVersion`: texts that end in a zero.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct PackageVersion {
    version: [u8; 128],
    parts: [[u8; 64]; 4],
    reserved: [u8; 128],
}

#[unsafe(no_mangle)]
extern "C" fn aclsysGetCANNVersion(name: i32, version: Out<PackageVersion>) -> i32 {
    enter("aclsysGetCANNVersion", || {
        let place = version.place("version", RUNTIME)?;
        if !(0..=7).contains(&name) {
            let text = format!("name must be that of a package, from 0 to 7, got {name}");
            return Err(Fault::new(codes::INVALID_PARAM, text));
        }
        fn text<const N: usize>(text: &str) -> [u8; N] {
            std::array::from_fn(|i| text.as_bytes().get(i).copied().filter(|_| i + 1 < N).unwrap_or(0))
        }
        let (major, minor) = (env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"));
        let parts = [major, minor, env!("CARGO_PKG_VERSION_PATCH"), ""].map(text);
        place.set(PackageVersion { version: text(env!("CARGO_PKG_VERSION")), parts, reserved: [0; 128] });
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclGetRecentErrMsg() -> *const c_char {
    boundary::recent_message()
}

#[unsafe(no_mangle)]
extern "C" fn aclrtGetSocName() -> *const c_char {
    c"Ascend910B2".as_ptr()
}
