/* SPDX-License-Identifier: MIT
 * Filters for adding. A single add keeps the GIL, unless it may wait for another process. */
#include "live.h"

#include <bloomfile_live.h>
#include <bloomfile_open.h>
#include <string.h>

#include "batch.h"
#include "convert.h"
#include "error.h"
#include "filter.h"
#include "key.h"
#include "params.h"

/* ---- opening */

static int init(struct filter *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "path", "exact", "accept_unclean", "over_capacity",
                             "tag",  "seed",  "key_kind",       NULL };
    struct opening o = OPENING_INIT;
    struct bloomfile_open_params how;
    PyObject *path = NULL;
    int exact = 0, accept = 0, over = 0, result = -1;
    if (!PARSE(args, keywords, "O&|$pppOOO:LiveFilter", names, convert_path, &path, &exact, &accept,
               &over, &o.tag, &o.seed, &o.key_kind))
        return -1;
    const unsigned flags = BLOOMFILE_OPEN_WRITE | (exact ? BLOOMFILE_OPEN_ADD_EXACT : 0) |
                           (accept ? BLOOMFILE_OPEN_ACCEPT_UNCLEAN : 0) |
                           (over ? BLOOMFILE_OPEN_OVER_CAPACITY : 0);
    PyObject *bytes = filter_is_open(self) || !opening_params(self->state, &o, flags, &how)
                          ? NULL
                          : path_bytes(path);
    if (bytes != NULL) {
        bloomfile_filter *f;
        const struct bloomfile_source from = bloomfile_from_path(PyBytes_AsString(bytes));
        WITHOUT_GIL(const int error = bloomfile_open_with(&f, &from, &how));
        self->writes = true;
        if (error != 0)
            error_raise(self->state, error, path);
        else
            result = filter_adopt(self, f, path, flags) ? 0 : -1;
        if (result == 0)
            self->expected = how;
    }
    Py_XDECREF(bytes);
    Py_DECREF(path);
    return result;
}

static PyObject *made(PyTypeObject *type, const struct params *p)
{
    struct filter *self = filter_make(type);
    if (self == NULL)
        return NULL;
    bloomfile_filter *f;
    const unsigned flags = (p->exact ? BLOOMFILE_OPEN_ADD_EXACT : 0) |
                           (p->sole ? BLOOMFILE_OPEN_SOLE_ADDER : 0) |
                           (p->over_capacity ? BLOOMFILE_OPEN_OVER_CAPACITY : 0);
    const unsigned replace = p->replace ? BLOOMFILE_TO_REPLACE : 0;
    const char *name = p->path_bytes != NULL ? PyBytes_AsString(p->path_bytes) : NULL;
    WITHOUT_GIL(const int error = name != NULL ? bloomfile_create(&f, name, &p->c, flags | replace)
                                               : bloomfile_create_memory(&f, &p->c, flags));
    self->writes = true;
    if (error != 0)
        error_raise_params(self->state, error, p->path, &p->c);
    else if (filter_adopt(self, f, p->path, flags | (name != NULL ? BLOOMFILE_OPEN_WRITE : 0)))
        return (PyObject *)self;
    Py_DECREF(self);
    return NULL;
}

static PyObject *create(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    struct params p;
    PyObject *result = params_of_file(&p, args, keywords) ? made(type, &p) : NULL;
    params_end(&p);
    return result;
}

static PyObject *memory(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    struct params p;
    PyObject *result = params_of_memory(&p, args, keywords) ? made(type, &p) : NULL;
    params_end(&p);
    return result;
}

/* ---- adding */

/* A sole adder adds from one thread at a time, and never from a child of fork: it shares the memory
 * with its parent. Lookups do not wait for it. */
static bool is_sole(const struct filter *self)
{
    return (self->flags & BLOOMFILE_OPEN_SOLE_ADDER) != 0;
}

static enum turn_kind kind_of(const struct filter *self)
{
    return is_sole(self) ? TURN_ADDING : TURN_SHARED;
}

static bool may_add(const struct filter *self)
{
    return !is_sole(self) || turn_is_at_home(self->born);
}

/* One digest; an exception is set if not true. */
static bool change(struct filter *self, int (*how)(bloomfile_filter *, bloomfile_digest, bool *),
                   uint64_t digest, bool waits, bool *was_new)
{
    const enum turn_kind kind = kind_of(self);
    PyObject *full = NULL;
    int error;
    if (!may_add(self))
        return false;
    bloomfile_filter *f =
        waits ? turn_enter(&self->turn, kind) : turn_ready_to_add(&self->turn, kind);
    if (f == NULL)
        return false;
    if (waits) {
        WITHOUT_GIL(error = how(f, digest, was_new));
        full = error_full(error, f);
        turn_leave(&self->turn, kind);
    } else { /* the GIL keeps other threads from beginning */
        error = how(f, digest, was_new);
        full = error_full(error, f);
    }
    if (error != 0)
        error_raise_asked(self->state, error, self->path, full);
    return error == 0;
}

/* After an error all keys after the first *done are reported as new, added or not, so that callers
 * skip no work. output_presume() does the same for keys that are never tried. */
static int take(void *handle, const uint64_t *digests, size_t n, unsigned char *answers,
                size_t *done)
{
    const int error = bloomfile_add_digests(handle, digests, n, (bool *)answers, NULL, done);
    memset(answers + *done, true, n - *done);
    return error;
}

static struct taker taker_of(struct filter *self)
{
    return (struct taker){ .take = take,
                           .width = 1,
                           .turn = &self->turn,
                           .open = self->turn.handle != NULL,
                           .kind = kind_of(self),
                           .born = is_sole(self) ? self->born : 0,
                           .seed = self->seed,
                           .keys = &self->keys,
                           .state = self->state,
                           .path = self->path };
}

static bool digest_of(struct filter *self, PyObject *object, uint64_t *digest)
{
    struct key key;
    if (!key_get(&key, object))
        return false;
    const struct taker taker = taker_of(self);
    const bool good = take_hash(&taker, &key, digest, 0);
    key_drop(&key);
    return good;
}

static PyObject *add(struct filter *self, PyObject *key)
{
    uint64_t digest;
    bool was_new;
    return digest_of(self, key, &digest) &&
                   change(self, bloomfile_add_digest, digest, self->adds_wait, &was_new)
               ? PyBool_FromLong(was_new)
               : NULL;
}

static PyObject *add_digest(struct filter *self, PyObject *object)
{
    uint64_t digest;
    bool was_new;
    return convert_u64(object, &digest) &&
                   change(self, bloomfile_add_digest, digest, self->adds_wait, &was_new)
               ? PyBool_FromLong(was_new)
               : NULL;
}

static int remove_digest(bloomfile_filter *f, bloomfile_digest digest, bool *unused)
{
    (void)unused;
    return bloomfile_remove_digest(f, digest);
}

static PyObject *remove_key(struct filter *self, PyObject *key)
{
    uint64_t digest;
    return digest_of(self, key, &digest) && change(self, remove_digest, digest, true, NULL)
               ? Py_NewRef(Py_None)
               : NULL;
}

/* If a batch raises any exception, its attribute `done` is the number of keys that were added. */
static PyObject *add_batch(struct filter *self, PyObject *args, PyObject *keywords,
                           PyObject *(*batch)(const struct taker *, PyObject *, PyObject *))
{
    size_t added = 0;
    struct taker taker = taker_of(self);
    taker.added = &added;
    PyObject *result = batch(&taker, args, keywords);
    if (result == NULL)
        error_set_done(added);
    return result;
}

static PyObject *add_many(struct filter *self, PyObject *args, PyObject *keywords)
{
    return add_batch(self, args, keywords, batch_keys_of);
}

static PyObject *add_digests(struct filter *self, PyObject *args, PyObject *keywords)
{
    return add_batch(self, args, keywords, batch_digests_of);
}

static PyObject *add_records(struct filter *self, PyObject *args, PyObject *keywords)
{
    return add_batch(self, args, keywords, batch_records_of);
}

static PyObject *add_arrow(struct filter *self, PyObject *args, PyObject *keywords)
{
    return add_batch(self, args, keywords, batch_arrow_of);
}

static PyObject *add_spans(struct filter *self, PyObject *args, PyObject *keywords)
{
    return add_batch(self, args, keywords, batch_spans_of);
}

/* ---- disk */

static PyObject *none_or(struct filter *self, int error)
{
    return error != 0 ? error_raise(self->state, error, self->path) : Py_NewRef(Py_None);
}

/* The watermark of a call, in `room`; NULL: None. */
static bool take_watermark(PyObject *args, PyObject *keywords, const char *format, uint8_t *room,
                           const uint8_t **watermark)
{
    static char *names[] = { "watermark", NULL };
    PyObject *given = Py_None;
    if (!PARSE(args, keywords, format, names, &given))
        return false;
    *watermark = given != Py_None ? room : NULL;
    return given == Py_None || convert_watermark(given, room);
}

static PyObject *sync_method(struct filter *self, PyObject *args, PyObject *keywords)
{
    uint8_t room[BLOOMFILE_WATERMARK_SIZE];
    const uint8_t *watermark;
    if (!take_watermark(args, keywords, "|$O:sync", room, &watermark))
        return NULL;
    bloomfile_filter *f = turn_enter(&self->turn, TURN_SHARED);
    if (f == NULL)
        return NULL;
    WITHOUT_GIL(const int error = bloomfile_sync(f, watermark));
    turn_leave(&self->turn, TURN_SHARED);
    return none_or(self, error);
}

static PyObject *seal(struct filter *self, PyObject *args, PyObject *keywords)
{
    uint8_t room[BLOOMFILE_WATERMARK_SIZE];
    const uint8_t *watermark;
    if (!take_watermark(args, keywords, "|$O:seal", room, &watermark))
        return NULL;
    bloomfile_filter *f = turn_enter(&self->turn, TURN_ALONE);
    if (f == NULL)
        return NULL;
    WITHOUT_GIL(const int error = bloomfile_seal(f, watermark));
    turn_leave(&self->turn, TURN_ALONE);
    return none_or(self, error);
}

static PyObject *rescue(struct filter *self, PyObject *args, PyObject *keywords)
{
    struct destination d;
    int error = 0;
    const bool taken = destination_parse(&d, "O&|$p:rescue", args, keywords);
    const bloomfile_filter *f = taken ? turn_enter(&self->turn, TURN_SHARED) : NULL;
    if (f != NULL) {
        WITHOUT_GIL(error = bloomfile_rescue(d.to.path, f, d.to.flags));
        turn_leave(&self->turn, TURN_SHARED);
    }
    return destination_end(&d, self->state, f != NULL, error);
}

/* After a failure the filter remains open, so that it can be rescued; a second close() does not
 * raise the error again. */
static PyObject *close_method(struct filter *self, PyObject *unused)
{
    (void)unused;
    bloomfile_filter *f = turn_close(&self->turn);
    if (f == NULL)
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    WITHOUT_GIL(const int error = bloomfile_finish(f));
    if (error != 0 && !self->finished) {
        self->finished = self->told = true;
        turn_begin(&self->turn, f, self->path);
        return error_raise(self->state, error, self->path);
    }
    const bool good = filter_warn(self, f);
    filter_close(self, f);
    return good ? Py_NewRef(Py_None) : NULL;
}

/* ---- the class */

#define WITH_KEYWORDS (METH_VARARGS | METH_KEYWORDS)

static PyMethodDef methods[] = {
    { "add", FUNCTION(add), METH_O,
      "add($self, key, /)\n--\n\n"
      "Adds a key. Returns whether that changed the filter; False: the key was possibly "
      "present." },
    { "add_digest", FUNCTION(add_digest), METH_O,
      "add_digest($self, digest, /)\n--\n\n"
      "The same for a digest made by hash() with this filter's seed. A digest made with "
      "another seed is never found." },
    { "add_many", FUNCTION(add_many), WITH_KEYWORDS,
      "add_many($self, keys, /, *, out=None)\n--\n\n"
      "Adds many keys, as contains_many() takes them, and returns Answers: True if the key "
      "was new. A null is not added, and its answer is null. After any exception the first "
      "`done` keys, an attribute of it, were added, and `out` has their answers; all other "
      "keys have 1 there, unless an argument was refused. After EFULL only the first `done` keys "
      "were added." },
    { "add_digests", FUNCTION(add_digests), WITH_KEYWORDS,
      "add_digests($self, digests, /, *, out=None)\n--\n\n"
      "The same for digests, as contains_digests() takes them." },
    { "add_records", FUNCTION(add_records), WITH_KEYWORDS,
      "add_records($self, records, /, size=None, *, out=None)\n--\n\n"
      "The same for records, as contains_records() takes them." },
    { "add_arrow", FUNCTION(add_arrow), WITH_KEYWORDS,
      "add_arrow($self, offsets, data, /, *, out=None)\n--\n\n"
      "The same for offsets and bytes, as contains_arrow() takes them." },
    { "add_spans", FUNCTION(add_spans), WITH_KEYWORDS,
      "add_spans($self, data, starts, ends, /, *, out=None)\n--\n\n"
      "The same for spans, as contains_spans() takes them." },
    { "remove", FUNCTION(remove_key), METH_O,
      "remove($self, key, /)\n--\n\n"
      "Undoes one add of the key, which must have been made. Only in the layout 'counting'." },
    { "sync", FUNCTION(sync_method), WITH_KEYWORDS,
      "sync($self, /, *, watermark=None)\n--\n\n"
      "Writes the adds of all processes to disk. watermark: at most 32 bytes, recorded "
      "after they are on disk. Everything up to the watermark survives a loss of power; "
      "repeat later adds. A counting filter counts a repeated key twice." },
    { "seal", FUNCTION(seal), WITH_KEYWORDS,
      "seal($self, /, *, watermark=None)\n--\n\n"
      "Gives the file checksums and ends adding. It stays open for reading. watermark: as "
      "in sync(); None keeps the watermark of the file. OSError (EBUSY) is raised if another "
      "handle has it open for writing, EISSERIES if it grows or forgets: use seal_to()." },
    { "rescue", FUNCTION(rescue), WITH_KEYWORDS,
      "rescue($self, path, *, replace=False)\n--\n\n"
      "Writes what memory holds to a new live file, after a write to the old one has "
      "failed." },
    { "close", FUNCTION(close_method), METH_NOARGS,
      "close($self, /)\n--\n\n"
      "Ends writing; the last writer syncs. If that raises, rescue() is possible before the "
      "next close()." },
    { "create", FUNCTION(create), WITH_KEYWORDS | METH_CLASS,
      "create($type, path, capacity=0, fpr=None, *, " LIVE_MAKING ", replace=False)\n--\n\n"
      "Makes a live filter and opens it. grow: adds larger layers once `capacity` is "
      "reached. generations: keeps that many, and forgets older ones; each holds `capacity` "
      "keys or lasts `every` seconds." },
    { "memory", FUNCTION(memory), WITH_KEYWORDS | METH_CLASS,
      "memory($type, capacity=0, fpr=None, *, " LIVE_MAKING ", sole_adder=False)\n--\n\n"
      "Makes an empty LiveFilter without a file, for this process and the children that it "
      "forks. sole_adder: only this process adds, which is faster. Other "
      "parameters are those of create(). grow: a child makes no layers. If it needs another, its "
      "adds raise EMISSINGLAYER, and after this process made one its lookups also return True for "
      "every key: use a file." },
    { NULL, NULL, 0, NULL },
};

static const char documentation[] =
    "LiveFilter(path, *, exact=False, accept_unclean=False, over_capacity=False, tag=None, "
    "seed=None, key_kind=None)\n--\n\n"
    "A filter to which any number of threads and processes add at once.\n\n"
    "exact: if several callers add the same new key concurrently, exactly one gets True. "
    "over_capacity: accept keys instead of raising EFULL at twice the target rate. "
    "accept_unclean: after a crash, add the lost keys again before sync() or close(), which make "
    "the "
    "file clean. "
    "tag, seed, key_kind: expected values, as in Filter.";

static PyType_Slot slots[] = {
    { Py_tp_doc, SLOT(documentation) },
    { Py_tp_init, SLOT(init) },
    { Py_tp_methods, methods },
    { 0, NULL },
};

PyType_Spec live_spec = {
    .name = "bloomfile.LiveFilter",
    .basicsize = sizeof(struct filter),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, /* memory and its end as Filter */
    .slots = slots,
};
