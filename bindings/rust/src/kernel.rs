// SPDX-License-Identifier: MIT
//! The inner loops of lookups, for several instruction sets.
//!
//! Each function exists once, in a portable form that is inlined into a caller for each set. The
//! test of a block also has forms of its own. A filter detects the best set when it is opened.

#![allow(unsafe_code)]

use crate::hash::{mulhi, C};
use crate::prefetch::prefetch_line;
use crate::ribbon::{self, LINE};

/// How many lookups of a batch are fetched ahead. A core keeps about so many loads in flight.
const AHEAD: usize = 64;

pub(crate) type Block = [u8; LINE];

/// An instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Portable,
    /// AVX2, BMI and POPCNT.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// These and AVX-512 with VBMI.
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
            detected!("avx2" "bmi1" "bmi2" "popcnt" "avx512f" "avx512bw" "avx512vl" "avx512vbmi")
                .then_some(Level::Avx512),
        ]
        .into_iter()
        .flatten()
    }

    pub(crate) fn best() -> Self {
        Self::all().last().unwrap_or(Level::Portable)
    }
}

/// Instantiates a function for each instruction set, and a function that calls the right one.
macro_rules! for_each_level {
    ($dispatch:ident, $avx2:ident, $avx512:ident, $generic:ident,
     ($($name:ident: $type:ty),*) -> $result:ty) => {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
        unsafe fn $avx2($($name: $type),*) -> $result {
            // SAFETY: the caller has the features.
            $generic($($name,)* |block, digest, k| unsafe { x86::avx2(block, digest, k) })
        }

        #[cfg(all(target_arch = "x86_64", bloomfile_avx512))]
        #[target_feature(
            enable = "avx2,bmi1,bmi2,popcnt,avx512f,avx512bw,avx512vl,avx512vbmi"
        )]
        unsafe fn $avx512($($name: $type),*) -> $result {
            // SAFETY: the caller has the features.
            $generic($($name,)* |block, digest, k| unsafe { x86::avx512(block, digest, k) })
        }

        #[inline]
        pub(crate) fn $dispatch(level: Level, $($name: $type),*) -> $result {
            match level {
                // SAFETY: a level is only made if the processor has its features.
                #[cfg(all(target_arch = "x86_64", bloomfile_avx512))]
                Level::Avx512 => unsafe { $avx512($($name),*) },
                #[cfg(target_arch = "x86_64")]
                Level::Avx2 => unsafe { $avx2($($name),*) },
                Level::Portable => $generic($($name,)* portable),
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

#[inline(always)]
fn has_generic(
    block: &Block,
    digest: u64,
    k: u32,
    test: impl Fn(&Block, u64, u32) -> bool,
) -> bool {
    test(block, digest, k)
}

#[inline(always)]
fn ribbon_generic(page: &[u8], digest: u64, _test: impl Fn(&Block, u64, u32) -> bool) -> bool {
    ribbon::maybe(page, digest)
}

/// The blocks of a body, and where they lie in the whole.
pub(crate) struct Blocks<'c> {
    pub body: &'c [Block],
    pub first: u64,
    pub whole: u64,
    pub k: u32,
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
        self.body.get(mulhi(digest, self.whole).wrapping_sub(self.first) as usize)
    }
}

/// Sets `answers[i]` to whether the bits of `digests[i]` are one. Looks at no checksum.
#[inline(always)]
fn many_generic(
    blocks: &Blocks<'_>,
    digests: &[u64],
    answers: &mut [bool],
    test: impl Fn(&Block, u64, u32) -> bool,
) {
    let fetch = |&digest: &u64| {
        if let Some(block) = blocks.find(digest) {
            prefetch_line(block);
        }
    };
    let look_up = |digest: u64| blocks.find(digest).is_none_or(|block| test(block, digest, blocks.k));
    digests.iter().take(AHEAD).for_each(fetch);
    let ahead = digests.get(AHEAD..).unwrap_or_default();
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

/// The first `COUNT` bits of a product. Without branches: of an absent key each bit may be zero,
/// and a processor could not predict at which one the lookup stops.
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
    use super::Block;
    use crate::hash::C;
    use core::arch::x86_64::*;

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
    pub(super) unsafe fn avx2(block: &Block, digest: u64, k: u32) -> bool {
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
    /// The processor has AVX-512 F, BW, VL and VBMI.
    #[cfg(bloomfile_avx512)]
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,avx512f,avx512bw,avx512vl,avx512vbmi")]
    pub(super) unsafe fn avx512(block: &Block, digest: u64, k: u32) -> bool {
        // SAFETY: the block has the 64 bytes of the load.
        let bytes = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
        // Byte i of the first has the number of the byte of place i in its low six bits, byte i of
        // the second the number of the bit in its low three bits.
        let to_bytes = _mm_cvtsi64_si128(0x3A3A_0D16_1F28_313A);
        let to_bits = _mm_cvtsi64_si128(0x3737_0A13_1C25_2E37);
        let weights = _mm512_set1_epi64(0x8040_2010_0804_0201_u64 as i64);
        let six = |g: u64| {
            let g = _mm_cvtsi64_si128(g as i64);
            let byte = _mm_multishift_epi64_epi8(to_bytes, g);
            let bit = _mm_multishift_epi64_epi8(to_bits, g);
            // Permutations look at the low six bits of an index only.
            let byte = _mm512_permutexvar_epi8(_mm512_castsi128_si512(byte), bytes);
            let bit = _mm512_permutexvar_epi8(_mm512_castsi128_si512(bit), weights);
            let (byte, bit) = (_mm512_castsi512_si128(byte), _mm512_castsi512_si128(bit));
            u32::from(_mm_test_epi8_mask(byte, bit))
        };
        each_product!(digest, k, six)
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use crate::hash::places;

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
                let expected = places(digest, k).all(|place| block[place / 8] >> (place % 8) & 1 != 0);
                for level in Level::all() {
                    assert_eq!(has(level, &block, digest, k), expected, "{level:?} {k}");
                }
            }
        }
    }
}
