/* SPDX-License-Identifier: MIT
 * The builder, which collects digests, sizes the filter, makes its body and publishes it. */
#include <bloomfile_inspect.h>
#include <bloomfile_unstable.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "build/digests.h"
#include "build/fill.h"
#include "build/runs.h"
#include "format/checksum.h"
#include "format/hash.h"
#include "format/min.h"
#include "image/body.h"
#include "image/new_image.h"
#include "image/params.h"
#include "os/file.h"
#include "os/thread.h"

#define CHUNK        1024 /* keys hashed together; with 256, adding takes a ninth longer */
#define STAGE        64   /* single digests that a single thread collects before it adds them */
#define MEMORY_LEAST ((uint64_t)1 << 20) /* bytes: the lowest memory limit */
#define PARTITION_LEAST                                                                            \
    ((uint64_t)1 << 26) /* bytes of memory; buffers partition their digests above this */
#define WORKER_LEAST ((uint64_t)1 << 18) /* bytes for each thread; with less, fewer threads run */
#define BUFFER_LEAST                                                                               \
    ((uint64_t)1 << 18)               /* bytes for each buffer; with less, threads share buffers */
#define READ_BEST ((uint64_t)1 << 17) /* digests read together, 1 MiB: they stay in the cache */
#define READ_MOST ((uint64_t)1 << 20) /* the same if memory is not limited */

/* The counts in the header of a slice: all keys that it was given, including repeated keys. */
struct slice_input {
    atomic_uint_least64_t read, elsewhere, sum;
};

struct bloomfile_builder {
    struct bloomfile_params params;
    char label[BLOOMFILE_MAX_LABEL + 1];
    uint8_t
        tag[BLOOMFILE_TAG_SIZE]; /* this and the next two: as in the caller's params, for a reset */
    uint32_t key_kind, key_size;
    char *folder;
    struct digests *digests;
    struct fill_plan fill;
    struct digest_range spread; /* the range of a slice, which leaves out other digests */
    struct slice_input input;
    unsigned staged; /* digests in `stage`, which are not in `digests` yet */
    uint64_t stage[STAGE];
    atomic_int failed; /* the error of the first failed add, after which keys are missing; or 0 */
};

/* Divides the memory limit: half for buffers, half for reading digests and making parts. */
static void share_memory(bloomfile_builder *b, struct digests_plan *d)
{
    uint64_t memory = b->params.memory, threads = b->params.threads > 1 ? b->params.threads : 1;
    uint64_t buffers = MIN(threads, DIGESTS_BUFFERS_MOST);
    *d = (struct digests_plan){ .buffer = { .most = SIZE_MAX, .partition = true },
                                .shared = threads > 1,
                                .room = READ_MOST,
                                .folder = b->params.spool };
    if (memory != 0) {
        memory = memory < MEMORY_LEAST ? MEMORY_LEAST : MIN(memory, SIZE_MAX);
        threads = threads > memory / WORKER_LEAST ? memory / WORKER_LEAST : threads;
        uint64_t share = memory / 2 / threads, room = share / 2 / READER_EACH;
        room = MIN(room, READ_BEST);
        buffers = buffers > memory / 2 / BUFFER_LEAST ? memory / 2 / BUFFER_LEAST : buffers;
        d->buffer.most = (size_t)(memory / 2 / 8 / buffers);
        d->buffer.partition = memory >= PARTITION_LEAST;
        d->room = (size_t)room;
        b->fill.part = (size_t)((share - room * READER_EACH) / CHECKSUM_PAGE * CHECKSUM_PAGE);
    }
    d->buffers = (unsigned)buffers;
    d->threads = b->fill.threads = (unsigned)threads;
    b->fill.room = d->room;
    b->fill.folder = d->folder;
}

static int copy_params(bloomfile_builder *b, const struct bloomfile_params *p)
{
    b->params = *p;
    memcpy(b->tag, p->tag, sizeof b->tag);
    b->key_kind = p->key_kind;
    b->key_size = p->key_size;
    if (p->label != NULL)
        b->params.label = memcpy(b->label, p->label, strlen(p->label));
    b->params.spool = b->folder = strdup(spool_folder(p->spool));
    return b->folder == NULL ? ENOMEM : 0;
}

/* Sets the range of a slice. The size of its whole filter cannot depend on the number of keys. */
static int choose_spread(bloomfile_builder *b)
{
    struct header h;
    if (b->params.slices == 0)
        return 0;
    int error = params_plan(&b->params, 0, GEOMETRY_FILE_HEADER, &h);
    if (error != 0)
        return error;
    image_describe(&h);
    b->spread = digest_range_of(&h);
    return 0;
}

int bloomfile_builder_new(bloomfile_builder **out, const struct bloomfile_params *params)
{
    *out = NULL;
    struct bloomfile_params p;
    int error = params_take(&p, params);
    if (error == 0)
        error = params_refuse_of_live(&p);
    if (error != 0)
        return error;
    bloomfile_builder *b = calloc(1, sizeof *b);
    if (b == NULL)
        return ENOMEM;
    error = copy_params(b, &p);
    struct digests_plan plan;
    share_memory(b, &plan);
    if (error == 0)
        error = choose_spread(b);
    if (error == 0)
        error = digests_new(&b->digests, &plan);
    if (error != 0) {
        bloomfile_builder_free(b);
        return error;
    }
    *out = b;
    return 0;
}

/* On an error, the digests stay staged. */
static int add_staged(bloomfile_builder *b)
{
    const int error = b->staged > 0 ? digests_add(b->digests, b->stage, b->staged) : 0;
    if (error == 0)
        b->staged = 0;
    return error;
}

static void count_read(struct slice_input *in, uint64_t read, uint64_t elsewhere, uint64_t sum)
{
    atomic_fetch_add_explicit(&in->read, read, memory_order_relaxed);
    atomic_fetch_add_explicit(&in->sum, sum, memory_order_relaxed);
    if (elsewhere != 0)
        atomic_fetch_add_explicit(&in->elsewhere, elsewhere, memory_order_relaxed);
}

static int add_one(bloomfile_builder *b, uint64_t digest)
{
    if (b->params.slices != 0) {
        const bool own = digest_range_has(&b->spread, digest);
        count_read(&b->input, 1, !own, digest);
        if (!own)
            return 0;
        digest = digest_range_digest(&b->spread, digest);
    }
    if (b->params.threads > 1)
        return digests_add(b->digests, &digest, 1);
    const int error = b->staged == STAGE ? add_staged(b) : 0;
    if (error == 0)
        b->stage[b->staged++] = digest;
    return error;
}

/* Adds the digests that belong to the slice, and counts all of them. */
static int add_own(bloomfile_builder *b, const uint64_t *digests, size_t n)
{
    uint64_t own[CHUNK];
    int error = 0;
    for (size_t at = 0, some; error == 0 && (some = MIN(n - at, CHUNK)) > 0; at += some) {
        size_t count = 0;
        uint64_t sum = 0;
        for (size_t i = at; i < at + some; i++) {
            sum += digests[i];
            own[count] = digest_range_digest(&b->spread, digests[i]);
            count += digest_range_has(&b->spread, digests[i]);
        }
        count_read(&b->input, some, some - count, sum);
        error = digests_add(b->digests, own, count);
    }
    return error;
}

static int add_many(bloomfile_builder *b, const uint64_t *digests, size_t n)
{
    return b->params.slices != 0 ? add_own(b, digests, n) : digests_add(b->digests, digests, n);
}

/* Records the first error of an add. Returns the error. */
static int added(bloomfile_builder *b, int error)
{
    int none = 0;
    if (error != 0)
        atomic_compare_exchange_strong(&b->failed, &none, error);
    return error;
}

int bloomfile_builder_add_digests(bloomfile_builder *b, const bloomfile_digest *digests, size_t n)
{
    return added(b, n == 1 ? add_one(b, *digests) : add_many(b, digests, n));
}

/* Returns whether the library can hash keys: it does not know an application's own hash. */
static bool can_hash(const bloomfile_builder *b)
{
    return b->params.hash_id == 0;
}

int bloomfile_builder_add(bloomfile_builder *b, const void *key, size_t size)
{
    return added(b,
                 can_hash(b) ? add_one(b, hash_key(b->params.seed, key, size)) : BLOOMFILE_EHASH);
}

int bloomfile_builder_add_many(bloomfile_builder *b, const struct bloomfile_key *keys, size_t n)
{
    uint64_t digests[CHUNK];
    int error = n == 0 || can_hash(b) ? 0 : BLOOMFILE_EHASH;
    for (size_t at = 0, count; error == 0 && (count = MIN(n - at, CHUNK)) > 0; at += count) {
        for (size_t i = 0; i < count; i++)
            digests[i] = hash_key(b->params.seed, keys[at + i].data, keys[at + i].size);
        error = add_many(b, digests, count);
    }
    return added(b, error);
}

int bloomfile_builder_digests_of_spans(bloomfile_builder *b, const struct bloomfile_spans *spans,
                                       bloomfile_digest *digests)
{
    return added(b, can_hash(b) ? hash_spans(b->params.seed, spans, digests) : BLOOMFILE_EHASH);
}

/* Prepares for counting or reading. Fails if an add failed, because keys are missing. */
static int complete_digests(bloomfile_builder *b)
{
    const int error = atomic_load(&b->failed);
    return error != 0 ? error : add_staged(b);
}

int bloomfile_builder_count(bloomfile_builder *b, uint64_t *count)
{
    const int error = complete_digests(b);
    return error != 0 ? error : digests_count(b->digests, count);
}

/* Makes the body, its page checksums and the rest of *h. */
static int build(bloomfile_builder *b, struct header *h, const struct runs *runs,
                 const struct new_image *r)
{
    uint64_t n;
    int error = fill_body(h, runs, &b->fill, new_image_body(r), r->fd, r->checksums, &n);
    if (error != 0)
        return error;
    digests_are(b->digests, n);
    params_set_keys(&b->params, n, h);
    return 0;
}

/* Records the key counts of a slice after the last add. */
static void describe_input(const bloomfile_builder *b, struct header *h)
{
    h->keys_read = atomic_load(&b->input.read);
    h->keys_elsewhere = atomic_load(&b->input.elsewhere);
    h->digest_sum = atomic_load(&b->input.sum);
}

static bool is_over_capacity(const bloomfile_builder *b, const struct header *h)
{
    return b->params.over_capacity == 0 && h->record.n > image_most_keys(h);
}

/* Makes a filter planned for n keys. If its size depends on the number of keys, and there turn out
 * not to be n distinct digests, publishes nothing. */
static int make_planned(bloomfile_builder *b, const struct runs *runs, uint64_t n,
                        struct destination to)
{
    struct header h;
    struct new_image r = { 0 };
    int error = params_plan(&b->params, n, new_image_header_size(&to), &h);
    h.record.state = BLOOMFILE_STATE_SEALED;
    describe_input(b, &h);
    if (error == 0)
        error = new_image_start(&r, &h, to);
    if (error == 0)
        error = build(b, &h, runs, &r);
    const bool counted = h.record.n == n || !params_need_keys(&b->params);
    if (error == 0 && counted)
        error = is_over_capacity(b, &h) ? BLOOMFILE_EFULL : new_image_finish(&r, &h);
    new_image_abandon(&r);
    return error;
}

/* If the size depends on the number of distinct keys, a sample of the digests is checked first. If
 * the sample has no repeated key, all keys are assumed to be distinct, which saves a pass that
 * counts them. If that turns out to be wrong, the filter is made again. */
int bloomfile_builder_write(bloomfile_builder *b, struct bloomfile_destination *given)
{
    struct destination to;
    uint64_t guess = 0, n;
    bool certain = true;
    const struct runs *runs = NULL;
    int error = destination_take(&to, given);
    if (to.to.spool == NULL)
        to.to.spool = b->params.spool;
    if (error == 0)
        error = complete_digests(b);
    if (error == 0 && (runs = digests_runs(b->digests)) == NULL)
        error = ENOMEM;
    if (error == 0 && params_need_keys(&b->params))
        error = digests_guess(b->digests, &guess, &certain);
    if (error != 0)
        return error;
    error = make_planned(b, runs, guess, to);
    if (certain)
        return error;
    const int counting = digests_count(b->digests, &n);
    return counting != 0 ? counting : n == guess ? error : make_planned(b, runs, n, to);
}

void bloomfile_free(void *image)
{
    free(image);
}

void bloomfile_builder_set_tag(bloomfile_builder *b, const uint8_t tag[BLOOMFILE_TAG_SIZE])
{
    memcpy(b->params.tag, tag, BLOOMFILE_TAG_SIZE);
}

void bloomfile_builder_reset(bloomfile_builder *b)
{
    digests_reset(b->digests);
    memcpy(b->params.tag, b->tag, sizeof b->tag);
    b->params.key_kind = b->key_kind;
    b->params.key_size = b->key_size;
    b->input = (struct slice_input){ 0 };
    b->staged = 0;
    atomic_store(&b->failed, 0);
}

int bloomfile_builder_set_key_kind(bloomfile_builder *b, uint32_t key_kind, uint32_t key_size)
{
    struct bloomfile_params checked, with = b->params;
    with.key_kind = key_kind;
    with.key_size = key_size;
    const int error = params_take(&checked, &with);
    if (error == 0) {
        b->params.key_kind = key_kind;
        b->params.key_size = key_size;
    }
    return error;
}

void bloomfile_builder_free(bloomfile_builder *b)
{
    if (b == NULL)
        return;
    digests_free(b->digests);
    free(b->folder);
    free(b);
}

void bloomfile_stop_with(bloomfile_stop *stop, void *context)
{
    cancel_set(stop, context);
}
