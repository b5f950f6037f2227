/* SPDX-License-Identifier: MIT
 * Actions of other processes on a series in the middle of an operation: they make layers, some
 * in the place of old layers, and poison or remove layers. A key whose add returned is found as
 * long as its generations are kept. */
#include "live_support.h"

#include <bloomfile_combine.h>
#include <bloomfile_live.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "format/header.h"
#include "interleave.h"
#include "workers.h"

enum {
    FIRST = 24,       /* capacity of the first layer */
    PERIOD = 1000000, /* seconds: longer than a test runs */
    KEY = 1,          /* the key that is added in the middle, */
    MANY = 5          /* or the number of keys from KEY on */
};

static bloomfile_filter *writer, *other, *reader;
static unsigned made; /* generations that the other writer made */
static uint64_t at;   /* its next key */
static bool making;   /* it is making a generation now */

/* ---- the clock */

static long seconds_gone;
static int clock_fails;           /* its return value */
static unsigned looks_left;       /* reads of the clock until */
static void (*at_the_look)(void); /* this runs */

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    const int result = __real_clock_gettime(clock, now);
    now->tv_sec += seconds_gone;
    if (clock == CLOCK_REALTIME_COARSE && looks_left > 0 && --looks_left == 0)
        at_the_look();
    return clock_fails != 0 ? clock_fails : result;
}

/* ---- the other writer */

static void begin(uint32_t series, unsigned flags)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.capacity = FIRST;
    params.fpr = 0.0001;
    params.series = series;
    params.period = series == BLOOMFILE_SERIES_GROW ? 0 : PERIOD;
    assert_error(bloomfile_create(&other, "series", &params, flags & ~BLOOMFILE_OPEN_WRITE), 0);
    writer = opened("series", BLOOMFILE_OPEN_WRITE | flags);
    reader = opened("series", 0);
    made = 0;
    making = false;
    at = ABSENT;
}

static void end(void)
{
    seconds_gone = 0;
    bloomfile_close(writer);
    bloomfile_close(other);
    bloomfile_close(reader);
    writer = other = reader = NULL;
    const char *const names[] = { "series", "series.1", "series.2", "kept" };
    for (size_t i = 0; i < ROWS(names); i++)
        if (access(names[i], F_OK) == 0)
            assert_int_equal(unlink(names[i]), 0);
    assert_int_equal(entries_in_dir(), 0);
}

static void finish_and_close(bloomfile_filter **f)
{
    assert_error(bloomfile_finish(*f), 0);
    bloomfile_close(*f);
    *f = NULL;
}

/* Makes a layer: sets the clock to the end of the newest generation, or fills a growing series. */
static void make_one(void)
{
    if (making)
        return;
    making = true;
    const uint64_t layer = info_of(other).layer;
    seconds_gone = info_of(other).period != 0 ? ++made * (long)PERIOD : 0;
    while (info_of(other).layer == layer)
        assert_error(bloomfile_add_digest(other, number(0, at++), NULL), 0);
    making = false;
}

static void make_two(void)
{
    make_one();
    make_one();
}

static bool finds(const bloomfile_filter *f, uint64_t key)
{
    return bloomfile_contains_digest(f, number(0, key));
}

/* A reader that opens the series now; older readers may still have older generations. */
static bool is_kept(uint64_t key)
{
    bloomfile_filter *f = opened("series", 0);
    const bool found = finds(f, key);
    bloomfile_close(f);
    return found;
}

static void assert_has_its_time(uint64_t key)
{
    const uint32_t generations = info_of(other).generations;
    for (uint32_t i = 1; i < generations; i++) {
        assert_true(is_kept(key));
        make_one();
    }
    assert_true(is_kept(key));
    assert_true(finds(reader, key));
    make_one();
    assert_false(is_kept(key));
}

static int add_key(void)
{
    return bloomfile_add_digest(writer, number(0, KEY), NULL);
}

/* The other writer acts at this read of the clock. */
static int add_while_at_look(unsigned look, void (*act)(void))
{
    looks_left = look;
    at_the_look = act;
    const int error = add_key();
    assert_int_equal(looks_left, 0);
    return error;
}

/* ---- adding to a series that forgets */

/* S10. */
TEST_IN_DIR(key_added_while_a_generation_is_created_is_kept_for_its_full_time)
{
    for (unsigned exact = 0; exact < 2; exact++)
        for (uint32_t generations = 2; generations <= 3; generations++)
            for (unsigned look = 1; look <= 2; look++) {
                begin(generations, exact ? BLOOMFILE_OPEN_ADD_EXACT : 0);
                assert_error(add_while_at_look(look, make_one), 0);
                assert_has_its_time(KEY);
                end();
            }
}

/* S8. The key is found in the oldest generation, which is forgotten at that moment. */
TEST_IN_DIR(key_forgotten_during_its_add_is_added)
{
    begin(2, 0);
    assert_error(add_key(), 0);
    make_one();
    assert_true(finds(writer, KEY));
    assert_error(add_while_at_look(1, make_one), 0);
    assert_has_its_time(KEY);
    end();
}

static int add_late(void)
{
    return add_while_at_look(2, make_one);
}

/* S10. The key is in a layer with a successor. While the writer searches for that layer, the
 * other writer makes more. */
TEST_IN_DIR(late_key_follows_to_the_newest_layer)
{
    static void (*const acts[])(void) = { make_one, make_two };
    for (size_t i = 0; i < ROWS(acts); i++) {
        unsigned calls = 1;
        for (unsigned nth = 1; nth <= calls; nth++) {
            begin(2, 0);
            assert_error(with_others(add_late, ON_stat64, nth, acts[i]), 0);
            calls = calls > 1 ? calls : fault_calls(ON_stat64);
            assert_has_its_time(KEY);
            end();
        }
        assert_true(calls >= 3);
    }
}

static void make_one_and_hide_it(void)
{
    make_one();
    assert_int_equal(rename("series.1", "kept"), 0);
}

TEST_IN_DIR(late_key_is_refused_if_the_next_layer_is_missing)
{
    begin(2, 0);
    assert_error(add_while_at_look(2, make_one_and_hide_it), BLOOMFILE_EMISSINGLAYER);
    assert_true(finds(reader, KEY));
    assert_true(finds(reader, KEY + 1)); /* the missing layer may have it */
    assert_error(bloomfile_check(writer), BLOOMFILE_EMISSINGLAYER);
    end();
}

static int add_other_key(void)
{
    return bloomfile_add_digest(writer, number(0, KEY + 1), NULL);
}

static int sync_writer(void)
{
    return sync_filter(writer);
}

static int finish_writer(void)
{
    return bloomfile_finish(writer);
}

static int close_writer(void)
{
    bloomfile_close(writer);
    writer = NULL;
    return 0;
}

static int add_other_key_in_child(void)
{
    int status;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(add_other_key() == 0 ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

/* S10. The key is in the older layer, so adding it again does not add it to the newest. */
TEST_IN_DIR(late_key_whose_repetition_failed_is_added_by_the_next_call)
{
    static const struct {
        int (*run)(void), error;
    } next[] = { { add_key, 0 },
                 { add_other_key, 0 },
                 { add_other_key_in_child, 0 },
                 { sync_writer, 0 },
                 { finish_writer, BLOOMFILE_EMISSINGLAYER }, /* sticky */
                 { close_writer, 0 } };
    for (size_t i = 0; i < ROWS(next); i++) {
        const uint64_t digest = number(0, KEY);
        bool was_new = false;
        size_t done = 0;
        begin(3, 0);
        looks_left = 2;
        at_the_look = make_one_and_hide_it;
        assert_error(bloomfile_add_digests(writer, &digest, 1, &was_new, NULL, &done),
                     BLOOMFILE_EMISSINGLAYER);
        assert_true(was_new && done == 1);
        assert_error(add_other_key(), BLOOMFILE_EMISSINGLAYER);
        assert_int_equal(rename("kept", "series.1"), 0);
        assert_error(next[i].run(), next[i].error);
        assert_has_its_time(KEY);
        end();
    }
}

/* The child is not a writer yet. */
TEST_IN_DIR(closing_in_a_child_does_not_add_the_late_keys_of_its_parent)
{
    int status;
    begin(3, 0);
    assert_error(add_while_at_look(2, make_one_and_hide_it), BLOOMFILE_EMISSINGLAYER);
    assert_int_equal(rename("kept", "series.1"), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        faults_begin(&(struct faults){ 0 });
        bloomfile_close(writer);
        _exit(fault_calls(ON_open64) == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_error(sync_filter(writer), 0);
    end();
}

static void hide_one_and_use_all_memory(void)
{
    static const struct faults no_memory = {
        .call = ON_malloc, .nth = 1, .error = ENOMEM, .for_ever = true
    };
    make_one_and_hide_it();
    faults_begin(&no_memory);
}

/* The library no longer knows which key to add. */
TEST_IN_DIR(late_key_that_could_not_be_kept_leaves_a_permanent_error)
{
    begin(3, 0);
    assert_error(add_while_at_look(2, hide_one_and_use_all_memory), BLOOMFILE_EMISSINGLAYER);
    faults_end();
    assert_int_equal(rename("kept", "series.1"), 0);
    assert_error(add_other_key(), ENOMEM);
    assert_error(sync_filter(writer), ENOMEM);
    assert_error(bloomfile_finish(writer), BLOOMFILE_EMISSINGLAYER); /* sticky */
    end();
}

static void poison_newest(void)
{
    poison_records("series.1");
}

/* Just before the path is checked for the last time, after the open. */
TEST_IN_DIR(a_late_key_is_not_added_to_a_poisoned_layer)
{
    begin(2, 0);
    faults_begin(&(struct faults){ 0 });
    assert_error(add_late(), 0);
    faults_end();
    end();
    begin(2, 0);
    assert_error(with_others(add_late, ON_stat64, fault_calls(ON_stat64), poison_newest),
                 BLOOMFILE_EPOISONED);
    assert_true(finds(reader, KEY + 1));
    assert_error(bloomfile_check(reader), BLOOMFILE_EPOISONED);
    end();
}

/* Makes a layer and fills it. No more layers can be created. */
static void make_one_and_fill_the_disk(void)
{
    static const struct faults disk_full = {
        .call = ON_fallocate64, .nth = 1, .error = ENOSPC, .for_ever = true
    };
    make_one();
    faults_begin(&disk_full);
    while (bloomfile_add_digest(other, number(0, at), NULL) == 0)
        at++;
}

/* The first key follows to the next layer, which has no room for the rest. */
TEST_IN_DIR(batch_with_a_late_key_is_added_completely_or_refused)
{
    uint64_t digests[MANY];
    for (uint64_t i = 0; i < MANY; i++)
        digests[i] = number(0, KEY + i);
    begin(2, 0);
    looks_left = 2;
    at_the_look = make_one_and_fill_the_disk;
    size_t done = 0;
    const int error = bloomfile_add_digests(writer, digests, MANY, NULL, NULL, &done);
    faults_end();
    assert_int_equal(looks_left, 0);
    assert_error(error, ENOSPC);
    assert_int_equal(done, 1);
    assert_false(finds(reader, KEY + MANY - 1));
    assert_has_its_time(KEY);
    end();
}

static void poison_first(void)
{
    poison_records("series");
}

TEST_IN_DIR(layer_poisoned_before_the_add_gets_no_key)
{
    begin(2, 0);
    assert_error(add_while_at_look(2, poison_first), BLOOMFILE_EPOISONED);
    end();
}

/* ---- exact adders */

static void add_it_too(void)
{
    make_one();
    assert_error(bloomfile_add_digest(other, number(0, KEY), NULL), 0);
}

/* S9. The next layer has the key by the time this writer gets its lock. */
TEST_IN_DIR(exact_adder_does_not_count_keys_of_the_next_layer)
{
    begin(BLOOMFILE_SERIES_GROW, BLOOMFILE_OPEN_ADD_EXACT);
    assert_error(with_others(add_key, ON_fcntl64, 1, add_it_too), 0);
    const uint64_t keys = at - ABSENT + 1;
    assert_error(bloomfile_finish(writer), 0);
    assert_error(bloomfile_finish(other), 0);
    assert_true(finds(reader, KEY));
    assert_int_equal(info_of(reader).keys, keys);
    end();
}

static int add_keys(void)
{
    uint64_t digests[MANY];
    bool was_new[MANY];
    size_t new_keys = 0;
    for (uint64_t i = 0; i < MANY; i++)
        digests[i] = number(0, KEY + i);
    const int error = bloomfile_add_digests(writer, digests, MANY, was_new, &new_keys, NULL);
    assert_int_equal(new_keys, MANY);
    for (size_t i = 0; i < MANY; i++)
        assert_true(was_new[i]);
    return error;
}

/* S9. Keys that the layer refuses, because it has a successor by now, go to the successor. */
TEST_IN_DIR(keys_reported_as_added_by_an_exact_adder_are_present)
{
    int (*const ways[])(void) = { add_key, add_keys };
    for (size_t i = 0; i < ROWS(ways); i++) {
        begin(BLOOMFILE_SERIES_GROW, BLOOMFILE_OPEN_ADD_EXACT);
        assert_error(with_others(ways[i], ON_fcntl64, 1, make_one), 0);
        const uint64_t keys = i == 0 ? 1 : MANY;
        assert_true(has_numbers(reader, KEY, KEY + keys));
        assert_error(bloomfile_finish(writer), 0);
        assert_error(bloomfile_finish(other), 0);
        assert_int_equal(info_of(reader).keys, at - ABSENT + keys);
        end();
    }
}

/* ---- sync, finish and status */

static int sync_it(void)
{
    return bloomfile_sync(writer, NULL);
}

/* S12. */
TEST_IN_DIR(sync_continues_with_the_layer_that_took_the_name)
{
    begin(2, 0);
    make_one();
    assert_error(add_key(), 0);
    assert_error(with_others(sync_it, ON_stat64, 1, make_two), 0);
    assert_int_equal(info_of(writer).layer, 3);
    assert_error(bloomfile_finish(writer), 0);
    end();
}

static void take_newest_away(void)
{
    assert_int_equal(rename("series.1", "kept"), 0);
}

TEST_IN_DIR(sync_of_a_removed_layer_returns_an_error)
{
    begin(2, 0);
    make_one();
    assert_error(add_key(), 0);
    assert_error(with_others(sync_it, ON_stat64, 1, take_newest_away), BLOOMFILE_EREPLACED);
    assert_int_equal(rename("kept", "series.1"), 0);
    make_two();
    take_newest_away();
    assert_error(sync_it(), BLOOMFILE_EMISSINGLAYER);
    end();
}

TEST_IN_DIR(sync_reports_older_layers_that_turned_bad)
{
    static void (*const acts[])(const char *path) = { poison_records, damage_records };
    static const int errors[] = { BLOOMFILE_EPOISONED, BLOOMFILE_ERECORD };
    for (size_t i = 0; i < ROWS(acts); i++) {
        begin(BLOOMFILE_SERIES_GROW, 0);
        make_one();
        assert_error(add_key(), 0);
        acts[i]("series");
        assert_error(sync_it(), errors[i]);
        assert_error(bloomfile_check(writer), errors[i]);
        assert_true(finds(writer, KEY + 1));
        assert_error(bloomfile_finish(writer), errors[i]);
        end();
    }
}

/* The number of its keys is unknown then. */
TEST_IN_DIR(newest_layer_with_damaged_records_accepts_keys_but_no_sync)
{
    begin(BLOOMFILE_SERIES_GROW, 0);
    damage_records("series");
    for (uint64_t i = 0; i < 2 * FIRST; i++)
        assert_error(bloomfile_add_digest(writer, number(0, i), NULL), 0);
    assert_true(has_numbers(writer, 0, 2 * FIRST));
    assert_error(sync_it(), BLOOMFILE_ERECORD);
    assert_error(bloomfile_finish(writer), BLOOMFILE_ERECORD);
    assert_error(bloomfile_copy_sealed(TO_PATH("copy", 0), reader, NULL), BLOOMFILE_ERECORD);
    assert_error(bloomfile_check(reader), BLOOMFILE_ERECORD);
    assert_true(finds(reader, ABSENT));
    end();
}

TEST_IN_DIR(finish_accepts_a_name_lost_to_a_newer_generation)
{
    begin(2, 0);
    assert_error(add_key(), 0);
    make_one();
    assert_true(finds(writer, KEY));
    assert_error(bloomfile_add_digest(writer, number(0, KEY + 1), NULL), 0);
    make_two();
    assert_error(bloomfile_finish(writer), 0);
    end();

    begin(2, 0);
    make_one();
    assert_error(add_key(), 0);
    take_newest_away();
    assert_error(bloomfile_finish(writer), BLOOMFILE_EREPLACED);
    end();
}

/* ---- writers that are killed */

static unsigned syncs_left;
static bool record_written;

/* A sync writes a record before it syncs the body, and another before it syncs the header. */
static void die_in_last_sync(enum fault_call call)
{
    record_written = record_written || call == ON_pwrite64;
    if (call != ON_msync || !record_written)
        return;
    record_written = false;
    if (--syncs_left == 0)
        raise(SIGKILL);
}

static _Noreturn void add_and_die(unsigned syncs)
{
    bloomfile_filter *f;
    alarm(20);
    if (bloomfile_open(&f, "series", BLOOMFILE_OPEN_WRITE) != 0)
        _exit(1);
    for (uint64_t i = 0; i < LIVE_KEYS; i++)
        if (bloomfile_add_digest(f, number(0, i), NULL) != 0)
            _exit(2);
    raise(SIGSTOP);
    syncs_left = syncs;
    faults_begin(&(struct faults){ .at_each_call = die_in_last_sync });
    if (syncs > 0)
        sync_filter(f);
    raise(SIGKILL);
    _exit(3);
}

/* Starts a writer that makes two more layers and stops. Then it is killed, in a sync if syncs > 0:
 * 1: of the first layer; 3: of the second. */
static pid_t start_doomed(unsigned syncs)
{
    int status;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        add_and_die(syncs);
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    assert_true(WIFSTOPPED(status));
    return child;
}

static void let_die(pid_t child)
{
    int status;
    kill(child, SIGCONT);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void begin_alone(void)
{
    begin(BLOOMFILE_SERIES_GROW, 0);
    assert_error(close_writer(), 0);
    bloomfile_close(other);
    bloomfile_close(reader);
    other = reader = NULL;
}

/* early: the writer knows only the first layer when the other writer is killed; else all layers,
 * and it has left those that are not the newest. */
static void survive(bool early, unsigned syncs, unsigned flags)
{
    begin_alone();
    if (early)
        writer = opened("series", BLOOMFILE_OPEN_WRITE | flags);
    const pid_t child = start_doomed(syncs);
    if (!early)
        writer = opened("series", BLOOMFILE_OPEN_WRITE | flags);
    let_die(child);
}

static void die_before_the_mark(enum fault_call call)
{
    if (call == ON_pwrite64 && access("series.1", F_OK) == 0)
        raise(SIGKILL);
}

/* Its child lives on. */
static _Noreturn void add_and_die_before_the_mark(pid_t *grandchild)
{
    bloomfile_filter *f;
    if (bloomfile_open(&f, "series", BLOOMFILE_OPEN_WRITE) != 0)
        _exit(1);
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        pause();
    }
    *grandchild = child;
    faults_begin(&(struct faults){ .at_each_call = die_before_the_mark });
    for (uint64_t i = 0; i < LIVE_KEYS; i++)
        bloomfile_add_digest(f, number(0, i), NULL);
    _exit(2);
}

static _Noreturn void add_in_time(void)
{
    bloomfile_filter *f;
    alarm(10);
    if (bloomfile_open(&f, "series", BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ACCEPT_UNCLEAN) != 0)
        _exit(1);
    for (uint64_t i = 0; i < LIVE_KEYS; i++)
        if (bloomfile_add_digest(f, number(0, i), NULL) != 0)
            _exit(2);
    _exit(bloomfile_finish(f));
}

static int open_error(void)
{
    bloomfile_filter *f;
    const int error = bloomfile_open(&f, "series", 0);
    bloomfile_close(f);
    return error;
}

static void assert_all_clean(void)
{
    static const char *const files[] = { "series", "series.1", "series.2" };
    for (size_t i = 0; i < ROWS(files); i++)
        assert_flawless(flaw_of_clean_file(files[i]));
    bloomfile_filter *f = opened("series", 0);
    assert_true(has_numbers(f, 0, LIVE_KEYS));
    bloomfile_close(f);
}

/* The writer accepted the layers that were there when it opened the series. It does not know which
 * keys these layers may lack. */
static void open_again_if_later_layers_are_unclean(void)
{
    assert_error(bloomfile_add_digest(writer, number(0, LIVE_KEYS), NULL), BLOOMFILE_EUNCLEAN);
    assert_error(sync_writer(), BLOOMFILE_EUNCLEAN);
    assert_error(finish_writer(), BLOOMFILE_EUNCLEAN);
    assert_true(finds(writer, ABSENT));
    bloomfile_close(writer);
    assert_error(open_error(), BLOOMFILE_EUNCLEAN);
    writer = opened("series", BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ACCEPT_UNCLEAN);
}

/* S11, S12. Otherwise the series would be unclean after the next boot, or is now. */
TEST_IN_DIR(last_writer_cleans_layers_of_killed_writers)
{
    static int (*const ends[])(void) = { sync_writer, finish_writer, close_writer };
    for (unsigned early = 0; early < 2; early++)
        for (unsigned in_sync = 0; in_sync < 2; in_sync++)
            for (size_t i = 0; i < ROWS(ends); i++) {
                survive(early, in_sync * (early ? 3 : 1), BLOOMFILE_OPEN_ACCEPT_UNCLEAN);
                assert_error(open_error(), in_sync ? BLOOMFILE_EUNCLEAN : 0);
                if (early && in_sync)
                    open_again_if_later_layers_are_unclean();
                add_digests_of(writer, 0, LIVE_KEYS + 1);
                assert_error(ends[i](), 0);
                const bool unclean = in_sync && ends[i] == close_writer;
                assert_error(open_error(), unclean ? BLOOMFILE_EUNCLEAN : 0);
                if (writer != NULL)
                    assert_error(finish_writer(), 0);
                if (!unclean)
                    assert_all_clean();
                end();
            }
}

/* The first layer is marked, and the writer has left it. */
TEST_IN_DIR(layer_of_a_killed_sync_is_cleaned_only_if_accepted)
{
    static int (*const ends[])(void) = { sync_writer, finish_writer };
    for (size_t i = 0; i < ROWS(ends); i++) {
        survive(false, 1, 0);
        assert_error(ends[i](), BLOOMFILE_EUNCLEAN);
        assert_error(finish_writer(), BLOOMFILE_EUNCLEAN);
        assert_true(finds(writer, ABSENT));
        assert_error(open_error(), BLOOMFILE_EUNCLEAN);
        end();
    }
}

/* ---- names */

static void look_whether_stale(enum fault_call call)
{
    assert_int_equal(bloomfile_is_stale(reader), 0);
}

/* The oldest layer has lost its name already, and the newest layer has no successor yet. */
TEST_IN_DIR(a_series_is_not_stale_while_a_generation_is_made)
{
    begin(2, 0);
    make_one();
    assert_int_equal(bloomfile_is_stale(reader), 0);
    faults_begin(&(struct faults){ .at_each_call = look_whether_stale });
    make_two();
    faults_end();
    take_newest_away();
    assert_int_equal(bloomfile_is_stale(reader), 1);
    end();
}

static void make_three(void)
{
    make_two();
    make_one();
}

static int is_stale(void)
{
    return bloomfile_is_stale(reader);
}

TEST_IN_DIR(series_is_not_stale_if_generations_are_made_during_the_check)
{
    begin(2, 0);
    make_one();
    assert_int_equal(bloomfile_is_stale(reader), 0);
    assert_int_equal(with_others(is_stale, ON_stat64, 1, make_three), 0);
    end();
    begin(BLOOMFILE_SERIES_GROW, 0);
    make_one();
    assert_int_equal(unlink("series"), 0);
    assert_int_equal(bloomfile_is_stale(reader), 1);
    end();
}

/* Its writer may have died, or its disk may have failed: the series is still the same. */
TEST_IN_DIR(growing_series_is_not_stale_if_its_next_layer_is_poisoned)
{
    begin(BLOOMFILE_SERIES_GROW, 0);
    make_one();
    poison_records("series.1");
    assert_error(bloomfile_check(reader), BLOOMFILE_EPOISONED);
    assert_int_equal(bloomfile_is_stale(reader), 0);
    assert_int_equal(unlink("series"), 0);
    assert_int_equal(bloomfile_is_stale(reader), 1);
    end();
    begin(2, 0);
    make_one();
    poison_records("series.1");
    assert_int_equal(bloomfile_is_stale(reader), 1);
    end();
}

/* ---- copying */

/* Its first layer is a newer generation than that of the opening. */
TEST_IN_DIR(copy_does_not_replace_another_file_at_the_path_of_its_series)
{
    for (unsigned by_link = 0; by_link < 2; by_link++) {
        const char *path = by_link ? "link" : "series";
        begin(2, 0);
        bloomfile_close(reader);
        make_symlink("series", "link");
        reader = opened(path, 0);
        make_two();
        assert_error(bloomfile_check(reader), 0);
        make_live("kept", BLOOMFILE_LAYOUT_BLOCKED);
        if (by_link) {
            assert_int_equal(unlink("link"), 0);
            make_symlink("kept", "link");
        } else {
            assert_int_equal(rename("kept", "series"), 0);
        }
        assert_error(bloomfile_copy_sealed(TO_PATH(path, BLOOMFILE_TO_REPLACE), reader, NULL),
                     BLOOMFILE_EREPLACED);
        assert_int_equal(unlink("link"), 0);
        assert_error(bloomfile_copy_sealed(TO_PATH("kept", BLOOMFILE_TO_REPLACE), reader, NULL), 0);
        end();
    }
}

TEST_IN_DIR(series_is_not_copied_over_its_own_layer)
{
    static const char *const names[] = { "series.1", "series.2" };
    for (unsigned writing = 0; writing < 2; writing++)
        for (size_t i = 0; i < ROWS(names); i++) {
            begin(3, 0);
            make_two();
            const bloomfile_filter *from = writing ? writer : reader;
            assert_error(bloomfile_copy_sealed(TO_PATH(names[i], BLOOMFILE_TO_REPLACE), from, NULL),
                         BLOOMFILE_EREPLACED);
            assert_error(open_error(), 0);
            end();
        }
}

TEST_IN_DIR(writer_killed_while_it_makes_a_layer_holds_up_no_other_writer)
{
    int status;
    pid_t *grandchild = shared_memory(sizeof *grandchild);
    begin_alone();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        add_and_die_before_the_mark(grandchild);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        add_in_time();
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(*grandchild > 0);
    kill(*grandchild, SIGKILL);
    release_shared_memory(grandchild, sizeof *grandchild);
    assert_int_equal(status, 0);
    end();
}

/* ---- making a layer */

static int fill(void)
{
    int error = 0;
    for (uint64_t i = 0; error == 0 && i <= FIRST; i++)
        error = bloomfile_add_digest(writer, number(0, i), NULL);
    return error;
}

/* The call that gives a file its name, which must be free. */
static enum fault_call naming(void)
{
    return has_unnamed_files() ? ON_linkat : ON_renameat2;
}

static void put_file_in_the_way(void)
{
    write_file("series.1", "", 0);
}

TEST_IN_DIR(file_that_takes_the_next_layer_s_name_is_kept)
{
    begin(BLOOMFILE_SERIES_GROW, 0);
    assert_error(with_others(fill, naming(), 1, put_file_in_the_way), BLOOMFILE_ESERIES);
    assert_file_holds("series.1", "", 0);
    assert_error(bloomfile_check(reader), 0);
    assert_int_equal(unlink("series.1"), 0);
    assert_error(fill(), 0);
    end();
}

/* The new layer exists, but the mark does not. */
TEST_IN_DIR(poisoned_layer_gets_no_mark)
{
    begin(BLOOMFILE_SERIES_GROW, 0);
    assert_error(with_others(fill, naming(), 1, poison_first), BLOOMFILE_EPOISONED);
    assert_true(finds(reader, ABSENT));
    assert_error(bloomfile_finish(writer), BLOOMFILE_EPOISONED);
    end();
}

static int fill_second(void)
{
    int error = 0;
    for (uint64_t i = 0; error == 0 && i <= 2 * FIRST; i++)
        error = bloomfile_add_digest(writer, number(0, i), NULL);
    return error;
}

static void damage_records_of_first(void)
{
    damage_records("series");
}

/* The first layer's mark must be on disk before a third layer is made. */
TEST_IN_DIR(no_third_layer_is_made_after_the_first_layer_turns_bad)
{
    static void (*const acts[])(void) = { poison_first, damage_records_of_first };
    static const int errors[] = { BLOOMFILE_EPOISONED, BLOOMFILE_ERECORD };
    for (size_t i = 0; i < ROWS(acts); i++) {
        begin(BLOOMFILE_SERIES_GROW, 0);
        make_one();
        assert_error(add_key(), 0);
        assert_error(with_others(fill_second, ON_fcntl64, 1, acts[i]), errors[i]);
        assert_int_equal(access("series.2", F_OK), -1);
        assert_int_equal(bloomfile_layers(writer), 2);
        assert_true(finds(reader, ABSENT));
        end();
    }
}

/* ---- opening */

/* Opens the series by an absolute path, so that stat() is called only for files. */
static int open_to_write(void)
{
    bloomfile_filter *f;
    char *path = realpath("series", NULL);
    assert_non_null(path);
    const int error = bloomfile_open(&f, path, BLOOMFILE_OPEN_WRITE);
    free(path);
    bloomfile_close(f);
    return error;
}

static void take_first_away(void)
{
    assert_int_equal(unlink("series"), 0);
}

TEST_IN_DIR(open_for_writing_returns_ENOENT_if_series_is_removed)
{
    begin(BLOOMFILE_SERIES_GROW, 0);
    assert_error(with_others(open_to_write, ON_stat64, 2, take_first_away), ENOENT);
    end();
}

static int open_as_writer(void)
{
    return bloomfile_open(&writer, "series", BLOOMFILE_OPEN_WRITE);
}

/* Refused once the writer has joined. */
static void create_in_its_place(void)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.capacity = FIRST;
    params.series = BLOOMFILE_SERIES_GROW;
    const int error = bloomfile_create(&other, "series", &params, BLOOMFILE_TO_REPLACE);
    if (error == 0)
        finish_and_close(&other);
    else
        assert_error(error, EBUSY);
}

static void rename_over_first(void)
{
    make_live("kept", BLOOMFILE_LAYOUT_BLOCKED);
    assert_int_equal(rename("kept", "series"), 0);
}

/* A series of that many layers is replaced before that call of stat(). Returns the number of
 * calls. */
static unsigned open_while_replaced(size_t layers, unsigned nth, void (*replace)(void))
{
    begin(BLOOMFILE_SERIES_GROW, 0);
    while (bloomfile_layers(other) < layers)
        make_one();
    finish_and_close(&other);
    finish_and_close(&writer);
    const int error = with_others(open_as_writer, ON_stat64, nth, replace);
    const unsigned calls = fault_calls(ON_stat64);
    assert_error(error, 0);
    assert_error(bloomfile_finish(writer), 0); /* it has the file that has the name */
    end();
    return calls;
}

static void do_nothing(void)
{
}

/* L4, S11. */
TEST_IN_DIR(series_that_is_replaced_while_it_is_opened_is_opened_again)
{
    static void (*const acts[])(void) = { create_in_its_place, rename_over_first };
    for (size_t layers = 1; layers <= 2; layers++) {
        const unsigned calls = open_while_replaced(layers, 1, do_nothing);
        for (unsigned nth = 1; nth <= calls; nth++)
            for (size_t i = 0; i < ROWS(acts); i++)
                open_while_replaced(layers, nth, acts[i]);
    }
}

static void damage_first(void)
{
    damage_records("series");
}

/* After the layers were opened, and before they are left clean. */
TEST_IN_DIR(older_layer_damaged_during_open_is_refused)
{
    begin(BLOOMFILE_SERIES_GROW, 0);
    make_one();
    assert_error(with_others(open_to_write, ON_stat64, 3, damage_first), BLOOMFILE_ERECORD);
    end();
}

/* Clears the mark, as if the creator of the second layer was killed before it set it; no writer
 * adds to a layer without it. */
static void clear_mark(const char *path)
{
    struct bytes second = read_file("series.1");
    memset(second.data + get64(second.data + AT_body_offset), 0,
           (size_t)get64(second.data + AT_body_size));
    write_file("series.1", second.data, second.size);
    free(second.data);
    for (unsigned slot = 0; slot < 2; slot++) {
        change_record(path, slot, RECORD_AT_flags, 4, 0);
        change_record("series.1", slot, RECORD_AT_n, 8, 0);
        change_record("series.1", slot, RECORD_AT_ones, 8, 0);
    }
}

static bool first_has_mark(void)
{
    struct bytes first = read_file("series");
    const bool has = header_has_successor(first.data);
    free(first.data);
    return has;
}

/* Opens the series for writing with this fault, and returns the error. Asserts that all keys are
 * there afterwards. */
static int open_without_mark(struct faults faults)
{
    begin(BLOOMFILE_SERIES_GROW, 0);
    make_one();
    assert_error(bloomfile_finish(other), 0);
    assert_error(bloomfile_finish(writer), 0);
    clear_mark("series");
    faults_begin(&faults);
    const int error = open_to_write();
    faults_end();
    assert_true(error != 0 || first_has_mark());
    bloomfile_filter *f = opened("series", 0);
    assert_true(has_numbers(f, ABSENT, at - 1)); /* the key of the second layer is lost */
    bloomfile_close(f);
    assert_error(open_to_write(), 0);
    end();
    return error;
}

TEST_IN_DIR(open_for_writing_fails_if_a_missing_mark_cannot_be_set)
{
    assert_error(open_without_mark(once(ON_pwrite64, 1, EIO)), EIO);
    for (unsigned nth = 2; open_without_mark(once(ON_pwrite64, nth, EIO)) != 0; nth++)
        ;
    unsigned calls = 1;
    for (unsigned nth = 0; nth <= calls; nth++) {
        open_without_mark(once(ON_fcntl64, nth, ENOLCK)); /* including the locks of exact adders */
        calls = nth == 0 ? fault_calls(ON_fcntl64) : calls;
    }
}

/* Otherwise the mark could be on disk before the name of the next layer. */
TEST_IN_DIR(open_for_writing_fails_if_the_folder_cannot_be_synced)
{
    static const struct {
        enum fault_call call;
        int error;
    } rows[] = { { ON_strdup, ENOMEM }, { ON_open64, EMFILE }, { ON_fsync, EIO } };
    for (size_t i = 0; i < ROWS(rows); i++) {
        unsigned calls = 1, failed = 0, syncs = 0;
        for (unsigned nth = 0; nth <= calls; nth++) {
            const int error = open_without_mark(once(rows[i].call, nth, rows[i].error));
            assert_error(error, error != 0 ? rows[i].error : 0);
            failed += error != 0;
            if (nth == 0) {
                calls = fault_calls(rows[i].call);
                syncs = fault_calls(ON_fsync);
            }
            if (error == 0)
                assert_int_equal(fault_calls(ON_fsync), syncs);
        }
        assert_true(failed > 0);
    }
    /* Some file systems cannot sync a folder. */
    assert_error(open_without_mark(once(ON_fsync, 1, EINVAL)), 0);
}

static int create_it(void)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.capacity = FIRST;
    params.series = BLOOMFILE_SERIES_GROW;
    return bloomfile_create(&writer, "series", &params, 0);
}

static uint64_t grown; /* keys added to the first layer */

static void grow_and_be_killed(void)
{
    bloomfile_filter *f = opened("series", BLOOMFILE_OPEN_WRITE);
    while (bloomfile_layers(f) < 2)
        assert_error(bloomfile_add_digest(f, number(0, grown++), NULL), 0);
    grown--;
    bloomfile_close(f);
    clear_mark("series");
}

/* The other process acts before the creator looks for more layers for the first time. */
TEST_IN_DIR(creator_of_a_series_sets_a_mark_left_out_by_a_killed_writer)
{
    faults_begin(&(struct faults){ 0 });
    assert_error(create_it(), 0);
    faults_end();
    end();
    assert_error(with_others(create_it, ON_open64, fault_calls(ON_open64), grow_and_be_killed), 0);
    assert_true(has_numbers(writer, 0, grown));
    assert_error(bloomfile_add_digest(writer, number(0, KEY), NULL), 0);
    assert_true(first_has_mark());
    end();
}

/* ---- rescue */

static int rescue_it(void)
{
    return bloomfile_rescue("saved", reader, 0);
}

static void take_the_name_of_a_rescued_layer(void)
{
    assert_int_equal(access("saved.1", F_OK), 0);
    write_file("other", "another's", 9);
    assert_int_equal(rename("other", "saved.1"), 0);
}

/* The first layer gets no name. The second layer's name belongs to another file at that time. */
TEST_IN_DIR(failed_rescue_keeps_a_file_that_took_its_name)
{
    begin(BLOOMFILE_SERIES_GROW, 0);
    make_one();
    assert_error(with_others_and(once(naming(), 2, EIO), rescue_it, naming(), 2,
                                 take_the_name_of_a_rescued_layer),
                 EIO);
    assert_int_equal(access("saved", F_OK), -1);
    assert_file_holds("saved.1", "another's", 9);
    assert_int_equal(unlink("saved.1"), 0);
    end();
}

static void remove_all_or_none(void)
{
    bloomfile_filter *f;
    const bool whole = access("saved", F_OK) == 0;
    assert_int_equal(access("saved.1", F_OK) == 0, whole);
    if (!whole)
        return;
    assert_error(bloomfile_open(&f, "saved", 0), 0);
    bloomfile_close(f);
    assert_int_equal(unlink("saved"), 0);
    assert_int_equal(unlink("saved.1"), 0);
}

static int copy_it(void)
{
    return bloomfile_copy_sealed(TO_PATH("kept", 0), reader, NULL);
}

static void remove_copy(void)
{
    unlink("kept");
}

TEST_IN_DIR(rescue_stopped_at_any_call_is_complete_or_absent)
{
    begin(BLOOMFILE_SERIES_GROW, 0);
    make_one();
    stopped_at_any_call(rescue_it, remove_all_or_none);
    stopped_at_any_call(copy_it, remove_copy);
    end();
}

/* ---- the clock */

TEST_IN_DIR(generation_continues_until_its_period_ends)
{
    struct timespec now;
    assert_int_equal(__real_clock_gettime(CLOCK_REALTIME, &now), 0);
    static const struct {
        int fails;
        bool at_zero;
        long gone;
    } rows[] = { { -1, false, 2 * PERIOD },
                 { 0, true, 0 },
                 { 0, false, -PERIOD / 10 + 10 }, /* the coarse clock may be a second behind */
                 { 0, false, PERIOD / 2 } };
    for (size_t i = 0; i < ROWS(rows); i++) {
        begin(2, 0);
        clock_fails = rows[i].fails;
        seconds_gone = rows[i].at_zero ? -now.tv_sec - 100 : rows[i].gone;
        assert_error(add_key(), 0);
        assert_int_equal(info_of(writer).layer, 0);
        assert_error(fill(), 0); /* full before its time is up */
        assert_int_equal(info_of(writer).layer, 1);
        clock_fails = 0;
        seconds_gone = 0;
        assert_true(has_numbers(reader, 0, FIRST + 1));
        end();
    }
}

TEST_IN_DIR(generation_begun_by_a_wrong_clock_still_ends)
{
    struct timespec now;
    assert_int_equal(__real_clock_gettime(CLOCK_REALTIME, &now), 0);
    seconds_gone = -now.tv_sec - 100;
    begin(2, 0);
    seconds_gone = 0;
    assert_error(add_key(), 0);
    assert_true(info_of(writer).layer > 0);
    end();
}

/* ---- removal (S15) */

static int writer_error; /* of another writer that makes layers, and leaves */

static void make_layers_and_leave(void)
{
    writer_error = bloomfile_open(&other, "series", BLOOMFILE_OPEN_WRITE);
    if (writer_error != 0)
        return;
    const uint64_t due = info_of(other).layer + 2;
    seconds_gone += 2 * (long)PERIOD;
    while (writer_error == 0 && info_of(other).layer < due) {
        seconds_gone += info_of(other).period != 0 ? (long)PERIOD : 0;
        writer_error = bloomfile_add_digest(other, number(0, at++), NULL);
    }
    if (writer_error == 0)
        writer_error = bloomfile_finish(other);
    bloomfile_close(other);
    other = NULL;
}

static void begin_removed(uint32_t series)
{
    begin(series, 0);
    make_one();
    assert_error(bloomfile_finish(writer), 0);
    assert_error(bloomfile_finish(other), 0);
    bloomfile_close(writer);
    bloomfile_close(other);
    writer = other = NULL;
}

static int remove_series(void)
{
    return bloomfile_unlink("series");
}

static int replace_series(void)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.capacity = FIRST;
    params.series = BLOOMFILE_SERIES_GROW;
    return bloomfile_create(&writer, "series", &params, BLOOMFILE_TO_REPLACE);
}

static const uint32_t removed_kinds[] = { BLOOMFILE_SERIES_GROW, 3 };
static int (*const removals[])(void) = { remove_series, replace_series };

/* Acts before the first `call`, before the second, and so on, until a lock keeps the writer out. */
static void make_layers_before_each(enum fault_call call, uint32_t series, int (*run)(void))
{
    unsigned nth = 0;
    writer_error = 0;
    while (writer_error == 0) {
        begin_removed(series);
        assert_error(with_others(run, call, ++nth, make_layers_and_leave), 0);
        assert_int_equal(entries_in_dir(), run == replace_series);
        bloomfile_close(writer);
        writer = NULL;
        end();
    }
    assert_error(writer_error, EBUSY);
    assert_true(nth > 1);
}

TEST_IN_DIR(layers_made_before_the_locks_are_removed_too)
{
    for (size_t i = 0; i < ROWS(removed_kinds); i++)
        for (size_t j = 0; j < ROWS(removals); j++) {
            make_layers_before_each(ON_fcntl64, removed_kinds[i], removals[j]);
            make_layers_before_each(ON_lstat64, removed_kinds[i], removals[j]);
        }
}

static bool search_begins;

static void change_after_each_search(enum fault_call call)
{
    if (call == ON_fcntl64 && search_begins)
        make_layers_and_leave();
    search_begins = call == ON_realpath || (search_begins && call != ON_fcntl64);
}

TEST_IN_DIR(series_that_keeps_changing_is_not_removed)
{
    const struct faults changing = { .at_each_call = change_after_each_search };
    for (size_t i = 0; i < ROWS(removals); i++) {
        begin_removed(2);
        search_begins = false;
        faults_begin(&changing);
        const int error = removals[i]();
        faults_end();
        assert_error(writer_error, 0);
        assert_error(error, BLOOMFILE_EREPLACED);
        assert_true(is_kept(at - 1));
        end();
    }
}

int main(void)
{
    return run_all(NULL, NULL);
}
