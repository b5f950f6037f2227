/* SPDX-License-Identifier: MIT
 * Takes keys from Arrow. A consumer moves a struct out of its capsule and releases it at the end.
 */
#include "arrow.h"

#include <bloomfile.h>
#include <stdlib.h>
#include <string.h>

#include "arrow_abi.h"

/* ---- arrays */

static bool bit(const unsigned char *bits, int64_t i)
{
    return (bits[i / 8] >> (i % 8) & 1) != 0;
}

/* A byte for each item, 0 for a null; NULL without nulls, or with an exception set. An array of
 * format "n" has nulls alone, and no buffers. */
static unsigned char *valid_of(const struct arrow_array *array, bool null)
{
    const unsigned char *bits = null ? NULL : array->buffers[0];
    const size_t n = (size_t)array->length;
    if (n == 0 || (!null && (bits == NULL || array->null_count == 0)))
        return NULL;
    unsigned char *valid = malloc(n);
    if (valid == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        valid[i] = bits != NULL && bit(bits, array->offset + (int64_t)i);
    if (memchr(valid, 0, n) != NULL)
        return valid;
    free(valid);
    return NULL;
}

/* Text or bytes, by offsets of 32 or 64 bits. Arrow does not pass the size of the data: it ends at
 * the last offset. */
static void by_offsets(struct source *s, const struct arrow_array *array, bool large)
{
    const unsigned char *offsets = array->buffers[1];
    const size_t width = large ? 8 : 4;
    s->hash = large ? source_hash_offsets64 : source_hash_offsets32;
    s->items = offsets + (size_t)array->offset * width;
    s->data = array->buffers[2];
    if (large) {
        memcpy(&s->data_size, s->items + s->n * width, width);
    } else {
        int32_t last;
        memcpy(&last, s->items + s->n * width, width);
        s->data_size = last;
    }
    if (s->data == NULL)
        s->data_size = 0;
}

static void by_views(struct source *s, const struct arrow_array *array)
{
    s->hash = source_hash_views;
    s->items = (const unsigned char *)array->buffers[1] + (size_t)array->offset * 16;
    s->part_count = array->n_buffers - 3;
    s->parts = (const unsigned char *const *)(const void *)(array->buffers + 2);
    s->part_sizes = array->buffers[array->n_buffers - 1];
}

/* The bytes of each item of "w:SIZE"; 0: another format. */
static size_t fixed_size(const char *format)
{
    size_t size = 0;
    if (strncmp(format, "w:", 2) != 0)
        return 0;
    for (const char *digit = format + 2; *digit >= '0' && *digit <= '9' && size < SIZE_MAX / 16;
         digit++)
        size = size * 10 + (size_t)(*digit - '0');
    return size;
}

static bool is_one_of(const char *format, const char *a, const char *b)
{
    return strcmp(format, a) == 0 || strcmp(format, b) == 0;
}

/* Returns the bytes of an integer; the letter of an unsigned integer is a capital. Returns 0 for
 * other formats. */
static size_t integer_size(const char *format)
{
    static const char letters[] = "csil";
    const char *found =
        format[0] != '\0' && format[1] == '\0' ? strchr(letters, format[0] | 32) : NULL;
    return found != NULL ? (size_t)1 << (found - letters) : 0;
}

/* Returns the minimum number of buffers of an array in this format; 0 if the format has no keys. */
static int64_t buffers_of(const char *format)
{
    if (is_one_of(format, "u", "z") || is_one_of(format, "U", "Z") || is_one_of(format, "vu", "vz"))
        return 3;
    return fixed_size(format) > 0 || integer_size(format) > 0 ? 2 : 0;
}

static bool is_sound(const struct arrow_array *array, int64_t buffers)
{
    int64_t end;
    return array->n_buffers >= buffers && array->length >= 0 && array->offset >= 0 &&
           !__builtin_add_overflow(array->offset, array->length, &end) &&
           (array->length == 0 || array->buffers[1] != NULL);
}

static bool is_null_type(const char *format)
{
    return strcmp(format, "n") == 0;
}

/* The remedy for a column whose items are not keys. */
static const char *advice(const char *format, bool dictionary)
{
    if (dictionary)
        return "dictionary-encoded or categorical: cast it to string";
    switch (format[0]) {
    case 'e':
    case 'f':
    case 'g':
        return "floating-point: cast it to int64 if all are whole numbers";
    case 'b':
        return "boolean: cast it to int8 or string";
    case 'd':
        return "decimal: cast it to string, or to int64 if all are whole numbers";
    case 't':
        return "a date, a time or a duration: cast it to int64 or string (a date32 to int32)";
    case '+':
        return "nested: flatten it";
    default:
        return "of another type: cast it to string, binary or int64";
    }
}

static bool check(const char *format, const struct arrow_array *array, bool dictionary)
{
    const int64_t buffers = buffers_of(format);
    if (strcmp(format, "+s") == 0)
        PyErr_SetString(PyExc_TypeError, "keys are one column, and this is a table or struct: pass "
                                         "one column, such as df['name']");
    else if (dictionary || (buffers == 0 && !is_null_type(format)))
        PyErr_Format(
            PyExc_TypeError,
            "keys are strings, binary or integers; this Arrow array, of format '%s', is %s", format,
            advice(format, dictionary));
    else if (is_null_type(format) ? array->length < 0 : !is_sound(array, buffers))
        PyErr_SetString(PyExc_ValueError, "the Arrow array contradicts itself");
    else if (!is_null_type(format) && array->null_count > 0 && array->buffers[0] == NULL)
        PyErr_SetString(PyExc_ValueError,
                        "the Arrow array contradicts itself: it counts nulls, and "
                        "does not say which");
    else
        return true;
    return false;
}

static bool take_array(const struct taker *taker, const struct arrow_schema *schema,
                       const struct arrow_array *array, struct output *output)
{
    static const uint64_t none[1];
    const char *format = schema->format;
    const bool null = is_null_type(format);
    struct source s = { .n = (size_t)array->length };
    if (!check(format, array, schema->dictionary != NULL))
        return false;
    s.size = integer_size(format) | fixed_size(format);
    s.kind = null                            ? 0
             : integer_size(format) > 0      ? BLOOMFILE_KEYS_INTEGERS
             : format[0] == 'w'              ? BLOOMFILE_KEYS_FIXED
             : strpbrk(format, "uU") != NULL ? BLOOMFILE_KEYS_TEXT
                                             : BLOOMFILE_KEYS_BYTES;
    if (!take_admits(taker, &s, output->done))
        return false;
    if (s.n == 0 || null) /* its buffers need not be there */
        s.digests = none;
    else if (format[0] == 'v')
        by_views(&s, array);
    else if (s.size == 0)
        by_offsets(&s, array, format[0] == 'U' || format[0] == 'Z');
    else {
        s.hash = format[0] == 'w' ? source_hash_records : source_hash_integers;
        s.sign = format[0] >= 'a';
        s.items = (const unsigned char *)array->buffers[1] + (size_t)array->offset * s.size;
    }
    unsigned char *valid = valid_of(array, null);
    if (valid == NULL && PyErr_Occurred() != NULL)
        return false;
    s.valid = valid;
    const bool good = take_source(taker, &s, output);
    free(valid);
    return good;
}

/* ---- structs that are lent once */

/* Always false. */
static bool consumed(void)
{
    PyErr_SetString(PyExc_ValueError,
                    "the Arrow capsule is empty: its data was consumed or released "
                    "before (export the data again)");
    return false;
}

/* A producer's code may run Python, which must not see an exception that is on its way. */
#define RELEASE(struct_)                                                                           \
    do {                                                                                           \
        PyObject *type_, *value_, *traceback_;                                                     \
        PyErr_Fetch(&type_, &value_, &traceback_);                                                 \
        (struct_)->release(struct_);                                                               \
        PyErr_Restore(type_, value_, traceback_);                                                  \
    } while (0)

/* ---- streams of them */

static bool stream_failed(struct arrow_stream *stream, int error)
{
    const char *text = stream->get_last_error(stream);
    PyErr_Format(PyExc_OSError, "the Arrow stream failed: %s",
                 text != NULL ? text : bloomfile_strerror(error));
    return false;
}

static bool take_arrays(const struct taker *taker, struct arrow_stream *stream,
                        const struct arrow_schema *schema, struct output *output)
{
    for (bool good = true; good;) {
        struct arrow_array array = { 0 };
        int error = stream->get_next(stream, &array);
        if (error != 0)
            return stream_failed(stream, error);
        if (array.release == NULL)
            return true;
        good = take_array(taker, schema, &array, output);
        RELEASE(&array);
    }
    return false;
}

static bool take_stream(const struct taker *taker, struct arrow_stream *stream,
                        struct output *output)
{
    struct arrow_schema schema = { 0 };
    int error = stream->get_schema(stream, &schema);
    if (error != 0)
        return stream_failed(stream, error);
    if (schema.release == NULL)
        return consumed();
    bool good = take_arrays(taker, stream, &schema, output);
    RELEASE(&schema);
    return good;
}

/* ---- capsules */

static bool move_stream(struct arrow_stream *stream, PyObject *capsule)
{
    struct arrow_stream *lent = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    if (lent == NULL)
        return false;
    if (lent->release == NULL)
        return consumed();
    *stream = *lent;
    lent->release = NULL;
    return true;
}

static PyObject *batch_stream(const struct taker *taker, PyObject *capsule, PyObject *out)
{
    struct output output;
    struct arrow_stream stream;
    PyObject *result = NULL;
    output_none(&output);
    if (!move_stream(&stream, capsule))
        return output_fail(out, taker->width);
    if (taker->width == 0 || output_begin(&output, taker->state, out, OUTPUT_UNKNOWN, taker->width))
        result =
            output_end(&output, output_keep_apart(&output) && take_stream(taker, &stream, &output));
    RELEASE(&stream);
    return result;
}

static bool move_array(struct arrow_schema *schema, struct arrow_array *array, PyObject *pair)
{
    if (!PyTuple_Check(pair) || PyTuple_Size(pair) != 2) {
        PyErr_SetString(PyExc_TypeError, "__arrow_c_array__() must return two capsules");
        return false;
    }
    struct arrow_schema *type = PyCapsule_GetPointer(PyTuple_GetItem(pair, 0), "arrow_schema");
    struct arrow_array *lent =
        type != NULL ? PyCapsule_GetPointer(PyTuple_GetItem(pair, 1), "arrow_array") : NULL;
    if (lent == NULL)
        return false;
    if (type->release == NULL || lent->release == NULL)
        return consumed();
    *schema = *type;
    *array = *lent;
    type->release = NULL;
    lent->release = NULL;
    return true;
}

static PyObject *batch_array(const struct taker *taker, PyObject *pair, PyObject *out)
{
    struct output output;
    struct arrow_schema schema;
    struct arrow_array array;
    PyObject *result = NULL;
    output_none(&output);
    if (!move_array(&schema, &array, pair))
        return output_fail(out, taker->width);
    const size_t n = array.length > 0 ? (size_t)array.length : 0;
    if (taker->width == 0 || output_begin(&output, taker->state, out, n, taker->width))
        result = output_end(&output, output_keep_apart(&output) &&
                                         take_array(taker, &schema, &array, &output));
    RELEASE(&array);
    RELEASE(&schema);
    return result;
}

/* Calls a method without arguments. Returns NULL without an exception if the method does not exist,
 * or needs a package that is not installed. */
static PyObject *call(PyObject *object, const char *name)
{
    PyObject *method = PyObject_GetAttrString(object, name);
    PyObject *result = method != NULL ? PyObject_CallObject(method, NULL) : NULL;
    if (result == NULL &&
        PyErr_ExceptionMatches(method != NULL ? PyExc_ImportError : PyExc_AttributeError))
        PyErr_Clear();
    Py_XDECREF(method);
    return result;
}

bool arrow_batch(const struct taker *taker, PyObject *keys, PyObject *out, PyObject **result)
{
    *result = NULL;
    PyObject *(*batch)(const struct taker *, PyObject *, PyObject *) = batch_array;
    PyObject *capsules = call(keys, "__arrow_c_array__");
    if (capsules == NULL && PyErr_Occurred() == NULL) {
        batch = batch_stream;
        capsules = call(keys, "__arrow_c_stream__");
    }
    if (capsules == NULL) {
        if (PyErr_Occurred() == NULL)
            return false;
        *result = output_fail(out, taker->width);
        return true;
    }
    *result = batch(taker, capsules, out);
    Py_DECREF(capsules);
    return true;
}
