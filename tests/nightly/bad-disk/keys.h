/* SPDX-License-Identifier: MIT
 * The keys of this suite, in the order of their digests. Adds in this order fill the pages of a
 * blocked filter one after the other. So at any moment some pages were never written to disk,
 * and writing them may fail. Each writer has separate keys, spread over all digests. */
#ifndef BAD_DISK_KEYS_H
#define BAD_DISK_KEYS_H

#include <bloomfile.h>

enum {
    WRITERS = 4,
    KEYS = 1 << 14 /* of each writer */
};

struct keys {
    struct key {
        bloomfile_digest digest;
        unsigned number; /* the key is "key NUMBER" */
    } of[WRITERS * KEYS];
};

/* Free the result with free(). Ends the program if memory runs out. */
struct keys *keys_new(void);

/* `number` counts the writer's keys, from 0. */
const struct key *keys_get(const struct keys *keys, unsigned writer, unsigned number);

#endif
