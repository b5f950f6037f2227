/* SPDX-License-Identifier: MIT
 * Folding of blocks, by OR. */
#include "kernel/functions.h"

#include "format/bytes.h"
#include "format/probe.h"

static void or_blocks(uint8_t *to, const uint8_t *from, uint64_t blocks)
{
    for (uint64_t i = 0; i < blocks * PROBE_BLOCK_BYTES; i++)
        to[i] |= from[i];
}

static void or_into_one(uint8_t *to, const uint8_t *from, uint64_t blocks)
{
    uint64_t sum[PROBE_BLOCK_BYTES / 8];
    for (unsigned w = 0; w < PROBE_BLOCK_BYTES / 8; w++)
        sum[w] = get64(to + 8 * w);
    for (; blocks > 0; blocks--, from += PROBE_BLOCK_BYTES)
        for (unsigned w = 0; w < PROBE_BLOCK_BYTES / 8; w++)
            sum[w] |= get64(from + 8 * w);
    for (unsigned w = 0; w < PROBE_BLOCK_BYTES / 8; w++)
        put64(to + 8 * w, sum[w]);
}

/* How many units from `first` on fold into the same one. */
static inline uint64_t group(uint64_t first, uint64_t count, uint64_t factor)
{
    uint64_t rest = factor - first % factor;
    return rest < count ? rest : count;
}

void kernel_fold_blocked(uint8_t *to, const uint8_t *from, uint64_t first, uint64_t count,
                         uint64_t factor)
{
    if (factor == 1) {
        or_blocks(to + first * PROBE_BLOCK_BYTES, from, count);
        return;
    }
    to += first / factor * PROBE_BLOCK_BYTES;
    for (uint64_t n = group(first, count, factor); count > 0; to += PROBE_BLOCK_BYTES) {
        or_into_one(to, from, n);
        from += n * PROBE_BLOCK_BYTES;
        count -= n;
        n = factor < count ? factor : count;
    }
}
