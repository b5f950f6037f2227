/* SPDX-License-Identifier: MIT
 * Slices of a blocked filter (doc/format/slices.md 1): each compared with the whole, and all
 * joined. */
#include "spec_text.h"

#include <bloomfile_combine.h>
#include <bloomfile_delta.h>
#include <bloomfile_inline.h>
#include <bloomfile_live.h>
#include <bloomfile_unstable.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/bytes.h"
#include "format/header.h"
#include "format/probe.h"
#include "image/params.h"

enum {
    PAGE = 4096,
    KEYS = 20000,
    MOST = 100, /* most slices in a test */
    FIRST_BLOCK = 240,
    WHOLE_BLOCKS = 248,
};

/* 13 pages and 7 blocks, so the last page of the whole is not full. */
static const uint64_t shape_bits = 512 * (13 * 64 + 7);
static const uint64_t shape_file_size = 4096 + 14 * (4096 + 4);

static struct bloomfile_params params_of(uint32_t slice, uint32_t slices)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.bits = shape_bits;
    params.hashes = 7;
    params.capacity = KEYS;
    params.label = "part of more";
    params.seed = 42;
    params.slice = slice;
    params.slices = slices;
    return params;
}

static bloomfile_builder *filled(struct bloomfile_params params, uint64_t keys)
{
    bloomfile_builder *b = new_builder(params);
    add_numbers(b, 0, keys);
    return b;
}

static void build(const char *path, uint32_t slice, uint32_t slices)
{
    bloomfile_builder *b = filled(params_of(slice, slices), KEYS);
    assert_error(bloomfile_builder_write(b, TO_PATH(path, BLOOMFILE_TO_REPLACE)), 0);
    bloomfile_builder_free(b);
}

static const char *slice_path(uint32_t slice)
{
    static char path[32];
    snprintf(path, sizeof path, "slice.%u", slice);
    return path;
}

static void build_all(uint32_t slices)
{
    for (uint32_t i = 0; i < slices; i++)
        build(slice_path(i), i, slices);
}

static bloomfile_filter *opened(const char *path, unsigned flags)
{
    bloomfile_filter *f;
    assert_error(bloomfile_open(&f, path, flags), 0);
    return f;
}

static void open_all(bloomfile_filter **list, uint32_t slices, unsigned flags)
{
    for (uint32_t i = 0; i < slices; i++)
        list[i] = opened(slice_path(i), flags);
}

static void close_all(bloomfile_filter **list, uint32_t slices)
{
    for (uint32_t i = 0; i < slices; i++)
        bloomfile_close(list[i]);
}

static int join(const char *path, bloomfile_filter **list, uint32_t slices)
{
    return bloomfile_join(TO_PATH(path, BLOOMFILE_TO_REPLACE),
                          (const bloomfile_filter *const *)list, slices, NULL, 0);
}

/* ---- building and joining */

TEST_IN_DIR(slices_join_into_the_whole)
{
    build("whole", 0, 0);
    struct bytes whole = read_file("whole");
    const uint32_t counts[] = { 1, 2, 3, 5, 13, 14 }; /* it has 14 pages */
    for (size_t c = 0; c < ROWS(counts); c++) {
        bloomfile_filter *list[MOST];
        const uint32_t slices = counts[c];
        build_all(slices);
        open_all(list, slices, 0);
        bloomfile_filter *turned = list[0]; /* the order is arbitrary */
        list[0] = list[slices - 1];
        list[slices - 1] = turned;
        assert_error(join("joined", list, slices), 0);
        assert_file_holds("joined", whole.data, whole.size);

        int fd = open("stream", O_RDWR | O_CREAT | O_TRUNC, 0600);
        assert_error(
            bloomfile_join(TO_FD(fd, NULL), (const bloomfile_filter *const *)list, slices, NULL, 0),
            0);
        close(fd);
        assert_file_holds("stream", whole.data, whole.size);
        struct bytes embedded, same;
        void *image;
        assert_error(
            join_memory(&image, &embedded.size, (const bloomfile_filter *const *)list, slices, 0),
            0);
        embedded.data = image;
        same = last_image(filled(params_of(0, 0), KEYS));
        assert_bytes(embedded, same);
        free(same.data);
        close_all(list, slices);
    }
    free(whole.data);
}

/* With temporary files, with threads, with digests added singly and in batches. */
TEST_IN_DIR(every_way_to_build_makes_the_same_slice)
{
    struct bloomfile_params params = params_of(3, 5);
    bloomfile_builder *plain = new_builder(params);
    for (int turn = 0; turn < 41; turn++)
        add_numbers(plain, 0, KEYS);
    assert_error(bloomfile_builder_write(plain, TO_PATH("slice", BLOOMFILE_TO_REPLACE)), 0);
    bloomfile_builder_free(plain);
    struct bytes expected = read_file("slice");
    params.threads = 2;
    params.memory = 1;
    bloomfile_builder *b = new_builder(params);
    uint64_t digests[KEYS], mine = 0, count;
    for (uint64_t i = 0; i < KEYS; i++) {
        digests[i] = number(42, i);
        mine += bloomfile_slice_of(shape_bits, 5, digests[i]) == 3;
    }
    for (int turn = 0; turn < 40; turn++) /* exceeds the memory limit */
        assert_error(bloomfile_builder_add_digests(b, digests, KEYS), 0);
    for (uint64_t i = 0; i < KEYS; i++)
        assert_error(bloomfile_builder_add_digests(b, &digests[i], 1), 0);
    assert_error(bloomfile_builder_count(b, &count), 0);
    assert_int_equal(count, mine);
    assert_error(bloomfile_builder_write(b, TO_PATH("other", 0)), 0);
    assert_file_holds("other", expected.data, expected.size);

    int fd = open("stream", O_RDWR | O_CREAT, 0600);
    assert_error(bloomfile_builder_write(b, TO_FD(fd, NULL)), 0);
    close(fd);
    assert_file_holds("stream", expected.data, expected.size);
    bloomfile_builder_free(b);
    free(expected.data);
}

/* Reads the files of the slices. Returns their headers in reverse order; the caller frees them. */
static uint8_t *read_slices(struct bytes *slices, uint32_t count)
{
    uint8_t *headers = malloc((size_t)PAGE * count);
    for (uint32_t i = 0; i < count; i++) {
        slices[i] = read_file(slice_path(i));
        memcpy(headers + (size_t)PAGE * (count - 1 - i), slices[i].data, PAGE);
    }
    return headers;
}

/* ---- the keys that each slice was given */

/* Builds slice `slice` of two from the numbers from `first` on, each added `times` times. */
static void build_of(uint32_t slice, uint64_t first, uint64_t count, unsigned times)
{
    bloomfile_builder *b = new_builder(params_of(slice, 2));
    for (unsigned i = 0; i < times; i++)
        add_numbers(b, first, count);
    assert_error(bloomfile_builder_write(b, TO_PATH(slice_path(slice), BLOOMFILE_TO_REPLACE)), 0);
    bloomfile_builder_free(b);
}

/* Builds slice `slice` of two from the numbers that belong to slice `of`, and `more`. */
static void build_of_own(uint32_t slice, uint32_t of, const uint64_t *more, size_t count)
{
    bloomfile_builder *b = new_builder(params_of(slice, 2));
    for (uint64_t i = 0; i < KEYS; i++) {
        const bloomfile_digest digest = number(42, i);
        if (bloomfile_slice_of(shape_bits, 2, digest) == of)
            assert_error(bloomfile_builder_add_digests(b, &digest, 1), 0);
    }
    assert_error(bloomfile_builder_add_digests(b, more, count), 0);
    assert_error(bloomfile_builder_write(b, TO_PATH(slice_path(slice), BLOOMFILE_TO_REPLACE)), 0);
    bloomfile_builder_free(b);
}

/* Every function refuses with the same error. With BLOOMFILE_JOIN_ACCEPT_INCOMPLETE, every
 * function succeeds. */
static int join_both(void)
{
    bloomfile_filter *list[2];
    const bloomfile_filter *const *slices = (const bloomfile_filter *const *)list;
    struct bytes images[2];
    uint8_t header[PAGE], *headers = read_slices(images, 2);
    void *image;
    size_t size;
    open_all(list, 2, 0);
    const int error = join("joined", list, 2), fd = open("stream", O_RDWR | O_CREAT, 0600);
    assert_error(bloomfile_join(TO_FD(fd, NULL), slices, 2, NULL, 0), error);
    assert_error(join_memory(&image, &size, slices, 2, 0), error);
    bloomfile_free(image);
    assert_error(bloomfile_join_headers(header, headers, 2, 0), error);

    const unsigned as_is = BLOOMFILE_JOIN_ACCEPT_INCOMPLETE, replace = BLOOMFILE_TO_REPLACE;
    assert_error(bloomfile_join(TO_PATH("joined", replace), slices, 2, NULL, as_is), 0);
    assert_error(bloomfile_join(TO_FD(fd, NULL), slices, 2, NULL, as_is), 0);
    assert_error(join_memory(&image, &size, slices, 2, as_is), 0);
    bloomfile_free(image);
    assert_error(bloomfile_join_headers(header, headers, 2, as_is), 0);
    assert_error(bloomfile_join(TO_PATH("joined", replace), slices, 2, NULL, 0x400),
                 BLOOMFILE_EFLAGS);
    assert_error(bloomfile_join(TO_FD(fd, NULL), slices, 2, NULL, replace), BLOOMFILE_EFLAGS);
    assert_error(join_memory(&image, &size, slices, 2, replace), BLOOMFILE_EFLAGS);
    assert_error(bloomfile_join_headers(header, headers, 2, replace), BLOOMFILE_EFLAGS);
    close(fd);
    close_all(list, 2);
    free(headers);
    free(images[0].data);
    free(images[1].data);
    return error;
}

TEST_IN_DIR(slices_of_different_keys_are_refused)
{
    const int refused = BLOOMFILE_EINCOMPLETE;
    build_of(0, 0, KEYS / 2, 1);
    build_of(1, KEYS / 2, KEYS / 2, 1); /* the same number of keys, but different keys */
    assert_error(join_both(), refused);
    build_of(0, 0, KEYS - 1, 1); /* a key is missing */
    build_of(1, 0, KEYS, 1);
    assert_error(join_both(), refused);
    build_of(0, 0, KEYS, 2); /* the same set, but not the same input */
    assert_error(join_both(), refused);
    build_of(1, 0, KEYS, 2);
    assert_error(join_both(), 0);
    const uint64_t zero = 0, minus_one = UINT64_MAX;
    build_of_own(0, 0, NULL, 0); /* each got only its own keys */
    build_of_own(1, 1, NULL, 0);
    assert_error(join_both(), 0);
    build_of_own(1, 1, &zero, 1); /* and a key of the other slice, which adds 0 to the sum */
    assert_error(join_both(), refused);
    build_of_own(0, 0, &minus_one, 1);
    assert_error(join_both(), refused);
    build_of(1, 0, KEYS, 1); /* one got its own keys, the other got all */
    assert_error(join_both(), refused);
    build_of_own(0, 1, NULL, 0); /* only the other's keys, and no slice has its own */
    build_of_own(1, 0, NULL, 0);
    assert_error(join_both(), refused);
}

/* Equal numbers of keys with different sums, and the reverse. */
TEST_IN_DIR(join_compares_both_count_and_sum_of_digests)
{
    const bloomfile_digest given[2][3] = { { 0, UINT64_MAX, 0 }, { 1, UINT64_MAX - 1, 0 } };
    for (size_t more = 0; more < 2; more++)
        for (uint32_t i = 0; i < 2; i++) {
            bloomfile_builder *b = new_builder(params_of(i, 2));
            assert_error(bloomfile_builder_add_digests(b, given[i], i == 0 ? 2 : 2 + more), 0);
            assert_error(bloomfile_builder_write(b, TO_PATH(slice_path(i), BLOOMFILE_TO_REPLACE)),
                         0);
            bloomfile_builder_free(b);
            if (i == 1)
                assert_error(join_both(), more == 0 ? 0 : BLOOMFILE_EINCOMPLETE);
        }
    const bloomfile_digest other[2] = { 5, UINT64_MAX };
    bloomfile_builder *b = new_builder(params_of(1, 2));
    assert_error(bloomfile_builder_add_digests(b, other, 2), 0);
    assert_error(bloomfile_builder_write(b, TO_PATH(slice_path(1), BLOOMFILE_TO_REPLACE)), 0);
    bloomfile_builder_free(b);
    assert_error(join_both(), BLOOMFILE_EINCOMPLETE);
}

TEST_IN_DIR(slice_records_count_and_sum_of_its_digests)
{
    uint64_t sum = 0, own = 0;
    for (uint64_t i = 0; i < KEYS; i++) {
        const uint64_t digest = number(42, i);
        sum += digest;
        own += bloomfile_slice_of(shape_bits, 2, digest) == 0;
    }
    build_of(0, 0, KEYS, 3);
    build("whole", 0, 0);
    bloomfile_filter *f = opened(slice_path(0), 0), *whole = opened("whole", 0);
    const struct bloomfile_info info = info_of(f), of_whole = info_of(whole);
    assert_int_equal(info.keys, own);
    assert_int_equal(info.keys_read, 3 * KEYS);
    assert_int_equal(info.keys_elsewhere, 3 * (KEYS - own));
    assert_true(info.digest_sum == 3 * sum);
    assert_true(of_whole.keys_read == 0 && of_whole.keys_elsewhere == 0);
    assert_true(of_whole.digest_sum == 0);
    bloomfile_close(f);
    bloomfile_close(whole);
}

/* Sizes chosen for a rate, and a body that does not fill its pages. */
TEST_IN_DIR(slices_sized_by_rate_join_into_the_whole)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.capacity = KEYS;
    params.fpr = 0.001;
    bloomfile_builder *of_whole = filled(params, KEYS);
    struct bytes whole = finish_file(of_whole);
    bloomfile_builder_free(of_whole);
    bloomfile_filter *list[7];
    params.slices = 7;
    for (params.slice = 0; params.slice < 7; params.slice++) {
        bloomfile_builder *b = filled(params, KEYS);
        assert_error(
            bloomfile_builder_write(b, TO_PATH(slice_path(params.slice), BLOOMFILE_TO_REPLACE)), 0);
        bloomfile_builder_free(b);
    }
    open_all(list, 7, 0);
    assert_error(join("joined", list, 7), 0);
    assert_file_holds("joined", whole.data, whole.size);
    const struct bloomfile_info info = info_of(list[6]);
    assert_int_equal(info.capacity, KEYS);
    assert_int_equal(info.first_block + info.bits / 512, info.whole_blocks);
    close_all(list, 7);
    free(whole.data);
}

TEST_IN_DIR(invalid_slice_parameters_are_refused)
{
    const struct {
        uint32_t layout, slice, slices;
        uint64_t bits, capacity;
        int error;
    } rows[] = {
        { BLOOMFILE_LAYOUT_BLOCKED, 14, 15, shape_bits, KEYS, BLOOMFILE_EVALUE }, /* 14 pages */
        { BLOOMFILE_LAYOUT_BLOCKED, 5, 5, shape_bits, KEYS, BLOOMFILE_EVALUE },
        { BLOOMFILE_LAYOUT_BLOCKED, 1, 0, shape_bits, KEYS, BLOOMFILE_EVALUE },
        { BLOOMFILE_LAYOUT_BLOCKED, 0, 65537, 1ULL << 50, KEYS, BLOOMFILE_EVALUE },
        { BLOOMFILE_LAYOUT_BLOCKED, 65535, 65536, 1ULL << 50, KEYS, 0 },
        { BLOOMFILE_LAYOUT_BLOCKED, 0, 2, shape_bits, 0,
          BLOOMFILE_EVALUE }, /* the header already holds it */
        { BLOOMFILE_LAYOUT_BLOCKED, 0, 2, shape_bits, 0, BLOOMFILE_EVALUE },
        { BLOOMFILE_LAYOUT_BLOCKED, 0, 2, 0, 0, BLOOMFILE_EVALUE },
        { BLOOMFILE_LAYOUT_CLASSIC, 0, 2, shape_bits, KEYS, BLOOMFILE_EVALUE },
        { BLOOMFILE_LAYOUT_COUNTING, 0, 2, shape_bits, KEYS, BLOOMFILE_EVALUE },
        { BLOOMFILE_LAYOUT_RIBBON, 0, 2, shape_bits, KEYS, BLOOMFILE_EVALUE },
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
        bloomfile_builder *b;
        params.layout = rows[i].layout;
        params.slice = rows[i].slice;
        params.slices = rows[i].slices;
        params.bits = rows[i].bits;
        params.hashes = i % 2 ? 7 : 0;
        params.capacity = rows[i].capacity;
        assert_error(bloomfile_builder_new(&b, &params), rows[i].error);
        bloomfile_builder_free(b);
    }
    struct bloomfile_params params = params_of(0, 2);
    bloomfile_filter *f;
    assert_error(bloomfile_create(&f, "live", &params, 0), BLOOMFILE_EVALUE);
    assert_error(bloomfile_create_memory(&f, &params, 0), BLOOMFILE_EVALUE);
    assert_error(bloomfile_assemble(TO_PATH("whole", 0), &params, "", 0, 0, 0), BLOOMFILE_EVALUE);
    bloomfile_builder *b = filled(params, 10);
    void *image;
    size_t size;
    assert_error(write_memory(b, &image, &size), BLOOMFILE_EISSLICE);
    assert_null(image);
    bloomfile_builder_free(b);
}

/* Each digest belongs to exactly one slice, for all sizes. */
TEST_IN_DIR(each_digest_belongs_to_one_slice)
{
    uint64_t random = 1;
    for (int i = 0; i < 20000; i++) {
        const uint64_t bits = 512 * (1 + random64(&random) % (1ULL << random64(&random) % 51));
        const uint32_t slices = 1 + (uint32_t)(random64(&random) % 65536);
        const uint64_t blocks = bits / 512, pages = (blocks + 63) / 64; /* below 2^45 */
        const uint64_t digest = random64(&random), page = probe_reduce(digest, blocks) / 64;
        const uint32_t slice = bloomfile_slice_of(bits, slices, digest);
        assert_true(slice < slices);
        assert_true(pages * slice / slices <= page);
        assert_true(slice + 1 == slices || pages * (slice + 1) / slices > page);
        assert_true(bloomfile_slice_begin(bits, slices, slice) <= 64 * page);
        assert_true(bloomfile_slice_begin(bits, slices, slice + 1) > 64 * page);
        assert_int_equal(bloomfile_slice_begin(bits, slices, 0), 0);
        assert_int_equal(bloomfile_slice_begin(bits, slices, slices), blocks);
        assert_int_equal(bloomfile_slice_begin(bits, slices, slices + 1), 0);
    }
    assert_int_equal(bloomfile_slice_begin(shape_bits, 0, 0), 0);
    assert_int_equal(bloomfile_slice_of(shape_bits, 0, UINT64_MAX), 0);
    assert_int_equal(bloomfile_slice_of(511, 5, UINT64_MAX), 0);
}

/* ---- the whole, written by many processes */

/* Copies a slice to the place that the documentation of bloomfile_join_headers() gives. */
static void place(struct bytes whole, struct bytes slice)
{
    struct bloomfile_info all = BLOOMFILE_INFO_INIT, own = BLOOMFILE_INFO_INIT;
    assert_error(bloomfile_inspect(whole.data, whole.size, &all, NULL, NULL), 0);
    assert_error(bloomfile_inspect(slice.data, slice.size, &own, NULL, NULL), 0);
    memcpy(whole.data + PAGE + 64 * own.first_block, slice.data + PAGE, (size_t)own.body_size);
    const uint8_t *from = slice.data + PAGE + own.body_size;
    uint8_t *to = whole.data + PAGE + all.body_size + 4 * (own.first_block / 64);
    for (uint64_t page = 0; page < own.pages; page++)
        put32(to + 4 * page, get32(from + 4 * page) ^ own.body_crc ^ all.body_crc);
}

TEST_IN_DIR(join_derives_the_whole_header_from_slice_headers)
{
    build("whole", 0, 0);
    struct bytes whole = read_file("whole");
    assert_int_equal(whole.size, shape_file_size);
    const uint32_t counts[] = { 1, 2, 3, 5, 13, 14 };
    for (size_t c = 0; c < ROWS(counts); c++) {
        struct bytes slices[MOST], made = { calloc(1, whole.size), whole.size };
        build_all(counts[c]);
        uint8_t *headers = read_slices(slices, counts[c]);
        assert_error(bloomfile_join_headers(made.data, headers, counts[c], 0), 0);
        for (uint32_t i = 0; i < counts[c]; i++) {
            place(made, slices[i]);
            free(slices[i].data);
        }
        assert_int_equal(made.size, whole.size);
        assert_memory_equal(made.data, whole.data, whole.size);
        free(made.data);
        free(headers);
    }
    free(whole.data);
}

/* Headers that form no whole leave the output unchanged. */
TEST_IN_DIR(headers_that_form_no_whole_are_refused)
{
    build("whole", 0, 0);
    build_all(5);
    struct bytes slices[5], whole = read_file("whole");
    uint8_t *headers = read_slices(slices, 5), header[PAGE], kept[PAGE];
    memset(header, 0xAB, sizeof header);
    memcpy(kept, header, sizeof kept);
    assert_error(bloomfile_join_headers(header, headers, 0, 0), BLOOMFILE_EVALUE);
    assert_error(bloomfile_join_headers(header, headers, 4, 0), BLOOMFILE_EINCOMPLETE);
    assert_error(bloomfile_join_headers(header, headers + PAGE, 4, 0), BLOOMFILE_EINCOMPLETE);
    assert_error(bloomfile_join_headers(header, whole.data, 1, 0), BLOOMFILE_EINCOMPLETE);
    memcpy(headers + PAGE, headers + 2 * PAGE, PAGE);
    assert_error(bloomfile_join_headers(header, headers, 5, 0), BLOOMFILE_EINCOMPLETE);
    memcpy(headers + PAGE, slices[3].data, PAGE);
    for (size_t at = 0; at < PAGE; at += 61) { /* in fields, in records and in reserved bytes */
        headers[PAGE + at] ^= 4;
        assert_int_not_equal(bloomfile_join_headers(header, headers, 5, 0), 0);
        headers[PAGE + at] ^= 4;
    }
    memset(headers + PAGE, 0, PAGE);
    assert_error(bloomfile_join_headers(header, headers, 5, 0), BLOOMFILE_EMAGIC);
    assert_memory_equal(header, kept, PAGE);
    for (int i = 0; i < 5; i++)
        free(slices[i].data);
    free(whole.data);
    free(headers);
}

/* ---- looking up */

static void check_answers(const bloomfile_filter *f, const bloomfile_filter *whole,
                          const uint64_t *digests, size_t n)
{
    bool hits[4000], many[4000];
    bloomfile_digest first, last;
    size_t found = 0;
    bloomfile_slice_range(f, &first, &last);
    struct bloomfile_pinned pin = BLOOMFILE_PINNED_INIT;
    assert_error(bloomfile_pin(f, &pin), 0);
    for (size_t i = 0; i < n; i++) {
        const bool own = digests[i] >= first && digests[i] <= last;
        const bool expected = !own || bloomfile_contains_digest(whole, digests[i]);
        assert_int_equal(bloomfile_contains_digest(f, digests[i]), expected);
        assert_int_equal(bloomfile_pinned_contains_digest(&pin, digests[i]), expected);
        hits[i] = expected;
        found += expected;
    }
    for (size_t count = n; count > 0; count /= 3) {
        memset(many, 2, sizeof many);
        size_t expected = 0;
        for (size_t i = 0; i < count; i++)
            expected += hits[i];
        assert_int_equal(bloomfile_contains_digests(f, digests, count, many), expected);
        assert_memory_equal(many, hits, count);
    }
    assert_int_equal(bloomfile_contains_digests(f, digests, n, NULL), found);
    for (size_t i = 0; i + 64 <= n; i += 64) {
        bloomfile_pinned_contains_digests(&pin, digests + i, 64, many);
        assert_memory_equal(many, hits + i, 64);
    }
    assert_true(found < n);
}

TEST_IN_DIR(slice_answers_no_only_for_its_own_blocks)
{
    bloomfile_filter *list[MOST], *whole;
    uint64_t digests[4000], random = 7;
    build("whole", 0, 0);
    whole = opened("whole", 0);
    build_all(5);
    const unsigned flags[] = { 0, BLOOMFILE_OPEN_VERIFY_FULL, BLOOMFILE_OPEN_VERIFY_NONE,
                               BLOOMFILE_OPEN_COPY };
    for (size_t mode = 0; mode < ROWS(flags); mode++) {
        open_all(list, 5, flags[mode]);
        bloomfile_digest next = 0;
        for (uint32_t s = 0; s < 5; s++) {
            bloomfile_digest first, last;
            bloomfile_slice_range(list[s], &first, &last);
            assert_int_equal(first, next);
            next = last + 1;
            for (size_t i = 0; i < ROWS(digests); i++)
                digests[i] = i % 2 ? random64(&random) : number(42, random64(&random) % KEYS);
            digests[0] = first;
            digests[1] = last;
            digests[2] = first - 1;
            digests[3] = last + 1;
            check_answers(list[s], whole, digests, ROWS(digests));
            assert_int_equal(bloomfile_check(list[s]), 0);
        }
        assert_int_equal(next, 0); /* the last digest is 2^64 - 1 */
        close_all(list, 5);
    }
    bloomfile_digest first, last;
    bloomfile_slice_range(whole, &first, &last);
    assert_int_equal(first, 0);
    assert_true(last == UINT64_MAX);
    bloomfile_close(whole);
}

/* In memory, and in the middle of a file: the file form at any place. */
TEST_IN_DIR(a_slice_opens_at_any_offset)
{
    build("whole", 0, 0);
    build("slice", 1, 3);
    struct bytes slice = read_file("slice");
    bloomfile_filter *whole = opened("whole", 0), *f;
    uint64_t digests[4000];
    for (size_t i = 0; i < ROWS(digests); i++)
        digests[i] = number(42, KEYS - 2000 + i);
    assert_error(open_from(&f, bloomfile_from_memory(slice.data, slice.size), 0), 0);
    check_answers(f, whole, digests, ROWS(digests));
    bloomfile_close(f);
    int fd = open("container", O_RDWR | O_CREAT, 0600);
    assert_int_equal(pwrite(fd, slice.data, slice.size, 12345), slice.size);
    assert_int_equal(pwrite(fd, "behind", 6, 12345 + (off_t)slice.size), 6);
    assert_error(open_from(&f, part_of_fd(fd, 12345, slice.size), 0), 0);
    check_answers(f, whole, digests, ROWS(digests));
    bloomfile_close(f);
    close(fd);
    bloomfile_close(whole);
    free(slice.data);
}

static size_t found_there(struct bytes image, const uint64_t *digests, size_t n)
{
    bloomfile_filter *f;
    bool hits[100];
    assert_error(
        open_from(&f, bloomfile_from_memory(image.data, image.size), BLOOMFILE_OPEN_VERIFY_NONE),
        0);
    const size_t found = bloomfile_contains_digests(f, digests, n, hits);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(bloomfile_contains_digest(f, digests[i]), hits[i]);
    bloomfile_close(f);
    return found;
}

/* A whole so large that it would begin below address 0. Sanitizers check the arithmetic. */
TEST_IN_DIR(largest_whole_does_not_overflow)
{
    build("slice", 1, 3);
    struct bytes image = read_file("slice");
    const uint64_t size = get64(image.data + AT_body_size), whole = 1ULL << 51;
    put64(image.data + FIRST_BLOCK, whole - size / 64);
    put64(image.data + WHOLE_BLOCKS, whole);
    reseal_header(image.data);
    uint64_t digests[100];
    for (size_t i = 0; i < ROWS(digests); i++) /* a block is 2^13 digests */
        digests[i] = UINT64_MAX - (i % (size / 64) << 13);
    memset(image.data + PAGE, 0, (size_t)size);
    assert_int_equal(found_there(image, digests, ROWS(digests)), 0);
    memset(image.data + PAGE, 0xFF, (size_t)size);
    assert_int_equal(found_there(image, digests, ROWS(digests)), ROWS(digests));
    free(image.data);
}

/* Every page damaged: no key is lost, in single lookups and batches, verified before or not. */
TEST_IN_DIR(damaged_page_of_a_slice_loses_no_key)
{
    build("slice", 1, 3);
    struct bytes slice = read_file("slice");
    const uint64_t pages = (slice.size - IN_FILE) / PAGE;
    uint64_t digests[KEYS];
    bool hits[KEYS];
    for (uint64_t i = 0; i < KEYS; i++)
        digests[i] = number(42, i);
    for (uint64_t page = 0; page < pages; page++) {
        uint8_t *bytes = slice.data + IN_FILE + page * PAGE;
        uint8_t kept[PAGE];
        memcpy(kept, bytes, PAGE);
        memset(bytes, 0, PAGE);
        for (int batch = 0; batch < 2; batch++) {
            bloomfile_filter *f;
            assert_error(open_from(&f, bloomfile_from_memory(slice.data, slice.size), 0), 0);
            if (batch)
                bloomfile_contains_digests(f, digests, KEYS, hits);
            for (uint64_t i = 0; i < KEYS; i++)
                assert_true(batch ? hits[i] : bloomfile_contains_digest(f, digests[i]));
            assert_error(bloomfile_check(f), BLOOMFILE_EPAGE);
            assert_error(bloomfile_verify(f, 2, NULL), BLOOMFILE_EPAGE);
            assert_int_equal(bloomfile_contains_digests(f, digests, KEYS, NULL), KEYS);
            void *image;
            size_t size;
            const bloomfile_filter *alone = f;
            assert_error(join_memory(&image, &size, &alone, 1, 0), BLOOMFILE_EINCOMPLETE);
            bloomfile_close(f);
        }
        memcpy(bytes, kept, PAGE);
    }
    free(slice.data);
}

/* ---- operations that are refused */

TEST_IN_DIR(missing_slices_are_refused)
{
    bloomfile_filter *list[MOST];
    build_all(5);
    open_all(list, 5, 0);
    assert_error(join("joined", list, 0), BLOOMFILE_EVALUE);
    assert_error(join("joined", list, 4), BLOOMFILE_EINCOMPLETE);
    assert_error(join("joined", list + 1, 4), BLOOMFILE_EINCOMPLETE);
    bloomfile_filter *twice[6] = { list[0], list[1], list[2], list[2], list[3], list[4] };
    assert_error(join("joined", twice, 6), BLOOMFILE_EINCOMPLETE);
    bloomfile_filter *in_place_of_another[5] = { list[0], list[1], list[1], list[3], list[4] };
    assert_error(join("joined", in_place_of_another, 5), BLOOMFILE_EINCOMPLETE);
    bloomfile_filter *gap[4] = { list[0], list[1], list[3], list[4] };
    assert_error(join("joined", gap, 4), BLOOMFILE_EINCOMPLETE);
    build("whole", 0, 0);
    bloomfile_filter *with_whole[6] = { list[0], list[1], list[2],
                                        list[3], list[4], opened("whole", 0) };
    assert_error(join("joined", with_whole, 6), BLOOMFILE_EINCOMPLETE);
    assert_error(join("joined", with_whole + 5, 1), BLOOMFILE_EINCOMPLETE);
    bloomfile_close(with_whole[5]);
    struct bloomfile_params tiny = BLOOMFILE_PARAMS_INIT; /* smaller than a block */
    tiny.layout = BLOOMFILE_LAYOUT_CLASSIC;
    tiny.bits = 64;
    tiny.hashes = 1;
    bloomfile_builder *no_slice = new_builder(tiny);
    assert_error(bloomfile_builder_write(no_slice, TO_PATH("tiny", 0)), 0);
    bloomfile_builder_free(no_slice);
    bloomfile_filter *alone = opened("tiny", 0);
    assert_error(join("joined", &alone, 1), BLOOMFILE_EINCOMPLETE);
    bloomfile_close(alone);

    /* Slices of another filter: each property of a whole differs in turn. */
    for (int what = 0; what < 8; what++) {
        struct bloomfile_params params = params_of(2, 5);
        switch (what) {
        case 0:
            params.seed = 43;
            break;
        case 1:
            params.hashes = 8;
            break;
        case 2:
            params.label = "of another";
            break;
        case 3:
            params.tag[15] = 1;
            break;
        case 4:
            params.capacity = KEYS + 1;
            break;
        case 5:
            params.key_kind = BLOOMFILE_KEYS_TEXT;
            break;
        case 6:
            params.fpr = 0.5;
            break;
        default:
            params.bits = shape_bits + 512;
        }
        bloomfile_builder *b = filled(params, KEYS);
        assert_error(bloomfile_builder_write(b, TO_PATH("foreign", BLOOMFILE_TO_REPLACE)), 0);
        bloomfile_builder_free(b);
        bloomfile_filter *own = list[2];
        list[2] = opened("foreign", 0);
        assert_error(join("joined", list, 5), BLOOMFILE_EINCOMPLETE);
        bloomfile_close(list[2]);
        list[2] = own;
    }
    assert_int_equal(access("joined", F_OK), -1);
    assert_error(join("joined", list, 5), 0);
    close_all(list, 5);
}

/* Joins two slices. A value in the headers or records was changed, from slice `first` on. */
static int join_edited_from(uint32_t first, size_t at, unsigned size, uint64_t value,
                            struct bloomfile_info *whole)
{
    struct bytes images[2];
    bloomfile_filter *list[2];
    for (uint32_t i = 0; i < 2; i++) {
        images[i] = read_file(slice_path(i));
        for (unsigned slot = 0; i >= first && slot < (at < PAGE / 2 ? 1 : 2); slot++)
            for (unsigned byte = 0; byte < size; byte++)
                images[i].data[at + PAGE / 4 * slot + byte] = (uint8_t)(value >> 8 * byte);
        reseal_header(images[i].data);
        assert_error(open_from(&list[i], bloomfile_from_memory(images[i].data, images[i].size), 0),
                     0);
    }
    void *image;
    size_t made;
    uint8_t headers[2][PAGE], header[PAGE];
    int error = join_memory(&image, &made, (const bloomfile_filter *const *)list, 2, 0);
    memcpy(headers[0], images[0].data, PAGE);
    memcpy(headers[1], images[1].data, PAGE);
    assert_error(bloomfile_join_headers(header, headers, 2, 0), error);
    if (error == 0) {
        bloomfile_filter *f;
        struct bloomfile_info alone = BLOOMFILE_INFO_INIT;
        assert_error(open_from(&f, bloomfile_from_memory(image, made), 0), 0);
        assert_error(bloomfile_get_info(f, whole), 0);
        assert_error(bloomfile_inspect(header, shape_file_size, &alone, NULL, NULL), 0);
        assert_true(alone.keys == whole->keys && alone.keys_estimated == whole->keys_estimated);
        assert_int_equal(alone.provenance, whole->provenance);
        bloomfile_close(f);
        bloomfile_free(image);
    }
    close_all(list, 2);
    free(images[0].data);
    free(images[1].data);
    return error;
}

static int join_edited(size_t at, unsigned size, uint64_t value, struct bloomfile_info *whole)
{
    return join_edited_from(1, at, size, value, whole);
}

/* If the application has its own hash function, self_test does not check the seed. */
TEST_IN_DIR(slices_with_different_hash_seed_tag_or_provenance_are_refused)
{
    struct bloomfile_info whole = BLOOMFILE_INFO_INIT;
    for (uint32_t i = 0; i < 2; i++) {
        struct bloomfile_params params = params_of(i, 2);
        params.hash_id = BLOOMFILE_APP_HASH_FIRST;
        params.self_test = 7;
        bloomfile_builder *b = new_builder(params);
        const bloomfile_digest digest = i == 0 ? 0 : UINT64_MAX;
        assert_error(bloomfile_builder_add_digests(b, &digest, 1), 0);
        assert_error(bloomfile_builder_write(b, TO_PATH(slice_path(i), BLOOMFILE_TO_REPLACE)), 0);
        bloomfile_builder_free(b);
    }
    assert_error(join_edited(AT_self_test, 8, 7, &whole), 0);
    assert_int_equal(whole.keys, 2);
    assert_error(join_edited(AT_self_test, 8, 8, &whole), BLOOMFILE_EINCOMPLETE);
    assert_error(join_edited(AT_hash_id, 4, BLOOMFILE_APP_HASH_FIRST + 1, &whole),
                 BLOOMFILE_EINCOMPLETE);
    assert_error(join_edited(AT_seed, 8, 43, &whole), BLOOMFILE_EINCOMPLETE);
    assert_error(join_edited(AT_tag + 15, 1, 1, &whole), BLOOMFILE_EINCOMPLETE);
    assert_error(join_edited(AT_provenance, 4, BLOOMFILE_PROVENANCE_UNION, &whole),
                 BLOOMFILE_EINCOMPLETE);
    assert_error(join_edited_from(0, AT_provenance, 4, BLOOMFILE_PROVENANCE_UNION, &whole), 0);
    assert_int_equal(whole.provenance, BLOOMFILE_PROVENANCE_UNION);
    assert_error(join_edited(AT_provenance, 4, 0xFFFFFFF8, &whole), 0);
    assert_int_equal(whole.provenance, 0);
}

/* If the sum is too large, the count is the largest possible number, marked as an estimate. */
TEST_IN_DIR(overflowing_number_of_keys_is_marked_as_an_estimate)
{
    struct bloomfile_info whole = BLOOMFILE_INFO_INIT;
    build_all(2);
    bloomfile_filter *first = opened(slice_path(0), 0);
    assert_error(bloomfile_get_info(first, &whole), 0);
    bloomfile_close(first);
    const uint64_t most = UINT64_MAX - whole.keys, told[] = { most, most + 1, UINT64_MAX };
    for (size_t i = 0; i < ROWS(told); i++) {
        assert_error(join_edited(PAGE / 2 + RECORD_AT_n, 8, told[i], &whole), 0);
        assert_true(whole.keys == UINT64_MAX);
        assert_int_equal(whole.keys_estimated, told[i] > most);
    }
}

/* Joining a damaged slice fails. */
TEST_IN_DIR(joining_a_damaged_slice_fails)
{
    bloomfile_filter *list[MOST];
    build_all(5);
    struct bytes slice = read_file(slice_path(3));
    slice.data[IN_FILE + 5000] ^= 1;
    write_file(slice_path(3), slice.data, slice.size);
    open_all(list, 5, 0);
    assert_error(join("joined", list, 5), BLOOMFILE_EPAGE);
    assert_error(bloomfile_check(list[3]), BLOOMFILE_EPAGE);
    assert_error(bloomfile_check(list[2]), 0);
    assert_int_equal(access("joined", F_OK), -1);
    close_all(list, 5);
    free(slice.data);
}

TEST_IN_DIR(whole_only_operations_refuse_slices)
{
    build_all(2);
    bloomfile_filter *list[2];
    open_all(list, 2, 0);
    const bloomfile_filter *const *srcs = (const bloomfile_filter *const *)list;
    size_t count = 0;
    assert_error(bloomfile_fold(TO_PATH("out", 0), list[0], 1, NULL), BLOOMFILE_EISSLICE);
    assert_error(bloomfile_fold_plan(list[0], 0, NULL, &count), BLOOMFILE_EISSLICE);
    assert_error(bloomfile_merge(TO_PATH("out", 0), srcs, 2, NULL), BLOOMFILE_EISSLICE);
    assert_error(bloomfile_merge(TO_PATH("out", 0), srcs, 1, NULL), BLOOMFILE_EISSLICE);
    assert_error(bloomfile_check_merge(list[0], list[1]), BLOOMFILE_EISSLICE);
    build("whole", 0, 0);
    bloomfile_filter *whole = opened("whole", 0);
    assert_error(bloomfile_check_merge(list[0], whole), BLOOMFILE_EISSLICE);
    assert_error(bloomfile_check_merge(whole, list[0]), BLOOMFILE_EISSLICE);
    bloomfile_close(whole);
    assert_error(bloomfile_project(TO_PATH("out", 0), list[0], NULL), BLOOMFILE_ENOTCOUNTING);
    void *image;
    size_t size;
    assert_error(copy_memory(&image, &size, list[0]), BLOOMFILE_EISSLICE);
    bloomfile_filter *f;
    assert_error(bloomfile_open(&f, slice_path(0), BLOOMFILE_OPEN_WRITE), BLOOMFILE_ESEALED);
    assert_error(bloomfile_copy_sealed(TO_PATH("copy", 0), list[0], NULL), 0);
    struct bytes copy = read_file("copy");
    assert_file_holds(slice_path(0), copy.data, copy.size);
    free(copy.data);
    close_all(list, 2);
    assert_int_equal(access("out", F_OK), -1);
}

/* Patches exist only between slices of the same place. */
TEST_IN_DIR(patch_between_slices_of_different_places_is_refused)
{
    build_all(5);
    bloomfile_builder *b = filled(params_of(2, 5), KEYS + 200);
    assert_error(bloomfile_builder_write(b, TO_PATH("tomorrow", 0)), 0);
    bloomfile_builder_free(b);
    bloomfile_filter *list[MOST], *tomorrow = opened("tomorrow", 0);
    open_all(list, 5, 0);
    assert_error(bloomfile_delta(TO_PATH("patch", 0), list[1], tomorrow, 1),
                 BLOOMFILE_EDIFFERENTBITS);
    assert_error(bloomfile_delta(TO_PATH("patch", 0), list[2], tomorrow, 1), 0);
    int fd = open("patch", O_RDONLY);
    assert_error(bloomfile_patch(TO_PATH("result", 0), list[1], FROM_FD(fd), 1),
                 BLOOMFILE_EDIFFERENTBASE);
    lseek(fd, 0, SEEK_SET);
    assert_error(bloomfile_patch(TO_PATH("result", 0), list[2], FROM_FD(fd), 1), 0);
    close(fd);
    struct bytes result = read_file("result");
    assert_file_holds("tomorrow", result.data, result.size);
    free(result.data);
    bloomfile_close(tomorrow);
    close_all(list, 5);
}

/* ---- the header */

TEST_IN_DIR(each_slice_rule_is_checked)
{
    build("slice", 1, 3);
    struct bytes image = read_file("slice");
    const uint64_t first = get64(image.data + FIRST_BLOCK), blocks = get64(image.data + AT_m) / 512;
    assert_int_equal(first, 4 * 64);
    assert_int_equal(blocks, 5 * 64);
    const struct {
        uint64_t first, whole;
        const char *field;
    } rows[] = {
        { first, 13 * 64 + 7, NULL },
        { first + 1, 13 * 64 + 7, "first_block" },
        { first, first + blocks, NULL },
        { 0, blocks, NULL },
        { 0, blocks - 1, "m" },
        { first, first + blocks - 1, "m" },
        { first, first, "whole_blocks" },
        { 0, 0, "whole_blocks" },
        { first, 1ULL << 51, NULL },
        { first, (1ULL << 51) + 1, "whole_blocks" },
        { first, UINT64_MAX, "whole_blocks" },
        { UINT64_MAX - 63, UINT64_MAX, "whole_blocks" },
        { (1ULL << 51) - blocks, 1ULL << 51, NULL },
        { (1ULL << 51) - 64, 1ULL << 51, "m" },
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        put64(image.data + FIRST_BLOCK, rows[i].first);
        put64(image.data + WHOLE_BLOCKS, rows[i].whole);
        reseal_header(image.data);
        const uint64_t offset = rows[i].field == NULL             ? 0
                                : strcmp(rows[i].field, "m") == 0 ? AT_m
                                : rows[i].field[0] == 'f'         ? FIRST_BLOCK
                                                                  : WHOLE_BLOCKS;
        assert_verdict("place", image, rows[i].field != NULL ? BLOOMFILE_ESLICE : 0, rows[i].field,
                       offset);
    }
    put64(image.data + FIRST_BLOCK, first);
    put64(image.data + WHOLE_BLOCKS, 13 * 64 + 7);
    const struct {
        uint32_t at, value;
        int error;
        const char *field;
    } words[] = {
        { AT_incompat, 3, BLOOMFILE_ESLICE, "incompat" },
        { AT_incompat, 6, BLOOMFILE_EFEATURE, "incompat" },
        { AT_layout, BLOOMFILE_LAYOUT_CLASSIC, BLOOMFILE_ESLICE, "layout" },
        { AT_m_unfolded, 2 * 512 * 5 * 64, BLOOMFILE_ESLICE, "m_unfolded" },
    };
    for (size_t i = 0; i < ROWS(words); i++) {
        const uint32_t kept = get32(image.data + words[i].at);
        put32(image.data + words[i].at, words[i].value);
        reseal_header(image.data);
        assert_verdict("word", image, words[i].error, words[i].field, words[i].at);
        put32(image.data + words[i].at, kept);
    }
    /* A slice is never live, even if its records have the state live. */
    reseal_header(image.data);
    for (unsigned slot = 0; slot < 2; slot++) {
        put64(record_at(image.data, slot) + RECORD_AT_sequence, 5);
        put32(record_at(image.data, slot) + RECORD_AT_state, BLOOMFILE_STATE_LIVE);
        put32(record_at(image.data, slot) + RECORD_AT_body_crc, 0);
        reseal_record(image.data, slot);
    }
    assert_verdict("live", image, BLOOMFILE_ESTATE, "record 0", 2048);
    free(image.data);
}

/* A blocked slice that is not the last must have whole pages of blocks. */
TEST_IN_DIR(inner_slice_without_whole_pages_is_refused)
{
    build("slice", 2, 3);
    struct bytes image = read_file("slice");
    assert_int_equal(get64(image.data + FIRST_BLOCK), 9 * 64);
    assert_verdict("last", image, 0, NULL, 0);
    put64(image.data + WHOLE_BLOCKS, 14 * 64);
    reseal_header(image.data);
    assert_verdict("not last", image, BLOOMFILE_ESLICE, "m", AT_m);
    free(image.data);
}

/* ---- slices.md 3.2 */

TEST_IN_DIR(cuts_match_the_vectors)
{
    for_each_vector(line, "cut", 8)
    {
        unsigned long long m, first, own;
        char digest[17];
        struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
        struct header h;
        uint32_t slice;
        if (sscanf(line, "cut m=%llu slices=%u digest=%16[0-9a-f] %u %llu %llu", &m, &params.slices,
                   digest, &slice, &first, &own) != 6)
            fail_msg("not understood: %s", line);
        assert_int_equal(bloomfile_slice_of(m, params.slices, hex(digest)), slice);
        params.layout = BLOOMFILE_LAYOUT_BLOCKED;
        params.bits = m;
        params.hashes = 1;
        params.slice = slice;
        assert_error(params_plan(&params, 1, IN_FILE, &h), 0);
        assert_int_equal(h.first_block, first);
        assert_int_equal(h.m, own);
        assert_int_equal(h.whole_blocks, m / 512);
        assert_int_equal(bloomfile_slice_begin(m, params.slices, slice), first);
        assert_int_equal(bloomfile_slice_begin(m, params.slices, slice + 1), first + own / 512);
    }
}

TEST_IN_DIR(slices_match_the_vectors)
{
    uint8_t keys[4096];
    for (unsigned i = 0; i < sizeof keys; i++)
        keys[i] = (uint8_t)(128 + 157 * i);
    for_each_vector(line, "slice", 5)
    {
        unsigned long long m;
        char seed[17], digest[17];
        unsigned count;
        size_t size;
        struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
        if (sscanf(line,
                   "slice blocked m=%llu k=%u seed=%16[0-9a-f] slice=%u slices=%u keys=%u "
                   "%zu %16[0-9a-f]",
                   &m, &params.hashes, seed, &params.slice, &params.slices, &count, &size,
                   digest) != 8)
            fail_msg("not understood: %s", line);
        params.bits = m;
        params.seed = hex(seed);
        params.capacity = count;
        bloomfile_builder *b = new_builder(params);
        for (unsigned i = 0; i < count; i++)
            assert_error(bloomfile_builder_add(b, keys, i), 0);
        struct bytes image = finish_file(b);
        bloomfile_builder_free(b);
        assert_int_equal(image.size, size);
        assert_int_equal(bloomfile_hash(0, image.data, image.size), hex(digest));
        free(image.data);
    }
}

int main(int argc, char **argv)
{
    return spec_test_main(argc, argv);
}
