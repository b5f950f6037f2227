/* SPDX-License-Identifier: MIT
 * Filters with an application's own hash function: only a caller that names it correctly ever
 * gets "no". */
#include "support.h"

#include <bloomfile_combine.h>
#include <bloomfile_inline.h>
#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <bloomfile_open.h>
#include <bloomfile_unstable.h>

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/bytes.h"
#include "format/header.h"

#define OURS      0x80536E6Fu
#define SELF_TEST 0x0123456789ABCDEFu /* of our hash function */
#define COUNT     300                 /* digests in each filter */
#define BATCH     3000                /* digests looked up in each batch, most of them absent */

static const uint32_t layouts[] = { BLOOMFILE_LAYOUT_BLOCKED, BLOOMFILE_LAYOUT_CLASSIC,
                                    BLOOMFILE_LAYOUT_COUNTING };

static struct bloomfile_params params_of(uint32_t layout)
{
    return (struct bloomfile_params){ .struct_size = sizeof(struct bloomfile_params),
                                      .layout = layout,
                                      .bits = 512 * 60,
                                      .hashes = 6,
                                      .capacity = COUNT,
                                      .hash_id = OURS,
                                      .self_test = SELF_TEST };
}

/* The application's digest of its i-th key. */
static uint64_t digest_of(uint64_t i)
{
    return number(99, i);
}

static struct bytes image_with(struct bloomfile_params params)
{
    uint64_t digests[COUNT];
    for (unsigned i = 0; i < COUNT; i++)
        digests[i] = digest_of(i);
    bloomfile_builder *b = new_builder(params);
    assert_error(bloomfile_builder_add_digests(b, digests, COUNT), 0);
    struct bytes image = finish_image(b);
    bloomfile_builder_free(b);
    return image;
}

static struct bytes image_of(uint32_t layout)
{
    return image_with(params_of(layout));
}

/* ---- every kind of lookup: how many of BATCH are "maybe" */

static size_t by_digest(const bloomfile_filter *f)
{
    size_t found = 0;
    for (unsigned i = 0; i < BATCH; i++)
        found += bloomfile_contains_digest(f, digest_of(i));
    return found;
}

static size_t by_digests(const bloomfile_filter *f)
{
    static uint64_t digests[BATCH];
    bool hits[BATCH] = { false };
    size_t found = 0;
    for (unsigned i = 0; i < BATCH; i++)
        digests[i] = digest_of(i);
    assert_int_equal(bloomfile_contains_digests(f, digests, BATCH, hits),
                     bloomfile_contains_digests(f, digests, BATCH, NULL));
    for (unsigned i = 0; i < BATCH; i++)
        found += hits[i];
    return found;
}

static size_t by_key(const bloomfile_filter *f)
{
    size_t found = 0;
    for (unsigned i = 0; i < BATCH; i++)
        found += bloomfile_contains(f, &i, sizeof i);
    return found;
}

static size_t by_keys(const bloomfile_filter *f)
{
    static unsigned numbers[BATCH];
    struct bloomfile_key keys[BATCH];
    bool hits[BATCH] = { false };
    size_t found = 0;
    for (unsigned i = 0; i < BATCH; i++) {
        numbers[i] = i;
        keys[i] = (struct bloomfile_key){ &numbers[i], sizeof numbers[i] };
    }
    assert_int_equal(bloomfile_contains_many(f, keys, BATCH, hits),
                     bloomfile_contains_many(f, keys, BATCH, NULL));
    for (unsigned i = 0; i < BATCH; i++)
        found += hits[i];
    return found;
}

static void assert_never_no(const bloomfile_filter *f)
{
    assert_int_equal(by_digest(f), BATCH);
    assert_int_equal(by_digests(f), BATCH);
    assert_int_equal(by_key(f), BATCH);
    assert_int_equal(by_keys(f), BATCH);
    assert_error(bloomfile_check(f), BLOOMFILE_EHASH);
}

static void assert_answers(const bloomfile_filter *f)
{
    assert_in_range(by_digest(f), COUNT, COUNT + 60);
    assert_int_equal(by_digests(f), by_digest(f));
    assert_error(bloomfile_check(f), 0);
}

/* ---- building */

TEST(builder_with_an_application_hash_refuses_keys)
{
    for (unsigned many = 0; many < 2; many++) {
        bloomfile_builder *b = new_builder(params_of(BLOOMFILE_LAYOUT_BLOCKED));
        const struct bloomfile_key key = { "key", 3 };
        uint64_t digest = 5, count;
        assert_error(bloomfile_builder_add_digests(b, &digest, 1), 0);
        assert_error(bloomfile_builder_count(b, &count), 0);
        assert_int_equal(count, 1);
        assert_error(many ? bloomfile_builder_add_many(b, &key, 1)
                          : bloomfile_builder_add(b, "key", 3),
                     BLOOMFILE_EHASH);
        assert_error(bloomfile_builder_count(b, &count), BLOOMFILE_EHASH); /* the name is missing */
        assert_error(bloomfile_builder_write(b, TO_PATH("lacking", 0)), BLOOMFILE_EHASH);
        bloomfile_builder_free(b);
    }
}

TEST(header_records_hash_id_and_self_test)
{
    for (size_t i = 0; i < ROWS(layouts); i++) {
        struct bytes image = image_of(layouts[i]);
        assert_int_equal(get32(image.data + AT_hash_id), OURS);
        assert_int_equal(get64(image.data + AT_self_test), SELF_TEST);
        struct bloomfile_info info = BLOOMFILE_INFO_INIT;
        assert_error(bloomfile_inspect(image.data, image.size, &info, NULL, NULL), 0);
        assert_int_equal(info.hash_id, OURS);
        assert_int_equal(info.self_test, SELF_TEST);
        free(image.data);
    }
}

/* ---- opening */

static int open_ours(bloomfile_filter **f, struct bytes image, unsigned flags)
{
    return open_named(f, bloomfile_from_memory(image.data, image.size), flags, OURS, SELF_TEST);
}

static int open_ours_at(bloomfile_filter **f, const char *path, unsigned flags)
{
    return open_named(f, bloomfile_from_path(path), flags, OURS, SELF_TEST);
}

/* bloomfile_open() is for lookups by key. */
TEST(open_refuses_an_application_hash_and_open_with_answers_maybe)
{
    static const unsigned flags[] = { 0, BLOOMFILE_OPEN_VERIFY_FULL, BLOOMFILE_OPEN_VERIFY_NONE,
                                      BLOOMFILE_OPEN_COPY };
    struct bytes image = image_of(BLOOMFILE_LAYOUT_BLOCKED);
    write_file("filter", image.data, image.size);
    int fd = open("filter", O_RDONLY);
    const struct bloomfile_source from[] = { bloomfile_from_path("filter"), bloomfile_from_fd(fd),
                                             bloomfile_from_memory(image.data, image.size) };
    for (size_t i = 0; i < ROWS(flags) * ROWS(from); i++) {
        bloomfile_filter *f;
        const unsigned flag = flags[i / ROWS(from)];
        assert_error(bloomfile_open(&f, "filter", flag), BLOOMFILE_EHASH);
        assert_null(f);
        assert_error(open_named(&f, from[i % ROWS(from)], flag, BLOOMFILE_HASH_XXH3, 0),
                     BLOOMFILE_EHASH);
        assert_null(f);
        assert_error(open_from(&f, from[i % ROWS(from)], flag), 0);
        assert_never_no(f);
        bloomfile_close(f);
        assert_error(bloomfile_open_with(&f, &from[i % ROWS(from)], NULL), 0);
        assert_never_no(f);
        bloomfile_close(f);
        assert_error(open_named(&f, from[i % ROWS(from)], flag, OURS, SELF_TEST), 0);
        assert_answers(f);
        bloomfile_close(f);
    }
    close(fd);
    free(image.data);
}

/* V10 comes before V12 for a caller that supports no such images. It does not apply to other
 * callers. */
TEST(faults_are_reported_in_the_order_of_the_rules)
{
    struct bytes image = image_of(BLOOMFILE_LAYOUT_BLOCKED);
    bloomfile_filter *f;
    put32(image.data + AT_k, 0); /* V12 */
    reseal_header(image.data);
    assert_error(
        open_named(&f, bloomfile_from_memory(image.data, image.size), 0, OURS + 1, SELF_TEST),
        BLOOMFILE_EHASHCOUNT);
    struct bloomfile_source from = bloomfile_from_memory(image.data, image.size);
    assert_error(bloomfile_open_with(&f, &from, NULL), BLOOMFILE_EHASHCOUNT);
    assert_error(open_named(&f, from, 0, BLOOMFILE_HASH_XXH3, 0), BLOOMFILE_EHASH);
    free(image.data);
}

TEST(hash_ids_below_the_application_range_are_refused)
{
    static const uint32_t ids[] = { 0, 2, 0x7FFFFFFF };
    struct bytes image = image_of(BLOOMFILE_LAYOUT_CLASSIC);
    for (size_t i = 0; i < ROWS(ids); i++) {
        bloomfile_filter *f;
        put32(image.data + AT_hash_id, ids[i]);
        reseal_header(image.data);
        assert_verdict("V10", image, BLOOMFILE_EHASH, "hash_id", AT_hash_id);
        assert_error(open_from(&f, bloomfile_from_memory(image.data, image.size), 0),
                     BLOOMFILE_EHASH);
    }
    free(image.data);
}

/* ---- naming */

TEST(open_requires_the_right_hash_id_and_self_test)
{
    static const unsigned flags[] = { 0, BLOOMFILE_OPEN_VERIFY_FULL, BLOOMFILE_OPEN_VERIFY_NONE };
    for (size_t i = 0; i < ROWS(layouts) * ROWS(flags); i++) {
        struct bytes image = image_of(layouts[i % ROWS(layouts)]);
        const struct bloomfile_source from = bloomfile_from_memory(image.data, image.size);
        const unsigned flag = flags[i / ROWS(layouts)];
        bloomfile_filter *f;
        assert_error(open_named(&f, from, flag, OURS + 1, SELF_TEST), BLOOMFILE_EHASH);
        assert_error(open_named(&f, from, flag, OURS, SELF_TEST ^ 1), BLOOMFILE_ESELFTEST);
        assert_error(open_named(&f, from, flag, 1, SELF_TEST), BLOOMFILE_EHASH);
        assert_error(open_named(&f, from, flag, OURS, SELF_TEST), 0);
        assert_answers(f);
        bloomfile_close(f);
        free(image.data);
    }
}

static uint64_t test_of_seed(void *factor, uint64_t seed)
{
    return seed * *(uint64_t *)factor + 1;
}

TEST(a_self_test_may_depend_on_the_seed_of_the_file)
{
    struct bloomfile_params params = params_of(BLOOMFILE_LAYOUT_BLOCKED);
    struct bloomfile_open_params how = BLOOMFILE_OPEN_PARAMS_INIT;
    params.seed = 1234;
    uint64_t factor = 3;
    params.self_test = test_of_seed(&factor, 1234);
    struct bytes image = image_with(params);
    const struct bloomfile_source from = bloomfile_from_memory(image.data, image.size);
    bloomfile_filter *f;
    how.expect = BLOOMFILE_EXPECT_HASH;
    how.hash_id = OURS;
    how.self_test_of = test_of_seed;
    how.context = &factor;
    assert_error(bloomfile_open_with(&f, &from, &how), 0);
    assert_answers(f);
    bloomfile_close(f);
    put64(image.data + AT_seed, 1235);
    reseal_header(image.data);
    assert_error(bloomfile_open_with(&f, &from, &how), BLOOMFILE_ESELFTEST);
    free(image.data);
}

TEST(application_hash_does_not_open_an_xxh3_filter)
{
    struct bytes image =
        image_from((struct recipe){ BLOOMFILE_LAYOUT_BLOCKED, EMBEDDED, 51200, 6, 9, 0 });
    bloomfile_filter *f;
    assert_error(open_ours(&f, image, 0), BLOOMFILE_EHASH);
    const struct bloomfile_source from = bloomfile_from_memory(image.data, image.size);
    assert_error(open_named(&f, from, 0, BLOOMFILE_HASH_XXH3, 99), BLOOMFILE_ESELFTEST);
    assert_error(open_named(&f, from, 0, BLOOMFILE_HASH_XXH3, 0), 0);
    assert_in_range(by_key(f), 0, 9);
    assert_error(bloomfile_check(f), 0);
    bloomfile_close(f);
    free(image.data);
}

TEST(lookup_by_key_answers_maybe_and_sets_the_sticky_error)
{
    for (size_t i = 0; i < ROWS(layouts); i++)
        for (unsigned batch = 0; batch < 2; batch++) {
            struct bytes image = image_of(layouts[i]);
            bloomfile_filter *f;
            assert_error(open_ours(&f, image, 0), 0);
            assert_error(bloomfile_check(f), 0);
            assert_int_equal(bloomfile_contains_many(f, NULL, 0, NULL), 0);
            assert_error(bloomfile_check(f), 0);
            assert_int_equal(batch ? by_keys(f) : by_key(f), BATCH);
            assert_error(bloomfile_check(f), BLOOMFILE_EHASH);
            assert_in_range(by_digest(f), COUNT, COUNT + 60); /* absent digests still get "no" */
            bloomfile_close(f);
            free(image.data);
        }
}

TEST(damage_is_reported_instead_of_an_unnamed_hash)
{
    struct bytes image = image_of(BLOOMFILE_LAYOUT_BLOCKED);
    image.data[EMBEDDED + 100] ^= 1;
    bloomfile_filter *f = open_image(image, 0);
    assert_never_no(f);
    assert_error(bloomfile_verify(f, 1, NULL), BLOOMFILE_EPAGE);
    assert_error(bloomfile_check(f), BLOOMFILE_EPAGE);
    bloomfile_close(f);
    free(image.data);
}

/* ---- operations that need no name */

static void assert_copy(const char *path, uint32_t layout)
{
    bloomfile_filter *f;
    assert_error(bloomfile_open(&f, path, 0), BLOOMFILE_EHASH);
    assert_error(open_ours_at(&f, path, BLOOMFILE_OPEN_VERIFY_FULL), 0);
    assert_int_equal(info_of(f).layout, layout);
    assert_int_equal(info_of(f).hash_id, OURS);
    assert_int_equal(info_of(f).self_test, SELF_TEST);
    for (unsigned i = 0; i < COUNT; i++)
        assert_true(bloomfile_contains_digest(f, digest_of(i)));
    assert_in_range(by_digest(f), COUNT, COUNT + 300);
    bloomfile_close(f);
}

TEST(fold_merge_copy_and_verify_work_without_the_hash)
{
    for (size_t i = 0; i < ROWS(layouts); i++) {
        const uint32_t layout = layouts[i];
        struct bytes image = image_of(layout);
        bloomfile_filter *f = open_image(image, 0);
        const bloomfile_filter *const both[] = { f, f };
        struct bloomfile_merge_params how = BLOOMFILE_MERGE_PARAMS_INIT;
        struct bloomfile_measurement measured = BLOOMFILE_MEASUREMENT_INIT;
        double fill[7];
        size_t count = 0;
        assert_never_no(f);
        assert_error(bloomfile_verify(f, 1, NULL), 0);
        assert_error(bloomfile_measure(f, &measured), 0);
        assert_int_equal(measured.ones, info_of(f).ones);
        assert_error(bloomfile_measure_map(f, fill, ROWS(fill)), 0);
        assert_error(bloomfile_fold_plan(f, 0, NULL, &count), 0);
        assert_error(bloomfile_check_merge(f, f), 0);
        assert_error(bloomfile_fold(TO_PATH("out", BLOOMFILE_TO_REPLACE), f, 2, NULL), 0);
        assert_copy("out", layout);
        assert_error(bloomfile_copy_sealed(TO_PATH("out", BLOOMFILE_TO_REPLACE), f, NULL), 0);
        assert_copy("out", layout);
        how.max_fpr = 1;
        assert_error(bloomfile_merge(TO_PATH("out", BLOOMFILE_TO_REPLACE), both, 2, &how), 0);
        assert_copy("out", layout);
        how.op = BLOOMFILE_MERGE_INTERSECTION;
        if (layout != BLOOMFILE_LAYOUT_COUNTING) {
            assert_error(bloomfile_merge(TO_PATH("out", BLOOMFILE_TO_REPLACE), both, 2, &how), 0);
            assert_copy("out", layout);
        } else {
            assert_error(bloomfile_project(TO_PATH("out", BLOOMFILE_TO_REPLACE), f, NULL), 0);
            assert_copy("out", BLOOMFILE_LAYOUT_CLASSIC);
        }
        assert_never_no(f);
        bloomfile_close(f);
        free(image.data);
    }
}

TEST(filters_of_different_hash_functions_do_not_merge)
{
    struct bloomfile_params params = params_of(BLOOMFILE_LAYOUT_CLASSIC);
    struct bytes images[4];
    bloomfile_filter *handles[4];
    images[0] = image_with(params);
    params.self_test ^= 1;
    images[1] = image_with(params);
    params = params_of(BLOOMFILE_LAYOUT_CLASSIC);
    params.hash_id++;
    images[2] = image_with(params);
    params.hash_id = 0;
    params.self_test = 0;
    images[3] = image_with(params);
    for (unsigned i = 0; i < 4; i++)
        handles[i] = open_image(images[i], 0);
    for (unsigned i = 0; i < 4; i++)
        for (unsigned j = 0; j < 4; j++) {
            const bloomfile_filter *const both[] = { handles[i], handles[j] };
            const int expected = i == j ? 0 : BLOOMFILE_EDIFFERENTHASH;
            assert_error(bloomfile_check_merge(handles[i], handles[j]), expected);
            assert_error(bloomfile_merge(TO_PATH("out", BLOOMFILE_TO_REPLACE), both, 2, NULL),
                         expected);
        }
    for (unsigned i = 0; i < 4; i++) {
        bloomfile_close(handles[i]);
        free(images[i].data);
    }
}

TEST(assemble_records_the_application_hash_of_its_params)
{
    const struct bloomfile_params params = params_of(BLOOMFILE_LAYOUT_COUNTING);
    struct bytes image = image_of(BLOOMFILE_LAYOUT_COUNTING);
    assert_error(bloomfile_assemble(TO_PATH("out", BLOOMFILE_TO_REPLACE), &params,
                                    image.data + EMBEDDED, 512 * 60 / 2, 0, COUNT),
                 0);
    assert_copy("out", BLOOMFILE_LAYOUT_COUNTING);
    free(image.data);
}

/* ---- live */

static bloomfile_filter *create_live(uint32_t layout)
{
    const struct bloomfile_params params = params_of(layout);
    bloomfile_filter *f;
    assert_error(bloomfile_create(&f, "live", &params, BLOOMFILE_TO_REPLACE), 0);
    for (unsigned i = 0; i < COUNT; i++)
        assert_error(bloomfile_add_digest(f, digest_of(i), NULL), 0);
    return f;
}

static void assert_takes_nothing(bloomfile_filter *f, bool named)
{
    const struct bloomfile_key key = { "key", 3 };
    const uint64_t digest = 7;
    assert_error(bloomfile_add(f, "key", 3, NULL), BLOOMFILE_EHASH);
    assert_error(bloomfile_add_many(f, &key, 1, NULL, NULL, NULL), BLOOMFILE_EHASH);
    assert_error(bloomfile_add_many(f, &key, 0, NULL, NULL, NULL), BLOOMFILE_EHASH);
    assert_error(bloomfile_remove(f, "key", 3), BLOOMFILE_EHASH);
    if (named)
        return;
    assert_error(bloomfile_add_digest(f, digest, NULL), BLOOMFILE_EHASH);
    assert_error(bloomfile_add_digests(f, &digest, 1, NULL, NULL, NULL), BLOOMFILE_EHASH);
    assert_error(bloomfile_add_digests(f, &digest, 0, NULL, NULL, NULL), BLOOMFILE_EHASH);
    assert_error(bloomfile_remove_digest(f, digest_of(0)), BLOOMFILE_EHASH);
}

TEST(live_filter_accepts_digests_only_with_its_hash_named)
{
    bloomfile_filter *f = create_live(BLOOMFILE_LAYOUT_COUNTING);
    assert_answers(f);
    assert_takes_nothing(f, true);
    bloomfile_close(f);
    assert_error(bloomfile_open(&f, "live", BLOOMFILE_OPEN_WRITE), BLOOMFILE_EHASH);
    assert_error(open_any(&f, "live", BLOOMFILE_OPEN_WRITE), 0);
    assert_takes_nothing(f, false);
    assert_never_no(f);
    assert_int_equal(info_of(f).keys, COUNT);
    bloomfile_close(f);
    assert_error(
        open_named(&f, bloomfile_from_path("live"), BLOOMFILE_OPEN_WRITE, OURS, SELF_TEST + 1),
        BLOOMFILE_ESELFTEST);
    assert_error(open_ours_at(&f, "live", BLOOMFILE_OPEN_WRITE), 0);
    assert_error(bloomfile_remove_digest(f, digest_of(0)), 0);
    assert_error(bloomfile_remove_digest(f, digest_of(COUNT + 1)), BLOOMFILE_EABSENT);
    assert_int_equal(info_of(f).keys, COUNT - 1);
    assert_error(bloomfile_sync(f, NULL), 0);
    bloomfile_close(f);
}

/* ---- digests that only the application can compute */

static void assert_sealed_never_no(uint32_t layout, unsigned flags)
{
    struct bytes image = image_of(layout);
    struct bloomfile_pinned pin = BLOOMFILE_PINNED_INIT;
    bloomfile_filter *f;
    assert_error(open_ours(&f, image, flags), 0);
    assert_answers(f);
    assert_error(bloomfile_pin(f, &pin), 0);
    const bloomfile_digest digest = bloomfile_pinned_digest(&pin, "key", 3);
    assert_true(bloomfile_pinned_contains_digest(&pin, digest));
    assert_int_equal(bloomfile_pinned_contains_digests(&pin, &digest, 1, NULL), 1);
    assert_error(bloomfile_damage(f), BLOOMFILE_EHASH);
    assert_never_no(f);
    assert_error(bloomfile_verify(f, 1, NULL), 0);
    bloomfile_digest_of(f, "key", 3);
    assert_never_no(f);
    bloomfile_close(f);
    free(image.data);
}

TEST(filter_with_an_unnamed_hash_never_answers_no)
{
    static const unsigned flags[] = { 0, BLOOMFILE_OPEN_VERIFY_FULL, BLOOMFILE_OPEN_VERIFY_NONE };
    for (size_t i = 0; i < ROWS(layouts) * ROWS(flags); i++)
        assert_sealed_never_no(layouts[i % ROWS(layouts)], flags[i / ROWS(layouts)]);
}

TEST(digest_of_an_unavailable_hash_is_neither_added_nor_removed)
{
    for (unsigned series = 0; series < 2; series++) {
        struct bloomfile_params params =
            params_of(series ? BLOOMFILE_LAYOUT_BLOCKED : BLOOMFILE_LAYOUT_COUNTING);
        params.series = series ? 2 : 0;
        bloomfile_filter *f;
        assert_error(bloomfile_create(&f, "live", &params, BLOOMFILE_TO_REPLACE), 0);
        assert_error(bloomfile_add_digest(f, digest_of(1), NULL), 0);
        assert_false(bloomfile_contains_digest(f, digest_of(2)));
        const bloomfile_digest digest = bloomfile_digest_of(f, "key", 3);
        assert_error(bloomfile_add_digest(f, digest, NULL), BLOOMFILE_EHASH);
        assert_error(bloomfile_remove_digest(f, digest),
                     series ? BLOOMFILE_ENOTCOUNTING : BLOOMFILE_EHASH);
        assert_never_no(f);
        assert_int_equal(info_of(f).keys, 1);
        assert_error(bloomfile_sync(f, NULL), 0); /* the earlier add is kept */
        bloomfile_close(f);
        assert_error(open_ours_at(&f, "live", 0), 0);
        assert_true(bloomfile_contains_digest(f, digest_of(1)));
        assert_false(bloomfile_contains_digest(f, digest_of(2)));
        bloomfile_close(f);
        assert_error(bloomfile_unlink("live"), 0);
    }
}

TEST(filter_in_memory_accepts_digests)
{
    const struct bloomfile_params params = params_of(BLOOMFILE_LAYOUT_BLOCKED);
    bloomfile_filter *f;
    assert_error(bloomfile_create_memory(&f, &params, 0), 0);
    assert_error(bloomfile_add_digest(f, 5, NULL), 0);
    assert_true(bloomfile_contains_digest(f, 5));
    assert_false(bloomfile_contains_digest(f, digest_of(1)));
    assert_error(bloomfile_add(f, "key", 3, NULL), BLOOMFILE_EHASH);
    bloomfile_close(f);
}

/* bfseal does this: it seals in place and cannot name the function. */
TEST(sealing_in_place_with_an_unnamed_hash_still_answers_maybe)
{
    for (size_t i = 0; i < ROWS(layouts); i++) {
        bloomfile_filter *f = create_live(layouts[i]);
        bloomfile_close(f);
        assert_error(open_any(&f, "live", BLOOMFILE_OPEN_WRITE), 0);
        assert_error(bloomfile_seal(f, NULL), 0);
        assert_never_no(f);
        assert_error(bloomfile_verify(f, 1, NULL), 0);
        assert_never_no(f);
        bloomfile_close(f);
        assert_copy("live", layouts[i]);
    }
}

TEST(live_filter_with_an_unnamed_hash_is_copied_and_rescued)
{
    bloomfile_filter *f = create_live(BLOOMFILE_LAYOUT_BLOCKED), *copy;
    bloomfile_close(f);
    assert_error(open_any(&f, "live", 0), 0);
    assert_never_no(f);
    assert_error(bloomfile_copy_sealed(TO_PATH("out", BLOOMFILE_TO_REPLACE), f, NULL), 0);
    assert_copy("out", BLOOMFILE_LAYOUT_BLOCKED);
    assert_error(bloomfile_rescue("out", f, BLOOMFILE_TO_REPLACE), 0);
    bloomfile_close(f);
    assert_error(bloomfile_open(&copy, "out", 0), BLOOMFILE_EHASH);
    assert_error(open_ours_at(&copy, "out", 0), 0);
    assert_answers(copy);
    bloomfile_close(copy);
}

/* ---- the golden files, which tests/spec/spec_reader.py made */

static const char *golden;

/* Counts the digests in a file; returns how many of them are "maybe". */
static unsigned maybes_of(const bloomfile_filter *f, const char *folder, const char *name,
                          unsigned *count)
{
    char path[4096];
    unsigned found = 0;
    uint64_t digest;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    for (*count = 0; fscanf(file, "%" SCNx64, &digest) == 1; ++*count)
        found += bloomfile_contains_digest(f, digest);
    fclose(file);
    return found;
}

static void assert_golden(const char *name, const char *keys, uint32_t hash_id, uint64_t self_test,
                          unsigned maybes)
{
    char path[4096];
    unsigned count;
    bloomfile_filter *f;
    snprintf(path, sizeof path, "%s/%s", golden, name);
    assert_error(open_named(&f, bloomfile_from_path(path), 0, hash_id, self_test), 0);
    const unsigned present = maybes_of(f, golden, keys, &count);
    assert_int_equal(present, count);
    assert_true(count > 0);
    const unsigned absent = maybes_of(f, golden, "keys/absent.digests", &count);
    assert_int_equal(absent, maybes);
    assert_int_equal(count, 1000);
    assert_error(bloomfile_verify(f, 1, NULL), 0);
    assert_error(bloomfile_check(f), 0);
    bloomfile_close(f);
}

TEST(golden_files_with_application_hashes_answer_by_digest)
{
    char path[4096], name[64], keys[64];
    uint32_t hash_id;
    uint64_t self_test;
    unsigned maybes, found = 0;
    snprintf(path, sizeof path, "%s/index.tsv", golden);
    struct bytes index = read_file(path);
    for (char *rest = (char *)index.data, *line; (line = strsep(&rest, "\n")) != NULL;)
        if (sscanf(line,
                   "%63s\t%63s\t%*s\t%*s\t%*s\t%*s\t%*s\t%8" SCNx32 " %16" SCNx64
                   "\t%*[^\t]\t%*s\t%*s\t%u",
                   name, keys, &hash_id, &self_test, &maybes) == 5) {
            assert_golden(name, keys, hash_id, self_test, maybes);
            found++;
        }
    assert_int_equal(found, 14);
    free(index.data);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    golden = argv[1];
    return run_all(enter_temp_dir, leave_temp_dir);
}
