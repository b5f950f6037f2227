/* SPDX-License-Identifier: MIT
 * The filters to query: a row of results for each, and new digests where seeds or
 * folding differ. */
#include "bfquery/filters.h"
#include "cli/cli.h"
#include "filters/key_kind.h"
#include "filters/messages.h"
#include "filters/opening.h"
#include "filters/series.h"

#include <bloomfile_inspect.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    PARENTS = 512 /* lookups per batch */
};

/* ------------------------------------------------------------------------------------- opening */

static void *grow(void *list, size_t count, size_t size)
{
    void *more = reallocarray(list, count, size);
    if (more == NULL)
        cli_fail(ENOMEM, "cannot hold %zu filter%s", count, cli_s(count));
    return more;
}

void filters_name(struct filters *fs, const char *path)
{
    if ((fs->count & (fs->count - 1)) == 0)
        fs->list = grow(fs->list, 2 * fs->count + 1, sizeof(*fs->list));
    fs->list[fs->count++] = (struct filters_one){ .path = path };
}

static bool same_digests(const struct filters_one *a, const struct filters_one *b)
{
    return a->seed == b->seed && a->folds == b->folds;
}

static const struct filters_one *compared;

/* Orders by seed and folding, then as named on the command line. */
static int by_digests(const void *a, const void *b)
{
    const size_t i = *(const size_t *)a, j = *(const size_t *)b;
    const struct filters_one *x = &compared[i], *y = &compared[j];
    if (x->seed != y->seed)
        return x->seed < y->seed ? -1 : 1;
    if (x->folds != y->folds)
        return x->folds < y->folds ? -1 : 1;
    return i < j ? -1 : i > j;
}

/* If only some filters hold lowercase keys, text is folded for each of these filters. If all do,
 * text is folded when it is read. */
static void choose_folding(struct filters *fs, struct keys_options *keys)
{
    size_t folds = 0;
    for (size_t i = 0; i < fs->count; i++)
        folds += fs->list[i].folds;
    if (folds == fs->count)
        key_kind_fold(fs->list[0].f, keys);
    for (size_t i = 0; i < fs->count && folds == fs->count; i++)
        fs->list[i].folds = false;
}

void filters_open(struct filters *fs, unsigned flags, struct keys_options *keys)
{
    fs->parents = keys->key_form.domains;
    fs->order = grow(NULL, fs->count, sizeof(*fs->order));
    cli_catch_bus_error(fs->count == 1 ? fs->list[0].path : "one of the filters");
    for (size_t i = 0; i < fs->count; i++) {
        struct filters_one *one = &fs->list[i];
        if (stat(one->path, &one->file) != 0 && errno == ENOENT && strstr(one->path, "://") != NULL)
            cli_fail(0, "cannot open %s: " FILTERS_MISSING, one->path);
        one->f = opening_must(one->path, flags, OPENING_KEYS);
        key_kind_check(one->path, one->f, keys, KEY_KIND_LOOK_UP);
        one->seed = bloomfile_seed(one->f);
        one->folds = key_kind_folds(one->f, keys);
    }
    choose_folding(fs, keys);
    for (size_t i = 0; i < fs->count; i++)
        fs->order[i] = i;
    compared = fs->list;
    qsort(fs->order, fs->count, sizeof(*fs->order), by_digests);
}

uint64_t filters_seed(const struct filters *fs)
{
    return fs->list[fs->order[0]].seed;
}

void filters_close(struct filters *fs)
{
    for (size_t i = 0; i < fs->count; i++)
        bloomfile_close(fs->list[i].f);
    free(fs->list);
    free(fs->order);
}

/* -------------------------------------------------------------------------------------- queries */

/* The results of several filters, row by row. They follow the digests in the scratch memory. */
static bool *rows(const struct batch *b)
{
    return (bool *)((bloomfile_digest *)b->scratch + b->count);
}

static void hash_folded(struct batch *b, uint64_t seed, bloomfile_digest *digests)
{
    for (size_t i = 0; i < b->count; i++) {
        b->text_size = 0;
        batch_put(b, b->keys[i].data, b->keys[i].size);
        key_form_fold(b->text, b->text, b->text_size);
        digests[i] = bloomfile_hash(seed, b->text, b->text_size);
    }
}

/* A batch of lookups of parent domains, each with the index of its line's key. */
struct parents {
    bloomfile_digest digests[PARENTS];
    size_t keys[PARENTS], count;
};

static void ask_queued(const struct filters_one *one, struct parents *p, bool *hits)
{
    bool found[PARENTS];
    bloomfile_contains_digests(one->f, p->digests, p->count, found);
    for (size_t i = 0; i < p->count; i++)
        hits[p->keys[i]] |= found[i];
    p->count = 0;
}

static void queue(const struct filters_one *one, struct parents *p, size_t i, const uint8_t *name,
                  size_t size, bool *hits)
{
    p->digests[p->count] = bloomfile_hash(one->seed, name, size);
    p->keys[p->count++] = i;
    if (p->count == PARENTS)
        ask_queued(one, p, hits);
}

/* Looks up "b.example.com", "example.com" and "com" for "a.b.example.com". For a name that ends
 * with a dot, also looks up all names with that dot, which bfcreate -i keeps. Skips parents longer
 * than a domain name can be: a line of dots would take too long. */
static void ask_parents(const struct filters *fs, const struct filters_one *one,
                        const struct batch *b, bool *hits)
{
    struct parents p = { .count = 0 };
    for (size_t i = 0; i < b->count; i++) {
        const uint8_t *at = b->keys[i].data, *end = at + b->keys[i].size;
        const bool has_dot = key_form_had_dot(&b->keys[i]);
        if (!hits[i] && has_dot)
            queue(one, &p, i, at, b->keys[i].size + 1, hits);
        if (end - at > KEY_FORM_DOMAIN + 1)
            at = end - KEY_FORM_DOMAIN - 1;
        while (!hits[i] && (at = memchr(at, '.', (size_t)(end - at))) != NULL) {
            at++;
            const struct bloomfile_key parent = { at, (size_t)(end - at) };
            if (fs->unless != NULL && key_list_has(fs->unless, &parent))
                continue;
            queue(one, &p, i, parent.data, parent.size, hits);
            if (has_dot)
                queue(one, &p, i, parent.data, parent.size + 1, hits);
        }
    }
    ask_queued(one, &p, hits);
}

static void ask(const struct filters *fs, const struct filters_one *one, const struct batch *b,
                const bloomfile_digest *digests, bool *hits)
{
    bloomfile_contains_digests(one->f, digests, b->count, hits);
    if (fs->parents)
        ask_parents(fs, one, b, hits);
}

static void ask_each(const struct filters *fs, struct batch *b)
{
    const bloomfile_digest *digests = b->digests;
    const struct filters_one *last = NULL;
    for (size_t i = 0; i < fs->count; i++) {
        const struct filters_one *one = &fs->list[fs->order[i]];
        const bool is_same = last == NULL ? !one->folds : same_digests(one, last);
        if (!is_same && one->folds)
            hash_folded(b, one->seed, b->scratch);
        else if (!is_same)
            batch_hash(b, one->seed, b->scratch);
        if (!is_same)
            digests = b->scratch;
        last = one;
        ask(fs, one, b, digests, rows(b) + fs->order[i] * b->count);
    }
}

void filters_ask(const struct filters *fs, struct batch *b)
{
    if (fs->count == 1 && !fs->apart) {
        ask(fs, &fs->list[0], b, b->digests, b->chosen);
        return;
    }
    batch_scratch(b, b->count * (sizeof(bloomfile_digest) + fs->count * sizeof(bool)));
    ask_each(fs, b);
    for (size_t i = 0; i < b->count; i++)
        b->chosen[i] = rows(b)[i];
    for (size_t row = 1; row < fs->count; row++) {
        const bool *hits = rows(b) + row * b->count;
        for (size_t i = 0; i < b->count; i++)
            b->chosen[i] = fs->all ? b->chosen[i] & hits[i] : b->chosen[i] | hits[i];
    }
}

bool filters_has(const struct batch *b, size_t filter, size_t key)
{
    return rows(b)[filter * b->count + key];
}

/* -------------------------------------------------------------------------------------- damage */

/* Warns if the filter turned out to be damaged. Returns the error. */
static int tell_damage(const char *path, const bloomfile_filter *f)
{
    int error = bloomfile_recheck(f);
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    char about[SERIES_TEXT];
    if (error == 0)
        return 0;
    bloomfile_get_info(f, &info);
    if (error == BLOOMFILE_ECHANGED)
        cli_note(0,
                 "%s was overwritten or touched during the query; results may be wrong: run it "
                 "again (to replace a filter, rename a new file over it)",
                 path);
    else if (error == BLOOMFILE_EPOISONED)
        cli_note(
            0, "%s: a writer could not sync it; keys looked up since then were treated as present",
            path);
    else if (error == BLOOMFILE_EUNCLEAN)
        cli_note(
            0,
            "%s: a writer was killed during a sync; if the disk failed at that moment, lookups may"
            " have missed keys (add the keys since the last sync again with "
            "bfadd --accept-unclean)",
            path);
    else if (info.bad_pages == 0 && info.layers > 0)
        cli_note(0, "%s: %s: keys looked up since then were treated as present", path,
                 series_explain_later(path, f, error, about) ? about : bloomfile_strerror(error));
    else if (info.bad_pages == 0)
        cli_note(error, "%s is damaged", path);
    else
        cli_note(0, "%s: %" PRIu64 " page%s damaged: keys on %s were treated as present", path,
                 info.bad_pages, cli_s(info.bad_pages), info.bad_pages == 1 ? "it" : "them");
    return error;
}

/* Lost keys make only "no" wrong. If the file was overwritten, any result may be wrong. */
static bool is_distrusted(int error, bool absent)
{
    return error == BLOOMFILE_ECHANGED || error == BLOOMFILE_ERECORD ||
           (absent && (error == BLOOMFILE_EPOISONED || error == BLOOMFILE_EUNCLEAN));
}

bool filters_distrusted(const struct filters *fs, bool absent)
{
    for (size_t i = 0; i < fs->count; i++) {
        if (is_distrusted(bloomfile_recheck(fs->list[i].f), absent))
            return true;
    }
    return false;
}

const char *filters_replaced(const struct filters *fs)
{
    struct stat now;
    for (size_t i = 0; i < fs->count; i++) {
        const struct filters_one *one = &fs->list[i];
        if (stat(one->path, &now) != 0 || now.st_dev != one->file.st_dev ||
            now.st_ino != one->file.st_ino)
            return one->path;
    }
    return NULL;
}

bool filters_tell_damage(const struct filters *fs, bool absent, bool *distrusted)
{
    bool damaged = false;
    *distrusted = false;
    for (size_t i = 0; i < fs->count; i++) {
        int error = tell_damage(fs->list[i].path, fs->list[i].f);
        damaged |= error != 0;
        *distrusted |= is_distrusted(error, absent);
    }
    return damaged;
}
