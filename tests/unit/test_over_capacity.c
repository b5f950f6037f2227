/* SPDX-License-Identifier: MIT
 * A filter of a fixed size refuses keys that would raise its rate above twice the target. */
#include "live_support.h"
#include "workers.h"

#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <math.h>
#include <stdatomic.h>
#include <unistd.h>

#define MOST_KEYS 100000000

/* The library must find this by its own search. */
static uint64_t limit_of(const struct bloomfile_info *info)
{
    const double target =
        info->fpr > 0 ? info->fpr : fpr_for(info->layout, info->bits, info->hashes, info->capacity);
    uint64_t fit = 0, too_many = MOST_KEYS;
    while (too_many - fit > 1) {
        const uint64_t middle = (fit + too_many) / 2;
        if (fpr_for(info->layout, info->bits, info->hashes, middle) <= 2 * target)
            fit = middle;
        else
            too_many = middle;
    }
    return fit;
}

static const struct bloomfile_params shapes[] = {
#define SHAPE .struct_size = sizeof(struct bloomfile_params)
    { SHAPE, .capacity = 1, .fpr = 0.01 },
    { SHAPE, .capacity = 1000, .fpr = 0.01 },
    { SHAPE, .capacity = 30000, .fpr = 1e-9 },
    { SHAPE, .capacity = 1000, .fpr = 0.2, .layout = BLOOMFILE_LAYOUT_CLASSIC },
    { SHAPE, .capacity = 20000, .bits = 1 << 17, .hashes = 3 },
    { SHAPE, .bits = 1 << 17 },
    { SHAPE, .capacity = 3000, .fpr = 0.001, .layout = BLOOMFILE_LAYOUT_COUNTING },
};

static bloomfile_filter *made(const struct bloomfile_params *p, unsigned flags)
{
    bloomfile_filter *f;
    assert_error(bloomfile_create(&f, "filter", p, BLOOMFILE_TO_REPLACE | flags), 0);
    return f;
}

/* Adds until EFULL, in batches of this size. Returns the next number; counts the new keys. */
static uint64_t fill(bloomfile_filter *f, size_t batch, uint64_t *new_keys)
{
    bloomfile_digest digests[5000];
    bool was_new[ROWS(digests)];
    int error = 0;
    uint64_t next = 0;
    *new_keys = 0;
    while (error == 0) {
        size_t fresh = SIZE_MAX, done = SIZE_MAX, told = 0;
        for (size_t i = 0; i < batch; i++)
            digests[i] = number(0, next + i);
        error = batch == 1 ? bloomfile_add_digest(f, digests[0], was_new)
                           : bloomfile_add_digests(f, digests, batch, was_new, &fresh, &done);
        if (batch == 1) {
            done = error == 0;
            fresh = done > 0 && was_new[0];
        }
        assert_true(error == 0 ? done == batch : done < batch);
        for (size_t i = 0; i < done; i++) {
            told += was_new[i];
            assert_true(bloomfile_contains_digest(f, digests[i]));
        }
        assert_int_equal(told, fresh);
        *new_keys += fresh;
        next += done;
    }
    assert_error(error, BLOOMFILE_EFULL);
    return next;
}

static void assert_goes_on(bloomfile_filter *f, uint64_t refused)
{
    bool was_new = true;
    assert_error(bloomfile_add_digest(f, number(0, refused), NULL), BLOOMFILE_EFULL);
    assert_false(bloomfile_contains_digest(f, number(0, refused)));
    assert_error(bloomfile_add_digest(f, number(0, 0), &was_new), 0);
    assert_false(was_new);
    assert_error(bloomfile_check(f), 0);
    assert_error(bloomfile_sync(f, NULL), 0);
    assert_error(bloomfile_copy_sealed(TO_PATH("sealed", BLOOMFILE_TO_REPLACE), f, NULL), 0);
}

TEST_IN_DIR(single_writer_stops_exactly_at_capacity)
{
    static const size_t batches[] = { 1, 3, 1000, 5000 };
    for (size_t i = 0; i < ROWS(shapes); i++)
        for (size_t j = 0; j < ROWS(batches); j++)
            for (unsigned exact = 0; exact < 2; exact++) {
                if (exact != 0 && (batches[j] == 1 || shapes[i].capacity > 1000))
                    continue;
                uint64_t new_keys;
                bloomfile_filter *f = made(&shapes[i], exact * BLOOMFILE_OPEN_ADD_EXACT);
                const struct bloomfile_info info = info_of(f);
                const uint64_t next = fill(f, batches[j], &new_keys);
                assert_int_equal(new_keys, limit_of(&info));
                assert_int_equal(info_of(f).keys, new_keys);
                assert_goes_on(f, next);
                assert_error(bloomfile_finish(f), 0);
                bloomfile_close(f);
            }
}

/* The record holds the count. */
TEST_IN_DIR(reopened_full_filter_accepts_no_more_keys)
{
    uint64_t new_keys;
    bloomfile_filter *f = made(&shapes[1], 0);
    const uint64_t next = fill(f, 100, &new_keys);
    bloomfile_close(f);
    f = opened("filter", BLOOMFILE_OPEN_WRITE);
    assert_goes_on(f, next);
    assert_error(bloomfile_seal(f, NULL), 0);
    bloomfile_close(f);
}

TEST_IN_DIR(over_capacity_flag_lifts_the_limit)
{
    uint64_t new_keys;
    bloomfile_filter *f = made(&shapes[1], 0), *reader;
    const uint64_t next = fill(f, 100, &new_keys);
    bloomfile_close(f);
    assert_error(bloomfile_open(&reader, "filter", BLOOMFILE_OPEN_OVER_CAPACITY), BLOOMFILE_EFLAGS);
    f = opened("filter", BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_OVER_CAPACITY);
    for (uint64_t i = 0; i < 5000; i++)
        assert_error(bloomfile_add_digest(f, number(0, next + i), NULL), 0);
    bloomfile_close(f);
    assert_error(bloomfile_create_memory(&f, &shapes[1], BLOOMFILE_OPEN_OVER_CAPACITY), 0);
    bloomfile_digest digests[5000];
    for (uint64_t i = 0; i < ROWS(digests); i++)
        digests[i] = number(0, i);
    size_t done;
    assert_error(bloomfile_add_digests(f, digests, ROWS(digests), NULL, NULL, &done), 0);
    assert_int_equal(done, ROWS(digests));
    bloomfile_close(f);
}

/* Counting filters count a present key again, so that it can be removed. */
TEST_IN_DIR(removals_make_room)
{
    uint64_t new_keys;
    bool was_new = true;
    bloomfile_filter *f = made(&shapes[6], 0);
    const uint64_t next = fill(f, 1, &new_keys);
    assert_error(bloomfile_add_digest(f, number(0, 5), &was_new), 0);
    assert_false(was_new);
    assert_error(bloomfile_remove_digest(f, number(0, 5)), 0);
    assert_true(bloomfile_contains_digest(f, number(0, 5)));
    assert_error(bloomfile_add_digest(f, number(0, next), NULL), BLOOMFILE_EFULL);
    for (uint64_t i = 0; i < 10; i++)
        assert_error(bloomfile_remove_digest(f, number(0, 100 + i)), 0);
    const uint64_t room = new_keys - info_of(f).keys;
    assert_true(room > 0 && room <= 10);
    for (uint64_t i = 0, added = 0; added < room; i++) {
        assert_error(bloomfile_add_digest(f, number(0, next + i), &was_new), 0);
        added += was_new;
    }
    assert_error(bloomfile_add_digest(f, number(1, 1), NULL), BLOOMFILE_EFULL);
    bloomfile_close(f);
}

/* ---- several writers */

enum {
    WRITERS = 4
};

struct crowded {
    atomic_uint full;
    uint64_t batch;
    _Atomic uint64_t keys[WRITERS];
};

/* Continues until all have reached the limit, so that all of them are still open then. */
static int add_until_full(bloomfile_filter *f, unsigned worker, void *context)
{
    struct crowded *c = context;
    bloomfile_digest digests[1000];
    int error = 0;
    for (uint64_t next = 0; error == 0;) {
        size_t done = 0, new_keys = 0;
        for (size_t i = 0; i < c->batch; i++)
            digests[i] = number(worker, next + i);
        error = bloomfile_add_digests(f, digests, (size_t)c->batch, NULL, &new_keys, &done);
        next += done;
        c->keys[worker] += new_keys;
    }
    atomic_fetch_add(&c->full, 1);
    while (atomic_load(&c->full) < WRITERS)
        usleep(1000);
    return error != BLOOMFILE_EFULL;
}

TEST_IN_DIR(several_writers_stop_within_1_percent_of_capacity)
{
    static const struct {
        struct bloomfile_params params;
        unsigned processes;
        uint64_t batch;
    } rows[] = {
        { { SHAPE, .capacity = 1000000, .fpr = 0.01 }, WRITERS, 1000 },
        { { SHAPE, .capacity = 300000, .fpr = 0.001, .layout = BLOOMFILE_LAYOUT_CLASSIC },
          WRITERS,
          1 },
        { { SHAPE, .capacity = 300000, .fpr = 0.01, .layout = BLOOMFILE_LAYOUT_COUNTING },
          WRITERS,
          100 },
        { { SHAPE, .capacity = 300000, .fpr = 0.01 }, 1, 1 },
        { { SHAPE, .capacity = 300000, .fpr = 0.01 }, 1, 1000 },
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct crowded *c = shared_memory(sizeof *c);
        bloomfile_filter *f = made(&rows[i].params, 0);
        const struct bloomfile_info info = info_of(f);
        const double limit = (double)limit_of(&info);
        double keys = 0;
        bloomfile_close(f);
        c->batch = rows[i].batch;
        workers_run(&(struct workers){ rows[i].processes, WRITERS / rows[i].processes, "filter", 0,
                                       NULL, add_until_full, c });
        for (unsigned w = 0; w < WRITERS; w++)
            keys += (double)c->keys[w];
        assert_true(fabs(keys / limit - 1) <= 0.01);
        release_shared_memory(c, sizeof *c);
    }
}

/* The first writer reserved its room while it was alone. */
TEST_IN_DIR(late_writer_stops_within_1_percent_of_capacity)
{
    bloomfile_filter *first = made(&shapes[1], 0);
    const struct bloomfile_info info = info_of(first);
    const double limit = (double)limit_of(&info);
    uint64_t keys;
    assert_error(bloomfile_add_digest(first, number(1, 0), NULL), 0);
    bloomfile_filter *second = opened("filter", BLOOMFILE_OPEN_WRITE);
    (void)fill(second, 1, &keys);
    keys++;
    int error = 0;
    for (uint64_t i = 1; error == 0; i++) {
        bool was_new = false;
        error = bloomfile_add_digest(first, number(1, i), &was_new);
        keys += was_new;
    }
    assert_error(error, BLOOMFILE_EFULL);
    assert_true((double)keys <= 1.01 * limit);
    bloomfile_close(second);
    bloomfile_close(first);
}

/* ---- removals by another writer */

/* Adds until EFULL; another writer then removes every key. */
static bloomfile_filter *emptied_by_other(bloomfile_filter **remover)
{
    uint64_t new_keys;
    bloomfile_filter *f = made(&shapes[6], 0);
    *remover = opened("filter", BLOOMFILE_OPEN_WRITE);
    const uint64_t next = fill(f, 100, &new_keys);
    assert_error(bloomfile_sync(f, NULL), 0);
    for (uint64_t i = 0; i < next; i++)
        assert_error(bloomfile_remove_digest(*remover, number(0, i)), 0);
    return f;
}

static void assert_room_for_all(bloomfile_filter *f)
{
    const struct bloomfile_info info = info_of(f);
    const double limit = (double)limit_of(&info);
    uint64_t new_keys;
    (void)fill(f, 1, &new_keys);
    assert_true(fabs((double)new_keys / limit - 1) <= 0.03);
}

TEST_IN_DIR(uncommitted_removals_of_another_writer_make_room)
{
    bloomfile_filter *remover, *f = emptied_by_other(&remover);
    assert_room_for_all(f);
    bloomfile_close(remover);
    bloomfile_close(f);
}

TEST_IN_DIR(removals_of_uncommitted_keys_make_room)
{
    uint64_t new_keys;
    bloomfile_filter *f = made(&shapes[6], 0), *remover = opened("filter", BLOOMFILE_OPEN_WRITE);
    const uint64_t next = fill(f, 100, &new_keys);
    for (uint64_t i = 0; i < next; i++)
        assert_error(bloomfile_remove_digest(remover, number(0, i)), 0);
    bloomfile_close(remover);
    bloomfile_close(f);
    f = opened("filter", BLOOMFILE_OPEN_WRITE);
    assert_int_equal(info_of(f).keys_estimated, 1);
    assert_int_equal(info_of(f).keys, new_keys); /* still counted, although all keys were removed */
    assert_room_for_all(f);
    bloomfile_close(f);
}

/* ---- creation */

TEST_IN_DIR(live_filter_that_cannot_reach_its_capacity_is_refused)
{
    static const struct bloomfile_params too_small[] = {
        { SHAPE, .capacity = 100000, .bits = 1 << 17, .fpr = 0.01 },
        { SHAPE, .capacity = 1000, .bits = 1024, .fpr = 1e-9 },
        { SHAPE, .bits = 512, .hashes = 1, .fpr = 1e-9 },
        { SHAPE, .capacity = 1000, .bits = 1024, .fpr = 0.01, .layout = BLOOMFILE_LAYOUT_COUNTING },
        { SHAPE, .capacity = 1000, .bits = 10240, .fpr = 0.01, .series = 10 },
    };
    for (size_t i = 0; i < ROWS(too_small); i++) {
        bloomfile_filter *f = (void *)state;
        assert_error(bloomfile_create(&f, "filter", &too_small[i], 0), BLOOMFILE_EFULL);
        assert_null(f);
        assert_error(bloomfile_create_memory(&f, &too_small[i], 0), BLOOMFILE_EFULL);
        assert_null(f);
        assert_int_equal(entries_in_dir(), 0);
        assert_error(bloomfile_create_memory(&f, &too_small[i], BLOOMFILE_OPEN_OVER_CAPACITY), 0);
        assert_error(bloomfile_add_digest(f, number(0, 0), NULL), 0);
        bloomfile_close(f);
    }
}

/* Such a file may have been made with BLOOMFILE_OPEN_OVER_CAPACITY. */
TEST_IN_DIR(a_filter_that_cannot_reach_its_capacity_is_full_at_its_limit)
{
    const struct bloomfile_params small = { SHAPE, .capacity = 100000, .bits = 1 << 17,
                                            .fpr = 0.01 };
    uint64_t new_keys;
    bloomfile_close(made(&small, BLOOMFILE_OPEN_OVER_CAPACITY));
    bloomfile_filter *f = opened("filter", BLOOMFILE_OPEN_WRITE);
    const struct bloomfile_info info = info_of(f);
    const uint64_t next = fill(f, 1, &new_keys);
    assert_int_equal(new_keys, limit_of(&info));
    assert_goes_on(f, next);
    bloomfile_close(f);
}

/* The rates of the generations add up to at most twice the target. */
TEST_IN_DIR(series_with_enough_given_bits_is_created)
{
    const struct bloomfile_params params = { SHAPE, .capacity = 1000, .bits = 20480, .fpr = 0.01,
                                             .series = 10 };
    bloomfile_close(made(&params, 0));
}

/* ---- builders */

static int build(const struct bloomfile_params *p, uint64_t keys)
{
    bloomfile_builder *b;
    assert_error(bloomfile_builder_new(&b, p), 0);
    for (uint64_t i = 0; i < keys; i++) {
        const bloomfile_digest digest = number(0, i);
        assert_error(bloomfile_builder_add_digests(b, &digest, 1), 0);
    }
    const int error = bloomfile_builder_write(b, TO_PATH("built", BLOOMFILE_TO_REPLACE));
    void *image;
    size_t size;
    assert_error(write_memory(b, &image, &size), error);
    bloomfile_free(image);
    bloomfile_builder_free(b);
    return error;
}

TEST_IN_DIR(a_builder_makes_no_filter_over_capacity)
{
    for (size_t i = 1; i < ROWS(shapes); i++) {
        if (shapes[i].capacity == 0)
            continue; /* the capacity is the number of keys added */
        bloomfile_filter *f = made(&shapes[i], 0);
        const struct bloomfile_info info = info_of(f);
        const uint64_t limit = limit_of(&info);
        bloomfile_close(f);
        assert_error(build(&shapes[i], limit), 0);
        assert_error(build(&shapes[i], limit + 1), BLOOMFILE_EFULL);
        f = opened("built", 0);
        assert_int_equal(info_of(f).keys, limit);
        bloomfile_close(f);
        assert_int_equal(entries_in_dir(), 2);
        struct bloomfile_params accepting = shapes[i];
        accepting.over_capacity = 1;
        assert_error(build(&accepting, 2 * limit), 0);
    }
}

TEST_IN_DIR(filter_without_target_is_never_over_capacity)
{
    const struct bloomfile_params sized = { SHAPE, .bits = 512, .hashes = 4 };
    assert_error(build(&sized, 5000), 0);
    const struct bloomfile_params counted = { SHAPE, .fpr = 0.3 };
    assert_error(build(&counted, 5000), 0);
}

int main(void)
{
    return run_all(NULL, NULL);
}
