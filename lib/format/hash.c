/* SPDX-License-Identifier: MIT
 * The hash function of keys, out of line; and the self test that detects a machine that hashes
 * differently. */
#include "format/hash.h"

#include <bloomfile.h>

#include "format/invalid.h"
#include "format/versioned_struct.h"

uint64_t hash_self_test(uint64_t seed)
{
    static const uint16_t lengths[] = {
        0,  1,  2,  3,   4,   8,   9,   16,  17,   32,   33,   64,
        65, 96, 97, 128, 129, 144, 240, 241, 1024, 1025, 1088, 1100
    };
    uint8_t string[1100];
    for (unsigned i = 0; i < sizeof string; i++)
        string[i] = (uint8_t)(128 + 157 * i);

    uint64_t sum = 0;
    for (unsigned i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        sum ^= hash_key(seed, string, lengths[i]);
    return sum;
}

bloomfile_digest bloomfile_hash(uint64_t seed, const void *key, size_t size)
{
    return hash_key(seed, key, size);
}

/* ---- spans */

#define SPANS_LEAST VERSIONED_LEAST(struct bloomfile_spans, length)

static uint64_t start_of(const struct bloomfile_spans *s, size_t i)
{
    return s->starts != NULL ? s->starts[i] : i * s->step;
}

static uint64_t end_of(const struct bloomfile_spans *s, size_t i)
{
    return s->ends != NULL ? s->ends[i] : start_of(s, i) + s->length;
}

/* The arrays are read again after this check, so the caller must not change them during the
 * call. */
static int check_spans(const struct bloomfile_spans *s)
{
    uint64_t last;
    if (s->starts != NULL ? s->step != 0 : __builtin_mul_overflow(s->count, s->step, &last))
        return invalid(BLOOMFILE_EVALUE, "step");
    if (s->ends != NULL ? s->length != 0 : s->length > s->size)
        return invalid(BLOOMFILE_EVALUE, "length");
    for (size_t i = 0; i < s->count; i++) {
        const uint64_t start = start_of(s, i);
        const uint64_t most = s->ends != NULL ? s->size : s->size - s->length;
        if (start > most)
            return invalid(BLOOMFILE_EVALUE, s->starts != NULL ? "starts" : "step");
        if (end_of(s, i) < start || end_of(s, i) > s->size)
            return invalid(BLOOMFILE_EVALUE, "ends");
    }
    return 0;
}

int hash_spans(uint64_t seed, const struct bloomfile_spans *given, uint64_t *digests)
{
    struct bloomfile_spans s;
    if (!versioned_take(&s, sizeof s, given, given->struct_size, SPANS_LEAST))
        return invalid(BLOOMFILE_ESTRUCTSIZE, "struct_size");
    const int error = check_spans(&s);
    for (size_t i = 0; error == 0 && i < s.count; i++) {
        const uint64_t start = start_of(&s, i);
        digests[i] = hash_key(seed, (const void *)((uintptr_t)s.base + (uintptr_t)start),
                              (size_t)(end_of(&s, i) - start));
    }
    return error;
}
