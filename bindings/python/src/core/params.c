/* SPDX-License-Identifier: MIT
 * Parses parameters. The library checks their ranges. */
#include "params.h"

#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <string.h>

#include "convert.h"
#include "error.h"
#include "kind.h"

static void begin(struct params *p)
{
    const struct bloomfile_params none = BLOOMFILE_PARAMS_INIT;
    *p = (struct params){ .c = none };
}

void params_end(struct params *p)
{
    Py_CLEAR(p->path);
    Py_CLEAR(p->path_bytes);
    Py_CLEAR(p->spool);
    Py_CLEAR(p->spool_bytes);
}

static bool set_path(struct params *p)
{
    p->path_bytes = path_bytes(p->path);
    return p->path_bytes != NULL;
}

/* An empty label means no label. */
static bool set_label(struct params *p)
{
    if (p->c.label != NULL && p->c.label[0] == '\0')
        p->c.label = NULL;
    return true;
}

bool params_of_builder(struct params *p, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "fpr",   "layout", "bits",          "hashes",    "capacity", "seed",
                             "label", "tag",    "key_kind",      "threads",   "memory",   "spool",
                             "slice", "slices", "over_capacity", "watermark", NULL };
    PyObject *kind = Py_None, *spool = Py_None;
    begin(p);
    p->c.threads = 1;
    if (!PARSE(args, keywords, "|O&$O&O&O&O&O&zO&OO&O&OO&O&pO&:Builder", names, convert_fpr,
               &p->c.fpr, convert_layout, &p->c.layout, convert_u64, &p->c.bits, convert_u32,
               &p->c.hashes, convert_u64, &p->c.capacity, convert_u64, &p->c.seed, &p->c.label,
               convert_tag, p->c.tag, &kind, convert_u32, &p->c.threads, convert_u64, &p->c.memory,
               &spool, convert_u32, &p->c.slice, convert_u32, &p->c.slices, &p->over_capacity,
               convert_watermark, p->c.watermark) ||
        !kind_parse(kind, &p->c.key_kind, &p->c.key_size) || !set_label(p))
        return false;
    p->c.over_capacity = p->over_capacity != 0;
    if (spool == Py_None)
        return true;
    if (!convert_path(spool, &p->spool) || (p->spool_bytes = path_bytes(p->spool)) == NULL)
        return false;
    p->c.spool = PyBytes_AsString(p->spool_bytes);
    return p->c.spool != NULL;
}

/* Whole seconds, as the file stores them, or a timedelta. */
static bool set_period(struct params *p, PyObject *every)
{
    if (every == Py_None)
        return true;
    if (PyUnicode_Check(every)) { /* which int() would read */
        PyErr_SetString(PyExc_TypeError, "every is seconds, or a timedelta, not a str");
        return false;
    }
    PyObject *seconds = PyObject_HasAttrString(every, "total_seconds")
                            ? PyObject_CallMethod(every, "total_seconds", NULL)
                            : Py_NewRef(every);
    PyObject *whole = seconds != NULL ? PyNumber_Long(seconds) : NULL;
    const int same = whole != NULL ? PyObject_RichCompareBool(whole, seconds, Py_EQ) : -1;
    const bool good = same == 1 && convert_u64(whole, &p->c.period);
    if (same == 0)
        PyErr_SetString(PyExc_ValueError, "every must be whole seconds");
    Py_XDECREF(whole);
    Py_XDECREF(seconds);
    return good;
}

static bool set_series(struct params *p, int grow, PyObject *every)
{
    if (grow && p->c.series != 0) {
        PyErr_SetString(PyExc_ValueError, "grow and generations are mutually exclusive");
        return false;
    }
    if (grow)
        p->c.series = BLOOMFILE_SERIES_GROW;
    else if (p->c.series == BLOOMFILE_SERIES_GROW) {
        PyErr_SetString(PyExc_ValueError, "generations must be at least 2");
        return false;
    }
    return set_period(p, every);
}

#define LIVE_NAMES                                                                                 \
    "capacity", "fpr", "layout", "bits", "hashes", "seed", "label", "tag", "key_kind", "grow",     \
        "generations", "every", "exact", "over_capacity", "watermark"
#define LIVE_FORMAT "O&O&$O&O&O&O&zO&OpO&OppO&"
#define LIVE_PLACES                                                                                \
    convert_u64, &p->c.capacity, convert_fpr, &p->c.fpr, convert_layout, &p->c.layout,             \
        convert_u64, &p->c.bits, convert_u32, &p->c.hashes, convert_u64, &p->c.seed, &p->c.label,  \
        convert_tag, p->c.tag, &kind, &grow, convert_u32, &p->c.series, &every, &p->exact,         \
        &p->over_capacity, convert_watermark, p->c.watermark

static bool live_given(struct params *p, PyObject *kind, int grow, PyObject *every)
{
    return kind_parse(kind, &p->c.key_kind, &p->c.key_size) && set_label(p) &&
           set_series(p, grow, every);
}

bool params_of_file(struct params *p, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "path", LIVE_NAMES, "replace", NULL };
    PyObject *kind = Py_None, *every = Py_None;
    int grow = 0;
    begin(p);
    return PARSE(args, keywords, "O&|" LIVE_FORMAT "p:create", names, convert_path, &p->path,
                 LIVE_PLACES, &p->replace) &&
           set_path(p) && live_given(p, kind, grow, every);
}

bool params_of_memory(struct params *p, PyObject *args, PyObject *keywords)
{
    static char *names[] = { LIVE_NAMES, "sole_adder", NULL };
    PyObject *kind = Py_None, *every = Py_None;
    int grow = 0;
    begin(p);
    return PARSE(args, keywords, "|" LIVE_FORMAT "p:memory", names, LIVE_PLACES, &p->sole) &&
           live_given(p, kind, grow, every);
}

bool destination_parse(struct destination *d, const char *format, PyObject *args,
                       PyObject *keywords)
{
    static char *names[] = { "path", "replace", NULL };
    int replace = 0;
    *d = (struct destination){ 0 };
    if (!PARSE(args, keywords, format, names, convert_path, &d->path, &replace) ||
        (d->bytes = path_bytes(d->path)) == NULL)
        return false;
    d->to = bloomfile_to_path(PyBytes_AsString(d->bytes), replace ? BLOOMFILE_TO_REPLACE : 0);
    return true;
}

PyObject *destination_end(struct destination *d, struct state *state, bool called, int error)
{
    if (error != 0)
        error_raise(state, error, d->path);
    Py_XDECREF(d->bytes);
    Py_XDECREF(d->path);
    return called && error == 0 ? Py_NewRef(Py_None) : NULL;
}
