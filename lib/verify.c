/* SPDX-License-Identifier: MIT
 * Reading a whole body against its checksums and counts. */
#include <bloomfile_inspect.h>

#include "handle/changed.h"
#include "image/body.h"
#include "os/team.h"

/* Describes an error that no byte of the body is to blame for. */
static int blame(struct bloomfile_fault *fault, int error, const char *field, uint64_t offset)
{
    if (fault != NULL)
        *fault = (struct bloomfile_fault){
            .error = error, .offset = offset, .page = UINT64_MAX, .field = field
        };
    return error;
}

static int blame_header(const bloomfile *f, struct bloomfile_fault *fault)
{
    guard_distrust(f->guard, BLOOMFILE_ECHANGED);
    return blame(fault, BLOOMFILE_ECHANGED, "header", 0);
}

int bloomfile_verify(const bloomfile *f, unsigned threads, struct bloomfile_fault *fault)
{
    if (threads > TEAM_MOST)
        return blame(fault, BLOOMFILE_EPARAMS, "threads", 0);
    if (f->live != NULL)
        return blame(fault, BLOOMFILE_ELIVE, "state",
                     header_record_offset(&f->header, f->header.in_force));
    if (changed_header(f))
        return blame_header(f, fault);
    map_expect(&f->map, MAP_SCAN);
    int error = body_verify(&f->header, f->view.body, f->guard, threads, fault);
    map_expect(&f->map, MAP_LOOKUPS);
    return changed_header(f) ? blame_header(f, fault) : error;
}
