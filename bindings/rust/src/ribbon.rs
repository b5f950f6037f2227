// SPDX-License-Identifier: MIT
//! Pages of the layout ribbon: heads, columns and equations (ribbon.md 1 to 4 and 6).

#![allow(clippy::inline_always)] // They become part of a kernel for each instruction set.

use crate::bytes::{u32_at, u64_at};
use crate::hash::{mulhi, C};
use crate::info::PAGE;

const C2: u64 = 0xD1B5_4A32_D192_ED03;
const C3: u64 = 0x8CB9_2BA7_2F3D_8DD7;
/// Bytes of a line, and of a head.
pub(crate) const LINE: usize = 64;
pub(crate) const HEAD: usize = 8;

/// The number of words of a page of `bytes` bytes.
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

/// The values that lookups need from a head, in one word: 9 bits for the number of groups, 7 for
/// the seed, 6 for the fewest columns of a group, and 9 for the number of groups with so few. Never
/// 0.
#[derive(Clone, Copy)]
pub(crate) struct Shape(pub u32);

impl Shape {
    /// A group without columns: every lookup answers *maybe*.
    pub(crate) const MAYBE: Shape = Shape(1 | 1 << 22);

    /// The shape of a page with this number of groups and words.
    #[inline]
    pub(crate) fn new(groups: u64, seed: u64, words: u64) -> Self {
        let fewest = (words / groups).min(32);
        let few = if fewest == 32 { groups } else { groups * (fewest + 1) - words };
        Shape((groups | seed << 9 | fewest << 16 | few << 22) as u32)
    }

    /// The shape of a page, from its used part, a multiple of 64 bytes.
    pub(crate) fn of_page(page: &[u8]) -> Self {
        let (head, words) = (Head(u64_at(page, 0)), words(page.len()));
        if head.groups() == 0 || !head.is_valid(words) {
            return Shape::MAYBE;
        }
        Shape::new(head.groups(), head.seed(), words)
    }

    fn groups(self) -> u64 {
        u64::from(self.0 & 511)
    }

    fn seed(self) -> u64 {
        u64::from(self.0 >> 9 & 127)
    }

    /// The number of columns of the groups with the fewest.
    pub(crate) fn fewest(self) -> u64 {
        u64::from(self.0 >> 16 & 63)
    }

    /// The number of groups with the fewest columns.
    pub(crate) fn few(self) -> u64 {
        u64::from(self.0 >> 22)
    }

    /// The first word of a group, and how many columns it has.
    #[inline(always)]
    pub(crate) fn columns(self, group: u64) -> (u64, u64) {
        let more = group.saturating_sub(self.few());
        let first = group * self.fewest() + more;
        (first, self.fewest() + u64::from(group >= self.few()))
    }
}

/// The number that is mixed to the part of a key's hash that does not depend on its page.
#[inline(always)]
pub(crate) fn to_seedless(digest: u64) -> u64 {
    digest ^ C2
}

/// The number that is mixed to the coefficients of a key: the low half for its first group, the high
/// half for the next.
#[inline(always)]
pub(crate) fn to_coefficients(hash: u64) -> u64 {
    hash ^ C3
}

#[inline(always)]
pub(crate) fn mix(number: u64) -> u64 {
    mulhi(number, C) ^ number.wrapping_mul(C)
}

/// The hash of a key in its page. Its low bits are the right sides of its equations.
#[inline(always)]
fn hash_in_page(seedless: u64, seed: u64) -> u64 {
    (seedless ^ seed.wrapping_mul(C)).wrapping_mul(C2)
}

/// The first of a key's two groups.
#[inline(always)]
fn group(hash: u64, groups: u64) -> u64 {
    ((hash >> 32) * (groups - 1)) >> 32
}

/// The values of a key in its page.
#[cfg(feature = "std")]
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub hash: u64,
    pub group: u64,
    pub coefficients: u64,
}

#[cfg(feature = "std")]
impl Row {
    pub(crate) fn new(digest: u64, seed: u64, groups: u64) -> Self {
        let hash = hash_in_page(mix(to_seedless(digest)), seed);
        Row { hash, group: group(hash, groups), coefficients: mix(to_coefficients(hash)) }
    }
}

/// The values that a lookup compares with a body.
#[derive(Clone, Copy)]
pub(crate) struct Query {
    /// Where the columns of its two groups are.
    pub start: u64,
    pub end: u64,
    pub hash: u64,
}

impl Query {
    /// The query for a key in a page.
    #[inline(always)]
    pub(crate) fn new(page: u64, seedless: u64, shape: Shape) -> Self {
        let hash = hash_in_page(seedless, shape.seed());
        let (first, count) = shape.columns(group(hash, shape.groups()));
        let start = page * PAGE as u64 + HEAD as u64 + 4 * first;
        Query { start, end: start + 8 * count, hash }
    }
}

/// Returns whether a digest may be in the used part of a page.
#[cfg(feature = "std")]
pub(crate) fn maybe(page: &[u8], digest: u64) -> bool {
    let Query { start, end, hash } = Query::new(0, mix(to_seedless(digest)), Shape::of_page(page));
    holds(&page[start as usize..end as usize], mix(to_coefficients(hash)), hash as u32)
}

/// Returns whether a row's equations hold: columns of its first group, and as many of the next.
#[inline]
pub(crate) fn holds(columns: &[u8], row: u64, right: u32) -> bool {
    let (first, second) = columns.split_at(columns.len() / 2);
    first.chunks_exact(4).zip(second.chunks_exact(4)).enumerate().all(|(i, (low, high))| {
        let pair = u64::from(u32_at(low, 0)) | u64::from(u32_at(high, 0)) << 32;
        (pair & row).count_ones() & 1 == right >> i & 1
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

/// The rate of a solved page with this number of groups.
#[cfg(feature = "std")]
pub(crate) fn rate_of(groups: u64, words: u64) -> f64 {
    let shape = Shape::new(groups, 0, words);
    let last = groups - 1;
    let halves = (shape.few().min(last) * 2 + last.saturating_sub(shape.few())) as f64;
    halves / (last * 2) as f64 * 0.5_f64.powi(shape.fewest() as i32)
}
