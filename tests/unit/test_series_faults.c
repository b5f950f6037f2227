/* SPDX-License-Identifier: MIT
 * Each call of each operation on a series fails once: the operation returns an error or loses no
 * key. */
#include <bloomfile_combine.h>
#include <bloomfile_live.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "faults.h"
#include "live_support.h"

enum {
    FIRST = 24 /* capacity of the first layer */
};

static struct bloomfile_params params_of(uint32_t series)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.capacity = FIRST;
    params.fpr = 0.0001;
    params.series = series;
    return params;
}

static bloomfile_filter *create(const char *path, uint32_t series)
{
    bloomfile_filter *f;
    const struct bloomfile_params params = params_of(series);
    assert_error(path != NULL ? bloomfile_create(&f, path, &params, 0)
                              : bloomfile_create_memory(&f, &params, 0),
                 0);
    return f;
}

static void add(bloomfile_filter *f, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++)
        assert_error(bloomfile_add_digest(f, number(0, i), NULL), 0);
}

static void assert_has(const bloomfile_filter *f, uint64_t from, uint64_t to)
{
    bool hit;
    for (uint64_t i = from; i < to; i++) {
        const uint64_t digest = number(0, i);
        assert_true(bloomfile_contains_digest(f, digest));
        assert_int_equal(bloomfile_contains_digests(f, &digest, 1, &hit), 1);
        assert_true(hit);
    }
}

/* ---- each call fails */

static uint32_t kind; /* of the series */
static bool in_files;
static bloomfile_filter *writer, *reader, *made;
static struct bytes sealed;
static uint64_t added; /* keys so far */

static uint64_t remembered(void)
{
    const uint64_t least = (uint64_t)(kind - 1) * FIRST;
    return kind == BLOOMFILE_SERIES_GROW || added < least ? 0 : added - least;
}

static int create_it(void)
{
    const struct bloomfile_params params = params_of(kind);
    return in_files ? bloomfile_create(&made, "made", &params, 0)
                    : bloomfile_create_memory(&made, &params, 0);
}

static int create_with_hash(void)
{
    struct bloomfile_params params = params_of(kind);
    params.hash_id = 0x80000005;
    params.self_test = 77;
    return in_files ? bloomfile_create(&made, "made", &params, 0)
                    : bloomfile_create_memory(&made, &params, 0);
}

static int open_it(void)
{
    return bloomfile_open(&made, "series", 0);
}

static int open_to_write(void)
{
    return bloomfile_open(&made, "series", BLOOMFILE_OPEN_WRITE);
}

static int open_sealed(void)
{
    return bloomfile_open(&made, "sealed", 0);
}

static int open_sealed_memory(void)
{
    return open_from(&made, bloomfile_from_memory(sealed.data, sealed.size), 0);
}

static int open_sealed_fd(void)
{
    int fd = open("sealed", O_RDONLY | O_CLOEXEC);
    int error = fd < 0 ? errno : open_from(&made, bloomfile_from_fd(fd), 0);
    if (fd >= 0)
        close(fd);
    return error;
}

static int add_some(void)
{
    const uint64_t end = added + FIRST + 2;
    int error = 0;
    while (added < end && (error = bloomfile_add_digest(writer, number(0, added), NULL)) == 0)
        added++;
    return error;
}

static int add_nothing(void)
{
    return bloomfile_add_digests(writer, NULL, 0, NULL, NULL, NULL);
}

static int follow(void)
{
    const uint64_t digest = number(0, added - 1);
    bool hit;
    assert_int_equal(bloomfile_contains_digests(reader, &digest, 1, &hit), 1);
    assert_true(hit);
    return 0;
}

static int status_of_it(void)
{
    return bloomfile_check(reader);
}

static int is_it_stale(void)
{
    return bloomfile_is_stale(reader) ? ESTALE : 0;
}

static int sync_it(void)
{
    return bloomfile_sync(writer, NULL);
}

static int finish_it(void)
{
    return bloomfile_finish(writer);
}

static int copy(void)
{
    return bloomfile_copy_sealed(TO_PATH("made", 0), in_files ? reader : writer, NULL);
}

static int copy_to_memory(void)
{
    void *image;
    size_t size;
    int error = copy_memory(&image, &size, in_files ? reader : writer);
    if (error == 0)
        bloomfile_free(image);
    return error;
}

static int copy_to_stream(void)
{
    int fd = open("stream", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    int error =
        fd < 0 ? errno : bloomfile_copy_sealed(TO_FD(fd, "."), in_files ? reader : writer, NULL);
    if (fd >= 0)
        close(fd);
    unlink("stream");
    return error;
}

static int rescue(void)
{
    return bloomfile_rescue("made", reader, 0);
}

enum {
    FILES = 1,
    MEMORY = 2
};

static const struct operation {
    const char *what;
    int (*run)(void);
    int where;
} operations[] = {
    { "create", create_it, FILES | MEMORY },
    { "create with a hash", create_with_hash, MEMORY },
    { "open", open_it, FILES },
    { "open to write", open_to_write, FILES },
    { "open sealed", open_sealed, FILES },
    { "open sealed in memory", open_sealed_memory, MEMORY },
    { "open sealed, descriptor", open_sealed_fd, FILES },
    { "add", add_some, FILES | MEMORY },
    { "add nothing", add_nothing, FILES },
    { "follow", follow, FILES },
    { "status", status_of_it, FILES },
    { "is stale", is_it_stale, FILES },
    { "sync", sync_it, FILES },
    { "finish", finish_it, FILES },
    { "copy", copy, FILES | MEMORY },
    { "copy to memory", copy_to_memory, FILES | MEMORY },
    { "copy to a stream", copy_to_stream, FILES | MEMORY },
    { "rescue", rescue, FILES },
};

/* The series has three layers; the reader has opened only the first. */
static void begin(void)
{
    writer = create(in_files ? "series" : NULL, kind);
    reader = in_files ? opened("series", 0) : NULL;
    added = 3 * FIRST + 5;
    add(writer, 0, added);
    if (in_files)
        write_file("sealed", sealed.data, sealed.size);
}

static void end(void)
{
    bloomfile_close(writer);
    bloomfile_close(reader);
    if (!in_files)
        return;
    /* The file after a failed write may be refused, but it never returns a silent "no". */
    int error = bloomfile_open(&reader, "series", 0);
    if (error == 0)
        assert_has(reader, remembered(), added);
    bloomfile_close(reader);
}

static bool makes_an_empty_one(const struct operation *op)
{
    return op->run == create_it || op->run == create_with_hash;
}

/* If the series does not open, the operation must have returned an error. */
static void assert_is_whole_if_it_opens(const struct operation *op, int returned)
{
    bloomfile_filter *f;
    if (access("made", F_OK) != 0)
        return;
    int error = bloomfile_open(&f, "made", 0);
    if (error == 0 && !makes_an_empty_one(op))
        assert_has(f, remembered(), added);
    if (error != 0)
        assert_int_not_equal(returned, 0);
    bloomfile_close(f);
}

static void run_with(const struct operation *op, struct faults faults)
{
    begin();
    made = NULL;
    faults_begin(&faults);
    const int error = op->run();
    faults_end();
    if (faults.nth == 0)
        assert_error(error, 0);
    if (error != 0)
        assert_null(made);
    if (made != NULL && !makes_an_empty_one(op))
        assert_has(made, remembered(), added);
    bloomfile_close(made);
    assert_has(writer, remembered(), added);
    if (reader != NULL)
        assert_has(reader, remembered(), added);
    assert_is_whole_if_it_opens(op, error);
    end();
    if (in_files || entries_in_dir() != 0)
        assert_int_equal(system("rm -f series* made* sealed stream"), 0);
    if (faults.call == ON_unlinkat) /* the temporary file has a name */
        assert_int_equal(system("rm -f .bloomfile.*"), 0);
    if (entries_in_dir() != 0)
        fail_msg("%s: call %u of %s fails, a file is left", op->what, faults.nth,
                 fault_name(faults.call));
}

/* Repeats the operation for each call that a run without faults makes. */
static void fail_each_call(const struct operation *op)
{
    const size_t before = open_descriptors();
    unsigned made_calls[FAULT_CALL_COUNT];
    run_with(op, (struct faults){ 0 });
    for (unsigned call = 0; call < FAULT_CALL_COUNT; call++)
        made_calls[call] = fault_calls(call);
    for (unsigned call = 0; call < FAULT_CALL_COUNT; call++)
        for (unsigned nth = 1; nth <= made_calls[call]; nth += 1 + nth / 8)
            run_with(op, once(call, nth, call % 2 ? EIO : ENOMEM));
    assert_int_equal(open_descriptors(), before);
}

TEST_IN_DIR(failed_call_loses_no_key)
{
    bloomfile_filter *f = create(NULL, BLOOMFILE_SERIES_GROW);
    void *image;
    add(f, 0, 3 * FIRST + 5);
    assert_error(copy_memory(&image, &sealed.size, f), 0);
    sealed.data = image;
    bloomfile_close(f);
    for (kind = BLOOMFILE_SERIES_GROW; kind <= 2; kind++)
        for (int where = MEMORY; where >= FILES; where--)
            for (size_t i = 0; i < ROWS(operations); i++) {
                in_files = where == FILES;
                if (operations[i].where & where)
                    fail_each_call(&operations[i]);
            }
    bloomfile_free(image);
}

/* ---- rescue */

TEST_IN_DIR(rescue_has_the_layers_created_by_other_writers)
{
    bloomfile_filter *f = create("grown", BLOOMFILE_SERIES_GROW), *r = opened("grown", 0), *saved;
    add(f, 0, 4 * FIRST);
    assert_error(bloomfile_rescue("saved", r, 0), 0);
    saved = opened("saved", 0);
    assert_int_equal(bloomfile_layers(saved), bloomfile_layers(f));
    assert_has(saved, 0, 4 * FIRST);
    bloomfile_close(saved);
    bloomfile_close(r);

    bloomfile_close(f);
    f = create("lost", BLOOMFILE_SERIES_GROW);
    r = opened("lost", 0);
    add(f, 0, 2 * FIRST);
    assert_int_equal(rename("lost.1", "kept"), 0);
    assert_error(bloomfile_rescue("none", r, 0), BLOOMFILE_EMISSINGLAYER);
    assert_int_not_equal(access("none", F_OK), 0);
    assert_error(bloomfile_rescue("all", f, 0), 0); /* the handle has that layer open */
    assert_has(f, 0, 2 * FIRST);
    bloomfile_close(r);
    bloomfile_close(f);
}

TEST_IN_DIR(rescue_needs_a_live_series_and_a_path)
{
    bloomfile_filter *f = create("live", BLOOMFILE_SERIES_GROW), *s;
    add(f, 0, 2 * FIRST);
    assert_error(bloomfile_rescue(NULL, f, 0), BLOOMFILE_EVALUE);
    assert_error(bloomfile_rescue("x", f, BLOOMFILE_OPEN_WRITE), BLOOMFILE_EFLAGS);
    assert_error(bloomfile_copy_sealed(TO_PATH(NULL, 0), f, NULL), BLOOMFILE_EVALUE);
    assert_error(bloomfile_copy_sealed(TO_PATH("x", BLOOMFILE_OPEN_WRITE), f, NULL),
                 BLOOMFILE_EFLAGS);
    assert_error(bloomfile_copy_sealed(TO_PATH("sealed", 0), f, NULL), 0);
    s = opened("sealed", 0);
    assert_error(bloomfile_rescue("x", s, 0), BLOOMFILE_ESEALED);
    assert_error(bloomfile_sync(s, NULL), BLOOMFILE_ESEALED);
    assert_error(bloomfile_finish(s), 0);
    assert_int_equal(bloomfile_is_stale(s), 0);
    assert_int_equal(rename("sealed", "away"), 0);
    assert_int_equal(bloomfile_is_stale(s), 1);
    assert_has(s, 0, 2 * FIRST);
    bloomfile_close(s);
    s = opened("live", 0);
    assert_error(bloomfile_sync(s, NULL), BLOOMFILE_EREADONLY);
    assert_error(bloomfile_finish(s), 0);
    bloomfile_close(s);
    assert_error(bloomfile_finish(f), 0);
    assert_error(bloomfile_finish(f), 0);
    assert_error(bloomfile_sync(f, NULL), BLOOMFILE_EREADONLY);
    bloomfile_close(f);
    assert_int_not_equal(access("x", F_OK), 0);
}

int main(void)
{
    return run_all(NULL, NULL);
}
