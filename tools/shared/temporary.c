/* SPDX-License-Identifier: MIT
 * O_TMPFILE, or a name for a moment. */
#include "shared/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* For file systems that make no files without a name: it has one for a moment, in which only a kill
 * may leave it behind. */
static int make_and_unlink(const char *folder)
{
    char *name;
    if (asprintf(&name, "%s/.bloomfile.XXXXXX", folder) < 0) {
        errno = ENOMEM;
        return -1;
    }
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    int fd = mkostemp(name, O_CLOEXEC);
    int error = fd < 0 || unlink(name) != 0 ? errno : 0;
    sigprocmask(SIG_SETMASK, &before, NULL);
    free(name);
    if (error == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    errno = error;
    return -1;
}

int temporary_file(const char *folder)
{
    int fd = open(folder, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))
        return make_and_unlink(folder);
    return fd;
}

const char *temporary_folder(void)
{
    const char *folder = getenv("TMPDIR");
    return folder != NULL && folder[0] != '\0' ? folder : "/tmp";
}
