/* SPDX-License-Identifier: MIT
 * The classes are made in Python, by bloomfile.errors. */
#include "error.h"

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

PyObject *error_raise_fault(struct state *state, int error, PyObject *path,
                            const struct bloomfile_fault *fault)
{
    PyObject *exception = error_new(state, error, path, fault);
    if (exception != NULL) {
        PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
        Py_DECREF(exception);
    }
    return NULL;
}

PyObject *error_raise(struct state *state, int error, PyObject *path)
{
    return error_raise_fault(state, error, path, NULL);
}
