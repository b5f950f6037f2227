/* SPDX-License-Identifier: MIT
 * Filters of several layers: growing, forgetting and sealed, and errors in their files. */
#include <bloomfile_combine.h>
#include <bloomfile_inline.h>
#include <bloomfile_live.h>
#include <bloomfile_unstable.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/bytes.h"
#include "format/header.h"
#include "live_support.h"
#include "series/lookup.h"

enum {
    FIRST = 500, /* capacity of the first layer */
    MANY = 20000
};

static struct bloomfile_params series_params(uint32_t series)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.capacity = FIRST;
    params.fpr = 0.01;
    params.series = series;
    return params;
}

static bloomfile_filter *create(const char *path, uint32_t series)
{
    bloomfile_filter *f;
    struct bloomfile_params params = series_params(series);
    assert_error(path != NULL ? bloomfile_create(&f, path, &params, 0)
                              : bloomfile_create_memory(&f, &params, 0),
                 0);
    return f;
}

/* Returns how many keys were new. */
static size_t add_numbers_to(bloomfile_filter *f, uint64_t from, uint64_t to, size_t batch)
{
    uint64_t digests[5000];
    size_t sum = 0;
    assert_true(batch <= ROWS(digests));
    while (from < to) {
        size_t n = 0, new_keys = 0;
        for (; n < batch && from < to; n++)
            digests[n] = number(0, from++);
        assert_error(bloomfile_add_digests(f, digests, n, NULL, &new_keys, NULL), 0);
        sum += new_keys;
    }
    return sum;
}

static size_t absent_of(const bloomfile_filter *f, uint64_t from, uint64_t to)
{
    uint64_t digests[1000];
    size_t found = 0;
    for (uint64_t at = from; at < to; at += ROWS(digests)) {
        size_t n = 0;
        bool hits[ROWS(digests)];
        while (n < ROWS(digests) && at + n < to) {
            digests[n] = number(0, at + n);
            n++;
        }
        const size_t these = bloomfile_contains_digests(f, digests, n, hits);
        size_t told = 0;
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(hits[i], bloomfile_contains_digest(f, digests[i]));
            told += hits[i];
        }
        assert_int_equal(told, these);
        found += these;
    }
    return (size_t)(to - from) - found;
}

static void finish(bloomfile_filter *f)
{
    assert_error(bloomfile_finish(f), 0);
    bloomfile_close(f);
}

/* A child of fork needs it to open the file of a filter in memory. */
static void need_proc(void)
{
    if (access("/proc/self/fd", X_OK) != 0)
        skip("there is no /proc");
}

static void wait_for(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void make_grown(const char *path)
{
    bloomfile_filter *f = create(path, BLOOMFILE_SERIES_GROW);
    add_numbers_to(f, 0, MANY, 300);
    finish(f);
}

/* ---- growing */

static double measured_rate(const bloomfile_filter *f)
{
    struct bloomfile_measurement m = BLOOMFILE_MEASUREMENT_INIT;
    assert_error(bloomfile_measure(f, &m), 0);
    return m.fpr;
}

static void add_up(struct bloomfile_info *sum, const struct bloomfile_info *layer)
{
    sum->bits += layer->bits;
    sum->bits_unfolded += layer->bits_unfolded;
    sum->body_size += layer->body_size;
    sum->image_size += layer->image_size;
    sum->pages += layer->pages;
    sum->capacity += layer->capacity;
    sum->ones += layer->ones;
}

TEST_IN_DIR(each_layer_is_twice_as_large_and_all_keep_the_rate)
{
    bloomfile_filter *f = create("grow", BLOOMFILE_SERIES_GROW);
    const size_t new_keys = add_numbers_to(f, 0, MANY, 1);
    struct bloomfile_info sum = info_of(f);
    assert_true(new_keys <= MANY && new_keys > MANY * 99 / 100);
    assert_int_equal(sum.keys, new_keys);
    assert_int_equal(sum.layers, 6);
    assert_true(sum.fpr == 0.01);
    double rates = 0, due = 0.01 / 8;
    struct bloomfile_info told = { 0 };
    for (size_t i = 0; i < bloomfile_layers(f); i++) {
        struct bloomfile_info layer = info_of(bloomfile_layer(f, i));
        add_up(&told, &layer);
        assert_int_equal(layer.layer, i);
        assert_int_equal(layer.capacity, FIRST << i);
        assert_int_equal(layer.series, sum.series);
        if (i + 1 < bloomfile_layers(f))
            assert_int_equal(layer.keys, layer.capacity);
        rates += layer.fpr;
        assert_true(fabs(layer.fpr - due) < 1e-12);
        due *= 7.0 / 8; /* so the sum stays below 0.01 for any number of layers */
    }
    assert_int_equal(sum.bits, told.bits);
    assert_int_equal(sum.bits_unfolded, told.bits_unfolded);
    assert_int_equal(sum.body_size, told.body_size);
    assert_int_equal(sum.image_size, told.image_size);
    assert_int_equal(sum.pages, told.pages);
    assert_int_equal(sum.capacity, told.capacity);
    assert_int_equal(sum.ones, told.ones);
    assert_true(rates < 0.01);
    assert_true(measured_rate(f) > measured_rate(bloomfile_layer(f, 0)));
    assert_true(measured_rate(f) < 0.011);
    assert_null(bloomfile_layer(f, 6));
    assert_int_equal(absent_of(f, 0, MANY), 0);
    const size_t others = 100000;
    assert_true((double)(others - absent_of(f, ABSENT, ABSENT + others)) < 0.011 * (double)others);
    finish(f);
    assert_int_equal(entries_in_dir(), 6);
}

TEST_IN_DIR(batch_size_and_storage_do_not_change_a_series)
{
    static const size_t batches[] = { 1, 7, 256, 5000 };
    struct bytes expected = { 0 };
    for (size_t i = 0; i < ROWS(batches); i++)
        for (int in_memory = 0; in_memory < 2; in_memory++) {
            char path[20];
            snprintf(path, sizeof path, "batches-%zu", i);
            bloomfile_filter *f = create(in_memory ? NULL : path, BLOOMFILE_SERIES_GROW);
            add_numbers_to(f, 0, MANY, batches[i]);
            add_numbers_to(f, 0, MANY, batches[i]);
            struct bytes sealed;
            assert_error(bloomfile_copy_sealed(TO_PATH("sealed", BLOOMFILE_TO_REPLACE), f, NULL),
                         0);
            sealed = read_file("sealed");
            void *image;
            size_t size;
            assert_error(copy_memory(&image, &size, f), 0);
            assert_int_equal(size, sealed.size);
            assert_memory_equal(image, sealed.data, size);
            bloomfile_free(image);
            if (expected.data == NULL)
                expected = sealed;
            else
                assert_bytes(sealed, (struct bytes){ expected.data, expected.size });
            finish(f);
        }
    free(expected.data);
}

/* Small layers have 2 to 8 hashes, so a product of some layers has positions of no other layer. */
TEST(layers_of_few_hashes_keep_their_keys)
{
    static const size_t batches[] = { 1, 7, 1000, 5000 };
    size_t new_keys[ROWS(batches)];
    struct bloomfile_params params = series_params(BLOOMFILE_SERIES_GROW);
    params.capacity = 10;
    params.fpr = 0.1;
    for (unsigned i = 0; i < ROWS(batches); i++) {
        bloomfile_filter *f;
        assert_error(bloomfile_create_memory(&f, &params, 0), 0);
        new_keys[i] = add_numbers_to(f, 0, MANY, batches[i]);
        assert_int_equal(new_keys[i], new_keys[0]);
        for (unsigned again = 0; again < ROWS(batches); again++)
            assert_int_equal(add_numbers_to(f, 0, MANY, batches[again]), 0);
        bloomfile_close(f);
    }
}

/* S8. */
TEST_IN_DIR(key_is_new_only_if_every_layer_lacks_it)
{
    bloomfile_filter *f = create("new", BLOOMFILE_SERIES_GROW);
    const size_t new_keys = add_numbers_to(f, 0, MANY, 64);
    const struct bloomfile_info before = info_of(f);
    assert_int_equal(add_numbers_to(f, 0, MANY, 100), 0);
    assert_int_equal(info_of(f).keys, before.keys);
    assert_int_equal(before.keys, new_keys);
    bool was_new = true;
    assert_error(bloomfile_add_digest(f, number(0, 3), &was_new), 0);
    assert_false(was_new);
    uint64_t twice[2] = { number(0, ABSENT), number(0, ABSENT) };
    bool both[2];
    assert_error(bloomfile_add_digests(f, twice, 2, both, NULL, NULL), 0);
    assert_true(both[0]);
    assert_false(both[1]);
    finish(f);
}

/* S8. The layer that the reader has opened as the newest still has room. */
TEST_IN_DIR(key_that_another_writer_added_to_a_newer_layer_is_not_new)
{
    bloomfile_filter *f = create("two", BLOOMFILE_SERIES_GROW),
                     *other = opened("two", BLOOMFILE_OPEN_WRITE);
    bool was_new = true;
    for (int i = 0; i < 2; i++)
        assert_error(bloomfile_add_digest(f, number(0, ABSENT), NULL), 0);
    uint64_t at = 0;
    while (!(was_new && bloomfile_layers(other) == 2))
        assert_error(bloomfile_add_digest(other, number(0, at++), &was_new), 0);
    assert_error(bloomfile_add_digest(f, number(0, at - 1), &was_new), 0);
    assert_false(was_new);
    finish(other);
    finish(f);
}

TEST_IN_DIR(single_writer_fills_each_layer_completely)
{
    static const uint64_t capacities[] = { 599, 999, 1001 };
    for (size_t i = 0; i < ROWS(capacities); i++) {
        bloomfile_filter *f;
        struct bloomfile_params params = series_params(BLOOMFILE_SERIES_GROW);
        params.capacity = capacities[i];
        assert_error(bloomfile_create_memory(&f, &params, 0), 0);
        add_numbers_to(f, 0, 2 * capacities[i], 1);
        assert_int_equal(info_of(bloomfile_layer(f, 0)).keys, capacities[i]);
        bloomfile_close(f);
    }
}

/* S6. */
TEST_IN_DIR(reader_finds_keys_in_layers_created_after_its_open)
{
    bloomfile_filter *f = create("read", BLOOMFILE_SERIES_GROW), *r = opened("read", 0);
    for (uint64_t i = 0; i < MANY; i++) {
        assert_error(bloomfile_add_digest(f, number(0, i), NULL), 0);
        assert_true(bloomfile_contains_digest(r, number(0, i)));
    }
    assert_int_equal(bloomfile_layers(r), bloomfile_layers(f));
    assert_error(bloomfile_check(r), 0);
    assert_int_equal(bloomfile_is_stale(r), 0);
    assert_error(bloomfile_add_digest(r, 1, NULL), BLOOMFILE_EREADONLY);
    bloomfile_close(r);
    finish(f);
}

/* S1. */
TEST_IN_DIR(reopened_series_accepts_more_keys)
{
    make_grown("again");
    bloomfile_filter *f = opened("again", BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ADD_EXACT);
    for (size_t i = 0; i + 1 < bloomfile_layers(f); i++) /* joined by an add */
        assert_int_equal(info_of(bloomfile_layer(f, i)).writers, 0);
    assert_int_equal(add_numbers_to(f, 0, MANY, 200), 0);
    assert_true(add_numbers_to(f, MANY, 2 * MANY, 200) > MANY * 99 / 100);
    assert_error(bloomfile_sync(f, NULL), 0);
    finish(f);
    f = opened("again", 0);
    assert_int_equal(absent_of(f, 0, 2 * MANY), 0);
    for (size_t i = 0; i < bloomfile_layers(f); i++)
        assert_int_equal(info_of(bloomfile_layer(f, i)).writers, 0);
    bloomfile_close(f);
}

/* ---- forgetting */

/* S7. */
TEST_IN_DIR(key_is_kept_for_the_number_of_generations)
{
    static const uint32_t generations[] = { 2, 3, 7 };
    for (size_t g = 0; g < ROWS(generations); g++) {
        char path[20];
        snprintf(path, sizeof path, "forget-%zu", g);
        const uint32_t all = generations[g];
        bloomfile_filter *f = create(path, all), *r = opened(path, 0);
        assert_true(info_of(bloomfile_layer(f, 0)).fpr == 0.01 / all); /* 1% in all */
        const size_t least = (all - 1) * FIRST, end = 10 * all * FIRST;
        bool *was_new = calloc(end, sizeof *was_new);
        for (uint64_t i = 0; i < end; i++) {
            assert_error(bloomfile_add_digest(f, number(0, i), &was_new[i]), 0);
            assert_true(bloomfile_contains_digest(r, number(0, i)));
            if (i >= least && was_new[i - least]) /* a key that was found is not renewed */
                assert_true(bloomfile_contains_digest(r, number(0, i - least)));
            assert_true(bloomfile_layers(f) <= all);
        }
        free(was_new);
        assert_error(bloomfile_check(r), 0);
        const uint64_t most = all * FIRST + FIRST;
        assert_true(absent_of(r, 0, end - most) > (end - most) * 97 / 100);
        assert_int_equal(bloomfile_layers(r), all);
        assert_int_equal(bloomfile_is_stale(r), 0);
        bloomfile_close(r);
        finish(f);
        assert_int_equal(info_of(f = opened(path, BLOOMFILE_OPEN_WRITE)).generations, all);
        assert_true(absent_of(f, end - least, end) < least / 50);
        finish(f);
    }
}

TEST_IN_DIR(keys_already_present_do_not_begin_a_generation)
{
    bloomfile_filter *f = create("same", 2);
    size_t new_keys = 0;
    uint64_t last = 0;
    while (new_keys < 2 * FIRST)
        new_keys += add_numbers_to(f, last, last + 1, 1), last++;
    add_numbers_to(f, 0, FIRST / 2, 100); /* full newest layer, older keys */
    assert_int_equal(info_of(f).layer, 1);
    assert_int_equal(absent_of(f, 0, last), 0);
    add_numbers_to(f, last, last + 1, 1);
    assert_int_equal(info_of(f).layer, 2);
    assert_true(absent_of(f, 0, FIRST / 2) > FIRST / 3);
    finish(f);
}

static unsigned seconds_gone; /* how far the system's clock was set forward */

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    const int result = __real_clock_gettime(clock, now);
    now->tv_sec += seconds_gone;
    return result;
}

TEST_IN_DIR(generation_ends_after_its_period)
{
    bloomfile_filter *f;
    struct bloomfile_params params = series_params(3);
    params.period = 1;
    assert_error(bloomfile_create(&f, "time", &params, 0), 0);
    assert_error(bloomfile_add_digest(f, number(0, 1), NULL), 0);
    assert_true(bloomfile_contains_digest(f, number(0, 1)));
    seconds_gone = 5;
    assert_error(bloomfile_add_digest(f, number(0, 2), NULL), 0);
    assert_false(bloomfile_contains_digest(f, number(0, 1)));
    assert_true(bloomfile_contains_digest(f, number(0, 2)));
    const uint64_t layer = info_of(f).layer;
    assert_true(layer >= 2 && layer <= 4);
    finish(f);
    seconds_gone = 0;
}

/* One generation began by a clock an hour ahead. The generations after it must last as long as
 * they should. */
TEST_IN_DIR(generation_from_the_future_ends_at_the_next_add)
{
    static const struct {
        unsigned period, ahead;
        bool ends;
    } rows[] = { { 100, 3600, true }, { 100, 12, true }, { 100, 8, false }, { 10, 30, true } };
    for (size_t i = 0; i < ROWS(rows); i++) {
        bloomfile_filter *f;
        struct bloomfile_params params = series_params(3);
        params.period = rows[i].period;
        seconds_gone = rows[i].ahead;
        assert_error(bloomfile_create(&f, "ahead", &params, 0), 0);
        assert_error(bloomfile_add_digest(f, number(0, 1), NULL), 0);
        seconds_gone = 0;
        assert_error(bloomfile_add_digest(f, number(0, 2), NULL), 0);
        assert_int_equal(info_of(f).layer, rows[i].ends);
        assert_true(bloomfile_contains_digest(f, number(0, 1)));
        const uint64_t layer = info_of(f).layer;
        for (unsigned k = 1; k <= 3; k++) {
            seconds_gone = k * (rows[i].period + 1) + rows[i].ahead * !rows[i].ends;
            assert_error(bloomfile_add_digest(f, number(0, 2 + k), NULL), 0);
            assert_true(info_of(f).layer >= layer + k);
        }
        assert_false(bloomfile_contains_digest(f, number(0, 1)));
        finish(f);
        seconds_gone = 0;
        for (unsigned file = 0; file < 3; file++) {
            char name[20];
            snprintf(name, sizeof name, file == 0 ? "ahead" : "ahead.%u", file);
            assert_int_equal(unlink(name), 0);
        }
    }
}

/* ---- incorrect files */

static int open_error(const char *path, unsigned flags)
{
    bloomfile_filter *f;
    int error = bloomfile_open(&f, path, flags);
    bloomfile_close(f);
    return error;
}

/* S2, S3, S5. */
TEST_IN_DIR(missing_or_foreign_layer_is_refused)
{
    make_grown("a");
    make_grown("b");
    for (unsigned flags = 0; flags <= BLOOMFILE_OPEN_WRITE; flags += BLOOMFILE_OPEN_WRITE) {
        assert_error(open_error("a.1", flags), BLOOMFILE_ESERIES);
        assert_int_equal(rename("a.2", "kept"), 0);
        assert_error(open_error("a", flags), BLOOMFILE_EMISSINGLAYER);
        make_hard_link("b.2", "a.2");
        assert_error(open_error("a", flags), BLOOMFILE_ESERIES);
        assert_int_equal(unlink("a.2"), 0);
        make_hard_link("a.3", "a.2");
        assert_error(open_error("a", flags), BLOOMFILE_ESERIES);
        assert_int_equal(unlink("a.2"), 0);
        write_file("a.2", "no filter", 9);
        assert_error(open_error("a", flags), BLOOMFILE_EMAGIC);
        assert_int_equal(rename("kept", "a.2"), 0);
        assert_int_equal(rename("a.5", "kept"), 0);
        assert_error(open_error("a", flags), BLOOMFILE_EMISSINGLAYER);
        assert_int_equal(rename("kept", "a.5"), 0);
        make_live("a.6", BLOOMFILE_LAYOUT_BLOCKED);
        assert_error(open_error("a", flags), BLOOMFILE_ESERIES);
        assert_int_equal(unlink("a.6"), 0);
        assert_error(open_error("a", flags), 0);
    }
    bloomfile_filter *f;
    struct bloomfile_params params = series_params(BLOOMFILE_SERIES_GROW);
    assert_error(bloomfile_create(&f, "b", &params, 0), EEXIST);
    assert_int_equal(unlink("b"), 0);
    assert_error(bloomfile_create(&f, "b", &params, 0), BLOOMFILE_ESERIES);
    params.series = 3;
    assert_error(bloomfile_create(&f, "b", &params, 0), BLOOMFILE_ESERIES);
}

/* S2. */
TEST_IN_DIR(ring_with_a_missing_generation_is_refused)
{
    bloomfile_filter *f = create("ring", 3);
    add_numbers_to(f, 0, 7 * FIRST + 10, 100);
    finish(f);
    static const char *const names[] = { "ring", "ring.1", "ring.2" };
    for (size_t i = 0; i < ROWS(names); i++) {
        assert_int_equal(rename(names[i], "kept"), 0);
        assert_error(open_error("ring", 0), i == 0 ? ENOENT : BLOOMFILE_EMISSINGLAYER);
        assert_int_equal(rename("kept", names[i]), 0);
    }
    assert_error(open_error("ring", 0), 0);
}

static void copy_file(const char *from, const char *to)
{
    struct bytes bytes = read_file(from);
    write_file(to, bytes.data, bytes.size);
    free(bytes.data);
}

/* S2. Each layer but the last has the mark of a successor, because keys were added to that. */
TEST_IN_DIR(an_older_copy_of_a_layer_is_refused)
{
    static const uint32_t kinds[] = { BLOOMFILE_SERIES_GROW, 6 };
    for (size_t i = 0; i < ROWS(kinds); i++)
        for (uint64_t layers = 2; layers < 5; layers++) {
            bloomfile_filter *f = create("old", kinds[i]);
            add_numbers_to(f, 0, FIRST / 2, 10);
            finish(f);
            copy_file("old", "kept");
            f = opened("old", BLOOMFILE_OPEN_WRITE);
            for (uint64_t at = FIRST / 2; bloomfile_layers(f) < layers; at++)
                assert_error(bloomfile_add_digest(f, number(0, at), NULL), 0);
            finish(f);
            assert_error(open_error("old", 0), 0);
            assert_int_equal(rename("kept", "old"), 0);
            assert_error(open_error("old", 0), BLOOMFILE_ESERIES);
            assert_error(open_error("old", BLOOMFILE_OPEN_WRITE), BLOOMFILE_ESERIES);
            for (char name[] = "old.1"; name[4] < '5'; name[4]++)
                unlink(name);
            assert_int_equal(unlink("old"), 0);
        }
}

/* The writer has not joined the older layer, but found its keys there. */
TEST_IN_DIR(finish_reports_an_older_layer_that_was_copied_over)
{
    for (int syncs = 0; syncs < 2; syncs++) {
        bloomfile_filter *f = create("old", BLOOMFILE_SERIES_GROW);
        add_numbers_to(f, 0, 10, 10);
        finish(f);
        copy_file("old", "kept");
        f = opened("old", BLOOMFILE_OPEN_WRITE);
        add_numbers_to(f, 0, 2 * FIRST, 10);
        finish(f);
        f = opened("old", BLOOMFILE_OPEN_WRITE);
        assert_int_equal(add_numbers_to(f, 0, FIRST / 2, 10), 0);
        copy_file("kept", "old");
        if (syncs)
            assert_error(bloomfile_sync(f, NULL), BLOOMFILE_ECHANGED);
        assert_error(bloomfile_finish(f), BLOOMFILE_ECHANGED);
        assert_int_equal(absent_of(f, 0, FIRST), 0);
        struct bytes newest = read_file("old.1");
        const uint8_t *record = record_at(newest.data, slot_in_force("old.1"));
        assert_int_equal(get64(record + RECORD_AT_boot_id), 0); /* left all the same */
        free(newest.data);
        bloomfile_close(f);
        assert_int_equal(unlink("old.1"), 0);
        assert_int_equal(unlink("old"), 0);
    }
}

/* S12, L23. A new layer copies it. A sealed series has it only in its last layer. */
TEST_IN_DIR(a_series_has_the_watermark_of_its_newest_layer)
{
    static const uint8_t mark[BLOOMFILE_WATERMARK_SIZE] = "7", other[sizeof mark] = "8",
                         none[sizeof mark];
    for (uint32_t series = 2; series <= 3; series++) {
        bloomfile_filter *f = create("marked", series == 2 ? BLOOMFILE_SERIES_GROW : series);
        add_numbers_to(f, 0, FIRST + FIRST / 2, 10);
        assert_error(bloomfile_sync(f, mark), 0);
        assert_memory_equal(info_of_file("marked").watermark, none, sizeof none);
        assert_memory_equal(info_of(f).watermark, mark, sizeof mark);
        const size_t layers = bloomfile_layers(f);
        for (uint64_t i = 2 * FIRST; bloomfile_layers(f) == layers; i++)
            assert_error(bloomfile_add_digest(f, number(0, i), NULL), 0);
        assert_memory_equal(info_of(f).watermark, mark, sizeof mark);
        assert_error(bloomfile_copy_sealed(TO_PATH("sealed", 0), f, NULL), 0);
        finish(f);
        f = opened("sealed", 0);
        assert_memory_equal(info_of(f).watermark, mark, sizeof mark);
        assert_memory_equal(info_of(bloomfile_layer(f, 0)).watermark, none, sizeof none);
        struct bloomfile_metadata metadata = BLOOMFILE_METADATA_INIT;
        metadata.label = "a copy";
        metadata.watermark = other;
        assert_error(bloomfile_copy_sealed(TO_PATH("copy", 0), f, &metadata), 0);
        bloomfile_close(f);
        f = opened("copy", BLOOMFILE_OPEN_VERIFY_FULL);
        assert_memory_equal(info_of(f).watermark, other, sizeof other);
        assert_memory_equal(info_of(bloomfile_layer(f, 0)).watermark, none, sizeof none);
        assert_string_equal(info_of(bloomfile_layer(f, 1)).label, "a copy");
        bloomfile_close(f);
        assert_int_equal(unlink("copy"), 0);
        assert_error(bloomfile_unlink("marked"), 0);
        assert_int_equal(unlink("sealed"), 0);
    }
}

/* The newest layer has no successor that could have taken its name. */
TEST_IN_DIR(newest_generation_replaced_by_a_copied_series_is_reported)
{
    bloomfile_filter *f = create("ring", 2);
    add_numbers_to(f, 0, FIRST + FIRST / 2, 10);
    assert_error(bloomfile_sync(f, NULL), 0);
    bloomfile_filter *reader = opened("ring", 0);
    copy_file("ring", "clone");
    copy_file("ring.1", "clone.1");
    bloomfile_filter *clone = opened("clone", BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ACCEPT_UNCLEAN);
    add_numbers_to(clone, 2 * FIRST, 5 * FIRST, 10);
    finish(clone);
    assert_int_equal(rename("clone.1", "ring.1"), 0);
    alarm(20);
    assert_error(bloomfile_sync(f, NULL), BLOOMFILE_EREPLACED);
    alarm(0);
    assert_error(bloomfile_finish(f), BLOOMFILE_EREPLACED);
    bloomfile_close(f);
    assert_int_equal(bloomfile_is_stale(reader), 1);
    bloomfile_close(reader);
}

/* Opening a series searches for a file after its last layer. */
static void assert_stops_growing(const char *path, int error, uint64_t layers)
{
    bloomfile_filter *f;
    struct bloomfile_params params = series_params(BLOOMFILE_SERIES_GROW);
    params.capacity = 2;
    uint64_t n = 0;
    int added = 0;
    assert_error(bloomfile_create(&f, path, &params, 0), 0);
    while (n < MANY && (added = bloomfile_add_digest(f, number(0, n), NULL)) == 0)
        n++;
    assert_error(added, error);
    assert_int_equal(bloomfile_layers(f), layers);
    assert_int_equal(absent_of(f, 0, n), 0);
    finish(f);
    f = opened(path, BLOOMFILE_OPEN_WRITE);
    assert_int_equal(bloomfile_layers(f), layers);
    assert_int_equal(absent_of(f, 0, n), 0);
    finish(f);
}

TEST_IN_DIR(layer_that_would_make_the_series_unreadable_is_not_created)
{
    char name[NAME_MAX + 2] = "";
    write_file("s.2", "foreign", 7);
    assert_stops_growing("s", BLOOMFILE_ESERIES, 1);
    memset(name, 'n', NAME_MAX + 1);
    const bool missing = access(name, F_OK) != 0 && errno == ENOENT; /* vfat has another error */
    name[NAME_MAX - 2] = '\0';
    assert_stops_growing(name, ENAMETOOLONG,
                         missing ? 10 : 9); /* up to .8, because .10 is too long */
    if (missing)
        return;
    bloomfile_filter *f;
    struct bloomfile_params params = series_params(BLOOMFILE_SERIES_GROW);
    name[NAME_MAX - 2] = 'n';
    name[NAME_MAX - 1] = '\0';
    assert_error(bloomfile_create(&f, name, &params, 0), ENAMETOOLONG);
}

/* The bit that marks a successor has no meaning there. */
TEST_IN_DIR(successor_bit_of_a_single_filter_does_not_prevent_adds)
{
    bool was_new;
    make_live("single", BLOOMFILE_LAYOUT_BLOCKED);
    for (unsigned slot = 0; slot < 2; slot++)
        set_in_record("single", slot, RECORD_AT_flags, 4, RECORD_SUCCEEDED);
    bloomfile_filter *f = opened("single", BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ADD_EXACT);
    assert_error(bloomfile_add_digest(f, number(0, ABSENT), &was_new), 0);
    assert_true(was_new);
    finish(f);
}

/* S12. Older layers may also hold keys that are not on disk yet. */
TEST_IN_DIR(sync_flushes_every_changed_layer)
{
    bloomfile_filter *f = create("sync", BLOOMFILE_SERIES_GROW);
    add_numbers_to(f, 0, 4 * FIRST, 100);
    assert_int_equal(bloomfile_layers(f), 3);
    for (size_t i = 0; i < 3; i++) {
        const uint64_t before = info_of(bloomfile_layer(f, i)).sequence;
        assert_error(bloomfile_sync(f, NULL), 0);
        assert_true(info_of(bloomfile_layer(f, i)).sequence > before);
    }
    finish(f);
}

/* S11. Lost keys may be missing from any layer, and are added again to the newest. */
TEST_IN_DIR(series_remains_unclean_until_the_accepting_writer_syncs)
{
    static const char *const files[] = { "un", "un.1", "un.2" };
    const unsigned accepting = BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ACCEPT_UNCLEAN;
    bloomfile_filter *f = create("un", BLOOMFILE_SERIES_GROW);
    add_numbers_to(f, 0, 4 * FIRST, 100);
    finish(f);
    for (size_t i = 0; i < ROWS(files); i++) {
        const uint64_t grown = (uint64_t)MANY * (i + 1);
        for (unsigned slot = 0; slot < 2; slot++)
            set_in_record(files[i], slot, RECORD_AT_boot_id, 8, 0x5A5A);
        assert_error(open_error("un", 0), BLOOMFILE_EUNCLEAN);
        const pid_t child = fork();
        if (child == 0) {
            f = opened("un", accepting);
            add_numbers_to(f, grown, grown + FIRST, 100);
            _exit(0); /* without bloomfile_close() */
        }
        wait_for(child);
        assert_error(open_error("un", 0), BLOOMFILE_EUNCLEAN);
        f = opened("un", accepting);
        assert_error(bloomfile_copy_sealed(TO_PATH("copy", BLOOMFILE_TO_REPLACE), f, NULL), 0);
        add_numbers_to(f, grown, grown + MANY, 100); /* to new layers */
        bloomfile_close(f);
        assert_error(open_error("un", BLOOMFILE_OPEN_WRITE), BLOOMFILE_EUNCLEAN);
        f = opened("un", accepting);
        assert_error(bloomfile_sync(f, NULL), 0);
        finish(opened("un", BLOOMFILE_OPEN_WRITE));
        bloomfile_close(f);
    }
}

/* S4. The poisoned layer counts as having all keys, so no key is new. */
TEST_IN_DIR(add_next_to_a_poisoned_layer_fails)
{
    bool was_new = true;
    bloomfile_filter *f = create("bad", BLOOMFILE_SERIES_GROW);
    add_numbers_to(f, 0, 4 * FIRST, 100);
    assert_int_equal(bloomfile_layers(f), 3);
    for (unsigned slot = 0; slot < 2; slot++)
        set_in_record("bad", slot, RECORD_AT_state, 4, BLOOMFILE_STATE_POISONED);
    assert_error(bloomfile_add_digest(f, number(0, ABSENT), &was_new), BLOOMFILE_EPOISONED);
    assert_error(bloomfile_check(f), BLOOMFILE_EPOISONED);
    assert_true(bloomfile_contains_digest(f, number(0, ABSENT)));
    assert_error(bloomfile_finish(f), BLOOMFILE_EPOISONED);
    bloomfile_close(f);
}

/* S4. The lookup itself must notice: the test does not call bloomfile_check() before. */
TEST_IN_DIR(poisoned_layer_makes_lookups_answer_maybe)
{
    static const char *const names[] = { "one", "one.1", "one.2" };
    const bloomfile_digest absent = number(0, ABSENT);
    bloomfile_filter *f = create("one", BLOOMFILE_SERIES_GROW);
    add_numbers_to(f, 0, 4 * FIRST, 100);
    for (size_t layer = 0; layer < ROWS(names); layer++)
        for (unsigned batch = 0; batch < 2; batch++) {
            bloomfile_filter *r = opened("one", 0);
            assert_false(bloomfile_contains_digest(r, absent));
            for (unsigned slot = 0; slot < 2; slot++)
                set_in_record(names[layer], slot, RECORD_AT_state, 4, BLOOMFILE_STATE_POISONED);
            assert_true(batch ? bloomfile_contains_digests(r, &absent, 1, NULL) == 1
                              : bloomfile_contains_digest(r, absent));
            assert_error(bloomfile_check(r), BLOOMFILE_EPOISONED);
            assert_int_equal(info_of(r).state, BLOOMFILE_STATE_POISONED);
            bloomfile_close(r);
            for (unsigned slot = 0; slot < 2; slot++)
                set_in_record(names[layer], slot, RECORD_AT_state, 4, BLOOMFILE_STATE_LIVE);
        }
    finish(f);
}

/* S6. */
TEST_IN_DIR(missing_successor_makes_lookups_answer_maybe)
{
    bloomfile_filter *f = create("gone", BLOOMFILE_SERIES_GROW), *r = opened("gone", 0);
    add_numbers_to(f, 0, FIRST + 10, 10);
    assert_int_equal(rename("gone.1", "kept"), 0);
    alarm(20); /* a second's wait for each of these would take 100 s */
    for (uint64_t i = 0; i < 1000; i++)
        assert_true(bloomfile_contains_digest(r, number(0, ABSENT + i)));
    alarm(0);
    assert_error(bloomfile_check(r), BLOOMFILE_EMISSINGLAYER);
    assert_int_equal(rename("kept", "gone.1"), 0);
    assert_false(bloomfile_contains_digest(r, number(0, ABSENT)));
    assert_true(bloomfile_contains_digest(r, number(0, FIRST + 5)));
    bloomfile_close(r);
    assert_int_equal(unlink("gone.1"), 0);
    assert_error(bloomfile_sync(f, NULL), BLOOMFILE_EREPLACED);
    bloomfile_close(f);
}

/* S14. */
TEST_IN_DIR(add_without_room_fails_and_loses_no_key)
{
    bloomfile_filter *f = create("full", BLOOMFILE_SERIES_GROW);
    assert_int_equal(mkdir("full.1", 0700), 0);
    uint64_t i = 0;
    int error = 0;
    while (error == 0)
        error = bloomfile_add_digest(f, number(0, i++), NULL);
    assert_error(error, EISDIR);
    assert_int_equal(absent_of(f, 0, i - 1), 0);
    assert_false(bloomfile_contains_digest(f, number(0, ABSENT)));
    bool was_new = true;
    assert_error(bloomfile_add_digest(f, number(0, 1), &was_new), 0);
    assert_false(was_new);
    assert_error(bloomfile_add_digest(f, number(0, i - 1), NULL), EISDIR);
    assert_int_equal(rmdir("full.1"), 0);
    assert_error(bloomfile_check(f), 0);
    assert_error(bloomfile_add_digest(f, number(0, i - 1), &was_new), 0);
    assert_int_equal(absent_of(f, 0, i), 0);
    finish(f);
}

/* A layer of the old series would make the new series invalid. */
TEST_IN_DIR(growing_a_replaced_series_does_not_change_the_new_series)
{
    uint64_t at = 0;
    int error = 0;
    bloomfile_filter *f = create("replaced", BLOOMFILE_SERIES_GROW);
    finish(create("new", BLOOMFILE_SERIES_GROW));
    assert_int_equal(rename("new", "replaced"), 0);
    while (error == 0 && at < MANY)
        error = bloomfile_add_digest(f, number(0, at++), NULL);
    assert_error(error, BLOOMFILE_EREPLACED);
    assert_int_equal(absent_of(f, 0, at - 1), 0);
    bloomfile_close(f);
    assert_int_equal(access("replaced.1", F_OK), -1);
    finish(opened("replaced", BLOOMFILE_OPEN_WRITE));
    f = create("gone", 2);
    assert_int_equal(unlink("gone"), 0);
    for (at = 0, error = 0; error == 0 && at < MANY;)
        error = bloomfile_add_digest(f, number(0, at++), NULL);
    assert_error(error, BLOOMFILE_EREPLACED);
    bloomfile_close(f);
    assert_int_equal(access("gone.1", F_OK), -1);
}

static void lose_name(unsigned how)
{
    if (how == 0)
        assert_int_equal(unlink("lost"), 0);
    else
        assert_int_equal(rename("other", "lost"), 0);
}

/* S11. A process that opens the name finds no key, not even those in later layers. */
TEST_IN_DIR(sync_and_finish_report_a_series_that_lost_its_name)
{
    static const uint32_t kinds[] = { BLOOMFILE_SERIES_GROW, 3 };
    for (size_t i = 0; i < ROWS(kinds); i++)
        for (unsigned how = 0; how < 2; how++) {
            bloomfile_filter *f = create("lost", kinds[i]), *g;
            add_numbers_to(f, 0, FIRST + 10, 10);
            assert_int_equal(bloomfile_layers(f), 2);
            make_live("other", BLOOMFILE_LAYOUT_BLOCKED);
            assert_error(bloomfile_open(&g, "lost", BLOOMFILE_OPEN_WRITE), 0);
            assert_error(bloomfile_sync(f, NULL), 0);
            assert_int_equal(bloomfile_is_stale(g), 0);
            lose_name(how);
            add_numbers_to(g, MANY, MANY + 1, 1);
            assert_int_not_equal(bloomfile_is_stale(g), 0);
            assert_error(bloomfile_finish(g), BLOOMFILE_EREPLACED);
            assert_error(bloomfile_sync(f, NULL), BLOOMFILE_EREPLACED);
            assert_error(bloomfile_finish(f), BLOOMFILE_EREPLACED);
            bloomfile_close(g);
            bloomfile_close(f);
            assert_int_equal(unlink("lost.1"), 0);
            unlink("other");
            unlink("lost");
        }
}

/* Also after its file was opened again, as the file of a newer generation. */
TEST_IN_DIR(link_redirected_to_another_series_is_detected)
{
    static const uint32_t kinds[] = { BLOOMFILE_SERIES_GROW, 2 };
    for (size_t i = 0; i < ROWS(kinds); i++) {
        uint64_t at = 0;
        finish(create("one", kinds[i]));
        finish(create("two", kinds[i]));
        make_symlink("one", "link");
        bloomfile_filter *f = opened("link", BLOOMFILE_OPEN_WRITE);
        while (info_of(f).layer < 2)
            assert_error(bloomfile_add_digest(f, number(0, at++), NULL), 0);
        assert_int_equal(bloomfile_is_stale(f), 0);
        assert_error(bloomfile_sync(f, NULL), 0);
        assert_int_equal(unlink("link"), 0);
        assert_int_not_equal(bloomfile_is_stale(f), 0);
        assert_error(bloomfile_sync(f, NULL), BLOOMFILE_EREPLACED);
        make_symlink("two", "link");
        assert_int_not_equal(bloomfile_is_stale(f), 0);
        assert_error(bloomfile_sync(f, NULL), BLOOMFILE_EREPLACED);
        assert_error(bloomfile_finish(f), BLOOMFILE_EREPLACED);
        bloomfile_close(f);
        assert_int_equal(system("rm link one* two*"), 0);
    }
}

/* S14. */
TEST_IN_DIR(file_with_a_second_hard_link_gets_no_successor)
{
    bloomfile_filter *f = create("one", BLOOMFILE_SERIES_GROW);
    uint64_t i = 0;
    int error = 0;
    make_hard_link("one", "two");
    while (error == 0)
        error = bloomfile_add_digest(f, number(0, i++), NULL);
    assert_error(error, EMLINK);
    assert_true(access("one.1", F_OK) != 0);
    assert_int_equal(absent_of(f, 0, i - 1), 0);
    assert_int_equal(unlink("two"), 0);
    assert_error(bloomfile_add_digest(f, number(0, i - 1), NULL), 0);
    assert_int_equal(bloomfile_layers(f), 2);
    finish(f);
}

TEST_IN_DIR(new_layers_have_the_permissions_of_the_first)
{
    bloomfile_filter *f = create("rights", BLOOMFILE_SERIES_GROW);
    struct stat status;
    set_mode("rights", 0640);
    add_numbers_to(f, 0, FIRST + 10, 10);
    assert_int_equal(stat("rights.1", &status), 0);
    assert_int_equal(status.st_mode & 0777, 0640);
    finish(f);
}

/* Makes a series of two layers, the first of which lacks the successor bit. */
static void make_unmarked(const char *path)
{
    bloomfile_filter *f = create(path, BLOOMFILE_SERIES_GROW);
    add_numbers_to(f, 0, FIRST + 10, 10);
    finish(f);
    struct bytes first = read_file(path);
    for (unsigned slot = 0; slot < 2; slot++) {
        record_at(first.data, slot)[RECORD_AT_flags] &= (uint8_t)~RECORD_SUCCEEDED;
        reseal_record(first.data, slot);
    }
    write_file(path, first.data, first.size);
    free(first.data);
}

/* S8. The keys that the older copy lacks may not have been added again. */
TEST_IN_DIR(series_with_an_older_copy_remains_unclean_until_the_accepting_writer_syncs)
{
    const unsigned accepting = BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ACCEPT_UNCLEAN;
    make_unmarked("older");
    bloomfile_filter *f = opened("older", BLOOMFILE_OPEN_ACCEPT_UNCLEAN);
    assert_error(bloomfile_rescue("saved", f, 0), 0);
    bloomfile_close(f);
    assert_error(open_error("saved", 0), BLOOMFILE_EUNCLEAN);
    assert_error(open_error("older", 0), BLOOMFILE_ESERIES);
    const pid_t child = fork();
    if (child == 0)
        _exit(bloomfile_open(&f, "older", accepting)); /* without bloomfile_close() */
    wait_for(child);
    assert_error(open_error("older", 0), BLOOMFILE_EUNCLEAN);
    f = opened("older", accepting);
    assert_error(open_error("older", 0), BLOOMFILE_EUNCLEAN);
    assert_error(bloomfile_sync(f, NULL), 0);
    finish(opened("older", BLOOMFILE_OPEN_WRITE));
    finish(f);
}

/* Its creator was killed between the two steps. */
TEST_IN_DIR(empty_layer_whose_mark_is_missing_belongs_to_the_series)
{
    bloomfile_filter *f;
    make_unmarked("mark");
    /* The second layer has keys, so the first file is older, or the mark was lost with the
     * power. */
    assert_error(open_error("mark", 0), BLOOMFILE_ESERIES);
    assert_error(open_error("mark", BLOOMFILE_OPEN_WRITE), BLOOMFILE_ESERIES);
    f = opened("mark", BLOOMFILE_OPEN_ACCEPT_UNCLEAN);
    assert_int_equal(absent_of(f, 0, FIRST + 10), 0);
    bloomfile_close(f);
    for (unsigned slot = 0; slot < 2; slot++) {
        set_in_record("mark.1", slot, RECORD_AT_n, 8, 0);
        set_in_record("mark.1", slot, RECORD_AT_ones, 8, 0);
    }
    assert_error(open_error("mark", 0), BLOOMFILE_ESERIES); /* keys of a killed writer */
    struct bytes second = read_file("mark.1");
    memset(second.data + get64(second.data + AT_body_offset), 0,
           (size_t)get64(second.data + AT_body_size));
    write_file("mark.1", second.data, second.size);
    free(second.data);
    f = opened("mark", 0);
    assert_int_equal(bloomfile_layers(f), 2);
    assert_int_equal(absent_of(f, 0, FIRST), 0);
    bloomfile_close(f);
    f = opened("mark", BLOOMFILE_OPEN_WRITE); /* sets the mark */
    assert_error(bloomfile_add_digest(f, number(0, ABSENT), NULL), 0);
    finish(f);
    assert_int_equal(unlink("mark.1"), 0);
    assert_error(open_error("mark", 0), BLOOMFILE_EMISSINGLAYER);
}

TEST_IN_DIR(writer_does_not_change_older_layers)
{
    bloomfile_filter *f = create("left", BLOOMFILE_SERIES_GROW);
    add_numbers_to(f, 0, FIRST + 10, 10);
    finish(f);
    const struct bytes before = read_file("left");
    const uint8_t *record = record_at(before.data, slot_in_force("left"));
    assert_int_equal(get32(record + RECORD_AT_flags), RECORD_SUCCEEDED);
    f = opened("left", BLOOMFILE_OPEN_WRITE);
    assert_int_equal(bloomfile_layers(f), 2);
    assert_error(bloomfile_add_digest(f, number(0, ABSENT), NULL), 0);
    assert_file_holds("left", before.data, before.size);
    finish(f);
    assert_file_holds("left", before.data, before.size);
    free(before.data);
}

/* Clears the mark in one record and tears the other, which is in force. */
static void tear_the_mark(const char *path)
{
    struct bytes image = read_file(path);
    const unsigned now = slot_in_force(path);
    assert_true((record_at(image.data, now)[RECORD_AT_flags] & RECORD_SUCCEEDED) != 0);
    record_at(image.data, now)[RECORD_AT_n] ^= 1;
    record_at(image.data, 1 - now)[RECORD_AT_flags] &= (uint8_t)~RECORD_SUCCEEDED;
    reseal_record(image.data, 1 - now);
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, image.data, IN_FILE, 0), IN_FILE);
    assert_int_equal(close(fd), 0);
    free(image.data);
}

/* Its creator was killed while it wrote the record; another writer had not seen the mark. */
TEST_IN_DIR(successor_mark_in_a_torn_record_is_kept)
{
    finish(create("torn", BLOOMFILE_SERIES_GROW));
    bloomfile_filter *f = opened("torn", BLOOMFILE_OPEN_WRITE);
    assert_error(bloomfile_add_digest(f, number(0, ABSENT), NULL), 0);
    pid_t child = fork();
    if (child == 0) {
        bloomfile_filter *maker = opened("torn", BLOOMFILE_OPEN_WRITE);
        add_numbers_to(maker, 0, FIRST + 10, 10);
        _exit(0);
    }
    wait_for(child);
    tear_the_mark("torn");
    bloomfile_close(f);
    struct bytes image = read_file("torn");
    const unsigned now = slot_in_force("torn");
    assert_true((record_at(image.data, now)[RECORD_AT_flags] & RECORD_SUCCEEDED) != 0);
    free(image.data);
    f = opened("torn", BLOOMFILE_OPEN_WRITE);
    assert_int_equal(bloomfile_layers(f), 2);
    assert_int_equal(absent_of(f, 0, FIRST + 10), 0);
    assert_true(bloomfile_contains_digest(f, number(0, ABSENT)));
    finish(f);
}

/* ---- operations that a series does not support */

/* S13. */
TEST_IN_DIR(operations_on_single_filters_refuse_a_series)
{
    make_grown("many");
    bloomfile_filter *f = opened("many", BLOOMFILE_OPEN_WRITE);
    const bloomfile_filter *const both[2] = { f, f };
    const struct bloomfile_merge_params merge = BLOOMFILE_MERGE_PARAMS_INIT;
    size_t count = 0, size;
    double fill[3];
    struct bloomfile_solution solution;
    for (int layer = 0; layer < 2; layer++) {
        const bloomfile_filter *one = layer ? bloomfile_layer(f, 0) : f;
        assert_error(bloomfile_fold(TO_PATH("x", 0), one, 1, NULL), BLOOMFILE_EISSERIES);
        assert_error(bloomfile_fold_plan(one, 0, NULL, &count), BLOOMFILE_EISSERIES);
        assert_error(bloomfile_check_merge(one, one), BLOOMFILE_EISSERIES);
        assert_error(bloomfile_project(TO_PATH("x", 0), one, NULL), BLOOMFILE_ENOTCOUNTING);
    }
    assert_error(bloomfile_merge(TO_PATH("x", 0), both, 1, &merge), BLOOMFILE_EISSERIES);
    assert_error(bloomfile_merge(TO_PATH("x", 0), both, 2, &merge), BLOOMFILE_EISSERIES);
    assert_error(bloomfile_copy_sealed(TO_PATH("x", 0), bloomfile_layer(f, 1), NULL),
                 BLOOMFILE_EISSERIES);
    assert_error(bloomfile_rescue("x", bloomfile_layer(f, 1), 0), BLOOMFILE_EISSERIES);
    assert_error(bloomfile_copy_sealed(TO_PATH(NULL, 0), f, NULL), BLOOMFILE_EVALUE);
    assert_error(bloomfile_copy_sealed(TO_PATH("x", BLOOMFILE_OPEN_WRITE), f, NULL),
                 BLOOMFILE_EFLAGS);
    assert_error(bloomfile_rescue(NULL, f, 0), BLOOMFILE_EVALUE);
    assert_error(bloomfile_rescue("x", f, BLOOMFILE_OPEN_WRITE), BLOOMFILE_EFLAGS);
    assert_error(bloomfile_seal(f, NULL), BLOOMFILE_EISSERIES);
    assert_error(bloomfile_measure_map(f, fill, 3), BLOOMFILE_EISSERIES);
    assert_error(bloomfile_measure_page(f, 0, &solution), BLOOMFILE_EVALUE);
    assert_error(bloomfile_remove_digest(f, 1), BLOOMFILE_ENOTCOUNTING);
    assert_error(bloomfile_verify(f, 1, NULL), BLOOMFILE_ELIVE);
    assert_null(bloomfile_body(f, &size));
    assert_int_equal(size, 0);
    finish(f);
    assert_int_not_equal(access("x", F_OK), 0);
}

TEST_IN_DIR(add_without_write_access_returns_the_reason)
{
    const struct {
        const char *path;
        int expected;
    } rows[] = { { "many", BLOOMFILE_EREADONLY }, { "sealed", BLOOMFILE_ESEALED } };
    make_grown("many");
    bloomfile_filter *f = opened("many", BLOOMFILE_OPEN_WRITE);
    const uint64_t keys = info_of(f).keys;
    size_t added = 0;
    assert_error(bloomfile_add_digests(f, NULL, 0, NULL, &added, NULL), 0);
    assert_int_equal(added, 0);
    assert_int_equal(info_of(f).keys, keys);
    assert_error(bloomfile_copy_sealed(TO_PATH("sealed", 0), f, NULL), 0);
    finish(f);
    for (size_t i = 0; i < ROWS(rows); i++) {
        f = opened(rows[i].path, 0);
        assert_error(bloomfile_add_digests(f, NULL, 0, NULL, &added, NULL), rows[i].expected);
        assert_error(bloomfile_sync(f, NULL), rows[i].expected);
        bloomfile_close(f);
    }
}

TEST_IN_DIR(parameters_that_contradict_a_series_are_refused)
{
    static const struct {
        uint32_t series, layout, hashes;
        uint64_t bits, period, capacity;
        int error;
    } rows[] = {
        { BLOOMFILE_SERIES_GROW, BLOOMFILE_LAYOUT_COUNTING, 0, 0, 0, 10, BLOOMFILE_EVALUE },
        { 2, BLOOMFILE_LAYOUT_COUNTING, 0, 0, 0, 10, BLOOMFILE_EVALUE },
        { BLOOMFILE_SERIES_GROW, 0, 3, 0, 0, 10, BLOOMFILE_EVALUE },
        { BLOOMFILE_SERIES_GROW, 0, 0, 512, 0, 10, BLOOMFILE_EVALUE },
        { BLOOMFILE_SERIES_GROW, 0, 0, 0, 5, 10, BLOOMFILE_EVALUE },
        { BLOOMFILE_SERIES_GROW, 0, 0, 0, 0, 0, BLOOMFILE_EVALUE },
        { 2, 0, 0, 512, 0, 0, BLOOMFILE_EVALUE },
        { 1001, 0, 0, 0, 0, 10, BLOOMFILE_EVALUE },
        { 0, 0, 0, 0, 5, 10, BLOOMFILE_EVALUE },
        { 2, 0, 4, 512, 5, 10, 0 },
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
        params.series = rows[i].series;
        params.layout = rows[i].layout;
        params.hashes = rows[i].hashes;
        params.bits = rows[i].bits;
        params.period = rows[i].period;
        params.capacity = rows[i].capacity;
        bloomfile_filter *f;
        assert_error(bloomfile_create_memory(&f, &params, 0), rows[i].error);
        bloomfile_close(f);
    }
    bloomfile_builder *b;
    struct bloomfile_params params = series_params(BLOOMFILE_SERIES_GROW);
    assert_error(bloomfile_builder_new(&b, &params), BLOOMFILE_EVALUE);
}

/* ---- sealed */

static struct bytes sealed_series(void)
{
    make_grown("live");
    bloomfile_filter *f = opened("live", 0);
    assert_error(bloomfile_copy_sealed(TO_PATH("sealed", 0), f, NULL), 0);
    bloomfile_close(f);
    return read_file("sealed");
}

static int memory_error(struct bytes image)
{
    bloomfile_filter *f;
    int error = open_from(&f, bloomfile_from_memory(image.data, image.size), 0);
    bloomfile_close(f);
    return error;
}

static void assert_sealed_series(bloomfile_filter *f)
{
    assert_int_equal(bloomfile_layers(f), 6);
    assert_int_equal(absent_of(f, 0, MANY), 0);
    assert_true(absent_of(f, ABSENT, ABSENT + 1000) > 900);
    assert_error(bloomfile_verify(f, 2, NULL), 0);
    assert_error(bloomfile_check(f), 0);
    assert_int_equal(info_of(f).state, BLOOMFILE_STATE_SEALED);
    struct bloomfile_measurement m = BLOOMFILE_MEASUREMENT_INIT;
    assert_error(bloomfile_measure(f, &m), 0);
    assert_int_equal(m.ones, info_of(f).ones);
    assert_error(bloomfile_add_digest(f, 1, NULL), BLOOMFILE_ESEALED);
    assert_error(bloomfile_rescue("x", f, 0), BLOOMFILE_ESEALED);
    assert_error(bloomfile_rescue("missing/x", f, 0), BLOOMFILE_ESEALED);
    bloomfile_close(f);
}

/* The sum is an estimate as soon as the count of any layer is. */
TEST_IN_DIR(the_number_of_keys_of_a_series_is_estimated)
{
    struct bytes image = sealed_series();
    bloomfile_filter *f = open_image(image, 0);
    const uint64_t rest = info_of(bloomfile_layer(f, 0)).rest_size;
    const size_t second = (size_t)(rest - info_of(bloomfile_layer(f, 1)).rest_size);
    assert_int_equal(info_of(f).keys_estimated, 0);
    bloomfile_close(f);
    for (unsigned slot = 0; slot < 2; slot++)
        record_at(image.data + second, slot)[RECORD_AT_flags] |= RECORD_N_ESTIMATED;
    reseal_header(image.data + second);
    f = open_image(image, 0);
    assert_int_equal(info_of(bloomfile_layer(f, 0)).keys_estimated, 0);
    assert_int_equal(info_of(bloomfile_layer(f, 1)).keys_estimated, 1);
    assert_int_equal(info_of(f).keys_estimated, 1);
    bloomfile_close(f);
    free(image.data);
}

TEST_IN_DIR(sealed_series_opens_as_a_file_or_inside_one)
{
    struct bytes image = sealed_series();
    bloomfile_filter *f;
    static const unsigned flags[] = { 0, BLOOMFILE_OPEN_VERIFY_FULL, BLOOMFILE_OPEN_VERIFY_NONE,
                                      BLOOMFILE_OPEN_COPY, BLOOMFILE_OPEN_PREFAULT };
    for (size_t i = 0; i < ROWS(flags); i++)
        assert_sealed_series(opened("sealed", flags[i]));
    assert_error(open_error("sealed", BLOOMFILE_OPEN_WRITE), BLOOMFILE_ESEALED);
    for (size_t i = 0; i < 4; i++) {
        assert_error(open_from(&f, bloomfile_from_memory(image.data, image.size), flags[i]), 0);
        assert_sealed_series(f);
    }
    FILE *other = fopen("other", "w+");
    fprintf(other, "before");
    fwrite(image.data, 1, image.size, other);
    fprintf(other, "behind");
    fflush(other);
    assert_error(open_from(&f, part_of_fd(fileno(other), 6, image.size), 0), 0);
    assert_sealed_series(f);
    assert_error(open_from(&f, part_of_fd(fileno(other), 6, BLOOMFILE_FROM_REST), 0),
                 BLOOMFILE_ETRAILING);
    fclose(other);
    free(image.data);
}

static size_t whole_size_of(const uint8_t *image)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_inspect(image, IN_FILE, &info, NULL, NULL);
    return (size_t)(info.image_size + 4095) / 4096 * 4096;
}

TEST_IN_DIR(sealed_series_with_a_missing_layer_is_refused)
{
    struct bytes image = sealed_series(), other = { malloc(image.size), image.size };
    const size_t first = whole_size_of(image.data);
    for (size_t size = 0; size < image.size; size += 997)
        assert_true(memory_error((struct bytes){ image.data, size }) != 0);
    assert_error(memory_error((struct bytes){ image.data, first }), BLOOMFILE_ETRUNCATED);
    assert_error(memory_error((struct bytes){ image.data + first, image.size - first }),
                 BLOOMFILE_ESERIES);
    /* A layer of another series of the same shape, but with other bits. */
    bloomfile_filter *f = create(NULL, BLOOMFILE_SERIES_GROW);
    void *foreign;
    size_t size;
    add_numbers_to(f, MANY, 2 * MANY, 300);
    assert_error(copy_memory(&foreign, &size, f), 0);
    bloomfile_close(f);
    assert_int_equal(size, image.size);
    memcpy(other.data, image.data, image.size);
    memcpy(other.data + first, (uint8_t *)foreign + first, whole_size_of(image.data + first));
    assert_error(memory_error(other), BLOOMFILE_ESERIES);
    bloomfile_free(foreign);
    free(other.data);
    free(image.data);
}

TEST_IN_DIR(damage_in_one_layer_affects_only_its_page)
{
    struct bytes image = sealed_series();
    const size_t first = whole_size_of(image.data);
    memset(image.data + first + IN_FILE, 0, 512);
    bloomfile_filter *f;
    struct bloomfile_fault fault;
    assert_error(open_from(&f, bloomfile_from_memory(image.data, image.size), 0), 0);
    assert_error(bloomfile_damage(f), 0);
    assert_int_equal(absent_of(f, 0, MANY), 0);
    assert_error(bloomfile_damage(f), BLOOMFILE_EPAGE);
    assert_error(bloomfile_check(f), BLOOMFILE_EPAGE);
    assert_error(bloomfile_verify(f, 1, &fault), BLOOMFILE_EPAGE);
    assert_int_equal(fault.offset, first + IN_FILE);
    assert_int_equal(fault.page, 0);
    assert_int_equal(fault.layer, 1);
    bloomfile_close(f);
    assert_error(
        open_from(&f, bloomfile_from_memory(image.data, image.size), BLOOMFILE_OPEN_VERIFY_FULL),
        BLOOMFILE_EPAGE);
    free(image.data);
}

/* One loop looks up all layers until a page is found bad. */
TEST_IN_DIR(damage_found_later_makes_its_layer_answer_maybe)
{
    struct bytes image = sealed_series();
    const size_t first = whole_size_of(image.data);
    bloomfile_filter *f;
    struct bloomfile_pinned pin = BLOOMFILE_PINNED_INIT;
    assert_error(
        open_from(&f, bloomfile_from_memory(image.data, image.size), BLOOMFILE_OPEN_VERIFY_FULL),
        0);
    assert_error(bloomfile_pin(f, &pin), 0);
    assert_int_equal(absent_of(f, 0, MANY), 0);
    memset(image.data + first + IN_FILE, 0, 512);
    assert_error(bloomfile_verify(f, 1, NULL), BLOOMFILE_ECHANGED);
    for (uint64_t i = 0; i < MANY; i++) {
        const bloomfile_digest digest = number(0, i);
        assert_true(bloomfile_contains_digest(f, digest));
        assert_int_equal(bloomfile_contains_digests(f, &digest, 1, NULL), 1);
        assert_true(bloomfile_pinned_contains_digest(&pin, digest));
    }
    bloomfile_close(f);
    free(image.data);
}

/* ---- processes */

static void assert_all_marked_but_the_last(const char *path, size_t layers)
{
    char name[64];
    for (size_t i = 0; i < layers; i++) {
        snprintf(name, sizeof name, i == 0 ? "%s" : "%s.%zu", path, i);
        struct bytes image = read_file(name);
        const uint32_t flags = get32(record_at(image.data, slot_in_force(name)) + RECORD_AT_flags);
        assert_int_equal((flags & RECORD_SUCCEEDED) != 0, i + 1 < layers);
        free(image.data);
    }
}

TEST_IN_DIR(rescue_to_a_link_replaces_the_target_of_the_link)
{
    make_grown("old");
    assert_int_equal(mkdir("there", 0700), 0);
    finish(create("there/new", BLOOMFILE_SERIES_GROW));
    make_symlink("there/new", "link");
    bloomfile_filter *f = opened("old", BLOOMFILE_OPEN_WRITE);
    assert_error(bloomfile_rescue("link", f, BLOOMFILE_TO_REPLACE), 0);
    finish(f);
    assert_int_equal(access("there/new.1", F_OK), 0);
    assert_int_equal(access("link.1", F_OK), -1);
    f = opened("link", 0);
    assert_int_equal(absent_of(f, 0, MANY), 0);
    bloomfile_close(f);
}

TEST_IN_DIR(a_rescued_series_has_all_keys_and_another_identity)
{
    make_grown("old");
    bloomfile_filter *f = opened("old", BLOOMFILE_OPEN_WRITE);
    assert_error(bloomfile_rescue("new", f, 0), 0);
    assert_error(bloomfile_rescue("new", f, 0), EEXIST);
    assert_error(bloomfile_rescue("new", f, BLOOMFILE_TO_REPLACE), 0);
    assert_all_marked_but_the_last("new", bloomfile_layers(f));
    const uint64_t identity = info_of(f).series;
    finish(f);
    f = opened("new", BLOOMFILE_OPEN_WRITE);
    assert_int_equal(absent_of(f, 0, MANY), 0);
    assert_true(info_of(f).series != identity);
    add_numbers_to(f, MANY, 3 * MANY, 100);
    assert_int_equal(absent_of(f, 0, 3 * MANY), 0);
    finish(f);
}

TEST_IN_DIR(parent_finds_layers_created_by_its_child)
{
    bloomfile_filter *f = create("family", BLOOMFILE_SERIES_GROW);
    add_numbers_to(f, 0, FIRST / 2, 10);
    pid_t child = fork();
    if (child == 0) {
        add_numbers_to(f, FIRST / 2, MANY, 100);
        _exit(bloomfile_finish(f) != 0);
    }
    wait_for(child);
    assert_int_equal(absent_of(f, 0, MANY), 0);
    assert_true(add_numbers_to(f, 0, MANY + 500, 100) < 500 + 1);
    finish(f);
}

/* Before the other writer syncs, only the bits show its keys: of the whole body, or of a sample. */
TEST_IN_DIR(keys_of_another_writer_count_towards_the_capacity_of_a_layer)
{
    static const uint64_t capacities[] = { 20000, 600000 };
    for (size_t i = 0; i < ROWS(capacities); i++) {
        bloomfile_filter *f;
        const uint64_t full = capacities[i] / 200 * 199, more = capacities[i] / 20;
        struct bloomfile_params params = series_params(BLOOMFILE_SERIES_GROW);
        params.capacity = capacities[i];
        params.fpr = 0.1;
        assert_error(bloomfile_create(&f, "shared", &params, BLOOMFILE_TO_REPLACE), 0);
        add_numbers_to(f, 0, full, 5000);
        assert_int_equal(bloomfile_layers(f), 1);
        pid_t child = fork();
        if (child == 0) {
            bloomfile_filter *other = opened("shared", BLOOMFILE_OPEN_WRITE);
            add_numbers_to(other, full, full + more, 1000);
            _exit(bloomfile_layers(other) != 2 || bloomfile_finish(other) != 0);
        }
        wait_for(child);
        assert_int_equal(absent_of(f, full, full + more), 0);
        finish(f);
        assert_int_equal(unlink("shared"), 0);
        assert_int_equal(unlink("shared.1"), 0);
    }
}

/* The writers estimate the number of keys from a sample of the bits. */
TEST_IN_DIR(two_writers_fill_each_layer_almost_completely)
{
    enum {
        CAPACITY = 600000
    };
    bloomfile_filter *f, *other;
    struct bloomfile_params params = series_params(BLOOMFILE_SERIES_GROW);
    params.capacity = CAPACITY;
    params.fpr = 0.1;
    assert_error(bloomfile_create(&f, "shared", &params, 0), 0);
    other = opened("shared", BLOOMFILE_OPEN_WRITE);
    size_t new_keys = 0;
    uint64_t at = 0;
    for (; bloomfile_layers(f) == 1; at += 1000)
        new_keys += add_numbers_to(f, at, at + 1000, 1000);
    assert_in_range(new_keys, CAPACITY / 1000 * 995, CAPACITY);
    finish(other);
    finish(f);
}

TEST_IN_DIR(child_of_a_series_in_memory_finds_the_keys_of_its_parent)
{
    need_proc();
    bloomfile_filter *f = create(NULL, BLOOMFILE_SERIES_GROW);
    int go[2], ready[2];
    char byte = 0;
    assert_int_equal(pipe(go), 0);
    assert_int_equal(pipe(ready), 0);
    add_numbers_to(f, 0, FIRST / 2, 10);
    pid_t child = fork();
    if (child == 0) {
        bool good = bloomfile_add_digest(f, number(0, ABSENT), NULL) == 0;
        good &= !bloomfile_contains_digest(f, number(0, ABSENT + 1));
        good &= write(ready[1], &byte, 1) == 1 && read(go[0], &byte, 1) == 1;
        good &= bloomfile_contains_digest(f, number(0, MANY - 1));
        good &= bloomfile_check(f) == BLOOMFILE_EMISSINGLAYER;
        good &= bloomfile_add_digest(f, number(0, MANY + 1), NULL) == BLOOMFILE_EMISSINGLAYER;
        bloomfile_close(f);
        _exit(!good);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    add_numbers_to(f, FIRST / 2, MANY, 100);
    assert_int_equal(write(go[1], &byte, 1), 1);
    wait_for(child);
    assert_true(bloomfile_contains_digest(f, number(0, ABSENT)));
    close(go[0]);
    close(go[1]);
    close(ready[0]);
    close(ready[1]);
    bloomfile_close(f);
}

/* No process would find that layer. */
TEST_IN_DIR(child_of_a_series_in_memory_cannot_create_a_layer)
{
    need_wipe_on_fork();
    need_proc();
    bloomfile_filter *f = create(NULL, BLOOMFILE_SERIES_GROW);
    add_numbers_to(f, 0, FIRST / 2, 10);
    pid_t child = fork();
    if (child == 0) {
        int error = 0;
        uint64_t i = 0;
        while (error == 0 && i < 2 * FIRST)
            error = bloomfile_add_digest(f, number(0, ABSENT + i++), NULL);
        _exit(error != BLOOMFILE_EMISSINGLAYER || i < FIRST / 4 || absent_of(f, 0, FIRST / 2) != 0);
    }
    wait_for(child);
    assert_int_equal(bloomfile_layers(f), 1);
    assert_true(bloomfile_contains_digest(f, number(0, ABSENT)));
    add_numbers_to(f, 0, MANY, 100);
    assert_int_equal(absent_of(f, 0, MANY), 0);
    bloomfile_close(f);
}

/* That file would be taken for a layer. */
TEST_IN_DIR(rescue_fails_if_a_file_has_the_name_of_a_layer)
{
    static const uint32_t kinds[] = { BLOOMFILE_SERIES_GROW, 4 };
    for (size_t i = 0; i < ROWS(kinds); i++) {
        bloomfile_filter *f = create("two", kinds[i]), *four = create("four", kinds[i]);
        add_numbers_to(f, 0, FIRST + 10, 10);
        for (uint64_t at = 0; bloomfile_layers(four) < 4; at++)
            assert_error(bloomfile_add_digest(four, number(0, at), NULL), 0);
        finish(four);
        assert_error(bloomfile_rescue("four", f, BLOOMFILE_TO_REPLACE), BLOOMFILE_ESERIES);
        four = opened("four", 0);
        assert_int_equal(bloomfile_layers(four), 4);
        bloomfile_close(four);
        write_file("new.2", "x", 1);
        assert_error(bloomfile_rescue("new", f, 0), BLOOMFILE_ESERIES);
        assert_int_equal(access("new", F_OK), -1);
        assert_int_equal(access("new.1", F_OK), -1);
        assert_int_equal(rename("new.2", "new.3"), 0);
        assert_error(bloomfile_rescue("new", f, 0), i == 0 ? 0 : BLOOMFILE_ESERIES);
        assert_int_equal(unlink("new.3"), 0);
        assert_error(bloomfile_rescue("new", f, BLOOMFILE_TO_REPLACE), 0);
        bloomfile_close(opened("new", 0));
        finish(f);
        assert_int_equal(system("rm two* four* new*"), 0);
    }
}

TEST_IN_DIR(last_possible_layer_gets_no_successor)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.capacity = 100;
    params.series = 3;
    bloomfile_filter *f;
    assert_error(bloomfile_create_memory(&f, &params, 0), 0);
    for (uint64_t i = 0; i < 1000; i++)
        assert_error(bloomfile_add_digest(f, number(0, i), NULL), 0);
    assert_error(lookup_follow(f, layers_now(f)), 0);
    assert_error(bloomfile_check(f), 0);
    bloomfile_close(f);
}

TEST_IN_DIR(application_hash_is_named_once_for_all_layers)
{
    bloomfile_filter *f;
    struct bloomfile_params params = series_params(BLOOMFILE_SERIES_GROW);
    params.hash_id = 0x80000005;
    params.self_test = 77;
    assert_error(bloomfile_create(&f, "hash", &params, 0), 0);
    add_numbers_to(f, 0, MANY, 100);
    assert_int_equal(absent_of(f, 0, MANY), 0);
    assert_error(bloomfile_copy_sealed(TO_PATH("sealed", 0), f, NULL), 0);
    finish(f);
    assert_error(open_any(&f, "sealed", 0), 0);
    assert_true(bloomfile_contains_digest(f, number(0, ABSENT)));
    assert_error(bloomfile_check(f), BLOOMFILE_EHASH);
    bloomfile_close(f);
    assert_error(open_named(&f, bloomfile_from_path("sealed"), 0, 0x80000005, 77), 0);
    assert_false(bloomfile_contains_digest(f, number(0, ABSENT)));
    bloomfile_close(f);
    assert_error(open_error("hash", 0), BLOOMFILE_EHASH);
    assert_error(open_named(&f, bloomfile_from_path("hash"), 0, 0x80000005, 78),
                 BLOOMFILE_ESELFTEST);
    assert_error(open_any(&f, "hash", 0), 0);
    assert_true(bloomfile_contains_digest(f, number(0, ABSENT)));
    const bloomfile_digest several[] = { number(0, 0), number(0, ABSENT), number(0, ABSENT + 1) };
    assert_int_equal(bloomfile_contains_digests(f, several, ROWS(several), NULL), ROWS(several));
    bloomfile_close(f);
    assert_error(open_named(&f, bloomfile_from_path("hash"), 0, 0x80000005, 77), 0);
    assert_false(bloomfile_contains_digest(f, number(0, ABSENT)));
    assert_int_equal(absent_of(f, 0, MANY), 0);
    bloomfile_close(f);
}

TEST_IN_DIR(closed_series_leaves_no_descriptor_open)
{
    const size_t before = open_descriptors();
    for (uint32_t series = BLOOMFILE_SERIES_GROW; series < 4; series++) {
        bloomfile_filter *f = create(NULL, series);
        add_numbers_to(f, 0, MANY, 100);
        if (series > 1) /* forgotten layers take no memory */
            assert_true(open_descriptors() <= before + series + 2);
        bloomfile_close(f);
        f = create("open", series);
        bloomfile_filter *r = opened("open", 0);
        add_numbers_to(f, 0, MANY, 100);
        assert_error(bloomfile_check(r), 0);
        absent_of(r, 0, MANY);
        if (series > 1)
            assert_true(open_descriptors() < before + 4 * series + 4);
        bloomfile_close(r);
        bloomfile_close(f);
        assert_int_equal(system("rm open*"), 0);
    }
    assert_int_equal(open_descriptors(), before);
}

int main(void)
{
    return run_all(NULL, NULL);
}
