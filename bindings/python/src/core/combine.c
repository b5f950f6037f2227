/* SPDX-License-Identifier: MIT
 * Called by bloomfile/__init__.py, which opens paths and has defaults. */
#include "combine.h"

#include <bloomfile_combine.h>
#include <bloomfile_delta.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "convert.h"
#include "error.h"
#include "filter.h"
#include "long_call.h"

/* The sources of a function, and the destination of its result. */
struct work {
    struct state *state;
    PyObject *path, *path_bytes;
    int replace;
    struct bloomfile_destination to;
    size_t count;
    struct turn **turns;
    const bloomfile_filter **filters;
    PyObject *sources; /* a tuple */
    PyObject *asked;   /* text of the parameter that may be refused, or NULL */
};

/* Filters only. */
static bool work_on(struct work *w, PyObject *module, PyObject *sources)
{
    w->state = PyModule_GetState(module);
    w->sources = PySequence_Tuple(sources);
    if (w->sources == NULL)
        return false;
    w->count = (size_t)PyTuple_Size(w->sources);
    w->turns = calloc(w->count + 1, sizeof *w->turns);
    w->filters = calloc(w->count + 1, sizeof *w->filters);
    if (w->turns == NULL || w->filters == NULL) {
        PyErr_NoMemory();
        return false;
    }
    for (size_t i = 0; i < w->count; i++) {
        PyObject *source = PyTuple_GetItem(w->sources, (Py_ssize_t)i);
        if (!PyObject_TypeCheck(source, w->state->filter)) {
            PyErr_Format(PyExc_TypeError, "a Filter is needed, not %R", Py_TYPE(source));
            return false;
        }
        w->turns[i] = &((struct filter *)source)->turn;
    }
    return true;
}

static bool work_at(struct work *w)
{
    w->path_bytes = w->path != NULL ? path_bytes(w->path) : NULL;
    if (w->path_bytes == NULL)
        return false;
    w->to =
        bloomfile_to_path(PyBytes_AsString(w->path_bytes), w->replace ? BLOOMFILE_TO_REPLACE : 0);
    return true;
}

static bool work_enter(struct work *w)
{
    if (!turn_enter_all(w->turns, w->count))
        return false;
    for (size_t i = 0; i < w->count; i++)
        w->filters[i] = w->turns[i]->handle;
    return true;
}

/* Returns whether an error concerns a source: damage, or a form that the function does not accept
 * (a series, a slice, a layout). Every other error concerns the result. */
static bool is_of_source(int error, const bloomfile_filter *f)
{
    return bloomfile_check(f) != 0 || error == BLOOMFILE_ENOTCOUNTING ||
           (error < 0 && bloomfile_check_merge(f, f) == error);
}

static PyObject *path_of(const struct work *w, size_t i)
{
    return ((struct filter *)PyTuple_GetItem(w->sources, (Py_ssize_t)i))->path;
}

static PyObject *work_end(struct work *w, int error)
{
    PyObject *concerned = w->path != NULL || error >= 0 || w->count == 0 ? w->path : path_of(w, 0);
    for (size_t i = 0; error < 0 && i < w->count; i++)
        if (is_of_source(error, w->filters[i])) {
            concerned = path_of(w, i);
            break;
        }
    turn_leave_all(w->turns, w->count);
    if (error == 0)
        return Py_NewRef(Py_None);
    const bool about_params =
        error == BLOOMFILE_EFACTOR ||
        (error == BLOOMFILE_EVALUE && strcmp(bloomfile_invalid(), "label") != 0);
    return error_raise_asked(w->state, error, concerned,
                             about_params ? Py_XNewRef(w->asked) : NULL);
}

static void work_free(struct work *w)
{
    Py_XDECREF(w->path);
    Py_XDECREF(w->path_bytes);
    Py_XDECREF(w->sources);
    Py_XDECREF(w->asked);
    free(w->turns);
    free(w->filters);
}

/* ---- folding */

static PyObject *choice_tuple(const struct bloomfile_fold_choice *c)
{
    return Py_BuildValue("KKKKdd", (unsigned long long)c->factor, (unsigned long long)c->bits,
                         (unsigned long long)c->image_size, (unsigned long long)c->ones, c->fpr,
                         c->fpr_more);
}

static PyObject *choice_list(const struct bloomfile_fold_choice *choices, size_t count)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < count; i++) {
        PyObject *choice = choice_tuple(&choices[i]);
        if (choice == NULL || PyList_Append(list, choice) != 0)
            Py_CLEAR(list);
        Py_XDECREF(choice);
    }
    return list;
}

/* All choices. A first call, which reads no filter, returns their number. */
static int plan(const bloomfile_filter *f, uint64_t more, struct bloomfile_fold_choice **choices,
                size_t *count)
{
    *choices = NULL;
    int error = bloomfile_fold_plan(f, more, NULL, count);
    if (error != 0)
        return error;
    *choices = calloc(*count + 1, sizeof **choices);
    return *choices != NULL ? bloomfile_fold_plan(f, more, *choices, count) : ENOMEM;
}

static PyObject *fold_plan(PyObject *module, PyObject *args)
{
    struct work w = { 0 };
    PyObject *sources, *result = NULL;
    uint64_t more;
    if (PyArg_ParseTuple(args, "OO&", &sources, convert_u64, &more) &&
        work_on(&w, module, sources) && work_enter(&w)) {
        struct bloomfile_fold_choice *choices;
        size_t count;
        WITHOUT_GIL(const int error = plan(w.filters[0], more, &choices, &count));
        result = work_end(&w, error);
        if (result != NULL) {
            Py_DECREF(result);
            result = choice_list(choices, count);
        }
        free(choices);
    }
    work_free(&w);
    return result;
}

static PyObject *fold(PyObject *module, PyObject *args)
{
    struct work w = { 0 };
    PyObject *sources, *result = NULL;
    uint64_t factor;
    if (PyArg_ParseTuple(args, "O&OO&p", convert_path, &w.path, &sources, convert_u64, &factor,
                         &w.replace) &&
        (w.asked = PyUnicode_FromFormat("factor=%llu", (unsigned long long)factor)) != NULL &&
        work_on(&w, module, sources) && work_at(&w) && work_enter(&w)) {
        int error;
        LONG_CALL(error, bloomfile_fold(&w.to, w.filters[0], factor, NULL));
        result = work_end(&w, error);
    }
    work_free(&w);
    return result;
}

/* ---- merging */

/* Raises the error with the source that cannot be merged: the first source if it cannot be merged
 * with any, otherwise the source that differs from it. */
static PyObject *differ(struct work *w, int error, size_t i)
{
    PyObject *path = path_of(w, is_of_source(error, w->filters[0]) ? 0 : i);
    turn_leave_all(w->turns, w->count);
    return error_raise(w->state, error, path);
}

static PyObject *merge_asked(const struct bloomfile_merge_params *p, const struct work *w)
{
    if (w->count == 0)
        return PyUnicode_FromString("srcs is empty");
    if (p->max_fpr >= 0 && p->max_fpr <= 1)
        return PyUnicode_FromFormat("keys=%llu", (unsigned long long)p->keys);
    return error_fpr("max_fpr", p->max_fpr);
}

static PyObject *merged(struct work *w, const struct bloomfile_merge_params *p)
{
    int error;
    for (size_t i = 1; i < w->count; i++)
        if ((error = bloomfile_check_merge(w->filters[0], w->filters[i])) != 0)
            return differ(w, error, i);
    LONG_CALL(error, bloomfile_merge(&w->to, w->filters, w->count, p));
    return work_end(w, error);
}

/* merged(sources, op): the filter that merge() would write, as bytes. */
static PyObject *merge_to_bytes(PyObject *module, PyObject *args)
{
    struct work w = { .to = bloomfile_to_memory() };
    struct bloomfile_merge_params p = BLOOMFILE_MERGE_PARAMS_INIT;
    PyObject *sources, *result = NULL;
    if (PyArg_ParseTuple(args, "OO&", &sources, convert_u32, &p.op) &&
        work_on(&w, module, sources) && work_enter(&w)) {
        result = merged(&w, &p);
        if (result != NULL) {
            Py_DECREF(result);
            result = PyBytes_FromStringAndSize(w.to.memory, (Py_ssize_t)w.to.size);
            bloomfile_free(w.to.memory);
        }
    }
    work_free(&w);
    return result;
}

static PyObject *merge(PyObject *module, PyObject *args)
{
    struct work w = { 0 };
    struct bloomfile_merge_params p = BLOOMFILE_MERGE_PARAMS_INIT;
    struct bloomfile_metadata metadata = BLOOMFILE_METADATA_INIT;
    uint8_t tag[BLOOMFILE_TAG_SIZE], watermark[BLOOMFILE_WATERMARK_SIZE];
    PyObject *sources, *result = NULL;
    metadata.tag = tag;
    metadata.watermark = watermark;
    p.metadata = &metadata;
    if (PyArg_ParseTuple(args, "O&OO&O&O&zO&O&p", convert_path, &w.path, &sources, convert_u32,
                         &p.op, convert_fpr, &p.max_fpr, convert_u64, &p.keys, &metadata.label,
                         convert_tag, tag, convert_watermark, watermark, &w.replace) &&
        work_on(&w, module, sources) && (w.asked = merge_asked(&p, &w)) != NULL && work_at(&w) &&
        work_enter(&w))
        result = merged(&w, &p);
    work_free(&w);
    return result;
}

static PyObject *project(PyObject *module, PyObject *args)
{
    struct work w = { 0 };
    PyObject *sources, *result = NULL;
    if (PyArg_ParseTuple(args, "O&Op", convert_path, &w.path, &sources, &w.replace) &&
        work_on(&w, module, sources) && work_at(&w) && work_enter(&w)) {
        int error;
        LONG_CALL(error, bloomfile_project(&w.to, w.filters[0], NULL));
        result = work_end(&w, error);
    }
    work_free(&w);
    return result;
}

static PyObject *join(PyObject *module, PyObject *args)
{
    struct work w = { 0 };
    PyObject *sources, *result = NULL;
    int accept_incomplete;
    if (PyArg_ParseTuple(args, "O&Opp", convert_path, &w.path, &sources, &accept_incomplete,
                         &w.replace) &&
        (w.asked = PyUnicode_FromString("slices is empty")) != NULL &&
        work_on(&w, module, sources) && work_at(&w) && work_enter(&w)) {
        const unsigned accept = accept_incomplete ? BLOOMFILE_JOIN_ACCEPT_INCOMPLETE : 0;
        WITHOUT_GIL(const int error = bloomfile_join(&w.to, w.filters, w.count, NULL, accept));
        result = work_end(&w, error);
    }
    work_free(&w);
    return result;
}

/* ---- patches */

static PyObject *delta(PyObject *module, PyObject *args)
{
    struct work w = { 0 };
    PyObject *sources, *result = NULL;
    uint32_t threads;
    if (PyArg_ParseTuple(args, "O&OO&p", convert_path, &w.path, &sources, convert_u32, &threads,
                         &w.replace) &&
        (w.asked = error_threads(threads)) != NULL && work_on(&w, module, sources) && work_at(&w) &&
        work_enter(&w)) {
        WITHOUT_GIL(const int error = bloomfile_delta(&w.to, w.filters[0], w.filters[1], threads));
        result = work_end(&w, error);
    }
    work_free(&w);
    return result;
}

static PyObject *patch(PyObject *module, PyObject *args)
{
    struct work w = { 0 };
    PyObject *sources, *result = NULL;
    uint32_t threads;
    int fd;
    if (PyArg_ParseTuple(args, "O&OiO&p", convert_path, &w.path, &sources, &fd, convert_u32,
                         &threads, &w.replace) &&
        (w.asked = error_threads(threads)) != NULL && work_on(&w, module, sources) && work_at(&w) &&
        work_enter(&w)) {
        struct bloomfile_source from = bloomfile_from_fd(fd);
        from.offset = BLOOMFILE_FROM_HERE;
        WITHOUT_GIL(const int error = bloomfile_patch(&w.to, w.filters[0], &from, threads));
        result = work_end(&w, error);
    }
    work_free(&w);
    return result;
}

PyMethodDef combine_methods[] = {
    { "fold_plan", FUNCTION(fold_plan), METH_VARARGS, NULL },
    { "fold", FUNCTION(fold), METH_VARARGS, NULL },
    { "merge", FUNCTION(merge), METH_VARARGS, NULL },
    { "merge_to_bytes", FUNCTION(merge_to_bytes), METH_VARARGS, NULL },
    { "project", FUNCTION(project), METH_VARARGS, NULL },
    { "join", FUNCTION(join), METH_VARARGS, NULL },
    { "delta", FUNCTION(delta), METH_VARARGS, NULL },
    { "patch", FUNCTION(patch), METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};
