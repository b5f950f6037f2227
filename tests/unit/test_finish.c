/* SPDX-License-Identifier: MIT
 * The end of writing and its result, and a path that names another file by then. */
#include "live_support.h"

#include <bloomfile_live.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faults.h"

static bloomfile_filter *writer;

static int begin(void **state)
{
    if (enter_temp_dir(state) != 0)
        return -1;
    make_live("filter", BLOOMFILE_LAYOUT_BLOCKED);
    writer = opened("filter", BLOOMFILE_OPEN_WRITE);
    return 0;
}

static int end(void **state)
{
    bloomfile_close(writer);
    return leave_temp_dir(state);
}

#define ON_NEW_FILTER(test) TEST_WITH(test, begin, end)

ON_NEW_FILTER(finish_leaves_a_clean_file_and_a_read_only_handle)
{
    add_digests_of(writer, LIVE_KEYS, LIVE_KEYS + 50);
    assert_error(bloomfile_finish(writer), 0);
    assert_flawless(flaw_of_clean_file("filter"));
    assert_int_equal(info_of_file("filter").keys, LIVE_KEYS + 50);
    assert_flawless(flaw_of_sound(writer));
    assert_true(has_numbers(writer, 0, LIVE_KEYS + 50));
    assert_int_equal(info_of(writer).keys, LIVE_KEYS + 50);
    assert_error(bloomfile_add_digest(writer, 1, NULL), BLOOMFILE_EREADONLY);
    assert_error(bloomfile_sync(writer, NULL), BLOOMFILE_EREADONLY);
    assert_error(bloomfile_seal(writer, NULL), BLOOMFILE_EREADONLY);
    assert_error(bloomfile_finish(writer), 0);
    assert_error(bloomfile_copy_sealed(TO_PATH("copy", 0), writer, NULL), 0);

    bloomfile_filter *next = opened("filter", BLOOMFILE_OPEN_WRITE);
    assert_int_equal(info_of(next).writers, 1);
    add_digests_of(next, 500, 510);
    assert_true(has_numbers(writer, 500, 510));
    assert_error(bloomfile_seal(next, NULL), 0); /* the first handle left no lock */
    assert_error(bloomfile_finish(next), 0);
    bloomfile_close(next);
}

ON_NEW_FILTER(child_of_a_finished_writer_needs_no_write_access)
{
    need_wipe_on_fork();
    assert_error(bloomfile_finish(writer), 0);
    const pid_t child = fork();
    if (child == 0) {
        const struct faults faults = { .read_only = true };
        faults_begin(&faults);
        const int error = bloomfile_copy_sealed(TO_PATH("copy", 0), writer, NULL);
        const unsigned reopened = fault_calls(ON_dup3);
        faults_end();
        _exit(error == 0 && reopened == 1 ? 0 : 1);
    }
    assert_child_succeeds(child);
}

ON_NEW_FILTER(finish_of_a_reader_does_nothing)
{
    bloomfile_filter *reader = opened("filter", 0);
    assert_error(bloomfile_finish(reader), 0);
    assert_flawless(flaw_of_sound(reader));
    bloomfile_close(reader);
}

/* bloomfile_close() cannot report it. */
ON_NEW_FILTER(finish_repeats_its_error_in_later_calls)
{
    static const struct {
        enum fault_call call;
        int error;
    } rows[] = { { ON_fcntl64, ENOLCK }, { ON_pwrite64, ENOSPC }, { ON_msync, EIO } };
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct faults faults = from_then_on(rows[i].call, 1, rows[i].error);
        faults_begin(&faults);
        int error = bloomfile_finish(writer);
        faults_end();
        assert_error(error, rows[i].error);
        assert_error(bloomfile_finish(writer), error); /* repeated for later calls */
        assert_error(bloomfile_finish(writer), error);
        assert_error(bloomfile_add_digest(writer, 1, NULL), BLOOMFILE_EREADONLY);
        assert_true(has_numbers(writer, 0, LIVE_KEYS));
        bloomfile_close(writer);
        if (rows[i].call == ON_msync)
            break;
        writer = opened("filter", BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ACCEPT_UNCLEAN);
    }
    writer = NULL;
    assert_flawless(flaw_of_poisoned_file("filter"));
}

ON_NEW_FILTER(keys_of_a_failed_finish_can_be_rescued)
{
    add_digests_of(writer, LIVE_KEYS, LIVE_KEYS + 50);
    struct faults faults = once(ON_msync, 1, EIO);
    faults_begin(&faults);
    int error = bloomfile_finish(writer);
    faults_end();
    assert_error(error, EIO);
    assert_error(bloomfile_check(writer), BLOOMFILE_EPOISONED);
    assert_error(bloomfile_rescue("rescued", writer, 0), 0);
    bloomfile_filter *rescued =
        opened("rescued", BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ACCEPT_UNCLEAN);
    assert_true(has_numbers(rescued, 0, LIVE_KEYS + 50));
    bloomfile_close(rescued);
}

/* ---- the path names another file */

static void replace_it(void)
{
    make_live("other", BLOOMFILE_LAYOUT_BLOCKED);
    assert_int_equal(rename("other", "filter"), 0);
}

static void remove_it(void)
{
    assert_int_equal(unlink("filter"), 0);
}

static void swap_a_folder_for_it(void)
{
    remove_it();
    make_symlink("nowhere", "filter");
}

static void (*const ways[])(void) = { replace_it, remove_it, swap_a_folder_for_it };

ON_NEW_FILTER(sync_and_finish_report_a_replaced_file)
{
    for (size_t i = 0; i < ROWS(ways); i++) {
        assert_error(bloomfile_sync(writer, NULL), 0);
        ways[i]();
        add_digests_of(writer, LIVE_KEYS, LIVE_KEYS + 10);
        assert_error(bloomfile_sync(writer, NULL), BLOOMFILE_EREPLACED);
        assert_error(bloomfile_sync(writer, NULL), BLOOMFILE_EREPLACED);
        add_digests_of(writer, LIVE_KEYS + 10, LIVE_KEYS + 11);
        assert_error(bloomfile_finish(writer), BLOOMFILE_EREPLACED);
        assert_error(bloomfile_finish(writer), BLOOMFILE_EREPLACED);
        assert_flawless(flaw_of_sound(writer));
        assert_int_equal(info_of(writer).writers, 0); /* the writer left all the same */
        assert_int_equal(info_of(writer).keys, LIVE_KEYS + 11);
        bloomfile_close(writer);
        unlink("filter");
        make_live("filter", BLOOMFILE_LAYOUT_BLOCKED);
        writer = opened("filter", BLOOMFILE_OPEN_WRITE);
    }
}

/* Like a daemon that dropped its privileges after it opened the file. */
ON_NEW_FILTER(writer_that_cannot_stat_its_path_detects_an_unlinked_file)
{
    const struct faults no_right = from_then_on(ON_stat64, 1, EACCES);
    bloomfile_filter *reader = opened("filter", 0);
    for (unsigned removed = 0; removed < 2; removed++) {
        const int expected = removed ? BLOOMFILE_EREPLACED : 0;
        if (removed)
            replace_it();
        add_digests_of(writer, LIVE_KEYS, LIVE_KEYS + 10);
        faults_begin(&no_right);
        const int synced = bloomfile_sync(writer, NULL);
        const int stale = bloomfile_is_stale(writer) + bloomfile_is_stale(reader);
        const int finished = removed ? bloomfile_finish(writer) : 0;
        faults_end();
        assert_error(synced, expected);
        assert_int_equal(stale, 2); /* opening the path would report EACCES */
        assert_error(finished, expected);
    }
    bloomfile_close(reader);
}

/* cp restores a backup over the open file. The writer must not poison the restored file. */
ON_NEW_FILTER(older_copy_written_over_a_writer_s_file_is_reported_as_changed)
{
    bloomfile_close(writer);
    struct bytes backup = read_file("filter");
    for (unsigned asked = 0; asked < 2; asked++) {
        writer = opened("filter", BLOOMFILE_OPEN_WRITE);
        add_digests_of(writer, LIVE_KEYS, LIVE_KEYS + 10);
        int fd = open("filter", O_RDWR);
        assert_int_equal(pwrite(fd, backup.data, backup.size, 0), backup.size);
        close(fd);
        if (asked != 0)
            assert_error(bloomfile_check(writer), BLOOMFILE_ECHANGED);
        else
            assert_error(bloomfile_sync(writer, NULL), BLOOMFILE_ECHANGED);
        assert_error(bloomfile_add_digest(writer, 1, NULL), BLOOMFILE_ECHANGED);
        assert_error(bloomfile_finish(writer), BLOOMFILE_ECHANGED);
        bloomfile_close(writer);
        struct bytes after = read_file("filter");
        assert_int_equal(after.size, backup.size);
        assert_memory_equal(after.data, backup.data, backup.size);
        free(after.data);
    }
    writer = NULL;
    free(backup.data);
}

ON_NEW_FILTER(sync_and_finish_report_a_truncated_file)
{
    add_digests_of(writer, LIVE_KEYS, LIVE_KEYS + 10);
    struct bytes whole = read_file("filter");
    assert_int_equal(truncate("filter", (off_t)whole.size - 4096), 0);
    assert_error(bloomfile_sync(writer, NULL), BLOOMFILE_ECHANGED);
    assert_error(bloomfile_finish(writer), BLOOMFILE_ECHANGED);
    free(whole.data);
}

ON_NEW_FILTER(filter_in_memory_is_never_reported_as_replaced)
{
    bloomfile_filter *f;
    struct bloomfile_params params = live_params(BLOOMFILE_LAYOUT_BLOCKED);
    assert_error(bloomfile_create_memory(&f, &params, 0), 0);
    assert_error(bloomfile_sync(f, NULL), 0);
    assert_error(bloomfile_finish(f), 0);
    bloomfile_close(f);
}

ON_NEW_FILTER(failed_sync_takes_precedence_over_a_replaced_file)
{
    replace_it();
    struct faults faults = once(ON_msync, 1, EIO);
    faults_begin(&faults);
    int error = bloomfile_sync(writer, NULL);
    faults_end();
    assert_error(error, EIO);
    assert_error(bloomfile_finish(writer), BLOOMFILE_EPOISONED);
}

int main(void)
{
    return run_all(NULL, NULL);
}
