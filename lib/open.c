/* SPDX-License-Identifier: MIT
 * Opening and closing handles, checking for damage and changes, and lookups. */
#include <bloomfile.h>
#include <bloomfile_inline.h>
#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <bloomfile_open.h>
#include <bloomfile_unstable.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/bytes.h"
#include "format/invalid.h"
#include "format/min.h"
#include "format/source.h"
#include "handle/lookup.h"
#include "handle/opening.h"
#include "live/handle.h"
#include "os/file.h"
#include "os/path.h"
#include "series/layers.h"
#include "series/series.h"

#define OPEN_FLAGS                                                                                 \
    (BLOOMFILE_OPEN_VERIFY_FULL | BLOOMFILE_OPEN_VERIFY_NONE | BLOOMFILE_OPEN_WRITE |              \
     BLOOMFILE_OPEN_ACCEPT_UNCLEAN | BLOOMFILE_OPEN_ADD_EXACT | BLOOMFILE_OPEN_PREFAULT |          \
     BLOOMFILE_OPEN_LOCK | BLOOMFILE_OPEN_COPY | BLOOMFILE_OPEN_OVER_CAPACITY |                    \
     BLOOMFILE_OPEN_NOWAIT | BLOOMFILE_OPEN_SOLE_ADDER | BLOOMFILE_OPEN_ONE_THREAD)

#define EXPECTED                                                                                   \
    (BLOOMFILE_EXPECT_TAG | BLOOMFILE_EXPECT_SEED | BLOOMFILE_EXPECT_SEALED |                      \
     BLOOMFILE_EXPECT_HASH | BLOOMFILE_EXPECT_KEYS)
#define PARAMS_LEAST VERSIONED_LEAST(struct bloomfile_open_params, report)

#define PATH_TRIES 100 /* while other processes replace a series */

/* ---- parameters */

static bool flags_valid(const struct bloomfile_open_params *p, uint32_t kind)
{
    const unsigned flags = p->flags,
                   verify = BLOOMFILE_OPEN_VERIFY_FULL | BLOOMFILE_OPEN_VERIFY_NONE,
                   held = BLOOMFILE_OPEN_LOCK | BLOOMFILE_OPEN_PREFAULT;
    const bool writing = (flags & BLOOMFILE_OPEN_WRITE) != 0;
    if ((flags & ~OPEN_FLAGS) != 0 || (flags & verify) == verify)
        return false;
    if (kind == BLOOMFILE_FROM_MEMORY && (flags & held) != 0 && (flags & BLOOMFILE_OPEN_COPY) == 0)
        return false;
    if (!writing)
        return (flags & (BLOOMFILE_OPEN_ADD_EXACT | BLOOMFILE_OPEN_OVER_CAPACITY |
                         BLOOMFILE_OPEN_SOLE_ADDER | BLOOMFILE_OPEN_ONE_THREAD)) == 0;
    return kind == BLOOMFILE_FROM_PATH && (flags & (verify | BLOOMFILE_OPEN_COPY)) == 0 &&
           (p->expect & BLOOMFILE_EXPECT_SEALED) == 0;
}

/* versioned_known() does not apply: the path makes this struct larger than VERSIONED_MOST. */
static bool report_known(const struct bloomfile_open_report *r)
{
    return r->struct_size >= VERSIONED_LEAST(struct bloomfile_open_report, path) &&
           r->struct_size <= 2 * sizeof *r;
}

/* Returns the name of an expected value that lacks its flag, so that it would not be compared. */
static const char *unflagged(const struct bloomfile_open_params *p)
{
    static const uint8_t zero[BLOOMFILE_TAG_SIZE];
    if ((p->expect & BLOOMFILE_EXPECT_TAG) == 0 && memcmp(p->tag, zero, sizeof zero) != 0)
        return "tag";
    if ((p->expect & BLOOMFILE_EXPECT_SEED) == 0 && p->seed != 0)
        return "seed";
    if ((p->expect & BLOOMFILE_EXPECT_HASH) == 0 &&
        (p->hash_id != 0 || p->self_test != 0 || p->self_test_of != NULL))
        return "hash_id";
    if ((p->expect & BLOOMFILE_EXPECT_KEYS) == 0 && (p->key_kind != 0 || p->key_size != 0))
        return "key_kind";
    return NULL;
}

static int take_open_params(struct bloomfile_open_params *p,
                            const struct bloomfile_open_params *given, uint32_t kind)
{
    *p = BLOOMFILE_OPEN_PARAMS_INIT;
    if (given != NULL && !versioned_take(p, sizeof *p, given, given->struct_size, PARAMS_LEAST))
        return invalid(BLOOMFILE_ESTRUCTSIZE, "struct_size");
    if (p->report != NULL && !report_known(p->report))
        return invalid(BLOOMFILE_ESTRUCTSIZE, "report");
    if (!flags_valid(p, kind))
        return invalid(BLOOMFILE_EFLAGS, "flags");
    if ((p->expect & ~EXPECTED) != 0)
        return invalid(BLOOMFILE_EFLAGS, "expect");
    if (p->reserved != 0)
        return invalid(BLOOMFILE_EVALUE, "reserved");
    const char *name = unflagged(p);
    if (name != NULL)
        return invalid(BLOOMFILE_EVALUE, name);
    const struct bloomfile_info any = BLOOMFILE_INFO_INIT;
    const bool expects_keys = (p->expect & BLOOMFILE_EXPECT_KEYS) != 0;
    return expects_keys ? bloomfile_check_keys(&any, p->key_kind, p->key_size) : 0;
}

/* ---- the report of a failure */

_Static_assert(offsetof(struct bloomfile_open_report, path) == sizeof(struct report), "a prefix");

/* path: the caller's path, or NULL. */
static ONCE_A_FILE void give_report(struct bloomfile_open_report *to, const struct report *r,
                                    const char *path)
{
    const bool named = r->slot == 0 || r->reason == BLOOMFILE_REASON_NOT_FIRST;
    char *real = path != NULL && !named ? path_without_links(path) : NULL;
    struct bloomfile_open_report all = BLOOMFILE_OPEN_REPORT_INIT;
    memcpy(&all, r, sizeof *r);
    if (all.file_error == 0)
        all.file_error = all.error;
    if (path != NULL && named)
        snprintf(all.path, sizeof all.path, "%s", path);
    else if (path != NULL)
        snprintf(all.path, sizeof all.path, "%s.%" PRIu64, real != NULL ? real : path, r->slot);
    free(real);
    versioned_give(to, to->struct_size, &all, sizeof all);
}

ONCE_A_FILE int bloomfile_layer_report(const bloomfile_filter *f,
                                       struct bloomfile_open_report *report)
{
    struct report last = { 0 };
    const char *path = f->path;
    if (!report_known(report))
        return invalid(BLOOMFILE_ESTRUCTSIZE, "struct_size");
    if (f->series != NULL) {
        pthread_mutex_lock(&f->series->process->finding);
        last = f->series->process->report;
        pthread_mutex_unlock(&f->series->process->finding);
        path = f->series->path;
    }
    give_report(report, &last, path);
    return 0;
}

/* ---- opening */

static bool leads_elsewhere(const char *path, const struct file_looks *then)
{
    struct stat now;
    return stat(path, &now) != 0 || now.st_dev != then->device || now.st_ino != then->inode;
}

/* Opens the file, and if it is the first layer of a series, the other layers. If another process
 * replaces the first layer of a live series during the call, opens the path again (L4, S11). */
static int open_path(bloomfile_filter **out, const char *path, const struct opening *how)
{
    const bool writing = (how->flags & BLOOMFILE_OPEN_WRITE) != 0;
    for (int tries = 1;; tries++) {
        int rest, error = opening_by_path(out, path, how, &rest);
        const bool layer = error == 0 && header_is_layer(&(*out)->header);
        const bool live = layer && (*out)->live != NULL;
        const struct file_looks first = live ? (*out)->file : (struct file_looks){ 0 };
        if (layer)
            error = live ? series_open_live(out, path, how) : series_open_sealed(out, rest, 0, how);
        if (rest >= 0)
            close(rest);
        const bool matters = live && (error != 0 || writing) && tries < PATH_TRIES;
        if (!matters || !leads_elsewhere(path, &first))
            return error;
        bloomfile_close(*out);
        *how->report = (struct report){ 0 };
    }
}

static int open_descriptor(bloomfile_filter **out, const struct bloomfile_source *from,
                           const struct opening *how)
{
    struct stat status;
    int error = file_stat(from->fd, &status);
    if (error == 0)
        error = opening_range(out, from->fd, &status, from->offset, from->length, how);
    return error == 0 && header_is_layer(&(*out)->header)
               ? series_open_sealed(out, from->fd, from->offset, how)
               : error;
}

static int open_memory(bloomfile_filter **out, const struct bloomfile_source *from,
                       const struct opening *how)
{
    const int error = opening_memory(out, from->memory, from->size, how);
    return error == 0 && header_is_layer(&(*out)->header)
               ? series_open_memory(out, from->memory, how)
               : error;
}

static int open_from(bloomfile_filter **out, const struct bloomfile_source *from,
                     const struct opening *how)
{
    switch (from->kind) {
    case BLOOMFILE_FROM_PATH:
        return open_path(out, from->path, how);
    case BLOOMFILE_FROM_FD:
        return open_descriptor(out, from, how);
    default:
        return open_memory(out, from, how);
    }
}

ONCE_A_FILE int bloomfile_open_with(bloomfile_filter **out, const struct bloomfile_source *from,
                                    const struct bloomfile_open_params *params)
{
    struct bloomfile_open_params p;
    struct bloomfile_source source;
    struct report report = { 0 };
    *out = NULL;
    int error = source_take(&source, from);
    if (error == 0 && source.kind == BLOOMFILE_FROM_FD && source.offset == BLOOMFILE_FROM_HERE)
        error = invalid(BLOOMFILE_EVALUE, "offset");
    if (error == 0)
        error = take_open_params(&p, params, source.kind);
    if (error != 0)
        return error;
    const struct opening how = { .flags = p.flags,
                                 .named = (p.expect & BLOOMFILE_EXPECT_HASH) != 0,
                                 .expected = &p,
                                 .report = &report };
    error = open_from(out, &source, &how);
    report.error = error;
    if (error != 0 && p.report != NULL)
        give_report(p.report, &report, source.path);
    return error;
}

int bloomfile_open(bloomfile_filter **out, const char *path, unsigned flags)
{
    const struct bloomfile_source from = bloomfile_from_path(path);
    struct bloomfile_open_params params = BLOOMFILE_OPEN_PARAMS_INIT;
    params.flags = flags;
    params.expect = BLOOMFILE_EXPECT_HASH;
    params.hash_id = BLOOMFILE_HASH_XXH3;
    return bloomfile_open_with(out, &from, &params);
}

void bloomfile_close(bloomfile_filter *f)
{
    if (f != NULL)
        f->operations->close(f);
}

uint64_t bloomfile_seed(const bloomfile_filter *f)
{
    return f->header.seed;
}

bloomfile_digest bloomfile_digest_of(const bloomfile_filter *f, const void *key, size_t size)
{
    return hash_is_applications(f->header.hash_id) ? app_hash_unmade(f)
                                                   : hash_key(f->header.seed, key, size);
}

const char *bloomfile_kernel_name(const bloomfile_filter *f)
{
    return f->kernel->name;
}

/* ---- damage and changes */

bool bloomfile_is_stale(const bloomfile_filter *f)
{
    return f->operations->is_stale(f);
}

int bloomfile_recheck(const bloomfile_filter *f)
{
    const int error = bloomfile_check(f);
    if (error != 0)
        return error;
    f->operations->recheck(f);
    return bloomfile_check(f);
}

int bloomfile_damage(const bloomfile_filter *f)
{
    int error = atomic_load_explicit(&f->guard->error, memory_order_acquire);
    if (error == 0 && f->series != NULL)
        error = series_damage(f);
    return error == 0 && atomic_load(&f->guard->unhashed) ? BLOOMFILE_EHASH : error;
}

int bloomfile_check(const bloomfile_filter *f)
{
    const int error = f->operations->status(f);
    return error == 0 && atomic_load(&f->guard->unhashed) ? BLOOMFILE_EHASH : error;
}

/* ---- lookups */

/* Kept short: the fewer instructions a lookup has, the more lookups fit in the processor's reorder
 * window, and the more of their cache misses overlap. */
bool bloomfile_contains_digest(const bloomfile_filter *f, bloomfile_digest digest)
{
    if (guard_all_good(&f->guard_storage))
        return f->contains(&f->view, digest);
    return f->doubtful->contains(f, digest);
}

static inline bool contains_key(const bloomfile_filter *f, const void *key, size_t size)
{
    return bloomfile_contains_digest(f, hash_key(f->header.seed, key, size));
}

bool bloomfile_contains(const bloomfile_filter *f, const void *key, size_t size)
{
    return hash_is_applications(f->header.hash_id) ? app_hash_missed(f, 1, NULL) == 1
                                                   : contains_key(f, key, size);
}

size_t bloomfile_contains_digests(const bloomfile_filter *f, const bloomfile_digest *digests,
                                  size_t n, bool *hits)
{
    if (guard_all_good(&f->guard_storage))
        return f->contains_many(&f->view, digests, n, hits);
    return f->doubtful->contains_many(f, digests, n, hits);
}

static __attribute__((noinline)) size_t
contains_chunks(const bloomfile_filter *f, const struct bloomfile_key *keys, size_t n, bool *hits)
{
    uint64_t digests[LOOKUP_CHUNK];
    size_t found = 0;
    for (size_t start = 0, count; (count = MIN(n - start, LOOKUP_CHUNK)) > 0; start += count) {
        lookup_digests(f, keys + start, count, digests);
        found += lookup_ready(f, digests, count, hits != NULL ? hits + start : NULL);
    }
    return found;
}

size_t bloomfile_contains_many(const bloomfile_filter *f, const struct bloomfile_key *keys,
                               size_t n, bool *hits)
{
    size_t found = 0;
    if (hash_is_applications(f->header.hash_id))
        return app_hash_missed(f, n, hits);
    if (n >= LOOKUP_MANY)
        return contains_chunks(f, keys, n, hits);
    for (size_t i = 0; i < n; i++) {
        const bool hit = contains_key(f, keys[i].data, keys[i].size);
        if (hits != NULL)
            hits[i] = hit;
        found += hit;
    }
    return found;
}

bool bloomfile_contains_digest_nowait(const bloomfile_filter *f, bloomfile_digest digest)
{
    return f->doubtful->contains_nowait(f, digest);
}

int bloomfile_digests_of_spans(const bloomfile_filter *f, const struct bloomfile_spans *spans,
                               bloomfile_digest *digests)
{
    if (!hash_is_applications(f->header.hash_id))
        return hash_spans(f->header.seed, spans, digests);
    app_hash_unmade(f);
    return BLOOMFILE_EHASH;
}

/* ---- pins: the members of a handle that lookups in bloomfile_inline.h need */

#ifdef __SIZEOF_INT128__
static bool can_inline(const bloomfile_filter *f)
{
    /* bloomfile_block.h looks up keys in one body of the blocked layout */
    return f->header.layout == BLOOMFILE_LAYOUT_BLOCKED && f->series == NULL;
}
#else
static bool can_inline(const bloomfile_filter *f)
{
    (void)f;
    return false;
}
#endif

int bloomfile_pin(const bloomfile_filter *f, struct bloomfile_pinned *pin)
{
    static const uint64_t always_in_doubt = 1;
    if ((uintptr_t)pin % 64 != 0) /* code compiled for AVX-512 may copy a pin with aligned moves */
        return invalid(BLOOMFILE_EVALUE, "pin");
    struct bloomfile_pinned p = { .doubts_ = &always_in_doubt };
    if (can_inline(f)) {
        p.blocks_ = f->view.units;
        p.hashes_ = f->view.k;
        if (f->view.k <= BLOOMFILE_BLOCK_SLICES)
            *(f->live == NULL ? &p.ignored_ : &p.live_ignored_) = f->view.ignored;
        p.doubts_ =
            (const void *)(uintptr_t)&f->guard_storage.doubts; /* atomic, as in this library */
    }
    p.body_ = f->view.body;
    p.filter_ = f;
    for (unsigned slot = 0; f->live != NULL && slot < 2; slot++)
        p.state_[slot] = (const void *)f->state[slot];
    p.poisoned_ = BYTES_SWAP32(BLOOMFILE_STATE_POISONED);
    *pin = p;
    return 0;
}
