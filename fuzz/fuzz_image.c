/* SPDX-License-Identifier: MIT
 *
 * Fuzzes every function that takes an image. No input may crash or be read outside its bytes, and
 * the results for an open filter must agree with each other. Each input is used three times:
 * unchanged; with correct header checksums, so that the fuzzer reaches the code after their check;
 * and with all checksums and counts correct, so that the image is valid if its fields are.
 */
#include <bloomfile.h>
#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <bloomfile_unstable.h>

#include "format/header.h"
#include "mend.h"
#include "open.h"
#include "target.h"

#define HEADER 4096

/* A fold by 1 must change nothing. Damaged filters, solved filters and slices must be refused. */
static void plan(const bloomfile_filter *f, uint64_t ones, int verified)
{
    struct bloomfile_fold_choice choices[2];
    size_t count = 2;
    int error = bloomfile_fold_plan(f, 1000, choices, &count);
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    expect(bloomfile_get_info(f, &info) == 0);
    if (bloomfile_traits_of(info.layout)->solved)
        expect(error == BLOOMFILE_EISRIBBON);
    else if (info.whole_blocks != 0)
        expect(error == BLOOMFILE_EISSLICE);
    else
        expect(error == verified);
    if (error != 0)
        return;
    expect(count >= 1 && choices[0].factor == 1 && choices[0].ones == ones);
    expect(choices[0].fpr <= choices[0].fpr_more * 1.000001);
    expect(count == 1 || (choices[1].ones <= ones && choices[1].fpr >= choices[0].fpr));
}

/* Looks up the digests at the edges of the range in which a lookup may return "no". */
static void ask_at_edges(const bloomfile_filter *f)
{
    bloomfile_digest first, last;
    bloomfile_slice_range(f, &first, &last);
    expect(first <= last);
    expect(first == 0 || bloomfile_contains_digest(f, first - 1));
    expect(last == UINT64_MAX || bloomfile_contains_digest(f, last + 1));
    bloomfile_contains_digest(f, first);
    bloomfile_contains_digest(f, last);
}

/* A slice can be joined alone only if it is the whole filter. Then lookups must stay the same. */
static void join(const bloomfile_filter *f, int verified)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT, joined = BLOOMFILE_INFO_INIT;
    struct bloomfile_destination to = bloomfile_to_memory();
    expect(bloomfile_get_info(f, &info) == 0);
    const int error = bloomfile_join(&to, &f, 1, NULL, 0);
    if (info.whole_blocks == 0 || info.bits / 512 != info.whole_blocks)
        expect(error == BLOOMFILE_EINCOMPLETE);
    else
        expect(error == verified);
    if (error != 0)
        return;
    bloomfile_filter *whole;
    expect(open_named(&whole, bloomfile_from_memory(to.memory, to.size), BLOOMFILE_OPEN_VERIFY_FULL,
                      info.hash_id, info.self_test) == 0);
    expect(bloomfile_get_info(whole, &joined) == 0);
    expect(joined.whole_blocks == 0 && joined.bits == info.bits && joined.ones == info.ones);
    for (bloomfile_digest i = 0; i < 64; i++)
        expect(bloomfile_contains_digest(whole, i * (UINT64_MAX / 61)) ==
               bloomfile_contains_digest(f, i * (UINT64_MAX / 61)));
    bloomfile_close(whole);
    bloomfile_free(to.memory);
}

/* Joins by the header alone, which may be of any image. error: the error of opening the image. */
static void join_header(const uint8_t *image, size_t size, const struct bloomfile_info *info,
                        int error)
{
    uint8_t header[HEADER];
    struct bloomfile_info whole = BLOOMFILE_INFO_INIT;
    if (size < HEADER)
        return;
    const int joined = bloomfile_join_headers(header, image, 1, 0);
    const bool alone = info->whole_blocks != 0 && info->bits / 512 == info->whole_blocks;
    expect(error != 0 || joined == (alone ? 0 : BLOOMFILE_EINCOMPLETE));
    if (joined != 0)
        return;
    expect(bloomfile_inspect(header, (uint64_t)info->image_size, &whole, NULL, NULL) == 0);
    expect(whole.whole_blocks == 0 && whole.bits == info->bits && whole.keys == info->keys);
    expect(whole.body_crc == info->body_crc && whole.ones == info->ones);
}

/* A series must have all its layers, and functions for single images must refuse it. */
static void use_layers(const bloomfile_filter *f)
{
    struct bloomfile_fold_choice choice;
    size_t count = 1;
    expect(bloomfile_fold_plan(f, 1000, &choice, &count) == BLOOMFILE_EISSERIES);
    for (size_t i = 0; i < bloomfile_layers(f); i++) {
        struct bloomfile_info info = BLOOMFILE_INFO_INIT;
        expect(bloomfile_get_info(bloomfile_layer(f, i), &info) == 0 && info.layer == i);
    }
    expect(bloomfile_layer(f, bloomfile_layers(f)) == NULL);
}

/* A filter with an application's own hash must return "maybe" for every key, unless the caller
 * named the hash. Opens it again with the hash named. */
static bloomfile_filter *named(bloomfile_filter *f, struct bloomfile_source from, unsigned flags)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(f, &info);
    if (info.hash_id < BLOOMFILE_APP_HASH_FIRST)
        return f;
    bloomfile_filter *other;
    expect(open_named(&other, from, flags, BLOOMFILE_HASH_XXH3, 0) == BLOOMFILE_EHASH);
    expect(open_named(&other, from, flags, info.hash_id, info.self_test + 1) ==
           BLOOMFILE_ESELFTEST);
    expect(bloomfile_contains_digest(f, 0) && bloomfile_contains_digest(f, UINT64_MAX / 3));
    expect(bloomfile_contains(f, "key", 3) && bloomfile_check(f) == BLOOMFILE_EHASH);
    bloomfile_close(f);
    expect(open_named(&f, from, flags, info.hash_id, info.self_test) == 0);
    expect(bloomfile_check(f) == 0);
    return f;
}

static void use(const uint8_t *image, size_t size, unsigned flags, int expected)
{
    bloomfile_filter *f;
    const struct bloomfile_source from = bloomfile_from_memory(image, size);
    int error = open_from(&f, from, flags);
    if (expected != 0)
        expect(error == expected);
    if (error != 0)
        return;
    f = named(f, from, flags);
    bool hits[3];
    bloomfile_digest digests[3] = { 0, UINT64_MAX, bloomfile_hash(0, "key", 3) };
    size_t found = bloomfile_contains_digests(f, digests, 3, hits);
    expect(found == (size_t)(hits[0] + hits[1] + hits[2]));
    for (int i = 0; i < 3; i++)
        expect(bloomfile_contains_digest(f, digests[i]) >= hits[i]);

    struct bloomfile_fault fault;
    int verified = bloomfile_verify(f, 1, &fault);
    expect(verified == 0 || (fault.error == verified && bloomfile_check(f) != 0));
    for (int i = 0; i < 3; i++)
        expect(bloomfile_contains_digest(f, digests[i]) >= hits[i]);

    struct bloomfile_measurement measure = BLOOMFILE_MEASUREMENT_INIT;
    double fill[5];
    const bool one = bloomfile_layers(f) == 0;
    expect(bloomfile_measure(f, &measure) == 0);
    expect(bloomfile_measure_map(f, fill, 5) == (one ? 0 : BLOOMFILE_EISSERIES));
    expect(flags != BLOOMFILE_OPEN_VERIFY_FULL || verified == 0);
    ask_at_edges(f);
    if (one) {
        plan(f, measure.ones, verified);
        join(f, verified);
    } else {
        use_layers(f);
    }
    bloomfile_close(f);
}

static void try_image(const uint8_t *image, size_t size)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    struct bloomfile_fault faults[4];
    size_t count = 4;
    int error = bloomfile_inspect(image, size, &info, faults, &count);
    expect((error != 0) == (count > 0) && (count == 0 || faults[0].error == error));
    join_header(image, size, &info, error);
    use(image, size, 0, error);
    use(image, size, BLOOMFILE_OPEN_VERIFY_FULL, error);
    use(image, size, BLOOMFILE_OPEN_VERIFY_NONE, error);
}

static void try_whole(uint8_t *image, size_t size)
{
    const bool layer =
        size > AT_incompat + 4 && (get32(image + AT_incompat) & HEADER_INCOMPAT_LAYER) != 0;
    const size_t whole = layer ? mend_series(image, size) : mend_all(image, size);
    if (whole == 0)
        return;
    uint8_t *exact = copy_of(image, whole);
    try_image(exact, whole);
    free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *image = copy_of(data, size);
    try_image(image, size);
    mend_checksums(image, size);
    try_image(image, size);
    try_whole(image, size);
    free(image);
    return 0;
}
