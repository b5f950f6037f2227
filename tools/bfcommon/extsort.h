/* SPDX-License-Identifier: MIT
 * External sorting of any number of keys in a fixed amount of memory: bytewise, each key once. Keys
 * that do not fit go to temporary files as sorted runs, which are merged. */
#ifndef TOOLS_BFCOMMON_EXTSORT_H
#define TOOLS_BFCOMMON_EXTSORT_H

#include <bloomfile.h>

#include "bfcommon/lines.h"
#include "bfcommon/spool.h"

struct extsort;

/* Returns the memory with which `keys` keys of `bytes` bytes in all need no temporary file. */
uint64_t extsort_needs(uint64_t keys, uint64_t bytes);

/* Temporary files are created in `folder`. Unless everything fits in memory, a key may take at most
 * a quarter of it. An error ends the program through cli_fail(). */
struct extsort *extsort_new(const char *folder, const struct keys_options *form, size_t memory);

void extsort_add(struct extsort *s, const struct bloomfile_key *key);

/* Call this after the last key. */
void extsort_finish(struct extsort *s);

/* Returns the keys in order, each once. A key stays valid until the next call. Returns
 * false at the end. */
bool extsort_next(struct extsort *s, struct bloomfile_key *key);

void extsort_free(struct extsort *s);

/* ---- Sorted runs of keys, read as a single sequence. */

/* A file of runs, one after the other. Each is sorted, and has each key once. */
struct runs {
    struct spool *spool;
    struct run_end {
        uint64_t at;  /* in bytes */
        uint32_t sum; /* of the run: spool_mark() */
    } * ends;
    size_t count;
};

struct merge;

/* Merges the runs [first, first + count). Each is read with a buffer of at least `room` bytes. */
struct merge *merge_open(const struct runs *runs, size_t first, size_t count, size_t room);

/* Returns the keys in order, each once. A key stays valid until the next call. Returns
 * false at the end. */
bool merge_next(struct merge *m, struct bloomfile_key *key);

void merge_close(struct merge *m); /* may be NULL */

/* ---- Bytewise sorting, in place, of keys in a single block of memory. */

struct entry {
    uint64_t chunk; /* the next bytes to compare */
    uint64_t at;    /* offset of the key's size, which precedes the key */
};

enum {
    ORDER_SIZE_BYTES = 4 /* bytes of the uint32_t before each key, its size */
};

/* Returns the key whose size is at `at`. */
struct bloomfile_key order_key(const uint8_t *memory, uint64_t at);

void order_sort(const uint8_t *memory, struct entry *entries, size_t n);

#endif
