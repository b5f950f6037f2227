/* SPDX-License-Identifier: MIT
 *
 * The kernels of the ribbon layout: shared code, and impl.h once for each instruction set.
 *
 * doc/format/ribbon.md defines pages, groups, columns and equations. README.md shows an equation.
 */
#include "kernel/ribbon/ribbon.h"

#include <stdatomic.h>
#include <string.h>

#if defined __x86_64__
#include <immintrin.h>
#elif defined __aarch64__ && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NEON
#include <arm_neon.h>
#endif

#include "format/checksum.h"

#define NAME_(isa)          #isa
#define NAME(isa)           NAME_(isa)
#define OF_ISA__(name, isa) name##_##isa
#define OF_ISA_(name, isa)  OF_ISA__(name, isa)
#define OF_ISA(name)        OF_ISA_(name, ISA)
#define INLINE              static inline __attribute__((always_inline))

/* ---- pages */

/* Reads the head of a page, and stores its shape in the view if the view has shapes. */
static __attribute__((noinline)) uint32_t read_shape(const struct kernel_view *view, uint64_t page)
{
    const uint32_t shape =
        ribbon_shape_of(get64(view->body + page * CHECKSUM_PAGE), ribbon_lines(page, view->units));
    uint32_t none = 0; /* keeps a shape stored by a thread that verified the page */
    if (view->shapes != NULL)
        atomic_compare_exchange_strong(&view->shapes[page], &none, shape);
    return shape;
}

INLINE uint32_t page_shape(const struct kernel_view *view, uint64_t page)
{
    const uint32_t shape =
        view->shapes != NULL ? atomic_load_explicit(&view->shapes[page], memory_order_relaxed) : 0;
    return shape != 0 ? shape : read_shape(view, page);
}

/* Returns whether a key's equations hold, column by column. This code is the definition. */
INLINE bool fits_by_columns(const uint8_t *columns, unsigned count, uint64_t row, uint32_t right)
{
    for (unsigned j = 0; j < count; j++) {
        const uint64_t pair = get32(columns + 4 * j) | (uint64_t)get32(columns + 4 * (count + j))
                                                           << 32;
        if (((unsigned)__builtin_parityll(pair & row) ^ right >> j) & 1)
            return false;
    }
    return true;
}

/* Prefetches the heads of pages whose shapes are not known yet. For the other pages, the batch
 * itself prefetches the columns. */
static void expect_columns(const struct kernel_view *view, const uint64_t *digests, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t page = probe_reduce(digests[i], view->units) / RIBBON_LINES;
        if (view->shapes == NULL ||
            atomic_load_explicit(&view->shapes[page], memory_order_relaxed) == 0)
            __builtin_prefetch(view->body + page * CHECKSUM_PAGE);
    }
}

/* ---- lookups */

/* Lookups whose line fills are in flight together. A lookup reads two or three lines, so 64 lookups
 * bring up to 64 * 3 * 64 = 12 KiB into the L1 cache. 32 were too few to hide the latency of
 * memory; with 128, lines were evicted from the L1 cache before they were used. */
#define UNDER_WAY 64

/* Prefetch distance of one_by_one(), in lookups. 24 to 96 are equally good. */
#define RIBBON_AHEAD 64

/* A lookup whose page has a known shape. */
struct ribbon_query {
    const uint8_t *columns, *end;
    uint64_t row;
    uint32_t right, count;
};

INLINE struct ribbon_query ask_page(const struct kernel_view *view, uint64_t page,
                                    uint64_t seedless, uint32_t shape)
{
    const uint64_t hash = ribbon_hash(seedless, ribbon_seed(shape));
    const unsigned group = ribbon_group(hash, ribbon_groups(shape));
    const struct ribbon_columns of = ribbon_columns(shape, group);
    const uint8_t *const columns = view->body + page * CHECKSUM_PAGE + RIBBON_HEAD + 4 * of.place;
    return (struct ribbon_query){
        .columns = columns,
        .end = columns + 8 * of.count,
        .row = ribbon_row(hash),
        .right = (uint32_t)hash,
        .count = (uint32_t)of.count,
    };
}

INLINE struct ribbon_query query_of(const struct kernel_view *view, uint64_t digest)
{
    const uint64_t page = probe_reduce(digest, view->units) / RIBBON_LINES;
    return ask_page(view, page, ribbon_seedless(digest), page_shape(view, page));
}

/* Prefetches all lines of a key's columns. 16 columns are 128 bytes, so the first, the middle and
 * the last byte are in all of their two or three lines. More columns take two more prefetches. The
 * branch is predicted well, because nearly all groups of a filter take the same side. */
INLINE void request_columns(const uint8_t *columns, const uint8_t *end)
{
    const size_t size = (size_t)(end - columns);
    __builtin_prefetch(columns);
    __builtin_prefetch(columns + size / 2);
    __builtin_prefetch(end - 1);
    if (size > 2 * PROBE_BLOCK_BYTES) {
        __builtin_prefetch(columns + PROBE_BLOCK_BYTES);
        __builtin_prefetch(end - 1 - PROBE_BLOCK_BYTES);
    }
}

/* The members of struct ribbon_query as arrays, for vector code. Three of them first hold the
 * result of an earlier stage. */
struct queries {
    _Alignas(64) uint64_t columns[UNDER_WAY]; /* earlier: the number of the page */
    uint64_t end[UNDER_WAY];                  /* earlier: the shape of the page */
    uint64_t row[UNDER_WAY];                  /* earlier: the seedless hash */
    uint64_t right[UNDER_WAY], count[UNDER_WAY];
};

INLINE struct ribbon_query query(const struct queries *q, unsigned at)
{
    return (struct ribbon_query){ .columns = (const uint8_t *)(uintptr_t)q->columns[at],
                                  .end = (const uint8_t *)(uintptr_t)q->end[at],
                                  .row = q->row[at],
                                  .right = (uint32_t)q->right[at],
                                  .count = (uint32_t)q->count[at] };
}

INLINE void request_of(const struct queries *q, unsigned at)
{
    request_columns((const uint8_t *)(uintptr_t)q->columns[at],
                    (const uint8_t *)(uintptr_t)q->end[at]);
}

INLINE unsigned lesser(size_t n)
{
    return n < UNDER_WAY ? (unsigned)n : UNDER_WAY;
}

/* ---- solving a page from its keys (doc/format/ribbon.md 5)
 *
 * Gaussian elimination of a banded system. A row has 64 coefficients: 32 for the slots of its first
 * group and 32 for those of the next group. Elimination proceeds group by group, with the rows that
 * begin in the group and the rows left over from the group before: no other row has a coefficient
 * there. After the 32 slots of the group, each remaining row has coefficients only in the next
 * group, and is carried over to it. So the working set is at most RIBBON_ROWS rows, which fit in
 * the L1 cache. Elimination takes about 10 ns a key, at 1.9 attempts a page
 * (bench/results/ribbon.md). */

#define VECTOR  8  /* rows or columns in a vector */
#define COUNTED 64 /* keys whose groups are computed in one run of vector code */

typedef uint64_t ribbon_rows __attribute__((vector_size(8 * VECTOR), may_alias));

/* Counts the keys of each group. A first loop computes the groups, so that compilers make vectors
 * of its multiplications. */
INLINE void count_keys_of_groups(struct ribbon_solve_memory *r, size_t n, unsigned groups,
                                 unsigned seed)
{
    uint32_t of[COUNTED];
    memset(r->counts, 0, groups * sizeof *r->counts);
    for (size_t start = 0; start < n; start += COUNTED) {
        const unsigned some = n - start < COUNTED ? (unsigned)(n - start) : COUNTED;
        for (unsigned i = 0; i < COUNTED; i++) /* a constant; elements after n are spare */
            of[i] = ribbon_group(ribbon_hash(r->seedless[start + i], seed), groups);
        for (unsigned i = 0; i < some; i++)
            r->counts[of[i]]++;
    }
}

/* Returns false if the numbers of rows alone show that the rows are dependent: at least `left` rows
 * are carried over to the next group, which has only 32 slots. Counting takes about 4 ns a key, and
 * rejects most of the 14.5 seeds that a page tries (bench/results/ribbon.md). */
INLINE bool may_fit(const struct ribbon_solve_memory *r, unsigned groups)
{
    unsigned left = 0;
    for (unsigned b = 0; b + 1 < groups; b++) {
        left += r->counts[b];
        left = left > RIBBON_SLOTS ? left - RIBBON_SLOTS : 0;
        if (left > RIBBON_SLOTS)
            return false;
    }
    return true;
}

/* Sorts the hashes by group. counts[b] becomes the end of the hashes of group b. */
INLINE void sort_hashes(struct ribbon_solve_memory *r, size_t n, unsigned groups, unsigned seed)
{
    uint32_t start = 0;
    for (unsigned b = 0; b < groups; b++) {
        const uint32_t count = r->counts[b];
        r->counts[b] = start;
        start += count;
    }
    for (size_t i = 0; i < n; i++) {
        const uint64_t hash = ribbon_hash(r->seedless[i], seed);
        r->hashes[r->counts[ribbon_group(hash, groups)]++] = hash;
    }
}

INLINE void write_page(const struct ribbon_solve_memory *r, uint8_t *page, uint32_t shape,
                       uint64_t keys)
{
    const unsigned groups = ribbon_groups(shape);
    put64(page, ribbon_head(groups, ribbon_seed(shape), keys));
    page += RIBBON_HEAD;
    for (unsigned b = 0; b < groups; b++)
        for (unsigned j = 0; j < ribbon_columns(shape, b).count; j++, page += 4)
            put32(page, r->columns[b][j]);
}

/* ---- scalar: column by column. This kernel is the definition. */

#define ISA scalar
#define TARGET

INLINE bool fits_scalar(const uint8_t *columns, unsigned count, uint64_t row, uint32_t right)
{
    return fits_by_columns(columns, count, row, right);
}

#include "kernel/ribbon/impl.h"

#ifdef __x86_64__

/* ---- AVX2: eight equations in one register, a 32-bit lane each */

#define ISA    avx2
#define TARGET __attribute__((target("avx2,bmi,bmi2,popcnt")))

TARGET INLINE __m128i quarter(const uint8_t *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

TARGET INLINE __m256i half(const uint8_t *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

/* Loads the first four and the last four of 4 to 8 columns; the two may overlap. */
TARGET INLINE __m256i two_quarters(const uint8_t *p, unsigned count)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(quarter(p)), quarter(p + 4 * count - 16),
                                   1);
}

/* Returns a mask of the equations, of eight, whose left side is odd. AVX2 has no population count:
 * the shifts fold the parity of each lane into its top bit, which VMOVMSKPS collects. */
TARGET INLINE unsigned odd(__m256i first, __m256i second, uint64_t row)
{
    const __m256i low = _mm256_set1_epi32((int)row), high = _mm256_set1_epi32((int)(row >> 32));
    __m256i x = _mm256_xor_si256(_mm256_and_si256(first, low), _mm256_and_si256(second, high));
    x = _mm256_xor_si256(x, _mm256_slli_epi32(x, 16));
    x = _mm256_xor_si256(x, _mm256_slli_epi32(x, 8));
    x = _mm256_xor_si256(x, _mm256_slli_epi32(x, 4));
    x = _mm256_xor_si256(x, _mm256_slli_epi32(x, 2));
    x = _mm256_xor_si256(x, _mm256_slli_epi32(x, 1));
    return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(x));
}

TARGET INLINE bool fits_avx2(const uint8_t *columns, unsigned count, uint64_t row, uint32_t right)
{
    const uint8_t *const second = columns + 4 * (size_t)count;
    if (count - 4 <= 4)
        return odd(two_quarters(columns, count), two_quarters(second, count), row) ==
               ((right & 15) | (right >> (count - 4) & 15) << 4);
    if (count < 4)
        return fits_by_columns(columns, count, row, right);
    for (unsigned j = 0;; j = j + 8 <= count - 8 ? j + 8 : count - 8) {
        if (odd(half(columns + 4 * j), half(second + 4 * j), row) != (right >> j & 255))
            return false;
        if (j == count - 8)
            return true;
    }
}

#define LANES 4

typedef uint64_t lanes_avx2 __attribute__((vector_size(32)));

TARGET INLINE lanes_avx2 times_avx2(lanes_avx2 a, lanes_avx2 b)
{
    return (lanes_avx2)_mm256_mul_epu32((__m256i)a, (__m256i)b);
}

#include "kernel/ribbon/impl.h"

/* ---- AVX-512 with VPOPCNTDQ: eight equations in one register, two 32-bit lanes each */

#define ISA avx512
#define TARGET                                                                                     \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq,bmi,bmi2,popcnt")))

/* Returns the parities of sixteen words AND the row: eight words of the first group, then eight of
 * the second. VPOPCNTD counts the bits of each word; its lowest bit is the parity. */
TARGET INLINE unsigned odd_words(const uint8_t *first, const uint8_t *second, uint64_t row)
{
    const __m512i half = _mm512_set_epi32(1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0);
    const __m512i words = _mm512_inserti64x4(
        _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)(const void *)first)),
        _mm256_loadu_si256((const __m256i *)(const void *)second), 1);
    const __m512i rows =
        _mm512_permutexvar_epi32(half, _mm512_castsi128_si512(_mm_cvtsi64_si128((long long)row)));
    const __m512i ones = _mm512_popcnt_epi32(_mm512_and_si512(words, rows));
    return _mm512_movepi32_mask(_mm512_slli_epi32(ones, 31));
}

/* Tests eight equations at a time. The last eight may overlap the previous eight. */
TARGET INLINE bool rest_fits(const uint8_t *columns, unsigned count, uint64_t row, uint32_t right)
{
    const uint8_t *const second = columns + 4 * (size_t)count;
    for (unsigned j = 8; j < count; j += 8) {
        const unsigned at = j < count - 8 ? j : count - 8;
        const unsigned odd = odd_words(columns + 4 * (size_t)at, second + 4 * (size_t)at, row);
        if (((odd ^ odd >> 8 ^ right >> at) & 255) != 0)
            return false;
    }
    return true;
}

/* Tests the first `some` equations (all of them, or eight) without a branch on `count`. In a filter
 * whose groups have eight or nine columns, that branch is mispredicted: at a rate of 0.3% it made a
 * lookup in a batch take 10 ns instead of 3.5.
 *
 * The words of the second group are the last eight of the first count + some words. If there are
 * fewer than eight columns, these eight begin within the first group, and only the last `some`
 * parities count. */
TARGET INLINE bool fits_avx512(const uint8_t *columns, unsigned count, uint64_t row, uint32_t right)
{
    if (count < 4)
        return fits_by_columns(columns, count, row, right);
    const unsigned some = count < 8 ? count : 8;
    const unsigned odd = odd_words(columns, columns + 4 * (size_t)(count + some) - 32, row);
    const bool fit = _bzhi_u32(odd ^ odd >> (16 - some) ^ right, some) == 0;
    const bool more = fit & (count > 8);
    return more ? rest_fits(columns, count, row, right) : fit;
}

#define LANES 8

typedef uint64_t lanes_avx512 __attribute__((vector_size(64)));

TARGET INLINE lanes_avx512 times_avx512(lanes_avx512 a, lanes_avx512 b)
{
    return (lanes_avx512)_mm512_mul_epu32((__m512i)a, (__m512i)b);
}

#define SET_SLOT
TARGET INLINE void set_slot_avx512(lanes_avx512 *pairs, unsigned slot, uint64_t row,
                                   uint64_t rights)
{
    const lanes_avx512 each = { 0, 1, 2, 3, 4, 5, 6, 7 };
    const lanes_avx512 odd = (lanes_avx512)_mm512_popcnt_epi64((__m512i)(*pairs & row));
    *pairs |= ((odd ^ (rights - (lanes_avx512){ 0 }) >> each) & 1) << slot;
}

#include "kernel/ribbon/impl.h"

#endif

#ifdef NEON

/* ---- NEON: four equations in one register */

#define ISA neon
#define TARGET

/* Returns whether four equations hold. CNT counts the bits of each byte; pairwise additions sum
 * them for each lane, and the lowest bit of the sum is the parity. */
INLINE bool four(const uint8_t *first, const uint8_t *second, uint64_t row, uint32_t right)
{
    static const int32_t down[4] = { 0, -1, -2, -3 };
    const uint32x4_t x =
        vandq_u32(vreinterpretq_u32_u8(vld1q_u8(first)), vdupq_n_u32((uint32_t)row));
    const uint32x4_t y =
        vandq_u32(vreinterpretq_u32_u8(vld1q_u8(second)), vdupq_n_u32((uint32_t)(row >> 32)));
    const uint8x16_t ones = vcntq_u8(vreinterpretq_u8_u32(veorq_u32(x, y)));
    const uint32x4_t sums = vpaddlq_u16(vpaddlq_u8(ones));
    const uint32x4_t rights = vshlq_u32(vdupq_n_u32(right), vld1q_s32(down));
    return vmaxvq_u32(vandq_u32(veorq_u32(sums, rights), vdupq_n_u32(1))) == 0;
}

INLINE bool fits_neon(const uint8_t *columns, unsigned count, uint64_t row, uint32_t right)
{
    const uint8_t *const second = columns + 4 * (size_t)count;
    if (count < 4)
        return fits_by_columns(columns, count, row, right);
    for (unsigned j = 0;; j = j + 4 <= count - 4 ? j + 4 : count - 4) {
        if (!four(columns + 4 * (size_t)j, second + 4 * (size_t)j, row, right >> j))
            return false;
        if (j == count - 4)
            return true;
    }
}

#include "kernel/ribbon/impl.h"

#endif
