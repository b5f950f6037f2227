/* SPDX-License-Identifier: MIT
 * Temporary files without a name: nothing of them remains, whatever happens. */
#ifndef BLOOMFILE_SPOOL_H
#define BLOOMFILE_SPOOL_H

/* The folder that the caller named; NULL: $TMPDIR or /tmp. Valid until the environment changes. */
const char *spool_folder(const char *named);

/* Opens a new one in a folder, for reading and writing. 0, or an errno and *fd is -1. */
int spool_file(const char *folder, int *fd);

#endif
