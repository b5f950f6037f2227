/* SPDX-License-Identifier: MIT
 * The layers that a handle asks. Lookups may go on while others are found. */
#ifndef BLOOMFILE_LAYERS_H
#define BLOOMFILE_LAYERS_H

#include <pthread.h>
#include <stdatomic.h>

#include "handle/handle.h"

/* Never changes; replaced as a whole. */
struct layers {
    struct layers *replaced; /* the set before this one, if it is still to be freed */
    size_t count;
    bloomfile *list[]; /* oldest first */
};

/* A process's own; fork() wipes it. */
struct series_process {
    bool own; /* the process that opened the handle */
    pthread_mutex_t finding, asking;
    pthread_rwlock_t use; /* of a forgetting series: held shared while layers are used */
    atomic_llong room; /* new keys that may be added before the newest layer is looked at again */
};

struct series {
    struct layers *_Atomic now;
    struct series_process *process;
    char *path;     /* of the first layer's file, without links; NULL: sealed, or in memory */
    unsigned flags; /* of the opening */
    uint32_t generations;
    bool live;
    bool writing;
    int finished; /* result of bloomfile_finish() */
};

static inline bloomfile *layers_newest(const struct layers *l)
{
    return l->list[l->count - 1];
}

/* Makes the handle of a series from its first layer, whose only owner it is from here on, also on
 * failure. path: for a live series in files. */
int layers_start(bloomfile **out, bloomfile *first, const char *path, unsigned flags);

/* The same set with room for more; NULL: no memory. */
struct layers *layers_copy(const struct layers *l, size_t more);

/* The set, whose layers stay open until layers_leave(). A growing series never closes any. */
static inline const struct layers *layers_enter(const bloomfile *f)
{
    struct series *s = f->series;
    if (s->generations != 0)
        pthread_rwlock_rdlock(&s->process->use);
    return atomic_load_explicit(&s->now, memory_order_acquire);
}

static inline void layers_leave(const bloomfile *f)
{
    if (f->series->generations != 0)
        pthread_rwlock_unlock(&f->series->process->use);
}

/* Makes `next` the set; and closes layers that are not in it any more, if nobody uses any at the
 * moment, the calling thread included. For one thread at a time, which holds `finding`, or has the
 * handle to itself. */
void layers_replace(const bloomfile *f, struct layers *next);
void layers_tidy(const bloomfile *f);

/* Closes those layers of a set that are not in another one, which may be NULL, and frees it. */
void layers_free(struct layers *l, const struct layers *kept);

void layers_close(bloomfile *f);

#endif
