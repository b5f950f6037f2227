/* SPDX-License-Identifier: MIT
 *
 * Fuzzes compressed input of the tools. The input is used as gzip or zstd data: the output must not
 * depend on the sizes of the pieces. The input is also compressed in two members: the output must
 * be the input, and data that is cut short or has a changed bit must be reported as damaged.
 */
#include "keys/unpack.h"

#include <errno.h>
#include <stdio.h>
#include <zlib.h>
#include <zstd.h>

#include "cli_stub.h"
#include "target.h"

enum {
    CHOICES = 6, /* bytes at the beginning of the input */
    MOST = 1 << 18
};

struct source {
    const uint8_t *at, *end;
    size_t step;
};

static ssize_t read_some(void *context, uint8_t *to, size_t size)
{
    struct source *s = context;
    size_t n = (size_t)(s->end - s->at);
    n = n < size ? n : size;
    n = n < s->step ? n : s->step;
    if (n > 0)
        memcpy(to, s->at, n);
    s->at += n;
    return (ssize_t)n;
}

struct result {
    uint8_t *bytes;
    size_t size;
    bool is_trouble, is_whole;
};

/* Unpacks at most MOST bytes. */
static struct result unpacked(const uint8_t *data, size_t size, size_t read_step, size_t step)
{
    struct source source = { data, data + size, read_step };
    struct unpack *u = unpack_new(read_some, &source);
    struct result r = { .bytes = malloc(MOST) };
    ssize_t n = 1;
    expect(r.bytes != NULL);
    while (n > 0 && r.size + step <= MOST) {
        n = unpack_read(u, r.bytes + r.size, step);
        r.size += n > 0 ? (size_t)n : 0;
    }
    r.is_trouble = n < 0;
    r.is_whole = n == 0;
    expect(r.is_trouble == (unpack_trouble(u) != NULL));
    unpack_free(u);
    return r;
}

/* Pieces of another size must give the same output. */
static void try_as_it_is(const uint8_t *choices, const uint8_t *data, size_t size)
{
    const struct result all = unpacked(data, size, MOST, 4096),
                        some = unpacked(data, size, 1 + choices[1], 1 + choices[2]);
    if (all.is_whole && some.is_whole)
        expect(all.size == some.size && memcmp(all.bytes, some.bytes, all.size) == 0);
    expect(!(all.is_whole && some.is_trouble) && !(all.is_trouble && some.is_whole));
    free(all.bytes);
    free(some.bytes);
}

static size_t pack_gzip(uint8_t *to, size_t room, const uint8_t *data, size_t size, int level)
{
    z_stream z = { 0 };
    static const uint8_t none;
    expect(deflateInit2(&z, level, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    z.next_in = (uint8_t *)(uintptr_t)(size > 0 ? data : &none);
    z.avail_in = (uInt)size;
    z.next_out = to;
    z.avail_out = (uInt)room;
    expect(deflate(&z, Z_FINISH) == Z_STREAM_END);
    const size_t made = room - z.avail_out;
    deflateEnd(&z);
    return made;
}

static size_t pack_zstd(uint8_t *to, size_t room, const uint8_t *data, size_t size, int level)
{
    ZSTD_CCtx *c = ZSTD_createCCtx();
    expect(c != NULL);
    ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
    const size_t made = ZSTD_compress2(c, to, room, data, size);
    expect(!ZSTD_isError(made));
    ZSTD_freeCCtx(c);
    return made;
}

static size_t pack(uint8_t *to, size_t room, bool zstd, const uint8_t *data, size_t size, int level)
{
    return zstd ? pack_zstd(to, room, data, size, level) : pack_gzip(to, room, data, size, level);
}

static void expect_bytes(struct result r, const uint8_t *data, size_t size)
{
    expect(r.is_whole && r.size == size && (size == 0 || memcmp(r.bytes, data, size) == 0));
    free(r.bytes);
}

static void expect_trouble_or(struct result r, const uint8_t *data, size_t size)
{
    if (!r.is_trouble)
        expect(r.is_whole && r.size == size && memcmp(r.bytes, data, size) == 0);
    free(r.bytes);
}

static void try_packed(const uint8_t *choices, const uint8_t *data, size_t size)
{
    const size_t room = 2 * size + 1024, half = size / 2, step = 1 + choices[1] * 8;
    const int level = 1 + choices[2] % 4;
    uint8_t *packed = malloc(room);
    expect(packed != NULL);
    const size_t first = pack(packed, room, choices[0] & 1, data, half, level);
    const size_t all =
        first + pack(packed + first, room - first, choices[0] & 2, data + half, size - half, level);
    expect_bytes(unpacked(packed, all, step, step), data, size);
    expect_bytes(unpacked(packed, first, step, step), data, half);
    const size_t place = (choices[3] | (size_t)choices[4] << 8) % all;
    if (place > 0 && place != first) {
        const struct result cut = unpacked(packed, place, step, step);
        expect(cut.is_trouble && cut.size <= size && memcmp(cut.bytes, data, cut.size) == 0);
        free(cut.bytes);
    }
    if (place >= 4) { /* without the first 4 bytes it is not recognized as compressed */
        packed[place] ^= (uint8_t)(1u << choices[5] % 8);
        expect_trouble_or(unpacked(packed, all, step, step), data, size);
    }
    free(packed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < CHOICES)
        return 0;
    try_as_it_is(data, data + CHOICES, size - CHOICES);
    try_packed(data, data + CHOICES, size - CHOICES);
    return 0;
}
