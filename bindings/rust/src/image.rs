// SPDX-License-Identifier: MIT
//! The rules of validity of one image: section 13 of the specification, and those of slices and layers.

use crate::bytes::{array_at, crc32, is_zero, u32_at, u64_at};
use crate::error::{Error, Result};
use crate::hash::{self_test, HashName, XXH3};
use crate::info::{
    body_size, bytes_needed, image_size, Form, Info, KeyKind, Layer, Layout, Slice, PAGE,
};
use alloc::string::String;
use core::ops::Range;

pub(crate) const MAGIC: [u8; 8] = *b"\xBFBLM\r\n\x1A\n";
/// The limit of m and of capacities.
pub(crate) const LIMIT: u64 = 1 << 60;
/// The bits of 1.0: a `fpr`, read as an integer, is less.
const ONE: u64 = 0x3FF0_0000_0000_0000;
pub(crate) const LAYER_BIT: u32 = 1;
pub(crate) const SLICE_BIT: u32 = 2;
const LIVE: u32 = 1;
const SEALED: u32 = 2;
const POISONED: u32 = 3;

/// The magic number after a transfer in text mode.
const MANGLED: [&[u8]; 6] = [
    b"\xBFBLM\n\x1A\n",
    b"\xBFBLM\r\r\n\x1A\r\n",
    b"\xBFBLM\r\n\x1A\r\n",
    b"\xBFBLM\r\r\x1A\r",
    b"\xBFBLM\n\n\x1A\n",
    b"\x3FBLM\r\n\x1A\n",
];

/// A valid, sealed image in a container.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    pub info: Info,
    pub compat: u32,
    pub header_crc: u32,
    pub body_crc: u32,
    /// Where the image begins in its container.
    pub start: usize,
    pub body_size: usize,
}

impl Image {
    pub(crate) fn body_start(&self) -> usize {
        self.start + self.info.form.header_size()
    }

    pub(crate) fn pages(&self) -> usize {
        self.body_size.div_ceil(PAGE)
    }

    pub(crate) fn size(&self) -> usize {
        self.info.form.header_size() + self.body_size + 4 * self.pages()
    }

    #[cfg(feature = "std")]
    pub(crate) fn header<'c>(&self, container: &'c [u8]) -> &'c [u8] {
        &container[self.start..self.body_start()]
    }

    pub(crate) fn body<'c>(&self, container: &'c [u8]) -> &'c [u8] {
        &container[self.body_start()..self.body_start() + self.body_size]
    }

    /// Where the bits are in the container, without padding.
    pub(crate) fn used(&self) -> Range<usize> {
        let start = self.body_start();
        start..start + bytes_needed(self.info.layout, self.info.m) as usize
    }

    pub(crate) fn entry(&self, container: &[u8], page: usize) -> u32 {
        u32_at(container, self.body_start() + self.body_size + 4 * page)
    }

    /// The `link` that the next layer of a series has.
    pub(crate) fn link(&self) -> u64 {
        u64::from(self.header_crc) | u64::from(self.body_crc) << 32
    }
}

fn check(holds: bool, error: Error) -> Result<()> {
    if holds {
        Ok(())
    } else {
        Err(error)
    }
}

/// Reads and checks the image that begins at `start`, and is sealed.
pub(crate) fn parse(container: &[u8], start: usize, applications: bool) -> Result<Image> {
    let bytes = container.get(start..).ok_or(Error::Truncated)?;
    let mut image = parse_sized(bytes, bytes.len() as u64, applications)?;
    image.start = start;
    Ok(image)
}

/// As [`parse`], for bytes that have at least the header of an image of `size` bytes.
pub(crate) fn parse_sized(bytes: &[u8], size: u64, applications: bool) -> Result<Image> {
    let form = check_beginning(bytes)?;
    let header = &bytes[..form.header_size()];
    let mut image = parse_header(header, form, applications)?;
    check_size(&image, size)?;
    check_records(&mut image, header)?;
    Ok(image)
}

/// V1 to V8, for a header that may be truncated.
fn check_beginning(bytes: &[u8]) -> Result<Form> {
    check(!bytes.is_empty(), Error::Empty)?;
    check_magic(bytes)?;
    check(bytes.len() >= 16, Error::Truncated)?;
    let form = match u32_at(bytes, 12) {
        4096 => Form::File,
        512 => Form::Embedded,
        _ => return Err(Error::Form),
    };
    check(bytes.len() >= form.header_size(), Error::Truncated)?;
    Ok(form)
}

pub(crate) fn check_magic(bytes: &[u8]) -> Result<()> {
    if begins_alike(bytes, &MAGIC) {
        return Ok(());
    }
    let mangled = |pattern: &&[u8]| bytes.len() >= 6 && begins_alike(bytes, pattern);
    Err(if MANGLED.iter().any(mangled) { Error::TextMode } else { Error::Magic })
}

/// Returns whether two sequences are equal over the smaller of their lengths.
fn begins_alike(bytes: &[u8], pattern: &[u8]) -> bool {
    bytes.iter().zip(pattern).all(|(byte, expected)| byte == expected)
}

/// V6 to V25.
fn parse_header(header: &[u8], form: Form, applications: bool) -> Result<Image> {
    let crc_at = header.len() / 2 - 4;
    let header_crc = u32_at(header, crc_at);
    check(header_crc == crc32(&header[..crc_at]), Error::Header)?;
    check(u32_at(header, 8) == 1, Error::Version)?;
    let incompat = u32_at(header, 24);
    let unknown = incompat & !(LAYER_BIT | SLICE_BIT);
    check(unknown == 0, Error::Feature(unknown.trailing_zeros()))?;
    let layout = Layout::from_number(u32_at(header, 32)).ok_or(Error::Layout)?;
    let hash = parse_hash(header, applications)?;
    let (k, m) = (u32_at(header, 40), u64_at(header, 48));
    check(k <= 64 && (k == 0) == (layout == Layout::Ribbon), Error::HashCount)?;
    check((1..=LIMIT).contains(&m), Error::Bits)?;
    check(!layout.has_blocks() || m % 512 == 0, Error::Bits)?;
    let size = body_size(layout, form, m);
    let as_expected = u64_at(header, 72) == header.len() as u64 && u64_at(header, 80) == size;
    check(as_expected, Error::Offset)?;
    let info = parse_plan(header, form, layout, hash, k, m)?;
    let slice = parse_slice(header, &info, incompat)?;
    let layer = parse_layer(header, &info, incompat, image_size(form, size))?;
    Ok(Image {
        compat: u32_at(header, 16),
        header_crc,
        body_crc: 0,
        start: 0,
        // A size beyond the address space fails V26, which compares numbers of 64 bits.
        body_size: usize::try_from(size).unwrap_or(usize::MAX),
        info: Info { slice, layer, ..info },
    })
}

/// V10 and V11.
fn parse_hash(header: &[u8], applications: bool) -> Result<HashName> {
    let hash = HashName { id: u32_at(header, 36), self_test: u64_at(header, 64) };
    check(hash.id == XXH3 || (hash.is_application() && applications), Error::Hash)?;
    let expected = || self_test(u64_at(header, 56)) == hash.self_test;
    check(hash.id != XXH3 || expected(), Error::SelfTest)?;
    Ok(hash)
}

/// V15 to V18, and the fields that no rule checks.
fn parse_plan(
    header: &[u8],
    form: Form,
    layout: Layout,
    hash: HashName,
    k: u32,
    m: u64,
) -> Result<Info> {
    let (capacity, fpr, m_unfolded) = (u64_at(header, 88), u64_at(header, 96), u64_at(header, 104));
    check((1..=LIMIT).contains(&capacity), Error::Capacity)?;
    check(fpr < ONE, Error::Rate)?;
    check((m..=LIMIT).contains(&m_unfolded) && m_unfolded % m == 0, Error::Unfolded)?;
    check(layout != Layout::Ribbon || m_unfolded == m, Error::Unfolded)?;
    let kind = if u32_at(header, 16) & 1 == 0 { 0 } else { u32_at(header, 44) };
    Ok(Info {
        layout,
        form,
        hash,
        seed: u64_at(header, 56),
        m,
        k,
        key_kind: KeyKind::from_field(kind),
        capacity,
        fpr: f64::from_bits(fpr),
        m_unfolded,
        provenance: u32_at(header, 28),
        tag: array_at(header, 112),
        label: parse_label(&header[128..240])?,
        n: 0,
        n_estimated: false,
        ones: 0,
        overflow: 0,
        watermark: [0; 32],
        slice: None,
        layer: None,
    })
}

/// The label in its field of 112 bytes, which ends before the first zero byte.
pub(crate) fn parse_label(field: &[u8]) -> Result<String> {
    let size = field.iter().position(|&byte| byte == 0).unwrap_or(field.len());
    check(is_zero(&field[size..]), Error::Label)?;
    let text = core::str::from_utf8(&field[..size]).map_err(|_| Error::Label)?;
    // Characters of the category "control" are exactly those that the format forbids.
    check(!text.chars().any(char::is_control), Error::Label)?;
    Ok(text.into())
}

/// V19 and V20.
fn parse_slice(header: &[u8], info: &Info, incompat: u32) -> Result<Option<Slice>> {
    if incompat & SLICE_BIT == 0 {
        return Ok(None);
    }
    let fits = info.form == Form::File
        && incompat & LAYER_BIT == 0
        && info.layout == Layout::Blocked
        && info.m_unfolded == info.m;
    check(fits, Error::Slice)?;
    let slice = Slice {
        first_block: u64_at(header, 240),
        whole_blocks: u64_at(header, 248),
        keys_read: u64_at(header, 256),
        keys_elsewhere: u64_at(header, 264),
        digest_sum: u64_at(header, 272),
    };
    let blocks = info.m / 512;
    let placed = slice.whole_blocks <= LIMIT / 512
        && slice.first_block < slice.whole_blocks
        && slice.first_block % 64 == 0;
    check(placed, Error::Slice)?;
    let left = slice.whole_blocks - slice.first_block;
    check(blocks == left || (blocks < left && blocks % 64 == 0), Error::Slice)?;
    Ok(Some(slice))
}

/// V21 to V25. `size` is that of the image.
fn parse_layer(header: &[u8], info: &Info, incompat: u32, size: u64) -> Result<Option<Layer>> {
    if incompat & LAYER_BIT == 0 {
        return Ok(None);
    }
    let fits = matches!(info.layout, Layout::Blocked | Layout::Classic) && info.form == Form::File;
    check(fits, Error::Series)?;
    let layer = Layer {
        layer: u64_at(header, 248),
        layers: u32_at(header, 260),
        series_fpr: f64::from_bits(u64_at(header, 280)),
        rest_size: u64_at(header, 264),
        link: u64_at(header, 272),
    };
    let valid = if layer.layers == 0 {
        is_live_layer(header, info, &layer)
    } else {
        is_sealed_layer(header, &layer)
    };
    check(valid && layer.series_fpr.to_bits() < ONE, Error::Series)?;
    check(layer.layers == 0 || rest_fits(&layer, size), Error::Series)?;
    Ok(Some(layer))
}

/// V22.
fn is_live_layer(header: &[u8], info: &Info, layer: &Layer) -> bool {
    let (series, generations) = (u64_at(header, 240), u32_at(header, 256));
    let grows = || {
        layer.layer <= 999
            && info.fpr.to_bits() != 0
            && layer.series_fpr.to_bits() != 0
            && is_zero(&header[288..304])
    };
    series != 0
        && (generations == 0 || (2..=1000).contains(&generations))
        && layer.rest_size == 0
        && layer.link == 0
        && if generations == 0 { grows() } else { layer.layer < 1 << 63 }
}

/// V23.
fn is_sealed_layer(header: &[u8], layer: &Layer) -> bool {
    layer.layers <= 1000
        && layer.layer < u64::from(layer.layers)
        && is_zero(&header[240..248])
        && is_zero(&header[256..260])
        && is_zero(&header[288..304])
}

/// V25.
fn rest_fits(layer: &Layer, size: u64) -> bool {
    if layer.layer == u64::from(layer.layers) - 1 {
        layer.rest_size == size
    } else {
        layer.rest_size > size.next_multiple_of(PAGE as u64)
    }
}

/// Whether the beginning of a file is that of a live filter, or of a layer of a live series. If the
/// header or the records are damaged, one record that is not sealed is enough.
#[cfg(feature = "std")]
pub(crate) fn is_live(head: &[u8]) -> bool {
    if matches!(layer_of(head), Ok(Some(_))) {
        return true;
    }
    let is_filter = head.starts_with(&MAGIC);
    let mut is_live = false;
    for bytes in head.chunks_exact(PAGE / 4).skip(2) {
        let record = Record::new(bytes, u32_at(bytes, 60));
        if record.intact && record.state() == SEALED {
            return false;
        }
        is_live |= (record.intact || is_filter) && record.is_unsealed();
    }
    is_live
}

/// The place of a live layer among the files of its series. Checks the header, not the records.
#[cfg(feature = "std")]
pub(crate) fn layer_of(head: &[u8]) -> Result<Option<u64>> {
    let form = check_beginning(head)?;
    let layer = parse_header(&head[..form.header_size()], form, true)?.info.layer;
    Ok(layer.filter(|layer| layer.layers == 0).map(|layer| match u32_at(head, 256) {
        0 => layer.layer,
        generations => layer.layer % u64::from(generations),
    }))
}

/// V26 and V27.
fn check_size(image: &Image, size: u64) -> Result<()> {
    let info = &image.info;
    let own = image_size(info.form, body_size(info.layout, info.form, info.m));
    let expected = match &info.layer {
        Some(layer) if layer.layers != 0 => layer.rest_size,
        _ => own,
    };
    check(size >= expected, Error::Truncated)?;
    check(size == expected, Error::Trailing)
}

/// One commit record.
struct Record<'h> {
    bytes: &'h [u8],
    intact: bool,
}

impl<'h> Record<'h> {
    fn new(bytes: &'h [u8], header_crc: u32) -> Self {
        let crc_at = bytes.len() - 4;
        let intact =
            u32_at(bytes, crc_at) == crc32(&bytes[..crc_at]) && u32_at(bytes, 60) == header_crc;
        Record { bytes, intact }
    }

    fn sequence(&self) -> u64 {
        u64_at(self.bytes, 0)
    }

    fn state(&self) -> u32 {
        u32_at(self.bytes, 8)
    }

    /// The identity of a live image, in file form only.
    fn identity(&self) -> &'h [u8] {
        &self.bytes[128..144]
    }

    fn is_unsealed(&self) -> bool {
        matches!(self.state(), LIVE | POISONED)
    }
}

/// V28 to V36.
fn check_records(image: &mut Image, header: &[u8]) -> Result<()> {
    let half = header.len() / 2;
    let (first, second) = header[half..].split_at(half / 2);
    let first = Record::new(first, image.header_crc);
    let second = Record::new(second, image.header_crc);
    let (now, other) = choose_record(&first, &second)?;
    check_state(image, now, other)?;
    let sealed = now.state() == SEALED;
    if sealed {
        check_sealing(image, now, other)?;
    }
    if let Some(layer) = &image.info.layer {
        check(sealed == (layer.layers != 0), Error::Series)?;
    }
    check(sealed || (now.state() != POISONED && other.state() != POISONED), Error::Poisoned)?;
    check(sealed, Error::Live)?;
    image.body_crc = u32_at(now.bytes, 56);
    let info = &mut image.info;
    info.n = u64_at(now.bytes, 16);
    info.n_estimated = u32_at(now.bytes, 12) & 1 != 0;
    info.ones = u64_at(now.bytes, 24);
    info.overflow = u64_at(now.bytes, 32);
    info.watermark = array_at(now.bytes, 72);
    Ok(())
}

/// V28: the record in force, and the other record.
fn choose_record<'r, 'h>(
    first: &'r Record<'h>,
    second: &'r Record<'h>,
) -> Result<(&'r Record<'h>, &'r Record<'h>)> {
    let in_order = match (first.intact, second.intact) {
        (true, true) if first.sequence() == second.sequence() => {
            check(first.bytes == second.bytes, Error::Record)?;
            true
        }
        (true, true) => first.sequence() > second.sequence(),
        (true, false) => true,
        (false, true) => false,
        (false, false) => return Err(Error::Record),
    };
    Ok(if in_order { (first, second) } else { (second, first) })
}

/// V29 to V32.
fn check_state(image: &Image, now: &Record<'_>, other: &Record<'_>) -> Result<()> {
    let info = &image.info;
    let sealed = now.state() == SEALED;
    let may_live = info.form == Form::File && info.layout != Layout::Ribbon && info.slice.is_none();
    let valid =
        (sealed || (now.is_unsealed() && may_live)) && sealed == (now.sequence() == u64::MAX);
    check(valid, Error::State)?;
    let (ones, overflow) = (u64_at(now.bytes, 24), u64_at(now.bytes, 32));
    check(ones <= info.m && overflow <= ones, Error::State)?;
    check(overflow == 0 || info.layout == Layout::Counting, Error::State)?;
    let unused = if sealed { 40..56 } else { 56..60 };
    check(is_zero(&now.bytes[unused]), Error::State)?;
    if info.form == Form::File {
        check(is_zero(now.identity()) == sealed, Error::State)?;
        let comparable = now.intact && other.intact && now.is_unsealed() && other.is_unsealed();
        check(!comparable || now.identity() == other.identity(), Error::Record)?;
    }
    Ok(())
}

/// V33: both records are sealed, or a sealing in place was interrupted.
fn check_sealing(image: &Image, now: &Record<'_>, other: &Record<'_>) -> Result<()> {
    let info = &image.info;
    let may_live = info.form == Form::File && info.layout != Layout::Ribbon && info.slice.is_none();
    let interrupted =
        may_live && other.intact && other.state() == LIVE && other.sequence() < u64::MAX;
    check(now.bytes == other.bytes || interrupted, Error::Record)
}
