/* SPDX-License-Identifier: MIT
 * The file at a path at each moment while another file is published there, and concurrent
 * actions of other processes. */
#include "scenarios.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct scenario *watched;
static bool seen_old, seen_new, seen_temporary, shown_to_others;

/* Returns the name of a file in the folder other than the target and the link to it, or NULL. */
static const char *named_temporary(void)
{
    static char name[sizeof((struct dirent *)NULL)->d_name];
    name[0] = '\0';
    DIR *dir = opendir(".");
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            strcmp(entry->d_name, target) != 0 && strcmp(entry->d_name, link_to_target) != 0)
            strcpy(name, entry->d_name);
    closedir(dir);
    return name[0] != '\0' ? name : NULL;
}

static void look_at_target(enum fault_call call)
{
    bool old = target_is_old(watched), new = target_is_new();
    assert_true(old != new);
    assert_false(old && seen_new);
    seen_old |= old;
    seen_new |= new;
    struct stat status;
    const char *temporary = named_temporary();
    seen_temporary |= temporary != NULL;
    if (temporary != NULL && stat(temporary, &status) == 0)
        shown_to_others |= (status.st_mode & 077) != 0;
}

static void watch(const struct scenario *scenario)
{
    watched = scenario;
    seen_old = seen_new = seen_temporary = shown_to_others = false;
    assert_returns(watched, (struct faults){ .at_each_call = look_at_target }, 0);
}

static void a_kill_at_any_call_leaves_the_old_file_or_the_new_one(void **state)
{
    for (size_t s = 0; s < SCENARIOS; s++) {
        watch(&scenarios[s]);
        assert_true(seen_old && seen_new);
        bool lacking = watched->lacking.no_unnamed_files || watched->lacking.no_proc;
        if (unnamed_files && !lacking && !watched->replace)
            assert_false(seen_temporary);
    }
}

static void replacement_of_a_private_file_is_private_from_the_start(void **state)
{
    write_file("probe", "", 0);
    const bool has_modes = takes_mode("probe", 0600);
    assert_int_equal(unlink("probe"), 0);
    if (!has_modes)
        skip("the file system keeps no permissions");
    for (size_t s = 0; s < SCENARIOS; s++) {
        watch(&scenarios[s]);
        if (watched->replace)
            assert_true(seen_temporary && !shown_to_others);
    }
}

static void look_at_signals(enum fault_call call)
{
    sigset_t now;
    if (call != ON_pwrite64)
        return;
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    assert_false(sigismember(&now, SIGBUS));
}

/* If a source is truncated while it is read, the signal must reach the program's handler. */
static void sigbus_is_never_blocked(void **state)
{
    for (size_t s = 0; s < SCENARIOS; s++)
        assert_returns(&scenarios[s], (struct faults){ .at_each_call = look_at_signals }, 0);
}

/* ---- other processes at the same path */

static bool target_is_another_file(void)
{
    return target_holds("another", strlen("another"));
}

static void make_another_file(enum fault_call call)
{
    if (call == ON_linkat || call == ON_renameat2) {
        write_file(target, "another", strlen("another"));
        target_is_taken = target_is_another_file;
    }
}

static void file_that_takes_the_name_at_the_last_moment_is_kept(void **state)
{
    for (size_t s = 0; s < SCENARIOS; s++) {
        if (scenarios[s].replace)
            continue;
        assert_returns(&scenarios[s], (struct faults){ .at_each_call = make_another_file }, EEXIST);
        assert_non_null(target_is_taken);
        target_is_taken = NULL;
    }
}

static bool target_is_fifo(void)
{
    struct stat status;
    return stat(target, &status) == 0 && S_ISFIFO(status.st_mode);
}

static void make_fifo(enum fault_call call)
{
    if (call == ON_pwrite64 && target_is_taken == NULL) {
        unlink(target);
        assert_int_equal(mkfifo(target, 0666), 0);
        target_is_taken = target_is_fifo;
    }
}

static void path_that_becomes_a_fifo_during_publish_is_not_replaced(void **state)
{
    make_pipe("pipe", 0666); /* not possible on every file system */
    assert_int_equal(unlink("pipe"), 0);
    for (size_t s = 0; s < SCENARIOS; s++) {
        assert_returns(&scenarios[s], (struct faults){ .at_each_call = make_fifo },
                       BLOOMFILE_ENOTREGULAR);
        assert_non_null(target_is_taken);
        target_is_taken = NULL;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kill_at_any_call_leaves_the_old_file_or_the_new_one),
        cmocka_unit_test(replacement_of_a_private_file_is_private_from_the_start),
        cmocka_unit_test(sigbus_is_never_blocked),
        cmocka_unit_test(file_that_takes_the_name_at_the_last_moment_is_kept),
        cmocka_unit_test(path_that_becomes_a_fifo_during_publish_is_not_replaced),
    };
    return run_scenarios(tests, ROWS(tests));
}
