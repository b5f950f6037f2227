/* SPDX-License-Identifier: MIT
 *
 * The limits of the machine, as contenders that look up nothing: reading and changing random lines
 * of a mapped file as large as a filter, and hashing alone.
 *
 * The loops over lines read the same digests as lookups do, and find the line by the same
 * multiplication. Their results depend on all bytes that they read, so the compiler drops no load.
 */
#include "peers/contender.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "format/probe.h"
#include "harness/bench.h"

#define LINE  ((size_t)64)
#define WORDS (LINE / sizeof(uint64_t))
#define PIECE 65536

struct area {
    uint64_t (*lines)[WORDS];
    uint64_t count;
    unsigned ahead; /* prefetches the line of the digest so many places later */
};

/* The mapping, which all areas of the same size share. */
static struct {
    uint64_t (*lines)[WORDS];
    uint64_t count;
    unsigned users;
} shared;

/* ---- making areas */

/* Writes words that all differ, so that the host cannot share or compress pages. */
static void write_file(int fd, uint64_t bytes)
{
    static uint64_t piece[PIECE / sizeof(uint64_t)];
    uint64_t number = 0;
    for (uint64_t done = 0; done < bytes;) {
        for (size_t i = 0; i < sizeof piece / sizeof piece[0]; i++, number++)
            piece[i] = XXH3_64bits(&number, sizeof number);
        const size_t size = bytes - done < PIECE ? (size_t)(bytes - done) : PIECE;
        if (write(fd, piece, size) != (ssize_t)size)
            bench_fail(errno, "write a file in the working directory");
        done += size;
    }
}

static void *map_file(uint64_t bytes)
{
    const int fd = bench_call(open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600),
                              "make a file in the working directory");
    write_file(fd, bytes);
    void *memory = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        bench_fail(errno, "map a file");
    close(fd);
    return memory;
}

static void share(uint64_t count)
{
    if (shared.users++ > 0)
        return;
    shared.count = count;
    shared.lines = map_file(count * LINE);
    for (uint64_t line = 0; line < count; line++)
        shared.lines[line][0]++; /* maps every page for writing */
}

static struct area *make(uint64_t capacity, double bits_per_key, unsigned ahead)
{
    struct area *a = bench_memory(calloc(1, sizeof *a));
    share((uint64_t)ceil((double)capacity * bits_per_key / 8 / (double)LINE));
    *a = (struct area){ .lines = shared.lines, .count = shared.count, .ahead = ahead };
    return a;
}

static void destroy(void *filter)
{
    struct area *a = filter;
    if (--shared.users == 0)
        munmap(shared.lines, (size_t)shared.count * LINE);
    free(a);
}

static uint64_t bytes(const void *filter)
{
    return ((const struct area *)filter)->count * LINE;
}

static void *create(unsigned ahead, uint64_t capacity, double bits_per_key, enum key_form form)
{
    return form == KEYS_HASHED ? make(capacity, bits_per_key, ahead) : NULL;
}

static void *create_hashing(unsigned ahead, uint64_t capacity, double bits_per_key,
                            enum key_form form)
{
    (void)capacity;
    (void)bits_per_key;
    return form != KEYS_HASHED ? make(1, LINE * 8, ahead) : NULL;
}

/* ---- random lines */

static inline uint64_t *line_of(const struct area *a, uint64_t digest)
{
    return a->lines[probe_reduce(digest, a->count)];
}

static size_t read_words(const void *filter, const struct keyset *keys)
{
    const struct area *a = filter;
    uint64_t sum = 0;
    for (size_t i = 0; i < keys->count; i++)
        sum += *line_of(a, keys->digests[i]);
    return (size_t)sum;
}

/* Reads the lines of a batch, and prefetches only within the batch. Returns a sum of the words. */
static uint64_t read_batch(const struct area *a, const uint64_t *digests, size_t n)
{
    const size_t ahead = a->ahead < n ? a->ahead : n;
    uint64_t sum = 0;
    for (size_t i = 0; i < ahead; i++)
        __builtin_prefetch(line_of(a, digests[i]));
    for (size_t i = 0; i < n - ahead; i++) {
        __builtin_prefetch(line_of(a, digests[i + ahead]));
        sum += *line_of(a, digests[i]);
    }
    for (size_t i = n - ahead; i < n; i++)
        sum += *line_of(a, digests[i]);
    return sum;
}

static size_t read_ahead(const void *filter, const struct keyset *keys)
{
    uint64_t sum = 0;
    for (size_t i = 0, n; i < keys->count; i += n) {
        n = keys->count - i < keys->batch ? keys->count - i : keys->batch;
        sum += read_batch(filter, keys->digests + i, n);
    }
    return (size_t)sum;
}

static inline void change(const struct area *a, uint64_t digest)
{
    line_of(a, digest)[digest % WORDS] |= (uint64_t)1 << (digest / WORDS % 64);
}

static void change_words(void *filter, const struct keyset *keys)
{
    for (size_t i = 0; i < keys->count; i++)
        change(filter, keys->digests[i]);
}

static void change_ahead(void *filter, const struct keyset *keys)
{
    const struct area *a = filter;
    const uint64_t *digests = keys->digests;
    const size_t ahead = a->ahead, end = keys->count > ahead ? keys->count - ahead : 0;
    for (size_t i = 0; i < end; i++) {
        __builtin_prefetch(line_of(a, digests[i + ahead]), 1);
        change(a, digests[i]);
    }
    for (size_t i = end; i < keys->count; i++)
        change(a, digests[i]);
}

/* Changes words of a line by locked instructions: the cost of a key for a writer that shares the
 * filter, if the key's bits are in so many words. */
static inline void lock_words(const struct area *a, const struct keyset *keys, size_t words)
{
    const uint64_t *digests = keys->digests;
    for (size_t i = 0; i < keys->count; i++) {
        if (i + a->ahead < keys->count)
            __builtin_prefetch(line_of(a, digests[i + a->ahead]), 1);
        uint64_t *line = line_of(a, digests[i]);
        for (size_t w = 0; w < words; w++)
            __atomic_fetch_or(&line[(digests[i] + w) % WORDS],
                              (uint64_t)1 << (digests[i] / WORDS % 64), __ATOMIC_RELAXED);
    }
}

static void lock_3(void *filter, const struct keyset *keys)
{
    lock_words(filter, keys, 3);
}

static void lock_4(void *filter, const struct keyset *keys)
{
    lock_words(filter, keys, 4);
}

/* ---- hashing */

static size_t hash(const void *filter, const struct keyset *keys)
{
    (void)filter;
    uint64_t sum = 0;
    for (size_t i = 0; i < keys->count; i++)
        sum += XXH3_64bits_withSeed(keys->keys[i].data, keys->keys[i].size, 0);
    return (size_t)sum;
}

/* ---- the table */

#define LIMIT(name, ahead, create, add_one, add_batch, lookup_one, lookup_batch)                   \
    {                                                                                              \
        name, "", ahead, create, add_one, add_batch, NULL, lookup_one, NULL, lookup_batch, bytes,  \
            destroy                                                                                \
    }
#define AHEAD(distance)                                                                            \
    LIMIT("random lines, " #distance " ahead", distance, create, NULL, change_ahead, NULL,         \
          read_ahead)

const struct contender contenders[] = {
    LIMIT("random lines", 0, create, change_words, change_words, read_words, read_words),
    AHEAD(16),
    AHEAD(32),
    AHEAD(64),
    AHEAD(96),
    AHEAD(128),
    AHEAD(192),
    AHEAD(256),
    LIMIT("random lines, 3 words locked", 96, create, NULL, lock_3, NULL, read_ahead),
    LIMIT("random lines, 4 words locked", 96, create, NULL, lock_4, NULL, read_ahead),
    LIMIT("hashing", 0, create_hashing, NULL, NULL, hash, hash),
};
const size_t contenders_count = sizeof contenders / sizeof contenders[0];
