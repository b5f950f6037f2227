/* SPDX-License-Identifier: MIT
 * Named temporary files of a killed process: the next process that makes a file in the folder
 * removes them. Files in use, and files of other programs, stay. */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faults.h"
#include "os/host.h"

enum {
    FIXED = 8, /* names that are searched */
    NOBODY = 65534
};

static const char *fixed_name(unsigned number)
{
    static char name[64];
    snprintf(name, sizeof name, ".bloomfile.%012x.tmp", number);
    return name;
}

static unsigned temporaries(void)
{
    unsigned count = 0;
    for (unsigned number = 0; number < FIXED; number++)
        count += access(fixed_name(number), F_OK) == 0;
    return count;
}

/* ---- kills */

static unsigned until_signal;
static int signal_then;

static void raise_in_time(enum fault_call call)
{
    if (until_signal-- == 0)
        raise(signal_then);
}

/* A child that replaces "old", and gets a signal at its nth call. */
static pid_t start_child(unsigned nth, int which, bool no_unnamed_files)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0)
        return child;
    struct faults faults = { .no_unnamed_files = no_unnamed_files, .at_each_call = raise_in_time };
    until_signal = nth;
    signal_then = which;
    faults_begin(&faults);
    _exit(publish_filter("old", BLOOMFILE_TO_REPLACE, 20) != 0);
}

static bool killed(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

TEST_IN_DIR(publish_removes_temporaries_of_killed_processes)
{
    assert_error(publish_filter("old", 0, 10), 0);
    for (unsigned named = 0; named < 2; named++) {
        unsigned left = 0, nth = 0;
        while (killed(start_child(nth++, SIGKILL, named))) {
            left += temporaries();
            assert_error(publish_filter("next", BLOOMFILE_TO_REPLACE, 10), 0);
            assert_int_equal(temporaries(), 0);
            assert_int_equal(entries_in_dir(), 2);
        }
        assert_true(left > 0);
    }
    assert_filter_of("old", 20);
}

static bool terminated(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM;
}

/* The signal waits while the unnamed file has a temporary name. */
TEST_IN_DIR(with_unnamed_files_a_deferred_signal_leaves_no_file)
{
    if (!has_unnamed_files())
        skip("the file system has no files without a name");
    assert_error(publish_filter("old", 0, 10), 0);
    unsigned nth = 0;
    while (terminated(start_child(nth++, SIGTERM, false)))
        assert_int_equal(entries_in_dir(), 1);
    assert_true(nth > 10);
    assert_filter_of("old", 20);
}

/* ---- files in use */

/* Except between creation and lock: if its file is removed then, the creator makes another. */
TEST_IN_DIR(file_under_construction_is_not_removed)
{
    assert_error(publish_filter("old", 0, 10), 0);
    unsigned stayed = 0, removed = 0;
    for (unsigned named = 0; named < 2; named++) {
        for (unsigned nth = 0;; nth++) {
            pid_t child = start_child(nth, SIGSTOP, named);
            int status;
            assert_int_equal(waitpid(child, &status, WUNTRACED), child);
            if (!WIFSTOPPED(status)) {
                assert_int_equal(status, 0);
                break;
            }
            const unsigned before = temporaries();
            assert_error(publish_filter("next", BLOOMFILE_TO_REPLACE, 10), 0);
            stayed += temporaries();
            removed += before - temporaries();
            assert_int_equal(kill(child, SIGCONT), 0);
            assert_int_equal(waitpid(child, &status, 0), child);
            assert_int_equal(status, 0);
            assert_filter_of("old", 20);
            assert_int_equal(temporaries(), 0);
        }
    }
    assert_true(stayed > 3);
    assert_int_equal(removed, has_unnamed_files() ? 1 : 2);
}

/* The lock must not stay on the new file, because the handle of a live filter keeps its
 * descriptor. */
TEST_IN_DIR(a_finished_file_is_not_locked)
{
    struct faults faults = { .no_unnamed_files = true };
    faults_begin(&faults);
    assert_error(publish_filter("new", 0, 10), 0);
    faults_end();
    int fd = open("new", O_RDONLY | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    close(fd);
}

/* Names are random there, so no process searches for them. */
TEST_IN_DIR(without_locks_no_temporary_file_is_removed_or_left_behind)
{
    write_file(fixed_name(5), "", 0);
    for (unsigned named = 0; named < 2; named++) {
        struct faults faults = from_then_on(ON_flock, 1, ENOLCK);
        faults.no_unnamed_files = named != 0;
        faults_begin(&faults);
        assert_error(publish_filter("new", BLOOMFILE_TO_REPLACE, 10), 0);
        faults_end();
        assert_true(fault_calls(ON_getrandom) > 0);
        assert_int_equal(access(fixed_name(5), F_OK), 0);
        assert_int_equal(entries_in_dir(), 2);
    }
    assert_filter_of("new", 10);
}

/* The creator takes another name. The process that holds the old name removes the file, or the
 * next process does. */
TEST_IN_DIR(temporary_name_locked_by_another_process_is_skipped)
{
    struct faults faults = once(ON_flock, 1, EWOULDBLOCK);
    faults.no_unnamed_files = true;
    faults_begin(&faults);
    assert_error(publish_filter("new", 0, 10), 0);
    faults_end();
    assert_int_equal(temporaries(), 1);
    assert_error(publish_filter("new", BLOOMFILE_TO_REPLACE, 10), 0);
    assert_int_equal(entries_in_dir(), 1);
}

/* ---- files of other programs */

TEST_IN_DIR(publish_keeps_files_that_are_not_leftovers)
{
    int fd = open(fixed_name(0), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    assert_int_equal(flock(fd, LOCK_SH), 0);
    assert_int_equal(mkdir(fixed_name(1), 0700), 0);
    make_pipe(fixed_name(2), 0600);
    write_file("precious", "bytes", 5);
    make_symlink("precious", fixed_name(3));
    write_file(".bloomfile.00000000000.tmp", "", 0);
    write_file(".bloomfile.123456789abc.tmp", "", 0);
    write_file(".bloomfile.tmp", "", 0);
    bool others = false;
    if (geteuid() == 0) {
        write_file(fixed_name(4), "", 0);
        others = chown(fixed_name(4), NOBODY, NOBODY) == 0;
    }
    const size_t entries = entries_in_dir();
    assert_error(publish_filter("new", 0, 10), 0);
    assert_error(publish_filter("new", BLOOMFILE_TO_REPLACE, 10), 0);
    assert_int_equal(entries_in_dir(), entries + 1);
    assert_file_holds("precious", "bytes", 5);

    close(fd);
    assert_error(publish_filter("new", BLOOMFILE_TO_REPLACE, 10), 0);
    assert_int_equal(access(fixed_name(0), F_OK), -1);
    assert_int_equal(access(fixed_name(4), F_OK), others ? 0 : -1);
}

/* ---- many */

static void publish_and_be_killed(unsigned seed)
{
    struct faults faults = { .no_unnamed_files = true, .at_each_call = raise_in_time };
    char path[32];
    snprintf(path, sizeof path, "file %u", seed % 4);
    uint64_t random = seed;
    for (unsigned round = 0; round < 20; round++) {
        until_signal = (unsigned)(random64(&random) % 600);
        signal_then = SIGKILL;
        faults_begin(&faults);
        int error = publish_filter(path, BLOOMFILE_TO_REPLACE, 10);
        faults_end();
        if (error != 0)
            _exit(1);
    }
    _exit(0);
}

TEST_IN_DIR(concurrent_publishers_do_not_remove_each_other_s_files)
{
    enum {
        AT_ONCE = 6
    };
    unsigned kills = 0, seed = 0, running = 0;
    while (seed < 120 || running > 0) {
        if (seed < 120 && running < AT_ONCE) {
            pid_t child = fork();
            assert_true(child >= 0);
            if (child == 0)
                publish_and_be_killed(seed);
            seed++;
            running++;
            continue;
        }
        int status;
        assert_true(wait(&status) > 0);
        assert_true(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
        kills += status != 0;
        running--;
    }
    assert_true(kills > 20);
    assert_error(publish_filter("last", 0, 10), 0);
    assert_int_equal(temporaries(), 0);
    assert_int_equal(entries_in_dir(), 5);
    assert_filter_of("file 3", 10);
}

/* ---- another process takes over the name, as on file systems without locks between hosts */

static bool taken_over;

/* Takes the file over just before it gets its final name, at the first call that finds it. */
static void take_over_name(enum fault_call call)
{
    if (taken_over || call != ON_fsync || access(fixed_name(0), F_OK) != 0)
        return;
    assert_int_equal(unlink(fixed_name(0)), 0);
    write_file(fixed_name(0), "another maker's", 15);
    taken_over = true;
}

TEST_IN_DIR(temporary_file_of_another_process_is_never_published_or_removed)
{
    assert_error(publish_filter("old", 0, 10), 0);
    struct faults faults = { .no_unnamed_files = true, .at_each_call = take_over_name };
    taken_over = false;
    faults_begin(&faults);
    int error = publish_filter("old", BLOOMFILE_TO_REPLACE, 20);
    faults_end();
    assert_true(taken_over);
    assert_error(error, EBUSY);
    assert_filter_of("old", 10);
    assert_int_equal(access(fixed_name(0), F_OK), 0);
}

/* On other file systems names are random, and nothing is removed. */
static bool folder_is_local(void)
{
    const int fd = enter_temp_dir(NULL) == 0 ? open(".", O_RDONLY | O_CLOEXEC) : -1;
    assert_true(fd >= 0);
    const bool local = filesystem_is_local(fd);
    close(fd);
    assert_int_equal(leave_temp_dir(NULL), 0);
    return local;
}

int main(void)
{
    if (!folder_is_local())
        return skipped("needs a file system on which leftovers are looked for");
    return run_all(NULL, NULL);
}
