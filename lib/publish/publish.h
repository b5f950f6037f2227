/* SPDX-License-Identifier: MIT
 * Files that appear whole or not at all: a temporary in the same directory, fsync, link or rename,
 * fsync of the directory. Where the file system can (O_TMPFILE), the temporary has no name, so that
 * not even a kill leaves it behind. Named temporaries that a kill left behind are removed. */
#ifndef BLOOMFILE_PUBLISH_PUBLISH_H
#define BLOOMFILE_PUBLISH_PUBLISH_H

#include <bloomfile.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* ---- The destination of a function that writes a filter or a patch, as its caller gave it. */

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

/* In memory. */

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

/* ---- Files. */

struct publication;

/* Makes the temporary that will become `path`, and returns its descriptor, for reading and writing;
 * the publication owns it. Follows a symbolic link. `replace`: replaces an existing regular file;
 * otherwise EEXIST. Anything else there is BLOOMFILE_ENOTREGULAR or EISDIR. */
int publish_start(struct publication **out, const char *path, bool replace, int *fd);

/* The same with the rights of `like`, another file in that folder, unless one is replaced. That is
 * an absolute path, which must last until the end. NULL: with those that a new file has. */
int publish_start_like(struct publication **out, const char *path, bool replace, const char *like,
                       int *fd);

/* The same for a destination that is not a path: made in an unnamed file, in a folder as for
 * spool_folder() or for memory in memory, and copied at the end. */
int publish_copy(struct publication **out, const struct destination *to, int *fd);

/* Lets it replace that file alone, as it was then (device, inode, size, time of modification).
 * BLOOMFILE_EREPLACED, now or from publish_finish(), if the path names another file, or none.
 * Processes of this library exclude each other from the check to the rename, where locks bind them
 * (filesystem_is_local), unless another program keeps its lock (replace.h). A file that any other
 * process renames to the path between these two system calls is lost without notice. */
int publish_replace_only(struct publication *p, const struct publish_only *only);

/* Syncs the file and gives it its name. 0, or an error; then nothing is left behind and what was
 * there is untouched. Only if the last step fails, the flush of the directory, is the complete new
 * file in place all the same. */
int publish_finish(struct publication *p);

/* Leaves nothing behind. NULL is allowed. */
void publish_abandon(struct publication *p);

#endif
