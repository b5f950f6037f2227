// SPDX-License-Identifier: MIT
//! Lookups in the layouts classic and counting.

use super::Set;
use crate::hash::{cells, mulhi, C};
use crate::prefetch::prefetch_at;

/// Bodies up to this size stay in the last cache. The processor overlaps their misses by itself.
const CACHED: usize = 1 << 24;
/// Number of lookups in a group.
const TOGETHER: usize = 512;
/// Vectors are stored as a whole.
const SPARE: usize = 8;
/// Number of lookups that are prefetched ahead.
const AHEAD: usize = 96;

/// The cells of a body: bits, or counters of four bits.
#[derive(Clone, Copy)]
pub(crate) struct Cells<'c, const COUNTERS: bool> {
    pub body: &'c [u8],
    pub m: u64,
    pub k: u32,
}

/// The lookups whose cells were all set so far: their products, and their numbers.
#[repr(align(64))]
pub(super) struct Runners {
    pub products: [u64; TOGETHER + SPARE],
    pub numbers: [u32; TOGETHER + SPARE],
    pub count: usize,
}

impl<const COUNTERS: bool> Cells<'_, COUNTERS> {
    /// The byte of a cell.
    #[inline(always)]
    pub(crate) fn byte(cell: u64) -> usize {
        (if COUNTERS { cell / 2 } else { cell / 8 }) as usize
    }

    #[inline(always)]
    pub(crate) fn is_set(&self, cell: u64) -> bool {
        self.body.get(Self::byte(cell)).is_none_or(|byte| {
            if COUNTERS {
                byte >> (cell % 2 * 4) & 15 != 0
            } else {
                byte >> (cell % 8) & 1 != 0
            }
        })
    }

    /// Returns whether all cells of a digest are set, without a branch on each.
    #[inline(always)]
    pub(super) fn has(&self, digest: u64) -> bool {
        cells(digest, self.k, self.m).fold(true, |all, cell| all & self.is_set(cell))
    }

    /// Tests the next cell of each lookup, and fetches those of lookups ahead.
    #[inline(always)]
    pub(super) fn round(&self, runners: &mut Runners, ahead: usize) {
        let fetch = |&g: &u64| prefetch_at(self.body, Self::byte(mulhi(g, self.m)));
        runners.products[..runners.count.min(ahead)].iter().for_each(fetch);
        let mut kept = 0;
        for i in 0..runners.count {
            let (g, number) = (runners.products[i], runners.numbers[i]);
            if ahead > 0 && i + ahead < runners.count {
                fetch(&runners.products[i + ahead]);
            }
            runners.products[kept % TOGETHER] = g.wrapping_mul(C);
            runners.numbers[kept % TOGETHER] = number;
            kept += usize::from(self.is_set(mulhi(g, self.m)));
        }
        runners.count = kept;
    }
}

/// Returns whether all cells of a digest are set. Looks at no checksum.
///
/// In a cached body, testing all cells takes less time than a branch on each, which could not be
/// predicted. In a larger body each cell is a cache miss, so the first that is not set ends the
/// lookup.
#[inline(always)]
pub(super) fn has<const COUNTERS: bool>(
    body: &[u8],
    m: u64,
    k: u32,
    digest: u64,
    set: impl Set,
) -> bool {
    let them = Cells::<COUNTERS> { body, m, k };
    if body.len() <= CACHED {
        set.has_cells(&them, digest)
    } else {
        cells(digest, k, m).all(|cell| them.is_set(cell))
    }
}

/// Sets `answers[i]` to whether all cells of `digests[i]` are set, and counts those. Looks at no
/// checksum.
///
/// A round tests the next cell of each lookup, and keeps the lookups whose cell is set for the next
/// round. If half of the bits are ones, an absent key reads two cells.
#[inline(always)]
pub(super) fn many<const COUNTERS: bool>(
    cells: &Cells<'_, COUNTERS>,
    digests: &[u64],
    answers: &mut [bool],
    set: impl Set,
) -> usize {
    let mut found = 0;
    let (products, numbers) = ([0; TOGETHER + SPARE], [0; TOGETHER + SPARE]);
    let mut runners = Runners { products, numbers, count: 0 };
    for (digests, answers) in digests.chunks(TOGETHER).zip(answers.chunks_mut(TOGETHER)) {
        runners.products[..digests.len()].copy_from_slice(digests);
        for (number, to) in (0..).zip(&mut runners.numbers) {
            *to = number;
        }
        runners.count = digests.len();
        for _ in 0..cells.k {
            if cells.body.len() <= CACHED {
                set.round(cells, &mut runners);
            } else {
                cells.round(&mut runners, AHEAD);
            }
        }
        answers.fill(false);
        for &number in &runners.numbers[..runners.count] {
            answers[number as usize] = true;
        }
        found += runners.count;
    }
    found
}
