//! Memory.

mod transfers;

use crate::codes;
use crate::fault::{Fault, Outcome};
use crate::ffi::boundary::enter;
use crate::ffi::handle::RUNTIME;
use crate::ffi::memory::Memory;
use crate::ffi::types::{In, Out};
use crate::runtime::memory::{Side, Spot, allocate, free, spot};
use crate::runtime::{context, device};

/// Device memory comes in units of this many bytes.
const UNIT: usize = 32;

/// Device memory with so many units more than were asked for.
fn malloc(function: &'static str, devPtr: Out<Memory>, size: usize, n_more: usize) -> i32 {
    enter(function, || {
        let place = devPtr.place("devPtr", RUNTIME)?;
        let bytes = round_up(size, n_more)?;
        let device = context::current()?.device();
        place.set(allocate(bytes, Side::Device, device)?);
        Ok(())
    })
}

fn round_up(size: usize, n_more: usize) -> Outcome<usize> {
    let invalid =
        || Fault::new(codes::INVALID_PARAM, format!("size must be at least 1 and fit memory, got {size}"));
    let bytes = size.checked_next_multiple_of(UNIT).and_then(|bytes| bytes.checked_add(n_more * UNIT));
    bytes.filter(|_| size > 0).ok_or_else(invalid)
}

#[unsafe(no_mangle)]
extern "C" fn aclrtMalloc(devPtr: Out<Memory>, size: usize, _policy: i32) -> i32 {
    malloc("aclrtMalloc", devPtr, size, 1)
}

#[unsafe(no_mangle)]
extern "C" fn aclrtMallocAlign32(devPtr: Out<Memory>, size: usize, _policy: i32) -> i32 {
    malloc("aclrtMallocAlign32", devPtr, size, 0)
}

#[unsafe(no_mangle)]
extern "C" fn aclrtMallocCached(devPtr: Out<Memory>, size: usize, _policy: i32) -> i32 {
    malloc("aclrtMallocCached", devPtr, size, 1)
}

/// `aclrtMallocConfig`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct MallocConfig {
    attrs: In<u8>,
    n_attrs: usize,
}

fn malloc_with(function: &'static str, devPtr: Out<Memory>, size: usize, cfg: In<MallocConfig>) -> i32 {
    enter(function, || {
        if !cfg.is_null() {
            let MallocConfig { attrs, n_attrs } = cfg.get("cfg", RUNTIME)?;
            if n_attrs != 0 && attrs.is_null() {
                let text = format!("cfg->attrs must have its {n_attrs} attributes, got NULL");
                return Err(Fault::new(codes::INVALID_PARAM, text));
            }
        }
        let place = devPtr.place("devPtr", RUNTIME)?;
        let bytes = round_up(size, 1)?;
        place.set(allocate(bytes, Side::Device, context::current()?.device())?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtMallocWithCfg(devPtr: Out<Memory>, size: usize, _policy: i32, cfg: In<MallocConfig>) -> i32 {
    malloc_with("aclrtMallocWithCfg", devPtr, size, cfg)
}

#[unsafe(no_mangle)]
extern "C" fn aclrtMallocForTaskScheduler(
    devPtr: Out<Memory>,
    size: usize,
    _policy: i32,
    cfg: In<MallocConfig>,
) -> i32 {
    malloc_with("aclrtMallocForTaskScheduler", devPtr, size, cfg)
}

fn null(name: &str) -> Fault {
    Fault::new(codes::INVALID_PARAM, format!("{name} must not be NULL"))
}

/// Frees memory of one side, after the device's work if `first` says so.
fn release(function: &'static str, (memory, name): (Memory, &str), side: Side, first: First) -> i32 {
    enter(function, || {
        if memory.is_null() {
            return Err(null(name));
        }
        let waited = match (first, context::selected()) {
            (First::Synchronize, Some(context)) => device::synchronize(context.device(), None),
            _ => Ok(()),
        };
        free(memory, side)?;
        waited
    })
}

/// What comes before freeing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum First {
    Nothing,
    Synchronize,
}

#[unsafe(no_mangle)]
extern "C" fn aclrtFree(devPtr: Memory) -> i32 {
    release("aclrtFree", (devPtr, "devPtr"), Side::Device, First::Nothing)
}

#[unsafe(no_mangle)]
extern "C" fn aclrtFreeWithDevSync(devPtr: Memory) -> i32 {
    release("aclrtFreeWithDevSync", (devPtr, "devPtr"), Side::Device, First::Synchronize)
}

#[unsafe(no_mangle)]
extern "C" fn aclrtMallocHost(hostPtr: Out<Memory>, size: usize) -> i32 {
    enter("aclrtMallocHost", || {
        let place = hostPtr.place("hostPtr", RUNTIME)?;
        if size == 0 {
            return Err(Fault::new(codes::INVALID_PARAM, "size must be at least 1, got 0"));
        }
        place.set(allocate(size, Side::Host, context::current()?.device())?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtFreeHost(hostPtr: Memory) -> i32 {
    release("aclrtFreeHost", (hostPtr, "hostPtr"), Side::Host, First::Nothing)
}

#[unsafe(no_mangle)]
extern "C" fn aclrtFreeHostWithDevSync(hostPtr: Memory) -> i32 {
    release("aclrtFreeHostWithDevSync", (hostPtr, "hostPtr"), Side::Host, First::Synchronize)
}

#[unsafe(no_mangle)]
extern "C" fn aclrtGetMemInfo(_attr: i32, free: Out<usize>, total: Out<usize>) -> i32 {
    enter("aclrtGetMemInfo", || {
        let (free, total) = (free.place("free", RUNTIME)?, total.place("total", RUNTIME)?);
        context::current()?;
        let unknown = || Fault::new(codes::RT_INTERNAL_ERROR, "the system does not say how much memory it has");
        let info = std::fs::read_to_string("/proc/meminfo").map_err(|_| unknown())?;
        let bytes = |key: &str| {
            let line = info.lines().find_map(|line| line.strip_prefix(key))?;
            line.split_whitespace().next()?.parse::<usize>().ok()?.checked_mul(1024)
        };
        free.set(bytes("MemAvailable:").ok_or_else(unknown)?);
        total.set(bytes("MemTotal:").ok_or_else(unknown)?);
        Ok(())
    })
}

/// `aclrtPtrAttributes`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct PointerAttributes {
    id: u32,
    location: u32,
    page_size: u32,
    reserved: [u32; 4],
}

#[unsafe(no_mangle)]
extern "C" fn aclrtPointerGetAttributes(ptr: Memory, attributes: Out<PointerAttributes>) -> i32 {
    const HOST: u32 = 0;
    const DEVICE: u32 = 1;
    const UNREGISTERED: u32 = 2;
    enter("aclrtPointerGetAttributes", || {
        if ptr.is_null() {
            return Err(null("ptr"));
        }
        let place = attributes.place("attributes", RUNTIME)?;
        let (id, location) = match spot(ptr) {
            Spot::Live { allocation, .. } => {
                let location = if allocation.side == Side::Device { DEVICE } else { HOST };
                (allocation.device.unsigned_abs(), location)
            }
            Spot::Freed | Spot::Foreign => (0, UNREGISTERED),
        };
        place.set(PointerAttributes { id, location, page_size: 4096, reserved: [0; 4] });
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtHostRegister(ptr: Memory, size: u64, _type: i32, devPtr: Out<Memory>) -> i32 {
    enter("aclrtHostRegister", || {
        if ptr.is_null() {
            return Err(null("ptr"));
        }
        if size == 0 {
            return Err(Fault::new(codes::INVALID_PARAM, "size must be at least 1, got 0"));
        }
        devPtr.place("devPtr", RUNTIME)?.set(ptr);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtHostUnregister(ptr: Memory) -> i32 {
    enter("aclrtHostUnregister", || if ptr.is_null() { Err(null("ptr")) } else { Ok(()) })
}
