/* SPDX-License-Identifier: MIT
 * Detecting keys that would be lost when a filter is replaced. */
#include "filters/lost_keys.h"
#include "cli/cli.h"
#include "filters/destination.h"
#include "filters/messages.h"
#include "filters/opening.h"
#include "filters/same_file.h"
#include "filters/series.h"
#include "filters/target_file.h"

#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <bloomfile_unstable.h>

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

/* The comparison of the old filter with another filter. */
struct match {
    bool covered;  /* the other filter has every set bit of the old one */
    bool same;     /* the bits are the same, or the old filter has no keys */
    double chance; /* chance that a filter of as many other keys would be covered */
};

/* Above this chance, coverage may be an accident: a saturated filter covers every other filter, and
 * a filter of few keys is covered by many. */
static const double accident = 1e-9;

bool lost_keys_is_live(const char *path)
{
    struct bloomfile_info info;
    return series_look(path, &info) == 0 && info.state == BLOOMFILE_STATE_LIVE;
}

bool lost_keys_are_in(const char *path)
{
    return target_has_keys(path) || lost_keys_is_live(path);
}

/* Up to eight 4-bit counters, in up to 4 bytes, as bits: 1 if the counter is not 0. */
static uint8_t counted(const uint8_t *bytes, size_t size)
{
    uint32_t x = 0;
    for (size_t i = 0; i < size; i++)
        x |= (uint32_t)bytes[i] << (8 * i);
    x = (x | x >> 1 | x >> 2 | x >> 3) & 0x11111111;
    x = (x | x >> 3) & 0x03030303;
    x = (x | x >> 6) & 0x000F000F;
    return (uint8_t)(x | x >> 12);
}

/* Eight cells of a body, from cell 8 * at on, as bits: 1 if the cell is not 0. */
static uint8_t cells(const uint8_t *body, size_t size, bool counts, size_t at)
{
    if (!counts)
        return body[at];
    return counted(body + 4 * at, size - 4 * at < 4 ? size - 4 * at : 4);
}

static bool has_all_cells(const bloomfile_filter *f, bool counts, const bloomfile_filter *part,
                          bool part_counts)
{
    size_t size, part_size;
    const uint8_t *body = bloomfile_body(f, &size), *of_part = bloomfile_body(part, &part_size);
    const size_t bytes = part_counts ? (part_size + 3) / 4 : part_size;
    uint8_t lacking = 0;
    for (size_t at = 0; at < bytes && lacking == 0; at++)
        lacking =
            cells(of_part, part_size, part_counts, at) & (uint8_t)~cells(body, size, counts, at);
    return lacking == 0;
}

static bool has_same_body(const bloomfile_filter *a, const bloomfile_filter *b)
{
    size_t size, other_size;
    const void *body = bloomfile_body(a, &size), *other = bloomfile_body(b, &other_size);
    return size == other_size && memcmp(body, other, size) == 0;
}

/* The chance that `f` covers a filter of as many other keys as `part`. It is the larger of two
 * estimates: all keys are false positives, or all set bits coincide. The second is too low where
 * the bits of a key share a block, the first where the bits of many keys coincide. */
static double chance_of(const bloomfile_filter *f, const bloomfile_filter *part)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    struct bloomfile_measurement m = BLOOMFILE_MEASUREMENT_INIT, of_part = m;
    bloomfile_get_info(part, &info);
    if (bloomfile_measure(f, &m) != 0 || bloomfile_measure(part, &of_part) != 0)
        return 1;
    return fmax(pow(m.fpr, (double)info.keys), pow(m.fill, (double)of_part.ones));
}

static struct match match_cells(const bloomfile_filter *f, bool counts,
                                const bloomfile_filter *part, bool part_counts)
{
    struct match m = { .chance = 1 };
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(part, &info);
    m.same = message_is_empty(&info) || has_same_body(f, part);
    m.covered = m.same || has_all_cells(f, counts, part, part_counts);
    if (m.covered)
        m.chance = chance_of(f, part);
    return m;
}

/* Returns the match of `f` after folding it by a factor. */
static struct match match_folded(const bloomfile_filter *f, uint64_t factor, bool counts,
                                 const bloomfile_filter *part)
{
    struct bloomfile_destination to = bloomfile_to_memory();
    bloomfile_filter *folded;
    struct match m = { .chance = 1 };
    if (bloomfile_fold(&to, f, factor, NULL) != 0)
        return m;
    if (opening_from(&folded, bloomfile_from_memory(to.memory, to.size), 0, OPENING_ANY, NULL) ==
        0) {
        m = match_cells(folded, counts, part, counts);
        bloomfile_close(folded);
    }
    bloomfile_free(to.memory);
    return m;
}

static bool has_same_positions(const struct bloomfile_info *a, const struct bloomfile_info *b)
{
    return b->bits % a->bits == 0 && a->hashes == b->hashes && a->seed == b->seed &&
           a->hash_id == b->hash_id && a->self_test == b->self_test &&
           a->first_block == b->first_block && a->whole_blocks == b->whole_blocks;
}

/* Estimates are not compared: they may differ for the same keys. */
static bool has_more_keys(const struct bloomfile_info *old, const struct bloomfile_info *f)
{
    return old->keys > f->keys && old->keys_estimated == 0 && f->keys_estimated == 0;
}

/* Whether `old` may be a copy, fold or projection of `f`, made before `f` got more keys. */
static struct match match_one(const bloomfile_filter *old, const bloomfile_filter *f)
{
    struct bloomfile_info a = BLOOMFILE_INFO_INIT, b = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(old, &a);
    bloomfile_get_info(f, &b);
    const struct bloomfile_traits *of_a = bloomfile_traits_of(a.layout),
                                  *of_b = bloomfile_traits_of(b.layout);
    const bool is_projection = a.layout != b.layout;
    if (!has_same_positions(&a, &b) || (is_projection && a.layout != of_b->projection) ||
        has_more_keys(&a, &b))
        return (struct match){ .chance = 1 };
    if (of_a->solved) {
        const bool same = has_same_body(old, f);
        return (struct match){ .covered = same, .same = same, .chance = 1 };
    }
    if (a.bits != b.bits)
        return is_projection ? (struct match){ .chance = 1 }
                             : match_folded(f, b.bits / a.bits, of_b->counts, old);
    return match_cells(f, of_b->counts, old, of_a->counts);
}

static struct match match_layer(const bloomfile_filter *layer, const bloomfile_filter *f)
{
    struct match best = { .chance = 1 };
    for (size_t i = 0; i < bloomfile_layers(f) && !best.same; i++) {
        const struct match m = match_one(layer, bloomfile_layer(f, i));
        if (m.covered && (!best.covered || m.same || m.chance < best.chance))
            best = m;
    }
    return best;
}

/* Whether `old` is an earlier result made from `f`. The caller has verified `old`. A series that
 * forgets may have dropped a layer. All layers being covered by accident is less likely than one,
 * so the chances are multiplied. */
static bool is_earlier(const bloomfile_filter *old, const bloomfile_filter *f)
{
    const size_t layers = bloomfile_layers(old);
    if ((layers > 0) != (bloomfile_layers(f) > 0))
        return false;
    struct match all = layers > 0 ? (struct match){ .covered = true, .same = true, .chance = 1 }
                                  : match_one(old, f);
    for (size_t i = 0; i < layers && all.covered; i++) {
        const struct match m = match_layer(bloomfile_layer(old, i), f);
        all.covered = m.covered;
        all.same = all.same && m.same;
        all.chance *= m.chance;
    }
    return all.covered && (all.same || all.chance <= accident);
}

static bool keeps_keys(const struct lost_keys *l)
{
    bloomfile_filter *old;
    if (l->source == NULL || opening_any(&old, l->dest, 0) != 0)
        return false;
    const bool keeps = bloomfile_verify(old, 1, NULL) == 0 && is_earlier(old, l->source);
    bloomfile_close(old);
    return keeps;
}

void lost_keys_check(const struct lost_keys *l)
{
    struct stat st;
    if (destination_is_stdout(l->dest) || stat(l->dest, &st) != 0)
        return;
    const bool same = same_file_is(l->dest, l->path);
    if (!l->discard && !same && lost_keys_is_live(l->dest))
        cli_fail(0, "cannot replace %s: it is live (" LOST_KEYS_REMEDY ")", l->dest);
    if (!l->discard && !same && lost_keys_are_in(l->dest) && !keeps_keys(l))
        cli_fail(0, "cannot replace %s: it may have keys that %s lacks (" LOST_KEYS_REMEDY ")",
                 l->dest, l->path);
    if (!l->force && l->source == NULL)
        destination_fail(l->dest, EEXIST);
    if (!l->force)
        cli_fail(0, "cannot create %s: %s (add --force: %s has all its keys)", l->dest,
                 bloomfile_strerror(EEXIST), l->path);
}
