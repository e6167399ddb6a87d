//! Devices.

use super::deadline;
use crate::codes;
use crate::fault::{Fault, Outcome};
use crate::ffi::boundary::enter;
use crate::ffi::handle::RUNTIME;
use crate::ffi::types::Out;
use crate::runtime::device::{self, Reset};
use crate::runtime::{context, process};
use crate::settings::settings;

#[unsafe(no_mangle)]
extern "C" fn aclrtSetDevice(deviceId: i32) -> i32 {
    enter("aclrtSetDevice", || device::set(deviceId))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtResetDevice(deviceId: i32) -> i32 {
    enter("aclrtResetDevice", || device::reset(deviceId, Reset::One))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtResetDeviceForce(deviceId: i32) -> i32 {
    enter("aclrtResetDeviceForce", || device::reset(deviceId, Reset::All))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtGetDevice(deviceId: Out<i32>) -> i32 {
    enter("aclrtGetDevice", || {
        let place = deviceId.place("deviceId", RUNTIME)?;
        // Asking for the configured device does not set it.
        place.set(match (context::selected(), process::default_device()) {
            (None, Some(device)) => device,
            _ => context::current()?.device(),
        });
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtGetDeviceCount(count: Out<u32>) -> i32 {
    enter("aclrtGetDeviceCount", || {
        count.place("count", RUNTIME)?.set(settings().n_devices.unsigned_abs());
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtGetRunMode(runMode: Out<i32>) -> i32 {
    const ACL_HOST: i32 = 1;
    enter("aclrtGetRunMode", || {
        runMode.place("runMode", RUNTIME)?.set(ACL_HOST);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtSynchronizeDevice() -> i32 {
    enter("aclrtSynchronizeDevice", || device::synchronize(context::current()?.device(), None))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtSynchronizeDeviceWithTimeout(timeout: i32) -> i32 {
    enter("aclrtSynchronizeDeviceWithTimeout", || {
        let deadline = deadline(timeout, 0)?;
        device::synchronize(context::current()?.device(), deadline)
    })
}

/// `aclrtUtilizationInfo`, in percent; nothing here knows more than that it works.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Utilization {
    cube: i32,
    vector: i32,
    aicpu: i32,
    memory: i32,
    extension: usize,
}

#[unsafe(no_mangle)]
extern "C" fn aclrtGetDeviceUtilizationRate(deviceId: i32, utilizationInfo: Out<Utilization>) -> i32 {
    enter("aclrtGetDeviceUtilizationRate", || {
        let place = utilizationInfo.place("utilizationInfo", RUNTIME)?;
        device::check(deviceId)?;
        place.set(Utilization { cube: 0, vector: 0, aicpu: 0, memory: 0, extension: 0 });
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtQueryDeviceStatus(deviceId: i32, deviceStatus: Out<i32>) -> i32 {
    const NORMAL: i32 = 0;
    enter("aclrtQueryDeviceStatus", || {
        let place = deviceStatus.place("deviceStatus", RUNTIME)?;
        device::check(deviceId)?;
        place.set(NORMAL);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtGetDeviceInfo(deviceId: u32, attr: i32, value: Out<i64>) -> i32 {
    /// The attributes that are numbers of cores.
    const CORES: [i32; 4] = [1, 101, 102, 201];
    enter("aclrtGetDeviceInfo", || {
        let place = value.place("value", RUNTIME)?;
        device::check(i32::try_from(deviceId).unwrap_or(i32::MAX))?;
        if !CORES.contains(&attr) {
            let text = format!("attr must be a number of cores, one of {CORES:?}, got {attr}");
            return Err(Fault::new(codes::RT_FEATURE_NOT_SUPPORT, text));
        }
        place.set(std::thread::available_parallelism().map_or(1, |n| n.get() as i64));
        Ok(())
    })
}

/// Two devices that are to reach each other's memory, which here is one.
fn check_peers(device: i32, peer: i32) -> Outcome {
    device::check(device)?;
    device::check(peer)?;
    if device == peer {
        return Err(Fault::new(codes::INVALID_PARAM, format!("the devices must be two, got {device} twice")));
    }
    Ok(())
}

#[unsafe(no_mangle)]
extern "C" fn aclrtDeviceCanAccessPeer(canAccessPeer: Out<i32>, deviceId: i32, peerDeviceId: i32) -> i32 {
    enter("aclrtDeviceCanAccessPeer", || {
        let place = canAccessPeer.place("canAccessPeer", RUNTIME)?;
        check_peers(deviceId, peerDeviceId)?;
        place.set(1);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtDeviceEnablePeerAccess(peerDeviceId: i32, flags: u32) -> i32 {
    enter("aclrtDeviceEnablePeerAccess", || {
        if flags != 0 {
            return Err(Fault::new(codes::FEATURE_UNSUPPORTED, format!("flags must be 0, got {flags}")));
        }
        check_peers(context::current()?.device(), peerDeviceId)
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtDeviceDisablePeerAccess(peerDeviceId: i32) -> i32 {
    enter("aclrtDeviceDisablePeerAccess", || check_peers(context::current()?.device(), peerDeviceId))
}
