// SPDX-License-Identifier: MIT
//! The fields of an image's header, as Rust types.

use crate::error::{Error, Result};
use crate::hash::HashName;
use alloc::borrow::Cow;
use alloc::string::String;

/// The layout of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Layout {
    /// A key sets bits in one block of 64 bytes: one cache miss for each lookup.
    Blocked,
    /// A key sets bits anywhere: fewer bits for each key, more cache misses.
    Classic,
    /// Counters of four bits in place of bits.
    Counting,
    /// A ribbon filter, a third smaller than blocked. It is built once, from all its keys.
    Ribbon,
}

impl Layout {
    pub(crate) fn number(self) -> u32 {
        match self {
            Layout::Blocked => 1,
            Layout::Classic => 2,
            Layout::Counting => 3,
            Layout::Ribbon => 4,
        }
    }

    pub(crate) fn from_number(number: u32) -> Option<Self> {
        [Layout::Blocked, Layout::Classic, Layout::Counting, Layout::Ribbon]
            .into_iter()
            .find(|layout| layout.number() == number)
    }

    /// Returns whether m is a multiple of 512.
    pub(crate) fn has_blocks(self) -> bool {
        matches!(self, Layout::Blocked | Layout::Ribbon)
    }
}

/// The form of an image, which sets the size of its header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// A header of 4096 bytes; the body begins on a page of memory.
    #[default]
    File,
    /// A header of 512 bytes, for small filters inside other files.
    Embedded,
}

impl Form {
    pub(crate) fn header_size(self) -> usize {
        match self {
            Form::File => 4096,
            Form::Embedded => 512,
        }
    }

    /// The body is padded to a multiple of this.
    pub(crate) fn unit(self) -> u64 {
        match self {
            Form::File => 4096,
            Form::Embedded => 64,
        }
    }
}

/// The kind of a filter's keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyKind {
    /// Not described.
    #[default]
    Unknown,
    /// Strings.
    Text,
    /// Strings in which the letters A to Z were replaced by a to z.
    Lower,
    /// Integers, as 8 bytes in little-endian order.
    Integers,
    /// Records of this many bytes, 1 to 2^24 - 1.
    Fixed(u32),
    /// Sequences of bytes.
    Bytes,
    /// A kind of a later version: the raw value of the field.
    Newer(u32),
}

impl KeyKind {
    pub(crate) fn from_field(field: u32) -> Self {
        match (field & 0xFF, field >> 8) {
            (0, 0) => KeyKind::Unknown,
            (1, 0) => KeyKind::Text,
            (2, 0) => KeyKind::Lower,
            (3, 0) => KeyKind::Integers,
            (4, size) if size != 0 => KeyKind::Fixed(size),
            (5, 0) => KeyKind::Bytes,
            _ => KeyKind::Newer(field),
        }
    }

    #[cfg(feature = "std")]
    pub(crate) fn field(self) -> Option<u32> {
        match self {
            KeyKind::Unknown => Some(0),
            KeyKind::Text => Some(1),
            KeyKind::Lower => Some(2),
            KeyKind::Integers => Some(3),
            KeyKind::Fixed(size) if (1..1 << 24).contains(&size) => Some(4 | size << 8),
            KeyKind::Fixed(_) => None,
            KeyKind::Bytes => Some(5),
            KeyKind::Newer(field) => Some(field),
        }
    }

    fn fits(self, fitting: bool) -> Result<()> {
        match self {
            KeyKind::Newer(_) => Err(Error::Feature(0)),
            KeyKind::Unknown => Ok(()),
            _ if fitting => Ok(()),
            _ => Err(Error::KeyKind),
        }
    }

    /// Returns whether every byte string fits, unchanged.
    pub(crate) fn is_plain(self) -> bool {
        matches!(self, KeyKind::Unknown | KeyKind::Text | KeyKind::Bytes)
    }

    /// Checks that a filter of this kind accepts text.
    pub(crate) fn fits_text(self) -> Result<()> {
        self.fits(matches!(self, KeyKind::Text | KeyKind::Lower))
    }

    /// Checks that a filter of this kind accepts a byte string of `size` bytes.
    pub(crate) fn fits_bytes(self, size: usize) -> Result<()> {
        self.fits_text().or_else(|_| self.fits_record(size))
    }

    /// A fitting key as the writer hashed it.
    pub(crate) fn lowered(self, key: &[u8]) -> Cow<'_, [u8]> {
        match self {
            KeyKind::Lower => Cow::Owned(key.to_ascii_lowercase()),
            _ => Cow::Borrowed(key),
        }
    }

    /// Checks that a filter of this kind accepts integers.
    pub(crate) fn fits_integers(self) -> Result<()> {
        self.fits(self == KeyKind::Integers)
    }

    /// Checks that a filter of this kind accepts records of `size` bytes.
    pub(crate) fn fits_record(self, size: usize) -> Result<()> {
        self.fits(match self {
            KeyKind::Bytes => true,
            KeyKind::Fixed(each) => each as usize == size,
            KeyKind::Integers => size == 8,
            _ => false,
        })
    }
}

/// Where a slice lies in the whole filter, and the input from which it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Slice {
    /// The first block of the slice, counted from 0 in the whole filter.
    pub first_block: u64,
    /// The number of blocks of the whole filter.
    pub whole_blocks: u64,
    /// The number of keys that the writer received, including repetitions.
    pub keys_read: u64,
    /// The number of these keys that belong to other slices.
    pub keys_elsewhere: u64,
    /// The sum, modulo 2^64, of the digests of all these keys.
    pub digest_sum: u64,
}

/// The place of a layer in a sealed series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Layer {
    /// The number of the layer, from 0, the oldest.
    pub layer: u64,
    /// The number of layers.
    pub layers: u32,
    /// The false-positive rate that all layers keep together, or 0.
    pub series_fpr: f64,
    pub(crate) rest_size: u64,
    pub(crate) link: u64,
}

/// The contents of an image's header.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Info {
    /// The layout of the body.
    pub layout: Layout,
    /// The form of the image.
    pub form: Form,
    /// The hash function.
    pub hash: HashName,
    /// The seed of the hash function.
    pub seed: u64,
    /// The number of bits (counting: of counters).
    pub m: u64,
    /// The number of positions of a key; ribbon: 0.
    pub k: u32,
    /// The kind of the keys.
    pub key_kind: KeyKind,
    /// The number of keys that the filter was sized for.
    pub capacity: u64,
    /// The false-positive rate that the filter was sized for, or 0.
    pub fpr: f64,
    /// m before folding.
    pub m_unfolded: u64,
    /// Operations that made the filter: bit 0 intersection, bit 1 union, bit 2 projection.
    pub provenance: u32,
    /// The caller's 16 bytes.
    pub tag: [u8; 16],
    /// Text for people.
    pub label: String,
    /// The number of distinct keys.
    pub n: u64,
    /// Returns whether `n` is an estimate.
    pub n_estimated: bool,
    /// The number of one bits (counting: of counters above 0).
    pub ones: u64,
    /// The number of counters that are 15.
    pub overflow: u64,
    /// The caller's: up to where its keys are in the filter.
    pub watermark: [u8; 32],
    /// If the image is a slice of a larger filter: its place.
    pub slice: Option<Slice>,
    /// If the image is a layer of a series: its place.
    pub layer: Option<Layer>,
}

/// Bytes of the body that m needs.
pub(crate) fn bytes_needed(layout: Layout, m: u64) -> u64 {
    match layout {
        Layout::Counting => m.div_ceil(2),
        _ => m.div_ceil(8),
    }
}

/// Bytes of the body, padding included, for m of at most 2^60.
pub(crate) fn body_size(layout: Layout, form: Form, m: u64) -> u64 {
    bytes_needed(layout, m).next_multiple_of(form.unit())
}

/// The size of a page, which has one checksum.
pub(crate) const PAGE: usize = 4096;

/// The size of an image with a body of `body_size` bytes.
pub(crate) fn image_size(form: Form, body_size: u64) -> u64 {
    form.header_size() as u64 + body_size + 4 * body_size.div_ceil(PAGE as u64)
}
