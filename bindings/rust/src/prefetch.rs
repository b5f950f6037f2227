// SPDX-License-Identifier: MIT
//! Prefetching, a hint that no safe function of the language gives.

#![allow(unsafe_code)] // Prefetch is an intrinsic.
#![allow(clippy::inline_always)] // They are an instruction.

/// Asks the processor to load a line of memory. Does nothing on other processors than x86-64.
#[inline(always)]
pub(crate) fn prefetch_line<T>(line: &T) {
    // SAFETY: the address is that of a reference. A prefetch reads nothing that the program sees,
    // and every x86-64 processor has the instruction (SSE).
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use core::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        _mm_prefetch::<_MM_HINT_T0>(core::ptr::from_ref(line).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
}

/// Prefetches a byte of a slice, if it has that byte.
#[inline]
pub(crate) fn prefetch(bytes: &[u8], at: usize) {
    if let Some(byte) = bytes.get(at) {
        prefetch_line(byte);
    }
}
