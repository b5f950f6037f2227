/* SPDX-License-Identifier: MIT
 * Sealing in place, and sealed copies. */
#include <bloomfile_live.h>
#include <bloomfile_unstable.h>

#include "image/params.h"
#include "live/handle.h"

int bloomfile_seal(bloomfile_filter *f, const uint8_t watermark[BLOOMFILE_WATERMARK_SIZE])
{
    return f->operations->seal(f, watermark);
}

/* ---- copies */

int bloomfile_replace_only(bloomfile_filter *f, int fd)
{
    struct replace_only only;
    const int error = replace_only_note(&only, fd);
    if (error == 0)
        f->only = only;
    return error;
}

int bloomfile_thread_replaces_only(int fd)
{
    struct replace_only only = { 0 };
    const int error = fd != BLOOMFILE_REPLACES_ANY ? replace_only_note(&only, fd) : 0;
    if (error == 0)
        publish_thread_replaces_only(&only);
    return error;
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
