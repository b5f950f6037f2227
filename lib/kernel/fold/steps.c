/* SPDX-License-Identifier: MIT
 * Folding whole bytes in steps of small factors, and the edges group by group. */
#include "kernel/fold/steps.h"

#include <string.h>

#include "format/probe.h"

#define BUFFER 8192 /* bytes folded at a time; two buffers fit in an L1 cache of 32 KiB */
#define SPARE  1024 /* bytes after a buffer that a step may read or write */
#define LINE   64   /* bytes of a cache line */

/* Copies `size` bytes, beginning with bit `shift` > 0 of `from`. */
static void shift_bytes(uint8_t *to, const uint8_t *from, size_t size, unsigned shift)
{
    size_t i = 0;
    for (; size - i >= 8; i += 8)
        put64(to + i, get64(from + i) >> shift | get64(from + i + 1) << (8 - shift));
    for (; i < size; i++)
        to[i] = (uint8_t)(from[i] >> shift | from[i + 1] << (8 - shift));
}

struct buffers {
    uint8_t bytes[2][BUFFER + SPARE];
};

/* Units that begin with bit `shift` of `from`. `rest` bytes can be read from `from` on. */
struct groups {
    const uint8_t *from;
    unsigned shift;
    uint64_t rest;
};

static void fold_in_steps(const struct fold_layout *layout, struct buffers *b, uint8_t *to,
                          struct groups g, size_t size, uint64_t factor)
{
    const size_t source = (size_t)(size * factor);
    unsigned next = 0;
    if (g.shift > 0)
        shift_bytes(b->bytes[next], g.from, source, g.shift);
    else if (g.rest < source + SPARE)
        memcpy(b->bytes[next], g.from, source);
    if (g.shift > 0 || g.rest < source + SPARE)
        g.from = b->bytes[next++];
    while (factor > 1) {
        const uint64_t by = layout->next(factor);
        factor /= by;
        layout->step(b->bytes[next], g.from, (size_t)(size * factor), by);
        g.from = b->bytes[next];
        next = 1 - next;
    }
    layout->unite(to, g.from, size);
}

/* Folds groups into `size` bytes of `to`. Prefetches the next piece of the source, even past the
 * end, where the next call will begin: steps read in bursts, which hardware prefetchers do not
 * follow. */
static void fold_whole(const struct fold_layout *layout, uint8_t *to, struct groups g,
                       uint64_t size, uint64_t factor)
{
    uint64_t most = BUFFER / factor;
    struct buffers b;
    memset(&b, 0, sizeof b);
    if (most > FOLD_RUN)
        most -= most % FOLD_RUN;
    for (uint64_t n; size > 0; size -= n, to += n, g.from += n * factor, g.rest -= n * factor) {
        n = size < most ? size : most;
        for (uint64_t at = n * factor; at < 2 * n * factor; at += LINE)
            __builtin_prefetch(g.from + at);
        fold_in_steps(layout, &b, to, g, (size_t)n, factor);
    }
}

void fold_by_steps(const struct fold_layout *layout, uint8_t *to, const uint8_t *from,
                   uint64_t first, uint64_t count, uint64_t factor)
{
    const unsigned units = layout->units;
    const uint64_t size = (count + units - 1) / units;
    if (factor == 1) {
        layout->unite(to + first / units, from, size);
        return;
    }
    uint64_t j = first / factor, n = factor - first % factor;
    for (uint64_t i = 0; i < count; i += n, j++, n = factor) {
        const uint64_t whole = (count - i) / factor / units;
        if (j % units == 0 && n == factor && whole > 0 && factor <= BUFFER) {
            const struct groups g = { from + i / units, (unsigned)(i % units) * (8 / units),
                                      size - i / units };
            fold_whole(layout, to + j / units, g, whole, factor);
            j += whole * units;
            i += whole * units * factor;
        }
        if (n > count - i)
            n = count - i;
        if (n > 0)
            layout->group(to, j, from, i, n);
    }
}

/* ---- blocks, by OR */

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

/* The number of units from `first` on that fold into the same unit. */
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
