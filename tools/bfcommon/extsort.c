/* SPDX-License-Identifier: MIT
 * External sorting of keys: runs that fit in memory are sorted, then merged. */
#include "bfcommon/extsort.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bfcommon/lines.h"
#include "cli/cli.h"
#include "filters/params.h"
#include "format/min.h"

enum {
    LEAST_ROOM = 1 << 16, /* buffer for reading a run */
    MOST_ROOM = 1 << 20
};

struct extsort {
    const char *folder;
    struct keys_options form;
    uint8_t *memory; /* keys from the front, entries from the back */
    size_t size, used, count;
    size_t next; /* next entry to return, if everything fits in memory */
    struct runs runs;
    struct merge *merge;
};

uint64_t extsort_needs(uint64_t keys, uint64_t bytes)
{
    return bytes + keys * (ORDER_SIZE_BYTES + sizeof(struct entry)) + sizeof(struct entry);
}

struct extsort *extsort_new(const char *folder, const struct keys_options *form, size_t memory)
{
    struct extsort *s = calloc(1, sizeof(*s));
    size_t size = memory / sizeof(struct entry) * sizeof(struct entry);
    uint8_t *piece = malloc(size);
    if (s == NULL || piece == NULL)
        cli_fail(ENOMEM, "cannot sort keys");
    *s = (struct extsort){ .folder = folder, .form = *form, .memory = piece, .size = size };
    return s;
}

static struct entry *entries(const struct extsort *s)
{
    return (struct entry *)(void *)(s->memory + s->size) - s->count;
}

/* The next sorted key in memory that differs from the key before it. */
static bool next_in_memory(struct extsort *s, struct bloomfile_key *key)
{
    const struct entry *e = entries(s);
    for (; s->next < s->count; s->next++) {
        *key = order_key(s->memory, e[s->next].at);
        if (s->next > 0) {
            struct bloomfile_key before = order_key(s->memory, e[s->next - 1].at);
            if (lines_compare(&before, key) == 0)
                continue;
        }
        s->next++;
        return true;
    }
    return false;
}

static void sort_memory(struct extsort *s)
{
    order_sort(s->memory, entries(s), s->count);
    s->next = 0;
}

static void end_run(struct runs *runs)
{
    struct run_end *ends = reallocarray(runs->ends, runs->count + 1, sizeof(*ends));
    if (ends == NULL)
        cli_fail(ENOMEM, "cannot sort keys");
    runs->ends = ends;
    runs->ends[runs->count++] = (struct run_end){ runs->spool->bytes, spool_mark(runs->spool) };
}

static void spill(struct extsort *s)
{
    struct bloomfile_key key;
    if (s->runs.spool == NULL)
        s->runs.spool = spool_new(s->folder, &s->form);
    sort_memory(s);
    while (next_in_memory(s, &key))
        spool_add(s->runs.spool, &key);
    end_run(&s->runs);
    s->used = s->count = 0;
}

void extsort_add(struct extsort *s, const struct bloomfile_key *key)
{
    size_t size = ORDER_SIZE_BYTES + key->size + sizeof(struct entry);
    if (size > s->size - s->used - s->count * sizeof(struct entry))
        spill(s);
    uint32_t key_size = (uint32_t)key->size;
    uint8_t *to = s->memory + s->used;
    memcpy(to, &key_size, ORDER_SIZE_BYTES);
    if (key->size > 0)
        memcpy(to + ORDER_SIZE_BYTES, key->data, key->size);
    s->count++;
    entries(s)->at = s->used;
    s->used += ORDER_SIZE_BYTES + key->size;
}

/* The buffer size for each of `count` runs. */
static size_t room_for(const struct extsort *s, size_t count)
{
    return MIN(s->size / count, MOST_ROOM);
}

static void merge_some(struct extsort *s, struct runs *to, size_t first, size_t count)
{
    struct bloomfile_key key;
    struct merge *m = merge_open(&s->runs, first, count, room_for(s, count));
    while (merge_next(m, &key))
        spool_add(to->spool, &key);
    merge_close(m);
    end_run(to);
}

static void free_runs(struct runs *runs)
{
    spool_free(runs->spool);
    free(runs->ends);
}

/* Merges runs until there are at most `most` of them. */
static void merge_runs(struct extsort *s, size_t most)
{
    while (s->runs.count > most) {
        struct runs fewer = { .spool = spool_new(s->folder, &s->form) };
        for (size_t at = 0, count; (count = MIN(s->runs.count - at, most)) > 0; at += count)
            merge_some(s, &fewer, at, count);
        spool_flush(fewer.spool);
        free_runs(&s->runs);
        s->runs = fewer;
    }
}

void extsort_finish(struct extsort *s)
{
    if (s->runs.count == 0) {
        sort_memory(s);
        return;
    }
    spill(s);
    spool_flush(s->runs.spool);
    free(s->memory);
    s->memory = NULL;
    size_t room = s->runs.spool->longest + 1;
    merge_runs(s, s->size / (room > LEAST_ROOM ? room : LEAST_ROOM));
    s->merge = merge_open(&s->runs, 0, s->runs.count, room_for(s, s->runs.count));
}

bool extsort_next(struct extsort *s, struct bloomfile_key *key)
{
    return s->merge != NULL ? merge_next(s->merge, key) : next_in_memory(s, key);
}

void extsort_free(struct extsort *s)
{
    merge_close(s->merge);
    free_runs(&s->runs);
    free(s->memory);
    free(s);
}

/* ---- A k-way merge of sorted runs, with a heap. */

enum {
    HEAD_BATCH = 32
};

/* A run's next keys. */
struct head {
    struct lines *run;
    struct bloomfile_key keys[HEAD_BATCH];
    size_t at, count;
};

struct merge {
    struct head *heads;
    size_t heads_count;
    struct head **heap; /* by next key, smallest first; without runs that have ended */
    size_t heap_count;
    uint8_t *last; /* the last key returned */
    size_t last_size;
    bool has_last;
};

static const struct bloomfile_key *next_of(const struct head *h)
{
    return &h->keys[h->at];
}

/* Moves a head down the heap to where it belongs. */
static void sink(struct merge *m, size_t at)
{
    struct head *moved = m->heap[at];
    for (size_t child; (child = 2 * at + 1) < m->heap_count; at = child) {
        if (child + 1 < m->heap_count &&
            lines_compare(next_of(m->heap[child + 1]), next_of(m->heap[child])) < 0)
            child++;
        if (lines_compare(next_of(moved), next_of(m->heap[child])) <= 0)
            break;
        m->heap[at] = m->heap[child];
    }
    m->heap[at] = moved;
}

/* Returns false at the end of the run. */
static bool advance(struct head *h)
{
    if (++h->at < h->count)
        return true;
    h->at = 0;
    h->count = lines_next(h->run, h->keys, HEAD_BATCH);
    return h->count > 0;
}

struct merge *merge_open(const struct runs *runs, size_t first, size_t count, size_t room)
{
    struct merge *m = calloc(1, sizeof(*m));
    size_t longest = runs->spool->longest;
    if (m == NULL || (m->heads = calloc(count + 1, sizeof(*m->heads))) == NULL ||
        (m->heap = calloc(count + 1, sizeof(*m->heap))) == NULL ||
        (m->last = malloc(longest + 1)) == NULL)
        cli_fail(ENOMEM, "cannot merge sorted keys");
    m->heads_count = count;
    for (size_t i = 0; i < count; i++) {
        size_t number = first + i;
        const struct run_end *end = &runs->ends[number];
        uint64_t from = number == 0 ? 0 : end[-1].at;
        struct stretch where = spool_part(runs->spool, from, end->at, end->sum, room);
        struct head *h = &m->heads[i];
        h->run = lines_open(&runs->spool->form, &where);
        if (advance(h))
            m->heap[m->heap_count++] = h;
    }
    for (size_t i = m->heap_count / 2; i-- > 0;)
        sink(m, i);
    return m;
}

static void drop_first(struct merge *m)
{
    if (!advance(m->heap[0]))
        m->heap[0] = m->heap[--m->heap_count];
    if (m->heap_count > 0)
        sink(m, 0);
}

bool merge_next(struct merge *m, struct bloomfile_key *key)
{
    struct bloomfile_key last = { m->last, m->last_size };
    while (m->has_last && m->heap_count > 0 && lines_compare(next_of(m->heap[0]), &last) == 0)
        drop_first(m);
    if (m->heap_count == 0)
        return false;
    *key = *next_of(m->heap[0]);
    if (key->size > 0)
        memcpy(m->last, key->data, key->size);
    m->last_size = key->size;
    m->has_last = true;
    return true;
}

void merge_close(struct merge *m)
{
    if (m == NULL)
        return;
    for (size_t i = 0; i < m->heads_count; i++)
        lines_close(m->heads[i].run);
    free(m->heads);
    free(m->heap);
    free(m->last);
    free(m);
}

/* ---- Multikey quicksort (Bentley, Sedgewick 1997) on chunks of seven bytes, kept next to the
 * pointers. */

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

/* Seven bytes of the key as a big-endian number, with the count of bytes left in the lowest
 * byte (8: more than seven). Chunks sort as the keys do. Two equal chunks in which keys end
 * belong to equal keys. */
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

/* The median of three random places, so that no order of the input is a bad case. The generator is
 * Knuth's for MMIX. */
static uint64_t pivot(const struct entry *e, size_t n, uint64_t *state)
{
    uint64_t values[3];
    for (unsigned i = 0; i < 3; i++) {
        *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        values[i] = e[(*state >> 16) % n].chunk;
    }
    return median(values[0], values[1], values[2]);
}

/* Partitions the entries into chunks below, equal to and above the pivot: [0, *less), [*less,
 * *greater), and the rest. */
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

/* The loop sorts the largest of three parts and recursion the other two, so the depth is at
 * most log2(n). */
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
