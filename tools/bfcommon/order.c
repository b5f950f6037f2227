/* SPDX-License-Identifier: MIT
 *
 * Multikey quicksort (Bentley, Sedgewick 1997) on chunks of seven bytes, kept next to the pointers.
 */
#include "bfcommon/order.h"
#include "bfcommon/lines.h"
#include "filters/params.h"

#include <endian.h>
#include <string.h>

enum {
    CHUNK = 7,
    SMALL = 12
};

struct bloomfile_key order_key(const uint8_t *memory, uint64_t at)
{
    uint32_t size;
    memcpy(&size, memory + at, sizeof(size));
    return (struct bloomfile_key){ memory + at + ORDER_SIZE_BYTES, size };
}

/* Seven bytes of the key as a number, and below them how many there were: 8 if more follow. So the
 * order of chunks is that of keys, and equal chunks of keys that end are equal keys. */
static uint64_t chunk_at(const uint8_t *memory, uint64_t at, size_t depth)
{
    struct bloomfile_key key = order_key(memory, at);
    const uint8_t *from = (const uint8_t *)key.data + depth;
    size_t left = key.size - depth;
    uint64_t bytes = 0;
    if (left > CHUNK) {
        memcpy(&bytes, from, 8);
        return (be64toh(bytes) & ~UINT64_C(0xff)) | 8;
    }
    memcpy(&bytes, from, left);
    return be64toh(bytes) | left;
}

static bool ends(uint64_t chunk)
{
    return (chunk & 0xff) <= CHUNK;
}

static bool is_less(const uint8_t *memory, const struct entry *a, const struct entry *b,
                    size_t depth)
{
    if (a->chunk != b->chunk)
        return a->chunk < b->chunk;
    if (ends(a->chunk))
        return false;
    struct bloomfile_key x = order_key(memory, a->at), y = order_key(memory, b->at);
    size_t done = depth + CHUNK;
    return lines_compare(&(struct bloomfile_key){ (const uint8_t *)x.data + done, x.size - done },
                         &(struct bloomfile_key){ (const uint8_t *)y.data + done, y.size - done }) <
           0;
}

static void insertion_sort(const uint8_t *memory, struct entry *e, size_t n, size_t depth)
{
    for (size_t i = 1; i < n; i++) {
        struct entry moved = e[i];
        size_t j = i;
        for (; j > 0 && is_less(memory, &moved, &e[j - 1], depth); j--)
            e[j] = e[j - 1];
        e[j] = moved;
    }
}

static uint64_t median(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* Of three places that an arithmetic generator chooses, so that no order of input is a bad one. */
static uint64_t pivot(const struct entry *e, size_t n, uint64_t *state)
{
    uint64_t values[3];
    for (unsigned i = 0; i < 3; i++) {
        *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        values[i] = e[(*state >> 16) % n].chunk;
    }
    return median(values[0], values[1], values[2]);
}

/* The chunks less than, equal to and greater than the pivot: [0, *less), [*less, *greater), the
 * rest. */
static void partition(struct entry *e, size_t n, uint64_t middle, size_t *less, size_t *greater)
{
    size_t low = 0, high = n;
    for (size_t i = 0; i < high;) {
        struct entry here = e[i];
        if (here.chunk < middle) {
            e[i++] = e[low];
            e[low++] = here;
        } else if (here.chunk > middle) {
            e[i] = e[--high];
            e[high] = here;
        } else {
            i++;
        }
    }
    *less = low;
    *greater = high;
}

struct part {
    struct entry *e;
    size_t n, depth;
};

static void swap_if_larger(struct part *a, struct part *b)
{
    if (a->n <= b->n)
        return;
    struct part kept = *a;
    *a = *b;
    *b = kept;
}

/* The largest of three parts is sorted by the loop and the others by recursion, which therefore is
 * no deeper than log2(n). */
static void sort_part(const uint8_t *memory, struct part part, uint64_t *state)
{
    while (part.n > SMALL) {
        uint64_t middle = pivot(part.e, part.n, state);
        size_t less, greater;
        partition(part.e, part.n, middle, &less, &greater);
        struct part parts[3] = { { part.e, less, part.depth },
                                 { part.e + less, greater - less, part.depth + CHUNK },
                                 { part.e + greater, part.n - greater, part.depth } };
        if (ends(middle))
            parts[1].n = 0;
        for (size_t i = 0; i < parts[1].n; i++)
            parts[1].e[i].chunk = chunk_at(memory, parts[1].e[i].at, parts[1].depth);
        swap_if_larger(&parts[0], &parts[2]);
        swap_if_larger(&parts[1], &parts[2]);
        sort_part(memory, parts[0], state);
        sort_part(memory, parts[1], state);
        part = parts[2];
    }
    insertion_sort(memory, part.e, part.n, part.depth);
}

void order_sort(const uint8_t *memory, struct entry *entries, size_t n)
{
    uint64_t state = params_random();
    for (size_t i = 0; i < n; i++)
        entries[i].chunk = chunk_at(memory, entries[i].at, 0);
    sort_part(memory, (struct part){ entries, n, 0 }, &state);
}
