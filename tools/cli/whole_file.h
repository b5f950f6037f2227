/* SPDX-License-Identifier: MIT
 * A file that appears complete or not at all. */
#ifndef TOOLS_CLI_WHOLE_FILE_H
#define TOOLS_CLI_WHOLE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "publish/replace.h"

/* Writes a file and syncs it to disk. With `replace`, an existing file is replaced, and the
 * new file gets its rights (rights_keep); otherwise it is the error EEXIST. Follows a symbolic
 * link. Returns 0 or an errno. */
int whole_file_write(const char *path, const void *bytes, size_t size, bool replace);

/* whole_file_write() with `replace`, which replaces only the file `only`. Returns
 * BLOOMFILE_EREPLACED if another file is at the path, or if that file was changed. */
int whole_file_replace_only(const char *path, const void *bytes, size_t size,
                            const struct replace_only *only);

#endif
