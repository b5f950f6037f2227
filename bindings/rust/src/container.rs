// SPDX-License-Identifier: MIT
//! The bytes that hold an image: borrowed, owned or mapped.

#![allow(unsafe_code)] // A pointer into the bytes, and blocks as arrays.

use crate::aligned::Aligned;
#[cfg(feature = "std")]
use crate::error::{Error, Result};
#[cfg(feature = "std")]
use crate::image::check_magic;
use crate::ribbon::LINE;
use core::ops::{Deref, Range};
use core::ptr::NonNull;
#[cfg(feature = "std")]
use std::{
    fs::{metadata, File, Metadata},
    io::{self, ErrorKind, Read},
    path::Path,
};

pub(crate) type Block = [u8; LINE];

/// The blocks, or lines, of bytes; an incomplete one is left out.
#[inline]
pub(crate) fn blocks_of(bytes: &[u8]) -> &[Block] {
    // SAFETY: arrays of bytes have no alignment, and these are within `bytes`.
    unsafe { core::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len() / LINE) }
}

/// The status of a regular file; an error for other files.
#[cfg(feature = "std")]
pub(crate) fn regular_file(path: &Path) -> io::Result<Metadata> {
    match metadata(path)? {
        found if found.is_file() => Ok(found),
        found if found.is_dir() => Err(ErrorKind::IsADirectory.into()),
        _ => Err(io::Error::new(ErrorKind::InvalidInput, "not a regular file")),
    }
}

/// Opens a regular file. Opening a FIFO would wait for a writer, so its type is looked up first.
#[cfg(feature = "std")]
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    regular_file(path)?;
    File::open(path)
}

enum Bytes<'a> {
    Borrowed(&'a [u8]),
    Owned(Aligned),
    #[cfg(feature = "mmap")]
    Mapped(crate::mapping::Mapping),
}

pub(crate) struct Container<'a> {
    bytes: Bytes<'a>,
    /// Parts of the bytes: a single lookup need not find out first where they are.
    body: NonNull<[u8]>,
    blocks: NonNull<[Block]>,
}

// SAFETY: `body` and `blocks` are shared references to the bytes, which other threads may read.
unsafe impl Send for Container<'_> {}
// SAFETY: as above.
unsafe impl Sync for Container<'_> {}

impl Deref for Container<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Borrowed(bytes) => bytes,
            Bytes::Owned(bytes) => bytes,
            #[cfg(feature = "mmap")]
            Bytes::Mapped(mapping) => mapping,
        }
    }
}

impl<'a> Container<'a> {
    fn new(bytes: Bytes<'a>) -> Self {
        Container { bytes, body: NonNull::from(&[]), blocks: NonNull::from(&[]) }
    }

    pub(crate) fn borrowed(bytes: &'a [u8]) -> Self {
        Container::new(Bytes::Borrowed(bytes))
    }

    #[cfg(feature = "mmap")]
    pub(crate) fn mapped(mapping: crate::mapping::Mapping) -> Self {
        Container::new(Bytes::Mapped(mapping))
    }

    /// Chooses the bytes of [`Container::body`] and, if it has blocks, of [`Container::blocks`].
    pub(crate) fn set_body(&mut self, body: Range<usize>, has_blocks: bool) {
        let body = &self[body];
        let blocks = if has_blocks { blocks_of(body) } else { &[] };
        (self.body, self.blocks) = (NonNull::from(body), NonNull::from(blocks));
    }

    #[inline]
    pub(crate) fn body(&self) -> &[u8] {
        // SAFETY: the body is part of the bytes. Those live as long as the container, never change,
        // and stay where they are if it moves: they are borrowed, mapped, or in a vector.
        unsafe { self.body.as_ref() }
    }

    #[inline]
    pub(crate) fn blocks(&self) -> &[Block] {
        // SAFETY: as above.
        unsafe { self.blocks.as_ref() }
    }
}

impl Container<'static> {
    pub(crate) fn owned(bytes: Aligned) -> Self {
        Container::new(Bytes::Owned(bytes))
    }

    #[cfg(feature = "std")]
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let mut file = open_regular(path)?;
        let size = usize::try_from(file.metadata()?.len()).map_err(|_| Error::Memory)?;
        // A large file that is not a filter is not read whole.
        let mut head = [0; 16];
        let head = &mut head[..size.min(16)];
        file.read_exact(head)?;
        check_magic(head)?;
        let mut bytes = Aligned::zeros(size)?;
        let (first, rest) = bytes.split_at_mut(head.len());
        first.copy_from_slice(head);
        file.read_exact(rest)?;
        Ok(Container::owned(bytes))
    }
}
