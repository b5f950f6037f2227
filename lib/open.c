/* SPDX-License-Identifier: MIT
 * Opening and closing handles. */
#include <bloomfile_inspect.h>
#include <unistd.h>

#include "handle/opening.h"
#include "os/file.h"
#include "series/series.h"

#define OPEN_FLAGS                                                                                 \
    (BLOOMFILE_VERIFY_FULL | BLOOMFILE_VERIFY_NONE | BLOOMFILE_WRITE | BLOOMFILE_ACCEPT_UNCLEAN |  \
     BLOOMFILE_ADD_EXACT | BLOOMFILE_PREFAULT | BLOOMFILE_LOCK | BLOOMFILE_COPY |                  \
     BLOOMFILE_APP_HASH | BLOOMFILE_OVER_CAPACITY)

static bool flags_valid(unsigned flags, bool by_path)
{
    const unsigned verify = BLOOMFILE_VERIFY_FULL | BLOOMFILE_VERIFY_NONE;
    bool writing = (flags & BLOOMFILE_WRITE) != 0;
    if ((flags & ~OPEN_FLAGS) != 0 || (flags & verify) == verify)
        return false;
    if (writing && (!by_path || (flags & (verify | BLOOMFILE_COPY)) != 0))
        return false;
    return writing || (flags & (BLOOMFILE_ADD_EXACT | BLOOMFILE_OVER_CAPACITY)) == 0;
}

/* The layers of a series behind the first one, of which there is a handle; then the handle of all.
 */
int bloomfile_open(bloomfile **out, const char *path, unsigned flags)
{
    *out = NULL;
    if (!flags_valid(flags, true))
        return BLOOMFILE_EPARAMS;
    int rest, error = opening_by_path(out, path, flags, &rest);
    if (error == 0 && header_is_layer(&(*out)->header))
        error = (*out)->live != NULL ? series_open_live(out, path, flags)
                                     : series_open_sealed(out, rest, 0, flags);
    if (rest >= 0)
        close(rest);
    return error;
}

int bloomfile_open_fd(bloomfile **out, int fd, uint64_t offset, uint64_t length, unsigned flags)
{
    *out = NULL;
    if (!flags_valid(flags, false))
        return BLOOMFILE_EPARAMS;
    struct stat status;
    int error = file_stat(fd, &status);
    if (error == 0)
        error = opening_range(out, fd, &status, offset, length, flags);
    return error == 0 && header_is_layer(&(*out)->header)
               ? series_open_sealed(out, fd, offset, flags)
               : error;
}

int bloomfile_open_memory(bloomfile **out, const void *image, size_t size, unsigned flags)
{
    *out = NULL;
    const bool held = (flags & (BLOOMFILE_LOCK | BLOOMFILE_PREFAULT)) != 0;
    if (!flags_valid(flags, false) || (held && (flags & BLOOMFILE_COPY) == 0))
        return BLOOMFILE_EPARAMS;
    int error = opening_memory(out, image, size, flags);
    return error == 0 && header_is_layer(&(*out)->header)
               ? series_open_memory(out, image, size, flags)
               : error;
}

void bloomfile_close(bloomfile *f)
{
    if (f == NULL)
        return;
    if (f->series != NULL)
        series_close(f);
    else
        opening_close(f);
}

uint64_t bloomfile_seed(const bloomfile *f)
{
    return f->header.seed;
}

const char *bloomfile_kernel_name(const bloomfile *f)
{
    return f->kernel->name;
}
