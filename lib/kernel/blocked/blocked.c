/* SPDX-License-Identifier: MIT
 *
 * The kernels of the blocked layout: shared code, and impl.h once for each instruction set.
 * README.md explains lookups and adds.
 */
#include "kernel/kernel.h"

#include <string.h>

#include "kernel/blocked/prefetch_ring.h"

#define BLOOMFILE_BLOCK_SCALAR
#define BLOOMFILE_BLOCK_BEST(name) name##_scalar /* for bloomfile_inline.h in a unity build */
#if defined __x86_64__
#define BLOOMFILE_BLOCK_AVX2   __attribute__((target("avx2,bmi,bmi2,popcnt"))) SHARED_WIDE_LOADS
#define BLOOMFILE_BLOCK_AVX512 __attribute__((target("avx512f,bmi,bmi2,popcnt"))) SHARED_WIDE_LOADS
#define BLOOMFILE_BLOCK_VBMI                                                                       \
    __attribute__((target("avx512f,avx512bw,avx512vbmi,avx512bitalg,bmi,bmi2,popcnt")))            \
    SHARED_WIDE_LOADS
#elif defined __aarch64__ && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BLOOMFILE_BLOCK_NEON SHARED_WIDE_LOADS
#endif
#include <bloomfile_block.h>

#define NAME_(isa)          #isa
#define NAME(isa)           NAME_(isa)
#define OF_ISA__(name, isa) name##_##isa
#define OF_ISA_(name, isa)  OF_ISA__(name, isa)
#define OF_ISA(name)        OF_ISA_(blocked_##name, ISA)

/* ---- adds to a part that only the caller touches */

/* The fewest digests for which making the table of rows pays: 512 rows of 64 bytes, 32 KiB. */
#define KERNEL_MANY 512

/* A part above 16 MiB does not stay in the caches, so adds prefetch the blocks of 64 digests at a
 * time: adding to a view of 125 MB takes 5.4 ns a key, without prefetching 19. */
#define KERNEL_AHEAD     64
#define KERNEL_FAR_BYTES (1 << 24)

/* A block, at any address. */
typedef uint64_t kernel_bits __attribute__((vector_size(PROBE_BLOCK_BYTES), aligned(1), may_alias));

/* Prefetches the blocks of the first KERNEL_AHEAD of n digests. */
KERNEL_INLINE void kernel_request_part(const uint8_t *part, uint64_t first, uint64_t blocks,
                                       const uint64_t *digests, size_t n)
{
    const bool split = (uintptr_t)part % PROBE_BLOCK_BYTES != 0;
    for (size_t i = 0; i < n && i < KERNEL_AHEAD; i++) {
        const uint8_t *block =
            part + PROBE_BLOCK_BYTES * (probe_reduce(digests[i], blocks) - first);
        __builtin_prefetch(block, 1);
        if (split)
            __builtin_prefetch(block + PROBE_BLOCK_BYTES - 1, 1);
    }
}

KERNEL_INLINE void kernel_note_idle(struct kernel_idle *idle, uint64_t digest)
{
    if (idle->count < idle->most)
        idle->digests[idle->count] = digest;
    idle->count++;
}

/* Reports every digest as possibly repeated: for so few, testing each costs more than it saves. */
KERNEL_INLINE void kernel_add_few(uint8_t *part, uint64_t first, uint64_t blocks, unsigned k,
                                  const uint64_t *digests, size_t n, struct kernel_idle *idle)
{
    for (size_t i = 0; i < n; i++) {
        if (idle != NULL)
            kernel_note_idle(idle, digests[i]);
        uint8_t *block = part + PROBE_BLOCK_BYTES * (probe_reduce(digests[i], blocks) - first);
        uint64_t product = digests[i];
        for (unsigned j = 0; j < k; j++) {
            if (j % PROBE_SLICES == 0)
                product *= PROBE_MULTIPLIER;
            unsigned bit = probe_slice(product, j % PROBE_SLICES);
            block[bit / 8] |= (uint8_t)(1u << bit % 8);
        }
    }
}

/* In each case the number of slices is a constant, so that the compiler unrolls the loop. */
#define KERNEL_ADD_CONSTANT_SLICES(slices)                                                         \
    case slices:                                                                                   \
        OF_ISA(add_slices)(part, first, blocks, rows, multiplier, slices, digests, n, idle);       \
        break

/* ---- adds to a shared body */

#define KERNEL_WORDS (PROBE_BLOCK_BYTES / 8) /* words of a block */
#define KERNEL_GROUP 16 /* keys whose words that lack bits are found before any word is changed */

/* While keys repeat, each group is looked up before it is added. While none repeats, only every
 * eighth group is: a lookup takes a tenth of the time of an add, so this costs new keys 1/80. */
#define KERNEL_LOOK 8

/* Words that lacked bits when they were read. */
struct kernel_lacks {
    size_t count;
    uint8_t *word[KERNEL_GROUP * KERNEL_WORDS];
    uint64_t bits[KERNEL_GROUP * KERNEL_WORDS];
    uint8_t key[KERNEL_GROUP * KERNEL_WORDS];
};

KERNEL_INLINE uint8_t *kernel_block_in(uint8_t *body, uint64_t blocks, uint64_t digest)
{
    return body + PROBE_BLOCK_BYTES * probe_reduce(digest, blocks);
}

/* Sets the bits; a key that sets a bit is new. Prefetches the blocks of the `n` digests at `next`,
 * one after each locked instruction: a burst of prefetches would delay the locked instructions.
 */
KERNEL_INLINE void kernel_set_lacks(const struct kernel_lacks *lacks, bool *is_new,
                                    struct kernel_change *change, const struct kernel_view *view,
                                    const uint64_t *next, size_t n)
{
    size_t requested = 0;
    for (size_t i = 0; i < lacks->count; i++) {
        uint64_t made = shared_set64(lacks->word[i], lacks->bits[i]);
        change->ones += __builtin_popcountll(made);
        is_new[lacks->key[i]] |= made != 0;
        if (requested < n)
            kernel_request(view, next[requested++]);
    }
    while (requested < n)
        kernel_request(view, next[requested++]);
}

uint64_t kernel_ignored(unsigned k)
{
    return bloomfile_block_ignored(k < PROBE_SLICES ? k : PROBE_SLICES);
}

/* ---- prefetches before lookups, for every instruction set */

static void expect_blocks(const struct kernel_view *view, const uint64_t *digests, size_t n)
{
    for (size_t i = 0; i < n && !kernel_is_near(view); i++)
        kernel_request_lines(view, digests[i], kernel_is_split(view));
}

/* ---- scalar: bit by bit. This kernel is the definition. */

#define ISA    scalar
#define TARGET BLOOMFILE_BLOCK_SCALAR
#include "kernel/blocked/impl.h"

#ifdef __x86_64__

/* ---- AVX2: a block is two registers */

#define ISA    avx2
#define TARGET BLOOMFILE_BLOCK_AVX2
#include "kernel/blocked/impl.h"

/* ---- AVX-512: a block is one register */

#define ISA    avx512
#define TARGET BLOOMFILE_BLOCK_AVX512
#define WIDE
#include "kernel/blocked/impl.h"

/* ---- AVX-512 with VBMI and BITALG: one instruction extracts all positions (VPMULTISHIFTQB), and
 * another tests them (VPSHUFBITQMB). On Sapphire Rapids a lookup in a cached body takes 0.85 to 0.9
 * times as long as with AVX-512 alone. */

#define ISA    vbmi
#define TARGET BLOOMFILE_BLOCK_VBMI
#define PICKS
#include "kernel/blocked/impl.h"
#undef PICKS
#undef WIDE

#endif

/* ---- NEON: a block is four registers, which one instruction (TBL) indexes as a table of 64
 * bytes */

#ifdef BLOOMFILE_BLOCK_NEON
#define ISA    neon
#define TARGET BLOOMFILE_BLOCK_NEON
#include "kernel/blocked/impl.h"
#endif
