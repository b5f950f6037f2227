/* SPDX-License-Identifier: MIT
 * Inputs at the limits of their ranges, each for a path through the library that no other test
 * takes. */
#include "live_support.h"

#include <bloomfile_combine.h>
#include <bloomfile_live.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "build/deferred.h"
#include "build/digest_buffer.h"
#include "build/distinct.h"
#include "build/fill.h"
#include "build/runs.h"
#include "format/bytes.h"
#include "format/decode.h"
#include "format/header.h"
#include "image/body.h"
#include "image/new_image.h"
#include "live/records.h"
#include "os/file.h"
#include "os/map.h"
#include "os/memory.h"
#include "sizing/sizing.h"

#define MIB ((size_t)1 << 20)

/* ---- headers and records */

TEST(counts_that_leave_their_range_are_estimated)
{
    static const struct {
        uint64_t n, ones, overflow;
        struct kernel_change counted;
        uint64_t then_n, then_ones, then_overflow;
        bool estimated;
    } rows[] = {
        { 5, 50, 5, { 1, 10, 1 }, 6, 60, 6, false },
        { 5, 50, 5, { -5, -50, -5 }, 0, 0, 0, false },
        { 5, 50, 5, { -6, 0, 0 }, 0, 50, 5, true },
        { 5, 50, 5, { 0, -51, 0 }, 5, 0, 0, true },
        { 5, 50, 5, { 0, 51, 0 }, 5, 100, 5, true },
        { 5, 50, 5, { 0, 0, 46 }, 5, 50, 50, true },
        { UINT64_MAX, 50, 5, { 1, 0, 0 }, UINT64_MAX, 50, 5, true },
    };
    const struct header h = { .m = 100 };
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct record r = { .n = rows[i].n, .ones = rows[i].ones, .overflow = rows[i].overflow };
        r = live_add_counts(&h, r, &rows[i].counted);
        assert_int_equal(r.n, rows[i].then_n);
        assert_int_equal(r.ones, rows[i].then_ones);
        assert_int_equal(r.overflow, rows[i].then_overflow);
        assert_int_equal(r.flags, rows[i].estimated ? RECORD_N_ESTIMATED : 0);
    }
}

TEST(sealed_record_has_zeros_for_writers_boot_and_identity)
{
    struct record r = { .n = 5, .sequence = 9, .state = BLOOMFILE_STATE_LIVE, .writers = 3 };
    memset(r.boot_id, 0xEE, sizeof r.boot_id);
    memset(r.identity, 0xEE, sizeof r.identity);
    image_record(&r, 7, &(struct kernel_tally){ .ones = 30, .overflow = 2 });
    struct record expected = { .n = 5,
                               .sequence = HEADER_SEALED_SEQUENCE,
                               .state = BLOOMFILE_STATE_SEALED,
                               .ones = 30,
                               .overflow = 2,
                               .body_crc = 7 };
    assert_memory_equal(&r, &expected, offsetof(struct record, header_crc));
    assert_int_equal(r.writers, 0);
    assert_memory_equal(r.identity, expected.identity, sizeof r.identity);
}

TEST(estimate_for_a_full_filter_is_at_least_that_of_one_bit_less)
{
    for (uint32_t layout = BLOOMFILE_LAYOUT_BLOCKED; layout <= BLOOMFILE_LAYOUT_COUNTING;
         layout++) {
        struct header h = { .layout = layout, .m = 1024, .k = 5, .record = { .ones = 1024 } };
        image_estimate_keys(&h);
        const uint64_t full = h.record.n;
        h.record.ones = 1023;
        image_estimate_keys(&h);
        assert_int_equal(full, h.record.n);
        assert_in_range(full, 1000, 1 << 20);
    }
}

TEST(estimated_number_of_keys_is_rounded_to_nearest)
{
    for (uint32_t layout = BLOOMFILE_LAYOUT_BLOCKED; layout <= BLOOMFILE_LAYOUT_COUNTING;
         layout++) {
        for (uint64_t ones = 1; ones < 1024; ones++) {
            struct header h = { .layout = layout, .m = 1024, .k = 5, .record = { .ones = ones } };
            image_estimate_keys(&h);
            const double keys = sizing_of(layout)->estimated_keys(h.m, h.k, ones);
            assert_true(fabs((double)h.record.n - keys) <= 0.5);
        }
    }
}

/* An image with more ones than m; the library never makes such an image. */
static int make_wrong_image(struct bloomfile_destination *given)
{
    static const uint8_t page[CHECKSUM_PAGE] = { 0 };
    struct bytes image =
        image_from((struct recipe){ BLOOMFILE_LAYOUT_BLOCKED, EMBEDDED, 512, 3, 1, 0 });
    struct header h;
    struct header_faults faults = { 0 };
    struct destination to;
    struct new_image r;
    uint8_t bytes[HEADER_MAX];
    decode_header(image.data, image.size, &h, &faults);
    assert_error(faults.first, 0);
    assert_error(image_encode(&h, bytes), 0);
    assert_error(destination_take(&to, given), 0);
    assert_error(new_image_start(&r, &h, to), 0);
    assert_error(new_image_put(&r, page, sizeof page), 0);
    new_image_record(&r, &h.record);
    h.record.ones = h.m + 1;
    const int error = image_encode(&h, bytes);
    assert_error(new_image_finish(&r, &h), error);
    new_image_abandon(&r);
    if (h.header_size == EMBEDDED) {
        memcpy(image.data, bytes, EMBEDDED);
        bloomfile_filter *f;
        assert_error(open_from(&f, bloomfile_from_memory(image.data, image.size), 0), error);
    }
    free(image.data);
    return error;
}

TEST(image_that_readers_refuse_is_not_published)
{
    struct bloomfile_destination memory = bloomfile_to_memory(),
                                 file = bloomfile_to_path("wrong", 0);
    assert_error(make_wrong_image(&memory), BLOOMFILE_ESTATE);
    assert_null(memory.memory);
    assert_error(make_wrong_image(&file), BLOOMFILE_ESTATE);
    assert_int_equal(access("wrong", F_OK), -1);
}

TEST(a_seal_is_unfinished_only_if_nothing_else_is_wrong)
{
    const struct header sealed = { .header_size = IN_FILE, .record.state = BLOOMFILE_STATE_SEALED };
    static const struct {
        size_t count;
        int first;
        bool other_intact, unfinished;
    } rows[] = {
        { 0, 0, true, true },
        { 1, BLOOMFILE_ERECORD, false, true },
        { 1, BLOOMFILE_ERECORD, true, false },
        { 1, BLOOMFILE_ELABEL, false, false },
        { 2, BLOOMFILE_ERECORD, false, false },
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct header h = sealed;
        struct header_faults faults = { .count = rows[i].count, .first = rows[i].first };
        h.other_intact = rows[i].other_intact;
        assert_int_equal(decode_seal_unfinished(&h, &faults), rows[i].unfinished);
        h.records_identical = true;
        assert_false(decode_seal_unfinished(&h, &faults));
    }
    const struct header_faults none = { 0 };
    struct header embedded = sealed, live = sealed;
    embedded.header_size = EMBEDDED;
    live.record.state = BLOOMFILE_STATE_LIVE;
    assert_false(decode_seal_unfinished(&embedded, &none));
    assert_false(decode_seal_unfinished(&live, &none));
}

/* The checksum stays the same, so it alone would not show the change. */
TEST(check_detects_a_single_changed_byte_of_the_header)
{
    struct bytes image =
        image_from((struct recipe){ BLOOMFILE_LAYOUT_BLOCKED, EMBEDDED, 512, 6, 5, 0 });
    bloomfile_filter *f = open_image(image, 0);
    assert_error(bloomfile_check(f), 0);
    image.data[130] ^= 1;
    assert_error(bloomfile_check(f), BLOOMFILE_ECHANGED);
    bloomfile_close(f);
    free(image.data);
}

/* A field or a record of a newer version of the format, which this version cannot write. */
TEST(unknown_ro_compat_bit_allows_reading_but_not_writing)
{
    make_live("newer", BLOOMFILE_LAYOUT_BLOCKED);
    struct bytes bytes = read_file("newer");
    put32(bytes.data + AT_ro_compat, 1);
    reseal_header(bytes.data);
    write_file("newer", bytes.data, bytes.size);
    bloomfile_filter *f;
    assert_error(bloomfile_open(&f, "newer", BLOOMFILE_OPEN_WRITE), BLOOMFILE_EFEATURE);
    f = opened("newer", 0);
    assert_true(has_numbers(f, 0, LIVE_KEYS));
    bloomfile_close(f);
    free(bytes.data);
}

TEST(file_with_bits_beyond_m_is_not_sealed)
{
    bloomfile_filter *f;
    struct bloomfile_params params = live_params(BLOOMFILE_LAYOUT_CLASSIC);
    params.bits = 1001;
    assert_error(bloomfile_create(&f, "spilled", &params, 0), 0);
    int fd = open("spilled", O_RDWR | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "\x80", 1, IN_FILE + 1001 / 8), 1);
    bloomfile_filter *r = opened("spilled", 0);
    assert_error(bloomfile_copy_sealed(TO_PATH("copy", 0), r, NULL), BLOOMFILE_EBODY);
    assert_error(bloomfile_check(r), BLOOMFILE_EBODY);
    assert_true(bloomfile_contains_digest(r, number(0, ABSENT)));
    bloomfile_close(r);
    assert_error(bloomfile_seal(f, NULL), BLOOMFILE_EBODY);
    assert_int_equal(info_of(f).state, BLOOMFILE_STATE_LIVE);
    assert_error(bloomfile_check(f), BLOOMFILE_EBODY);
    assert_true(bloomfile_contains_digest(f, number(0, ABSENT)));
    assert_int_equal(pwrite(fd, "\0", 1, IN_FILE + 1001 / 8), 1);
    assert_error(bloomfile_seal(f, NULL), BLOOMFILE_EBODY);
    close(fd);
    bloomfile_close(f);
    assert_error(bloomfile_open(&f, "spilled", 0), BLOOMFILE_EPOISONED);
}

/* ---- lookups and removals */

/* Even with BLOOMFILE_OPEN_VERIFY_NONE, lookups must not trust pages that a verification found
 * bad. */
TEST(verify_none_does_not_trust_pages_that_verification_found_bad)
{
    enum {
        KEYS = 3000
    };
    static uint64_t digests[KEYS];
    bool hits[KEYS];
    for (uint64_t i = 0; i < KEYS; i++)
        digests[i] = number(0, i);
    for (uint32_t layout = BLOOMFILE_LAYOUT_BLOCKED; layout <= BLOOMFILE_LAYOUT_COUNTING;
         layout++) {
        struct bytes image = image_from((struct recipe){ layout, EMBEDDED, 512 * 300, 5, KEYS, 0 });
        memset(image.data + EMBEDDED + 4096, 0, 4096);
        bloomfile_filter *f = open_image(image, BLOOMFILE_OPEN_VERIFY_NONE);
        assert_in_range(bloomfile_contains_digests(f, digests, KEYS, hits), 0, KEYS - 1);
        assert_error(bloomfile_verify(f, 1, NULL), BLOOMFILE_EPAGE);
        assert_int_equal(bloomfile_contains_digests(f, digests, KEYS, hits), KEYS);
        assert_int_equal(bloomfile_contains_digests(f, digests, KEYS, NULL), KEYS);
        bloomfile_close(f);
        free(image.data);
    }
}

/* More positions of a key in one counter than it can count. */
TEST(saturated_counter_answers_maybe_and_is_never_lowered)
{
    bloomfile_filter *f;
    struct bloomfile_params params = live_params(BLOOMFILE_LAYOUT_COUNTING);
    params.bits = 1;
    params.hashes = 20;
    assert_error(bloomfile_create_memory(&f, &params, 0), 0);
    assert_error(bloomfile_remove_digest(f, number(0, 1)), BLOOMFILE_EABSENT);
    assert_error(bloomfile_add_digest(f, number(0, 1), NULL), 0);
    const struct bloomfile_key key = { "key", 3 };
    assert_error(bloomfile_add_many(f, &key, 1, NULL, NULL, NULL), 0);
    for (int i = 0; i < 3; i++)
        assert_error(bloomfile_remove_digest(f, number(0, 1)), 0);
    assert_true(bloomfile_contains_digest(f, number(0, 1)));
    bloomfile_close(f);
}

TEST(lookup_and_removal_need_a_named_application_hash)
{
    for (uint32_t layout = BLOOMFILE_LAYOUT_BLOCKED; layout <= BLOOMFILE_LAYOUT_RIBBON; layout++) {
        bloomfile_builder *b = new_builder((struct bloomfile_params){
            .layout = layout, .hash_id = BLOOMFILE_APP_HASH_FIRST, .self_test = 7 });
        struct bytes image = finish_image(b);
        bloomfile_filter *f = open_image(image, 0);
        assert_int_equal(bloomfile_contains_digests(f, NULL, 0, NULL), 0);
        assert_error(bloomfile_check(f), 0);
        const uint64_t one = 1;
        assert_int_equal(bloomfile_contains_digests(f, &one, 1, NULL), 1);
        assert_error(bloomfile_check(f), BLOOMFILE_EHASH);
        assert_error(bloomfile_remove(f, "key", 3), layout == BLOOMFILE_LAYOUT_COUNTING
                                                        ? BLOOMFILE_EHASH
                                                        : BLOOMFILE_ENOTCOUNTING);
        bloomfile_close(f);
        bloomfile_builder_free(b);
        free(image.data);
    }
}

/* ---- combining */

/* Refuses a union with a rate above one half. */
static struct bloomfile_info info_of_union(struct bytes a, struct bytes b)
{
    struct bloomfile_merge_params params = BLOOMFILE_MERGE_PARAMS_INIT;
    params.max_fpr = 0.5;
    bloomfile_filter *first = open_image(a, 0), *second = open_image(b, 0);
    const bloomfile_filter *const both[] = { first, second };
    struct bytes result;
    void *made;
    assert_error(merge_memory(&made, &result.size, both, 2, &params), 0);
    result.data = made;
    struct bloomfile_info info = verified_info(result);
    bloomfile_free(made);
    bloomfile_close(first);
    bloomfile_close(second);
    return info;
}

TEST(union_of_empty_filters_is_empty)
{
    for (uint32_t layout = BLOOMFILE_LAYOUT_BLOCKED; layout <= BLOOMFILE_LAYOUT_COUNTING;
         layout++) {
        struct bytes image = image_from((struct recipe){ layout, EMBEDDED, 1024, 3, 0, 0 });
        struct bloomfile_info info = info_of_union(image, image);
        assert_int_equal(info.ones, 0);
        assert_int_equal(info.keys, 0);
        assert_int_equal(info.keys_estimated, 0);
        free(image.data);
    }
}

TEST(union_records_the_worst_rate_of_its_sources)
{
    struct bytes good =
        image_from((struct recipe){ BLOOMFILE_LAYOUT_BLOCKED, EMBEDDED, 5120, 3, 9, 0 });
    struct bytes bad =
        image_from((struct recipe){ BLOOMFILE_LAYOUT_BLOCKED, EMBEDDED, 5120, 3, 8, 0 });
    put64(good.data + AT_fpr, 0x3F50624DD2F1A9FC); /* 0.001 */
    put64(bad.data + AT_fpr, 0x3FB999999999999A);  /* 0.1 */
    reseal_header(good.data);
    reseal_header(bad.data);
    assert_true(info_of_union(good, bad).fpr == 0.1);
    assert_true(info_of_union(bad, good).fpr == 0.1);
    free(good.data);
    free(bad.data);
}

/* The state of a source to which other processes write, before any of them commits. */
TEST(unknown_number_of_keys_is_not_zero)
{
    struct bytes some =
        image_from((struct recipe){ BLOOMFILE_LAYOUT_BLOCKED, EMBEDDED, 5120, 3, 9, 0 });
    struct bytes unknown = { malloc(some.size), some.size };
    memcpy(unknown.data, some.data, some.size);
    for (unsigned slot = 0; slot < 2; slot++) {
        put32(record_at(unknown.data, slot) + 12, RECORD_N_ESTIMATED);
        put64(record_at(unknown.data, slot) + 16, 0); /* n */
        reseal_record(unknown.data, slot);
    }
    assert_int_equal(info_of_union(some, unknown).keys_estimated, 1);
    assert_int_equal(info_of_union(unknown, some).keys_estimated, 1);
    free(some.data);
    free(unknown.data);
}

TEST(intersection_of_full_filters_is_full)
{
    struct bytes image =
        image_from((struct recipe){ BLOOMFILE_LAYOUT_CLASSIC, EMBEDDED, 64, 6, 999, 0 });
    bloomfile_filter *f = open_image(image, 0);
    const bloomfile_filter *const both[] = { f, f };
    struct bloomfile_merge_params params = BLOOMFILE_MERGE_PARAMS_INIT;
    params.op = BLOOMFILE_MERGE_INTERSECTION;
    params.max_fpr = 1;
    struct bytes result;
    void *made;
    assert_error(merge_memory(&made, &result.size, both, 2, &params), 0);
    result.data = made;
    assert_int_equal(verified_info(result).ones, 64);
    bloomfile_free(made);
    bloomfile_close(f);
    free(image.data);
}

TEST(assemble_refuses_invalid_parameters)
{
    static const uint8_t body[64];
    void *image;
    size_t size;
    const struct bloomfile_params sound = {
        .struct_size = sizeof sound, .bits = 512, .hashes = 3, .layout = BLOOMFILE_LAYOUT_BLOCKED
    };
    struct bloomfile_params wrong[3] = { sound, sound, sound };
    wrong[0].struct_size = 3;
    wrong[1].memory = 1 << 20; /* a parameter for builders only */
    wrong[2].hashes = 0;
    assert_error(assemble_memory(&image, &size, &sound, body, sizeof body, 0, 0), 0);
    bloomfile_free(image);
    for (size_t i = 0; i < ROWS(wrong); i++)
        assert_error(assemble_memory(&image, &size, &wrong[i], body, sizeof body, 0, 0),
                     i == 0 ? BLOOMFILE_ESTRUCTSIZE : BLOOMFILE_EVALUE);
    assert_error(assemble_memory(&image, &size, &sound, body, sizeof body, ~0u, 0),
                 BLOOMFILE_EVALUE);
}

TEST(assemble_keeps_a_body_of_whole_pages)
{
    static uint8_t body[2 * 4096];
    uint64_t random = 5;
    for (size_t i = 0; i < sizeof body; i++)
        body[i] = (uint8_t)random64(&random);
    const struct bloomfile_params params = { .struct_size = sizeof params,
                                             .bits = 8 * sizeof body,
                                             .hashes = 3 };
    struct bytes image;
    void *made;
    assert_error(assemble_memory(&made, &image.size, &params, body, sizeof body, 0, 0), 0);
    image.data = made;
    assert_int_equal(verified_info(image).bits, 8 * sizeof body);
    assert_memory_equal(image.data + EMBEDDED, body, sizeof body);
    bloomfile_free(made);
}

/* ---- memory and folders */

TEST(memory_within_its_huge_page_grows_in_place)
{
    uint8_t *pages = hugepages_grow(NULL, 0, 3 * MIB - 5000);
    assert_non_null(pages);
    pages[3 * MIB - 5001] = 77;
    assert_ptr_equal(hugepages_grow(pages, 3 * MIB - 5000, 3 * MIB), pages);
    assert_int_equal(pages[3 * MIB - 5001], 77);
    hugepages_free(pages, 3 * MIB);
}

TEST(size_overflow_does_not_allocate_a_small_block)
{
    struct map map;
    struct partitioner *p;
    assert_null(hugepages_grow(NULL, 0, SIZE_MAX));
    assert_error(map_file(&map, -1, 0, UINT64_MAX, (struct map_wish){ 0 }), BLOOMFILE_ETOOBIG);
    assert_error(partitioner_new(&p), 0);
    /* With 32 bits that is 256 MiB, which may be available. */
    assert_true(partitioner_reserve(p, SIZE_MAX) == ENOMEM || sizeof(size_t) == 4);
    partitioner_free(p);
    assert_true(distinct_memory(SIZE_MAX / 16) > distinct_memory(SIZE_MAX / 1024));
    assert_true(distinct_memory(SIZE_MAX) >= distinct_memory(SIZE_MAX / 16));
}

/* Each thread's buffer holds less than a partition delivers at a time. */
TEST(many_threads_share_little_memory_for_partitions)
{
    enum {
        KEYS = 3000000
    };
    bloomfile_builder *b =
        new_builder((struct bloomfile_params){ .threads = 24, .memory = 64 * MIB });
    uint64_t *digests = malloc(KEYS * sizeof *digests), count, random = 11;
    assert_non_null(digests);
    for (size_t i = 0; i < KEYS; i++)
        digests[i] = random64(&random);
    assert_error(bloomfile_builder_add_digests(b, digests, KEYS), 0);
    assert_error(bloomfile_builder_add_digests(b, digests, KEYS / 2), 0);
    assert_error(bloomfile_builder_count(b, &count), 0);
    assert_int_equal(count, KEYS);
    struct bytes image = finish_image(b);
    bloomfile_filter *f = open_image(image, 0);
    assert_int_equal(bloomfile_contains_digests(f, digests, KEYS, NULL), KEYS);
    bloomfile_close(f);
    free(image.data);
    free(digests);
    bloomfile_builder_free(b);
}

/* Too little for an extent; or enough for that, but not for the smallest buffers. */
TEST(memory_too_small_for_windows_makes_several_passes)
{
    const struct header h = { .layout = BLOOMFILE_LAYOUT_CLASSIC,
                              .m = 8 * 64 * (uint64_t)MIB,
                              .k = 7,
                              .header_size = IN_FILE };
    struct fill_plan plan = { .threads = 1, .room = 100, .part = 64 << 10 };
    assert_int_equal(parts_plan(&h, 1000000, &plan, false).window, 0);
    plan = (struct fill_plan){ .threads = 1, .room = 100000, .part = 8 << 10 };
    assert_true(plan.room * READER_EACH > 3 * DEFERRED_EXTENT);
    assert_int_equal(parts_plan(&h, 1000000, &plan, false).window, 0);
    plan = (struct fill_plan){ .threads = 1, .room = 10000, .part = 512 << 10 };
    assert_true(parts_plan(&h, 1000000, &plan, false).window > 0);
}

TEST(empty_spool_folder_means_the_default)
{
    assert_string_equal(spool_folder(""), "/tmp");
    assert_string_equal(spool_folder("named"), "named");
}

TEST(directory_and_pipe_named_like_temporaries_are_kept)
{
    assert_int_equal(mkdir(".bloomfile.000000000000.tmp", 0700), 0);
    make_pipe(".bloomfile.000000000001.tmp", 0600);
    assert_error(publish_filter("beside", 0, 10), 0);
    assert_int_equal(rmdir(".bloomfile.000000000000.tmp"), 0);
    assert_int_equal(unlink(".bloomfile.000000000001.tmp"), 0);
    assert_filter_of("beside", 10);
}

int main(void)
{
    return run_all(enter_temp_dir, leave_temp_dir);
}
