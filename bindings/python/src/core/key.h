/* SPDX-License-Identifier: MIT
 * The bytes of a key. */
#ifndef BLOOMFILE_PYTHON_KEY_H
#define BLOOMFILE_PYTHON_KEY_H

#include <bloomfile.h>

#include "python.h"

struct key {
    const char *data;
    Py_ssize_t size;
    uint32_t kind;    /* BLOOMFILE_KEYS_TEXT, _INTEGERS or _BYTES */
    uint64_t integer; /* its bytes */
    bool held;        /* `view` is to be released */
    Py_buffer view;
};

/* Any other kind of key than those below; a str that has no UTF-8. */
bool key_get_slowly(struct key *key, PyObject *object);
bool key_has_no_utf8(void);

/* The bytes of an object, which must outlive the key: the UTF-8 of a str, or 8 bytes,
 * little-endian, of an integer. The key must stay where it is. Returns false with an exception
 * set. */
static inline bool key_get(struct key *key, PyObject *object)
{
    key->held = false;
    key->kind = BLOOMFILE_KEYS_BYTES;
    if (Py_TYPE(object) == &PyBytes_Type)
        return PyBytes_AsStringAndSize(object, (char **)(void *)&key->data, &key->size) == 0;
    if (Py_TYPE(object) != &PyUnicode_Type)
        return key_get_slowly(key, object);
    key->kind = BLOOMFILE_KEYS_TEXT;
    key->data = PyUnicode_AsUTF8AndSize(object, &key->size);
    return key->data != NULL || key_has_no_utf8();
}

static inline void key_drop(struct key *key)
{
    if (key->held)
        PyBuffer_Release(&key->view);
}

/* Returns whether an object is a missing value of pandas: None, NaN, NA or NaT. */
bool key_is_missing(PyObject *object);

/* Returns true, with an exception set, if `keys` is a file: its lines are not keys. */
bool key_is_file(PyObject *keys);

/* Returns true, with a TypeError set, if `keys` is a mapping: a dict or a similar class. */
bool key_is_mapping(PyObject *keys);

/* Returns true, with a TypeError set, if the object is a single key where many are wanted. */
bool key_is_one(PyObject *keys);

#endif
