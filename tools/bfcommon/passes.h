/* SPDX-License-Identifier: MIT
 *
 * The first half of the comparison: filters drop lines that are certainly not wanted, and the
 * remaining lines go to spools. No wanted line is dropped.
 */
#ifndef TOOLS_BFCOMMON_PASSES_H
#define TOOLS_BFCOMMON_PASSES_H

#include <bloomfile.h>

#include "bfcommon/inputs.h"

struct job {
    struct keys_options form;
    const char *folder; /* for temporary files */
    uint64_t memory;
    struct input *inputs;
    size_t count;
    size_t at_once; /* inputs that there are descriptors for; at least 2 */
    struct header_line
        *header; /* that the inputs begin with: of keys that are fields one for each
                  * input, of others the first is that of all; NULL: they have none */
    bool difference, count_only, quiet, stats;
};

/* Shares of the memory: two filters or one sort, a key that is being read, and buffers. */
uint64_t memory_of_filter(uint64_t memory);
size_t memory_of_sort(uint64_t memory);
size_t memory_of_key(uint64_t memory);

/* kept[i]: lines of inputs[i], all those among them that are in all inputs, and some that are not.
 * false: there can be no common line, and kept[] is all NULL. */
bool passes_common(const struct job *job, struct spool **kept);

/* The first input against the others. */
struct parts {
    struct spool *certain;  /* its lines that are in no other */
    struct spool *doubtful; /* its other ones */
    struct spool *others;   /* those lines of the others that matter for the doubtful ones */
};
struct parts passes_difference(const struct job *job);

/* ---- A filter in memory, with a random seed: its false positives are different each time. */

struct filter {
    bloomfile_filter *f;
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
