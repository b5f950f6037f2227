/* SPDX-License-Identifier: MIT
 *
 * Files that appear whole or not at all: temporary in the same directory, fsync, link or rename,
 * fsync of the directory. The temporary has no name where the file system can do that (O_TMPFILE),
 * so that not even a kill leaves it behind. Named ones that a kill has left there are removed.
 */
#ifndef BLOOMFILE_PUBLISH_H
#define BLOOMFILE_PUBLISH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct publication;

/* Makes the temporary that is to become `path`, and gives its descriptor, for reading and writing;
 * it stays the publication's. A symbolic link is followed. `replace`: an existing regular file will
 * be replaced; otherwise EEXIST. Anything else there is BLOOMFILE_ENOTREGULAR or EISDIR. Where the
 * temporary has a name, the calling thread's signals are held back from here to the end. */
int publish_start(struct publication **out, const char *path, bool replace, int *fd);

/* The same for what goes to a descriptor, from where it stands: it is made in an unnamed file, in a
 * folder as for spool_folder(), and copied in the end. */
int publish_to_stream(struct publication **out, int stream, const char *folder, int *fd);

/* Syncs what has been written and gives it its name. 0, or an error after which nothing is left and
 * what was there is untouched; only when the last step fails, the fsync of the directory, is the
 * complete new file in place all the same. */
int publish_finish(struct publication *p);

/* Leaves nothing behind. NULL is allowed. */
void publish_abandon(struct publication *p);

/* Makes the file `size` bytes large. `reserve`: every block of it is allocated, by writing zeros if
 * the file system knows no better way; otherwise only where that is cheap. */
int publish_allocate(int fd, uint64_t size, bool reserve);

#endif
