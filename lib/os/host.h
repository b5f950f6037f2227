/* SPDX-License-Identifier: MIT
 * This machine: its file systems, which other hosts may share, its boot, and random
 * identities. */
#ifndef BLOOMFILE_OS_HOST_H
#define BLOOMFILE_OS_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Which file systems can hold a live filter. */

/* Whether all processes that map a file of this file system share its bytes. BLOOMFILE_EFILESYSTEM
 * if other hosts, with page caches of their own, may use it; an errno. *layered: the file may be in
 * a lower layer of an overlay. The first writer copies it up, so only descriptors opened after that
 * share bytes. */
int filesystem_check(int fd, bool *layered);

/* *apart: a new name of a file may be an inode of its own, with its own locks and page cache, as in
 * file systems on libfuse. 0 or an errno. */
int filesystem_links_apart(int fd, bool *apart);

/* Whether locks on its files are known to bind all processes that can reach them. */
bool filesystem_is_local(int fd);

/* ---- The identity of the running system's boot. */

#define BOOT_ID_SIZE 16

/* The identity of the running system's boot; never all zero. BLOOMFILE_ENOBOOT if the system does
 * not offer it; an errno. */
int boot_id(uint8_t id[BOOT_ID_SIZE]);

/* ---- Random identities. */

/* Fills `size` bytes, at most 256, with random values that are not all zero. 0 or an errno. */
int random_identity(void *bytes, size_t size);

#endif
