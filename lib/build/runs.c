/* SPDX-License-Identifier: MIT
 * Sorted runs of digests, and reading runs and partitions by range. Interpolation search finds the
 * place of a digest in a run. */
#include "build/runs.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "build/distinct.h"
#include "format/probe.h"
#include "os/file.h"

#define NEAR 512u /* digests (a page) that one read loads at the end of a search */

int runs_reserve(struct runs *runs, size_t count)
{
    if (count <= runs->room)
        return 0;
    size_t room = count + runs->room;
    struct run *list = realloc(runs->list, room * sizeof *list);
    if (list == NULL)
        return ENOMEM;
    runs->list = list;
    runs->room = room;
    return 0;
}

/* Reads n digests of a run, from place `at` on. Returns 0 or a read error. */
static int load_run(const struct runs *runs, const struct run *run, uint64_t at, size_t n,
                    uint64_t *to)
{
    if (run->values == NULL)
        return file_read(runs->fd, run->offset + 8 * at, to, 8 * n);
    memcpy(to, run->values + at, n * sizeof *to);
    return 0;
}

/* Narrows [*low, *high) to at most NEAR digests around the place of a digest: first by growing
 * steps from the place expected for uniform digests, then by bisection. */
static int approach(const struct runs *runs, const struct run *run, uint64_t digest, uint64_t *low,
                    uint64_t *high)
{
    uint64_t at = probe_reduce(digest, run->count), value;
    for (uint64_t step = NEAR / 2; *high - *low > NEAR; step *= 2) {
        if (at < *low || at >= *high)
            at = *low + (*high - *low) / 2;
        int error = load_run(runs, run, at, 1, &value);
        if (error != 0)
            return error;
        if (value < digest) {
            *low = at + 1;
            at += step;
        } else {
            *high = at;
            at -= step;
        }
    }
    return 0;
}

/* Sets *place to the first place in [low, high) whose digest is not below `digest`, or to `high`.
 * The place must not be outside this range. Returns 0 or a read error. */
static int seek(const struct runs *runs, const struct run *run, uint64_t digest, uint64_t low,
                uint64_t high, uint64_t *place)
{
    uint64_t near[NEAR];
    if (digest <= run->least || digest > run->greatest) {
        *place = digest <= run->least ? low : high;
        return 0;
    }
    int error = approach(runs, run, digest, &low, &high);
    if (error == 0)
        error = load_run(runs, run, low, (size_t)(high - low), near);
    if (error != 0)
        return error;
    size_t below = 0;
    for (size_t i = 0; i < high - low; i++)
        below += near[i] < digest;
    *place = low + below;
    return 0;
}

/* Like seek(), for the first digest above `digest`. */
static int seek_above(const struct runs *runs, const struct run *run, uint64_t digest, uint64_t low,
                      uint64_t high, uint64_t *place)
{
    *place = high;
    return digest == UINT64_MAX ? 0 : seek(runs, run, digest + 1, low, high, place);
}

/* ---- pieces: the digests of a small range, loaded from each run and partition */

#define AT_ONCE ((size_t)1 << 15) /* most digests of a piece that combines small partitions */

/* The unread digests of a run are [next, stop), of which [next, end) belong to the next piece. */
struct stretch {
    uint64_t next, end, stop;
};

struct reader {
    const struct runs *runs;
    struct stretch *stretches; /* one for each run */
    uint64_t *values;
    void *slots; /* memory for distinct() */
    size_t room;
    uint64_t sum;
};

/* The room for a piece: no more than there are digests, and at least two digests of each run, so
 * that equal digests of all runs fit. */
static size_t room_for(const struct runs *runs, size_t room)
{
    const uint64_t enough = 2 * (runs->held + runs->count) + 2;
    if (room > enough)
        room = (size_t)enough;
    return room > 2 * runs->count ? room : 2 * runs->count;
}

int reader_new(struct reader **out, const struct runs *runs, size_t room)
{
    struct reader *r = calloc(1, sizeof *r);
    *out = r;
    if (r == NULL)
        return ENOMEM;
    r->runs = runs;
    r->room = room_for(runs, room);
    r->stretches = calloc(runs->count + 1, sizeof *r->stretches);
    r->values = malloc(r->room * sizeof *r->values);
    r->slots = malloc(distinct_memory(r->room));
    if (r->stretches != NULL && r->values != NULL && r->slots != NULL)
        return 0;
    reader_free(r);
    *out = NULL;
    return ENOMEM;
}

void reader_free(struct reader *r)
{
    if (r == NULL)
        return;
    free(r->stretches);
    free(r->values);
    free(r->slots);
    free(r);
}

uint64_t reader_sum(const struct reader *r)
{
    return r->sum;
}

/* Finds [first, last] in each run. *left is the number of digests found. */
static int start_piece(struct reader *r, uint64_t first, uint64_t last, uint64_t *left)
{
    *left = 0;
    for (size_t i = 0; i < r->runs->count; i++) {
        const struct run *run = &r->runs->list[i];
        struct stretch *s = &r->stretches[i];
        int error = seek(r->runs, run, first, 0, run->count, &s->next);
        if (error == 0)
            error = seek_above(r->runs, run, last, s->next, run->count, &s->stop);
        if (error != 0)
            return error;
        *left += s->stop - s->next;
    }
    return 0;
}

/* Sets `end` in each run just after `last`. *n is the number of digests from `next` to `end`. */
static int reach(struct reader *r, uint64_t last, uint64_t *n)
{
    *n = 0;
    for (size_t i = 0; i < r->runs->count; i++) {
        struct stretch *s = &r->stretches[i];
        int error = seek_above(r->runs, &r->runs->list[i], last, s->next, s->stop, &s->end);
        if (error != 0)
            return error;
        *n += s->end - s->next;
    }
    return 0;
}

/* Lowers *last until at most `room` of the `left` unread digests are up to it, and sets *n to their
 * number. The first guess assumes uniform digests, and aims at 7/8 of the room. */
static int reach_far(struct reader *r, uint64_t first, uint64_t *last, uint64_t left, size_t room,
                     uint64_t *n)
{
    uint64_t pieces = left / (room - room / 8) + 1, width = *last - first;
    if (pieces > 1)
        width /= pieces;
    for (;; width /= 2) {
        int error = reach(r, first + width, n);
        if (error != 0 || *n <= room) {
            *last = first + width;
            return error;
        }
        if (width == 0)
            return EIO; /* a run has no equal digests, so the file was changed */
    }
}

size_t reader_most(const struct reader *r)
{
    return r->room;
}

static size_t count_in_partition(const struct reader *r, uint64_t partition)
{
    size_t n = 0;
    for (unsigned i = 0; i < r->runs->buffers; i++)
        n += partitioner_count(r->runs->partitioned[i], partition);
    return n;
}

/* Lowers *last to the end of a partition. Returns the number of digests in the partitions from that
 * of `first` to that of *last. */
static size_t reach_partitions(const struct reader *r, uint64_t first, uint64_t *last)
{
    const size_t most = r->room / 2 < AT_ONCE ? r->room / 2 : AT_ONCE;
    uint64_t p = partition_of(first);
    size_t n = count_in_partition(r, p);
    for (size_t more; p < partition_of(*last); n += more, p++)
        if ((more = count_in_partition(r, p + 1)) > most - (n < most ? n : most))
            break;
    if (p < partition_of(*last))
        *last = ((p + 1) << (64 - PARTITION_BITS)) - 1;
    return n;
}

/* Lowers *last until the digests up to it fit in a piece. Sets *n to their number in runs, and
 * *partitioned to the upper bound of their number in partitions. `left` is the number of unread
 * digests up to the old *last. */
static int find_piece(struct reader *r, uint64_t first, uint64_t *last, uint64_t left, uint64_t *n,
                      size_t *partitioned)
{
    int error = 0;
    *partitioned = 0;
    if (r->runs->buffers > 0) {
        *partitioned = reach_partitions(r, first, last);
        error = reach(r, *last, &left);
    }
    return error != 0 ? error : reach_far(r, first, last, left, r->room - *partitioned, n);
}

/* Returns the only run that has digests between `next` and `end`, or NULL if several have. */
static const struct run *only_source(const struct reader *r, const struct stretch **stretch)
{
    const struct run *only = NULL;
    for (size_t i = 0; i < r->runs->count; i++) {
        if (r->stretches[i].next == r->stretches[i].end)
            continue;
        if (only != NULL)
            return NULL;
        only = &r->runs->list[i];
        *stretch = &r->stretches[i];
    }
    return only;
}

/* Sums digests read from the file. Returns EIO if a digest is outside [first, last]. */
static int check_range(struct reader *r, const uint64_t *digests, size_t n, uint64_t first,
                       uint64_t last)
{
    uint64_t sum = 0;
    bool outside = false;
    for (size_t i = 0; i < n; i++) {
        sum += digests[i];
        outside |= digests[i] - first > last - first;
    }
    r->sum += sum;
    return outside ? EIO : 0;
}

static int load_stretch(struct reader *r, size_t number, uint64_t first, uint64_t last,
                        uint64_t *to)
{
    const struct run *run = &r->runs->list[number];
    const struct stretch *s = &r->stretches[number];
    size_t n = (size_t)(s->end - s->next);
    int error = load_run(r->runs, run, s->next, n, to);
    return error == 0 && run->values == NULL ? check_range(r, to, n, first, last) : error;
}

static int load_runs(struct reader *r, uint64_t first, uint64_t last, size_t *n)
{
    for (size_t i = 0; i < r->runs->count; i++) {
        int error = load_stretch(r, i, first, last, r->values + *n);
        if (error != 0)
            return error;
        *n += (size_t)(r->stretches[i].end - r->stretches[i].next);
    }
    return 0;
}

static void load_partitions(struct reader *r, uint64_t first, uint64_t last, size_t *n)
{
    for (uint64_t p = partition_of(first); p <= partition_of(last); p++)
        for (unsigned i = 0; i < r->runs->buffers; i++)
            *n += partitioner_gather(r->runs->partitioned[i], p, first, last, r->values + *n);
}

/* Makes a piece of the digests in [first, last], from [next, end) of the runs and from partitions.
 * If one run in memory has all of them, they are not copied. */
static int gather_piece(struct reader *r, uint64_t first, uint64_t last, bool partitioned,
                        struct reader_piece *piece)
{
    const struct stretch *s;
    const struct run *only = partitioned ? NULL : only_source(r, &s);
    *piece = (struct reader_piece){ .memory = r->slots };
    if (only != NULL && only->values != NULL) {
        piece->digests = only->values + s->next;
        piece->n = (size_t)(s->end - s->next);
        return 0;
    }
    int error = load_runs(r, first, last, &piece->n);
    if (error != 0)
        return error;
    if (partitioned)
        load_partitions(r, first, last, &piece->n);
    piece->digests = r->values;
    if (only == NULL && !runs_are_distinct(r->runs))
        piece->own = r->values;
    return 0;
}

void reader_make_distinct(struct reader_piece *piece)
{
    if (piece->own != NULL)
        piece->n = distinct(piece->own, piece->n, piece->memory);
    piece->own = NULL;
}

int reader_read(struct reader *r, uint64_t first, uint64_t last, reader_visit *visit, void *context)
{
    uint64_t left, n;
    int error = start_piece(r, first, last, &left);
    bool more = left > 0 || r->runs->buffers > 0;
    while (error == 0 && more) {
        struct reader_piece piece;
        size_t partitioned;
        uint64_t end = last;
        error = find_piece(r, first, &end, left, &n, &partitioned);
        if (error == 0 && end == last && n != left)
            error = EIO;
        if (error == 0)
            error = gather_piece(r, first, end, partitioned > 0, &piece);
        if (error != 0)
            return error;
        visit(context, &piece);
        for (size_t i = 0; i < r->runs->count; i++)
            r->stretches[i].next = r->stretches[i].end;
        first = end + 1;
        left -= n;
        more = end != last && (left > 0 || r->runs->buffers > 0);
    }
    return error;
}
