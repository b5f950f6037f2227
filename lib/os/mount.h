/* SPDX-License-Identifier: MIT
 * Mount points, such as a single file that a container is given. */
#ifndef BLOOMFILE_MOUNT_H
#define BLOOMFILE_MOUNT_H

#include <stdbool.h>

/* Whether something is mounted on the file of that name, which is not a symbolic link. `directory`:
 * a descriptor, or AT_FDCWD. false where the system does not tell. */
bool mount_is_point(int directory, const char *name);

#endif
