/* SPDX-License-Identifier: MIT
 *
 * Fuzzes patches. Each input is used three times: as a patch, which must be refused or make the
 * result that it names; as the parts of a patch after a valid head, with correct checksums, which
 * must not crash or make a result that the head does not name; and as two bodies, its halves, whose
 * patch must turn the first into the second.
 */
#include <bloomfile.h>
#include <bloomfile_delta.h>
#include <bloomfile_unstable.h>

#include "delta/part.h"
#include "format/bytes.h"
#include "format/checksum.h"
#include "open.h"
#include "target.h"

enum {
    BLOCKS_MOST = 70, /* more than a page */
    ROOM = 1 << 20
};

struct blob {
    uint8_t *data;
    size_t size;
};

/* Makes an image. The bytes are repeated until the body is full. */
static struct blob image_of(uint32_t layout, unsigned blocks, const uint8_t *data, size_t size)
{
    const uint64_t bits = blocks * 512u;
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.layout = layout;
    params.bits = layout == BLOOMFILE_LAYOUT_COUNTING ? bits / 4 : bits;
    params.hashes = 3;
    static uint8_t body[BLOCKS_MOST * 64];
    for (size_t i = 0; i < sizeof body; i++)
        body[i] = size > 0 ? data[i % size] : 0;
    struct bloomfile_destination to = bloomfile_to_memory();
    expect(bloomfile_assemble(&to, &params, body, blocks * 64, 0, 0) == 0);
    return (struct blob){ to.memory, to.size };
}

static bloomfile_filter *opened(struct blob image)
{
    bloomfile_filter *f;
    expect(open_from(&f, bloomfile_from_memory(image.data, image.size), 0) == 0);
    return f;
}

static struct blob delta(struct blob base, struct blob result)
{
    bloomfile_filter *a = opened(base), *b = opened(result);
    struct bloomfile_destination to = bloomfile_to_memory();
    expect(bloomfile_delta(&to, a, b, 1) == 0);
    bloomfile_close(a);
    bloomfile_close(b);
    return (struct blob){ to.memory, to.size };
}

/* The image must be a whole filter, and the result that the patch names. */
static void check_result(struct blob image, const struct bloomfile_patch_info *info)
{
    struct bloomfile_info is = BLOOMFILE_INFO_INIT;
    bloomfile_filter *f = opened(image);
    expect(bloomfile_verify(f, 1, NULL) == 0 && bloomfile_get_info(f, &is) == 0);
    expect(is.body_crc == info->result_body && is.body_size == info->body_size);
    bloomfile_close(f);
}

static int apply(struct blob *result, struct blob base, const uint8_t *patch, size_t size)
{
    struct bloomfile_patch_info info = BLOOMFILE_PATCH_INFO_INIT;
    bloomfile_filter *f = opened(base);
    const struct bloomfile_source from = bloomfile_from_memory(patch, size);
    struct bloomfile_destination to = bloomfile_to_memory();
    const int told = bloomfile_get_patch_info(&from, &info);
    const int error = bloomfile_patch(&to, f, &from, 1);
    *result = (struct blob){ to.memory, to.size };
    expect(error == 0 || result->size == 0);
    expect(error != 0 || told == 0);
    if (error == 0)
        check_result(*result, &info);
    bloomfile_close(f);
    return error;
}

/* ---- parts after a valid head */

/* Takes a number, or returns 0 if the bytes are not a valid number. */
static uint64_t number_at(const uint8_t **at, const uint8_t *end)
{
    uint64_t number = 0;
    for (unsigned i = 0; *at < end; i++)
        if (patch_take_number(&number, i, *(*at)++) != PATCH_MORE)
            break;
    return number;
}

/* Corrects the checksum of the part at the start of the bytes. */
static void mend(uint8_t *part, size_t size, enum cells_kind kind)
{
    const uint8_t *at = part, *end = part + size;
    uint64_t strings = 0;
    number_at(&at, end);
    number_at(&at, end);
    for (unsigned i = 0; i < part_streams(kind); i++) {
        if (number_at(&at, end) == 0)
            continue;
        at += at < end;
        if (kind == CELLS_OF_BLOCKS) {
            number_at(&at, end);
            at += at < end;
        }
        strings += number_at(&at, end) % ROOM;
    }
    const size_t head = (size_t)(at - part);
    if (size - head < 4 || strings > size - head - 4)
        return;
    put32(part + head + strings, checksum(part, head + (size_t)strings));
}

static void try_parts(uint32_t layout, struct blob base, const uint8_t *data, size_t size)
{
    struct blob same = delta(base, base), result;
    const size_t head = same.size - 1; /* without the last number */
    uint8_t *patch = malloc(head + size + 1);
    expect(patch != NULL);
    memcpy(patch, same.data, head);
    if (size > 0)
        memcpy(patch + head, data, size);
    mend(patch + head, size, part_kind(layout));
    if (apply(&result, base, patch, head + size) == 0)
        expect(result.size > 0);
    free(result.data);
    free(patch);
    free(same.data);
}

/* ---- two bodies */

static void try_bodies(uint32_t layout, unsigned blocks, const uint8_t *data, size_t size)
{
    struct blob a = image_of(layout, blocks, data, size / 2),
                b = image_of(layout, blocks, data + size / 2, size - size / 2), result;
    struct blob patch = delta(a, b);
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_filter *f = opened(b);
    bloomfile_get_info(f, &info);
    bloomfile_close(f);
    struct bloomfile_patch_info told = BLOOMFILE_PATCH_INFO_INIT;
    const struct bloomfile_source from = bloomfile_from_memory(patch.data, patch.size);
    expect(bloomfile_get_patch_info(&from, &told) == 0 && told.result_body == info.body_crc);
    expect(apply(&result, a, patch.data, patch.size) == 0);
    expect(result.size == b.size && memcmp(result.data, b.data, b.size) == 0);
    free(result.data);
    free(patch.data);
    bloomfile_free(a.data);
    bloomfile_free(b.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    uint8_t *exact = copy_of(data, size);
    static const uint8_t cells[] = { 0x5A, 0x00, 0xFF, 0x13, 0xE0, 0x7F, 0x01 };
    const uint32_t layout = 1 + data[0] % 3u;
    const unsigned blocks = data[0] >= 250 ? BLOCKS_MOST : 1 + data[0] / 3u % 8;
    struct blob base = image_of(layout, blocks, cells, sizeof cells), result;
    if (apply(&result, base, exact, size) == 0)
        expect(result.size == base.size);
    free(result.data);
    try_parts(layout, base, exact + 1, size - 1);
    try_bodies(layout, blocks, exact, size);
    bloomfile_free(base.data);
    free(exact);
    return 0;
}
