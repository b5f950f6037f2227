/* SPDX-License-Identifier: MIT
 * Repeated digests count once, for any pattern, thread and filter. */
#include "support.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define MIB     ((uint64_t)1 << 20)
#define KEYS    200000
#define SOME    1000
#define BATCH   1000
#define THREADS 3

static uint64_t distinct_digests[KEYS], digests[2 * KEYS];

static int make_digests(void **state)
{
    uint64_t random = 46;
    for (size_t i = 0; i < KEYS; i++)
        distinct_digests[i] = random64(&random);
    return enter_temp_dir(state);
}

/* ---- ways to repeat: each fills in `digests`, including every distinct digest, and returns how
 * many */

typedef size_t way(void);

static size_t none(void)
{
    memcpy(digests, distinct_digests, sizeof distinct_digests);
    return KEYS;
}

static size_t far_apart(void)
{
    memcpy(digests + none(), distinct_digests, SOME * sizeof *digests);
    return KEYS + SOME;
}

static size_t next_to_each_other(void)
{
    for (size_t i = 0; i < SOME; i++)
        digests[2 * i] = digests[2 * i + 1] = distinct_digests[i];
    memcpy(digests + 2 * SOME, distinct_digests + SOME, (KEYS - SOME) * sizeof *digests);
    return KEYS + SOME;
}

/* In a range of digests that the sample does not cover. */
static size_t out_of_sample(void)
{
    for (size_t i = none() - 1;; i--) {
        if (digests[i] >> 56 != 21)
            continue;
        digests[KEYS] = digests[i];
        return KEYS + 1;
    }
}

static size_t one_very_often(void)
{
    const size_t n = out_of_sample();
    for (size_t i = n; i < 2 * KEYS; i++)
        digests[i] = digests[n - 1];
    return 2 * KEYS;
}

static size_t all_twice(void)
{
    memcpy(digests + none(), distinct_digests, sizeof distinct_digests);
    return 2 * KEYS;
}

static way *const ways[] = { none,          far_apart,      next_to_each_other,
                             out_of_sample, one_very_often, all_twice };

/* ---- builders */

static const struct bloomfile_params kinds[] = {
    { .layout = BLOOMFILE_LAYOUT_BLOCKED },
    { .layout = BLOOMFILE_LAYOUT_BLOCKED, .capacity = KEYS, .fpr = 0.5 },      /* many set no bit */
    { .layout = BLOOMFILE_LAYOUT_BLOCKED, .capacity = KEYS, .bits = 512 * 3 }, /* most set no bit */
    { .layout = BLOOMFILE_LAYOUT_BLOCKED, .capacity = KEYS, .bits = 512 * 5001, .hashes = 17 },
    { .layout = BLOOMFILE_LAYOUT_CLASSIC },
    { .layout = BLOOMFILE_LAYOUT_CLASSIC, .capacity = KEYS },
    { .layout = BLOOMFILE_LAYOUT_COUNTING, .fpr = 0.1 },
    { .layout = BLOOMFILE_LAYOUT_COUNTING, .capacity = KEYS, .fpr = 0.1 },
};

static const struct how {
    uint32_t threads;
    uint64_t memory;
} hows[] = { { 0, 0 }, { THREADS, 0 }, { 0, 64 * MIB }, { THREADS, MIB } };

static bloomfile_builder *builder_with(struct bloomfile_params params, struct how how)
{
    params.threads = how.threads;
    params.memory = how.memory;
    params.spool = ".";
    return new_builder(params);
}

struct adder {
    bloomfile_builder *builder;
    size_t first, n, step;
    int error;
};

static void *add_share(void *argument)
{
    struct adder *a = argument;
    for (size_t at = a->first; at < a->n && a->error == 0; at += a->step)
        a->error = bloomfile_builder_add_digests(a->builder, digests + at,
                                                 a->n - at < BATCH ? a->n - at : BATCH);
    return NULL;
}

/* Each thread takes every third batch. */
static void add_digests(bloomfile_builder *b, size_t n, unsigned threads)
{
    pthread_t ids[THREADS];
    struct adder adders[THREADS];
    threads = threads > 1 ? threads : 1;
    for (unsigned i = 0; i < threads; i++) {
        adders[i] = (struct adder){ b, (size_t)BATCH * i, n, (size_t)BATCH * threads, 0 };
        assert_int_equal(pthread_create(&ids[i], NULL, add_share, &adders[i]), 0);
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
        assert_error(adders[i].error, 0);
    }
}

/* Built from each digest once. */
static struct bytes expected_of(struct bloomfile_params params)
{
    bloomfile_builder *b = new_builder(params);
    assert_error(bloomfile_builder_add_digests(b, distinct_digests, KEYS), 0);
    struct bytes image = last_image(b);
    assert_int_equal(verified_info(image).keys, KEYS);
    return image;
}

TEST(each_digest_counts_once)
{
    for (size_t k = 0; k < ROWS(kinds); k++) {
        struct bytes expected = expected_of(kinds[k]);
        for (size_t w = 0; w < ROWS(ways); w++) {
            for (size_t h = 0; h < ROWS(hows); h++) {
                const size_t n = ways[w]();
                uint64_t count;
                bloomfile_builder *b = builder_with(kinds[k], hows[h]);
                add_digests(b, n, hows[h].threads);
                assert_bytes(finish_image(b), expected);
                assert_error(bloomfile_builder_count(b, &count), 0);
                assert_int_equal(count, KEYS);
                assert_bytes(last_image(b), expected);
            }
        }
        free(expected.data);
    }
}

/* A filter of a wrong size was never published: without BLOOMFILE_TO_REPLACE, the right filter
 * could not follow it. */
TEST(filter_of_a_wrong_size_is_never_published)
{
    struct bytes expected = expected_of(kinds[0]);
    const size_t n = out_of_sample();
    bloomfile_builder *b = builder_with(kinds[0], hows[0]);
    add_digests(b, n, 1);
    assert_error(bloomfile_builder_write(b, TO_PATH("right", 0)), 0);
    assert_int_equal(entries_in_dir(), 1);
    assert_bytes(last_image(b), expected);
    free(expected.data);
}

/* The digests held would make it too large, but few of them are distinct. */
TEST(size_limit_applies_to_the_distinct_keys)
{
    const struct rlimit small = { KEYS * 10 / 8 + 50000, RLIM_INFINITY };
    struct rlimit before;
    struct bytes expected = expected_of(kinds[0]);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    const size_t n = one_very_often();
    bloomfile_builder *b = builder_with(kinds[0], hows[0]);
    add_digests(b, n, 1);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const int error = bloomfile_builder_write(b, TO_PATH("small", 0));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_error(error, 0);
    assert_bytes(last_image(b), expected);
    free(expected.data);
}

int main(void)
{
    return run_all(make_digests, leave_temp_dir);
}
