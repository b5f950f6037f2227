/* SPDX-License-Identifier: MIT
 * The hash of a key as a function, and the self-test that detects a machine that hashes
 * differently. */
#include "format/hash.h"

#include <bloomfile.h>

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
