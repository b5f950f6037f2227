/* SPDX-License-Identifier: MIT
 * Many keys in buffers: where each of them lies, for threads that do not hold the GIL. */
#ifndef BLOOMFILE_PYTHON_SOURCE_H
#define BLOOMFILE_PYTHON_SOURCE_H

#include "kind.h"

#define SOURCE_CONTRADICTS INT32_MIN /* the buffers contradict themselves */

struct source {
    size_t n;
    /* Sets the digests of some of the keys, which are those from `first` on. 0,
     * SOURCE_CONTRADICTS, BLOOMFILE_EKEYKIND, ENOMEM. */
    int (*hash)(const struct source *source, const struct kind *keys, uint64_t seed, size_t first,
                size_t count, uint64_t *digests);
    uint32_t kind;           /* of the keys, BLOOMFILE_KEYS_*; 0: these are digests */
    const uint64_t *digests; /* not NULL: the digests are given */
    const unsigned char
        *valid; /* a byte for each key, 0: a null, which is not read; NULL: no nulls */
    const unsigned char *items;
    size_t size; /* of a record, or an integer */
    bool sign;   /* of integers */
    const unsigned char *data;
    int64_t data_size;
    const unsigned char *const *parts; /* of views: buffers, and their sizes */
    const int64_t *part_sizes;
    int64_t part_count;
    const unsigned char *ends; /* of spans: `items` are the starts */
    Py_buffer held[3];
    unsigned holds;
};

/* Each of these begins a source, to be ended by source_end(). Returns false with an exception set,
 * and there is nothing to end. */

/* Digests: items of 8 bytes without sign, or bytes, 8 for each. */
bool source_of_digests(struct source *s, PyObject *buffer);

/* Records of one size. `size` None: the size of an item, or of all dimensions after the first. An
 * array of integers wider than a byte holds integer keys, and `size` must be None. */
bool source_of_records(struct source *s, PyObject *buffer, PyObject *size);

/* Integers, each item of an array. -1: it is another object, and no exception is set. */
int source_of_integers(struct source *s, PyObject *array);

/* Consecutive keys in `data`, each from one offset to the next. */
bool source_of_offsets(struct source *s, PyObject *offsets, PyObject *data);

/* Keys in `data`, each from a start to an end, 64 bits each. */
bool source_of_spans(struct source *s, PyObject *data, PyObject *starts, PyObject *ends);

void source_end(struct source *s);

/* Returns whether some memory lies in the source's. */
bool source_overlaps(const struct source *s, const void *memory, size_t size);

/* The hash functions for each form of keys, also used for Arrow arrays. */
int source_hash_integers(const struct source *s, const struct kind *keys, uint64_t seed,
                         size_t first, size_t count, uint64_t *digests);
int source_hash_records(const struct source *s, const struct kind *keys, uint64_t seed,
                        size_t first, size_t count, uint64_t *digests);
int source_hash_offsets32(const struct source *s, const struct kind *keys, uint64_t seed,
                          size_t first, size_t count, uint64_t *digests);
int source_hash_offsets64(const struct source *s, const struct kind *keys, uint64_t seed,
                          size_t first, size_t count, uint64_t *digests);
int source_hash_views(const struct source *s, const struct kind *keys, uint64_t seed, size_t first,
                      size_t count, uint64_t *digests);

#endif
