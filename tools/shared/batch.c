/* SPDX-License-Identifier: MIT
 * One array each for keys and answers. */
#include "shared/batch.h"
#include "shared/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    FIRST_KEYS = 4096
};

static void make_room(struct batch *b)
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
    if (keys == NULL || digests == NULL || chosen == NULL)
        cli_fail(ENOMEM, "cannot hold %zu keys", room);
    b->room = room;
}

void batch_split(struct batch *b, const struct keys *input, uint64_t seed)
{
    struct split split = keys_split(input, &b->piece);
    b->count = 0;
    while (split.at < split.end) {
        if (b->count == b->room)
            make_room(b);
        b->count += split_next(&split, b->keys + b->count, b->room - b->count);
    }
    for (size_t i = 0; i < b->count; i++)
        b->digests[i] = bloomfile_hash(seed, b->keys[i].data, b->keys[i].size);
}

/* Where the key begins; for the last one's end, where the next one would. */
static const uint8_t *start_of(const struct batch *b, size_t i)
{
    return i < b->count ? b->keys[i].data : b->piece.bytes + b->piece.size;
}

void batch_gather(struct batch *b, size_t first, size_t last)
{
    uint8_t *to = b->piece.bytes;
    for (size_t i = first, next; i < last; i = next) {
        for (next = i + 1; next < last && b->chosen[next] == b->chosen[i];)
            next++;
        if (!b->chosen[i])
            continue;
        const uint8_t *from = start_of(b, i);
        size_t size = (size_t)(start_of(b, next) - from);
        if (to != from)
            memmove(to, from, size);
        to += size;
    }
    b->gathered = (size_t)(to - b->piece.bytes);
}

bool batch_write(const struct batch *b)
{
    for (size_t done = 0; done < b->gathered;) {
        ssize_t n = write(STDOUT_FILENO, b->piece.bytes + done, b->gathered - done);
        if (n < 0 && errno != EINTR)
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

void batch_free(struct batch *b)
{
    free(b->piece.bytes);
    free(b->keys);
    free(b->digests);
    free(b->chosen);
}
