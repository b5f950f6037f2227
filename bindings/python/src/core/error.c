/* SPDX-License-Identifier: MIT
 * The classes are made in Python, by bloomfile.errors. */
#include "error.h"

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

/* Sets what is on its way, which is no more ours; always NULL. */
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
    return raise(error_new(state, error, path, fault));
}

PyObject *error_raise(struct state *state, int error, PyObject *path)
{
    return error_raise_fault(state, error, path, NULL);
}

/* "fpr=2.0"; None for other errors. */
static PyObject *asked_for(int error, const struct bloomfile_params *params)
{
    const struct {
        int error;
        const char *name;
        uint64_t value;
    } numbers[] = { { BLOOMFILE_ECAPACITY, "capacity", params->capacity },
                    { BLOOMFILE_EBITS, "bits", params->bits },
                    { BLOOMFILE_EHASHES, "hashes", params->hashes } };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (numbers[i].error == error && (numbers[i].value > 0 || i == 0)) /* 0: not given */
            return PyUnicode_FromFormat("%s=%llu", numbers[i].name,
                                        (unsigned long long)numbers[i].value);
    if (error != BLOOMFILE_ERATE)
        return Py_NewRef(Py_None);
    PyObject *fpr = PyFloat_FromDouble(convert_given(params->fpr));
    PyObject *text = fpr != NULL ? PyUnicode_FromFormat("fpr=%R", fpr) : NULL;
    Py_XDECREF(fpr);
    return text;
}

PyObject *error_raise_params(struct state *state, int error, PyObject *path,
                             const struct bloomfile_params *params)
{
    PyObject *asked = asked_for(error, params);
    PyObject *exception = asked != NULL ? error_new(state, error, path, NULL) : NULL;
    if (exception != NULL && asked != Py_None &&
        PyObject_SetAttrString(exception, "asked", asked) != 0)
        Py_CLEAR(exception);
    Py_XDECREF(asked);
    return raise(exception);
}
