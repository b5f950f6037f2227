/* SPDX-License-Identifier: MIT */
#include "spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* For file systems that have no unnamed files: a name for a moment. */
static int open_and_unlink(const char *folder)
{
    char *name;
    if (asprintf(&name, "%s/.bloomfile.XXXXXX", folder) < 0) {
        errno = ENOMEM;
        return -1;
    }
    int fd = mkostemp(name, O_CLOEXEC);
    if (fd >= 0)
        unlink(name);
    free(name);
    return fd;
}

int spool_file(const char *folder, int *fd)
{
    if (folder == NULL)
        folder = secure_getenv("TMPDIR");
    if (folder == NULL || *folder == '\0')
        folder = "/tmp";
    *fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (*fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))
        *fd = open_and_unlink(folder);
    return *fd < 0 ? errno : 0;
}
