/* SPDX-License-Identifier: MIT
 * By what layers of a live series know each other. */
#ifndef BLOOMFILE_SERIES_IDENTITY_H
#define BLOOMFILE_SERIES_IDENTITY_H

#include <errno.h>
#include <stdint.h>
#include <sys/random.h>

/* A random number that is not 0. */
static inline int identity_new(uint64_t *identity)
{
    *identity = 0;
    do
        if (getrandom(identity, sizeof *identity, 0) < 0 && errno != EINTR)
            return errno;
    while (*identity == 0);
    return 0;
}

#endif
