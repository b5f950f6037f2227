/* SPDX-License-Identifier: MIT
 * Threads of several processes add to one filter concurrently: no key is lost, and at least one
 * adder of each key sees it as new. */
#include "support.h"
#include "workers.h"

#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <bloomfile_unstable.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

/* ThreadSanitizer is slow. */
#ifdef __SANITIZE_THREAD__
#define SLOWER 20
#else
#define SLOWER 1
#endif

#define MILLION (1000000 / SLOWER)
#define BATCH   1000

static const struct {
    unsigned processes, threads;
} groups[] = { { 2, 2 }, { 4, 1 }, { 1, 4 } };

static void make_filter(uint32_t layout, uint64_t capacity, double fpr)
{
    bloomfile_filter *f;
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.layout = layout;
    params.capacity = capacity;
    params.fpr = fpr;
    assert_error(bloomfile_create(&f, "filter", &params, BLOOMFILE_TO_REPLACE), 0);
    bloomfile_close(f);
}

/* ---- a million separate keys per thread */

static int add_own_million(bloomfile_filter *f, unsigned worker, void *context)
{
    uint64_t digests[BATCH], *new_keys = context;
    bool was_new[BATCH];
    for (uint64_t i = 0; i < MILLION; i += BATCH) {
        size_t count = 0, flagged = 0;
        for (uint64_t j = 0; j < BATCH; j++)
            digests[j] = number(0, (uint64_t)worker * MILLION + i + j);
        if (bloomfile_add_digests(f, digests, BATCH, was_new, &count, NULL) != 0)
            return 1;
        for (size_t j = 0; j < BATCH; j++)
            flagged += was_new[j];
        if (flagged != count)
            return 1;
        new_keys[worker] += count;
    }
    return 0;
}

static void assert_million_of_each(unsigned workers, uint32_t layout)
{
    bloomfile_filter *f;
    assert_error(bloomfile_open(&f, "filter", 0), 0);
    uint64_t digests[BATCH];
    for (uint64_t i = 0; i < (uint64_t)workers * MILLION; i += BATCH) {
        for (uint64_t j = 0; j < BATCH; j++)
            digests[j] = number(0, i + j);
        assert_int_equal(bloomfile_contains_digests(f, digests, BATCH, NULL), BATCH);
    }
    struct bloomfile_measurement measure = BLOOMFILE_MEASUREMENT_INIT;
    assert_error(bloomfile_measure(f, &measure), 0);
    struct bloomfile_info info = info_of(f);
    assert_int_equal(info.layout, layout);
    assert_int_equal(info.keys, (uint64_t)workers * MILLION);
    assert_int_equal(info.keys_estimated, 0);
    assert_int_equal(info.ones, measure.ones);
    assert_int_equal(info.writers, 0);
    bloomfile_close(f);
}

/* L22. */
TEST_IN_DIR(millions_of_concurrent_adds_are_present_and_counted)
{
    for (size_t i = 0; i < ROWS(groups); i++) {
        const uint32_t layout = (uint32_t)(BLOOMFILE_LAYOUT_BLOCKED + i);
        unsigned workers = groups[i].processes * groups[i].threads;
        uint64_t *new_keys = shared_memory(workers * sizeof *new_keys);
        make_filter(layout, (uint64_t)workers * MILLION, 1e-9);
        workers_run(&(struct workers){ groups[i].processes, groups[i].threads, "filter", 0, NULL,
                                       add_own_million, new_keys });
        for (unsigned w = 0; w < workers; w++)
            assert_int_equal(new_keys[w], MILLION);
        assert_million_of_each(workers, layout);
        release_shared_memory(new_keys, workers * sizeof *new_keys);
    }
}

/* ---- all threads add the same keys, each in its own order */

#define SAME ((1u << 20) / (SLOWER > 1 ? 16 : 1))

static int add_same_keys(bloomfile_filter *f, unsigned worker, void *context)
{
    atomic_uchar *adders = context;
    for (uint32_t i = 0; i < SAME; i++) {
        uint32_t key = worker % 2 == 0 ? i : (i * (4 * worker + 1) + worker * 77777) % SAME;
        bool was_new;
        if (bloomfile_add_digest(f, number(0, key), &was_new) != 0)
            return 1;
        if (was_new)
            atomic_fetch_add(&adders[key], 1);
    }
    return 0;
}

static int add_same_keys_in_batches(bloomfile_filter *f, unsigned worker, void *context)
{
    atomic_uchar *adders = context;
    uint64_t digests[BATCH / 10];
    uint32_t keys[ROWS(digests)];
    bool was_new[ROWS(digests)];
    if (worker == 0)
        return add_same_keys(f, worker, context);
    for (uint32_t i = 0; i < SAME;) {
        size_t n = 0;
        for (; n < ROWS(digests) && i < SAME; n++, i++) {
            keys[n] = (i * (4 * worker + 1) + worker * 77777) % SAME;
            digests[n] = number(0, keys[n]);
        }
        if (bloomfile_add_digests(f, digests, n, was_new, NULL, NULL) != 0)
            return 1;
        for (size_t j = 0; j < n; j++)
            if (was_new[j])
                atomic_fetch_add(&adders[keys[j]], 1);
    }
    return 0;
}

static void assert_adders_of_each_key(const atomic_uchar *adders, unsigned least, unsigned most)
{
    uint64_t repeated = 0;
    for (uint32_t key = 0; key < SAME; key++) {
        assert_in_range(adders[key], least, most);
        repeated += adders[key] > 1;
    }
    print_message("%llu keys were new to more than one\n", (unsigned long long)repeated);
}

/* L7. */
TEST_IN_DIR(every_key_is_new_to_at_least_one_adder)
{
    for (size_t i = 0; i < ROWS(groups); i++) {
        atomic_uchar *adders = shared_memory(SAME);
        make_filter(BLOOMFILE_LAYOUT_BLOCKED, SAME, 1e-9);
        workers_run(&(struct workers){ groups[i].processes, groups[i].threads, "filter", 0, NULL,
                                       add_same_keys, adders });
        assert_adders_of_each_key(adders, 1, groups[i].processes * groups[i].threads);
        release_shared_memory(adders, SAME);
    }
}

/* L7. */
TEST_IN_DIR(every_key_is_new_to_exactly_one_exact_adder)
{
    for (size_t i = 0; i < ROWS(groups); i++) {
        atomic_uchar *adders = shared_memory(SAME);
        make_filter(BLOOMFILE_LAYOUT_BLOCKED, SAME, 1e-9);
        workers_run(&(struct workers){ groups[i].processes, groups[i].threads, "filter",
                                       BLOOMFILE_OPEN_ADD_EXACT, NULL, add_same_keys_in_batches,
                                       adders });
        assert_adders_of_each_key(adders, 1, 1);
        release_shared_memory(adders, SAME);
        bloomfile_filter *f;
        assert_error(bloomfile_open(&f, "filter", 0), 0);
        assert_int_equal(info_of(f).keys, SAME);
        bloomfile_close(f);
    }
}

/* ---- a thread reads while the rest add */

#define ADDS (200000 / SLOWER)

/* Reads in all ways, so that ThreadSanitizer reports plain loads of shared bits. */
static int read_all(const bloomfile_filter *f)
{
    struct bloomfile_measurement measure = BLOOMFILE_MEASUREMENT_INIT;
    double fill[3];
    uint64_t digest = number(0, 1);
    bloomfile_contains_digest(f, digest);
    bloomfile_contains_digests(f, &digest, 1, NULL);
    int error = bloomfile_measure(f, &measure);
    if (error == 0)
        error = bloomfile_measure_map(f, fill, ROWS(fill));
    return error != 0 ? error
                      : bloomfile_copy_sealed(TO_PATH("copy", BLOOMFILE_TO_REPLACE), f, NULL);
}

static int read_or_add(bloomfile_filter *f, unsigned worker, void *context)
{
    int error = 0;
    for (unsigned i = 0; i < 5 && error == 0 && worker == 0; i++)
        error = read_all(f);
    for (uint64_t i = 0; i < ADDS && error == 0 && worker > 0; i++)
        error = bloomfile_add_digest(f, number(worker, i), NULL);
    return error;
}

/* The last byte of the body is partly used, so that a copy checks its bits beyond m. */
TEST_IN_DIR(live_filter_is_copied_during_adds)
{
    static const uint64_t bits[] = { 512 * 3, 8 * 200 - 3, 2 * 200 - 1 };
    for (uint32_t layout = BLOOMFILE_LAYOUT_BLOCKED; layout <= BLOOMFILE_LAYOUT_COUNTING;
         layout++) {
        struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
        params.layout = layout;
        params.bits = bits[layout - BLOOMFILE_LAYOUT_BLOCKED];
        params.hashes = 4;
        bloomfile_filter *f;
        assert_error(bloomfile_create(&f, "filter", &params,
                                      BLOOMFILE_TO_REPLACE | BLOOMFILE_OPEN_OVER_CAPACITY),
                     0);
        workers_run(&(struct workers){ 1, 3, "filter", 0, f, read_or_add, NULL });
        bloomfile_close(f);
    }
}

/* ---- all leave together */

static int add_one(bloomfile_filter *f, unsigned worker, void *context)
{
    return bloomfile_add_digest(f, number(1, *(uint64_t *)context + worker), NULL);
}

TEST_IN_DIR(last_writer_to_leave_marks_the_file_clean)
{
    static const uint8_t clean[16];
    make_filter(BLOOMFILE_LAYOUT_BLOCKED, 10000, 1e-9);
    for (uint64_t round = 0; round < 100; round++) {
        uint64_t first = round * 4;
        workers_run(&(struct workers){ 4, 1, "filter", BLOOMFILE_OPEN_ADD_EXACT * (round % 2), NULL,
                                       add_one, &first });
        bloomfile_filter *f;
        assert_error(bloomfile_open(&f, "filter", 0), 0);
        struct bloomfile_info info = info_of(f);
        assert_memory_equal(info.boot_id, clean, sizeof clean);
        assert_int_equal(info.writers, 0);
        assert_int_equal(info.keys, (round + 1) * 4);
        assert_int_equal(info.keys_estimated, 0);
        bloomfile_close(f);
    }
}

int main(void)
{
    return run_all(NULL, NULL);
}
