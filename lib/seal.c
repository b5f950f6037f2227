/* SPDX-License-Identifier: MIT
 * Sealing in place, and sealed copies. */
#include <bloomfile_live.h>
#include <errno.h>
#include <sys/stat.h>

#include "live/handle.h"

int bloomfile_seal(bloomfile_filter *f)
{
    return f->operations->seal(f);
}

/* ---- copies */

int bloomfile_replace_only(bloomfile_filter *f, int fd)
{
    struct publish_only only = { .wanted = true, .exists = fd >= 0 };
    if (only.exists && fstat(fd, &only.file) != 0)
        return errno;
    f->only = only;
    return 0;
}

int bloomfile_seal_to(const char *path, const bloomfile_filter *f, unsigned flags)
{
    return f->operations->copy(f, new_image_to_file(path, flags));
}

int bloomfile_seal_to_fd(int fd, const bloomfile_filter *f, const char *spool)
{
    return f->operations->copy(f, new_image_to_fd(fd, spool));
}

int bloomfile_seal_to_memory(void **image, size_t *size, const bloomfile_filter *f)
{
    return f->operations->copy(f, new_image_to_memory(image, size));
}
