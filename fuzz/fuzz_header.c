/* SPDX-License-Identifier: MIT
 *
 * Fuzzes the header without a body: hundreds of thousands of headers per second. No input may be
 * read beyond its end. The room for faults must not change the result. A valid header must stay the
 * same when it is encoded and decoded. Each input is used twice: unchanged, and with correct
 * checksums and the size of its geometry.
 *
 * Input: 1 byte, odd for 4096 bytes of header, with bit 1 set for equal records and bit 2 for a
 * size that cuts the header; 8 bytes of the image's size; 128 bytes of each record; then the static
 * header. Missing bytes are 0.
 */
#include <bloomfile.h>

#include "format/decode.h"
#include "mend.h"
#include "target.h"

#define RECORD 128
#define FAULTS 8

static size_t header_bytes(const uint8_t *image)
{
    const uint32_t size = get32(image + AT_header_size);
    return geometry_header_known(size) ? size : HEADER_MAX;
}

/* A header must stay the same when it is encoded, decoded and encoded again. */
static void come_back(const struct header *h)
{
    uint8_t once[HEADER_MAX], twice[HEADER_MAX];
    struct header copy = *h, back;
    struct header_faults faults = { 0 };
    header_encode(&copy, once);
    expect(header_is_still(&copy, once));
    decode_header(once, header_whole_size(h), &back, &faults);
    expect(faults.count == 0 && back.crc == copy.crc);
    header_encode(&back, twice);
    expect(memcmp(once, twice, h->header_size) == 0);
}

static void use(const uint8_t *image, uint64_t size)
{
    const size_t have = size < HEADER_MAX ? (size_t)size : HEADER_MAX;
    uint8_t *exact = copy_of(image, have);
    struct bloomfile_fault list[FAULTS];
    struct header h, again;
    struct header_faults faults = { .list = list, .room = FAULTS }, counted = { 0 };
    decode_header(exact, size, &h, &faults);
    decode_header(exact, size, &again, &counted);
    expect(faults.count == counted.count && faults.first == counted.first);
    expect((faults.count == 0) == (faults.first == 0));
    for (size_t i = 0; i < faults.count && i < FAULTS; i++)
        expect(list[i].error != 0 && list[i].offset <= size && list[i].field != NULL);
    if (faults.count == 0) {
        expect(geometry_is_sound(h.layout, h.m, h.header_size));
        expect(header_whole_size(&h) == size && size >= h.header_size);
        expect(header_is_still(&h, exact));
        come_back(&h);
    } else {
        expect(list[0].error == faults.first);
    }
    decode_seal_unfinished(&h, &faults);
    free(exact);
}

/* The size of an image with the header's geometry, or `size` if the geometry is not valid. */
static uint64_t right_size(const uint8_t *image, uint64_t size)
{
    const uint32_t layout = get32(image + AT_layout), header = get32(image + AT_header_size);
    const uint64_t m = get64(image + AT_m);
    if (!layout_known(layout) || !geometry_header_known(header) ||
        !geometry_is_sound(layout, m, header))
        return size;
    return geometry_of(layout, m, header).image_size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t input[1 + 8 + 2 * RECORD + HEADER_MAX / 2] = { 0 }, image[HEADER_MAX] = { 0 };
    memcpy(input, data, size < sizeof input ? size : sizeof input);
    const uint8_t *records = input + 9, *first = records + 2 * RECORD;
    const bool equal = (input[0] & 2) != 0;
    const size_t header = (input[0] & 1) != 0 ? HEADER_MAX : GEOMETRY_EMBEDDED_HEADER;
    memcpy(image, first, header / 2);
    for (unsigned i = 0; i < 2; i++)
        memcpy(image + header / 2 + i * header / 4, records + (equal ? 0 : i * RECORD), RECORD);
    const uint64_t given = get64(input + 1), cut = given % (HEADER_MAX + 1);
    use(image, (input[0] & 4) != 0 ? cut : given);
    mend_checksums(image, header_bytes(image));
    use(image, right_size(image, given));
    return 0;
}
