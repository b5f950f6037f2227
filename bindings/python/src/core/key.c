/* SPDX-License-Identifier: MIT
 * Keys: which objects are keys, and their bytes. */
#include "key.h"

#include <endian.h>
#include <string.h>

#include "items.h"

/* A file name that is not UTF-8 has surrogates in its str; os.fsencode() returns its bytes. */
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
    key->kind = BLOOMFILE_KEYS_TEXT;
    key->data = PyUnicode_AsUTF8AndSize(object, &key->size);
    return key->data != NULL || key_has_no_utf8();
}

bool key_is_missing(PyObject *object)
{
    if (object == Py_None)
        return true;
    if (PyFloat_Check(object)) {
        const double value = PyFloat_AsDouble(object);
        return value != value;
    }
    if (PyUnicode_Check(object) || PyBytes_Check(object) || PyLong_Check(object))
        return false;
    PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__name__");
    const bool missing = name != NULL && (PyUnicode_CompareWithASCIIString(name, "NAType") == 0 ||
                                          PyUnicode_CompareWithASCIIString(name, "NaTType") == 0);
    Py_XDECREF(name);
    PyErr_Clear();
    return missing;
}

/* Returns whether an object is unequal to itself, such as NaN of a decimal and NaT of NumPy. */
static bool is_unequal(PyObject *object)
{
    PyObject *unequal = PyObject_RichCompare(object, object, Py_NE);
    const bool result = unequal != NULL && PyObject_IsTrue(unequal) == 1;
    Py_XDECREF(unequal);
    PyErr_Clear();
    return result;
}

static bool no_key(PyObject *object)
{
    const char *remedy = "convert it with str() or int()";
    if (object == Py_None)
        remedy = "leave it out; in a column of pandas or Arrow it is a null";
    else if (key_is_missing(object) || is_unequal(object))
        remedy = "a missing value: drop it, for example with dropna(); in a column of pandas or "
                 "Arrow it is a null";
    else if (PyFloat_Check(object))
        remedy = "convert a whole number with int()";
    PyErr_Format(PyExc_TypeError, "a key is str, bytes or an integer, not %R (%s)", Py_TYPE(object),
                 remedy);
    return false;
}

/* An integer of 2^63 or more has the same bytes as a negative integer. */
static bool get_int(struct key *key, PyObject *integer)
{
    int overflow = 0;
    key->integer = (uint64_t)PyLong_AsLongLongAndOverflow(integer, &overflow);
    if (overflow != 0)
        key->integer = PyLong_AsUnsignedLongLong(integer);
    if (overflow != 0 && PyErr_Occurred()) {
        PyErr_SetString(PyExc_OverflowError, "an integer key is from -2**63 to 2**64 - 1");
        return false;
    }
    key->integer = htole64(key->integer);
    key->kind = BLOOMFILE_KEYS_INTEGERS;
    key->data = (const char *)&key->integer;
    key->size = sizeof key->integer;
    return true;
}

static bool get_integer(struct key *key, PyObject *object)
{
    PyObject *index = PyNumber_Index(object);
    const bool good = index != NULL && get_int(key, index);
    Py_XDECREF(index);
    return good;
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
        const bool integer = key->view.ndim == 0 && items_integers(&key->view) != 0;
        PyBuffer_Release(&key->view);
        return integer ? get_integer(key, object) : no_key(object);
    }
    /* contains_many() takes each item of such an array as a key, at any width. */
    if (items_integers(&key->view) != 0 && PyObject_HasAttrString(object, "dtype")) {
        PyErr_SetString(PyExc_TypeError,
                        "an array of integers is not a key (for a key per integer, pass an array "
                        "of one dimension to contains_many or add_many; for a key of bytes, its "
                        "tobytes())");
        PyBuffer_Release(&key->view);
        return false;
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
    if (Py_TYPE(object) == &PyLong_Type)
        return get_int(key, object);
    if (PyUnicode_Check(object))
        return get_text(key, object);
    if (PyBytes_Check(object))
        return PyBytes_AsStringAndSize(object, (char **)(void *)&key->data, &key->size) == 0;
    if (PyLong_Check(object) && !PyBool_Check(object))
        return get_integer(key, object);
    return PyObject_CheckBuffer(object) ? get_buffer(key, object) : no_key(object);
}

/* Iterating it yields its bytes one by one, as those of a mapped file. Items of NumPy are numbers.
 */
static bool is_of_bytes(PyObject *keys)
{
    Py_buffer view;
    if (!PyObject_CheckBuffer(keys))
        return false;
    if (PyObject_GetBuffer(keys, &view, PyBUF_FULL_RO) != 0) {
        PyErr_Clear();
        return false;
    }
    const bool bytes = view.itemsize == 1 && !PyObject_HasAttrString(keys, "dtype");
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

bool key_is_mapping(PyObject *keys)
{
    if (!PyDict_Check(keys) &&
        !(PyObject_HasAttrString(keys, "keys") && PyObject_HasAttrString(keys, "items")))
        return false;
    PyErr_Format(PyExc_TypeError,
                 "keys are one column, and this is %R: pass one column, such as df['name'], or "
                 "its keys()",
                 Py_TYPE(keys));
    return true;
}

bool key_is_one(PyObject *keys)
{
    if (PyDict_Check(keys))
        return key_is_mapping(keys);
    if (!PyUnicode_Check(keys) && !PyBytes_Check(keys) && !PyByteArray_Check(keys) &&
        !PyMemoryView_Check(keys) && !is_of_bytes(keys))
        return false;
    PyErr_Format(PyExc_TypeError,
                 "many keys are needed, and %R is one key (put it into a list; for records or "
                 "digests in a buffer: contains_records, contains_digests)",
                 Py_TYPE(keys));
    return true;
}
