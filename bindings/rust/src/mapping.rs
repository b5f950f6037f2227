// SPDX-License-Identifier: MIT
//! Files that are mapped into memory. All of the crate's promises about a mapping are here.

#![allow(unsafe_code)] // Mapping a file is a promise that nothing else changes it.

use crate::error::{Error, Result};
use core::ops::Deref;
use memmap2::Mmap;
use std::path::Path;

/// A mapped file. Its bytes do not change: the caller of [`Mapping::new`] promised that.
pub(crate) struct Mapping(Mmap);

impl Mapping {
    /// Maps a file.
    ///
    /// # Safety
    ///
    /// While the mapping exists, no program may write to the file or truncate it.
    pub(crate) unsafe fn new(path: &Path) -> Result<Self> {
        let file = crate::container::open_regular(path)?;
        if file.metadata()?.len() == 0 {
            return Err(Error::Empty);
        }
        // SAFETY: the caller promises that the bytes do not change or vanish.
        Ok(Mapping(unsafe { Mmap::map(&file)? }))
    }
}

impl Deref for Mapping {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.0
    }
}
