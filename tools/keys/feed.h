/* SPDX-License-Identifier: MIT
 * A loop that adds all keys of the inputs to a builder, with several threads. One thread at a time
 * reads a piece. All threads split, hash and add the pieces that they have read. */
#ifndef TOOLS_KEYS_FEED_H
#define TOOLS_KEYS_FEED_H

#include "keys/keys.h"

struct feed_options {
    struct keys_options keys;
    char *const *inputs; /* for keys_new() */
    int inputs_count;
    unsigned threads; /* at least 1, including the caller; as many as in the builder's params */
    bool quiet;       /* does not print progress or the number of skipped lines */
};

/* Sets *count to the number of keys, repeated keys included. Returns 0 or an error of the builder;
 * after an error the builder may hold fewer than *count keys. An error of an input ends the program
 * through cli_fail(). */
int feed_builder(bloomfile_builder *builder, const struct feed_options *options, uint64_t *count);

#endif
