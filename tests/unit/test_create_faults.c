/* SPDX-License-Identifier: MIT
 * Every system call and allocation of operations that create a live filter or copy it fails
 * once, or from then on. Then the error is returned, nothing leaks, no file remains, and an old
 * file and the source are unchanged. */
#include "live_support.h"

#include <bloomfile_combine.h>
#include <bloomfile_live.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "faults.h"
#include "publish/temporary.h"

#define OLD_CONTENT "the file that was there before"

static bloomfile_filter *source, *made;
static bool lists; /* the file system has access control lists */

static int create(unsigned flags)
{
    struct bloomfile_params params = live_params(BLOOMFILE_LAYOUT_COUNTING);
    return bloomfile_create(&made, "new", &params, flags);
}

static int create_new(void)
{
    return create(BLOOMFILE_OPEN_ADD_EXACT);
}

static int create_replacement(void)
{
    return create(BLOOMFILE_TO_REPLACE);
}

static int create_in_memory(void)
{
    struct bloomfile_params params = live_params(BLOOMFILE_LAYOUT_BLOCKED);
    return bloomfile_create_memory(&made, &params, 0);
}

static int seal_to_new(void)
{
    return bloomfile_copy_sealed(TO_PATH("new", 0), source, NULL);
}

static int seal_to_replacement(void)
{
    return bloomfile_copy_sealed(TO_PATH("new", BLOOMFILE_TO_REPLACE), source, NULL);
}

static int project(void)
{
    return bloomfile_project(TO_PATH("new", 0), source, NULL);
}

static int rescue(void)
{
    return bloomfile_rescue("new", source, 0);
}

static const struct operation {
    const char *what;
    int (*run)(void);
    bool creates, replaces;
    const char *(*flaw)(const char *path); /* of the new file, after all handles are closed */
} operations[] = {
    { "creating", create_new, true, false, flaw_of_live_file },
    { "creating a replacement", create_replacement, true, true, flaw_of_live_file },
    { "creating in memory", create_in_memory, true, false, NULL },
    { "sealing to a file", seal_to_new, false, false, flaw_of_sealed_file },
    { "sealing to a replacement", seal_to_replacement, false, true, flaw_of_sealed_file },
    { "projecting", project, false, false, flaw_of_sealed_file },
    { "rescuing", rescue, false, false, flaw_of_live_file },
};

/* ---- conditions on the result: NULL, or the flaw */

static const char *flaw_of_old(const struct operation *op)
{
    if (!op->replaces)
        return access("new", F_OK) == 0 ? "a file is there" : NULL;
    struct stat status;
    assert_file_holds("new", OLD_CONTENT, strlen(OLD_CONTENT));
    assert_int_equal(stat("new", &status), 0);
    return (status.st_mode & 0777) == 0640 ? NULL : "the old file has another mode";
}

static const char *flaw_of_new(const struct operation *op)
{
    if (made != NULL) {
        add_digests_of(made, 0, LIVE_KEYS);
        const char *flaw = flaw_of_sound(made);
        if (flaw != NULL)
            return flaw;
        bloomfile_close(made);
        made = NULL;
    }
    return op->flaw == NULL ? flaw_of_old(op) : op->flaw("new");
}

/* Only the last step failed, the fsync() of the folder: the new file exists. */
static const char *flaw_of_complete(const struct operation *op)
{
    return op->creates ? flaw_of_clean_file("new") : op->flaw("new");
}

static const char *flaw_of_result(const struct operation *op, int returned)
{
    if (op->creates && (made == NULL) != (returned != 0))
        return "a handle despite the error, or none";
    if (returned == 0)
        return flaw_of_new(op);
    return fault_calls(ON_fsync) > 1 ? flaw_of_complete(op) : flaw_of_old(op);
}

/* An access control list, if the file system has them. */
static void give_list(const char *path)
{
    static const uint16_t list[] = { 2,      0,      1,    6, 0xFFFF, 0xFFFF, 2,    6,
                                     1234,   0,      4,    0, 0xFFFF, 0xFFFF, 0x10, 4,
                                     0xFFFF, 0xFFFF, 0x20, 0, 0xFFFF, 0xFFFF };
    lists = setxattr(path, "system.posix_acl_access", list, sizeof list, 0) == 0;
}

static void prepare_target(const struct operation *op)
{
    if (!op->replaces)
        return;
    write_file("new", OLD_CONTENT, strlen(OLD_CONTENT));
    if (op->creates)
        give_list("new");
    assert_int_equal(chmod("new", 0640), 0);
}

static const char *run(const struct operation *op, struct faults faults, int expected)
{
    prepare_target(op);
    const size_t descriptors = open_descriptors(), mappings = mapped_files();
    made = (void *)&made;
    if (!op->creates)
        made = NULL;
    faults_begin(&faults);
    int returned = op->run();
    faults_end();
    const char *flaw =
        returned != expected ? bloomfile_errname(returned) : flaw_of_result(op, returned);
    if (flaw == NULL && (open_descriptors() != descriptors || mapped_files() != mappings))
        flaw = "a descriptor or a mapping leaked";
    if (flaw == NULL)
        flaw = flaw_of_sound(source);
    unlink("new");
    return flaw == NULL && entries_in_dir() != 1 ? "a file is left" : flaw;
}

static void assert_returns(const struct operation *op, struct faults faults, int expected)
{
    const char *flaw = run(op, faults, expected);
    if (flaw != NULL)
        fail_msg("%s: %s no. %u fails with %s%s: %s", op->what, fault_name(faults.call), faults.nth,
                 bloomfile_errname(faults.error), faults.for_ever ? " for ever" : "", flaw);
}

/* ---- tests */

static const struct {
    enum fault_call call;
    int errors[5];
} reported[] = {
    { ON_asprintf, { ENOMEM } },
    { ON_calloc, { ENOMEM } },
    { ON_fallocate64, { ENOSPC, EFBIG, EDQUOT, EIO } },
    { ON_fchmod, { EPERM, EIO } },
    { ON_fcntl64, { EMFILE, ENOLCK } },
    { ON_fstat64, { EIO } },
    { ON_fstatat64, { EACCES, EIO } },
    { ON_fstatfs64, { EIO, ENOMEM } },
    { ON_fsetxattr, { EIO, ENOSPC } },
    { ON_fremovexattr, { EIO, ENOSPC } },
    { ON_fsync, { EIO, ENOSPC } },
    { ON_ftruncate64, { EIO, EFBIG } },
    { ON_getcwd, { ENOMEM } },
    { ON_getrandom, { ENOSYS } },
    { ON_lgetxattr, { EIO } },
    { ON_linkat, { EACCES, ENOSPC } },
    { ON_malloc, { ENOMEM } },
    { ON_memfd_create, { EMFILE, ENOMEM, ENOSYS } },
    { ON_mmap64, { ENOMEM, EAGAIN } },
    { ON_msync, { EIO, ENOSPC } },
    { ON_open64, { EMFILE, EACCES } },
    { ON_openat64, { EMFILE, EACCES, ENOSPC } },
    { ON_pwrite64, { ENOSPC, EIO } },
    { ON_read, { EIO } },
    { ON_renameat, { EACCES, ENOSPC } },
    { ON_renameat2, { EACCES, EEXIST } },
    { ON_strdup, { ENOMEM } },
};

/* These failures are harmless: opening a file for a writer's locks; opening it for writing so
 * that a reader could poison it; and fstatfs() of a folder, or of an old file that is to be locked,
 * which then counts as remote. An old file that is unreadable is replaced without a lock on it;
 * that open comes last. */
static bool does_without(const struct operation *op, enum fault_call call, unsigned nth, int error,
                         bool last)
{
    if (call == ON_openat64)
        return op->replaces && last && error == EACCES;
    if (call == ON_fstatfs64)
        return (nth == 1 && op->run != create_in_memory) ||
               (op->replaces && (op->creates ? last : nth == 2));
    if (call != ON_open64)
        return false;
    for (int reads = op->creates ? 1 : 2; reads > 0 && op->replaces; reads--)
        if (nth-- == 1) /* the old file may be unreadable */
            return error == EACCES;
    if (op->creates)
        return nth == (op->run == create_in_memory ? 1 : 2);
    return nth == 2 && error == EACCES;
}

static void fail_each_call(const struct operation *op, struct faults lacking, unsigned *failed)
{
    unsigned count[FAULT_CALL_COUNT];
    assert_returns(op, lacking, 0);
    for (unsigned call = 0; call < FAULT_CALL_COUNT; call++)
        count[call] = fault_calls((enum fault_call)call);
    for (size_t i = 0; i < ROWS(reported); i++)
        for (const int *error = reported[i].errors; *error != 0; error++)
            for (unsigned nth = 1; nth <= count[reported[i].call]; nth++) {
                if (reported[i].call == ON_msync && !op->creates)
                    continue; /* this poisons the source; see below */
                const bool last = nth == count[reported[i].call];
                const bool needless = does_without(op, reported[i].call, nth, *error, last);
                struct faults faults = once(reported[i].call, nth, *error);
                faults.no_unnamed_files = lacking.no_unnamed_files;
                assert_returns(op, faults, needless ? 0 : *error);
                faults.for_ever = true;
                assert_returns(op, faults, needless && last ? 0 : *error);
                failed[reported[i].call]++;
            }
}

TEST(each_failed_call_returns_its_error_and_leaves_nothing_behind)
{
    unsigned failed[FAULT_CALL_COUNT] = { 0 };
    const size_t sessions = mapped_sessions(); /* of the source */
    for (size_t o = 0; o < ROWS(operations); o++) {
        fail_each_call(&operations[o], (struct faults){ 0 }, failed);
        fail_each_call(&operations[o], (struct faults){ .no_unnamed_files = true }, failed);
    }
    for (size_t i = 0; i < ROWS(reported); i++)
        if (reported[i].call != ON_malloc && (reported[i].call != ON_fsetxattr || lists))
            assert_true(failed[reported[i].call] > 0);
    assert_int_equal(mapped_sessions(), sessions);
}

TEST(zeros_are_written_where_fallocate_is_missing)
{
    static const int errors[] = { EOPNOTSUPP, ENOSYS };
    for (size_t o = 0; o < ROWS(operations); o++)
        for (size_t i = 0; i < ROWS(errors); i++) {
            struct faults none = once(ON_fallocate64, 1, errors[i]), full = none;
            assert_returns(&operations[o], none, 0);
            if (operations[o].run == create_in_memory)
                continue;
            assert_true(fault_calls(ON_pwrite64) > 0);
            const struct faults no_space = once(ON_pwrite64, 1, ENOSPC);
            full.besides = &no_space;
            assert_returns(&operations[o], full, ENOSPC);
        }
}

TEST(interrupted_and_short_writes_are_continued)
{
    for (size_t o = 0; o < ROWS(operations); o++) {
        assert_returns(&operations[o], (struct faults){ .transfer_at_most = 100 }, 0);
        assert_returns(&operations[o], once(ON_fallocate64, 1, EINTR), 0);
        assert_returns(&operations[o], once(ON_pwrite64, 1, EINTR), 0);
        assert_returns(&operations[o], once(ON_fcntl64, 2, EINTR),
                       0); /* the first call creates a descriptor */
        assert_returns(&operations[o], from_then_on(ON_unlock, 1, ENOLCK), 0);
    }
}

/* If the list cannot be found either, only the owner keeps access. */
TEST(without_proc_the_access_control_list_is_found_by_the_path)
{
    for (unsigned found = 0; found < 2; found++) {
        struct faults faults = from_then_on(ON_lgetxattr, 1, ENOENT);
        faults.for_ever = found == 0;
        struct stat status;
        write_file("new", OLD_CONTENT, strlen(OLD_CONTENT));
        assert_int_equal(chmod("new", 0640), 0);
        faults_begin(&faults);
        int error = bloomfile_copy_sealed(TO_PATH("new", BLOOMFILE_TO_REPLACE), source, NULL);
        faults_end();
        assert_error(error, 0);
        assert_int_equal(stat("new", &status), 0);
        assert_int_equal(status.st_mode & 0777, found ? 0640 : 0600);
        assert_int_equal(unlink("new"), 0);
    }
}

TEST(random_temporary_names_are_used_only_if_the_fixed_names_are_taken)
{
    struct faults faults = once(ON_getrandom, 1, ENOSYS);
    const size_t entries = entries_in_dir();
    char name[] = ".bloomfile.00000000000N.tmp";
    prepare_target(&operations[1]);
    for (char n = '0'; n < '8'; n++) {
        name[sizeof name - 6] = n;
        assert_int_equal(mkdir(name, 0700), 0);
    }
    faults_begin(&faults);
    int error = create_replacement();
    faults_end();
    assert_error(error, ENOSYS);
    assert_null(flaw_of_old(&operations[1]));
    assert_error(create_replacement(), 0);
    bloomfile_close(made);
    made = NULL;
    for (char n = '0'; n < '8'; n++) {
        name[sizeof name - 6] = n;
        assert_int_equal(rmdir(name), 0);
    }
    assert_int_equal(unlink("new"), 0);
    assert_int_equal(entries_in_dir(), entries);
}

static long pages_mapped(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%ld", &pages), 1);
    fclose(file);
    return pages;
}

TEST(closing_a_filter_in_memory_frees_its_reserved_pages)
{
    const uint64_t size = (uint64_t)64 << 20;
    struct bloomfile_params params = live_params(BLOOMFILE_LAYOUT_BLOCKED);
    params.bits = 8 * size;
    const long before = pages_mapped();
    assert_error(bloomfile_create_memory(&made, &params, 0), 0);
    bloomfile_close(made);
    made = NULL;
    assert_true((uint64_t)(pages_mapped() - before) * (uint64_t)sysconf(_SC_PAGESIZE) < size);
}

TEST(descriptor_limit_returns_emfile)
{
    assert_returns(&operations[0], once(ON_fcntl64, 1, EMFILE), EMFILE);
    assert_returns(&operations[2], once(ON_fcntl64, 1, EMFILE), EMFILE);
}

static bool inherited[64]; /* by the test program */

static void find_inherited_descriptor(enum fault_call call)
{
    for (int fd = 0; fd < (int)ROWS(inherited); fd++) {
        const int flags = fcntl(fd, F_GETFD);
        assert_true(flags < 0 || (flags & FD_CLOEXEC) != 0 || inherited[fd]);
    }
}

/* Another thread may start a program at any time. */
TEST(executed_programs_inherit_no_descriptors)
{
    for (int fd = 0; fd < (int)ROWS(inherited); fd++) {
        const int flags = fcntl(fd, F_GETFD);
        inherited[fd] = flags >= 0 && (flags & FD_CLOEXEC) == 0;
    }
    for (size_t o = 0; o < ROWS(operations); o++)
        for (unsigned named = 0; named < 2; named++) {
            const struct faults faults = { .no_unnamed_files = named == 1,
                                           .at_each_call = find_inherited_descriptor };
            assert_returns(&operations[o], faults, 0);
        }
}

TEST(reader_copies_but_cannot_rescue_a_file_sealed_by_another_handle)
{
    make_live("other", BLOOMFILE_LAYOUT_COUNTING);
    bloomfile_filter *reader = opened("other", 0), *writer = opened("other", BLOOMFILE_OPEN_WRITE);
    assert_error(bloomfile_seal(writer, NULL), 0);
    bloomfile_close(writer);
    assert_error(bloomfile_rescue("new", reader, 0), BLOOMFILE_ESEALED);
    assert_int_equal(access("new", F_OK), -1);
    assert_error(bloomfile_copy_sealed(TO_PATH("new", 0), reader, NULL), 0);
    assert_flawless(flaw_of_sealed_file("new"));
    assert_error(bloomfile_project(TO_PATH("new", BLOOMFILE_TO_REPLACE), reader, NULL), 0);
    assert_flawless(flaw_of_sealed_file("new"));
    bloomfile_close(reader);
    assert_int_equal(unlink("new") | unlink("other"), 0);
}

/* The kernel reports a failed write only once, and bloomfile_sync() did not get that report. */
TEST(live_source_whose_sync_failed_is_never_trusted_again)
{
    int (*const copies[])(void) = { seal_to_new, project, rescue };
    bloomfile_filter *const sound = source;
    for (size_t i = 0; i < ROWS(copies); i++) {
        make_live("other", BLOOMFILE_LAYOUT_COUNTING);
        source = opened("other", BLOOMFILE_OPEN_WRITE);
        faults_begin(&(struct faults){ .call = ON_msync, .nth = 1, .error = EIO });
        int error = copies[i]();
        faults_end();
        assert_error(error, EIO);
        assert_int_equal(access("new", F_OK), -1);
        const char *flaw = flaw_of_doubtful(source);
        bloomfile_close(source);
        source = sound;
        if (flaw == NULL)
            flaw = flaw_of_poisoned_file("other");
        assert_int_equal(unlink("other"), 0);
        assert_flawless(flaw);
    }
}

/* Its parent has counted keys that no record holds yet. */
TEST(copy_made_by_a_child_has_an_estimated_count)
{
    make_live("other", BLOOMFILE_LAYOUT_BLOCKED);
    bloomfile_filter *writer = opened("other", BLOOMFILE_OPEN_WRITE);
    add_digests_of(writer, LIVE_KEYS, LIVE_KEYS + 20);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(bloomfile_copy_sealed(TO_PATH("new", 0), writer, NULL) != 0);
    assert_child_succeeds(child);
    assert_int_equal(info_of_file("new").keys_estimated, 1);
    assert_error(bloomfile_copy_sealed(TO_PATH("new", BLOOMFILE_TO_REPLACE), writer, NULL), 0);
    assert_int_equal(info_of_file("new").keys_estimated, 0);
    assert_int_equal(info_of_file("new").keys, LIVE_KEYS + 20);
    bloomfile_close(writer);
    assert_int_equal(unlink("new") | unlink("other"), 0);
}

/* ---- a program that closed its standard streams and writes to them */

static int null;
static bool apart; /* so far, no message could have reached a file of the library */

static int open_to_add(void)
{
    return bloomfile_open(&made, "filter", BLOOMFILE_OPEN_WRITE);
}

static int seal_to_stream(void)
{
    return bloomfile_copy_sealed(TO_FD(null, NULL), source, NULL);
}

static void look_at_streams(enum fault_call call)
{
    for (int fd = STDIN_FILENO; call == ON_pwrite64 && fd <= STDERR_FILENO; fd++) {
        const int flags = fcntl(fd, F_GETFL);
        apart = apart && (flags < 0 || (flags & O_ACCMODE) == O_RDONLY);
    }
}

static bool stays_apart(int (*make)(void), struct faults faults)
{
    faults.at_each_call = look_at_streams;
    apart = true;
    faults_begin(&faults);
    int error = make();
    if (error == 0 && made != NULL)
        error = bloomfile_sync(made, NULL);
    const unsigned writes = fault_calls(ON_pwrite64);
    faults_end();
    bloomfile_close(made);
    made = NULL;
    unlink("new");
    return error == 0 && writes > 0 && apart;
}

TEST(no_file_gets_the_descriptor_of_a_standard_stream)
{
    static int (*const ways[])(void) = { create_new, create_in_memory, seal_to_new,
                                         project,    seal_to_stream,   open_to_add };
    for (size_t i = 0; i < 2 * ROWS(ways); i++) {
        const struct faults faults = { .no_unnamed_files = i % 2 != 0 };
        const pid_t child = fork();
        if (child == 0) {
            null = open("/dev/null", O_WRONLY);
            for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
                close(fd);
            _exit(stays_apart(ways[i / 2], faults) ? 0 : 1);
        }
        assert_child_succeeds(child);
    }
}

/* ---- R7 under libfuse: a mapping through the file's first name differs from those of other
 * openings */

static const struct faults fuse = { .no_unnamed_files = true,
                                    .no_renameat2 = true,
                                    .links_are_copies = true,
                                    .file_system = 0x65735546 };

/* `series`: 0 or 1 */
static int create_linked_for(unsigned series, uint32_t hash_id, unsigned flags,
                             struct faults faults)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.capacity = 1000;
    params.series = series == 0 ? 0 : BLOOMFILE_SERIES_GROW;
    params.hash_id = hash_id;
    params.self_test = hash_id != 0 ? 77 : 0;
    made = (void *)&made;
    faults_begin(&faults);
    int error = bloomfile_create(&made, "linked", &params, flags);
    faults_end();
    return error;
}

static int create_linked(unsigned series, uint32_t hash_id, struct faults faults)
{
    return create_linked_for(series, hash_id, 0, faults);
}

TEST(creator_and_writer_on_fuse_see_each_other_s_adds)
{
    for (unsigned series = 0; series < 2; series++) {
        assert_error(create_linked(series, 0, fuse), 0);
        bloomfile_filter *other = opened("linked", BLOOMFILE_OPEN_WRITE);
        add_digests_of(other, 0, 10);
        add_digests_of(made, 10, 20);
        assert_true(has_numbers(made, 0, 20));
        assert_true(has_numbers(other, 0, 20));
        bloomfile_close(other);
        bloomfile_close(made);
        assert_int_equal(unlink("linked"), 0);
    }
}

/* It takes a lock for each add. */
TEST(adds_on_fuse_take_locks_only_with_add_exact)
{
    for (unsigned i = 0; i < 4; i++) {
        const bool exact = i / 2 == 1;
        assert_error(create_linked_for(i % 2, 0, exact ? BLOOMFILE_OPEN_ADD_EXACT : 0, fuse), 0);
        add_digests_of(made, 0, 10);
        faults_begin(&(struct faults){ 0 });
        add_digests_of(made, 10, 11);
        faults_end();
        assert_int_equal(fault_calls(ON_fcntl64), exact ? 1 : 0);
        bloomfile_close(made);
        assert_int_equal(unlink("linked"), 0);
    }
}

/* The creator named the function. */
TEST(creator_on_fuse_looks_up_by_its_application_hash)
{
    for (unsigned series = 0; series < 2; series++) {
        assert_error(create_linked(series, BLOOMFILE_APP_HASH_FIRST, fuse), 0);
        add_digests_of(made, 0, 10);
        assert_true(has_numbers(made, 0, 10));
        assert_false(bloomfile_contains_digest(made, number(0, ABSENT)));
        bloomfile_close(made);
        assert_int_equal(unlink("linked"), 0);
    }
}

/* The file gets its name before it is opened by that name. */
TEST(failed_create_on_fuse_leaves_no_file_a_valid_or_a_poisoned_file)
{
    for (unsigned t = 0; t < 2 * ROWS(reported); t++) {
        const unsigned series = t % 2;
        struct faults faults = fuse;
        faults.call = reported[t / 2].call;
        faults.error = reported[t / 2].errors[0];
        unsigned calls = 1;
        for (faults.nth = 0; faults.nth <= calls; faults.nth++) {
            const size_t descriptors = open_descriptors(), mappings = mapped_files();
            const int error = create_linked(series, 0, faults);
            if (faults.nth == 0) {
                assert_error(error, 0);
                calls = fault_calls(faults.call);
            }
            if (error != 0) {
                assert_error(error, faults.error);
                assert_null(made);
            } else {
                add_digests_of(made, 0, 10);
                bloomfile_close(made);
            }
            assert_int_equal(open_descriptors(), descriptors);
            assert_int_equal(mapped_files(), mappings);
            if (error == 0 || access("linked", F_OK) == 0) {
                bloomfile_filter *f;
                const int again = bloomfile_open(&f, "linked", BLOOMFILE_OPEN_WRITE);
                assert_error(again, error != 0 && again != 0 ? BLOOMFILE_EPOISONED : 0);
                assert_true(again != 0 || has_numbers(f, 0, error == 0 ? 10 : 0));
                bloomfile_close(f);
                assert_int_equal(unlink("linked"), 0);
            }
            assert_int_equal(entries_in_dir(), 1);
        }
    }
    made = NULL;
}

static bool seen_by_name;

/* Puts another filter in its place before it is opened by its name. */
static void replace_linked(enum fault_call call)
{
    if (call == ON_open64 && !seen_by_name && access("linked", F_OK) == 0)
        seen_by_name = rename("other", "linked") == 0;
}

TEST(create_on_fuse_does_not_open_a_filter_that_took_the_name)
{
    for (unsigned series = 0; series < 2; series++) {
        struct faults faults = fuse;
        faults.at_each_call = replace_linked;
        seen_by_name = false;
        make_live("other", BLOOMFILE_LAYOUT_BLOCKED);
        assert_error(create_linked(series, 0, faults), EBUSY);
        assert_null(made);
        assert_true(seen_by_name);
        assert_flawless(flaw_of_clean_file("linked"));
        assert_int_equal(unlink("linked"), 0);
    }
}

static const char *flaw_under_name;

/* Before the creator opens the file by its name. */
static void look_at_linked(enum fault_call call)
{
    if (call != ON_open64 || seen_by_name || access("linked", F_OK) != 0)
        return;
    seen_by_name = true;
    flaw_under_name = flaw_of_clean_file("linked");
}

/* Other processes cannot see the creator's locks, and would take it for dead. */
TEST(file_on_fuse_is_clean_when_it_gets_its_name)
{
    for (unsigned series = 0; series < 2; series++) {
        struct faults faults = fuse;
        faults.at_each_call = look_at_linked;
        seen_by_name = false;
        assert_error(create_linked(series, 0, faults), 0);
        assert_true(seen_by_name);
        assert_flawless(flaw_under_name);
        bloomfile_close(made);
        assert_int_equal(unlink("linked"), 0);
    }
}

static int prepare(void **state)
{
    if (enter_temp_dir(state) != 0)
        return -1;
    make_live("filter", BLOOMFILE_LAYOUT_COUNTING);
    source = opened("filter", 0);
    return 0;
}

static int clean_up(void **state)
{
    bloomfile_close(source);
    return leave_temp_dir(state);
}

int main(void)
{
    return run_all(prepare, clean_up);
}
