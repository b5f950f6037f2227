/* SPDX-License-Identifier: MIT
 *
 * Making a patch, in two passes. The first pass counts the changes of each page. The division into
 * parts depends only on these counts, so the patch does not depend on the number of threads. In the
 * second pass each thread encodes a part, and writes it once the previous parts are written. Each
 * page is checked once, in the copy from which the patch is made: pages without changes in the
 * first pass, the other pages in the second.
 */
#include "delta/patch.h"

#include <bloomfile_delta.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "delta/encode.h"
#include "format/patch.h"
#include "image/body.h"
#include "live/file_change.h"
#include "os/file.h"
#include "os/thread.h"

#define STRETCH 64u /* pages that a thread compares at a time */

enum {
    BASE = ENCODE_OLD,
    RESULT = ENCODE_NEW,
    BOTH = ENCODE_BOTH,
};

struct make_work {
    const bloomfile_filter *filters[BOTH];
    struct encode_source source;
    enum cells_kind kind;
    uint64_t pages;
    uint16_t *changes; /* for each page: the number of cells that differ */
    pthread_mutex_t lock;
    pthread_cond_t written;
    int error;
    struct body_check checks[BOTH];

    /* First pass: */
    uint64_t compared; /* pages taken */

    /* Second pass: */
    int fd;
    uint64_t at; /* bytes in the file before this patch */
    uint32_t features;
    uint64_t page, skip;  /* where the next part is searched; unchanged pages since the last */
    uint64_t parts, next; /* parts taken; parts written */
    uint64_t size;        /* bytes of the file so far */
};

static void fail(struct make_work *w, int error)
{
    pthread_mutex_lock(&w->lock);
    if (w->error == 0)
        w->error = error;
    pthread_cond_broadcast(&w->written);
    pthread_mutex_unlock(&w->lock);
}

/* ---- the first pass */

static void start_checks(const struct make_work *w, struct body_check *checks)
{
    for (int i = 0; i < BOTH; i++) {
        const bloomfile_filter *f = w->filters[i];
        body_check_start(&checks[i], &f->header, f->view.body, f->guard);
    }
}

static void join_checks(struct make_work *w, struct body_check *checks)
{
    pthread_mutex_lock(&w->lock);
    for (int i = 0; i < BOTH; i++) {
        body_check_skip(&checks[i], w->pages);
        body_check_join(&w->checks[i], &checks[i]);
    }
    pthread_mutex_unlock(&w->lock);
}

static bool take_stretch(struct make_work *w, uint64_t *page, uint64_t *count)
{
    pthread_mutex_lock(&w->lock);
    *page = w->compared;
    *count = w->pages - *page < STRETCH ? w->pages - *page : STRETCH;
    w->compared += *count;
    w->error = w->error != 0 ? w->error : cancel_wanted();
    const bool taken = w->error == 0 && *count > 0;
    pthread_mutex_unlock(&w->lock);
    return taken;
}

static void compare_page(struct make_work *w, const struct changes *changes,
                         struct body_check *checks, uint64_t page)
{
    _Alignas(CELLS_UNIT_SIZE) uint8_t copies[BOTH][CHECKSUM_PAGE];
    const size_t size = checksum_page_size(w->source.body_size, page);
    for (int i = 0; i < BOTH; i++)
        checksum_copy(copies[i], checks[i].body + page * CHECKSUM_PAGE, size);
    w->changes[page] = (uint16_t)changes->compare(w->kind, copies[BASE], copies[RESULT], size);
    for (int i = 0; i < BOTH && w->changes[page] == 0; i++) {
        body_check_skip(&checks[i], page);
        body_check_pages(&checks[i], copies[i], 1);
    }
}

static void compare_pages(void *context)
{
    struct make_work *w = context;
    const struct changes *changes = changes_best();
    struct body_check own[BOTH];
    uint64_t page, count;
    start_checks(w, own);
    while (take_stretch(w, &page, &count))
        for (const uint64_t end = page + count; page < end; page++)
            compare_page(w, changes, own, page);
    join_checks(w, own);
}

static bool found_damage(const struct make_work *w)
{
    return w->checks[BASE].first_bad != UINT64_MAX || w->checks[RESULT].first_bad != UINT64_MAX;
}

/* ---- the second pass */

/* Returns the end of the part that begins with `page`. */
static uint64_t end_of_part(const struct make_work *w, uint64_t page)
{
    uint64_t changes = 0, last = page;
    for (const uint64_t begin = page; page < w->pages; page++) {
        changes += w->changes[page];
        last = w->changes[page] > 0 ? page : last;
        if (changes >= ENCODE_MANY || (changes >= ENCODE_SOME && page + 1 - begin >= ENCODE_PAGES))
            return page + 1;
    }
    return last + 1;
}

struct assignment {
    uint64_t number, page, skip, span;
};

static bool take_part_of_pages(struct make_work *w, struct assignment *a)
{
    pthread_mutex_lock(&w->lock);
    const uint64_t from = w->page;
    w->error = w->error != 0 ? w->error : cancel_wanted();
    while (w->page < w->pages && w->changes[w->page] == 0)
        w->page++;
    *a = (struct assignment){ .number = w->parts, .page = w->page, .skip = w->page - from };
    const bool taken = w->error == 0 && w->page < w->pages;
    if (taken) {
        a->span = end_of_part(w, w->page) - w->page;
        w->page += a->span;
        w->parts++;
    } else {
        w->skip += a->skip;
    }
    pthread_mutex_unlock(&w->lock);
    return taken;
}

/* Writes a part once all parts before it are written. */
static int write_part(struct make_work *w, const struct assignment *a, const uint8_t *part,
                      size_t size)
{
    pthread_mutex_lock(&w->lock);
    while (w->error == 0 && w->next != a->number)
        pthread_cond_wait(&w->written, &w->lock);
    const uint64_t at = w->size;
    int error = w->error;
    pthread_mutex_unlock(&w->lock);
    if (error == 0)
        error = file_write(w->fd, at, part, size);
    if (error != 0)
        return error;
    pthread_mutex_lock(&w->lock);
    w->size += size;
    w->next++;
    pthread_cond_broadcast(&w->written);
    pthread_mutex_unlock(&w->lock);
    return 0;
}

static void encode(void *context)
{
    struct make_work *w = context;
    struct encoder e;
    struct assignment a;
    struct body_check start[BOTH];
    start_checks(w, start);
    int error = encoder_start(&e, w->kind, start);
    while (error == 0 && take_part_of_pages(w, &a)) {
        size_t size;
        const uint8_t *part = encode_part(&e, &w->source, a.page, a.skip, a.span, &size);
        error = part == NULL ? BLOOMFILE_ECHANGED : write_part(w, &a, part, size);
    }
    join_checks(w, e.checks);
    encoder_release(&e);
    if (error != 0)
        fail(w, error);
}

static int write_head(struct make_work *w)
{
    const bloomfile_filter *base = w->filters[BASE], *result = w->filters[RESULT];
    const uint32_t size = base->header.header_size;
    uint8_t headers[BOTH][HEADER_MAX], bytes[PATCH_HEAD_MOST];
    struct patch_head head;
    memcpy(headers[BASE], base->map.bytes, size);
    memcpy(headers[RESULT], result->map.bytes, size);
    if (!header_is_still(&base->header, headers[BASE]) ||
        !header_is_still(&result->header, headers[RESULT]))
        return BLOOMFILE_ECHANGED;
    head.base =
        (struct patch_name){ patch_name_header(headers[BASE], size), base->header.record.body_crc };
    head.result = (struct patch_name){ patch_name_header(headers[RESULT], size),
                                       result->header.record.body_crc };
    head.features = w->features;
    head.layout = base->header.layout;
    head.body_size = base->geometry.body_size;
    patch_make_edits(&head, headers[BASE], headers[RESULT], size);
    const size_t head_size = patch_encode_head(&head, bytes);
    w->size = w->at + head_size;
    return file_write(w->fd, w->at, bytes, head_size);
}

/* Writes the number of unchanged pages after the last part. */
static int write_end(struct make_work *w)
{
    uint8_t bytes[PATCH_NUMBER_MOST];
    const size_t size = patch_put_number(bytes, w->skip);
    const uint64_t at = w->size;
    w->size += size;
    return file_write(w->fd, at, bytes, size);
}

static int second_pass(struct make_work *w, unsigned threads)
{
    int error = write_head(w);
    if (error != 0)
        return error;
    team_run(team_size(threads, w->pages / STRETCH), encode, w);
    error = w->error;
    return error == 0 ? write_end(w) : error;
}

/* ---- both */

struct make_target {
    struct destination to;
    struct publication *publication; /* NULL before it begins and after it ends */
    int fd;
    uint64_t size; /* bytes written so far */
};

/* Returns the error of the checks. They are complete only if no page is bad. BLOOMFILE_ECHANGED
 * takes precedence over damage, because any page of a changed file may be wrong. */
static int verdict(struct make_work *w)
{
    int error = 0;
    const bool complete = !found_damage(w);
    for (int i = 0; i < BOTH; i++) {
        const bool bad = w->checks[i].first_bad != UINT64_MAX;
        const int damage = complete || bad ? body_check_end(&w->checks[i], NULL) : 0;
        const int changed = changed_or_damaged(w->filters[i]);
        if (error == 0)
            error = damage == 0 || changed == BLOOMFILE_ECHANGED ? changed : damage;
    }
    return error;
}

static int write_parts(struct make_work *w, struct make_target *t, unsigned threads)
{
    start_checks(w, w->checks);
    team_run(team_size(threads, w->pages / STRETCH), compare_pages, w);
    int error = w->error == 0 && found_damage(w) ? verdict(w) : w->error;
    if (error == 0 && t->publication == NULL)
        error = new_image_publication(&t->publication, &t->to, 0, false, &t->fd);
    if (error != 0)
        return error;
    w->fd = t->fd;
    w->at = t->size;
    error = second_pass(w, threads);
    t->size = w->size;
    return error == 0 || found_damage(w) ? verdict(w) : error;
}

static int make_one(struct make_target *t, const bloomfile_filter *base,
                    const bloomfile_filter *result, uint32_t features, unsigned threads)
{
    struct make_work w = { .filters = { base, result },
                           .kind = part_kind(base->header.layout),
                           .pages = base->geometry.pages,
                           .features = features,
                           .lock = PTHREAD_MUTEX_INITIALIZER,
                           .written = PTHREAD_COND_INITIALIZER,
                           .source = { .body_size = base->geometry.body_size } };
    if (w.pages > SIZE_MAX / sizeof *w.changes)
        return BLOOMFILE_ETOOBIG;
    w.changes = malloc((size_t)w.pages * sizeof *w.changes);
    if (w.changes == NULL)
        return ENOMEM;
    w.source.changes = w.changes;
    map_expect(&base->map, MAP_SCAN);
    map_expect(&result->map, MAP_SCAN);
    int error = write_parts(&w, t, threads);
    map_expect(&base->map, MAP_LOOKUPS);
    map_expect(&result->map, MAP_LOOKUPS);
    free(w.changes);
    return error;
}

int make_patch(struct destination to, bloomfile_filter *const *base,
               bloomfile_filter *const *result, size_t count, bool series, unsigned threads)
{
    struct make_target t = { .to = to };
    int error = 0;
    for (size_t i = 0; i < count && error == 0; i++) {
        const uint32_t followed = i + 1 < count ? PATCH_FOLLOWED : 0;
        error = make_one(&t, base[i], result[i], series ? PATCH_OF_LAYER | followed : 0, threads);
    }
    if (error == 0)
        return publish_finish(t.publication);
    publish_abandon(t.publication);
    return error;
}
