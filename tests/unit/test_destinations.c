/* SPDX-License-Identifier: MIT
 * Whatever makes a filter makes it in a file, behind a descriptor, or in memory: the same filter,
 * and every system call and allocation on the way may fail. */
#include "support.h"

#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interleave.h"

#define KEYS 2000

static bloomfile_filter *source, *others[2], *live;
static bloomfile_builder *builder;
static struct bloomfile_params body_params = BLOOMFILE_PARAMS_INIT;
static const void *body;
static size_t body_size;

/* ---- all that makes a filter */

/* Where to; the result of the call is what it returns. */
struct place {
    enum {
        TO_FILE,
        TO_DESCRIPTOR,
        TO_MEMORY
    } kind;
    int fd;
    void *image;
    size_t size;
    const char *spool;
};

static int build(struct place *to)
{
    if (to->kind == TO_FILE)
        return bloomfile_builder_finish(builder, "made", 0);
    return to->kind == TO_DESCRIPTOR
               ? bloomfile_builder_finish_fd(builder, to->fd)
               : bloomfile_builder_finish_memory(builder, &to->image, &to->size);
}

static int fold(struct place *to)
{
    if (to->kind == TO_FILE)
        return bloomfile_fold("made", source, 5, 0);
    return to->kind == TO_DESCRIPTOR ? bloomfile_fold_fd(to->fd, source, 5, to->spool)
                                     : bloomfile_fold_memory(&to->image, &to->size, source, 5);
}

static int seal(struct place *to)
{
    if (to->kind == TO_FILE)
        return bloomfile_seal_to("made", live, 0);
    return to->kind == TO_DESCRIPTOR ? bloomfile_seal_to_fd(to->fd, live, to->spool)
                                     : bloomfile_seal_to_memory(&to->image, &to->size, live);
}

static int project(struct place *to)
{
    if (to->kind == TO_FILE)
        return bloomfile_project("made", live, 0);
    return to->kind == TO_DESCRIPTOR ? bloomfile_project_fd(to->fd, live, to->spool)
                                     : bloomfile_project_memory(&to->image, &to->size, live);
}

static int merge(struct place *to)
{
    const bloomfile_filter *const all[] = { source, others[0], others[1] };
    struct bloomfile_merge_params params = BLOOMFILE_MERGE_PARAMS_INIT;
    params.max_fpr = 1;
    params.label = "of three";
    if (to->kind == TO_FILE)
        return bloomfile_merge("made", all, ROWS(all), &params, 0);
    if (to->kind == TO_MEMORY)
        return bloomfile_merge_memory(&to->image, &to->size, all, ROWS(all), &params);
    params.spool = to->spool;
    return bloomfile_merge_fd(to->fd, all, ROWS(all), &params);
}

static int assemble(struct place *to)
{
    if (to->kind == TO_FILE)
        return bloomfile_assemble("made", &body_params, body, body_size, 0, KEYS, 0);
    return to->kind == TO_DESCRIPTOR
               ? bloomfile_assemble_fd(to->fd, &body_params, body, body_size, 0, KEYS, to->spool)
               : bloomfile_assemble_memory(&to->image, &to->size, &body_params, body, body_size, 0,
                                           KEYS);
}

static const struct maker {
    const char *what;
    int (*make)(struct place *to);
} makers[] = {
    { "build", build },     { "fold", fold },   { "seal", seal },
    { "project", project }, { "merge", merge }, { "assemble", assemble },
};

static struct bloomfile_params params_of(uint32_t layout)
{
    return (struct bloomfile_params){ .struct_size = sizeof(struct bloomfile_params),
                                      .layout = layout,
                                      .bits = 512 * 315,
                                      .hashes = 3,
                                      .spool = "." };
}

static bloomfile_filter *sealed(const char *path, uint64_t from)
{
    bloomfile_filter *f;
    bloomfile_builder *b = new_builder(params_of(BLOOMFILE_LAYOUT_BLOCKED));
    add_numbers(b, from, from + KEYS);
    assert_error(bloomfile_builder_finish(b, path, 0), 0);
    bloomfile_builder_free(b);
    assert_error(bloomfile_open(&f, path, 0), 0);
    return f;
}

static int make_sources(void **state)
{
    if (enter_temp_dir(state) != 0)
        return -1;
    source = sealed("source", 0);
    others[0] = sealed("other", 500);
    others[1] = sealed("another", 100);
    struct bloomfile_params params = params_of(BLOOMFILE_LAYOUT_COUNTING);
    params.spool = NULL;
    assert_error(bloomfile_create(&live, "live", &params, 0), 0);
    for (uint64_t i = 0; i < KEYS; i++)
        assert_error(bloomfile_add_digest(live, number(0, i), NULL), 0);
    builder = new_builder(params_of(BLOOMFILE_LAYOUT_CLASSIC));
    add_numbers(builder, 0, KEYS);
    body = bloomfile_body(source, &body_size);
    body_params = params_of(BLOOMFILE_LAYOUT_BLOCKED);
    body_params.spool = NULL;
    return 0;
}

static int release_sources(void **state)
{
    bloomfile_close(source);
    bloomfile_close(others[0]);
    bloomfile_close(others[1]);
    bloomfile_close(live);
    bloomfile_builder_free(builder);
    return leave_temp_dir(state);
}

/* ---- the same filter */

static struct place stream(void)
{
    int fd = open("stream", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    return (struct place){ .kind = TO_DESCRIPTOR, .fd = fd, .spool = "." };
}

/* What the headers have in common, whatever the form. */
static void assert_same_filter(const char *what, struct bytes embedded, struct bytes file)
{
    struct bloomfile_info a = verified_info(embedded), b = verified_info(file);
    if (a.layout != b.layout || a.bits != b.bits || a.hashes != b.hashes || a.keys != b.keys ||
        a.ones != b.ones || a.capacity != b.capacity || a.provenance != b.provenance ||
        a.keys_estimated != b.keys_estimated || strcmp(a.label, b.label) != 0)
        fail_msg("%s: the image in memory describes another filter", what);
    assert_int_equal(a.header_size, EMBEDDED);
    assert_int_equal(a.image_size, embedded.size);
    assert_int_equal(b.header_size, IN_FILE);
    const size_t used =
        (size_t)(a.layout == BLOOMFILE_LAYOUT_COUNTING ? (a.bits + 1) / 2 : (a.bits + 7) / 8);
    assert_memory_equal(embedded.data + EMBEDDED, file.data + IN_FILE, used);
}

TEST(what_is_made_is_the_same_wherever_it_goes)
{
    for (size_t i = 0; i < ROWS(makers); i++) {
        const size_t descriptors = open_descriptors(), entries = entries_in_dir();
        struct place file = { .kind = TO_FILE }, memory = { .kind = TO_MEMORY };
        assert_error(makers[i].make(&file), 0);
        struct bytes made = read_file("made");

        struct place to = stream();
        assert_int_equal(write(to.fd, "before", 6), 6);
        assert_error(makers[i].make(&to), 0);
        close(to.fd);
        struct bytes written = read_file("stream");
        assert_int_equal(written.size, 6 + made.size);
        assert_memory_equal(written.data + 6, made.data, made.size);

        assert_error(makers[i].make(&memory), 0);
        assert_same_filter(makers[i].what, (struct bytes){ memory.image, memory.size }, made);
        bloomfile_free(memory.image);
        free(made.data);
        free(written.data);
        assert_int_equal(unlink("made"), 0);
        assert_int_equal(unlink("stream"), 0);
        assert_int_equal(open_descriptors(), descriptors);
        assert_int_equal(entries_in_dir(), entries);
    }
}

/* As a number in the upper half of the flags it was taken for descriptor 3, and would write there.
 */
TEST(descriptors_above_65534_are_not_taken_for_others)
{
    enum {
        HIGH = 65539
    };
    struct rlimit limit, before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    limit = before;
    limit.rlim_cur = limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    struct place to = stream(), high = to;
    high.fd = HIGH;
    for (size_t i = 0; i < ROWS(makers); i++)
        assert_error(makers[i].make(&high), EBADF);
    if (limit.rlim_max > HIGH) {
        assert_int_equal(dup2(to.fd, HIGH), HIGH);
        close(to.fd);
        for (size_t i = 0; i < ROWS(makers); i++)
            assert_error(makers[i].make(&high), 0);
        to.fd = HIGH;
    }
    close(to.fd);
    assert_int_equal(unlink("stream"), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(what_is_no_descriptor_to_write_to_is_an_error)
{
    write_file("read", "", 0);
    int read_only = open("read", O_RDONLY | O_CLOEXEC);
    for (size_t i = 0; i < ROWS(makers); i++) {
        struct place none = { .kind = TO_DESCRIPTOR, .fd = -1 };
        assert_error(makers[i].make(&none), EBADF);
        struct place wrong = { .kind = TO_DESCRIPTOR, .fd = read_only };
        assert_error(makers[i].make(&wrong), EBADF);
    }
    close(read_only);
    assert_int_equal(unlink("read"), 0);
}

TEST(a_spool_that_is_no_folder_is_an_error_and_memory_needs_none)
{
    bloomfile_builder *b = builder;
    struct bloomfile_params params = params_of(BLOOMFILE_LAYOUT_BLOCKED);
    params.spool = "absent";
    builder = new_builder(params);
    struct place to = stream(), memory = { .kind = TO_MEMORY };
    to.spool = "absent";
    for (size_t i = 0; i < ROWS(makers); i++) {
        assert_error(makers[i].make(&to), ENOENT);
        assert_error(makers[i].make(&memory), 0);
        bloomfile_free(memory.image);
    }
    assert_int_equal(lseek(to.fd, 0, SEEK_END), 0);
    close(to.fd);
    assert_int_equal(unlink("stream"), 0);
    bloomfile_builder_free(builder);
    builder = b;
}

TEST(a_spool_for_a_merge_that_needs_none_is_refused)
{
    const bloomfile_filter *const all[] = { source };
    struct bloomfile_merge_params params = BLOOMFILE_MERGE_PARAMS_INIT;
    params.spool = ".";
    void *image = &image;
    size_t size = 1;
    assert_error(bloomfile_merge("made", all, 1, &params, 0), BLOOMFILE_EPARAMS);
    assert_error(bloomfile_merge_memory(&image, &size, all, 1, &params), BLOOMFILE_EPARAMS);
    assert_null(image);
    assert_int_equal(size, 0);
}

/* ---- ended by the caller */

static int stop_at_zero(void *context)
{
    unsigned *left = context;
    if (*left == 0)
        return ECANCELED;
    --*left;
    return 0;
}

static int make_until_stopped(const struct maker *m, struct place *to, unsigned calls)
{
    bloomfile_stop_with(stop_at_zero, &calls);
    int error = m->make(to);
    bloomfile_stop_with(NULL, NULL);
    return error;
}

/* Stops at each call that is made, until there is none left to stop at. */
static void assert_stops(const struct maker *m, struct place *to)
{
    const size_t descriptors = open_descriptors(), entries = entries_in_dir();
    unsigned calls = 0;
    for (int error; (error = make_until_stopped(m, to, calls)) != 0; calls++) {
        assert_error(error, ECANCELED);
        assert_int_equal(open_descriptors(), descriptors);
        assert_int_equal(entries_in_dir(), entries);
        if (to->kind == TO_DESCRIPTOR)
            assert_int_equal(lseek(to->fd, 0, SEEK_END), 0);
        if (to->kind == TO_MEMORY)
            assert_null(to->image);
    }
    if (calls == 0)
        fail_msg("%s: it does not stop", m->what);
}

TEST(a_caller_that_stops_a_call_gets_its_error_and_no_filter)
{
    for (size_t i = 0; i < ROWS(makers); i++) {
        struct place file = { .kind = TO_FILE }, memory = { .kind = TO_MEMORY }, to = stream();
        assert_stops(&makers[i], &file);
        assert_stops(&makers[i], &to);
        assert_stops(&makers[i], &memory);
        bloomfile_free(memory.image);
        close(to.fd);
        assert_int_equal(unlink("made"), 0);
        assert_int_equal(unlink("stream"), 0);
    }
}

/* ---- faults */

static const struct {
    enum fault_call call;
    int error;
} rows[] = {
    { ON_malloc, ENOMEM },   { ON_calloc, ENOMEM },      { ON_realloc, ENOMEM },
    { ON_openat64, EMFILE }, { ON_fallocate64, ENOSPC }, { ON_pwrite64, ENOSPC },
    { ON_pwrite64, EIO },    { ON_pread64, EIO },        { ON_fstat64, EIO },
    { ON_fcntl64, EBADF },
};

static int make_with_fault(const struct maker *m, struct place *to, struct faults faults)
{
    to->image = &faults;
    to->size = 1;
    faults_begin(&faults);
    int error = m->make(to);
    faults_end();
    return error;
}

/* Until there is no nth call any more; returns how often one failed. */
static unsigned fail_each_call(const struct maker *m, struct place *to, size_t row)
{
    for (unsigned nth = 1;; nth++) {
        int error = make_with_fault(m, to, once(rows[row].call, nth, rows[row].error));
        if (error == 0)
            return nth - 1;
        if (error != rows[row].error)
            fail_msg("%s: call %u of %s fails, but the error is %s", m->what, nth,
                     fault_name(rows[row].call), bloomfile_errname(error));
        if (to->kind == TO_MEMORY) {
            assert_null(to->image);
            assert_int_equal(to->size, 0);
        }
    }
}

TEST(whichever_call_fails_its_error_is_told_and_nothing_leaks)
{
    unsigned failed[3] = { 0 };
    for (size_t i = 0; i < ROWS(makers); i++) {
        struct place to = stream(), memory = { .kind = TO_MEMORY };
        const size_t descriptors = open_descriptors(), entries = entries_in_dir();
        for (size_t row = 0; row < ROWS(rows); row++) {
            failed[TO_DESCRIPTOR] += fail_each_call(&makers[i], &to, row);
            failed[TO_MEMORY] += fail_each_call(&makers[i], &memory, row);
            bloomfile_free(memory.image);
            assert_int_equal(open_descriptors(), descriptors);
            assert_int_equal(entries_in_dir(), entries);
        }
        close(to.fd);
        assert_int_equal(unlink("stream"), 0);
    }
    assert_true(failed[TO_DESCRIPTOR] > 60 && failed[TO_MEMORY] > 10);
}

static const struct maker *stopped;

static int make_file(void)
{
    struct place to = { .kind = TO_FILE };
    return stopped->make(&to);
}

static void remove_made(void)
{
    bloomfile_filter *f;
    if (access("made", F_OK) != 0)
        return;
    assert_error(bloomfile_open(&f, "made", BLOOMFILE_OPEN_VERIFY_FULL), 0);
    bloomfile_close(f);
    assert_int_equal(unlink("made"), 0);
}

TEST(stopped_at_any_call_no_temporary_file_stays)
{
    for (size_t i = 0; i < ROWS(makers); i++) {
        stopped = &makers[i];
        stopped_at_any_call(make_file, remove_made);
    }
}

int main(void)
{
    return run_all(make_sources, release_sources);
}
