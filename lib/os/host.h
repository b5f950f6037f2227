/* SPDX-License-Identifier: MIT
 * Properties of this machine: whether other hosts share its file systems; its boot_id; and random
 * identities. */
#ifndef BLOOMFILE_OS_HOST_H
#define BLOOMFILE_OS_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- File systems that can hold a live filter. */

/* Checks that all processes that map a file of this file system share its pages. Returns 0;
 * BLOOMFILE_EFILESYSTEM if other hosts, which have their own page caches, may use it; or an errno.
 * Sets *layered if the file may be in a lower layer of overlayfs: the first writer copies it up,
 * and only descriptors opened after that share pages. */
int filesystem_check(int fd, bool *layered);

/* Sets *apart if a second name of a file may be a separate inode, with its own locks and page
 * cache, as in file systems on libfuse. Returns 0 or an errno. */
int filesystem_links_apart(int fd, bool *apart);

/* Returns whether file locks are known to bind all processes that can reach the files. */
bool filesystem_is_local(int fd);

/* ---- The identity of the running system's boot. */

#define BOOT_ID_SIZE 16

/* Gets the boot_id of the running system, which is never all zero. Returns 0; BLOOMFILE_ENOBOOT if
 * the system does not provide it; or an errno. */
int boot_id(uint8_t id[BOOT_ID_SIZE]);

/* ---- Random identities. */

/* Fills `size` bytes, at most 256, with random values that are not all zero. Returns 0 or an
 * errno. */
int random_identity(void *bytes, size_t size);

#endif
