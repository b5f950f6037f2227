// SPDX-License-Identifier: MIT
//! Lookups in the layout blocked.

use super::Set;
use crate::container::Block;
use crate::hash::{mulhi, C};
use crate::prefetch::prefetch_at;
use crate::ribbon::LINE;

/// Number of lookups that a batch prefetches ahead: about as many loads as a core keeps in flight.
const AHEAD: usize = 64;
/// Blocks that are in a cache of the core if they are in use: 256 KiB. Fetching would cost time.
const NEAR_BLOCKS: usize = 256 * 1024 / LINE;

/// The distribution of digests over the blocks, or lines, of a body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    /// Blocks of the filter of which the body may be a slice.
    pub whole: u64,
    /// Those before the body.
    pub first: u64,
    pub k: u32,
    /// The bits of an AVX-512 mask that the test of the last product ignores.
    #[cfg_attr(not(bloomfile_avx512), allow(dead_code))]
    pub ignored: u64,
}

/// The bits of a mask that an AVX-512 test ignores if `bits` positions of a product are used, 1 to
/// 6: all except bit 1 of a byte for each position.
pub(crate) const fn ignored(bits: u32) -> u64 {
    !(0x0202_0202_0202 >> (8 * (6 - bits)))
}

impl Spread {
    pub(crate) fn new(whole: u64, first: u64, k: u32) -> Self {
        // A ribbon filter has no hash functions.
        let last_bits = k.saturating_sub(1) % 6 + 1;
        Spread { whole, first, k, ignored: ignored(last_bits) }
    }

    /// The number of a digest's block in the body, or a larger number if it is in another slice.
    #[inline(always)]
    pub(crate) fn number(&self, digest: u64) -> u64 {
        mulhi(digest, self.whole).wrapping_sub(self.first)
    }

    #[inline(always)]
    pub(crate) fn find<'c>(&self, blocks: &'c [Block], digest: u64) -> Option<&'c Block> {
        // A number of another slice must not become a number of this slice by losing bits.
        blocks.get(usize::try_from(self.number(digest)).ok()?)
    }
}

#[inline(always)]
pub(super) fn has(block: &Block, digest: u64, spread: &Spread, set: impl Set) -> bool {
    set.has(block, digest, spread)
}

/// Sets `answers[i]` to whether the bits of `digests[i]` are one, and counts those. Looks at no
/// checksum.
#[inline(always)]
pub(super) fn many(
    blocks: &[Block],
    spread: &Spread,
    digests: &[u64],
    answers: &mut [bool],
    set: impl Set,
) -> usize {
    if spread.k > 6 || blocks.len() as u64 != spread.whole || blocks.is_empty() {
        let spread = *spread;
        let find = |digest| spread.find(blocks, digest);
        return ring(blocks, find, digests, answers, |block, digest| {
            set.has(block, digest, &spread)
        });
    }
    // Most filters: the compiler leaves out tests for more products and other slices.
    let (spread, whole) = (Spread { k: spread.k.min(6), ..*spread }, blocks.len() as u64);
    // SAFETY: the high half of a product is less than a factor that is not 0.
    let find = |digest| unsafe { Some(blocks.get_unchecked(mulhi(digest, whole) as usize)) };
    ring(blocks, find, digests, answers, |block, digest| set.has(block, digest, &spread))
}

#[inline(always)]
fn ring<'c>(
    blocks: &[Block],
    find: impl Fn(u64) -> Option<&'c Block>,
    digests: &[u64],
    answers: &mut [bool],
    has: impl Fn(&Block, u64) -> bool,
) -> usize {
    let fetch = |&digest: &u64| {
        if let Some(block) = find(digest) {
            prefetch_at(block, 0);
        }
    };
    let mut found = 0;
    let mut look_up = |digest: u64, answer: &mut bool| {
        *answer = find(digest).is_none_or(|block| has(block, digest));
        found += usize::from(*answer);
    };
    let ahead = if blocks.len() > NEAR_BLOCKS && digests.len() > 1 { AHEAD } else { 0 };
    let fetched = if ahead > 0 { digests.get(ahead..).unwrap_or_default() } else { &[] };
    digests.iter().take(ahead).for_each(fetch);
    let (first, last) = answers.split_at_mut(fetched.len());
    for ((next, &digest), answer) in fetched.iter().zip(digests).zip(first) {
        fetch(next);
        look_up(digest, answer);
    }
    for (&digest, answer) in digests[fetched.len()..].iter().zip(last) {
        look_up(digest, answer);
    }
    found
}

/// Returns whether all bits of a digest in its block are one.
#[inline(always)]
pub(super) fn portable(block: &Block, digest: u64, k: u32) -> bool {
    let mut g = digest.wrapping_mul(C);
    let mut left = k;
    while left > 6 {
        if !has_some::<6>(block, g) {
            return false;
        }
        g = g.wrapping_mul(C);
        left -= 6;
    }
    match left {
        1 => has_some::<1>(block, g),
        2 => has_some::<2>(block, g),
        3 => has_some::<3>(block, g),
        4 => has_some::<4>(block, g),
        5 => has_some::<5>(block, g),
        _ => has_some::<6>(block, g),
    }
}

/// The first `COUNT` bits of a product. Three bits are tested together: any of them may be zero, so
/// a processor could not predict a branch for each. Most lookups of absent keys end there, so that
/// more cache misses overlap.
#[inline(always)]
fn has_some<const COUNT: usize>(block: &Block, g: u64) -> bool {
    let bit = |i: usize| {
        let place = (g >> (55 - 9 * i)) as usize;
        block[place >> 3 & 63] >> (place & 7)
    };
    let all = |from: usize, to: usize| (from..to).fold(1, |all, i| all & bit(i)) & 1 != 0;
    all(0, COUNT.min(3)) && all(3.min(COUNT), COUNT)
}
