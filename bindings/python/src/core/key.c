/* SPDX-License-Identifier: MIT
 * What is a key, and what only looks like one. */
#include "key.h"

#include <string.h>

/* A name of a file that is no UTF-8 has surrogates: os.fsencode() makes the bytes that it has. */
bool key_has_no_utf8(void)
{
    PyObject *type, *value, *traceback;
    if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
        return false;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    PyObject *done = PyObject_CallMethod(value, "add_note", "s",
                                         "a str key is encoded as UTF-8, which this str cannot be "
                                         "(encode it yourself; a file name with os.fsencode())");
    Py_XDECREF(done);
    if (done == NULL)
        PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    return false;
}

static bool get_text(struct key *key, PyObject *object)
{
    key->data = PyUnicode_AsUTF8AndSize(object, &key->size);
    return key->data != NULL || key_has_no_utf8();
}

static bool no_number(PyObject *object)
{
    PyErr_Format(PyExc_TypeError,
                 "a key is bytes or str, not %R (use str(key), as the tools read it, or "
                 "key.to_bytes(8, 'little'); for digests, contains_digest)",
                 Py_TYPE(object));
    return false;
}

static bool is_bytes(const Py_buffer *view)
{
    return view->ndim == 1 && view->itemsize == 1 &&
           (view->format == NULL || strchr("Bbc", view->format[0]) != NULL) &&
           PyBuffer_IsContiguous(view, 'C');
}

/* A datetime64 or timedelta64 of NumPy, which looks like bytes: equal ones differ by their units.
 */
static bool is_time(PyObject *object)
{
    if (!PyObject_HasAttrString(object, "dtype") || PyObject_Size(object) >= 0)
        return false;
    PyErr_Clear();
    return true;
}

static bool get_buffer(struct key *key, PyObject *object)
{
    if (PyObject_GetBuffer(object, &key->view, PyBUF_FULL_RO) != 0)
        return false;
    if (key->view.ndim == 0 || is_time(object)) { /* a scalar of NumPy */
        PyBuffer_Release(&key->view);
        return no_number(object);
    }
    if (!is_bytes(&key->view)) {
        PyErr_Format(PyExc_TypeError,
                     "a key of type %R must be contiguous bytes (for many records in one buffer: "
                     "contains_records, add_records)",
                     Py_TYPE(object));
        PyBuffer_Release(&key->view);
        return false;
    }
    key->held = true;
    key->data = key->view.buf;
    key->size = key->view.len;
    return true;
}

bool key_get_slowly(struct key *key, PyObject *object)
{
    if (PyUnicode_Check(object))
        return get_text(key, object);
    if (PyBytes_Check(object))
        return PyBytes_AsStringAndSize(object, (char **)(void *)&key->data, &key->size) == 0;
    if (PyLong_Check(object))
        return no_number(object);
    if (PyObject_CheckBuffer(object))
        return get_buffer(key, object);
    PyErr_Format(PyExc_TypeError, "a key is bytes or str, not %R", Py_TYPE(object));
    return false;
}

/* Iterating it yields its bytes one by one, as those of a mapped file. */
static bool is_of_bytes(PyObject *keys)
{
    Py_buffer view;
    if (!PyObject_CheckBuffer(keys))
        return false;
    if (PyObject_GetBuffer(keys, &view, PyBUF_FULL_RO) != 0) {
        PyErr_Clear();
        return false;
    }
    const bool bytes = view.itemsize == 1;
    PyBuffer_Release(&view);
    return bytes;
}

bool key_is_file(PyObject *keys)
{
    if (!PyObject_HasAttrString(keys, "readline"))
        return false;
    PyErr_Format(PyExc_TypeError,
                 "%R yields lines with newlines, which keys of the tools do not have (pass "
                 "(line.rstrip('\\n') for line in file))",
                 Py_TYPE(keys));
    return true;
}

bool key_is_one(PyObject *keys)
{
    if (!PyUnicode_Check(keys) && !PyBytes_Check(keys) && !PyByteArray_Check(keys) &&
        !PyMemoryView_Check(keys) && !is_of_bytes(keys))
        return false;
    PyErr_Format(PyExc_TypeError,
                 "many keys are needed, and %R is one key (put it into a list; for records or "
                 "digests in a buffer: contains_records, contains_digests)",
                 Py_TYPE(keys));
    return true;
}
