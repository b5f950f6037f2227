// SPDX-License-Identifier: MIT
//! Memory of zeros, and bytes that begin at the start of a cache line, as in a mapped file.
//!
//! Blocks of 64 bytes would otherwise lie in two lines each, and a lookup would wait for both.

#![allow(unsafe_code)] // Lines as bytes, and memory of zeros as values.

use crate::error::{Error, Result};
use alloc::alloc::{alloc_zeroed, Layout};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicU32, AtomicUsize};

const LINE: usize = 64;

#[repr(C, align(64))]
struct Line([u8; LINE]);

/// A type for which all-zero bytes are a valid value.
///
/// # Safety
///
/// All-zero bytes must be a valid value of the type, and its size must not be 0.
pub(crate) unsafe trait Zero {}

// SAFETY: integers and arrays of them.
unsafe impl Zero for Line {}
// SAFETY: as above.
unsafe impl Zero for AtomicU32 {}
// SAFETY: as above.
unsafe impl Zero for AtomicUsize {}

/// Allocates `count` zeros. The system clears a large allocation only as it is used, so this is
/// fast for any count.
pub(crate) fn zeros<T: Zero>(count: usize) -> Result<Box<[T]>> {
    let layout = Layout::array::<T>(count).map_err(|_| Error::Memory)?;
    if count == 0 {
        return Ok(Box::new([]));
    }
    // SAFETY: neither the type nor the count is 0.
    let start = unsafe { alloc_zeroed(layout) }.cast::<T>();
    if start.is_null() {
        return Err(Error::Memory);
    }
    // SAFETY: the memory has room for `count` values of this type, and all its bytes are zero.
    Ok(unsafe { Box::from_raw(core::ptr::slice_from_raw_parts_mut(start, count)) })
}

/// Reserves memory for more elements. Without memory a push would abort the process.
#[cfg(feature = "std")]
pub(crate) fn reserve<T>(vector: &mut Vec<T>, more: usize) -> Result<()> {
    vector.try_reserve(more).map_err(|_| Error::Memory)
}

pub(crate) struct Aligned {
    /// Not a box, because moving a box would invalidate pointers into it.
    lines: Vec<Line>,
    size: usize,
}

impl Aligned {
    /// Allocates `size` zero bytes.
    pub(crate) fn zeros(size: usize) -> Result<Self> {
        Ok(Aligned { lines: zeros(size.div_ceil(LINE))?.into(), size })
    }

    pub(crate) fn copy_of(bytes: &[u8]) -> Result<Self> {
        let mut copy = Aligned::zeros(bytes.len())?;
        copy.copy_from_slice(bytes);
        Ok(copy)
    }
}

impl Deref for Aligned {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: the lines have at least `size` bytes, all of them initialised.
        unsafe { core::slice::from_raw_parts(self.lines.as_ptr().cast(), self.size) }
    }
}

impl DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and every value of the bytes is valid.
        unsafe { core::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.size) }
    }
}
