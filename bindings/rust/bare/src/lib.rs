// SPDX-License-Identifier: MIT
//! A program without std that reads a filter. It does not compile if the crate, or a crate below it,
//! links std: there would be two panic handlers.
#![no_std]

use core::alloc::{GlobalAlloc, Layout};

struct NoMemory;

// SAFETY: an allocator may always fail.
unsafe impl GlobalAlloc for NoMemory {
    unsafe fn alloc(&self, _: Layout) -> *mut u8 {
        core::ptr::null_mut()
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static MEMORY: NoMemory = NoMemory;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

/// Returns whether a key may be in an image.
pub fn maybe(image: &[u8], key: &[u8]) -> bool {
    bloomfile::Filter::from_bytes(image).map_or(true, |filter| filter.contains(key))
}
