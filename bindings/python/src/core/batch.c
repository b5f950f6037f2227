/* SPDX-License-Identifier: MIT
 * Keys of Python objects are hashed under the GIL, a chunk at a time, and their digests are taken
 * without it. */
#include "batch.h"

#include <bloomfile.h>
#include <stdlib.h>

#include "arrow.h"
#include "key.h"

#define AHEAD 24     /* keys: so far before one is hashed, its lines are requested */
#define CHUNK 32768u /* keys: a thread may wait 5 ms for the GIL, so not too few */

/* A handle that is opened later, by the keys' own iterator for example, may have another seed. */
static bool is_open(const struct taker *taker)
{
    if (taker->turn == NULL || taker->open)
        return true;
    PyErr_SetString(PyExc_ValueError, "it is closed, or was never opened");
    return false;
}

PyObject *batch_source(const struct taker *taker, struct source *source, PyObject *out)
{
    struct output output;
    PyObject *result = NULL;
    output_none(&output);
    if (!is_open(taker) || !take_admits(taker, source, 0)) {
        output_fail(out, taker->width);
    } else if (taker->width == 0 || output_begin(&output, out, source->n, taker->width)) {
        const bool apart =
            !output.given || !source_overlaps(source, output.bytes, (size_t)output.view.len);
        if (apart)
            output_presume(&output);
        else
            PyErr_SetString(PyExc_ValueError, "out overlaps the memory of the keys");
        result = output_end(&output, apart && take_source(taker, source, &output));
    }
    source_end(source);
    return result;
}

/* ---- objects */

struct objects {
    PyObject *list;   /* a list or tuple; else NULL */
    PyObject *others; /* an iterator; else NULL */
    bool tuple;
    Py_ssize_t next, size; /* of the list */
    bool ended;
};

/* Objects of a list that was sorted or shuffled lie anywhere. The lines of one: its head, and its
 * bytes, if they are few. */
static void request(const PyObject *object)
{
    __builtin_prefetch(object);
    __builtin_prefetch((const void *)((uintptr_t)object + 48));
}

/* A new reference; NULL at the end, or with an exception set. A list that is changed meanwhile, by
 * another thread or a key's own buffer, would get answers for other keys. */
static PyObject *next_object(struct objects *o)
{
    if (o->others != NULL)
        return PyIter_Next(o->others);
    if (!o->tuple && PyList_Size(o->list) != o->size) {
        PyErr_SetString(PyExc_RuntimeError, "the list changed its size during the call");
        return NULL;
    }
    if (o->next == o->size)
        return NULL;
    PyObject *(*get)(PyObject *, Py_ssize_t) = o->tuple ? PyTuple_GetItem : PyList_GetItem;
    if (o->size - o->next > AHEAD)
        request(get(o->list, o->next + AHEAD));
    return Py_XNewRef(get(o->list, o->next++));
}

/* false: an exception is set. */
static bool hash_objects(const struct taker *taker, struct objects *o, uint64_t *digests,
                         size_t most, size_t *count, size_t done)
{
    for (*count = 0; *count < most; ++*count) {
        struct key key;
        PyObject *object = next_object(o);
        if (object == NULL) {
            o->ended = true;
            return PyErr_Occurred() == NULL;
        }
        bool good = key_get(&key, object);
        if (good) {
            good = take_hash(taker, &key, &digests[*count], done);
            key_drop(&key);
        }
        Py_DECREF(object);
        if (!good)
            return false;
    }
    return true;
}

static bool take_objects(const struct taker *taker, struct objects *o, struct output *output)
{
    const size_t most = o->list != NULL && (size_t)o->size < CHUNK ? (size_t)o->size + 1 : CHUNK;
    uint64_t *digests = malloc(most * sizeof *digests);
    struct source source = { .digests = digests };
    bool good = digests != NULL;
    if (!good)
        PyErr_NoMemory();
    while (good && !o->ended)
        good = hash_objects(taker, o, digests, most, &source.n, output->done) &&
               take_source(taker, &source, output);
    free(digests);
    return good;
}

static PyObject *batch_objects(const struct taker *taker, struct objects *o, PyObject *out)
{
    struct output output;
    output_none(&output);
    const size_t n = o->list != NULL ? (size_t)o->size : OUTPUT_UNKNOWN;
    if (taker->width > 0 && !output_begin(&output, out, n, taker->width))
        return NULL;
    return output_end(&output, output_keep_apart(&output) && take_objects(taker, o, &output));
}

PyObject *batch_keys(const struct taker *taker, PyObject *keys, PyObject *out)
{
    struct objects o = { 0 };
    if (!is_open(taker))
        return output_fail(out, taker->width);
    if (PyList_CheckExact(keys) || PyTuple_CheckExact(keys)) { /* others may iterate otherwise */
        o.list = keys;
        o.tuple = PyTuple_CheckExact(keys);
        o.size = o.tuple ? PyTuple_Size(keys) : PyList_Size(keys);
        return batch_objects(taker, &o, out);
    }
    PyObject *result;
    struct source integers;
    if (key_is_one(keys))
        return NULL;
    if (source_of_integers(&integers, keys) == 0)
        return batch_source(taker, &integers, out);
    if (arrow_batch(taker, keys, out, &result))
        return result;
    if (key_is_file(keys))
        return NULL;
    o.others = PyObject_GetIter(keys);
    if (o.others == NULL)
        return output_fail(out, taker->width);
    result = batch_objects(taker, &o, out);
    Py_DECREF(o.others);
    return result;
}

/* ---- arguments */

/* Without answers, `out` is no argument. */
static char **named(const struct taker *taker, char **names)
{
    static char *none[] = { "", "", NULL };
    static char *size_only[] = { "", "size", NULL };
    if (taker->width > 0)
        return names;
    return names[1][0] == 's' ? size_only : names[1][0] == '\0' ? none : none + 1;
}

PyObject *batch_keys_of(const struct taker *taker, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "", "out", NULL };
    PyObject *keys, *out = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, taker->width > 0 ? "O|$O" : "O",
                                     named(taker, names), &keys, &out))
        return NULL;
    return batch_keys(taker, keys, out);
}

PyObject *batch_digests_of(const struct taker *taker, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "", "out", NULL };
    PyObject *digests, *out = Py_None;
    struct source source;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, taker->width > 0 ? "O|$O" : "O",
                                     named(taker, names), &digests, &out) ||
        !source_of_digests(&source, digests))
        return NULL;
    return batch_source(taker, &source, out);
}

PyObject *batch_records_of(const struct taker *taker, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "", "size", "out", NULL };
    PyObject *records, *size = Py_None, *out = Py_None;
    struct source source;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, taker->width > 0 ? "O|O$O" : "O|O",
                                     named(taker, names), &records, &size, &out) ||
        !source_of_records(&source, records, size))
        return NULL;
    return batch_source(taker, &source, out);
}

PyObject *batch_arrow_of(const struct taker *taker, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "", "", "out", NULL };
    PyObject *offsets, *data, *out = Py_None;
    struct source source;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, taker->width > 0 ? "OO|$O" : "OO",
                                     named(taker, names), &offsets, &data, &out) ||
        !source_of_offsets(&source, offsets, data))
        return NULL;
    return batch_source(taker, &source, out);
}
