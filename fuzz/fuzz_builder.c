/* SPDX-License-Identifier: MIT
 *
 * Fuzzes builders. The input chooses the parameters and the digests, spread or crowded into few
 * ranges. The bytes must not depend on the number of threads, the memory limit, the order of keys
 * or repetitions. The filter must verify, and every key must be found. The same holds for the
 * filter joined from slices.
 */
#include <bloomfile.h>
#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <bloomfile_unstable.h>

#include "format/bytes.h"
#include "format/layout.h"
#include "open.h"
#include "target.h"

enum {
    CHOICES = 13,     /* bytes at the beginning of the input */
    MOST = 1 << 17,   /* digests: with little memory, these need a file */
    LITTLE = 1 << 12, /* digests for most inputs */
    LINES_MOST = 700,
    SLICES_MOST = 4
};

struct keys {
    bloomfile_digest *digests;
    size_t n;
};

/* Each 8 bytes of the input are the first of several digests at equal distances. The number of
 * digests depends on the choices. */
static struct keys keys_from(const uint8_t *choices, const uint8_t *data, size_t size)
{
    const size_t starts = size / 8, most = choices[0] == 255 ? MOST : LITTLE;
    const size_t each = 1 + (size_t)choices[1] * choices[1];
    const uint64_t distance = choices[2] < 64 ? 1ULL << choices[2] : 0x9E3779B97F4A7C15u;
    struct keys keys = { .n = starts * each < most ? starts * each : most };
    keys.digests = malloc((keys.n + 1) * sizeof *keys.digests);
    expect(keys.digests != NULL);
    for (size_t i = 0; i < keys.n; i++)
        keys.digests[i] = get64(data + 8 * (i % starts)) + i / starts * distance;
    return keys;
}

static struct bloomfile_params params_from(const uint8_t *choices)
{
    static const double rates[] = { 0, 0.5, 0.1, 0.01, 0.001, 1e-6, 1e-9 };
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.layout = 1 + choices[3] % (LAYOUT_END - 1u);
    params.fpr = rates[choices[4] % (sizeof rates / sizeof *rates)];
    params.over_capacity = 1;
    params.capacity = choices[5];
    if (choices[6] != 0)
        params.bits = 512 * (1 + (uint64_t)get32(choices + 6) % LINES_MOST);
    if (!layout_of(params.layout)->solved && params.fpr == 0)
        params.hashes = choices[10] % 20; /* a low rate with few hashes would take gigabytes */
    return params;
}

static bloomfile_builder *builder(const struct bloomfile_params *params)
{
    bloomfile_builder *b;
    expect(bloomfile_builder_new(&b, params) == 0);
    return b;
}

struct made {
    void *image;
    size_t size;
};

static int finish(struct made *made, bloomfile_builder *b)
{
    struct bloomfile_destination to = bloomfile_to_memory();
    const int error = bloomfile_builder_write(b, &to);
    *made = (struct made){ to.memory, to.size };
    bloomfile_builder_free(b);
    expect(error == 0 || error == BLOOMFILE_EUNREACHABLE);
    return error;
}

/* Adds the keys in reverse order, in groups, and some keys twice. */
static bloomfile_builder *other_builder(struct bloomfile_params params, const struct keys *keys,
                                        unsigned choice)
{
    params.threads = choice % 5;
    params.memory = choice & 8 ? 1 : 0;
    bloomfile_builder *b = builder(&params);
    for (size_t end = keys->n, group; end > 0; end -= group) {
        group = end < choice + 1u ? end : choice + 1u;
        expect(bloomfile_builder_add_digests(b, keys->digests + end - group, group) == 0);
        if (end % 3 == 0)
            expect(bloomfile_builder_add_digests(b, keys->digests, group) == 0);
    }
    return b;
}

static void ask(struct made made, const struct keys *keys)
{
    bloomfile_filter *f;
    expect(open_from(&f, bloomfile_from_memory(made.image, made.size),
                     BLOOMFILE_OPEN_VERIFY_FULL) == 0);
    expect(bloomfile_contains_digests(f, keys->digests, keys->n, NULL) == keys->n);
    for (size_t i = 0; i < keys->n; i++)
        expect(bloomfile_contains_digest(f, keys->digests[i]));
    bloomfile_close(f);
}

/* Builds a slice, which has no embedded form. */
static bloomfile_filter *slice_of_keys(struct bloomfile_params params, const struct keys *keys,
                                       unsigned choice)
{
    const int fd = memfd_create("fuzz", 0);
    expect(fd >= 0);
    bloomfile_builder *b = other_builder(params, keys, choice);
    struct bloomfile_destination to = bloomfile_to_fd(fd);
    expect(bloomfile_builder_write(b, &to) == 0);
    bloomfile_builder_free(b);
    bloomfile_filter *f;
    expect(open_from(&f, bloomfile_from_fd(fd), BLOOMFILE_OPEN_VERIFY_FULL) == 0);
    close(fd);
    expect(bloomfile_contains_digests(f, keys->digests, keys->n, NULL) == keys->n);
    return f;
}

/* Builds and joins slices. Each slice gets all keys. Their ranges together must be all digests. */
static void slice(struct made whole, const struct keys *keys, unsigned choice)
{
    bloomfile_filter *f, *slices[SLICES_MOST];
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    expect(open_from(&f, bloomfile_from_memory(whole.image, whole.size), 0) == 0);
    expect(bloomfile_get_info(f, &info) == 0);
    bloomfile_close(f);
    const uint64_t pages = (info.bits / 512 + 63) / 64;
    const uint32_t most = pages < SLICES_MOST ? (uint32_t)pages : SLICES_MOST;
    if (info.layout != BLOOMFILE_LAYOUT_BLOCKED)
        return;
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.capacity = info.capacity;
    params.fpr = info.fpr;
    params.bits = info.bits;
    params.hashes = info.hashes;
    params.over_capacity = 1;
    params.slices = 1 + choice % most;
    bloomfile_digest next = 0, last;
    for (params.slice = 0; params.slice < params.slices; params.slice++) {
        bloomfile_digest first;
        slices[params.slice] = slice_of_keys(params, keys, choice);
        bloomfile_slice_range(slices[params.slice], &first, &last);
        expect(first == next && last >= first);
        expect(bloomfile_slice_of(info.bits, params.slices, first) == params.slice);
        expect(bloomfile_slice_of(info.bits, params.slices, last) == params.slice);
        next = last + 1;
    }
    expect(last == UINT64_MAX);
    struct bloomfile_destination to = bloomfile_to_memory();
    expect(bloomfile_join(&to, (const bloomfile_filter *const *)slices, params.slices, NULL, 0) ==
           0);
    expect(to.size == whole.size && memcmp(to.memory, whole.image, whole.size) == 0);
    bloomfile_free(to.memory);
    for (uint32_t i = 0; i < params.slices; i++)
        bloomfile_close(slices[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < CHOICES)
        return 0;
    const struct bloomfile_params params = params_from(data);
    const struct keys keys = keys_from(data, data + CHOICES, size - CHOICES);
    struct made plain, other;
    bloomfile_builder *b = builder(&params);
    expect(bloomfile_builder_add_digests(b, keys.digests, keys.n) == 0);
    const int error = finish(&plain, b);
    expect(finish(&other, other_builder(params, &keys, data[11])) == error);
    if (error == 0) {
        expect(plain.size == other.size && memcmp(plain.image, other.image, plain.size) == 0);
        ask(plain, &keys);
        slice(plain, &keys, data[12]);
    }
    bloomfile_free(plain.image);
    bloomfile_free(other.image);
    free(keys.digests);
    return 0;
}
