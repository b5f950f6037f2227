/* SPDX-License-Identifier: MIT
 * Stores that bypass the cache, and an index of each partition's blocks. */
#include "build/partitioner.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define CACHE_LINE  64
#define BUFFER_SIZE (PARTITION_BUFFER * sizeof(uint64_t))
#define AHEAD       4 /* blocks that are requested before they are copied */

struct partitioner {
    uint64_t *buffers;  /* on a multiple of BUFFER_SIZE */
    uint64_t **next;    /* place in each buffer */
    uint16_t *owners;   /* of blocks: their partitions */
    size_t count, room; /* of blocks */
    uint64_t total;     /* digests added */
    const uint64_t *blocks;
    uint32_t
        *order; /* block numbers by partition: those of p are at starts[p] to starts[p + 1] - 1 */
    size_t order_room;
    size_t *starts;
};

static uint64_t *buffer_of(const struct partitioner *s, uint64_t p)
{
    return s->buffers + p * PARTITION_BUFFER;
}

static void clear(struct partitioner *s)
{
    for (unsigned p = 0; p < PARTITIONS; p++)
        s->next[p] = buffer_of(s, p);
    s->count = 0;
    s->total = 0;
}

int partitioner_new(struct partitioner **out)
{
    struct partitioner *s = *out = calloc(1, sizeof *s);
    if (s == NULL)
        return ENOMEM;
    s->buffers = aligned_alloc(BUFFER_SIZE, PARTITIONS * BUFFER_SIZE);
    s->next = malloc(PARTITIONS * sizeof *s->next);
    s->starts = malloc((PARTITIONS + 1) * sizeof *s->starts);
    if (s->buffers == NULL || s->next == NULL || s->starts == NULL) {
        partitioner_free(s);
        *out = NULL;
        return ENOMEM;
    }
    clear(s);
    return 0;
}

void partitioner_free(struct partitioner *s)
{
    if (s == NULL)
        return;
    free(s->buffers);
    free(s->next);
    free(s->starts);
    free(s->owners);
    free(s->order);
    free(s);
}

int partitioner_reserve(struct partitioner *s, size_t count)
{
    const size_t blocks = count / PARTITION_BUFFER + 1;
    if (blocks > UINT32_MAX)
        return ENOMEM;
    if (blocks <= s->room)
        return 0;
    const size_t room = blocks + s->room;
    uint16_t *owners = realloc(s->owners, room * sizeof *owners);
    if (owners == NULL)
        return ENOMEM;
    s->owners = owners;
    s->room = room;
    return 0;
}

size_t partitioner_in_blocks(const struct partitioner *s)
{
    return s->count * PARTITION_BUFFER;
}

size_t partitioner_in_buffers(const struct partitioner *s)
{
    return (size_t)s->total - partitioner_in_blocks(s);
}

/* Bypasses the cache, which would first read what is about to be overwritten. */
static void copy_block(uint64_t *to, const uint64_t *from)
{
#ifdef __SSE2__
    const __m128i *source = (const void *)from;
    __m128i *target = (void *)to;
    for (size_t i = 0; i < BUFFER_SIZE / sizeof *source; i++)
        _mm_stream_si128(target + i, _mm_load_si128(source + i));
#else
    memcpy(to, from, BUFFER_SIZE);
#endif
}

static void fence(void)
{
#ifdef __SSE2__
    _mm_sfence();
#endif
}

static __attribute__((noinline)) void make_block(struct partitioner *s, uint64_t *blocks,
                                                 uint64_t p)
{
    copy_block(blocks + s->count * PARTITION_BUFFER, buffer_of(s, p));
    s->owners[s->count++] = (uint16_t)p;
    s->next[p] = buffer_of(s, p);
}

void partitioner_add(struct partitioner *s, uint64_t *blocks, const uint64_t *digests, size_t n)
{
    uint64_t **next = s->next;
    for (size_t i = 0; i < n; i++) {
        const uint64_t p = partition_of(digests[i]);
        uint64_t *place = next[p];
        *place++ = digests[i];
        next[p] = place;
        if (__builtin_expect((uintptr_t)place % BUFFER_SIZE == 0, 0))
            make_block(s, blocks, p);
    }
    s->total += n;
    fence();
}

void partitioner_empty(struct partitioner *s, uint64_t *blocks)
{
    uint64_t *to = blocks + partitioner_in_blocks(s);
    for (unsigned p = 0; p < PARTITIONS; p++) {
        const size_t n = (size_t)(s->next[p] - buffer_of(s, p));
        memcpy(to, buffer_of(s, p), n * sizeof *to);
        to += n;
    }
    clear(s);
}

static int reserve_order(struct partitioner *s)
{
    if (s->count <= s->order_room)
        return 0;
    free(s->order);
    s->order_room = 0;
    s->order = malloc(s->count * sizeof *s->order);
    if (s->order == NULL)
        return ENOMEM;
    s->order_room = s->count;
    return 0;
}

int partitioner_index(struct partitioner *s, const uint64_t *blocks)
{
    int error = reserve_order(s);
    if (error != 0)
        return error;
    s->blocks = blocks;
    memset(s->starts, 0, (PARTITIONS + 1) * sizeof *s->starts);
    for (size_t i = 0; i < s->count; i++)
        s->starts[s->owners[i] + 1]++;
    for (unsigned p = 0; p < PARTITIONS; p++)
        s->starts[p + 1] += s->starts[p];
    for (size_t i = s->count; i-- > 0;)
        s->order[--s->starts[s->owners[i] + 1]] = (uint32_t)i;
    memmove(s->starts, s->starts + 1, PARTITIONS * sizeof *s->starts);
    s->starts[PARTITIONS] = s->count;
    return 0;
}

size_t partitioner_count(const struct partitioner *s, uint64_t p)
{
    return (s->starts[p + 1] - s->starts[p]) * PARTITION_BUFFER +
           (size_t)(s->next[p] - buffer_of(s, p));
}

/* Copies those of n digests that are in [first, last], and returns their number. */
static size_t copy_some(uint64_t *to, const uint64_t *from, size_t n, uint64_t first, uint64_t last)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        to[count] = from[i];
        count += from[i] - first <= last - first;
    }
    return count;
}

static void request(const uint64_t *block)
{
    for (size_t at = 0; at < PARTITION_BUFFER; at += CACHE_LINE / sizeof *block)
        __builtin_prefetch(block + at);
}

size_t partitioner_gather(const struct partitioner *s, uint64_t p, uint64_t first, uint64_t last,
                          uint64_t *to)
{
    const uint64_t least = p << (64 - PARTITION_BITS);
    const bool all = first <= least && last >= least + (UINT64_MAX >> PARTITION_BITS);
    const size_t end = s->starts[p + 1];
    size_t n = (size_t)(s->next[p] - buffer_of(s, p)), count;
    count = copy_some(to, buffer_of(s, p), n, first, last);
    for (size_t i = s->starts[p]; i < end; i++) {
        const uint64_t *block = s->blocks + (size_t)s->order[i] * PARTITION_BUFFER;
        if (i + AHEAD < end)
            request(s->blocks + (size_t)s->order[i + AHEAD] * PARTITION_BUFFER);
        if (all)
            memcpy(to + count, block, BUFFER_SIZE);
        count +=
            all ? PARTITION_BUFFER : copy_some(to + count, block, PARTITION_BUFFER, first, last);
    }
    return count;
}
