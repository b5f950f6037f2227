// SPDX-License-Identifier: MIT
//! Making patches: parts and strings (patches.md 3 to 5).

use crate::aligned::reserve;
use crate::combine::check_alike;
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::image::Image;
use crate::info::{Layout, PAGE};
use crate::patch::bits::{best, BitWriter};
use crate::patch::cells::{changes_of, from_place, places, Cells, Change};
use crate::patch::head::{
    header_name, make_edits, push_crc, push_var, reduce, Head, FOLLOWED, OF_LAYER,
};
use core::ops::Range;
use std::vec::Vec;

const WORDS_OF_PAGE: usize = PAGE / 8;
const WORDS_OF_BLOCK: usize = 8;
/// An upper bound on the bytes of a part's numbers, its checksum and the number after it.
const MOST_NUMBERS: usize = 256;

/// Makes the patch that turns one sealed filter or series into another.
///
/// # Errors
///
/// [`Error::DifferentLayout`], [`Error::DifferentHash`], [`Error::DifferentHashCount`],
/// [`Error::DifferentSeed`], [`Error::DifferentBits`] or [`Error::DifferentForm`] if the two are
/// not alike, [`Error::IsRibbon`] for ribbon filters, and the errors of [`Filter::verify`].
///
/// # Examples
///
/// ```
/// use bloomfile::{apply, diff, Builder};
///
/// let mut builder = Builder::new().bits(4096).hashes(5);
/// builder.add(b"apple");
/// let monday = builder.clone().build()?;
/// builder.add(b"pear");
/// let tuesday = builder.build()?;
/// let patch = diff(&monday, &tuesday)?;
/// assert_eq!(apply(&monday, &patch)?.as_bytes(), tuesday.as_bytes());
/// # Ok::<(), bloomfile::Error>(())
/// ```
pub fn diff(base: &Filter<'_>, result: &Filter<'_>) -> Result<Vec<u8>> {
    check_pairs(base, result)?;
    base.verify()?;
    result.verify()?;
    let mut patch = Vec::new();
    let pairs: Vec<_> = base.images().zip(result.images()).collect();
    for (i, (old, new)) in pairs.iter().enumerate() {
        let features = match old.info.layer {
            None => 0,
            Some(_) if i + 1 < pairs.len() => OF_LAYER | FOLLOWED,
            Some(_) => OF_LAYER,
        };
        write_head(&mut patch, features, (base.as_bytes(), old), (result.as_bytes(), new));
        let layout = old.info.layout;
        let old_body = Cells::new(old.body(base.as_bytes()), layout);
        let new_body = Cells::new(new.body(result.as_bytes()), layout);
        let difference = Difference { old: old_body, new: new_body, layout };
        difference.write_parts(&mut patch, old.body_size)?;
    }
    Ok(patch)
}

/// Checks that each layer of the base has the shape of the same layer of the result.
fn check_pairs(base: &Filter<'_>, result: &Filter<'_>) -> Result<()> {
    let pairs = || base.images().zip(result.images());
    pairs().try_for_each(|(old, new)| check_alike(&[&old.info, &new.info]))?;
    let place = |image: &Image| image.info.slice.map(|s| (s.first_block, s.whole_blocks));
    let same_bits = pairs().all(|(old, new)| {
        old.info.m == new.info.m
            && place(old) == place(new)
            && old.info.layer.is_some() == new.info.layer.is_some()
    });
    if !same_bits || base.images().count() != result.images().count() {
        return Err(Error::DifferentBits);
    }
    if pairs().any(|(old, new)| old.info.form != new.info.form) {
        return Err(Error::DifferentForm);
    }
    Ok(())
}

fn write_head(patch: &mut Vec<u8>, features: u8, base: (&[u8], &Image), result: (&[u8], &Image)) {
    let reduced = |(container, image): (&[u8], &Image)| {
        let mut header = image.header(container).to_vec();
        reduce(&mut header, image.body_crc);
        header
    };
    let name = |(container, image): (&[u8], &Image)| header_name(image.header(container));
    Head {
        features,
        layout: base.1.info.layout.number(),
        base_header: name(base),
        base_body: base.1.body_crc,
        result_header: name(result),
        result_body: result.1.body_crc,
        body_size: base.1.body_size as u64,
        edits: &make_edits(&reduced(base), &reduced(result)),
    }
    .write(patch);
}

/// Two bodies of one layout and size.
struct Difference<'b> {
    old: Cells<'b>,
    new: Cells<'b>,
    layout: Layout,
}

impl Difference<'_> {
    fn write_parts(&self, patch: &mut Vec<u8>, body_size: usize) -> Result<()> {
        let pages = body_size.div_ceil(PAGE);
        let mut counts = Vec::new();
        reserve(&mut counts, pages)?;
        counts.extend((0..pages).map(|page| {
            self.count(page * WORDS_OF_PAGE..((page + 1) * WORDS_OF_PAGE).min(body_size / 8))
        }));
        let mut end = 0;
        while let Some(skip) = counts[end..].iter().position(|&count| count != 0) {
            let first = end + skip;
            let span = span_of_part(&counts[first..]);
            let words = first * WORDS_OF_PAGE..((first + span) * WORDS_OF_PAGE).min(body_size / 8);
            self.write_part(patch, skip, span, words)?;
            end = first + span;
        }
        push_var(patch, (pages - end) as u64);
        Ok(())
    }

    /// The number of cells that change.
    fn count(&self, words: Range<usize>) -> usize {
        let change = |word: usize, change: Change| {
            self.old.changed(self.new, word, change).count_ones() as usize
        };
        words.flat_map(|word| changes_of(self.layout).iter().map(move |&c| change(word, c))).sum()
    }

    fn write_part(
        &self,
        patch: &mut Vec<u8>,
        skip: usize,
        span: usize,
        words: Range<usize>,
    ) -> Result<()> {
        let start = patch.len();
        reserve(patch, MOST_NUMBERS)?;
        push_var(patch, skip as u64);
        push_var(patch, span as u64);
        let mut strings = Vec::new();
        for &change in changes_of(self.layout) {
            let string = if self.layout == Layout::Blocked {
                self.write_blocks(patch, words.clone(), change)
            } else {
                self.write_cells(patch, words.clone(), change)
            };
            strings.extend_from_slice(&string);
        }
        reserve(patch, strings.len() + MOST_NUMBERS)?;
        patch.extend_from_slice(&strings);
        push_crc(patch, start);
        Ok(())
    }

    /// Writes the numbers of a classic or counting part's string, and returns the string.
    fn write_cells(&self, patch: &mut Vec<u8>, words: Range<usize>, change: Change) -> Vec<u8> {
        let mut changes = Vec::new();
        let mut passed = 0;
        for word in words {
            let mut left = self.old.eligible(word, change);
            for place in places(self.old.changed(self.new, word, change)) {
                let behind = left & from_place(place + 1);
                changes.push((passed + u64::from((left ^ behind).count_ones()) - 1, word, place));
                passed = 0;
                left = behind;
            }
            passed += u64::from(left.count_ones());
        }
        push_var(patch, changes.len() as u64);
        if changes.is_empty() {
            return Vec::new();
        }
        let bits = best(changes.iter().map(|change| change.0).sum(), changes.len() as u64);
        let mut out = BitWriter::default();
        for &(gap, word, place) in &changes {
            out.rice(gap, bits);
            if change == Change::Moved {
                out.rice(self.code_of_move(word, place), 0);
            }
        }
        // At most 56: a body in memory has fewer cells than 2^56.
        patch.push(bits as u8);
        push_var(patch, out.string.len() as u64);
        out.string
    }

    fn code_of_move(&self, word: usize, place: usize) -> u64 {
        let value = |cells: Cells<'_>| cells.word(word) >> place & 15;
        let (old, new) = (value(self.old), value(self.new));
        if new > old {
            2 * (new - old - 2)
        } else {
            2 * (old - new - 2) + 1
        }
    }

    /// The masks of a block: cells that could change, and cells that do.
    fn block(&self, block: usize, change: Change) -> [(u64, u64); WORDS_OF_BLOCK] {
        core::array::from_fn(|i| {
            let word = WORDS_OF_BLOCK * block + i;
            (self.old.eligible(word, change), self.old.changed(self.new, word, change))
        })
    }

    /// Writes the numbers of a string of blocked, and returns the string.
    fn write_blocks(&self, patch: &mut Vec<u8>, words: Range<usize>, change: Change) -> Vec<u8> {
        let changes_in = |block: &usize| {
            self.block(*block, change).iter().map(|(_, changed)| changed.count_ones()).sum::<u32>()
        };
        let (first, end) = (words.start / WORDS_OF_BLOCK, words.end / WORDS_OF_BLOCK);
        let blocks: Vec<(usize, u64)> = (first..end)
            .map(|block| (block, u64::from(changes_in(&block))))
            .filter(|&(_, changes)| changes != 0)
            .collect();
        let units = blocks.len() as u64;
        push_var(patch, units);
        if units == 0 {
            return Vec::new();
        }
        let changes: u64 = blocks.iter().map(|block| block.1).sum();
        let typical = (2 * changes + units) / (2 * units);
        let code = |changes: u64| {
            if changes > typical {
                2 * (changes - typical) - 1
            } else {
                2 * (typical - changes)
            }
        };
        let passed = (blocks[blocks.len() - 1].0 + 1 - first) as u64 - units;
        let gap_bits = best(passed, units);
        let count_bits = best(blocks.iter().map(|block| code(block.1)).sum(), units);
        let (mut out, mut next) = (BitWriter::default(), first);
        for &(block, changes) in &blocks {
            out.rice((block - next) as u64, gap_bits);
            out.rice(code(changes), count_bits);
            write_changes(&mut out, &self.block(block, change), changes);
            next = block + 1;
        }
        // Both are at most 56: bodies have fewer blocks, and blocks fewer cells.
        patch.push(gap_bits as u8);
        push_var(patch, typical);
        patch.push(count_bits as u8);
        push_var(patch, out.string.len() as u64);
        out.string
    }
}

/// The pages of the part that begins with the first of these pages, by their changed cells.
fn span_of_part(counts: &[usize]) -> usize {
    let (mut sum, mut last) = (0, 0);
    for (i, &count) in counts.iter().enumerate() {
        sum += count;
        if count != 0 {
            last = i;
        }
        if sum >= 32768 || (i + 1 >= 1024 && sum >= 1024) {
            return i + 1;
        }
    }
    last + 1
}

/// Writes the changes of a block.
fn write_changes(out: &mut BitWriter, block: &[(u64, u64)], changes: u64) {
    let mut left: u64 = block.iter().map(|(eligible, _)| u64::from(eligible.count_ones())).sum();
    let (mut more, mut gap) = (changes, 0);
    for &(eligible, changed) in block {
        for place in places(eligible) {
            if changed >> place & 1 == 0 {
                gap += 1;
                continue;
            }
            if more == 1 {
                out.truncated(gap, left);
            } else {
                out.rice(gap, best(left - more, more + 1));
            }
            left -= gap + 1;
            more -= 1;
            gap = 0;
            if more == 0 {
                return;
            }
        }
    }
}
