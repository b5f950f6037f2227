/* SPDX-License-Identifier: MIT
 *
 * Files that appear whole or not at all: temporary in the same directory, fsync, link or rename,
 * fsync of the directory. The temporary has no name where the file system can do that (O_TMPFILE),
 * so that not even a kill leaves it behind.
 */
#ifndef BLOOMFILE_PUBLISH_H
#define BLOOMFILE_PUBLISH_H

#include <stdbool.h>
#include <stddef.h>

/* Writes `size` bytes and gives them the name `path`. A symbolic link is followed. `replace`: an
 * existing regular file is replaced; otherwise EEXIST. Anything else there is BLOOMFILE_ENOTREGULAR
 * or EISDIR. 0, or an error after which nothing is left and what was there is untouched; only when
 * the last step fails, the fsync of the directory, is the complete new file in place all the same.
 */
int publish(const char *path, const void *bytes, size_t size, bool replace);

#endif
