/* SPDX-License-Identifier: MIT
 * The end of a live filter: sealed, copied, rescued, poisoned, or reopened after a crash of the
 * machine. */
#include "live_files.h"
#include "support.h"

#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/header.h"

TEST_IN_DIR(seal_ends_all_writing)
{
    bloomfile_filter *f = create("filter", 1000), *reader = open_for("filter", 0);
    add(f, 0, 300);
    bloomfile_filter *other = open_for("filter", BLOOMFILE_OPEN_WRITE);
    assert_error(bloomfile_seal(f, NULL), EBUSY);
    add(f, 300, 301);
    bloomfile_close(other);
    assert_error(bloomfile_seal(f, NULL), 0);
    assert_error(bloomfile_verify(f, 1, NULL), 0);
    assert_int_equal(info_of(f).state, BLOOMFILE_STATE_SEALED);
    assert_int_equal(info_of(reader).state, BLOOMFILE_STATE_SEALED);
    assert_has(f, 301);
    assert_has(reader, 301);
    assert_error(bloomfile_add(f, "a", 1, NULL), BLOOMFILE_ESEALED);
    assert_error(bloomfile_sync(f, NULL), BLOOMFILE_ESEALED);
    assert_error(bloomfile_seal(f, NULL), BLOOMFILE_ESEALED);
    assert_error(bloomfile_rescue("rescued", f, 0), BLOOMFILE_ESEALED);
    assert_not_opened("filter", BLOOMFILE_OPEN_WRITE, BLOOMFILE_ESEALED);
    assert_not_opened("filter", BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ACCEPT_UNCLEAN,
                      BLOOMFILE_ESEALED);
    bloomfile_close(f);
    bloomfile_close(reader);
    assert_filter_of("filter", 301);
}

TEST_IN_DIR(sealed_copy_equals_a_seal_in_place)
{
    bloomfile_filter *f = create("filter", 1000);
    add(f, 0, 300);
    assert_error(bloomfile_copy_sealed(TO_PATH("copy", 0), f, NULL), 0);
    assert_error(bloomfile_copy_sealed(TO_PATH("copy", 0), f, NULL), EEXIST);
    assert_error(bloomfile_copy_sealed(TO_PATH("copy", BLOOMFILE_OPEN_WRITE), f, NULL),
                 BLOOMFILE_EFLAGS);
    assert_error(bloomfile_seal(f, NULL), 0);
    assert_error(bloomfile_copy_sealed(TO_PATH("copy of sealed", 0), f, NULL), 0);
    bloomfile_close(f);
    struct bytes sealed = read_file("filter");
    assert_file_holds("copy", sealed.data, sealed.size);
    assert_file_holds("copy of sealed", sealed.data, sealed.size);
    sealed.data[IN_FILE + 100] ^= 1;
    write_file("damaged", sealed.data, sealed.size);
    f = open_for("damaged", 0);
    assert_error(bloomfile_copy_sealed(TO_PATH("copy of damaged", 0), f, NULL), BLOOMFILE_EPAGE);
    assert_int_equal(access("copy of damaged", F_OK), -1);
    bloomfile_close(f);
    free(sealed.data);
}

TEST_IN_DIR(a_copy_of_a_filter_in_use_has_an_estimated_count)
{
    bloomfile_filter *f = create("filter", 1000), *other = open_for("filter", BLOOMFILE_OPEN_WRITE);
    add(f, 0, 200);
    add(other, 200, 300);
    assert_error(bloomfile_copy_sealed(TO_PATH("copy", 0), f, NULL), 0);
    bloomfile_filter *copy = open_for("copy", BLOOMFILE_OPEN_VERIFY_FULL);
    assert_has(copy, 300);
    assert_in_range(info_of(copy).keys, 295,
                    305); /* estimated from the bits set, because 100 keys are not committed */
    assert_int_equal(info_of(copy).keys_estimated, 1);
    bloomfile_close(copy);
    bloomfile_close(f);
    bloomfile_close(other);
}

TEST_IN_DIR(rescued_filter_accepts_more_keys)
{
    bloomfile_filter *f = create("filter", 1000);
    add(f, 0, 200);
    assert_error(bloomfile_rescue("rescued", f, 0), 0);
    assert_error(bloomfile_rescue("rescued", f, 0), EEXIST);
    bloomfile_filter *rescued = open_for("rescued", BLOOMFILE_OPEN_WRITE);
    assert_int_equal(info_of(rescued).keys_estimated, 1);
    add(rescued, 200, 400);
    assert_has(rescued, 400);
    assert_has(f, 200);
    bloomfile_close(f);
    bloomfile_close(rescued);
}

/* ---- the state when the file is opened again */

static void change_records(const char *path, void (*change)(uint8_t *record))
{
    struct bytes image = read_file(path);
    for (unsigned slot = 0; slot < 2; slot++) {
        change(record_at(image.data, slot));
        reseal_record(image.data, slot);
    }
    int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, image.data, IN_FILE, 0), IN_FILE);
    close(fd);
    free(image.data);
}

static void set_other_boot(uint8_t *record)
{
    memset(record + RECORD_AT_boot_id, 0x5A, 16);
}

static void set_poisoned(uint8_t *record)
{
    record[RECORD_AT_state] = BLOOMFILE_STATE_POISONED;
}

static void set_sync_begun(uint8_t *record)
{
    record[RECORD_AT_flags] |= RECORD_SYNC_BEGUN;
}

static void add_and_be_killed(void)
{
    pid_t child = fork();
    if (child == 0) {
        add(create("filter", 1000), 0, 50);
        _exit(0);
    }
    assert_child_succeeds(child);
}

/* R10, R11. The writer may have received the only report of a failed write. */
TEST_IN_DIR(file_whose_writer_was_killed_in_a_sync_is_not_copied)
{
    add_and_be_killed();
    for (unsigned accepting = 0; accepting < 2; accepting++) {
        bloomfile_filter *f = open_for("filter", accepting ? BLOOMFILE_OPEN_ACCEPT_UNCLEAN : 0);
        change_records("filter", set_sync_begun);
        const int error = accepting ? 0 : BLOOMFILE_EUNCLEAN;
        assert_error(bloomfile_copy_sealed(TO_PATH("copy", 0), f, NULL), error);
        assert_int_equal(access("copy", F_OK) == 0, accepting);
        assert_error(bloomfile_check(f), error);
        if (accepting)
            assert_has(f, 50);
        else
            assert_true(bloomfile_contains_digest(f, number(0, 1u << 30)));
        bloomfile_close(f);
    }
}

/* The counts are estimates then, which is not a reason to refuse the copy. */
TEST_IN_DIR(reader_can_copy_a_file_whose_writer_was_killed)
{
    add_and_be_killed();
    bloomfile_filter *next = open_for("filter", BLOOMFILE_OPEN_WRITE),
                     *reader = open_for("filter", 0);
    add(next, 50, 60);
    assert_int_equal(info_of(reader).keys_estimated, 1);
    assert_error(bloomfile_copy_sealed(TO_PATH("copy", 0), reader, NULL), 0);
    bloomfile_close(next);
    bloomfile_close(reader);
    bloomfile_filter *copy = open_for("copy", BLOOMFILE_OPEN_VERIFY_FULL);
    assert_has(copy, 60);
    bloomfile_close(copy);
}

/* R4, R6, L12. */
TEST_IN_DIR(file_of_another_boot_opens_only_with_accept_unclean)
{
    bloomfile_filter *f = create("filter", 1000);
    add(f, 0, 50);
    bloomfile_close(f);
    change_records("filter", set_other_boot);
    assert_not_opened("filter", 0, BLOOMFILE_EUNCLEAN);
    assert_not_opened("filter", BLOOMFILE_OPEN_WRITE, BLOOMFILE_EUNCLEAN);
    f = open_for("filter", BLOOMFILE_OPEN_ACCEPT_UNCLEAN);
    assert_has(f, 50);
    bloomfile_close(f);
    assert_not_opened("filter", 0, BLOOMFILE_EUNCLEAN);

    f = open_for("filter", BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ACCEPT_UNCLEAN);
    assert_int_equal(info_of(f).keys_estimated, 1);
    assert_int_equal(info_of(f).writers, 1);
    assert_error(bloomfile_finish(f), 0);
    bloomfile_close(f);
    bloomfile_close(open_for("filter", BLOOMFILE_OPEN_WRITE));
}

/* L15. The keys that were lost may not have been added again. */
TEST_IN_DIR(unclean_file_remains_unclean_until_the_accepting_writer_syncs)
{
    const unsigned accepting = BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ACCEPT_UNCLEAN;
    bloomfile_filter *f = create("filter", 1000);
    add(f, 0, 50);
    bloomfile_close(f);
    change_records("filter", set_other_boot);
    for (int i = 0; i < 2; i++) {
        const pid_t child = fork();
        if (child == 0)
            _exit(bloomfile_open(&f, "filter", accepting)); /* dies without closing it */
        assert_child_succeeds(child);
        assert_not_opened("filter", 0, BLOOMFILE_EUNCLEAN);
        assert_not_opened("filter", BLOOMFILE_OPEN_WRITE, BLOOMFILE_EUNCLEAN);
    }
    bloomfile_close(open_for("filter", accepting)); /* without bloomfile_finish() */
    assert_not_opened("filter", 0, BLOOMFILE_EUNCLEAN);
    f = open_for("filter", accepting);
    assert_not_opened("filter", 0, BLOOMFILE_EUNCLEAN);
    assert_error(bloomfile_copy_sealed(TO_PATH("copy", 0), f, NULL), 0); /* L20 */
    assert_error(bloomfile_rescue("rescued", f, 0), 0);
    assert_not_opened("filter", 0, BLOOMFILE_EUNCLEAN);
    assert_not_opened("rescued", 0, BLOOMFILE_EUNCLEAN);
    assert_error(bloomfile_sync(f, NULL), 0);
    bloomfile_close(open_for("filter", 0));
    bloomfile_close(f);
}

/* R8. */
TEST_IN_DIR(poisoned_filter_answers_maybe_to_every_lookup)
{
    bloomfile_filter *f = create("filter", 1000), *reader = open_for("filter", 0);
    add(f, 0, 50);
    assert_int_equal(bloomfile_check(reader), 0);
    change_records("filter", set_poisoned); /* as another writer would do */
    bloomfile_filter *const handles[] = { f, reader };
    for (size_t i = 0; i < ROWS(handles); i++) {
        uint64_t digests[300];
        bool hits[300] = { false };
        for (uint64_t j = 0; j < ROWS(digests); j++)
            digests[j] = number(3, j);
        assert_true(bloomfile_contains(handles[i], "never added", 11));
        assert_true(bloomfile_contains_digest(handles[i], 1));
        assert_int_equal(bloomfile_contains_digests(handles[i], digests, ROWS(digests), hits),
                         ROWS(digests));
        assert_true(hits[0] && hits[299]);
        assert_error(bloomfile_check(handles[i]), BLOOMFILE_EPOISONED);
        assert_error(bloomfile_copy_sealed(TO_PATH("copy", 0), handles[i], NULL),
                     BLOOMFILE_EPOISONED);
    }
    assert_error(bloomfile_add(f, "a", 1, NULL), BLOOMFILE_EPOISONED);
    assert_error(bloomfile_sync(f, NULL), BLOOMFILE_EPOISONED);
    assert_error(bloomfile_seal(f, NULL), BLOOMFILE_EPOISONED);
    assert_not_opened("filter", 0, BLOOMFILE_EPOISONED);
    assert_not_opened("filter", BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ACCEPT_UNCLEAN,
                      BLOOMFILE_EPOISONED);
    assert_error(bloomfile_rescue("rescued", f, 0), 0);
    bloomfile_close(f);
    bloomfile_close(reader);
    assert_not_opened("filter", 0, BLOOMFILE_EPOISONED);
    assert_not_opened("rescued", 0, BLOOMFILE_EUNCLEAN);
    assert_not_opened("rescued", BLOOMFILE_OPEN_WRITE, BLOOMFILE_EUNCLEAN);
    f = open_for("rescued", BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ACCEPT_UNCLEAN);
    assert_has(f, 50);
    assert_error(bloomfile_finish(f), 0);
    bloomfile_close(f);
    bloomfile_close(open_for("rescued", 0));
}

/* R8. The kernel may drop the page with the poisoned record and read the old page from disk. */
TEST_IN_DIR(reader_that_saw_a_poison_keeps_reporting_it)
{
    bloomfile_filter *f = create("filter", 1000), *reader = open_for("filter", 0);
    struct bytes before = read_file("filter");
    change_records("filter", set_poisoned);
    assert_true(bloomfile_contains(reader, "never added", 11));
    int fd = open("filter", O_WRONLY);
    assert_int_equal(pwrite(fd, before.data, IN_FILE, 0), IN_FILE);
    close(fd);
    free(before.data);
    assert_true(bloomfile_contains(reader, "never added either", 18));
    assert_error(bloomfile_check(reader), BLOOMFILE_EPOISONED);
    bloomfile_close(reader);
    bloomfile_close(f);
}

/* ---- a live file is overwritten in place */

static void overwrite(const char *path, struct bytes image)
{
    int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, image.data, image.size, 0), image.size);
    close(fd);
}

/* L11. */
TEST_IN_DIR(writer_leaves_a_sealed_file_copied_over_its_own_unchanged)
{
    bloomfile_filter *f = create("filter", 1000);
    add(f, 0, 100);
    assert_error(bloomfile_copy_sealed(TO_PATH("copy", 0), f, NULL), 0);
    struct bytes copy = read_file("copy");
    overwrite("filter", copy);
    assert_error(bloomfile_sync(f, NULL), BLOOMFILE_ESEALED);
    assert_error(bloomfile_seal(f, NULL), BLOOMFILE_ESEALED);
    bloomfile_close(f);
    assert_file_holds("filter", copy.data, copy.size);
    free(copy.data);
}

TEST_IN_DIR(sync_beyond_the_limit_on_file_sizes_raises_no_signal)
{
    const struct rlimit small = { 1, RLIM_INFINITY };
    struct rlimit before;
    bloomfile_filter *f = create("filter", 1000);
    add(f, 0, 100);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const int error = bloomfile_sync(f, NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_error(error, EFBIG);
    assert_error(bloomfile_sync(f, NULL), 0);
    assert_error(bloomfile_finish(f), 0);
    bloomfile_close(f);
}

TEST_IN_DIR(other_filter_copied_over_the_source_is_not_copied_or_rescued)
{
    struct bloomfile_params params = sized(1000);
    bloomfile_filter *f = create("filter", 1000), *other;
    add(f, 0, 100);
    params.seed = 1;
    assert_error(bloomfile_create(&other, "other", &params, 0), 0);
    bloomfile_close(other);
    struct bytes image = read_file("other");
    overwrite("filter", image);
    assert_error(bloomfile_copy_sealed(TO_PATH("copy", 0), f, NULL), BLOOMFILE_ECHANGED);
    assert_error(bloomfile_rescue("copy", f, 0), BLOOMFILE_ECHANGED);
    assert_int_equal(access("copy", F_OK), -1);
    assert_error(bloomfile_sync(f, NULL), BLOOMFILE_ECHANGED);
    bloomfile_close(f);
    assert_file_holds("filter", image.data, image.size);
    free(image.data);
}

static void set_no_ones(uint8_t *record)
{
    memset(record + RECORD_AT_ones, 0, 8);
}

TEST_IN_DIR(rescued_filter_keeps_the_recorded_number_of_keys)
{
    bloomfile_filter *f = create("filter", 1000), *rescued;
    add(f, 0, 200);
    bloomfile_close(f);
    change_records("filter", set_no_ones);
    f = open_for("filter", 0);
    assert_error(bloomfile_rescue("rescued", f, 0), BLOOMFILE_EBODY); /* bits contradict counts */
    assert_error(bloomfile_rescue("rescued", f, 0), 0);
    assert_not_opened("rescued", 0, BLOOMFILE_EUNCLEAN);
    rescued = open_for("rescued", BLOOMFILE_OPEN_ACCEPT_UNCLEAN);
    assert_int_equal(info_of(rescued).keys, 200);
    assert_int_equal(info_of(rescued).keys_estimated, 1);
    bloomfile_close(rescued);
    bloomfile_close(f);
}

TEST_IN_DIR(filter_sealed_by_another_process_is_not_rescued)
{
    bloomfile_filter *f = create("filter", 1000), *reader = open_for("filter", 0);
    assert_error(bloomfile_seal(f, NULL), 0);
    assert_error(bloomfile_rescue("rescued", reader, 0), BLOOMFILE_ESEALED);
    assert_int_equal(entries_in_dir(), 1);
    bloomfile_close(reader);
    bloomfile_close(f);
}

int main(void)
{
    return run_all(NULL, NULL);
}
