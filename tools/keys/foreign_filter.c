/* SPDX-License-Identifier: MIT
 * Bloom filters of other projects, recognized by magic numbers and headers from which the size of
 * the file follows. */
#include "keys/foreign_filter.h"

#include <stdbool.h>
#include <string.h>

#define LIBBLOOM_MAGIC "libbloom2"

enum {
    MOST_HASHES = 255,
    HEADER_MOST = 40
};

static uint64_t big_endian(const uint8_t *bytes, size_t size)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++)
        value = value << 8 | bytes[i];
    return value;
}

static uint64_t little_endian(const uint8_t *bytes)
{
    uint64_t value = 0;
    for (size_t i = 8; i-- > 0;)
        value = value << 8 | bytes[i];
    return value;
}

static bool is_count_of_hashes(uint64_t number)
{
    return number >= 1 && number <= MOST_HASHES;
}

/* Whether so many words of 8 bytes, and there are some, fill the file behind its header. */
static bool fills(uint64_t words, size_t header, uint64_t file_size)
{
    return words > 0 && file_size > header && (file_size - header) % 8 == 0 &&
           words == (file_size - header) / 8;
}

/* A strategy, the number of hashes, the number of words. */
static bool is_of_guava(const uint8_t *b, uint64_t size)
{
    return b[0] <= 1 && is_count_of_hashes(b[1]) && fills(big_endian(b + 2, 4), 6, size);
}

/* Version 1, hashes, words; or version 2, hashes, a seed, words. */
static bool is_of_spark(const uint8_t *b, uint64_t size)
{
    const uint64_t version = big_endian(b, 4);
    const size_t words = version == 1 ? 8 : 12;
    return (version == 1 || version == 2) && is_count_of_hashes(big_endian(b + 4, 4)) &&
           fills(big_endian(b + words, 4), words + 4, size);
}

/* m, k, and m again, of the bits. */
static bool is_of_go(const uint8_t *b, uint64_t size)
{
    const uint64_t m = big_endian(b, 8);
    return m > 0 && m < UINT64_MAX - 63 && m == big_endian(b + 16, 8) &&
           is_count_of_hashes(big_endian(b + 8, 8)) && fills((m + 63) / 64, 24, size);
}

/* A rate, slices, bits of a slice, capacity, count; then the bits. */
static bool is_of_pybloom(const uint8_t *b, uint64_t size)
{
    double rate;
    uint64_t bits;
    const uint64_t rate_bits = little_endian(b), slices = little_endian(b + 8);
    memcpy(&rate, &rate_bits, sizeof(rate));
    return rate > 0 && rate < 1 && is_count_of_hashes(slices) &&
           !__builtin_mul_overflow(slices, little_endian(b + 16), &bits) && bits > 0 &&
           size > HEADER_MOST && size - HEADER_MOST == bits / 8 + (bits % 8 != 0);
}

const char *foreign_filter(const uint8_t *bytes, size_t size, uint64_t file_size)
{
    uint8_t start[HEADER_MOST] = { 0 };
    memcpy(start, bytes, size < sizeof(start) ? size : sizeof(start));
    if (size >= sizeof(LIBBLOOM_MAGIC) - 1 &&
        memcmp(start, LIBBLOOM_MAGIC, sizeof(LIBBLOOM_MAGIC) - 1) == 0)
        return "libbloom";
    return is_of_guava(start, file_size)     ? "Guava"
           : is_of_spark(start, file_size)   ? "Apache Spark"
           : is_of_go(start, file_size)      ? "bits-and-blooms (Go)"
           : is_of_pybloom(start, file_size) ? "pybloom"
                                             : NULL;
}
