/* SPDX-License-Identifier: MIT
 *
 * The filter of a table that never changes: the part to copy. It knows nothing of tables, but for
 * their identity: 16 random bytes, drawn when a table is written and kept in it, which are the
 * filter's tag. So no filter can be taken for that of another table, whatever the two are called,
 * or of this one before it was rewritten.
 *
 * A filter may only spare a search. One in any doubt is not asked: every lookup searches the table.
 */
#ifndef FILTER_H
#define FILTER_H

#include <bloomfile.h>

#include <stdatomic.h>
#include <stdbool.h>

enum filter_state {
    FILTER_UNWANTED, /* not opened */
    FILTER_IN_USE,
    FILTER_NAMELESS, /* the table has no (sound) identity: which filter is its own is unknown */
    FILTER_MISSING,
    FILTER_STALE,   /* of other rows */
    FILTER_FOREIGN, /* no filter, or one that is not made as filter_begin() does */
    FILTER_DAMAGED,
    FILTER_UNREADABLE, /* an error of the system */
};

struct filter {
    bloomfile_filter *handle; /* NULL unless FILTER_IN_USE */
    enum filter_state state;
    int error; /* why it is not in use: bloomfile_strerror(); 0: the state says it all */
    atomic_flag damage_told;
};

/* ---- with a new table; what returns an int returns 0, an errno or a BLOOMFILE_E* */

struct filter_options {
    uint32_t layout; /* blocked, or ribbon: a third smaller, but it cannot be merged */
    double fpr;
    uint64_t seed; /* one for all tables, so that a key is hashed once for all of them */
    uint8_t identity[BLOOMFILE_TAG_SIZE]; /* of the table */
};

int filter_draw_identity(struct filter_options *options);

/* A filter to be built: bloomfile_builder_add() takes each key. It goes to its own file,
 * atomically, by bloomfile_builder_write(), before the table gets its name: a filter without a
 * table harms nobody, a table without its filter is slow for as long as it lives. */
int filter_begin(bloomfile_builder **out, const struct filter_options *options);

/* Or it makes an image in memory (bloomfile_to_memory), which is appended to the table's file. */
int filter_embed(int fd, const void *image, size_t size, uint64_t *offset);

/* ---- with a table */

/* The image of `size` bytes at `offset` in `fd`, or if size is 0 the file `path`. See f->state. */
void filter_open(struct filter *f, const struct filter_options *options, const char *path, int fd,
                 uint64_t offset, uint64_t size);
void filter_close(struct filter *f);

/* Whether the table must be searched for a key with this digest: bloomfile_hash(seed, ...). */
static inline bool filter_may_have(const struct filter *f, bloomfile_digest digest)
{
    return f->handle == NULL || bloomfile_contains_digest(f->handle, digest);
}

/* The same for many; returns for how many. */
size_t filter_may_have_many(const struct filter *f, const bloomfile_digest *digests, size_t count,
                            bool *maybe);

/* The damage that lookups have met, an error, the first time that it is called after it; else 0. It
 * turns "no" into "maybe", so a call after a "maybe" reports it soon enough. */
int filter_news_of_damage(struct filter *f);

/* Whether the file was overwritten while it was open: then a "no" since the last call may be wrong,
 * so call this when the answers of a request are complete, and before they are used. Takes 2 to 8
 * us, and longer once if the file's ctime has changed; not needed with BLOOMFILE_OPEN_COPY. */
bool filter_was_overwritten(const struct filter *f);

/* "stale" and so on. */
const char *filter_state_name(enum filter_state state);

#endif
