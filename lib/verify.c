/* SPDX-License-Identifier: MIT */
#include "body.h"
#include "filter.h"

int bloomfile_verify(const bloomfile *f, struct bloomfile_fault *fault)
{
    return body_verify(&f->header, f->body, f->guard, fault);
}
