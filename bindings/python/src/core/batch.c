/* SPDX-License-Identifier: MIT
 * Keys of Python objects are hashed under the GIL, a chunk at a time, and their digests are taken
 * without it. */
#include "batch.h"

#include <bloomfile.h>
#include <stdlib.h>
#include <string.h>

#include "arrow.h"
#include "convert.h"
#include "items.h"
#include "key.h"

#define AHEAD 24     /* keys: prefetch distance before hashing */
#define CHUNK 32768u /* keys: a thread may wait 5 ms for the GIL, so not too few */

/* A handle that is opened later, by the keys' own iterator for example, may have another seed. */
static bool is_open(const struct taker *taker)
{
    if (taker->turn == NULL || taker->open)
        return true;
    turn_closed(taker->path);
    return false;
}

PyObject *batch_source(const struct taker *taker, struct source *source, PyObject *out)
{
    struct output output;
    PyObject *result = NULL;
    output_none(&output);
    if (!is_open(taker) || !take_admits(taker, source, 0)) {
        output_fail(out, taker->width);
    } else if (taker->width == 0 ||
               output_begin(&output, taker->state, out, source->n, taker->width)) {
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
    PyObject *list;    /* a list or tuple; else NULL */
    PyObject *others;  /* an iterator; else NULL */
    const char *items; /* pointers to objects, in the memory of an array; else NULL */
    Py_ssize_t stride; /* bytes from one pointer to the next */
    bool tuple;
    bool nulls;            /* None, NaN and NA are nulls; else they are not keys */
    Py_ssize_t next, size; /* of the list or the array */
    bool ended;
};

/* The objects of a sorted or shuffled list are scattered in memory. Prefetches the lines of an
 * object: its head, and its bytes if they are few. */
static void request(const PyObject *object)
{
    __builtin_prefetch(object);
    __builtin_prefetch((const void *)((uintptr_t)object + 48));
}

/* Returns item i of an array of objects. NumPy initialises such arrays with NULL, which means
 * None. */
static PyObject *array_item(const struct objects *o, Py_ssize_t i)
{
    PyObject *object;
    memcpy(&object, o->items + i * o->stride, sizeof object);
    return object != NULL ? object : Py_None;
}

static PyObject *next_of_array(struct objects *o)
{
    if (o->next == o->size)
        return NULL;
    if (o->size - o->next > AHEAD)
        request(array_item(o, o->next + AHEAD));
    return Py_NewRef(array_item(o, o->next++));
}

/* Returns a new reference to the next object; NULL at the end, or with an exception set. Raises an
 * exception if the list was changed meanwhile, by another thread or by a key's buffer method:
 * answers would then be for other keys. */
static PyObject *next_object(struct objects *o)
{
    if (o->others != NULL)
        return PyIter_Next(o->others);
    if (o->items != NULL)
        return next_of_array(o);
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

/* Digests of some objects, and with nulls a byte for each that is 0 for a null. */
struct chunk {
    uint64_t *digests;
    unsigned char *valid;
    size_t most; /* keys that it has room for */
    bool nulls;  /* `valid` has a 0 */
};

static void mark_null(struct chunk *chunk, size_t i)
{
    if (!chunk->nulls)
        memset(chunk->valid, 1, chunk->most);
    chunk->nulls = true;
    chunk->valid[i] = 0;
}

/* false: an exception is set. */
static bool hash_objects(const struct taker *taker, struct objects *o, struct chunk *chunk,
                         size_t *count, size_t done)
{
    chunk->nulls = false;
    for (*count = 0; *count < chunk->most; ++*count) {
        struct key key;
        PyObject *object = next_object(o);
        if (object == NULL) {
            o->ended = true;
            return PyErr_Occurred() == NULL;
        }
        bool good;
        if (o->nulls && Py_TYPE(object) != &PyUnicode_Type && key_is_missing(object)) {
            mark_null(chunk, *count);
            good = true;
        } else if ((good = key_get(&key, object))) {
            good = take_hash(taker, &key, &chunk->digests[*count], done);
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
    struct chunk chunk = { .most = o->others == NULL && (size_t)o->size < CHUNK
                                       ? (size_t)o->size + 1
                                       : CHUNK };
    chunk.digests = malloc(chunk.most * sizeof *chunk.digests);
    chunk.valid = malloc(chunk.most);
    struct source source = { .digests = chunk.digests };
    bool good = chunk.digests != NULL && chunk.valid != NULL;
    if (!good)
        PyErr_NoMemory();
    while (good && !o->ended) {
        good = hash_objects(taker, o, &chunk, &source.n, output->done);
        source.valid = chunk.nulls ? chunk.valid : NULL;
        good = good && take_source(taker, &source, output);
    }
    free(chunk.digests);
    free(chunk.valid);
    return good;
}

static PyObject *batch_objects(const struct taker *taker, struct objects *o, PyObject *out)
{
    struct output output;
    output_none(&output);
    const size_t n = o->others == NULL ? (size_t)o->size : OUTPUT_UNKNOWN;
    if (taker->width > 0 && !output_begin(&output, taker->state, out, n, taker->width))
        return NULL;
    return output_end(&output, output_keep_apart(&output) && take_objects(taker, o, &output));
}

/* ---- columns */

/* Holds a one-dimensional NumPy array of objects. Returns false for any other object. */
static bool hold_objects(PyObject *array, Py_buffer *view)
{
    if (!PyObject_CheckBuffer(array))
        return false;
    if (PyObject_GetBuffer(array, view, PyBUF_FULL_RO) != 0) {
        PyErr_Clear();
        return false;
    }
    if (view->ndim == 1 && items_are(view, sizeof(PyObject *), "O") && view->suboffsets == NULL)
        return true;
    PyBuffer_Release(view);
    return false;
}

static PyObject *batch_array(const struct taker *taker, const Py_buffer *view, bool nulls,
                             PyObject *out)
{
    struct objects o = { .items = view->buf,
                         .stride = view->strides != NULL ? view->strides[0] : view->itemsize,
                         .size = view->shape[0],
                         .nulls = nulls };
    if (o.size == 0)
        o.items = (const char *)&o; /* never read; an empty array may have no memory */
    return batch_objects(taker, &o, out);
}

/* Integers, with a bool for each that is missing. */
static PyObject *batch_masked(const struct taker *taker, struct source *integers, PyObject *missing,
                              PyObject *out)
{
    Py_buffer view;
    PyObject *result = NULL;
    if (PyObject_GetBuffer(missing, &view, PyBUF_FULL_RO) == 0) {
        unsigned char *valid = malloc(integers->n + 1);
        const bool fits = items_are(&view, 1, "?B") && (size_t)view.len == integers->n &&
                          PyBuffer_IsContiguous(&view, 'C');
        for (size_t i = 0; fits && valid != NULL && i < integers->n; i++)
            valid[i] = ((const unsigned char *)view.buf)[i] == 0;
        if (fits && valid != NULL && memchr(valid, 0, integers->n) != NULL)
            integers->valid = valid;
        PyBuffer_Release(&view);
        if (fits && valid != NULL)
            result = batch_source(taker, integers, out);
        else if (fits)
            PyErr_NoMemory();
        else
            PyErr_SetString(PyExc_ValueError, "the column and its mask differ in size");
        if (!fits || valid == NULL)
            source_end(integers);
        free(valid);
        return result;
    }
    source_end(integers);
    return NULL;
}

/* Calls bloomfile.columns for a column or array of pandas or NumPy. Returns a tuple (object to take
 * instead, mask of its nulls or None, whether its objects may be nulls), or None. Returns NULL with
 * an exception set. */
static PyObject *plain(const struct taker *taker, PyObject *keys)
{
    struct state *state = taker->state;
    if (!PyObject_HasAttrString(keys, "dtype") && !PyObject_HasAttrString(keys, "map_batches") &&
        !PyObject_HasAttrString(keys, "columns"))
        return Py_NewRef(Py_None);
    if (state->columns == NULL)
        state->columns = PyImport_ImportModule("bloomfile.columns");
    return state->columns != NULL ? PyObject_CallMethod(state->columns, "plain", "O", keys) : NULL;
}

static PyObject *batch_any(const struct taker *taker, PyObject *keys, PyObject *out, bool column);

static PyObject *batch_plain(const struct taker *taker, PyObject *plain, PyObject *out)
{
    PyObject *keys, *missing;
    int nulls;
    struct source integers;
    Py_buffer view;
    if (!PyArg_ParseTuple(plain, "OOp", &keys, &missing, &nulls))
        return NULL;
    if (missing != Py_None && source_of_integers(&integers, keys) == 0)
        return batch_masked(taker, &integers, missing, out);
    if (nulls && hold_objects(keys, &view)) {
        PyObject *result = batch_array(taker, &view, true, out);
        PyBuffer_Release(&view);
        return result;
    }
    return batch_any(taker, keys, out, false);
}

/* column: keys may be a column for bloomfile.columns. What that module returns is not, or an object
 * that it returns unchanged would recurse without end. */
static PyObject *batch_any(const struct taker *taker, PyObject *keys, PyObject *out, bool column)
{
    Py_buffer view;
    struct objects o = { 0 };
    if (!is_open(taker))
        return output_fail(out, taker->width);
    if (PyList_CheckExact(keys) ||
        PyTuple_CheckExact(keys)) { /* subclasses may iterate differently */
        o.list = keys;
        o.tuple = PyTuple_CheckExact(keys);
        o.size = o.tuple ? PyTuple_Size(keys) : PyList_Size(keys);
        return batch_objects(taker, &o, out);
    }
    PyObject *result;
    struct source integers;
    if (key_is_one(keys))
        return NULL;
    if (PyObject_HasAttrString(keys, "mask") && PyObject_HasAttrString(keys, "compressed")) {
        PyErr_SetString(PyExc_TypeError, "a masked array has nulls: pass its compressed()");
        return output_fail(out, taker->width);
    }
    if (source_of_integers(&integers, keys) == 0)
        return batch_source(taker, &integers, out);
    if (hold_objects(keys, &view)) {
        result = batch_array(taker, &view, false, out);
        PyBuffer_Release(&view);
        return result;
    }
    PyObject *converted = column ? plain(taker, keys) : Py_NewRef(Py_None);
    if (converted == NULL)
        return output_fail(out, taker->width);
    if (converted != Py_None) {
        result = batch_plain(taker, converted, out);
        Py_DECREF(converted);
        return result;
    }
    Py_DECREF(converted);
    if (arrow_batch(taker, keys, out, &result))
        return result;
    if (key_is_file(keys) || key_is_mapping(keys))
        return NULL;
    o.others = PyObject_GetIter(keys);
    if (o.others == NULL)
        return output_fail(out, taker->width);
    result = batch_objects(taker, &o, out);
    Py_DECREF(o.others);
    return result;
}

PyObject *batch_keys(const struct taker *taker, PyObject *keys, PyObject *out)
{
    return batch_any(taker, keys, out, true);
}

/* ---- arguments */

/* Without answers, `out` is not a parameter: the names are as many as the format has. */
static char **named(const struct taker *taker, char **names)
{
    static char *none[] = { "", "", "", NULL };
    static char *size_only[] = { "", "size", NULL };
    size_t count = 0;
    if (taker->width > 0)
        return names;
    if (names[1][0] == 's')
        return size_only;
    while (names[count][0] == '\0')
        count++;
    return none + 3 - count;
}

PyObject *batch_keys_of(const struct taker *taker, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "", "out", NULL };
    PyObject *keys, *out = Py_None;
    if (!PARSE(args, keywords, taker->width > 0 ? "O|$O" : "O", named(taker, names), &keys, &out))
        return NULL;
    return batch_keys(taker, keys, out);
}

PyObject *batch_digests_of(const struct taker *taker, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "", "out", NULL };
    PyObject *digests, *out = Py_None;
    struct source source;
    if (!PARSE(args, keywords, taker->width > 0 ? "O|$O" : "O", named(taker, names), &digests,
               &out) ||
        !source_of_digests(&source, digests))
        return NULL;
    return batch_source(taker, &source, out);
}

PyObject *batch_records_of(const struct taker *taker, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "", "size", "out", NULL };
    PyObject *records, *size = Py_None, *out = Py_None;
    struct source source;
    if (!PARSE(args, keywords, taker->width > 0 ? "O|O$O" : "O|O", named(taker, names), &records,
               &size, &out) ||
        !source_of_records(&source, records, size))
        return NULL;
    return batch_source(taker, &source, out);
}

PyObject *batch_arrow_of(const struct taker *taker, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "", "", "out", NULL };
    PyObject *offsets, *data, *out = Py_None;
    struct source source;
    if (!PARSE(args, keywords, taker->width > 0 ? "OO|$O" : "OO", named(taker, names), &offsets,
               &data, &out) ||
        !source_of_offsets(&source, offsets, data))
        return NULL;
    return batch_source(taker, &source, out);
}

PyObject *batch_spans_of(const struct taker *taker, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "", "", "", "out", NULL };
    PyObject *data, *starts, *ends, *out = Py_None;
    struct source source;
    if (!PARSE(args, keywords, taker->width > 0 ? "OOO|$O" : "OOO", named(taker, names), &data,
               &starts, &ends, &out) ||
        !source_of_spans(&source, data, starts, ends))
        return NULL;
    return batch_source(taker, &source, out);
}
