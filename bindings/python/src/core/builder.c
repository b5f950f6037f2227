/* SPDX-License-Identifier: MIT
 * The type Builder. Python threads may share a builder: they take turns, unless it was made with
 * several threads. A child of fork shares its temporary files, so it must not use it. */
#include "builder.h"

#include <bloomfile.h>
#include <bloomfile_unstable.h>
#include <errno.h>

#include "batch.h"
#include "convert.h"
#include "error.h"
#include "key.h"
#include "long_call.h"
#include "params.h"

struct builder {
    PyObject_HEAD struct turn turn; /* of the bloomfile_builder */
    struct state *state;
    uint64_t seed, capacity; /* capacity 0: none, or that of all slices together */
    struct kind keys;
    struct only only; /* the file that finish() may replace */
    unsigned born;    /* where it was made; 0: not yet */
    unsigned batches; /* number of batches in progress: they will add more keys */
    bool crowd;       /* several threads may add concurrently */
    bool cut;         /* an exception ended a batch: keys may be missing */
};

static PyObject *make(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    (void)args, (void)keywords;
    struct state *state = state_of(type);
    allocfunc allocate = PyType_GetSlot(type, Py_tp_alloc);
    struct builder *self = state != NULL ? (struct builder *)allocate(type, 0) : NULL;
    if (self != NULL) {
        self->state = state;
        Py_INCREF(state->module);
    }
    return (PyObject *)self;
}

static int init(struct builder *self, PyObject *args, PyObject *keywords)
{
    struct params p;
    bloomfile_builder *b;
    int error = 0;
    bool good = params_of_builder(&p, args, keywords);
    if (good && self->born != 0) {
        PyErr_SetString(PyExc_ValueError, "it was initialized before (make another object)");
        good = false;
    }
    if (good)
        error = bloomfile_builder_new(&b, &p.c);
    if (good && error == 0) {
        self->seed = p.c.seed;
        self->capacity = p.c.slices == 0 ? p.c.capacity : 0;
        if (p.c.key_kind == BLOOMFILE_KEYS_UNKNOWN)
            kind_leave_open(&self->keys);
        else
            kind_set(&self->keys, p.c.key_kind, p.c.key_size);
        self->crowd = p.c.threads > 1;
        self->born = turn_born();
        turn_begin(&self->turn, b, NULL);
    } else if (good) {
        error_raise_params(self->state, error, NULL, &p.c);
    }
    params_end(&p);
    return good && error == 0 ? 0 : -1;
}

static bool usable(const struct builder *self)
{
    return self->born == 0 || turn_is_at_home(self->born);
}

/* In a child of fork, the parent's builder may be in the middle of a call, so it is not freed. */
static void drop(struct builder *self, bloomfile_builder *b)
{
    if (b == NULL || self->born != turn_born())
        return;
    WITHOUT_GIL(bloomfile_builder_free(b));
}

static void dealloc(struct builder *self)
{
    PyTypeObject *type = Py_TYPE(&self->ob_base);
    PyObject_GC_UnTrack(self);
    drop(self, turn_close(&self->turn));
    Py_DECREF(self->state->module);
    freefunc release = PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static int traverse(PyObject *self, visitproc visit, void *arg)
{
    const struct state *state = ((struct builder *)self)->state;
    Py_VISIT(Py_TYPE(self));
    if (state != NULL)
        Py_VISIT(state->module);
    return 0;
}

/* ---- adding */

static int take(void *handle, const uint64_t *digests, size_t n, unsigned char *answers,
                size_t *done)
{
    (void)done;
    (void)answers;
    return bloomfile_builder_add_digests(handle, digests, n);
}

static struct taker taker_of(struct builder *self)
{
    return (struct taker){ .take = take,
                           .turn = &self->turn,
                           .open = self->turn.handle != NULL,
                           .kind = self->crowd ? TURN_SHARED : TURN_ALONE,
                           .born = self->born,
                           .seed = self->seed,
                           .keys = &self->keys,
                           .state = self->state };
}

/* Adds a single key while holding the GIL: other threads wait if that writes to a temporary
 * file. */
static PyObject *add_one(struct builder *self, uint64_t digest)
{
    bloomfile_builder *b = usable(self) ? turn_ready(&self->turn) : NULL;
    if (b == NULL)
        return NULL;
    const int error = bloomfile_builder_add_digests(b, &digest, 1);
    return error != 0 ? error_raise(self->state, error, NULL) : Py_NewRef(Py_None);
}

static PyObject *add(struct builder *self, PyObject *object)
{
    struct key key;
    uint64_t digest;
    if (!usable(self) || turn_ready(&self->turn) == NULL || !key_get(&key, object))
        return NULL;
    const struct taker taker = taker_of(self);
    const bool good = take_hash(&taker, &key, &digest, 0);
    key_drop(&key);
    return good ? add_one(self, digest) : NULL;
}

static PyObject *add_digest(struct builder *self, PyObject *object)
{
    uint64_t digest;
    return convert_u64(object, &digest) ? add_one(self, digest) : NULL;
}

typedef PyObject *(*batch)(const struct taker *, PyObject *, PyObject *);

static PyObject *run(struct builder *self, batch how, PyObject *args, PyObject *keywords)
{
    const struct taker taker = taker_of(self);
    self->batches++;
    PyObject *result = how(&taker, args, keywords);
    self->batches--;
    if (result == NULL) /* and it is not known how many of its keys were added before */
        self->cut = true;
    return result;
}

static PyObject *add_many(struct builder *self, PyObject *args, PyObject *keywords)
{
    return run(self, batch_keys_of, args, keywords);
}

static PyObject *add_digests(struct builder *self, PyObject *args, PyObject *keywords)
{
    return run(self, batch_digests_of, args, keywords);
}

static PyObject *add_records(struct builder *self, PyObject *args, PyObject *keywords)
{
    return run(self, batch_records_of, args, keywords);
}

static PyObject *add_arrow(struct builder *self, PyObject *args, PyObject *keywords)
{
    return run(self, batch_arrow_of, args, keywords);
}

static PyObject *add_spans(struct builder *self, PyObject *args, PyObject *keywords)
{
    return run(self, batch_spans_of, args, keywords);
}

/* ---- finishing */

static bloomfile_builder *enter_alone(struct builder *self)
{
    return usable(self) ? turn_enter(&self->turn, TURN_ALONE) : NULL;
}

static PyObject *count(struct builder *self, PyObject *unused)
{
    (void)unused;
    uint64_t keys;
    bloomfile_builder *b = enter_alone(self);
    if (b == NULL)
        return NULL;
    WITHOUT_GIL(const int error = bloomfile_builder_count(b, &keys));
    turn_leave(&self->turn, TURN_ALONE);
    return error != 0 ? error_raise(self->state, error, NULL) : PyLong_FromUnsignedLongLong(keys);
}

static PyObject *set_tag(struct builder *self, PyObject *object)
{
    uint8_t tag[BLOOMFILE_TAG_SIZE];
    bloomfile_builder *b =
        convert_tag(object, tag) && usable(self) ? turn_ready(&self->turn) : NULL;
    if (b == NULL)
        return NULL;
    bloomfile_builder_set_tag(b, tag);
    return Py_NewRef(Py_None);
}

/* Sets the exception if keys may be missing, which a filter would deny. */
static bool is_whole(const struct builder *self, PyObject *path)
{
    if (self->batches > 0) {
        PyErr_SetString(PyExc_RuntimeError, "a batch is being added, by another thread or by the "
                                            "caller: its keys would be missing (finish after it)");
        return false;
    }
    if (!self->cut)
        return true;
    PyObject *error = PyObject_CallFunction(
        PyExc_OSError, "isO", ECANCELED,
        "an exception ended an earlier add, so keys may be missing (add all keys to a new Builder)",
        path);
    if (error != NULL)
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_XDECREF(error);
    return false;
}

static bloomfile_builder *enter_whole(struct builder *self, PyObject *path)
{
    bloomfile_builder *b = enter_alone(self);
    if (b == NULL)
        return NULL;
    const int error = self->keys.open ? 0
                                      : bloomfile_builder_set_key_kind(b, self->keys.filter,
                                                                       self->keys.filter_size);
    if (error != 0)
        error_raise(self->state, error, path);
    else if (is_whole(self, path)) /* now that no other thread can begin */
        return b;
    turn_leave(&self->turn, TURN_ALONE);
    return NULL;
}

/* After EFULL: how many keys are too many, and the remedy. NULL: unknown. */
static PyObject *excess(const struct builder *self, bloomfile_builder *b)
{
    uint64_t keys;
    WITHOUT_GIL(const int error = bloomfile_builder_count(b, &keys));
    if (self->capacity == 0 || error != 0)
        return NULL;
    return PyUnicode_FromFormat("%llu keys, capacity %llu: leave capacity out or increase it, or "
                                "pass over_capacity=True",
                                (unsigned long long)keys, (unsigned long long)self->capacity);
}

static PyObject *replaces_only(struct builder *self, PyObject *fd)
{
    struct only only = { .wanted = true, .fd = (int)PyLong_AsLong(fd) };
    if (PyErr_Occurred())
        return NULL;
    errno = long_call_note(&only);
    if (errno != 0)
        return PyErr_SetFromErrno(PyExc_OSError);
    self->only = only;
    return Py_NewRef(Py_None);
}

static int write_only(bloomfile_builder *b, struct bloomfile_destination *to,
                      const struct only *only)
{
    const int error = only->wanted ? long_call_replaces_only(only) : 0;
    return error != 0 ? error : bloomfile_builder_write(b, to);
}

static PyObject *finish(struct builder *self, PyObject *args, PyObject *keywords)
{
    struct destination d;
    int error = 0;
    const bool taken = destination_parse(&d, "O&|$p:finish", args, keywords);
    bloomfile_builder *b = taken ? enter_whole(self, d.path) : NULL;
    if (b != NULL) {
        LONG_CALL(error, write_only(b, &d.to, &self->only));
        if (error == BLOOMFILE_EFULL) {
            error_raise_asked(self->state, error, d.path, excess(self, b));
            error = ERROR_RAISED;
        }
        turn_leave(&self->turn, TURN_ALONE);
    }
    return destination_end(&d, self->state, b != NULL, error);
}

static PyObject *to_bytes(struct builder *self, PyObject *unused)
{
    (void)unused;
    struct bloomfile_destination to = bloomfile_to_memory();
    bloomfile_builder *b = enter_whole(self, Py_None);
    if (b == NULL)
        return NULL;
    int error;
    LONG_CALL(error, bloomfile_builder_write(b, &to));
    PyObject *asked = error == BLOOMFILE_EFULL ? excess(self, b) : NULL;
    turn_leave(&self->turn, TURN_ALONE);
    if (error != 0)
        return error_raise_asked(self->state, error, NULL, asked);
    PyObject *bytes = PyBytes_FromStringAndSize(to.memory, (Py_ssize_t)to.size);
    bloomfile_free(to.memory);
    return bytes;
}

static PyObject *close_method(struct builder *self, PyObject *unused)
{
    (void)unused;
    bloomfile_builder *b = turn_close(&self->turn);
    if (b == NULL && PyErr_Occurred())
        return NULL;
    drop(self, b);
    return Py_NewRef(Py_None);
}

static PyObject *enter(struct builder *self, PyObject *unused)
{
    (void)unused;
    return usable(self) && turn_ready(&self->turn) != NULL ? Py_NewRef((PyObject *)self) : NULL;
}

static PyObject *leave(struct builder *self, PyObject *args)
{
    (void)args;
    return close_method(self, NULL);
}

/* ---- the class */

#define WITH_KEYWORDS (METH_VARARGS | METH_KEYWORDS)

static PyMethodDef methods[] = {
    { "add", FUNCTION(add), METH_O,
      "add($self, key, /)\n--\n\n"
      "Adds a key: str, bytes or an integer." },
    { "add_digest", FUNCTION(add_digest), METH_O,
      "add_digest($self, digest, /)\n--\n\n"
      "Adds a digest made by hash() with this builder's seed. A digest made with another "
      "seed is never found." },
    { "add_many", FUNCTION(add_many), WITH_KEYWORDS,
      "add_many($self, keys, /)\n--\n\n"
      "Adds many keys, as Filter.contains_many() takes them, without the nulls. After an "
      "exception some of them may have been added, and finish() refuses." },
    { "add_digests", FUNCTION(add_digests), WITH_KEYWORDS,
      "add_digests($self, digests, /)\n--\n\n"
      "Adds a buffer of uint64, or of 8 bytes for each digest, made by hash_many() with "
      "this builder's seed." },
    { "add_records", FUNCTION(add_records), WITH_KEYWORDS,
      "add_records($self, records, /, size=None)\n--\n\n"
      "Adds a buffer of keys of one size: the bytes of its items or rows. An array of "
      "integers wider than a byte holds integer keys; `size` with such an array raises a "
      "TypeError." },
    { "add_arrow", FUNCTION(add_arrow), WITH_KEYWORDS,
      "add_arrow($self, offsets, data, /)\n--\n\n"
      "Adds n keys: n + 1 offsets, int32 or int64, into a buffer of bytes." },
    { "add_spans", FUNCTION(add_spans), WITH_KEYWORDS,
      "add_spans($self, data, starts, ends, /)\n--\n\n"
      "Adds keys in a buffer of bytes: key i is data[starts[i]:ends[i]]. Keys may overlap. starts, "
      "ends: buffers of 64-bit integers." },
    { "count", FUNCTION(count), METH_NOARGS,
      "count($self, /)\n--\n\n"
      "Returns the number of different keys so far." },
    { "set_tag", FUNCTION(set_tag), METH_O,
      "set_tag($self, tag, /)\n--\n\n"
      "Replaces the tag, of at most 16 bytes." },
    { "_replaces_only", FUNCTION(replaces_only), METH_O, NULL }, /* for bloomfile.build() */
    { "finish", FUNCTION(finish), WITH_KEYWORDS,
      "finish($self, path, *, replace=False)\n--\n\n"
      "Writes the filter. It appears at the path whole and on disk, or not at all. After an "
      "exception from add_many() or another batch it raises OSError (ECANCELED), and while "
      "another thread adds a batch RuntimeError, because keys may be missing." },
    { "to_bytes", FUNCTION(to_bytes), METH_NOARGS,
      "to_bytes($self, /)\n--\n\n"
      "Returns the filter as bytes, for Filter.from_bytes()." },
    { "close", FUNCTION(close_method), METH_NOARGS,
      "close($self, /)\n--\n\n"
      "Releases memory and temporary files." },
    { "__enter__", FUNCTION(enter), METH_NOARGS, NULL },
    { "__exit__", FUNCTION(leave), METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static const char documentation[] =
    "Builder(fpr=None, *, layout=None, bits=0, hashes=0, capacity=0, seed=0, label=None, tag=b'', "
    "key_kind=None, threads=1, memory=0, spool=None, slice=0, slices=0, over_capacity=False, "
    "watermark=b'')\n--\n\n"
    "Collects keys, and makes a sealed filter of the exact size.\n\n"
    "key_kind: 'text', 'lower', 'integers', 'bytes', or the size of records; None: the kind of the "
    "first key. Keys of another kind raise EKEYKIND. Digests have no kind.\n\n"
    "fpr: None is 0.01, or what `bits` gives. layout: 'blocked' (None), 'classic', 'counting' or "
    "'ribbon'. memory: bytes to take; digests beyond go to files in `spool`. slices: makes the "
    "slice "
    "of this number, from 0, of so many, for join(); capacity is that of the whole, and keys of "
    "other slices are left out. over_capacity: do not raise EFULL above twice the target "
    "rate.";

static PyType_Slot slots[] = {
    { Py_tp_doc, SLOT(documentation) },
    { Py_tp_new, SLOT(make) },
    { Py_tp_init, SLOT(init) },
    { Py_tp_dealloc, SLOT(dealloc) },
    { Py_tp_traverse, SLOT(traverse) },
    { Py_tp_methods, methods },
    { 0, NULL },
};

PyType_Spec builder_spec = {
    .name = "bloomfile.Builder",
    .basicsize = sizeof(struct builder),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};
