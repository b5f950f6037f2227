/* SPDX-License-Identifier: MIT
 * Bit positions in a temporary file. Each thread has a writer with its own buffers, and takes
 * extents of the file from a shared counter. */
#include "build/deferred.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/checksum.h"
#include "format/probe.h"
#include "os/file.h"

#define NONE UINT32_MAX /* the end of a chain of extents */

/* A stretch of the file that belongs to one part. Extents are chained, newest first. */
struct extent {
    uint32_t previous;
    uint32_t used; /* bytes */
    uint32_t crc;  /* of the used bytes, because a write error may surface only after the write */
};

struct deferred {
    struct deferred_plan plan;
    int fd;
    uint64_t first;       /* number of the window's first unit */
    pthread_mutex_t lock; /* protects the members below */
    struct extent *extents;
    size_t count, room;
    uint32_t *last; /* newest extent of each part */
};

/* The extent of a part to which a writer appends. */
struct tail {
    uint32_t number, used, crc;
};

struct deferred_writer {
    struct deferred *deferred;
    uint32_t *buffers; /* each aligned to its size; the last is for positions outside the window */
    uint32_t **next;   /* next free place in each buffer */
    struct tail *tails;
    int error;
};

static size_t positions_in_buffer(const struct deferred *a)
{
    return a->plan.buffer / DEFERRED_POSITION;
}

/* ---- the file */

int deferred_new(struct deferred **out, const struct deferred_plan *plan)
{
    struct deferred *a = *out = calloc(1, sizeof *a);
    if (a == NULL)
        return ENOMEM;
    a->plan = *plan;
    a->fd = -1;
    pthread_mutex_init(&a->lock, NULL);
    a->last = malloc(plan->parts * sizeof *a->last);
    int error = a->last == NULL ? ENOMEM : spool_file(plan->folder, &a->fd);
    if (error != 0) {
        deferred_free(a);
        *out = NULL;
    }
    return error;
}

void deferred_start(struct deferred *a, uint64_t first)
{
    a->first = first;
    a->count = 0;
    for (size_t part = 0; part < a->plan.parts; part++)
        a->last[part] = NONE;
}

void deferred_free(struct deferred *a)
{
    if (a == NULL)
        return;
    pthread_mutex_destroy(&a->lock);
    if (a->fd >= 0)
        close(a->fd);
    free(a->extents);
    free(a->last);
    free(a);
}

static int reserve_extent(struct deferred *a)
{
    if (a->count < a->room)
        return 0;
    const size_t room = 2 * a->room + 64;
    struct extent *extents = room < NONE ? realloc(a->extents, room * sizeof *extents) : NULL;
    if (extents == NULL)
        return ENOMEM;
    a->extents = extents;
    a->room = room;
    return 0;
}

static int begin_extent(struct deferred *a, struct tail *tail)
{
    pthread_mutex_lock(&a->lock);
    int error = reserve_extent(a);
    if (error == 0)
        *tail = (struct tail){ .number = (uint32_t)a->count++ };
    pthread_mutex_unlock(&a->lock);
    return error;
}

static void end_extent(struct deferred *a, size_t part, struct tail *tail)
{
    pthread_mutex_lock(&a->lock);
    a->extents[tail->number] = (struct extent){ a->last[part], tail->used, tail->crc };
    a->last[part] = tail->number;
    pthread_mutex_unlock(&a->lock);
    tail->number = NONE;
}

static uint64_t extent_offset(uint32_t extent)
{
    return (uint64_t)extent * DEFERRED_EXTENT;
}

/* ---- writing */

static uint32_t *buffer_of_part(const struct deferred_writer *w, size_t part)
{
    return w->buffers + part * positions_in_buffer(w->deferred);
}

int deferred_writer_new(struct deferred_writer **out, struct deferred *a)
{
    const size_t buffers = a->plan.parts + 1;
    struct deferred_writer *w = *out = calloc(1, sizeof *w);
    if (w == NULL)
        return ENOMEM;
    w->deferred = a;
    w->buffers = aligned_alloc(a->plan.buffer, buffers * a->plan.buffer);
    w->next = malloc(buffers * sizeof *w->next);
    w->tails = malloc(a->plan.parts * sizeof *w->tails);
    if (w->buffers == NULL || w->next == NULL || w->tails == NULL) {
        deferred_writer_free(w);
        *out = NULL;
        return ENOMEM;
    }
    for (size_t part = 0; part < buffers; part++)
        w->next[part] = buffer_of_part(w, part);
    for (size_t part = 0; part < a->plan.parts; part++)
        w->tails[part].number = NONE;
    return 0;
}

void deferred_writer_free(struct deferred_writer *w)
{
    if (w == NULL)
        return;
    free(w->buffers);
    free(w->next);
    free(w->tails);
    free(w);
}

/* Appends the first `size` bytes of a part's buffer to its extent. */
static int write_buffer(struct deferred_writer *w, size_t part, size_t size)
{
    struct deferred *a = w->deferred;
    struct tail *tail = &w->tails[part];
    const uint8_t *bytes = (const void *)buffer_of_part(w, part);
    int error = tail->number == NONE ? begin_extent(a, tail) : 0;
    if (error == 0)
        error = file_write(a->fd, extent_offset(tail->number) + tail->used, bytes, size);
    if (error != 0)
        return error;
    tail->crc = checksum_more(tail->crc, bytes, size);
    tail->used += (uint32_t)size;
    if (tail->used == DEFERRED_EXTENT)
        end_extent(a, part, tail);
    return 0;
}

static __attribute__((noinline)) void empty_buffer(struct deferred_writer *w, size_t part)
{
    if (part < w->deferred->plan.parts && w->error == 0)
        w->error = write_buffer(w, part, w->deferred->plan.buffer);
    w->next[part] = buffer_of_part(w, part);
}

/* Positions outside the window go to an extra buffer that is never written: a branch on them would
 * be mispredicted. Each buffer is aligned to its size, so it is full when `next` reaches a multiple
 * of the size. */
void deferred_add(struct deferred_writer *w, const uint64_t *digests, size_t n)
{
    const struct deferred *a = w->deferred;
    const uint64_t first = a->first, units = a->plan.units, outside = a->plan.parts;
    const unsigned k = a->plan.k, shift = a->plan.shift;
    const uintptr_t inside = a->plan.buffer - 1;
    for (size_t j = 0; j < n; j++) {
        uint64_t g = digests[j];
        for (unsigned i = 0; i < k; i++, g *= PROBE_MULTIPLIER) {
            const uint64_t position = probe_reduce(g, units) - first;
            const uint64_t part = position >> shift < outside ? position >> shift : outside;
            uint32_t *place = w->next[part];
            *place++ = (uint32_t)(position & ((1ULL << shift) - 1));
            w->next[part] = place;
            if (__builtin_expect(((uintptr_t)place & inside) == 0, 0))
                empty_buffer(w, (size_t)part);
        }
    }
}

int deferred_end(struct deferred_writer *w)
{
    struct deferred *a = w->deferred;
    for (size_t part = 0; part < a->plan.parts && w->error == 0; part++) {
        const size_t count = (size_t)(w->next[part] - buffer_of_part(w, part));
        if (count > 0)
            w->error = write_buffer(w, part, count * DEFERRED_POSITION);
        if (w->error == 0 && w->tails[part].number != NONE)
            end_extent(a, part, &w->tails[part]);
        w->next[part] = buffer_of_part(w, part);
    }
    return w->error;
}

/* ---- reading */

int deferred_read(struct deferred *a, size_t part, uint32_t *room, deferred_visit *visit,
                  void *context)
{
    for (uint32_t number = a->last[part]; number != NONE;) {
        const struct extent *e = &a->extents[number];
        int error = file_read(a->fd, extent_offset(number), room, e->used);
        if (error != 0)
            return error;
        if (checksum((const void *)room, e->used) != e->crc)
            return EIO;
        visit(context, room, e->used / DEFERRED_POSITION);
        number = e->previous;
    }
    return 0;
}
