/* SPDX-License-Identifier: MIT
 * Keys in buffers need the GIL for nothing but looking for signals now and then. */
#include "take.h"

#include <string.h>

#include "error.h"

#define GROUP 4096u      /* keys that are hashed into the caches */
#define PIECE (1u << 22) /* keys between looks for signals: some 50 ms */

/* ---- without the GIL */

struct span {
    const struct source *source;
    size_t first, count;
    unsigned char *answers;
};

static int take_hashed(const struct taker *taker, void *handle, const struct span *span,
                       size_t *done)
{
    uint64_t digests[GROUP];
    const struct source *s = span->source;
    for (size_t at = 0; at < span->count; at += GROUP) {
        const size_t n = span->count - at < GROUP ? span->count - at : GROUP;
        size_t some = n;
        int error = s->hash(s, taker->keys, taker->seed, span->first + at, n, digests);
        if (error != 0)
            return error;
        error = taker->take(handle, digests, n,
                            taker->width > 0 ? span->answers + at * taker->width : NULL, &some);
        *done += some;
        if (error != 0)
            return error;
    }
    return 0;
}

/* The digests of n keys without the nulls, *count of them. */
static int hash_valid(const struct taker *taker, const struct source *s, size_t first, size_t n,
                      uint64_t *digests, size_t *count)
{
    const unsigned char *valid = s->valid + first;
    int error = 0;
    *count = 0;
    for (size_t i = 0, end; i < n && error == 0; i = end + 1) {
        for (end = i; end < n && valid[end] != 0;)
            end++;
        if (end == i)
            continue;
        if (s->digests != NULL)
            memcpy(digests + *count, s->digests + first + i, (end - i) * sizeof *digests);
        else
            error = s->hash(s, taker->keys, taker->seed, first + i, end - i, digests + *count);
        *count += end - i;
    }
    return error;
}

/* Gives each key its answer, and each null a 0. */
static void spread(const unsigned char *valid, const unsigned char *few, size_t n,
                   unsigned char *answers)
{
    for (size_t i = 0; i < n; i++)
        answers[i] = valid[i] != 0 ? *few++ : 0;
}

/* Returns the index of the valid key that has `number` valid keys before it, or n. */
static size_t place_of(const unsigned char *valid, size_t number, size_t n)
{
    size_t i = 0;
    for (; i < n && (valid[i] == 0 || number > 0); i++)
        number -= valid[i] != 0;
    return i;
}

static int take_with_nulls(const struct taker *taker, void *handle, const struct span *span,
                           size_t *done)
{
    uint64_t digests[GROUP];
    unsigned char few[GROUP];
    const struct source *s = span->source;
    for (size_t at = 0; at < span->count; at += GROUP) {
        const size_t n = span->count - at < GROUP ? span->count - at : GROUP;
        const unsigned char *valid = s->valid + span->first + at;
        size_t count, some;
        int error = hash_valid(taker, s, span->first + at, n, digests, &count);
        if (error != 0)
            return error;
        some = count;
        error = taker->take(handle, digests, count, taker->width > 0 ? few : NULL, &some);
        if (taker->width > 0)
            spread(valid, few, n, span->answers + at);
        *done += error == 0 ? n : place_of(valid, some, n);
        if (error != 0)
            return error;
    }
    return 0;
}

static int take_span(const struct taker *taker, void *handle, const struct span *span, size_t *done)
{
    if (span->source->valid != NULL)
        return take_with_nulls(taker, handle, span, done);
    if (span->source->digests == NULL)
        return take_hashed(taker, handle, span, done);
    return taker->take(handle, span->source->digests + span->first, span->count, span->answers,
                       done);
}

/* ---- with it */

/* `before`: keys that had their answers before the span. */
static bool take(const struct taker *taker, const struct span *span, size_t before)
{
    void *handle = NULL;
    size_t done = 0;
    struct turn *turn = taker->turn;
    if (taker->born != 0 && !turn_is_at_home(taker->born))
        return false;
    if (turn != NULL)
        handle = turn_enter(turn, taker->kind);
    if (turn != NULL && handle == NULL)
        return false;
    WITHOUT_GIL(const int error = take_span(taker, handle, span, &done));
    if (taker->added != NULL)
        *taker->added = before + done;
    PyObject *full = taker->width > 0 ? error_full(error, handle) : NULL;
    if (turn != NULL)
        turn_leave(turn, taker->kind);
    if (error == SOURCE_CONTRADICTS)
        PyErr_SetString(PyExc_ValueError, "the offsets contradict each other, or lie outside the "
                                          "data (the keys before them were used)");
    else if (error == BLOOMFILE_EKEYKIND)
        kind_refuse(taker->keys, taker->state, taker->path, BLOOMFILE_KEYS_BYTES, KIND_SIZES_DIFFER,
                    before + done);
    else if (full != NULL)
        error_raise_key(taker->state, error, taker->path, full, before + done);
    else if (error != 0)
        error_raise(taker->state, error, taker->path);
    return error == 0 && PyErr_CheckSignals() == 0;
}

bool take_source(const struct taker *taker, const struct source *source, struct output *output)
{
    struct span span = { .source = source };
    do { /* once for no keys too: a handle that is closed or read-only is an error */
        const size_t rest = source->n - span.first;
        span.count = rest < PIECE ? rest : PIECE;
        span.answers = taker->width > 0 ? output_next(output, span.count) : NULL;
        if ((taker->width > 0 && span.answers == NULL) ||
            (source->valid != NULL &&
             !output_nulls(output, source->valid + span.first, span.count)) ||
            !take(taker, &span, output->done - (taker->width > 0 ? span.count : 0)))
            return false;
        span.first += span.count;
    } while (span.first < source->n);
    return true;
}

bool take_admits(const struct taker *taker, const struct source *s, size_t done)
{
    const uint64_t size = s->kind == BLOOMFILE_KEYS_FIXED   ? s->size
                          : s->kind == BLOOMFILE_KEYS_BYTES ? KIND_SIZES_DIFFER
                                                            : 0;
    struct kind undecided = *taker->keys;
    if (s->kind == 0 || kind_admits(s->n > 0 ? taker->keys : &undecided, s->kind, size))
        return true;
    kind_refuse(taker->keys, taker->state, taker->path, s->kind, size, done);
    return false;
}

bool take_hash_slowly(const struct taker *taker, const struct key *key, uint64_t *digest,
                      size_t done)
{
    const uint64_t size = (uint64_t)key->size;
    if (!kind_fits(taker->keys, key->kind, size) && !kind_admits(taker->keys, key->kind, size)) {
        kind_refuse(taker->keys, taker->state, taker->path, key->kind, size, done);
        return false;
    }
    if (kind_hash(taker->keys, taker->seed, key->data, (size_t)size, digest) == 0)
        return true;
    PyErr_NoMemory();
    return false;
}
