/* SPDX-License-Identifier: MIT
 * A live filter as seen by its creator, its writers and its readers. */
#include "live_files.h"
#include "support.h"

#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live/handle.h"

enum {
    LONE_ADDS = 20000
};

static const uint8_t zeros[16];

/* ---- creation */

TEST_IN_DIR(new_filter_is_empty_and_clean_after_close)
{
    struct bloomfile_params params = sized(1000);
    bloomfile_filter *f;
    params.label = "seen";
    params.seed = 7;
    memset(params.tag, 3, sizeof params.tag);
    assert_error(bloomfile_create(&f, "filter", &params, 0), 0);
    struct bloomfile_info info = info_of(f);
    assert_int_equal(info.state, BLOOMFILE_STATE_LIVE);
    assert_int_equal(info.keys, 0);
    assert_int_equal(info.writers, 1);
    assert_memory_not_equal(info.boot_id, zeros, sizeof zeros);
    assert_string_equal(info.label, "seen");
    assert_int_equal(info.seed, 7);
    assert_int_equal(info.tag[15], 3);
    assert_int_equal(info.bits, bits_for(0, 1000, 1e-9, 0));
    bloomfile_close(f);

    f = open_for("filter", 0);
    info = info_of(f);
    assert_int_equal(info.writers, 0);
    assert_memory_equal(info.boot_id, zeros, sizeof zeros);
    struct stat status;
    assert_int_equal(stat("filter", &status), 0);
    assert_int_equal(status.st_size, info.image_size);
    assert_true((uint64_t)status.st_blocks * 512 >= info.image_size);
    bloomfile_close(f);
}

TEST_IN_DIR(create_with_invalid_parameters_makes_no_file)
{
    bloomfile_filter *f = (void *)&f;
    struct bloomfile_params params = sized(0);
    assert_error(bloomfile_create(&f, "filter", &params, 0), BLOOMFILE_EVALUE);
    assert_null(f);
    assert_error(bloomfile_create(&f, "filter", NULL, 0), BLOOMFILE_EVALUE);
    params = sized(10);
    params.layout = 9;
    assert_error(bloomfile_create(&f, "filter", &params, 0), BLOOMFILE_EVALUE);
    params = sized(10);
    params.fpr = 1e-300;
    assert_error(bloomfile_create(&f, "filter", &params, 0), BLOOMFILE_EUNREACHABLE);
    params = sized(10);
    static const unsigned flags[] = { BLOOMFILE_OPEN_WRITE, BLOOMFILE_OPEN_ACCEPT_UNCLEAN,
                                      1u << 31 };
    for (size_t i = 0; i < ROWS(flags); i++)
        assert_error(bloomfile_create(&f, "filter", &params, flags[i]), BLOOMFILE_EFLAGS);
    for (size_t i = 0; i < ROWS(flags); i++)
        assert_error(bloomfile_create_memory(&f, &params, flags[i]), BLOOMFILE_EFLAGS);
    assert_error(bloomfile_create_memory(&f, &params, BLOOMFILE_TO_REPLACE), BLOOMFILE_EFLAGS);
    assert_error(bloomfile_create(&f, NULL, &params, 0), BLOOMFILE_EVALUE);
    assert_error(bloomfile_create(&f, "", &params, 0), ENOENT);
    assert_error(bloomfile_create(&f, "missing/filter", &params, 0), ENOENT);
    make_pipe("pipe", 0600);
    assert_error(bloomfile_create(&f, "pipe", &params, BLOOMFILE_TO_REPLACE),
                 BLOOMFILE_ENOTREGULAR);
    assert_int_equal(unlink("pipe"), 0);
    assert_int_equal(entries_in_dir(), 0);
}

enum {
    THREADS = 40, /* more threads than counters, so that some must share a counter */
    EACH = 25,
};

static struct {
    bloomfile_filter *f;
    pthread_mutex_t lock;
    pthread_cond_t turn;
    uint64_t next; /* the thread that may add next; THREADS: all have added */
} line = { .lock = PTHREAD_MUTEX_INITIALIZER, .turn = PTHREAD_COND_INITIALIZER };

/* Threads add one after the other, and stay until all have added. */
static void *add_in_turn(void *context)
{
    const uint64_t own = *(const uint64_t *)context;
    bool failed = false;
    pthread_mutex_lock(&line.lock);
    while (line.next != own)
        pthread_cond_wait(&line.turn, &line.lock);
    for (uint64_t i = own * EACH; i < (own + 1) * EACH; i++)
        failed |= bloomfile_add_digest(line.f, number(0, i), NULL) != 0;
    line.next++;
    pthread_cond_broadcast(&line.turn);
    while (line.next < THREADS)
        pthread_cond_wait(&line.turn, &line.lock);
    pthread_mutex_unlock(&line.lock);
    return failed ? context : NULL;
}

TEST_IN_DIR(keys_added_by_many_threads_are_counted_once)
{
    static uint64_t numbers[THREADS];
    pthread_t threads[THREADS];
    void *failed;
    line.f = create("filter", 100000);
    bloomfile_filter *alone = create("alone", 100000);
    add(alone, 0, THREADS * EACH);
    for (uint64_t i = 0; i < THREADS; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, add_in_turn, &numbers[i]), 0);
    }
    for (uint64_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    const struct bloomfile_info expected = info_of(alone);
    assert_int_equal(expected.keys, THREADS * EACH);
    for (unsigned i = 0; i < 3; i++) { /* counted, then committed twice */
        const struct bloomfile_info info = info_of(line.f);
        assert_int_equal(info.keys, expected.keys);
        assert_int_equal(info.ones, expected.ones);
        assert_error(bloomfile_sync(line.f, NULL), 0);
    }
    bloomfile_close(line.f);
    bloomfile_close(alone);
    line.f = open_for("filter", 0);
    assert_int_equal(info_of(line.f).keys, expected.keys);
    assert_int_equal(info_of(line.f).ones, expected.ones);
    bloomfile_close(line.f);
}

TEST_IN_DIR(create_replaces_a_filter_only_with_to_replace)
{
    bloomfile_filter *old = create("filter", 1000), *f;
    add(old, 0, 10);
    struct bloomfile_params params = sized(50);
    assert_error(bloomfile_create(&f, "filter", &params, 0), EEXIST);
    assert_null(f);
    assert_int_equal(bloomfile_is_stale(old), 0);
    assert_error(bloomfile_create(&f, "filter", &params, BLOOMFILE_TO_REPLACE), 0);
    assert_int_equal(bloomfile_is_stale(old), 1);
    assert_int_equal(bloomfile_is_stale(f), 0);
    add(old, 10, 20); /* to the file that was unlinked */
    assert_has(old, 20);
    assert_int_equal(info_of(f).keys, 0);
    bloomfile_close(old);
    bloomfile_close(f);
    assert_int_equal(entries_in_dir(), 1);
}

TEST_IN_DIR(filter_in_memory_supports_all_operations)
{
    size_t descriptors = open_descriptors();
    struct bloomfile_params params = sized(1000);
    bloomfile_filter *f;
    assert_error(bloomfile_create_memory(&f, &params, 0), 0);
    add(f, 0, 500);
    assert_has(f, 500);
    assert_error(bloomfile_sync(f, NULL), 0);
    assert_int_equal(bloomfile_is_stale(f), 0);
    assert_error(bloomfile_copy_sealed(TO_PATH("copy", 0), f, NULL), 0);
    assert_filter_of("copy", 500);
    assert_error(bloomfile_seal(f, NULL), 0);
    assert_error(bloomfile_verify(f, 1, NULL), 0);
    bloomfile_close(f);
    assert_int_equal(open_descriptors(), descriptors);
    assert_int_equal(entries_in_dir(), 1);
}

struct watch {
    const bloomfile_filter *f;
    atomic_size_t added;
    atomic_bool lost;
};

static void *look_for_what_is_added(void *argument)
{
    struct watch *w = argument;
    for (size_t n = 0; n < LONE_ADDS;) {
        n = atomic_load(&w->added);
        for (size_t i = n < 100 ? 0 : n - 100; i < n; i++)
            if (!bloomfile_contains_digest(w->f, number(0, i)))
                atomic_store(&w->lost, true);
    }
    return NULL;
}

/* It makes the same filter as shared adds, and other threads may look up keys during its adds. */
TEST_IN_DIR(sole_adder_makes_the_bits_of_shared_adds)
{
    for (uint32_t layout = BLOOMFILE_LAYOUT_BLOCKED; layout <= BLOOMFILE_LAYOUT_COUNTING;
         layout++) {
        struct bloomfile_params params = sized(LONE_ADDS);
        params.layout = layout;
        bloomfile_filter *alone, *shared;
        assert_error(bloomfile_create_memory(&alone, &params, BLOOMFILE_OPEN_SOLE_ADDER), 0);
        assert_error(bloomfile_create_memory(&shared, &params, 0), 0);
        assert_false(shared->live->alone); /* otherwise, concurrent adds could undo each other */
        struct watch watch = { .f = alone };
        pthread_t looker;
        assert_int_equal(pthread_create(&looker, NULL, look_for_what_is_added, &watch), 0);
        for (size_t i = 0; i < LONE_ADDS; i++) {
            bool new_to_one, new_to_other;
            assert_error(bloomfile_add_digest(alone, number(0, i), &new_to_one), 0);
            assert_error(bloomfile_add_digest(shared, number(0, i), &new_to_other), 0);
            assert_int_equal(new_to_one, new_to_other);
            atomic_store(&watch.added, i + 1);
        }
        assert_int_equal(pthread_join(looker, NULL), 0);
        assert_false(atomic_load(&watch.lost));
        assert_error(bloomfile_copy_sealed(TO_PATH("alone", BLOOMFILE_TO_REPLACE), alone, NULL), 0);
        assert_error(bloomfile_copy_sealed(TO_PATH("shared", BLOOMFILE_TO_REPLACE), shared, NULL),
                     0);
        struct bytes one = read_file("alone"), other = read_file("shared");
        assert_int_equal(one.size, other.size);
        assert_memory_equal(one.data, other.data, one.size);
        free(one.data);
        free(other.data);
        bloomfile_close(alone);
        bloomfile_close(shared);
    }
}

/* So that memory is the only limit. */
static void allow_files_of_any_size(void)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

TEST_IN_DIR(a_filter_larger_than_all_memory_is_refused)
{
    allow_files_of_any_size();
    bloomfile_filter *f = (void *)&f;
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.bits = 1ULL << 59;
    assert_error(bloomfile_create_memory(&f, &params, 0),
                 SIZE_MAX > UINT32_MAX ? ENOMEM : BLOOMFILE_ETOOBIG);
    assert_null(f);
}

/* malloc() refuses such a size as well, although the memory is never touched. */
TEST_IN_DIR(filter_larger_than_the_kernel_would_map_is_refused)
{
    bloomfile_filter *f;
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    allow_files_of_any_size();
    for (uint64_t size = 1ULL << 30; size < 1ULL << 44 && size < SIZE_MAX / 2; size *= 2) {
        void *memory =
            mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory != MAP_FAILED) {
            munmap(memory, (size_t)size);
            continue;
        }
        params.bits = 8 * size;
        assert_error(bloomfile_create_memory(&f, &params, 0), ENOMEM);
        break;
    }
}

TEST_IN_DIR(capacity_derived_from_bits_keeps_the_rate)
{
    for (uint32_t layout = BLOOMFILE_LAYOUT_BLOCKED; layout <= BLOOMFILE_LAYOUT_COUNTING; layout++)
        for (uint32_t hashes = 0; hashes <= 3; hashes += 3)
            for (size_t r = 0; r < 2; r++) {
                struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
                struct bloomfile_info info = BLOOMFILE_INFO_INIT;
                bloomfile_filter *f;
                params.layout = layout;
                params.bits = 512 * 100;
                params.hashes = hashes;
                params.fpr = r == 0 ? 0 : 0.0001;
                assert_error(bloomfile_create_memory(&f, &params, 0), 0);
                bloomfile_get_info(f, &info);
                bloomfile_close(f);
                const uint64_t n = info.capacity;
                const double rate = r == 0 ? 0.01 : 0.0001;
                const uint32_t next = hashes != 0 ? hashes : hashes_for(layout, params.bits, n + 1);
                assert_int_equal(info.hashes,
                                 hashes != 0 ? hashes : hashes_for(layout, params.bits, n));
                assert_true(fpr_for(layout, params.bits, info.hashes, n) <= rate);
                assert_true(fpr_for(layout, params.bits, next, n + 1) > rate);
            }
}

/* 1 bit cannot keep its rate with any key; 1000 bits could keep theirs with more keys. */
TEST_IN_DIR(capacity_derived_from_bits_is_at_least_1_and_at_most_the_bits)
{
    for (uint64_t bits = 1; bits <= 1000; bits += 999) {
        struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
        struct bloomfile_info info = BLOOMFILE_INFO_INIT;
        bloomfile_filter *f;
        params.layout = BLOOMFILE_LAYOUT_CLASSIC;
        params.bits = bits;
        params.fpr = bits == 1 ? 0.01 : 0.9;
        assert_error(bloomfile_create_memory(&f, &params, 0), bits == 1 ? BLOOMFILE_EFULL : 0);
        bloomfile_close(f);
        assert_error(bloomfile_create_memory(&f, &params, BLOOMFILE_OPEN_OVER_CAPACITY), 0);
        bloomfile_get_info(f, &info);
        assert_int_equal(info.capacity, bits);
        bloomfile_close(f);
    }
}

static void assert_works(bloomfile_filter *f, int error)
{
    const bool works = error == 0 && bloomfile_add_digest(f, number(0, 1), NULL) == 0 &&
                       bloomfile_contains_digest(f, number(0, 1));
    bloomfile_close(f);
    if (!works)
        _exit(1);
}

/* Its files get descriptors 0 to 2 then. */
TEST_IN_DIR(filters_can_be_created_with_closed_standard_streams)
{
    bloomfile_filter *f;
    struct bloomfile_params params = sized(1000);
    assert_error(bloomfile_create_memory(&f, &params, 0), 0);
    bloomfile_close(f);
    assert_error(bloomfile_create(&f, "other", &params, 0), 0);
    bloomfile_close(f);
    pid_t child = fork();
    int status;
    assert_true(child >= 0);
    if (child == 0) {
        for (int fd = 0; fd < 3; fd++)
            close(fd);
        int error = bloomfile_create_memory(&f, &params, 0);
        assert_works(f, error);
        error = bloomfile_create(&f, "filter", &params, 0);
        assert_works(f, error);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

TEST_IN_DIR(file_size_limit_makes_create_memory_return_enomem)
{
    bloomfile_filter *f;
    struct rlimit before;
    struct bloomfile_params params = sized(1000000);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit small = { 1 << 20, before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const int error = bloomfile_create_memory(&f, &params, 0);
    params.capacity = 1000;
    params.series = BLOOMFILE_SERIES_GROW;
    bloomfile_filter *grown;
    int added = bloomfile_create_memory(&grown, &params, 0);
    uint64_t n = 0;
    while (added == 0 && n < 1000000)
        added = bloomfile_add_digest(grown, number(0, n++), NULL);
    void *image;
    size_t size;
    const int sealed = copy_memory(&image, &size, grown);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_error(error, EFBIG);
    assert_null(f);
    assert_error(added, EFBIG);
    assert_error(sealed, EFBIG);
    for (uint64_t i = 0; i + 1 < n; i++)
        assert_true(bloomfile_contains_digest(grown, number(0, i)));
    bloomfile_close(grown);
}

TEST_IN_DIR(create_refuses_parameters_for_builders)
{
    bloomfile_filter *f;
    const struct bloomfile_params given[] = {
        { .struct_size = sizeof *given, .capacity = 10, .memory = 1 << 20 },
        { .struct_size = sizeof *given, .capacity = 10, .spool = "." },
        { .struct_size = sizeof *given, .capacity = 10, .threads = 1 },
    };
    for (size_t i = 0; i < ROWS(given); i++) {
        assert_error(bloomfile_create(&f, "filter", &given[i], 0), BLOOMFILE_EVALUE);
        assert_error(bloomfile_create_memory(&f, &given[i], 0), BLOOMFILE_EVALUE);
    }
    assert_int_equal(entries_in_dir(), 0);
}

/* ---- adding */

TEST_IN_DIR(add_reports_whether_the_key_was_new)
{
    bloomfile_filter *f = create("filter", 1000);
    uint8_t *large = calloc(1, 1 << 20);
    const struct bloomfile_key keys[] = { { "a", 1 },  { "b", 1 },         { "a", 1 },   { "", 0 },
                                          { NULL, 0 }, { large, 1 << 20 }, { "a\0b", 3 } };
    static const bool expected[] = { true, true, false, true, false, true, true };
    bool was_new[ROWS(keys)];
    size_t count;
    assert_error(bloomfile_add_many(f, keys, ROWS(keys), was_new, &count, NULL), 0);
    assert_memory_equal(was_new, expected, sizeof expected);
    assert_int_equal(count, 5);
    for (size_t i = 0; i < ROWS(keys); i++) {
        assert_true(bloomfile_contains(f, keys[i].data, keys[i].size));
        assert_error(bloomfile_add(f, keys[i].data, keys[i].size, &was_new[i]), 0);
        assert_false(was_new[i]);
    }
    assert_error(bloomfile_add_many(f, keys, ROWS(keys), NULL, &count, NULL), 0);
    assert_int_equal(count, 0);
    assert_error(bloomfile_add_many(f, NULL, 0, NULL, &count, NULL), 0);
    assert_error(bloomfile_add_digests(f, NULL, 0, NULL, NULL, NULL), 0);
    assert_int_equal(info_of(f).keys, 5);
    free(large);
    bloomfile_close(f);
}

TEST_IN_DIR(live_filter_has_the_bits_of_a_built_filter)
{
    for (uint32_t layout = BLOOMFILE_LAYOUT_BLOCKED; layout <= BLOOMFILE_LAYOUT_COUNTING; layout++)
        for (uint32_t k = 1; k <= BLOOMFILE_MAX_HASHES; k += 7) {
            struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
            params.layout = layout;
            params.bits = 512 * 133;
            params.hashes = k;
            params.capacity = 1000;
            bloomfile_filter *f;
            bloomfile_builder *b = new_builder(params);
            assert_error(bloomfile_create(&f, "live", &params, 0), 0);
            for (uint64_t i = 0; i < 1000; i++)
                assert_error(bloomfile_add_digest(f, number(0, i), NULL), 0);
            assert_error(bloomfile_seal(f, NULL), 0);
            struct bloomfile_info live = info_of(f);
            bloomfile_close(f);
            add_numbers(b, 0, 1000);
            assert_error(bloomfile_builder_write(b, TO_PATH("built", 0)), 0);
            bloomfile_builder_free(b);
            f = open_for("built", 0);
            struct bloomfile_info built = info_of(f);
            bloomfile_close(f);
            built.keys = live.keys;           /* a false positive is not counted */
            built.heap_size = live.heap_size; /* the path counts */
            assert_memory_equal(&live, &built, sizeof built);
            unlink("live");
            unlink("built");
        }
}

TEST_IN_DIR(reader_cannot_add_sync_or_seal)
{
    bloomfile_filter *f = create("filter", 1000), *reader = open_for("filter", 0);
    assert_error(bloomfile_add(reader, "a", 1, NULL), BLOOMFILE_EREADONLY);
    assert_error(bloomfile_add_many(reader, NULL, 0, NULL, NULL, NULL), BLOOMFILE_EREADONLY);
    assert_error(bloomfile_sync(reader, NULL), BLOOMFILE_EREADONLY);
    assert_error(bloomfile_seal(reader, NULL), BLOOMFILE_EREADONLY);
    bloomfile_close(f);
    bloomfile_close(reader);
}

/* ---- several handles */

/* L2, L5. */
TEST_IN_DIR(readers_see_each_add_immediately)
{
    bloomfile_filter *f = create("filter", 1000), *reader = open_for("filter", 0);
    bloomfile_filter *other = open_for("filter", BLOOMFILE_OPEN_WRITE);
    for (uint64_t i = 0; i < 100; i++) {
        add(i % 2 == 0 ? f : other, i, i + 1);
        assert_has(reader, i + 1);
    }
    assert_int_equal(info_of(reader).keys, 0);
    assert_int_equal(info_of(reader).writers, 2);
    assert_int_equal(info_of(f).keys, 50);
    assert_error(bloomfile_sync(f, NULL), 0);
    assert_int_equal(info_of(reader).keys, 50);
    assert_int_equal(info_of(other).keys, 100);
    bloomfile_close(other);
    assert_int_equal(info_of(reader).keys, 100);
    assert_int_equal(info_of(reader).writers, 1);
    bloomfile_close(f);
    assert_int_equal(info_of(reader).writers, 0);
    struct bloomfile_measurement measure = BLOOMFILE_MEASUREMENT_INIT;
    assert_error(bloomfile_measure(reader, &measure), 0);
    assert_int_equal(info_of(reader).ones, measure.ones);
    bloomfile_close(reader);
}

TEST_IN_DIR(live_filter_cannot_be_verified_or_embedded)
{
    bloomfile_filter *f = create("filter", 1000), *g;
    add(f, 0, 10);
    assert_not_opened("filter", BLOOMFILE_OPEN_VERIFY_FULL, BLOOMFILE_ELIVE);
    struct bloomfile_fault fault = { 0 };
    assert_error(bloomfile_verify(f, 1, NULL), BLOOMFILE_ELIVE);
    assert_error(bloomfile_verify(f, 1, &fault), BLOOMFILE_ELIVE);
    assert_error(fault.error, BLOOMFILE_ELIVE);
    assert_string_equal(fault.field, "state");
    assert_true(fault.offset == IN_FILE / 2 || fault.offset == IN_FILE / 4 * 3); /* in a record */
    assert_int_equal(fault.page, UINT64_MAX);
    bloomfile_close(open_for("filter", BLOOMFILE_OPEN_VERIFY_NONE));
    struct bytes image = read_file("filter");
    assert_error(open_from(&g, bloomfile_from_memory(image.data, image.size), 0), BLOOMFILE_ELIVE);

    int fd = open("filter", O_RDWR);
    assert_error(open_from(&g, bloomfile_from_fd(fd), BLOOMFILE_OPEN_WRITE), BLOOMFILE_EFLAGS);
    assert_error(open_from(&g, bloomfile_from_fd(fd), 0), 0);
    close(fd);
    assert_has(g, 10);
    bloomfile_close(g);

    write_file("container", "x", 1);
    fd = open("container", O_RDWR | O_APPEND);
    assert_int_equal(write(fd, image.data, image.size), image.size);
    assert_error(open_from(&g, part_of_fd(fd, 1, image.size), 0), BLOOMFILE_ELIVE);
    close(fd);
    free(image.data);
    bloomfile_close(f);
}

int main(void)
{
    return run_all(NULL, NULL);
}
