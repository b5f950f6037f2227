// SPDX-License-Identifier: MIT
//! Bytes in memory that begin at the start of a cache line, as in a mapped file.
//!
//! Blocks of 64 bytes would otherwise lie in two lines each, and a lookup would wait for both.

#![allow(unsafe_code)] // Lines as bytes.

use alloc::vec::Vec;
use core::ops::{Deref, DerefMut};

const LINE: usize = 64;

#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line([u8; LINE]);

#[derive(Debug)]
pub(crate) struct Aligned {
    lines: Vec<Line>,
    size: usize,
}

impl Aligned {
    /// Allocates `size` zero bytes. Returns `None` if memory runs out.
    pub(crate) fn zeros(size: usize) -> Option<Self> {
        let count = size.div_ceil(LINE);
        let mut lines = Vec::new();
        lines.try_reserve_exact(count).ok()?;
        lines.resize(count, Line([0; LINE]));
        Some(Aligned { lines, size })
    }

    pub(crate) fn copy_of(bytes: &[u8]) -> Option<Self> {
        let mut copy = Aligned::zeros(bytes.len())?;
        copy.copy_from_slice(bytes);
        Some(copy)
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
