/* SPDX-License-Identifier: MIT
 * 1: good; 0: an exception is set. As the parser's own, they clean up after a later failure. */
#include "convert.h"

#include <bloomfile_inspect.h>
#include <math.h>
#include <string.h>

int convert_u64(PyObject *object, void *u64)
{
    PyObject *index = PyNumber_Index(object);
    if (index == NULL)
        return 0;
    unsigned long long value = PyLong_AsUnsignedLongLong(index);
    Py_DECREF(index);
    if (value == (unsigned long long)-1 && PyErr_Occurred())
        return 0;
    *(uint64_t *)u64 = value;
    return 1;
}

int convert_u32(PyObject *object, void *u32)
{
    uint64_t value;
    if (!convert_u64(object, &value))
        return 0;
    if (value > UINT32_MAX) {
        PyErr_SetString(PyExc_OverflowError, "the number has more than 32 bits");
        return 0;
    }
    *(uint32_t *)u32 = (uint32_t)value;
    return 1;
}

int convert_layout(PyObject *object, void *u32)
{
    const char *known;
    *(uint32_t *)u32 = 0;
    if (object == Py_None)
        return 1;
    const char *name = PyUnicode_AsUTF8AndSize(object, NULL);
    if (name == NULL)
        return 0;
    for (uint32_t layout = 1; (known = bloomfile_layout_name(layout)) != NULL; layout++)
        if (strcmp(known, name) == 0) {
            *(uint32_t *)u32 = layout;
            return 1;
        }
    PyErr_Format(PyExc_ValueError,
                 "layout is 'blocked', 'classic', 'counting' or 'ribbon', not '%s'", name);
    return 0;
}

int convert_fpr(PyObject *object, void *value)
{
    double *fpr = value;
    *fpr = 0;
    if (object == Py_None)
        return 1;
    if (PyUnicode_Check(object)) {
        PyErr_Format(PyExc_TypeError, "fpr and max_fpr are numbers: write 0.01 for 1%%, not %R",
                     object);
        return 0;
    }
    *fpr = PyFloat_AsDouble(object);
    if (*fpr == -1 && PyErr_Occurred())
        return 0;
    if (*fpr == 0) /* which would be the default */
        *fpr = -NAN;
    return 1;
}

double convert_given(double fpr)
{
    return isnan(fpr) && signbit(fpr) ? 0 : fpr;
}

static int convert_padded(PyObject *object, void *bytes, size_t size, const char *what)
{
    Py_buffer view;
    if (PyObject_GetBuffer(object, &view, PyBUF_SIMPLE) != 0)
        return 0;
    const bool fits = view.len <= (Py_ssize_t)size;
    if (fits) {
        memset(bytes, 0, size);
        memcpy(bytes, view.buf, (size_t)view.len);
    } else {
        PyErr_Format(PyExc_ValueError, "a %s has at most %zu bytes, not %zd", what, size, view.len);
    }
    PyBuffer_Release(&view);
    return fits;
}

int convert_tag(PyObject *object, void *tag)
{
    return convert_padded(object, tag, BLOOMFILE_TAG_SIZE, "tag");
}

int convert_watermark(PyObject *object, void *watermark)
{
    return convert_padded(object, watermark, BLOOMFILE_WATERMARK_SIZE, "watermark");
}

int convert_path(PyObject *object, void *str)
{
    return PyUnicode_FSDecoder(object, str);
}

PyObject *path_bytes(PyObject *str)
{
    return PyUnicode_EncodeFSDefault(str);
}

/* "a, b, c". Returns NULL with an exception set. */
static PyObject *listed(char *const *names)
{
    PyObject *list = PyList_New(0), *comma = PyUnicode_FromString(", "), *text = NULL;
    bool good = list != NULL && comma != NULL;
    for (; good && *names != NULL; names++) {
        PyObject *name = **names != '\0' ? PyUnicode_FromString(*names) : NULL;
        good = **names == '\0' || (name != NULL && PyList_Append(list, name) == 0);
        Py_XDECREF(name);
    }
    if (good)
        text = PyUnicode_Join(comma, list);
    Py_XDECREF(list);
    Py_XDECREF(comma);
    return text;
}

static bool is_known(PyObject *keyword, char *const *names)
{
    for (; *names != NULL; names++)
        if (**names != '\0' && PyUnicode_CompareWithASCIIString(keyword, *names) == 0)
            return true;
    return false;
}

/* " (did you mean fpr?)", or "". Returns NULL with an exception set. */
static PyObject *meant(PyObject *keyword, PyObject *listed_names)
{
    PyObject *records = PyImport_ImportModule("bloomfile.records");
    PyObject *names =
        records != NULL ? PyObject_CallMethod(listed_names, "split", "s", ", ") : NULL;
    PyObject *text =
        names != NULL ? PyObject_CallMethod(records, "meant", "OO", keyword, names) : NULL;
    Py_XDECREF(records);
    Py_XDECREF(names);
    return text;
}

bool convert_knows(PyObject *keywords, const char *format, char *const *names)
{
    PyObject *keyword, *value;
    Py_ssize_t at = 0;
    while (keywords != NULL && PyDict_Next(keywords, &at, &keyword, &value)) {
        if (!PyUnicode_Check(keyword) || is_known(keyword, names))
            continue;
        const char *colon = strchr(format, ':');
        PyObject *known = listed(names), *like = known != NULL ? meant(keyword, known) : NULL;
        if (like != NULL)
            PyErr_Format(PyExc_TypeError, "%s%s has no keyword %R; it has %U%U",
                         colon != NULL ? colon + 1 : "this method", colon != NULL ? "()" : "",
                         keyword, known, like);
        Py_XDECREF(known);
        Py_XDECREF(like);
        return false;
    }
    return true;
}
