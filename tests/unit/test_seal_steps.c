/* SPDX-License-Identifier: MIT
 * Sealing in place that is interrupted at every system call. Every record is written in pieces,
 * because a crash may leave any prefix of it (doc/format/live.md 7). */
#include "live_support.h"

#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faults.h"
#include "format/bytes.h"
#include "format/header.h"

#define RECORD_SIZE (IN_FILE / 4)
#define PIECE       64
#define PIECES      (RECORD_SIZE / PIECE)
#define ADDED       20 /* keys beyond LIVE_KEYS that the sealer adds first */

static const uint32_t layouts[] = { BLOOMFILE_LAYOUT_BLOCKED, BLOOMFILE_LAYOUT_CLASSIC,
                                    BLOOMFILE_LAYOUT_COUNTING };

/* Fills the reserved bytes of the record in force, from which sealing makes both records. The
 * other record's stay zero. */
static void fill_reserved(void)
{
    int fd = open("filter", O_RDWR);
    struct bytes bytes = read_file("filter");
    unsigned slot = slot_in_force("filter");
    uint8_t *record = record_at(bytes.data, slot);
    for (unsigned at = RECORD_AT_identity + 16; at < RECORD_SIZE - 4; at++)
        record[at] = (uint8_t)(0xA5 + at);
    reseal_record(bytes.data, slot);
    if (pwrite(fd, record, RECORD_SIZE, record - bytes.data) != RECORD_SIZE)
        abort();
    close(fd);
    free(bytes.data);
}

/* ---- interruption */

static unsigned calls_left, pieces_written;

static void die_at_last_call(enum fault_call call)
{
    if (--calls_left == 0)
        _exit((int)fault_calls(ON_pwrite64));
}

enum {
    FAILED = 200, /* exit statuses; smaller numbers count the pieces written */
    COMPLETE = 201
};

/* Seals the file in a child that dies at the nth call. */
static int seal_and_die_at(unsigned nth)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(20);
        bloomfile_filter *f;
        if (bloomfile_open(&f, "filter", BLOOMFILE_OPEN_WRITE) != 0)
            _exit(FAILED);
        for (uint64_t i = LIVE_KEYS; i < LIVE_KEYS + ADDED; i++)
            if (bloomfile_add_digest(f, number(0, i), NULL) != 0)
                _exit(FAILED);
        fill_reserved();
        calls_left = nth;
        faults_begin(
            &(struct faults){ .at_each_call = die_at_last_call, .transfer_at_most = PIECE });
        int error = bloomfile_seal(f, NULL);
        faults_end();
        _exit(error == 0 ? COMPLETE : FAILED);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) != FAILED);
    return WEXITSTATUS(status);
}

static void assert_sealed_whole(void)
{
    assert_flawless(flaw_of_sealed_file("filter"));
    bloomfile_filter *f = opened("filter", BLOOMFILE_OPEN_VERIFY_FULL);
    assert_true(has_numbers(f, 0, LIVE_KEYS + ADDED));
    assert_error(bloomfile_verify(f, 1, NULL), 0);
    bloomfile_close(f);
}

/* unclean: an abandoned sync left its mark. */
static void assert_live_and_can_be_sealed(bool unclean)
{
    bloomfile_filter *f;
    const unsigned accepting = unclean ? BLOOMFILE_OPEN_ACCEPT_UNCLEAN : 0;
    if (unclean) {
        assert_error(bloomfile_open(&f, "filter", 0), BLOOMFILE_EUNCLEAN);
        assert_error(bloomfile_open(&f, "filter", BLOOMFILE_OPEN_WRITE), BLOOMFILE_EUNCLEAN);
    }
    f = opened("filter", accepting);
    assert_int_equal(info_of(f).state, BLOOMFILE_STATE_LIVE);
    assert_true(has_numbers(f, 0, LIVE_KEYS + ADDED));
    bloomfile_close(f);
    f = opened("filter", BLOOMFILE_OPEN_WRITE | accepting);
    assert_int_equal(info_of(f).keys_estimated, 1);
    add_digests_of(f, 900, 901);
    assert_flawless(flaw_of_sound(f));
    assert_error(bloomfile_seal(f, NULL), 0);
    bloomfile_close(f);
    assert_sealed_whole();
    assert_int_equal(info_of_file("filter").keys_estimated, 1);
}

/* The state of the other record is still live. */
static void assert_sealed_and_can_be_completed(void)
{
    bloomfile_filter *f = opened("filter", BLOOMFILE_OPEN_VERIFY_FULL);
    assert_int_equal(info_of(f).state, BLOOMFILE_STATE_SEALED);
    assert_true(has_numbers(f, 0, LIVE_KEYS + ADDED));
    bloomfile_close(f);
    assert_sealed_whole(); /* opening it for writing completes it */
}

static void assert_torn_and_can_be_completed(void)
{
    struct bytes before = read_file("filter");
    bloomfile_filter *f;
    assert_error(bloomfile_open(&f, "filter", 0), BLOOMFILE_ERECORD);
    assert_error(bloomfile_open(&f, "filter", BLOOMFILE_OPEN_VERIFY_FULL), BLOOMFILE_ERECORD);
    assert_file_holds("filter", before.data, before.size);
    free(before.data);
    assert_sealed_whole();
}

static void assert_left_as_it_may(int pieces)
{
    if (pieces < 2 * PIECES)
        assert_live_and_can_be_sealed(pieces >= PIECES);
    else if (pieces == 2 * PIECES)
        assert_sealed_and_can_be_completed();
    else if (pieces < 3 * PIECES)
        assert_torn_and_can_be_completed();
    else
        assert_sealed_whole();
}

/* L26. */
TEST_IN_DIR(interrupted_seal_is_live_sealed_or_can_be_completed)
{
    for (size_t i = 0; i < ROWS(layouts); i++) {
        unsigned stages[3 * PIECES + 1] = { 0 };
        int pieces = 0;
        for (unsigned nth = 1; pieces != COMPLETE; nth++) {
            make_live("filter", layouts[i]);
            bloomfile_filter *reader = opened("filter", 0);
            pieces = seal_and_die_at(nth);
            assert_true(has_numbers(reader, 0, LIVE_KEYS + ADDED));
            assert_left_as_it_may(pieces == COMPLETE ? 3 * PIECES : pieces);
            assert_true(has_numbers(reader, 0, LIVE_KEYS + ADDED));
            assert_flawless(flaw_of_sound(reader));
            bloomfile_close(reader);
            assert_int_equal(unlink("filter"), 0);
            if (pieces != COMPLETE)
                stages[pieces]++;
        }
        for (unsigned stage = 0; stage <= 3 * PIECES; stage++)
            assert_true(stages[stage] > 0);
    }
}

/* ---- other processes while it is sealed */

static bloomfile_filter *reader;

static void look_from_outside(enum fault_call call)
{
    bloomfile_filter *f;
    unsigned written = fault_calls(ON_pwrite64);
    assert_flawless(flaw_of_sound(reader));
    assert_error(bloomfile_open(&f, "filter", 0), 0);
    assert_int_equal(info_of(f).state, written < 2 ? BLOOMFILE_STATE_LIVE : BLOOMFILE_STATE_SEALED);
    assert_flawless(flaw_of_sound(f));
    if (written > 1)
        assert_error(bloomfile_verify(f, 1, NULL), 0);
    bloomfile_close(f);
    if (fault_calls(ON_fcntl64) == 0)
        return; /* not locked yet */
    int expected = written < 3 ? EBUSY : BLOOMFILE_ESEALED;
    assert_error(bloomfile_open(&f, "filter", BLOOMFILE_OPEN_WRITE), expected);
    pieces_written = written;
}

/* R9. */
TEST_IN_DIR(writers_get_ebusy_or_esealed_during_a_seal_and_readers_work)
{
    for (size_t i = 0; i < ROWS(layouts); i++) {
        make_live("filter", layouts[i]);
        reader = opened("filter", 0);
        bloomfile_filter *f = opened("filter", BLOOMFILE_OPEN_WRITE);
        faults_begin(&(struct faults){ .at_each_call = look_from_outside });
        int error = bloomfile_seal(f, NULL);
        faults_end();
        assert_error(error, 0);
        assert_int_equal(pieces_written, 3);
        assert_flawless(flaw_of_sound(f));
        assert_error(bloomfile_verify(f, 1, NULL), 0);
        bloomfile_close(f);
        bloomfile_close(reader);
        assert_int_equal(unlink("filter"), 0);
    }
}

/* ---- completion */

/* Leaves the mark, the first record, and `pieces` of the second record. */
static void leave_torn(int pieces)
{
    for (unsigned nth = 2 * PIECES + pieces;; nth++) {
        make_live("filter", BLOOMFILE_LAYOUT_BLOCKED);
        if (seal_and_die_at(nth) == 2 * PIECES + pieces)
            return;
        assert_int_equal(unlink("filter"), 0);
    }
}

static void change_file(const char *path, uint64_t at, uint8_t bits)
{
    struct bytes bytes = read_file(path);
    bytes.data[at] ^= bits;
    write_file(path, bytes.data, bytes.size);
    free(bytes.data);
}

static void assert_refused_untouched(int error)
{
    struct bytes before = read_file("filter");
    bloomfile_filter *f;
    size_t descriptors = open_descriptors();
    assert_error(bloomfile_open(&f, "filter", BLOOMFILE_OPEN_WRITE), error);
    assert_error(bloomfile_open(&f, "filter", BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ACCEPT_UNCLEAN),
                 error);
    assert_int_equal(open_descriptors(), descriptors);
    assert_int_equal(mapped_files(), 0);
    assert_file_holds("filter", before.data, before.size);
    free(before.data);
}

TEST_IN_DIR(seal_of_a_body_that_does_not_verify_is_not_completed)
{
    make_live("filter", BLOOMFILE_LAYOUT_BLOCKED);
    struct bloomfile_info info = info_of_file("filter");
    assert_int_equal(unlink("filter"), 0);
    for (int pieces = 0; pieces <= 5; pieces += 5) {
        leave_torn(pieces);
        change_file("filter", info.body_offset + info.body_size - 1, 0x80);
        assert_refused_untouched(BLOOMFILE_EPAGE);
        change_file("filter", info.body_offset + info.body_size - 1, 0x80);
        change_file("filter", info.image_size - 1, 0x01);
        assert_refused_untouched(BLOOMFILE_EPAGE);
        change_file("filter", info.image_size - 1, 0x01);
        assert_sealed_whole();
        assert_int_equal(unlink("filter"), 0);
    }
}

TEST_IN_DIR(seal_with_counts_that_contradict_the_body_is_not_completed)
{
    leave_torn(0);
    uint64_t ones = info_of_file("filter").ones;
    set_in_record("filter", slot_in_force("filter"), RECORD_AT_ones, 8, ones + 1);
    assert_refused_untouched(BLOOMFILE_EBODY);
    set_in_record("filter", slot_in_force("filter"), RECORD_AT_ones, 8, ones);
    assert_sealed_whole();
    assert_int_equal(unlink("filter"), 0);
}

TEST_IN_DIR(seal_in_progress_is_not_completed_by_another_process)
{
    leave_torn(5);
    int sealer = open("filter", O_RDWR);
    assert_int_equal(lock_byte(sealer, F_WRLCK, 0), 0);
    assert_refused_untouched(EBUSY);
    assert_int_equal(lock_byte(sealer, F_RDLCK, 0), 0);
    assert_refused_untouched(EBUSY);
    close(sealer);
    assert_sealed_whole();
    assert_int_equal(unlink("filter"), 0);
}

/* L26. Section 8: a writer in place refuses a ro_compat bit that it does not know. */
TEST_IN_DIR(seal_with_an_unknown_feature_is_not_completed)
{
    leave_torn(0);
    struct bytes bytes = read_file("filter");
    put32(bytes.data + AT_ro_compat, 1);
    reseal_header(bytes.data);
    write_file("filter", bytes.data, bytes.size);
    free(bytes.data);
    bloomfile_close(opened("filter", BLOOMFILE_OPEN_VERIFY_FULL));
    bloomfile_filter *f;
    struct bytes before = read_file("filter");
    assert_true(bloomfile_open(&f, "filter", BLOOMFILE_OPEN_WRITE) != 0);
    assert_file_holds("filter", before.data, before.size);
    free(before.data);
    assert_int_equal(unlink("filter"), 0);
}

static unsigned writes_before[4], flushes;

static void note_flush(enum fault_call call)
{
    if (call == ON_msync && flushes < ROWS(writes_before))
        writes_before[flushes++] = fault_calls(ON_pwrite64);
}

static int open_to_complete(void (*at_each_call)(enum fault_call call))
{
    bloomfile_filter *f;
    faults_begin(&(struct faults){ .at_each_call = at_each_call });
    int error = bloomfile_open(&f, "filter", BLOOMFILE_OPEN_WRITE);
    faults_end();
    return error;
}

/* Otherwise a crash in between would leave no whole record. */
TEST_IN_DIR(record_in_force_reaches_the_disk_before_its_copy)
{
    leave_torn(5);
    flushes = 0;
    assert_error(open_to_complete(note_flush), BLOOMFILE_ESEALED);
    assert_int_equal(flushes, 2);
    assert_int_equal(writes_before[0], 0);
    assert_int_equal(writes_before[1], fault_calls(ON_pwrite64));
    assert_sealed_whole();
    assert_int_equal(unlink("filter"), 0);
}

/* L26. The record not in force is completed, in either slot. */
TEST_IN_DIR(seal_is_completed_in_either_record)
{
    for (unsigned slot = 0; slot < 2; slot++) {
        leave_torn(0);
        struct bytes bytes = read_file("filter");
        uint8_t records[2][RECORD_SIZE];
        const unsigned in_force = slot_in_force("filter");
        for (unsigned i = 0; i < 2; i++)
            memcpy(records[i], record_at(bytes.data, i), RECORD_SIZE);
        memcpy(record_at(bytes.data, slot), records[in_force], RECORD_SIZE);
        memcpy(record_at(bytes.data, 1 - slot), records[1 - in_force], RECORD_SIZE);
        write_file("filter", bytes.data, bytes.size);
        free(bytes.data);
        assert_int_equal(slot_in_force("filter"), slot);
        assert_sealed_whole();
        assert_int_equal(unlink("filter"), 0);
    }
}

static int outside, held[128];

static void look_at_locks(enum fault_call call)
{
    for (off_t byte = 0; call == ON_pwrite64 && byte < (off_t)ROWS(held); byte++)
        held[byte] = lock_on_byte(outside, byte);
}

/* Like sealing, but no writer has joined whose sync could be running. */
TEST_IN_DIR(completion_holds_lock_bytes_0_and_1)
{
    leave_torn(0);
    outside = open("filter", O_RDWR);
    assert_error(open_to_complete(look_at_locks), BLOOMFILE_ESEALED);
    close(outside);
    for (size_t byte = 0; byte < ROWS(held); byte++)
        assert_int_equal(held[byte], byte < 2 ? F_WRLCK : F_UNLCK);
    assert_int_equal(unlink("filter"), 0);
}

static void (*act_before_lock)(void);

static void act_before_the_lock(enum fault_call call)
{
    if (call == ON_fcntl64 && fault_calls(call) == 0)
        act_before_lock();
}

static void complete_it(void)
{
    bloomfile_filter *f;
    assert_error(bloomfile_open(&f, "filter", BLOOMFILE_OPEN_WRITE), BLOOMFILE_ESEALED);
}

static void damage_magic(void)
{
    change_file("filter", 0, 0x01);
}

static void damage_live_record(void)
{
    change_file("filter", IN_FILE / 2, 0x01);
    change_file("filter", IN_FILE / 4 * 3, 0x01);
}

TEST_IN_DIR(completion_reads_the_file_again_after_locking_it)
{
    static const struct {
        void (*act)(void);
        int error;
    } rows[] = {
        { complete_it, BLOOMFILE_ESEALED },
        { damage_magic, BLOOMFILE_EMAGIC },
        { damage_live_record, BLOOMFILE_ERECORD },
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        leave_torn(0);
        act_before_lock = rows[i].act;
        assert_error(open_to_complete(act_before_the_lock), rows[i].error);
        assert_int_equal(unlink("filter"), 0);
    }
}

static pid_t made_meanwhile;

static void fork_before_the_write(enum fault_call call)
{
    if (call != ON_pwrite64 || (made_meanwhile = fork()) != 0)
        return;
    alarm(60);
    for (;;)
        pause();
}

/* The child shares the open file description that holds the locks. */
TEST_IN_DIR(child_forked_during_completion_keeps_no_locks)
{
    leave_torn(0);
    assert_error(open_to_complete(fork_before_the_write), BLOOMFILE_ESEALED);
    assert_true(made_meanwhile > 0);
    outside = open("filter", O_RDWR);
    look_at_locks(ON_pwrite64);
    close(outside);
    kill(made_meanwhile, SIGKILL);
    assert_int_equal(waitpid(made_meanwhile, NULL, 0), made_meanwhile);
    for (size_t byte = 0; byte < ROWS(held); byte++)
        assert_int_equal(held[byte], F_UNLCK);
    assert_sealed_whole();
    assert_int_equal(unlink("filter"), 0);
}

TEST_IN_DIR(failed_completion_of_a_seal_can_be_repeated)
{
    static const struct {
        enum fault_call call;
        int error;
    } rows[] = {
        { ON_fcntl64, ENOLCK },  { ON_calloc, ENOMEM }, { ON_mmap64, ENOMEM },
        { ON_pwrite64, ENOSPC }, { ON_msync, EIO },     { ON_pread64, EIO },
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        unsigned failed = 0;
        for (unsigned nth = 1; failed < nth; nth++) {
            leave_torn(5);
            size_t descriptors = open_descriptors();
            struct faults faults = once(rows[i].call, nth, rows[i].error);
            bloomfile_filter *f;
            faults_begin(&faults);
            int error = bloomfile_open(&f, "filter", BLOOMFILE_OPEN_WRITE);
            bool struck = fault_calls(rows[i].call) >= nth;
            faults_end();
            assert_error(error, struck ? rows[i].error : BLOOMFILE_ESEALED);
            assert_int_equal(open_descriptors(), descriptors);
            assert_int_equal(mapped_files(), 0);
            assert_sealed_whole();
            assert_int_equal(unlink("filter"), 0);
            failed += struck;
            if (!struck)
                break;
        }
        assert_true(failed > 0);
    }
}

int main(void)
{
    return run_all(NULL, NULL);
}
