/* SPDX-License-Identifier: MIT
 * Commits: each overwrites the record that is not in force, so a torn or damaged write leaves
 * the other record in force. Unknown fields are kept. */
#include "live_support.h"

#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "faults.h"
#include "format/bytes.h"
#include "format/header.h"
#include "interleave.h"
#include "live/records.h"
#include "os/host.h"

#define RECORD_SIZE (IN_FILE / 4)

static int begin(void **state)
{
    if (enter_temp_dir(state) != 0)
        return -1;
    make_live("filter", BLOOMFILE_LAYOUT_BLOCKED);
    return 0;
}

/* ---- the first two records */

#define ON_NEW_FILTER(test) TEST_WITH(test, begin, leave_temp_dir)

/* L9, and the record of its first writer. */
ON_NEW_FILTER(new_file_has_one_record_without_writers)
{
    bloomfile_filter *f;
    struct bloomfile_params params = live_params(BLOOMFILE_LAYOUT_BLOCKED);
    assert_error(bloomfile_create(&f, "new", &params, 0), 0);
    const int fd = open("new", O_RDONLY | O_CLOEXEC);
    bool apart;
    assert_int_equal(filesystem_links_apart(fd, &apart), 0);
    close(fd);
    if (apart) { /* there, the creator had to open it by its name and to join */
        bloomfile_close(f);
        skip("the file system links no open files");
    }
    struct bytes image = read_file("new");
    uint8_t first[RECORD_SIZE] = { 0 };
    const uint8_t *record = record_at(image.data, 0);
    put64(first + RECORD_AT_sequence, 1);
    put32(first + RECORD_AT_state, BLOOMFILE_STATE_LIVE);
    memcpy(first + RECORD_AT_header_crc, image.data + IN_FILE / 2 - 4, 4);
    static const uint8_t none[16];
    assert_memory_not_equal(record + RECORD_AT_identity, none, sizeof none);
    memcpy(first + RECORD_AT_identity, record + RECORD_AT_identity, sizeof none);
    memcpy(first + RECORD_SIZE - 4, record + RECORD_SIZE - 4, 4);
    assert_memory_equal(record, first, sizeof first);
    assert_int_equal(get64(record_at(image.data, 1) + RECORD_AT_sequence), 2);
    free(image.data);
    bloomfile_close(f);
}

static char steps[100]; /* of the creation */

static void note_step(enum fault_call call)
{
    const char step = call == ON_fallocate64                      ? 'a'
                      : call == ON_pwrite64                       ? 'w'
                      : call == ON_fsync || call == ON_fdatasync  ? 's'
                      : call == ON_linkat || call == ON_renameat2 ? 'n'
                                                                  : 0;
    const size_t size = strlen(steps);
    if (step != 0 && size < sizeof steps - 1 && (size == 0 || steps[size - 1] != step))
        steps[size] = step;
}

/* L9. */
ON_NEW_FILTER(file_is_synced_before_its_link_and_the_directory_after)
{
    bloomfile_filter *f;
    struct bloomfile_params params = live_params(BLOOMFILE_LAYOUT_BLOCKED);
    faults_begin(&(struct faults){ .at_each_call = note_step });
    const int error = bloomfile_create(&f, "new", &params, 0);
    faults_end();
    assert_error(error, 0);
    assert_memory_equal(steps, "awsns", 5); /* allocate, write, sync, name, sync */
    bloomfile_close(f);
}

/* ---- a commit that is cut short, or damaged */

static off_t place_of(unsigned slot)
{
    return IN_FILE / 2 + (off_t)slot * RECORD_SIZE;
}

/* "torn": a file as before a commit, except for the record that was being written. */
struct torn {
    const uint8_t *old, *new; /* the record */
    struct bloomfile_info old_info, new_info;
    unsigned slot;
    int fd;
};

static void assert_as_in(const struct bloomfile_info *info, const struct bloomfile_info *expected)
{
    assert_int_equal(info->state, expected->state);
    assert_int_equal(info->sequence, expected->sequence);
    assert_int_equal(info->keys, expected->keys);
    assert_int_equal(info->ones, expected->ones);
    assert_int_equal(info->writers, expected->writers);
    assert_memory_equal(info->boot_id, expected->boot_id, sizeof info->boot_id);
}

static void assert_in_force(const struct torn *torn, const uint8_t *record)
{
    assert_int_equal(pwrite(torn->fd, record, RECORD_SIZE, place_of(torn->slot)), RECORD_SIZE);
    bool whole = memcmp(record, torn->new, RECORD_SIZE) == 0;
    bloomfile_filter *f;
    if (get32(record + RECORD_AT_state) ==
        BLOOMFILE_STATE_POISONED) { /* with any other error in it */
        assert_error(bloomfile_open(&f, "torn", 0), BLOOMFILE_EPOISONED);
        return;
    }
    f = opened("torn", BLOOMFILE_OPEN_ACCEPT_UNCLEAN); /* its mark of a sync is abandoned by now */
    struct bloomfile_info info = info_of(f);
    assert_as_in(&info, whole ? &torn->new_info : &torn->old_info);
    assert_true(bloomfile_contains_digest(f, number(0, 0)));
    bloomfile_close(f);
}

static void assert_every_prefix_and_suffix(const struct torn *torn)
{
    uint8_t record[RECORD_SIZE];
    for (unsigned cut = 0; cut <= RECORD_SIZE; cut++) {
        memcpy(record, torn->new, cut);
        memcpy(record + cut, torn->old + cut, RECORD_SIZE - cut);
        assert_in_force(torn, record);
        memcpy(record, torn->old, cut);
        memcpy(record + cut, torn->new + cut, RECORD_SIZE - cut);
        assert_in_force(torn, record);
    }
}

static void assert_every_damaged_bit(const struct torn *torn)
{
    uint8_t record[RECORD_SIZE];
    memcpy(record, torn->new, RECORD_SIZE);
    for (unsigned bit = 0; bit < 8 * RECORD_SIZE; bit++) {
        record[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_in_force(torn, record);
        record[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

static void assert_writer_goes_on(const struct torn *torn)
{
    uint8_t record[RECORD_SIZE];
    memcpy(record, torn->new, RECORD_SIZE / 2);
    memset(record + RECORD_SIZE / 2, 0xA5, RECORD_SIZE / 2);
    assert_in_force(torn, record);
    bloomfile_filter *f = opened("torn", BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ACCEPT_UNCLEAN);
    assert_int_equal(info_of(f).sequence, torn->old_info.sequence + 1);
    assert_error(bloomfile_finish(f), 0);
    bloomfile_close(f);
    assert_flawless(flaw_of_live_file("torn"));
}

/* `before` and `after` are the file before and after one commit. Asserts that only the slot not
 * in force changed, that its sequence is the next, and that a reader needs the whole record. */
static void assert_atomic(struct bytes before, struct bytes after)
{
    struct torn torn = { .old_info = BLOOMFILE_INFO_INIT, .new_info = BLOOMFILE_INFO_INIT };
    assert_error(bloomfile_inspect(before.data, before.size, &torn.old_info, NULL, NULL), 0);
    assert_error(bloomfile_inspect(after.data, after.size, &torn.new_info, NULL, NULL), 0);
    torn.slot = get64(record_at(after.data, 1)) == torn.new_info.sequence;
    torn.old = record_at(before.data, torn.slot);
    torn.new = record_at(after.data, torn.slot);
    assert_int_equal(torn.new_info.sequence, torn.old_info.sequence + 1);
    assert_int_equal(get64(record_at(before.data, 1 - torn.slot)), torn.old_info.sequence);
    assert_memory_equal(record_at(before.data, 1 - torn.slot), record_at(after.data, 1 - torn.slot),
                        RECORD_SIZE);
    assert_memory_equal(before.data, after.data, IN_FILE / 2);

    write_file("torn", before.data, before.size);
    torn.fd = open("torn", O_RDWR);
    assert_true(torn.fd >= 0);
    assert_every_prefix_and_suffix(&torn);
    assert_every_damaged_bit(&torn);
    assert_writer_goes_on(&torn);
    close(torn.fd);
    assert_int_equal(unlink("torn"), 0);
}

/* The file before and after each write of a record. */
static struct bytes before_write[4], after_write[4];
static unsigned writes, slots_written;

static void watch_writes(enum fault_call call)
{
    if (call == ON_pwrite64) {
        slots_written |= 2u >> slot_in_force("filter");
        before_write[writes] = read_file("filter");
    } else if (call == ON_msync && before_write[writes].data != NULL) {
        after_write[writes++] = read_file("filter");
    }
}

/* L10. The commits of a sync and of the last writer to leave: one to each slot. */
ON_NEW_FILTER(torn_commit_leaves_the_previous_record_in_force)
{
    static int (*const runs[])(bloomfile_filter * f) = { sync_filter, bloomfile_finish };
    for (size_t r = 0; r < ROWS(runs); r++) {
        bloomfile_filter *f = opened("filter", BLOOMFILE_OPEN_WRITE);
        add_digests_of(f, 1000 + 20 * r, 1020 + 20 * r);
        writes = slots_written = 0;
        faults_begin(&(struct faults){ .at_each_call = watch_writes });
        int error = runs[r](f);
        faults_end();
        assert_error(error, 0);
        assert_int_equal(writes, 2);
        assert_int_equal(slots_written, 3);
        bloomfile_close(f);
        for (unsigned i = 0; i < writes; i++) {
            assert_atomic(before_write[i], after_write[i]);
            free(before_write[i].data);
            free(after_write[i].data);
            before_write[i].data = NULL;
        }
    }
}

/* The commit that joins; record 1 is all zeros before it. */
ON_NEW_FILTER(torn_first_commit_leaves_the_file_as_created)
{
    bloomfile_filter *f = opened("filter", 0);
    assert_error(bloomfile_rescue("new", f, 0), 0);
    bloomfile_close(f);
    struct bytes before = read_file("new");
    for (unsigned i = 0; i < RECORD_SIZE; i++)
        assert_int_equal(record_at(before.data, 1)[i], 0);
    f = opened("new", BLOOMFILE_OPEN_WRITE);
    struct bytes after = read_file("new");
    assert_atomic(before, after);
    bloomfile_close(f);
    free(before.data);
    free(after.data);
}

ON_NEW_FILTER(both_records_damaged_are_refused)
{
    struct bytes bytes = read_file("filter");
    record_at(bytes.data, 0)[RECORD_AT_n] ^= 1;
    record_at(bytes.data, 1)[RECORD_AT_n] ^= 1;
    write_file("filter", bytes.data, bytes.size);
    static const unsigned flags[] = { 0, BLOOMFILE_OPEN_WRITE,
                                      BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ACCEPT_UNCLEAN };
    bloomfile_filter *f;
    for (size_t i = 0; i < ROWS(flags); i++)
        assert_error(bloomfile_open(&f, "filter", flags[i]), BLOOMFILE_ERECORD);
    assert_file_holds("filter", bytes.data, bytes.size);
    free(bytes.data);
}

/* A writer remembers the sequence of its own record, and need not read it again. */
ON_NEW_FILTER(record_older_than_the_writer_s_own_is_reported_as_a_change)
{
    bloomfile_filter *f = opened("filter", BLOOMFILE_OPEN_WRITE);
    const struct bytes before = read_file("filter");
    assert_error(bloomfile_finish(f), 0);
    overwrite("filter", 0, before.data, IN_FILE);
    assert_error(bloomfile_check(f), BLOOMFILE_ECHANGED);
    bloomfile_close(f);
    free(before.data);
}

static void overwrite_identity(uint8_t *image, unsigned slot, uint8_t byte)
{
    memset(record_at(image, slot) + RECORD_AT_identity, byte, sizeof(bytes16));
    reseal_record(image, slot);
}

/* R11, and section 6 under byte 1. If another file was copied over this file while a record was
 * written, one record of this file may remain. */
ON_NEW_FILTER(record_of_another_file_in_either_slot_is_a_change)
{
    static const unsigned flags[] = { 0, BLOOMFILE_OPEN_WRITE };
    for (unsigned i = 0; i < 3 * ROWS(flags); i++) {
        bloomfile_filter *f = opened("filter", flags[i / 3]);
        struct bytes now = read_file("filter");
        const struct bytes before = read_file("filter");
        const unsigned in_force = slot_in_force("filter");
        for (unsigned slot = 0; slot < 2; slot++)
            if (i % 3 == 2 || slot == (i % 3 ? in_force : 1 - in_force))
                overwrite_identity(now.data, slot, 0x77);
        overwrite("filter", 0, now.data, IN_FILE);
        assert_error(bloomfile_check(f), BLOOMFILE_ECHANGED);
        assert_error(bloomfile_sync(f, NULL),
                     flags[i / 3] != 0 ? BLOOMFILE_ECHANGED : BLOOMFILE_EREADONLY);
        assert_true(bloomfile_contains_digest(f, number(0, 1ull << 40))); /* maybe */
        bloomfile_close(f);
        assert_file_holds("filter", now.data, now.size); /* of another filter by now */
        write_file("filter", before.data, before.size);
        if (flags[i / 3] != 0) { /* the first writer could not leave */
            f = opened("filter", BLOOMFILE_OPEN_WRITE);
            bloomfile_close(f);
        }
        free(now.data);
        free(before.data);
    }
}

/* L9, L11, L24 and rescue. */
ON_NEW_FILTER(all_records_of_a_file_keep_its_identity)
{
    static const uint8_t none[16];
    bloomfile_filter *f = opened("filter", BLOOMFILE_OPEN_WRITE);
    const struct bloomfile_info first = info_of(f);
    assert_memory_not_equal(first.identity, none, sizeof none);
    assert_error(bloomfile_sync(f, NULL), 0);
    assert_error(bloomfile_rescue("rescued", f, 0), 0);
    bloomfile_close(f);
    assert_memory_equal(info_of_file("filter").identity, first.identity, sizeof none);
    const struct bloomfile_info rescued = info_of_file("rescued");
    assert_memory_not_equal(rescued.identity, none, sizeof none);
    assert_memory_not_equal(rescued.identity, first.identity, sizeof none);
    f = opened("filter", BLOOMFILE_OPEN_WRITE);
    assert_memory_equal(info_of(f).identity, first.identity, sizeof none);
    assert_error(bloomfile_copy_sealed(TO_PATH("sealed", 0), f, NULL), 0);
    assert_error(bloomfile_seal(f, NULL), 0);
    bloomfile_close(f);
    assert_memory_equal(info_of_file("filter").identity, none, sizeof none);
    assert_memory_equal(info_of_file("sealed").identity, none, sizeof none);
}

/* ---- the watermark */

static const uint8_t first_mark[BLOOMFILE_WATERMARK_SIZE] = "19442107";
static const uint8_t second_mark[BLOOMFILE_WATERMARK_SIZE] = { [0] = 1, [31] = 0xFF };

static void assert_mark(const char *path, const uint8_t *mark)
{
    assert_memory_equal(info_of_file(path).watermark, mark, BLOOMFILE_WATERMARK_SIZE);
}

/* L23, L11, and section 6 of operations.md. */
ON_NEW_FILTER(the_last_watermark_stays_until_a_sync_changes_it)
{
    static const uint8_t none[BLOOMFILE_WATERMARK_SIZE];
    assert_mark("filter", none);
    bloomfile_filter *f = opened("filter", BLOOMFILE_OPEN_WRITE);
    assert_error(bloomfile_sync(f, second_mark), 0);
    assert_error(bloomfile_sync(f, first_mark), 0);
    assert_memory_equal(info_of(f).watermark, first_mark, sizeof first_mark);
    add_digests_of(f, 2000, 2010);
    assert_error(bloomfile_sync(f, NULL), 0);
    assert_mark("filter", first_mark);
    assert_error(bloomfile_rescue("rescued", f, 0), 0);
    bloomfile_close(f);
    assert_mark("filter", first_mark);
    assert_mark("rescued", first_mark);
    f = opened("filter", 0);
    assert_error(bloomfile_sync(f, second_mark), BLOOMFILE_EREADONLY);
    assert_error(bloomfile_copy_sealed(TO_PATH("sealed", 0), f, NULL), 0);
    bloomfile_close(f);
    assert_mark("sealed", first_mark);
    f = opened("sealed", 0);
    assert_error(bloomfile_fold(TO_PATH("folded", 0), f, 1, NULL), 0);
    assert_error(
        bloomfile_merge(TO_PATH("united", 0), (const bloomfile_filter *const[]){ f }, 1, NULL), 0);
    struct bloomfile_metadata metadata = BLOOMFILE_METADATA_INIT;
    struct bloomfile_merge_params params = BLOOMFILE_MERGE_PARAMS_INIT;
    metadata.watermark = second_mark;
    params.metadata = &metadata;
    assert_error(
        bloomfile_merge(TO_PATH("marked", 0), (const bloomfile_filter *const[]){ f }, 1, &params),
        0);
    bloomfile_close(f);
    assert_mark("folded", first_mark);
    assert_mark("united", none);
    assert_mark("marked", second_mark);
    f = opened("filter", BLOOMFILE_OPEN_WRITE);
    assert_error(bloomfile_sync(f, second_mark), 0);
    assert_error(bloomfile_seal(f, NULL), 0);
    bloomfile_close(f);
    assert_mark("filter", second_mark);
}

/* L23, L24. */
ON_NEW_FILTER(seal_in_place_records_a_new_watermark)
{
    bloomfile_filter *f = opened("filter", BLOOMFILE_OPEN_WRITE),
                     *other = opened("filter", BLOOMFILE_OPEN_WRITE);
    assert_error(bloomfile_sync(f, first_mark), 0);
    assert_error(bloomfile_seal(f, second_mark), EBUSY);
    assert_mark("filter", first_mark);
    bloomfile_close(other);
    assert_error(bloomfile_seal(f, second_mark), 0);
    assert_memory_equal(info_of(f).watermark, second_mark, sizeof second_mark);
    assert_error(bloomfile_seal(f, first_mark), BLOOMFILE_ESEALED);
    bloomfile_close(f);
    assert_mark("filter", second_mark);
}

ON_NEW_FILTER(a_watermark_can_be_given_at_creation)
{
    bloomfile_filter *f;
    struct bloomfile_params params = live_params(BLOOMFILE_LAYOUT_BLOCKED);
    memcpy(params.watermark, first_mark, sizeof first_mark);
    assert_error(bloomfile_create(&f, "new", &params, 0), 0);
    bloomfile_close(f);
    assert_mark("new", first_mark);
}

/* Whether the body was flushed, and whether the record with the mark was written before that. */
static bool body_is_flushed, mark_came_early;

static void watch_mark(enum fault_call call)
{
    struct bytes bytes = read_file("filter");
    const uint8_t *record = record_at(bytes.data, slot_in_force("filter"));
    const bool marked = memcmp(record + RECORD_AT_watermark, second_mark, sizeof second_mark) == 0;
    mark_came_early |= marked && !body_is_flushed;
    const bool begun = (get32(record + RECORD_AT_flags) & RECORD_SYNC_BEGUN) != 0;
    body_is_flushed |= call == ON_msync && begun; /* applies to the next call */
    free(bytes.data);
}

/* L23: checked at each call that may fail or at which the process may die. */
ON_NEW_FILTER(the_watermark_is_recorded_after_the_body_is_on_disk)
{
    bloomfile_filter *f = opened("filter", BLOOMFILE_OPEN_WRITE);
    assert_error(bloomfile_sync(f, first_mark), 0);
    for (unsigned nth = 1;; nth++) {
        add_digests_of(f, 3000 + nth, 3001 + nth);
        body_is_flushed = mark_came_early = false;
        struct faults faults = once(ON_pwrite64, nth, EIO);
        faults.at_each_call = watch_mark;
        faults_begin(&faults);
        const int error = bloomfile_sync(f, second_mark);
        faults_end();
        assert_false(mark_came_early);
        assert_mark("filter", error != 0 ? first_mark : second_mark);
        if (error == 0)
            break;
        assert_error(error, EIO);
    }
    assert_true(body_is_flushed);
    bloomfile_close(f);
}

/* ---- on disk */

static unsigned flushes_to_make_durable(const bloomfile_filter *f)
{
    faults_begin(&(struct faults){ 0 });
    int error = live_make_durable(f);
    faults_end();
    assert_error(error, 0);
    return fault_calls(ON_msync);
}

/* L10. The other writer may be killed before it flushes its record. */
ON_NEW_FILTER(record_of_another_writer_is_flushed_once)
{
    bloomfile_filter *f = opened("filter", BLOOMFILE_OPEN_WRITE);
    assert_int_equal(flushes_to_make_durable(f), 0);
    for (unsigned i = 0; i < 3; i++) {
        const unsigned slot = slot_in_force("filter");
        const uint64_t sequence = info_of_file("filter").sequence;
        const struct bytes bytes = read_file("filter");
        overwrite("filter", place_of(1 - slot), record_at(bytes.data, slot), RECORD_SIZE);
        change_record("filter", 1 - slot, RECORD_AT_sequence, 8, sequence + 1);
        free(bytes.data);
        assert_int_equal(flushes_to_make_durable(f), 1);
        assert_int_equal(flushes_to_make_durable(f), 0);
    }
    bloomfile_close(f);
}

/* ---- the last sequences */

ON_NEW_FILTER(writer_at_the_last_sequence_fails_and_changes_nothing)
{
    set_in_record("filter", slot_in_force("filter"), RECORD_AT_sequence, 8, UINT64_MAX - 3);
    struct bytes before = read_file("filter");
    bloomfile_filter *f;
    assert_error(bloomfile_open(&f, "filter", BLOOMFILE_OPEN_WRITE), EOVERFLOW);
    assert_null(f);
    assert_file_holds("filter", before.data, before.size);
    f = opened("filter", 0);
    assert_flawless(flaw_of_sound(f));
    assert_int_equal(info_of(f).sequence, UINT64_MAX - 3);
    assert_error(bloomfile_copy_sealed(TO_PATH("sealed", 0), f, NULL), 0);
    bloomfile_close(f);
    assert_flawless(flaw_of_sealed_file("sealed"));
    free(before.data);
}

ON_NEW_FILTER(writer_with_one_sequence_left_can_add_but_not_sync_or_seal)
{
    set_in_record("filter", slot_in_force("filter"), RECORD_AT_sequence, 8, UINT64_MAX - 4);
    bloomfile_filter *f = opened("filter", BLOOMFILE_OPEN_WRITE);
    add_digests_of(f, 1000, 1020);
    struct bytes before = read_file("filter");
    assert_error(bloomfile_sync(f, NULL), EOVERFLOW);
    assert_file_holds("filter", before.data, before.size);
    assert_flawless(flaw_of_sound(f));
    assert_int_equal(info_of(f).keys, LIVE_KEYS + 20);
    add_digests_of(f, 1020, 1021);
    assert_error(bloomfile_seal(f, NULL), EOVERFLOW);
    assert_error(bloomfile_finish(f), EOVERFLOW);
    assert_error(bloomfile_copy_sealed(TO_PATH("sealed", 0), f, NULL), 0);
    assert_true(has_numbers(f, 1000, 1021));
    bloomfile_close(f);
    assert_flawless(flaw_of_sealed_file("sealed"));
    assert_int_equal(info_of_file("sealed").keys_estimated, 1);
    free(before.data);
}

/* A process that begins a sync must be able to end it. */
ON_NEW_FILTER(sync_with_two_sequences_left_writes_no_mark)
{
    set_in_record("filter", slot_in_force("filter"), RECORD_AT_sequence, 8, UINT64_MAX - 5);
    bloomfile_filter *f = opened("filter", BLOOMFILE_OPEN_WRITE);
    struct bytes before = read_file("filter");
    assert_error(bloomfile_sync(f, NULL), EOVERFLOW);
    assert_file_holds("filter", before.data, before.size);
    bloomfile_close(f);
    free(before.data);
    assert_int_equal(unlink("filter"), 0);
    make_live("filter", BLOOMFILE_LAYOUT_BLOCKED);
    set_in_record("filter", slot_in_force("filter"), RECORD_AT_sequence, 8, UINT64_MAX - 6);
    f = opened("filter", BLOOMFILE_OPEN_WRITE);
    assert_error(bloomfile_sync(f, NULL), 0);
    assert_int_equal(info_of_file("filter").sequence, UINT64_MAX - 3);
    bloomfile_close(f);
}

ON_NEW_FILTER(writer_that_cannot_record_its_leaving_loses_no_key)
{
    set_in_record("filter", slot_in_force("filter"), RECORD_AT_sequence, 8, UINT64_MAX - 4);
    bloomfile_filter *f = opened("filter", BLOOMFILE_OPEN_WRITE);
    add_digests_of(f, 1000, 1020);
    bloomfile_close(f);
    assert_int_equal(info_of_file("filter").sequence, UINT64_MAX - 3);
    f = opened("filter", 0);
    assert_flawless(flaw_of_sound(f));
    assert_true(has_numbers(f, 1000, 1020));
    bloomfile_close(f);
}

static void assert_poisoned_twice(uint64_t after)
{
    struct bytes bytes = read_file("filter");
    for (unsigned slot = 0; slot < 2; slot++) {
        const uint8_t *record = record_at(bytes.data, slot);
        assert_int_equal(get32(record + RECORD_AT_state), BLOOMFILE_STATE_POISONED);
        assert_true(get64(record) == after + 1 || get64(record) == after + 2);
    }
    free(bytes.data);
    assert_flawless(flaw_of_poisoned_file("filter"));
}

ON_NEW_FILTER(syncs_leave_two_sequences_for_poisoning)
{
    for (unsigned left = 4; left < 9; left++) {
        if (left > 4) {
            unlink("filter");
            make_live("filter", BLOOMFILE_LAYOUT_BLOCKED);
        }
        set_in_record("filter", slot_in_force("filter"), RECORD_AT_sequence, 8, UINT64_MAX - left);
        bloomfile_filter *writer = opened("filter", BLOOMFILE_OPEN_WRITE),
                         *reader = opened("filter", 0);
        while (bloomfile_sync(writer, NULL) == 0)
            ;
        const uint64_t last = info_of_file("filter").sequence;
        faults_begin(&(struct faults){ .call = ON_fdatasync, .nth = 1, .error = EIO });
        int error = bloomfile_copy_sealed(TO_PATH("sealed", 0), reader, NULL);
        faults_end();
        assert_error(error, EIO);
        assert_poisoned_twice(last);
        bloomfile_close(reader);
        bloomfile_close(writer);
    }
}

/* ---- unknown fields are kept */

#define UNKNOWN_FLAGS 0xFFFFFFFCu

static bool is_reserved(unsigned at)
{
    return at > RECORD_AT_writers &&
           (at < RECORD_AT_watermark || at >= RECORD_AT_watermark + sizeof(bytes32)) &&
           (at < RECORD_AT_identity || at >= RECORD_AT_identity + sizeof(bytes16));
}

static void fill_what_is_unknown(void)
{
    unsigned slot = slot_in_force("filter");
    for (unsigned at = 0; at < RECORD_SIZE - 4; at += 4)
        if (is_reserved(at))
            set_in_record("filter", slot, at, 4, 0x51000000u + at);
    set_in_record("filter", slot, RECORD_AT_flags, 4, UNKNOWN_FLAGS);
}

static void assert_unknown_kept(const char *path, unsigned slot, uint32_t known)
{
    struct bytes bytes = read_file(path);
    const uint8_t *record = record_at(bytes.data, slot);
    assert_int_equal(get32(record + RECORD_AT_flags), UNKNOWN_FLAGS | known);
    for (unsigned at = 0; at < RECORD_SIZE - 4; at += 4)
        if (is_reserved(at))
            assert_int_equal(get32(record + at), 0x51000000u + at);
    free(bytes.data);
}

static void assert_unknown_not_copied(const char *path, uint32_t flag_0)
{
    struct bytes bytes = read_file(path);
    const uint8_t *record = record_at(bytes.data, 0);
    assert_int_equal(get32(record + RECORD_AT_flags), flag_0);
    for (unsigned at = 0; at < RECORD_SIZE - 4; at += 4)
        if (is_reserved(at))
            assert_int_equal(get32(record + at), 0);
    free(bytes.data);
}

/* L11. */
ON_NEW_FILTER(commits_keep_unknown_fields)
{
    fill_what_is_unknown();
    bloomfile_filter *f = opened("filter", BLOOMFILE_OPEN_WRITE);
    assert_unknown_kept("filter", slot_in_force("filter"), 0);
    for (unsigned i = 0; i < 3; i++) {
        assert_error(bloomfile_sync(f, NULL), 0);
        assert_unknown_kept("filter", slot_in_force("filter"), 0);
    }
    bloomfile_close(f);
    assert_unknown_kept("filter", slot_in_force("filter"), 0);
    assert_unknown_kept("filter", 1 - slot_in_force("filter"), RECORD_SYNC_BEGUN);
}

/* It has a meaning only in layers; there it is always kept. */
ON_NEW_FILTER(commit_outside_of_a_series_does_not_copy_the_successor_bit)
{
    set_in_record("filter", 1 - slot_in_force("filter"), RECORD_AT_flags, 4, RECORD_SUCCEEDED);
    bloomfile_filter *f = opened("filter", BLOOMFILE_OPEN_WRITE);
    struct bytes bytes = read_file("filter");
    const uint8_t *record = record_at(bytes.data, slot_in_force("filter"));
    assert_int_equal(get32(record + RECORD_AT_flags), 0);
    free(bytes.data);
    bloomfile_close(f);
}

/* L11, L24. */
ON_NEW_FILTER(sealing_in_place_keeps_unknown_fields)
{
    fill_what_is_unknown();
    bloomfile_filter *f = opened("filter", BLOOMFILE_OPEN_WRITE);
    assert_error(bloomfile_seal(f, NULL), 0);
    bloomfile_close(f);
    assert_flawless(flaw_of_sealed_file("filter"));
    assert_unknown_kept("filter", 0, 0);
    assert_unknown_kept("filter", 1, 0);
}

ON_NEW_FILTER(copies_and_rescues_drop_unknown_fields)
{
    fill_what_is_unknown();
    bloomfile_filter *f = opened("filter", 0);
    assert_error(bloomfile_copy_sealed(TO_PATH("sealed", 0), f, NULL), 0);
    assert_error(bloomfile_rescue("rescued", f, 0), 0);
    bloomfile_close(f);
    assert_unknown_not_copied("sealed", 0);
    assert_unknown_not_copied("rescued", RECORD_N_ESTIMATED);
}

int main(void)
{
    return run_all(NULL, NULL);
}
