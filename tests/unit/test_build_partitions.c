/* SPDX-License-Identifier: MIT
 * Builders with enough memory to partition digests: partitions alone, together with a run in
 * memory, together with runs in a file; and builders without memory for them. */
#include "support.h"

#include "faults.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define MIB  ((uint64_t)1 << 20)
#define KEYS 5000000    /* 8 bytes each: over half of... */
#define MOST (64 * MIB) /* ...this memory, in which digests are partitioned */

static uint64_t *digests;

static int make_digests(void **state)
{
    uint64_t random = 45;
    digests = malloc(KEYS * sizeof *digests);
    for (size_t i = 0; digests != NULL && i < KEYS; i++)
        digests[i] = random64(&random);
    return digests == NULL ? -1 : enter_temp_dir(state);
}

static int free_digests(void **state)
{
    free(digests);
    return leave_temp_dir(state);
}

static bloomfile_builder *builder_with(uint32_t threads, uint64_t memory)
{
    return new_builder(
        (struct bloomfile_params){ .threads = threads, .memory = memory, .spool = "." });
}

/* A thread that adds every nth batch. */
struct adder {
    bloomfile_builder *builder;
    size_t from, to;
    unsigned threads;
    int error;
};

/* In batches, so that most digests arrive when there are many already. */
static void *add_share(void *argument)
{
    struct adder *a = argument;
    for (size_t at = a->from; at < a->to && a->error == 0; at += 10000 * a->threads)
        a->error = bloomfile_builder_add_digests(a->builder, digests + at,
                                                 a->to - at < 10000 ? a->to - at : 10000);
    return NULL;
}

static void add(bloomfile_builder *b, size_t from, size_t to, unsigned threads)
{
    struct adder adders[4];
    pthread_t ids[4];
    threads = threads > 1 ? threads : 1;
    for (unsigned i = 0; i < threads; i++) {
        adders[i] = (struct adder){ b, from + 10000 * i, to, threads, 0 };
        assert_int_equal(pthread_create(&ids[i], NULL, add_share, &adders[i]), 0);
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
        assert_error(adders[i].error, 0);
    }
}

static uint64_t counted(bloomfile_builder *b)
{
    uint64_t count;
    assert_error(bloomfile_builder_count(b, &count), 0);
    return count;
}

/* With too little memory for partitions. */
static struct bytes sorted(size_t n)
{
    bloomfile_builder *b = builder_with(0, MOST - 1);
    assert_error(bloomfile_builder_add_digests(b, digests, n), 0);
    return last_image(b);
}

static const struct how {
    uint32_t threads;
    uint64_t memory;
} hows[] = { { 0, 0 }, { 3, 0 }, { 0, MOST }, { 3, MOST } };

static void partitions_make_the_bytes_of_sorted_digests(void **state)
{
    struct bytes expected = sorted(KEYS);
    for (size_t h = 0; h < ROWS(hows); h++) {
        size_t before = open_descriptors();
        bloomfile_builder *b = builder_with(hows[h].threads, hows[h].memory);
        add(b, 0, KEYS, hows[h].threads);
        assert_int_equal(open_descriptors() - before, hows[h].memory != 0);
        if (h % 2 == 0)
            assert_int_equal(counted(b), KEYS);
        assert_bytes(last_image(b), expected);
    }
    free(expected.data);
}

/* Partitioning begins after some sorted and some unsorted digests. */
static void partitioning_may_begin_at_any_digest(void **state)
{
    static const size_t steps[] = { 0, 1, 7, 8, 3001, 8191, 8192 };
    struct bytes expected = sorted(100000);
    for (size_t i = 0; i < ROWS(steps) * ROWS(steps) * ROWS(steps); i++) {
        const size_t few = steps[i % ROWS(steps)],
                     more = few + steps[i / ROWS(steps) % ROWS(steps)],
                     most = more + steps[i / ROWS(steps) / ROWS(steps)];
        bloomfile_builder *b = builder_with(0, 0);
        assert_error(bloomfile_builder_add_digests(b, digests, few), 0);
        assert_int_equal(counted(b), few);
        assert_error(bloomfile_builder_add_digests(b, digests + few, more - few), 0);
        assert_error(bloomfile_builder_add_digests(b, digests + more, most - more), 0);
        assert_error(bloomfile_builder_add_digests(b, digests + most, 100000 - most), 0);
        assert_bytes(last_image(b), expected);
    }
    free(expected.data);
}

static void memory_limit_below_1_mib_counts_as_1_mib(void **state)
{
    const uint64_t memories[] = { 1 << 20, (1 << 20) - 1, 1 };
    struct bytes expected = sorted(KEYS);
    for (size_t i = 0; i < ROWS(memories); i++) {
        bloomfile_builder *b = builder_with(0, memories[i]);
        add(b, 0, KEYS, 1);
        assert_bytes(last_image(b), expected);
    }
    free(expected.data);
}

static void repetitions_count_once(void **state)
{
    enum {
        SOME = 600000,
        ROUNDS = 8
    };
    struct bytes expected = sorted(SOME);
    for (size_t h = 0; h < ROWS(hows); h++) {
        size_t before = open_descriptors();
        bloomfile_builder *b = builder_with(hows[h].threads, hows[h].memory);
        for (size_t round = 0; round < ROUNDS; round++)
            add(b, 0, SOME, hows[h].threads); /* sorting makes room again */
        assert_int_equal(open_descriptors(), before);
        assert_int_equal(counted(b), SOME);
        assert_bytes(last_image(b), expected);
    }
    free(expected.data);
}

static void single_adding_thread_can_use_all_memory(void **state)
{
    enum {
        NEARLY_ALL = 4000000 /* 8 bytes each, of the MOST / 2 bytes */
    };
    static const uint32_t threads[] = { 3, 20 }; /* 20 exceeds the number of buffers */
    struct bytes expected = sorted(NEARLY_ALL);
    for (size_t i = 0; i < ROWS(threads); i++) {
        size_t before = open_descriptors();
        bloomfile_builder *b = builder_with(threads[i], MOST);
        add(b, 0, NEARLY_ALL, 1);
        assert_int_equal(open_descriptors(), before);
        assert_bytes(last_image(b), expected);
    }
    free(expected.data);
}

static void digests_may_be_added_after_reading(void **state)
{
    struct bytes expected = sorted(1000000);
    for (size_t h = 0; h < ROWS(hows); h++) {
        bloomfile_builder *b = builder_with(hows[h].threads, hows[h].memory);
        add(b, 0, 400000, hows[h].threads);
        assert_int_equal(counted(b), 400000);
        add(b, 300000, 800000, hows[h].threads);
        free(finish_image(b).data);
        assert_int_equal(counted(b), 800000);
        add(b, 800000, 1000000, hows[h].threads);
        assert_bytes(last_image(b), expected);
    }
    free(expected.data);
}

/* The partition exceeds the cache, and the size of one read. */
static void digests_may_all_be_in_one_partition(void **state)
{
    for (size_t i = 0; i < 1200000; i++)
        digests[i] = digests[i] >> 11 | (uint64_t)5 << 53;
    struct bytes expected = sorted(1200000);
    for (size_t h = 0; h < ROWS(hows); h++) {
        bloomfile_builder *b = builder_with(hows[h].threads, hows[h].memory);
        add(b, 0, 1200000, hows[h].threads);
        add(b, 0, 200000, hows[h].threads);
        assert_bytes(last_image(b), expected);
    }
    free(expected.data);
}

/* Adds, counts and builds; if an add fails, continues with another builder. Returns the first
 * error. */
static int build_in_spite_of(const struct faults *faults, struct bytes expected)
{
    bloomfile_builder *b = builder_with(0, 0);
    uint64_t count;
    int error = 0;
    faults_begin(faults);
    for (size_t at = 0; at < 400000;) {
        int now = bloomfile_builder_add_digests(b, digests + at, 20000);
        error = error != 0 ? error : now;
        at += 20000;
        if (now != 0) {
            faults_end();
            assert_error(bloomfile_builder_count(b, &count), now);
            bloomfile_builder_free(b);
            b = builder_with(0, 0);
            at = 0;
        }
    }
    int now = bloomfile_builder_count(b, &count);
    error = error != 0 ? error : now;
    faults_end();
    assert_bytes(last_image(b), expected);
    return error;
}

static void failed_allocation_of_partitions_loses_no_digest(void **state)
{
    static const enum fault_call calls[] = { ON_aligned_alloc, ON_mmap64, ON_mremap,
                                             ON_realloc,       ON_malloc, ON_calloc };
    struct bytes expected = sorted(400000);
    for (size_t i = 0; i < ROWS(calls); i++) {
        assert_error(build_in_spite_of(&(struct faults){ 0 }, expected), 0);
        const unsigned times = fault_calls(calls[i]);
        assert_true(times > 0);
        for (unsigned nth = 1; nth <= times; nth++) {
            struct faults faults = once(calls[i], nth, ENOMEM);
            assert_error(build_in_spite_of(&faults, expected), ENOMEM);
        }
    }
    struct faults faults = from_then_on(ON_madvise, 1, EINVAL); /* the only effect is lost time */
    assert_error(build_in_spite_of(&faults, expected), 0);
    free(expected.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(partitions_make_the_bytes_of_sorted_digests),
        cmocka_unit_test(partitioning_may_begin_at_any_digest),
        cmocka_unit_test(memory_limit_below_1_mib_counts_as_1_mib),
        cmocka_unit_test(repetitions_count_once),
        cmocka_unit_test(single_adding_thread_can_use_all_memory),
        cmocka_unit_test(digests_may_be_added_after_reading),
        cmocka_unit_test(failed_allocation_of_partitions_loses_no_digest),
        cmocka_unit_test(digests_may_all_be_in_one_partition), /* changes the digests */
    };
    return cmocka_run_group_tests(tests, make_digests, free_digests) != 0;
}
