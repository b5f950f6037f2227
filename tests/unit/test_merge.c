/* SPDX-License-Identifier: MIT
 * Unions and intersections of filters of different sizes, and filters around bodies that were
 * computed elsewhere. */
#include "support.h"

#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <bloomfile_unstable.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint32_t layouts[] = { BLOOMFILE_LAYOUT_BLOCKED, BLOOMFILE_LAYOUT_CLASSIC,
                                    BLOOMFILE_LAYOUT_COUNTING };

/* This many bits or counters, away from the limits of the layout. */
static uint64_t bits_of(uint32_t layout, uint64_t units)
{
    return layout == BLOOMFILE_LAYOUT_BLOCKED ? 512 * units : 40 * units;
}

static struct bloomfile_params params_of(uint32_t layout, uint64_t bits)
{
    return (struct bloomfile_params){ .struct_size = sizeof(struct bloomfile_params),
                                      .layout = layout,
                                      .bits = bits,
                                      .hashes = 5,
                                      .capacity = 1000 };
}

static void build_params(const char *path, struct bloomfile_params params, uint64_t from,
                         uint64_t to)
{
    bloomfile_builder *b = new_builder(params);
    add_numbers(b, from, to);
    assert_error(bloomfile_builder_write(b, TO_PATH(path, BLOOMFILE_TO_REPLACE)), 0);
    bloomfile_builder_free(b);
}

static void build(const char *path, uint32_t layout, uint64_t bits, uint64_t from, uint64_t to)
{
    build_params(path, params_of(layout, bits), from, to);
}

static bloomfile_filter *opened(const char *path)
{
    bloomfile_filter *f;
    assert_error(bloomfile_open(&f, path, 0), 0);
    return f;
}

/* Merges the filters at the paths, which end with NULL. */
static int merge(const char *dst, const char *const *paths, struct bloomfile_merge_params params)
{
    const bloomfile_filter *srcs[8] = { NULL };
    size_t count = 0;
    for (; paths[count] != NULL; count++)
        srcs[count] = opened(paths[count]);
    params.struct_size = sizeof params;
    int error = bloomfile_merge(TO_PATH(dst, BLOOMFILE_TO_REPLACE), srcs, count, &params);
    while (count > 0)
        bloomfile_close((bloomfile_filter *)(uintptr_t)srcs[--count]);
    return error;
}

static struct bloomfile_info info_at(const char *path)
{
    bloomfile_filter *f;
    assert_error(bloomfile_open(&f, path, BLOOMFILE_OPEN_VERIFY_FULL), 0);
    struct bloomfile_info info = info_of(f);
    bloomfile_close(f);
    return info;
}

static void assert_keys(const char *path, uint64_t keys, bool estimated)
{
    const struct bloomfile_info info = info_at(path);
    assert_int_equal(info.keys, keys);
    assert_int_equal(info.keys_estimated, estimated);
}

static void assert_same_body(const char *a, const char *b)
{
    struct bytes one = read_file(a), other = read_file(b);
    assert_int_equal(one.size, other.size);
    assert_memory_equal(one.data + IN_FILE, other.data + IN_FILE, one.size - IN_FILE);
    free(one.data);
    free(other.data);
}

static const char *const abc[] = { "a", "b", "c", NULL };

TEST(union_equals_one_build_of_all_keys_at_the_common_size)
{
    static const uint64_t sizes[][4] = {
        { 1, 1, 1, 1 },
        { 6, 6, 6, 6 },
        { 60, 90, 150, 30 },
        { 64, 96, 16, 16 },
        { 7 * 660, 14 * 660, 21 * 660, 7 * 660 },
    };
    for (size_t l = 0; l < ROWS(layouts); l++)
        for (size_t i = 0; i < ROWS(sizes); i++) {
            const uint64_t keys = 20 * sizes[i][3];
            build("a", layouts[l], bits_of(layouts[l], sizes[i][0]), 0, keys);
            build("b", layouts[l], bits_of(layouts[l], sizes[i][1]), keys, 2 * keys);
            build("c", layouts[l], bits_of(layouts[l], sizes[i][2]), 2 * keys, 3 * keys);
            build("all", layouts[l], bits_of(layouts[l], sizes[i][3]), 0, 3 * keys);
            assert_error(merge("union", abc, (struct bloomfile_merge_params){ 0 }), 0);
            assert_same_body("union", "all");
            struct bloomfile_info info = info_at("union");
            assert_int_equal(info.bits, bits_of(layouts[l], sizes[i][3]));
            assert_int_equal(info.bits_unfolded, info.bits);
            assert_int_equal(info.provenance, BLOOMFILE_PROVENANCE_UNION);
            assert_int_equal(info.keys_estimated, 1);
        }
}

TEST(shared_keys_count_once_except_in_counting_filters)
{
    static const char *const twice[] = { "a", "a", NULL };
    for (size_t l = 0; l < ROWS(layouts); l++) {
        build("a", layouts[l], bits_of(layouts[l], 30), 0, 300);
        assert_error(merge("union", twice, (struct bloomfile_merge_params){ 0 }), 0);
        if (layouts[l] != BLOOMFILE_LAYOUT_COUNTING) {
            assert_same_body("union", "a");
            continue;
        }
        bloomfile_filter *once = opened("a"), *both = opened("union");
        size_t size;
        const uint8_t *x = bloomfile_body(once, &size), *y = bloomfile_body(both, &size);
        assert_int_equal(size, 600);
        for (size_t i = 0; i < 1200; i++) {
            unsigned single = x[i / 2] >> 4 * (i % 2) & 15, sum = y[i / 2] >> 4 * (i % 2) & 15;
            assert_int_equal(sum, single > 7 ? 15 : 2 * single);
        }
        bloomfile_close(once);
        bloomfile_close(both);
    }
}

TEST(intersection_has_the_common_bits_of_all_sources)
{
    for (size_t l = 0; l < 2; l++) {
        const uint32_t layout = layouts[l];
        build("a", layout, bits_of(layout, 180), 0, 400);
        build("b", layout, bits_of(layout, 90), 200, 600);
        build("c", layout, bits_of(layout, 60), 300, 500);
        assert_error(merge("both", abc,
                           (struct bloomfile_merge_params){ .op = BLOOMFILE_MERGE_INTERSECTION }),
                     0);
        bloomfile_filter *both = opened("both");
        struct bloomfile_info info = info_at("both");
        assert_int_equal(info.bits, bits_of(layout, 30));
        assert_int_equal(info.provenance, BLOOMFILE_PROVENANCE_INTERSECTION);
        assert_int_equal(info.keys_estimated, 1);
        uint8_t expected[512 * 30 / 8];
        memset(expected, 0xFF, sizeof expected);
        for (size_t i = 0; i < 3; i++) {
            bloomfile_filter *f = opened(abc[i]);
            assert_error(bloomfile_fold(TO_PATH("folded", BLOOMFILE_TO_REPLACE), f,
                                        info_of(f).bits / info.bits, NULL),
                         0);
            bloomfile_close(f);
            f = opened("folded");
            size_t size;
            const uint8_t *body = bloomfile_body(f, &size);
            assert_int_equal(size, info.bits / 8);
            for (size_t at = 0; at < size; at++)
                expected[at] &= body[at];
            bloomfile_close(f);
        }
        size_t size;
        assert_memory_equal(bloomfile_body(both, &size), expected, (size_t)(info.bits / 8));
        for (uint64_t key = 300; key < 400; key++)
            assert_true(bloomfile_contains_digest(both, number(0, key)));
        bloomfile_close(both);
    }
}

TEST(count_of_a_union_is_estimated_only_if_two_sources_have_keys)
{
    static const char *const alone[] = { "b", NULL };
    for (size_t l = 0; l < ROWS(layouts); l++) {
        const uint64_t bits = bits_of(layouts[l], 1000);
        build("a", layouts[l], bits, 0, 0);
        build("b", layouts[l], bits, 0, 321);
        build("c", layouts[l], bits, 0, 0);
        assert_error(merge("union", abc, (struct bloomfile_merge_params){ 0 }), 0);
        assert_keys("union", 321, false);
        assert_error(merge("union", alone, (struct bloomfile_merge_params){ 0 }), 0);
        assert_keys("union", 321, false);

        build("c", layouts[l], bits, 321, 1321);
        assert_error(merge("union", abc, (struct bloomfile_merge_params){ 0 }), 0);
        assert_true(fabs((double)info_at("union").keys / 1321 - 1) < 0.03);
        assert_int_equal(info_at("union").keys_estimated, 1);
        assert_error(merge("union", abc, (struct bloomfile_merge_params){ .keys = 1321 }), 0);
        assert_keys("union", 1321, false);
    }
}

/* doc/format/operations.md 6. */
TEST(sources_without_keys_do_not_change_the_number_of_keys)
{
    static const char *const empty[] = { "a", "c", NULL }, *const ab[] = { "a", "b", NULL };
    for (size_t l = 0; l < ROWS(layouts); l++) {
        const uint64_t bits = bits_of(layouts[l], 1000);
        build("a", layouts[l], bits, 0, 0);
        build("b", layouts[l], bits, 0, 321);
        build("c", layouts[l], bits, 0, 0);
        assert_error(merge("union", empty, (struct bloomfile_merge_params){ 0 }), 0);
        assert_keys("union", 0, false);
        if (layouts[l] == BLOOMFILE_LAYOUT_COUNTING)
            continue;
        for (unsigned swapped = 0; swapped < 2; swapped++) {
            const char *const sources[] = { ab[swapped], ab[1 - swapped], NULL };
            const struct bloomfile_merge_params how = { .op = BLOOMFILE_MERGE_INTERSECTION };
            assert_error(merge("both", sources, how), 0);
            assert_keys("both", 0, true);
        }
    }
}

TEST(estimate_of_an_intersection_discounts_chance_bits)
{
    static const char *const ab[] = { "a", "b", NULL };
    for (size_t l = 0; l < 2; l++) {
        const uint64_t bits = bits_of(BLOOMFILE_LAYOUT_BLOCKED, 400);
        build("a", layouts[l], bits, 0, 20000);
        build("b", layouts[l], bits, 15000, 35000);
        assert_error(merge("both", ab,
                           (struct bloomfile_merge_params){ .op = BLOOMFILE_MERGE_INTERSECTION }),
                     0);
        assert_true(fabs((double)info_at("both").keys / 5000 - 1) < 0.15);
        build("b", layouts[l], bits, 20000, 40000);
        assert_error(merge("both", ab,
                           (struct bloomfile_merge_params){ .op = BLOOMFILE_MERGE_INTERSECTION }),
                     0);
        assert_true(info_at("both").keys < 1000);
    }
}

TEST(union_header_combines_the_headers_of_its_sources)
{
    struct bloomfile_params params = params_of(BLOOMFILE_LAYOUT_CLASSIC, 12000);
    params.capacity = 10;
    params.fpr = 0.4;
    params.label = "of a";
    build_params("a", params, 0, 10);
    params.capacity = 30;
    params.fpr = 0.2;
    params.bits = 6000;
    build_params("b", params, 0, 10);
    params.capacity = 20;
    params.fpr = 0;
    build_params("c", params, 0, 10);
    static const uint8_t tag[BLOOMFILE_TAG_SIZE] = { 5 };
    struct bloomfile_metadata metadata = BLOOMFILE_METADATA_INIT;
    metadata.label = "new";
    metadata.tag = tag;
    assert_error(merge("union", abc, (struct bloomfile_merge_params){ .metadata = &metadata }), 0);
    struct bloomfile_info info = info_at("union");
    assert_int_equal(info.capacity, 30);
    assert_true(info.fpr == 0.4);
    assert_string_equal(info.label, "new");
    assert_int_equal(info.tag[0], 5);
    static const char *const again[] = { "union", "c", NULL };
    assert_error(merge("union", again,
                       (struct bloomfile_merge_params){ .op = BLOOMFILE_MERGE_INTERSECTION }),
                 0);
    info = info_at("union"); /* replaces a source */
    assert_int_equal(info.provenance,
                     BLOOMFILE_PROVENANCE_UNION | BLOOMFILE_PROVENANCE_INTERSECTION);
    assert_string_equal(info.label, "");
}

TEST(filters_with_different_parameters_do_not_merge)
{
    struct bloomfile_params params = params_of(BLOOMFILE_LAYOUT_BLOCKED, 5120);
    build_params("a", params, 0, 10);
    static const struct {
        uint32_t layout, hashes;
        uint64_t seed;
        int error;
    } others[] = {
        { BLOOMFILE_LAYOUT_CLASSIC, 5, 0, BLOOMFILE_EDIFFERENTLAYOUT },
        { BLOOMFILE_LAYOUT_CLASSIC, 6, 1, BLOOMFILE_EDIFFERENTLAYOUT },
        { BLOOMFILE_LAYOUT_BLOCKED, 6, 0, BLOOMFILE_EDIFFERENTHASHCOUNT },
        { BLOOMFILE_LAYOUT_BLOCKED, 5, 1, BLOOMFILE_EDIFFERENTSEED },
        { BLOOMFILE_LAYOUT_BLOCKED, 5, 0, 0 },
    };
    static const char *const aab[] = { "a", "a", "b", NULL };
    for (size_t i = 0; i < ROWS(others); i++) {
        params.layout = others[i].layout;
        params.hashes = others[i].hashes;
        params.seed = others[i].seed;
        build_params("b", params, 0, 10);
        bloomfile_filter *a = opened("a"), *b = opened("b");
        assert_error(bloomfile_check_merge(a, b), others[i].error);
        assert_error(bloomfile_check_merge(b, a), others[i].error);
        bloomfile_close(a);
        bloomfile_close(b);
        unlink("union");
        assert_error(merge("union", aab, (struct bloomfile_merge_params){ 0 }), others[i].error);
        assert_int_equal(access("union", F_OK), others[i].error == 0 ? 0 : -1);
    }
}

TEST(wrong_parameters_are_refused)
{
    static const char *const aa[] = { "a", "a", NULL };
    char too_long[BLOOMFILE_MAX_LABEL + 2] = "";
    memset(too_long, 'x', sizeof too_long - 1);
    unlink("union");
    build("a", BLOOMFILE_LAYOUT_COUNTING, 1000, 0, 10);
    struct bloomfile_metadata metadata[] = { BLOOMFILE_METADATA_INIT,
                                             BLOOMFILE_METADATA_INIT,
                                             { .struct_size = 1 } };
    metadata[0].label = "\n";
    metadata[1].label = too_long;
    const struct {
        struct bloomfile_merge_params params;
        int error;
    } rows[] = {
        { { .op = 3 }, BLOOMFILE_EVALUE },
        { { .reserved = 1 }, BLOOMFILE_EVALUE },
        { { .keys = UINT64_MAX }, BLOOMFILE_EVALUE },
        { { .max_fpr = -0.1 }, BLOOMFILE_EVALUE },
        { { .max_fpr = 1.1 }, BLOOMFILE_EVALUE },
        { { .max_fpr = NAN }, BLOOMFILE_EVALUE },
        { { .metadata = &metadata[0] }, BLOOMFILE_EVALUE },
        { { .metadata = &metadata[1] }, BLOOMFILE_EVALUE },
        { { .metadata = &metadata[2] }, BLOOMFILE_ESTRUCTSIZE },
        { { .op = 2 }, BLOOMFILE_EISCOUNTING },
    };
    for (size_t i = 0; i < ROWS(rows); i++)
        assert_error(merge("union", aa, rows[i].params), rows[i].error);
    struct bloomfile_merge_params params = BLOOMFILE_MERGE_PARAMS_INIT;
    bloomfile_filter *a = opened("a");
    const bloomfile_filter *const one[] = { a };
    assert_error(bloomfile_merge(TO_PATH("union", 0), one, 0, NULL), BLOOMFILE_EVALUE);
    params.struct_size--;
    assert_error(bloomfile_merge(TO_PATH("union", 0), one, 1, &params), BLOOMFILE_ESTRUCTSIZE);
    assert_error(bloomfile_merge(TO_PATH("a", 0), one, 1, NULL), EEXIST);
    bloomfile_close(a);
    assert_int_equal(access("union", F_OK), -1);
}

TEST(union_over_the_target_rate_is_refused)
{
    static const char *const ab[] = { "a", "b", NULL };
    for (size_t l = 0; l < 2; l++) {
        struct bloomfile_params params = {
            .struct_size = sizeof params, .layout = layouts[l], .capacity = 20000, .fpr = 0.01
        };
        unlink("union");
        build_params("a", params, 0, 10000);
        build_params("b", params, 10000, 20000);
        assert_error(merge("union", ab, (struct bloomfile_merge_params){ 0 }), 0);
        unlink("union");
        build_params("b", params, 10000, 26000);
        assert_error(merge("union", ab, (struct bloomfile_merge_params){ 0 }), BLOOMFILE_EOVERRATE);
        assert_error(merge("union", ab, (struct bloomfile_merge_params){ .max_fpr = 0.02 }),
                     BLOOMFILE_EOVERRATE);
        assert_int_equal(access("union", F_OK), -1);
        assert_error(merge("union", ab, (struct bloomfile_merge_params){ .max_fpr = 0.05 }), 0);
        assert_error(merge("union", ab, (struct bloomfile_merge_params){ .max_fpr = 1 }), 0);
    }
}

/* The standard error of a filter's rate, from the definitions. */
static double standard_error(const bloomfile_filter *f)
{
    const struct bloomfile_info info = info_of(f);
    size_t size;
    const uint8_t *body = bloomfile_body(f, &size);
    const size_t block = info.layout == BLOOMFILE_LAYOUT_BLOCKED ? 64 : size, count = size / block;
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        int ones = 0;
        for (size_t at = 0; at < block; at++)
            ones += __builtin_popcount(body[i * block + at]);
        const double rate = pow(ones / 8.0 / (double)block, info.hashes);
        sum += rate;
        squares += rate * rate;
    }
    if (info.layout == BLOOMFILE_LAYOUT_BLOCKED)
        return sqrt((squares - sum * sum / (double)count)) / (double)count;
    const double fill = (double)info.ones / (double)info.bits;
    return info.hashes * pow(fill, info.hashes - 1) * sqrt(fill * (1 - fill) / (double)info.bits);
}

TEST(max_fpr_tolerates_3_standard_errors)
{
    static const char *const ab[] = { "a", "b", NULL };
    for (size_t l = 0; l < 2; l++) {
        const uint64_t bits = bits_of(BLOOMFILE_LAYOUT_BLOCKED, 200);
        build("a", layouts[l], bits, 0, 5000);
        build("b", layouts[l], bits, 5000, 10000);
        assert_error(merge("union", ab, (struct bloomfile_merge_params){ .max_fpr = 1 }), 0);
        bloomfile_filter *f = opened("union");
        struct bloomfile_measurement m = BLOOMFILE_MEASUREMENT_INIT;
        assert_error(bloomfile_measure(f, &m), 0);
        const double least = m.fpr - 3 * standard_error(f);
        bloomfile_close(f);
        assert_true(least > 0 && least < m.fpr);
        assert_error(
            merge("union", ab, (struct bloomfile_merge_params){ .max_fpr = least * 1.001 }), 0);
        assert_error(
            merge("union", ab, (struct bloomfile_merge_params){ .max_fpr = least * 0.999 }),
            BLOOMFILE_EOVERRATE);
    }
}

TEST(merge_reports_which_source_is_damaged)
{
    for (size_t l = 0; l < ROWS(layouts); l++)
        for (size_t bad = 0; bad < 3; bad++) {
            const bloomfile_filter *srcs[3];
            for (size_t i = 0; i < 3; i++) {
                build(abc[i], layouts[l], bits_of(layouts[l], 900), 0, 1000);
                struct bytes image = read_file(abc[i]);
                image.data[image.size / 2] ^= i == bad ? 1 : 0;
                write_file(abc[i], image.data, image.size);
                free(image.data);
                srcs[i] = opened(abc[i]);
            }
            size_t entries = entries_in_dir();
            assert_error(bloomfile_merge(TO_PATH("result", 0), srcs, 3, NULL), BLOOMFILE_EPAGE);
            assert_int_equal(entries_in_dir(), entries);
            for (size_t i = 0; i < 3; i++) {
                assert_error(bloomfile_check(srcs[i]), i == bad ? BLOOMFILE_EPAGE : 0);
                bloomfile_close((bloomfile_filter *)(uintptr_t)srcs[i]);
            }
        }
}

TEST(assemble_of_a_built_body_makes_the_same_filter)
{
    static const uint64_t units[] = { 1, 7, 101, 5000 };
    for (size_t l = 0; l < ROWS(layouts); l++)
        for (size_t i = 0; i < ROWS(units); i++) {
            struct bloomfile_params params =
                params_of(layouts[l], bits_of(layouts[l], units[i]) -
                                          (layouts[l] == BLOOMFILE_LAYOUT_BLOCKED ? 0 : 3));
            build_params("built", params, 0, 5 * units[i]);
            bloomfile_filter *f = opened("built");
            size_t size;
            const void *body = bloomfile_body(f, &size);
            assert_error(bloomfile_assemble(TO_PATH("made", BLOOMFILE_TO_REPLACE), &params, body,
                                            size, 0, 5 * units[i]),
                         0);
            struct bytes built = read_file("built");
            assert_file_holds("made", built.data, built.size);
            free(built.data);
            assert_error(bloomfile_assemble(TO_PATH("made", BLOOMFILE_TO_REPLACE), &params, body,
                                            size, BLOOMFILE_PROVENANCE_UNION, UINT64_MAX),
                         0);
            assert_same_body("made", "built");
            assert_int_equal(info_at("made").provenance, BLOOMFILE_PROVENANCE_UNION);
            assert_int_equal(info_at("made").keys_estimated, 1);
            bloomfile_close(f);
        }
}

TEST(assemble_without_capacity_uses_the_number_of_keys)
{
    struct bloomfile_params params = params_of(BLOOMFILE_LAYOUT_BLOCKED, 51200);
    build_params("built", params, 0, 3000);
    bloomfile_filter *f = opened("built");
    size_t size;
    const void *body = bloomfile_body(f, &size);
    params.capacity = 0;
    for (int told = 0; told < 2; told++) {
        assert_error(bloomfile_assemble(TO_PATH("made", BLOOMFILE_TO_REPLACE), &params, body, size,
                                        0, told ? 3000 : UINT64_MAX),
                     0);
        struct bloomfile_info info = info_at("made");
        assert_int_equal(info.capacity, info.keys);
        assert_in_range(info.keys, 2900, 3100);
    }
    bloomfile_close(f);
}

TEST(assemble_refuses_an_impossible_body)
{
    struct bloomfile_params params = params_of(BLOOMFILE_LAYOUT_CLASSIC, 101);
    uint8_t body[13] = { 0 };
    unlink("made");
    body[12] = 0x20;
    assert_error(bloomfile_assemble(TO_PATH("made", 0), &params, body, sizeof body, 0, 1),
                 BLOOMFILE_EBODY);
    body[12] = 0x1F;
    for (int off = -1; off <= 1; off += 2)
        assert_error(bloomfile_assemble(TO_PATH("made", 0), &params, body, sizeof body + off, 0, 1),
                     BLOOMFILE_EVALUE);
    assert_error(bloomfile_assemble(TO_PATH("made", 0), &params, body, sizeof body, 8, 1),
                 BLOOMFILE_EVALUE);
    assert_error(bloomfile_assemble(TO_PATH("made", 0), &params, body, sizeof body, 0, 1ULL << 61),
                 BLOOMFILE_EVALUE);
    params.hashes = 0;
    assert_error(bloomfile_assemble(TO_PATH("made", 0), &params, body, sizeof body, 0, 1),
                 BLOOMFILE_EVALUE);
    params.hashes = 65;
    assert_error(bloomfile_assemble(TO_PATH("made", 0), &params, body, sizeof body, 0, 1),
                 BLOOMFILE_EVALUE);
    params.hashes = 5;
    params.bits = 0;
    assert_error(bloomfile_assemble(TO_PATH("made", 0), &params, body, sizeof body, 0, 1),
                 BLOOMFILE_EVALUE);
    params.bits = 101;
    params.period = 60;
    assert_error(bloomfile_assemble(TO_PATH("made", 0), &params, body, sizeof body, 0, 1),
                 BLOOMFILE_EVALUE);
    params.period = 0;
    assert_int_equal(access("made", F_OK), -1);
    assert_error(bloomfile_assemble(TO_PATH("made", 0), &params, body, sizeof body, 0, 1), 0);
}

TEST(body_of_zeros_has_no_keys)
{
    static const uint8_t body[512] = { 0 };
    for (size_t l = 0; l < ROWS(layouts); l++) {
        struct bloomfile_params params = params_of(layouts[l], 512);
        const size_t size = layouts[l] == BLOOMFILE_LAYOUT_COUNTING ? 256 : 64;
        unlink("made");
        assert_error(bloomfile_assemble(TO_PATH("made", 0), &params, body, size, 0, 1),
                     BLOOMFILE_EBODY);
        assert_int_equal(access("made", F_OK), -1);
        assert_error(bloomfile_assemble(TO_PATH("made", 0), &params, body, size, 0, 0), 0);
        assert_error(bloomfile_assemble(TO_PATH("made", BLOOMFILE_TO_REPLACE), &params, body, size,
                                        0, UINT64_MAX),
                     0);
        assert_int_equal(info_at("made").keys, 0);
    }
}

int main(void)
{
    return run_all(enter_temp_dir, leave_temp_dir);
}
