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

#define CONTRADICTS INT32_MIN /* no error of the library */

static int take_hashed(const struct taker *taker, void *handle, const struct span *span)
{
    uint64_t digests[GROUP];
    const struct source *s = span->source;
    for (size_t done = 0; done < span->count; done += GROUP) {
        const size_t n = span->count - done < GROUP ? span->count - done : GROUP;
        if (!s->hash(s, taker->seed, span->first + done, n, digests))
            return CONTRADICTS;
        int error = taker->take(handle, digests, n,
                                taker->width > 0 ? span->answers + done * taker->width : NULL);
        if (error != 0)
            return error;
    }
    return 0;
}

static int take_span(const struct taker *taker, void *handle, const struct span *span)
{
    if (span->source->digests == NULL)
        return take_hashed(taker, handle, span);
    return taker->take(handle, span->source->digests + span->first, span->count, span->answers);
}

/* ---- with it */

static bool take(const struct taker *taker, const struct span *span)
{
    void *handle = NULL;
    struct turn *turn = taker->turn;
    if (taker->born != 0 && !turn_is_at_home(taker->born))
        return false;
    if (turn != NULL)
        handle = turn_enter(turn, taker->kind);
    if (turn != NULL && handle == NULL)
        return false;
    PyThreadState *python = PyEval_SaveThread();
    const int error = take_span(taker, handle, span);
    PyEval_RestoreThread(python);
    if (turn != NULL)
        turn_leave(turn, taker->kind);
    if (error == CONTRADICTS)
        PyErr_SetString(PyExc_ValueError,
                        "the offsets contradict each other, or lie outside of the "
                        "data: the keys before them were taken");
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
        if ((taker->width > 0 && span.answers == NULL) || !take(taker, &span))
            return false;
        span.first += span.count;
    } while (span.first < source->n);
    return true;
}
