/* SPDX-License-Identifier: MIT
 * Every way to open a file, and every way to change it under the handle: bloomfile_is_stale() or
 * bloomfile_check() must report it. */
#include "live_support.h"

#include <bloomfile_combine.h>
#include <bloomfile_delta.h>
#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <bloomfile_unstable.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "live/records.h"

enum {
    KEYS = 1000,
    BITS = 512 * 64 * 8, /* several pages */
    PAGE = 4096,
    ROUNDS = 4 /* a file system may reuse the number of a deleted inode for every second file */
};

struct range {
    uint64_t from, to;
};
static const struct range before = { 0, KEYS }, after = { KEYS, 2 * KEYS };

/* ---- files */

static struct bloomfile_params shape_of(uint32_t layout)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.layout = layout;
    params.bits = BITS;
    params.hashes = 5;
    params.capacity = 10 * KEYS;
    return params;
}

static void build_sealed(const char *path, uint32_t layout, struct range keys)
{
    bloomfile_builder *b = new_builder(shape_of(layout));
    add_numbers(b, keys.from, keys.to);
    assert_error(bloomfile_builder_write(b, TO_PATH(path, BLOOMFILE_TO_REPLACE)), 0);
    bloomfile_builder_free(b);
}

static void build_live(const char *path, uint32_t layout, struct range keys)
{
    struct bloomfile_params params = shape_of(layout);
    params.tag[0] = (uint8_t)(keys.from != before.from);
    bloomfile_filter *f;
    assert_error(bloomfile_create(&f, path, &params, BLOOMFILE_TO_REPLACE), 0);
    add_digests_of(f, keys.from, keys.to);
    bloomfile_close(f);
}

struct kind {
    const char *name;
    void (*build)(const char *path, uint32_t layout, struct range keys);
    struct bytes images[BLOOMFILE_LAYOUT_COUNTING + 1][2]; /* of each layout, once they are built */
};
static struct kind sealed = { .name = "sealed", .build = build_sealed },
                   live = { .name = "live", .build = build_live };

static void make(const char *path, struct kind *kind, uint32_t layout, struct range keys)
{
    struct bytes *image = &kind->images[layout][keys.from != before.from];
    if (image->data == NULL) {
        kind->build("image", layout, keys);
        *image = read_file("image");
    }
    write_file(path, image->data, image->size);
}

static int free_images(void **state)
{
    struct kind *kinds[] = { &sealed, &live };
    for (size_t i = 0; i < 2 * (BLOOMFILE_LAYOUT_COUNTING + 1); i++)
        for (size_t k = 0; k < ROWS(kinds); k++)
            free(kinds[k]->images[i / 2][i % 2].data);
    return 0;
}

/* ---- changes of the file at "filter" */

static void rename_over(struct kind *kind, uint32_t layout)
{
    make("newer", kind, layout, after);
    assert_int_equal(rename("newer", "filter"), 0);
}

static void rebuild(struct kind *kind, uint32_t layout)
{
    assert_int_equal(unlink("filter"), 0);
    make("filter", kind, layout, after);
}

static void take_away(struct kind *kind, uint32_t layout)
{
    (void)kind, (void)layout;
    assert_int_equal(unlink("filter"), 0);
}

static void truncate_all(struct kind *kind, uint32_t layout)
{
    (void)kind, (void)layout;
    assert_int_equal(truncate("filter", 0), 0);
}

static void truncate_half(struct kind *kind, uint32_t layout)
{
    (void)kind, (void)layout;
    assert_int_equal(truncate("filter", IN_FILE + 2 * PAGE), 0);
}

static void grow(struct kind *kind, uint32_t layout)
{
    (void)kind, (void)layout;
    struct stat status;
    assert_int_equal(stat("filter", &status), 0);
    assert_int_equal(truncate("filter", status.st_size + PAGE), 0);
}

static void overwrite(const char *path, const uint8_t *bytes, size_t size, int flags)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | flags);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    assert_int_equal(close(fd), 0);
}

/* Like cp. */
static void copy_over(struct kind *kind, uint32_t layout)
{
    make("newer", kind, layout, after);
    struct bytes newer = read_file("newer");
    overwrite("filter", newer.data, newer.size, O_TRUNC);
    free(newer.data);
}

static bool changed_later(const struct stat *is, const struct stat *was)
{
    return is->st_ctim.tv_sec != was->st_ctim.tv_sec || is->st_ctim.tv_nsec != was->st_ctim.tv_nsec;
}

/* Changes a file until its time of change differs. The clock of a file system may tick a hundred
 * times a second, or every two seconds. */
static void wait_for_tick(void)
{
    struct stat was, is;
    write_file("tick", "", 0);
    assert_int_equal(stat("tick", &was), 0);
    do {
        const struct timespec times[] = { was.st_atim, { .tv_nsec = UTIME_NOW } };
        assert_int_equal(utimensat(AT_FDCWD, "tick", times, 0), 0);
        assert_int_equal(stat("tick", &is), 0);
    } while (!changed_later(&is, &was));
    assert_int_equal(unlink("tick"), 0);
}

/* Like cp --preserve or rsync --inplace with an older copy, of which a page is lost. */
static void copy_damaged_over(struct kind *kind, uint32_t layout)
{
    (void)kind, (void)layout;
    struct stat status;
    assert_int_equal(stat("filter", &status), 0);
    wait_for_tick();
    struct bytes same = read_file("filter");
    memset(same.data + IN_FILE, 0, PAGE);
    overwrite("filter", same.data, same.size, 0);
    free(same.data);
    const struct timespec times[] = { status.st_atim, status.st_mtim };
    assert_int_equal(utimensat(AT_FDCWD, "filter", times, 0), 0);
}

/* A writer of another process adds and seals. */
static void seal(struct kind *kind, uint32_t layout)
{
    (void)kind, (void)layout;
    bloomfile_filter *f = opened("filter", BLOOMFILE_OPEN_WRITE);
    add_digests_of(f, after.from, after.to);
    assert_error(bloomfile_seal(f, NULL), 0);
    bloomfile_close(f);
}

/* vfat has a single time, in steps of two seconds. */
static bool time_of_change_is_kept(void)
{
    struct stat was, is;
    write_file("probe", "", 0);
    assert_int_equal(stat("probe", &was), 0);
    wait_for_tick();
    const struct timespec times[] = { was.st_atim, was.st_mtim };
    assert_int_equal(utimensat(AT_FDCWD, "probe", times, 0), 0);
    assert_int_equal(stat("probe", &is), 0);
    assert_int_equal(unlink("probe"), 0);
    return changed_later(&is, &was);
}

/* ---- the table */

static const struct opening {
    const char *name;
    struct kind *kind;
    unsigned flags;
} openings[] = {
    { "plain", &sealed, 0 },
    { "VERIFY_FULL", &sealed, BLOOMFILE_OPEN_VERIFY_FULL },
    { "VERIFY_NONE", &sealed, BLOOMFILE_OPEN_VERIFY_NONE },
    { "PREFAULT", &sealed, BLOOMFILE_OPEN_PREFAULT },
    { "LOCK", &sealed, BLOOMFILE_OPEN_LOCK },
    { "COPY", &sealed, BLOOMFILE_OPEN_COPY },
    { "COPY|LOCK", &sealed, BLOOMFILE_OPEN_COPY | BLOOMFILE_OPEN_LOCK },
    { "COPY|VERIFY_FULL", &sealed, BLOOMFILE_OPEN_COPY | BLOOMFILE_OPEN_VERIFY_FULL },
    { "COPY|VERIFY_NONE", &sealed, BLOOMFILE_OPEN_COPY | BLOOMFILE_OPEN_VERIFY_NONE },
    { "plain", &live, 0 },
    { "VERIFY_NONE", &live, BLOOMFILE_OPEN_VERIFY_NONE },
    { "ACCEPT_UNCLEAN", &live, BLOOMFILE_OPEN_ACCEPT_UNCLEAN },
    { "PREFAULT", &live, BLOOMFILE_OPEN_PREFAULT },
    { "LOCK", &live, BLOOMFILE_OPEN_LOCK },
    { "WRITE", &live, BLOOMFILE_OPEN_WRITE },
    { "WRITE|ADD_EXACT", &live, BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ADD_EXACT },
    { "WRITE|ACCEPT_UNCLEAN", &live, BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ACCEPT_UNCLEAN },
    { "WRITE|PREFAULT", &live, BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_PREFAULT },
    { "WRITE|LOCK", &live, BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_LOCK },
};

enum who {
    SEALED = 1,
    READERS = 2, /* readers of live files */
    WRITERS = 4,
    LIVE = READERS | WRITERS,
    ALL = SEALED | LIVE
};

static const struct change {
    const char *name;
    void (*make)(struct kind *kind, uint32_t layout);
    unsigned who;
    unsigned rounds;
} changes[] = {
    { "renamed over", rename_over, ALL, ROUNDS },
    { "unlinked and rebuilt", rebuild, ALL, ROUNDS },
    { "unlinked", take_away, ALL, 1 },
    { "truncated to nothing", truncate_all, ALL, 1 },
    { "truncated to a half", truncate_half, ALL, 1 },
    { "grown", grow, ALL, 1 },
    { "overwritten", copy_over, ALL, 1 },
    { "overwritten, same header and time", copy_damaged_over, SEALED, 1 },
    { "sealed in place", seal, READERS, 1 },
};

static unsigned who_opens(const struct opening *o)
{
    return o->kind == &sealed ? SEALED : (o->flags & BLOOMFILE_OPEN_WRITE) != 0 ? WRITERS : READERS;
}

static bool all_may_be_there(const bloomfile_filter *f, struct range keys)
{
    static uint64_t digests[2 * KEYS];
    const size_t n = (size_t)(keys.to - keys.from);
    for (size_t i = 0; i < n; i++)
        digests[i] = number(0, keys.from + i);
    return has_numbers(f, keys.from, keys.to) &&
           bloomfile_contains_digests(f, digests, n, NULL) == n;
}

static void check_rule(const struct opening *o, const struct change *c, uint32_t layout)
{
    make("filter", o->kind, layout, before);
    bloomfile_filter *f = opened("filter", o->flags);
    assert_true(all_may_be_there(f, before)); /* and all its pages were checked */
    assert_int_equal(bloomfile_is_stale(f), 0);
    assert_error(bloomfile_check(f), 0);

    c->make(o->kind, layout);
    int stale = bloomfile_is_stale(f), status = bloomfile_check(f);
    if (stale != 1 && status == 0)
        fail_msg("%s %s, layout %u, %s: is_stale %d, status %s", o->kind->name, o->name, layout,
                 c->name, stale, bloomfile_errname(status));
    if (c->make == seal)
        assert_true(all_may_be_there(f, before) && all_may_be_there(f, after));
    if (status != 0) {
        assert_error(status, BLOOMFILE_ECHANGED);
        assert_true(all_may_be_there(f, before));
        assert_true(all_may_be_there(f, after));
        assert_error(bloomfile_check(f), BLOOMFILE_ECHANGED);
    }
    bloomfile_close(f);
}

TEST_IN_DIR(every_change_is_detected_with_every_flag)
{
    const bool kept = time_of_change_is_kept();
    for (size_t o = 0; o < ROWS(openings); o++)
        for (size_t c = 0; c < ROWS(changes); c++)
            for (unsigned i = 0; i < changes[c].rounds; i++)
                if ((changes[c].who & who_opens(&openings[o])) != 0 &&
                    (changes[c].make != copy_damaged_over || kept))
                    check_rule(&openings[o], &changes[c],
                               BLOOMFILE_LAYOUT_BLOCKED + (uint32_t)(o + c) % 3);
}

/* The sequence of the records only grows; it alone distinguishes live files of the same shape. */
TEST_IN_DIR(restoring_an_older_copy_over_a_live_file_is_detected)
{
    static const unsigned flags[] = { 0, BLOOMFILE_OPEN_WRITE };
    for (size_t i = 0; i < ROWS(flags); i++) {
        make("filter", &live, BLOOMFILE_LAYOUT_BLOCKED, before);
        struct bytes older = read_file("filter");
        bloomfile_filter *f = opened("filter", BLOOMFILE_OPEN_WRITE);
        add_digests_of(f, after.from, after.to);
        bloomfile_close(f);

        f = opened("filter", flags[i]);
        overwrite("filter", older.data, older.size, O_TRUNC);
        assert_int_equal(bloomfile_is_stale(f), 1);
        assert_error(bloomfile_check(f), BLOOMFILE_ECHANGED);
        assert_true(has_numbers(f, before.from, after.to));
        assert_error(bloomfile_add_digest(f, number(0, 1), NULL),
                     flags[i] == 0 ? BLOOMFILE_EREADONLY : BLOOMFILE_ECHANGED);
        bloomfile_close(f);
        free(older.data);
    }
}

static void make_with(const char *path, uint32_t layout, uint64_t from, uint64_t to, unsigned syncs,
                      bool seals)
{
    struct bloomfile_params params = shape_of(layout);
    bloomfile_filter *f;
    assert_error(bloomfile_create(&f, path, &params, BLOOMFILE_TO_REPLACE), 0);
    for (uint64_t i = from; i < to; i++)
        assert_error(bloomfile_add_digest(f, number(0, i), NULL), 0);
    for (unsigned i = 0; i < syncs; i++)
        assert_error(bloomfile_sync(f, NULL), 0);
    assert_error(seals ? bloomfile_seal(f, NULL) : 0, 0);
    bloomfile_close(f);
}

/* Two live files that were made alike have equal static headers, but each has its own identity.
 * A sealed image has no identity: it is detected if bits were lost. */
TEST_IN_DIR(other_file_with_equal_parameters_is_detected)
{
    for (unsigned i = 0; i < 16; i++) {
        const bool writes = (i & 1) != 0, seals = (i & 2) != 0, fuller = (i & 4) != 0;
        const uint32_t layout = (i & 8) != 0 ? BLOOMFILE_LAYOUT_COUNTING : BLOOMFILE_LAYOUT_CLASSIC;
        const bool unnoticed = seals && (fuller || layout == BLOOMFILE_LAYOUT_COUNTING);
        make_with("filter", layout, 0, KEYS, 0, false);
        make_with("other", layout, KEYS, fuller ? 3 * KEYS : KEYS + 7, 20,
                  seals); /* ahead in its sequence */
        struct bytes other = read_file("other");
        bloomfile_filter *f = opened("filter", writes ? BLOOMFILE_OPEN_WRITE : 0);
        overwrite("filter", other.data, other.size, 0);
        if (unnoticed) { /* the gap that live.md 8 describes */
            assert_error(bloomfile_sync(f, NULL), writes ? BLOOMFILE_ESEALED : BLOOMFILE_EREADONLY);
        } else {
            assert_int_equal(bloomfile_is_stale(f), 1);
            assert_error(bloomfile_check(f), BLOOMFILE_ECHANGED);
            assert_true(has_numbers(f, 0, KEYS)); /* every answer is "maybe" */
            assert_error(bloomfile_add_digest(f, number(0, 1), NULL),
                         writes ? BLOOMFILE_ECHANGED : BLOOMFILE_EREADONLY);
            assert_error(bloomfile_finish(f), writes ? BLOOMFILE_ECHANGED : 0);
        }
        bloomfile_close(f);
        free(other.data);
    }
}

/* live_load() has no path to check, but it can check the mapped header. */
TEST_IN_DIR(live_file_that_lost_its_header_is_reported_as_changed)
{
    make_live("filter", BLOOMFILE_LAYOUT_BLOCKED);
    bloomfile_filter *f = opened("filter", 0);
    struct header now;
    assert_error(live_load(f, &now), 0);
    assert_int_equal(truncate("filter", IN_FILE), 0);
    assert_error(live_load(f, &now), 0);
    uint8_t other[IN_FILE];
    memset(other, 0x55, sizeof other);
    overwrite("filter", other, sizeof other, 0);
    assert_error(live_load(f, &now), BLOOMFILE_ECHANGED);
    assert_error(live_load_to_commit(f, &now), BLOOMFILE_ECHANGED);
    assert_int_equal(truncate("filter", 0), 0);
    assert_error(live_load(f, &now), BLOOMFILE_ECHANGED);
    bloomfile_close(f);
}

TEST_IN_DIR(filter_inside_a_changed_file_has_status_echanged)
{
    static const unsigned flags[] = { 0, BLOOMFILE_OPEN_VERIFY_FULL, BLOOMFILE_OPEN_VERIFY_NONE,
                                      BLOOMFILE_OPEN_LOCK, BLOOMFILE_OPEN_COPY };
    static const enum {
        OVERWRITTEN,
        TRUNCATED
    } ways[] = { OVERWRITTEN, TRUNCATED };
    const size_t offset = 12345;
    make("newer", &sealed, BLOOMFILE_LAYOUT_BLOCKED, after);
    struct bytes newer = read_file("newer");
    for (size_t i = 0; i < ROWS(flags) * ROWS(ways); i++) {
        make("filter", &sealed, BLOOMFILE_LAYOUT_BLOCKED, before);
        struct bytes older = read_file("filter");
        int fd = open("container", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        assert_int_equal(pwrite(fd, older.data, older.size, (off_t)offset), older.size);
        bloomfile_filter *f;
        const unsigned how = flags[i / ROWS(ways)];
        assert_error(open_from(&f, part_of_fd(fd, offset, older.size), how), 0);
        assert_true(all_may_be_there(f, before));
        if (ways[i % ROWS(ways)] == OVERWRITTEN)
            assert_int_equal(pwrite(fd, newer.data, newer.size, (off_t)offset), newer.size);
        else
            assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(bloomfile_is_stale(f), 0);
        assert_error(bloomfile_check(f), how == BLOOMFILE_OPEN_COPY ? 0 : BLOOMFILE_ECHANGED);
        assert_true(all_may_be_there(f, before));
        bloomfile_close(f);
        close(fd);
        free(older.data);
    }
    free(newer.data);
}

/* ---- calls that read the body, without a check before */

static int copy_it(bloomfile_filter *f)
{
    return bloomfile_copy_sealed(TO_PATH("copy", 0), f, NULL);
}

static int fold_one(bloomfile_filter *f)
{
    return bloomfile_fold(TO_PATH("copy", 0), f, 1, NULL);
}

static int merge_two(bloomfile_filter *f)
{
    const bloomfile_filter *const both[] = { f, f };
    return bloomfile_merge(TO_PATH("copy", 0), both, ROWS(both), NULL);
}

static int project_one(bloomfile_filter *f)
{
    return bloomfile_project(TO_PATH("copy", 0), f, NULL);
}

static int plan_it(bloomfile_filter *f)
{
    struct bloomfile_fold_choice choices[10];
    size_t count = ROWS(choices);
    return bloomfile_fold_plan(f, 0, choices, &count);
}

static int measure_it(bloomfile_filter *f)
{
    struct bloomfile_measurement m = BLOOMFILE_MEASUREMENT_INIT;
    return bloomfile_measure(f, &m);
}

static int map_it(bloomfile_filter *f)
{
    double fill[4];
    return bloomfile_measure_map(f, fill, ROWS(fill));
}

static int compare_it(bloomfile_filter *f)
{
    return bloomfile_delta(TO_PATH("copy", 0), f, f, 1);
}

static int patch_it(bloomfile_filter *f)
{
    const struct bloomfile_source patch = bloomfile_from_path("patch");
    return bloomfile_patch(TO_PATH("copy", 0), f, &patch, 1);
}

static int verify_it(bloomfile_filter *f)
{
    return bloomfile_verify(f, 1, NULL);
}

static int sync_it(bloomfile_filter *f)
{
    return bloomfile_sync(f, NULL);
}

static int seal_it(bloomfile_filter *f)
{
    return bloomfile_seal(f, NULL);
}

static int rescue_it(bloomfile_filter *f)
{
    return bloomfile_rescue("copy", f, 0);
}

typedef int call(bloomfile_filter *f);
static call *const calls[] = { copy_it,    fold_one, merge_two,        project_one, plan_it,
                               measure_it, map_it,   compare_it,       patch_it,    verify_it,
                               sync_it,    seal_it,  bloomfile_finish, rescue_it };
enum {
    SEALED_ONLY = 7, /* the first call that needs a sealed file */
    LIVE_ONLY = 10
};

static bool takes(size_t i, const struct kind *kind)
{
    return i < SEALED_ONLY || (i < LIVE_ONLY) == (kind == &sealed);
}

static bloomfile_filter *open_for_calls(const struct kind *kind, bool by_path)
{
    bloomfile_filter *f;
    if (by_path)
        return opened("filter", kind == &live ? BLOOMFILE_OPEN_WRITE : 0);
    const int fd = open("filter", O_RDONLY | O_CLOEXEC);
    assert_error(open_from(&f, bloomfile_from_fd(fd), 0), 0);
    close(fd);
    return f;
}

TEST_IN_DIR(calls_that_read_a_body_refuse_a_file_that_was_cut)
{
    struct kind *const kinds[] = { &sealed, &sealed, &live };
    for (size_t i = 0; i < ROWS(kinds) * ROWS(calls); i++) {
        const size_t nth = i % ROWS(calls);
        struct kind *kind = kinds[i / ROWS(calls)];
        if (!takes(nth, kind))
            continue;
        make("filter", kind, BLOOMFILE_LAYOUT_COUNTING, before);
        bloomfile_filter *f = open_for_calls(kind, i >= ROWS(calls));
        if (kind == &sealed)
            assert_error(bloomfile_delta(TO_PATH("patch", BLOOMFILE_TO_REPLACE), f, f, 1), 0);
        truncate_half(kind, BLOOMFILE_LAYOUT_COUNTING);
        assert_error(calls[nth](f), BLOOMFILE_ECHANGED);
        assert_int_equal(access("copy", F_OK), -1);
        assert_error(bloomfile_damage(f), BLOOMFILE_ECHANGED);
        bloomfile_close(f);
    }
}

static void copy_sealed_over(struct kind *kind, uint32_t layout)
{
    (void)kind;
    struct bytes other;
    make("other", &sealed, layout, after);
    other = read_file("other");
    overwrite("filter", other.data, other.size, O_TRUNC);
    free(other.data);
}

static void copy_text_over(struct kind *kind, uint32_t layout)
{
    (void)kind, (void)layout;
    overwrite("filter", (const uint8_t *)"tcpmux 1/tcp\n", 13, O_TRUNC);
}

static void cut_header(struct kind *kind, uint32_t layout)
{
    (void)kind, (void)layout;
    assert_int_equal(truncate("filter", 100), 0);
}

TEST_IN_DIR(writer_reports_each_overwritten_file_as_changed)
{
    void (*const ways[])(struct kind * kind, uint32_t layout) = { truncate_all, truncate_half,
                                                                  cut_header, copy_text_over,
                                                                  copy_sealed_over };
    for (size_t i = 0; i < ROWS(ways) * (ROWS(calls) - LIVE_ONLY); i++) {
        make("filter", &live, BLOOMFILE_LAYOUT_BLOCKED, before);
        bloomfile_filter *f = opened("filter", BLOOMFILE_OPEN_WRITE);
        ways[i % ROWS(ways)](&live, BLOOMFILE_LAYOUT_CLASSIC);
        assert_error(calls[LIVE_ONLY + i / ROWS(ways)](f), BLOOMFILE_ECHANGED);
        bloomfile_close(f);
    }
}

int main(void)
{
    return run_all(NULL, free_images);
}
