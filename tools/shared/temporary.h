/* SPDX-License-Identifier: MIT
 *
 * Temporary files without a name: nothing of them remains, whatever happens.
 */
#ifndef BLOOMFILE_TOOLS_TEMPORARY_H
#define BLOOMFILE_TOOLS_TEMPORARY_H

/* Opens a new one in the folder, for reading and writing. -1: errno says why not. */
int temporary_file(const char *folder);

/* $TMPDIR, or /tmp. */
const char *temporary_folder(void);

#endif
