// SPDX-License-Identifier: MIT
//! Prefetching, a hint that no safe function of the language gives.

#![allow(unsafe_code)] // Prefetch is an intrinsic.
#![allow(clippy::inline_always)] // They are an instruction.

/// Lets the processor load the line of a byte. Does nothing on other processors than x86-64.
#[inline(always)]
pub(crate) fn prefetch_at(bytes: &[u8], at: usize) {
    let address = bytes.as_ptr().wrapping_add(at);
    // SAFETY: a prefetch reads nothing that the program sees, and does nothing at an address without
    // memory. Every x86-64 processor has the instruction (SSE).
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use core::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
