/* SPDX-License-Identifier: MIT
 * Passing the digests of a source to a filter or a builder. */
#ifndef BLOOMFILE_PYTHON_TAKE_H
#define BLOOMFILE_PYTHON_TAKE_H

#include "key.h"
#include "kind.h"
#include "output.h"
#include "source.h"
#include "state.h"
#include "turn.h"

struct taker {
    /* Called without the GIL. `answers` has room for n; NULL if width is 0. Returns 0 or an error,
     * after which it has answered the first *done. */
    int (*take)(void *handle, const uint64_t *digests, size_t n, unsigned char *answers,
                size_t *done);
    size_t width;        /* bytes of an answer; 0: no answers */
    struct turn *turn;   /* of the handle; NULL: no handle */
    bool open;           /* there was one when this was made: seed and kind are its own */
    enum turn_kind kind; /* whom taking excludes */
    size_t *added;       /* of an adder: the keys added so far; else NULL */
    unsigned born;       /* turn_born() where it was made, and takes; 0: also in children of fork */
    uint64_t seed;
    struct kind *keys;   /* of the handle */
    struct state *state; /* for errors: */
    PyObject *path;
};

/* All keys of the source; answers go where the output's next ones do. Returns false with an
 * exception set, and some keys may have been taken. */
bool take_source(const struct taker *taker, const struct source *source, struct output *output);

/* Returns whether keys of the source's kind fit, of which `done` were taken before. Returns false
 * with an exception set. */
bool take_admits(const struct taker *taker, const struct source *source, size_t done);

/* Like take_source(), for a single key; also returns its digest. */
bool take_hash_slowly(const struct taker *taker, const struct key *key, uint64_t *digest,
                      size_t done);

static inline bool take_hash(const struct taker *taker, const struct key *key, uint64_t *digest,
                             size_t done)
{
    const struct kind *k = taker->keys;
    if (k->lower || k->size != 0 || !kind_fits(k, key->kind, (uint64_t)key->size))
        return take_hash_slowly(taker, key, digest, done);
    *digest = bloomfile_hash(taker->seed, key->data, (size_t)key->size);
    return true;
}

#endif
