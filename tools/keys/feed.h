/* SPDX-License-Identifier: MIT
 *
 * All keys of the inputs into a builder, by several threads: one at a time reads a piece, and all
 * of them split, hash and add what they have read.
 */
#ifndef TOOLS_KEYS_FEED_H
#define TOOLS_KEYS_FEED_H

#include "keys/keys.h"

struct feed_options {
    struct keys_options keys;
    char *const *inputs; /* as for keys_new() */
    int inputs_count;
    unsigned threads; /* at least 1, the caller's among them; the builder's params name as many */
    bool quiet;       /* no progress is shown, nor how many lines were left out */
};

/* Sets *count to the number of keys, those that occur again too. Returns 0, or the error of the
 * builder, with *count keys in it or on their way; trouble with an input ends the program by
 * cli_fail(). */
int feed_builder(bloomfile_builder *builder, const struct feed_options *options, uint64_t *count);

#endif
