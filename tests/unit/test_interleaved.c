/* SPDX-License-Identifier: MIT
 * Actions of other processes in the middle of an operation: between two of its system calls they
 * write to the file, seal, poison or replace it. */
#include "live_support.h"

#include <bloomfile_combine.h>
#include <bloomfile_live.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "format/bytes.h"
#include "format/header.h"
#include "interleave.h"
#include "live/join.h"
#include "os/host.h"

#define TEMPORARY ".bloomfile.000000000000.tmp"

static bloomfile_filter *reader, *writer, *third, *sealed;

static int prepare(void **state)
{
    if (enter_temp_dir(state) != 0)
        return -1;
    struct bytes image =
        image_from((struct recipe){ BLOOMFILE_LAYOUT_CLASSIC, IN_FILE, 8 * 5000, 5, LIVE_KEYS, 0 });
    write_file("sealed", image.data, image.size);
    free(image.data);
    make_live("live", BLOOMFILE_LAYOUT_COUNTING);
    sealed = opened("sealed", 0);
    reader = opened("live", 0);
    writer = opened("live", BLOOMFILE_OPEN_WRITE);
    return 0;
}

static void close_all(void)
{
    bloomfile_close(reader);
    bloomfile_close(writer);
    bloomfile_close(third);
    bloomfile_close(sealed);
    reader = writer = third = sealed = NULL;
}

static int clean_up(void **state)
{
    close_all();
    return leave_temp_dir(state);
}

/* ---- actions of other processes */

static void add_one(void)
{
    assert_error(bloomfile_add_digest(writer, number(0, ABSENT), NULL), 0);
    assert_error(bloomfile_sync(writer, NULL), 0);
}

static void join_them(void)
{
    third = opened("live", BLOOMFILE_OPEN_WRITE);
}

static void seal_in_place(void)
{
    assert_error(bloomfile_seal(writer, NULL), 0);
}

static void poison_other_record(void)
{
    change_record("live", 1 - slot_in_force("live"), 8, 4, BLOOMFILE_STATE_POISONED);
}

static void damage_live(void)
{
    damage_records("live");
}

static void rewrite_label(void)
{
    overwrite("sealed", 130, "other", 5);
}

static void remove_temporary(void)
{
    assert_int_equal(unlink(TEMPORARY), 0);
}

static void replace_temporary(void)
{
    write_file("beside", "", 0);
    assert_int_equal(rename("beside", TEMPORARY), 0);
}

static struct bytes older;

static void copy_older(void)
{
    overwrite("live", 0, older.data, older.size);
}

/* ---- copying */

static int project_writer(void)
{
    return bloomfile_project(TO_PATH("made", 0), writer, NULL);
}

static int unite_writer(void)
{
    const bloomfile_filter *const all[] = { writer };
    return bloomfile_merge(TO_PATH("made", 0), all, 1, NULL);
}

static int copy_as_reader(void)
{
    return bloomfile_copy_sealed(TO_PATH("made", 0), reader, NULL);
}

static int fold_sealed(void)
{
    return bloomfile_fold(TO_PATH("made", 0), sealed, 2, NULL);
}

static int verify_sealed(void)
{
    struct bloomfile_fault fault = { .error = 0 };
    int error = bloomfile_verify(sealed, 1, &fault);
    assert_int_equal(fault.error, error);
    return error;
}

#define ALONE(test) TEST_WITH(test, prepare, clean_up)

ALONE(copy_during_a_join_has_an_estimated_count)
{
    static int (*const copies[])(void) = { project_writer, unite_writer };
    for (size_t i = 0; i < ROWS(copies); i++) {
        assert_error(with_others(copies[i], ON_pwrite64, 1, join_them), 0);
        assert_int_equal(info_of_file("made").keys_estimated, 1);
        bloomfile_close(third);
        third = NULL;
        assert_int_equal(unlink("made"), 0);
        assert_error(copies[i](), 0);
        assert_int_equal(info_of_file("made").keys_estimated, 0);
        assert_int_equal(unlink("made"), 0);
    }
    assert_error(with_others(project_writer, ON_pwrite64, 1, add_one), 0);
    assert_int_equal(info_of_file("made").keys_estimated, 1);
}

ALONE(source_overwritten_during_a_read_is_refused)
{
    assert_error(with_others(fold_sealed, ON_pwrite64, 1, rewrite_label), BLOOMFILE_ECHANGED);
    assert_int_not_equal(access("made", F_OK), 0);
}

ALONE(filter_overwritten_during_verification_is_reported_as_changed)
{
    assert_error(verify_sealed(), 0);
    assert_error(with_others(verify_sealed, ON_madvise, 3, rewrite_label), BLOOMFILE_ECHANGED);
}

static void rewrite_label_of_live(void)
{
    overwrite("live", 130, "other", 5);
}

static int ask_reader(void)
{
    return bloomfile_check(reader);
}

/* Between two reads of its header. */
ALONE(check_detects_an_overwrite_between_its_reads_of_the_header)
{
    assert_error(ask_reader(), 0);
    assert_error(with_others(ask_reader, ON_madvise, 2, rewrite_label_of_live), BLOOMFILE_ECHANGED);
}

ALONE(file_poisoned_while_it_is_copied_fails_the_copy)
{
    assert_error(with_others(copy_as_reader, ON_pwrite64, 1, poison_other_record),
                 BLOOMFILE_EPOISONED);
    assert_int_not_equal(access("made", F_OK), 0);
}

ALONE(file_poisoned_during_fdatasync_fails_the_copy)
{
    assert_error(with_others(copy_as_reader, ON_fdatasync, 1, poison_other_record),
                 BLOOMFILE_EPOISONED);
}

static void find_it_unclean(void)
{
    assert_error(bloomfile_open(&third, "live", 0), BLOOMFILE_EUNCLEAN);
}

/* L20. A reader must not take this for a sync in progress. */
ALONE(unclean_file_remains_unclean_while_its_writer_copies_it)
{
    close_all();
    change_record("live", slot_in_force("live"), RECORD_AT_boot_id, 8, 0x5A5A);
    writer = opened("live", BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ACCEPT_UNCLEAN);
    assert_error(with_others(project_writer, ON_fdatasync, 1, find_it_unclean), 0);
    find_it_unclean();
}

static int sync_writer(void)
{
    return bloomfile_sync(writer, NULL);
}

ALONE(records_damaged_during_fdatasync_fail_the_copy)
{
    assert_error(with_others(copy_as_reader, ON_fdatasync, 1, damage_live), BLOOMFILE_ERECORD);
    assert_int_not_equal(access("made", F_OK), 0);
}

/* While the body is synced. */
ALONE(sync_reports_records_damaged_during_msync_and_keeps_them)
{
    add_one();
    assert_error(with_others(sync_writer, ON_msync, 1, damage_live), BLOOMFILE_ERECORD);
    struct bytes damaged = read_file("live");
    assert_memory_equal(damaged.data + IN_FILE / 2 + 20, "damaged", 7);
    assert_memory_equal(damaged.data + IN_FILE / 4 * 3 + 20, "damaged", 7);
    free(damaged.data);
}

ALONE(sync_reports_a_poison_written_after_its_commit)
{
    assert_error(with_others(sync_writer, ON_unlock, 3, poison_other_record), BLOOMFILE_EPOISONED);
}

/* R8. */
ALONE(batch_lookup_of_digests_sees_a_poison)
{
    const uint64_t absent[] = { number(0, ABSENT), number(0, ABSENT + 1) };
    assert_int_equal(bloomfile_contains_digests(reader, absent, 2, NULL), 0);
    poison_other_record();
    assert_int_equal(bloomfile_contains_digests(reader, absent, 2, NULL), 2);
}

ALONE(batch_lookup_of_keys_sees_a_poison)
{
    enum {
        KEYS = 20
    };
    uint8_t rooms[KEYS][8];
    struct bloomfile_key absent[KEYS];
    bool hits[KEYS], all[KEYS];
    memset(all, true, sizeof all);
    for (size_t i = 0; i < KEYS; i++) {
        const struct bytes key = number_key(ABSENT + i, rooms[i]);
        absent[i] = (struct bloomfile_key){ key.data, key.size };
    }
    assert_in_range(bloomfile_contains_many(reader, absent, KEYS, hits), 0, KEYS - 1);
    poison_other_record();
    assert_int_equal(bloomfile_contains_many(reader, absent, KEYS, hits), KEYS);
    assert_memory_equal(hits, all, KEYS);
}

/* R11. */
ALONE(two_damaged_records_are_reported_and_not_overwritten)
{
    damage_live();
    assert_error(bloomfile_sync(writer, NULL), BLOOMFILE_ERECORD);
    assert_error(copy_as_reader(), BLOOMFILE_ERECORD);
    assert_error(project_writer(), BLOOMFILE_ERECORD);
    assert_int_equal(info_of(reader).keys, LIVE_KEYS); /* unchanged */
    assert_int_equal(info_of(writer).keys, LIVE_KEYS);
    assert_true(has_numbers(reader, 0, LIVE_KEYS));
    assert_error(bloomfile_finish(writer), BLOOMFILE_ERECORD);
    assert_error(bloomfile_check(reader), BLOOMFILE_ERECORD);
    assert_true(has_numbers(reader, ABSENT, ABSENT + 10));
}

/* ---- opening */

static int open_again(void)
{
    bloomfile_close(reader);
    return bloomfile_open(&reader, "live", 0);
}

static int join_as_third(void)
{
    return bloomfile_open(&third, "live", BLOOMFILE_OPEN_WRITE);
}

ALONE(file_sealed_during_open_is_opened_as_sealed)
{
    bloomfile_close(reader);
    reader = NULL;
    const size_t before = open_descriptors();
    assert_error(with_others(open_again, ON_fstatfs64, 1, seal_in_place), 0);
    assert_int_equal(open_descriptors(), before - 1); /* a sealed file needs no descriptor */
    assert_int_equal(info_of(reader).state, BLOOMFILE_STATE_SEALED);
    assert_true(has_numbers(reader, 0, LIVE_KEYS));
}

/* Sets the mark, as a writer that is killed during a sync leaves it in the record in force. */
static void mark_sync_begun(void)
{
    uint8_t id[BOOT_ID_SIZE];
    assert_error(boot_id(id), 0);
    const unsigned slot = slot_in_force("live");
    change_record("live", slot, 12, 4, RECORD_SYNC_BEGUN);
    change_record("live", slot, 40, 8, get64(id));
    change_record("live", slot, 48, 8, get64(id + 8));
}

static int rescue_as_reader(void)
{
    return bloomfile_rescue("made", reader, 0);
}

ALONE(rescue_of_a_file_that_becomes_unclean_meanwhile_is_unclean)
{
    close_all();
    reader = opened("live", BLOOMFILE_OPEN_ACCEPT_UNCLEAN);
    assert_error(with_others(rescue_as_reader, ON_fdatasync, 1, mark_sync_begun), 0);
    assert_error(bloomfile_open(&third, "made", 0), BLOOMFILE_EUNCLEAN);
}

static pid_t forked;

static void fork_a_child(void)
{
    forked = fork();
    if (forked == 0)
        for (;;)
            pause();
}

static int replace_live(void)
{
    return bloomfile_copy_sealed(TO_PATH("live", BLOOMFILE_TO_REPLACE), reader, NULL);
}

/* The child inherits the lock on the old file, which has another name too. */
ALONE(child_of_a_process_that_replaces_a_file_does_not_stop_its_writers)
{
    bloomfile_close(writer);
    make_hard_link("live", "other");
    assert_error(with_others(replace_live, ON_renameat, 1, fork_a_child), 0);
    alarm(20);
    writer = opened("other", BLOOMFILE_OPEN_WRITE);
    alarm(0);
    assert_int_equal(kill(forked, SIGKILL), 0);
    assert_int_equal(waitpid(forked, NULL, 0), forked);
}

/* L12. */
ALONE(join_detects_a_sync_abandoned_during_the_open)
{
    assert_error(bloomfile_finish(writer), 0);
    assert_error(with_others(join_as_third, ON_fcntl64, 1, mark_sync_begun), BLOOMFILE_EUNCLEAN);
}

static int opened_with(struct faults faults)
{
    bloomfile_filter *f;
    faults_begin(&faults);
    int error = bloomfile_open(&f, "live", 0);
    faults_end();
    bloomfile_close(f);
    return error;
}

/* The third read is the search for a mark. Before it, the header is read at open, and again for
 * a new descriptor. */
ALONE(open_fails_if_an_abandoned_sync_cannot_be_tested)
{
    mark_sync_begun();
    assert_error(opened_with((struct faults){ 0 }), BLOOMFILE_EUNCLEAN);
    assert_error(opened_with(once(ON_pread64, 3, EIO)), EIO);
    assert_error(opened_with(once(ON_fcntl64, 1, EINVAL)), EINVAL);
    struct bytes sound = read_file("live");
    assert_error(with_others(open_again, ON_pread64, 3, damage_live), BLOOMFILE_ERECORD);
    overwrite("live", 0, sound.data, IN_FILE);
    free(sound.data);
}

/* R5, L2. A sync holds byte 3 exclusively. A process that joins or looks for a sync shares it. */
ALONE(mark_means_a_running_sync_only_if_its_lock_is_exclusive)
{
    mark_sync_begun();
    const int other = open("live", O_RDWR | O_CLOEXEC);
    assert_int_equal(lock_byte(other, F_RDLCK, 3), 0);
    assert_error(opened_with((struct faults){ 0 }), BLOOMFILE_EUNCLEAN);
    assert_int_equal(lock_byte(other, F_WRLCK, 3), 0);
    assert_error(opened_with((struct faults){ 0 }), 0);
    assert_error(opened_with(once(ON_pread64, 3, EIO)), 0); /* the records are not read again */
    close(other);
}

static int status_of_reader(void)
{
    return bloomfile_check(reader);
}

static void take_its_sync_over(void)
{
    assert_error(bloomfile_sync(writer, NULL), 0);
}

/* The new record has another sequence. */
static void take_its_sync_over_and_be_killed(void)
{
    take_its_sync_over();
    mark_sync_begun();
}

static void poison_it(void)
{
    const unsigned slot = slot_in_force("live");
    const uint64_t sequence = info_of_file("live").sequence;
    poison_records("live");
    change_record("live", slot, RECORD_AT_sequence, 8, sequence + 2);
    change_record("live", 1 - slot, RECORD_AT_sequence, 8, sequence + 1);
}

/* Each becomes the record in force after the reader saw that no process syncs (R5). */
ALONE(record_that_replaces_a_marked_record_is_examined_again)
{
    mark_sync_begun();
    assert_error(with_others(status_of_reader, ON_pread64, 1, take_its_sync_over), 0);
    mark_sync_begun();
    assert_error(with_others(status_of_reader, ON_pread64, 1, poison_it), 0);
    assert_error(bloomfile_check(reader), BLOOMFILE_EPOISONED);
}

ALONE(record_that_replaces_a_marked_record_may_be_marked)
{
    mark_sync_begun();
    assert_error(with_others(status_of_reader, ON_pread64, 1, take_its_sync_over_and_be_killed),
                 BLOOMFILE_EUNCLEAN);
}

ALONE(a_filter_without_a_mark_has_no_abandoned_sync)
{
    bool abandoned = true;
    assert_error(join_find_abandoned(reader->live->fd, &reader->header, &abandoned), 0);
    assert_false(abandoned);
}

static struct bytes saved;
static unsigned times;

/* Both records look damaged for a moment. */
static void damage_for_a_moment(enum fault_call call)
{
    if (call != ON_pread64)
        return;
    times++;
    if (times == 3)
        damage_live();
    if (times == 4)
        overwrite("live", 0, saved.data, IN_FILE);
}

ALONE(marked_record_under_construction_is_read_again)
{
    mark_sync_begun();
    saved = read_file("live");
    times = 0;
    assert_error(opened_with((struct faults){ .at_each_call = damage_for_a_moment }),
                 BLOOMFILE_EUNCLEAN);
    assert_true(times >= 4);
    free(saved.data);
}

ALONE(writers_missing_from_the_count_leave_the_file_clean)
{
    join_them();
    change_record("live", slot_in_force("live"), 64, 4, 0);
    add_one();
    assert_error(bloomfile_finish(writer), 0);
    assert_int_equal(info_of_file("live").writers, 0);
    close_all();
    assert_flawless(flaw_of_clean_file("live"));
}

/* L22. */
ALONE(counts_lost_with_killed_writers_are_marked_as_estimates)
{
    for (unsigned gone = 0; gone < 3; gone++) {
        change_record("live", slot_in_force("live"), 64, 4, 1 + gone);
        assert_error(bloomfile_sync(writer, NULL), 0);
        assert_error(bloomfile_finish(writer), 0);
        assert_int_equal(info_of_file("live").writers, 0);
        assert_int_equal(info_of_file("live").keys_estimated, gone > 0);
        close_all();
        assert_int_equal(unlink("live"), 0);
        make_live("live", BLOOMFILE_LAYOUT_COUNTING);
        writer = opened("live", BLOOMFILE_OPEN_WRITE);
    }
}

/* L22. */
ALONE(the_number_of_writers_wraps_around)
{
    change_record("live", slot_in_force("live"), 64, 4, UINT32_MAX);
    join_them();
    assert_int_equal(info_of_file("live").writers, 0);
    assert_error(bloomfile_finish(third), 0);
    assert_int_equal(info_of_file("live").writers, 0); /* not below 0 */
    assert_error(bloomfile_check(writer), 0);
}

/* A clean file has no active writers, so its count of writers is ignored. */
ALONE(counts_of_a_clean_file_are_exact)
{
    close_all();
    change_record("live", slot_in_force("live"), 64, 4, 3);
    writer = opened("live", BLOOMFILE_OPEN_WRITE);
    assert_int_equal(info_of(writer).keys_estimated, 0);
    assert_int_equal(info_of(writer).writers, 1);
}

/* R3. */
ALONE(sync_mark_does_not_prevent_opening_a_clean_file)
{
    close_all();
    change_record("live", slot_in_force("live"), 12, 4, RECORD_SYNC_BEGUN);
    for (unsigned copies = 0; copies < 2; copies++) { /* R11 and R10 obey it all the same */
        faults_begin(&(struct faults){ .text_read = "no identity of a boot" });
        const int error = bloomfile_open(&reader, "live", 0);
        faults_end();
        assert_error(error, 0);
        assert_false(bloomfile_contains_digest(reader, number(0, ABSENT)));
        assert_error(copies ? copy_as_reader() : bloomfile_recheck(reader), BLOOMFILE_EUNCLEAN);
        assert_true(bloomfile_contains_digest(reader, number(0, ABSENT)));
        bloomfile_close(reader);
    }
    reader = NULL;
    writer = opened("live", BLOOMFILE_OPEN_WRITE);
    assert_error(bloomfile_check(writer), 0);
}

ALONE(writer_that_leaves_others_only_commits)
{
    join_them();
    change_record("live", slot_in_force("live"), 12, 4, RECORD_N_ESTIMATED);
    faults_begin(&(struct faults){ 0 });
    int error = bloomfile_finish(writer);
    faults_end();
    assert_error(error, 0);
    assert_int_equal(fault_calls(ON_pwrite64), 1);
}

/* Another process ended the sync, but the child has seen the mark. */
ALONE(child_that_saw_a_mark_does_not_join)
{
    mark_sync_begun();
    pid_t child = fork();
    if (child == 0) {
        bool failed = bloomfile_check(writer) != BLOOMFILE_EUNCLEAN;
        change_record("live", slot_in_force("live"), 12, 4, 0);
        const uint64_t before = info_of_file("live").sequence;
        failed |= bloomfile_add_digest(writer, number(0, ABSENT), NULL) != BLOOMFILE_EUNCLEAN;
        _exit(failed || info_of_file("live").sequence != before);
    }
    assert_child_succeeds(child);
}

/* The last writer left, and its adds may not be on disk. */
ALONE(accepted_file_of_another_boot_has_estimated_counts)
{
    close_all();
    change_record("live", slot_in_force("live"), 40, 8, 12345);
    assert_int_equal(info_of_file("live").writers, 0);
    assert_error(bloomfile_open(&third, "live", BLOOMFILE_OPEN_WRITE), BLOOMFILE_EUNCLEAN);
    third = opened("live", BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ACCEPT_UNCLEAN);
    assert_int_equal(info_of(third).keys_estimated, 1);
    assert_int_equal(info_of(third).writers, 1);
}

/* ---- waiting for a record */

static void (*at_yield)(void);
static unsigned yields;

int sched_yield(void)
{
    yields++;
    void (*const act)(void) = at_yield;
    at_yield = NULL;
    if (act != NULL)
        act();
    return 0;
}

static struct bytes whole;

static void write_it_to_its_end(void)
{
    overwrite("live", 0, whole.data, IN_FILE);
}

/* R1. */
ALONE(half_written_record_is_read_again)
{
    add_one();
    whole = read_file("live");
    static int (*const runs[])(void) = { sync_writer, open_again, join_as_third };
    for (size_t i = 0; i < ROWS(runs); i++) {
        damage_live();
        at_yield = write_it_to_its_end;
        assert_error(runs[i](), 0);
        assert_null(at_yield);
        free(whole.data);
        whole = read_file("live");
    }
    assert_error(bloomfile_check(reader), 0);
    free(whole.data);
}

/* R1. */
ALONE(damaged_records_are_refused_after_100_reads)
{
    static int (*const runs[])(void) = { ask_reader, open_again };
    damage_live();
    for (size_t i = 0; i < ROWS(runs); i++) {
        yields = 0;
        assert_error(runs[i](), BLOOMFILE_ERECORD);
        assert_int_equal(yields, 100);
    }
}

ALONE(whole_record_is_read_once)
{
    at_yield = damage_live;
    assert_error(bloomfile_check(reader), 0);
    assert_error(bloomfile_check(writer), 0);
    assert_non_null(at_yield);
    at_yield = NULL;
}

static void wait_once_more(void)
{
    at_yield = write_it_to_its_end;
}

static void overwrite_records(void)
{
    static const uint8_t zeros[IN_FILE / 2];
    overwrite("live", IN_FILE / 2, zeros, sizeof zeros);
    at_yield = wait_once_more;
}

ALONE(half_written_record_with_a_mark_is_read_again)
{
    mark_sync_begun();
    whole = read_file("live");
    assert_error(with_others(status_of_reader, ON_pread64, 1, overwrite_records),
                 BLOOMFILE_EUNCLEAN);
    assert_null(at_yield);
    free(whole.data);
}

/* One record was read before it was written, and the other record after it was written. */
ALONE(record_with_a_lower_sequence_is_read_again)
{
    add_one();
    struct bytes before = read_file("live");
    add_one();
    assert_error(bloomfile_check(writer), 0);
    whole = read_file("live");
    overwrite("live", 0, before.data, IN_FILE);
    at_yield = write_it_to_its_end;
    assert_error(bloomfile_check(writer), 0);
    assert_null(at_yield);
    assert_error(bloomfile_check(reader), 0);
    overwrite("live", 0, before.data, IN_FILE);
    assert_error(bloomfile_check(writer), BLOOMFILE_ECHANGED);
    assert_error(bloomfile_check(reader), BLOOMFILE_ECHANGED);
    free(whole.data);
    free(before.data);
}

ALONE(sequence_of_another_filter_is_ignored)
{
    struct header now;
    struct bytes before = read_file("live"), other = read_file("live");
    other.data[AT_tag] ^= 1;
    put64(record_at(other.data, slot_in_force("live")) + RECORD_AT_sequence, 1000);
    reseal_header(other.data);
    overwrite("live", 0, other.data, IN_FILE);
    assert_error(live_load(reader, &now), BLOOMFILE_ECHANGED);
    overwrite("live", 0, before.data, IN_FILE);
    assert_error(live_load(reader, &now), 0);
    free(other.data);
    free(before.data);
}

/* ---- sealing */

static struct bytes complete;

static void complete_it_first(void)
{
    overwrite("live", 0, complete.data, IN_FILE);
}

/* Another process completes it while this process waits for the lock. */
ALONE(seal_completed_by_another_process_is_left_unchanged)
{
    struct bytes before = read_file("live");
    const unsigned slot = slot_in_force("live");
    assert_error(bloomfile_seal(writer, NULL), 0);
    complete = read_file("live");
    close_all();
    overwrite("live", IN_FILE / 2 + slot * (IN_FILE / 4), record_at(before.data, slot),
              IN_FILE / 4);
    assert_error(with_others(join_as_third, ON_fcntl64, 2, complete_it_first), BLOOMFILE_ESEALED);
    assert_file_holds("live", complete.data, complete.size);
    free(before.data);
    free(complete.data);
}

ALONE(unfinished_seal_damaged_during_completion_is_not_completed)
{
    struct bytes before = read_file("live");
    const unsigned slot = slot_in_force("live");
    assert_error(bloomfile_seal(writer, NULL), 0);
    close_all();
    overwrite("live", IN_FILE / 2 + slot * (IN_FILE / 4), record_at(before.data, slot),
              IN_FILE / 4);
    assert_error(with_others(join_as_third, ON_fcntl64, 2, damage_live), BLOOMFILE_ERECORD);
    struct bytes damaged = read_file("live");
    assert_memory_equal(damaged.data + IN_FILE / 2 + 20, "damaged", 7);
    assert_memory_equal(damaged.data + IN_FILE / 4 * 3 + 20, "damaged", 7);
    free(damaged.data);
    free(before.data);
}

/* ---- children of fork */

static pid_t forked;

static void fork_in_the_middle(void)
{
    forked = fork();
}

static void use_the_stack_again(void)
{
    volatile char bytes[1 << 16];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = 'x';
}

/* A sync was running in the parent; the child's stack holds other data by now. */
ALONE(child_forked_during_a_sync_can_fork)
{
    const int error = with_others(sync_writer, ON_msync, 1, fork_in_the_middle);
    if (forked == 0) {
        alarm(20);
        use_the_stack_again();
        pid_t grandchild = fork();
        alarm(20);
        int status = 0;
        if (grandchild > 0)
            waitpid(grandchild, &status, 0);
        _exit(grandchild < 0 || status != 0);
    }
    assert_error(error, 0);
    assert_child_succeeds(forked);
}

/* ---- paths */

/* On another file system, if there is one. */
ALONE(link_to_another_file_is_stale)
{
    char elsewhere[] = "/dev/shm/bloomfile-XXXXXX";
    int fd = mkstemp(elsewhere);
    struct bytes live = read_file("live");
    if (fd >= 0)
        assert_int_equal(write(fd, live.data, live.size), live.size);
    write_file("copy", live.data, live.size);
    const char *const others[] = { "copy", fd >= 0 ? elsewhere : "copy" };
    for (size_t i = 0; i < ROWS(others); i++) {
        make_symlink("live", "link");
        bloomfile_filter *f = opened("link", 0);
        third = opened("link", BLOOMFILE_OPEN_WRITE);
        assert_int_equal(bloomfile_is_stale(f), 0);
        assert_error(bloomfile_sync(third, NULL), 0);
        assert_int_equal(unlink("link"), 0);
        make_symlink(others[i], "link");
        assert_int_not_equal(bloomfile_is_stale(f), 0);
        assert_error(bloomfile_sync(third, NULL), BLOOMFILE_EREPLACED);
        assert_int_equal(unlink("link"), 0);
        assert_error(bloomfile_finish(third), BLOOMFILE_EREPLACED);
        bloomfile_close(third);
        third = NULL;
        bloomfile_close(f);
    }
    free(live.data);
    close(fd);
    unlink(elsewhere);
}

ALONE(filter_is_stale_once_its_folder_becomes_a_file)
{
    assert_int_equal(mkdir("folder", 0700), 0);
    make_live("folder/live", BLOOMFILE_LAYOUT_BLOCKED);
    third = opened("folder/live", BLOOMFILE_OPEN_WRITE);
    assert_int_equal(rename("folder", "moved"), 0);
    write_file("folder", "", 0);
    assert_int_not_equal(bloomfile_is_stale(third), 0);
    assert_error(bloomfile_sync(third, NULL), BLOOMFILE_EREPLACED);
}

ALONE(file_in_an_unnamed_directory_is_not_stale)
{
    const struct faults faults = once(ON_getcwd, 1, ENOENT);
    faults_begin(&faults);
    int error = bloomfile_open(&third, "sealed", 0);
    faults_end();
    assert_error(error, 0);
    assert_int_equal(bloomfile_is_stale(third), 0);
}

static int ask_whether_stale(void)
{
    return bloomfile_is_stale(third);
}

static void cut_header(void)
{
    assert_int_equal(truncate("sealed", 100), 0);
}

/* Right after the path's time was read. */
ALONE(is_stale_of_a_copy_reads_the_file)
{
    static void (*const acts[])(void) = { rewrite_label, cut_header };
    for (size_t i = 0; i < ROWS(acts); i++) {
        struct bytes image = read_file("sealed");
        third = opened("sealed", BLOOMFILE_OPEN_COPY);
        assert_int_equal(ask_whether_stale(), 0);
        assert_int_equal(with_others(ask_whether_stale, ON_pread64, 1, acts[i]), 1);
        bloomfile_close(third);
        third = NULL;
        write_file("sealed", image.data, image.size);
        free(image.data);
    }
}

ALONE(any_difference_in_the_modification_time_is_stale)
{
    struct stat then;
    assert_int_equal(stat("sealed", &then), 0);
    struct timespec set[2] = { then.st_atim, { then.st_mtim.tv_sec, 1 } };
    assert_int_equal(utimensat(AT_FDCWD, "sealed", set, 0), 0);
    assert_int_equal(stat("sealed", &then), 0);
    if (then.st_mtim.tv_nsec != 1)
        skip("the file system cuts times to seconds");
    bloomfile_close(sealed);
    sealed = opened("sealed", 0);
    for (int i = 0; i < 2; i++) {
        set[1] = then.st_mtim;
        set[1].tv_sec -= i;
        set[1].tv_nsec = i == 0 ? (set[1].tv_nsec + 1) % 1000000000 : set[1].tv_nsec;
        assert_int_equal(bloomfile_is_stale(sealed), 0);
        assert_int_equal(utimensat(AT_FDCWD, "sealed", set, 0), 0);
        assert_int_equal(bloomfile_is_stale(sealed), 1);
        bloomfile_close(sealed);
        sealed = opened("sealed", 0);
    }
}

/* All other fields are equal. A test cannot choose these times on a file system. */
ALONE(each_of_the_file_times_is_compared)
{
    time_t *const seconds[] = { &sealed->file.modified.tv_sec, &sealed->file.touched.tv_sec };
    long *const fractions[] = { &sealed->file.modified.tv_nsec, &sealed->file.touched.tv_nsec };
    for (size_t i = 0; i < ROWS(seconds); i++) {
        ++*seconds[i];
        assert_int_equal(bloomfile_is_stale(sealed), 1);
        --*seconds[i];
        ++*fractions[i];
        assert_int_equal(bloomfile_is_stale(sealed), 1);
        --*fractions[i];
        assert_int_equal(bloomfile_is_stale(sealed), 0);
    }
    ++sealed->file.device;
    assert_int_equal(bloomfile_is_stale(sealed), 1);
}

ALONE(unresolvable_path_does_not_count_as_replaced)
{
    make_symlink("live", "link");
    third = opened("link", BLOOMFILE_OPEN_WRITE);
    assert_int_equal(unlink("link"), 0);
    make_symlink("link", "link");
    assert_error(bloomfile_sync(third, NULL), 0);
    assert_int_equal(bloomfile_is_stale(third), 1); /* opening it would report ELOOP */
    assert_int_equal(unlink("link"), 0);
    assert_error(bloomfile_sync(third, NULL), BLOOMFILE_EREPLACED);
}

/* L4. Inode numbers are unique only within a file system. */
ALONE(same_inode_on_another_device_is_another_file)
{
    assert_error(bloomfile_sync(writer, NULL), 0);
    faults_begin(&(struct faults){ .other_device = true });
    const int error = bloomfile_sync(writer, NULL);
    faults_end();
    assert_error(error, BLOOMFILE_EREPLACED);
}

ALONE(finish_in_a_child_that_never_wrote_reports_a_changed_file)
{
    pid_t child = fork();
    if (child == 0) {
        overwrite("live", lseek(open("live", O_RDONLY | O_CLOEXEC), 0, SEEK_END), "more", 4);
        _exit(bloomfile_finish(writer) != BLOOMFILE_ECHANGED);
    }
    assert_child_succeeds(child);
}

/* It cannot find out then which process holds the lock. */
ALONE(child_that_cannot_reopen_the_file_reports_an_error)
{
    const struct faults rows[] = { once(ON_open64, 1, EMFILE), once(ON_fcntl64, 1, EINVAL),
                                   once(ON_pread64, 1, EIO) };
    mark_sync_begun();
    for (size_t i = 0; i < ROWS(rows); i++) {
        pid_t child = fork();
        if (child == 0) {
            faults_begin(&rows[i]);
            int error = bloomfile_check(writer);
            faults_end();
            _exit(error != rows[i].error);
        }
        assert_child_succeeds(child);
    }
}

/* Without a mark it opens nothing; a file that it opens, it closes. */
ALONE(child_that_looks_for_a_mark_keeps_no_descriptor_open)
{
    pid_t child = fork();
    if (child == 0) {
        const size_t before = open_descriptors();
        const struct faults faults = once(ON_open64, 1, EMFILE);
        faults_begin(&faults);
        bool failed = bloomfile_check(writer) != 0;
        faults_end();
        mark_sync_begun();
        failed |= bloomfile_check(writer) != BLOOMFILE_EUNCLEAN;
        _exit(failed || open_descriptors() != before);
    }
    assert_child_succeeds(child);
}

ALONE(descriptor_0_is_a_valid_descriptor)
{
    static const struct {
        const char *path;
        unsigned flags;
    } rows[] = { { "live", BLOOMFILE_OPEN_WRITE }, { "live", 0 } };
    pid_t child = fork();
    if (child == 0) {
        bloomfile_filter *f;
        close(0);
        bool failed = false;
        for (size_t i = 0; i < ROWS(rows); i++) {
            failed |= bloomfile_open(&f, rows[i].path, rows[i].flags) != 0;
            failed |= f->live->fd < 0 || !bloomfile_contains_digest(f, number(0, 0));
            bloomfile_close(f);
            failed |= fcntl(0, F_GETFD) != -1;
        }
        _exit(failed);
    }
    assert_child_succeeds(child);
}

ALONE(reader_can_poison_through_descriptor_0)
{
    pid_t child = fork();
    if (child == 0) {
        close(0);
        _exit(open("live", O_RDWR | O_CLOEXEC) != 0 ||
              live_poison_as_reader(reader, 0, EIO) != EIO);
    }
    assert_child_succeeds(child);
    assert_error(bloomfile_check(writer), BLOOMFILE_EPOISONED);
}

ALONE(reopening_reader_opens_the_file_read_only)
{
    pid_t child = fork();
    if (child == 0)
        _exit(copy_as_reader() != 0 || (fcntl(reader->live->fd, F_GETFL) & O_ACCMODE) != O_RDONLY);
    assert_child_succeeds(child);
}

ALONE(child_that_cannot_reopen_the_file_does_not_copy)
{
    static const enum fault_call calls[] = { ON_open64, ON_dup3 };
    for (size_t i = 0; i < ROWS(calls); i++) {
        pid_t child = fork();
        if (child == 0) {
            const struct faults faults = once(calls[i], 1, EMFILE);
            faults_begin(&faults);
            int error = copy_as_reader();
            faults_end();
            _exit(error != EMFILE || access("made", F_OK) == 0);
        }
        assert_child_succeeds(child);
    }
}

/* ---- publishing */

static int publish(void)
{
    return publish_filter("new", 0, 10);
}

static int publish_named(enum fault_call call, unsigned nth, void (*act)(void))
{
    return with_others_and((struct faults){ .no_unnamed_files = true }, publish, call, nth, act);
}

/* Elsewhere temporary files have random names. */
static void skip_unless_local(void)
{
    const int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool local = filesystem_is_local(fd);
    close(fd);
    if (!local)
        skip("the file system is not local");
}

ALONE(temporary_removed_by_another_process_is_not_published)
{
    skip_unless_local();
    assert_error(publish_named(ON_fsync, 1, remove_temporary), ENOENT);
    assert_int_not_equal(access("new", F_OK), 0);
    assert_error(publish_named(ON_fsync, 1, replace_temporary), EBUSY);
    assert_int_not_equal(access("new", F_OK), 0);
    assert_int_equal(unlink(TEMPORARY), 0);
}

ALONE(file_that_replaces_a_leftover_temporary_is_kept)
{
    write_file(TEMPORARY, "left", 4);
    assert_error(with_others(publish, ON_flock, 1, replace_temporary), 0);
    assert_file_holds(TEMPORARY, "", 0);
    assert_int_equal(unlink("new"), 0);
    assert_error(with_others(publish, ON_flock, 1, remove_temporary), 0);
    assert_filter_of("new", 10);
}

ALONE(permissions_that_cannot_be_read_or_kept_are_dropped)
{
    static const struct {
        enum fault_call call, besides;
        int first, second, error;
        mode_t mode;
    } rows[] = {
        { ON_lgetxattr, ON_lgetxattr, EOPNOTSUPP, EOPNOTSUPP, 0, 0664 },
        { ON_fremovexattr, ON_fremovexattr, EOPNOTSUPP, EOPNOTSUPP, 0, 0664 },
        { ON_fremovexattr, ON_fremovexattr, EIO, EIO, EIO, 0 },
        { ON_lgetxattr, ON_fchown, ENOENT, EPERM, 0, 0600 },
        { ON_lgetxattr, ON_fchown, ENODATA, EPERM, 0, 0604 },
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct stat status;
        assert_error(publish_filter("new", BLOOMFILE_TO_REPLACE, 5), 0);
        set_mode("new", 0664);
        struct faults faults = from_then_on(rows[i].call, 1, rows[i].first);
        const struct faults besides = from_then_on(rows[i].besides, 1, rows[i].second);
        faults.besides = &besides;
        faults_begin(&faults);
        int error = publish_filter("new", BLOOMFILE_TO_REPLACE, 10);
        faults_end();
        assert_error(error, rows[i].error);
        assert_filter_of("new", error == 0 ? 10 : 5);
        assert_int_equal(stat("new", &status), 0);
        if (error == 0)
            assert_int_equal(status.st_mode & 0777, rows[i].mode);
    }
}

/* Users named in a list are not the file's group. */
ALONE(acl_is_dropped_with_the_group)
{
    static const uint16_t list[] = { 2,      0,      1,    6, 0xFFFF, 0xFFFF, 2,    6,
                                     1234,   0,      4,    0, 0xFFFF, 0xFFFF, 0x10, 4,
                                     0xFFFF, 0xFFFF, 0x20, 0, 0xFFFF, 0xFFFF };
    assert_error(publish_filter("new", 0, 5), 0);
    if (setxattr("new", "system.posix_acl_access", list, sizeof list, 0) != 0)
        skip("the file system has no access control lists");
    const struct faults faults = from_then_on(ON_fchown, 1, EPERM);
    faults_begin(&faults);
    assert_error(publish_filter("new", BLOOMFILE_TO_REPLACE, 10), 0);
    faults_end();
    assert_true(getxattr("new", "system.posix_acl_access", NULL, 0) < 0);
    struct stat status;
    assert_int_equal(stat("new", &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
}

static void make_anew(void)
{
    free(older.data);
    close_all();
    assert_int_equal(unlink("live"), 0);
    make_live("live", BLOOMFILE_LAYOUT_COUNTING);
    writer = opened("live", BLOOMFILE_OPEN_WRITE);
    reader = opened("live", 0);
}

/* Also in the middle of a commit, whose record then has the highest sequence. */
ALONE(copy_over_a_live_file_during_a_sync_is_detected)
{
    static const struct {
        enum fault_call call;
        unsigned nth;
    } moments[] = { { ON_fcntl64, 1 }, { ON_fcntl64, 2 }, { ON_pwrite64, 1 }, { ON_pwrite64, 2 },
                    { ON_msync, 1 },   { ON_msync, 2 },   { ON_unlock, 2 } };
    for (size_t i = 0; i < ROWS(moments); i++) {
        older = read_file("live");
        add_one();
        const int error = with_others(sync_writer, moments[i].call, moments[i].nth, copy_older);
        assert_true(error == 0 || error == BLOOMFILE_ECHANGED);
        assert_error(bloomfile_finish(writer), BLOOMFILE_ECHANGED);
        make_anew();
    }
}

static void copy_sealed(void)
{
    struct bytes bytes = read_file("sealed");
    write_file("live", bytes.data, bytes.size);
    free(bytes.data);
}

/* The record of the writer is not intact there. */
ALONE(sealed_file_that_is_copied_over_a_live_file_during_a_sync_stays_whole)
{
    assert_error(with_others(sync_writer, ON_pwrite64, 2, copy_sealed), BLOOMFILE_ECHANGED);
    assert_error(bloomfile_finish(writer), BLOOMFILE_ECHANGED);
    assert_error(bloomfile_open(&third, "live", BLOOMFILE_OPEN_WRITE), BLOOMFILE_ESEALED);
    assert_flawless(flaw_of_sealed_file("live"));
}

static int seal_writer(void)
{
    return bloomfile_seal(writer, NULL);
}

/* The writer writes its record over the copy. */
ALONE(copy_over_a_live_file_during_a_sync_is_detected_by_all_processes)
{
    static const struct {
        enum fault_call call;
        unsigned nth;
    } moments[] = { { ON_pwrite64, 1 }, { ON_pwrite64, 2 }, { ON_msync, 1 }, { ON_msync, 2 } };
    for (size_t i = 0; i < ROWS(moments); i++) {
        join_them();
        older = read_file("live");
        assert_error(bloomfile_add_digest(third, number(0, ABSENT), NULL), 0);
        assert_error(bloomfile_sync(third, NULL), 0);
        assert_error(bloomfile_check(reader), 0);
        const int error = with_others(sync_writer, moments[i].call, moments[i].nth, copy_older);
        assert_error(error, BLOOMFILE_ECHANGED);
        assert_error(bloomfile_finish(writer), BLOOMFILE_ECHANGED);
        if (moments[i].call == ON_msync) /* found before a write */
            assert_file_holds("live", older.data, older.size);
        assert_error(bloomfile_check(reader), BLOOMFILE_ECHANGED);
        assert_true(has_numbers(reader, ABSENT, ABSENT + 1));
        assert_error(bloomfile_sync(third, NULL), BLOOMFILE_ECHANGED);
        assert_error(bloomfile_rescue("made", third, 0), BLOOMFILE_ECHANGED);
        assert_error(bloomfile_finish(third), BLOOMFILE_ECHANGED);
        make_anew();
    }
}

/* The counts do not show it: some are unknown, and counters may fall. */
ALONE(copy_over_a_live_file_during_a_seal_is_detected_by_all_processes)
{
    static const struct {
        enum fault_call call;
        unsigned nth;
    } moments[] = { { ON_pwrite64, 1 }, { ON_pwrite64, 2 }, { ON_pwrite64, 3 }, { ON_msync, 1 },
                    { ON_msync, 2 },    { ON_msync, 3 },    { ON_madvise, 4 },  { ON_unlock, 1 } };
    for (size_t i = 0; i < ROWS(moments); i++) {
        change_record("live", slot_in_force("live"), RECORD_AT_flags, 4, RECORD_N_ESTIMATED);
        older = read_file("live");
        add_one();
        assert_error(bloomfile_check(reader), 0);
        const int error = with_others(seal_writer, moments[i].call, moments[i].nth, copy_older);
        assert_error(error, BLOOMFILE_ECHANGED);
        if (moments[i].call == ON_msync && moments[i].nth == 1) /* the body's: before a write */
            assert_file_holds("live", older.data, older.size);
        assert_error(bloomfile_check(writer), BLOOMFILE_ECHANGED);
        assert_true(has_numbers(writer, ABSENT, ABSENT + 1));
        assert_error(bloomfile_check(reader), BLOOMFILE_ECHANGED);
        assert_true(has_numbers(reader, ABSENT, ABSENT + 1));
        make_anew();
    }
}

/* The pages are dropped while the writer joins. */
ALONE(file_accepted_as_unclean_is_prefaulted_and_locked)
{
    static const unsigned flags[] = { BLOOMFILE_OPEN_PREFAULT, BLOOMFILE_OPEN_LOCK };
    const struct bytes in_use = read_file("live");
    for (size_t i = 0; i < ROWS(flags); i++) {
        close_all();
        write_file("live", in_use.data, in_use.size);
        change_record("live", slot_in_force("live"), RECORD_AT_flags, 4, RECORD_SYNC_BEGUN);
        writer = opened("live", BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ACCEPT_UNCLEAN | flags[i]);
        unsigned char resident[1024];
        const size_t pages = (writer->map.base_size + 4095) / 4096;
        assert_in_range(pages, 2, sizeof resident);
        assert_int_equal(mincore(writer->map.base, writer->map.base_size, resident), 0);
        for (size_t page = 0; page < pages; page++)
            assert_true(resident[page] & 1);
        assert_error(bloomfile_sync(writer, NULL), 0);
    }
    free(in_use.data);
}

/* Copies a filter that differs from this one in its identity alone. */
static void copy_twin(void)
{
    const struct bytes own = read_file("live");
    write_file("twin", own.data, own.size);
    for (unsigned slot = 0; slot < 2; slot++)
        change_record("twin", slot, RECORD_AT_identity, 8, 1);
    const struct bytes twin = read_file("twin");
    overwrite("live", 0, twin.data, twin.size);
    free(own.data);
    free(twin.data);
}

static int finish_writer(void)
{
    return bloomfile_finish(writer);
}

ALONE(other_filter_of_equal_sequence_copied_over_a_live_file_is_detected)
{
    static int (*const calls[])(void) = { sync_writer, finish_writer, seal_writer };
    for (size_t i = 0; i < ROWS(calls); i++) {
        assert_error(bloomfile_add_digest(writer, number(0, ABSENT), NULL), 0);
        assert_error(with_others(calls[i], ON_msync, 1, copy_twin), BLOOMFILE_ECHANGED);
        assert_true(has_numbers(writer, ABSENT, ABSENT + 1));
        assert_error(bloomfile_check(reader), BLOOMFILE_ECHANGED);
        assert_int_equal(unlink("twin"), 0);
        older = (struct bytes){ 0 };
        make_anew();
    }
}

int main(void)
{
    return run_all(NULL, NULL);
}
