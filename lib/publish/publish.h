/* SPDX-License-Identifier: MIT
 * Files that appear whole or not at all: a temporary file in the same directory, fsync, link or
 * rename, fsync of the directory. If the file system can (O_TMPFILE), the temporary file has no
 * name, and even a kill leaves nothing behind. Named temporary files that a kill left are removed
 * later. */
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
    bool wanted; /* false: any file may be replaced */
    bool exists; /* false: the path must be free */
    struct stat file;
};

#define DESTINATION_PART 0 /* a kind: at `at` of `fd`, a file that another function publishes */

struct destination {
    struct bloomfile_destination to;     /* a copy of the caller's */
    struct bloomfile_destination *given; /* the caller's, which receives memory and size */
    struct publish_only only;            /* the file that it may replace */
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
    return d->to.kind == BLOOMFILE_TO_MEMORY || d->to.kind == BLOOMFILE_TO_BUFFER;
}

/* In memory. */

/* Whether there is room for `size` bytes. BLOOMFILE_ETOOBIG; ERANGE: the caller's buffer is too
 * small, and the caller's struct gets the size that is needed. */
int destination_fits(const struct destination *d, uint64_t size);

/* `size` bytes that fit (destination_fits()), aligned to 64: the caller's buffer if it is aligned,
 * otherwise huge pages. Threads that fault in small pages hold each other up: two took longer than
 * one. NULL: out of memory. */
void *destination_bytes(const struct destination *d, size_t size);

/* Hands the complete bytes to the caller. */
void destination_give(const struct destination *d, void *bytes, size_t size);

/* Frees bytes that were not handed over. NULL is allowed. */
void destination_drop(const struct destination *d, void *bytes);

/* ---- Files. */

struct publication;

/* Makes the temporary file that will become `path`, and returns its descriptor, for reading and
 * writing. The publication owns the descriptor. Follows a symbolic link. An existing regular file
 * is replaced if `replace`, otherwise EEXIST. Any other existing file: BLOOMFILE_ENOTREGULAR or
 * EISDIR. */
int publish_start(struct publication **out, const char *path, bool replace, int *fd);

/* The same. If no file is replaced, the new file gets the rights of `like`, the absolute path of
 * another file in that folder, which must last until the end. NULL: the rights of any new file. */
int publish_start_like(struct publication **out, const char *path, bool replace, const char *like,
                       int *fd);

/* The same for a destination that is not a path. The file has no name and is in spool_folder(), or
 * in memory if the destination is memory. It is copied to the destination at the end. */
int publish_copy(struct publication **out, const struct destination *to, int *fd);

/* Lets the publication replace only that file, unchanged since then (device, inode, size, time of
 * modification). BLOOMFILE_EREPLACED, now or from publish_finish(), if the path names another file,
 * or no file. Processes of this library exclude each other from the check to the rename, by a lock,
 * if locks bind them (filesystem_is_local) and no other program keeps it (replace.h). A file that
 * another program renames to the path between these two system calls is lost without notice. */
int publish_replace_only(struct publication *p, const struct publish_only *only);

/* Syncs the file and gives it its name. 0, or an error: then nothing is left behind and the old
 * file is untouched. There is one exception: if only the last step fails, the flush of the
 * directory, the complete new file is in place. */
int publish_finish(struct publication *p);

/* Leaves nothing behind. NULL is allowed. */
void publish_abandon(struct publication *p);

#endif
