/* SPDX-License-Identifier: MIT
 * File systems that can hold a live filter. */
#ifndef BLOOMFILE_FILESYSTEM_H
#define BLOOMFILE_FILESYSTEM_H

#include <stdbool.h>

/* Whether all who map a file of this file system share its bytes. BLOOMFILE_EFILESYSTEM if other
 * hosts, with page caches of their own, may use it; an errno. *layered: the file may lie in a lower
 * layer of an overlay, which the first writer copies up; so only descriptors opened after that
 * share bytes. */
int filesystem_check(int fd, bool *layered);

/* *apart: a new name of a file may be an inode of its own, with its own locks and page cache, as
 * libfuse's are to Linux. 0 or an errno. */
int filesystem_links_apart(int fd, bool *apart);

/* Whether locks on its files are known to bind everybody who can reach them. */
bool filesystem_is_local(int fd);

#endif
