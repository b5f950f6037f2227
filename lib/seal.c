/* SPDX-License-Identifier: MIT
 * Sealing in place, and sealed copies. */
#include <bloomfile_live.h>
#include <errno.h>
#include <sys/stat.h>

#include "image/params.h"
#include "live/handle.h"

int bloomfile_seal(bloomfile_filter *f, const uint8_t watermark[BLOOMFILE_WATERMARK_SIZE])
{
    return f->operations->seal(f, watermark);
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

int bloomfile_copy_sealed(struct bloomfile_destination *given, const bloomfile_filter *f,
                          const struct bloomfile_metadata *metadata)
{
    struct destination to;
    struct bloomfile_metadata m;
    int error = destination_take(&to, given);
    if (error == 0)
        error = metadata_take(&m, metadata);
    return error != 0 ? error : f->operations->copy(f, to, &m);
}
