/* SPDX-License-Identifier: MIT
 * Keys in buffers need the GIL for nothing but looking for signals now and then. */
#include "take.h"

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

static int take_span(const struct taker *taker, void *handle, const struct span *span, size_t *done)
{
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
    if (turn != NULL)
        turn_leave(turn, taker->kind);
    if (error == SOURCE_CONTRADICTS)
        PyErr_SetString(PyExc_ValueError, "the offsets contradict each other, or lie outside the "
                                          "data (the keys before them were used)");
    else if (error == BLOOMFILE_EKEYKIND)
        kind_refuse(taker->keys, taker->state, taker->path, BLOOMFILE_KEYS_BYTES, KIND_SIZES_DIFFER,
                    before + done);
    else if (error != 0 && taker->width > 0)
        error_raise_done(taker->state, error, taker->path, before + done);
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

bool take_hash(const struct taker *taker, const struct key *key, uint64_t *digest, size_t done)
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
