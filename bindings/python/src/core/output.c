/* SPDX-License-Identifier: MIT
 * No other code sees a new object before it is complete: an object of Python programs, such as a
 * key, may run in between. */
#include "output.h"

#include <string.h>

#include "answers.h"
#include "items.h"

#define ROOM_FIRST 4096

static bool given_fits(struct output *o, size_t n)
{
    const Py_buffer *view = &o->view;
    if (!PyBuffer_IsContiguous(view, 'C'))
        PyErr_SetString(PyExc_ValueError, "out must be contiguous");
    else if (!items_are(view, 1, "Bbc?") && !(o->width == 8 && items_are(view, 8, "QL")))
        PyErr_Format(PyExc_TypeError, "out has format '%s', but bytes are needed%s", view->format,
                     o->width == 8 ? ", or items of 64 bits without sign" : " or bools");
    else if ((size_t)view->len % o->width != 0)
        PyErr_Format(PyExc_ValueError,
                     "out has %zd bytes, not a multiple of %zu, the size of an answer", view->len,
                     o->width);
    else if (n != OUTPUT_UNKNOWN && (size_t)view->len / o->width != n)
        PyErr_Format(PyExc_ValueError, "out has room for %zu answers, and there are %zu keys",
                     (size_t)view->len / o->width, n);
    else
        return true;
    return false;
}

static bool begin_given(struct output *o, PyObject *given, size_t n)
{
    if (PyObject_GetBuffer(given, &o->view, PyBUF_FULL) != 0)
        return false;
    if (!given_fits(o, n)) {
        PyBuffer_Release(&o->view);
        return false;
    }
    o->given = true;
    o->bytes = o->view.buf;
    o->room = (size_t)o->view.len / o->width;
    o->result = Py_NewRef(given);
    return true;
}

bool output_begin(struct output *o, struct state *state, PyObject *given, size_t n, size_t width)
{
    *o = (struct output){ .state = state, .width = width };
    if (given != NULL && given != Py_None)
        return begin_given(o, given, n);
    o->room = n == OUTPUT_UNKNOWN ? ROOM_FIRST : n;
    if (o->room > (size_t)PY_SSIZE_T_MAX / width) {
        PyErr_NoMemory();
        return false;
    }
    if (width == 1)
        return (o->bytes = answers_room(NULL, o->room)) != NULL;
    o->result = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(o->room * width));
    if (o->result == NULL)
        return false;
    o->bytes = (unsigned char *)PyByteArray_AsString(o->result);
    return true;
}

/* Digests cannot be presumed: the memory stays unchanged. */
void output_presume(struct output *o)
{
    if (o->given && o->width == 1)
        memset(o->bytes, 1, o->room);
}

bool output_keep_apart(struct output *o)
{
    if (!o->given || o->room == 0)
        return true;
    o->apart = PyMem_Malloc(o->room * o->width);
    if (o->apart == NULL) {
        output_presume(o);
        PyErr_NoMemory();
        return false;
    }
    memcpy(o->apart, o->view.buf, o->room * o->width);
    o->bytes = o->apart;
    output_presume(o);
    return true;
}

PyObject *output_fail(PyObject *given, size_t width)
{
    struct output o;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    output_none(&o);
    if (width > 0 && given != Py_None && output_begin(&o, NULL, given, OUTPUT_UNKNOWN, width)) {
        output_presume(&o);
        (void)output_end(&o, false);
    }
    PyErr_Restore(type, value, traceback);
    return NULL;
}

void output_none(struct output *o)
{
    *o = (struct output){ 0 };
}

static bool resize_answers(struct output *o, size_t room)
{
    unsigned char *bytes = answers_room(o->bytes, room);
    if (bytes == NULL)
        return false;
    o->bytes = bytes;
    unsigned char *valid = o->valid != NULL ? answers_room(o->valid, room) : NULL;
    if (o->valid != NULL && valid == NULL)
        return false;
    if (valid != NULL && room > o->room)
        memset(valid + o->room, 1, room - o->room);
    o->valid = valid;
    o->room = room;
    return true;
}

static bool resize(struct output *o, size_t room)
{
    if (o->width == 1)
        return resize_answers(o, room);
    if (PyByteArray_Resize(o->result, (Py_ssize_t)(room * o->width)) != 0)
        return false;
    o->bytes = (unsigned char *)PyByteArray_AsString(o->result);
    o->room = room;
    return true;
}

unsigned char *output_next(struct output *o, size_t n)
{
    if (n > o->room - o->done) {
        if (o->given) {
            PyErr_Format(PyExc_ValueError, "out has room for %zu answers, and there are more keys",
                         o->room);
            return NULL;
        }
        const size_t room = o->room + o->room / 2 + n;
        if (!resize(o, room))
            return NULL;
    }
    unsigned char *at = o->bytes + o->done * o->width;
    o->done += n;
    return at;
}

bool output_nulls(struct output *o, const unsigned char *valid, size_t n)
{
    if (o->width == 0 || n == 0)
        return true;
    if (o->given || o->width != 1) {
        PyErr_SetString(PyExc_ValueError,
                        o->given ? "some keys are null, and out has no place for their answers "
                                   "(leave out away, or drop or fill the nulls)"
                                 : "some keys are null, and a null has no digest (drop or fill the "
                                   "nulls)");
        return false;
    }
    if (o->valid == NULL) {
        o->valid = answers_room(NULL, o->room);
        if (o->valid == NULL)
            return false;
        memset(o->valid, 1, o->room);
    }
    memcpy(o->valid + o->done - n, valid, n);
    return true;
}

/* If the answers were returned, they belong to the object; otherwise frees them. */
static PyObject *end_answers(struct output *o, bool good)
{
    if (good)
        return answers_make(o->state, o->bytes, o->valid, o->done);
    answers_free(o->bytes);
    answers_free(o->valid);
    return NULL;
}

PyObject *output_end(struct output *o, bool good)
{
    if (good && o->given && o->done < o->room) {
        PyErr_Format(PyExc_ValueError, "out has room for %zu answers, and there were only %zu keys",
                     o->room, o->done);
        good = false;
    }
    if (good && o->width > 0 && !o->given && o->done < o->room)
        good = resize(o, o->done);
    if (o->width == 1 && !o->given)
        return end_answers(o, good);
    if (o->apart != NULL)
        memcpy(o->view.buf, o->apart, o->room * o->width);
    PyMem_Free(o->apart);
    if (o->given)
        PyBuffer_Release(&o->view);
    if (good)
        return o->width == 0 ? Py_NewRef(Py_None) : o->result;
    Py_XDECREF(o->result);
    return NULL;
}
