/* SPDX-License-Identifier: MIT
 * The class Filter, which LiveFilter extends. */
#ifndef BLOOMFILE_PYTHON_FILTER_H
#define BLOOMFILE_PYTHON_FILTER_H

#include <bloomfile.h>
#include <bloomfile_open.h>

#include "state.h"
#include "take.h"

struct filter {
    PyObject_HEAD struct turn turn; /* of the bloomfile */
    struct state *state;
    uint64_t seed;
    struct kind keys;
    PyObject *path;     /* as it was given, str; NULL: no path */
    PyObject *absolute; /* for other processes */
    unsigned flags;     /* it was opened with */
    unsigned born;      /* in the process that opened it */
    bool writes;        /* it was opened for adding */
    bool adds_wait;     /* for locks, or for another file */
    bool finished;      /* its writing has ended, and close() has raised the error */
    bool told;          /* the program has read its status, or got an exception or a warning */
    bool held;          /* `image` is to be released */
    Py_buffer image;    /* of a filter in memory */
    PyObject *weak;     /* references to it */
    struct bloomfile_open_params expected;
};

extern PyType_Spec filter_spec;

/* The keyword arguments of opening. */
struct opening {
    PyObject *verify, *tag, *seed, *key_kind;
    int prefault, lock, copy, accept_unclean;
};
#define OPENING_INIT                                                                               \
    {                                                                                              \
        .verify = Py_None, .tag = Py_None, .seed = Py_None, .key_kind = Py_None                    \
    }

/* Converts these arguments and flags to params. Returns false with an exception set. */
bool opening_params(struct state *state, const struct opening *o, unsigned flags,
                    struct bloomfile_open_params *how);

/* An object of the class without a filter. */
struct filter *filter_make(PyTypeObject *type);

/* Gives an object its filter; takes it over, even when it fails. `path` may be NULL. */
bool filter_adopt(struct filter *self, bloomfile_filter *f, PyObject *path, unsigned flags);

/* Returns true, with an exception set, if the object already has a filter. */
bool filter_is_open(struct filter *self);

/* Warns of damage that the program has not asked for, before `f` is closed. Returns false if the
 * warning was turned into an exception. */
bool filter_warn(struct filter *self, bloomfile_filter *f);

/* Closes it, without the GIL. */
void filter_close(struct filter *self, bloomfile_filter *f);

#endif
