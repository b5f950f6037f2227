/* SPDX-License-Identifier: MIT
 * Exclusive right to replace a file: one process holds it at a time. */
#ifndef BLOOMFILE_PUBLISH_REPLACE_LOCK_H
#define BLOOMFILE_PUBLISH_REPLACE_LOCK_H

/* Takes it for the file that has the name when this returns, by flock(). Waits while another
 * process has it, for a second at most. 0, or an errno; close(*claim) gives it back. *claim: -1 if
 * there is no regular file, if it cannot be read or locked, or if another process keeps its lock.
 */
int replace_lock_take(int directory, const char *name, int *claim);

#endif
