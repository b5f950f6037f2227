// SPDX-License-Identifier: MIT
//! The bytes that hold an image: borrowed, owned or mapped.

use crate::aligned::Aligned;
use crate::error::{Error, Result};
use core::ops::Deref;
#[cfg(feature = "std")]
use std::{fs::File, io::Read, path::Path};

#[derive(Debug)]
pub(crate) enum Container<'a> {
    Borrowed(&'a [u8]),
    Owned(Aligned),
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

impl Container<'static> {
    pub(crate) fn copy_of(bytes: &[u8]) -> Result<Self> {
        Aligned::copy_of(bytes).map(Container::Owned).ok_or(Error::Memory)
    }

    #[cfg(feature = "std")]
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let mut file = File::open(path)?;
        let size = usize::try_from(file.metadata()?.len()).map_err(|_| Error::Memory)?;
        let mut bytes = Aligned::zeros(size).ok_or(Error::Memory)?;
        file.read_exact(&mut bytes)?;
        Ok(Container::Owned(bytes))
    }
}
