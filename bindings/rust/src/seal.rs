// SPDX-License-Identifier: MIT
//! Sealed images: header, records and checksums around a body.

use crate::aligned::Aligned;
use crate::body::Body;
use crate::bytes::{crc32, put};
use crate::error::{Error, Result};
use crate::image::{parse_label, LIMIT, MAGIC, SLICE_BIT};
use crate::info::{Info, KeyKind, PAGE};
use crate::verify::count;

/// The image of a body. `ones`, `overflow` and the checksums are computed.
pub(crate) fn seal(info: &Info, body: Body) -> Result<Aligned> {
    let Body { mut image, place } = body;
    let (header, rest) = image.split_at_mut(place.start);
    let (body, entries) = rest.split_at_mut(place.len());
    let body_crc = crc32(body);
    let header_crc = write_header(header, info, body.len())?;
    write_records(header, info, body, header_crc, body_crc);
    write_entries(entries, body, body_crc);
    Ok(image)
}

/// Writes the page checksums of a body.
pub(crate) fn write_entries(entries: &mut [u8], body: &[u8], body_crc: u32) {
    put_all(entries, 0, body.chunks(PAGE).map(|page| (crc32(page) ^ body_crc).to_le_bytes()));
}

fn write_header(image: &mut [u8], info: &Info, body_size: usize) -> Result<u32> {
    let header_size = info.form.header_size();
    let kind = info.key_kind.field().ok_or(Error::KeyKind)?;
    let compat = u32::from(info.key_kind != KeyKind::Unknown);
    let incompat = if info.slice.is_some() { SLICE_BIT } else { 0 };
    put(image, 0, &MAGIC);
    let words = [1, header_size as u32, compat, 0, incompat, info.provenance];
    put_all(image, 8, words.iter().map(|word| word.to_le_bytes()));
    let words = [info.layout.number(), info.hash.id, info.k, kind];
    put_all(image, 32, words.iter().map(|word| word.to_le_bytes()));
    let numbers = [
        info.m,
        info.seed,
        info.hash.self_test,
        header_size as u64,
        body_size as u64,
        info.capacity.clamp(1, LIMIT),
        info.fpr.to_bits(),
        info.m_unfolded,
    ];
    put_all(image, 48, numbers.iter().map(|number| number.to_le_bytes()));
    put(image, 112, &info.tag);
    write_label(image, &info.label)?;
    if let Some(slice) = &info.slice {
        let numbers = [
            slice.first_block,
            slice.whole_blocks,
            slice.keys_read,
            slice.keys_elsewhere,
            slice.digest_sum,
        ];
        put_all(image, 240, numbers.iter().map(|number| number.to_le_bytes()));
    }
    let crc_at = header_size / 2 - 4;
    let header_crc = crc32(&image[..crc_at]);
    put(image, crc_at, &header_crc.to_le_bytes());
    Ok(header_crc)
}

fn put_all<const SIZE: usize>(
    image: &mut [u8],
    at: usize,
    values: impl Iterator<Item = [u8; SIZE]>,
) {
    for (i, value) in values.enumerate() {
        put(image, at + SIZE * i, &value);
    }
}

fn write_label(image: &mut [u8], label: &str) -> Result<()> {
    if label.len() > 112 || label.contains('\0') {
        return Err(Error::Label);
    }
    put(image, 128, label.as_bytes());
    parse_label(&image[128..240])?;
    Ok(())
}

fn write_records(image: &mut [u8], info: &Info, body: &[u8], header_crc: u32, body_crc: u32) {
    let size = info.form.header_size() / 4;
    let (ones, overflow) = count(body, info.layout);
    let mut record = vec![0; size];
    put(&mut record, 0, &u64::MAX.to_le_bytes());
    put(&mut record, 8, &2_u32.to_le_bytes());
    put(&mut record, 12, &u32::from(info.n_estimated).to_le_bytes());
    put_all(&mut record, 16, [info.n, ones, overflow].iter().map(|number| number.to_le_bytes()));
    put(&mut record, 56, &body_crc.to_le_bytes());
    put(&mut record, 60, &header_crc.to_le_bytes());
    put(&mut record, 72, &info.watermark);
    let record_crc = crc32(&record[..size - 4]);
    put(&mut record, size - 4, &record_crc.to_le_bytes());
    put(image, 2 * size, &record);
    put(image, 3 * size, &record);
}
