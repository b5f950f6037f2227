/* SPDX-License-Identifier: MIT
 * Keys of another kind than the filter's would all be answered "no". */
#include "kind.h"

#include <bloomfile_inspect.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "convert.h"
#include "error.h"
#include "info.h"

static int fit(const struct kind *k, uint32_t key, uint64_t size)
{
    const struct bloomfile_info filter = { .key_kind = k->filter, .key_size = k->filter_size };
    return bloomfile_check_keys(&filter, key, size);
}

void kind_set(struct kind *k, uint32_t filter, uint32_t filter_size)
{
    static const uint32_t keys[] = { BLOOMFILE_KEYS_TEXT, BLOOMFILE_KEYS_INTEGERS,
                                     BLOOMFILE_KEYS_BYTES };
    *k = (struct kind){ .filter = filter, .filter_size = filter_size };
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        k->accepts |= fit(k, keys[i], 0) == 0 ? 1u << keys[i] : 0;
    const uint64_t size = filter == BLOOMFILE_KEYS_FIXED ? filter_size : sizeof(int64_t);
    if ((k->accepts >> BLOOMFILE_KEYS_BYTES & 1) == 0 && fit(k, BLOOMFILE_KEYS_BYTES, size) == 0) {
        k->accepts |= 1u << BLOOMFILE_KEYS_BYTES;
        k->size = size;
    }
    k->lower = filter == BLOOMFILE_KEYS_LOWER;
}

void kind_leave_open(struct kind *k)
{
    *k = (struct kind){ .open = true };
}

bool kind_admits(struct kind *k, uint32_t key, uint64_t size)
{
    const bool fixed = key == BLOOMFILE_KEYS_FIXED, open = k->open;
    if (k->open && fixed && size > BLOOMFILE_MAX_KEY_SIZE)
        kind_set(k, BLOOMFILE_KEYS_BYTES, 0);
    else if (k->open)
        kind_set(k, key, fixed ? (uint32_t)size : 0);
    k->decided = k->decided || open;
    return fixed ? fit(k, key, size) == 0
                 : kind_fits(k, key, size == KIND_SIZES_DIFFER ? k->size : size);
}

/* Returns the name of a known kind. */
static PyObject *named(uint32_t kind, uint64_t size)
{
    if (kind == BLOOMFILE_KEYS_FIXED)
        return PyUnicode_FromFormat("records of %llu bytes", (unsigned long long)size);
    if (kind == BLOOMFILE_KEYS_BYTES && size == KIND_SIZES_DIFFER)
        return PyUnicode_FromString("bytes of other sizes");
    if (kind == BLOOMFILE_KEYS_BYTES && size != 0)
        return PyUnicode_FromFormat("%llu bytes", (unsigned long long)size);
    if (kind == BLOOMFILE_KEYS_LOWER)
        return PyUnicode_FromString("text in lower case");
    return PyUnicode_FromString(bloomfile_key_kind_name(kind));
}

PyObject *kind_refuse(const struct kind *k, struct state *state, PyObject *path, uint32_t key,
                      uint64_t size, size_t done)
{
    if (fit(k, BLOOMFILE_KEYS_TEXT, 0) == BLOOMFILE_EFEATURE)
        return error_raise_key(state, BLOOMFILE_EFEATURE, path,
                               PyUnicode_FromString("the kind of its keys"), done);
    PyObject *there = named(k->filter, k->filter_size), *given = named(key, size), *asked = NULL;
    if (there != NULL && given != NULL)
        asked = PyUnicode_FromFormat(
            k->decided ? "the first key: %U, another: %U" : "filter: %U, key: %U", there, given);
    Py_XDECREF(there);
    Py_XDECREF(given);
    return error_raise_key(state, BLOOMFILE_EKEYKIND, path, asked, done);
}

int kind_hash_slowly(const struct kind *k, uint64_t seed, const void *key, size_t size,
                     uint64_t *digest)
{
    unsigned char few[256], *lower = few;
    few[0] = 0; /* the compiler sees no key of 0 bytes */
    if (k->size != 0 && size != k->size)
        return BLOOMFILE_EKEYKIND;
    if (!k->lower) {
        *digest = bloomfile_hash(seed, key, size);
        return 0;
    }
    if (size > sizeof few && (lower = malloc(size)) == NULL)
        return ENOMEM;
    for (size_t i = 0; i < size; i++) {
        const unsigned char c = ((const unsigned char *)key)[i];
        lower[i] = c >= 'A' && c <= 'Z' ? (unsigned char)(c + ('a' - 'A')) : c;
    }
    *digest = bloomfile_hash(seed, lower, size);
    if (lower != few)
        free(lower);
    return 0;
}

bool kind_parse(PyObject *object, uint32_t *kind, uint32_t *size)
{
    if (object == Py_None)
        return true;
    if (PyBool_Check(object)) {
        PyErr_SetString(PyExc_TypeError, "key_kind is a str or an integer, not a bool");
        return false;
    }
    if (!PyUnicode_Check(object)) {
        *kind = BLOOMFILE_KEYS_FIXED;
        return convert_u32(object, size);
    }
    const char *name = PyUnicode_AsUTF8AndSize(object, NULL);
    for (uint32_t i = BLOOMFILE_KEYS_TEXT; name != NULL && i <= BLOOMFILE_KEYS_BYTES; i++)
        if (i != BLOOMFILE_KEYS_FIXED && strcmp(name, bloomfile_key_kind_name(i)) == 0) {
            *kind = i;
            return true;
        }
    if (name != NULL)
        PyErr_SetString(PyExc_ValueError, "key_kind is 'text', 'lower', 'integers', 'bytes', or "
                                          "the size of records");
    return false;
}

PyObject *kind_object(const struct kind *k)
{
    if (k->open)
        return Py_NewRef(Py_None);
    if (fit(k, BLOOMFILE_KEYS_TEXT, 0) == BLOOMFILE_EFEATURE)
        return PyUnicode_FromString("newer");
    if (k->filter == BLOOMFILE_KEYS_UNKNOWN)
        return Py_NewRef(Py_None);
    return k->filter == BLOOMFILE_KEYS_FIXED
               ? PyLong_FromUnsignedLong(k->filter_size)
               : PyUnicode_FromString(bloomfile_key_kind_name(k->filter));
}
