/* SPDX-License-Identifier: MIT
 * The keys that a handle accepts, by the kind of its filter's keys: bloomfile_check_keys(). */
#ifndef BLOOMFILE_PYTHON_KIND_H
#define BLOOMFILE_PYTHON_KIND_H

#include <bloomfile.h>

#include "state.h"

#define KIND_SIZES_DIFFER UINT64_MAX /* of a batch: check each key */

struct kind {
    uint32_t filter, filter_size; /* of its header */
    unsigned accepts;             /* 1 << enum bloomfile_key_kind, but for records */
    uint64_t size;                /* of byte keys; 0: any */
    bool lower;                   /* letters are replaced */
    bool open;                    /* the first key decides */
    bool decided;                 /* `open`, and there was a key */
};

void kind_set(struct kind *k, uint32_t filter, uint32_t filter_size);

/* The kind of a builder that was given no kind. */
void kind_leave_open(struct kind *k);

/* Any kind but records. */
static inline bool kind_fits(const struct kind *k, uint32_t key, uint64_t size)
{
    return (k->accepts >> key & 1) != 0 &&
           (k->size == 0 || size == k->size || key != BLOOMFILE_KEYS_BYTES);
}

/* Returns whether keys of kind `key` fit. If no kind was set yet, sets it to `key`. */
bool kind_admits(struct kind *k, uint32_t key, uint64_t size);

/* Sets the exception, with the number of keys added before; returns NULL. */
PyObject *kind_refuse(const struct kind *k, struct state *state, PyObject *path, uint32_t key,
                      uint64_t size, size_t done);

/* The digest of a key whose size or letters matter. Returns 0, BLOOMFILE_EKEYKIND, ENOMEM. */
int kind_hash_slowly(const struct kind *k, uint64_t seed, const void *key, size_t size,
                     uint64_t *digest);

static inline int kind_hash(const struct kind *k, uint64_t seed, const void *key, size_t size,
                            uint64_t *digest)
{
    if (k->lower || k->size != 0)
        return kind_hash_slowly(k, seed, key, size, digest);
    *digest = bloomfile_hash(seed, key, size);
    return 0;
}

/* The kind that the caller names, or the size of records; None: *kind is unchanged.
 * false: an exception is set. */
bool kind_parse(PyObject *object, uint32_t *kind, uint32_t *size);

/* The kind as the value of the argument key_kind: "text", 16, None. */
PyObject *kind_object(const struct kind *k);

#endif
