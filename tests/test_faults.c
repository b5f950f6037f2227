/* SPDX-License-Identifier: MIT
 * Every system call and allocation of building and publishing fails once, or from then on: the
 * error is told, nothing leaks or is left behind, and a file is either the old one or the new. */
#include "support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "faults.h"

#define OLD_CONTENT "the file that was there before"

static const struct scenario {
    const char *what;
    bool replace, through_link;
    struct faults lacking;
} scenarios[] = {
    { "a new file", false, false, { 0 } },
    { "a replacement", true, false, { 0 } },
    { "a new file, named temporary", false, false, { .no_unnamed_files = true } },
    { "a replacement, named temporary", true, false, { .no_unnamed_files = true } },
    { "a new file, no /proc", false, false, { .no_proc = true } },
    { "a new file, no renameat2", false, false, { .no_proc = true, .no_renameat2 = true } },
    { "a replacement through a link", true, true, { 0 } },
};

static const char *const target = "target", *link_to_target = "link";
static struct bytes new_content;
static bool unnamed_files; /* the file system of the test has them */

static int prepare(void **state)
{
    (void)state;
    if (enter_temp_dir(state) != 0)
        return -1;
    bloomfile_builder *b = new_builder((struct bloomfile_params){ .layout = BLOOMFILE_BLOCKED });
    add_numbers(b, 0, 20000);
    assert_error(bloomfile_builder_finish(b, target, 0), 0);
    bloomfile_builder_free(b);
    new_content = read_file(target);
    int fd = open(".", O_TMPFILE | O_RDWR, 0600);
    unnamed_files = fd >= 0;
    close(fd);
    return unlink(target);
}

static int clean_up(void **state)
{
    free(new_content.data);
    return leave_temp_dir(state);
}

static bool target_holds(const void *bytes, size_t size)
{
    FILE *file = fopen(target, "rb");
    if (file == NULL)
        return false;
    uint8_t *content = malloc(size + 1);
    bool same = fread(content, 1, size + 1, file) == size && memcmp(content, bytes, size) == 0;
    free(content);
    fclose(file);
    return same;
}

static bool taken; /* another process has put a file there in the meantime */

static bool target_is_old(const struct scenario *scenario)
{
    if (taken)
        return target_holds("another", strlen("another"));
    return scenario->replace ? target_holds(OLD_CONTENT, strlen(OLD_CONTENT))
                             : access(target, F_OK) != 0;
}

static bool target_is_new(void)
{
    return target_holds(new_content.data, new_content.size);
}

static int build_and_publish(const struct scenario *scenario)
{
    bloomfile_builder *b;
    int error = bloomfile_builder_new(&b, NULL);
    if (error != 0)
        return error;
    for (uint64_t i = 0; i < 20000 && error == 0; i++) {
        uint8_t room[8];
        struct bytes key = number_key(i, room);
        error = bloomfile_builder_add(b, key.data, key.size);
    }
    if (error == 0)
        error = bloomfile_builder_finish(b, scenario->through_link ? link_to_target : target,
                                         scenario->replace ? BLOOMFILE_REPLACE : 0);
    bloomfile_builder_free(b);
    return error;
}

/* Runs the scenario with the fault and cleans up after it; checks all but the error, and returns
 * that. */
static int run(const struct scenario *scenario, struct faults faults)
{
    if (scenario->replace) {
        write_file(target, OLD_CONTENT, strlen(OLD_CONTENT));
        assert_int_equal(chmod(target, 0600), 0);
    }
    if (scenario->through_link)
        assert_int_equal(symlink(target, link_to_target), 0);
    size_t descriptors = open_descriptors();
    sigset_t mask_before, mask_after;
    pthread_sigmask(SIG_SETMASK, NULL, &mask_before);

    faults.no_unnamed_files = scenario->lacking.no_unnamed_files;
    faults.no_proc = scenario->lacking.no_proc;
    faults.no_renameat2 = scenario->lacking.no_renameat2;
    faults_begin(&faults);
    int error = build_and_publish(scenario);
    faults_end();

    pthread_sigmask(SIG_SETMASK, NULL, &mask_after);
    assert_int_equal(sigismember(&mask_after, SIGTERM), sigismember(&mask_before, SIGTERM));
    assert_int_equal(open_descriptors(), descriptors);
    bool last_fsync = faults.call == ON_fsync && faults.nth == 2;
    if (error == 0 || last_fsync ? !target_is_new() : !target_is_old(scenario))
        fail_msg("%s: %s no. %u fails with %s: the target is %s", scenario->what,
                 fault_name(faults.call), faults.nth, bloomfile_errname(faults.error),
                 target_is_new()           ? "new"
                 : target_is_old(scenario) ? "old"
                                           : "damaged");
    unlink(target);
    unlink(link_to_target);
    assert_int_equal(entries_in_dir(), 0);
    return error;
}

static void assert_told(const struct scenario *scenario, struct faults faults, int expected)
{
    int told = run(scenario, faults);
    if (told != expected)
        fail_msg("%s: %s no. %u fails with %s: told %s", scenario->what, fault_name(faults.call),
                 faults.nth, bloomfile_errname(faults.error), bloomfile_errname(told));
}

static const struct {
    enum fault_call call;
    int errors[6];
} publishing[] = {
    { ON_calloc, { ENOMEM } },
    { ON_fallocate64, { ENOSPC, EFBIG, EDQUOT, EIO } },
    { ON_fchmod, { EPERM, EIO } },
    { ON_fstatat64, { EACCES, EIO, ENOMEM } },
    { ON_fsync, { EIO, ENOSPC, EDQUOT } },
    { ON_getrandom, { ENOSYS, EINTR } },
    { ON_linkat, { EACCES, EIO, ENOSPC, EXDEV, EMLINK } },
    { ON_malloc, { ENOMEM } },
    { ON_open64, { EMFILE, ENFILE, EACCES, ENOMEM } },
    { ON_openat64, { EMFILE, EACCES, EROFS, ENOSPC, EDQUOT } },
    { ON_realloc, { ENOMEM } },
    { ON_realpath, { ENOMEM, EACCES, EIO } },
    { ON_renameat, { EACCES, EIO, ENOSPC, EROFS, EBUSY } },
    { ON_renameat2, { EACCES, EIO, ENOSPC, EROFS, EEXIST } },
    { ON_strdup, { ENOMEM } },
    { ON_write, { ENOSPC, EIO, EDQUOT, EFBIG } },
};

static void whichever_call_fails_its_error_is_told_and_the_file_is_old_or_new(void **state)
{
    (void)state;
    unsigned failed[FAULT_CALL_COUNT] = { 0 };
    for (size_t s = 0; s < ROWS(scenarios); s++) {
        assert_error(run(&scenarios[s], (struct faults){ 0 }), 0);
        unsigned count[FAULT_CALL_COUNT];
        for (unsigned call = 0; call < FAULT_CALL_COUNT; call++)
            count[call] = fault_calls((enum fault_call)call);
        for (size_t i = 0; i < ROWS(publishing); i++) {
            enum fault_call call = publishing[i].call;
            for (const int *error = publishing[i].errors; *error != 0; error++) {
                for (unsigned nth = 1; nth <= count[call]; nth++) {
                    assert_told(&scenarios[s], once(call, nth, *error), *error);
                    assert_told(&scenarios[s], from_then_on(call, nth, *error), *error);
                    failed[call]++;
                }
            }
        }
    }
    for (size_t i = 0; i < ROWS(publishing); i++)
        if (publishing[i].call != ON_malloc)
            assert_true(failed[publishing[i].call] > 0);
}

static void what_a_file_system_lacks_is_done_without(void **state)
{
    (void)state;
    static const struct {
        enum fault_call call;
        unsigned nth;
        int error;
    } rows[] = {
        { ON_access, 1, EACCES },          { ON_access, 1, ENOENT },
        { ON_fallocate64, 1, EOPNOTSUPP }, { ON_fallocate64, 1, ENOSYS },
        { ON_fchown, 1, EPERM },           { ON_fchown, 1, EINVAL },
        { ON_fsync, 2, EINVAL },           { ON_renameat2, 1, EINVAL },
        { ON_renameat2, 1, ENOSYS },
    };
    for (size_t s = 0; s < ROWS(scenarios); s++)
        for (size_t i = 0; i < ROWS(rows); i++) {
            assert_told(&scenarios[s], once(rows[i].call, rows[i].nth, rows[i].error), 0);
            assert_told(&scenarios[s], from_then_on(rows[i].call, rows[i].nth, rows[i].error), 0);
        }
}

static void without_unnamed_files_a_named_temporary_serves(void **state)
{
    (void)state;
    static const int errors[] = { EOPNOTSUPP, EISDIR, ENOENT, EINVAL };
    for (size_t s = 0; s < 2; s++)
        for (size_t i = 0; i < ROWS(errors); i++)
            assert_told(&scenarios[s], once(ON_openat64, 1, errors[i]), 0);
}

static void a_temporary_s_name_that_is_taken_is_tried_anew(void **state)
{
    (void)state;
    const struct scenario *named = &scenarios[2], *replace = &scenarios[1];
    assert_told(named, once(ON_openat64, 1, EEXIST), 0);
    assert_told(named, from_then_on(ON_openat64, 1, EEXIST), EEXIST);
    assert_true(fault_calls(ON_openat64) > 10);
    assert_int_equal(fault_calls(ON_unlinkat), 0);
    if (!unnamed_files)
        return;
    assert_told(replace, once(ON_linkat, 1, EEXIST), 0);
    assert_told(replace, from_then_on(ON_linkat, 1, EEXIST), EEXIST);
    assert_int_equal(fault_calls(ON_unlinkat), 0);
}

static void take_the_name(enum fault_call call)
{
    if (call == ON_linkat || call == ON_renameat2) {
        write_file(target, "another", strlen("another"));
        taken = true;
    }
}

static void a_name_that_is_taken_in_the_last_moment_is_not_replaced(void **state)
{
    (void)state;
    for (size_t s = 0; s < ROWS(scenarios); s++) {
        if (scenarios[s].replace)
            continue;
        taken = false;
        assert_told(&scenarios[s], (struct faults){ .at_each_call = take_the_name }, EEXIST);
        assert_true(taken);
        taken = false;
    }
}

static void short_and_interrupted_writes_are_continued(void **state)
{
    (void)state;
    for (size_t s = 0; s < ROWS(scenarios); s++) {
        assert_told(&scenarios[s], (struct faults){ .transfer_at_most = 1000 }, 0);
        assert_true(fault_calls(ON_write) > 20);
        assert_told(&scenarios[s], once(ON_fallocate64, 1, EINTR), 0);
        for (unsigned nth = 1; nth <= 3; nth++) {
            struct faults faults = once(ON_write, nth, EINTR);
            faults.transfer_at_most = 9999;
            assert_told(&scenarios[s], faults, 0);
            faults.error = ENOSPC;
            assert_told(&scenarios[s], faults, ENOSPC);
        }
    }
}

/* ---- what stands at the path at each moment */

static const struct scenario *watched;
static bool seen_old, seen_new, seen_temporary, shown_to_others;

/* The name of what is in the directory besides the target and the link to it, or NULL. */
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
    (void)call;
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
    assert_told(watched, (struct faults){ .at_each_call = look_at_target }, 0);
}

static void a_kill_at_any_call_leaves_the_old_file_or_the_new_one(void **state)
{
    (void)state;
    for (size_t s = 0; s < ROWS(scenarios); s++) {
        watch(&scenarios[s]);
        assert_true(seen_old && seen_new);
        bool lacking = watched->lacking.no_unnamed_files || watched->lacking.no_proc;
        if (unnamed_files && !lacking && !watched->replace)
            assert_false(seen_temporary);
    }
}

static void what_replaces_a_private_file_is_private_from_the_start(void **state)
{
    (void)state;
    for (size_t s = 0; s < ROWS(scenarios); s++) {
        watch(&scenarios[s]);
        if (watched->replace)
            assert_true(seen_temporary && !shown_to_others);
    }
}

static volatile sig_atomic_t signals_handled;

static void handle(int signal)
{
    signals_handled += signal == SIGUSR1;
}

static void raise_signal(enum fault_call call)
{
    if (call != ON_renameat && call != ON_renameat2)
        return;
    raise(SIGUSR1);
    assert_int_equal(signals_handled, 0);
}

static void signals_wait_while_a_named_temporary_exists(void **state)
{
    (void)state;
    for (size_t s = 1; s < 4; s++) {
        signals_handled = 0;
        signal(SIGUSR1, handle);
        assert_told(&scenarios[s], (struct faults){ .at_each_call = raise_signal }, 0);
        assert_int_equal(signals_handled, 1);
        signal(SIGUSR1, SIG_DFL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whichever_call_fails_its_error_is_told_and_the_file_is_old_or_new),
        cmocka_unit_test(what_a_file_system_lacks_is_done_without),
        cmocka_unit_test(without_unnamed_files_a_named_temporary_serves),
        cmocka_unit_test(a_temporary_s_name_that_is_taken_is_tried_anew),
        cmocka_unit_test(a_name_that_is_taken_in_the_last_moment_is_not_replaced),
        cmocka_unit_test(short_and_interrupted_writes_are_continued),
        cmocka_unit_test(a_kill_at_any_call_leaves_the_old_file_or_the_new_one),
        cmocka_unit_test(what_replaces_a_private_file_is_private_from_the_start),
        cmocka_unit_test(signals_wait_while_a_named_temporary_exists),
    };
    return cmocka_run_group_tests(tests, prepare, clean_up) != 0;
}
