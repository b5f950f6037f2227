/* SPDX-License-Identifier: MIT
 * The purpose of each msync(), and the state of the file when it fails (doc/format/live.md 6). */
#include "live_support.h"

#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "faults.h"
#include "format/bytes.h"
#include "format/header.h"

static bloomfile_filter *reader, *writer, *other;

static int begin(void **state)
{
    if (enter_temp_dir(state) != 0)
        return -1;
    make_live("filter", BLOOMFILE_LAYOUT_COUNTING);
    reader = opened("filter", 0);
    writer = opened("filter", BLOOMFILE_OPEN_WRITE);
    other = NULL;
    return 0;
}

static int end(void **state)
{
    bloomfile_close(other);
    bloomfile_close(writer);
    bloomfile_close(reader);
    return leave_temp_dir(state);
}

static int sync_writer(void)
{
    return bloomfile_sync(writer, NULL);
}

static int seal_writer(void)
{
    return bloomfile_seal(writer, NULL);
}

static int open_other(void)
{
    return bloomfile_open(&other, "filter", BLOOMFILE_OPEN_WRITE);
}

static int close_writer(void)
{
    bloomfile_close(writer);
    writer = NULL;
    return 0;
}

/* ---- the order of writes and msync() */

static unsigned writes_before[10], syncs;

static void watch_msync(enum fault_call call)
{
    if (call == ON_msync && syncs < ROWS(writes_before))
        writes_before[syncs++] = fault_calls(ON_pwrite64);
}

/* Asserts the number of records written before each msync(); no write may follow the last. */
static void assert_order(int (*run)(void), const unsigned *writes, unsigned count)
{
    syncs = 0;
    faults_begin(&(struct faults){ .at_each_call = watch_msync });
    int error = run();
    faults_end();
    assert_error(error, 0);
    assert_int_equal(syncs, count);
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(writes_before[i], writes[i]);
    assert_int_equal(fault_calls(ON_pwrite64), writes[count - 1]);
}

#define ASSERT_ORDER(run, ...)                                                                     \
    assert_order(run, (const unsigned[]){ __VA_ARGS__ },                                           \
                 sizeof((const unsigned[]){ __VA_ARGS__ }) / sizeof(unsigned))

#define ON_NEW_FILTER(test) TEST_WITH(test, begin, end)

/* L15, L16. */
ON_NEW_FILTER(body_is_synced_before_the_record_that_describes_it)
{
    ASSERT_ORDER(open_other, 0, 1);     /* first the writer's record, which may not be on disk */
    ASSERT_ORDER(sync_writer, 0, 1, 2); /* the other's record; a mark with the body */
    ASSERT_ORDER(sync_writer, 1, 2);
    ASSERT_ORDER(close_writer, 1); /* another writer continues */
    writer = other;
    other = NULL;
    ASSERT_ORDER(close_writer, 0, 1, 2);
}

ON_NEW_FILTER(sealing_syncs_body_and_first_record_and_second_record)
{
    ASSERT_ORDER(seal_writer, 1, 2, 3);
}

/* ---- poisoned or not, and the state of the file */

static void assert_poisons(int (*run)(void), unsigned nth, bool tells)
{
    faults_begin(&(struct faults){ .call = ON_msync, .nth = nth, .error = EIO });
    int error = run();
    faults_end();
    assert_error(error, tells ? EIO : 0);
    bloomfile_filter *const handles[] = { reader, writer, other };
    for (size_t i = 0; i < ROWS(handles); i++)
        if (handles[i] != NULL) {
            assert_flawless(flaw_of_doubtful(handles[i]));
            assert_flawless(flaw_of_rescued(handles[i]));
        }
    assert_flawless(flaw_of_poisoned_file("filter"));
    assert_int_equal(info_of_file("filter").state, BLOOMFILE_STATE_POISONED);
}

/* L17. */
ON_NEW_FILTER(failed_flush_of_the_body_poisons_a_sync)
{
    assert_poisons(sync_writer, 1, true);
}

ON_NEW_FILTER(failed_flush_of_the_record_poisons_a_sync)
{
    assert_poisons(sync_writer, 2, true);
}

ON_NEW_FILTER(failed_flush_of_the_record_poisons_a_join)
{
    assert_poisons(open_other, 1, true);
    assert_null(other);
}

ON_NEW_FILTER(failed_flush_of_the_body_poisons_the_last_close)
{
    assert_poisons(close_writer, 1, false);
}

ON_NEW_FILTER(failed_flush_of_the_record_poisons_the_last_close)
{
    assert_poisons(close_writer, 2, false);
}

ON_NEW_FILTER(failed_flush_of_the_record_poisons_a_close)
{
    assert_error(open_other(), 0);
    assert_poisons(close_writer, 1, false);
}

ON_NEW_FILTER(failed_flush_of_body_and_checksums_poisons_a_seal)
{
    assert_poisons(seal_writer, 1, true);
}

ON_NEW_FILTER(failed_flush_of_the_first_record_poisons_a_seal)
{
    assert_poisons(seal_writer, 2, true);
}

/* L25. */
ON_NEW_FILTER(failed_flush_of_the_second_record_does_not_poison_a_seal)
{
    faults_begin(&(struct faults){ .call = ON_msync, .nth = 3, .error = EIO });
    int error = bloomfile_seal(writer, NULL);
    faults_end();
    assert_error(error, EIO);
    assert_flawless(flaw_of_sound(writer));
    assert_flawless(flaw_of_sound(reader));
    assert_error(bloomfile_verify(writer, 1, NULL), 0);
    assert_error(bloomfile_add_digest(writer, number(0, 0), NULL), BLOOMFILE_ESEALED);
    assert_flawless(flaw_of_sealed_file("filter"));
}

/* L11. */
ON_NEW_FILTER(other_writers_leave_a_poisoned_file_poisoned)
{
    assert_error(open_other(), 0);
    add_digests_of(other, LIVE_KEYS, LIVE_KEYS + 50);
    assert_poisons(sync_writer, 1, true);
    struct bytes before = read_file("filter");
    assert_error(bloomfile_sync(other, NULL), BLOOMFILE_EPOISONED);
    close_writer();
    bloomfile_close(other);
    other = NULL;
    assert_file_holds("filter", before.data, before.size);
    free(before.data);
    assert_flawless(flaw_of_poisoned_file("filter"));
    assert_flawless(flaw_of_doubtful(reader));
}

ON_NEW_FILTER(rescued_file_has_the_last_added_keys)
{
    add_digests_of(writer, LIVE_KEYS, LIVE_KEYS + 50);
    assert_poisons(sync_writer, 1, true);
    assert_error(bloomfile_rescue("rescued", reader, 0), 0);
    assert_error(bloomfile_rescue("rescued", writer, 0), EEXIST);
    bloomfile_filter *rescued =
        opened("rescued", BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ACCEPT_UNCLEAN);
    assert_true(has_numbers(rescued, 0, LIVE_KEYS + 50));
    add_digests_of(rescued, 200, 210);
    assert_error(bloomfile_seal(rescued, NULL), 0);
    bloomfile_close(rescued);
    assert_flawless(flaw_of_sealed_file("rescued"));
}

/* L21. */
ON_NEW_FILTER(poisoning_changes_only_the_state_of_both_records)
{
    set_in_record("filter", slot_in_force("filter"), 100, 8, UINT64_MAX); /* reserved bytes */
    struct bytes before = read_file("filter");
    unsigned slot = slot_in_force("filter");
    uint8_t *old = record_at(before.data, slot);
    uint64_t order = get64(old + RECORD_AT_sequence);
    assert_poisons(sync_writer, 1, true);
    struct bytes after = read_file("filter");
    assert_int_equal(after.size, before.size);
    assert_int_equal(get64(record_at(after.data, slot) + RECORD_AT_sequence), order + 2);
    assert_int_equal(get64(record_at(after.data, 1 - slot) + RECORD_AT_sequence), order + 3);
    for (unsigned i = 0; i < 2; i++) {
        uint8_t *record = record_at(after.data, i);
        assert_int_equal(get32(record + RECORD_AT_state), BLOOMFILE_STATE_POISONED);
        assert_int_equal(get32(record + RECORD_AT_flags),
                         get32(old + RECORD_AT_flags) | RECORD_SYNC_BEGUN);
        memcpy(record, old, RECORD_AT_n); /* sequence, state, and flags */
        reseal_record(after.data, i);
        assert_memory_equal(record, old, IN_FILE / 4);
    }
    free(before.data);
    free(after.data);
}

ON_NEW_FILTER(readers_in_other_processes_see_the_poison)
{
    int ready[2], go[2];
    char byte;
    assert_int_equal(pipe(ready) | pipe(go), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(20);
        close(go[1]);
        bloomfile_filter *own;
        bool sound = bloomfile_open(&own, "filter", 0) == 0 && flaw_of_sound(own) == NULL &&
                     write(ready[1], "", 1) == 1 && read(go[0], &byte, 1) == 0;
        _exit(!sound || flaw_of_doubtful(own) != NULL);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_poisons(sync_writer, 2, true);
    close(ready[0]);
    close(go[0]);
    close(go[1]);
    assert_child_succeeds(child);
}

/* ---- two failures */

/* The kernel reports a failed write only once: the next msync() succeeds, and must not be
 * trusted. */
static void assert_doubts_after(int (*run)(void), struct faults faults, struct faults besides)
{
    faults.besides = &besides;
    faults_begin(&faults);
    int error = run();
    faults_end();
    assert_error(error, EIO);
    assert_flawless(flaw_of_doubtful(writer));
    assert_flawless(flaw_of_rescued(writer));
    assert_error(bloomfile_finish(writer), BLOOMFILE_EPOISONED);
    assert_flawless(flaw_of_poisoned_file("filter"));
    assert_flawless(flaw_of_doubtful(reader));
}

/* L17. */
ON_NEW_FILTER(failed_poisoning_is_written_at_close)
{
    assert_doubts_after(sync_writer, once(ON_msync, 1, EIO), from_then_on(ON_pwrite64, 2, EIO));
}

ON_NEW_FILTER(failed_poisoning_after_a_lost_record_is_written_at_close)
{
    assert_doubts_after(sync_writer, once(ON_msync, 2, EIO), from_then_on(ON_pwrite64, 3, EIO));
}

ON_NEW_FILTER(poisoning_of_a_sealer_is_written_at_close)
{
    assert_doubts_after(seal_writer, once(ON_msync, 1, EIO), from_then_on(ON_pwrite64, 2, EIO));
}

ON_NEW_FILTER(poison_that_cannot_be_synced_is_seen_by_all_processes)
{
    assert_doubts_after(sync_writer, from_then_on(ON_msync, 1, EIO), (struct faults){ 0 });
}

ON_NEW_FILTER(failed_body_write_is_remembered_if_the_lock_fails)
{
    assert_doubts_after(sync_writer, once(ON_msync, 1, EIO), once(ON_fcntl64, 3, ENOLCK));
}

int main(void)
{
    return run_all(NULL, NULL);
}
