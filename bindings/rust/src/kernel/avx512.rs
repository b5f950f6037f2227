// SPDX-License-Identifier: MIT
//! The parts of lookups that are written for AVX-512.

use super::blocked::{ignored, Spread};
use super::cells::{Cells, Runners};
use super::Set;
use crate::container::Block;
use crate::hash::{mulhi, C};
use crate::ribbon;
#[allow(clippy::wildcard_imports)] // Names of intrinsics begin with _mm.
use core::arch::x86_64::*;

/// The processor has AVX2, BMI, POPCNT, and AVX-512 F, BW, DQ, VL, VBMI, BITALG and VPOPCNTDQ.
#[derive(Clone, Copy)]
pub(super) struct Avx512;

impl Set for Avx512 {
    #[inline(always)]
    fn has(self, block: &Block, digest: u64, spread: &Spread) -> bool {
        // SAFETY: the value stands for the features.
        unsafe { has(block, digest, spread) }
    }

    #[inline(always)]
    fn has_cells<const COUNTERS: bool>(self, cells: &Cells<'_, COUNTERS>, digest: u64) -> bool {
        // SAFETY: the value stands for the features.
        unsafe { has_cells(cells, digest) }
    }

    #[inline(always)]
    fn round<const COUNTERS: bool>(self, cells: &Cells<'_, COUNTERS>, runners: &mut Runners) {
        // SAFETY: the value stands for the features.
        unsafe { round(cells, runners) }
    }

    #[inline(always)]
    fn holds(self, columns: &[u8], row: u64, right: u32) -> bool {
        // SAFETY: the value stands for the features.
        unsafe { holds(columns, row, right) }
    }

    #[inline(always)]
    fn high_halves(self, a: &[u64], b: u64, to: &mut [u64]) {
        // SAFETY: the value stands for the features.
        unsafe { high_halves(a, b, to) }
    }
}

/// # Safety
///
/// The processor has AVX-512 F, BW, VBMI and BITALG.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512bitalg")]
unsafe fn has(block: &Block, digest: u64, spread: &Spread) -> bool {
    // SAFETY: the block has the 64 bytes of the load.
    let block = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
    // Each field of a product has a word. Byte 0 of the word becomes the number of a word of the
    // block, in its low three bits, and byte 1 the number of a bit, in its low six bits.
    let numbers_at = |bit: i64, word: i64| 256 * bit + word;
    let fields = _mm512_setr_epi64(
        numbers_at(55, 61),
        numbers_at(46, 52),
        numbers_at(37, 43),
        numbers_at(28, 34),
        numbers_at(19, 25),
        numbers_at(10, 16),
        0,
        0,
    );
    // Bit 1 of byte i is the bit of place i.
    let six = |g: u64| {
        let numbers = _mm512_multishift_epi64_epi8(fields, _mm512_set1_epi64(g as i64));
        // The permutation looks at the low three bits only.
        let words = _mm512_permutexvar_epi64(numbers, block);
        _mm512_bitshuffle_epi64_mask(words, numbers)
    };
    let mut g = digest.wrapping_mul(C);
    let mut left = spread.k;
    while left > 6 {
        rare();
        if _kortestc_mask64_u8(six(g), const { ignored(6) }) == 0 {
            return false;
        }
        g = g.wrapping_mul(C);
        left -= 6;
    }
    _kortestc_mask64_u8(six(g), spread.ignored) != 0
}

/// Marks a branch as cold, so that its code is placed out of line.
#[cold]
fn rare() {}

/// The lowest bits of a mask: as many as are left, or all.
#[inline(always)]
fn first_of_eight(left: usize) -> u8 {
    (0xFF_u32 >> (8 - left.min(8))) as u8
}

/// Returns a mask of the wanted products, of eight, whose cell is set. The body has at least 8
/// bytes, and at most 2^32 cells.
///
/// # Safety
///
/// The processor has AVX-512 F and DQ.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
unsafe fn set_of<const COUNTERS: bool>(
    cells: &Cells<'_, COUNTERS>,
    products: __m512i,
    wanted: u8,
) -> u8 {
    let all = |number: u64| _mm512_set1_epi64(number as i64);
    let m = all(u64::from(cells.m as u32));
    // The high half of product * m.
    let high = _mm512_mul_epu32(_mm512_srli_epi64::<32>(products), m);
    let low = _mm512_srli_epi64::<32>(_mm512_mul_epu32(products, m));
    let cell = _mm512_srli_epi64::<32>(_mm512_add_epi64(high, low));
    let (bit, ones) = if COUNTERS { (_mm512_slli_epi64::<2>(cell), 15) } else { (cell, 1) };
    // The eight bytes from that of the cell on, or the last eight.
    let Some(last) = cells.body.len().checked_sub(8) else { return wanted };
    let byte = _mm512_min_epu64(_mm512_srli_epi64::<3>(bit), all(last as u64));
    let (zero, body) = (_mm512_setzero_si512(), cells.body.as_ptr().cast());
    // SAFETY: the body has eight bytes from each of these numbers on.
    let words = unsafe { _mm512_mask_i64gather_epi64::<1>(zero, wanted, byte, body) };
    let shift = _mm512_sub_epi64(bit, _mm512_slli_epi64::<3>(byte));
    _mm512_mask_test_epi64_mask(wanted, words, _mm512_sllv_epi64(all(ones), shift))
}

/// # Safety
///
/// The processor has AVX-512 F and DQ.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
unsafe fn has_cells<const COUNTERS: bool>(cells: &Cells<'_, COUNTERS>, digest: u64) -> bool {
    // Gathering few cells takes as long as gathering eight.
    if cells.k <= 4 || cells.body.len() < 8 {
        return cells.has(digest);
    }
    let power = |n: u32| C.wrapping_pow(n) as i64;
    let (low, high) = ([1, power(1), power(2), power(3)], [power(4), power(5), power(6), power(7)]);
    let powers =
        _mm512_setr_epi64(low[0], low[1], low[2], low[3], high[0], high[1], high[2], high[3]);
    let mut products = _mm512_mullo_epi64(_mm512_set1_epi64(digest as i64), powers);
    let (mut unset, mut left) = (0, cells.k);
    loop {
        let wanted = first_of_eight(left as usize);
        // SAFETY: the caller promises the features.
        unset |= wanted ^ unsafe { set_of(cells, products, wanted) };
        if left <= 8 {
            return unset == 0;
        }
        left -= 8;
        products = _mm512_mullo_epi64(products, _mm512_set1_epi64(power(8)));
    }
}

/// # Safety
///
/// The processor has AVX-512 F, DQ and VL, and POPCNT.
#[inline]
#[target_feature(enable = "popcnt,avx512f,avx512dq,avx512vl")]
unsafe fn round<const COUNTERS: bool>(cells: &Cells<'_, COUNTERS>, runners: &mut Runners) {
    if cells.body.len() < 8 {
        return cells.round(runners, 0);
    }
    let (count, mut kept) = (runners.count, 0);
    for from in (0..count).step_by(8) {
        let wanted = first_of_eight(count - from);
        let (products, numbers) = (&runners.products[from..][..8], &runners.numbers[from..][..8]);
        // SAFETY: both slices have the bytes of the loads.
        let (products, numbers) = unsafe {
            (
                _mm512_loadu_si512(products.as_ptr().cast()),
                _mm256_loadu_si256(numbers.as_ptr().cast()),
            )
        };
        // SAFETY: the caller promises the features.
        let set = unsafe { set_of(cells, products, wanted) };
        let products = _mm512_mullo_epi64(products, _mm512_set1_epi64(C as i64));
        let (to, number) = (&mut runners.products[kept..][..8], &mut runners.numbers[kept..][..8]);
        // SAFETY: both slices have the bytes of the stores.
        unsafe {
            _mm512_storeu_si512(to.as_mut_ptr().cast(), _mm512_maskz_compress_epi64(set, products));
            _mm256_storeu_si256(
                number.as_mut_ptr().cast(),
                _mm256_maskz_compress_epi32(set, numbers),
            );
        }
        kept += set.count_ones() as usize;
    }
    runners.count = kept;
}

/// # Safety
///
/// The processor has AVX-512 F, DQ and VPOPCNTDQ, and BMI2.
#[inline]
#[target_feature(enable = "bmi2,avx512f,avx512dq,avx512vpopcntdq")]
unsafe fn holds(columns: &[u8], row: u64, right: u32) -> bool {
    let count = columns.len() / 8;
    // The parities of eight words, each with the low half of the row, and of eight with the high.
    let odd = |low: &[u8; 32], high: &[u8; 32]| {
        // SAFETY: the arrays have the 32 bytes of the loads.
        let (low, high) = unsafe {
            (_mm256_loadu_si256(low.as_ptr().cast()), _mm256_loadu_si256(high.as_ptr().cast()))
        };
        let words = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high);
        let half = _mm512_set_epi32(1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0);
        let rows = _mm512_permutexvar_epi32(half, _mm512_set1_epi64(row as i64));
        let ones = _mm512_popcnt_epi32(_mm512_and_si512(words, rows));
        u32::from(_mm512_movepi32_mask(_mm512_slli_epi32::<31>(ones)))
    };
    // Words of the first group from a number on, and of the next group up to a number.
    let words = |from: usize, to: usize| {
        Some((columns.get(4 * from..)?.first_chunk()?, columns.get(..4 * to)?.last_chunk()?))
    };
    // The first eight columns, or all, without a branch on their number, which would be mispredicted
    // where pages have eight columns or nine.
    let some = count.min(8);
    let Some((low, high)) = words(0, count + some) else {
        return ribbon::holds(columns, row, right); // fewer than four
    };
    let parities = odd(low, high);
    // If there are fewer than eight, the words of the next group end the second eight.
    if _bzhi_u32(parities ^ parities >> (16 - some) ^ right, some as u32) != 0 {
        return false;
    }
    // The last eight may overlap those before.
    (8..count).step_by(8).map(|at| at.min(count - 8)).all(|at| {
        words(at, count + at + 8).is_none_or(|(low, high)| {
            let parities = odd(low, high);
            (parities ^ parities >> 8 ^ right >> at).trailing_zeros() >= 8
        })
    })
}

/// Each product is made from four products of 32-bit halves: no vector instruction multiplies 64 bits
/// to 128.
///
/// # Safety
///
/// The processor has AVX-512 F.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn high_halves(a: &[u64], b: u64, to: &mut [u64]) {
    let (b0, b1) = (_mm512_set1_epi64(b as i64), _mm512_set1_epi64((b >> 32) as i64));
    let mut loads = a.chunks_exact(8);
    let mut stores = to.chunks_exact_mut(8);
    for (a, to) in (&mut loads).zip(&mut stores) {
        // SAFETY: the chunk has the bytes of the load.
        let a0 = unsafe { _mm512_loadu_si512(a.as_ptr().cast()) };
        let a1 = _mm512_srli_epi64::<32>(a0);
        let cross = _mm512_mul_epu32(a1, b0);
        let low = _mm512_and_si512(cross, _mm512_set1_epi64(0xFFFF_FFFF));
        let middle = _mm512_add_epi64(
            _mm512_add_epi64(
                _mm512_mul_epu32(a0, b1),
                _mm512_srli_epi64::<32>(_mm512_mul_epu32(a0, b0)),
            ),
            low,
        );
        let high = _mm512_add_epi64(
            _mm512_mul_epu32(a1, b1),
            _mm512_add_epi64(_mm512_srli_epi64::<32>(cross), _mm512_srli_epi64::<32>(middle)),
        );
        // SAFETY: the chunk has the bytes of the store.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), high) };
    }
    for (&a, to) in loads.remainder().iter().zip(stores.into_remainder()) {
        *to = mulhi(a, b);
    }
}
