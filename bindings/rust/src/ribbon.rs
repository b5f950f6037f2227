// SPDX-License-Identifier: MIT
//! Pages of the layout ribbon: heads, columns and lookups (ribbon.md 1 to 4 and 6).

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
        self.0 >> 23 & 511 == 0 && (groups == 0 || (2..=words / 2).contains(&groups))
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
        let low = (words / groups).min(32);
        let few = if low == 32 { groups } else { groups * (low + 1) - words };
        Columns { low, few }
    }

    /// How many columns a group has.
    #[inline(always)]
    pub(crate) fn of(self, group: u64) -> u64 {
        if group < self.few { self.low } else { self.low + 1 }
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
        Row {
            hash,
            group: ((hash >> 32) * (groups - 1)) >> 32,
            coefficients: mix(hash ^ C3, C),
        }
    }
}

/// The number of the line of a page that begins a key's columns, for prefetching.
pub(crate) fn line_of(page: &[u8], digest: u64) -> usize {
    let head = Head(u64_at(page, 0));
    let words = words(page.len());
    if head.groups() < 2 || !head.is_valid(words) {
        return 0;
    }
    let group = Row::new(digest, head.seed(), head.groups()).group;
    let word = Columns::new(head.groups(), words).first_word(group);
    (HEAD + 4 * word as usize) / LINE
}

/// Whether a digest may be in a page: the used part of its bytes, a multiple of 64.
#[inline(always)]
pub(crate) fn maybe(page: &[u8], digest: u64) -> bool {
    let head = Head(u64_at(page, 0));
    let words = words(page.len());
    if head.groups() == 0 || !head.is_valid(words) {
        return true;
    }
    let row = Row::new(digest, head.seed(), head.groups());
    let division = Columns::new(head.groups(), words);
    let columns = division.of(row.group) as usize;
    let first = HEAD + 4 * division.first_word(row.group) as usize;
    let mut col = 0;
    while col < columns {
        let left = eight_words(page, first + 4 * col);
        let right = eight_words(page, first + 4 * (columns + col));
        let wrong = parities(&left, &right, row.coefficients) ^ (row.hash >> col) as u32;
        let here = (columns - col).min(8);
        if wrong & ((1 << here) - 1) != 0 {
            return false;
        }
        col += 8;
    }
    true
}

/// Eight words of a page, or fewer and zeros at its end.
#[inline(always)]
fn eight_words(page: &[u8], at: usize) -> [u32; 8] {
    match page.get(at..at + 32) {
        Some(bytes) => core::array::from_fn(|i| u32_at(bytes, 4 * i)),
        None => core::array::from_fn(|i| match page.get(at + 4 * i..at + 4 * i + 4) {
            Some(word) => u32_at(word, 0),
            None => 0,
        }),
    }
}

/// The parities of eight columns, column 0 in bit 0. Compilers make vector instructions of it.
#[inline(always)]
fn parities(left: &[u32; 8], right: &[u32; 8], coefficients: u64) -> u32 {
    let (low, high) = (coefficients as u32, (coefficients >> 32) as u32);
    let mut bits = 0;
    for i in 0..8 {
        let mut word = (left[i] & low) ^ (right[i] & high);
        word ^= word >> 16;
        word ^= word >> 8;
        word ^= word >> 4;
        word ^= word >> 2;
        word ^= word >> 1;
        bits |= (word & 1) << i;
    }
    bits
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
