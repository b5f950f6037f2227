/* SPDX-License-Identifier: MIT
 * The classes are made in Python, by bloomfile.errors. */
#include "error.h"

#include <bloomfile_live.h>
#include <string.h>

#include "convert.h"

PyObject *error_new(struct state *state, int error, PyObject *path,
                    const struct bloomfile_fault *fault)
{
    const char *text = bloomfile_strerror(error);
    if (path == NULL)
        path = Py_None;
    if (error > 0) /* OSError itself chooses the subclass */
        return path == Py_None ? PyObject_CallFunction(PyExc_OSError, "is", error, text)
                               : PyObject_CallFunction(PyExc_OSError, "isO", error, text, path);
    if (state->errors == NULL)
        state->errors = PyImport_ImportModule("bloomfile.errors");
    if (state->errors == NULL)
        return NULL;
    if (fault == NULL)
        return PyObject_CallMethod(state->errors, "_new", "iO", error, path);
    PyObject *page =
        fault->page == UINT64_MAX ? Py_NewRef(Py_None) : PyLong_FromUnsignedLongLong(fault->page);
    if (page == NULL)
        return NULL;
    return PyObject_CallMethod(state->errors, "_new", "iOKNz", error, path,
                               (unsigned long long)fault->offset, page, fault->field);
}

/* Raises the exception and drops the reference to it; always NULL. */
static PyObject *raise(PyObject *exception)
{
    if (exception != NULL) {
        PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
        Py_DECREF(exception);
    }
    return NULL;
}

PyObject *error_raise_fault(struct state *state, int error, PyObject *path,
                            const struct bloomfile_fault *fault)
{
    return error == ERROR_RAISED ? NULL : raise(error_new(state, error, path, fault));
}

PyObject *error_raise(struct state *state, int error, PyObject *path)
{
    return error_raise_fault(state, error, path, NULL);
}

PyObject *error_raise_key(struct state *state, int error, PyObject *path, PyObject *asked,
                          size_t done)
{
    PyObject *number = asked != NULL ? PyLong_FromSize_t(done) : NULL;
    PyObject *exception = number != NULL ? error_new(state, error, path, NULL) : NULL;
    if (exception != NULL && (PyObject_SetAttrString(exception, "done", number) != 0 ||
                              PyObject_SetAttrString(exception, "asked", asked) != 0))
        Py_CLEAR(exception);
    Py_XDECREF(number);
    Py_XDECREF(asked);
    return raise(exception);
}

void error_set_done(size_t done)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    PyObject *number = PyLong_FromSize_t(done);
    if (number == NULL || PyObject_SetAttrString(value, "done", number) != 0)
        PyErr_Clear(); /* the caller's own exception may not have attributes */
    Py_XDECREF(number);
    PyErr_Restore(type, value, traceback);
}

PyObject *error_raise_asked(struct state *state, int error, PyObject *path, PyObject *asked)
{
    if (asked == NULL && (error == BLOOMFILE_EVALUE || error == BLOOMFILE_EFLAGS))
        asked = PyUnicode_FromString(bloomfile_invalid());
    if (asked == NULL && PyErr_Occurred())
        return NULL;
    PyObject *exception = error != ERROR_RAISED ? error_new(state, error, path, NULL) : NULL;
    if (exception != NULL && asked != NULL &&
        PyObject_SetAttrString(exception, "asked", asked) != 0)
        Py_CLEAR(exception);
    Py_XDECREF(asked);
    return raise(exception);
}

#define KEY_SIZES "records have 1 to 16777215 bytes"

/* "bits=100": the member of the params that the library refuses. */
static PyObject *member_asked(const struct bloomfile_params *p)
{
    const bool grows = p->series == BLOOMFILE_SERIES_GROW;
    const struct {
        const char *member, *name; /* in C, in Python */
        uint64_t value;
        const char *why; /* NULL: it is out of range */
    } numbers[] = {
        { "capacity", "capacity", p->capacity, NULL },
        { "bits", "bits", p->bits, grows ? "not with grow" : NULL },
        { "hashes", "hashes", p->hashes, grows ? "not with grow" : NULL },
        { "threads", "threads", p->threads, "at most 1024" },
        { "key_size", "key_kind", p->key_size, KEY_SIZES },
        { "period", "every", p->period, "only with generations" },
        { "series", "generations", p->series, NULL },
        { "slice", "slice", p->slice, NULL },
        { "slices", "slices", p->slices, NULL },
    };
    const char *member = bloomfile_invalid();
    if (strcmp(member, "fpr") == 0)
        return error_fpr(member, p->fpr);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (strcmp(numbers[i].member, member) == 0)
            return PyUnicode_FromFormat(
                "%s=%llu%s%s", numbers[i].name, (unsigned long long)numbers[i].value,
                numbers[i].why != NULL ? ", " : "", numbers[i].why != NULL ? numbers[i].why : "");
    return NULL;
}

PyObject *error_fpr(const char *name, double fpr)
{
    PyObject *number = PyFloat_FromDouble(convert_given(fpr));
    PyObject *text = number != NULL ? PyUnicode_FromFormat("%s=%R", name, number) : NULL;
    Py_XDECREF(number);
    return text;
}

PyObject *error_full(int error, const bloomfile_filter *f)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    if (error != BLOOMFILE_EFULL || bloomfile_get_info(f, &info) != 0)
        return NULL;
    return PyUnicode_FromFormat("%llu keys, capacity %llu%s", (unsigned long long)info.keys,
                                (unsigned long long)info.capacity,
                                info.series != 0 ? ""
                                                 : ": make it with a larger capacity= or "
                                                   "grow=True, or open it with over_capacity=True");
}

PyObject *error_threads(uint32_t threads)
{
    return PyUnicode_FromFormat("threads=%u, at most 1024", (unsigned)threads);
}

PyObject *error_key_size(uint32_t size)
{
    return PyUnicode_FromFormat("key_kind=%u, " KEY_SIZES, (unsigned)size);
}

PyObject *error_raise_params(struct state *state, int error, PyObject *path,
                             const struct bloomfile_params *params)
{
    return error_raise_asked(state, error, path,
                             error == BLOOMFILE_EVALUE ? member_asked(params) : NULL);
}
