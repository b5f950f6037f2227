/* SPDX-License-Identifier: MIT
 * Python's limited interface, as of CPython 3.11: one build serves that and all newer versions
 * but the free-threaded, which have no such interface. */
#ifndef BLOOMFILE_PYTHON_H
#define BLOOMFILE_PYTHON_H

#if !defined Py_LIMITED_API && !defined BLOOMFILE_FREE_THREADED
#define Py_LIMITED_API 0x030b0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>
/* After Python.h, which chooses features of the system. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Tables of Python have one type for functions of all signatures. */
#define FUNCTION(f) ((PyCFunction)(void (*)(void))(f))

/* A function for PyType_Slot. */
#define SLOT(f) ((void *)(f))

/* Runs a statement or declaration without the GIL. Once in a block. */
#define WITHOUT_GIL(...)                                                                           \
    PyThreadState *python = PyEval_SaveThread();                                                   \
    __VA_ARGS__;                                                                                   \
    PyEval_RestoreThread(python)

#endif
