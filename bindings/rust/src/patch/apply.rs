// SPDX-License-Identifier: MIT
//! Applying patches: the rules P1 to P12 (patches.md 5).

use crate::aligned::Aligned;
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::image::{parse_sized, Image};
use crate::info::{Layout, PAGE};
use crate::patch::bits::{best, BitReader};
use crate::patch::cells::{changes_of, from_place, select, Cells, Change};
use crate::patch::head::{
    apply_edits, header_name, reduce, restore, Cursor, Head, FOLLOWED, OF_LAYER,
};
use crate::seal::write_entries;
use crate::series::check_next;
use crate::verify::check_whole;
use core::ops::Range;
use std::vec::Vec;

const MOST_BITS: u8 = 56;
const MOST_STRINGS: u64 = 1 << 20;
const WORDS_OF_BLOCK: usize = 8;

/// Turns the base of a patch into its result.
///
/// # Errors
///
/// [`Error::DifferentBase`] if the patch is for another base, [`Error::Patch`],
/// [`Error::Truncated`], [`Error::Trailing`], [`Error::Version`], [`Error::Feature`] or
/// [`Error::Layout`] if it is not a patch, a damaged one, or one of a later version,
/// [`Error::IsRibbon`] if the base is a ribbon filter, and the errors of [`Filter::verify`].
pub fn apply(base: &Filter<'_>, patch: &[u8]) -> Result<Filter<'static>> {
    if base.info().layout == Layout::Ribbon {
        return Err(Error::IsRibbon);
    }
    let mut cursor = Cursor::new(patch);
    // The images of the result have the sizes of those of the base.
    let mut result = Aligned::zeros(base.as_bytes().len())?;
    let mut before = None;
    let count = base.images().count();
    for (i, image) in base.images().enumerate() {
        let place = Place { layer: i, last: i + 1 == count };
        let result = &mut result[image.start..][..image.size()];
        before = Some(apply_one(&mut cursor, result, base, image, place, before.as_ref())?);
    }
    // Header and body were checked, so an error here is also an error of the patch.
    Filter::from_sealed(result).map_err(|error| match error {
        Error::Memory => error,
        _ => Error::Patch,
    })
}

/// The image of the base that a patch is for.
#[derive(Clone, Copy)]
struct Place {
    layer: usize,
    last: bool,
}

/// Applies the patch of one image, and writes its result.
fn apply_one(
    cursor: &mut Cursor<'_>,
    result: &mut [u8],
    base: &Filter<'_>,
    image: &Image,
    place: Place,
    before: Option<&Image>,
) -> Result<Image> {
    let head = Head::read(cursor)?;
    let container = base.as_bytes();
    check_base(&head, container, image, place.last)?;
    let header = restore_header(&head, container, image)?;
    let made = check_result(&head, &header, image, before)?;
    base.verify_layer(place.layer)?;
    let (new_header, rest) = result.split_at_mut(header.len());
    let (body, entries) = rest.split_at_mut(image.body_size);
    new_header.copy_from_slice(&header);
    body.copy_from_slice(image.body(container));
    let old = Cells::new(image.body(container), image.info.layout);
    Parts { cursor, old, layout: image.info.layout }.apply(body)?;
    if place.last && !cursor.is_at_end() {
        return Err(Error::Trailing);
    }
    check_whole(body, &made).map_err(|_| Error::Patch)?;
    write_entries(entries, body, made.body_crc);
    Ok(made)
}

/// P6 and P7.
fn check_base(head: &Head<'_>, container: &[u8], image: &Image, last: bool) -> Result<()> {
    let layer = image.info.layer.is_some();
    let same = head.base_header == header_name(image.header(container))
        && head.base_body == image.body_crc
        && layer == (head.features & OF_LAYER != 0)
        && (!layer || last == (head.features & FOLLOWED == 0));
    if !same {
        return Err(Error::DifferentBase);
    }
    let fits =
        head.layout == image.info.layout.number() && head.body_size == image.body_size as u64;
    if fits {
        Ok(())
    } else {
        Err(Error::Patch)
    }
}

/// Items 1 and 2 of P8.
fn restore_header(head: &Head<'_>, container: &[u8], image: &Image) -> Result<Vec<u8>> {
    let mut header = image.header(container).to_vec();
    reduce(&mut header, image.body_crc);
    apply_edits(&mut header, head.edits)?;
    restore(&mut header, head.result_body);
    if header_name(&header) == head.result_header {
        Ok(header)
    } else {
        Err(Error::Patch)
    }
}

/// Items 3 to 8 of P8.
fn check_result(
    head: &Head<'_>,
    header: &[u8],
    base: &Image,
    before: Option<&Image>,
) -> Result<Image> {
    let size = match &base.info.layer {
        Some(layer) => layer.rest_size,
        None => base.size() as u64,
    };
    let made = parse_sized(header, size, true).map_err(|_| Error::Patch)?;
    let (a, b) = (&base.info, &made.info);
    let place = |image: &Image| image.info.slice.map(|s| (s.first_block, s.whole_blocks));
    let number = |image: &Image| image.info.layer.map(|layer| (layer.layers, layer.layer));
    let alike = made.body_crc == head.result_body
        && (a.form, a.layout, a.m, a.k) == (b.form, b.layout, b.m, b.k)
        && (a.seed, a.hash) == (b.seed, b.hash)
        && place(base) == place(&made)
        && number(base) == number(&made);
    let linked = match before {
        Some(before) => check_next(before, &made).is_ok(),
        None => made.info.layer.is_none_or(|layer| layer.link == 0),
    };
    if alike && linked {
        Ok(made)
    } else {
        Err(Error::Patch)
    }
}

/// The parts of a patch.
struct Parts<'c, 'p, 'b> {
    cursor: &'c mut Cursor<'p>,
    old: Cells<'b>,
    layout: Layout,
}

/// The numbers of one string.
struct Numbers {
    change: Change,
    units: u64,
    gap_bits: u32,
    typical: u64,
    count_bits: u32,
    size: usize,
}

impl Parts<'_, '_, '_> {
    /// P10: applies all parts to a copy of the base's body.
    fn apply(&mut self, body: &mut [u8]) -> Result<()> {
        let pages = body.len().div_ceil(PAGE) as u64;
        let mut done = 0;
        loop {
            let start = self.cursor.at;
            let skip = self.cursor.var()?;
            if skip > pages - done {
                return Err(Error::Patch);
            }
            done += skip;
            if done == pages {
                return Ok(());
            }
            let span = self.cursor.var()?;
            if span == 0 || span > pages - done {
                return Err(Error::Patch);
            }
            let word = |page: u64| (page as usize * (PAGE / 8)).min(body.len() / 8);
            let words = word(done)..word(done + span);
            self.apply_part(body, start, words)?;
            done += span;
        }
    }

    fn apply_part(&mut self, body: &mut [u8], start: usize, words: Range<usize>) -> Result<()> {
        let mut all = Vec::new();
        let mut left = MOST_STRINGS;
        for &change in changes_of(self.layout) {
            if let Some(numbers) = self.read_numbers(change, &mut left)? {
                all.push(numbers);
            }
        }
        let mut strings = Vec::new();
        for numbers in all {
            strings.push((self.cursor.take(numbers.size)?, numbers));
        }
        self.cursor.check_crc(start)?;
        for (string, numbers) in strings {
            let mut string = BitReader::new(string);
            if self.layout == Layout::Blocked {
                self.apply_blocks(body, &mut string, &numbers, words.clone())?;
            } else {
                self.apply_cells(body, &mut string, &numbers, words.clone())?;
            }
            string.finish()?;
        }
        Ok(())
    }

    /// Reads the numbers of a string, if the part has one. `left` limits the length of strings.
    fn read_numbers(&mut self, change: Change, left: &mut u64) -> Result<Option<Numbers>> {
        let units = self.cursor.var()?;
        if units == 0 {
            return Ok(None);
        }
        let gap_bits = self.read_bits()?;
        let (mut typical, mut count_bits) = (1, 0);
        if self.layout == Layout::Blocked {
            typical = self.cursor.var()?;
            count_bits = self.read_bits()?;
        }
        if !(1..=512).contains(&typical) {
            return Err(Error::Patch);
        }
        let size = self.cursor.var()?;
        *left = left.checked_sub(size).ok_or(Error::Patch)?;
        let size = size as usize;
        Ok(Some(Numbers { change, units, gap_bits, typical, count_bits, size }))
    }

    fn read_bits(&mut self) -> Result<u32> {
        match self.cursor.byte()? {
            bits if bits <= MOST_BITS => Ok(bits.into()),
            _ => Err(Error::Patch),
        }
    }

    /// Applies a string of classic or counting.
    fn apply_cells(
        &self,
        body: &mut [u8],
        string: &mut BitReader<'_>,
        numbers: &Numbers,
        words: Range<usize>,
    ) -> Result<()> {
        let mut from = (words.start, 0);
        for _ in 0..numbers.units {
            let gap = string.rice(numbers.gap_bits)?;
            let (word, place) = self.find(from, words.end, gap, numbers.change)?;
            let old = self.old.word(word) >> place & 15;
            let code = if numbers.change == Change::Moved { string.rice(0)? } else { 0 };
            change_cell(body, word, place, moved(numbers.change, old, code)?);
            from = (word, place + self.old.width());
        }
        Ok(())
    }

    /// Finds the eligible cell after skipping `gap` eligible cells, from a place in a word on.
    fn find(
        &self,
        from: (usize, usize),
        end: usize,
        mut gap: u64,
        change: Change,
    ) -> Result<(usize, usize)> {
        let (first, place) = from;
        let mut behind = from_place(place);
        for word in first..end {
            let eligible = self.old.eligible(word, change) & behind;
            let count = u64::from(eligible.count_ones());
            if gap < count {
                return Ok((word, select(eligible, gap)));
            }
            gap -= count;
            behind = u64::MAX;
        }
        Err(Error::Patch)
    }

    /// Applies a string of blocked.
    fn apply_blocks(
        &self,
        body: &mut [u8],
        string: &mut BitReader<'_>,
        numbers: &Numbers,
        words: Range<usize>,
    ) -> Result<()> {
        let mut left = (words.len() / WORDS_OF_BLOCK) as u64;
        for _ in 0..numbers.units {
            let gap = string.rice(numbers.gap_bits)?;
            if gap >= left {
                return Err(Error::Patch);
            }
            left -= gap + 1;
            let block = words.end - WORDS_OF_BLOCK * (left as usize + 1);
            let code = string.rice(numbers.count_bits)?;
            let changes = if code % 2 != 0 {
                Some(numbers.typical + code.div_ceil(2))
            } else {
                numbers.typical.checked_sub(code / 2)
            };
            let changes = changes.filter(|&changes| changes != 0).ok_or(Error::Patch)?;
            self.apply_block(body, string, numbers.change, block..block + WORDS_OF_BLOCK, changes)?;
        }
        Ok(())
    }

    /// Applies the changes of a block.
    fn apply_block(
        &self,
        body: &mut [u8],
        string: &mut BitReader<'_>,
        change: Change,
        words: Range<usize>,
        changes: u64,
    ) -> Result<()> {
        let eligible = words.clone().map(|word| self.old.eligible(word, change).count_ones());
        let mut left = u64::from(eligible.sum::<u32>());
        if changes > left {
            return Err(Error::Patch);
        }
        let mut from = (words.start, 0);
        for more in (1..=changes).rev() {
            let gap = if more == 1 {
                string.truncated(left)?
            } else {
                string.rice(best(left - more, more + 1))?
            };
            if gap > left - more {
                return Err(Error::Patch);
            }
            let (word, place) = self.find(from, words.end, gap, change)?;
            change_cell(body, word, place, moved(change, 0, 0)?);
            left -= gap + 1;
            from = (word, place + 1);
        }
        Ok(())
    }
}

/// The new value of a cell.
#[derive(Clone, Copy)]
enum New {
    Up,
    Down,
    Value(u8),
}

/// Changes the cell at a place of a word.
fn change_cell(body: &mut [u8], word: usize, place: usize, new: New) {
    let byte = &mut body[8 * word + place / 8];
    let place = place % 8;
    match new {
        New::Up => *byte = byte.wrapping_add(1 << place),
        New::Down => *byte = byte.wrapping_sub(1 << place),
        New::Value(value) => *byte = *byte & !(15 << place) | value << place,
    }
}

fn moved(change: Change, old: u64, code: u64) -> Result<New> {
    let step = code / 2 + 2;
    let value = match change {
        Change::Raised => return Ok(New::Up),
        Change::Lowered => return Ok(New::Down),
        Change::Moved if code % 2 == 0 => old.checked_add(step),
        Change::Moved => old.checked_sub(step),
    };
    match value {
        Some(value @ 0..=15) => Ok(New::Value(value as u8)),
        _ => Err(Error::Patch),
    }
}
