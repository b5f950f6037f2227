/* SPDX-License-Identifier: MIT */
#include "identity.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

struct identity_maker {
    XXH3_state_t *state;
};

struct identity_maker *identity_begin(void)
{
    struct identity_maker *maker = malloc(sizeof *maker);
    if (maker == NULL || (maker->state = XXH3_createState()) == NULL)
        err(2, "cannot hash rows");
    XXH3_128bits_reset(maker->state);
    return maker;
}

/* With its size before it, so that bytes cannot move from a key to its value unnoticed. */
static void add_bytes(struct identity_maker *maker, const struct bloomfile_key *bytes)
{
    uint8_t size[8];
    for (unsigned i = 0; i < sizeof size; i++)
        size[i] = (uint8_t)((uint64_t)bytes->size >> 8 * i);
    XXH3_128bits_update(maker->state, size, sizeof size);
    if (bytes->size != 0)
        XXH3_128bits_update(maker->state, bytes->data, bytes->size);
}

void identity_add(struct identity_maker *maker, const struct bloomfile_key *key,
                  const struct bloomfile_key *value)
{
    add_bytes(maker, key);
    add_bytes(maker, value);
}

struct identity identity_end(struct identity_maker *maker)
{
    XXH128_canonical_t bytes;
    XXH128_canonicalFromHash(&bytes, XXH3_128bits_digest(maker->state));
    XXH3_freeState(maker->state);
    free(maker);
    struct identity identity;
    memcpy(identity.bytes, bytes.digest, sizeof identity.bytes);
    return identity;
}

bool identity_equal(const struct identity *a, const struct identity *b)
{
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

void identity_print(const struct identity *identity, char text[IDENTITY_DIGITS + 1])
{
    for (unsigned i = 0; i < sizeof identity->bytes; i++)
        sprintf(text + 2 * i, "%02x", identity->bytes[i]);
}

bool identity_parse(const char *text, struct identity *identity)
{
    if (strspn(text, "0123456789abcdef") < IDENTITY_DIGITS)
        return false;
    for (unsigned i = 0; i < sizeof identity->bytes; i++) {
        const char digits[] = { text[2 * i], text[2 * i + 1], '\0' };
        identity->bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return true;
}
