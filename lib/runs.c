/* SPDX-License-Identifier: MIT */
#include "runs.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "map.h"
#include "probe.h"
#include "sort.h"

#define NEAR 512u /* digests that are read to find one among them: a page */

/* A run's digests that have not been read yet: [next, stop), of which [next, end) come next. */
struct stretch {
    uint64_t next, end, stop;
};

struct reader {
    const struct runs *runs;
    struct stretch *stretches; /* of each run */
    uint64_t *values;
    size_t room;
    uint64_t sum;
};

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

int runs_reader(struct reader **out, const struct runs *runs, size_t room)
{
    struct reader *r = calloc(1, sizeof *r);
    *out = r;
    if (r == NULL)
        return ENOMEM;
    r->runs = runs;
    r->room = room > 2 * runs->count ? room : 2 * runs->count; /* equal digests are read at once */
    r->stretches = calloc(runs->count + 1, sizeof *r->stretches);
    r->values = malloc(r->room * sizeof *r->values);
    if (r->stretches != NULL && r->values != NULL)
        return 0;
    runs_reader_free(r);
    *out = NULL;
    return ENOMEM;
}

void runs_reader_free(struct reader *r)
{
    if (r == NULL)
        return;
    free(r->stretches);
    free(r->values);
    free(r);
}

uint64_t runs_reader_sum(const struct reader *r)
{
    return r->sum;
}

static int load(const struct reader *r, const struct run *run, uint64_t at, size_t n, uint64_t *to)
{
    if (run->values == NULL)
        return map_read(r->runs->fd, run->offset + 8 * at, to, 8 * n);
    memcpy(to, run->values + at, n * sizeof *to);
    return 0;
}

/* Narrows [*low, *high) down to at most NEAR digests, outside which the place is known: in growing
 * steps from where the digest would be if all were spread evenly, then by halves. */
static int approach(const struct reader *r, const struct run *run, uint64_t digest, uint64_t *low,
                    uint64_t *high)
{
    uint64_t at = probe_reduce(digest << r->runs->lane_bits, run->count), value;
    for (uint64_t step = NEAR / 2; *high - *low > NEAR; step *= 2) {
        if (at < *low || at >= *high)
            at = *low + (*high - *low) / 2;
        int error = load(r, run, at, 1, &value);
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

/* The first place in [low, high) whose digest is not below `digest`; `high` if there is none. The
 * places outside are known to be too low or too high. */
static int find(const struct reader *r, const struct run *run, uint64_t digest, uint64_t low,
                uint64_t high, uint64_t *place)
{
    uint64_t near[NEAR];
    if (digest <= run->least || digest > run->greatest) {
        *place = digest <= run->least ? low : high;
        return 0;
    }
    int error = approach(r, run, digest, &low, &high);
    if (error == 0)
        error = load(r, run, low, (size_t)(high - low), near);
    if (error != 0)
        return error;
    size_t below = 0;
    for (size_t i = 0; i < high - low; i++)
        below += near[i] < digest;
    *place = low + below;
    return 0;
}

/* The first place whose digest is above `digest`. */
static int find_above(const struct reader *r, const struct run *run, uint64_t digest, uint64_t low,
                      uint64_t high, uint64_t *place)
{
    *place = high;
    return digest == UINT64_MAX ? 0 : find(r, run, digest + 1, low, high, place);
}

/* Finds [first, last] in each run; *left: how many digests that are. */
static int start(struct reader *r, uint64_t first, uint64_t last, uint64_t *left)
{
    *left = 0;
    for (size_t i = 0; i < r->runs->count; i++) {
        const struct run *run = &r->runs->list[i];
        struct stretch *s = &r->stretches[i];
        int error = find(r, run, first, 0, run->count, &s->next);
        if (error == 0)
            error = find_above(r, run, last, s->next, run->count, &s->stop);
        if (error != 0)
            return error;
        *left += s->stop - s->next;
    }
    return 0;
}

/* Sets `end` in each run to behind `last`; *n: how many digests that takes in. */
static int reach(struct reader *r, uint64_t last, uint64_t *n)
{
    *n = 0;
    for (size_t i = 0; i < r->runs->count; i++) {
        struct stretch *s = &r->stretches[i];
        int error = find_above(r, &r->runs->list[i], last, s->next, s->stop, &s->end);
        if (error != 0)
            return error;
        *n += s->end - s->next;
    }
    return 0;
}

/* Finds a *last, as far from `first` as there is room for the digests between; *n is their number.
 * `left` of them, up to *last, have not been read. */
static int reach_far(struct reader *r, uint64_t first, uint64_t *last, uint64_t left, uint64_t *n)
{
    uint64_t pieces = left / (r->room - r->room / 8) + 1, width = *last - first;
    if (pieces > 1)
        width /= pieces;
    for (;; width /= 2) {
        int error = reach(r, first + width, n);
        if (error != 0 || *n <= r->room) {
            *last = first + width;
            return error;
        }
        if (width == 0)
            return EIO; /* more equal digests than runs */
    }
}

/* The run that alone has digests between `next` and `end`; NULL: several have. */
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

/* Sums up digests from the file, which all must be in [first, last]. */
static int check(struct reader *r, const uint64_t *digests, size_t n, uint64_t first, uint64_t last)
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
    int error = load(r, run, s->next, n, to);
    return error == 0 && run->values == NULL ? check(r, to, n, first, last) : error;
}

/* The digests between `next` and `end`, which are those in [first, last], in order and each once.
 */
static int gather(struct reader *r, uint64_t first, uint64_t last, const uint64_t **digests,
                  size_t *n)
{
    const struct stretch *s;
    const struct run *only = only_source(r, &s);
    if (only != NULL && only->values != NULL) {
        *digests = only->values + s->next;
        *n = (size_t)(s->end - s->next);
        return 0;
    }
    size_t total = 0;
    for (size_t i = 0; i < r->runs->count; i++) {
        int error = load_stretch(r, i, first, last, r->values + total);
        if (error != 0)
            return error;
        total += (size_t)(r->stretches[i].end - r->stretches[i].next);
    }
    *digests = r->values;
    *n = only != NULL ? total : sort_unique(r->values, total);
    return 0;
}

int runs_read(struct reader *r, uint64_t first, uint64_t last, runs_visit *visit, void *context)
{
    uint64_t left, n;
    int error = start(r, first, last, &left);
    for (; error == 0 && left > 0; left -= n) {
        const uint64_t *digests;
        size_t distinct;
        uint64_t end = last;
        error = reach_far(r, first, &end, left, &n);
        if (error == 0 && end == last && n != left)
            error = EIO;
        if (error == 0)
            error = gather(r, first, end, &digests, &distinct);
        if (error != 0)
            return error;
        visit(context, digests, distinct);
        for (size_t i = 0; i < r->runs->count; i++)
            r->stretches[i].next = r->stretches[i].end;
        first = end + 1;
    }
    return error;
}
