/* SPDX-License-Identifier: MIT
 * Bools for NumPy, pandas, polars and Arrow. An object never changes, so that its memory can be
 * lent without counting the borrowers. */
#include "answers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arrow_abi.h"
#include "convert.h"
#include "items.h"

struct answers {
    PyObject_HEAD size_t n;
    unsigned char *bytes; /* 0 or 1; 0 for a null */
    unsigned char *valid; /* 0: a null; NULL: there are no nulls */
};

#define SHOWN 10 /* answers in a repr */

unsigned char *answers_room(unsigned char *old, size_t n)
{
    unsigned char *bytes = n < PY_SSIZE_T_MAX ? realloc(old, n + (n == 0)) : NULL;
    if (bytes == NULL)
        PyErr_NoMemory();
    return bytes;
}

void answers_free(unsigned char *bytes)
{
    free(bytes);
}

static PyObject *make(PyTypeObject *type, unsigned char *bytes, unsigned char *valid, size_t n)
{
    allocfunc allocate = PyType_GetSlot(type, Py_tp_alloc);
    struct answers *self = (struct answers *)allocate(type, 0);
    if (self == NULL) {
        answers_free(bytes);
        answers_free(valid);
        return NULL;
    }
    if (valid != NULL && memchr(valid, 0, n) == NULL) {
        answers_free(valid);
        valid = NULL;
    }
    self->n = n;
    self->bytes = bytes;
    self->valid = valid;
    return (PyObject *)self;
}

PyObject *answers_make(struct state *state, unsigned char *bytes, unsigned char *valid, size_t n)
{
    if (state_is_usable(state))
        return make(state->answers, bytes, valid, n);
    answers_free(bytes);
    answers_free(valid);
    return NULL;
}

static void dealloc(struct answers *self)
{
    PyTypeObject *type = Py_TYPE(&self->ob_base);
    answers_free(self->bytes);
    answers_free(self->valid);
    freefunc release = PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

/* ---- made from Python objects */

static bool is_bools(const Py_buffer *view)
{
    return view->ndim == 1 && items_are(view, 1, "?") && PyBuffer_IsContiguous(view, 'C');
}

static PyObject *copy_of(PyTypeObject *type, const unsigned char *from, const unsigned char *valid,
                         size_t n)
{
    unsigned char *bytes = answers_room(NULL, n);
    unsigned char *copy = bytes != NULL && valid != NULL ? answers_room(NULL, n) : NULL;
    if (bytes == NULL || (valid != NULL && copy == NULL)) {
        answers_free(bytes);
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        bytes[i] = from[i] != 0;
    if (copy != NULL)
        memcpy(copy, valid, n);
    return make(type, bytes, copy, n);
}

static bool take_item(PyObject *item, unsigned char *byte, unsigned char *valid)
{
    *valid = item != Py_None;
    *byte = item == Py_True;
    if (item == Py_None || PyBool_Check(item))
        return true;
    PyErr_Format(PyExc_TypeError, "an answer is True, False or None, not %R", Py_TYPE(item));
    return false;
}

static PyObject *of_list(PyTypeObject *type, PyObject *list)
{
    const size_t n = (size_t)PyList_Size(list);
    unsigned char *bytes = answers_room(NULL, n);
    unsigned char *valid = bytes != NULL ? answers_room(NULL, n) : NULL;
    bool good = valid != NULL;
    for (size_t i = 0; good && i < n; i++)
        good = take_item(PyList_GetItem(list, (Py_ssize_t)i), &bytes[i], &valid[i]);
    if (good)
        return make(type, bytes, valid, n);
    answers_free(bytes);
    answers_free(valid);
    return NULL;
}

static PyObject *new_of(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "", NULL };
    PyObject *values;
    Py_buffer view;
    if (!PARSE(args, keywords, "O:Answers", names, &values))
        return NULL;
    if (Py_TYPE(values) == type) {
        const struct answers *from = (struct answers *)values;
        return copy_of(type, from->bytes, from->valid, from->n);
    }
    if (PyObject_CheckBuffer(values) && PyObject_GetBuffer(values, &view, PyBUF_FULL_RO) == 0) {
        PyObject *copy = is_bools(&view) ? copy_of(type, view.buf, NULL, (size_t)view.len) : NULL;
        PyBuffer_Release(&view);
        if (copy != NULL || PyErr_Occurred())
            return copy;
    }
    PyErr_Clear();
    PyObject *list = PySequence_List(values);
    PyObject *result = list != NULL ? of_list(type, list) : NULL;
    Py_XDECREF(list);
    return result;
}

/* ---- items */

static Py_ssize_t length(struct answers *self)
{
    return (Py_ssize_t)self->n;
}

static PyObject *at(const struct answers *self, size_t i)
{
    if (self->valid != NULL && self->valid[i] == 0)
        return Py_NewRef(Py_None);
    return PyBool_FromLong(self->bytes[i]);
}

static PyObject *item(struct answers *self, Py_ssize_t i)
{
    if (i >= 0 && (size_t)i < self->n)
        return at(self, (size_t)i);
    PyErr_SetString(PyExc_IndexError, "there are not so many answers");
    return NULL;
}

static PyObject *slice(struct answers *self, PyObject *object)
{
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(object, &start, &stop, &step) != 0)
        return NULL;
    const size_t n = (size_t)PySlice_AdjustIndices((Py_ssize_t)self->n, &start, &stop, step);
    unsigned char *bytes = answers_room(NULL, n);
    unsigned char *valid = bytes != NULL && self->valid != NULL ? answers_room(NULL, n) : NULL;
    if (bytes == NULL || (self->valid != NULL && valid == NULL)) {
        answers_free(bytes);
        return NULL;
    }
    for (size_t i = 0; i < n; i++, start += step) {
        bytes[i] = self->bytes[start];
        if (valid != NULL)
            valid[i] = self->valid[start];
    }
    return make(Py_TYPE(&self->ob_base), bytes, valid, n);
}

static PyObject *subscript(struct answers *self, PyObject *key)
{
    if (PySlice_Check(key))
        return slice(self, key);
    Py_ssize_t i = PyNumber_AsSsize_t(key, PyExc_IndexError);
    if (i == -1 && PyErr_Occurred())
        return NULL;
    return item(self, i < 0 ? i + (Py_ssize_t)self->n : i);
}

static PyObject *tolist(struct answers *self, PyObject *unused)
{
    (void)unused;
    return PySequence_List((PyObject *)self);
}

static PyObject *represent(struct answers *self)
{
    char text[SHOWN * 8 + 64] = "Answers([";
    size_t used = strlen(text);
    for (size_t i = 0; i < self->n && i < SHOWN; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? ", " : "",
                                 self->valid != NULL && self->valid[i] == 0 ? "None"
                                 : self->bytes[i] != 0                      ? "True"
                                                                            : "False");
    if (self->n <= SHOWN)
        return PyUnicode_FromFormat("%s])", text);
    size_t sum = 0;
    for (size_t i = 0; i < self->n; i++)
        sum += self->bytes[i];
    return PyUnicode_FromFormat("%s, ...], %zu of %zu True)", text, sum, self->n);
}

/* ---- sums */

/* Neither parameter means anything: NumPy's functions of the same name pass None. */
static bool take_axis(PyObject *args, PyObject *keywords, const char *format)
{
    static char *names[] = { "axis", "out", NULL };
    PyObject *axis = Py_None, *out = Py_None;
    if (!PARSE(args, keywords, format, names, &axis, &out))
        return false;
    if (axis == Py_None && out == Py_None)
        return true;
    PyErr_SetString(PyExc_TypeError, "axis and out must be None (numpy.asarray() has both)");
    return false;
}

static size_t count_of(const struct answers *self, bool nulls)
{
    size_t sum = 0;
    if (!nulls)
        for (size_t i = 0; i < self->n; i++)
            sum += self->bytes[i];
    else if (self->valid != NULL)
        for (size_t i = 0; i < self->n; i++)
            sum += self->valid[i] == 0;
    return sum;
}

static PyObject *sum(struct answers *self, PyObject *args, PyObject *keywords)
{
    return take_axis(args, keywords, "|OO:sum") ? PyLong_FromSize_t(count_of(self, false)) : NULL;
}

static PyObject *any(struct answers *self, PyObject *args, PyObject *keywords)
{
    return take_axis(args, keywords, "|OO:any")
               ? PyBool_FromLong(memchr(self->bytes, 1, self->n) != NULL)
               : NULL;
}

static PyObject *all(struct answers *self, PyObject *args, PyObject *keywords)
{
    return take_axis(args, keywords, "|OO:all")
               ? PyBool_FromLong(count_of(self, false) + count_of(self, true) == self->n)
               : NULL;
}

static bool is_at(const struct answers *self, size_t i, PyObject *value)
{
    const bool null = self->valid != NULL && self->valid[i] == 0;
    return value == Py_None ? null : !null && (value == Py_True) == (self->bytes[i] != 0);
}

static PyObject *count(struct answers *self, PyObject *value)
{
    size_t found = 0;
    const bool possible = value == Py_None || PyBool_Check(value);
    for (size_t i = 0; possible && i < self->n; i++)
        found += is_at(self, i, value);
    return PyLong_FromSize_t(found);
}

static PyObject *position(struct answers *self, PyObject *value)
{
    if (value == Py_None || PyBool_Check(value))
        for (size_t i = 0; i < self->n; i++)
            if (is_at(self, i, value))
                return PyLong_FromSize_t(i);
    return PyErr_Format(PyExc_ValueError, "no answer is %R", value);
}

static int truth(PyObject *self)
{
    (void)self;
    PyErr_SetString(PyExc_ValueError,
                    "many answers are neither true nor false (call any(), all() or len())");
    return -1;
}

/* ---- nulls */

static PyObject *null_count(struct answers *self, void *unused)
{
    (void)unused;
    return PyLong_FromSize_t(count_of(self, true));
}

static PyObject *is_null(struct answers *self, PyObject *unused)
{
    unsigned char *bytes = answers_room(NULL, self->n);
    (void)unused;
    if (bytes == NULL)
        return NULL;
    for (size_t i = 0; i < self->n; i++)
        bytes[i] = self->valid != NULL && self->valid[i] == 0;
    return make(Py_TYPE(&self->ob_base), bytes, NULL, self->n);
}

static PyObject *fill_null(struct answers *self, PyObject *value)
{
    if (!PyBool_Check(value))
        return PyErr_Format(PyExc_TypeError, "a null becomes True or False, not %R", value);
    if (self->valid == NULL)
        return Py_NewRef((PyObject *)self);
    unsigned char *bytes = answers_room(NULL, self->n);
    if (bytes == NULL)
        return NULL;
    for (size_t i = 0; i < self->n; i++)
        bytes[i] = self->valid[i] == 0 ? value == Py_True : self->bytes[i];
    return make(Py_TYPE(&self->ob_base), bytes, NULL, self->n);
}

/* A function of bloomfile.columns, of this object, and of another if it is not NULL. */
static PyObject *by(const char *function, PyObject *self, PyObject *other)
{
    PyObject *module = PyImport_ImportModule("bloomfile.columns");
    PyObject *result = module != NULL ? PyObject_CallMethod(module, function,
                                                            other != NULL ? "OO" : "O", self, other)
                                      : NULL;
    Py_XDECREF(module);
    return result;
}

/* ---- logic, with nulls as unknown: False & null is False, True & null is null */

static PyObject *invert(struct answers *self)
{
    PyObject *result = copy_of(Py_TYPE(&self->ob_base), self->bytes, self->valid, self->n);
    struct answers *made = (struct answers *)result;
    for (size_t i = 0; made != NULL && i < self->n; i++)
        made->bytes[i] = self->bytes[i] == 0 && (self->valid == NULL || self->valid[i] != 0);
    return result;
}

struct operand {
    const unsigned char *bytes, *valid;
    size_t n;
    PyTypeObject *type; /* NULL: it is a buffer of bools */
    Py_buffer view;
};

/* Returns whether the slots of a type are those of this file: both operands of `a & b` come
 * here. */
static bool is_answers(PyObject *object)
{
    return PyType_GetSlot(Py_TYPE(object), Py_tp_repr) == SLOT(represent);
}

static bool operand_begin(struct operand *o, PyObject *object)
{
    *o = (struct operand){ .type = NULL };
    if (is_answers(object)) {
        const struct answers *a = (struct answers *)object;
        o->type = Py_TYPE(object);
        o->bytes = a->bytes;
        o->valid = a->valid;
        o->n = a->n;
        return true;
    }
    if (!PyObject_CheckBuffer(object) || PyObject_GetBuffer(object, &o->view, PyBUF_FULL_RO) != 0) {
        PyErr_Clear();
        return false;
    }
    if (!is_bools(&o->view)) {
        PyBuffer_Release(&o->view);
        return false;
    }
    o->bytes = o->view.buf;
    o->n = (size_t)o->view.len;
    return true;
}

static void operand_end(struct operand *o)
{
    if (o->type == NULL)
        PyBuffer_Release(&o->view);
}

enum {
    NO,
    YES,
    UNKNOWN
};

static unsigned char state_at(const struct operand *o, size_t i)
{
    return o->valid != NULL && o->valid[i] == 0 ? UNKNOWN : o->bytes[i] != 0;
}

typedef unsigned char logic(unsigned char, unsigned char);

static unsigned char and_(unsigned char a, unsigned char b)
{
    return a == NO || b == NO ? NO : a == UNKNOWN || b == UNKNOWN ? UNKNOWN : YES;
}

static unsigned char or_(unsigned char a, unsigned char b)
{
    return a == YES || b == YES ? YES : a == UNKNOWN || b == UNKNOWN ? UNKNOWN : NO;
}

static unsigned char xor_(unsigned char a, unsigned char b)
{
    return a == UNKNOWN || b == UNKNOWN ? UNKNOWN : a != b;
}

static PyObject *joined(const struct operand *a, const struct operand *b, logic *how)
{
    if (a->n != b->n)
        return PyErr_Format(PyExc_ValueError,
                            "there are %zu answers on one side and %zu on the "
                            "other",
                            a->n, b->n);
    const bool nulls = a->valid != NULL || b->valid != NULL;
    unsigned char *bytes = answers_room(NULL, a->n);
    unsigned char *valid = bytes != NULL && nulls ? answers_room(NULL, a->n) : NULL;
    if (bytes == NULL || (nulls && valid == NULL)) {
        answers_free(bytes);
        return NULL;
    }
    for (size_t i = 0; i < a->n; i++) {
        const unsigned char state = how(state_at(a, i), state_at(b, i));
        bytes[i] = state == YES;
        if (valid != NULL)
            valid[i] = state != UNKNOWN;
    }
    return make(a->type != NULL ? a->type : b->type, bytes, valid, a->n);
}

/* One operand is a column of another library, which combines columns of its own. */
static PyObject *join_column(PyObject *left, PyObject *right, binaryfunc again)
{
    const bool first = is_answers(left);
    PyObject *other = first ? right : left;
    if (!PyObject_HasAttrString(other, "dtype"))
        return Py_NewRef(Py_NotImplemented);
    PyObject *column = by("like", first ? left : right, other), *result = NULL;
    if (column != NULL)
        result = first ? again(column, other) : again(other, column);
    Py_XDECREF(column);
    return result;
}

static PyObject *join(PyObject *left, PyObject *right, logic *how, binaryfunc again)
{
    struct operand a, b;
    PyObject *result = NULL;
    if (!operand_begin(&a, left))
        return join_column(left, right, again);
    if (operand_begin(&b, right)) {
        result = joined(&a, &b, how);
        operand_end(&b);
    } else {
        result = join_column(left, right, again);
    }
    operand_end(&a);
    return result;
}

static PyObject *and_method(PyObject *a, PyObject *b)
{
    return join(a, b, and_, PyNumber_And);
}

static PyObject *or_method(PyObject *a, PyObject *b)
{
    return join(a, b, or_, PyNumber_Or);
}

static PyObject *xor_method(PyObject *a, PyObject *b)
{
    return join(a, b, xor_, PyNumber_Xor);
}

/* ---- equality: of all answers; arrays of NumPy compare each for themselves */

static int equals_bytes(const struct answers *self, PyObject *other)
{
    Py_buffer view;
    if (PyObject_GetBuffer(other, &view, PyBUF_SIMPLE) != 0)
        return -1;
    const bool same = self->valid == NULL && (size_t)view.len == self->n &&
                      memcmp(view.buf, self->bytes, self->n) == 0;
    PyBuffer_Release(&view);
    return same;
}

static int equals_items(const struct answers *self, PyObject *other)
{
    if ((size_t)PySequence_Size(other) != self->n)
        return 0;
    for (size_t i = 0; i < self->n; i++) {
        PyObject *theirs = PySequence_GetItem(other, (Py_ssize_t)i);
        if (theirs == NULL)
            return -1;
        const bool same = (theirs == Py_None || PyBool_Check(theirs)) && is_at(self, i, theirs);
        Py_DECREF(theirs);
        if (!same)
            return 0;
    }
    return 1;
}

static PyObject *compare(struct answers *self, PyObject *other, int op)
{
    int same = -1;
    if (op != Py_EQ && op != Py_NE)
        return Py_NewRef(Py_NotImplemented);
    if (is_answers(other) || PyList_Check(other) || PyTuple_Check(other))
        same = equals_items(self, other);
    else if (PyBytes_Check(other) || PyByteArray_Check(other))
        same = equals_bytes(self, other);
    else
        return Py_NewRef(Py_NotImplemented);
    return same < 0 ? NULL : PyBool_FromLong((same != 0) == (op == Py_EQ));
}

/* ---- a buffer, NumPy, pandas, polars, pickle */

static bool has_no_nulls(const struct answers *self, PyObject *exception)
{
    if (self->valid == NULL)
        return true;
    const size_t nulls = count_of(self, true);
    PyErr_Format(exception,
                 "%zu answer%s null: call fill_null(False) or fill_null(True) first, "
                 "or for pandas to_pandas()",
                 nulls, nulls == 1 ? " is" : "s are");
    return false;
}

static int get_buffer(struct answers *self, Py_buffer *view, int flags)
{
    view->obj = NULL;
    if (!has_no_nulls(self, PyExc_BufferError) ||
        PyBuffer_FillInfo(view, (PyObject *)self, self->bytes, (Py_ssize_t)self->n, 1, flags) != 0)
        return -1;
    if ((flags & PyBUF_FORMAT) != 0)
        view->format = "?";
    return 0;
}

/* __array__(): NumPy calls it only after the buffer protocol failed. */
static PyObject *array(struct answers *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "dtype", "copy", NULL };
    PyObject *dtype = Py_None, *copy = Py_None, *result = NULL;
    if (!PARSE(args, keywords, "|OO:__array__", names, &dtype, &copy) ||
        !has_no_nulls(self, PyExc_ValueError))
        return NULL;
    PyObject *numpy = PyImport_ImportModule("numpy");
    PyObject *view = numpy != NULL ? PyMemoryView_FromObject((PyObject *)self) : NULL;
    if (view != NULL)
        result =
            PyObject_CallMethod(numpy, copy == Py_True ? "array" : "asarray", "OO", view, dtype);
    Py_XDECREF(view);
    Py_XDECREF(numpy);
    return result;
}

/* pandas combines a column only with objects that have a dtype. */
static PyObject *dtype(PyObject *self, void *unused)
{
    (void)unused;
    return by("dtype", self, NULL);
}

static PyObject *to_numpy(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyObject_CallMethod(self, "__array__", NULL);
}

static PyObject *to_pandas(PyObject *self, PyObject *unused)
{
    (void)unused;
    return by("to_pandas", self, NULL);
}

static PyObject *to_polars(PyObject *self, PyObject *unused)
{
    (void)unused;
    return by("to_polars", self, NULL);
}

static PyObject *call(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "", NULL };
    PyObject *frame;
    if (!PARSE(args, keywords, "O:Answers", names, &frame))
        return NULL;
    return by(((struct answers *)self)->valid != NULL ? "to_pandas" : "to_numpy", self, NULL);
}

static PyObject *reduce(PyObject *self, PyObject *unused)
{
    (void)unused;
    PyObject *list = PySequence_List(self);
    return list != NULL ? Py_BuildValue("O(N)", Py_TYPE(self), list) : NULL;
}

/* ---- Arrow */

struct bools {
    const void *buffers[2];
};

static void release_schema(struct arrow_schema *schema)
{
    schema->release = NULL;
}

static void release_array(struct arrow_array *array)
{
    struct bools *bools = array->private_data;
    for (unsigned i = 0; i < 2; i++)
        answers_free((unsigned char *)(uintptr_t)bools->buffers[i]);
    free(bools);
    array->release = NULL;
}

static void drop_schema(PyObject *capsule)
{
    struct arrow_schema *schema = PyCapsule_GetPointer(capsule, "arrow_schema");
    if (schema->release != NULL)
        schema->release(schema);
    free(schema);
}

static void drop_array(PyObject *capsule)
{
    struct arrow_array *array = PyCapsule_GetPointer(capsule, "arrow_array");
    if (array->release != NULL)
        array->release(array);
    free(array);
}

/* A pair of capsules, with an array of n bools as bits. `valid`: bits that are 0 for each of the
 * `nulls`; NULL: there are no nulls. Takes ownership of both, even on failure. Returns NULL with an
 * exception set.
 */
static PyObject *arrow_of_bools(unsigned char *bits, unsigned char *valid, size_t n, size_t nulls)
{
    struct bools *bools = malloc(sizeof *bools);
    struct arrow_schema *schema = calloc(1, sizeof *schema);
    struct arrow_array *array = calloc(1, sizeof *array);
    if (bools == NULL || schema == NULL || array == NULL) {
        answers_free(bits);
        answers_free(valid);
        free(bools);
        free(schema);
        free(array);
        return PyErr_NoMemory();
    }
    *bools = (struct bools){ { valid, bits } };
    *schema = (struct arrow_schema){ .format = "b",
                                     .name = "",
                                     .flags = 2, /* may have nulls */
                                     .release = release_schema };
    *array = (struct arrow_array){ .length = (int64_t)n,
                                   .null_count = (int64_t)nulls,
                                   .n_buffers = 2,
                                   .buffers = bools->buffers,
                                   .release = release_array,
                                   .private_data = bools };
    PyObject *type = PyCapsule_New(schema, "arrow_schema", drop_schema);
    if (type == NULL)
        free(schema);
    PyObject *items = PyCapsule_New(array, "arrow_array", drop_array);
    if (items == NULL) {
        release_array(array);
        free(array);
    }
    if (type != NULL && items != NULL)
        return Py_BuildValue("(NN)", type, items);
    Py_XDECREF(type);
    Py_XDECREF(items);
    return NULL;
}

static unsigned char *bits_of(const unsigned char *bytes, size_t n)
{
    unsigned char *bits = answers_room(NULL, n / 8 + 1);
    if (bits == NULL)
        return NULL;
    memset(bits, 0, n / 8 + 1);
    for (size_t i = 0; i < n; i++)
        bits[i / 8] |= (unsigned char)(bytes[i] << (i % 8));
    return bits;
}

static PyObject *arrow(struct answers *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "requested_schema", NULL };
    PyObject *schema = Py_None;
    if (!PARSE(args, keywords, "|O:__arrow_c_array__", names, &schema))
        return NULL;
    unsigned char *bits = bits_of(self->bytes, self->n);
    unsigned char *valid =
        bits != NULL && self->valid != NULL ? bits_of(self->valid, self->n) : NULL;
    if (bits == NULL || (self->valid != NULL && valid == NULL)) {
        answers_free(bits);
        return NULL;
    }
    return arrow_of_bools(bits, valid, self->n, count_of(self, true));
}

/* ---- the class */

#define WITH_KEYWORDS (METH_VARARGS | METH_KEYWORDS)

static PyMethodDef methods[] = {
    { "sum", FUNCTION(sum), WITH_KEYWORDS,
      "sum($self, /, axis=None, out=None)\n--\n\nThe number of True. axis and out must be None." },
    { "any", FUNCTION(any), WITH_KEYWORDS,
      "any($self, /, axis=None, out=None)\n--\n\nWhether an answer is True." },
    { "all", FUNCTION(all), WITH_KEYWORDS,
      "all($self, /, axis=None, out=None)\n--\n\nWhether no answer is False." },
    { "count", FUNCTION(count), METH_O,
      "count($self, value, /)\n--\n\nThe number of answers that are `value`: True, False or "
      "None." },
    { "index", FUNCTION(position), METH_O,
      "index($self, value, /)\n--\n\nThe position of the first such answer; ValueError if there is "
      "none." },
    { "is_null", FUNCTION(is_null), METH_NOARGS,
      "is_null($self, /)\n--\n\nTrue where the key was null." },
    { "fill_null", FUNCTION(fill_null), METH_O,
      "fill_null($self, value, /)\n--\n\nThe same answers, with True or False for each null." },
    { "tolist", FUNCTION(tolist), METH_NOARGS,
      "tolist($self, /)\n--\n\nA list of True, False and None." },
    { "to_numpy", FUNCTION(to_numpy), METH_NOARGS,
      "to_numpy($self, /)\n--\n\nA read-only array of bools on the same memory. ValueError if "
      "there "
      "are nulls." },
    { "to_pandas", FUNCTION(to_pandas), METH_NOARGS,
      "to_pandas($self, /)\n--\n\nA pandas array of type \"boolean\", with NA for each null." },
    { "to_polars", FUNCTION(to_polars), METH_NOARGS,
      "to_polars($self, /)\n--\n\nA polars Series of bools, with a null for each null." },
    { "__array__", FUNCTION(array), WITH_KEYWORDS,
      "__array__($self, /, dtype=None, copy=None)\n--\n\nFor NumPy." },
    { "__arrow_c_array__", FUNCTION(arrow), WITH_KEYWORDS,
      "__arrow_c_array__($self, /, requested_schema=None)\n--\n\nFor Arrow and polars: bools, "
      "eight "
      "to a byte." },
    { "__reduce__", FUNCTION(reduce), METH_NOARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef attributes[] = {
    { "null_count", (getter)null_count, NULL, "The number of nulls.", NULL },
    { "dtype", (getter)dtype, NULL, "NumPy's bool, for pandas.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static const char documentation[] =
    "Answers(values, /)\n--\n\n"
    "What a batch of keys returns: True, False, or None for a null. It selects rows: array[m], "
    "df[m], df.loc[~m]; in polars df.filter(m). Its memory is a buffer of bools, and it never "
    "changes. "
    "~, &, | and ^ combine answers, and == compares all of them with a list. Calling it is what "
    "pandas does with an indexer: the result is an array for pandas.";

static PyType_Slot slots[] = {
    { Py_tp_doc, SLOT(documentation) },
    { Py_tp_new, SLOT(new_of) },
    { Py_tp_dealloc, SLOT(dealloc) },
    { Py_tp_repr, SLOT(represent) },
    { Py_tp_call, SLOT(call) },
    { Py_tp_hash, SLOT(PyObject_HashNotImplemented) },
    { Py_tp_richcompare, SLOT(compare) },
    { Py_tp_iter, SLOT(PySeqIter_New) },
    { Py_sq_length, SLOT(length) },
    { Py_sq_item, SLOT(item) },
    { Py_mp_length, SLOT(length) },
    { Py_mp_subscript, SLOT(subscript) },
    { Py_nb_bool, SLOT(truth) },
    { Py_nb_invert, SLOT(invert) },
    { Py_nb_and, SLOT(and_method) },
    { Py_nb_or, SLOT(or_method) },
    { Py_nb_xor, SLOT(xor_method) },
    { Py_bf_getbuffer, SLOT(get_buffer) },
    { Py_tp_methods, methods },
    { Py_tp_getset, attributes },
    { 0, NULL },
};

PyType_Spec answers_spec = {
    .name = "bloomfile.Answers",
    .basicsize = sizeof(struct answers),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};
