/* SPDX-License-Identifier: MIT
 * Many processes and threads grow one series concurrently, and are killed during adds. Every
 * added key is found, each key is new to one adder, and no layer gets much more than its
 * capacity. */
#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"
#include "workers.h"

enum {
    KEYS = 60000, /* of each worker */
    FIRST = 2000,
    BATCH = 50
};

static void make(uint32_t series, uint64_t capacity)
{
    bloomfile_filter *f;
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.capacity = capacity;
    params.fpr = 0.01;
    params.series = series;
    assert_error(bloomfile_create(&f, "series", &params, 0), 0);
    bloomfile_close(f);
}

/* ---- separate keys per worker */

static int add_own(bloomfile_filter *f, unsigned worker, void *context)
{
    const uint64_t first = (uint64_t)worker * KEYS;
    for (uint64_t i = first; i < first + KEYS; i += BATCH) {
        uint64_t digests[BATCH];
        for (unsigned j = 0; j < BATCH; j++)
            digests[j] = number(0, i + j);
        if (bloomfile_add_digests(f, digests, BATCH, NULL, NULL, NULL) != 0)
            return 1;
        if (bloomfile_contains_digests(f, digests, BATCH, NULL) != BATCH)
            return 2;
        if (i % 20000 == 0 && bloomfile_sync(f, NULL) != 0)
            return 3;
    }
    return bloomfile_contains_digest(f, number(0, first)) ? 0 : 4;
}

static void assert_layers_are_full_and_no_more(const bloomfile_filter *f, uint64_t all)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < bloomfile_layers(f); i++) {
        struct bloomfile_measurement m = BLOOMFILE_MEASUREMENT_INIT;
        const struct bloomfile_info info = info_of(bloomfile_layer(f, i));
        assert_error(bloomfile_measure(bloomfile_layer(f, i), &m), 0);
        const double capacity = (double)info.capacity, noise = 4 / sqrt(capacity);
        assert_true(m.keys_estimate < capacity * (1.01 + noise) + 100);
        if (i + 1 < bloomfile_layers(f))
            assert_true(m.keys_estimate > capacity * (0.985 - noise));
        sum += info.keys;
    }
    assert_true(sum > all * 985 / 1000 && sum <= all);
}

TEST_IN_DIR(concurrent_adders_lose_no_key_and_fill_each_layer)
{
    static const unsigned groups[][2] = { { 1, 4 }, { 6, 1 }, { 3, 3 } };
    for (size_t i = 0; i < ROWS(groups); i++) {
        const unsigned workers = groups[i][0] * groups[i][1];
        make(BLOOMFILE_SERIES_GROW, FIRST);
        workers_run(&(struct workers){ .processes = groups[i][0],
                                       .threads = groups[i][1],
                                       .path = "series",
                                       .work = add_own });
        bloomfile_filter *f;
        assert_error(bloomfile_open(&f, "series", 0), 0);
        for (uint64_t key = 0; key < (uint64_t)workers * KEYS; key++)
            if (!bloomfile_contains_digest(f, number(0, key)))
                fail_msg("key %u is lost", (unsigned)key);
        assert_layers_are_full_and_no_more(f, (uint64_t)workers * KEYS);
        bloomfile_close(f);
        assert_int_equal(system("rm series*"), 0);
    }
}

/* ---- the same keys */

static int add_same(bloomfile_filter *f, unsigned worker, void *context)
{
    atomic_uint *new_to = context;
    for (uint64_t i = 0; i < KEYS / 4; i++) {
        const uint64_t key = worker % 2 ? i : i ^ 31;
        bool was_new;
        if (bloomfile_add_digest(f, number(0, key), &was_new) != 0)
            return 1;
        if (was_new)
            atomic_fetch_add(&new_to[key], 1);
    }
    return 0;
}

TEST_IN_DIR(each_key_is_new_to_exactly_one_exact_adder)
{
    const size_t size = (KEYS / 4 + 32) * sizeof(atomic_uint);
    atomic_uint *new_to = shared_memory(size);
    make(BLOOMFILE_SERIES_GROW, 100);
    workers_run(&(struct workers){ .processes = 4,
                                   .threads = 2,
                                   .path = "series",
                                   .flags = BLOOMFILE_OPEN_ADD_EXACT,
                                   .work = add_same,
                                   .context = new_to });
    unsigned missing = 0;
    for (unsigned i = 0; i < KEYS / 4; i++) {
        assert_true(new_to[i] <= 1);
        missing += new_to[i] == 0;
    }
    assert_true(missing < KEYS / 4 / 50);
    release_shared_memory(new_to, size);
}

/* ---- forgetting */

static struct bloomfile_info info_of_series(const bloomfile_filter *f)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(f, &info);
    return info;
}

/* A worker that is delayed between the two calls may find that its key was forgotten, because
 * the other workers made that many layers. */
static bool may_be_forgotten(const bloomfile_filter *reader, uint64_t newest_before)
{
    const struct bloomfile_info now = info_of_series(reader);
    return now.layer >= newest_before + now.generations;
}

static int add_and_look(bloomfile_filter *f, unsigned worker, void *context)
{
    const uint64_t first = (uint64_t)worker * KEYS;
    bloomfile_filter *reader;
    if (bloomfile_open(&reader, "series", 0) != 0)
        return 1;
    for (uint64_t i = first; i < first + KEYS / 4; i++) {
        bool was_new;
        const uint64_t newest = info_of_series(f).layer;
        if (bloomfile_add_digest(f, number(0, i), &was_new) != 0)
            return 2;
        if (was_new && !bloomfile_contains_digest(reader, number(0, i)) &&
            !may_be_forgotten(reader, newest))
            return 3;
        if (i % 1000 == 0 && bloomfile_sync(f, NULL) != 0)
            return 4;
    }
    bloomfile_close(reader);
    return 0;
}

TEST_IN_DIR(key_just_added_is_found_while_generations_are_forgotten)
{
    for (uint32_t generations = 2; generations <= 8; generations *= 2) {
        make(generations, 3000);
        workers_run(&(struct workers){
            .processes = 3, .threads = 2, .path = "series", .work = add_and_look });
        assert_int_equal(system("rm series*"), 0);
    }
}

/* ---- killed */

struct adder {
    atomic_ullong added, first;
    pid_t pid;
};

static _Noreturn void add_for_ever(struct adder *a, unsigned flags)
{
    bloomfile_filter *f;
    alarm(200);
    if (bloomfile_open(&f, "series",
                       BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ACCEPT_UNCLEAN | flags) != 0)
        _exit(1);
    for (unsigned i = 0;; i++) {
        if (bloomfile_add_digest(f, number(0, a->first + i), NULL) != 0)
            _exit(2);
        atomic_store(&a->added, i + 1);
        if (i % 3000 == 2999 && bloomfile_sync(f, NULL) != 0)
            _exit(3);
    }
}

static uint64_t start(struct adder *a, uint64_t first, unsigned flags)
{
    a->added = 0;
    a->first = first;
    const pid_t child = fork(); /* not in memory shared with the child */
    assert_true(child >= 0);
    if (child == 0)
        add_for_ever(a, flags);
    a->pid = child;
    return first + ((uint64_t)1 << 32);
}

TEST_IN_DIR(killed_writers_of_a_growing_series_lose_no_key)
{
    enum {
        ADDERS = 3,
        ROUNDS = 60
    };
    struct adder *adders = shared_memory(ADDERS * sizeof *adders);
    uint64_t next = 0, random = 7;
    for (unsigned round = 0; round < ROUNDS; round++) {
        bloomfile_filter *r;
        make(BLOOMFILE_SERIES_GROW, 64); /* usually, the series is growing */
        assert_error(bloomfile_open(&r, "series", 0), 0);
        for (unsigned i = 0; i < ADDERS; i++)
            next = start(&adders[i], next, round % 2 ? BLOOMFILE_OPEN_ADD_EXACT : 0);
        usleep((useconds_t)(random64(&random) % 30000));
        for (unsigned i = 0; i < ADDERS; i++) {
            int status;
            kill(adders[i].pid, SIGKILL);
            assert_int_equal(waitpid(adders[i].pid, &status, 0), adders[i].pid);
            if (!WIFSIGNALED(status))
                fail_msg("an adder ended with %d", WEXITSTATUS(status));
        }
        bloomfile_filter *f;
        assert_error(
            bloomfile_open(&f, "series", BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ACCEPT_UNCLEAN), 0);
        for (unsigned i = 0; i < ADDERS; i++)
            for (uint64_t key = 0; key < adders[i].added; key++) {
                assert_true(bloomfile_contains_digest(r, number(0, adders[i].first + key)));
                assert_true(bloomfile_contains_digest(f, number(0, adders[i].first + key)));
            }
        assert_error(bloomfile_add_digest(f, number(0, next), NULL), 0);
        assert_error(bloomfile_finish(f), 0);
        bloomfile_close(f);
        bloomfile_close(r);
        assert_int_equal(system("rm series*"), 0);
    }
    release_shared_memory(adders, ADDERS * sizeof *adders);
}

/* ---- forgotten layers are closed */

static atomic_bool over;

static void *look_and_inspect(void *series)
{
    uint64_t digests[1000];
    for (uint64_t from = 0; !over; from++) {
        struct bloomfile_info info = BLOOMFILE_INFO_INIT;
        struct bloomfile_measurement m = BLOOMFILE_MEASUREMENT_INIT;
        for (unsigned i = 0; i < ROWS(digests); i++)
            digests[i] = number(1, from + i);
        bloomfile_contains_digests(series, digests, ROWS(digests), NULL);
        bloomfile_get_info(series, &info);
        bloomfile_measure(series, &m);
    }
    return NULL;
}

/* In memory, adders never wait for a disk, so lookups run at any moment. */
static void add_a_generation(bloomfile_filter *f, uint64_t *next)
{
    for (const uint64_t end = *next + FIRST; *next < end; ++*next)
        assert_error(bloomfile_add_digest(f, number(0, *next), NULL), 0);
}

/* Not immediately: a delayed thread keeps the layers that its lookup began with. */
TEST_IN_DIR(forgotten_layers_are_closed_by_lookups_of_any_thread)
{
    enum {
        THREADS = 4,
        GENERATIONS = 3,
        MOST_OPEN = GENERATIONS + 2
    };
    pthread_t threads[THREADS];
    bloomfile_filter *f;
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.capacity = FIRST;
    params.series = GENERATIONS;
    assert_error(bloomfile_create_memory(&f, &params, 0), 0);
    const size_t others = open_descriptors() - 1;
    uint64_t next = 0;
    over = false;
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, look_and_inspect, f), 0);
    for (unsigned i = 0; i < 50; i++) {
        add_a_generation(f, &next);
        while (open_descriptors() - others > MOST_OPEN) {
            usleep(1000);
            add_a_generation(f, &next);
        }
    }
    over = true;
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_error(bloomfile_check(f), 0);
    bloomfile_close(f);
}

int main(void)
{
    return run_all(NULL, NULL);
}
