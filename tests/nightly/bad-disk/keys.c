/* SPDX-License-Identifier: MIT
 * The keys, in the order of their digests. */
#include "keys.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    return x->digest < y->digest ? -1 : x->digest > y->digest;
}

struct keys *keys_new(void)
{
    struct keys *keys = malloc(sizeof *keys);
    if (keys == NULL)
        err(4, "keys");
    for (unsigned i = 0; i < WRITERS * KEYS; i++) {
        char text[32];
        int size = snprintf(text, sizeof text, "key %u", i);
        keys->of[i] = (struct key){ bloomfile_hash(0, text, (size_t)size), i };
    }
    qsort(keys->of, WRITERS * KEYS, sizeof *keys->of, compare);
    return keys;
}

const struct key *keys_get(const struct keys *keys, unsigned writer, unsigned number)
{
    return &keys->of[number * WRITERS + writer];
}
