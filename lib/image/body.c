/* SPDX-License-Identifier: MIT
 * A pass over a whole body, page by page, by one thread or several. Also the header fields and page
 * checksums of a sealed image.
 */
#include "image/body.h"

#include <bloomfile_inspect.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "format/bytes.h"
#include "format/checksum.h"
#include "format/decode.h"
#include "format/min.h"
#include "kernel/dispatch.h"
#include "os/map.h"
#include "os/thread.h"
#include "sizing/sizing.h"

#define STRETCH 1024u /* pages that a thread takes at a time */

void body_pass_start(struct body_pass *pass, const struct header *h)
{
    *pass = (struct body_pass){ .geometry = geometry_of(h->layout, h->m, h->header_size),
                                .kernel = kernel_for(h->layout) };
}

/* Prefetches lines of the next page, which need not exist. Hardware prefetchers stop at page
 * boundaries, so memory would idle while the checksum is combined and the bits are counted.
 * Prefetching more lines before the checksum, or all lines in one place, is slower (bench-file). A
 * macro, because gcc drops calls of a function that only prefetches. */
#define EXPECT(bytes, first, end)                                                                  \
    for (size_t line = (first); line < (end); line++)                                              \
    __builtin_prefetch((const void *)((uintptr_t)(bytes) + 64 * line))

uint32_t body_pass_page(struct body_pass *pass, const uint8_t *page, const uint8_t *next)
{
    const uint64_t used = pass->geometry.need - pass->page * CHECKSUM_PAGE;
    const size_t size = checksum_page_size(pass->geometry.body_size, pass->page);
    uint32_t crc = checksum(page, size);
    EXPECT(next, 0, 8);
    checksum_append(&pass->sum, crc, size);
    (pass->weighed ? pass->kernel->tally : pass->kernel->count)(page, (size_t)MIN(used, size),
                                                                &pass->tally);
    EXPECT(next, 8, 24);
    pass->page++;
    return crc;
}

/* `bytes` are the bytes of the body from offset `first` on. */
static bool is_clean_from(const struct header *h, const uint8_t *bytes, uint64_t first,
                          uint64_t *offset)
{
    const unsigned used = h->m * layout_of(h->layout)->cell_bits % 8;
    *offset = geometry_of(h->layout, h->m, h->header_size).need - 1;
    if (used != 0 && shared_load8(bytes + (*offset - first)) >> used != 0)
        return false;
    for (++*offset; *offset < h->body_size; ++*offset)
        if (shared_load8(bytes + (*offset - first)) != 0)
            return false;
    return true;
}

bool body_padding_is_clean(const struct header *h, const uint8_t *body, uint64_t *offset)
{
    return is_clean_from(h, body, 0, offset);
}

bool body_last_page_is_clean(const struct header *h, const uint8_t *page)
{
    uint64_t offset;
    return is_clean_from(h, page, (h->body_size - 1) / CHECKSUM_PAGE * CHECKSUM_PAGE, &offset);
}

/* Returns whether the key counts in the page heads add up to n. */
static bool keys_add_up(const struct kernel_tally *tally, uint64_t n)
{
    return tally->more_keys ? tally->keys <= n : tally->keys == n;
}

/* The first field in which body and record differ, or NULL. */
static const char *contradiction(const struct body_check *check, uint64_t *offset)
{
    const struct record *r = &check->h->record;
    *offset = 0;
    if (check->pass.sum.crc != r->body_crc)
        return "body_crc";
    if (check->pass.tally.ones != r->ones)
        return "ones";
    if (check->pass.tally.overflow != r->overflow)
        return "overflow";
    if (check->stain != UINT64_MAX) {
        *offset = check->stain;
        return "padding";
    }
    if (check->pass.tally.not_heads != 0)
        return "head";
    const bool solved = layout_of(check->h->layout)->solved;
    return solved && !keys_add_up(&check->pass.tally, r->n) ? "n" : NULL;
}

void body_check_start(struct body_check *check, const struct header *h, const uint8_t *body,
                      struct guard *guard)
{
    *check = (struct body_check){ .h = h,
                                  .body = body,
                                  .guard = guard,
                                  .renewals = guard_renewals(guard),
                                  .first_bad = UINT64_MAX,
                                  .stain = UINT64_MAX };
    body_pass_start(&check->pass, h);
}

/* Marks the pages that were good since the last call. Pages are marked 64 at a time, because a call
 * executes four locked instructions, and memory reads stall during them. */
static void mark_good(struct body_check *check)
{
    if (check->good != 0)
        guard_set_good(check->guard, (check->pass.page - 1) / 64, check->good, check->renewals);
    check->good = 0;
}

/* bytes: the next page, or a copy of it. */
static void check_page(struct body_check *check, const uint8_t *bytes)
{
    const uint8_t *checksums = check->body + check->h->body_size;
    const uint64_t page = check->pass.page, last = check->pass.geometry.pages - 1;
    uint64_t offset;
    const uint32_t crc =
        body_pass_page(&check->pass, bytes, check->body + (page + 1) * CHECKSUM_PAGE);
    const bool good = crc == checksum_of_entry(checksums, page, check->h->record.body_crc);
    if (good) {
        guard_remember_head(check->guard, page);
        check->good |= 1ULL << page % 64;
    } else {
        guard_set(check->guard, page, false, check->renewals);
        if (check->first_bad == UINT64_MAX)
            check->first_bad = page;
    }
    if (page % 64 == 63)
        mark_good(check);
    if (page == last && !is_clean_from(check->h, bytes, page * CHECKSUM_PAGE, &offset))
        check->stain = offset;
}

void body_check_pages(struct body_check *check, const uint8_t *bytes, uint64_t pages)
{
    for (; pages > 0; pages--, bytes += CHECKSUM_PAGE)
        check_page(check, bytes);
}

void body_check_copy(struct body_check *check, uint8_t *to, uint64_t pages)
{
    for (; pages > 0; pages--, to += CHECKSUM_PAGE) {
        const uint64_t page = check->pass.page;
        checksum_copy(to, check->body + page * CHECKSUM_PAGE,
                      checksum_page_size(check->h->body_size, page));
        check_page(check, to);
    }
}

int body_check_end(struct body_check *check, struct bloomfile_fault *fault)
{
    struct bloomfile_fault unused;
    if (fault == NULL)
        fault = &unused;
    mark_good(check);
    if (check->first_bad != UINT64_MAX) {
        *fault = (struct bloomfile_fault){
            .error = BLOOMFILE_EPAGE,
            .offset = check->h->body_offset + check->first_bad * CHECKSUM_PAGE,
            .page = check->first_bad,
            .field = "page",
        };
        return BLOOMFILE_EPAGE;
    }
    uint64_t offset;
    const char *field = contradiction(check, &offset);
    if (field == NULL)
        return 0;
    guard_distrust(check->guard, BLOOMFILE_EBODY);
    *fault = (struct bloomfile_fault){
        .error = BLOOMFILE_EBODY,
        .offset = check->h->body_offset + offset,
        .page = UINT64_MAX,
        .field = field,
    };
    return BLOOMFILE_EBODY;
}

/* ---- by several threads */

static uint64_t page_offset(const struct body_pass *pass, uint64_t page)
{
    const uint64_t offset = page * CHECKSUM_PAGE;
    return offset < pass->geometry.body_size ? offset : pass->geometry.body_size;
}

/* A CRC-32 is linear. The CRC-32 of the whole is the XOR of the CRC-32s of its parts, each with
 * zeros in place of all other parts. */
void body_pass_skip(struct body_pass *pass, uint64_t page)
{
    const uint64_t size = page_offset(pass, page) - page_offset(pass, pass->page);
    if (size > 0)
        checksum_append(&pass->sum, 0, size);
    pass->page = page;
}

void body_pass_join(struct body_pass *pass, const struct body_pass *other)
{
    pass->sum.crc ^= other->sum.crc;
    pass->tally.ones += other->tally.ones;
    pass->tally.overflow += other->tally.overflow;
    pass->tally.keys += other->tally.keys;
    pass->tally.not_heads += other->tally.not_heads;
    pass->tally.more_keys |= other->tally.more_keys;
}

void body_check_skip(struct body_check *check, uint64_t page)
{
    mark_good(check);
    body_pass_skip(&check->pass, page);
}

void body_check_join(struct body_check *check, const struct body_check *other)
{
    body_pass_join(&check->pass, &other->pass);
    if (other->first_bad < check->first_bad)
        check->first_bad = other->first_bad;
    if (other->stain < check->stain)
        check->stain = other->stain;
}

struct shared_check {
    struct body_check whole;
    _Atomic uint64_t next; /* next page to take */
    pthread_mutex_t lock;  /* on `whole` */
};

static void check_stretches(void *context)
{
    struct shared_check *shared = context;
    const uint64_t pages = shared->whole.pass.geometry.pages;
    struct body_check own;
    body_check_start(&own, shared->whole.h, shared->whole.body, shared->whole.guard);
    for (uint64_t page; (page = atomic_fetch_add(&shared->next, STRETCH)) < pages;) {
        const uint8_t *bytes = own.body + page * CHECKSUM_PAGE;
        const uint64_t some = pages - page < STRETCH ? pages - page : STRETCH;
        map_fetch(bytes,
                  (size_t)(page_offset(&own.pass, page + some) - page_offset(&own.pass, page)));
        body_check_skip(&own, page);
        body_check_pages(&own, bytes, some);
    }
    body_check_skip(&own, pages);
    pthread_mutex_lock(&shared->lock);
    body_check_join(&shared->whole, &own);
    pthread_mutex_unlock(&shared->lock);
}

int body_verify(const struct header *h, const uint8_t *body, struct guard *guard, unsigned threads,
                struct bloomfile_fault *fault)
{
    struct shared_check shared = { .lock = PTHREAD_MUTEX_INITIALIZER };
    body_check_start(&shared.whole, h, body, guard);
    const uint64_t stretches = shared.whole.pass.geometry.pages / STRETCH + 1;
    team_run(threads < stretches ? threads : (unsigned)stretches, check_stretches, &shared);
    return body_check_end(&shared.whole, fault);
}

#ifndef BLOOMFILE_NO_BUILD

/* ---- A sealed image in memory: the computed part of its header, and its page checksums. */

#define DEVIATIONS                                                                                 \
    6 /* standard deviations of a Poisson distribution; a larger excess is not chance */

void image_describe(struct header *h)
{
    h->version = HEADER_VERSION;
    h->compat = h->key_kind != BLOOMFILE_KEYS_UNKNOWN ? HEADER_COMPAT_KEYS : 0;
    h->ro_compat = 0;
    h->incompat = h->series != 0 || h->layers != 0 ? HEADER_INCOMPAT_LAYER : 0;
    if (h->whole_blocks != 0)
        h->incompat |= HEADER_INCOMPAT_SLICE;
    h->body_offset = h->header_size;
    h->body_size = geometry_of(h->layout, h->m, h->header_size).body_size;
}

void image_record(struct record *record, uint32_t body_crc, const struct kernel_tally *tally)
{
    record->sequence = HEADER_SEALED_SEQUENCE;
    record->state = BLOOMFILE_STATE_SEALED;
    record->ones = tally->ones;
    record->overflow = tally->overflow;
    record->body_crc = body_crc;
    record->writers = 0;
    memset(record->boot_id, 0, sizeof record->boot_id);
    memset(record->identity, 0, sizeof record->identity);
}

void image_bind_checksums(uint8_t *table, uint64_t pages, uint32_t body_crc)
{
    for (uint64_t page = 0; page < pages; page++)
        put32(table + 4 * page, get32(table + 4 * page) ^ body_crc);
}

void image_sum(struct header *h, uint8_t *body)
{
    uint8_t *table = body + h->body_size;
    const uint64_t pages = checksum_pages(h->body_size);
    uint8_t copy[CHECKSUM_PAGE]; /* checksum and counts must be of the same bytes */
    struct body_pass pass;
    body_pass_start(&pass, h);
    for (uint64_t page = 0; page < pages; page++) {
        checksum_copy(copy, body + page * CHECKSUM_PAGE, checksum_page_size(h->body_size, page));
        put32(table + 4 * page, body_pass_page(&pass, copy, body + (page + 1) * CHECKSUM_PAGE));
    }
    image_bind_checksums(table, pages, pass.sum.crc);
    image_record(&h->record, pass.sum.crc, &pass.tally);
}

void image_estimate_keys(struct header *h)
{
    uint64_t ones =
        h->record.ones < h->m ? h->record.ones : h->m - 1; /* all bits are set: a lower bound */
    h->record.n = (uint64_t)(sizing_of(h->layout)->estimated_keys(h->m, h->k, ones) + 0.5);
}

/* The most keys that a slice may have by chance. */
static uint64_t most_by_chance(const struct header *h)
{
    const double units = (double)geometry_units_of(h->layout, h->m);
    const double share = (double)h->capacity * units / (double)header_range(h);
    return (uint64_t)(share + DEVIATIONS * (sqrt(share) + 1));
}

uint64_t image_most_keys(const struct header *h)
{
    const double target =
        h->fpr > 0 ? h->fpr : sizing_rate(h->layout, header_range(h), h->k, h->capacity);
    const uint64_t most = sizing_most_keys(h->layout, geometry_units_of(h->layout, h->m), h->k,
                                           2 * target, h->capacity);
    const uint64_t chance = header_is_slice(h) ? most_by_chance(h) : 0;
    return most > chance ? most : chance;
}

int image_encode(struct header *h, uint8_t *bytes)
{
    struct header decoded;
    struct header_faults faults = { 0 };
    header_encode(h, bytes);
    decode_header(bytes, header_whole_size(h), &decoded, &faults);
    return faults.first;
}

#endif
