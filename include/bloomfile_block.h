/* SPDX-License-Identifier: MIT
 *
 * bloomfile_block.h - whether a block of the blocked layout has all bits of a digest
 *
 * bloomfile_inline.h and the library itself use this header. Programs include bloomfile_inline.h.
 * This header belongs to the unstable tier, as bloomfile_unstable.h does: its names may change or
 * be removed in any release. A compiled lookup keeps working with every later library of the same
 * soversion, because the positions of the format are frozen. The instruction set is that of the
 * compiler's target options. The library compiles this header for several instruction sets: it
 * defines BLOOMFILE_BLOCK_SCALAR, and BLOOMFILE_BLOCK_VBMI, _AVX512, _AVX2 or _NEON, as the
 * attributes of their functions.
 *
 * Each function takes the 64 bytes of a block at any address, k from 1 to 64, and a digest.
 * Functions named _few take k up to 6, the positions of one product; functions named _many take k
 * above 6. The positions are those of format-spec.md, section 10: slice i of a product is its 9
 * bits from bit 55 - 9i on, and picks one of the 512 bits of the block.
 */
#ifndef BLOOMFILE_BLOCK_H
#define BLOOMFILE_BLOCK_H

#ifdef __cplusplus
#pragma GCC system_header /* C casts: a C++ program may use -Wold-style-cast */
#endif

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Attributes of the functions of each instruction set, which are compiled if these are defined. */
#ifndef BLOOMFILE_BLOCK_SCALAR
#if defined __has_feature
#if __has_feature(thread_sanitizer)
#define BLOOMFILE_BLOCK_ATOMIC
#endif
#endif
#if defined __SANITIZE_THREAD__ || defined BLOOMFILE_BLOCK_ATOMIC
/* Writers may change bits of a live filter during a lookup. ThreadSanitizer accepts this race only
 * for atomic loads, and vector loads are not atomic. */
#define BLOOMFILE_BLOCK_SCALAR
#define BLOOMFILE_BLOCK_BEST(name) name##_scalar
#elif defined __AVX512VBMI__ && defined __AVX512BITALG__ && defined __BMI2__
#define BLOOMFILE_BLOCK_VBMI
#define BLOOMFILE_BLOCK_AVX512
#define BLOOMFILE_BLOCK_BEST(name) name##_vbmi
#elif defined __AVX512F__ && defined __BMI2__
#define BLOOMFILE_BLOCK_AVX512
#define BLOOMFILE_BLOCK_BEST(name) name##_avx512
#elif defined __AVX2__
#define BLOOMFILE_BLOCK_AVX2
#define BLOOMFILE_BLOCK_BEST(name) name##_avx2
#elif defined __aarch64__ && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BLOOMFILE_BLOCK_NEON
#define BLOOMFILE_BLOCK_BEST(name) name##_neon
#else
#define BLOOMFILE_BLOCK_SCALAR
#define BLOOMFILE_BLOCK_BEST(name) name##_scalar
#endif
#endif

#define BLOOMFILE_BLOCK_INLINE static inline __attribute__((always_inline))
#define BLOOMFILE_BLOCK_C      UINT64_C(0x9E3779B97F4A7C15)
#define BLOOMFILE_BLOCK_SLICES 6u /* of 9 bits, from the top of one product */

#ifdef __cplusplus
extern "C++" { /* these headers have templates */
#endif
#if defined BLOOMFILE_BLOCK_AVX512 || defined BLOOMFILE_BLOCK_AVX2
#include <immintrin.h>
#elif defined BLOOMFILE_BLOCK_NEON
#include <arm_neon.h>
#endif
#ifdef __cplusplus
}
#endif

/* A VBMI test makes a mask: bit 1 of byte i is the bit of the block that slice i of a product
 * picks. Returns the bits of the mask that a test of the first `slices` slices ignores. */
BLOOMFILE_BLOCK_INLINE uint64_t bloomfile_block_ignored(unsigned slices)
{
    return ~(UINT64_C(0x020202020202) & ((UINT64_C(1) << 8 * slices) - 1));
}

#ifdef BLOOMFILE_BLOCK_AVX512

/* A block is one register, and each slice of a product has a lane of 64 bits. The upper three bits
 * of a slice pick a word of the block, the lower six a bit in that word. VPERMQ looks only at the
 * lowest three bits of a lane, and VPROLVQ at the lowest six. So slice i needs two shifts, by 61 -
 * 9i and by 55 - 9i, and no masking. Returns the lanes of the first `slices` slices whose bit is
 * zero. */
BLOOMFILE_BLOCK_AVX512 BLOOMFILE_BLOCK_INLINE unsigned
bloomfile_block_absent_avx512(__m512i block, uint64_t product, unsigned slices)
{
    const __m512i to_bit = _mm512_setr_epi64(55, 46, 37, 28, 19, 10, 0, 0);
    const __m512i to_word = _mm512_setr_epi64(61, 52, 43, 34, 25, 16, 0, 0);
    const __m512i one = _mm512_setr_epi64(1, 1, 1, 1, 1, 1, 0, 0);
    const __m512i lanes = _mm512_set1_epi64((long long)product);
    /* All mask bits are set: without a mask, g++ 12 warns that the lanes may be uninitialised. */
    const __m512i word = _mm512_maskz_srlv_epi64(0xff, lanes, to_word);
    const __m512i words = _mm512_maskz_permutexvar_epi64(0xff, word, block);
    const __m512i bit = _mm512_maskz_srlv_epi64(0xff, lanes, to_bit);
    const __m512i bits = _mm512_maskz_rolv_epi64(0xff, one, bit);
    return _bzhi_u32(_mm512_testn_epi64_mask(words, bits), slices);
}

BLOOMFILE_BLOCK_AVX512 BLOOMFILE_BLOCK_INLINE bool
bloomfile_block_has_few_avx512(const uint8_t *at, unsigned k, uint64_t digest)
{
    return bloomfile_block_absent_avx512(_mm512_loadu_si512(at), digest * BLOOMFILE_BLOCK_C, k) ==
           0;
}

BLOOMFILE_BLOCK_AVX512 BLOOMFILE_BLOCK_INLINE bool
bloomfile_block_has_many_avx512(const uint8_t *at, unsigned k, uint64_t digest)
{
    const __m512i block = _mm512_loadu_si512(at);
    uint64_t product = digest * BLOOMFILE_BLOCK_C;
    unsigned none = bloomfile_block_absent_avx512(block, product, BLOOMFILE_BLOCK_SLICES);
    for (k -= BLOOMFILE_BLOCK_SLICES; k > BLOOMFILE_BLOCK_SLICES; k -= BLOOMFILE_BLOCK_SLICES)
        none |= bloomfile_block_absent_avx512(block, product *= BLOOMFILE_BLOCK_C,
                                              BLOOMFILE_BLOCK_SLICES);
    return (none | bloomfile_block_absent_avx512(block, product * BLOOMFILE_BLOCK_C, k)) == 0;
}

#endif

#ifdef BLOOMFILE_BLOCK_VBMI

/* A block is one register, and each slice of a product has a lane of 64 bits. The low bits of a
 * lane's byte 0 are the upper three bits of the slice, which pick a word of the block. The low bits
 * of byte 1 are the lower six, which pick a bit in that word. VPMULTISHIFTQB makes both bytes of
 * all lanes in one instruction: byte 0 from bit 61 - 9i of the product, byte 1 from bit 55 - 9i. */
BLOOMFILE_BLOCK_VBMI BLOOMFILE_BLOCK_INLINE __m512i bloomfile_block_slices_vbmi(uint64_t product)
{
    const __m512i places = _mm512_setr_epi64(55 << 8 | 61, 46 << 8 | 52, 37 << 8 | 43, 28 << 8 | 34,
                                             19 << 8 | 25, 10 << 8 | 16, 0, 0);
    const __m512i lanes = _mm512_set1_epi64((long long)product);
    return _mm512_maskz_multishift_epi64_epi8(~UINT64_C(0), places, lanes); /* maskz: for g++ 12 */
}

/* Returns the mask of a test: see bloomfile_block_ignored(). */
BLOOMFILE_BLOCK_VBMI BLOOMFILE_BLOCK_INLINE __mmask64 bloomfile_block_picked_vbmi(const uint8_t *at,
                                                                                  __m512i slices)
{
    const __m512i block = _mm512_loadu_si512(at);
    return _mm512_bitshuffle_epi64_mask(_mm512_maskz_permutexvar_epi64(0xff, slices, block),
                                        slices);
}

/* `ignored` is bloomfile_block_ignored(k), for k up to 6. */
BLOOMFILE_BLOCK_VBMI BLOOMFILE_BLOCK_INLINE bool
bloomfile_block_has_all_vbmi(const uint8_t *at, uint64_t ignored, uint64_t digest)
{
    const __m512i slices = bloomfile_block_slices_vbmi(digest * BLOOMFILE_BLOCK_C);
    return _kortestc_mask64_u8(bloomfile_block_picked_vbmi(at, slices), ignored);
}

BLOOMFILE_BLOCK_VBMI BLOOMFILE_BLOCK_INLINE bool
bloomfile_block_has_few_vbmi(const uint8_t *at, unsigned k, uint64_t digest)
{
    return bloomfile_block_has_all_vbmi(at, bloomfile_block_ignored(k), digest);
}

/* VBMI is not faster than AVX-512 alone if a digest has two products or more. */
#define bloomfile_block_has_many_vbmi bloomfile_block_has_many_avx512

#endif

#ifdef BLOOMFILE_BLOCK_AVX2

/* A block is two registers of 8 words of 32 bits, and each slice of a product has a lane of that
 * width. The top bit of a slice picks the register, the next three a word in it, the lower five a
 * bit in that word. Slices 0 to 2 lie within the upper half of a product. Slices 3 to 5 lie within
 * the 32 bits from bit 10 on, which a shift brings into place. Returns the lanes of the first
 * `slices` slices whose bit is set. */
BLOOMFILE_BLOCK_AVX2 BLOOMFILE_BLOCK_INLINE unsigned
bloomfile_block_present_avx2(const uint8_t *at, uint64_t product, unsigned slices)
{
    const __m256i to_bit = _mm256_setr_epi32(23, 14, 5, 18, 9, 0, 0, 0);
    const __m256i to_word = _mm256_setr_epi32(28, 19, 10, 23, 14, 5, 5, 5);
    const __m256i to_sign = _mm256_setr_epi32(0, 9, 18, 5, 14, 23, 23, 23);
    const __m256i block_low = _mm256_loadu_si256((const __m256i *)(const void *)at);
    const __m256i block_high = _mm256_loadu_si256((const __m256i *)(const void *)(at + 32));
    const __m256i upper = _mm256_set1_epi32((int)(product >> 32));
    const __m256i lower = _mm256_set1_epi32((int)(uint32_t)(product >> 10));
    const __m256i lanes = _mm256_blend_epi32(lower, upper, 7);

    const __m256i word = _mm256_srlv_epi32(lanes, to_word);
    const __m256 low = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(block_low, word));
    const __m256 high = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(block_high, word));
    const __m256 half = _mm256_castsi256_ps(_mm256_sllv_epi32(lanes, to_sign));
    const __m256i words = _mm256_castps_si256(_mm256_blendv_ps(low, high, half));

    /* 31 minus the lower five bits of the slice: the distance of the bit from the sign bit. */
    const __m256i below =
        _mm256_andnot_si256(_mm256_srlv_epi32(lanes, to_bit), _mm256_set1_epi32(31));
    const __m256i signs = _mm256_sllv_epi32(words, below);
    return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(signs)) & ((1u << slices) - 1);
}

BLOOMFILE_BLOCK_AVX2 BLOOMFILE_BLOCK_INLINE bool
bloomfile_block_has_few_avx2(const uint8_t *at, unsigned k, uint64_t digest)
{
    return bloomfile_block_present_avx2(at, digest * BLOOMFILE_BLOCK_C, k) == (1u << k) - 1;
}

BLOOMFILE_BLOCK_AVX2 BLOOMFILE_BLOCK_INLINE bool
bloomfile_block_has_many_avx2(const uint8_t *at, unsigned k, uint64_t digest)
{
    uint64_t product = digest * BLOOMFILE_BLOCK_C;
    unsigned all = bloomfile_block_present_avx2(at, product, BLOOMFILE_BLOCK_SLICES);
    for (k -= BLOOMFILE_BLOCK_SLICES; k > BLOOMFILE_BLOCK_SLICES; k -= BLOOMFILE_BLOCK_SLICES)
        all &=
            bloomfile_block_present_avx2(at, product *= BLOOMFILE_BLOCK_C, BLOOMFILE_BLOCK_SLICES);
    const unsigned last = bloomfile_block_present_avx2(at, product * BLOOMFILE_BLOCK_C, k);
    return all == (1u << BLOOMFILE_BLOCK_SLICES) - 1 && last == (1u << k) - 1;
}

#endif

#ifdef BLOOMFILE_BLOCK_NEON

/* A block is a table of 64 bytes, and each slice of a product has a lane of one byte. The upper six
 * bits of a slice pick a byte of the table, the lower three a bit in that byte. Slices 0 to 2 lie
 * within the upper half of a product, and use lanes 0 to 2. Slices 3 to 5 lie within the 32 bits
 * from bit 10 on, which a shift brings into place, and use lanes 4 to 6. Returns the lanes of the
 * first `slices` slices: all bits of a lane are set if its bit of the block is zero. */
BLOOMFILE_BLOCK_NEON BLOOMFILE_BLOCK_INLINE uint64_t bloomfile_block_absent_neon(const uint8_t *at,
                                                                                 uint64_t product,
                                                                                 unsigned slices)
{
    const int32x4_t to_upper = { -23, -14, -5, -5 }, to_lower = { -18, -9, 0, 0 };
    const uint64_t wanted = ((1ULL << 8 * (slices > 3 ? slices + 1 : slices)) - 1) & ~0xff000000ULL;
    uint8x16x4_t block;
    block.val[0] = vld1q_u8(at);
    block.val[1] = vld1q_u8(at + 16);
    block.val[2] = vld1q_u8(at + 32);
    block.val[3] = vld1q_u8(at + 48);
    const uint32x4_t first = vshlq_u32(vdupq_n_u32((uint32_t)(product >> 32)), to_upper);
    const uint32x4_t second = vshlq_u32(vdupq_n_u32((uint32_t)(product >> 10)), to_lower);
    const uint16x8_t of = vcombine_u16(vmovn_u32(first), vmovn_u32(second));
    const uint8x8_t index = vand_u8(vshrn_n_u16(of, 3), vdup_n_u8(63));
    const uint8x8_t bit = vand_u8(vmovn_u16(of), vdup_n_u8(7));
    const uint8x8_t set =
        vtst_u8(vqtbl4_u8(block, index), vshl_u8(vdup_n_u8(1), vreinterpret_s8_u8(bit)));
    return ~vget_lane_u64(vreinterpret_u64_u8(set), 0) & wanted;
}

BLOOMFILE_BLOCK_NEON BLOOMFILE_BLOCK_INLINE bool
bloomfile_block_has_few_neon(const uint8_t *at, unsigned k, uint64_t digest)
{
    return bloomfile_block_absent_neon(at, digest * BLOOMFILE_BLOCK_C, k) == 0;
}

BLOOMFILE_BLOCK_NEON BLOOMFILE_BLOCK_INLINE bool
bloomfile_block_has_many_neon(const uint8_t *at, unsigned k, uint64_t digest)
{
    uint64_t none = 0;
    for (; k > BLOOMFILE_BLOCK_SLICES; k -= BLOOMFILE_BLOCK_SLICES)
        none |=
            bloomfile_block_absent_neon(at, digest *= BLOOMFILE_BLOCK_C, BLOOMFILE_BLOCK_SLICES);
    return (none | bloomfile_block_absent_neon(at, digest * BLOOMFILE_BLOCK_C, k)) == 0;
}

#endif

#ifdef BLOOMFILE_BLOCK_SCALAR

/* Returns the bit of slice `i` of a product, in bit 0. The other bits are undefined. */
BLOOMFILE_BLOCK_SCALAR BLOOMFILE_BLOCK_INLINE unsigned
bloomfile_block_bit_scalar(const uint8_t *at, uint64_t product, unsigned i)
{
    const unsigned bit = (unsigned)(product >> (55 - 9 * i)) & 511;
    return (unsigned)__atomic_load_n(at + bit / 8, __ATOMIC_RELAXED) >> (bit % 8);
}

/* Returns whether the bits of the first `slices` slices are set. Three bits are tested together.
 * Half of the bits are zero for a key that is not in the set, so a processor would mispredict every
 * other branch on a single bit. And the fewer instructions a lookup has, the more cache misses
 * overlap. */
BLOOMFILE_BLOCK_SCALAR BLOOMFILE_BLOCK_INLINE bool
bloomfile_block_present_scalar(const uint8_t *at, uint64_t product, unsigned slices)
{
    unsigned i = 0, all = 1;
    if (slices >= 3) {
        all = bloomfile_block_bit_scalar(at, product, 0) &
              bloomfile_block_bit_scalar(at, product, 1) &
              bloomfile_block_bit_scalar(at, product, 2);
        if ((all & 1) == 0)
            return false;
        if (slices == BLOOMFILE_BLOCK_SLICES)
            return (bloomfile_block_bit_scalar(at, product, 3) &
                    bloomfile_block_bit_scalar(at, product, 4) &
                    bloomfile_block_bit_scalar(at, product, 5) & 1) != 0;
        i = 3;
    }
    for (; i < slices; i++)
        all &= bloomfile_block_bit_scalar(at, product, i);
    return (all & 1) != 0;
}

BLOOMFILE_BLOCK_SCALAR BLOOMFILE_BLOCK_INLINE bool
bloomfile_block_has_few_scalar(const uint8_t *at, unsigned k, uint64_t digest)
{
    return bloomfile_block_present_scalar(at, digest * BLOOMFILE_BLOCK_C, k);
}

BLOOMFILE_BLOCK_SCALAR BLOOMFILE_BLOCK_INLINE bool
bloomfile_block_has_many_scalar(const uint8_t *at, unsigned k, uint64_t digest)
{
    for (; k > BLOOMFILE_BLOCK_SLICES; k -= BLOOMFILE_BLOCK_SLICES)
        if (!bloomfile_block_present_scalar(at, digest *= BLOOMFILE_BLOCK_C,
                                            BLOOMFILE_BLOCK_SLICES))
            return false;
    return bloomfile_block_present_scalar(at, digest * BLOOMFILE_BLOCK_C, k);
}

#endif

#ifdef BLOOMFILE_BLOCK_BEST
BLOOMFILE_BLOCK_INLINE bool bloomfile_block_has(const uint8_t *at, unsigned k, uint64_t digest)
{
    return k <= BLOOMFILE_BLOCK_SLICES
               ? BLOOMFILE_BLOCK_BEST(bloomfile_block_has_few)(at, k, digest)
               : BLOOMFILE_BLOCK_BEST(bloomfile_block_has_many)(at, k, digest);
}
#endif

/* Returns whether each block of a body lies across two cache lines. */
BLOOMFILE_BLOCK_INLINE bool bloomfile_block_is_split(const uint8_t *body)
{
    return (uintptr_t)body % 64 != 0;
}

/* Returns the block of a digest in a body of `blocks` blocks. */
BLOOMFILE_BLOCK_INLINE const uint8_t *bloomfile_block_of(const uint8_t *body, uint64_t blocks,
                                                         uint64_t digest)
{
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 u128;
    return body + 64 * (uint64_t)(((u128)digest * blocks) >> 64);
#else
    (void)blocks;
    (void)digest;
    return body; /* not used: without this type all lookups are the library's */
#endif
}

#endif
