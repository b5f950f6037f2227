/* SPDX-License-Identifier: MIT
 * Failed writes: which process gets the error, and how it poisons the file before any other
 * process can continue (doc/format/live.md 6). tests/nightly/bad-disk runs on a kernel that
 * really reports an error once per open file description. */
#include "live_support.h"

#include <bloomfile_combine.h>
#include <bloomfile_live.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faults.h"
#include "format/bytes.h"
#include "format/header.h"
#include "live/sync.h"

enum {
    RECORDS = 1,
    SYNCS = 3, /* the bytes */
    NOBODY = 65534
};

static bloomfile_filter *reader, *writer;

static int begin(void **state)
{
    const int result = begin_with_outsider(state);
    reader = opened("filter", 0);
    writer = opened("filter", BLOOMFILE_OPEN_WRITE);
    return result;
}

static int end(void **state)
{
    bloomfile_close(writer);
    bloomfile_close(reader);
    return end_with_outsider(state);
}

/* ---- copies */

static int rescue_it(const bloomfile_filter *f)
{
    return bloomfile_rescue("copy", f, 0);
}

static int (*const copies[])(const bloomfile_filter *f) = { seal_it_to, fold_it, merge_it,
                                                            project_it, rescue_it };

static void start_anew(void)
{
    bloomfile_close(writer);
    bloomfile_close(reader);
    close(outsider);
    unlink("filter");
    unlink("copy");
    make_live("filter", BLOOMFILE_LAYOUT_COUNTING);
    reader = opened("filter", 0);
    writer = opened("filter", BLOOMFILE_OPEN_WRITE);
    outsider = open("filter", O_RDWR | O_CLOEXEC);
}

static int copy_with(int (*copy)(const bloomfile_filter *f), const bloomfile_filter *f,
                     struct faults faults)
{
    faults_begin(&faults);
    int error = copy(f);
    faults_end();
    return error;
}

#define ON_NEW_FILTER(test) TEST_WITH(test, begin, end)

/* R10. A reader cannot sync through its mapping: msync() would return 0 without writing. */
ON_NEW_FILTER(reader_calls_fdatasync_before_it_copies)
{
    for (size_t i = 0; i < ROWS(copies); i++) {
        assert_error(copy_with(copies[i], reader, (struct faults){ 0 }), 0);
        assert_int_equal(fault_calls(ON_fdatasync), 1);
        assert_int_equal(fault_calls(ON_msync), 0);
        assert_int_equal(unlink("copy"), 0);
        assert_error(copy_with(copies[i], reader, once(ON_fdatasync, 1, EINTR)), 0);
        assert_int_equal(unlink("copy"), 0);
    }
}

/* R10, L20, L21. */
ON_NEW_FILTER(copy_that_gets_a_write_error_poisons_the_file_immediately)
{
    for (size_t i = 0; i < 2 * ROWS(copies); i++) {
        const bool reads = i % 2 == 0;
        const enum fault_call call = reads ? ON_fdatasync : ON_msync;
        bloomfile_filter *f = reads ? reader : writer;
        assert_error(copy_with(copies[i / 2], f, once(call, 1, EIO)), EIO);
        assert_int_equal(access("copy", F_OK), -1);
        assert_flawless(flaw_of_poisoned_file("filter"));
        assert_error(bloomfile_sync(writer, NULL), BLOOMFILE_EPOISONED);
        assert_flawless(flaw_of_doubtful(reader));
        assert_flawless(flaw_of_doubtful(writer));
        start_anew();
    }
}

ON_NEW_FILTER(reader_without_write_access_stays_failed_after_a_write_error)
{
    for (size_t i = 0; i < ROWS(copies); i++) {
        assert_error(copy_with(copies[i], reader, (struct faults){ 0 }), 0);
        assert_int_equal(unlink("copy"), 0);
        struct faults faults = once(ON_fdatasync, 1, EIO);
        const struct faults forbidden = once(ON_open64, fault_calls(ON_open64), EACCES);
        faults.besides = &forbidden;
        assert_error(copy_with(copies[i], reader, faults), EIO);
        assert_int_equal(access("copy", F_OK), -1);
        assert_flawless(flaw_of_doubtful(reader));
        assert_flawless(flaw_of_sound(writer));
        start_anew();
    }
}

/* L21. */
ON_NEW_FILTER(reader_without_free_descriptors_poisons_or_skips_fdatasync)
{
    static const int errors[] = { EMFILE, ENFILE, ENOMEM };
    for (size_t i = 0; i < ROWS(copies); i++) {
        assert_error(copy_with(copies[i], reader, (struct faults){ 0 }), 0);
        assert_int_equal(unlink("copy"), 0);
        const unsigned opened = fault_calls(ON_open64);
        for (size_t e = 0; e < ROWS(errors); e++) {
            struct faults faults = once(ON_fdatasync, 1, EIO);
            const struct faults before = from_then_on(ON_open64, opened, errors[e]);
            const struct faults after = from_then_on(ON_open64, opened + 1, errors[e]);
            faults.besides = &before;
            assert_error(copy_with(copies[i], reader, faults), errors[e]);
            assert_int_equal(fault_calls(ON_fdatasync), 0); /* no report is lost */
            assert_flawless(flaw_of_sound(reader));
            faults.besides = &after;
            assert_error(copy_with(copies[i], reader, faults), EIO);
            assert_flawless(flaw_of_poisoned_file("filter"));
            assert_flawless(flaw_of_doubtful(reader));
            assert_int_equal(access("copy", F_OK), -1);
            start_anew();
        }
    }
}

/* L21. The rule of section 8 that refuses such a file applies only to writers. */
ON_NEW_FILTER(reader_poisons_file_with_unknown_ro_compat_bit)
{
    bloomfile_close(writer);
    writer = NULL;
    bloomfile_close(reader);
    struct bytes bytes = read_file("filter");
    put32(bytes.data + AT_ro_compat, 1);
    reseal_header(bytes.data);
    write_file("filter", bytes.data, bytes.size);
    free(bytes.data);
    reader = opened("filter", 0);
    assert_error(copy_with(seal_it_to, reader, once(ON_fdatasync, 1, EIO)), EIO);
    assert_flawless(flaw_of_doubtful(reader));
    bloomfile_filter *f;
    assert_error(bloomfile_open(&f, "filter", 0), BLOOMFILE_EPOISONED);
}

/* Without the lock, a process could copy after another process got the error and before it
 * poisons. */
static int held_while_syncing;
static enum fault_call sync_call;

static void look_at_syncs(enum fault_call call)
{
    if (call == sync_call && fault_calls(call) == 0)
        held_while_syncing = lock_on_byte(outsider, SYNCS);
}

/* R10, L14, L20. */
ON_NEW_FILTER(copies_hold_the_sync_lock_while_they_sync)
{
    for (size_t i = 0; i < ROWS(copies); i++) {
        sync_call = ON_fdatasync;
        assert_error(copy_with(copies[i], reader, (struct faults){ .at_each_call = look_at_syncs }),
                     0);
        assert_int_equal(held_while_syncing, F_RDLCK);
        assert_int_equal(unlink("copy"), 0);
        sync_call = ON_msync;
        assert_error(copy_with(copies[i], writer, (struct faults){ .at_each_call = look_at_syncs }),
                     0);
        assert_int_equal(held_while_syncing, F_WRLCK);
        assert_int_equal(unlink("copy"), 0);
    }
    assert_int_equal(lock_on_byte(outsider, SYNCS), F_UNLCK);
}

/* ---- children of fork: an error reported to them is not reported to the parent */

static void in_a_child(bloomfile_filter *f, int (*copy)(const bloomfile_filter *f),
                       enum fault_call call, int expected)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(20);
        struct faults faults = once(call, 1, EIO);
        faults_begin(&faults);
        int error = copy(f);
        bool opened_anew = fault_calls(ON_open64) > 0 && fault_calls(ON_dup3) == 1;
        faults_end();
        _exit(error != expected || !opened_anew);
    }
    assert_child_succeeds(child);
}

static bool opened_before_reading;

/* A copy makes its temporary file before it reads the body. */
static void look_at_openings(enum fault_call call)
{
    if (call == ON_dup3)
        opened_before_reading = fault_calls(ON_openat64) == 0;
}

/* After a later opening, an error that comes in between would be reported to the parent. */
ON_NEW_FILTER(child_reopens_the_file_before_it_reads_the_data_to_copy)
{
    for (size_t i = 0; i < 2 * ROWS(copies); i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            alarm(20);
            struct faults faults = { .at_each_call = look_at_openings };
            int error = copy_with(copies[i / 2], i % 2 == 0 ? reader : writer, faults);
            _exit(error != 0 || fault_calls(ON_dup3) != 1 || !opened_before_reading);
        }
        assert_child_succeeds(child);
        unlink("copy");
    }
}

ON_NEW_FILTER(child_of_a_failed_reader_can_only_rescue)
{
    assert_error(copy_with(seal_it_to, reader, once(ON_fdatasync, 1, EIO)), EIO);
    for (size_t i = 0; i < ROWS(copies); i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            alarm(20);
            int error = copy_with(copies[i], reader, once(ON_dup3, 1, EMFILE));
            _exit(error != (copies[i] == rescue_it ? 0 : BLOOMFILE_EPOISONED));
        }
        assert_child_succeeds(child);
    }
}

static int sync_the_writer(const bloomfile_filter *f)
{
    return bloomfile_sync(writer, NULL);
}

/* L3. */
ON_NEW_FILTER(child_reopens_the_file_before_it_copies_or_syncs)
{
    in_a_child(reader, seal_it_to, ON_fdatasync, EIO);
    assert_flawless(flaw_of_poisoned_file("filter"));
    assert_error(bloomfile_sync(writer, NULL), BLOOMFILE_EPOISONED);
    start_anew();
    in_a_child(writer, seal_it_to, ON_fdatasync, EIO); /* it has not joined as a writer yet */
    assert_error(bloomfile_sync(writer, NULL), BLOOMFILE_EPOISONED);
    start_anew();
    in_a_child(writer, sync_the_writer, ON_msync, EIO);
    assert_error(bloomfile_sync(writer, NULL), BLOOMFILE_EPOISONED);
    assert_flawless(flaw_of_poisoned_file("filter"));
}

static enum fault_call poisoned_at;
static unsigned calls_before;

static void poison_at_call(enum fault_call call)
{
    if (call != poisoned_at || calls_before-- != 0)
        return;
    const unsigned slot = slot_in_force("filter");
    set_in_record("filter", slot, RECORD_AT_flags, 4, RECORD_SYNC_BEGUN);
    set_in_record("filter", slot, RECORD_AT_state, 4, BLOOMFILE_STATE_POISONED);
}

/* L19. Another process's sync failed and it poisons the file while the lock of records is free. */
ON_NEW_FILTER(file_poisoned_during_a_sync_fails_the_sync)
{
    static const enum fault_call at[] = { ON_fdatasync, ON_unlock, ON_unlock, ON_unlock };
    for (unsigned i = 0; i < ROWS(at); i++, start_anew()) {
        bloomfile_filter *f = i == 0 ? reader : writer;
        poisoned_at = at[i];
        calls_before = i == 0 ? 0 : i - 1;
        faults_begin(&(struct faults){ .at_each_call = poison_at_call });
        int error = sync_source(f);
        faults_end();
        assert_int_equal(fault_calls(at[i]), i == 0 ? 1 : 3);
        assert_error(error, BLOOMFILE_EPOISONED);
        assert_flawless(flaw_of_doubtful(f));
    }
}

static void damage_at_call(enum fault_call call)
{
    if (call != poisoned_at || calls_before-- != 0)
        return;
    for (off_t slot = 0; slot < 2; slot++)
        assert_int_equal(pwrite(outsider, "damaged", 7, IN_FILE / 2 + slot * IN_FILE / 4 + 20), 7);
}

/* Without a record, it is unknown whether a writer got an error. */
ON_NEW_FILTER(records_damaged_during_a_sync_fail_the_sync)
{
    for (unsigned writes = 0; writes < 2; writes++, start_anew()) {
        poisoned_at = writes ? ON_unlock : ON_fdatasync;
        calls_before = 0;
        const struct faults faults = { .at_each_call = damage_at_call };
        assert_error(copy_with(sync_source, writes ? writer : reader, faults), BLOOMFILE_ERECORD);
    }
}

/* ---- killed in the middle */

static unsigned calls_left;

static void die_at_last_call(enum fault_call call)
{
    if (call != ON_unlock && --calls_left == 0)
        _exit(0);
}

static struct faults until_death; /* faults before that call */

static _Noreturn void run_and_die_at(bloomfile_filter *f, unsigned nth,
                                     int (*run)(bloomfile_filter *f))
{
    calls_left = nth;
    until_death.at_each_call = die_at_last_call;
    faults_begin(&until_death);
    int error = run(f);
    faults_end();
    _exit(error == 0 ? 1 : 2);
}

/* Returns whether the child died at a call, and not at its end. */
static bool has_died(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
    return WEXITSTATUS(status) == 0;
}

/* A child opens the file, adds a key, and dies at the nth call of run(). Returns false if run()
 * ends before that. */
static bool dies_at(unsigned nth, int (*run)(bloomfile_filter *f))
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(20);
        bloomfile_filter *f;
        if (bloomfile_open(&f, "filter", BLOOMFILE_OPEN_WRITE) != 0 ||
            bloomfile_add_digest(f, number(0, 500), NULL) != 0)
            _exit(2);
        run_and_die_at(f, nth, run);
    }
    return has_died(child);
}

/* ---- children of fork that only look up */

static struct watcher {
    pid_t process;
    int ask[2], answer[2];
} watcher;

static void start_pipes(void)
{
    assert_int_equal(pipe(watcher.ask) | pipe(watcher.answer), 0);
}

/* A child that inherits the handle and reports its status on request. */
static void start_watcher(bloomfile_filter *f)
{
    watcher.process = fork();
    assert_true(watcher.process >= 0);
    if (watcher.process != 0)
        return;
    alarm(60);
    close(watcher.ask[1]);
    for (int status = 0; read(watcher.ask[0], &status, 1) == 1;) {
        status = bloomfile_check(f);
        const bool says_no = !bloomfile_contains_digest(f, number(0, ABSENT));
        if (says_no != (status == 0))
            status = EBADE;
        if (write(watcher.answer[1], &status, sizeof status) != sizeof status)
            break;
    }
    _exit(0);
}

static int ask_watcher(void)
{
    int status;
    assert_int_equal(write(watcher.ask[1], "", 1), 1);
    assert_int_equal(read(watcher.answer[0], &status, sizeof status), sizeof status);
    return status;
}

static void end_watcher(void)
{
    for (unsigned i = 0; i < 2; i++) {
        close(watcher.ask[i]);
        close(watcher.answer[i]);
    }
}

static bool has_mark(void)
{
    struct bytes bytes = read_file("filter");
    const uint32_t flags = get32(record_at(bytes.data, slot_in_force("filter")) + 12);
    free(bytes.data);
    return (flags & RECORD_SYNC_BEGUN) != 0;
}

static void assert_unclean_if_marked(bool marked)
{
    bloomfile_filter *f;
    const int expected = marked ? BLOOMFILE_EUNCLEAN : 0;
    for (unsigned flags = 0; flags <= BLOOMFILE_OPEN_WRITE; flags += BLOOMFILE_OPEN_WRITE) {
        assert_error(bloomfile_open(&f, "filter", flags), expected);
        bloomfile_close(f);
    }
    f = opened("filter", BLOOMFILE_OPEN_ACCEPT_UNCLEAN);
    assert_error(bloomfile_copy_sealed(TO_PATH("copy", 0), f, NULL), 0);
    assert_true(has_numbers(f, 500, 501));
    bloomfile_close(f);
    f = opened("filter", BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ACCEPT_UNCLEAN);
    assert_error(bloomfile_finish(f), 0);
    bloomfile_close(f);
    assert_flawless(flaw_of_live_file("filter")); /* accepting it counts for all processes */
    assert_int_equal(unlink("copy"), 0);
}

/* R5, L15. The killed writer may have received the only report of a failed write. */
ON_NEW_FILTER(writer_killed_during_a_sync_leaves_the_file_unclean)
{
    int (*const ways[])(bloomfile_filter * f) = { sync_filter, bloomfile_finish };
    unsigned marked = 0;
    bloomfile_close(writer);
    writer = NULL;
    for (size_t i = 0; i < ROWS(ways); i++)
        for (unsigned nth = 1; dies_at(nth, ways[i]); nth++) {
            const bool mark = has_mark();
            marked += mark;
            if (mark)
                assert_error(bloomfile_copy_sealed(TO_PATH("copy", 0), reader, NULL),
                             BLOOMFILE_EUNCLEAN);
            assert_unclean_if_marked(mark);
            bloomfile_close(reader);
            reader = opened("filter", 0);
        }
    assert_true(marked >= 6);
}

static const char *flaw_of_reader_of_unclean_file(bloomfile_filter *f)
{
    if (bloomfile_check(f) != BLOOMFILE_EUNCLEAN)
        return "its status is not EUNCLEAN";
    if (!has_numbers(f, 0, LIVE_KEYS) || !has_numbers(f, ABSENT, ABSENT + 10))
        return "it says no";
    for (size_t i = 0; i < ROWS(copies); i++)
        if (copies[i] != rescue_it && copies[i](f) != BLOOMFILE_EUNCLEAN)
            return "it was copied";
    return flaw_of_rescued(f);
}

/* R11. A reader that accepts unclean files does not get the error. */
ON_NEW_FILTER(open_reader_sees_a_killed_sync_as_unclean_and_can_rescue_it)
{
    unsigned marked = 0;
    bloomfile_close(writer);
    writer = NULL;
    for (unsigned nth = 1; dies_at(nth, sync_filter); nth++) {
        bloomfile_filter *accepting = opened("filter", BLOOMFILE_OPEN_ACCEPT_UNCLEAN);
        assert_flawless(flaw_of_sound(accepting));
        bloomfile_close(accepting);
        marked += has_mark();
        if (has_mark())
            assert_flawless(flaw_of_reader_of_unclean_file(reader));
        else
            assert_flawless(flaw_of_sound(reader));
        start_anew();
        bloomfile_close(writer);
        writer = NULL;
    }
    assert_true(marked >= 3);
}

/* The reader's own descriptor is enough to test the lock. */
ON_NEW_FILTER(reader_detects_a_killed_sync_without_opening_a_file)
{
    static const int errors[] = { EMFILE, ENOENT };
    bloomfile_close(writer);
    writer = NULL;
    for (size_t i = 0; i < ROWS(errors); i++) {
        unsigned nth = 1;
        while (dies_at(nth, sync_filter) && !has_mark())
            nth++;
        const struct faults faults = from_then_on(ON_open64, 1, errors[i]);
        faults_begin(&faults);
        int error = bloomfile_check(reader);
        faults_end();
        assert_error(error, BLOOMFILE_EUNCLEAN);
        start_anew();
        bloomfile_close(writer);
        writer = NULL;
    }
}

/* The mark remains when a writer accepts the file, until its next sync. */
static void accept_it_once_syncs_may_go_on(enum fault_call call)
{
    if (call == ON_unlock && writer == NULL)
        writer = opened("filter", BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ACCEPT_UNCLEAN);
}

ON_NEW_FILTER(another_writer_s_accept_unclean_does_not_apply_to_readers)
{
    int (*const ways[])(const bloomfile_filter *f) = { seal_it_to, fold_it, merge_it, project_it,
                                                       sync_source };
    for (size_t i = 0; i < ROWS(ways); i++) {
        unsigned nth = 1;
        bloomfile_close(writer);
        writer = NULL;
        while (dies_at(nth, sync_filter) && !has_mark())
            nth++;
        const struct faults faults = { .at_each_call = accept_it_once_syncs_may_go_on };
        assert_error(copy_with(ways[i], reader, faults), BLOOMFILE_EUNCLEAN);
        assert_non_null(writer);
        assert_true(has_mark());
        assert_error(bloomfile_sync(writer, NULL), 0);
        assert_false(has_mark());
        assert_int_equal(access("copy", F_OK), -1);
        start_anew();
    }
}

/* L15, L25. A commit or seal that fails drops only a mark of its own. */
ON_NEW_FILTER(unclean_file_remains_unclean_if_its_sync_or_seal_fails)
{
    int (*const ways[])(bloomfile_filter * f) = { sync_filter, seal_filter };
    bloomfile_filter *f;
    unsigned nth = 1;
    bloomfile_close(writer);
    while (dies_at(nth, sync_filter) && !has_mark())
        nth++;
    for (size_t i = 0; i < ROWS(ways); i++) {
        writer = opened("filter", BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ACCEPT_UNCLEAN);
        const struct faults faults = once(ON_pwrite64, 1, ENOSPC);
        faults_begin(&faults);
        const int error = ways[i](writer);
        faults_end();
        assert_error(error, ENOSPC);
        bloomfile_close(writer);
        assert_error(bloomfile_open(&f, "filter", 0), BLOOMFILE_EUNCLEAN);
    }
    writer = NULL;
}

/* Then the mark is the only trace. */
ON_NEW_FILTER(reader_detects_a_failed_sync_whose_poison_was_not_written)
{
    for (unsigned i = 0; i < 2; i++) {
        struct faults faults = once(ON_msync, 1, EIO);
        const struct faults full = from_then_on(ON_pwrite64, 2, EIO);
        faults.besides = &full;
        faults_begin(&faults);
        int error = bloomfile_sync(writer, NULL);
        faults_end();
        assert_error(error, EIO);
        assert_true(has_mark());
        assert_flawless(flaw_of_doubtful(writer));
        if (i == 1) { /* without calling bloomfile_check() before */
            assert_error(bloomfile_copy_sealed(TO_PATH("copy", 0), reader, NULL),
                         BLOOMFILE_EUNCLEAN);
            assert_true(has_numbers(reader, ABSENT, ABSENT + 10));
        }
        assert_flawless(flaw_of_reader_of_unclean_file(reader));
        start_anew();
    }
}

static void fail_to_sync_beside(enum fault_call call);
static const struct faults beside = { .at_each_call = fail_to_sync_beside };

/* Syncs as another thread could; the poison cannot be written. */
static void fail_to_sync_beside(enum fault_call call)
{
    if (call != ON_pwrite64 || has_mark())
        return;
    struct faults faults = once(ON_msync, 1, EIO);
    const struct faults full = from_then_on(ON_pwrite64, 2, EIO);
    faults.besides = &full;
    faults_begin(&faults);
    int error = bloomfile_sync(writer, NULL);
    faults_begin(&beside);
    assert_error(error, EIO);
}

/* The kernel reports an error only once, so the next sync would succeed. */
ON_NEW_FILTER(copy_does_not_commit_after_a_failed_sync)
{
    for (size_t i = 0; i < ROWS(copies); i++) {
        assert_error(copy_with(copies[i], writer, beside), BLOOMFILE_EPOISONED);
        assert_int_equal(access("copy", F_OK), -1);
        assert_true(has_mark());
        assert_flawless(flaw_of_doubtful(writer));
        assert_flawless(flaw_of_reader_of_unclean_file(reader));
        start_anew();
    }
}

/* A finished handle is a reader. */
ON_NEW_FILTER(finished_handle_detects_a_killed_sync)
{
    unsigned nth = 1;
    bloomfile_filter *finished = opened("filter", BLOOMFILE_OPEN_WRITE);
    assert_error(bloomfile_finish(finished), 0);
    while (dies_at(nth, sync_filter) && !has_mark())
        nth++;
    assert_flawless(flaw_of_reader_of_unclean_file(finished));
    assert_flawless(flaw_of_sound(writer)); /* it would notice at its next sync */
    bloomfile_close(finished);
}

/* It poisons through the descriptor that it wrote with, if it cannot open another descriptor. */
ON_NEW_FILTER(finished_handle_poisons_the_file_after_a_write_error)
{
    bloomfile_filter *finished = opened("filter", BLOOMFILE_OPEN_WRITE);
    assert_error(bloomfile_finish(finished), 0);
    struct faults faults = once(ON_fdatasync, 1, EIO);
    const struct faults forbidden = from_then_on(ON_open64, 1, EACCES);
    faults.besides = &forbidden;
    assert_error(copy_with(sync_source, finished, faults), EIO);
    assert_flawless(flaw_of_poisoned_file("filter"));
    assert_flawless(flaw_of_doubtful(writer));
    bloomfile_close(finished);
}

/* L18. A process that had the file open before gets any error that is left to report. */
ON_NEW_FILTER(writer_that_joined_before_a_killed_sync_cleans_the_file)
{
    unsigned marked = 0;
    for (unsigned nth = 1; dies_at(nth, sync_filter); nth++) {
        bloomfile_filter *f;
        if (!has_mark())
            continue;
        marked++;
        assert_error(bloomfile_open(&f, "filter", BLOOMFILE_OPEN_WRITE), BLOOMFILE_EUNCLEAN);
        assert_error(bloomfile_sync(writer, NULL), 0);
        assert_false(has_mark());
        bloomfile_close(opened("filter", 0));
    }
    assert_true(marked >= 3);
    bloomfile_close(writer);
    writer = NULL;
    assert_flawless(flaw_of_clean_file("filter"));
}

static void assert_opens(int expected)
{
    bloomfile_filter *f;
    for (unsigned flags = 0; flags <= BLOOMFILE_OPEN_WRITE; flags += BLOOMFILE_OPEN_WRITE) {
        assert_error(bloomfile_open(&f, "filter", flags), expected);
        bloomfile_close(f);
    }
}

/* Like dies_at(), but the process that dies has a child, which continues. */
static bool dies_as_a_parent(unsigned nth, unsigned flags, int (*run)(bloomfile_filter *f))
{
    start_pipes();
    pid_t parent = fork();
    assert_true(parent >= 0);
    if (parent == 0) {
        alarm(20);
        bloomfile_filter *f;
        if (bloomfile_open(&f, "filter", flags) != 0)
            _exit(2);
        start_watcher(f);
        run_and_die_at(f, nth, run);
    }
    return has_died(parent);
}

/* ---- forked while it syncs */

static bloomfile_filter *shared_writer;
static int answers[2];

/* Forks as another thread could at any time. The child adds a key after its parent has died. */
static void fork_at_last_call(enum fault_call call)
{
    if (call == ON_unlock || call == ON_open64 || --calls_left > 0)
        return;
    const pid_t parent = getpid();
    if (fork() != 0)
        _exit(0);
    faults_end();
    alarm(20);
    while (getppid() == parent)
        usleep(1000);
    int error = bloomfile_add_digest(shared_writer, number(0, 501), NULL);
    bloomfile_close(shared_writer);
    _exit(write(answers[1], &error, sizeof error) != sizeof error);
}

/* Returns false if the sync has no nth call. *error: the result of the child's add. */
static bool forks_at(unsigned nth, int *error)
{
    assert_int_equal(pipe(answers), 0);
    pid_t parent = fork();
    assert_true(parent >= 0);
    if (parent == 0) {
        alarm(20);
        close(answers[0]);
        if (bloomfile_open(&shared_writer, "filter", BLOOMFILE_OPEN_WRITE) != 0 ||
            bloomfile_add_digest(shared_writer, number(0, 500), NULL) != 0)
            _exit(2);
        calls_left = nth;
        faults_begin(&(struct faults){ .at_each_call = fork_at_last_call });
        int result = bloomfile_sync(shared_writer, NULL);
        faults_end();
        _exit(result == 0 ? 1 : 2);
    }
    close(answers[1]);
    int status;
    assert_int_equal(waitpid(parent, &status, 0), parent);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
    const ssize_t got = read(answers[0], error, sizeof *error);
    close(answers[0]);
    const bool forked = WEXITSTATUS(status) == 0;
    assert_int_equal(got, forked ? sizeof *error : 0); /* else the child waits for its own lock */
    return forked;
}

ON_NEW_FILTER(a_child_forked_in_a_sync_does_not_wait_for_itself)
{
    unsigned marked = 0;
    int error;
    alarm(120);
    for (unsigned nth = 1; forks_at(nth, &error); nth++, start_anew()) {
        const bool mark = has_mark();
        marked += mark;
        assert_error(error, mark ? BLOOMFILE_EUNCLEAN : 0);
        assert_int_equal(lock_on_byte(outsider, SYNCS), F_UNLCK);
        assert_int_equal(lock_on_byte(outsider, RECORDS), F_UNLCK);
        assert_opens(mark ? BLOOMFILE_EUNCLEAN : 0);
    }
    alarm(0);
    assert_true(marked >= 2);
}

/* The child saw that a sync was abandoned; then another writer's sync repairs the file. */
ON_NEW_FILTER(child_that_saw_an_abandoned_sync_does_not_join_or_poison)
{
    unsigned nth = 1;
    while (dies_at(nth, sync_filter) && !has_mark())
        nth++;
    assert_int_equal(pipe(answers), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(20);
        int first = bloomfile_check(writer);
        bool told =
            write(answers[1], &first, sizeof first) == sizeof first && first == BLOOMFILE_EUNCLEAN;
        while (has_mark())
            usleep(1000);
        told = told && bloomfile_add_digest(writer, number(0, 501), NULL) == BLOOMFILE_EUNCLEAN;
        bloomfile_close(writer);
        _exit(!told);
    }
    int answer;
    assert_int_equal(read(answers[0], &answer, sizeof answer), sizeof answer);
    close(answers[0]);
    close(answers[1]);
    assert_error(bloomfile_sync(writer, NULL), 0);
    assert_child_succeeds(child);
    assert_flawless(flaw_of_sound(writer));
    bloomfile_close(writer);
    writer = NULL;
    assert_flawless(flaw_of_clean_file("filter"));
}

/* The status in a child that has not joined, where the file cannot be opened. */
static int status_in_child(void)
{
    pid_t child = fork();
    int status;
    assert_true(child >= 0);
    if (child == 0) {
        const struct faults none_left = from_then_on(ON_open64, 1, EMFILE);
        faults_begin(&none_left);
        _exit(bloomfile_check(writer));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* There is a lock to test only if a sync has begun. */
ON_NEW_FILTER(child_needs_its_own_descriptor_to_detect_an_abandoned_sync)
{
    bloomfile_close(writer);
    set_in_record("filter", slot_in_force("filter"), RECORD_AT_flags, 4, RECORD_N_ESTIMATED);
    writer = opened("filter", BLOOMFILE_OPEN_WRITE);
    assert_error(status_in_child(), 0);
    for (unsigned nth = 1; dies_at(nth, sync_filter) && !has_mark();)
        nth++;
    assert_error(status_in_child(), EMFILE);
}

/* Permission to read is enough. */
ON_NEW_FILTER(child_without_write_access_detects_a_killed_sync)
{
    for (unsigned nth = 1; dies_at(nth, sync_filter) && !has_mark();)
        nth++;
    assert_int_equal(chmod("filter", 0444), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if ((geteuid() == 0 && setresuid(NOBODY, NOBODY, NOBODY) != 0) ||
            prctl(PR_SET_DUMPABLE, 1) != 0)
            _exit(1);
        _exit(bloomfile_check(writer) != BLOOMFILE_EUNCLEAN);
    }
    assert_child_succeeds(child);
    assert_int_equal(chmod("filter", 0666), 0);
}

static int copy_it(bloomfile_filter *f)
{
    int error = bloomfile_copy_sealed(TO_PATH("copy", 0), f, NULL);
    unlink("copy");
    return error;
}

/* L3. The child shares its parent's open file description, but not the locks of its sync. */
ON_NEW_FILTER(child_that_only_looks_up_holds_no_lock_of_a_sync)
{
    static const struct {
        int (*run)(bloomfile_filter *f);
        unsigned flags;
        bool read_only;
    } ways[] = { { sync_filter, BLOOMFILE_OPEN_WRITE, false },
                 { bloomfile_finish, BLOOMFILE_OPEN_WRITE, false },
                 { seal_filter, BLOOMFILE_OPEN_WRITE, false },
                 { copy_it, BLOOMFILE_OPEN_WRITE, false },
                 { copy_it, 0, false },
                 { copy_it, 0, true } };
    unsigned marked = 0;
    alarm(120); /* in case a process waits forever */
    for (size_t i = 0; i < ROWS(ways); i++) {
        const bool seals = ways[i].run == seal_filter;
        until_death.read_only = ways[i].read_only;
        for (unsigned nth = 1;; nth++, start_anew()) {
            if (seals) {
                bloomfile_close(writer);
                writer = NULL;
            }
            if (!dies_as_a_parent(nth, ways[i].flags, ways[i].run))
                break;
            assert_int_equal(lock_on_byte(outsider, SYNCS), F_UNLCK);
            assert_int_equal(lock_on_byte(outsider, RECORDS), F_UNLCK);
            const bool mark = has_mark();
            marked += mark;
            if (!seals || mark) {
                assert_error(ask_watcher(), mark ? BLOOMFILE_EUNCLEAN : 0);
                assert_opens(mark ? BLOOMFILE_EUNCLEAN : 0);
            }
            if (writer != NULL) {
                assert_error(bloomfile_sync(writer, NULL), 0);
                assert_opens(0);
            }
            end_watcher();
        }
        end_watcher();
        start_anew();
    }
    alarm(0);
    until_death = (struct faults){ 0 };
    assert_true(marked >= 9);
}

static void ask_watcher_in_sync(enum fault_call call)
{
    if (call != ON_msync || fault_calls(call) != 0)
        return;
    held_while_syncing = lock_on_byte(outsider, SYNCS);
    assert_error(ask_watcher(), 0);
}

/* Then the lock belongs to the description that the child shares, so it does not block the
 * child. */
ON_NEW_FILTER(sync_succeeds_even_if_the_file_cannot_be_reopened)
{
    static const int errors[] = { 0, ENOENT, EACCES, EMFILE, EROFS };
    for (size_t i = 0; i < ROWS(errors); i++) {
        start_pipes();
        start_watcher(writer);
        struct faults faults = { .at_each_call = ask_watcher_in_sync };
        const struct faults refused = once(ON_open64, 1, errors[i]);
        if (errors[i] != 0)
            faults.besides = &refused;
        faults_begin(&faults);
        int error = bloomfile_sync(writer, NULL);
        faults_end();
        assert_error(error, 0);
        assert_int_equal(held_while_syncing, F_WRLCK);
        assert_int_equal(lock_on_byte(outsider, SYNCS), F_UNLCK);
        end_watcher();
        assert_child_succeeds(watcher.process);
    }
}

static int finish_beside_a_mark(struct faults faults)
{
    unsigned nth = 1;
    bloomfile_filter *leaving = opened("filter", BLOOMFILE_OPEN_WRITE);
    while (dies_at(nth, sync_filter) && !has_mark())
        nth++;
    assert_true(has_mark());
    faults_begin(&faults);
    int error = bloomfile_finish(leaving);
    faults_end();
    bloomfile_close(leaving);
    return error;
}

/* L18. Other processes see its lock and take the abandoned mark for its own. */
ON_NEW_FILTER(finishing_writer_syncs_before_it_clears_an_abandoned_mark)
{
    assert_error(finish_beside_a_mark((struct faults){ 0 }), 0);
    assert_int_equal(fault_calls(ON_msync), 2); /* the whole file, then the record */
    assert_false(has_mark());
    bloomfile_close(opened("filter", 0));
    assert_flawless(flaw_of_sound(writer));
    assert_error(finish_beside_a_mark(once(ON_msync, 1, EIO)), EIO);
    assert_flawless(flaw_of_poisoned_file("filter"));
    assert_flawless(flaw_of_doubtful(writer));
}

static void open_it_for_reading(enum fault_call call)
{
    bloomfile_filter *f;
    if (call == ON_unlock || call == ON_fcntl64)
        return; /* the lock may be missing at this moment, and so may the mark */
    assert_error(bloomfile_open(&f, "filter", 0), 0);
    assert_true(bloomfile_contains_digest(f, number(0, 1)));
    bloomfile_close(f);
}

ON_NEW_FILTER(reader_can_open_the_file_during_a_sync)
{
    faults_begin(&(struct faults){ .at_each_call = open_it_for_reading });
    int error = bloomfile_sync(writer, NULL);
    faults_end();
    assert_error(error, 0);
}

static int held_at_most;

static void look_for_a_lock_of_syncs(enum fault_call call)
{
    if (lock_on_byte(outsider, SYNCS) != F_UNLCK)
        held_at_most = F_WRLCK;
}

/* Otherwise, a process that opens the file now would take the mark for that of a running sync. */
ON_NEW_FILTER(refused_seal_does_not_take_the_sync_lock)
{
    struct bloomfile_params params = live_params(BLOOMFILE_LAYOUT_CLASSIC);
    params.bits = 1001;
    bloomfile_filter *f;
    bloomfile_close(writer);
    bloomfile_close(reader);
    close(outsider);
    assert_error(bloomfile_create(&f, "filter", &params, BLOOMFILE_TO_REPLACE), 0);
    reader = opened("filter", 0);
    writer = opened("filter", BLOOMFILE_OPEN_WRITE);
    bloomfile_close(f);
    outsider = open("filter", O_RDWR | O_CLOEXEC);
    for (unsigned nth = 1; dies_at(nth, sync_filter) && !has_mark();)
        nth++;
    assert_int_equal(pwrite(outsider, "\x80", 1, IN_FILE + 1001 / 8), 1);
    held_at_most = F_UNLCK;
    faults_begin(&(struct faults){ .at_each_call = look_for_a_lock_of_syncs });
    int error = bloomfile_seal(writer, NULL);
    faults_end();
    assert_error(error, BLOOMFILE_EBODY);
    assert_int_equal(held_at_most, F_UNLCK);
    assert_opens(BLOOMFILE_EUNCLEAN);
    assert_error(bloomfile_check(writer), BLOOMFILE_EBODY);
}

static bool saw_it_sealed;

static void look_at_status(enum fault_call call)
{
    if (call == ON_msync && fault_calls(call) == 1) {
        assert_int_equal(bloomfile_is_stale(reader), 1);
        saw_it_sealed = info_of(reader).state == BLOOMFILE_STATE_SEALED;
    }
}

/* L25. The sync before it succeeded, so the file stays live. */
ON_NEW_FILTER(failed_write_of_a_sealed_record_leaves_the_file_live)
{
    faults_begin(
        &(struct faults){ .call = ON_pwrite64, .nth = 2, .error = EIO }); /* after the mark */
    const int error = bloomfile_seal(writer, NULL);
    faults_end();
    assert_error(error, EIO);
    assert_false(has_mark());
    assert_int_equal(info_of_file("filter").state, BLOOMFILE_STATE_LIVE);
    assert_flawless(flaw_of_sound(reader));
    assert_flawless(flaw_of_sound(writer));
    assert_error(bloomfile_seal(writer, NULL), 0);
    assert_flawless(flaw_of_sealed_file("filter"));
}

/* L25. A live record would have a lower sequence than the sealed record, which a reader may have
 * seen already. */
ON_NEW_FILTER(failed_seal_is_poisoned_and_not_overwritten)
{
    const struct faults faults = {
        .call = ON_msync, .nth = 2, .error = EIO, .at_each_call = look_at_status
    };
    faults_begin(&faults);
    int error = bloomfile_seal(writer, NULL);
    faults_end();
    assert_error(error, EIO);
    assert_true(saw_it_sealed);
    assert_error(bloomfile_check(reader), BLOOMFILE_EPOISONED);
    assert_flawless(flaw_of_doubtful(reader));
    assert_flawless(flaw_of_poisoned_file("filter"));
}

/* The library never writes such a record, but it is valid. */
ON_NEW_FILTER(record_with_sequence_0_is_synced)
{
    for (unsigned sequence = 0; sequence < 2; sequence++) {
        start_anew();
        bloomfile_close(writer);
        bloomfile_close(reader);
        reader = NULL;
        const unsigned slot = slot_in_force("filter");
        set_in_record("filter", slot, 0, 8, sequence);
        struct bytes bytes = read_file("filter");
        memset(record_at(bytes.data, 1 - slot), 0, IN_FILE / 4); /* not intact, as in a new file */
        write_file("filter", bytes.data, bytes.size);
        free(bytes.data);
        faults_begin(&(struct faults){ 0 });
        int error = bloomfile_open(&writer, "filter", BLOOMFILE_OPEN_WRITE);
        faults_end();
        assert_error(error, 0);
        assert_int_equal(fault_calls(ON_msync), 2); /* the record in force, and the new record */
    }
}

/* The library never gets that far. */
ON_NEW_FILTER(record_with_one_of_the_last_sequences_can_be_poisoned)
{
    for (uint64_t below = 1; below <= 3; below++) {
        start_anew();
        bloomfile_close(writer);
        writer = NULL;
        bloomfile_close(reader);
        set_in_record("filter", slot_in_force("filter"), 0, 8, HEADER_SEALED_SEQUENCE - below);
        reader = opened("filter", 0);
        assert_error(copy_with(seal_it_to, reader, once(ON_fdatasync, 1, EIO)), EIO);
        assert_flawless(flaw_of_doubtful(reader));
        assert_flawless(flaw_of_poisoned_file("filter"));
    }
}

/* ---- a poison in only one record */

/* R2, L21. */
ON_NEW_FILTER(poison_in_a_single_record_is_seen_by_all_handles)
{
    unsigned slots = 0;
    for (unsigned nth = 3; nth <= 4; nth++) { /* calls 1 and 2 write a mark and the record */
        start_anew();
        struct faults faults = once(ON_msync, 2, EIO);
        const struct faults second = once(ON_pwrite64, nth, EIO);
        faults.besides = &second;
        faults_begin(&faults);
        int error = bloomfile_sync(writer, NULL);
        faults_end();
        assert_error(error, EIO);
        struct bytes bytes = read_file("filter");
        unsigned poisoned = 0;
        for (unsigned slot = 0; slot < 2; slot++)
            if (get32(record_at(bytes.data, slot) + 8) == BLOOMFILE_STATE_POISONED)
                poisoned |= 1u << slot;
        free(bytes.data);
        assert_true(poisoned == 1 || poisoned == 2);
        slots |= poisoned;
        assert_flawless(flaw_of_doubtful(reader));
        assert_flawless(flaw_of_poisoned_file("filter"));
    }
    assert_int_equal(slots, 3);
}

/* ---- where a live file may be */

/* R7, V37. */
ON_NEW_FILTER(network_file_systems_are_refused)
{
    static const unsigned long shared[] = {
        0x6969,     0x517B,     0xFF534D42, 0xFE534D42, 0x01021997, 0x00C36400, 0x5346414F,
        0x6B414653, 0x73757245, 0x0BD00BD0, 0x47504653, 0x7461636F, 0x01161970, 0x786F4256,
        0xBACBACBC, 0x7C7C6673, 0x00C0FFEE, 0x20030528, 0x19830326, 0xAAD7AAEA, 0xBEEFDEAD,
        0x61636673, 0xA501FCF5, 0x013111A8, 0x0000564C, 0x61756673
    };
    bloomfile_filter *f;
    struct bloomfile_params params = live_params(BLOOMFILE_LAYOUT_BLOCKED);
    assert_error(publish_filter("sealed", 0, LIVE_KEYS), 0);
    for (size_t i = 0; i < ROWS(shared); i++) {
        faults_begin(&(struct faults){ .file_system = shared[i] });
        int reading = bloomfile_open(&f, "filter", 0);
        int writing =
            bloomfile_open(&f, "filter", BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ACCEPT_UNCLEAN);
        int creating = bloomfile_create(&f, "new", &params, 0);
        int sealed = bloomfile_open(&f, "sealed", 0);
        faults_end();
        assert_error(reading, BLOOMFILE_EFILESYSTEM);
        assert_error(writing, BLOOMFILE_EFILESYSTEM);
        assert_error(creating, BLOOMFILE_EFILESYSTEM);
        assert_int_equal(access("new", F_OK), -1);
        assert_error(sealed, 0); /* sealed files do not change */
        bloomfile_close(f);
    }
}

ON_NEW_FILTER(reader_on_overlayfs_needs_write_access)
{
    bloomfile_filter *f;
    struct faults faults = { .file_system = 0x794C7630 };
    faults_begin(&faults);
    int error = bloomfile_open(&f, "filter", 0);
    faults_end();
    assert_error(error, 0);
    assert_int_equal(fault_calls(ON_open64), 4); /* the path; for writing; again; the boot id */
    assert_flawless(flaw_of_sound(f));
    bloomfile_close(f);
    faults.call = ON_open64;
    faults.nth = 2;
    faults.error = EACCES;
    faults_begin(&faults);
    error = bloomfile_open(&f, "filter", 0);
    faults_end();
    assert_error(error, BLOOMFILE_EFILESYSTEM);
}

/* L12. */
ON_NEW_FILTER(missing_boot_identity_returns_enoboot_and_not_enoent)
{
    bloomfile_filter *f;
    struct faults faults = once(ON_open64, 2, ENOENT);
    faults_begin(&faults);
    int error = bloomfile_open(&f, "filter", BLOOMFILE_OPEN_WRITE);
    faults_end();
    assert_error(error, BLOOMFILE_ENOBOOT);
}

int main(void)
{
    return run_all(NULL, NULL);
}
