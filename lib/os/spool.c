/* SPDX-License-Identifier: MIT
 * Temporary files without a name: by O_TMPFILE, or by removing the name right after creation. */
#include "os/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "os/file.h"
#include "os/signals.h"

/* For file systems without unnamed files: a name for a moment, in which only a kill can leave it
 * behind. */
static int open_and_unlink(const char *folder, int *fd)
{
    char *name;
    if (asprintf(&name, "%s/.bloomfile.XXXXXX", folder) < 0)
        return ENOMEM;
    sigset_t before;
    signals_hold(&before);
    *fd = mkostemp(name, O_CLOEXEC);
    int error = *fd < 0 || unlinkat(AT_FDCWD, name, 0) != 0 ? errno : 0;
    signals_let_go(&before);
    free(name);
    if (error != 0 && *fd >= 0) {
        close(*fd);
        *fd = -1;
    }
    if (error == 0 && (*fd = file_apart(*fd)) < 0)
        error = errno;
    return error;
}

const char *spool_folder(const char *named)
{
    const char *folder = named != NULL ? named : secure_getenv("TMPDIR");
    return folder != NULL && *folder != '\0' ? folder : "/tmp";
}

int spool_file(const char *folder, int *fd)
{
    do
        *fd = openat(AT_FDCWD, folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    while (*fd < 0 && errno == EINTR);
    *fd = file_apart(*fd);
    if (*fd >= 0)
        return 0;
    if (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)
        return open_and_unlink(folder, fd);
    return errno;
}
