/* SPDX-License-Identifier: MIT
 *
 * The keys of this suite, in the order of their digests: as they are added one after the other, a
 * blocked filter gets its pages one after the other. So at any moment there are pages that were
 * never written to disk, and may fail to be. Each writer has keys of its own, from all over.
 */
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

/* Released by free(). Ends the program if there is no memory. */
struct keys *keys_new(void);

/* `number` counts the writer's keys, from 0. */
const struct key *keys_get(const struct keys *keys, unsigned writer, unsigned number);

#endif
