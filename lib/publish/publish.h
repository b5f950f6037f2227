/* SPDX-License-Identifier: MIT
 * Publishing files atomically: write a temporary file in the same directory, fsync, link or rename,
 * fsync the directory. Where the file system supports O_TMPFILE, the temporary file has no name,
 * and even a kill leaves nothing behind. Named temporary files left by a kill are removed later. */
#ifndef BLOOMFILE_PUBLISH_PUBLISH_H
#define BLOOMFILE_PUBLISH_PUBLISH_H

#include <bloomfile.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "publish/replace.h"

/* ---- The caller's destination of a function that writes a filter or a patch. */

#define DESTINATION_PART 0 /* internal kind: at offset `at` of `fd`, in an unpublished file */

struct destination {
    struct bloomfile_destination to;     /* a copy of the caller's */
    struct bloomfile_destination *given; /* the caller's, which receives memory and size */
    struct replace_only only;            /* the file that it may replace */
    uint64_t at;
};

/* Checks the caller's struct and copies it. Returns 0, BLOOMFILE_ESTRUCTSIZE, _EFLAGS or
 * _EVALUE. */
int destination_take(struct destination *d, struct bloomfile_destination *given);

static inline struct destination destination_part(int fd, uint64_t at)
{
    struct destination d = { .to = bloomfile_to_fd(fd), .at = at };
    d.to.kind = DESTINATION_PART;
    return d;
}

static inline bool destination_is_memory(const struct destination *d)
{
    return d->to.kind == BLOOMFILE_TO_MEMORY || d->to.kind == BLOOMFILE_TO_BUFFER;
}

/* In memory. */

/* Checks that `size` bytes fit. Returns 0; BLOOMFILE_ETOOBIG; or ERANGE if the caller's buffer is
 * too small, and then stores the size needed in the caller's struct. */
int destination_fits(const struct destination *d, uint64_t size);

/* Returns `size` bytes, aligned to 64: the caller's buffer if it is aligned, otherwise new memory
 * in huge pages (threads that fault in small pages contend: two took longer than one).
 * destination_fits() must have returned 0. Returns NULL if memory runs out. */
void *destination_bytes(const struct destination *d, size_t size);

/* Gives the complete bytes to the caller. */
void destination_give(const struct destination *d, void *bytes, size_t size);

/* Frees bytes that were not given to the caller. NULL is allowed. */
void destination_drop(const struct destination *d, void *bytes);

/* ---- Files. */

struct publication;

/* Creates the temporary file that will become `path`, and sets *fd to its descriptor, for reading
 * and writing, which the publication owns. Follows symbolic links. Returns EEXIST if a file exists,
 * unless `replace` is set and it is regular; otherwise BLOOMFILE_ENOTREGULAR or EISDIR. */
int publish_start(struct publication **out, const char *path, bool replace, int *fd);

/* publish_start() with the rights of another file: if no file is replaced, the new file gets the
 * rights of `like`, the absolute path of a file in the same folder. The string must last until the
 * publication ends. NULL: default rights. */
int publish_start_like(struct publication **out, const char *path, bool replace, const char *like,
                       int *fd);

/* publish_start() for a destination that is not a path. The file is unnamed, in spool_folder(), or
 * in memory if the destination is memory. publish_finish() copies it to the destination. */
int publish_copy(struct publication **out, const struct destination *to, int *fd);

/* Lets the publication replace only the file `only`, if it is unchanged (replace_only_check).
 * Returns BLOOMFILE_EREPLACED, now or from publish_finish(), if the path names another file or no
 * file. Between check and rename, locks (replace_lock) exclude other processes of this library, and
 * writers of the old file. A file that another program renames to the path between these two system
 * calls is lost without an error. Does nothing if `only` is not wanted. */
int publish_replace_only(struct publication *p, const struct replace_only *only);

/* publish_replace_only() for all publications that this thread starts later, except those with the
 * rights of another file. */
void publish_thread_replaces_only(const struct replace_only *only);

/* The file of publish_thread_replaces_only(). */
const struct replace_only *publish_thread_only(void);

/* Has publish_finish() call before(context) when the file is on disk and may be renamed, directly
 * before the rename. If that returns an error, the file is discarded. */
void publish_call_before(struct publication *p, int (*before)(const void *), const void *context);

/* Syncs the file and gives it its name. Returns 0 or an error. After an error nothing is left
 * behind and the old file is untouched, except if only the last step fails, the fsync of the
 * directory: then the complete new file is in place. FUSE is an exception (doc/portability.md). */
int publish_finish(struct publication *p);

/* Discards the file. NULL is allowed. */
void publish_abandon(struct publication *p);

#endif
