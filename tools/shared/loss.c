/* SPDX-License-Identifier: MIT
 * Detection of keys that would be lost with a replaced filter. */
#include "shared/loss.h"
#include "shared/cli.h"
#include "shared/layers_look.h"
#include "shared/output.h"
#include "shared/sink.h"
#include "shared/target.h"

#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

bool loss_is_live(const char *path)
{
    const struct layers_one one = layers_look(path, 0);
    return one.error == 0 && one.info.state == BLOOMFILE_LIVE;
}

bool loss_has_keys(const char *path)
{
    return target_has_keys(path) || loss_is_live(path);
}

/* A bit for each counter of two, in 4 bytes, that is not 0. */
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

/* Eight cells of a body, from a multiple of eight on, as bits: whether they are not 0. */
static uint8_t cells(const uint8_t *body, size_t size, bool counts, size_t at)
{
    if (!counts)
        return body[at];
    return counted(body + 4 * at, size - 4 * at < 4 ? size - 4 * at : 4);
}

static bool has_all_cells(const bloomfile *f, bool counts, const bloomfile *part, bool part_counts)
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

/* The same of `f` as it would be folded. */
static bool has_all_folded(const bloomfile *f, uint64_t factor, bool counts, const bloomfile *part)
{
    void *image;
    size_t size;
    bloomfile *folded;
    if (bloomfile_fold_memory(&image, &size, f, factor) != 0)
        return false;
    bool has = bloomfile_open_memory(&folded, image, size, BLOOMFILE_APP_HASH) == 0;
    if (has) {
        has = has_all_cells(folded, counts, part, counts);
        bloomfile_close(folded);
    }
    bloomfile_free(image);
    return has;
}

static bool has_same_body(const bloomfile *a, const bloomfile *b)
{
    size_t size, other_size;
    const void *body = bloomfile_body(a, &size), *other = bloomfile_body(b, &other_size);
    return size == other_size && memcmp(body, other, size) == 0;
}

static bool has_same_positions(const struct bloomfile_info *a, const struct bloomfile_info *b)
{
    return b->bits % a->bits == 0 && a->hashes == b->hashes && a->seed == b->seed &&
           a->hash_id == b->hash_id && a->self_test == b->self_test &&
           a->first_block == b->first_block && a->whole_blocks == b->whole_blocks;
}

/* Whether one filter may be a copy, fold or projection of the other, made before that got more
 * keys. */
static bool is_earlier_one(const bloomfile *old, const bloomfile *f)
{
    struct bloomfile_info a = BLOOMFILE_INFO_INIT, b = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(old, &a);
    bloomfile_get_info(f, &b);
    const struct bloomfile_traits *of_a = bloomfile_traits_of(a.layout),
                                  *of_b = bloomfile_traits_of(b.layout);
    if (!has_same_positions(&a, &b) || (a.layout != b.layout && a.layout != of_b->projection))
        return false;
    if (of_a->solved)
        return has_same_body(old, f);
    if (a.bits == b.bits)
        return has_all_cells(f, of_b->counts, old, of_a->counts);
    return a.layout == b.layout && has_all_folded(f, b.bits / a.bits, of_b->counts, old);
}

static bool is_earlier_layer(const bloomfile *layer, const bloomfile *f)
{
    bool is = false;
    for (size_t i = 0; i < bloomfile_layers(f) && !is; i++)
        is = is_earlier_one(layer, bloomfile_layer(f, i));
    return is;
}

/* `old` is sound. A series that forgets may have forgotten a layer. */
static bool is_earlier(const bloomfile *old, const bloomfile *f)
{
    const size_t layers = bloomfile_layers(old);
    bool is = (layers > 0) == (bloomfile_layers(f) > 0);
    for (size_t i = 0; i < layers && is; i++)
        is = is_earlier_layer(bloomfile_layer(old, i), f);
    return is && (layers > 0 || is_earlier_one(old, f));
}

static bool keeps_keys(const struct loss *l)
{
    bloomfile *old;
    if (l->source == NULL || bloomfile_open(&old, l->dest, BLOOMFILE_APP_HASH) != 0)
        return false;
    const bool keeps = bloomfile_verify(old, 1, NULL) == 0 && is_earlier(old, l->source);
    bloomfile_close(old);
    return keeps;
}

void loss_check(const struct loss *l)
{
    struct stat st;
    if (sink_is_stdout(l->dest) || stat(l->dest, &st) != 0)
        return;
    const bool same = output_is(l->dest, l->path);
    if (!l->discard && !same && loss_is_live(l->dest))
        cli_fail(0, "cannot replace %s: it is live (write to another file)", l->dest);
    if (!l->discard && !same && loss_has_keys(l->dest) && !keeps_keys(l))
        cli_fail(0, "cannot replace %s: it may have keys that %s lacks (write to another file)",
                 l->dest, l->path);
    if (!l->force && l->source == NULL)
        sink_fail(l->dest, EEXIST);
    if (!l->force)
        cli_fail(0, "cannot create %s: %s (add --force: %s has all its keys)", l->dest,
                 bloomfile_strerror(EEXIST), l->path);
}
