/* SPDX-License-Identifier: MIT */
#include <bloomfile_inspect.h>

#include "body.h"
#include "handle.h"
#include "team.h"

int bloomfile_verify(const bloomfile *f, unsigned threads, struct bloomfile_fault *fault)
{
    if (threads > TEAM_MOST)
        return BLOOMFILE_EPARAMS;
    if (f->live != NULL)
        return BLOOMFILE_ELIVE;
    map_expect(&f->map, MAP_SCAN);
    int error = body_verify(&f->header, f->view.body, f->guard, threads, fault);
    map_expect(&f->map, MAP_LOOKUPS);
    return error;
}
