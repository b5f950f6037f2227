/* SPDX-License-Identifier: MIT
 * An array of digests, which is partitioned once there are many, and the sorting of digests. */
#include "build/digest_buffer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "os/memory.h"

#define MANY      ((size_t)1 << 13) /* digests; sorting fewer is faster than partitioning them */
#define ALIGNMENT 8                 /* digests in a cache line; blocks begin a line */

size_t digest_buffer_count(const struct digest_buffer *buffer)
{
    return buffer->count +
           (buffer->partitioner != NULL ? partitioner_in_buffers(buffer->partitioner) : 0);
}

static int grow(struct digest_buffer *buffer, size_t most, size_t more)
{
    if (more <= buffer->room - digest_buffer_count(buffer))
        return 0;
    if (more > SIZE_MAX / 2 / sizeof *buffer->values - buffer->room)
        return ENOMEM;
    size_t room = buffer->room + (buffer->room > more ? buffer->room : more);
    if (room > most)
        room = most;
    uint64_t *values =
        hugepages_grow(buffer->values, buffer->room * sizeof *values, room * sizeof *values);
    if (values == NULL)
        return ENOMEM;
    buffer->values = values;
    buffer->room = room;
    return 0;
}

/* Partitions the digests after the sorted digests, in place. A block is written only after at least
 * as many digests were read, so no unread digest is overwritten. Blocks are aligned to cache lines
 * and begin at `blocks`, so the last few sorted digests may count as new digests. */
static void start_blocks(struct digest_buffer *buffer, size_t blocks)
{
    const size_t some = buffer->count - blocks;
    buffer->sorted = buffer->blocks = blocks;
    partitioner_add(buffer->partitioner, buffer->values + blocks, buffer->values + blocks, some);
    buffer->count = blocks + partitioner_in_blocks(buffer->partitioner);
}

static int reserve_partitioner(struct digest_buffer *buffer, size_t more)
{
    const bool is_new = buffer->partitioner == NULL;
    int error = is_new ? partitioner_new(&buffer->partitioner) : 0;
    if (error != 0)
        return error;
    const bool starts = is_new || digest_buffer_count(buffer) == buffer->sorted;
    const size_t blocks = starts ? buffer->sorted / ALIGNMENT * ALIGNMENT : buffer->blocks;
    error = partitioner_reserve(buffer->partitioner, digest_buffer_count(buffer) - blocks + more);
    if (error == 0 && starts)
        start_blocks(buffer, blocks);
    if (error != 0 && is_new) {
        partitioner_free(buffer->partitioner);
        buffer->partitioner = NULL;
    }
    return error;
}

int digest_buffer_reserve(struct digest_buffer *buffer, const struct digest_buffer_plan *plan,
                          size_t more)
{
    int error = grow(buffer, plan->most, more);
    if (error == 0 &&
        (buffer->partitioner != NULL || (plan->partition && buffer->count + more >= MANY)))
        error = reserve_partitioner(buffer, more);
    return error;
}

void digest_buffer_add(struct digest_buffer *buffer, const uint64_t *digests, size_t n)
{
    if (buffer->partitioner == NULL) {
        memcpy(buffer->values + buffer->count, digests, n * sizeof *digests);
        buffer->count += n;
    } else {
        partitioner_add(buffer->partitioner, buffer->values + buffer->blocks, digests, n);
        buffer->count = buffer->blocks + partitioner_in_blocks(buffer->partitioner);
    }
    buffer->added += n;
}

void digest_buffer_sort(struct digest_buffer *buffer)
{
    const size_t all = digest_buffer_count(buffer);
    if (all == buffer->sorted)
        return;
    if (buffer->partitioner != NULL)
        partitioner_empty(buffer->partitioner, buffer->values + buffer->blocks);
    buffer->count = buffer->sorted = sort_unique(buffer->values, all);
}

void digest_buffer_empty(struct digest_buffer *buffer)
{
    buffer->count = buffer->sorted = 0;
}

void digest_buffer_reset(struct digest_buffer *buffer)
{
    partitioner_free(buffer->partitioner);
    *buffer = (struct digest_buffer){ .values = buffer->values, .room = buffer->room };
}

void digest_buffer_free(struct digest_buffer *buffer)
{
    partitioner_free(buffer->partitioner);
    hugepages_free(buffer->values, buffer->room * sizeof *buffer->values);
}

/* ---- partitioning: non-temporal stores, and an index of each partition's blocks */

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define CACHE_LINE  64
#define BUFFER_SIZE (PARTITION_BUFFER * sizeof(uint64_t))
#define AHEAD       4 /* blocks that a gather prefetches ahead */

struct partitioner {
    uint64_t *buffers;  /* aligned to BUFFER_SIZE */
    uint64_t **next;    /* next place in each buffer */
    uint16_t *owners;   /* partition of each block */
    size_t count, room; /* blocks, and room for them */
    uint64_t total;     /* digests added */
    const uint64_t *blocks;
    uint32_t
        *order; /* block numbers by partition: p has those from starts[p] to starts[p + 1] - 1 */
    size_t order_room;
    size_t *starts;
};

static uint64_t *buffer_of_partition(const struct partitioner *s, uint64_t p)
{
    return s->buffers + p * PARTITION_BUFFER;
}

static void clear(struct partitioner *s)
{
    for (unsigned p = 0; p < PARTITIONS; p++)
        s->next[p] = buffer_of_partition(s, p);
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

/* MOVNTDQ bypasses the cache. An ordinary store would first read the line that it overwrites, and
 * evict lines of the buffers. */
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
    copy_block(blocks + s->count * PARTITION_BUFFER, buffer_of_partition(s, p));
    s->owners[s->count++] = (uint16_t)p;
    s->next[p] = buffer_of_partition(s, p);
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
        const size_t n = (size_t)(s->next[p] - buffer_of_partition(s, p));
        memcpy(to, buffer_of_partition(s, p), n * sizeof *to);
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
           (size_t)(s->next[p] - buffer_of_partition(s, p));
}

/* Copies the digests in [first, last], without a branch on them. Returns their number. */
static size_t copy_some(uint64_t *to, const uint64_t *from, size_t n, uint64_t first, uint64_t last)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        to[count] = from[i];
        count += from[i] - first <= last - first;
    }
    return count;
}

static void request_block(const uint64_t *block)
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
    size_t n = (size_t)(s->next[p] - buffer_of_partition(s, p)), count;
    count = copy_some(to, buffer_of_partition(s, p), n, first, last);
    for (size_t i = s->starts[p]; i < end; i++) {
        const uint64_t *block = s->blocks + (size_t)s->order[i] * PARTITION_BUFFER;
        if (i + AHEAD < end)
            request_block(s->blocks + (size_t)s->order[i + AHEAD] * PARTITION_BUFFER);
        if (all)
            memcpy(to + count, block, BUFFER_SIZE);
        count +=
            all ? PARTITION_BUFFER : copy_some(to + count, block, PARTITION_BUFFER, first, last);
    }
    return count;
}

/* ---- sorting: an in-place radix sort from the most significant digit, like American flag sort
 * (McIlroy, Bostic, McIlroy 1993). American flag sort follows each displaced value to its bucket,
 * so each step depends on the step before. Here a loop swaps the values of one bucket in order, so
 * that the processor overlaps several swaps (Skarupke 2016). */

#define SMALL       32 /* up to this many values are sorted by insertion */
#define DIGIT_MOST  8  /* bits: lines of 2^8 buckets are written, 16 KiB of the L1 cache */
#define BUCKET_MOST 12 /* stop splitting once buckets average at most this many values */
#define BUCKETS     (1u << DIGIT_MOST)
#define CACHED      4096 /* values that fit in an L1 cache of 32 KiB: reading them is cheap */

static void insertion_sort(uint64_t *values, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        uint64_t v = values[i];
        size_t j = i;
        for (; j > 0 && values[j - 1] > v; j--)
            values[j] = values[j - 1];
        values[j] = v;
    }
}

static unsigned digit_bits(size_t n, unsigned bits)
{
    unsigned digit = 1;
    while (digit < bits && digit < DIGIT_MOST && n >> digit > BUCKET_MOST)
        digit++;
    return digit;
}

/* Moves each value into its bucket. next[] are the starts of the buckets; on return, their ends. */
static void exchange(uint64_t *values, size_t *next, const size_t *end, unsigned buckets,
                     unsigned shift)
{
    for (unsigned b = 0; b < buckets; b++) {
        while (next[b] < end[b]) {
            for (size_t i = next[b]; i < end[b]; i++) {
                uint64_t v = values[i];
                size_t home = next[v >> shift & (buckets - 1)]++;
                values[i] = values[home];
                values[home] = v;
            }
        }
    }
}

static unsigned bits_that_differ(const uint64_t *values, size_t n)
{
    uint64_t differ = 0;
    for (size_t i = 1; i < n; i++)
        differ |= values[i] ^ values[0];
    return differ == 0 ? 0 : 64 - (unsigned)__builtin_clzll(differ);
}

/* Sorts values that differ only in their lowest `bits` bits. */
static void radix_sort(uint64_t *values, size_t n, unsigned bits)
{
    if (n <= SMALL || bits == 0) { /* few values, or all equal */
        insertion_sort(values, n);
        return;
    }
    unsigned digit = digit_bits(n, bits), buckets = 1u << digit, shift = bits - digit;
    size_t next[BUCKETS], end[BUCKETS], sum = 0;
    memset(next, 0, buckets * sizeof *next);
    for (size_t i = 0; i < n; i++)
        next[values[i] >> shift & (buckets - 1)]++;
    for (unsigned b = 0; b < buckets; b++) {
        size_t count = next[b];
        next[b] = sum;
        end[b] = sum += count;
    }
    exchange(values, next, end, buckets, shift);
    if (shift == 0)
        return;
    for (unsigned b = 0; b < buckets; b++) {
        size_t start = b == 0 ? 0 : end[b - 1], count = end[b] - start;
        /* skips bits that all values share, so that one value repeated many times is not split bit
         * by bit */
        radix_sort(values + start, count,
                   count > SMALL && count < CACHED ? bits_that_differ(values + start, count)
                                                   : shift);
    }
}

size_t sort_unique(uint64_t *values, size_t n)
{
    unsigned bits = bits_that_differ(values, n);
    if (bits == 0)
        return n > 0;
    radix_sort(values, n, bits);
    size_t kept = 1;
    for (size_t i = 1; i < n; i++)
        if (values[i] != values[kept - 1])
            values[kept++] = values[i];
    return kept;
}
