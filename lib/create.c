/* SPDX-License-Identifier: MIT
 * New live filters, in a file or in memory. */
#include <bloomfile_live.h>

#include "handle/creating.h"
#include "handle/room.h"
#include "image/params.h"
#include "image/replaced.h"
#include "series/series.h"

static int take(struct bloomfile_params *p, const struct bloomfile_params *given)
{
    int error = params_take(p, given);
    if (error == 0 && layout_of(p->layout)->solved)
        error = BLOOMFILE_ESOLVED;
    if (error == 0)
        error = params_refuse_of_builder(p);
    return error == 0 && p->series == 0 ? params_refuse_of_live(p) : error;
}

/* One that cannot have as many keys as it is made for is an error now, not at the first of them. */
static int plan(const struct bloomfile_params *p, unsigned flags, struct header *h)
{
    const int error = creating_plan(p, h);
    return error == 0 && room_limit(h, flags) < h->capacity ? BLOOMFILE_EFULL : error;
}

int bloomfile_create(bloomfile **out, const char *path, const struct bloomfile_params *params,
                     unsigned flags)
{
    *out = NULL;
    if (path == NULL ||
        (flags & ~(BLOOMFILE_REPLACE | BLOOMFILE_ADD_EXACT | BLOOMFILE_OVER_CAPACITY)) != 0)
        return BLOOMFILE_EPARAMS;
    struct bloomfile_params p;
    struct header h;
    int error = take(&p, params);
    if (error == 0 && p.series != 0)
        return series_create(out, path, &p, flags);
    if (error == 0)
        error = plan(&p, flags, &h);
    if (error == 0)
        error = replaced_check(path, flags);
    return error != 0 ? error : creating_file(out, path, NULL, &h, flags);
}

int bloomfile_create_memory(bloomfile **out, const struct bloomfile_params *params, unsigned flags)
{
    *out = NULL;
    if ((flags & ~(BLOOMFILE_ADD_EXACT | BLOOMFILE_SOLE_ADDER | BLOOMFILE_OVER_CAPACITY)) != 0)
        return BLOOMFILE_EPARAMS;
    struct bloomfile_params p;
    struct header h;
    int error = take(&p, params);
    if (error == 0 && p.series != 0)
        return series_create(out, NULL, &p, flags);
    if (error == 0)
        error = plan(&p, flags, &h);
    return error != 0 ? error : creating_memory(out, &h, flags);
}
