/* SPDX-License-Identifier: MIT
 * Buffers of keys. Concurrent writes by another thread may change answers, but never cause reads
 * outside the buffers. */
#include "source.h"

#include <bloomfile.h>
#include <endian.h>
#include <string.h>

#include "items.h"

static bool hold(struct source *s, PyObject *buffer)
{
    Py_buffer *view = &s->held[s->holds];
    if (PyObject_GetBuffer(buffer, view, PyBUF_FULL_RO) != 0)
        return false;
    s->holds++;
    if (view->ndim > 0 && PyBuffer_IsContiguous(view, 'C'))
        return true;
    PyErr_SetString(
        PyExc_ValueError,
        "the buffer must be contiguous, in C order, with one dimension or more (copy it)");
    return false;
}

static bool fail(struct source *s)
{
    source_end(s);
    return false;
}

void source_end(struct source *s)
{
    while (s->holds > 0)
        PyBuffer_Release(&s->held[--s->holds]);
}

bool source_overlaps(const struct source *s, const void *memory, size_t size)
{
    const char *begin = memory, *end = begin + size;
    for (unsigned i = 0; i < s->holds; i++) {
        const char *held = s->held[i].buf;
        if (begin < held + s->held[i].len && held < end)
            return true;
    }
    return false;
}

/* ---- digests */

static int hash_none(const struct source *s, const struct kind *keys, uint64_t seed, size_t first,
                     size_t count, uint64_t *digests)
{
    (void)keys, (void)seed;
    memcpy(digests, s->items + first * sizeof *digests, count * sizeof *digests);
    return 0;
}

static bool digests_fit(const Py_buffer *view)
{
    if (items_are(view, 8, "QL"))
        return true;
    if (!items_are(view, 1, "Bbc")) {
        PyErr_Format(PyExc_TypeError,
                     "digests are items of 64 bits without sign (format 'Q'), or bytes, not "
                     "items of %zd bytes of format '%s'",
                     view->itemsize, view->format);
        return false;
    }
    if (view->len % 8 == 0)
        return true;
    PyErr_Format(PyExc_ValueError, "digests have 8 bytes each, and %zd is not a multiple of 8",
                 view->len);
    return false;
}

bool source_of_digests(struct source *s, PyObject *buffer)
{
    *s = (struct source){ .hash = hash_none };
    if (!hold(s, buffer) || !digests_fit(&s->held[0]))
        return fail(s);
    s->items = s->held[0].buf;
    s->n = (size_t)s->held[0].len / 8;
    if ((uintptr_t)s->items % sizeof(uint64_t) == 0)
        s->digests = s->held[0].buf;
    return true;
}

/* ---- records */

int source_hash_records(const struct source *s, const struct kind *keys, uint64_t seed,
                        size_t first, size_t count, uint64_t *digests)
{
    (void)keys; /* the caller has checked the size */
    const unsigned char *record = s->items + first * s->size;
    for (size_t i = 0; i < count; i++, record += s->size)
        digests[i] = bloomfile_hash(seed, record, s->size);
    return 0;
}

/* ---- integers */

/* Returns an item of native byte order as eight bytes, little-endian. With a constant size, the
 * copy is one instruction. */
static uint64_t integer_at(const struct source *s, size_t i)
{
    const unsigned char *at = s->items + i * s->size;
    uint64_t value;
    uint32_t four;
    uint16_t two;
    switch (s->size) {
    case 8:
        memcpy(&value, at, 8);
        break;
    case 4:
        memcpy(&four, at, 4);
        value = s->sign ? (uint64_t)(int32_t)four : four;
        break;
    case 2:
        memcpy(&two, at, 2);
        value = s->sign ? (uint64_t)(int16_t)two : two;
        break;
    default:
        value = s->sign ? (uint64_t)(signed char)*at : *at;
    }
    return htole64(value);
}

int source_hash_integers(const struct source *s, const struct kind *keys, uint64_t seed,
                         size_t first, size_t count, uint64_t *digests)
{
    (void)keys;
    for (size_t i = first; count > 0; i++, count--) {
        const uint64_t key = integer_at(s, i);
        *digests++ = bloomfile_hash(seed, &key, sizeof key);
    }
    return 0;
}

/* Takes the integers of a held buffer. Returns false if it has other items, or more than one
 * dimension. */
static bool take_integers(struct source *s)
{
    const Py_buffer *view = &s->held[0];
    const Py_ssize_t size = view->ndim == 1 ? items_integers(view) : 0;
    if (size == 0)
        return false;
    s->hash = source_hash_integers;
    s->kind = BLOOMFILE_KEYS_INTEGERS;
    s->items = view->buf;
    s->sign = size < 0;
    s->size = (size_t)view->itemsize;
    s->n = (size_t)view->len / s->size;
    return true;
}

int source_of_integers(struct source *s, PyObject *array)
{
    *s = (struct source){ 0 };
    if (!PyObject_CheckBuffer(array))
        return -1;
    if (PyObject_GetBuffer(array, &s->held[0], PyBUF_FULL_RO) != 0) {
        PyErr_Clear();
        return -1;
    }
    s->holds = 1;
    if (PyBuffer_IsContiguous(&s->held[0], 'C') && take_integers(s))
        return 0;
    source_end(s);
    return -1;
}

/* -1: an exception is set. */
static Py_ssize_t record_size(const Py_buffer *view, PyObject *size)
{
    if (size != Py_None) {
        Py_ssize_t given = PyNumber_AsSsize_t(size, PyExc_OverflowError);
        if (given == -1 && PyErr_Occurred())
            return -1;
        if (given > 0 && view->len % given == 0)
            return given;
        PyErr_Format(PyExc_ValueError, "%zd bytes are not whole records of %zd bytes", view->len,
                     given);
        return -1;
    }
    Py_ssize_t all = view->itemsize;
    for (int i = 1; i < view->ndim; i++)
        all *= view->shape[i];
    if (view->ndim > 1 || view->itemsize > 1)
        return all;
    PyErr_SetString(PyExc_TypeError,
                    "for a buffer of bytes, set the size of a record (for integers of one byte in "
                    "a NumPy array: contains_many(), add_many())");
    return -1;
}

bool source_of_records(struct source *s, PyObject *buffer, PyObject *size)
{
    *s = (struct source){ .hash = source_hash_records, .kind = BLOOMFILE_KEYS_FIXED };
    if (!hold(s, buffer))
        return fail(s);
    const Py_buffer *view = &s->held[0];
    if (view->itemsize > 1 && take_integers(s)) {
        if (size == Py_None)
            return true;
        PyErr_SetString(PyExc_TypeError, "these are integers: leave size out, or pass the "
                                         "array's tobytes() for records");
        return fail(s);
    }
    const char *unfit = items_unfit(view->format, view->itemsize);
    if (unfit != NULL) {
        PyErr_Format(PyExc_TypeError, "a buffer of format '%s' cannot hold records: %s",
                     view->format != NULL ? view->format : "B", unfit);
        return fail(s);
    }
    const Py_ssize_t bytes = record_size(view, size);
    if (bytes < 0)
        return fail(s);
    if (bytes == 0) {
        PyErr_SetString(PyExc_ValueError, "records must have at least one byte");
        return fail(s);
    }
    s->items = view->buf;
    s->size = (size_t)bytes;
    s->n = (size_t)view->len / s->size;
    return true;
}

/* ---- offsets */

/* Keys from offset to offset; one before the start or beyond the end is found before it is read. */
#define HASH_OFFSETS(name, type)                                                                   \
    int name(const struct source *s, const struct kind *keys, uint64_t seed, size_t first,         \
             size_t count, uint64_t *digests)                                                      \
    {                                                                                              \
        int error = 0;                                                                             \
        const unsigned char *at = s->items + first * sizeof(type);                                 \
        type begin, end;                                                                           \
        memcpy(&begin, at, sizeof begin);                                                          \
        for (size_t i = 0; i < count && error == 0; i++, begin = end) {                            \
            at += sizeof end;                                                                      \
            memcpy(&end, at, sizeof end);                                                          \
            if (begin < 0 || end < begin || end > s->data_size)                                    \
                return SOURCE_CONTRADICTS;                                                         \
            error = kind_hash(keys, seed, s->data + begin, (size_t)(end - begin), &digests[i]);    \
        }                                                                                          \
        return error;                                                                              \
    }
HASH_OFFSETS(source_hash_offsets32, int32_t)
HASH_OFFSETS(source_hash_offsets64, int64_t)

bool source_of_offsets(struct source *s, PyObject *offsets, PyObject *data)
{
    *s = (struct source){ .kind = BLOOMFILE_KEYS_BYTES };
    if (!hold(s, offsets) || !hold(s, data))
        return fail(s);
    const Py_buffer *places = &s->held[0], *bytes = &s->held[1];
    if (items_are(places, 4, "il"))
        s->hash = source_hash_offsets32;
    else if (items_are(places, 8, "ql"))
        s->hash = source_hash_offsets64;
    else {
        PyErr_Format(PyExc_TypeError,
                     "offsets are items of 32 or 64 bits with sign (formats 'i', 'q'), not of "
                     "format '%s': cast a memoryview",
                     places->format);
        return fail(s);
    }
    if (!items_are(bytes, 1, "Bbc")) {
        PyErr_Format(PyExc_TypeError, "the data of keys are bytes, not of format '%s'",
                     bytes->format);
        return fail(s);
    }
    const size_t count = (size_t)(places->len / places->itemsize);
    if (count == 0) {
        PyErr_SetString(PyExc_ValueError,
                        "offsets must have at least one item: one more than there are keys");
        return fail(s);
    }
    s->n = count - 1;
    s->items = places->buf;
    s->data = bytes->buf;
    s->data_size = bytes->len;
    return true;
}

/* ---- spans */

static int hash_spans(const struct source *s, const struct kind *keys, uint64_t seed, size_t first,
                      size_t count, uint64_t *digests)
{
    int error = 0;
    for (size_t i = 0; i < count && error == 0; i++) {
        int64_t begin, end; /* from 2^63 on they are negative, and beyond any buffer */
        memcpy(&begin, s->items + (first + i) * sizeof begin, sizeof begin);
        memcpy(&end, s->ends + (first + i) * sizeof end, sizeof end);
        if (begin < 0 || end < begin || end > s->data_size)
            return SOURCE_CONTRADICTS;
        error = kind_hash(keys, seed, s->data + begin, (size_t)(end - begin), &digests[i]);
    }
    return error;
}

bool source_of_spans(struct source *s, PyObject *data, PyObject *starts, PyObject *ends)
{
    *s = (struct source){ .kind = BLOOMFILE_KEYS_BYTES, .hash = hash_spans };
    if (!hold(s, data) || !hold(s, starts) || !hold(s, ends))
        return fail(s);
    const Py_buffer *bytes = &s->held[0], *from = &s->held[1], *to = &s->held[2];
    if (!items_are(bytes, 1, "Bbc"))
        PyErr_Format(PyExc_TypeError, "the data of keys are bytes, not of format '%s'",
                     bytes->format);
    else if (!items_are(from, 8, "qlQL") || !items_are(to, 8, "qlQL"))
        PyErr_SetString(PyExc_TypeError, "starts and ends are items of 64 bits (formats 'q', 'Q')");
    else if (from->len != to->len)
        PyErr_SetString(PyExc_ValueError, "there must be as many starts as ends");
    else {
        s->n = (size_t)from->len / 8;
        s->items = from->buf;
        s->ends = to->buf;
        s->data = bytes->buf;
        s->data_size = bytes->len;
        return true;
    }
    return fail(s);
}

/* ---- views: 16 bytes each. Short keys are inside, longer keys in several buffers. */

int source_hash_views(const struct source *s, const struct kind *keys, uint64_t seed, size_t first,
                      size_t count, uint64_t *digests)
{
    int error = 0;
    const unsigned char *view = s->items + first * 16;
    for (size_t i = 0; i < count && error == 0; i++, view += 16) {
        int32_t size, part, offset;
        const unsigned char *key = view + 4;
        memcpy(&size, view, 4);
        if (size > 12) {
            memcpy(&part, view + 8, 4);
            memcpy(&offset, view + 12, 4);
            if (part < 0 || part >= s->part_count || offset < 0 ||
                (int64_t)offset + size > s->part_sizes[part])
                return SOURCE_CONTRADICTS;
            key = s->parts[part] + offset;
        } else if (size < 0) {
            return SOURCE_CONTRADICTS;
        }
        error = kind_hash(keys, seed, key, (size_t)size, &digests[i]);
    }
    return error;
}
