/* SPDX-License-Identifier: MIT
 * The destination of a function that writes a filter or a patch, as its caller gave it. */
#ifndef BLOOMFILE_PUBLISH_DESTINATION_H
#define BLOOMFILE_PUBLISH_DESTINATION_H

#include <bloomfile.h>
#include <stdbool.h>
#include <sys/stat.h>

/* The one file that may be replaced. */
struct publish_only {
    bool wanted; /* false: whatever file is there at the end */
    bool exists; /* false: none may be there */
    struct stat file;
};

#define DESTINATION_PART 0 /* a kind: at `at` of `fd`, a file that another function publishes */

struct destination {
    struct bloomfile_destination to;     /* a copy of the caller's */
    struct bloomfile_destination *given; /* the caller's, which receives memory and size */
    struct publish_only only;            /* which file the flags let it replace */
    uint64_t at;
};

/* Checks the caller's struct and copies it. 0, BLOOMFILE_ESTRUCTSIZE, _EFLAGS or _EVALUE. */
int destination_take(struct destination *d, struct bloomfile_destination *given);

static inline struct destination destination_part(int fd, uint64_t at)
{
    struct destination d = { .to = bloomfile_to_fd(fd), .at = at };
    d.to.kind = DESTINATION_PART;
    return d;
}

static inline bool destination_is_memory(const struct destination *d)
{
    return d->to.kind == BLOOMFILE_TO_MEMORY;
}

/* ---- In memory. */

/* Whether there is room. BLOOMFILE_ETOOBIG; ERANGE: the caller's buffer is too small, and the
 * caller's struct has the size that is needed. */
int destination_fits(const struct destination *d, uint64_t size);

/* `size` bytes that destination_fits(), aligned to 64: the caller's buffer if that is; otherwise in
 * huge pages, since threads that need small ones at the same time hold each other up, so that two
 * took longer than one. NULL: out of memory. */
void *destination_bytes(const struct destination *d, size_t size);

/* Hands the complete bytes to the caller. */
void destination_give(const struct destination *d, void *bytes, size_t size);

/* Frees bytes that were not given. NULL is allowed. */
void destination_drop(const struct destination *d, void *bytes);

#endif
