/* SPDX-License-Identifier: MIT
 * A piece of the input, with parallel arrays for its keys and their results. */
#include "keys/batch.h"
#include "cli/cli.h"
#include "format/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    FIRST_KEYS = 4096
};

static void make_room(struct batch *b, bool has_lines)
{
    size_t room = b->room > 0 ? 2 * b->room : FIRST_KEYS;
    struct bloomfile_key *keys = reallocarray(b->keys, room, sizeof(*keys));
    if (keys != NULL)
        b->keys = keys;
    bloomfile_digest *digests = reallocarray(b->digests, room, sizeof(*digests));
    if (digests != NULL)
        b->digests = digests;
    bool *chosen = reallocarray(b->chosen, room, sizeof(*chosen));
    if (chosen != NULL)
        b->chosen = chosen;
    struct bloomfile_key *lines = NULL;
    if (has_lines && (lines = reallocarray(b->lines, room, sizeof(*lines))) != NULL)
        b->lines = lines;
    if (keys == NULL || digests == NULL || chosen == NULL || (has_lines && lines == NULL))
        cli_fail(ENOMEM, "cannot hold %zu keys", room);
    b->room = room;
}

static size_t split_more(struct batch *b, bool has_lines)
{
    const size_t done = b->count, most = b->room - done;
    return has_lines ? split_next_lines(&b->split, b->keys + done, b->lines + done, most)
                     : split_next(&b->split, b->keys + done, most);
}

void batch_hash(const struct batch *b, uint64_t seed, bloomfile_digest *digests)
{
    /* If the seed is a constant 0, the compiler folds it into the constants of the inlined hash. */
    for (size_t i = 0; seed == 0 && i < b->count; i++)
        digests[i] = hash_key(0, b->keys[i].data, b->keys[i].size);
    for (size_t i = 0; seed != 0 && i < b->count; i++)
        digests[i] = hash_key(seed, b->keys[i].data, b->keys[i].size);
}

void batch_split(struct batch *b, struct keys *input, uint64_t seed)
{
    b->split = keys_split(input, &b->piece);
    const bool has_lines = split_makes_keys(&b->split);
    b->count = 0;
    while (b->split.at < b->split.end && !split_is_broken(&b->split)) {
        if (b->count == b->room)
            make_room(b, has_lines);
        b->count += split_more(b, has_lines);
    }
    keys_end_split(input, &b->split);
    batch_hash(b, seed, b->digests);
}

/* Where line i begins; for i == count, the end of the piece. */
static const uint8_t *start_of(const struct batch *b, size_t i)
{
    if (i == b->count)
        return b->piece.bytes + b->piece.size;
    return b->lines != NULL ? b->lines[i].data : b->keys[i].data;
}

static const uint8_t *end_of(const struct batch *b, size_t i)
{
    if (b->lines == NULL)
        return start_of(b, i + 1);
    return (const uint8_t *)b->lines[i].data + b->lines[i].size;
}

struct bloomfile_key batch_line(const struct batch *b, size_t i)
{
    const uint8_t *start = start_of(b, i);
    return (struct bloomfile_key){ start, (size_t)(end_of(b, i) - start) };
}

void batch_scratch(struct batch *b, size_t size)
{
    if (size <= b->scratch_size)
        return;
    free(b->scratch);
    b->scratch = malloc(size);
    if (b->scratch == NULL)
        cli_fail(ENOMEM, "cannot hold the answers for %zu keys", b->count);
    b->scratch_size = size;
}

void batch_put(struct batch *b, const void *bytes, size_t size)
{
    if (b->text_room - b->text_size < size) {
        const size_t room = 2 * (b->text_size + size);
        uint8_t *text = realloc(b->text, room);
        if (text == NULL)
            cli_fail(ENOMEM, "cannot hold %zu bytes of output", room);
        b->text = text;
        b->text_room = room;
    }
    if (size > 0)
        memcpy(b->text + b->text_size, bytes, size);
    b->text_size += size;
}

/* Whether line i directly follows line i - 1. Skipped lines may be between them. */
static bool goes_on(const struct batch *b, size_t i)
{
    return b->lines == NULL || end_of(b, i - 1) == start_of(b, i);
}

enum {
    STEP = 32
};

/* memmove() for a line that moves to a lower address or to another buffer. Most lines take two
 * steps. The last step may copy some bytes again. */
static void move_down(uint8_t *to, const uint8_t *from, size_t size)
{
    if (size < STEP || (uintptr_t)from - (uintptr_t)to < STEP || size > 8 * STEP) {
        memmove(to, from, size);
        return;
    }
    const uint8_t *last = from + size - STEP;
    uint8_t *last_to = to + size - STEP;
    for (; from < last; from += STEP, to += STEP)
        memcpy(to, from, STEP);
    memcpy(last_to, last, STEP);
}

/* Moves the lines whose `chosen` has this value to `front`. Returns their size. */
static size_t move_lines(const struct batch *b, size_t first, size_t last, bool chosen,
                         uint8_t *front)
{
    uint8_t *to = front;
    for (size_t i = first, next; i < last; i = next) {
        for (next = i + 1; next < last && b->chosen[next] == b->chosen[i] && goes_on(b, next);)
            next++;
        if (b->chosen[i] != chosen)
            continue;
        const uint8_t *from = start_of(b, i);
        size_t size = (size_t)(end_of(b, next - 1) - from);
        if (to != from)
            move_down(to, from, size);
        to += size;
    }
    return (size_t)(to - front);
}

void batch_gather(struct batch *b, size_t first, size_t last)
{
    b->gathered = move_lines(b, first, last, true, b->piece.bytes + b->piece.header);
}

size_t batch_copy_others(const struct batch *b, size_t first, size_t last, uint8_t *to)
{
    return move_lines(b, first, last, false, to);
}

bool batch_write(const struct batch *b)
{
    return await_write(STDOUT_FILENO, b->piece.bytes + b->piece.header, b->gathered);
}

bool batch_write_header(const struct batch *b, int fd)
{
    return !b->piece.is_first_header || await_write(fd, b->piece.bytes, b->piece.header);
}

void batch_free(struct batch *b)
{
    keys_piece_free(&b->piece);
    free(b->keys);
    free(b->lines);
    free(b->digests);
    free(b->chosen);
    free(b->scratch);
    free(b->text);
}
