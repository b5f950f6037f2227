/* SPDX-License-Identifier: MIT
 *
 * External sorting: any number of keys, bytewise, without repetitions, in a fixed amount of memory.
 * What does not fit goes to temporary files as sorted runs, which are merged.
 */
#ifndef TOOLS_BFCOMMON_EXTSORT_H
#define TOOLS_BFCOMMON_EXTSORT_H

#include <bloomfile.h>

#include "bfcommon/lines.h"
#include "bfcommon/spool.h"

struct extsort;

/* The memory for so many keys of so many bytes altogether that no temporary file is needed. */
uint64_t extsort_needs(uint64_t keys, uint64_t bytes);

/* Temporary files are made in `folder`. Unless everything fits into the memory, no
 * key may take more than a quarter of it. Trouble ends the program by cli_fail. */
struct extsort *extsort_new(const char *folder, const struct keys_options *form, size_t memory);

void extsort_add(struct extsort *s, const struct bloomfile_key *key);

/* After the last key. */
void extsort_finish(struct extsort *s);

/* The keys in order, each once; one stays valid until the next call. false: there are no more. */
bool extsort_next(struct extsort *s, struct bloomfile_key *key);

void extsort_free(struct extsort *s);

/* ---- Sorted runs of keys, read as one. */

/* A file of runs, one after the other, each sorted and without repetitions. */
struct runs {
    struct spool *spool;
    struct run_end {
        uint64_t at;  /* in bytes */
        uint32_t sum; /* of the run: spool_mark() */
    } * ends;
    size_t count;
};

struct merge;

/* Merges the runs [first, first + count), each read with a buffer of `room` bytes or more. */
struct merge *merge_open(const struct runs *runs, size_t first, size_t count, size_t room);

/* The next key in order, each once; it stays valid until the next call. false: there is none. */
bool merge_next(struct merge *m, struct bloomfile_key *key);

void merge_close(struct merge *m); /* may be NULL */

/* ---- Bytewise sorting, in place, of keys that lie in one piece of memory. */

struct entry {
    uint64_t chunk; /* for the sorting */
    uint64_t at;    /* where the key lies, after its size */
};

enum {
    ORDER_SIZE_BYTES = 4 /* of the size that stands before each key, a uint32_t */
};

/* The key at `at`. */
struct bloomfile_key order_key(const uint8_t *memory, uint64_t at);

void order_sort(const uint8_t *memory, struct entry *entries, size_t n);

#endif
