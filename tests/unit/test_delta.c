/* SPDX-License-Identifier: MIT
 * Patches (doc/format/patches.md): their results, and refusals. */
#include "spec_text.h"

#include <bloomfile_delta.h>
#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "delta/encode.h"
#include "format/bytes.h"
#include "format/checksum.h"

static const uint32_t layouts[] = { BLOOMFILE_LAYOUT_BLOCKED, BLOOMFILE_LAYOUT_CLASSIC,
                                    BLOOMFILE_LAYOUT_COUNTING };

/* ---- patches in memory */

static int new_fd(struct bytes content)
{
    const int fd = memfd_create("test", 0);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content.data, content.size), content.size);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

static struct bytes all_of(int fd)
{
    struct bytes b = { NULL, (size_t)lseek(fd, 0, SEEK_END) };
    b.data = malloc(b.size + 1);
    assert_non_null(b.data);
    assert_int_equal(pread(fd, b.data, b.size, 0), b.size);
    close(fd);
    return b;
}

static int delta_of(struct bytes *patch, struct bytes base, struct bytes result, unsigned threads)
{
    bloomfile_filter *a = open_image(base, 0), *b = open_image(result, 0);
    const int fd = new_fd((struct bytes){ NULL, 0 });
    int error = bloomfile_delta(TO_FD(fd, NULL), a, b, threads);
    *patch = all_of(fd);
    bloomfile_close(a);
    bloomfile_close(b);
    return error;
}

static int patched(struct bytes *result, struct bytes base, struct bytes patch, unsigned threads)
{
    bloomfile_filter *a = open_image(base, 0);
    const int to = new_fd((struct bytes){ NULL, 0 }), from = new_fd(patch);
    int error = bloomfile_patch(TO_FD(to, NULL), a, FROM_FD(from), threads);
    *result = all_of(to);
    if (error != 0)
        assert_int_equal(result->size, 0);
    close(from);
    bloomfile_close(a);
    return error;
}

static struct bytes delta(struct bytes base, struct bytes result)
{
    struct bytes patch;
    assert_error(delta_of(&patch, base, result, 1), 0);
    return patch;
}

static void assert_refused(struct bytes base, struct bytes patch, int expected)
{
    struct bytes nothing;
    assert_error(patched(&nothing, base, patch, 1), expected);
    free(nothing.data);
}

static void assert_trip(struct bytes base, struct bytes result)
{
    struct bytes patch = delta(base, result), again;
    for (unsigned threads = 1; threads <= 5; threads += 2) {
        assert_error(delta_of(&again, base, result, threads), 0);
        assert_int_equal(again.size, patch.size);
        assert_memory_equal(again.data, patch.data, patch.size);
        free(again.data);
        assert_error(patched(&again, base, patch, threads), 0);
        assert_int_equal(again.size, result.size);
        assert_memory_equal(again.data, result.data, result.size);
        free(again.data);
    }
    struct bloomfile_patch_info info = BLOOMFILE_PATCH_INFO_INIT;
    const int fd = new_fd(patch);
    assert_error(bloomfile_get_patch_info(FROM_FD(fd), &info), 0);
    assert_int_equal(info.patch_size, patch.size);
    close(fd);
    free(patch.data);
}

/* ---- results */

static uint64_t bits_of(uint32_t layout, uint64_t pages)
{
    const uint64_t bits = pages * 32768;
    return layout == BLOOMFILE_LAYOUT_COUNTING  ? bits / 4 - 3
           : layout == BLOOMFILE_LAYOUT_CLASSIC ? bits - 7
                                                : bits;
}

/* A body in which each cell is set with a probability of odds / 256. */
static struct bytes image_of_chance(uint32_t layout, uint64_t bits, unsigned odds, uint64_t seed,
                                    uint32_t hash_seed)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.layout = layout;
    params.bits = bits;
    params.hashes = 3;
    params.seed = hash_seed;
    const unsigned cell = layout == BLOOMFILE_LAYOUT_COUNTING ? 4 : 1;
    uint8_t *body = calloc(1, (size_t)(bits * cell / 8 + 1));
    assert_non_null(body);
    for (uint64_t i = 0; i < bits; i++)
        if ((random64(&seed) >> 33) % 256 < odds)
            body[i * cell / 8] |=
                (uint8_t)((cell == 1 ? 1 : (random64(&seed) >> 40) % 16) << i * cell % 8);
    struct bytes image;
    void *at;
    assert_error(
        assemble_memory(&at, &image.size, &params, body, (size_t)(bits * cell + 7) / 8, 0, odds),
        0);
    image.data = malloc(image.size);
    assert_non_null(image.data);
    memcpy(image.data, at, image.size);
    bloomfile_free(at);
    free(body);
    return image;
}

/* All to nothing, half to half, few to few. The last rows have parts with few and with many
 * changes. */
TEST(patch_exists_between_any_two_bodies)
{
    static const unsigned odds[][2] = { { 0, 0 }, { 0, 256 },   { 256, 0 },  { 128, 128 },
                                        { 0, 1 }, { 255, 254 }, { 200, 60 }, { 1, 1 } };
    static const uint64_t pages[] = { 1, 5 };
    for (size_t l = 0; l < ROWS(layouts); l++)
        for (size_t p = 0; p < ROWS(pages); p++)
            for (size_t i = 0; i < ROWS(odds); i++) {
                const uint64_t bits = bits_of(layouts[l], pages[p]);
                struct bytes base = image_of_chance(layouts[l], bits, odds[i][0], 1, 0),
                             result = image_of_chance(layouts[l], bits, odds[i][1], 2, 0);
                assert_trip(base, result);
                struct bytes base_file = with_file_header(base),
                             result_file = with_file_header(result);
                assert_trip(base_file, result_file);
                free(base_file.data);
                free(result_file.data);
            }
}

static struct bytes with_keys(uint32_t layout, uint64_t bits, uint64_t from, uint64_t to)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.layout = layout;
    params.bits = bits;
    params.hashes = 6;
    params.capacity = to;
    bloomfile_builder *b = new_builder(params);
    add_numbers(b, from, to);
    return last_image(b);
}

/* ThreadSanitizer is slow. */
#ifdef __SANITIZE_THREAD__
#define LARGE 1
#else
#define LARGE ROWS(layouts)
#endif

/* Many pages: parts end because of their changes, because of their pages, or because the next
 * pages are unchanged. */
TEST(added_and_removed_keys_are_patched)
{
    for (size_t l = 0; l < LARGE; l++) {
        const uint64_t bits = bits_of(layouts[l], 3000);
        struct bytes base = with_keys(layouts[l], bits, 0, 100000),
                     more = with_keys(layouts[l], bits, 0, 101000),
                     others = with_keys(layouts[l], bits, 30000, 130000),
                     few = with_keys(layouts[l], bits, 0, 100003);
        assert_trip(base, more);
        assert_trip(more, base);
        assert_trip(base, others);
        assert_trip(base, few);
        free(base.data);
        free(more.data);
        free(others.data);
        free(few.data);
    }
}

enum {
    PAGES_OF_PARTS = 1060 /* more than a part of few changes covers */
};

/* Sets `ones` bits in each of the first pages, and a bit in page `another`, unless that is 0. */
static struct bytes image_with_ones(size_t pages, unsigned ones, size_t another)
{
    const struct bloomfile_params params = { .struct_size = sizeof params,
                                             .layout = BLOOMFILE_LAYOUT_CLASSIC,
                                             .bits = PAGES_OF_PARTS * 32768,
                                             .hashes = 1 };
    struct bytes image;
    void *made;
    uint8_t *body = calloc(PAGES_OF_PARTS, 4096);
    assert_non_null(body);
    for (size_t i = 0; i < pages * 4096; i += 4096)
        for (unsigned bit = 0; bit < ones; bit++)
            body[i + bit / 8] |= (uint8_t)(1u << bit % 8);
    body[another * 4096] |= another != 0;
    assert_error(assemble_memory(&made, &image.size, &params, body, PAGES_OF_PARTS * 4096, 0, 0),
                 0);
    free(body);
    image.data = made;
    return image;
}

/* patches.md 5, "The same bytes". */
TEST(parts_end_where_the_specification_requires)
{
    static const struct {
        size_t pages;
        unsigned ones;
        size_t another;
        uint64_t parts;
    } rows[] = {
        { 1, 32767, 1, 1 },   { 1, 32768, 1, 2 },   /* after this many cells */
        { 1023, 1, 1050, 1 }, { 1024, 1, 1050, 2 }, /* or after 1024 changed pages */
        { 1000, 2, 1020, 1 }, { 1000, 2, 1050, 2 },
    };
    const struct bytes none = image_with_ones(0, 0, 0);
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct bytes some = image_with_ones(rows[i].pages, rows[i].ones, rows[i].another);
        struct bloomfile_patch_info info = BLOOMFILE_PATCH_INFO_INIT;
        struct bytes patch = delta(none, some);
        const int fd = new_fd(patch);
        assert_error(bloomfile_get_patch_info(FROM_FD(fd), &info), 0);
        assert_int_equal(info.parts, rows[i].parts);
        close(fd);
        free(patch.data);
        free(some.data);
    }
    free(none.data);
}

/* Including bytes that no field names, and the record that is not in force. */
TEST(patch_restores_every_byte_of_the_header)
{
    struct bytes base = with_file_header(image_from(small_recipes[1])),
                 result = with_file_header(image_from(small_recipes[1]));
    for (size_t at = 244; at < 2044; at += 5)
        result.data[at] = (uint8_t)(at / 5 % 3);
    result.data[16] |= 0x40;     /* compat */
    result.data[2048 + 300] = 7; /* in both records */
    result.data[3072 + 300] = 7;
    reseal_header(result.data);
    assert_trip(base, result);
    assert_trip(result, base);

    struct bytes cut_off = with_file_header(image_from(small_recipes[1]));
    put64(cut_off.data + 3072, 9); /* sealing was interrupted: the other record is still live */
    put32(cut_off.data + 3072 + 8, 1);
    put32(cut_off.data + 3072 + 56, 0);
    reseal_record(cut_off.data, 1);
    assert_trip(base, cut_off);
    assert_trip(cut_off, base);
    struct bytes patch = delta(base, result);
    assert_refused(cut_off, patch, BLOOMFILE_EDIFFERENTBASE);
    free(patch.data);
    free(cut_off.data);
    free(base.data);
    free(result.data);
}

TEST(fast_and_portable_patch_code_agree)
{
#ifdef __x86_64__
    if (changes_best() == &changes_plain)
        skip("the processor has no faster instructions");
    enum {
        SIZE = 4096,
        ROOM = 8 * SIZE
    };
    static uint8_t old[SIZE], new[SIZE], to[2][SIZE];
    static uint64_t gaps[2][3][ROOM];
    static uint16_t numbers[2][3][3][ROOM];
    static uint8_t moves[2][ROOM];
    const struct changes *const both[] = { &changes_plain, &changes_bmi2 };
    uint64_t seed = 5;
    for (unsigned round = 0; round < 60; round++) {
        const enum cells_kind kind = round % 3;
        for (size_t i = 0; i < SIZE; i++) {
            old[i] = (uint8_t)(random64(&seed) >> 30);
            new[i] = old[i] ^
                     ((random64(&seed) >> 40) % 64 < round ? (uint8_t)(random64(&seed) >> 50) : 0);
        }
        struct changes_found found[2][CELLS_CHANGES] = { 0 };
        for (int s = 0; s < 2; s++) {
            for (int i = 0; i < CELLS_CHANGES; i++)
                found[s][i] = (struct changes_found){ .gaps = gaps[s][i],
                                                      .counts = numbers[s][i][0],
                                                      .eligible = numbers[s][i][1],
                                                      .skips = numbers[s][i][2],
                                                      .moves = moves[s] };
            both[s]->find(kind, old, new, SIZE, found[s]);
        }
        assert_int_equal(both[0]->compare(kind, old, new, SIZE),
                         both[1]->compare(kind, old, new, SIZE));
        for (int i = 0; i < CELLS_CHANGES; i++) {
            assert_int_equal(found[0][i].units, found[1][i].units);
            assert_int_equal(found[0][i].cells, found[1][i].cells);
            assert_int_equal(found[0][i].skipped, found[1][i].skipped);
            assert_memory_equal(gaps[0][i], gaps[1][i], 8 * found[0][i].units);
            assert_memory_equal(numbers[0][i], numbers[1][i], sizeof numbers[0][i]);
        }
        assert_memory_equal(moves[0], moves[1], sizeof moves[0]);
        /* Any bits decode as a string. */
        for (int s = 0; s < 2; s++) {
            memcpy(to[s], old, SIZE);
            struct changes_stream stream = { .bits = { .bytes = new, .end = 8 * (SIZE - 8) },
                                             .units = 3000,
                                             .gap_bits = 2,
                                             .count_bits = 1,
                                             .typical = 5 };
            both[s]->make(kind, round / 3 % (kind == CELLS_OF_COUNTERS ? 3 : 2), old, to[s], SIZE,
                          &stream);
        }
        assert_memory_equal(to[0], to[1], SIZE);
    }
#endif
}

enum {
    BODY_PAGES = 40,
    BODY = BODY_PAGES * CHECKSUM_PAGE,
};

/* A body filled with the byte, and the checksums of its pages, or of pages of zeros. */
static void fill_body(uint8_t *body, uint8_t byte, bool checked)
{
    memset(body, checked ? byte : 0, BODY);
    for (unsigned page = 0; page < BODY_PAGES; page++)
        put32(body + BODY + 4 * page, checksum(body, CHECKSUM_PAGE));
    memset(body, byte, BODY);
}

/* Another process writes to a file between the passes, and perhaps to its checksums. Then the
 * second pass finds more changes than the first one counted. */
TEST(body_that_changes_between_the_passes_fails_the_delta)
{
    static uint8_t bodies[ENCODE_BOTH][BODY + 4 * BODY_PAGES];
    uint8_t *old = bodies[ENCODE_OLD], *new = bodies[ENCODE_NEW];
    const struct header h = { .header_size = 4096,
                              .layout = BLOOMFILE_LAYOUT_BLOCKED,
                              .m = 8 * BODY,
                              .k = 1,
                              .body_size = BODY };
    struct guard guards[ENCODE_BOTH];
    struct body_check checks[ENCODE_BOTH];
    for (int i = 0; i < ENCODE_BOTH; i++) {
        assert_error(guard_start(&guards[i], bodies[i], BODY, 0, false), 0);
        body_check_start(&checks[i], &h, bodies[i], &guards[i]);
    }
    fill_body(old, 0, true);
    uint16_t counts[BODY_PAGES];
    const struct encode_source source = { BODY, counts };
    for (unsigned kind = CELLS_OF_BLOCKS; kind <= CELLS_OF_COUNTERS; kind++) {
        for (size_t i = 0; i < ROWS(counts); i++)
            counts[i] = 1;
        struct encoder e;
        size_t size;
        assert_error(encoder_start(&e, kind, checks), 0);
        fill_body(new, 0xFF, true);
        assert_null(encode_part(&e, &source, 0, 0, BODY_PAGES, &size));
        assert_int_equal(e.checks[ENCODE_NEW].first_bad, UINT64_MAX);
        encoder_release(&e);
        assert_error(encoder_start(&e, kind, checks), 0);
        fill_body(new, 0, true);
        assert_non_null(encode_part(&e, &source, 0, 0, BODY_PAGES, &size));
        assert_in_range(size, 5, 20);
        encoder_release(&e);
        assert_error(encoder_start(&e, kind, checks), 0);
        fill_body(new, 1, false);
        assert_null(encode_part(&e, &source, 0, 0, BODY_PAGES, &size));
        assert_int_equal(e.checks[ENCODE_NEW].first_bad, 0);
        encoder_release(&e);
    }
    for (int i = 0; i < ENCODE_BOTH; i++)
        guard_release(&guards[i]);
}

/* ---- the vectors of the text */

static struct bytes vector_image(const char *layout, uint64_t m, unsigned k, uint64_t seed,
                                 unsigned header_size, unsigned keys)
{
    static uint8_t test_string[4096];
    for (size_t i = 0; i < sizeof test_string; i++)
        test_string[i] = (uint8_t)(128 + 157 * i);
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    for (uint32_t l = 1; l <= 3; l++)
        if (strcmp(bloomfile_layout_name(l), layout) == 0)
            params.layout = l;
    params.bits = m;
    params.hashes = k;
    params.seed = seed;
    bloomfile_builder *b = new_builder(params);
    for (unsigned i = 0; i < keys; i++)
        assert_error(bloomfile_builder_add(b, test_string, i), 0);
    if (header_size == EMBEDDED)
        return last_image(b);
    struct bytes file = finish_file(b);
    bloomfile_builder_free(b);
    return file;
}

TEST_IN_DIR(patches_match_the_vectors)
{
    for_each_vector(line, "patch", 10)
    {
        char layout[16], seed[17];
        unsigned long long m;
        unsigned k, header_size, from, to;
        int length = 0;
        if (sscanf(line,
                   "patch %15[a-z] m=%llu k=%u seed=%16[0-9a-f] header_size=%u from=%u to=%u %n",
                   layout, &m, &k, seed, &header_size, &from, &to, &length) != 7 ||
            length == 0)
            fail_msg("not understood: %s", line);
        struct bytes base = vector_image(layout, m, k, hex(seed), header_size, from),
                     result = vector_image(layout, m, k, hex(seed), header_size, to),
                     patch = delta(base, result);
        assert_int_equal(strlen(line + length), 2 * patch.size);
        for (size_t i = 0; i < patch.size; i++) {
            const char digits[] = { line[length + 2 * i], line[length + 2 * i + 1], '\0' };
            assert_int_equal(hex(digits), patch.data[i]);
        }
        assert_trip(base, result);
        free(patch.data);
        free(base.data);
        free(result.data);
    }
}

/* ---- refusals */

TEST(filters_of_different_shapes_are_refused)
{
    const struct recipe recipe = { BLOOMFILE_LAYOUT_CLASSIC, EMBEDDED, 1000, 3, 10, 0 };
    struct recipe others[] = { recipe, recipe, recipe, recipe };
    others[0].layout = BLOOMFILE_LAYOUT_COUNTING;
    others[1].k = 4;
    others[2].seed = 1;
    others[3].m = 1001;
    static const int errors[] = { BLOOMFILE_EDIFFERENTLAYOUT, BLOOMFILE_EDIFFERENTHASHCOUNT,
                                  BLOOMFILE_EDIFFERENTSEED, BLOOMFILE_EDIFFERENTBITS };
    struct bytes base = image_from(recipe), patch;
    for (size_t i = 0; i < ROWS(others); i++) {
        struct bytes other = image_from(others[i]);
        assert_error(delta_of(&patch, base, other, 1), errors[i]);
        assert_int_equal(patch.size, 0);
        free(patch.data);
        free(other.data);
    }
    struct bytes file = with_file_header(image_from(recipe));
    assert_error(delta_of(&patch, base, file, 1), BLOOMFILE_EDIFFERENTFORM);
    free(patch.data);
    assert_error(delta_of(&patch, base, base, 1025), BLOOMFILE_EVALUE);
    free(patch.data);
    free(file.data);
    free(base.data);
}

TEST_IN_DIR(live_filters_are_refused)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.bits = 512;
    params.hashes = 3;
    bloomfile_filter *live, *sealed;
    assert_error(bloomfile_create(&live, "live.bloom", &params, 0), 0);
    assert_int_equal(publish_filter("sealed.bloom", 0, 10), 0);
    assert_error(bloomfile_open(&sealed, "sealed.bloom", 0), 0);
    assert_error(bloomfile_delta(TO_PATH("p", 0), live, sealed, 1), BLOOMFILE_ELIVE);
    assert_error(bloomfile_delta(TO_PATH("p", 0), sealed, live, 1), BLOOMFILE_ELIVE);
    assert_error(bloomfile_patch(TO_PATH("p", 0), live, FROM_FD(0), 1), BLOOMFILE_ELIVE);
    assert_int_equal(access("p", F_OK), -1);
    assert_error(bloomfile_delta(TO_PATH("p", 1), sealed, sealed, 1), BLOOMFILE_EFLAGS);
    bloomfile_close(live);
    bloomfile_close(sealed);
}

TEST(a_damaged_filter_is_refused)
{
    struct bytes base = with_keys(BLOOMFILE_LAYOUT_BLOCKED, 512 * 500, 0, 9000),
                 result = with_keys(BLOOMFILE_LAYOUT_BLOCKED, 512 * 500, 0, 9100),
                 patch = delta(base, result), nothing;
    for (size_t at = EMBEDDED; at < base.size; at += 977) {
        base.data[at] ^= 4;
        assert_error(delta_of(&nothing, base, result, 2), BLOOMFILE_EPAGE);
        assert_int_equal(nothing.size, 0);
        free(nothing.data);
        assert_error(delta_of(&nothing, result, base, 2), BLOOMFILE_EPAGE);
        free(nothing.data);
        assert_error(patched(&nothing, base, patch, 2), BLOOMFILE_EPAGE);
        free(nothing.data);
        base.data[at] ^= 4;
    }
    /* The pages match their checksums, but not the record's count of set bits. */
    for (unsigned slot = 0; slot < 2; slot++) {
        uint8_t *ones = record_at(base.data, slot) + 24;
        put64(ones, get64(ones) + 1);
        reseal_record(base.data, slot);
    }
    assert_error(delta_of(&nothing, base, result, 1), BLOOMFILE_EBODY);
    free(nothing.data);
    free(patch.data);
    free(base.data);
    free(result.data);
}

TEST(patch_is_refused_on_a_different_base)
{
    struct bytes base = with_keys(BLOOMFILE_LAYOUT_CLASSIC, 9999, 0, 500),
                 result = with_keys(BLOOMFILE_LAYOUT_CLASSIC, 9999, 0, 501),
                 third = with_keys(BLOOMFILE_LAYOUT_CLASSIC, 9999, 0, 502),
                 patch = delta(base, result);
    assert_refused(result, patch, BLOOMFILE_EDIFFERENTBASE);
    assert_refused(third, patch, BLOOMFILE_EDIFFERENTBASE);
    base.data[128] = 'x'; /* another label: the same keys in another file */
    reseal_header(base.data);
    assert_refused(base, patch, BLOOMFILE_EDIFFERENTBASE);
    free(patch.data);
    free(base.data);
    free(result.data);
    free(third.data);
}

TEST(every_damaged_byte_and_every_truncation_is_refused)
{
    for (size_t l = 0; l < ROWS(layouts); l++) {
        const uint64_t bits = bits_of(layouts[l], 3);
        struct bytes base = with_keys(layouts[l], bits, 0, 900),
                     result = with_keys(layouts[l], bits, 20, 920), patch = delta(base, result);
        for (size_t at = 0; at < patch.size; at++) {
            struct bytes nothing;
            patch.data[at] ^= (uint8_t)(1 << at % 8);
            const int error = patched(&nothing, base, patch, 1);
            assert_true(error == BLOOMFILE_EPATCH || error == BLOOMFILE_EVERSION ||
                        error == BLOOMFILE_EFEATURE || error == BLOOMFILE_ELAYOUT ||
                        error == BLOOMFILE_ETRUNCATED || error == BLOOMFILE_ETRAILING);
            free(nothing.data);
            patch.data[at] ^= (uint8_t)(1 << at % 8);
            struct bytes shorter = { patch.data, at };
            assert_refused(base, shorter, BLOOMFILE_ETRUNCATED);
        }
        patch.data[patch.size] = 0; /* all_of() has room */
        patch.size++;
        assert_refused(base, patch, BLOOMFILE_ETRAILING);
        free(patch.data);
        free(base.data);
        free(result.data);
    }
}

TEST(truncated_patch_with_wrong_magic_is_refused)
{
    struct bytes base = with_keys(BLOOMFILE_LAYOUT_BLOCKED, bits_of(BLOOMFILE_LAYOUT_BLOCKED, 1), 0,
                                  9),
                 patch = delta(base, base);
    patch.data[0] ^= 1;
    for (size_t size = 0; size < 27; size++)
        assert_refused(base, (struct bytes){ patch.data, size },
                       size < 8 ? BLOOMFILE_ETRUNCATED : BLOOMFILE_EPATCH);
    free(patch.data);
    free(base.data);
}

static size_t size_of_head(struct bytes patch)
{
    size_t at = 27;
    while (patch.data[at++] >= 128)
        ;
    assert_true(patch.data[at] < 128);
    return at + 1 + patch.data[at] + 4;
}

/* The string is not a valid code, but the checksum of its part is correct. */
TEST(invalid_codes_with_a_correct_checksum_are_refused)
{
    uint64_t seed = 77;
    for (size_t l = 0; l < ROWS(layouts); l++) {
        const uint64_t bits = bits_of(layouts[l], 2);
        struct bytes base = with_keys(layouts[l], bits, 0, 900),
                     result = with_keys(layouts[l], bits, 5, 905), patch = delta(base, result);
        const size_t head = size_of_head(patch);
        for (unsigned round = 0; round < 1000; round++) {
            struct bytes bad = { malloc(patch.size), patch.size }, out;
            assert_non_null(bad.data);
            memcpy(bad.data, patch.data, patch.size);
            const size_t end = patch.size - 1 - 4; /* one part, then the end */
            bad.data[head + random64(&seed) % (end - head)] ^= (uint8_t)(1u << random64(&seed) % 8);
            put32(bad.data + end, checksum(bad.data + head, end - head));
            const int error = patched(&out, base, bad, 1);
            assert_true(error == BLOOMFILE_EPATCH || error == BLOOMFILE_ETRUNCATED ||
                        error == BLOOMFILE_ETRAILING);
            free(out.data);
            free(bad.data);
        }
        free(patch.data);
        free(base.data);
        free(result.data);
    }
}

/* ---- files */

TEST_IN_DIR(result_may_replace_its_base)
{
    assert_int_equal(publish_filter("old.bloom", 0, 1000), 0);
    struct bytes old = read_file("old.bloom");
    bloomfile_filter *base, *result, *reader;
    assert_error(bloomfile_open(&base, "old.bloom", 0), 0);
    struct bloomfile_info info = info_of(base);
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.layout = info.layout;
    params.bits = info.bits;
    params.hashes = info.hashes;
    params.seed = info.seed;
    bloomfile_builder *b = new_builder(params);
    add_numbers(b, 0, 1100);
    assert_error(bloomfile_builder_write(b, TO_PATH("new.bloom", 0)), 0);
    bloomfile_builder_free(b);
    assert_error(bloomfile_open(&result, "new.bloom", 0), 0);
    assert_error(bloomfile_delta(TO_PATH("patch", 0), base, result, 1), 0);
    assert_error(bloomfile_delta(TO_PATH("patch", 0), base, result, 1), EEXIST);
    assert_error(bloomfile_delta(TO_PATH("patch", BLOOMFILE_TO_REPLACE), base, result, 1), 0);
    assert_error(bloomfile_open(&reader, "old.bloom", 0), 0);

    int fd = open("patch", O_RDONLY);
    assert_error(bloomfile_patch(TO_PATH("old.bloom", 0), base, FROM_FD(fd), 1), EEXIST);
    assert_file_holds("old.bloom", old.data, old.size);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_error(bloomfile_patch(TO_PATH("old.bloom", BLOOMFILE_TO_REPLACE), base, FROM_FD(fd), 1),
                 0);
    close(fd);
    struct bytes new = read_file("new.bloom");
    assert_file_holds("old.bloom", new.data, new.size);
    assert_int_equal(bloomfile_is_stale(reader), 1);
    assert_error(bloomfile_verify(reader, 1, NULL), 0);
    assert_int_equal(info_of(reader).keys, 1000);
    assert_int_equal(entries_in_dir(), 3);
    bloomfile_close(reader);
    bloomfile_close(base);
    bloomfile_close(result);
    free(old.data);
    free(new.data);
}

TEST_IN_DIR(descriptors_that_cannot_be_read_are_an_error)
{
    struct bytes base = image_from(small_recipes[0]);
    bloomfile_filter *f = open_image(base, 0);
    struct bloomfile_patch_info info = BLOOMFILE_PATCH_INFO_INIT;
    const size_t before = open_descriptors();
    assert_error(bloomfile_patch(TO_PATH("x", 0), f, FROM_FD(-1), 1), EBADF);
    assert_error(bloomfile_get_patch_info(FROM_FD(-1), &info), EBADF);
    info.struct_size = 3;
    assert_error(bloomfile_get_patch_info(FROM_FD(-1), &info), BLOOMFILE_ESTRUCTSIZE);
    const int folder = open(".", O_RDONLY | O_DIRECTORY);
    assert_error(bloomfile_patch(TO_PATH("x", 0), f, FROM_FD(folder), 1), EISDIR);
    close(folder);
    assert_int_equal(open_descriptors(), before);
    bloomfile_close(f);
    free(base.data);
}

/* ---- series */

TEST(layers_of_a_series_are_patched_one_by_one)
{
    for (uint32_t layout = BLOOMFILE_LAYOUT_BLOCKED; layout <= BLOOMFILE_LAYOUT_CLASSIC; layout++) {
        struct bytes old = series_image(layout, 10000), new = series_image(layout, 15000);
        assert_trip(old, new);
        assert_trip(old, old);
        assert_trip(new, old);
        struct bytes patch = delta(old, new);
        struct bloomfile_patch_info info = BLOOMFILE_PATCH_INFO_INIT;
        const int fd = new_fd(patch);
        assert_error(bloomfile_get_patch_info(FROM_FD(fd), &info), 0);
        assert_int_equal(info.layers, 3);
        close(fd);
        assert_refused(new, patch, BLOOMFILE_EDIFFERENTBASE);
        for (size_t size = 0; size < patch.size; size += size < 200 ? 1 : 97)
            assert_refused(old, (struct bytes){ patch.data, size }, BLOOMFILE_ETRUNCATED);
        for (size_t at = 0; at < patch.size; at += at < 100 ? 1 : 101) {
            struct bytes nothing;
            patch.data[at] ^= 4;
            assert_int_not_equal(patched(&nothing, old, patch, 1), 0);
            patch.data[at] ^= 4;
            free(nothing.data);
        }
        free(patch.data);
        free(old.data);
        free(new.data);
    }
}

TEST(series_of_different_shapes_are_refused)
{
    struct bytes two = series_image(BLOOMFILE_LAYOUT_BLOCKED, 5000), patch,
                 three = series_image(BLOOMFILE_LAYOUT_BLOCKED, 10000),
                 one = image_from(small_recipes[0]);
    assert_error(delta_of(&patch, two, three, 1), BLOOMFILE_EDIFFERENTBITS);
    free(patch.data);
    assert_error(delta_of(&patch, one, three, 1), BLOOMFILE_EDIFFERENTBITS);
    free(patch.data);
    patch = delta(two, two);
    assert_refused(one, patch, BLOOMFILE_EDIFFERENTBASE);
    free(patch.data);
    patch = delta(one, one);
    assert_refused(two, patch, BLOOMFILE_EDIFFERENTBASE);
    free(patch.data);
    free(one.data);
    free(two.data);
    free(three.data);
}

int main(int argc, char **argv)
{
    return spec_test_main(argc, argv);
}
