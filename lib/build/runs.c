/* SPDX-License-Identifier: MIT
 * Sorted runs of digests. Interpolation finds a digest's place in a run. */
#include "build/runs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/probe.h"
#include "os/file.h"

#define NEAR 512u /* digests read to find one among them: a page */

int runs_reserve(struct runs *runs, size_t count)
{
    if (count <= runs->room)
        return 0;
    size_t room = count + runs->room;
    struct run *list = realloc(runs->list, room * sizeof *list);
    if (list == NULL)
        return ENOMEM;
    runs->list = list;
    runs->room = room;
    return 0;
}

int runs_load(const struct runs *runs, const struct run *run, uint64_t at, size_t n, uint64_t *to)
{
    if (run->values == NULL)
        return file_read(runs->fd, run->offset + 8 * at, to, 8 * n);
    memcpy(to, run->values + at, n * sizeof *to);
    return 0;
}

/* Narrows [*low, *high) to at most NEAR digests around the place looked for: growing steps from
 * where an even spread would put it, then bisection. */
static int approach(const struct runs *runs, const struct run *run, uint64_t digest, uint64_t *low,
                    uint64_t *high)
{
    uint64_t at = probe_reduce(digest, run->count), value;
    for (uint64_t step = NEAR / 2; *high - *low > NEAR; step *= 2) {
        if (at < *low || at >= *high)
            at = *low + (*high - *low) / 2;
        int error = runs_load(runs, run, at, 1, &value);
        if (error != 0)
            return error;
        if (value < digest) {
            *low = at + 1;
            at += step;
        } else {
            *high = at;
            at -= step;
        }
    }
    return 0;
}

int runs_seek(const struct runs *runs, const struct run *run, uint64_t digest, uint64_t low,
              uint64_t high, uint64_t *place)
{
    uint64_t near[NEAR];
    if (digest <= run->least || digest > run->greatest) {
        *place = digest <= run->least ? low : high;
        return 0;
    }
    int error = approach(runs, run, digest, &low, &high);
    if (error == 0)
        error = runs_load(runs, run, low, (size_t)(high - low), near);
    if (error != 0)
        return error;
    size_t below = 0;
    for (size_t i = 0; i < high - low; i++)
        below += near[i] < digest;
    *place = low + below;
    return 0;
}

int runs_seek_above(const struct runs *runs, const struct run *run, uint64_t digest, uint64_t low,
                    uint64_t high, uint64_t *place)
{
    *place = high;
    return digest == UINT64_MAX ? 0 : runs_seek(runs, run, digest + 1, low, high, place);
}
