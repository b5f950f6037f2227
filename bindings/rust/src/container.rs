// SPDX-License-Identifier: MIT
//! The bytes that hold an image: borrowed, owned or mapped.

#[cfg(feature = "std")]
use crate::error::Result;
use alloc::boxed::Box;
use core::ops::Deref;
#[cfg(feature = "std")]
use std::path::Path;

#[derive(Debug)]
pub(crate) enum Container<'a> {
    Borrowed(&'a [u8]),
    Owned(Box<[u8]>),
    #[cfg(feature = "mmap")]
    Mapped(crate::mapping::Mapping),
}

impl Deref for Container<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Container::Borrowed(bytes) => bytes,
            Container::Owned(bytes) => bytes,
            #[cfg(feature = "mmap")]
            Container::Mapped(mapping) => mapping,
        }
    }
}

#[cfg(feature = "std")]
impl Container<'static> {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        Ok(Container::Owned(std::fs::read(path)?.into_boxed_slice()))
    }
}
