// SPDX-License-Identifier: MIT
//! Pages of the layout ribbon: heads, columns and lookups (ribbon.md 1 to 4 and 6).

#![allow(clippy::inline_always)] // They become part of a kernel for each instruction set.

use crate::bytes::{u32_at, u64_at};
use crate::hash::{mulhi, C};

const C2: u64 = 0xD1B5_4A32_D192_ED03;
const C3: u64 = 0x8CB9_2BA7_2F3D_8DD7;
/// Bytes of a line, and of a head.
pub(crate) const LINE: usize = 64;
pub(crate) const HEAD: usize = 8;

/// Words of a page of so many bytes.
#[inline(always)]
pub(crate) fn words(size: usize) -> u64 {
    (size / 4 - 2) as u64
}

/// The head of a page.
#[derive(Clone, Copy)]
pub(crate) struct Head(pub u64);

impl Head {
    #[inline(always)]
    pub(crate) fn groups(self) -> u64 {
        self.0 & 0xFFFF
    }

    #[inline(always)]
    pub(crate) fn seed(self) -> u64 {
        self.0 >> 16 & 127
    }

    pub(crate) fn keys(self) -> u64 {
        self.0 >> 32
    }

    #[inline(always)]
    pub(crate) fn is_valid(self, words: u64) -> bool {
        let groups = self.groups();
        self.0 & 0xFF80_0000 == 0 && (groups == 0 || (2..=words / 2).contains(&groups))
    }
}

/// How the words of a page are divided into columns.
#[derive(Clone, Copy)]
pub(crate) struct Columns {
    low: u64,
    few: u64,
}

impl Columns {
    #[inline(always)]
    pub(crate) fn new(groups: u64, words: u64) -> Self {
        // Both fit 32 bits, whose division is faster.
        let low = u64::from(words as u32 / groups as u32).min(32);
        let few = if low == 32 { groups } else { groups * (low + 1) - words };
        Columns { low, few }
    }

    /// How many columns a group has.
    #[inline(always)]
    pub(crate) fn of(self, group: u64) -> u64 {
        if group < self.few {
            self.low
        } else {
            self.low + 1
        }
    }

    /// The first word of a group.
    #[inline(always)]
    pub(crate) fn first_word(self, group: u64) -> u64 {
        group * self.low + group.saturating_sub(self.few)
    }
}

/// The values of a key in its page.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub hash: u64,
    pub group: u64,
    pub coefficients: u64,
}

#[inline(always)]
fn mix(left: u64, right: u64) -> u64 {
    mulhi(left, right) ^ left.wrapping_mul(right)
}

impl Row {
    #[inline(always)]
    pub(crate) fn new(digest: u64, seed: u64, groups: u64) -> Self {
        let hash = (mix(digest ^ C2, C) ^ seed.wrapping_mul(C)).wrapping_mul(C2);
        Row { hash, group: ((hash >> 32) * (groups - 1)) >> 32, coefficients: mix(hash ^ C3, C) }
    }
}

/// Eight words of a page.
pub(crate) type Words = [u8; 32];

/// What a lookup compares in a page.
#[derive(Clone, Copy)]
pub(crate) struct Probe {
    /// Where the columns of the first group begin.
    pub at: usize,
    columns: usize,
    hash: u32,
    coefficients: u64,
}

/// What a lookup compares in a page: the used part of its bytes, a multiple of 64. `None` if the
/// page answers *maybe* to all.
#[inline(always)]
pub(crate) fn probe(page: &[u8], digest: u64) -> Option<Probe> {
    let head = Head(u64_at(page, 0));
    let words = words(page.len());
    if head.groups() == 0 || !head.is_valid(words) {
        return None;
    }
    let row = Row::new(digest, head.seed(), head.groups());
    let division = Columns::new(head.groups(), words);
    Some(Probe {
        at: HEAD + 4 * division.first_word(row.group) as usize,
        columns: division.of(row.group) as usize,
        hash: row.hash as u32,
        coefficients: row.coefficients,
    })
}

/// Whether the equations of a key hold in a page.
#[inline(always)]
pub(crate) fn holds(
    page: &[u8],
    probe: &Probe,
    parities: impl Fn(&Words, &Words, u64) -> u32,
) -> bool {
    let (mut at, mut hash, mut left) = (probe.at, probe.hash, probe.columns);
    let apart = 4 * probe.columns;
    loop {
        let words = (words_at(page, at), words_at(page, at + apart));
        let found = if let (Some(low), Some(high)) = words {
            parities(low, high, probe.coefficients)
        } else {
            let (low, high) = (last_words(page, at), last_words(page, at + apart));
            parities(&low, &high, probe.coefficients)
        };
        let wrong = found ^ hash;
        if left <= 8 {
            return wrong & ((1 << left) - 1) == 0;
        }
        if wrong & 255 != 0 {
            return false;
        }
        (at, hash, left) = (at + 32, hash >> 8, left - 8);
    }
}

/// Whether a digest may be in a page.
#[inline(always)]
pub(crate) fn maybe(
    page: &[u8],
    digest: u64,
    parities: impl Fn(&Words, &Words, u64) -> u32,
) -> bool {
    probe(page, digest).is_none_or(|probe| holds(page, &probe, parities))
}

#[inline(always)]
fn words_at(page: &[u8], at: usize) -> Option<&Words> {
    page.get(at..)?.first_chunk()
}

/// Words at the end of a page, and zeros.
#[cold]
fn last_words(page: &[u8], at: usize) -> Words {
    let mut words = [0; 32];
    let rest = page.get(at..).unwrap_or_default();
    words.iter_mut().zip(rest).for_each(|(word, byte)| *word = *byte);
    words
}

/// The parities of eight columns, column 0 in bit 0.
#[inline(always)]
pub(crate) fn parities(left: &Words, right: &Words, coefficients: u64) -> u32 {
    (0..8).fold(0, |bits, i| {
        let pair = u64::from(u32_at(left, 4 * i)) | u64::from(u32_at(right, 4 * i)) << 32;
        bits | ((pair & coefficients).count_ones() & 1) << i
    })
}

/// The rate of a page (section 6).
#[cfg(feature = "std")]
pub(crate) fn rate(page: &[u8]) -> f64 {
    let head = Head(u64_at(page, 0));
    let words = words(page.len());
    if head.groups() == 0 || !head.is_valid(words) {
        return 1.0;
    }
    rate_of(head.groups(), words)
}

/// The rate of a solved page with so many groups.
#[cfg(feature = "std")]
pub(crate) fn rate_of(groups: u64, words: u64) -> f64 {
    let Columns { low, few } = Columns::new(groups, words);
    let last = groups - 1;
    let halves = (few.min(last) * 2 + last.saturating_sub(few)) as f64;
    halves / (last * 2) as f64 * 0.5_f64.powi(low as i32)
}
