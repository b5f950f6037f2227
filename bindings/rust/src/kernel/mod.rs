// SPDX-License-Identifier: MIT
//! The inner loops of lookups, for several instruction sets.
//!
//! Each function exists once, in a generic form that is inlined into a caller for each set. A filter
//! detects the best set when it is opened. A call costs a lookup less than bit tests without
//! AVX-512 would: of a cached block 1.9 ns on a Zen 4, and 4.2 ns without.

#![allow(unsafe_code)] // Instruction sets that a processor may lack.
#![allow(clippy::inline_always)] // Generic functions must become part of a caller for each set.
#![allow(clippy::incompatible_msrv)] // build.rs leaves AVX-512 out of older compilers.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(bloomfile_avx512)]
mod avx512;
mod blocked;
mod cells;
mod ribbon;

use crate::container::Block;
use crate::ribbon::Shape;
pub(crate) use blocked::Spread;
pub(crate) use cells::Cells;
use cells::Runners;
pub(crate) use ribbon::{page_of, Pages};

/// An instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Portable,
    /// AVX2, BMI and POPCNT.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// These and AVX-512 with VBMI, BITALG and VPOPCNTDQ.
    #[cfg(bloomfile_avx512)]
    Avx512,
}

/// Whether the processor has features, or the crate was compiled for them.
#[cfg(all(target_arch = "x86_64", feature = "std"))]
macro_rules! detected {
    ($($feature:tt)*) => { $(std::arch::is_x86_feature_detected!($feature) &&)* true };
}
#[cfg(all(target_arch = "x86_64", not(feature = "std")))]
macro_rules! detected {
    ($($feature:tt)*) => { $(cfg!(target_feature = $feature) &&)* true };
}

impl Level {
    /// All sets that this processor has, the best last.
    pub(crate) fn all() -> impl Iterator<Item = Level> {
        [
            Some(Level::Portable),
            #[cfg(target_arch = "x86_64")]
            detected!("avx2" "bmi1" "bmi2" "popcnt").then_some(Level::Avx2),
            #[cfg(bloomfile_avx512)]
            detected!("avx2" "bmi1" "bmi2" "popcnt" "avx512f" "avx512bw" "avx512dq" "avx512vl"
                "avx512vbmi" "avx512bitalg" "avx512vpopcntdq")
            .then_some(Level::Avx512),
        ]
        .into_iter()
        .flatten()
    }

    pub(crate) fn best() -> Self {
        Self::all().last().unwrap_or(Level::Portable)
    }
}

#[cfg(bloomfile_avx512)]
const COMPILED_FOR_AVX512: bool = cfg!(all(
    target_feature = "bmi2",
    target_feature = "avx512bw",
    target_feature = "avx512dq",
    target_feature = "avx512vl",
    target_feature = "avx512vbmi",
    target_feature = "avx512bitalg",
    target_feature = "avx512vpopcntdq"
));

/// The functions that are implemented for each instruction set. A value of the type is the proof
/// that the processor supports the set.
trait Set: Copy {
    /// Returns whether all bits of a digest in its block are one.
    fn has(self, block: &Block, digest: u64, spread: &Spread) -> bool;

    /// Returns whether all cells of a digest are set, in a body that a cache holds.
    #[inline(always)]
    fn has_cells<const COUNTERS: bool>(self, cells: &Cells<'_, COUNTERS>, digest: u64) -> bool {
        cells.has(digest)
    }

    /// Tests the next cell of each lookup, in a body that a cache holds.
    #[inline(always)]
    fn round<const COUNTERS: bool>(self, cells: &Cells<'_, COUNTERS>, runners: &mut Runners) {
        cells.round(runners, 0);
    }

    /// Returns whether a row's equations hold: columns of its first group, and as many of the next.
    fn holds(self, columns: &[u8], row: u64, right: u32) -> bool;

    /// Sets each number of the last slice to `floor(a * b / 2^64)`.
    fn high_halves(self, a: &[u64], b: u64, to: &mut [u64]);
}

#[derive(Clone, Copy)]
struct Portable;

impl Set for Portable {
    #[inline(always)]
    fn has(self, block: &Block, digest: u64, spread: &Spread) -> bool {
        blocked::portable(block, digest, spread.k)
    }

    #[inline(always)]
    fn holds(self, columns: &[u8], row: u64, right: u32) -> bool {
        crate::ribbon::holds(columns, row, right)
    }

    #[inline(always)]
    fn high_halves(self, a: &[u64], b: u64, to: &mut [u64]) {
        a.iter().zip(to).for_each(|(&a, to)| *to = crate::hash::mulhi(a, b));
    }
}

/// Makes a function that calls a generic function, compiled for the instruction set of a level.
macro_rules! for_each_level {
    ($name:ident = $generic:expr, ($($argument:ident: $type:ty),*) -> $result:ty) => {
        #[inline]
        pub(crate) fn $name(level: Level, $($argument: $type),*) -> $result {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
            unsafe fn avx2($($argument: $type),*) -> $result {
                $generic($($argument,)* avx2::Avx2)
            }

            #[cfg(bloomfile_avx512)]
            #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl")]
            #[target_feature(enable = "avx512vbmi,avx512bitalg,avx512vpopcntdq")]
            unsafe fn avx512($($argument: $type),*) -> $result {
                $generic($($argument,)* avx512::Avx512)
            }

            /// A call keeps code small that few processors run.
            #[cfg_attr(all(target_arch = "x86_64", feature = "std"), inline(never))]
            fn portable($($argument: $type),*) -> $result {
                $generic($($argument,)* Portable)
            }

            // A program that is compiled for AVX-512 needs no call.
            #[cfg(bloomfile_avx512)]
            if COMPILED_FOR_AVX512 {
                return $generic($($argument,)* avx512::Avx512);
            }
            match level {
                // SAFETY: a level is only made if the processor has its features.
                #[cfg(bloomfile_avx512)]
                Level::Avx512 => unsafe { avx512($($argument),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                Level::Avx2 => unsafe { avx2($($argument),*) },
                Level::Portable => portable($($argument),*),
            }
        }
    };
}

for_each_level!(has = blocked::has, (block: &Block, digest: u64, spread: &Spread) -> bool);
for_each_level!(many_blocked = blocked::many,
    (blocks: &[Block], spread: &Spread, digests: &[u64], answers: &mut [bool]) -> usize);
for_each_level!(has_bits = cells::has::<false>,
    (body: &[u8], m: u64, k: u32, digest: u64) -> bool);
for_each_level!(has_counters = cells::has::<true>,
    (body: &[u8], m: u64, k: u32, digest: u64) -> bool);
for_each_level!(many_bits = cells::many,
    (cells: &Cells<'_, false>, digests: &[u64], answers: &mut [bool]) -> usize);
for_each_level!(many_counters = cells::many,
    (cells: &Cells<'_, true>, digests: &[u64], answers: &mut [bool]) -> usize);
for_each_level!(ribbon = ribbon::contains,
    (body: &[u8], page: u64, shape: Shape, digest: u64) -> bool);
for_each_level!(many_ribbon = ribbon::many,
    (pages: &Pages<'_>, digests: &[u64], answers: &mut [bool]) -> usize);

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use crate::hash::{cells, places, C};
    use crate::ribbon::LINE;
    use core::sync::atomic::AtomicU32;
    use std::vec::Vec;

    fn numbers() -> impl FnMut() -> u64 {
        let mut state = 1_u64;
        move || {
            state = state.wrapping_mul(C).wrapping_add(0xD1B5_4A32_D192_ED03);
            state ^ state >> 29
        }
    }

    #[test]
    fn all_instruction_sets_agree_on_blocks() {
        let mut next = numbers();
        for k in 1..=64 {
            for _ in 0..200 {
                // Mostly ones, so that some keys of every k are there.
                let mut block: Block = core::array::from_fn(|_| (next() | next()) as u8 | 0x7F);
                let digest = next();
                if next() % 2 == 0 {
                    places(digest, k).for_each(|place| block[place / 8] |= 1 << (place % 8));
                }
                let expected =
                    places(digest, k).all(|place| block[place / 8] >> (place % 8) & 1 != 0);
                let spread = Spread::new(1, 0, k);
                for level in Level::all() {
                    assert_eq!(has(level, &block, digest, &spread), expected, "{level:?} {k}");
                    let mut answer = [!expected];
                    let found = many_blocked(level, &[block], &spread, &[digest], &mut answer);
                    assert_eq!((answer[0], found), (expected, usize::from(expected)));
                }
            }
        }
    }

    /// Looks up one by one and in batches of some lengths.
    fn compare_cells<const COUNTERS: bool>(m: u64, k: u32) {
        let mut next = numbers();
        let size = (m / if COUNTERS { 2 } else { 8 }) as usize + 1;
        let body: Vec<u8> = (0..size).map(|_| (next() | next()) as u8).collect();
        let digests: Vec<u64> = (0..700).map(|_| next()).collect();
        let expected: Vec<bool> = digests
            .iter()
            .map(|&digest| {
                cells(digest, k, m).all(|cell| {
                    let (byte, bit, mask) = if COUNTERS {
                        (cell / 2, cell % 2 * 4, 15)
                    } else {
                        (cell / 8, cell % 8, 1)
                    };
                    body[byte as usize] >> bit & mask != 0
                })
            })
            .collect();
        for level in Level::all() {
            let has = if COUNTERS { has_counters } else { has_bits };
            let found = |&digest: &u64| has(level, &body, m, k, digest);
            assert!(digests.iter().map(found).eq(expected.iter().copied()), "{level:?} {m} {k}");
            for length in [700, 513, 9, 1, 0] {
                let mut answers = std::vec![false; length];
                let digests = &digests[..length];
                let found = if COUNTERS {
                    many_counters(level, &Cells { body: &body, m, k }, digests, &mut answers)
                } else {
                    many_bits(level, &Cells { body: &body, m, k }, digests, &mut answers)
                };
                assert_eq!(answers, expected[..length], "{level:?} {m} {k}");
                assert_eq!(found, answers.iter().filter(|&&answer| answer).count());
            }
        }
    }

    #[test]
    fn all_instruction_sets_agree_on_cells() {
        for m in [1, 9, 63, 64, 65, 1000, 1_000_003, 1 << 28] {
            for k in [1, 4, 5, 8, 9, 17] {
                compare_cells::<false>(m, k);
                compare_cells::<true>(m.min(1 << 20), k);
            }
        }
    }

    #[test]
    fn all_instruction_sets_agree_on_ribbon_pages() {
        let digests = |salt: u64| (1..=1500_u64).map(move |i| (i ^ salt << 32).wrapping_mul(C));
        for (lines, keys) in [(64, 1500), (64, 700), (64, 3), (1, 60), (9, 300), (1, 1), (64, 9000)]
        {
            let mut page = vec![0; LINE * lines];
            let present: Vec<u64> = digests(0).chain(digests(2)).take(keys).collect();
            crate::solve::solve(&present, &mut page).unwrap();
            let shape = Shape::of_page(&page);
            let shapes = [AtomicU32::new(shape.0)];
            let pages = Pages { body: &page, shapes: &shapes };
            let probes: Vec<u64> = digests(0).chain(digests(1)).collect();
            let expected: Vec<bool> =
                probes.iter().map(|&digest| crate::ribbon::maybe(&page, digest)).collect();
            for (digest, expected) in probes.iter().zip(&expected) {
                assert!(*expected || !present.contains(digest));
            }
            for level in Level::all() {
                let found = |&digest: &u64| ribbon(level, &page, 0, shape, digest);
                assert!(probes.iter().map(found).eq(expected.iter().copied()), "{level:?}");
                for length in [3000, 127, 64, 5, 0] {
                    let mut answers = vec![false; length];
                    let found = many_ribbon(level, &pages, &probes[..length], &mut answers);
                    assert_eq!(answers, expected[..length], "{level:?} {lines} {keys}");
                    assert_eq!(found, answers.iter().filter(|&&answer| answer).count());
                }
            }
        }
    }
}
