// SPDX-License-Identifier: MIT
//! The parts of lookups that are written for AVX2.

use super::blocked::Spread;
use super::Set;
use crate::container::Block;
use crate::hash::{mulhi, C};
use crate::ribbon;
#[allow(clippy::wildcard_imports)] // Names of intrinsics begin with _mm.
use core::arch::x86_64::*;

/// The processor has AVX2, BMI and POPCNT.
#[derive(Clone, Copy)]
pub(super) struct Avx2;

impl Set for Avx2 {
    #[inline(always)]
    fn has(self, block: &Block, digest: u64, spread: &Spread) -> bool {
        // SAFETY: the value stands for the features.
        unsafe { has(block, digest, spread.k) }
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
/// The processor has AVX2.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
unsafe fn has(block: &Block, digest: u64, k: u32) -> bool {
    let halves: *const __m256i = block.as_ptr().cast();
    // SAFETY: both halves of 32 bytes are in the block of 64 bytes.
    let (low, high) = unsafe { (_mm256_loadu_si256(halves), _mm256_loadu_si256(halves.add(1))) };
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
    let mut g = digest.wrapping_mul(C);
    let mut left = k;
    // Bit i of the result of `six` is the bit of place i.
    while left > 6 {
        if six(g) & 63 != 63 {
            return false;
        }
        g = g.wrapping_mul(C);
        left -= 6;
    }
    let needed = (1_u32 << left) - 1;
    six(g) & needed == needed
}

/// # Safety
///
/// The processor has AVX2.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
unsafe fn holds(columns: &[u8], row: u64, right: u32) -> bool {
    let count = columns.len() / 8;
    let (first, second) = columns.split_at(4 * count);
    // The parities of eight columns, the first in bit 0.
    let odd = |first: __m256i, second: __m256i| {
        let low = _mm256_set1_epi32(row as i32);
        let high = _mm256_set1_epi32((row >> 32) as i32);
        let x = _mm256_xor_si256(_mm256_and_si256(first, low), _mm256_and_si256(second, high));
        // The parity of each lane ends up in its top bit.
        let x = _mm256_xor_si256(x, _mm256_slli_epi32::<16>(x));
        let x = _mm256_xor_si256(x, _mm256_slli_epi32::<8>(x));
        let x = _mm256_xor_si256(x, _mm256_slli_epi32::<4>(x));
        let x = _mm256_xor_si256(x, _mm256_slli_epi32::<2>(x));
        let x = _mm256_xor_si256(x, _mm256_slli_epi32::<1>(x));
        _mm256_movemask_ps(_mm256_castsi256_ps(x)) as u32
    };
    if count < 4 {
        return ribbon::holds(columns, row, right);
    }
    if count <= 8 {
        // The first four and the last four, which may overlap.
        let eight = |half: &[u8]| {
            let at = half.as_ptr();
            // SAFETY: the half has at least the 16 bytes of each load.
            unsafe { _mm256_loadu2_m128i(at.add(half.len() - 16).cast(), at.cast()) }
        };
        return odd(eight(first), eight(second)) == right & 15 | (right >> (count - 4) & 15) << 4;
    }
    let mut at = 0;
    loop {
        // SAFETY: both halves have 4 * count bytes, and `at` is at most count - 8.
        let (first, second) = unsafe {
            (
                _mm256_loadu_si256(first.as_ptr().add(4 * at).cast()),
                _mm256_loadu_si256(second.as_ptr().add(4 * at).cast()),
            )
        };
        if odd(first, second) != right >> at & 255 {
            return false;
        }
        if at == count - 8 {
            return true;
        }
        // The last eight may overlap those before.
        at = (at + 8).min(count - 8);
    }
}

/// Each product is made from four products of 32-bit halves: no vector instruction multiplies 64 bits
/// to 128.
///
/// # Safety
///
/// The processor has AVX2.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn high_halves(a: &[u64], b: u64, to: &mut [u64]) {
    let (b0, b1) = (_mm256_set1_epi64x(b as i64), _mm256_set1_epi64x((b >> 32) as i64));
    let mut loads = a.chunks_exact(4);
    let mut stores = to.chunks_exact_mut(4);
    for (a, to) in (&mut loads).zip(&mut stores) {
        // SAFETY: the chunk has the bytes of the load.
        let a0 = unsafe { _mm256_loadu_si256(a.as_ptr().cast()) };
        let a1 = _mm256_srli_epi64::<32>(a0);
        let cross = _mm256_mul_epu32(a1, b0);
        let low = _mm256_and_si256(cross, _mm256_set1_epi64x(0xFFFF_FFFF));
        let middle = _mm256_add_epi64(
            _mm256_add_epi64(
                _mm256_mul_epu32(a0, b1),
                _mm256_srli_epi64::<32>(_mm256_mul_epu32(a0, b0)),
            ),
            low,
        );
        let high = _mm256_add_epi64(
            _mm256_mul_epu32(a1, b1),
            _mm256_add_epi64(_mm256_srli_epi64::<32>(cross), _mm256_srli_epi64::<32>(middle)),
        );
        // SAFETY: the chunk has the bytes of the store.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), high) };
    }
    for (&a, to) in loads.remainder().iter().zip(stores.into_remainder()) {
        *to = mulhi(a, b);
    }
}
