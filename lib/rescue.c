/* SPDX-License-Identifier: MIT
 * Saving a live filter that cannot be written to disk any more. */
#include <bloomfile_live.h>

#include "combine/rescue.h"
#include "series/series.h"

int bloomfile_rescue(const char *dst, const bloomfile *f, unsigned flags)
{
    if (f->series != NULL)
        return series_rescue(f, dst, flags);
    if (header_is_layer(&f->header))
        return BLOOMFILE_ENOTONE;
    return rescue(new_image_to_file(dst, flags), f, 0, false);
}
