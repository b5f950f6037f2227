/* SPDX-License-Identifier: MIT */
#include "body.h"
#include "handle.h"

int bloomfile_verify(const bloomfile *f, struct bloomfile_fault *fault)
{
    if (f->live != NULL)
        return BLOOMFILE_ELIVE;
    map_expect(&f->map, MAP_SCAN);
    int error = body_verify(&f->header, f->view.body, f->guard, fault);
    map_expect(&f->map, MAP_LOOKUPS);
    return error;
}
