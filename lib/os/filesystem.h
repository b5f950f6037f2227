/* SPDX-License-Identifier: MIT
 * Which file systems a live filter can be trusted to. */
#ifndef BLOOMFILE_FILESYSTEM_H
#define BLOOMFILE_FILESYSTEM_H

#include <stdbool.h>

/* Whether all who map a file of this file system see the same bytes at once. BLOOMFILE_EFILESYSTEM
 * if other hosts may have it, whose memory is not this one's; an errno. *layered: that is so of
 * those only who opened the file after somebody had opened it for writing, since it may lie in a
 * layer below, of which writers get a copy. */
int filesystem_check(int fd, bool *layered);

/* Whether locks on its files are known to hold for all who can reach them. */
bool filesystem_is_local(int fd);

#endif
