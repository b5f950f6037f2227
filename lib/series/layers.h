/* SPDX-License-Identifier: MIT
 * The layers of a handle. Lookups may go on while layers are added and replaced. */
#ifndef BLOOMFILE_LAYERS_H
#define BLOOMFILE_LAYERS_H

#include <pthread.h>
#include <stdatomic.h>

#include "handle/opening.h"

/* A set of layers. Once in use it never changes; it is replaced as a whole. */
struct layers {
    struct layers *newer; /* the set that replaced this one */
    unsigned side;        /* the index in series_process.users that counts its users: 0 or 1 */
    size_t count;
    struct kernel_view *views; /* of the layers, newest first */
    const uint8_t **headers;   /* of a live series: mapped headers, newest first */
    bloomfile_filter *list[];  /* oldest first */
};

/* The state of one process. fork() wipes it. */
struct series_process {
    bool own; /* the process that opened the handle */
    pthread_mutex_t finding;
    atomic_size_t users[2]; /* of a forgetting series: threads between enter and leave */
    struct report report;   /* the last failure to find or make a layer; protected by `finding` */
    pthread_mutex_t repeating;
};

/* Late adds whose repetition failed (live.md, S10). */
struct late {
    size_t count;
    uint64_t digests[];
};

struct series {
    atomic_uintptr_t now;  /* the set; bit 0: its side */
    struct layers *oldest; /* the oldest set not yet freed, the head of a list that `newer` links up
                              to `now` */
    struct series_process *process;
    char *path;     /* of the first layer's file, without links; NULL: sealed, or in memory */
    char *given;    /* the path passed to open, as returned by path_to_keep() */
    int folder;     /* the folder's descriptor, if `given` goes through /proc/self/fd; else -1 */
    unsigned flags; /* of the opening */
    uint32_t generations;
    bool live;
    bool writing;
    atomic_bool many_found; /* the last batch of lookups found many keys */
    bool missing;           /* the last search missed a layer; protected by `finding` */
    int finished;           /* result of bloomfile_finish() */
    /* Replaced only as a whole, under `repeating`: a child of fork() inherits it. */
    _Atomic(struct late *) late;
    atomic_bool late_lost; /* memory ran out, and late adds could not be kept */
};

static inline bloomfile_filter *layers_newest(const struct layers *l)
{
    return l->list[l->count - 1];
}

/* Makes the handle of a series. Takes ownership of its first layer, even on failure. The caller
 * then sets the lookup functions. path: of a live series in files; otherwise NULL. */
int layers_start(bloomfile_filter **out, bloomfile_filter *first, const char *path, unsigned flags);

/* Returns a copy of the set with room for `more` layers; NULL if memory runs out. */
struct layers *layers_copy(const struct layers *l, size_t more);

static inline struct layers *layers_now(const bloomfile_filter *f)
{
    return (struct layers *)(atomic_load_explicit(&f->series->now, memory_order_acquire) &
                             ~(uintptr_t)1);
}

/* Returns the current set, whose layers remain open until layers_leave(). A growing series never
 * closes a layer, so it does not count users. A forgetting series counts the user, then checks that
 * the set is still current: if it is not, layers_tidy() may have freed it before the user was
 * counted. */
static inline const struct layers *layers_enter(const bloomfile_filter *f)
{
    struct series *s = f->series;
    while (s->generations != 0) {
        const uintptr_t now = atomic_load(&s->now);
        atomic_fetch_add(&s->process->users[now & 1], 1);
        if (atomic_load(&s->now) == now) /* counted before the set was replaced */
            return (const struct layers *)(now & ~(uintptr_t)1);
        atomic_fetch_sub(&s->process->users[now & 1], 1);
    }
    return layers_now(f);
}

static inline void layers_leave(const bloomfile_filter *f, const struct layers *l)
{
    if (f->series->generations != 0)
        atomic_fetch_sub(&f->series->process->users[l->side], 1);
}

/* layers_replace() makes `next` the current set. layers_tidy() closes the layers of older sets that
 * are not in it, if those sets have no users; the calling thread must not be a user. The caller
 * holds `finding`, or no other thread uses the handle. */
void layers_replace(const bloomfile_filter *f, struct layers *next);
void layers_tidy(const bloomfile_filter *f);

/* Closes the layers of a set that are not in `kept`, which may be NULL, and frees the set. */
void layers_free(struct layers *l, const struct layers *kept);

/* Bytes from malloc(), not counting those of the layers' handles. */
size_t layers_heap(const bloomfile_filter *f);

void layers_close(bloomfile_filter *f);

#endif
