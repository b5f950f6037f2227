/* SPDX-License-Identifier: MIT
 * Opens, looks up and closes. A single lookup keeps the GIL: releasing it would cost more. */
#include "filter.h"

#include <bloomfile_live.h>
#include <bloomfile_open.h>
#include <bloomfile_unstable.h>
#include <errno.h>
#include <structmember.h> /* in all versions; newer versions also have it in Python.h */

#include "batch.h"
#include "convert.h"
#include "error.h"
#include "info.h"
#include "key.h"
#include "long_call.h"
#include "params.h"

/* ---- objects */

struct filter *filter_make(PyTypeObject *type)
{
    struct state *state = state_of(type);
    allocfunc allocate = PyType_GetSlot(type, Py_tp_alloc);
    struct filter *self = state != NULL ? (struct filter *)allocate(type, 0) : NULL;
    if (self == NULL)
        return NULL;
    self->state = state;
    Py_INCREF(state->module);
    kind_set(&self->keys, BLOOMFILE_KEYS_UNKNOWN, 0);
    return self;
}

static PyObject *make(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    (void)args, (void)keywords;
    return (PyObject *)filter_make(type);
}

/* Makes a path absolute, because a relative path may name another file later. */
static PyObject *absolute(PyObject *path)
{
    PyObject *module = PyImport_ImportModule("os.path");
    PyObject *result = module != NULL ? PyObject_CallMethod(module, "abspath", "O", path) : NULL;
    Py_XDECREF(module);
    return result;
}

bool filter_adopt(struct filter *self, bloomfile_filter *f, PyObject *path, unsigned flags)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    PyObject *place = path != NULL ? absolute(path) : NULL;
    if ((path != NULL && place == NULL) || filter_is_open(self)) { /* by another thread */
        Py_XDECREF(place);
        bloomfile_close(f);
        return false;
    }
    bloomfile_get_info(f, &info);
    self->seed = bloomfile_seed(f);
    kind_set(&self->keys, info.key_kind, info.key_size);
    self->path = Py_XNewRef(path);
    self->absolute = place;
    self->flags = flags;
    self->born = turn_born();
    self->adds_wait = (flags & BLOOMFILE_OPEN_ADD_EXACT) != 0 || info.series != 0;
    self->told = false;
    turn_begin(&self->turn, f, self->path);
    return true;
}

bool filter_is_open(struct filter *self)
{
    if (self->born == 0)
        return false;
    PyErr_SetString(PyExc_ValueError, "it was opened before (make another object)");
    return true;
}

static int traverse(struct filter *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(&self->ob_base));
    if (self->state != NULL)
        Py_VISIT(self->state->module);
    if (self->held)
        Py_VISIT(self->image.obj);
    return 0;
}

static void release_image(struct filter *self)
{
    if (self->held)
        PyBuffer_Release(&self->image);
    self->held = false;
}

void filter_close(struct filter *self, bloomfile_filter *f)
{
    WITHOUT_GIL(bloomfile_close(f));
    release_image(self);
}

/* Whoever drops a writer instead of closing it cannot learn what failed, but by these ways. */
static void drop(struct filter *self, bloomfile_filter *f)
{
    int error = 0;
    if (self->writes && self->path != NULL && !self->finished) {
        if (PyErr_ResourceWarning(NULL, 1, "a LiveFilter was not closed: %R", self->path) != 0)
            PyErr_WriteUnraisable(NULL);
        if ((self->flags & BLOOMFILE_OPEN_ACCEPT_UNCLEAN) == 0) {
            WITHOUT_GIL(error = bloomfile_finish(f));
        }
    }
    if (error != 0 && !self->told)
        error_raise(self->state, error, self->path);
    if ((error != 0 && !self->told) || !filter_warn(self, f))
        PyErr_WriteUnraisable(NULL);
    filter_close(self, f);
}

static void dealloc(struct filter *self)
{
    PyTypeObject *type = Py_TYPE(&self->ob_base);
    PyObject *exception, *value, *traceback;
    PyObject_GC_UnTrack(self);
    if (self->weak != NULL)
        PyObject_ClearWeakRefs((PyObject *)self);
    PyErr_Fetch(&exception, &value, &traceback);
    bloomfile_filter *f = turn_close(&self->turn);
    if (f != NULL)
        drop(self, f);
    release_image(self);
    Py_CLEAR(self->path);
    Py_CLEAR(self->absolute);
    PyErr_Restore(exception, value, traceback);
    Py_DECREF(self->state->module);
    freefunc release = PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyObject *represent(struct filter *self)
{
    if (self->turn.open != NULL) /* and nothing makes us wait */
        return PyObject_CallMethod(self->state->records, "describe", "O", self);
    PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(&self->ob_base), "__qualname__");
    if (name == NULL)
        return NULL;
    PyObject *text = self->path != NULL
                         ? PyUnicode_FromFormat("<bloomfile.%U %R%s>", name, self->path,
                                                self->turn.handle == NULL ? ", closed" : "")
                         : PyUnicode_FromFormat("<bloomfile.%U in memory%s>", name,
                                                self->turn.handle == NULL ? ", closed" : "");
    Py_DECREF(name);
    return text;
}

/* ---- opening */

static unsigned flags_of(const struct opening *o)
{
    unsigned flags = 0;
    if (o->verify != Py_None)
        flags |=
            PyObject_IsTrue(o->verify) ? BLOOMFILE_OPEN_VERIFY_FULL : BLOOMFILE_OPEN_VERIFY_NONE;
    flags |= o->prefault ? BLOOMFILE_OPEN_PREFAULT : 0;
    flags |= o->lock ? BLOOMFILE_OPEN_LOCK : 0;
    flags |= o->copy ? BLOOMFILE_OPEN_COPY : 0;
    flags |= o->accept_unclean ? BLOOMFILE_OPEN_ACCEPT_UNCLEAN : 0;
    return flags;
}

/* The library reports EKEYKIND for a size that is too large for records. */
static bool expects_kind(struct state *state, PyObject *object, struct bloomfile_open_params *how)
{
    if (!kind_parse(object, &how->key_kind, &how->key_size))
        return false;
    if (how->key_kind != BLOOMFILE_KEYS_FIXED ||
        (how->key_size > 0 && how->key_size <= BLOOMFILE_MAX_KEY_SIZE))
        return true;
    error_raise_asked(state, BLOOMFILE_EVALUE, NULL, error_key_size(how->key_size));
    return false;
}

bool opening_params(struct state *state, const struct opening *o, unsigned flags,
                    struct bloomfile_open_params *how)
{
    *how = BLOOMFILE_OPEN_PARAMS_INIT;
    if (o->verify != Py_None && !PyBool_Check(o->verify)) {
        PyErr_SetString(PyExc_TypeError, "verify is None, True or False");
        return false;
    }
    how->flags = flags;
    how->expect = BLOOMFILE_EXPECT_HASH | (o->tag != Py_None ? BLOOMFILE_EXPECT_TAG : 0) |
                  (o->seed != Py_None ? BLOOMFILE_EXPECT_SEED : 0) |
                  (o->key_kind != Py_None ? BLOOMFILE_EXPECT_KEYS : 0);
    how->hash_id = BLOOMFILE_HASH_XXH3;
    return (o->tag == Py_None || convert_tag(o->tag, how->tag)) &&
           (o->seed == Py_None || convert_u64(o->seed, &how->seed)) &&
           expects_kind(state, o->key_kind, how);
}

static int init(struct filter *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "path",           "verify", "prefault", "lock",     "copy",
                             "accept_unclean", "tag",    "seed",     "key_kind", NULL };
    struct opening o = OPENING_INIT;
    struct bloomfile_open_params how;
    PyObject *path = NULL;
    if (!PARSE(args, keywords, "O&|$OppppOOO:Filter", names, convert_path, &path, &o.verify,
               &o.prefault, &o.lock, &o.copy, &o.accept_unclean, &o.tag, &o.seed, &o.key_kind))
        return -1;
    int result = -1;
    PyObject *bytes = NULL;
    if (opening_params(self->state, &o, flags_of(&o), &how) && !filter_is_open(self) &&
        (bytes = path_bytes(path)) != NULL) {
        bloomfile_filter *f;
        const struct bloomfile_source from = bloomfile_from_path(PyBytes_AsString(bytes));
        WITHOUT_GIL(const int error = bloomfile_open_with(&f, &from, &how));
        if (error != 0)
            error_raise(self->state, error, path);
        else
            result = filter_adopt(self, f, path, flags_of(&o)) ? 0 : -1;
        if (result == 0)
            self->expected = how;
    }
    Py_XDECREF(bytes);
    Py_DECREF(path);
    return result;
}

static PyObject *from_bytes(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "image", "verify", "copy", "tag", "seed", "key_kind", NULL };
    struct opening o = OPENING_INIT;
    struct bloomfile_open_params how;
    PyObject *image;
    if (!PARSE(args, keywords, "O|$OpOOO:from_bytes", names, &image, &o.verify, &o.copy, &o.tag,
               &o.seed, &o.key_kind))
        return NULL;
    struct filter *self = filter_make(type);
    if (self == NULL)
        return NULL;
    if (opening_params(self->state, &o, flags_of(&o), &how) &&
        PyObject_GetBuffer(image, &self->image, PyBUF_SIMPLE) == 0) {
        bloomfile_filter *f;
        self->held = true;
        const struct bloomfile_source from =
            bloomfile_from_memory(self->image.buf, (size_t)self->image.len);
        WITHOUT_GIL(const int error = bloomfile_open_with(&f, &from, &how));
        if (error != 0)
            error_raise(self->state, error, NULL);
        else if (filter_adopt(self, f, NULL, flags_of(&o))) {
            if (o.copy)
                release_image(self);
            return (PyObject *)self;
        }
    }
    Py_DECREF(self);
    return NULL;
}

static PyObject *from_fd(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "fd",   "offset", "length", "verify",   "prefault", "lock",
                             "copy", "tag",    "seed",   "key_kind", NULL };
    struct opening o = OPENING_INIT;
    struct bloomfile_open_params how;
    PyObject *file, *size = Py_None;
    uint64_t offset = 0, length = BLOOMFILE_FROM_REST;
    if (!PARSE(args, keywords, "O|O&O$OpppOOO:from_fd", names, &file, convert_u64, &offset, &size,
               &o.verify, &o.prefault, &o.lock, &o.copy, &o.tag, &o.seed, &o.key_kind) ||
        (size != Py_None && !convert_u64(size, &length)))
        return NULL;
    const int fd = PyObject_AsFileDescriptor(file);
    struct filter *self = fd >= 0 ? filter_make(type) : NULL;
    if (self == NULL || !opening_params(self->state, &o, flags_of(&o), &how)) {
        Py_XDECREF((PyObject *)self);
        return NULL;
    }
    bloomfile_filter *f;
    struct bloomfile_source from = bloomfile_from_fd(fd);
    from.offset = offset;
    from.length = length;
    WITHOUT_GIL(const int error = bloomfile_open_with(&f, &from, &how));
    if (error != 0)
        error_raise(self->state, error, NULL);
    else if (filter_adopt(self, f, NULL, flags_of(&o)))
        return (PyObject *)self;
    Py_DECREF(self);
    return NULL;
}

/* ---- lookups */

static int take(void *handle, const uint64_t *digests, size_t n, unsigned char *answers,
                size_t *done)
{
    (void)done;
    bloomfile_contains_digests(handle, digests, n, (bool *)answers);
    return 0;
}

static struct taker taker_of(struct filter *self)
{
    return (struct taker){ .take = take,
                           .width = 1,
                           .turn = &self->turn,
                           .open = self->turn.handle != NULL,
                           .seed = self->seed,
                           .keys = &self->keys,
                           .state = self->state,
                           .path = self->path };
}

static int contains(struct filter *self, PyObject *object)
{
    struct key key;
    if (!key_get(&key, object))
        return -1;
    const bloomfile_filter *f = turn_ready(&self->turn);
    int result = -1;
    if (f != NULL && !self->keys.lower && kind_fits(&self->keys, key.kind, (uint64_t)key.size)) {
        result = bloomfile_contains(f, key.data, (size_t)key.size);
    } else if (f != NULL) {
        const struct taker taker = taker_of(self);
        uint64_t digest;
        if (take_hash(&taker, &key, &digest, 0))
            result = bloomfile_contains_digest(f, digest);
    }
    key_drop(&key);
    return result;
}

static PyObject *contains_method(struct filter *self, PyObject *object)
{
    const int result = contains(self, object);
    return result < 0 ? NULL : PyBool_FromLong(result);
}

static PyObject *contains_digest(struct filter *self, PyObject *object)
{
    uint64_t digest;
    const bloomfile_filter *f = convert_u64(object, &digest) ? turn_ready(&self->turn) : NULL;
    return f == NULL ? NULL : PyBool_FromLong(bloomfile_contains_digest(f, digest));
}

static PyObject *contains_many(struct filter *self, PyObject *args, PyObject *keywords)
{
    const struct taker taker = taker_of(self);
    return batch_keys_of(&taker, args, keywords);
}

static PyObject *contains_digests(struct filter *self, PyObject *args, PyObject *keywords)
{
    const struct taker taker = taker_of(self);
    return batch_digests_of(&taker, args, keywords);
}

static PyObject *contains_records(struct filter *self, PyObject *args, PyObject *keywords)
{
    const struct taker taker = taker_of(self);
    return batch_records_of(&taker, args, keywords);
}

static PyObject *contains_arrow(struct filter *self, PyObject *args, PyObject *keywords)
{
    const struct taker taker = taker_of(self);
    return batch_arrow_of(&taker, args, keywords);
}

static PyObject *contains_spans(struct filter *self, PyObject *args, PyObject *keywords)
{
    const struct taker taker = taker_of(self);
    return batch_spans_of(&taker, args, keywords);
}

/* ---- state */

/* It may read all that answers relied on. */
static int recheck(const bloomfile_filter *f)
{
    WITHOUT_GIL(const int error = bloomfile_recheck(f));
    return error;
}

static PyObject *get_status(struct filter *self, void *unused)
{
    (void)unused;
    const bloomfile_filter *f = turn_enter(&self->turn, TURN_SHARED);
    if (f == NULL)
        return NULL;
    const int error = recheck(f);
    turn_leave(&self->turn, TURN_SHARED);
    if (error == 0)
        return Py_NewRef(Py_None);
    self->told = true;
    return error_new(self->state, error, self->path, NULL);
}

bool filter_warn(struct filter *self, bloomfile_filter *f)
{
    const int error = self->told ? 0 : recheck(f);
    if (error == 0)
        return true;
    self->told = true;
    PyObject *category = state_is_usable(self->state)
                             ? PyObject_GetAttrString(self->state->records, "DamageWarning")
                             : NULL;
    PyObject *exception = category != NULL ? error_new(self->state, error, self->path, NULL) : NULL;
    PyObject *text = exception != NULL ? PyObject_Str(exception) : NULL;
    const char *utf8 = text != NULL ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    const bool good =
        utf8 != NULL && PyErr_WarnFormat(category, 1, "%s (its status was not read)", utf8) == 0;
    if (utf8 == NULL) /* the interpreter ends, and does not import bloomfile.errors */
        PyErr_Format(PyExc_RuntimeWarning, "%S: %s (its status was not read)",
                     self->path != NULL ? self->path : Py_None, bloomfile_strerror(error));
    Py_XDECREF(text);
    Py_XDECREF(exception);
    Py_XDECREF(category);
    return good;
}

static PyObject *get_stale(struct filter *self, void *unused)
{
    (void)unused;
    const bloomfile_filter *f = turn_enter(&self->turn, TURN_SHARED);
    if (f == NULL)
        return NULL;
    WITHOUT_GIL(const int stale = bloomfile_is_stale(f));
    turn_leave(&self->turn, TURN_SHARED);
    return PyBool_FromLong(stale);
}

static PyObject *get_path(struct filter *self, void *unused)
{
    (void)unused;
    return Py_NewRef(self->path != NULL ? self->path : Py_None);
}

static PyObject *get_seed(struct filter *self, void *unused)
{
    (void)unused;
    return turn_ready(&self->turn) != NULL ? PyLong_FromUnsignedLongLong(self->seed) : NULL;
}

static PyObject *get_closed(struct filter *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(self->turn.handle == NULL);
}

static bool get_info(struct filter *self, struct bloomfile_info *numbers)
{
    const bloomfile_filter *f = turn_ready(&self->turn);
    *numbers = (struct bloomfile_info)BLOOMFILE_INFO_INIT;
    if (f != NULL)
        bloomfile_get_info(f, numbers);
    return f != NULL;
}

static PyObject *info(struct filter *self, PyObject *unused)
{
    (void)unused;
    struct bloomfile_info numbers;
    return get_info(self, &numbers) ? info_object(self->state, "Info", &numbers) : NULL;
}

static PyObject *header(struct filter *self, PyObject *unused)
{
    (void)unused;
    struct bloomfile_info numbers;
    return get_info(self, &numbers) ? info_object(self->state, "Header", &numbers) : NULL;
}

/* The rate that the filter was sized for; else what its size gives for its capacity. */
static PyObject *get_fpr(struct filter *self, void *unused)
{
    (void)unused;
    struct bloomfile_info i;
    if (!get_info(self, &i))
        return NULL;
    if (i.series_fpr != 0 || i.fpr != 0)
        return PyFloat_FromDouble(i.series_fpr != 0 ? i.series_fpr : i.fpr);
    struct bloomfile_size size = BLOOMFILE_SIZE_INIT;
    size.keys = i.capacity > 0 ? i.capacity : 1;
    size.bits = i.whole_blocks != 0 ? i.whole_blocks * 512 : i.bits;
    size.hashes = i.hashes;
    size.layout = i.layout;
    const int error = bloomfile_size_for(&size);
    return error == 0 ? PyFloat_FromDouble(size.fpr) : error_raise(self->state, error, self->path);
}

static PyObject *get_capacity(struct filter *self, void *unused)
{
    (void)unused;
    struct bloomfile_info i;
    return get_info(self, &i) ? PyLong_FromUnsignedLongLong(i.capacity) : NULL;
}

static PyObject *get_keys(struct filter *self, void *unused)
{
    (void)unused;
    struct bloomfile_info i;
    return get_info(self, &i) ? PyLong_FromUnsignedLongLong(i.keys) : NULL;
}

/* Bits for each key of the capacity or, if there are more, each key present. The capacity of a
 * slice is that of the whole filter. */
static PyObject *get_bits_per_key(struct filter *self, void *unused)
{
    (void)unused;
    struct bloomfile_info i;
    if (!get_info(self, &i))
        return NULL;
    double keys = (double)i.capacity;
    if (i.whole_blocks != 0)
        keys *= (double)i.bits / 512 / (double)i.whole_blocks;
    if (keys < (double)i.keys)
        keys = (double)i.keys;
    const struct bloomfile_traits *traits = bloomfile_traits_of(i.layout);
    return PyFloat_FromDouble((double)i.bits * (traits != NULL ? traits->cell_bits : 1) /
                              (keys < 1 ? 1 : keys));
}

static PyObject *get_layout(struct filter *self, void *unused)
{
    (void)unused;
    struct bloomfile_info i;
    return get_info(self, &i) ? info_layout_object(i.layout) : NULL;
}

static PyObject *get_kind(struct filter *self, void *unused)
{
    (void)unused;
    return turn_ready(&self->turn) != NULL ? kind_object(&self->keys) : NULL;
}

static PyObject *slice_range(struct filter *self, PyObject *unused)
{
    (void)unused;
    uint64_t first, last;
    const bloomfile_filter *f = turn_ready(&self->turn);
    if (f == NULL)
        return NULL;
    bloomfile_slice_range(f, &first, &last);
    return Py_BuildValue("KK", (unsigned long long)first, (unsigned long long)last);
}

static PyObject *measure(struct filter *self, PyObject *unused)
{
    (void)unused;
    struct bloomfile_measurement m = BLOOMFILE_MEASUREMENT_INIT;
    const bloomfile_filter *f = turn_enter(&self->turn, TURN_SHARED);
    if (f == NULL)
        return NULL;
    WITHOUT_GIL(const int error = bloomfile_measure(f, &m));
    turn_leave(&self->turn, TURN_SHARED);
    if (error != 0)
        return error_raise(self->state, error, self->path);
    return PyObject_CallMethod(self->state->records, "Measurement", "Kddd",
                               (unsigned long long)m.ones, m.fill, m.fpr, m.keys_estimate);
}

static PyObject *verify(struct filter *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "threads", NULL };
    uint32_t threads = 1;
    struct bloomfile_fault fault;
    if (!PARSE(args, keywords, "|O&:verify", names, convert_u32, &threads))
        return NULL;
    const bloomfile_filter *f = turn_enter(&self->turn, TURN_SHARED);
    if (f == NULL)
        return NULL;
    WITHOUT_GIL(const int error = bloomfile_verify(f, threads, &fault));
    turn_leave(&self->turn, TURN_SHARED);
    if (error == 0)
        return Py_NewRef(Py_None);
    if (error == BLOOMFILE_EVALUE)
        return error_raise_asked(self->state, error, self->path, error_threads(threads));
    self->told = true;
    return error_raise_fault(self->state, error, self->path, &fault);
}

/* ---- copies */

static PyObject *seal_to(struct filter *self, PyObject *args, PyObject *keywords)
{
    struct destination d;
    int error = 0;
    const bool taken = destination_parse(&d, "O&|$p:seal_to", args, keywords);
    const bloomfile_filter *f = taken ? turn_enter(&self->turn, TURN_SHARED) : NULL;
    if (f != NULL) {
        LONG_CALL(error, bloomfile_copy_sealed(&d.to, f, NULL));
        if (error < 0 && bloomfile_check(f) != 0) { /* the source is damaged, not the copy */
            error_raise(self->state, error, self->path);
            error = ERROR_RAISED;
        }
        turn_leave(&self->turn, TURN_SHARED);
    }
    return destination_end(&d, self->state, f != NULL, error);
}

static PyObject *replaces_only(struct filter *self, PyObject *object)
{
    const int fd = (int)PyLong_AsLong(object);
    bloomfile_filter *f = PyErr_Occurred() == NULL ? turn_enter(&self->turn, TURN_ALONE) : NULL;
    if (f == NULL)
        return NULL;
    WITHOUT_GIL(const int error = bloomfile_replace_only(f, fd));
    turn_leave(&self->turn, TURN_ALONE);
    errno = error;
    return error == 0 ? Py_NewRef(Py_None) : PyErr_SetFromErrno(PyExc_OSError);
}

static PyObject *to_bytes(struct filter *self, PyObject *unused)
{
    (void)unused;
    struct bloomfile_destination to = bloomfile_to_memory();
    const bloomfile_filter *f = turn_enter(&self->turn, TURN_SHARED);
    if (f == NULL)
        return NULL;
    int error;
    LONG_CALL(error, bloomfile_copy_sealed(&to, f, NULL));
    turn_leave(&self->turn, TURN_SHARED);
    if (error != 0)
        return error_raise(self->state, error, self->path);
    PyObject *bytes = PyBytes_FromStringAndSize(to.memory, (Py_ssize_t)to.size);
    bloomfile_free(to.memory);
    return bytes;
}

/* ---- the end */

static PyObject *close_method(struct filter *self, PyObject *unused)
{
    (void)unused;
    bloomfile_filter *f = turn_close(&self->turn);
    if (f == NULL)
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    const bool good = filter_warn(self, f);
    filter_close(self, f);
    return good ? Py_NewRef(Py_None) : NULL;
}

static PyObject *enter(struct filter *self, PyObject *unused)
{
    (void)unused;
    return turn_ready(&self->turn) != NULL ? Py_NewRef((PyObject *)self) : NULL;
}

/* After an exception, a file that was unclean stays unclean: the lost keys may not have been added
 * again. */
static PyObject *leave(struct filter *self, PyObject *args)
{
    PyObject *raised = PyTuple_GetItem(args, 0);
    if (raised == NULL || raised == Py_None || (self->flags & BLOOMFILE_OPEN_ACCEPT_UNCLEAN) == 0) {
        PyErr_Clear(); /* it was called without arguments */
        return PyObject_CallMethod((PyObject *)self, "close", NULL);
    }
    bloomfile_filter *f = turn_close(&self->turn);
    if (f != NULL)
        filter_close(self, f);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* Drops the value. */
static bool put(PyObject *options, const char *name, PyObject *value)
{
    const bool good = value != NULL && PyDict_SetItemString(options, name, value) == 0;
    Py_XDECREF(value);
    return good;
}

/* Adds the expected tag, seed and kind of keys, and drops the options if that fails. */
static PyObject *put_expected(PyObject *options, const struct bloomfile_open_params *how)
{
    struct kind keys;
    kind_set(&keys, how->key_kind, how->key_size);
    const bool good =
        options != NULL &&
        ((how->expect & BLOOMFILE_EXPECT_TAG) == 0 ||
         put(options, "tag",
             PyBytes_FromStringAndSize((const char *)how->tag, BLOOMFILE_TAG_SIZE))) &&
        ((how->expect & BLOOMFILE_EXPECT_SEED) == 0 ||
         put(options, "seed", PyLong_FromUnsignedLongLong(how->seed))) &&
        ((how->expect & BLOOMFILE_EXPECT_KEYS) == 0 ||
         put(options, "key_kind", kind_object(&keys)));
    if (!good)
        Py_CLEAR(options);
    return options;
}

/* The keyword arguments that open it again. That an unclean file was accepted by a writer spoke for
 * everybody, once. */
static PyObject *options(const struct filter *self)
{
#define GIVEN(flag) PyBool_FromLong((self->flags & (flag)) != 0)
    if (self->writes)
        return put_expected(Py_BuildValue("{sNsN}", "exact", GIVEN(BLOOMFILE_OPEN_ADD_EXACT),
                                          "over_capacity", GIVEN(BLOOMFILE_OPEN_OVER_CAPACITY)),
                            &self->expected);
    PyObject *verify = (self->flags & BLOOMFILE_OPEN_VERIFY_FULL) != 0   ? Py_True
                       : (self->flags & BLOOMFILE_OPEN_VERIFY_NONE) != 0 ? Py_False
                                                                         : Py_None;
    return put_expected(
        Py_BuildValue("{sOsNsNsNsN}", "verify", verify, "prefault", GIVEN(BLOOMFILE_OPEN_PREFAULT),
                      "lock", GIVEN(BLOOMFILE_OPEN_LOCK), "copy", GIVEN(BLOOMFILE_OPEN_COPY),
                      "accept_unclean", GIVEN(BLOOMFILE_OPEN_ACCEPT_UNCLEAN)),
        &self->expected);
#undef GIVEN
}

/* Pickles the path: the other process opens the file that is at the path then. */
static PyObject *reduce(struct filter *self, PyObject *unused)
{
    (void)unused;
    if (turn_ready(&self->turn) == NULL)
        return NULL;
    if (self->absolute == NULL) {
        PyErr_SetString(PyExc_TypeError, "a filter without a path cannot be pickled (pass the "
                                         "bytes of to_bytes(), or seal_to() a file)");
        return NULL;
    }
    PyObject *reopen = state_is_usable(self->state)
                           ? PyObject_GetAttrString(self->state->records, "reopen")
                           : NULL;
    if (reopen == NULL)
        return NULL;
    return Py_BuildValue("N(OON)", reopen, Py_TYPE(&self->ob_base), self->absolute, options(self));
}

/* Of LiveFilter, which extends this class. */
static PyObject *memory(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    const struct state *state = state_of(type);
    PyObject *method = state != NULL && state_is_usable(state)
                           ? PyObject_GetAttrString((PyObject *)state->live, "memory")
                           : NULL;
    PyObject *result = method != NULL ? PyObject_Call(method, args, keywords) : NULL;
    Py_XDECREF(method);
    return result;
}

/* ---- sets of keys */

static bool is_filter(struct state *state, PyObject *object)
{
    return PyObject_TypeCheck(object, state->filter);
}

/* Either operand is a Filter, or this would not be called. */
static PyObject *combined(PyObject *a, PyObject *b, const char *function)
{
    struct state *state = state_of(Py_TYPE(a));
    if (state == NULL) {
        PyErr_Clear();
        return Py_NewRef(Py_NotImplemented);
    }
    return is_filter(state, a) && is_filter(state, b)
               ? PyObject_CallMethod(state->records, function, "OO", a, b)
               : Py_NewRef(Py_NotImplemented);
}

static PyObject *or_method(PyObject *a, PyObject *b)
{
    return combined(a, b, "union");
}

static PyObject *and_method(PyObject *a, PyObject *b)
{
    return combined(a, b, "intersection");
}

static PyObject *compare(struct filter *self, PyObject *other, int op)
{
    if ((op != Py_EQ && op != Py_NE) || !is_filter(self->state, other))
        return Py_NewRef(Py_NotImplemented);
    PyObject *same = PyObject_CallMethod(self->state->records, "equal", "OO", self, other);
    if (same == NULL)
        return NULL;
    const bool result = (same == Py_True) == (op == Py_EQ);
    Py_DECREF(same);
    return PyBool_FromLong(result);
}

static PyObject *copy(struct filter *self, PyObject *unused)
{
    (void)unused;
    return PyObject_CallMethod(self->state->records, "copy", "O", self);
}

/* ---- the class */

#define WITH_KEYWORDS (METH_VARARGS | METH_KEYWORDS)

static PyMethodDef methods[] = {
    { "contains", FUNCTION(contains_method), METH_O,
      "contains($self, key, /)\n--\n\n"
      "Whether the key is possibly present; False: it is certainly absent. The same as `key "
      "in filter`." },
    { "contains_digest", FUNCTION(contains_digest), METH_O,
      "contains_digest($self, digest, /)\n--\n\n"
      "The same for a digest made by hash() with this filter's seed. A digest made with "
      "another seed is not found." },
    { "contains_many", FUNCTION(contains_many), WITH_KEYWORDS,
      "contains_many($self, keys, /, *, out=None)\n--\n\n"
      "Looks up many keys and returns Answers, or fills `out`, a buffer of bools or bytes. "
      "keys: an iterable of str, bytes or integers; an array of integers; a column of "
      "pandas, polars or Arrow with strings, binary or integers. The answer for a null is "
      "null. Keys that do not fit the filter's kind raise EKEYKIND. After an error of the "
      "filter or of a key, each key without an answer has 1 in `out`; if an argument is "
      "refused, `out` is unchanged." },
    { "contains_digests", FUNCTION(contains_digests), WITH_KEYWORDS,
      "contains_digests($self, digests, /, *, out=None)\n--\n\n"
      "The same for a buffer of uint64, or of 8 bytes for each digest, made by hash_many() "
      "with this filter's seed. Digests made with another seed are not found." },
    { "contains_records", FUNCTION(contains_records), WITH_KEYWORDS,
      "contains_records($self, records, /, size=None, *, out=None)\n--\n\n"
      "The same for a buffer of keys of one size: the bytes of its items or rows. An array "
      "of integers wider than a byte holds integer keys; `size` with such an array raises a "
      "TypeError." },
    { "contains_arrow", FUNCTION(contains_arrow), WITH_KEYWORDS,
      "contains_arrow($self, offsets, data, /, *, out=None)\n--\n\n"
      "The same for n keys: n + 1 offsets, int32 or int64, into a buffer of bytes." },
    { "contains_spans", FUNCTION(contains_spans), WITH_KEYWORDS,
      "contains_spans($self, data, starts, ends, /, *, out=None)\n--\n\n"
      "The same for keys in a buffer of bytes: key i is data[starts[i]:ends[i]]. Keys may overlap. "
      "starts, ends: buffers of 64-bit integers." },
    { "info", FUNCTION(info), METH_NOARGS,
      "info($self, /)\n--\n\n"
      "Returns size, keys, kind, label and state. inspect() returns the whole header." },
    { "_header", FUNCTION(header), METH_NOARGS, NULL },
    { "copy", FUNCTION(copy), METH_NOARGS,
      "copy($self, /)\n--\n\n"
      "Returns a sealed copy in memory. Later adds to a live filter do not change it." },
    { "slice_range", FUNCTION(slice_range), METH_NOARGS,
      "slice_range($self, /)\n--\n\n"
      "Returns the first and the last digest that can be found absent: those of a slice, or "
      "all." },
    { "measure", FUNCTION(measure), METH_NOARGS,
      "measure($self, /)\n--\n\n"
      "Counts the bits. Returns the fill and the actual rate of false positives." },
    { "verify", FUNCTION(verify), WITH_KEYWORDS,
      "verify($self, /, threads=1)\n--\n\n"
      "Reads and checks the whole file. Damage raises an exception with offset, page and "
      "field." },
    { "seal_to", FUNCTION(seal_to), WITH_KEYWORDS,
      "seal_to($self, path, *, replace=False)\n--\n\n"
      "Writes a sealed copy. The writers of a live filter may go on." },
    { "_replaces_only", FUNCTION(replaces_only), METH_O, NULL }, /* for _replace_checked() */
    { "to_bytes", FUNCTION(to_bytes), METH_NOARGS,
      "to_bytes($self, /)\n--\n\n"
      "Returns the sealed copy as bytes, for from_bytes()." },
    { "from_bytes", FUNCTION(from_bytes), WITH_KEYWORDS | METH_CLASS,
      "from_bytes($type, image, *, verify=None, copy=False, tag=None, seed=None, "
      "key_kind=None)\n--\n\n"
      "Opens a sealed filter in memory. It keeps the buffer, which must not change, unless "
      "`copy` is true." },
    { "from_fd", FUNCTION(from_fd), WITH_KEYWORDS | METH_CLASS,
      "from_fd($type, fd, offset=0, length=None, *, verify=None, prefault=False, lock=False, "
      "copy=False, tag=None, seed=None, key_kind=None)\n--\n\n"
      "Opens a filter in a part of an open file, which may be closed afterwards." },
    { "memory", FUNCTION(memory), WITH_KEYWORDS | METH_CLASS,
      "memory($type, capacity=0, fpr=None, *, " LIVE_MAKING ", sole_adder=False)\n--\n\n"
      "Makes an empty LiveFilter without a file, for this process and the children that it "
      "forks. sole_adder: only this process adds, which is faster. Other "
      "parameters are those of create(). grow: a child makes no layers. If it needs another, its "
      "adds raise EMISSINGLAYER, and after this process made one its lookups also return True for "
      "every key: use a file." },
    { "close", FUNCTION(close_method), METH_NOARGS,
      "close($self, /)\n--\n\n"
      "Waits until no other thread uses the filter, and closes it. A batch that has keys "
      "left raises a ValueError. A second call does nothing." },
    { "__enter__", FUNCTION(enter), METH_NOARGS, NULL },
    { "__exit__", FUNCTION(leave), METH_VARARGS, NULL },
    { "__reduce__", FUNCTION(reduce), METH_NOARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef attributes[] = {
    { "status", (getter)get_status, NULL,
      "None, or the error that lookups met. Damage: answers that depended on it were True. "
      "ECHANGED: "
      "the file was modified in place, and earlier answers may be wrong. If the file's ctime has "
      "changed, reading this attribute reads the pages again that answers relied on.",
      NULL },
    { "stale", (getter)get_stale, NULL,
      "Whether to open the path again: it names another file now, cannot be examined, or the file "
      "has newer layers.",
      NULL },
    { "fpr", (getter)get_fpr, NULL,
      "The target rate of false positives, up to `capacity` keys. measure().fpr is the actual "
      "rate.",
      NULL },
    { "capacity", (getter)get_capacity, NULL,
      "The number of keys that keeps the rate. A slice has the capacity of the whole filter.",
      NULL },
    { "keys", (getter)get_keys, NULL,
      "The number of different keys. Live, or sealed from a live filter: the adds that were new. "
      "Other handles see adds only after a sync() or close(); those of a killed writer are not "
      "counted.",
      NULL },
    { "bits_per_key", (getter)get_bits_per_key, NULL,
      "Bits for each of `capacity` keys, or for each key if there are more.", NULL },
    { "layout", (getter)get_layout, NULL, "'blocked', 'classic', 'counting' or 'ribbon'.", NULL },
    { "kind", (getter)get_kind, NULL,
      "The kind of its keys: 'text', 'lower', 'integers', 'bytes', the size of records, 'newer' if "
      "a later version defines it, or None: any.",
      NULL },
    { "path", (getter)get_path, NULL,
      "The path as it was given; None: in memory, or opened by descriptor.", NULL },
    { "seed", (getter)get_seed, NULL, "The seed of its digests.", NULL },
    { "closed", (getter)get_closed, NULL, "Whether close() was called.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyMemberDef members[] = {
    { "__weaklistoffset__", T_PYSSIZET, offsetof(struct filter, weak), READONLY, NULL },
    { NULL, 0, 0, 0, NULL },
};

static const char documentation[] =
    "Filter(path, *, verify=None, prefault=False, lock=False, copy=False, accept_unclean=False, "
    "tag=None, seed=None, key_kind=None)\n--\n\n"
    "Opens a filter for lookups: sealed, live, or a series. `key in filter` is False if the key is "
    "certainly absent. a | b and a & b make the union and the intersection in memory, and a == b "
    "compares the answers that two filters give.\n\n"
    "verify: None checks each page when a lookup first touches it, True checks all of them now, "
    "False none. prefault: reads the whole file now. lock: also keeps it in memory. copy: reads a "
    "sealed filter into memory of this process; otherwise the file is mapped. A mapped file must "
    "not be changed in place: answers become wrong, and if it is truncated, SIGBUS kills the "
    "process. Publish a new version by a rename. tag, seed, key_kind: expected values. Another tag "
    "raises EDIFFERENTTAG, another seed "
    "EDIFFERENTSEED, a filter that does not accept such keys EKEYKIND.";

static PyType_Slot slots[] = {
    { Py_tp_doc, SLOT(documentation) }, { Py_tp_new, SLOT(make) },
    { Py_tp_init, SLOT(init) },         { Py_tp_dealloc, SLOT(dealloc) },
    { Py_tp_traverse, SLOT(traverse) }, { Py_tp_repr, SLOT(represent) },
    { Py_sq_contains, SLOT(contains) }, { Py_tp_richcompare, SLOT(compare) },
    { Py_nb_or, SLOT(or_method) },      { Py_nb_and, SLOT(and_method) },
    { Py_tp_methods, methods },         { Py_tp_getset, attributes },
    { Py_tp_members, members },         { 0, NULL },
};

PyType_Spec filter_spec = {
    .name = "bloomfile.Filter",
    .basicsize = sizeof(struct filter),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};
