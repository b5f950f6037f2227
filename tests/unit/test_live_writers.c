/* SPDX-License-Identifier: MIT
 * Many rounds on a small filter, in which writers often change the same word: no add is lost.
 * With PLAIN_OR, the library sets bits without atomics: then adds are lost, and the test must
 * notice. */
#include <bloomfile_live.h>

#include "support.h"
#include "workers.h"

static void make_tiny_filter(uint32_t layout)
{
    bloomfile_filter *f;
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.layout = layout;
    params.bits = 1 << 14;
    params.hashes = 8;
    assert_error(bloomfile_create(&f, "filter", &params, BLOOMFILE_TO_REPLACE), 0);
    bloomfile_close(f);
}

#define FEW 200

static int add_few(bloomfile_filter *f, unsigned worker, void *context)
{
    uint64_t first = *(uint64_t *)context + (uint64_t)worker * FEW;
    for (uint64_t i = first; i < first + FEW; i++)
        if (bloomfile_add_digest(f, number(0, i), NULL) != 0)
            return 1;
    return 0;
}

static unsigned lost_in_a_round(uint32_t layout, unsigned processes, unsigned threads,
                                uint64_t round)
{
    uint64_t first = round << 32;
    make_tiny_filter(layout);
    workers_run(&(struct workers){ .processes = processes,
                                   .threads = threads,
                                   .path = "filter",
                                   .work = add_few,
                                   .context = &first });
    bloomfile_filter *f;
    unsigned lost = 0;
    assert_error(bloomfile_open(&f, "filter", 0), 0);
    for (uint64_t i = 0; i < processes * threads * FEW; i++)
        lost += !bloomfile_contains_digest(f, number(0, first + i));
    bloomfile_close(f);
    return lost;
}

/* Returns the number of lost adds; stops after the first round with losses. */
static unsigned lost_in_rounds(unsigned processes, unsigned threads, unsigned rounds)
{
    unsigned lost = 0;
    for (unsigned round = 0; round < rounds && lost == 0; round++)
        for (uint32_t layout = BLOOMFILE_LAYOUT_BLOCKED; layout <= BLOOMFILE_LAYOUT_CLASSIC;
             layout++)
            lost += lost_in_a_round(layout, processes, threads, round);
    return lost;
}

#ifdef PLAIN_OR

static void non_atomic_or_loses_adds(void **state)
{
    unsigned by_threads = lost_in_rounds(1, 4, 2000), by_processes = lost_in_rounds(4, 1, 2000);
    print_message("lost: %u by threads, %u by processes\n", by_threads, by_processes);
    assert_true(by_threads > 0);
    assert_true(by_processes > 0);
}

#else

/* L5. */
static void concurrent_atomic_adds_are_not_lost(void **state)
{
    assert_int_equal(lost_in_rounds(1, 4, 50), 0);
    assert_int_equal(lost_in_rounds(4, 1, 50), 0);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef PLAIN_OR
        cmocka_unit_test_setup_teardown(non_atomic_or_loses_adds, enter_temp_dir, leave_temp_dir),
#else
        cmocka_unit_test_setup_teardown(concurrent_atomic_adds_are_not_lost, enter_temp_dir,
                                        leave_temp_dir),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
