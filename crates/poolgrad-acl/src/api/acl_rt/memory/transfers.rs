//! Copying and filling.

use super::null;
use crate::codes;
use crate::fault::{Fault, Outcome};
use crate::ffi::boundary::enter;
use crate::ffi::handle::Handle;
use crate::ffi::memory::Memory;
use crate::runtime::context::{self, stream_or_default};
use crate::runtime::stream::Stream;
use crate::runtime::transfer::{Rows, Transfer, What};

/// The kinds of copies by their numbers.
const HOST_TO_HOST: i32 = 0;
const LAST_KIND: i32 = 5;
/// Copies of rows have fewer: from host to device to the default.
const ROW_KINDS: std::ops::RangeInclusive<i32> = 1..=4;

#[cold]
fn invalid(text: String) -> Fault {
    Fault::new(codes::INVALID_PARAM, text)
}

/// Checks the arguments of a copy; `None` if there is nothing to copy.
fn copy((dst, dst_max): (Memory, usize), (src, count): (Memory, usize), kind: i32) -> Outcome<Option<Transfer>> {
    if count == 0 {
        return Ok(None);
    }
    if dst.is_null() || src.is_null() {
        return Err(null(if dst.is_null() { "dst" } else { "src" }));
    }
    if !(HOST_TO_HOST..=LAST_KIND).contains(&kind) {
        return Err(invalid(format!("kind must be from 0 to {LAST_KIND}, got {kind}")));
    }
    if count > dst_max {
        let text = format!("count must be at most destMax, {dst_max}, got {count}");
        return Err(Fault::new(codes::RT_PARAM_INVALID, text));
    }
    context::current()?;
    if dst == src {
        return Ok(None);
    }
    Transfer::new(What::Copy { to: dst, from: src, bytes: count }).map(Some)
}

/// Has a stream do a transfer. Memory of the program's own may be gone when the stream gets there, so then it is done
/// before the call returns, after everything that was given to the stream.
fn give(transfer: Transfer, stream: Handle<Stream>) -> Outcome {
    let stream = stream_or_default(stream)?;
    if transfer.is_held() {
        return stream.give(transfer).map(drop);
    }
    let number = stream.give(transfer)?;
    stream.wait(number, None);
    Ok(())
}

#[unsafe(no_mangle)]
extern "C" fn aclrtMemcpy(dst: Memory, destMax: usize, src: Memory, count: usize, kind: i32) -> i32 {
    enter("aclrtMemcpy", || {
        if let Some(transfer) = copy((dst, destMax), (src, count), kind)? {
            transfer.perform();
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtMemcpyAsync(
    dst: Memory,
    destMax: usize,
    src: Memory,
    count: usize,
    kind: i32,
    stream: Handle<Stream>,
) -> i32 {
    enter("aclrtMemcpyAsync", || {
        if count > 0 && kind == HOST_TO_HOST {
            let text = "kind must not be ACL_MEMCPY_HOST_TO_HOST for an asynchronous copy";
            return Err(Fault::new(codes::RT_FEATURE_NOT_SUPPORT, text));
        }
        match copy((dst, destMax), (src, count), kind)? {
            None => Ok(()),
            Some(transfer) => give(transfer, stream),
        }
    })
}

/// Checks the arguments of a fill; `None` if there is nothing to fill.
fn fill(dev_ptr: Memory, (max_count, count): (usize, usize), value: i32) -> Outcome<Option<Transfer>> {
    if count == 0 {
        return Ok(None);
    }
    if dev_ptr.is_null() {
        return Err(null("devPtr"));
    }
    if count > max_count {
        let text = format!("count must be at most maxCount, {max_count}, got {count}");
        return Err(Fault::new(codes::RT_PARAM_INVALID, text));
    }
    context::current()?;
    // The low 8 bits of the value, as the header of `memset` has it.
    Transfer::new(What::Fill { to: dev_ptr, value: value as u8, bytes: count }).map(Some)
}

#[unsafe(no_mangle)]
extern "C" fn aclrtMemset(devPtr: Memory, maxCount: usize, value: i32, count: usize) -> i32 {
    enter("aclrtMemset", || {
        if let Some(transfer) = fill(devPtr, (maxCount, count), value)? {
            transfer.perform();
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtMemsetAsync(
    devPtr: Memory,
    maxCount: usize,
    value: i32,
    count: usize,
    stream: Handle<Stream>,
) -> i32 {
    enter("aclrtMemsetAsync", || match fill(devPtr, (maxCount, count), value)? {
        None => Ok(()),
        Some(transfer) => give(transfer, stream),
    })
}

/// Checks the arguments of a fill with words.
fn fill_words(ptr: Memory, (mem_size, n): (usize, usize), value: u32) -> Outcome<Transfer> {
    if ptr.is_null() {
        return Err(null("ptr"));
    }
    if !ptr.addr().is_multiple_of(size_of::<u32>()) {
        return Err(invalid(format!("ptr must be a multiple of 4, got {:#x}", ptr.addr())));
    }
    if n == 0 || n.checked_mul(size_of::<u32>()).is_none_or(|bytes| bytes > mem_size) {
        return Err(invalid(format!("N must be at least 1 and memSize, {mem_size}, at least 4 N, got N = {n}")));
    }
    context::current()?;
    let transfer = Transfer::new(What::FillWords { to: ptr, value, words: n })?;
    if !transfer.is_held() {
        return Err(invalid("ptr must come from aclrtMalloc or aclrtMallocHost".to_owned()));
    }
    Ok(transfer)
}

#[unsafe(no_mangle)]
extern "C" fn aclrtMemsetD32(ptr: Memory, memSize: usize, value: u32, N: usize) -> i32 {
    enter("aclrtMemsetD32", || {
        fill_words(ptr, (memSize, N), value)?.perform();
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtMemsetD32Async(
    ptr: Memory,
    memSize: usize,
    value: u32,
    N: usize,
    stream: Handle<Stream>,
) -> i32 {
    enter("aclrtMemsetD32Async", || give(fill_words(ptr, (memSize, N), value)?, stream))
}

/// Checks the arguments of a copy of rows; `None` if there is nothing to copy.
fn copy_rows(to: Rows, from: Rows, (width, height): (usize, usize), kind: i32) -> Outcome<Option<Transfer>> {
    if width == 0 || height == 0 {
        return Ok(None);
    }
    if to.start.is_null() || from.start.is_null() {
        return Err(null(if to.start.is_null() { "dst" } else { "src" }));
    }
    if !ROW_KINDS.contains(&kind) {
        return Err(invalid(format!("kind must be from 1 to 4, got {kind}")));
    }
    if width > to.pitch || width > from.pitch {
        let text = format!("width must be at most dpitch, {}, and spitch, {}, got {width}", to.pitch, from.pitch);
        return Err(invalid(text));
    }
    context::current()?;
    Transfer::new(What::CopyRows { to, from, bytes: width, n_rows: height }).map(Some)
}

#[unsafe(no_mangle)]
extern "C" fn aclrtMemcpy2d(
    dst: Memory,
    dpitch: usize,
    src: Memory,
    spitch: usize,
    width: usize,
    height: usize,
    kind: i32,
) -> i32 {
    enter("aclrtMemcpy2d", || {
        let (to, from) = (Rows { start: dst, pitch: dpitch }, Rows { start: src, pitch: spitch });
        if let Some(transfer) = copy_rows(to, from, (width, height), kind)? {
            transfer.perform();
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtMemcpy2dAsync(
    dst: Memory,
    dpitch: usize,
    src: Memory,
    spitch: usize,
    width: usize,
    height: usize,
    kind: i32,
    stream: Handle<Stream>,
) -> i32 {
    enter("aclrtMemcpy2dAsync", || {
        let (to, from) = (Rows { start: dst, pitch: dpitch }, Rows { start: src, pitch: spitch });
        match copy_rows(to, from, (width, height), kind)? {
            None => Ok(()),
            Some(transfer) => give(transfer, stream),
        }
    })
}
