/* SPDX-License-Identifier: MIT
 * Every system call and allocation of making and publishing a file fails once, or from then on.
 * Then the error is returned, nothing leaks, no temporary file remains, and the file is either
 * the old or the new file. */
#include "scenarios.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "os/host.h"

static const struct {
    enum fault_call call;
    int errors[6];
} publishing[] = {
    { ON_calloc, { ENOMEM } },
    { ON_fallocate64, { ENOSPC, EFBIG, EDQUOT, EIO } },
    { ON_fchmod, { EPERM, EIO } },
    { ON_fstatat64, { EACCES, EIO, ENOMEM } },
    { ON_fsync, { EIO, ENOSPC, EDQUOT } },
    { ON_linkat, { EACCES, EIO, ENOSPC, EXDEV, EMLINK } },
    { ON_malloc, { ENOMEM } },
    { ON_open64, { EMFILE, ENFILE, EACCES, ENOMEM } },
    { ON_openat64, { EMFILE, EACCES, EROFS, ENOSPC, EDQUOT } },
    { ON_realloc, { ENOMEM } },
    { ON_realpath, { ENOMEM, EACCES, EIO } },
    { ON_renameat, { EACCES, EIO, ENOSPC, EROFS, EBUSY } },
    { ON_renameat2, { EACCES, EIO, ENOSPC, EROFS, EEXIST } },
    { ON_strdup, { ENOMEM } },
    { ON_pwrite64, { ENOSPC, EIO, EDQUOT, EFBIG } },
};

static bool is_for_links(enum fault_call call)
{
    return call == ON_linkat || call == ON_realpath;
}

/* On other file systems the old file is not locked. */
static bool is_local(void)
{
    const int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool local = filesystem_is_local(fd);
    close(fd);
    return local;
}

/* An unreadable old file may be replaced. It is opened for its header, by a fold twice, and at the
 * end for a lock. */
static bool is_spared(const struct scenario *s, enum fault_call call, unsigned nth, int error,
                      unsigned count)
{
    if (!s->replace || error != EACCES)
        return false;
    return (call == ON_open64 && nth < count) ||
           (call == ON_openat64 && nth == count && is_local());
}

static void each_failed_call_returns_its_error_and_the_file_is_old_or_new(void **state)
{
    unsigned failed[FAULT_CALL_COUNT] = { 0 };
    for (size_t s = 0; s < SCENARIOS; s++) {
        assert_returns(&scenarios[s], (struct faults){ 0 }, 0);
        unsigned count[FAULT_CALL_COUNT];
        for (unsigned call = 0; call < FAULT_CALL_COUNT; call++)
            count[call] = fault_calls((enum fault_call)call);
        for (size_t i = 0; i < ROWS(publishing); i++) {
            enum fault_call call = publishing[i].call;
            for (const int *error = publishing[i].errors; *error != 0; error++) {
                for (unsigned nth = 1; nth <= count[call]; nth++) {
                    const bool spared = is_spared(&scenarios[s], call, nth, *error, count[call]);
                    assert_returns(&scenarios[s], once(call, nth, *error), spared ? 0 : *error);
                    assert_returns(&scenarios[s], from_then_on(call, nth, *error),
                                   spared && count[call] == nth ? 0 : *error);
                    failed[call]++;
                }
            }
        }
    }
    for (size_t i = 0; i < ROWS(publishing); i++)
        if (publishing[i].call != ON_malloc && publishing[i].call != ON_realloc &&
            (has_links || !is_for_links(publishing[i].call)))
            assert_true(failed[publishing[i].call] > 0);
}

static void publish_succeeds_without_optional_file_system_features(void **state)
{
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
    for (size_t s = 0; s < SCENARIOS; s++)
        for (size_t i = 0; i < ROWS(rows); i++) {
            if (rows[i].call == ON_renameat2 && !has_links)
                continue;
            assert_returns(&scenarios[s], once(rows[i].call, rows[i].nth, rows[i].error), 0);
            assert_returns(&scenarios[s], from_then_on(rows[i].call, rows[i].nth, rows[i].error),
                           0);
        }
}

static void without_unnamed_files_a_named_temporary_is_used(void **state)
{
    if (!unnamed_files)
        skip("the file system has no files without a name");
    static const int errors[] = { EOPNOTSUPP, EISDIR, ENOENT, EINVAL };
    for (size_t s = NEW; s <= REPLACEMENT; s++)
        for (size_t i = 0; i < ROWS(errors); i++)
            assert_returns(&scenarios[s], once(ON_openat64, 1, errors[i]), 0);
}

static void taken_temporary_name_is_replaced_by_another(void **state)
{
    const struct scenario *named = &scenarios[NEW_BY_NAME], *replace = &scenarios[REPLACEMENT];
    assert_returns(named, once(ON_openat64, 1, EEXIST), 0);
    /* A temporary file is removed only if it was linked; else it was renamed. */
    assert_int_equal(fault_calls(ON_unlinkat), fault_calls(ON_linkat));
    assert_returns(named, from_then_on(ON_openat64, 1, EEXIST), EEXIST);
    assert_true(fault_calls(ON_openat64) > 10);
    assert_int_equal(fault_calls(ON_unlinkat), 0);
    if (!unnamed_files)
        return;
    assert_returns(replace, once(ON_linkat, 1, EEXIST), 0);
    assert_returns(replace, from_then_on(ON_linkat, 1, EEXIST), EEXIST);
    assert_int_equal(fault_calls(ON_unlinkat), 0);
}

static void short_and_interrupted_writes_are_continued(void **state)
{
    for (size_t s = 0; s < SCENARIOS; s++) {
        assert_returns(&scenarios[s], (struct faults){ .transfer_at_most = 1000 }, 0);
        assert_true(fault_calls(ON_pwrite64) > 20);
        assert_returns(&scenarios[s], once(ON_fallocate64, 1, EINTR), 0);
        for (unsigned nth = 1; nth <= 3; nth++) {
            struct faults faults = once(ON_pwrite64, nth, EINTR);
            faults.transfer_at_most = 9999;
            assert_returns(&scenarios[s], faults, 0);
            faults.error = ENOSPC;
            assert_returns(&scenarios[s], faults, ENOSPC);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_failed_call_returns_its_error_and_the_file_is_old_or_new),
        cmocka_unit_test(publish_succeeds_without_optional_file_system_features),
        cmocka_unit_test(without_unnamed_files_a_named_temporary_is_used),
        cmocka_unit_test(taken_temporary_name_is_replaced_by_another),
        cmocka_unit_test(short_and_interrupted_writes_are_continued),
    };
    return run_scenarios(tests, ROWS(tests));
}
