/* SPDX-License-Identifier: MIT
 * Decompression with zlib and libzstd, which verify the checksums that are present. */
#include "keys/unpack.h"
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

enum {
    IN_SIZE = 1 << 17,
    TROUBLE_SIZE = 160
};

enum kind {
    BEGIN, /* at the beginning of the input, or after a member */
    PLAIN,
    GZIP,
    ZSTD
};

struct unpack {
    unpack_reader *reader;
    void *context;
    enum kind kind;
    bool is_packed, at_end; /* a member was found; the reader is at its end */
    uint8_t in[IN_SIZE];
    size_t at, end; /* the range of `in` that was read but not used yet */
    z_stream gzip;
    bool has_gzip;
    ZSTD_DStream *zstd;
    char trouble[TROUBLE_SIZE];
};

struct unpack *unpack_new(unpack_reader *reader, void *context)
{
    struct unpack *u = malloc(sizeof(*u));
    if (u == NULL)
        cli_fail(ENOMEM, "cannot start unpacking");
    memset(u, 0, offsetof(struct unpack, in));
    memset(&u->at, 0, sizeof(*u) - offsetof(struct unpack, at));
    u->reader = reader;
    u->context = context;
    return u;
}

void unpack_free(struct unpack *u)
{
    if (u == NULL)
        return;
    if (u->has_gzip)
        inflateEnd(&u->gzip);
    ZSTD_freeDStream(u->zstd);
    free(u);
}

const char *unpack_trouble(const struct unpack *u)
{
    return u->trouble[0] != '\0' ? u->trouble : NULL;
}

static const char *name_of(enum kind kind)
{
    return kind == GZIP ? "gzip" : "zstd";
}

static ssize_t is_trouble(struct unpack *u, const char *what, const char *why)
{
    snprintf(u->trouble, sizeof(u->trouble), "its %s data %s%s%s%s", name_of(u->kind), what,
             why != NULL ? " (" : "", why != NULL ? why : "", why != NULL ? ")" : "");
    return -1;
}

/* Reads once, and appends to the unused bytes. Returns false on failure. */
static bool read_more(struct unpack *u)
{
    memmove(u->in, u->in + u->at, u->end - u->at);
    u->end -= u->at;
    u->at = 0;
    const ssize_t n = u->reader(u->context, u->in + u->end, IN_SIZE - u->end);
    u->at_end = n == 0;
    u->end += n > 0 ? (size_t)n : 0;
    return n >= 0;
}

/* -------------------------------------------------------------------------------------- members */

static const uint8_t gzip_magic[] = { 0x1F, 0x8B }, zstd_magic[] = { 0x28, 0xB5, 0x2F, 0xFD },
                     skippable_magic[] = { 0x2A, 0x4D, 0x18 }; /* after a byte 0x50 to 0x5F */

static bool agree(const uint8_t *bytes, size_t size, const uint8_t *magic, size_t magic_size)
{
    return memcmp(bytes, magic, size < magic_size ? size : magic_size) == 0;
}

/* Returns the format. If there are too few bytes to be certain, returns the format they may begin.
 * *needed: bytes needed to be certain. */
static enum kind recognise(const uint8_t *bytes, size_t size, size_t *needed)
{
    *needed = sizeof(gzip_magic);
    if (size > 0 && agree(bytes, size, gzip_magic, sizeof(gzip_magic)))
        return GZIP;
    *needed = sizeof(zstd_magic);
    if (size > 0 && agree(bytes, size, zstd_magic, sizeof(zstd_magic)))
        return ZSTD;
    if (size > 0 && bytes[0] >> 4 == 5 &&
        agree(bytes + 1, size - 1, skippable_magic, sizeof(skippable_magic)))
        return ZSTD;
    *needed = 0;
    return PLAIN;
}

bool unpack_is_packed(const uint8_t *bytes, size_t size)
{
    size_t needed;
    return recognise(bytes, size, &needed) != PLAIN;
}

static bool begin_member(struct unpack *u, enum kind kind)
{
    u->kind = kind;
    u->is_packed = true;
    if (kind == GZIP && u->has_gzip)
        return inflateReset(&u->gzip) == Z_OK;
    if (kind == GZIP)
        return u->has_gzip = inflateInit2(&u->gzip, 16 + MAX_WBITS) == Z_OK;
    if (u->zstd == NULL)
        u->zstd = ZSTD_createDStream();
    return u->zstd != NULL && !ZSTD_isError(ZSTD_initDStream(u->zstd));
}

/* Recognizes the next member. Returns -1 on an error, 0 at the end, otherwise 1. */
static int begin(struct unpack *u)
{
    size_t needed;
    enum kind kind;
    while (kind = recognise(u->in + u->at, u->end - u->at, &needed),
           !u->at_end && (u->end == u->at || u->end - u->at < needed)) {
        if (!read_more(u))
            return -1;
    }
    if (u->end == u->at)
        return 0;
    const bool is_short = u->end - u->at < needed;
    if (kind == ZSTD && is_short && u->in[u->at] != zstd_magic[0])
        kind = PLAIN; /* text such as "P", not a frame that is cut off */
    if (kind == PLAIN && u->is_packed) {
        snprintf(u->trouble, sizeof(u->trouble), "other data follows the compressed data");
        return -1;
    }
    u->kind = kind;
    if (kind == PLAIN)
        return 1;
    if (is_short)
        return (int)is_trouble(u, "is cut off", NULL);
    if (begin_member(u, kind))
        return 1;
    errno = ENOMEM;
    return -1;
}

/* Decompresses once. Sets *made to the number of bytes produced. Returns -1 on an error, 0 if more
 * input is needed, otherwise 1. */
static int inflate_some(struct unpack *u, uint8_t *to, size_t size, size_t *made)
{
    z_stream *z = &u->gzip;
    const uInt room = size < UINT32_MAX ? (uInt)size : UINT32_MAX;
    z->next_in = u->in + u->at;
    z->avail_in = (uInt)(u->end - u->at);
    z->next_out = to;
    z->avail_out = room;
    const int result = inflate(z, Z_NO_FLUSH);
    *made = room - z->avail_out;
    u->at = u->end - z->avail_in;
    if (result == Z_STREAM_END)
        u->kind = BEGIN;
    if (result == Z_OK || result == Z_STREAM_END)
        return 1;
    if (result == Z_BUF_ERROR)
        return 0;
    errno = ENOMEM;
    return result == Z_MEM_ERROR ? -1 : (int)is_trouble(u, "is damaged", z->msg);
}

static int decompress_some(struct unpack *u, uint8_t *to, size_t size, size_t *made)
{
    ZSTD_inBuffer in = { u->in, u->end, u->at };
    ZSTD_outBuffer out = { to, size, 0 };
    const size_t result = ZSTD_decompressStream(u->zstd, &out, &in);
    const bool went_on = in.pos > u->at || out.pos > 0;
    *made = out.pos;
    u->at = in.pos;
    if (result == 0)
        u->kind = BEGIN;
    if (!ZSTD_isError(result))
        return went_on;
    const ZSTD_ErrorCode code = ZSTD_getErrorCode(result);
    errno = ENOMEM;
    if (code == ZSTD_error_memory_allocation)
        return -1;
    if (code == ZSTD_error_frameParameter_windowTooLarge)
        return (int)is_trouble(u, "needs a window of more than 128 MiB",
                               "decompress it: zstd -dc --long=31");
    return (int)is_trouble(u, "is damaged", ZSTD_getErrorName(result));
}

static ssize_t read_plain(struct unpack *u, uint8_t *to, size_t size)
{
    const size_t left = u->end - u->at, n = left < size ? left : size;
    if (left == 0)
        return u->at_end ? 0 : u->reader(u->context, to, size);
    memcpy(to, u->in + u->at, n);
    u->at += n;
    return (ssize_t)n;
}

ssize_t unpack_read(struct unpack *u, uint8_t *to, size_t size)
{
    for (;;) {
        int result = 1;
        size_t made = 0;
        if (u->kind == BEGIN && (result = begin(u)) <= 0)
            return result;
        if (u->kind == PLAIN)
            return read_plain(u, to, size);
        result = u->kind == GZIP ? inflate_some(u, to, size, &made)
                                 : decompress_some(u, to, size, &made);
        if (result < 0)
            return -1;
        if (made > 0)
            return (ssize_t)made;
        if (result > 0)
            continue;
        if (u->at_end)
            return is_trouble(u, "is cut off", NULL);
        if (!read_more(u))
            return -1;
    }
}
