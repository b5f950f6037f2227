/* SPDX-License-Identifier: MIT
 *
 * Fuzzes the functions that open a compact filter. No input may crash or be read beyond its end. A
 * refused input must leave a view that returns "maybe" for every key. The trailer of an accepted
 * input must be the trailer that its shape encodes to. Each input is used twice: unchanged, and
 * with correct version, hash and checksum.
 */
#include <bloomfile.h>
#include <bloomfile_view.h>

#include "format/bytes.h"
#include "format/checksum.h"
#include "format/hash.h"
#include "target.h"

static void use(const uint8_t *blob, size_t size)
{
    struct bloomfile_view view;
    int error = bloomfile_view_open(&view, 0, blob, size);
    bool hits[4];
    const bloomfile_digest digests[4] = { 0, 1, UINT64_MAX, bloomfile_hash(0, "key", 3) };
    size_t found = bloomfile_view_contains_digests(&view, blob, digests, 4, hits);
    expect(found == (size_t)(hits[0] + hits[1] + hits[2] + hits[3]));
    expect(error == 0 || found == 4);
    for (int i = 0; i < 4; i++)
        expect(bloomfile_view_contains_digest(&view, blob, digests[i]) == hits[i]);
    if (error != 0)
        return;
    expect(view.size + BLOOMFILE_TRAILER_SIZE == size);
    uint8_t *again = malloc(size);
    if (again == NULL)
        return;
    memcpy(again, blob, view.size);
    bloomfile_view_write_trailer(&view, 0, again);
    expect(memcmp(again, blob, size) == 0);
    bloomfile_view_add_digests(&view, again, digests, 4);
    expect(bloomfile_view_contains_digests(&view, again, digests, 4, NULL) == 4);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t known[16] = { 128, 29, 186, 87, 244, 145, 46, 203,
                                       104, 5,  162, 63, 220, 121, 22, 179 };
    uint8_t *blob = copy_of(data, size);
    use(blob, size);
    if (size >= BLOOMFILE_TRAILER_SIZE) {
        blob[size - 8] = 1;
        blob[size - 6] = 1;
        put32(blob + size - 4, checksum(blob, size - 4) ^ (uint32_t)hash_key(0, known, 16));
        use(blob, size);
    }
    free(blob);
    return 0;
}
