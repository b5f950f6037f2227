/* SPDX-License-Identifier: MIT
 * Solving a part of a ribbon body, page by page. Digests are sorted by page, because a page is
 * solved from all its digests together. */
#include "build/solver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/checksum.h"
#include "kernel/ribbon/ribbon.h"

struct solver {
    const struct kernel *kernel;
    uint64_t first, lines;
    uint64_t *counts;  /* number of digests of each page */
    uint64_t *digests; /* the digests that are kept, unsorted */
    size_t n, room;
    uint64_t *sorted; /* the same digests, sorted by page */
    size_t sorted_room;
    size_t *ends; /* the end of each page's digests in `sorted` */
    struct ribbon_solve_memory *page;
    void *memory; /* memory of `page`, from calloc(), so that pages of it that are never used are
                     not allocated */
    size_t pages;
};

uint64_t solver_needs(uint64_t keys, size_t pages)
{
    const uint64_t most = keys < RIBBON_KEYS ? keys : RIBBON_KEYS;
    return sizeof(struct ribbon_solve_memory) + pages * (CHECKSUM_PAGE + 2 * 8 * (most + 1));
}

int solver_new(struct solver **out, const struct kernel *kernel, size_t pages)
{
    struct solver *s = calloc(1, sizeof *s);
    if (s == NULL)
        return ENOMEM;
    s->kernel = kernel;
    s->pages = pages;
    s->counts = calloc(pages, sizeof *s->counts);
    s->ends = calloc(pages, sizeof *s->ends);
    s->memory = calloc(1, sizeof *s->page + _Alignof(struct ribbon_solve_memory));
    if (s->counts == NULL || s->ends == NULL || s->memory == NULL) {
        solver_free(s);
        return ENOMEM;
    }
    const uintptr_t beyond = (uintptr_t)s->memory + _Alignof(struct ribbon_solve_memory);
    s->page = (void *)(beyond - beyond % _Alignof(struct ribbon_solve_memory));
    *out = s;
    return 0;
}

void solver_free(struct solver *s)
{
    if (s == NULL)
        return;
    free(s->counts);
    free(s->ends);
    free(s->memory);
    free(s->digests);
    free(s->sorted);
    free(s);
}

void solver_start(struct solver *s, uint64_t first, uint64_t lines)
{
    s->first = first;
    s->lines = lines;
    s->n = 0;
    memset(s->counts, 0, s->pages * sizeof *s->counts);
}

static int make_room_for_keys(struct solver *s, size_t more)
{
    if (more <= s->room - s->n)
        return 0;
    if (more > SIZE_MAX / 16 - s->n)
        return ENOMEM;
    const size_t room = s->n + more + s->n / 4;
    uint64_t *digests = realloc(s->digests, room * sizeof *digests);
    if (digests == NULL)
        return ENOMEM;
    s->digests = digests;
    s->room = room;
    return 0;
}

static size_t page_of(const struct solver *s, uint64_t digest)
{
    return (size_t)(probe_reduce(digest, s->lines) / RIBBON_LINES - s->first);
}

/* Keeps at most RIBBON_KEYS digests of a page, and only counts more: such a page is not
 * solvable. */
int solver_take(struct solver *s, const uint64_t *digests, size_t n)
{
    const int error = make_room_for_keys(s, n);
    for (size_t i = 0; error == 0 && i < n; i++) {
        s->digests[s->n] = digests[i];
        s->n += s->counts[page_of(s, digests[i])]++ < RIBBON_KEYS;
    }
    return error;
}

static size_t kept(const struct solver *s, size_t page)
{
    return s->counts[page] < RIBBON_KEYS ? (size_t)s->counts[page] : RIBBON_KEYS;
}

/* Allocates one digest more than needed, so that the empty list of a page without keys is not
 * NULL. */
static int make_sorted_room(struct solver *s)
{
    if (s->n < s->sorted_room)
        return 0;
    free(s->sorted);
    s->sorted_room = s->n + 1;
    s->sorted = malloc(s->sorted_room * sizeof *s->sorted);
    if (s->sorted == NULL)
        s->sorted_room = 0;
    return s->sorted != NULL ? 0 : ENOMEM;
}

static void sort(struct solver *s, size_t pages)
{
    size_t start = 0;
    for (size_t page = 0; page < pages; page++) {
        s->ends[page] = start;
        start += kept(s, page);
    }
    for (size_t i = 0; i < s->n; i++)
        s->sorted[s->ends[page_of(s, s->digests[i])]++] = s->digests[i];
}

int solver_make(struct solver *s, uint8_t *bytes, size_t pages)
{
    const int error = make_sorted_room(s);
    if (error != 0)
        return error;
    sort(s, pages);
    for (size_t page = 0; page < pages; page++) {
        const uint64_t *const digests = s->sorted + s->ends[page] - kept(s, page);
        if (!s->kernel->solve(bytes + page * CHECKSUM_PAGE, ribbon_lines(s->first + page, s->lines),
                              digests, s->counts[page], s->page))
            return BLOOMFILE_EBODY;
    }
    return 0;
}
