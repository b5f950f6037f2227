/* SPDX-License-Identifier: MIT
 * Builders with threads and little memory make the same bytes as a plain builder. */
#include "support.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB  ((uint64_t)1 << 20)
#define KEYS 150000 /* 8 bytes each: over twice the digests that a builder of 1 MiB holds */

static uint64_t digests[KEYS];

static const struct bloomfile_params kinds[] = {
    { .layout = BLOOMFILE_LAYOUT_BLOCKED },
    { .layout = BLOOMFILE_LAYOUT_BLOCKED, .capacity = KEYS / 2, .fpr = 0.001, .over_capacity = 1 },
    { .layout = BLOOMFILE_LAYOUT_BLOCKED, .bits = 512 * 3001, .hashes = 13 },
    { .layout = BLOOMFILE_LAYOUT_CLASSIC, .seed = 7 },
    { .layout = BLOOMFILE_LAYOUT_CLASSIC, .bits = 1500001, .hashes = 5, .label = "odd" },
    { .layout = BLOOMFILE_LAYOUT_COUNTING, .fpr = 0.05 },
    { .layout = BLOOMFILE_LAYOUT_COUNTING, .bits = 75001, .hashes = 3 }, /* counters overflow */
};

/* ThreadSanitizer is slow: one filter of each layout, and one in which counters overflow. */
#ifdef __SANITIZE_THREAD__
#define STEP 2
#else
#define STEP 1
#endif

static const struct how {
    uint32_t threads;
    uint64_t memory;
} hows[] = {
    { 1, 0 },   { 2, 0 },   { 3, 0 },   { 4, 0 },        { 0, 1 },
    { 0, MIB }, { 2, MIB }, { 4, MIB }, { 20, 3 * MIB },
};

static bloomfile_builder *builder_with(struct bloomfile_params params, struct how how)
{
    params.threads = how.threads;
    params.memory = how.memory;
    params.spool = ".";
    return new_builder(params);
}

static void add_array(bloomfile_builder *b, const uint64_t *values, size_t n)
{
    for (size_t at = 0, some; at < n; at += some) {
        some = n - at < 5000 ? n - at : 5000;
        assert_error(bloomfile_builder_add_digests(b, values + at, some), 0);
    }
}

static uint64_t counted(bloomfile_builder *b)
{
    uint64_t count = UINT64_MAX;
    assert_error(bloomfile_builder_count(b, &count), 0);
    return count;
}

/* A filter of the first n digests from a builder without threads and limits. */
static struct bytes plainly_built(struct bloomfile_params params, size_t n)
{
    bloomfile_builder *b = builder_with(params, (struct how){ 0, 0 });
    assert_error(bloomfile_builder_add_digests(b, digests, n), 0);
    struct bytes file = finish_file(b);
    bloomfile_builder_free(b);
    assert_int_equal(verified_info(file).keys, n);
    return file;
}

static int fill_digests(void **state)
{
    uint64_t random = 42;
    for (size_t i = 0; i < KEYS; i++)
        digests[i] = random64(&random);
    return enter_temp_dir(state);
}

/* ---- same keys, same parameters, same bytes */

struct adder {
    bloomfile_builder *builder;
    unsigned number;
    int error;
};

/* Every thread adds two thirds of the digests, so most digests are added more than once. */
static void *add_share(void *argument)
{
    struct adder *a = argument;
    for (size_t i = a->number % 3 * 1000; i < KEYS && a->error == 0; i += 1000)
        if (i / 1000 % 3 != (a->number + 1) % 3)
            a->error = bloomfile_builder_add_digests(a->builder, digests + i, 1000);
    for (size_t i = a->number; i < 3000 && a->error == 0; i++)
        a->error = bloomfile_builder_add_digests(a->builder, digests + i, 1);
    return NULL;
}

static void add_by_threads(bloomfile_builder *b, unsigned threads)
{
    pthread_t ids[20];
    struct adder adders[20];
    for (unsigned i = 0; i < threads; i++) {
        adders[i] = (struct adder){ b, i, 0 };
        assert_int_equal(pthread_create(&ids[i], NULL, add_share, &adders[i]), 0);
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
        assert_error(adders[i].error, 0);
    }
}

static void neither_threads_nor_memory_nor_order_change_the_bytes(void **state)
{
    for (size_t k = 0; k < ROWS(kinds); k += STEP) {
        struct bytes expected = plainly_built(kinds[k], KEYS);
        for (size_t h = 0; h < ROWS(hows); h++) {
            bloomfile_builder *b = builder_with(kinds[k], hows[h]);
            if (hows[h].threads > 1)
                add_by_threads(b, hows[h].threads);
            add_array(b, digests + KEYS / 3, KEYS - KEYS / 3);
            add_array(b, digests, KEYS / 2);
            assert_bytes(finish_file(b), expected);
            assert_bytes(finish_file(b), expected);
            assert_int_equal(counted(b), KEYS);
            bloomfile_builder_free(b);
        }
        free(expected.data);
    }
}

static void images_in_memory_do_not_depend_on_threads_or_memory(void **state)
{
    for (size_t k = 0; k < ROWS(kinds); k++) {
        bloomfile_builder *plain = builder_with(kinds[k], (struct how){ 0, 0 });
        add_array(plain, digests, KEYS);
        struct bytes expected = finish_image(plain);
        bloomfile_builder_free(plain);
        for (size_t h = 0; h < ROWS(hows); h++) {
            bloomfile_builder *b = builder_with(kinds[k], hows[h]);
            add_array(b, digests, KEYS);
            struct bytes image = finish_image(b);
            assert_int_equal(image.size, expected.size);
            assert_memory_equal(image.data, expected.data, image.size);
            free(image.data);
            bloomfile_builder_free(b);
        }
        free(expected.data);
    }
}

static void keys_may_be_added_after_counting_and_finishing(void **state)
{
    for (size_t h = 0; h < ROWS(hows); h++) {
        bloomfile_builder *b = builder_with(kinds[0], hows[h]);
        assert_int_equal(counted(b), 0);
        for (size_t n = 0, next; n < KEYS; n = next) {
            next = n + 50000;
            add_array(b, digests + n / 2, next - n / 2);
            assert_int_equal(counted(b), next);
            struct bytes expected = plainly_built(kinds[0], next);
            assert_bytes(finish_file(b), expected);
            free(expected.data);
        }
        bloomfile_builder_free(b);
    }
}

static void a_builder_without_keys_makes_an_empty_filter(void **state)
{
    for (size_t k = 0; k < ROWS(kinds); k++) {
        struct bytes expected = plainly_built(kinds[k], 0);
        for (size_t h = 0; h < ROWS(hows); h++) {
            bloomfile_builder *b = builder_with(kinds[k], hows[h]);
            assert_bytes(finish_file(b), expected);
            bloomfile_builder_free(b);
        }
        free(expected.data);
    }
}

/* ---- digests that no hash would make */

typedef uint64_t shape(uint64_t i);

static uint64_t one_after_the_other(uint64_t i)
{
    return i;
}

static uint64_t at_the_end(uint64_t i)
{
    return UINT64_MAX - i;
}

static uint64_t in_a_few_heaps(uint64_t i)
{
    return i % 5 * 0x3333333333333333 + i / 5 * 3;
}

static uint64_t denser_and_denser(uint64_t i)
{
    return UINT64_MAX >> i % 64 ^ i >> 6;
}

static uint64_t all_equal(uint64_t i)
{
    return UINT64_MAX;
}

static uint64_t at_both_ends(uint64_t i)
{
    return i % 2 == 0 ? i : UINT64_MAX - i;
}

static void digests_may_be_spread_unevenly(void **state)
{
    static shape *const shapes[] = { one_after_the_other, at_the_end, in_a_few_heaps,
                                     denser_and_denser,   all_equal,  at_both_ends };
    static const struct bloomfile_params crowded[] = {
        { .layout = BLOOMFILE_LAYOUT_BLOCKED, .bits = 512 * 3001, .hashes = 13 },
        { .layout = BLOOMFILE_LAYOUT_RIBBON, .bits = 512 * 3001 },
    };
    uint64_t *values = calloc(KEYS, sizeof *values);
    assert_non_null(values);
    for (size_t c = 0; c < ROWS(crowded) * ROWS(shapes); c++) {
        const size_t s = c % ROWS(shapes);
        const struct bloomfile_params params = crowded[c / ROWS(shapes)];
        for (size_t i = 0; i < KEYS; i++)
            values[i] = shapes[s](i * 7919 % KEYS);
        bloomfile_builder *plain = builder_with(params, (struct how){ 0, 0 });
        add_array(plain, values, KEYS);
        struct bytes expected = finish_file(plain);
        for (size_t h = 0; h < ROWS(hows); h++) {
            bloomfile_builder *b = builder_with(params, hows[h]);
            add_array(b, values, KEYS);
            assert_int_equal(counted(b), counted(plain));
            assert_bytes(finish_file(b), expected);
            bloomfile_builder_free(b);
        }
        bloomfile_builder_free(plain);
        free(expected.data);
    }
    free(values);
}

/* The first and the last digest of every block, and so of every part, wherever parts begin. */
static void first_and_last_digest_of_each_part_are_kept(void **state)
{
    enum {
        BLOCKS = 16391, /* 1 MiB */
        EDGES = 2 * BLOCKS
    };
    struct bloomfile_params params = { .bits = 512 * BLOCKS, .hashes = 4 };
    const uint64_t each = UINT64_MAX / BLOCKS, rest = UINT64_MAX % BLOCKS + 1;
    uint64_t *edges = calloc(EDGES, sizeof *edges);
    assert_non_null(edges);
    for (uint64_t b = 0; b < BLOCKS; b++) {
        edges[2 * b] = b * each + (b * rest + BLOCKS - 1) / BLOCKS;
        edges[2 * b + 1] = (b + 1) * each + ((b + 1) * rest + BLOCKS - 1) / BLOCKS - 1;
    }
    for (size_t h = 0; h < ROWS(hows); h++) {
        bloomfile_builder *b = builder_with(params, hows[h]);
        add_array(b, edges, EDGES);
        struct bytes file = finish_file(b);
        bloomfile_builder_free(b);
        assert_int_equal(verified_info(file).keys, EDGES);
        for (size_t i = 0; i < EDGES; i++)
            assert_true(reference_contains(BLOOMFILE_LAYOUT_BLOCKED, file.data + IN_FILE,
                                           params.bits, 4, edges[i]));
        free(file.data);
    }
    free(edges);
}

/* ---- memory */

static void digests_beyond_the_memory_limit_go_to_an_unnamed_file(void **state)
{
    size_t before = open_descriptors();
    bloomfile_builder *b = builder_with(kinds[0], (struct how){ 0, MIB });
    add_array(b, digests, 30000);
    assert_int_equal(open_descriptors(), before);
    for (unsigned i = 0; i < 100; i++)
        add_array(b, digests, 20000); /* repeated digests need no room */
    assert_int_equal(open_descriptors(), before);
    add_array(b, digests, KEYS);
    assert_int_equal(open_descriptors(), before + 1);
    assert_int_equal(entries_in_dir(), 0);
    assert_int_equal(counted(b), KEYS);
    bloomfile_builder_free(b);
    assert_int_equal(open_descriptors(), before);
}

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SANITIZED 1
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

static long resident_mib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss / 1024;
}

/* The growth, in MiB, of a process that builds a filter of 3 million keys. */
static int growth(uint32_t layout, struct how how)
{
    pid_t child = fork();
    if (child == 0) {
        long before = resident_mib();
        bloomfile_builder *b = builder_with((struct bloomfile_params){ .layout = layout }, how);
        uint64_t random = 1;
        for (unsigned round = 0; round < 3000000 / KEYS; round++) {
            for (size_t i = 0; i < KEYS; i++)
                digests[i] = random64(&random);
            add_array(b, digests, KEYS);
        }
        if (bloomfile_builder_write(b, TO_PATH("grown", BLOOMFILE_TO_REPLACE)) != 0)
            _exit(255);
        _exit((int)(resident_mib() - before));
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 255);
    assert_int_equal(unlink("grown"), 0);
    return WEXITSTATUS(status);
}

static void build_stays_within_its_memory_limit(void **state)
{
#ifdef SANITIZED
    skip("the sanitizer takes memory of its own");
#endif
    assert_true(growth(BLOOMFILE_LAYOUT_BLOCKED, (struct how){ 0, 0 }) > 20); /* 8 bytes a key */
    static const uint32_t layouts[] = { BLOOMFILE_LAYOUT_BLOCKED, BLOOMFILE_LAYOUT_CLASSIC,
                                        BLOOMFILE_LAYOUT_COUNTING, BLOOMFILE_LAYOUT_RIBBON };
    for (size_t i = 0; i < ROWS(layouts); i++) {
        assert_in_range(growth(layouts[i], (struct how){ 0, 8 * MIB }), 0, 11);
        assert_in_range(growth(layouts[i], (struct how){ 3, 8 * MIB }), 0, 11);
    }
    /* Fewer threads run, because each has a page to solve. */
    assert_in_range(growth(BLOOMFILE_LAYOUT_RIBBON, (struct how){ 16, 8 * MIB }), 0, 11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(build_stays_within_its_memory_limit), /* needs a fresh process */
        cmocka_unit_test(neither_threads_nor_memory_nor_order_change_the_bytes),
        cmocka_unit_test(images_in_memory_do_not_depend_on_threads_or_memory),
        cmocka_unit_test(keys_may_be_added_after_counting_and_finishing),
        cmocka_unit_test(a_builder_without_keys_makes_an_empty_filter),
        cmocka_unit_test(digests_may_be_spread_unevenly),
        cmocka_unit_test(first_and_last_digest_of_each_part_are_kept),
        cmocka_unit_test(digests_beyond_the_memory_limit_go_to_an_unnamed_file),
    };
    return cmocka_run_group_tests(tests, fill_digests, leave_temp_dir) != 0;
}
