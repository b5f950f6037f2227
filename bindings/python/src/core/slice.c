/* SPDX-License-Identifier: MIT
 * Digests are counted first and copied then, so that each slice gets bytes of the exact size. */
#include "slice.h"

#include <bloomfile_unstable.h>
#include <stdlib.h>
#include <string.h>

#include "convert.h"
#include "source.h"

#define BLOCK_BITS  512u
#define PAGE_BITS   32768u
#define MOST_SLICES 65536u

struct whole {
    uint64_t bits;
    uint32_t slices;
};

/* Refuses sizes that no filter has: the library would return 0, which is a valid slice number. */
static bool check_whole(const struct whole *w)
{
    const uint64_t pages = w->bits / PAGE_BITS + (w->bits % PAGE_BITS != 0);
    if (w->bits % BLOCK_BITS == 0 && w->slices > 0 && w->slices <= MOST_SLICES &&
        w->slices <= pages)
        return true;
    PyErr_Format(PyExc_ValueError,
                 "no filter of %llu bits has %u slices: bits is the size of the whole filter, a "
                 "multiple of 512, and slices at most its number of 4096-byte pages, and 65536",
                 (unsigned long long)w->bits, w->slices);
    return false;
}

static PyObject *slice_of(PyObject *module, PyObject *args)
{
    struct whole w;
    uint64_t digest;
    (void)module;
    if (!PyArg_ParseTuple(args, "O&O&O&:slice_of", convert_u64, &w.bits, convert_u32, &w.slices,
                          convert_u64, &digest) ||
        !check_whole(&w))
        return NULL;
    return PyLong_FromUnsignedLong(bloomfile_slice_of(w.bits, w.slices, digest));
}

/* ---- many */

/* The last digest in each of many places: a key that comes often goes to its slice, and so over the
 * network, a few times. Which digests are repeated is the same in each pass. */
#define PLACES 65536u

struct recent {
    uint64_t at[PLACES];
};

static void recent_begin(struct recent *r)
{
    for (uint64_t i = 0; i < PLACES; i++)
        r->at[i] = i ^ 1; /* which has another place */
}

static bool recent_has(struct recent *r, uint64_t digest)
{
    uint64_t *place = &r->at[digest % PLACES];
    const bool there = *place == digest;
    *place = digest;
    return there;
}

/* For each slice: first the number of its digests, then the place of the next. */
struct share {
    size_t count;
    unsigned char *at;
};

static uint64_t digest_at(const struct source *s, size_t i)
{
    uint64_t digest;
    memcpy(&digest, s->items + i * sizeof digest, sizeof digest);
    return digest;
}

static void count_shares(const struct whole *w, const struct source *s, struct recent *recent,
                         struct share *shares)
{
    recent_begin(recent);
    for (size_t i = 0; i < s->n; i++) {
        const uint64_t digest = digest_at(s, i);
        if (!recent_has(recent, digest))
            shares[bloomfile_slice_of(w->bits, w->slices, digest)].count++;
    }
}

/* false: another thread has changed the digests since they were counted. */
static bool copy_shares(const struct whole *w, const struct source *s, struct recent *recent,
                        struct share *shares)
{
    recent_begin(recent);
    for (size_t i = 0; i < s->n; i++) {
        const uint64_t digest = digest_at(s, i);
        if (recent_has(recent, digest))
            continue;
        struct share *share = &shares[bloomfile_slice_of(w->bits, w->slices, digest)];
        if (share->count == 0)
            return false;
        memcpy(share->at, &digest, sizeof digest);
        share->at += sizeof digest;
        share->count--;
    }
    for (uint32_t i = 0; i < w->slices; i++)
        if (shares[i].count > 0)
            return false;
    return true;
}

/* A list of bytes with room for the digests. Returns NULL with an exception set. */
static PyObject *make_room(const struct whole *w, const struct source *s, struct recent *recent,
                           struct share *shares)
{
    WITHOUT_GIL(count_shares(w, s, recent, shares));
    PyObject *list = PyList_New(w->slices);
    for (uint32_t i = 0; list != NULL && i < w->slices; i++) {
        PyObject *bytes =
            PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(shares[i].count * sizeof(uint64_t)));
        if (bytes == NULL || PyList_SetItem(list, i, bytes) != 0)
            Py_CLEAR(list);
        else
            shares[i].at = (unsigned char *)PyBytes_AsString(bytes);
    }
    return list;
}

static PyObject *share_out(const struct whole *w, const struct source *s, struct recent *recent,
                           struct share *shares)
{
    PyObject *list = make_room(w, s, recent, shares);
    if (list == NULL)
        return NULL;
    WITHOUT_GIL(const bool same = copy_shares(w, s, recent, shares));
    if (same)
        return list;
    PyErr_SetString(PyExc_RuntimeError, "the digests were changed during the call");
    Py_DECREF(list);
    return NULL;
}

static PyObject *split_digests(PyObject *module, PyObject *args)
{
    struct whole w;
    struct source s;
    PyObject *digests, *list = NULL;
    (void)module;
    if (!PyArg_ParseTuple(args, "O&O&O:split_digests", convert_u64, &w.bits, convert_u32, &w.slices,
                          &digests) ||
        !check_whole(&w) || !source_of_digests(&s, digests))
        return NULL;
    struct share *shares = calloc(w.slices, sizeof *shares);
    struct recent *recent = malloc(sizeof *recent);
    if (shares != NULL && recent != NULL)
        list = share_out(&w, &s, recent, shares);
    else
        PyErr_NoMemory();
    free(recent);
    free(shares);
    source_end(&s);
    return list;
}

PyMethodDef slice_methods[] = {
    { "slice_of", FUNCTION(slice_of), METH_VARARGS,
      "slice_of(bits, slices, digest, /)\n--\n\n"
      "The slice, from 0, to which a digest belongs in a blocked filter of so many bits." },
    { "split_digests", FUNCTION(split_digests), METH_VARARGS,
      "split_digests(bits, slices, digests, /)\n--\n\n"
      "The digests of each slice, as a list of bytes: a buffer of uint64, or of 8 bytes each, made "
      "by hash_many() with the filter's seed. Of those that repeat, most are left out." },
    { NULL, NULL, 0, NULL },
};
