/* SPDX-License-Identifier: MIT
 * Patches with correct checksums and wrong content (doc/format/patches.md). */
#include "support.h"

#include <bloomfile_delta.h>
#include <bloomfile_live.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "delta/encode.h"
#include "format/bytes.h"
#include "format/checksum.h"
#include "format/decode.h"
#include "format/hash.h"
#include "format/header.h"

/* ---- forging patches: as the library writes them, without its checks */

/* Errors in the head; all 0: a correct head. */
struct twist {
    uint32_t layout, features;                    /* replaces the correct value */
    uint32_t base_header, base_body, result_body; /* added to it */
    int64_t body_size;                            /* added to it */
    bool no_edits;                                /* bytes that are not an edit */
};

static uint8_t *put_head(uint8_t *to, const uint8_t *base, const uint8_t *result,
                         const struct twist *twist)
{
    const uint32_t size = get32(base + AT_header_size);
    struct patch_head head = {
        .base = { patch_name_header(base, size) + twist->base_header,
                  get32(base + size / 2 + RECORD_AT_body_crc) + twist->base_body },
        .result = { patch_name_header(result, size),
                    get32(result + size / 2 + RECORD_AT_body_crc) + twist->result_body },
        .features = twist->features,
        .layout = twist->layout != 0 ? twist->layout : get32(base + AT_layout),
        .body_size = get64(base + AT_body_size) + (uint64_t)twist->body_size
    };
    patch_make_edits(&head, base, result, size);
    if (twist->no_edits) {
        head.edits_size = 1;
        head.edits[0] = 0x80;
    }
    return to + patch_encode_head(&head, to);
}

static uint8_t *put_patch(uint8_t *to, const uint8_t *base, const uint8_t *result,
                          const struct twist *twist)
{
    const uint32_t size = get32(base + AT_header_size);
    const uint64_t body_size = get64(base + AT_body_size);
    const uint64_t pages = checksum_pages(body_size);
    to = put_head(to, base, result, twist);
    if (memcmp(base + size, result + size, (size_t)body_size) == 0)
        return to + patch_put_number(to, pages);
    uint16_t changes[16];
    assert_true(pages <= ROWS(changes));
    memset(changes, 1, sizeof changes);
    struct encoder e;
    size_t part_size;
    struct guard guards[ENCODE_BOTH];
    struct header headers[ENCODE_BOTH];
    struct body_check checks[ENCODE_BOTH];
    const uint8_t *const images[] = { base, result };
    for (int i = 0; i < ENCODE_BOTH; i++) {
        struct header_faults faults = { 0 };
        decode_header(images[i], UINT64_MAX, &headers[i], &faults);
        const uint8_t *body = images[i] + size;
        assert_error(guard_start(&guards[i], body, body_size, headers[i].record.body_crc, false),
                     0);
        body_check_start(&checks[i], &headers[i], body, &guards[i]);
    }
    assert_error(encoder_start(&e, part_kind(get32(base + AT_layout)), checks), 0);
    const struct encode_source source = { body_size, changes };
    const uint8_t *part = encode_part(&e, &source, 0, 0, pages, &part_size);
    assert_non_null(part);
    memcpy(to, part, part_size);
    to += part_size;
    encoder_release(&e);
    for (int i = 0; i < ENCODE_BOTH; i++)
        guard_release(&guards[i]);
    return to + patch_put_number(to, 0);
}

/* ---- applying patches */

static int new_fd(struct bytes content)
{
    const int fd = memfd_create("test", 0);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content.data, content.size), content.size);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

static struct bytes copy_of(struct bytes b)
{
    struct bytes copy = { malloc(b.size), b.size };
    assert_non_null(copy.data);
    memcpy(copy.data, b.data, b.size);
    return copy;
}

/* A refused patch leaves no bytes; otherwise the output is `result`. */
static void assert_patched(struct bytes base, struct bytes patch, struct bytes result, int expected)
{
    bloomfile_filter *f = open_image(base, 0);
    const int to = new_fd((struct bytes){ NULL, 0 }), from = new_fd(patch);
    assert_error(bloomfile_patch(TO_FD(to, NULL), f, FROM_FD(from), 1), expected);
    const size_t size = (size_t)lseek(to, 0, SEEK_END);
    assert_int_equal(size, expected == 0 ? result.size : 0);
    struct bytes got = { malloc(size + 1), size };
    assert_non_null(got.data);
    assert_int_equal(pread(to, got.data, size, 0), size);
    if (expected == 0)
        assert_memory_equal(got.data, result.data, size);
    free(got.data);
    close(to);
    close(from);
    bloomfile_close(f);
}

/* Frees the result. */
static void assert_forged(struct bytes base, struct bytes result, struct twist twist, int expected)
{
    struct bytes patch = { malloc(PATCH_HEAD_MOST + base.size + (1 << 16)), 0 };
    assert_non_null(patch.data);
    patch.size = (size_t)(put_patch(patch.data, base.data, result.data, &twist) - patch.data);
    assert_patched(base, patch, result, expected);
    free(patch.data);
    free(result.data);
}

/* ---- one filter */

static const struct recipe blocked = { BLOOMFILE_LAYOUT_BLOCKED, EMBEDDED, 512 * 80, 3, 60, 0 };

TEST(head_that_contradicts_its_base_is_refused)
{
    struct bytes base = image_from(blocked);
    static const struct {
        struct twist twist;
        int error;
    } rows[] = {
        { { .layout = 0 }, 0 }, /* correct apart from its twist */
        { { .layout = BLOOMFILE_LAYOUT_CLASSIC }, BLOOMFILE_EPATCH },
        { { .body_size = 64 }, BLOOMFILE_EPATCH },
        { { .body_size = 1 }, BLOOMFILE_EPATCH },
        { { .body_size = -80 * 64 }, BLOOMFILE_EPATCH },
        { { .features = PATCH_OF_LAYER }, BLOOMFILE_EDIFFERENTBASE },
        { { .base_header = 1 }, BLOOMFILE_EDIFFERENTBASE },
        { { .base_body = 1 }, BLOOMFILE_EDIFFERENTBASE },
        { { .result_body = 1 }, BLOOMFILE_EPATCH },
        { { .no_edits = true }, BLOOMFILE_EPATCH },
    };
    for (size_t i = 0; i < ROWS(rows); i++)
        assert_forged(base, copy_of(base), rows[i].twist, rows[i].error);
    free(base.data);
}

/* Empty edits change nothing. */
TEST(edits_beyond_the_limit_of_a_head_are_refused)
{
    struct bytes base = image_from(blocked);
    static const size_t sizes[] = { PATCH_EDITS_MOST, PATCH_EDITS_MOST + 2, 1 << 22 };
    for (size_t i = 0; i < ROWS(sizes); i++) {
        const size_t size = sizes[i];
        struct bytes patch = { calloc(1, PATCH_HEAD_MOST + size), 0 };
        assert_non_null(patch.data);
        uint8_t *end = put_head(patch.data, base.data, base.data, &(struct twist){ .layout = 0 });
        end -= 1 + 4; /* drops the empty list of edits and the checksum */
        end += patch_put_number(end, size);
        memset(end, 0, size);
        end += size;
        put32(end, checksum(patch.data, (size_t)(end - patch.data)));
        end += 4;
        end += patch_put_number(end, checksum_pages(get64(base.data + AT_body_size)));
        patch.size = (size_t)(end - patch.data);
        assert_patched(base, patch, base, size <= PATCH_EDITS_MOST ? 0 : BLOOMFILE_EPATCH);
        free(patch.data);
    }
    free(base.data);
}

/* ---- the header of the result */

static void put_in_records(uint8_t *image, uint32_t at, uint64_t value, unsigned size)
{
    for (unsigned slot = 0; slot < 2; slot++) {
        uint8_t *to = record_at(image, slot) + at;
        if (size == 4)
            put32(to, (uint32_t)value);
        else
            put64(to, value);
    }
}

static void no_header(uint8_t *image)
{
    put32(image + AT_k, 0);
}

static void another_layout(uint8_t *image)
{
    put32(image + AT_layout, BLOOMFILE_LAYOUT_CLASSIC);
}

static void fewer_bits(uint8_t *image)
{
    put64(image + AT_m, get64(image + AT_m) - 1);
    put64(image + AT_m_unfolded, get64(image + AT_m));
}

static void more_positions(uint8_t *image)
{
    put32(image + AT_k, get32(image + AT_k) + 1);
}

static void another_seed(uint8_t *image)
{
    const uint64_t seed = get64(image + AT_seed) + 1;
    put64(image + AT_seed, seed);
    put64(image + AT_self_test, hash_self_test(seed));
}

static void hash_of_an_application(uint8_t *image)
{
    put32(image + AT_hash_id, HASH_APPLICATIONS_FROM);
}

static void another_self_test(uint8_t *image)
{
    put64(image + AT_self_test, get64(image + AT_self_test) + 1);
}

static void live(uint8_t *image)
{
    put_in_records(image, RECORD_AT_sequence, 1, 8);
    put_in_records(image, RECORD_AT_state, BLOOMFILE_STATE_LIVE, 4);
    put_in_records(image, RECORD_AT_body_crc, 0, 4);
    put_in_records(image, RECORD_AT_identity, 1, 8);
}

static void one_layer(uint8_t *image)
{
    put32(image + AT_incompat, HEADER_INCOMPAT_LAYER);
    put32(image + AT_layers, 1);
    put64(image + AT_rest_size, get64(image + AT_body_offset) + get64(image + AT_body_size) +
                                    4 * checksum_pages(get64(image + AT_body_size)));
}

static void more_ones(uint8_t *image)
{
    put_in_records(image, RECORD_AT_ones, get64(record_at(image, 0) + RECORD_AT_ones) + 1, 8);
}

static void more_overflow(uint8_t *image)
{
    put_in_records(image, RECORD_AT_overflow, get64(record_at(image, 0) + RECORD_AT_overflow) + 1,
                   8);
}

static void another_body(uint8_t *image)
{
    put_in_records(image, RECORD_AT_body_crc, get32(record_at(image, 0) + RECORD_AT_body_crc) + 1,
                   4);
}

/* Sets a bit after the last bit of keys: in the same byte, so that it is counted; */
static void unclean_byte(uint8_t *image)
{
    image[get64(image + AT_body_offset) + get64(image + AT_m) / 8] |= 0x80;
    reseal_body(image);
    more_ones(image);
}

/* and in the last byte of the body. */
static void unclean_end(uint8_t *image)
{
    image[get64(image + AT_body_offset) + get64(image + AT_body_size) - 1] |= 0x80;
    reseal_body(image);
}

TEST(result_that_contradicts_its_base_is_refused)
{
    const struct recipe classic = { BLOOMFILE_LAYOUT_CLASSIC, EMBEDDED, 39998, 3, 60, 0 },
                        counting = { BLOOMFILE_LAYOUT_COUNTING, EMBEDDED, 10000, 3, 60, 0 };
    const struct {
        struct recipe recipe;
        bool file;
        void (*change)(uint8_t *image);
        void (*before)(uint8_t *image); /* changes base and result */
    } rows[] = {
        { blocked, false, no_header, NULL },
        { blocked, false, another_layout, NULL },
        { classic, false, fewer_bits, NULL },
        { blocked, true, live, NULL },
        { blocked, true, one_layer, NULL },
        { blocked, false, more_ones, NULL },
        { counting, false, more_overflow, NULL },
        { counting, true, another_body, NULL },
        { classic, false, unclean_byte, NULL },
        { classic, false, unclean_end, NULL },
        { classic, true, unclean_byte, NULL },
        { classic, true, unclean_end, NULL },
        { classic, true, more_positions, NULL },
        { classic, true, another_seed, NULL },
        { classic, true, hash_of_an_application, NULL },
        { classic, true, another_self_test, hash_of_an_application },
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct bytes base = image_from(rows[i].recipe);
        if (rows[i].file)
            base = with_file_header(base);
        if (rows[i].before != NULL) {
            rows[i].before(base.data);
            reseal_header(base.data);
        }
        struct bytes result = copy_of(base);
        rows[i].change(result.data);
        reseal_header(result.data);
        assert_forged(base, result, (struct twist){ .layout = 0 }, BLOOMFILE_EPATCH);
        free(base.data);
    }
}

/* A part that sets the first 0 bit of the first block. In a block, typically `typical` bits are
 * set. */
static uint8_t *put_part_of_one_bit(uint8_t *to, const uint8_t *base, uint64_t typical)
{
    const uint8_t *block = base + get64(base + AT_body_offset);
    uint8_t *begin = to, string[600];
    unsigned zeros = 0;
    for (size_t i = 0; i < CELLS_UNIT_SIZE; i++)
        zeros += 8 - (unsigned)__builtin_popcount(block[i]);
    struct bits_writer w = { .at = string };
    bits_put_rice(&w, 0, 0);                 /* the first block */
    bits_put_rice(&w, 2 * (typical - 1), 3); /* one bit */
    bits_put_truncated(&w, 0, zeros);        /* the first of its zeros */
    const size_t size = (size_t)(bits_end(&w) - string);
    to += patch_put_number(to, 0);
    to += patch_put_number(to, checksum_pages(get64(base + AT_body_size)));
    to += patch_put_number(to, 1);
    *to++ = 0;
    to += patch_put_number(to, typical);
    *to++ = 3;
    to += patch_put_number(to, size);
    to += patch_put_number(to, 0); /* no bit is cleared */
    memcpy(to, string, size);
    to += size;
    put32(to, checksum(begin, (size_t)(to - begin)));
    return to + 4;
}

TEST(more_changes_than_bits_in_a_block_are_refused)
{
    static const uint64_t typicals[] = { 1, 2, CELLS_UNIT, CELLS_UNIT + 1 };
    struct bytes base = image_from(blocked), result = copy_of(base);
    uint8_t *block = result.data + get64(base.data + AT_body_offset);
    for (size_t i = 0; i < CELLS_UNIT_SIZE; i++)
        if (block[i] != 0xFF) {
            block[i] |= (uint8_t)(block[i] + 1);
            break;
        }
    reseal_body(result.data);
    more_ones(result.data);
    reseal_header(result.data);
    for (size_t i = 0; i < ROWS(typicals); i++) {
        struct bytes patch = { malloc(PATCH_HEAD_MOST + 1000), 0 };
        assert_non_null(patch.data);
        uint8_t *end = put_head(patch.data, base.data, result.data, &(struct twist){ .layout = 0 });
        end = put_part_of_one_bit(end, base.data, typicals[i]);
        end += patch_put_number(end, 0);
        patch.size = (size_t)(end - patch.data);
        assert_patched(base, patch, result, typicals[i] <= CELLS_UNIT ? 0 : BLOOMFILE_EPATCH);
        free(patch.data);
    }
    free(base.data);
    free(result.data);
}

/* The head of a part with one change in one block, and nothing after it. */
static void assert_part_head_refused(const uint8_t *typical, size_t typical_size, uint64_t size,
                                     int expected)
{
    struct bytes base = image_from(blocked);
    uint8_t patch[PATCH_HEAD_MOST + 100] = { 0 };
    uint8_t *to = put_head(patch, base.data, base.data, &(struct twist){ .layout = 0 });
    to += patch_put_number(to, 0);
    to += patch_put_number(to, checksum_pages(get64(base.data + AT_body_size)));
    to += patch_put_number(to, 1);
    *to++ = 0;
    memcpy(to, typical, typical_size);
    to += typical_size;
    *to++ = 3;
    to += patch_put_number(to, size);
    to += patch_put_number(to, 0);
    assert_patched(base, (struct bytes){ patch, (size_t)(to - patch) }, base, expected);
    free(base.data);
}

TEST(invalid_head_of_a_part_is_refused_before_its_strings_are_read)
{
    assert_part_head_refused((const uint8_t[]){ 1 }, 1, PART_STRINGS_MOST, BLOOMFILE_ETRUNCATED);
    assert_part_head_refused((const uint8_t[]){ 1 }, 1, PART_STRINGS_MOST + 1, BLOOMFILE_EPATCH);
    assert_part_head_refused((const uint8_t[]){ 0 }, 1, 1, BLOOMFILE_EPATCH);
    assert_part_head_refused((const uint8_t[]){ 0x81, 0 }, 2, 1, BLOOMFILE_EPATCH); /* too long */
}

TEST_IN_DIR(patch_cannot_change_the_place_of_a_slice)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.capacity = 60;
    params.bits = 512 * 128;
    params.hashes = 3;
    params.slices = 2;
    bloomfile_builder *b = new_builder(params);
    add_numbers(b, 0, 60);
    struct bytes base = finish_file(b);
    bloomfile_builder_free(b);
    for (uint32_t at = AT_first_block; at <= AT_whole_blocks; at += 8) {
        struct bytes result = copy_of(base);
        put64(result.data + AT_whole_blocks, get64(base.data + AT_whole_blocks) + 64);
        put64(result.data + at, get64(base.data + at) + 64);
        reseal_header(result.data);
        assert_forged(base, result, (struct twist){ .layout = 0 }, BLOOMFILE_EPATCH);
    }
    assert_forged(base, copy_of(base), (struct twist){ .layout = 0 }, 0);
    free(base.data);
}

/* ---- series */

enum {
    KEYS_OF_THREE = 10000
};

static uint8_t *next_layer(uint8_t *layer)
{
    struct header h;
    struct header_faults faults = { .list = NULL };
    decode_header(layer, get64(layer + AT_rest_size), &h, &faults);
    assert_int_equal(faults.first, 0);
    return layer + header_layer_stride(&h);
}

static struct bytes patch_of_series(struct bytes base, struct bytes result, uint32_t last_features)
{
    struct bytes patch = { malloc(3 * PATCH_HEAD_MOST + base.size), 0 };
    assert_non_null(patch.data);
    uint8_t *end = patch.data, *from = base.data;
    for (size_t layer = 0; layer < 3; layer++) {
        const struct twist twist = { .features = layer < 2 ? PATCH_OF_LAYER | PATCH_FOLLOWED
                                                           : last_features };
        end = put_patch(end, from, result.data + (from - base.data), &twist);
        from = layer < 2 ? next_layer(from) : from;
    }
    patch.size = (size_t)(end - patch.data);
    return patch;
}

static void add_to_layers(uint8_t *layer)
{
    put32(layer + AT_layers, get32(layer + AT_layers) + 1);
}

static void add_to_layer(uint8_t *layer)
{
    put64(layer + AT_layer, get64(layer + AT_layer) + 1);
}

static void take_from_layer(uint8_t *layer)
{
    put64(layer + AT_layer, get64(layer + AT_layer) - 1);
}

static void add_to_link(uint8_t *layer)
{
    put64(layer + AT_link, get64(layer + AT_link) + 1);
}

static void no_layer(uint8_t *layer)
{
    put32(layer + AT_incompat, 0);
    memset(layer + AT_series, 0, 64);
}

TEST(patch_cannot_change_the_place_of_a_layer)
{
    static const struct {
        unsigned layer;
        void (*change)(uint8_t *layer);
    } rows[] = {
        { 0, add_to_layers }, { 0, add_to_layer },    { 0, add_to_link }, { 1, add_to_link },
        { 1, add_to_layers }, { 2, take_from_layer }, { 2, no_layer },
    };
    struct bytes base = series_image(BLOOMFILE_LAYOUT_BLOCKED, KEYS_OF_THREE);
    struct bytes patch = patch_of_series(base, base, PATCH_OF_LAYER);
    assert_patched(base, patch, base, 0);
    free(patch.data);
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct bytes result = copy_of(base);
        uint8_t *layer = result.data;
        for (unsigned l = 0; l < rows[i].layer; l++)
            layer = next_layer(layer);
        rows[i].change(layer);
        reseal_header(layer);
        patch = patch_of_series(base, result, PATCH_OF_LAYER);
        assert_patched(base, patch, base, BLOOMFILE_EPATCH);
        free(patch.data);
        free(result.data);
    }
    free(base.data);
}

TEST(patch_whose_last_layer_is_a_plain_filter_is_refused)
{
    struct bytes base = series_image(BLOOMFILE_LAYOUT_BLOCKED, KEYS_OF_THREE),
                 patch = patch_of_series(base, base, 0);
    assert_patched(base, patch, base, BLOOMFILE_EDIFFERENTBASE);
    struct bloomfile_patch_info info = BLOOMFILE_PATCH_INFO_INIT;
    const int fd = new_fd(patch);
    assert_error(bloomfile_get_patch_info(FROM_FD(fd), &info), BLOOMFILE_EPATCH);
    close(fd);
    free(patch.data);
    free(base.data);
}

/* A layer alone has no patch, and a series of one layer differs from a filter of the same size. */
TEST(delta_and_patch_refuse_a_layer_in_place_of_a_filter)
{
    struct bytes image = series_image(BLOOMFILE_LAYOUT_BLOCKED, KEYS_OF_THREE),
                 short_one = series_image(BLOOMFILE_LAYOUT_BLOCKED, 10);
    bloomfile_filter *f = open_image(image, 0), *one = open_image(short_one, 0);
    const bloomfile_filter *layer = bloomfile_layer(f, 1);
    const int nothing = new_fd((struct bytes){ NULL, 0 });
    assert_error(bloomfile_delta(TO_FD(nothing, NULL), layer, layer, 1), BLOOMFILE_EISSERIES);
    assert_error(bloomfile_delta(TO_FD(nothing, NULL), f, layer, 1), BLOOMFILE_EISSERIES);
    assert_error(bloomfile_patch(TO_FD(nothing, NULL), layer, FROM_FD(nothing), 1),
                 BLOOMFILE_EISSERIES);
    assert_int_equal(bloomfile_layers(one), 1);
    struct bytes whole = copy_of(short_one);
    no_layer(whole.data);
    reseal_header(whole.data);
    bloomfile_filter *alone = open_image(whole, 0);
    assert_error(bloomfile_delta(TO_FD(nothing, NULL), one, alone, 1), BLOOMFILE_EDIFFERENTBITS);
    assert_error(bloomfile_delta(TO_FD(nothing, NULL), alone, one, 1), BLOOMFILE_EDIFFERENTBITS);
    assert_int_equal(lseek(nothing, 0, SEEK_END), 0);
    close(nothing);
    bloomfile_close(alone);
    bloomfile_close(one);
    bloomfile_close(f);
    free(whole.data);
    free(short_one.data);
    free(image.data);
}

TEST_IN_DIR(more_than_1024_threads_are_refused)
{
    struct bytes base = image_from(blocked);
    bloomfile_filter *f = open_image(base, 0);
    assert_error(bloomfile_patch(TO_PATH("x", 0), f, FROM_FD(-1), 1025), BLOOMFILE_EVALUE);
    assert_error(bloomfile_patch(TO_FD(-1, NULL), f, FROM_FD(-1), 1025), BLOOMFILE_EVALUE);
    assert_int_equal(access("x", F_OK), -1);
    bloomfile_close(f);
    free(base.data);
}

/* ---- codes */

#define ROOM (1u << 16)

TEST(numbers_of_any_size_are_coded)
{
    static uint8_t room[ROOM + BITS_SLACK];
    for (unsigned k = 0; k <= BITS_PARAMETER; k++) {
        uint64_t values[200], seed = k;
        for (size_t i = 0; i < ROWS(values); i++) {
            const uint64_t most = 1ull << (k + i % 6), random = random64(&seed);
            values[i] = i % 3 == 0 ? most - 1 : i % 3 == 1 ? most : random % most;
        }
        values[3] = (1000ull << k) & ((1ull << BITS_VALUE_MOST) - 1); /* zeros over several words */
        struct bits_writer w = { .at = room };
        for (size_t i = 0; i < ROWS(values); i++)
            bits_put_rice(&w, values[i], k);
        struct bits_reader r = { .bytes = room, .end = 8 * (uint64_t)(bits_end(&w) - room) };
        for (size_t i = 0; i < ROWS(values); i++) {
            assert_false(bits_at_end(&r));
            assert_int_equal(bits_get_rice(&r, k), values[i]);
        }
        assert_true(bits_at_end(&r));
    }
}

/* Where one refill of the string does not show all of its zeros. */
TEST(number_may_end_at_the_end_of_its_string)
{
    static uint8_t room[64 + BITS_SLACK];
    for (unsigned zeros = 0; zeros < 400; zeros++) {
        struct bits_writer w = { .at = room };
        bits_put_rice(&w, zeros, 0);
        assert_int_equal(bits_end(&w) - room, (zeros + 8) / 8);
        struct bits_reader r = { .bytes = room, .end = zeros + 1 };
        assert_int_equal(bits_get_rice(&r, 0), zeros);
        assert_false(r.wrong);
        assert_int_equal(r.at, r.end);
    }
}

/* A number of more than BITS_VALUE_MOST bits, and strings that end inside a number. */
TEST(oversized_and_truncated_numbers_are_rejected)
{
    static uint8_t room[64 + BITS_SLACK];
    for (unsigned k = BITS_VALUE_MOST - 8; k <= BITS_PARAMETER; k++) {
        struct bits_writer w = { .at = room };
        bits_put_rice(&w, 1ull << BITS_VALUE_MOST, k);
        const uint64_t end = 8 * (uint64_t)(bits_end(&w) - room);
        struct bits_reader r = { .bytes = room, .end = end };
        assert_int_equal(bits_get_rice(&r, k), 0);
        assert_true(r.wrong);
        assert_false(bits_at_end(&r));
        w = (struct bits_writer){ .at = room };
        const uint64_t most = (1ull << BITS_VALUE_MOST) - 1;
        bits_put_rice(&w, most, k);
        const uint64_t bits = (most >> k) + 1 + k;
        for (uint64_t cut = 0; cut <= bits; cut++) {
            r = (struct bits_reader){ .bytes = room, .end = cut };
            const uint64_t got = bits_get_rice(&r, k);
            assert_int_equal(r.wrong, cut < bits);
            if (cut == bits)
                assert_int_equal(got, most);
        }
    }
}

int main(void)
{
    return run_all(NULL, NULL);
}
