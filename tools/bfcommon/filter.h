/* SPDX-License-Identifier: MIT
 *
 * A filter in memory, with a random seed: its false positives are different each time.
 */
#ifndef BLOOMFILE_TOOLS_COMMON_FILTER_H
#define BLOOMFILE_TOOLS_COMMON_FILTER_H

#include <bloomfile.h>

struct filter {
    bloomfile *f;
    uint64_t seed;
    uint64_t size; /* bytes */
    uint64_t keys; /* different ones, about */
};

/* For so many keys, if so much memory is enough for them; otherwise it is all used. Ends the
 * program by cli_fail for lack of memory. */
void filter_make(struct filter *filter, uint64_t keys, uint64_t memory);

void filter_add(struct filter *filter, const struct bloomfile_key *keys, size_t n);

/* Sets passed[i] to whether keys[i] may have been added. At most KEYS_BATCH of them. */
void filter_ask(const struct filter *filter, const struct bloomfile_key *keys, size_t n,
                bool *passed);

void filter_free(struct filter *filter);

#endif
