/* SPDX-License-Identifier: MIT
 * Every function that makes a filter or a patch can write to a file, a descriptor, a callback or
 * memory. The bytes are the same, and every system call and allocation on the way may fail. */
#include "support.h"

#include <bloomfile_combine.h>
#include <bloomfile_delta.h>
#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <bloomfile_unstable.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interleave.h"

#define KEYS 2000

static bloomfile_filter *source, *others[2], *slices[2], *live;
static struct bloomfile_destination changes; /* the patch from `source` to others[0] */
static bloomfile_builder *builder;
static struct bloomfile_params body_params = { .struct_size = sizeof body_params };
static const void *body;
static size_t body_size;
static const struct bloomfile_metadata *given;

/* ---- all functions that make a filter or a patch */

static int build(struct bloomfile_destination *to)
{
    return bloomfile_builder_write(builder, to);
}

static int fold(struct bloomfile_destination *to)
{
    return bloomfile_fold(to, source, 5, given);
}

static int copy(struct bloomfile_destination *to)
{
    return bloomfile_copy_sealed(to, live, given);
}

static int project(struct bloomfile_destination *to)
{
    return bloomfile_project(to, live, given);
}

static int merge(struct bloomfile_destination *to)
{
    const bloomfile_filter *const all[] = { source, others[0], others[1] };
    struct bloomfile_merge_params params = BLOOMFILE_MERGE_PARAMS_INIT;
    params.max_fpr = 1;
    params.metadata = given;
    return bloomfile_merge(to, all, ROWS(all), &params);
}

static int join(struct bloomfile_destination *to)
{
    const bloomfile_filter *const all[] = { slices[0], slices[1] };
    return bloomfile_join(to, all, ROWS(all), given, 0);
}

static int assemble(struct bloomfile_destination *to)
{
    return bloomfile_assemble(to, &body_params, body, body_size, 0, KEYS);
}

static int delta(struct bloomfile_destination *to)
{
    return bloomfile_delta(to, source, others[0], 1);
}

static int patch(struct bloomfile_destination *to)
{
    const struct bloomfile_source from = bloomfile_from_memory(changes.memory, changes.size);
    return bloomfile_patch(to, source, &from, 1);
}

static const struct maker {
    const char *what;
    int (*make)(struct bloomfile_destination *to);
    bool one_form; /* the same bytes in memory as in a file */
} makers[] = {
    { "build", build, false },       { "fold", fold, false },   { "copy", copy, false },
    { "project", project, false },   { "merge", merge, false }, { "join", join, false },
    { "assemble", assemble, false }, { "delta", delta, true },  { "patch", patch, true },
};

static struct bloomfile_params params_of(uint32_t layout)
{
    return (struct bloomfile_params){ .struct_size = sizeof(struct bloomfile_params),
                                      .layout = layout,
                                      .bits = 512 * 315,
                                      .hashes = 3,
                                      .label = "of a source",
                                      .tag = { 1 },
                                      .watermark = { 2 },
                                      .spool = "." };
}

static bloomfile_filter *sealed(const char *path, uint64_t from)
{
    bloomfile_filter *f;
    bloomfile_builder *b = new_builder(params_of(BLOOMFILE_LAYOUT_BLOCKED));
    add_numbers(b, from, from + KEYS);
    assert_error(bloomfile_builder_write(b, TO_PATH(path, 0)), 0);
    bloomfile_builder_free(b);
    assert_error(bloomfile_open(&f, path, 0), 0);
    return f;
}

static bloomfile_filter *sealed_slice(const char *path, uint32_t slice)
{
    bloomfile_filter *f;
    struct bloomfile_params params = params_of(BLOOMFILE_LAYOUT_BLOCKED);
    params.capacity = KEYS;
    params.slices = ROWS(slices);
    params.slice = slice;
    bloomfile_builder *b = new_builder(params);
    add_numbers(b, 0, KEYS);
    assert_error(bloomfile_builder_write(b, TO_PATH(path, 0)), 0);
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
    slices[0] = sealed_slice("slice0", 0);
    slices[1] = sealed_slice("slice1", 1);
    changes = bloomfile_to_memory();
    assert_error(delta(&changes), 0);
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
    bloomfile_close(slices[0]);
    bloomfile_close(slices[1]);
    bloomfile_free(changes.memory);
    bloomfile_close(live);
    bloomfile_builder_free(builder);
    return leave_temp_dir(state);
}

/* ---- the same filter */

static struct bloomfile_destination stream(void)
{
    int fd = open("stream", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    return *TO_FD(fd, ".");
}

static struct bytes bytes_of(const struct bloomfile_destination *memory)
{
    return (struct bytes){ memory->memory, memory->size };
}

/* Compares the facts that both forms of the header hold. */
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

static void assert_metadata(const struct maker *m, const char *label, unsigned tag,
                            unsigned watermark)
{
    struct bloomfile_destination to = bloomfile_to_memory();
    assert_error(m->make(&to), 0);
    struct bytes image = { to.memory, to.size };
    const struct bloomfile_info info = verified_info(image);
    const uint8_t tag_of[BLOOMFILE_TAG_SIZE] = { (uint8_t)tag };
    const uint8_t watermark_of[BLOOMFILE_WATERMARK_SIZE] = { (uint8_t)watermark };
    if (strcmp(info.label, label) != 0 || memcmp(info.tag, tag_of, sizeof tag_of) != 0 ||
        memcmp(info.watermark, watermark_of, sizeof watermark_of) != 0)
        fail_msg("%s: label %s, tag %u, watermark %u", m->what, info.label, info.tag[0],
                 info.watermark[0]);
    free(image.data);
}

/* operations.md 6: each of the three comes from the source or from the caller. */
TEST(given_label_tag_and_watermark_override_those_of_the_source)
{
    static const uint8_t tag[BLOOMFILE_TAG_SIZE] = { 7 },
                         watermark[BLOOMFILE_WATERMARK_SIZE] = { 8 };
    for (const struct maker *m = makers; m < makers + ROWS(makers); m++) {
        const bool merges = m->make == merge, joins = m->make == join;
        if (m->make != fold && m->make != copy && m->make != project && !merges && !joins)
            continue;
        const char *label = merges ? "" : "of a source";
        const unsigned kept = merges || joins ? 0 : 2;
        struct bloomfile_metadata metadata = BLOOMFILE_METADATA_INIT;
        assert_metadata(m, label, !merges, kept);
        given = &metadata;
        assert_metadata(m, label, !merges, kept);
        metadata.watermark = watermark;
        assert_metadata(m, label, !merges, 8);
        metadata.tag = tag;
        assert_metadata(m, label, 7, 8);
        metadata.label = "new";
        assert_metadata(m, "new", 7, 8);
        metadata.label = "";
        assert_metadata(m, "", 7, 8);
        struct bloomfile_destination to = bloomfile_to_memory();
        metadata.label = "\n";
        assert_error(m->make(&to), BLOOMFILE_EVALUE);
        assert_string_equal(bloomfile_invalid(), "label");
        metadata.struct_size--;
        assert_error(m->make(&to), BLOOMFILE_ESTRUCTSIZE);
        given = NULL;
    }
}

static void assert_same_bytes(const char *what, struct bytes a, struct bytes b)
{
    if (a.size != b.size || memcmp(a.data, b.data, a.size) != 0)
        fail_msg("%s: these %zu bytes are not those %zu", what, a.size, b.size);
}

/* A callback that keeps its bytes, and fails at call number `fails`, from 0. */
struct kept {
    struct bytes bytes;
    unsigned calls, fails;
};

static int keep(void *context, const void *bytes, size_t size)
{
    struct kept *k = context;
    if (k->calls++ == k->fails)
        return EDOM;
    assert_true(size > 0);
    k->bytes.data = realloc(k->bytes.data, k->bytes.size + size);
    memcpy(k->bytes.data + k->bytes.size, bytes, size);
    k->bytes.size += size;
    return 0;
}

TEST(every_destination_receives_the_same_filter)
{
    for (size_t i = 0; i < ROWS(makers); i++) {
        const size_t descriptors = open_descriptors(), entries = entries_in_dir();
        struct bloomfile_destination file = bloomfile_to_path("made", 0),
                                     memory = bloomfile_to_memory(), to = stream();
        assert_error(makers[i].make(&file), 0);
        struct bytes made = read_file("made");
        assert_null(file.memory);

        assert_int_equal(write(to.fd, "before", 6), 6);
        assert_error(makers[i].make(&to), 0);
        close(to.fd);
        struct bytes written = read_file("stream");
        assert_int_equal(written.size, 6 + made.size);
        assert_memory_equal(written.data + 6, made.data, made.size);

        struct kept all = { .fails = UINT_MAX };
        struct bloomfile_destination called = bloomfile_to_callback(keep, &all);
        called.spool = ".";
        assert_error(makers[i].make(&called), 0);
        assert_same_bytes(makers[i].what, all.bytes, made);

        assert_error(makers[i].make(&memory), 0);
        if (makers[i].one_form)
            assert_same_bytes(makers[i].what, bytes_of(&memory), made);
        else
            assert_same_filter(makers[i].what, bytes_of(&memory), made);
        assert_int_equal((uintptr_t)memory.memory % 64, 0);
        bloomfile_free(memory.memory);
        free(made.data);
        free(written.data);
        free(all.bytes.data);
        assert_int_equal(unlink("made"), 0);
        assert_int_equal(unlink("stream"), 0);
        assert_int_equal(open_descriptors(), descriptors);
        assert_int_equal(entries_in_dir(), entries);
    }
}

/* ---- the caller's buffer */

enum {
    AROUND = 64,
    GUARD = 0xA5,
};

/* Leaves room in front and behind that must stay untouched. `shift` is the offset from an
 * aligned address. */
static void assert_goes_to_buffer(const struct maker *m, struct bytes expected, size_t shift)
{
    const size_t all = (shift + expected.size + 2 * AROUND + 63) / 64 * 64;
    uint8_t *memory = memset(aligned_alloc(64, all), GUARD, all), *buffer = memory + AROUND + shift;
    for (size_t size = expected.size + 1; size >= expected.size - 1; size--) {
        struct bloomfile_destination to = bloomfile_to_buffer(buffer, size);
        const bool fits = size >= expected.size;
        assert_error(m->make(&to), fits ? 0 : ERANGE);
        assert_int_equal(to.size, expected.size);
        assert_ptr_equal(to.memory, fits ? buffer : NULL);
        if (fits)
            assert_same_bytes(m->what, bytes_of(&to), expected);
        else
            for (size_t i = 0; i < size; i++)
                assert_int_equal(buffer[i], GUARD);
        if (!fits) /* the struct cannot be used again */
            assert_error(m->make(&to), BLOOMFILE_EVALUE);
        memset(buffer, GUARD, size);
        for (size_t i = 0; i < all; i++)
            if (memory[i] != GUARD)
                fail_msg("%s: byte %td of a buffer of %zu is written", m->what, memory + i - buffer,
                         size);
    }
    struct bloomfile_destination none = bloomfile_to_buffer(NULL, 0);
    assert_error(m->make(&none), ERANGE);
    assert_int_equal(none.size, expected.size);
    free(memory);
}

TEST(nothing_is_written_beyond_the_buffer)
{
    for (size_t i = 0; i < ROWS(makers); i++) {
        struct bloomfile_destination memory = bloomfile_to_memory();
        assert_error(makers[i].make(&memory), 0);
        assert_goes_to_buffer(&makers[i], bytes_of(&memory), 0);
        assert_goes_to_buffer(&makers[i], bytes_of(&memory), 1);
        assert_goes_to_buffer(&makers[i], bytes_of(&memory), 32);
        assert_error(makers[i].make(&memory), BLOOMFILE_EVALUE); /* its image may be in use */
        bloomfile_free(memory.memory);
    }
}

/* ---- a callback */

/* Some MiB, so that there are several calls. */
static int build_large(struct bloomfile_destination *to)
{
    struct bloomfile_params params = params_of(BLOOMFILE_LAYOUT_BLOCKED);
    params.bits = 512 * 50000;
    bloomfile_builder *b = new_builder(params);
    add_numbers(b, 0, KEYS);
    const int error = bloomfile_builder_write(b, to);
    bloomfile_builder_free(b);
    return error;
}

static unsigned fail_each_piece(const struct maker *m)
{
    for (unsigned nth = 0;; nth++) {
        const size_t descriptors = open_descriptors(), entries = entries_in_dir();
        struct kept all = { .fails = nth };
        struct bloomfile_destination to = bloomfile_to_callback(keep, &all);
        to.spool = ".";
        const int error = m->make(&to);
        free(all.bytes.data);
        assert_int_equal(open_descriptors(), descriptors);
        assert_int_equal(entries_in_dir(), entries);
        if (error == 0)
            return nth;
        if (error != EDOM || all.calls != nth + 1)
            fail_msg("%s: the callback fails in call %u and is called %u times, with the error %s",
                     m->what, nth + 1, all.calls, bloomfile_errname(error));
    }
}

TEST(an_error_of_the_callback_is_returned_and_ends_its_calls)
{
    const struct maker large = { "a large build", build_large, false };
    for (size_t i = 0; i < ROWS(makers); i++)
        assert_int_equal(fail_each_piece(&makers[i]), 1);
    assert_int_equal(fail_each_piece(&large), 4);
    struct kept all = { .fails = UINT_MAX };
    assert_error(build_large(&(struct bloomfile_destination){
                     .struct_size = sizeof(struct bloomfile_destination),
                     .kind = BLOOMFILE_TO_CALLBACK,
                     .write = keep,
                     .context = &all }),
                 0);
    assert_error(build_large(TO_PATH("large", 0)), 0);
    struct bytes made = read_file("large");
    assert_same_bytes("large", all.bytes, made);
    free(all.bytes.data);
    free(made.data);
    assert_int_equal(unlink("large"), 0);
}

/* ---- misuse */

TEST(invalid_destination_is_refused)
{
    uint8_t byte = GUARD;
    const size_t size = sizeof(struct bloomfile_destination);
    const struct bloomfile_destination rows[] = {
        { .struct_size = 0, .kind = BLOOMFILE_TO_MEMORY },
        { .struct_size = size - 1, .kind = BLOOMFILE_TO_MEMORY },
        { .struct_size = SIZE_MAX, .kind = BLOOMFILE_TO_MEMORY },
        { .struct_size = size },
        { .struct_size = size, .kind = 6, .path = "made", .write = keep },
        { .struct_size = size, .kind = BLOOMFILE_TO_PATH },
        { .struct_size = size, .kind = BLOOMFILE_TO_PATH, .path = "made", .flags = 1 },
        { .struct_size = size, .kind = BLOOMFILE_TO_PATH, .path = "made", .flags = 0x300 },
        { .struct_size = size, .kind = BLOOMFILE_TO_PATH, .path = "made", .reserved = 1 },
        { .struct_size = size, .kind = BLOOMFILE_TO_PATH, .path = "made", .more = { 0, 0, 0, 1 } },
        { .struct_size = size, .kind = BLOOMFILE_TO_FD, .fd = 1, .flags = BLOOMFILE_TO_REPLACE },
        { .struct_size = size, .kind = BLOOMFILE_TO_MEMORY, .flags = BLOOMFILE_TO_REPLACE },
        { .struct_size = size, .kind = BLOOMFILE_TO_MEMORY, .size = 1 << 20 },
        { .struct_size = size, .kind = BLOOMFILE_TO_MEMORY, .memory = &byte },
        { .struct_size = size, .kind = BLOOMFILE_TO_BUFFER, .size = 1 << 20 },
        { .struct_size = size, .kind = BLOOMFILE_TO_BUFFER, .memory = &byte, .more = { 1 } },
        { .struct_size = size, .kind = BLOOMFILE_TO_BUFFER, .flags = BLOOMFILE_TO_REPLACE },
        { .struct_size = size, .kind = BLOOMFILE_TO_CALLBACK, .context = &byte },
        { .struct_size = size, .kind = BLOOMFILE_TO_CALLBACK, .write = keep, .flags = 1 },
    };
    for (size_t i = 0; i < ROWS(makers); i++)
        for (size_t row = 0; row < ROWS(rows); row++) {
            struct bloomfile_destination to = rows[row];
            const int error = to.struct_size != size ? BLOOMFILE_ESTRUCTSIZE
                              : to.flags != 0        ? BLOOMFILE_EFLAGS
                                                     : BLOOMFILE_EVALUE;
            if (makers[i].make(&to) != error)
                fail_msg("%s: row %zu is taken", makers[i].what, row);
            assert_memory_equal(&to, &rows[row], sizeof to);
        }
    assert_int_equal(byte, GUARD);
    assert_int_equal(access("made", F_OK), -1);
}

/* Such a number, passed in the upper half of the flags, was taken for descriptor 3, and the output
 * went there. */
TEST(descriptors_above_65534_are_not_truncated)
{
    enum {
        HIGH = 65539
    };
    struct rlimit limit, before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    limit = before;
    limit.rlim_cur = limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    struct bloomfile_destination to = stream(), high = to;
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

TEST(descriptor_that_cannot_be_written_returns_ebadf)
{
    write_file("read", "", 0);
    int read_only = open("read", O_RDONLY | O_CLOEXEC);
    for (size_t i = 0; i < ROWS(makers); i++) {
        assert_error(makers[i].make(TO_FD(-1, NULL)), EBADF);
        assert_error(makers[i].make(TO_FD(read_only, NULL)), EBADF);
    }
    close(read_only);
    assert_int_equal(unlink("read"), 0);
}

TEST(missing_spool_folder_is_an_error_except_for_memory)
{
    bloomfile_builder *b = builder;
    struct bloomfile_params params = params_of(BLOOMFILE_LAYOUT_BLOCKED);
    params.spool = "absent";
    builder = new_builder(params);
    struct bloomfile_destination to = stream();
    to.spool = "absent";
    for (size_t i = 0; i < ROWS(makers); i++) {
        struct bloomfile_destination memory = bloomfile_to_memory();
        memory.spool = "absent";
        assert_error(makers[i].make(&to), ENOENT);
        assert_error(makers[i].make(&memory), 0);
        bloomfile_free(memory.memory);
    }
    assert_int_equal(lseek(to.fd, 0, SEEK_END), 0);
    close(to.fd);
    assert_int_equal(unlink("stream"), 0);
    bloomfile_builder_free(builder);
    builder = b;
}

/* ---- sources */

static int apply_from(struct bloomfile_source from)
{
    struct bloomfile_patch_info info = BLOOMFILE_PATCH_INFO_INIT;
    struct bloomfile_destination to = bloomfile_to_memory();
    const bool reads_once = from.kind == BLOOMFILE_FROM_FD && from.offset == BLOOMFILE_FROM_HERE;
    const int error = bloomfile_patch(&to, source, &from, 1);
    if (!reads_once)
        assert_error(bloomfile_get_patch_info(&from, &info), error);
    if (error == 0) {
        struct bytes expected = read_file("other");
        assert_same_bytes("a patched filter", bytes_of(&to), expected);
        free(expected.data);
    }
    bloomfile_free(to.memory);
    return error;
}

TEST(a_patch_is_read_from_a_path_a_descriptor_and_memory)
{
    const size_t descriptors = open_descriptors(), size = changes.size;
    struct bytes file = { malloc(size + 10), size + 10 };
    memset(memcpy(file.data, "before", 6), 'x', 6);
    memcpy(file.data + 6, changes.memory, size);
    memcpy(file.data + 6 + size, "tail", 4);
    write_file("patch", changes.memory, size);
    write_file("in-another", file.data, file.size);
    const int alone = open("patch", O_RDONLY | O_CLOEXEC);
    const int fd = open("in-another", O_RDONLY | O_CLOEXEC);

    assert_error(apply_from(bloomfile_from_path("patch")), 0);
    assert_error(apply_from(bloomfile_from_path("in-another")), BLOOMFILE_EPATCH);
    assert_error(apply_from(bloomfile_from_path("absent")), ENOENT);
    assert_error(apply_from(bloomfile_from_path(".")), EISDIR);
    assert_error(apply_from(bloomfile_from_path("/dev/null")), BLOOMFILE_ENOTREGULAR);

    assert_error(apply_from(bloomfile_from_memory(changes.memory, size)), 0);
    assert_error(apply_from(bloomfile_from_memory(changes.memory, size - 1)), BLOOMFILE_ETRUNCATED);
    assert_error(apply_from(bloomfile_from_memory(NULL, 0)), BLOOMFILE_ETRUNCATED);
    assert_error(apply_from(bloomfile_from_memory(file.data + 6, size + 1)), BLOOMFILE_ETRAILING);

    assert_error(apply_from(bloomfile_from_fd(alone)), 0);
    assert_error(apply_from(part_of_fd(fd, 6, size)), 0);
    assert_error(apply_from(part_of_fd(fd, 6, size - 1)), BLOOMFILE_ETRUNCATED);
    assert_error(apply_from(part_of_fd(fd, 6, size + 1)), BLOOMFILE_ETRAILING);
    assert_error(apply_from(part_of_fd(fd, 6, BLOOMFILE_FROM_REST)), BLOOMFILE_ETRAILING);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 0);
    assert_error(apply_from(part_of_fd(-1, 0, size)), EBADF);

    assert_int_equal(lseek(fd, 6, SEEK_SET), 6);
    assert_error(apply_from(part_of_fd(fd, BLOOMFILE_FROM_HERE, size)), 0);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 6 + (off_t)size);
    close(alone);
    close(fd);
    free(file.data);
    assert_int_equal(unlink("patch"), 0);
    assert_int_equal(unlink("in-another"), 0);
    assert_int_equal(open_descriptors(), descriptors);
}

TEST(invalid_source_is_refused)
{
    const size_t size = sizeof(struct bloomfile_source);
    const struct bloomfile_source rows[] = {
        { .struct_size = 0, .kind = BLOOMFILE_FROM_PATH, .path = "source" },
        { .struct_size = size - 1, .kind = BLOOMFILE_FROM_PATH, .path = "source" },
        { .struct_size = size, .path = "source" },
        { .struct_size = size, .kind = BLOOMFILE_FROM_CALLBACK },
        { .struct_size = size, .kind = BLOOMFILE_FROM_PATH },
        { .struct_size = size, .kind = BLOOMFILE_FROM_MEMORY, .size = 1 },
        { .struct_size = size, .kind = BLOOMFILE_FROM_PATH, .path = "source", .reserved = 1 },
        { .struct_size = size, .kind = BLOOMFILE_FROM_PATH, .path = "source", .reserved2 = 1 },
        { .struct_size = size, .kind = BLOOMFILE_FROM_FD, .more = { 0, 0, 0, 1 } },
    };
    for (size_t i = 0; i < ROWS(rows); i++)
        assert_error(apply_from(rows[i]), i < 2 ? BLOOMFILE_ESTRUCTSIZE : BLOOMFILE_EVALUE);
}

/* ---- stopped by the caller */

static int stop_at_zero(void *context)
{
    unsigned *left = context;
    if (*left == 0)
        return ECANCELED;
    --*left;
    return 0;
}

static int make_until_stopped(const struct maker *m, struct bloomfile_destination *to,
                              unsigned calls)
{
    bloomfile_stop_with(stop_at_zero, &calls);
    int error = m->make(to);
    bloomfile_stop_with(NULL, NULL);
    return error;
}

/* Stops at each call in turn, until a run ends without a stop. */
static void assert_stops(const struct maker *m, struct bloomfile_destination *to)
{
    const size_t descriptors = open_descriptors(), entries = entries_in_dir();
    unsigned calls = 0;
    for (int error; (error = make_until_stopped(m, to, calls)) != 0; calls++) {
        assert_error(error, ECANCELED);
        assert_int_equal(open_descriptors(), descriptors);
        assert_int_equal(entries_in_dir(), entries);
        if (to->kind == BLOOMFILE_TO_FD)
            assert_int_equal(lseek(to->fd, 0, SEEK_END), 0);
        assert_null(to->memory);
    }
    if (calls == 0)
        fail_msg("%s: it does not stop", m->what);
}

TEST(a_caller_that_stops_a_call_gets_its_error_and_no_filter)
{
    for (size_t i = 0; i < ROWS(makers); i++) {
        struct bloomfile_destination file = bloomfile_to_path("made", 0),
                                     memory = bloomfile_to_memory(), to = stream();
        assert_stops(&makers[i], &file);
        assert_stops(&makers[i], &to);
        assert_stops(&makers[i], &memory);
        bloomfile_free(memory.memory);
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

static int make_with_fault(const struct maker *m, struct bloomfile_destination *to,
                           struct faults faults)
{
    faults_begin(&faults);
    int error = m->make(to);
    faults_end();
    return error;
}

/* Lets the nth call fail, for each n until a run has no nth call. Returns how many runs failed. */
static unsigned fail_each_call(const struct maker *m, struct bloomfile_destination *to, size_t row)
{
    for (unsigned nth = 1;; nth++) {
        int error = make_with_fault(m, to, once(rows[row].call, nth, rows[row].error));
        if (error == 0)
            return nth - 1;
        if (error != rows[row].error)
            fail_msg("%s: call %u of %s fails, but the error is %s", m->what, nth,
                     fault_name(rows[row].call), bloomfile_errname(error));
        assert_null(to->memory);
        assert_int_equal(to->size, 0);
    }
}

TEST(each_failed_call_returns_its_error_and_leaks_nothing)
{
    unsigned of_fd = 0, of_memory = 0;
    for (size_t i = 0; i < ROWS(makers); i++) {
        struct bloomfile_destination to = stream();
        const size_t descriptors = open_descriptors(), entries = entries_in_dir();
        for (size_t row = 0; row < ROWS(rows); row++) {
            struct bloomfile_destination memory = bloomfile_to_memory();
            of_fd += fail_each_call(&makers[i], &to, row);
            of_memory += fail_each_call(&makers[i], &memory, row);
            bloomfile_free(memory.memory);
            assert_int_equal(open_descriptors(), descriptors);
            assert_int_equal(entries_in_dir(), entries);
        }
        close(to.fd);
        assert_int_equal(unlink("stream"), 0);
    }
    assert_true(of_fd > 60 && of_memory > 10);
}

static const struct maker *stopped;

static int make_file(void)
{
    return stopped->make(TO_PATH("made", 0));
}

static void remove_made(void)
{
    bloomfile_filter *f;
    struct bloomfile_patch_info info = BLOOMFILE_PATCH_INFO_INIT;
    const struct bloomfile_source from = bloomfile_from_path("made");
    if (access("made", F_OK) != 0)
        return;
    if (stopped->make == delta)
        assert_error(bloomfile_get_patch_info(&from, &info), 0);
    else if (bloomfile_open(&f, "made", BLOOMFILE_OPEN_VERIFY_FULL) == 0)
        bloomfile_close(f);
    else
        fail_msg("%s: half of a filter is there", stopped->what);
    assert_int_equal(unlink("made"), 0);
}

TEST(stop_at_any_call_leaves_no_temporary_file)
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
