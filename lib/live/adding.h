/* SPDX-License-Identifier: MIT
 * Adding to one live image. */
#ifndef BLOOMFILE_LIVE_ADDING_H
#define BLOOMFILE_LIVE_ADDING_H

#include "live/handle.h"

#define ADDING_MOST 1024 /* digests at once: between two checks of the file's state */
#define ADDING_SUCCEEDED                                                                           \
    INT32_MIN /* no error of the interface: the layer has a successor, and does not accept more    \
                 keys */

struct adding_done {
    size_t keys;     /* that were added; after an error, the first keys */
    size_t new_keys; /* of these */
};

/* Adds n digests, ADDING_MOST at most, and to *done what was done. was_new may be NULL; it is set
 * for what was added. BLOOMFILE_EFULL: the next key is new, and capacity_limit() is reached. */
int adding(bloomfile_filter *f, const uint64_t *digests, size_t n, bool *was_new,
           struct adding_done *done);

/* Adds all of them, though the layer may be full. */
int adding_late(bloomfile_filter *f, const uint64_t *digests, size_t n);

/* Takes one add of a key back, from a counting image. BLOOMFILE_EABSENT: it is certainly absent. */
int removing(bloomfile_filter *f, uint64_t digest);

#endif
