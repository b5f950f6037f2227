/* SPDX-License-Identifier: MIT
 * Every call fails once, in every operation that uses a live filter or much memory: either the
 * error is returned, or the result is that of a run without faults. */
#include "live_support.h"

#include <bloomfile_combine.h>
#include <bloomfile_live.h>
#include <bloomfile_unstable.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "faults.h"
#include "format/bytes.h"
#include "format/header.h"
#include "os/host.h"

#define LEFT_BEHIND ".bloomfile.000000000000.tmp"

enum {
    KEYS = 60000,
    MANY = 3000,     /* more than fit into one batch */
    BITS = 8 * 5000, /* a body that ends within its second page */
    NFS = 0x6969
};

static uint64_t digests[KEYS];
static struct bytes live_image, sealed_image;
static bloomfile_filter *reader, *writer, *sealed;
static struct bytes half_images[2];
static bloomfile_filter *halves[2]; /* the slices of a filter */
static struct bytes larger_image;
static bloomfile_filter *larger; /* has more keys than the sealed filter */

static void make_halves(void)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
        params.capacity = LIVE_KEYS;
        params.bits = BITS - BITS % 512;
        params.slice = i;
        params.slices = 2;
        bloomfile_builder *b = new_builder(params);
        add_numbers(b, 0, LIVE_KEYS);
        half_images[i] = finish_file(b);
        bloomfile_builder_free(b);
        halves[i] = open_image(half_images[i], 0);
    }
}

static int prepare(void **state)
{
    if (enter_temp_dir(state) != 0)
        return -1;
    uint64_t random = 53;
    for (size_t i = 0; i < KEYS; i++)
        digests[i] = random64(&random);
    make_halves();
    make_live("live", BLOOMFILE_LAYOUT_COUNTING);
    live_image = read_file("live");
    struct recipe recipe = { BLOOMFILE_LAYOUT_CLASSIC, IN_FILE, BITS, 5, LIVE_KEYS, 0 };
    sealed_image = image_from(recipe);
    recipe.keys *= 2;
    larger_image = image_from(recipe);
    larger = open_image(larger_image, 0);
    return unlink("live");
}

static void begin(void)
{
    write_file("live", live_image.data, live_image.size);
    write_file("sealed", sealed_image.data, sealed_image.size);
    sealed = opened("sealed", 0);
    reader = opened("live", 0);
    writer = opened("live", BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ADD_EXACT);
}

static void end(void)
{
    bloomfile_close(reader);
    bloomfile_close(writer);
    bloomfile_close(sealed);
    reader = writer = sealed = NULL;
    unlink("live");
    unlink("sealed");
    unlink("made");
    unlink(LEFT_BEHIND);
}

static int clean_up(void **state)
{
    end();
    for (int i = 0; i < 2; i++) {
        bloomfile_close(halves[i]);
        free(half_images[i].data);
    }
    bloomfile_close(larger);
    free(larger_image.data);
    free(live_image.data);
    free(sealed_image.data);
    return leave_temp_dir(state);
}

/* ---- operations; those that make a file write "made" */

static int plan_live(void)
{
    struct bloomfile_fold_choice choices[4];
    size_t count = ROWS(choices);
    return bloomfile_fold_plan(reader, 0, choices, &count);
}

static int plan_sealed(void)
{
    struct bloomfile_fold_choice choices[4];
    size_t count = ROWS(choices);
    return bloomfile_fold_plan(sealed, 0, choices, &count);
}

static int fold_live(void)
{
    return bloomfile_fold(TO_PATH("made", 0), reader, 2, NULL);
}

static int unite(void)
{
    const bloomfile_filter *const both[] = { reader, writer };
    return bloomfile_merge(TO_PATH("made", 0), both, 2, NULL);
}

static int intersect(void)
{
    const bloomfile_filter *const both[] = { larger, sealed };
    struct bloomfile_merge_params params = BLOOMFILE_MERGE_PARAMS_INIT;
    params.op = BLOOMFILE_MERGE_INTERSECTION;
    return bloomfile_merge(TO_PATH("made", 0), both, 2, &params);
}

static int project_live(void)
{
    return bloomfile_project(TO_PATH("made", 0), reader, NULL);
}

static int rescue_live(void)
{
    return bloomfile_rescue("made", reader, 0);
}

static int copy_as_reader(void)
{
    return bloomfile_copy_sealed(TO_PATH("made", 0), reader, NULL);
}

static int copy_as_writer(void)
{
    return bloomfile_copy_sealed(TO_PATH("made", 0), writer, NULL);
}

static int sync_it(void)
{
    return bloomfile_sync(writer, NULL);
}

static int finish_it(void)
{
    return bloomfile_finish(writer);
}

static int seal_it(void)
{
    return bloomfile_seal(writer, NULL);
}

static int add_many_exactly(void)
{
    return bloomfile_add_digests(writer, digests, MANY, NULL, NULL, NULL);
}

static int assemble(void)
{
    const struct bloomfile_params params = {
        .struct_size = sizeof params, .bits = BITS, .hashes = 5, .layout = BLOOMFILE_LAYOUT_CLASSIC
    };
    size_t size;
    const void *body = bloomfile_body(sealed, &size);
    return bloomfile_assemble(TO_PATH("made", 0), &params, body, size, 0, LIVE_KEYS);
}

static int open_copy(void)
{
    bloomfile_filter *f;
    int error = open_from(&f, bloomfile_from_memory(sealed_image.data, sealed_image.size),
                          BLOOMFILE_OPEN_COPY);
    bloomfile_close(f);
    return error;
}

static int tell(void)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    return bloomfile_get_info(reader, &info);
}

static int is_stale(void)
{
    return bloomfile_is_stale(reader) ? ESTALE : 0;
}

static int build_at(const char *path)
{
    const struct bloomfile_params params = { .struct_size = sizeof params, .capacity = MANY };
    bloomfile_builder *b;
    int error = bloomfile_builder_new(&b, &params);
    if (error == 0)
        error = bloomfile_builder_add_digests(b, digests, MANY);
    if (error == 0)
        error = bloomfile_builder_write(b, TO_PATH(path, BLOOMFILE_TO_REPLACE));
    bloomfile_builder_free(b);
    return error;
}

static int replace(void)
{
    return build_at("sealed");
}

static int build_plainly(void)
{
    int error = build_at("plain");
    unlink("plain");
    return error;
}

static int build(struct bloomfile_params params)
{
    bloomfile_builder *b;
    uint64_t count;
    params.struct_size = sizeof params;
    params.spool = ".";
    int error = bloomfile_builder_new(&b, &params);
    if (error == 0)
        error = bloomfile_builder_add_digests(b, digests, KEYS);
    if (error == 0)
        error = bloomfile_builder_count(b, &count);
    for (uint64_t i = 0; error == 0 && i < LIVE_KEYS; i++) {
        uint8_t room[8];
        struct bytes key = number_key(i, room);
        error = bloomfile_builder_add(b, key.data, key.size);
    }
    if (error == 0)
        error = bloomfile_builder_write(b, TO_PATH("made", 0));
    bloomfile_builder_free(b);
    return error;
}

static int join(void)
{
    return bloomfile_join(TO_PATH("made", 0), (const bloomfile_filter *const *)halves, 2, NULL, 0);
}

static int join_headers(void)
{
    uint8_t headers[2][IN_FILE], header[IN_FILE];
    for (int i = 0; i < 2; i++)
        memcpy(headers[i], half_images[i].data, IN_FILE);
    return bloomfile_join_headers(header, headers, 2, 0);
}

/* The last window is smaller. */
static int build_in_windows(void)
{
    return build((struct bloomfile_params){ .layout = BLOOMFILE_LAYOUT_CLASSIC,
                                            .bits = 8 * (4 << 20) - 77,
                                            .hashes = 9,
                                            .memory = 1 << 20 });
}

static int build_in_buffers(void)
{
    return build((struct bloomfile_params){ .threads = 4, .memory = 1 << 20 });
}

static int build_for_many(void)
{
    return build((struct bloomfile_params){ .threads = 2, .capacity = KEYS, .memory = 1 << 20 });
}

static const struct operation {
    const char *what;
    int (*run)(void);
    bool makes_a_file, by_name;
} operations[] = {
    { "fold plan, live", plan_live, false, false },
    { "fold plan, sealed", plan_sealed, false, false },
    { "fold", fold_live, true, false },
    { "unite", unite, true, false },
    { "intersect", intersect, true, false },
    { "join", join, true, false },
    { "join headers", join_headers, false, false },
    { "project", project_live, true, false },
    { "rescue", rescue_live, false, false },
    { "copy as reader", copy_as_reader, true, false },
    { "copy as writer", copy_as_writer, true, false },
    { "sync", sync_it, false, false },
    { "finish", finish_it, false, false },
    { "seal", seal_it, false, false },
    { "add many exactly", add_many_exactly, false, false },
    { "assemble", assemble, true, false },
    { "open a copy", open_copy, false, false },
    { "get info", tell, false, false },
    { "is stale", is_stale, false, false },
    { "replace", replace, false, false },
    { "replace by a temporary with a name", replace, false, true },
    { "build plainly", build_plainly, false, false },
    { "build in windows", build_in_windows, true, false },
    { "build in buffers", build_in_buffers, true, false },
    { "build for many", build_for_many, true, false },
};

/* ---- each call fails */

static const struct {
    enum fault_call call;
    int error;
} rows[] = {
    { ON_malloc, ENOMEM },   { ON_calloc, ENOMEM },
    { ON_realloc, ENOMEM },  { ON_aligned_alloc, ENOMEM },
    { ON_mmap64, ENOMEM },   { ON_mremap, ENOMEM },
    { ON_madvise, EFAULT },  { ON_fcntl64, ENOLCK },
    { ON_openat64, EMFILE }, { ON_open64, EMFILE },
    { ON_pwrite64, EIO },    { ON_pwrite64, 0 },
    { ON_pread64, EIO },     { ON_fstat64, EIO },
    { ON_stat64, EIO },      { ON_msync, EIO },
    { ON_fdatasync, EIO },   { ON_fsync, EIO },
    { ON_fstatfs64, EIO },   { ON_fstatat64, EIO },
    { ON_getcwd, ENOMEM },   { ON_fremovexattr, EIO },
    { ON_read, EIO },
};

/* Every handle still returns "maybe" for every key. */
static void assert_no_key_is_lost(const char *what, enum fault_call call, unsigned nth)
{
    if (!has_numbers(reader, 0, LIVE_KEYS) || !has_numbers(writer, 0, LIVE_KEYS))
        fail_msg("%s: after call %u of %s a key is lost", what, nth, fault_name(call));
}

/* The bytes of "made" if no call fails. */
static struct bytes made_without_faults(const struct operation *op)
{
    struct bytes made = { NULL, 0 };
    begin();
    if (op->run() == 0 && op->makes_a_file) /* bloomfile_project() refuses the blocked layout */
        made = read_file("made");
    end();
    return made;
}

/* Returns whether a call failed. */
static bool fails_at(const struct operation *op, enum fault_call call, unsigned nth, int error,
                     struct bytes expected)
{
    begin();
    const size_t descriptors = open_descriptors(), maps = mapped_files();
    struct faults faults = once(call, nth, error);
    faults.no_unnamed_files = op->by_name;
    if (op->by_name)
        write_file(LEFT_BEHIND, "", 0);
    faults_begin(&faults);
    int told = op->run();
    faults_end();
    const bool failed = fault_calls(call) >= nth;
    const bool made_one = access("made", F_OK) == 0;
    if (op->makes_a_file && told == 0 && !made_one)
        fail_msg("%s: call %u of %s fails, %s is told", op->what, nth, fault_name(call),
                 bloomfile_errname(told));
    if (op->makes_a_file && made_one) { /* only the sync of the folder failed */
        bloomfile_filter *made = opened("made", BLOOMFILE_OPEN_VERIFY_FULL);
        assert_true(has_numbers(made, 0, LIVE_KEYS));
        bloomfile_close(made);
        if (op->run != copy_as_writer) /* it may hold an estimated count */
            assert_file_holds("made", expected.data, expected.size);
    }
    assert_no_key_is_lost(op->what, call, nth);
    const bool sealed_now =
        info_of(writer).state == BLOOMFILE_STATE_SEALED; /* a sealed file needs no descriptor */
    assert_int_equal(open_descriptors() + sealed_now, descriptors);
    assert_int_equal(mapped_files(), maps);
    end();
    assert_int_equal(entries_in_dir(), 0);
    return failed;
}

#define ALONE(test) TEST_WITH(test, prepare, clean_up)

ALONE(each_failed_call_returns_an_error_or_is_harmless)
{
    unsigned failed = 0;
    for (size_t i = 0; i < ROWS(operations); i++) {
        const struct operation *op = &operations[i];
        struct bytes expected = made_without_faults(op);
        for (size_t row = 0; row < ROWS(rows); row++)
            for (unsigned nth = 1; fails_at(op, rows[row].call, nth, rows[row].error, expected);
                 nth += 1 + nth / 16)
                failed++;
        free(expected.data);
    }
    assert_true(failed > 300);
}

/* ---- the boot */

ALONE(invalid_or_missing_boot_identity_returns_enoboot)
{
    static const char *const texts[] = {
        "",
        "0123456789abcdef",
        "01234567-89ab-cdef-0123-456789abcdeg",
        "01234567-89AB-CDEF-0123-456789ABCDEF",
        "00000000-0000-0000-0000-000000000000",
        "-----------------------------------01234567-89ab-cdef-0123-456789abcdef", /* too long */
    };
    write_file("live", live_image.data, live_image.size);
    for (size_t i = 0; i < ROWS(texts); i++) {
        bloomfile_filter *f;
        faults_begin(&(struct faults){ .text_read = texts[i] });
        int error = bloomfile_open(&f, "live", BLOOMFILE_OPEN_WRITE);
        faults_end();
        assert_error(error, BLOOMFILE_ENOBOOT);
        assert_flawless(flaw_of_clean_file("live"));
    }
    static const int errors[] = { ENOENT, ENOTDIR, EMFILE };
    for (size_t i = 0; i < ROWS(errors); i++) {
        uint8_t id[BOOT_ID_SIZE];
        const struct faults faults = once(ON_open64, 1, errors[i]);
        faults_begin(&faults);
        int error = boot_id(id);
        faults_end();
        assert_error(error, errors[i] == EMFILE ? EMFILE : BLOOMFILE_ENOBOOT);
    }
    assert_int_equal(unlink("live"), 0);
}

ALONE(boot_identity_is_read_in_pieces)
{
    uint8_t whole[BOOT_ID_SIZE], in_pieces[BOOT_ID_SIZE];
    assert_error(boot_id(whole), 0);
    faults_begin(
        &(struct faults){ .call = ON_read, .nth = 2, .error = EINTR, .transfer_at_most = 1 });
    int error = boot_id(in_pieces);
    faults_end();
    assert_error(error, 0);
    assert_memory_equal(in_pieces, whole, sizeof whole);
}

/* ---- file systems */

ALONE(failed_statfs_fails_the_open)
{
    bloomfile_filter *f;
    write_file("live", live_image.data, live_image.size);
    struct faults faults = once(ON_fstatfs64, 1, EINTR);
    faults_begin(&faults);
    assert_error(bloomfile_open(&f, "live", 0), 0);
    bloomfile_close(f);
    faults = once(ON_fstatfs64, 1, EIO);
    faults_begin(&faults);
    assert_error(bloomfile_open(&f, "live", 0), EIO);
    faults = (struct faults){ .no_unnamed_files = true, .file_system = NFS };
    faults_begin(&faults);
    assert_error(publish_filter("there", 0, 10), 0);
    assert_error(publish_filter("there", BLOOMFILE_TO_REPLACE, 20), 0);
    faults_end();
    assert_filter_of("there", 20);
    assert_int_equal(entries_in_dir(), 2);
    assert_int_equal(unlink("there"), 0);
    assert_int_equal(unlink("live"), 0);
}

ALONE(open_fails_without_a_descriptor_of_its_own)
{
    bloomfile_filter *f;
    write_file("live", live_image.data, live_image.size);
    struct faults faults = once(ON_open64, 2, EACCES), besides = once(ON_fcntl64, 1, EMFILE);
    faults.besides = &besides;
    faults_begin(&faults);
    int error = bloomfile_open(&f, "live", 0);
    faults_end();
    assert_error(error, EMFILE);
    faults = once(ON_open64, 3, ENOENT);
    faults.file_system = 0x794C7630; /* overlay */
    faults_begin(&faults);
    error = bloomfile_open(&f, "live", 0);
    faults_end();
    assert_error(error, ENOENT);
    assert_int_equal(unlink("live"), 0);
}

ALONE(missing_spool_folder_is_an_error)
{
    bloomfile_builder *b = new_builder((struct bloomfile_params){ .spool = "absent" });
    const struct faults faults = once(ON_openat64, 1, EOPNOTSUPP);
    int fd = open("stream", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    faults_begin(&faults);
    int error = bloomfile_builder_write(b, TO_FD(fd, NULL));
    faults_end();
    assert_error(error, ENOENT);
    close(fd);
    bloomfile_builder_free(b);
    assert_int_equal(unlink("stream"), 0);
}

ALONE(refused_lock_returns_ebusy)
{
    static const int errors[] = { EACCES, EAGAIN };
    for (size_t i = 0; i < ROWS(errors); i++) {
        begin();
        const struct faults faults = once(ON_fcntl64, 1, errors[i]);
        faults_begin(&faults);
        int error = bloomfile_seal(writer, NULL);
        faults_end();
        assert_error(error, EBUSY);
        end();
    }
}

/* An unreadable header counts as changed. If the kernel cannot answer, it counts as present. */
ALONE(unreadable_header_counts_as_changed)
{
    static const struct {
        int error, status;
    } looks[] = { { EFAULT, BLOOMFILE_ECHANGED },
                  { EHWPOISON, BLOOMFILE_ECHANGED },
                  { EINVAL, 0 },
                  { ENOMEM, 0 } };
    for (size_t i = 0; i < ROWS(looks); i++) {
        begin();
        const struct faults faults = once(ON_madvise, 1, looks[i].error);
        faults_begin(&faults);
        int error = bloomfile_check(sealed);
        faults_end();
        assert_error(error, looks[i].status);
        end();
    }
}

/* ---- a poison that cannot be written */

ALONE(reader_that_cannot_poison_returns_the_first_error)
{
    static const struct {
        enum fault_call call;
        int error;
    } besides[] = { { ON_open64, EACCES },  { ON_fcntl64, ENOLCK }, { ON_mmap64, ENOMEM },
                    { ON_madvise, EFAULT }, { ON_pwrite64, EIO },   { ON_msync, EIO } };
    for (size_t i = 0; i < ROWS(besides); i++) {
        for (unsigned nth = 1; nth < 12; nth++) {
            begin();
            struct faults faults = once(ON_fdatasync, 1, EIO);
            const struct faults other = once(besides[i].call, nth, besides[i].error);
            faults.besides = &other;
            faults_begin(&faults);
            int error = copy_as_reader();
            faults_end();
            assert_int_not_equal(error, 0);
            if (fault_calls(ON_fdatasync) > 0) {
                assert_error(error, EIO);
                error = bloomfile_check(reader);
                assert_true(error == BLOOMFILE_EPOISONED ||
                            (error == BLOOMFILE_ECHANGED && besides[i].call == ON_madvise));
            }
            end();
        }
    }
}

/* A record beyond the last sequence would make it a sealed file. */
ALONE(poisoning_at_the_last_sequence_does_not_seal_the_file)
{
    begin();
    bloomfile_close(writer);
    bloomfile_close(reader);
    set_in_record("live", slot_in_force("live"), 0, 8, HEADER_SEALED_SEQUENCE - 1);
    reader = opened("live", 0);
    writer = NULL;
    const struct faults faults = once(ON_fdatasync, 1, EIO);
    faults_begin(&faults);
    int error = copy_as_reader();
    faults_end();
    assert_error(error, EIO);
    assert_int_not_equal(bloomfile_check(reader), 0);
    assert_true(has_numbers(reader, ABSENT, ABSENT + 10));
    bloomfile_filter *f;
    assert_error(bloomfile_open(&f, "live", 0), BLOOMFILE_EPOISONED);
    end();
}

/* ---- builders */

/* Its digests are all equal: more than one run can hold. */
ALONE(temporary_file_overwritten_with_equal_digests_fails_the_build)
{
    bloomfile_builder *b =
        new_builder((struct bloomfile_params){ .memory = 1 << 20, .spool = "." });
    static uint64_t more[4 * KEYS];
    uint64_t random = 99;
    for (size_t i = 0; i < ROWS(more); i++)
        more[i] = random64(&random);
    assert_error(bloomfile_builder_add_digests(b, more, ROWS(more)), 0);
    int fd = 3;
    while (!has_no_name(fd))
        fd++;
    const off_t size = lseek(fd, 0, SEEK_END);
    for (off_t at = 0; at < size; at += 8)
        assert_int_equal(pwrite(fd, more, 8, at), 8);
    assert_error(bloomfile_builder_write(b, TO_PATH("made", 0)), EIO);
    bloomfile_builder_free(b);
    assert_int_equal(entries_in_dir(), 0);
}

/* Some digests are in the file, and the rest in partitions in the remaining memory. */
ALONE(unreadable_temporary_file_next_to_partitions_fails_the_count)
{
    enum {
        MEMORY = 1 << 26,
        ALL = MEMORY / 2 / 8 * 3 / 2
    };
    uint64_t count, random = 7, *all = malloc(ALL * sizeof *all);
    assert_non_null(all);
    for (size_t i = 0; i < ALL; i++)
        all[i] = random64(&random);
    bloomfile_builder *b = new_builder((struct bloomfile_params){ .memory = MEMORY, .spool = "." });
    assert_error(bloomfile_builder_add_digests(b, all, ALL), 0);
    for (unsigned nth = 1; nth < 40; nth += 3) {
        const struct faults faults = from_then_on(ON_pread64, nth, EIO);
        faults_begin(&faults);
        int error = bloomfile_builder_count(b, &count);
        faults_end();
        assert_error(error, EIO);
    }
    assert_error(bloomfile_builder_count(b, &count), 0);
    assert_int_equal(count, ALL);
    bloomfile_builder_free(b);
    free(all);
}

ALONE(the_first_error_stops_all_threads)
{
    static uint64_t more[4 * KEYS];
    uint64_t random = 101;
    for (size_t i = 0; i < ROWS(more); i++)
        more[i] = random64(&random);
    for (int i = 0; i < 20; i++) {
        bloomfile_builder *b =
            new_builder((struct bloomfile_params){ .memory = 1 << 20, .threads = 4, .spool = "." });
        assert_error(bloomfile_builder_add_digests(b, more, ROWS(more)), 0);
        uint64_t count;
        const struct faults faults = from_then_on(ON_pread64, 1, EIO);
        faults_begin(&faults);
        int error = bloomfile_builder_count(b, &count);
        faults_end();
        assert_error(error, EIO);
        assert_error(bloomfile_builder_count(b, &count), 0);
        assert_int_equal(count, ROWS(more));
        bloomfile_builder_free(b);
    }
}

/* ---- pipes */

static int pipe_ends[2];
static size_t bytes_read;
static atomic_uint signals;
static pthread_t signaled;

/* Sends a signal to the writer whenever it sleeps, so while the pipe is full. */
static void *signal_and_read(void *unused)
{
    static uint8_t room[32 * 1024];
    ssize_t got;
    do {
        (void)falls_asleep(state_of(getpid(), getpid()), NULL);
        assert_int_equal(pthread_kill(signaled, SIGALRM), 0);
        got = read(pipe_ends[0], room, sizeof room);
        bytes_read += got > 0 ? (size_t)got : 0;
    } while (got > 0);
    return NULL;
}

static void count_signal(int number)
{
    signals++;
}

ALONE(signal_during_a_blocked_pipe_write_is_not_an_error)
{
    assert_int_equal(pipe(pipe_ends), 0);
    struct sigaction action = { .sa_handler = count_signal }, before;
    assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
    bloomfile_builder *b =
        new_builder((struct bloomfile_params){ .bits = 512 * 4000, .hashes = 3 });
    pthread_t thread;
    signaled = pthread_self();
    assert_int_equal(pthread_create(&thread, NULL, signal_and_read, NULL), 0);
    int error = bloomfile_builder_write(b, TO_FD(pipe_ends[1], NULL));
    close(pipe_ends[1]);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_error(error, 0);
    assert_int_equal(bytes_read, IN_FILE + 63 * 4096 + 63 * 4);
    assert_true(signals > 4);
    close(pipe_ends[0]);
    bloomfile_builder_free(b);
    assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
}

int main(void)
{
    return run_all(NULL, NULL);
}
