/* SPDX-License-Identifier: MIT
 * Pages that change at the worst moment: right after their checksum was computed, or only during
 * the computation. The result must hold the bytes that were checked. */
#include "support.h"

#include <bloomfile_combine.h>
#include <bloomfile_delta.h>
#include <bloomfile_live.h>
#include <bloomfile_unstable.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    PAGES = 150,
    KEYS = 20000,
    SLICES = 2,
};

/* ---- pages that change */

enum moment {
    AFTER,      /* after its checksum was computed */
    WITH_NEXT,  /* while the next checksum is computed */
    ONLY_WHILE, /* only while its checksum is computed */
};

/* A body whose pages become zero. Pages are recognised by their bytes, because the library may
 * check a copy. */
static struct victim {
    uint8_t *body;
    uint8_t *as_it_was;
    enum moment moment;
    uint8_t *due; /* a page that was checked, or NULL */
    unsigned strikes;
    pthread_mutex_t lock;
} victim = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void begin(uint8_t *body, enum moment moment)
{
    victim.as_it_was = malloc(PAGES * PAGE);
    assert_non_null(victim.as_it_was);
    memcpy(victim.as_it_was, body, PAGES * PAGE);
    victim.moment = moment;
    victim.due = NULL;
    victim.strikes = 0;
    victim.body = body;
}

static void end(void)
{
    memcpy(victim.body, victim.as_it_was, PAGES * PAGE);
    victim.body = NULL;
    free(victim.as_it_was);
}

/* Returns PAGES if it is not one of the pages. */
static size_t page_of(const uint8_t *bytes)
{
    size_t page = 0;
    while (page < PAGES && memcmp(bytes, victim.as_it_was + page * PAGE, PAGE) != 0)
        page++;
    return page;
}

uint32_t __real_libdeflate_crc32(uint32_t crc, const void *bytes, size_t size);
uint32_t __wrap_libdeflate_crc32(uint32_t crc, const void *bytes, size_t size);

uint32_t __wrap_libdeflate_crc32(uint32_t crc, const void *bytes, size_t size)
{
    if (victim.body == NULL || size != PAGE)
        return __real_libdeflate_crc32(crc, bytes, size);
    pthread_mutex_lock(&victim.lock);
    const size_t page = page_of(bytes);
    uint8_t *at = page < PAGES ? victim.body + page * PAGE : NULL;
    if (victim.due != NULL)
        memset(victim.due, 0, PAGE);
    if (at != NULL && victim.moment == ONLY_WHILE)
        memset(at, 0, PAGE);
    const uint32_t sum = __real_libdeflate_crc32(crc, bytes, size);
    if (at != NULL && victim.moment == ONLY_WHILE)
        memcpy(at, victim.as_it_was + page * PAGE, PAGE);
    else if (at != NULL && victim.moment == AFTER)
        memset(at, 0, PAGE);
    victim.due = victim.moment == WITH_NEXT ? at : NULL;
    victim.strikes += at != NULL;
    pthread_mutex_unlock(&victim.lock);
    return sum;
}

/* ---- operations */

/* The first source changes. The second one has other keys, and the third has some more or is the
 * next slice. */
struct sources {
    struct bytes images[3];
    bloomfile_filter *filters[3];
};

static int fold_by_1(const struct sources *s, struct bytes *to)
{
    return fold_memory((void **)&to->data, &to->size, s->filters[0], 1);
}

static int fold_by_2(const struct sources *s, struct bytes *to)
{
    return fold_memory((void **)&to->data, &to->size, s->filters[0], 2);
}

static int seal(const struct sources *s, struct bytes *to)
{
    return copy_memory((void **)&to->data, &to->size, s->filters[0]);
}

static int combine(const struct sources *s, struct bytes *to, uint32_t op, int first, int second)
{
    struct bloomfile_merge_params params = BLOOMFILE_MERGE_PARAMS_INIT;
    const bloomfile_filter *both[] = { s->filters[first], s->filters[second] };
    params.op = op;
    params.max_fpr = 1;
    return merge_memory((void **)&to->data, &to->size, both, 2, &params);
}

static int unite(const struct sources *s, struct bytes *to)
{
    return combine(s, to, BLOOMFILE_MERGE_UNION, 0, 1);
}

static int unite_with(const struct sources *s, struct bytes *to)
{
    return combine(s, to, BLOOMFILE_MERGE_UNION, 1, 0);
}

static int intersect(const struct sources *s, struct bytes *to)
{
    return combine(s, to, BLOOMFILE_MERGE_INTERSECTION, 1, 0);
}

static int project(const struct sources *s, struct bytes *to)
{
    return project_memory((void **)&to->data, &to->size, s->filters[0]);
}

static int join(const struct sources *s, struct bytes *to)
{
    const bloomfile_filter *slices[] = { s->filters[0], s->filters[2] };
    return join_memory((void **)&to->data, &to->size, slices, SLICES, 0);
}

static int assemble(const struct sources *s, struct bytes *to)
{
    size_t size;
    const void *body = bloomfile_body(s->filters[0], &size);
    const struct bloomfile_info info = info_of(s->filters[0]);
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.layout = info.layout;
    params.bits = info.bits;
    params.hashes = info.hashes;
    params.capacity = KEYS;
    return assemble_memory((void **)&to->data, &to->size, &params, body, size, 0, KEYS);
}

/* The parts that bloomfile_fold_plan() returns, as bytes. */
static int plan(const struct sources *s, struct bytes *to)
{
    to->size = 0;
    size_t count;
    int error = bloomfile_fold_plan(s->filters[0], 0, NULL, &count);
    struct bloomfile_fold_choice *choices = calloc(count, sizeof *choices);
    assert_non_null(choices);
    if (error == 0)
        error = bloomfile_fold_plan(s->filters[0], 0, choices, &count);
    *to = (struct bytes){ (uint8_t *)choices, count * sizeof *choices };
    return error;
}

static int take_file(int error, struct bytes *to)
{
    if (error == 0)
        *to = read_file("made");
    unlink("made");
    return error;
}

static int delta_from(const struct sources *s, struct bytes *to)
{
    return take_file(bloomfile_delta(TO_PATH("made", 0), s->filters[0], s->filters[2], 1), to);
}

static int delta_into(const struct sources *s, struct bytes *to)
{
    return take_file(bloomfile_delta(TO_PATH("made", 0), s->filters[2], s->filters[0], 1), to);
}

static int apply(const struct sources *s, struct bytes *to)
{
    const int fd = open("patch", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    const int error = bloomfile_patch(TO_PATH("made", 0), s->filters[0], FROM_FD(fd), 1);
    close(fd);
    return take_file(error, to);
}

static const struct operation {
    const char *name;
    int (*run)(const struct sources *s, struct bytes *to);
    bool of_slices, bits_only, counters_only;
    bool may_refuse; /* except in the layout blocked: it reads unchanged pages twice */
} operations[] = {
    { .name = "fold by 1", .run = fold_by_1 },
    { .name = "fold by 2", .run = fold_by_2 },
    { .name = "seal", .run = seal },
    { .name = "union", .run = unite },
    { .name = "union, as second source", .run = unite_with },
    { .name = "intersection", .run = intersect, .bits_only = true },
    { .name = "project", .run = project, .counters_only = true },
    { .name = "join", .run = join, .of_slices = true },
    { .name = "assemble", .run = assemble },
    { .name = "plan", .run = plan },
    { .name = "delta from", .run = delta_from, .may_refuse = true },
    { .name = "delta into", .run = delta_into, .may_refuse = true },
    { .name = "apply", .run = apply },
};

/* ---- sealed sources */

/* A filter; if `slice` is not SLICES, that slice of it. */
static struct bytes build(uint32_t layout, uint64_t from, uint64_t to, uint32_t slice)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.layout = layout;
    params.bits = PAGE * 8 * PAGES * (slice == SLICES ? 1 : SLICES);
    if (layout == BLOOMFILE_LAYOUT_COUNTING)
        params.bits /= 4;
    params.hashes = 4;
    params.capacity = KEYS;
    if (slice < SLICES) {
        params.slice = slice;
        params.slices = SLICES;
    }
    bloomfile_builder *b = new_builder(params);
    add_numbers(b, from, to);
    struct bytes image = finish_file(b);
    bloomfile_builder_free(b);
    return image;
}

static void open_sources(struct sources *s, uint32_t layout, bool of_slices)
{
    s->images[0] = build(layout, 0, KEYS, of_slices ? 0 : SLICES);
    s->images[1] = build(layout, KEYS, 2 * KEYS, SLICES);
    s->images[2] = of_slices ? build(layout, 0, KEYS, 1) : build(layout, 0, KEYS + 20, SLICES);
    for (size_t i = 0; i < ROWS(s->images); i++)
        s->filters[i] = open_image(s->images[i], 0);
}

static void close_sources(struct sources *s)
{
    for (size_t i = 0; i < ROWS(s->images); i++) {
        bloomfile_close(s->filters[i]);
        free(s->images[i].data);
    }
    unlink("patch");
}

static void check(const struct operation *o, uint32_t layout, enum moment moment)
{
    struct sources s;
    struct bytes expected = { 0 }, got = { 0 };
    open_sources(&s, layout, o->of_slices);
    assert_error(
        bloomfile_delta(TO_PATH("patch", BLOOMFILE_TO_REPLACE), s.filters[0], s.filters[2], 1),
        o->of_slices ? BLOOMFILE_EDIFFERENTBITS : 0);
    assert_error(o->run(&s, &expected), 0);
    begin(s.images[0].data + IN_FILE, moment);
    const int error = o->run(&s, &got);
    const unsigned strikes = victim.strikes;
    end();
    if (strikes == 0)
        fail_msg("%s: no page was checked", o->name);
    if (error != 0 && !(o->may_refuse && layout != BLOOMFILE_LAYOUT_BLOCKED))
        fail_msg("%s, layout %u: %s", o->name, layout, bloomfile_strerror(error));
    if (error == 0 && (got.size != expected.size || memcmp(got.data, expected.data, got.size) != 0))
        fail_msg("%s, layout %u: made from other bytes than were checked", o->name, layout);
    free(got.data);
    free(expected.data);
    close_sources(&s);
}

TEST(result_is_made_from_the_bytes_that_were_checked)
{
    for (uint32_t layout = BLOOMFILE_LAYOUT_BLOCKED; layout <= BLOOMFILE_LAYOUT_COUNTING; layout++)
        for (size_t i = 0; i < ROWS(operations); i++) {
            const struct operation *o = &operations[i];
            const bool counts = layout == BLOOMFILE_LAYOUT_COUNTING;
            if ((o->of_slices && layout != BLOOMFILE_LAYOUT_BLOCKED) || (o->bits_only && counts) ||
                (o->counters_only && !counts))
                continue;
            check(o, layout, AFTER);
            check(o, layout, WITH_NEXT);
        }
}

/* ---- a live filter that is sealed */

/* A failing disk may return a page of zeros for the checksum and again later. If bits were
 * counted from a good read in between, the loss would go unnoticed. */
TEST(sealing_counts_the_bytes_that_it_checks)
{
    for (uint32_t layout = BLOOMFILE_LAYOUT_BLOCKED; layout <= BLOOMFILE_LAYOUT_CLASSIC; layout++) {
        struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
        bloomfile_filter *f;
        params.layout = layout;
        params.bits = PAGE * 8 * PAGES;
        params.hashes = 4;
        params.capacity = KEYS;
        assert_error(bloomfile_create(&f, "live", &params, BLOOMFILE_TO_REPLACE), 0);
        for (uint64_t i = 0; i < KEYS; i++)
            assert_error(bloomfile_add_digest(f, number(0, i), NULL), 0);
        assert_error(bloomfile_sync(f, NULL), 0);
        const int fd = open("live", O_RDWR | O_CLOEXEC);
        assert_true(fd >= 0);
        uint8_t *file =
            mmap(NULL, IN_FILE + PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        assert_true(file != MAP_FAILED);
        begin(file + IN_FILE, ONLY_WHILE);
        const int error = bloomfile_seal(f, NULL);
        assert_true(victim.strikes > 0);
        memset(victim.body, 0, PAGES * PAGE);
        for (uint64_t i = 0; i < KEYS; i++)
            assert_true(bloomfile_contains_digest(f, number(0, i)));
        end();
        assert_error(error, 0);
        bloomfile_close(f);
        munmap(file, IN_FILE + PAGES * PAGE);
        close(fd);
    }
}

int main(void)
{
    return run_all(enter_temp_dir, leave_temp_dir);
}
