/* SPDX-License-Identifier: MIT
 * The module bloomfile._core: its classes, its functions, hashing and sizing. */
#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <string.h>

#include "answers.h"
#include "batch.h"
#include "builder.h"
#include "combine.h"
#include "convert.h"
#include "error.h"
#include "filter.h"
#include "info.h"
#include "key.h"
#include "live.h"
#include "slice.h"

/* ---- hashing */

static PyObject *hash(PyObject *module, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "", "seed", NULL };
    PyObject *object;
    uint64_t seed = 0;
    struct key key;
    (void)module;
    if (!PARSE(args, keywords, "O|O&:hash", names, &object, convert_u64, &seed) ||
        !key_get(&key, object))
        return NULL;
    const uint64_t digest = bloomfile_hash(seed, key.data, (size_t)key.size);
    key_drop(&key);
    return PyLong_FromUnsignedLongLong(digest);
}

static int give(void *handle, const uint64_t *digests, size_t n, unsigned char *answers,
                size_t *done)
{
    (void)done;
    (void)handle;
    memcpy(answers, digests, n * sizeof *digests);
    return 0;
}

/* Hashes keys of one kind, or of any kind. */
static struct taker taker_of(PyObject *module, struct kind *keys)
{
    kind_set(keys, BLOOMFILE_KEYS_UNKNOWN, 0);
    return (
        struct taker){ .take = give, .width = 8, .keys = keys, .state = PyModule_GetState(module) };
}

static PyObject *hash_many(PyObject *module, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "", "seed", "out", NULL };
    PyObject *keys, *out = Py_None;
    struct kind any;
    struct taker taker = taker_of(module, &any);
    if (!PARSE(args, keywords, "O|O&$O:hash_many", names, &keys, convert_u64, &taker.seed, &out))
        return NULL;
    return batch_keys(&taker, keys, out);
}

/* (digests, kind) of keys, which must be of one kind. */
static PyObject *hash_typed(PyObject *module, PyObject *args)
{
    PyObject *keys, *given;
    struct kind kind;
    struct taker taker = taker_of(module, &kind);
    uint32_t number = BLOOMFILE_KEYS_UNKNOWN, size = 0;
    if (!PyArg_ParseTuple(args, "OO&O:hash_typed", &keys, convert_u64, &taker.seed, &given) ||
        !kind_parse(given, &number, &size))
        return NULL;
    if (given == Py_None)
        kind_leave_open(&kind);
    else
        kind_set(&kind, number, size);
    PyObject *digests = batch_keys(&taker, keys, Py_None);
    return digests != NULL ? Py_BuildValue("NN", digests, kind_object(&kind)) : NULL;
}

static PyObject *hash_records(PyObject *module, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "", "size", "seed", "out", NULL };
    PyObject *records, *size = Py_None, *out = Py_None;
    struct source source;
    struct kind any;
    struct taker taker = taker_of(module, &any);
    if (!PARSE(args, keywords, "O|OO&$O:hash_records", names, &records, &size, convert_u64,
               &taker.seed, &out) ||
        !source_of_records(&source, records, size))
        return NULL;
    return batch_source(&taker, &source, out);
}

/* ---- sizing */

static PyObject *size_for(PyObject *module, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "n", "fpr", "bits", "hashes", "layout", NULL };
    struct state *state = PyModule_GetState(module);
    struct bloomfile_size size = BLOOMFILE_SIZE_INIT;
    if (!PARSE(args, keywords, "|O&d$O&O&O&:size_for", names, convert_u64, &size.keys, &size.fpr,
               convert_u64, &size.bits, convert_u32, &size.hashes, convert_layout, &size.layout))
        return NULL;
    const int error = bloomfile_size_for(&size);
    if (error == BLOOMFILE_EVALUE)
        return PyErr_Format(PyExc_ValueError, "%s is out of range",
                            strcmp(bloomfile_invalid(), "keys") == 0 ? "n" : bloomfile_invalid());
    if (error != 0)
        return error_raise(state, error, NULL);
    return PyObject_CallMethod(state->records, "Size", "KdKIKK", (unsigned long long)size.keys,
                               size.fpr, (unsigned long long)size.bits, (unsigned int)size.hashes,
                               (unsigned long long)size.file_size,
                               (unsigned long long)size.image_size);
}

/* ---- files */

static PyObject *unlink_files(PyObject *module, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "path", NULL };
    PyObject *path;
    if (!PARSE(args, keywords, "O&:unlink", names, convert_path, &path))
        return NULL;
    PyObject *bytes = path_bytes(path), *result = NULL;
    if (bytes != NULL) {
        const char *name = PyBytes_AsString(bytes);
        WITHOUT_GIL(const int error = bloomfile_unlink(name));
        result =
            error == 0 ? Py_NewRef(Py_None) : error_raise(PyModule_GetState(module), error, path);
        Py_DECREF(bytes);
    }
    Py_DECREF(path);
    return result;
}

/* ---- errors */

static bool is_known(int error)
{
    return strcmp(bloomfile_errname(error), "UNKNOWN") != 0;
}

/* [(name, code, text), ...] of the kinds there are */
static PyObject *errors(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    PyObject *list = PyList_New(0);
    for (int kind = BLOOMFILE_KIND_SYSTEM; list != NULL && kind <= BLOOMFILE_KIND_CAPACITY; kind++)
        for (int error = -1001 - 100 * kind; list != NULL && is_known(error); error--) {
            PyObject *row =
                Py_BuildValue("(sis)", bloomfile_errname(error), error, bloomfile_strerror(error));
            if (row == NULL || PyList_Append(list, row) != 0)
                Py_CLEAR(list);
            Py_XDECREF(row);
        }
    return list;
}

/* ---- the module */

#define WITH_KEYWORDS (METH_VARARGS | METH_KEYWORDS)

static PyMethodDef methods[] = {
    { "hash", FUNCTION(hash), WITH_KEYWORDS,
      "hash(key, /, seed=0)\n--\n\n"
      "Returns the digest of a key: XXH3 of its bytes, with a seed." },
    { "hash_many", FUNCTION(hash_many), WITH_KEYWORDS,
      "hash_many(keys, /, seed=0, *, out=None)\n--\n\n"
      "Returns the digests of keys, as contains_many() takes them, 8 bytes each, in a "
      "bytearray or in `out`. A null raises a ValueError." },
    { "hash_typed", FUNCTION(hash_typed), METH_VARARGS, NULL },
    { "hash_records", FUNCTION(hash_records), WITH_KEYWORDS,
      "hash_records(records, /, size=None, seed=0, *, out=None)\n--\n\n"
      "The same for a buffer of keys of one size: the bytes of its items or rows. An array "
      "of integers wider than a byte holds integer keys; `size` with such an array raises a "
      "TypeError." },
    { "size_for", FUNCTION(size_for), WITH_KEYWORDS,
      "size_for(n=0, fpr=0.0, *, bits=0, hashes=0, layout=None)\n--\n\n"
      "Computes the size of a filter before it is made. A parameter that is 0 is computed: "
      "the bits for n keys, or the n for these bits." },
    { "unlink", FUNCTION(unlink_files), WITH_KEYWORDS,
      "unlink(path)\n--\n\n"
      "Removes a filter; all files of one that grows or forgets." },
    { "inspect", FUNCTION(info_inspect), METH_VARARGS, NULL },
    { "errors", FUNCTION(errors), METH_NOARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static PyTypeObject *add_class(PyObject *module, PyType_Spec *spec, PyObject *base)
{
    PyObject *class = PyType_FromModuleAndSpec(module, spec, base);
    if (class != NULL && PyModule_AddType(module, (PyTypeObject *)class) != 0)
        Py_CLEAR(class);
    return (PyTypeObject *)class;
}

#ifdef BLOOMFILE_FREE_THREADED
/* The GIL guards all handles. Importing the module turns it on, unless the program forbids that. */
static bool has_gil(void)
{
    PyObject *function = PySys_GetObject("_is_gil_enabled");
    PyObject *enabled = function != NULL ? PyObject_CallNoArgs(function) : NULL;
    const bool on = enabled == Py_True;
    Py_XDECREF(enabled);
    if (!on && PyErr_Occurred() == NULL)
        PyErr_SetString(PyExc_ImportError,
                        "bloomfile needs the GIL: do not set PYTHON_GIL=0 or -X gil=0");
    return on;
}
#else
static bool has_gil(void)
{
    return true;
}
#endif

static int execute(PyObject *module)
{
    struct state *state = PyModule_GetState(module);
    state->module = module;
    if (!has_gil() || !turn_watch() ||
        (state->records = PyImport_ImportModule("bloomfile.records")) == NULL)
        return -1;
    state->filter = add_class(module, &filter_spec, NULL);
    if (state->filter == NULL)
        return -1;
    state->live = add_class(module, &live_spec, (PyObject *)state->filter);
    state->builder = add_class(module, &builder_spec, NULL);
    state->answers = add_class(module, &answers_spec, NULL);
    if (state->live == NULL || state->builder == NULL || state->answers == NULL ||
        PyModule_AddFunctions(module, combine_methods) != 0 ||
        PyModule_AddFunctions(module, slice_methods) != 0)
        return -1;
    return PyModule_AddStringConstant(module, "library_version", bloomfile_version()) != 0 ||
                   PyModule_AddStringConstant(module, "version", PACKAGE_VERSION) != 0
               ? -1
               : 0;
}

static int traverse(PyObject *module, visitproc visit, void *arg)
{
    struct state *state = PyModule_GetState(module);
    Py_VISIT(state->filter);
    Py_VISIT(state->live);
    Py_VISIT(state->builder);
    Py_VISIT(state->answers);
    Py_VISIT(state->columns);
    Py_VISIT(state->errors);
    Py_VISIT(state->records);
    return 0;
}

static int clear(PyObject *module)
{
    struct state *state = PyModule_GetState(module);
    Py_CLEAR(state->filter);
    Py_CLEAR(state->live);
    Py_CLEAR(state->builder);
    Py_CLEAR(state->answers);
    Py_CLEAR(state->columns);
    Py_CLEAR(state->errors);
    Py_CLEAR(state->records);
    return 0;
}

/* Interpreters with a GIL of their own may import the module. Python 3.11 refuses the slot, and its
 * headers lack the names. */
#define MULTIPLE_INTERPRETERS ((PyModuleDef_Slot){ 3, (void *)2 })

static PyModuleDef_Slot slots[] = {
    { Py_mod_exec, SLOT(execute) },
    { 0, NULL }, /* MULTIPLE_INTERPRETERS from 3.12 on */
    { 0, NULL },
};

struct PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "bloomfile._core",
    .m_doc = "What of bloomfile is written in C.",
    .m_size = sizeof(struct state),
    .m_methods = methods,
    .m_slots = slots,
    .m_traverse = traverse,
    .m_clear = clear,
};

PyMODINIT_FUNC PyInit__core(void);

PyMODINIT_FUNC PyInit__core(void)
{
    if (Py_Version >= 0x030c0000)
        slots[1] = MULTIPLE_INTERPRETERS;
    return PyModuleDef_Init(&module_definition);
}
