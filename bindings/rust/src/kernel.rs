// SPDX-License-Identifier: MIT
//! The inner loops of lookups, for several instruction sets.
//!
//! Each function exists once, in a portable form that is inlined into a caller for each set. The
//! test of a block also has forms of its own. A filter detects the best set when it is opened.

#![allow(unsafe_code)] // Instruction sets that a processor may lack, and blocks as arrays.
#![allow(clippy::inline_always)] // Generic functions must become part of a caller for each set.
#![allow(clippy::incompatible_msrv)] // build.rs leaves AVX-512 out of older compilers.

use crate::hash::{mulhi, C};
use crate::info::PAGE;
use crate::prefetch::{prefetch, prefetch_line};
use crate::ribbon::{self, Words, LINE};
use core::ptr::NonNull;

/// How many lookups of a batch are fetched ahead. A core keeps about so many loads in flight.
const AHEAD: usize = 64;

/// How many ribbon lookups are fetched before they are done.
const FETCHED: usize = 32;
const LINES_OF_PAGE: usize = PAGE / LINE;
/// Blocks that are in a cache of the core if they are in use: 2 MiB. Fetching would cost time.
const CACHED_BLOCKS: usize = 2 * 1024 * 1024 / LINE;

pub(crate) type Block = [u8; LINE];

/// An instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Portable,
    /// AVX2, BMI and POPCNT.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// These and AVX-512 with VBMI and BITALG.
    #[cfg(all(target_arch = "x86_64", bloomfile_avx512))]
    Avx512,
}

/// Whether the processor, or the whole compilation, has features.
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
            #[cfg(all(target_arch = "x86_64", bloomfile_avx512))]
            detected!("avx2" "bmi1" "bmi2" "popcnt" "avx512f" "avx512bw" "avx512vl" "avx512vbmi" "avx512bitalg")
                .then_some(Level::Avx512),
        ]
        .into_iter()
        .flatten()
    }

    pub(crate) fn best() -> Self {
        Self::all().last().unwrap_or(Level::Portable)
    }
}

#[cfg(all(target_arch = "x86_64", bloomfile_avx512))]
const COMPILED_FOR_AVX512: bool = cfg!(all(
    target_feature = "bmi2",
    target_feature = "avx512bw",
    target_feature = "avx512vl",
    target_feature = "avx512vbmi",
    target_feature = "avx512bitalg"
));

/// What is written for an instruction set. A value stands for the promise that the processor has it.
trait Set: Copy {
    /// Whether all bits of a digest in its block are one.
    fn has(self, block: &Block, digest: u64, k: u32) -> bool;

    /// The parities of eight ribbon columns of two groups, column 0 in bit 0.
    fn parities(self, left: &Words, right: &Words, coefficients: u64) -> u32;
}

#[derive(Clone, Copy)]
struct Portable;

impl Set for Portable {
    #[inline(always)]
    fn has(self, block: &Block, digest: u64, k: u32) -> bool {
        portable(block, digest, k)
    }

    #[inline(always)]
    fn parities(self, left: &Words, right: &Words, coefficients: u64) -> u32 {
        ribbon::parities(left, right, coefficients)
    }
}

/// Instantiates a function for each instruction set, and a function that calls the right one.
macro_rules! for_each_level {
    ($dispatch:ident, $avx2:ident, $avx512:ident, $generic:path,
     ($($name:ident: $type:ty),*) -> $result:ty) => {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
        unsafe fn $avx2($($name: $type),*) -> $result {
            $generic($($name,)* x86::Avx2)
        }

        #[cfg(all(target_arch = "x86_64", bloomfile_avx512))]
        #[target_feature(
            enable = "avx2,bmi1,bmi2,popcnt,avx512f,avx512bw,avx512vl,avx512vbmi,avx512bitalg"
        )]
        unsafe fn $avx512($($name: $type),*) -> $result {
            $generic($($name,)* x86::Avx512)
        }

        #[inline]
        pub(crate) fn $dispatch(level: Level, $($name: $type),*) -> $result {
            // A program that is compiled for AVX-512 needs no call.
            #[cfg(all(target_arch = "x86_64", bloomfile_avx512))]
            if COMPILED_FOR_AVX512 {
                return $generic($($name,)* x86::Avx512);
            }
            match level {
                // SAFETY: a level is only made if the processor has its features.
                #[cfg(all(target_arch = "x86_64", bloomfile_avx512))]
                Level::Avx512 => unsafe { $avx512($($name),*) },
                #[cfg(target_arch = "x86_64")]
                Level::Avx2 => unsafe { $avx2($($name),*) },
                Level::Portable => $generic($($name,)* Portable),
            }
        }
    };
}

for_each_level!(has, has_avx2, has_avx512, has_generic,
    (block: &Block, digest: u64, k: u32) -> bool);
for_each_level!(many, many_avx2, many_avx512, many_generic,
    (blocks: &Blocks<'_>, digests: &[u64], answers: &mut [bool]) -> ());
for_each_level!(ribbon, ribbon_avx2, ribbon_avx512, ribbon_generic,
    (page: &[u8], digest: u64) -> bool);
for_each_level!(many_ribbon, many_ribbon_avx2, many_ribbon_avx512, many_ribbon_generic,
    (lines: &[Block], digests: &[u64], answers: &mut [bool]) -> ());

#[inline(always)]
fn has_generic(block: &Block, digest: u64, k: u32, set: impl Set) -> bool {
    set.has(block, digest, k)
}

#[inline(always)]
fn ribbon_generic(page: &[u8], digest: u64, set: impl Set) -> bool {
    ribbon::maybe(page, digest, |left, right, coefficients| set.parities(left, right, coefficients))
}

/// Sets `answers[i]` to the answer of the page of `digests[i]`. Looks at no checksum.
///
/// A lookup reads the head of its page, and then a place that depends on the head. So of a few
/// lookups the heads are fetched first, and then the places.
#[inline(always)]
fn many_ribbon_generic(lines: &[Block], digests: &[u64], answers: &mut [bool], set: impl Set) {
    let page_of = |digest: u64| {
        let page = mulhi(digest, lines.len() as u64) as usize / LINES_OF_PAGE * LINES_OF_PAGE;
        let end = lines.len().min(page + LINES_OF_PAGE);
        lines[page..end].as_flattened()
    };
    for (digests, answers) in digests.chunks(FETCHED).zip(answers.chunks_mut(FETCHED)) {
        for &digest in digests {
            prefetch_line(&page_of(digest)[0]);
        }
        let mut probes = [None; FETCHED];
        for (probe, &digest) in probes.iter_mut().zip(digests) {
            let page = page_of(digest);
            *probe = ribbon::probe(page, digest);
            if let Some(probe) = probe {
                prefetch(page, probe.at);
                prefetch(page, probe.at + LINE);
            }
        }
        for ((probe, &digest), answer) in probes.iter().zip(digests).zip(answers) {
            *answer = probe.as_ref().is_none_or(|probe| {
                ribbon::holds(page_of(digest), probe, |left, right, coefficients| {
                    set.parities(left, right, coefficients)
                })
            });
        }
    }
}

/// The blocks of a body, and where they lie in the whole.
pub(crate) struct Blocks<'c> {
    pub body: &'c [Block],
    pub first: u64,
    pub whole: u64,
    pub k: u32,
}

/// The blocks of a filter of the layout blocked, for single lookups. It stays next to the bytes, so
/// that a lookup need not find out first where they are.
#[derive(Debug)]
pub(crate) struct Fast {
    body: NonNull<Block>,
    /// 0 if lookups need another way.
    count: u64,
    first: u64,
    whole: u64,
    k: u32,
    level: Level,
}

// SAFETY: a `Fast` is a shared reference to bytes, which other threads may read.
unsafe impl Send for Fast {}
// SAFETY: as above.
unsafe impl Sync for Fast {}

impl Fast {
    /// # Safety
    ///
    /// The bytes of the blocks outlive the value, and stay where they are.
    pub(crate) unsafe fn new(blocks: &Blocks<'_>, level: Level) -> Self {
        Fast {
            body: NonNull::from(blocks.body).cast(),
            count: blocks.body.len() as u64,
            first: blocks.first,
            whole: blocks.whole,
            k: blocks.k,
            level,
        }
    }

    /// No blocks.
    pub(crate) fn none() -> Self {
        let (count, first, whole, k) = (0, 0, 0, 0);
        Fast { body: NonNull::dangling(), count, first, whole, k, level: Level::Portable }
    }

    /// The number of a digest's block and whether its bits are one, if there is such a block.
    #[inline(always)]
    pub(crate) fn look_up(&self, digest: u64) -> Option<(usize, bool)> {
        let number = mulhi(digest, self.whole).wrapping_sub(self.first);
        if number >= self.count {
            return None;
        }
        // SAFETY: the number is less than that of the blocks, whose bytes are there.
        let block = unsafe { self.body.add(number as usize).as_ref() };
        Some((number as usize, has(self.level, block, digest, self.k)))
    }
}

/// The first blocks of a body.
pub(crate) fn blocks_of(body: &[u8], count: usize) -> &[Block] {
    let used = &body[..count * LINE];
    // SAFETY: arrays of bytes have no alignment, and these have the bytes of `used`.
    unsafe { core::slice::from_raw_parts(used.as_ptr().cast(), count) }
}

impl<'c> Blocks<'c> {
    #[inline(always)]
    fn find(&self, digest: u64) -> Option<&'c Block> {
        let number = mulhi(digest, self.whole).wrapping_sub(self.first);
        // A number of another slice must not become a number of this slice by losing bits.
        if number < self.body.len() as u64 {
            self.body.get(number as usize)
        } else {
            None
        }
    }
}

/// Sets `answers[i]` to whether the bits of `digests[i]` are one. Looks at no checksum.
#[inline(always)]
fn many_generic(blocks: &Blocks<'_>, digests: &[u64], answers: &mut [bool], set: impl Set) {
    let fetch = |&digest: &u64| {
        if let Some(block) = blocks.find(digest) {
            prefetch_line(block);
        }
    };
    let look_up =
        |digest: u64| blocks.find(digest).is_none_or(|block| set.has(block, digest, blocks.k));
    let cached = blocks.body.len() <= CACHED_BLOCKS;
    let ahead = if cached { &[] } else { digests.get(AHEAD..).unwrap_or_default() };
    if !cached {
        digests.iter().take(AHEAD).for_each(fetch);
    }
    let (first, last) = answers.split_at_mut(ahead.len());
    for ((next, &digest), answer) in ahead.iter().zip(digests).zip(first) {
        fetch(next);
        *answer = look_up(digest);
    }
    for (&digest, answer) in digests[ahead.len()..].iter().zip(last) {
        *answer = look_up(digest);
    }
}

/// Whether all bits of a digest in its block are one.
#[inline(always)]
fn portable(block: &Block, digest: u64, k: u32) -> bool {
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

/// The first `COUNT` bits of a product. The loop does not stop early: any bit of an absent key may
/// be zero, so a processor could not predict the branch.
#[inline(always)]
fn has_some<const COUNT: usize>(block: &Block, g: u64) -> bool {
    let mut all = 1;
    for i in 0..COUNT {
        let place = g >> (55 - 9 * i);
        let word = crate::bytes::u64_at(block, 8 * (place >> 6 & 7) as usize);
        all &= word >> (place & 63);
    }
    all & 1 != 0
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Block, Set};
    use crate::hash::C;
    use crate::ribbon::Words;
    #[allow(clippy::wildcard_imports)] // Names of intrinsics begin with _mm.
    use core::arch::x86_64::*;

    /// The processor has AVX2, BMI and POPCNT.
    #[derive(Clone, Copy)]
    pub(super) struct Avx2;

    impl Set for Avx2 {
        #[inline(always)]
        fn has(self, block: &Block, digest: u64, k: u32) -> bool {
            // SAFETY: the value stands for the features.
            unsafe { avx2(block, digest, k) }
        }

        #[inline(always)]
        fn parities(self, left: &Words, right: &Words, coefficients: u64) -> u32 {
            // SAFETY: the value stands for the features.
            unsafe { parities(left, right, coefficients) }
        }
    }

    /// The processor has these and AVX-512 F, BW, VL, VBMI and BITALG.
    #[cfg(bloomfile_avx512)]
    #[derive(Clone, Copy)]
    pub(super) struct Avx512;

    #[cfg(bloomfile_avx512)]
    impl Set for Avx512 {
        #[inline(always)]
        fn has(self, block: &Block, digest: u64, k: u32) -> bool {
            // SAFETY: the value stands for the features.
            unsafe { avx512(block, digest, k) }
        }

        #[inline(always)]
        fn parities(self, left: &Words, right: &Words, coefficients: u64) -> u32 {
            // SAFETY: the value stands for the features.
            unsafe { parities(left, right, coefficients) }
        }
    }

    /// # Safety
    ///
    /// The processor has AVX2.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn parities(left: &Words, right: &Words, coefficients: u64) -> u32 {
        // SAFETY: both loads have the 32 bytes that they take.
        let (left, right) = unsafe {
            (_mm256_loadu_si256(left.as_ptr().cast()), _mm256_loadu_si256(right.as_ptr().cast()))
        };
        let low = _mm256_set1_epi32(coefficients as i32);
        let high = _mm256_set1_epi32((coefficients >> 32) as i32);
        let words = _mm256_xor_si256(_mm256_and_si256(left, low), _mm256_and_si256(right, high));
        // The parity of each lane ends up in its top bit.
        let words = _mm256_xor_si256(words, _mm256_slli_epi32::<16>(words));
        let words = _mm256_xor_si256(words, _mm256_slli_epi32::<8>(words));
        let words = _mm256_xor_si256(words, _mm256_slli_epi32::<4>(words));
        let words = _mm256_xor_si256(words, _mm256_slli_epi32::<2>(words));
        let words = _mm256_xor_si256(words, _mm256_slli_epi32::<1>(words));
        _mm256_movemask_ps(_mm256_castsi256_ps(words)) as u32
    }

    /// For each product, tests its six places in vectors; the last product may have fewer.
    macro_rules! each_product {
        ($digest:ident, $k:ident, $six:expr) => {{
            let mut g = $digest.wrapping_mul(C);
            let mut left = $k;
            // Bit i of the result of `six` is the bit of place i.
            while left > 6 {
                if $six(g) & 63 != 63 {
                    return false;
                }
                g = g.wrapping_mul(C);
                left -= 6;
            }
            let needed = (1_u32 << left) - 1;
            $six(g) & needed == needed
        }};
    }

    /// # Safety
    ///
    /// The processor has AVX2.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn avx2(block: &Block, digest: u64, k: u32) -> bool {
        let halves: *const __m256i = block.as_ptr().cast();
        // SAFETY: both halves of 32 bytes are in the block of 64 bytes.
        let (low, high) =
            unsafe { (_mm256_loadu_si256(halves), _mm256_loadu_si256(halves.add(1))) };
        // The field of place i, shifted to the top of lane i. Lanes 0 to 2 come from the top 32
        // bits of the product, lanes 3 to 5 from 32 bits further down.
        let shifts = _mm256_setr_epi32(0, 9, 18, 0, 9, 18, 0, 0);
        let six = |g: u64| {
            let (top, next) = ((g >> 32) as i32, (g >> 5) as i32);
            let parts = _mm256_setr_epi32(top, top, top, next, next, next, 0, 0);
            let fields = _mm256_sllv_epi32(parts, shifts);
            // Bits 28 to 30 choose a word of a half, bit 31 the half, bits 23 to 27 the bit.
            let words = _mm256_srli_epi32::<28>(fields);
            let in_low = _mm256_permutevar8x32_epi32(low, words);
            let in_high = _mm256_permutevar8x32_epi32(high, words);
            let chosen = _mm256_blendv_ps(
                _mm256_castsi256_ps(in_low),
                _mm256_castsi256_ps(in_high),
                _mm256_castsi256_ps(fields),
            );
            let bits = _mm256_and_si256(_mm256_srli_epi32::<23>(fields), _mm256_set1_epi32(31));
            let to_top = _mm256_sub_epi32(_mm256_set1_epi32(31), bits);
            let signs = _mm256_sllv_epi32(_mm256_castps_si256(chosen), to_top);
            _mm256_movemask_ps(_mm256_castsi256_ps(signs)) as u32
        };
        each_product!(digest, k, six)
    }

    /// # Safety
    ///
    /// The processor has AVX-512 F, BW, VL, VBMI and BITALG.
    #[cfg(bloomfile_avx512)]
    #[inline]
    #[target_feature(
        enable = "avx2,bmi1,bmi2,popcnt,avx512f,avx512bw,avx512vl,avx512vbmi,avx512bitalg"
    )]
    unsafe fn avx512(block: &Block, digest: u64, k: u32) -> bool {
        // SAFETY: the block has the 64 bytes of the load.
        let bytes = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
        // Byte i of the first has the number of the byte of place i in its low six bits, byte i of
        // the second the number of the bit in its low three bits.
        let to_bytes = _mm_cvtsi64_si128(0x3A3A_0D16_1F28_313A);
        let to_bits = _mm_cvtsi64_si128(0x3737_0A13_1C25_2E37);
        let (three_bits, eights) =
            (_mm_cvtsi64_si128(0x0707_0707_0707_0707), _mm_cvtsi64_si128(0x3830_2820_1810_0800));
        let six = |g: u64| {
            let g = _mm_cvtsi64_si128(g as i64);
            let byte = _mm_multishift_epi64_epi8(to_bytes, g);
            let bit = _mm_multishift_epi64_epi8(to_bits, g);
            // The permutation looks at the low six bits of an index only.
            let chosen = _mm512_permutexvar_epi8(_mm512_castsi128_si512(byte), bytes);
            // Place i is bit 8 * i + bit of the chosen bytes.
            let bit = _mm_ternarylogic_epi64::<0xEA>(bit, three_bits, eights);
            u32::from(_mm_bitshuffle_epi64_mask(_mm512_castsi512_si128(chosen), bit))
        };
        each_product!(digest, k, six)
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use crate::hash::places;
    use std::vec::Vec;

    #[test]
    fn all_instruction_sets_agree_with_the_specification() {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(C).wrapping_add(0xD1B5_4A32_D192_ED03);
            state ^ state >> 29
        };
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
                for level in Level::all() {
                    assert_eq!(has(level, &block, digest, k), expected, "{level:?} {k}");
                }
            }
        }
    }

    #[test]
    fn all_instruction_sets_agree_on_ribbon_pages() {
        let digests = |salt: u64| (1..=1500_u64).map(move |i| (i ^ salt << 32).wrapping_mul(C));
        for (lines, keys) in [(64, 1500), (64, 700), (64, 3), (1, 60), (9, 300)] {
            let mut page = vec![0; LINE * lines];
            let present: Vec<u64> = digests(0).take(keys).collect();
            crate::solve::solve(&present, &mut page).unwrap();
            for digest in digests(0).chain(digests(1)) {
                let expected = ribbon(Level::Portable, &page, digest);
                assert!(Level::all().all(|level| ribbon(level, &page, digest) == expected));
                assert!(expected || !present.contains(&digest));
            }
        }
    }
}
