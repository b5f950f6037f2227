// SPDX-License-Identifier: MIT
//! Numbers of variable size, heads, and headers without what follows from the rest (patches.md 1, 2).

use crate::bytes::{crc32, put, u32_at};
use crate::error::{Error, Result};
use std::vec::Vec;

pub(crate) const MAGIC: [u8; 8] = *b"\xBFDLT\r\n\x1A\n";
pub(crate) const OF_LAYER: u8 = 1;
pub(crate) const FOLLOWED: u8 = 2;
const MOST_EDITS: u64 = 8192;

/// Reads a patch from its beginning.
pub(crate) struct Cursor<'p> {
    bytes: &'p [u8],
    pub at: usize,
}

impl<'p> Cursor<'p> {
    pub(crate) fn new(bytes: &'p [u8]) -> Self {
        Cursor { bytes, at: 0 }
    }

    pub(crate) fn take(&mut self, size: usize) -> Result<&'p [u8]> {
        let rest = &self.bytes[self.at..];
        let taken = rest.get(..size).ok_or(Error::Truncated)?;
        self.at += size;
        Ok(taken)
    }

    pub(crate) fn byte(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    /// A number of variable size, in as few bytes as it can have.
    pub(crate) fn var(&mut self) -> Result<u64> {
        let mut number = 0;
        for i in 0..10 {
            let byte = self.byte()?;
            number |= u64::from(byte & 127) << (7 * i);
            // The tenth byte has a single bit of the number.
            if (i == 9 && byte > 1) || (i > 0 && byte == 0) {
                return Err(Error::Patch);
            }
            if byte < 128 {
                return Ok(number);
            }
        }
        Err(Error::Patch)
    }

    /// Checks the CRC-32 of the bytes from `start` on, which follows them.
    pub(crate) fn check_crc(&mut self, start: usize) -> Result<()> {
        let crc = crc32(&self.bytes[start..self.at]);
        if u32_at(self.take(4)?, 0) == crc {
            Ok(())
        } else {
            Err(Error::Patch)
        }
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }
}

pub(crate) fn push_var(patch: &mut Vec<u8>, mut number: u64) {
    while number >= 128 {
        patch.push(number as u8 & 127 | 128);
        number >>= 7;
    }
    // the rest is less than 128
    patch.push(number as u8);
}

/// The head of a patch.
pub(crate) struct Head<'p> {
    pub features: u8,
    pub layout: u32,
    pub base_header: u32,
    pub base_body: u32,
    pub result_header: u32,
    pub result_body: u32,
    pub body_size: u64,
    pub edits: &'p [u8],
}

impl<'p> Head<'p> {
    /// P1 to P5.
    pub(crate) fn read(cursor: &mut Cursor<'p>) -> Result<Self> {
        let start = cursor.at;
        if cursor.take(8)? != MAGIC {
            return Err(Error::Patch);
        }
        let fixed = cursor.take(19)?;
        check_beginning(fixed)?;
        let mut head = Head {
            features: fixed[1],
            layout: u32::from(fixed[2]),
            base_header: u32_at(fixed, 3),
            base_body: u32_at(fixed, 7),
            result_header: u32_at(fixed, 11),
            result_body: u32_at(fixed, 15),
            body_size: cursor.var()?,
            edits: &[],
        };
        let edits_size = cursor.var()?;
        if head.body_size == 0 || head.body_size % 64 != 0 || edits_size > MOST_EDITS {
            return Err(Error::Patch);
        }
        head.edits = cursor.take(edits_size as usize)?;
        cursor.check_crc(start)?;
        Ok(head)
    }

    pub(crate) fn write(&self, patch: &mut Vec<u8>) {
        let start = patch.len();
        patch.extend_from_slice(&MAGIC);
        // The layouts of patches are 1 to 3.
        patch.extend_from_slice(&[1, self.features, self.layout as u8]);
        for crc in [self.base_header, self.base_body, self.result_header, self.result_body] {
            patch.extend_from_slice(&crc.to_le_bytes());
        }
        push_var(patch, self.body_size);
        push_var(patch, self.edits.len() as u64);
        patch.extend_from_slice(self.edits);
        push_crc(patch, start);
    }
}

/// P2 to P4, and item 1 of P5.
fn check_beginning(fixed: &[u8]) -> Result<()> {
    let (version, features, layout) = (fixed[0], fixed[1], fixed[2]);
    let unknown = features & !(OF_LAYER | FOLLOWED);
    match () {
        () if version != 1 => Err(Error::Version),
        () if unknown != 0 => Err(Error::Feature(unknown.trailing_zeros())),
        () if !(1..=3).contains(&layout) => Err(Error::Layout),
        () if features & FOLLOWED != 0 && features & OF_LAYER == 0 => Err(Error::Patch),
        () => Ok(()),
    }
}

/// Appends the CRC-32 of the bytes from `start` on.
pub(crate) fn push_crc(patch: &mut Vec<u8>, start: usize) {
    let crc = crc32(&patch[start..]);
    patch.extend_from_slice(&crc.to_le_bytes());
}

/// The CRC-32 of the three checksums of a header.
pub(crate) fn header_name(header: &[u8]) -> u32 {
    let crcs = [header.len() / 2, header.len() / 4 * 3, header.len()];
    let bytes: Vec<u8> = crcs.iter().flat_map(|&end| header[end - 4..end].to_vec()).collect();
    crc32(&bytes)
}

/// Leaves out of a header what follows from the rest.
pub(crate) fn reduce(header: &mut [u8], body_crc: u32) {
    let half = header.len() / 2;
    put(header, half - 4, &[0; 4]);
    for record in header[half..].chunks_mut(half / 2) {
        put(record, 60, &[0; 4]);
        put(record, half / 2 - 4, &[0; 4]);
    }
    exchange_body_crc(header, body_crc);
    exchange_records(header);
}

/// Undoes [`reduce`].
pub(crate) fn restore(header: &mut [u8], body_crc: u32) {
    let half = header.len() / 2;
    exchange_records(header);
    exchange_body_crc(header, body_crc);
    let header_crc = crc32(&header[..half - 4]).to_le_bytes();
    put(header, half - 4, &header_crc);
    for record in header[half..].chunks_mut(half / 2) {
        put(record, 60, &header_crc);
        let record_crc = crc32(&record[..half / 2 - 4]).to_le_bytes();
        put(record, half / 2 - 4, &record_crc);
    }
}

fn exchange_body_crc(header: &mut [u8], body_crc: u32) {
    let half = header.len() / 2;
    for record in header[half..].chunks_mut(half / 2) {
        let crc = u32_at(record, 56) ^ body_crc;
        put(record, 56, &crc.to_le_bytes());
    }
}

/// Replaces record 1 by its differences from record 0, or the reverse.
fn exchange_records(header: &mut [u8]) {
    let half = header.len() / 2;
    let (first, second) = header[half..].split_at_mut(half / 2);
    second.iter_mut().zip(first).for_each(|(byte, other)| *byte ^= *other);
}

/// Applies edits to a reduced header.
pub(crate) fn apply_edits(header: &mut [u8], edits: &[u8]) -> Result<()> {
    let mut cursor = Cursor::new(edits);
    let mut at = 0;
    while !cursor.is_at_end() {
        // Edits that end too early are not as they should be; the patch itself is whole.
        let number = |cursor: &mut Cursor<'_>| cursor.var().map_err(|_| Error::Patch);
        let (equal, size) = (number(&mut cursor)?, number(&mut cursor)?);
        let left = (header.len() - at) as u64;
        if equal > left || size > left - equal {
            return Err(Error::Patch);
        }
        let bytes = cursor.take(size as usize).map_err(|_| Error::Patch)?;
        at += equal as usize;
        put(header, at, bytes);
        at += bytes.len();
    }
    Ok(())
}

/// The edits between two reduced headers: equal bytes inside an edit are fewer than 3 in a row.
pub(crate) fn make_edits(base: &[u8], result: &[u8]) -> Vec<u8> {
    let mut differing = (0..base.len()).filter(|&i| base[i] != result[i]).peekable();
    let (mut edits, mut end) = (Vec::new(), 0);
    while let Some(first) = differing.next() {
        let mut last = first;
        while let Some(next) = differing.next_if(|&next| next - last <= 3) {
            last = next;
        }
        push_var(&mut edits, (first - end) as u64);
        push_var(&mut edits, (last + 1 - first) as u64);
        edits.extend_from_slice(&result[first..=last]);
        end = last + 1;
    }
    edits
}
