/* SPDX-License-Identifier: MIT
 * A series whose writer is killed at each system call while layers are made, or whose system
 * calls fail in turn. Every key whose add returned is found, by old readers and by new readers. */
#include <bloomfile_live.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faults.h"
#include "format/header.h"
#include "support.h"
#include "workers.h"

enum {
    FIRST = 24,
    KEYS = 100,     /* enough for three layers of a growing series */
    MOST_CALLS = 8, /* of one kind: enough for most of two layers */
};

static void make(uint32_t series)
{
    bloomfile_filter *f;
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.capacity = FIRST;
    params.fpr = 0.0001;
    params.series = series;
    assert_error(bloomfile_create(&f, "series", &params, 0), 0);
    bloomfile_close(f);
}

static bloomfile_filter *open_series(unsigned flags)
{
    bloomfile_filter *f;
    assert_error(bloomfile_open(&f, "series", flags), 0);
    return f;
}

/* Returns the first key that the series cannot have forgotten yet. */
static uint64_t remembered(uint32_t series, uint64_t added)
{
    const uint64_t least = (uint64_t)(series - 1) * FIRST;
    return series == BLOOMFILE_SERIES_GROW || added < least ? 0 : added - least;
}

static void assert_has(const bloomfile_filter *f, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++)
        assert_true(bloomfile_contains_digest(f, number(0, i)));
}

/* ---- killed */

static unsigned calls_left;

static void kill_at_last_call(enum fault_call call)
{
    if (--calls_left == 0)
        raise(SIGKILL);
}

static _Noreturn void add_until_killed(atomic_uint *added, uint64_t keys, unsigned calls,
                                       unsigned flags)
{
    bloomfile_filter *f;
    calls_left = calls;
    if (bloomfile_open(&f, "series", BLOOMFILE_OPEN_WRITE | flags) != 0)
        _exit(1);
    faults_begin(&(struct faults){ .at_each_call = kill_at_last_call });
    for (uint64_t i = 0; i < keys; i++) {
        if (bloomfile_add_digest(f, number(0, i), NULL) != 0)
            _exit(2);
        atomic_store(added, (unsigned)i + 1);
    }
    if (bloomfile_finish(f) != 0)
        _exit(3);
    _exit(0);
}

static bool was_killed(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status))
        return true;
    assert_int_equal(status, 0);
    return false;
}

static bool kill_at(uint32_t series, unsigned call, unsigned flags, atomic_uint *added)
{
    make(series);
    bloomfile_filter *reader = open_series(0);
    *added = 0;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        add_until_killed(added, KEYS, call, flags);
    const bool killed = was_killed(child);
    assert_has(reader, remembered(series, *added), *added);
    bloomfile_close(reader);
    reader = open_series(BLOOMFILE_OPEN_ACCEPT_UNCLEAN);
    assert_has(reader, remembered(series, *added), *added);

    bloomfile_filter *f = open_series(BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ACCEPT_UNCLEAN | flags);
    for (uint64_t i = *added; i < 2 * KEYS; i++)
        assert_error(bloomfile_add_digest(f, number(0, i), NULL), 0);
    assert_has(f, remembered(series, 2 * KEYS), 2 * KEYS);
    assert_has(reader, remembered(series, 2 * KEYS), 2 * KEYS);
    assert_error(bloomfile_finish(f), 0);
    const size_t layers = bloomfile_layers(f);
    bloomfile_close(f);
    bloomfile_close(reader);
    assert_int_equal(system("rm -f .bloomfile.*"),
                     0); /* left by a kill, if the temporary file has a name */
    assert_int_equal(entries_in_dir(), layers);
    bloomfile_close(open_series(BLOOMFILE_OPEN_WRITE)); /* no layer is unclean any more */
    assert_int_equal(system("rm series*"), 0);
    return killed;
}

TEST_IN_DIR(writer_killed_at_any_call_loses_no_key)
{
    atomic_uint *added = shared_memory(sizeof *added);
    for (uint32_t series = BLOOMFILE_SERIES_GROW; series <= 3; series++)
        for (unsigned exact = 0; exact <= (series == BLOOMFILE_SERIES_GROW); exact++) {
            unsigned call = 1;
            while (kill_at(series, call, exact * BLOOMFILE_OPEN_ADD_EXACT, added))
                call++;
            assert_true(call > 60);
        }
    release_shared_memory(added, sizeof *added);
}

/* ---- the watermark of a series after a writer was killed */

static const uint8_t marks[][BLOOMFILE_WATERMARK_SIZE] = { "0", "1", "2" };

/* The watermark that a reader finds. */
static unsigned mark_found(void)
{
    bloomfile_filter *f = open_series(BLOOMFILE_OPEN_ACCEPT_UNCLEAN);
    const unsigned mark = info_of(f).watermark[0] - '0';
    bloomfile_close(f);
    return mark;
}

static bool next_layer_is_unmarked(void)
{
    struct bytes image = read_file("series");
    const bool unmarked = access("series.1", F_OK) == 0 && !header_has_successor(image.data);
    free(image.data);
    return unmarked;
}

/* A series with watermark 0: one writer was killed at `call`, and another one, the result, is
 * open. */
static bloomfile_filter *marked_and_killed(uint32_t series, unsigned call, atomic_uint *added,
                                           bool *killed)
{
    make(series);
    bloomfile_filter *f = open_series(BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ACCEPT_UNCLEAN);
    assert_error(bloomfile_sync(f, marks[0]), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        add_until_killed(added, FIRST + 1, call, 0);
    *killed = was_killed(child);
    assert_int_equal(mark_found(), 0);
    return f;
}

/* The handle accepts no unclean layer that was made after it was opened (S11). */
static bloomfile_filter *opened_again(bloomfile_filter *f)
{
    assert_error(bloomfile_sync(f, marks[1]), BLOOMFILE_EUNCLEAN);
    bloomfile_close(f);
    return open_series(BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ACCEPT_UNCLEAN);
}

/* After this sync, no new layer may have an older watermark than 1. */
static void end_marked(bloomfile_filter *f)
{
    const int error = bloomfile_sync(f, marks[1]);
    if (error != 0) {
        f = opened_again(f);
        assert_error(bloomfile_sync(f, marks[1]), 0);
    }
    assert_int_equal(mark_found(), 1);
    for (uint64_t i = 0; i < FIRST; i++)
        assert_error(bloomfile_add_digest(f, number(1, i), NULL), 0);
    bloomfile_close(f);
    assert_int_equal(mark_found(), 1);
    assert_int_equal(system("rm -f series* .bloomfile.*"), 0);
}

static _Noreturn void sync_until_killed(bloomfile_filter *f, unsigned calls)
{
    calls_left = calls;
    faults_begin(&(struct faults){ .at_each_call = kill_at_last_call });
    _exit(bloomfile_sync(f, marks[2]) != 0);
}

/* The kill at `call` left the next layer's file made and unmarked. */
static bool sync_is_killed(unsigned call, unsigned sync_call, atomic_uint *added)
{
    bool killed;
    bloomfile_filter *f = marked_and_killed(BLOOMFILE_SERIES_GROW, call, added, &killed);
    assert_true(next_layer_is_unmarked());
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        sync_until_killed(f, sync_call);
    killed = was_killed(child);
    const unsigned found = mark_found();
    assert_true(found == 2 || (found == 0 && killed));
    bloomfile_close(open_series(BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ACCEPT_UNCLEAN));
    assert_int_equal(mark_found(), found);
    bloomfile_close(f);
    assert_int_equal(system("rm -f series* .bloomfile.*"), 0);
    return killed;
}

/* S12. */
TEST_IN_DIR(the_watermark_never_steps_back_if_a_writer_is_killed)
{
    atomic_uint *added = shared_memory(sizeof *added);
    unsigned unmarked = 0;
    for (uint32_t series = BLOOMFILE_SERIES_GROW; series <= 2; series++) {
        bool killed = true;
        for (unsigned call = 1; killed; call += 1 + 3 * (series - 1)) {
            bloomfile_filter *f = marked_and_killed(series, call, added, &killed);
            if (series == BLOOMFILE_SERIES_GROW && next_layer_is_unmarked())
                unmarked = call;
            end_marked(f);
        }
    }
    assert_true(unmarked > 0);
    for (unsigned call = 1; sync_is_killed(unmarked, call, added); call++)
        ;
    release_shared_memory(added, sizeof *added);
}

/* ---- calls that fail */

/* Adds each key until an add succeeds; stops after a permanent error. Returns how many
 * succeeded. */
static uint64_t add_stubbornly(bloomfile_filter *f, bool *failed)
{
    for (uint64_t i = 0; i < KEYS; i++) {
        int error = 1;
        for (int tries = 0; error != 0 && tries < 3; tries++) {
            error = bloomfile_add_digest(f, number(0, i), NULL);
            *failed |= error != 0;
        }
        if (error != 0)
            return i;
    }
    return KEYS;
}

/* Returns whether the call was made that often. */
static bool fail_writer(uint32_t series, struct faults faults)
{
    make(series);
    const size_t before = open_descriptors();
    bloomfile_filter *f = open_series(BLOOMFILE_OPEN_WRITE), *reader = open_series(0);
    bool failed = false;
    faults_begin(&faults);
    const uint64_t added = add_stubbornly(f, &failed);
    const bool made = fault_calls(faults.call) >= faults.nth;
    faults_end();
    assert_has(reader, remembered(series, added), added);
    assert_has(f, remembered(series, added), added);
    bloomfile_close(f);
    bloomfile_close(reader);
    assert_int_equal(open_descriptors(), before);
    const int error = bloomfile_open(&f, "series", 0);
    if (error == 0) {
        assert_has(f, remembered(series, added), added);
        bloomfile_close(f);
    } else {
        assert_true(failed);
        assert_error(error, BLOOMFILE_EPOISONED);
    }
    assert_int_equal(system("rm series*"), 0);
    return made;
}

/* A reader that updates itself while its calls fail returns "maybe", and the reason. */
static bool fail_reader(uint32_t series, struct faults faults)
{
    make(series);
    const size_t before = open_descriptors();
    bloomfile_filter *reader = open_series(0), *f = open_series(BLOOMFILE_OPEN_WRITE);
    bool failed = false;
    const uint64_t added = add_stubbornly(f, &failed);
    assert_int_equal(added, KEYS);
    faults_begin(&faults);
    assert_has(reader, remembered(series, added), added);
    const bool made = fault_calls(faults.call) >= faults.nth;
    faults_end();
    assert_has(reader, remembered(series, added), added);
    bloomfile_close(f);
    bloomfile_close(reader);
    assert_int_equal(open_descriptors(), before);
    assert_int_equal(system("rm series*"), 0);
    return made;
}

static void each_call_fails(bool (*trial)(uint32_t series, struct faults faults))
{
    for (unsigned call = 0; call < ON_unlock; call++)
        for (uint32_t series = BLOOMFILE_SERIES_GROW; series <= 2; series++) {
            unsigned nth = 1;
            while (trial(series, once(call, nth, call % 2 ? EIO : ENOMEM)) && nth < MOST_CALLS)
                nth++;
            if (nth > 1)
                trial(series, from_then_on(call, 1, ENOSPC));
        }
}

TEST_IN_DIR(adds_survive_each_call_that_fails)
{
    each_call_fails(fail_writer);
}

TEST_IN_DIR(lookups_survive_each_call_that_fails)
{
    each_call_fails(fail_reader);
}

/* Layers made before the failure are removed, even without memory for their names. */
TEST_IN_DIR(rescue_without_memory_leaves_no_files)
{
    make(BLOOMFILE_SERIES_GROW);
    bloomfile_filter *f = open_series(BLOOMFILE_OPEN_WRITE);
    for (uint64_t i = 0; i < KEYS; i++)
        assert_error(bloomfile_add_digest(f, number(0, i), NULL), 0);
    const size_t before = entries_in_dir();
    int error = ENOMEM;
    for (unsigned nth = 1; error == ENOMEM; nth++) {
        const struct faults faults = from_then_on(ON_asprintf, nth, ENOMEM);
        faults_begin(&faults);
        error = bloomfile_rescue("rescued", f, 0);
        faults_end();
        if (error != 0)
            assert_int_equal(entries_in_dir(), before);
    }
    assert_error(error, 0);
    assert_true(entries_in_dir() > before + 1);
    bloomfile_close(f);
}

static bloomfile_filter *filled(const char *path, uint64_t seed)
{
    bloomfile_filter *f;
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.capacity = FIRST;
    params.series = BLOOMFILE_SERIES_GROW;
    assert_error(bloomfile_create(&f, path, &params, 0), 0);
    for (uint64_t i = 0; i < KEYS; i++)
        assert_error(bloomfile_add_digest(f, number(seed, i), NULL), 0);
    return f;
}

static void assert_is_whole(const char *path, uint64_t seed)
{
    bloomfile_filter *f;
    assert_error(bloomfile_open(&f, path, 0), 0);
    for (uint64_t i = 0; i < KEYS; i++)
        assert_true(bloomfile_contains_digest(f, number(seed, i)));
    bloomfile_close(f);
}

/* The flush after each new name fails in turn: all layers exist, or no layer does. */
TEST_IN_DIR(rescue_with_a_failed_flush_is_complete_or_absent)
{
    bloomfile_filter *f = filled("series", 1);
    const size_t before = entries_in_dir();
    unsigned nothing = 0, all = 0;
    for (unsigned nth = 1, error = EIO; error != 0; nth++) {
        const struct faults faults = once(ON_fsync, nth, EIO);
        faults_begin(&faults);
        error = bloomfile_rescue("rescued", f, 0);
        faults_end();
        if (entries_in_dir() == before) {
            assert_error(error, EIO);
            nothing++;
            continue;
        }
        assert_is_whole("rescued", 1);
        assert_int_equal(entries_in_dir(), 2 * before);
        assert_int_equal(system("rm rescued*"), 0);
        all += error == EIO;
    }
    assert_true(nothing > 2);
    assert_int_equal(all, 1);
    bloomfile_close(f);
}

/* Names are given when all layers are on disk. A half replaced series is refused from then on. */
TEST_IN_DIR(failed_rescue_keeps_the_old_series)
{
    bloomfile_filter *f = filled("series", 1), *none;
    bloomfile_close(filled("old", 2));
    const size_t before = entries_in_dir();
    for (unsigned nth = 1, error = ENOSPC; error != 0; nth++) {
        const struct faults faults = once(ON_pwrite64, nth, ENOSPC);
        faults_begin(&faults);
        error = bloomfile_rescue("old", f, BLOOMFILE_TO_REPLACE);
        faults_end();
        assert_is_whole("old", error != 0 ? 2 : 1);
        assert_int_equal(entries_in_dir(), before);
    }
    const struct faults second_name = once(ON_renameat, 2, EIO);
    faults_begin(&second_name);
    assert_error(bloomfile_rescue("old", f, BLOOMFILE_TO_REPLACE), EIO);
    faults_end();
    assert_error(bloomfile_open(&none, "old", 0), BLOOMFILE_ESERIES);
    assert_error(bloomfile_rescue("old", f, BLOOMFILE_TO_REPLACE), 0);
    assert_is_whole("old", 1);
    bloomfile_close(f);
}

int main(void)
{
    return run_all(NULL, NULL);
}
