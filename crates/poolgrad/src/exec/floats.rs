//! How a thread computes with floating-point numbers: an unsafe room of two instructions.
//!
//! A thread can be told to take denormal numbers as zero, and others not: a program may ask for it (in PyTorch, by
//! `torch.set_flush_denormal`), and libraries compiled for fast mathematics do so for the thread that loads them. Then the
//! bits of a sum would depend on the worker that formed it.

/// Does `work` with denormal numbers and rounding to nearest, whatever this thread was told, and then sets it back.
#[inline]
pub(crate) fn with_all_numbers<R>(work: impl FnOnce() -> R) -> R {
    /// What the thread was told, if it is to be told again.
    struct SetBack(Option<imp::Mode>);

    impl Drop for SetBack {
        fn drop(&mut self) {
            if let Some(mode) = self.0 {
                imp::set(mode);
            }
        }
    }

    /// To a compiler a sum is the same before and after an instruction that it does not know; it moves none out of a call.
    #[inline(never)]
    fn call<R>(work: impl FnOnce() -> R) -> R {
        work()
    }

    let before = imp::get();
    let _set_back = SetBack((!imp::is_default(before)).then(|| {
        imp::set(imp::DEFAULT);
        before
    }));
    call(work)
}

#[cfg(target_arch = "x86_64")]
mod imp {
    use core::arch::asm;

    pub(super) type Mode = u32;

    /// No exception traps, nothing is flushed, rounding to nearest.
    pub(super) const DEFAULT: Mode = 0x1f80;

    /// The bits that record which exceptions there were.
    const FLAGS: Mode = 0x3f;

    pub(super) fn is_default(mode: Mode) -> bool {
        mode & !FLAGS == DEFAULT
    }

    pub(super) fn get() -> Mode {
        let mut mode: Mode = 0;
        // SAFETY: every x86-64 has the instruction, which writes these four bytes and nothing else.
        unsafe { asm!("stmxcsr dword ptr [{}]", in(reg) &raw mut mode, options(nostack, preserves_flags)) };
        mode
    }

    pub(super) fn set(mode: Mode) {
        // SAFETY: every x86-64 has the instruction, which reads these four bytes. They are the default, or what it gave
        // before, so no bit is set that does not exist.
        unsafe { asm!("ldmxcsr dword ptr [{}]", in(reg) &raw const mode, options(nostack, preserves_flags)) };
    }
}

#[cfg(target_arch = "aarch64")]
mod imp {
    use core::arch::asm;

    pub(super) type Mode = u64;

    /// No exception traps, nothing is flushed, rounding to nearest.
    pub(super) const DEFAULT: Mode = 0;

    pub(super) fn is_default(mode: Mode) -> bool {
        mode == DEFAULT
    }

    pub(super) fn get() -> Mode {
        let mode: Mode;
        // SAFETY: every aarch64 lets programs read the register.
        unsafe { asm!("mrs {}, fpcr", out(reg) mode, options(nostack, preserves_flags)) };
        mode
    }

    pub(super) fn set(mode: Mode) {
        // SAFETY: and write it; the value is the default, or what was read before.
        unsafe { asm!("msr fpcr, {}", in(reg) mode, options(nostack, preserves_flags)) };
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod imp {
    pub(super) type Mode = ();

    pub(super) const DEFAULT: Mode = ();

    pub(super) fn is_default((): Mode) -> bool {
        true
    }

    pub(super) fn get() -> Mode {}

    pub(super) fn set((): Mode) {}
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use std::hint::black_box;
    use std::panic::catch_unwind;
    use std::sync::Mutex;

    use super::*;
    use crate::exec::Crew;
    use crate::simd::Isa;

    /// Takes denormal numbers as zero, and makes them zero.
    const FLUSHING: imp::Mode = imp::DEFAULT | 1 << 15 | 1 << 6;

    /// Whether a sum of two denormal numbers is zero here.
    #[inline(never)]
    fn flushes() -> bool {
        let small = f32::from_bits(1 << 20);
        black_box(small) + black_box(small) == 0.0
    }

    /// With an assertion in between, the thread would keep the mode: so what was seen is told.
    #[test]
    fn numbers_are_all_there_inside_and_what_was_told_holds_outside() {
        assert!(!flushes());
        imp::set(FLUSHING);
        let before = flushes();
        let inside = with_all_numbers(flushes);
        let after = flushes();
        let _ = catch_unwind(|| with_all_numbers(|| panic!("work fails")));
        let after_a_panic = flushes();
        imp::set(imp::DEFAULT);
        assert_eq!((before, inside, after, after_a_panic), (true, false, true, true));
        assert!(!with_all_numbers(flushes));
    }

    #[test]
    fn the_caller_computes_as_the_other_workers_do() {
        let flushing = Mutex::new(Vec::new());
        let mut scratch = [0; 3 * 8];
        let mut crew = Crew { isa: Isa::best(), n_workers: 3, scratch: &mut scratch, bytes_per_worker: 8 };
        imp::set(FLUSHING);
        crew.run(&|_, _| flushing.lock().unwrap().push(flushes()));
        imp::set(imp::DEFAULT);
        let flushing = flushing.into_inner().unwrap();
        assert!(!flushing.is_empty() && !flushing.contains(&true), "{flushing:?}");
    }
}
