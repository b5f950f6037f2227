/* SPDX-License-Identifier: MIT
 * Comparison of hits with a list in a file. */
#include "bfquery/confirm.h"
#include "cli/cli.h"
#include "filters/params.h"
#include "keys/keys.h"

#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <bloomfile_unstable.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    LEAST_KEYS = 1 << 16, /* makes small estimates almost exact */
    BITS_PER_KEY = 10
};

void confirm_begin(struct confirm *c)
{
    struct stat st;
    if (c->path == NULL)
        return;
    if (stat(c->path, &st) != 0)
        cli_fail(errno, "cannot read %s", c->path);
    if (!S_ISREG(st.st_mode))
        cli_fail(0, "cannot use %s: --confirm may read it several times (write it to a file)",
                 c->path);
    for (size_t i = 0; i < c->filters->count; i++) {
        if (c->filters->list[i].folds)
            cli_fail(
                0, "cannot use --confirm: %s ignores the case of letters, and other filters do not",
                c->filters->list[i].path);
    }
    c->keys = key_list_new();
    c->known = calloc(c->filters->count, sizeof(*c->known));
    if (c->known == NULL)
        cli_fail(ENOMEM, "cannot start");
}

static void *room_for(void *memory, size_t *room, size_t wanted, size_t size)
{
    if (wanted <= *room)
        return memory;
    *room = 2 * wanted;
    void *more = reallocarray(memory, *room, size);
    if (more == NULL)
        cli_fail(0, "cannot hold more matching keys: %s (lower --memory)",
                 bloomfile_strerror(ENOMEM));
    return more;
}

void confirm_hold(struct confirm *c, struct batch *b)
{
    struct print_place at = print_start(b);
    for (size_t i = 0; i < b->count; i++) {
        if (!b->chosen[i])
            continue;
        b->text_size = 0;
        print_line(c->print, b, i, &at);
        c->text = room_for(c->text, &c->text_room, c->text_size + b->text_size, 1);
        memcpy(c->text + c->text_size, b->text, b->text_size);
        c->text_size += b->text_size;
        c->hits = room_for(c->hits, &c->room, c->count + 1, sizeof(*c->hits));
        c->hits[c->count++] =
            (struct confirm_hit){ .key = key_list_add(c->keys, &b->keys[i]), .text = b->text_size };
    }
}

/* Counts each buffer as twice its contents, because a growing buffer may have that size. */
bool confirm_is_full(const struct confirm *c)
{
    const uint64_t used =
        key_list_bytes(c->keys) + c->text_size + c->count * sizeof(struct confirm_hit);
    return used > c->memory / 2;
}

static bloomfile_filter *counter(const struct confirm *c, uint64_t keys)
{
    bloomfile_filter *f;
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    keys = keys > LEAST_KEYS ? keys : LEAST_KEYS;
    params.layout = BLOOMFILE_LAYOUT_CLASSIC;
    params.bits =
        keys < BLOOMFILE_MAX_BITS / BITS_PER_KEY ? keys * BITS_PER_KEY : BLOOMFILE_MAX_BITS;
    params.hashes = 1; /* more would not improve the estimate */
    params.seed = params_random();
    const int error = bloomfile_create_memory(
        &f, &params, BLOOMFILE_OPEN_SOLE_ADDER | BLOOMFILE_OPEN_OVER_CAPACITY);
    if (error != 0)
        cli_fail(error, "cannot count the keys of %s", c->path);
    return f;
}

static void begin_count(const struct confirm *c)
{
    for (size_t i = 0; i < c->filters->count && !c->filters->all; i++) {
        struct bloomfile_info info = BLOOMFILE_INFO_INIT;
        bloomfile_get_info(c->filters->list[i].f, &info);
        c->known[i] = (struct confirm_known){ .seed = params_random(),
                                              .matches = counter(c, info.keys),
                                              .by_chance = counter(c, info.keys) };
    }
}

static size_t count(const struct confirm *c, bloomfile_filter *counter,
                    const struct bloomfile_key *keys, size_t n, const bool *chosen)
{
    struct bloomfile_key some[KEYS_BATCH];
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        if (chosen[i])
            some[found++] = keys[i];
    }
    const int error = bloomfile_add_many(counter, some, found, NULL, NULL, NULL);
    if (error != 0)
        cli_fail(error, "cannot count the keys of %s", c->path);
    return found;
}

/* Sets hits[i] if the filter may contain the key. Otherwise sets chances[i] if an unrelated digest
 * matches: about as many match as there are false positives. A slice answers "maybe" for keys of
 * other slices, which do not count. */
static void look_up(const bloomfile_filter *f, uint64_t other_seed,
                    const struct bloomfile_key *keys, size_t n, bool *hits, bool *chances)
{
    bloomfile_digest own[KEYS_BATCH], other[KEYS_BATCH], first, last;
    bloomfile_slice_range(f, &first, &last);
    const uint64_t width = last - first + 1; /* 0: 2^64 */
    for (size_t i = 0; i < n; i++) {
        own[i] = bloomfile_hash(bloomfile_seed(f), keys[i].data, keys[i].size);
        other[i] = bloomfile_hash(other_seed, keys[i].data, keys[i].size);
        other[i] = width != 0 ? first + other[i] % width : other[i];
    }
    bloomfile_contains_digests(f, own, n, hits);
    bloomfile_contains_digests(f, other, n, chances);
    for (size_t i = 0; i < n; i++) {
        const bool counts = own[i] >= first && own[i] <= last;
        hits[i] = hits[i] && counts;
        chances[i] = chances[i] && counts && !hits[i];
    }
}

static void count_known(const struct confirm *c, const struct bloomfile_key *keys, size_t n)
{
    bool hits[KEYS_BATCH], chances[KEYS_BATCH];
    for (size_t i = 0; i < c->filters->count && !c->filters->all; i++) {
        struct confirm_known *known = &c->known[i];
        look_up(c->filters->list[i].f, known->seed, keys, n, hits, chances);
        known->lines += count(c, known->matches, keys, n, hits);
        count(c, known->by_chance, keys, n, chances);
    }
}

/* The least number of the filter's keys that the right list has. An estimate may be too high, and
 * so may be the count of a live filter, or of a counting filter. */
static uint64_t least_keys(const struct bloomfile_info *info)
{
    const uint64_t doubt = info->keys / 4 + 16;
    if (info->keys_estimated == 0 && info->state == BLOOMFILE_STATE_SEALED &&
        info->layout != BLOOMFILE_LAYOUT_COUNTING)
        return info->keys;
    return info->keys > doubt ? info->keys - doubt : 0;
}

/* Nearly all bits of a counter are set, and its estimate is not exact. */
static bool is_saturated(const bloomfile_filter *counter, const struct bloomfile_measurement *m)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(counter, &info);
    return m->ones > info.bits - info.bits / 1024;
}

/* Returns the estimated number of the filter's keys in the list, or UINT64_MAX if that may be
 * `least` or more. The standard deviation of the number of matches is at most a quarter of its
 * square root. That of the number of false positives is less than twice its square root, except for
 * numbers far above `least`. */
static uint64_t too_few(const bloomfile_filter *f, const struct confirm_known *known,
                        uint64_t least)
{
    struct bloomfile_measurement filter = BLOOMFILE_MEASUREMENT_INIT, matches = filter,
                                 chance = filter;
    if (bloomfile_measure(f, &filter) != 0 || bloomfile_measure(known->matches, &matches) != 0 ||
        bloomfile_measure(known->by_chance, &chance) != 0 ||
        is_saturated(known->matches, &matches) || is_saturated(known->by_chance, &chance))
        return UINT64_MAX;
    /* the share of absent keys that do not match: */
    const double seen = fmax(1 - filter.fpr, 1e-9);
    const double by_chance = chance.keys_estimate / seen;
    const double keys = (double)least, slack = fmin(keys / 16 + 1, 2 * sqrt(keys)) +
                                               6 * sqrt(by_chance / seen) + by_chance / 32;
    const double found = matches.keys_estimate - by_chance;
    return found < keys - slack ? (uint64_t)llround(fmax(found, 0)) : UINT64_MAX;
}

/* If the filter has more keys than were found in the list, it was made from another list. A key
 * missing from the list would look like a false positive. */
static void check_filter(struct confirm *c, const struct filters_one *one,
                         const struct confirm_known *known)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(one->f, &info);
    const uint64_t least = least_keys(&info);
    const uint64_t few = too_few(one->f, known, least);
    if (known->lines >= least && few == UINT64_MAX)
        return;
    c->list_is_short = true;
    cli_note(0,
             "%s has %s%" PRIu64 " of the %s%" PRIu64
             " keys of %s: matching keys that it lacks were left out (use the list that the"
             " filter was made from)",
             c->path, few == UINT64_MAX ? "" : "about ", few == UINT64_MAX ? known->lines : few,
             info.keys_estimated != 0 ? "about " : "", info.keys, one->path);
}

static void check_list(struct confirm *c)
{
    for (size_t i = 0; i < c->filters->count && !c->filters->all; i++) {
        if (!c->list_is_short)
            check_filter(c, &c->filters->list[i], &c->known[i]);
        bloomfile_close(c->known[i].matches);
        bloomfile_close(c->known[i].by_chance);
    }
}

void confirm_compare(struct confirm *c)
{
    const struct keys_options form = keys_options_of_list(c->form);
    struct bloomfile_key keys[KEYS_BATCH];
    if (c->count == 0)
        return;
    struct keys *list = keys_new(&form, &c->path, 1);
    struct cli_progress progress = { .doing = c->path,
                                     .total = keys_total(list),
                                     .shown_ns = c->silent ? -1 : 0 };
    begin_count(c);
    for (size_t n; (n = keys_next(list, keys, KEYS_BATCH)) > 0;) {
        count_known(c, keys, n);
        for (size_t i = 0; i < n; i++)
            key_list_mark(c->keys, &keys[i]);
        progress.keys += n;
        progress.bytes = keys_bytes(list);
        cli_progress_step(&progress);
    }
    cli_progress_end(&progress);
    check_list(c);
    keys_free(list);
}

uint64_t confirm_take(struct confirm *c, uint64_t most, bool silently)
{
    uint64_t taken = 0;
    const uint8_t *text = c->text;
    for (size_t i = 0; i < c->count && taken < most; i++) {
        const bool confirmed = key_list_is_marked(c->keys, c->hits[i].key);
        if (confirmed && !silently)
            cli_write(text, c->hits[i].text);
        taken += confirmed;
        text += c->hits[i].text;
    }
    if (cli_flush_stdout() != 0)
        cli_close_stdout(); /* reports the error */
    key_list_clear(c->keys);
    c->count = c->text_size = 0;
    return taken;
}

void confirm_end(struct confirm *c)
{
    key_list_free(c->keys);
    free(c->known);
    free(c->hits);
    free(c->text);
}
