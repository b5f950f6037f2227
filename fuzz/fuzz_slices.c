/* SPDX-License-Identifier: MIT
 *
 * Fuzzes the functions that join slices. The input changes headers and bodies of the slices of a
 * valid filter, and omits and repeats slices, with correct checksums or not. A joined filter must
 * verify, and its lookups must agree with those of the slices. Joining only the headers must give
 * the same header.
 */
#include <bloomfile.h>
#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <bloomfile_unstable.h>

#include "mend.h"
#include "open.h"
#include "target.h"

enum {
    HEADER = 4096,
    SLICES = 3,
    BLOCKS = 170, /* three pages */
    KEYS = 200,
    PARTS_MOST = 4,
    EDIT = 4 /* bytes: place, offset in two bytes, value */
};

struct part {
    uint8_t *bytes;
    size_t size;
    bloomfile_filter *f;
};

static bloomfile_digest digest_of(uint64_t i)
{
    return i * 0x9E3779B97F4A7C15u;
}

static struct part build(uint32_t slice)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    bloomfile_builder *b;
    params.bits = 512 * BLOCKS;
    params.hashes = 3;
    params.capacity = KEYS;
    params.slices = SLICES;
    params.slice = slice;
    const int fd = fd_of("", 0);
    expect(bloomfile_builder_new(&b, &params) == 0);
    for (uint64_t i = 0; i < KEYS; i++) {
        const bloomfile_digest digest = digest_of(i);
        expect(bloomfile_builder_add_digests(b, &digest, 1) == 0);
    }
    struct bloomfile_destination to = bloomfile_to_fd(fd);
    expect(bloomfile_builder_write(b, &to) == 0);
    bloomfile_builder_free(b);
    struct part made = { .size = (size_t)lseek(fd, 0, SEEK_END) };
    made.bytes = malloc(made.size);
    expect(made.bytes != NULL && pread(fd, made.bytes, made.size, 0) == (ssize_t)made.size);
    close(fd);
    return made;
}

static const struct part *whole_set(void)
{
    static struct part parts[SLICES];
    for (uint32_t i = 0; parts[SLICES - 1].bytes == NULL && i < SLICES; i++)
        parts[i] = build(i);
    return parts;
}

/* Chooses the slices, by two bits each, and changes them. */
static size_t choose(struct part *parts, const uint8_t *data, size_t size)
{
    const struct part *whole = whole_set();
    const size_t count = 1 + data[0] % PARTS_MOST;
    for (size_t i = 0; i < count; i++) {
        const struct part *from = &whole[(data[1] >> 2 * i & 3) % SLICES];
        parts[i] = (struct part){ copy_of(from->bytes, from->size), from->size, NULL };
    }
    for (const uint8_t *edit = data + 3; edit + EDIT <= data + size; edit += EDIT) {
        struct part *part = &parts[edit[0] % count];
        const size_t room = edit[0] & 0x80 ? part->size : 304; /* most of a header is empty */
        const size_t at = edit[0] & 0x40 ? HEADER / 2 + get16(edit + 1) % 68 : get16(edit + 1);
        part->bytes[at % (edit[0] & 0x40 ? HEADER : room)] ^= edit[3];
    }
    for (size_t i = 0; i < count; i++) {
        if (data[2] >> i & 1)
            memcpy(parts[i].bytes + 3072, parts[i].bytes + 2048, 1024);
        if (data[2] >> (i + 4) & 1)
            mend_all(parts[i].bytes, parts[i].size);
        else
            mend_checksums(parts[i].bytes, parts[i].size);
    }
    return count;
}

/* Opens the slices. Returns whether all of them can be opened. */
static bool open_all(struct part *parts, size_t count)
{
    bool all = true;
    for (size_t i = 0; i < count; i++) {
        const int error =
            open_from(&parts[i].f, bloomfile_from_memory(parts[i].bytes, parts[i].size), 0);
        struct bloomfile_info info = BLOOMFILE_INFO_INIT;
        all = all && error == 0;
        if (error != 0)
            parts[i].f = NULL;
        else if (bloomfile_get_info(parts[i].f, &info) == 0 && info.hash_id >= 0x80000000u)
            all = false; /* an application's hash, which this target does not name */
    }
    return all;
}

static void ask(const bloomfile_filter *whole, const struct part *parts, size_t count)
{
    for (uint64_t i = 0; i < 2 * KEYS; i++) {
        bool hit = true;
        for (size_t j = 0; j < count; j++)
            hit = hit && bloomfile_contains_digest(parts[j].f, digest_of(i));
        expect(bloomfile_contains_digest(whole, digest_of(i)) == hit);
    }
}

static void join(const struct part *parts, size_t count)
{
    const bloomfile_filter *slices[PARTS_MOST];
    uint8_t headers[PARTS_MOST * HEADER], header[HEADER];
    struct bloomfile_info whole = BLOOMFILE_INFO_INIT, told = BLOOMFILE_INFO_INIT;
    struct bloomfile_destination to = bloomfile_to_memory();
    for (size_t i = 0; i < count; i++) {
        slices[i] = parts[i].f;
        memcpy(headers + HEADER * i, parts[i].bytes, HEADER);
    }
    const int by_headers = bloomfile_join_headers(header, headers, count, 0);
    const int error = bloomfile_join(&to, slices, count, NULL, 0);
    if (error == BLOOMFILE_EINCOMPLETE || by_headers == BLOOMFILE_EINCOMPLETE)
        expect(error == by_headers);
    if (error != 0)
        return;
    bloomfile_filter *f;
    expect(by_headers == 0);
    expect(open_from(&f, bloomfile_from_memory(to.memory, to.size), BLOOMFILE_OPEN_VERIFY_FULL) ==
           0);
    expect(bloomfile_get_info(f, &whole) == 0);
    const size_t file = HEADER + (size_t)(whole.bits / 8 + 4095) / 4096 * 4100;
    expect(bloomfile_inspect(header, file, &told, NULL, NULL) == 0);
    expect(told.bits == whole.bits && told.ones == whole.ones && told.keys == whole.keys);
    ask(f, parts, count);
    bloomfile_close(f);
    bloomfile_free(to.memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct part parts[PARTS_MOST];
    if (size < 3)
        return 0;
    const size_t count = choose(parts, data, size);
    if (open_all(parts, count))
        join(parts, count);
    for (size_t i = 0; i < count; i++) {
        if (parts[i].f != NULL)
            bloomfile_close(parts[i].f);
        free(parts[i].bytes);
    }
    return 0;
}
