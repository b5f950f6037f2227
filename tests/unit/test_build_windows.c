/* SPDX-License-Identifier: MIT
 * Builders of classic and counting filters with so little memory that positions are written to a
 * file. The bytes are those of a plain builder, digests are not read again for each part of the
 * body, and errors of the positions' file are reported. */
#include "support.h"

#include "build/deferred.h"
#include "build/digest_buffer.h"
#include "build/fill.h"
#include "build/runs.h"
#include "build/solver.h"
#include "faults.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KIB  ((uint64_t)1 << 10)
#define MIB  ((uint64_t)1 << 20)
#define KEYS 150000

static uint64_t digests[KEYS];

static int fill_digests(void **state)
{
    uint64_t random = 47;
    for (size_t i = 0; i < KEYS; i++)
        digests[i] = random64(&random);
    return enter_temp_dir(state);
}

/* Large for their keys, so that there are many parts. */
static const struct bloomfile_params kinds[] = {
    { .layout = BLOOMFILE_LAYOUT_CLASSIC, .bits = 8 * 4 * MIB + 1, .hashes = 1 },
    { .layout = BLOOMFILE_LAYOUT_CLASSIC, .bits = 8 * 16 * MIB, .hashes = 7 },
    { .layout = BLOOMFILE_LAYOUT_CLASSIC, .bits = 8 * 9 * MIB - 77, .hashes = 13 },
    { .layout = BLOOMFILE_LAYOUT_COUNTING, .bits = 2 * 4 * MIB + 1, .hashes = 3 },
    { .layout = BLOOMFILE_LAYOUT_COUNTING, .bits = 2 * 20 * MIB - 4095, .hashes = 30 },
};

static const struct how {
    uint32_t threads;
    uint64_t memory;
} hows[] = { { 0, MIB }, { 4, MIB }, { 0, 3 * MIB }, { 3, 5 * MIB } };

static bloomfile_builder *builder_with(struct bloomfile_params params, struct how how,
                                       const uint64_t *values)
{
    params.threads = how.threads;
    params.memory = how.memory;
    params.spool = ".";
    bloomfile_builder *b = new_builder(params);
    assert_error(bloomfile_builder_add_digests(b, values, KEYS), 0);
    return b;
}

static struct bytes plainly_built(struct bloomfile_params params, const uint64_t *values)
{
    bloomfile_builder *b = builder_with(params, (struct how){ 0, 0 }, values);
    struct bytes file = finish_file(b);
    bloomfile_builder_free(b);
    return file;
}

static struct parts parts_of(struct bloomfile_params params, struct how how)
{
    struct header h = {
        .layout = params.layout, .m = params.bits, .k = params.hashes, .header_size = IN_FILE
    };
    const unsigned threads = how.threads > 1 ? how.threads : 1;
    const size_t share = (size_t)how.memory / 2 / threads;
    struct fill_plan plan = { .threads = threads, .room = share / 24, .part = share / 2 };
    return parts_plan(&h, KEYS, &plan, false);
}

TEST(little_memory_makes_the_plan_use_windows)
{
    for (size_t k = 0; k < ROWS(kinds); k++) {
        for (size_t h = 0; h < ROWS(hows); h++) {
            struct parts p = parts_of(kinds[k], hows[h]);
            if (hows[h].memory == MIB)
                assert_true(p.window > 0);
            if (p.window > 0)
                assert_in_range((p.window + 1) * p.buffer, 1, hows[h].memory / 2 / p.threads);
        }
    }
    assert_true(parts_of(kinds[4], hows[0]).window < parts_of(kinds[4], hows[0]).count);
    assert_true(parts_of(kinds[1], (struct how){ 3, 16 * MIB }).window == 0);
}

TEST(deferred_positions_make_the_same_bytes)
{
    for (size_t k = 0; k < ROWS(kinds); k++) {
        struct bytes expected = plainly_built(kinds[k], digests);
        for (size_t h = 0; h < ROWS(hows); h++) {
            bloomfile_builder *b = builder_with(kinds[k], hows[h], digests);
            assert_bytes(finish_file(b), expected);
            assert_bytes(finish_file(b), expected);
            bloomfile_builder_free(b);
        }
        free(expected.data);
    }
}

TEST(digests_may_be_spread_unevenly_and_be_repeated)
{
    uint64_t *values = calloc(KEYS, sizeof *values);
    assert_non_null(values);
    for (unsigned shape = 0; shape < 3; shape++) {
        for (uint64_t i = 0; i < KEYS; i++)
            values[i] = shape == 0 ? i : shape == 1 ? UINT64_MAX - i / 2 : digests[i % 1000];
        for (size_t k = 0; k < ROWS(kinds); k += 3) {
            struct bytes expected = plainly_built(kinds[k], values);
            bloomfile_builder *b = builder_with(kinds[k], hows[shape], values);
            assert_bytes(finish_file(b), expected);
            bloomfile_builder_free(b);
            free(expected.data);
        }
    }
    free(values);
}

static unsigned reads_of(struct bloomfile_params params)
{
    bloomfile_builder *b = builder_with(params, hows[0], digests);
    faults_begin(&(struct faults){ 0 });
    assert_error(bloomfile_builder_write(b, TO_PATH("built", 0)), 0);
    faults_end();
    bloomfile_builder_free(b);
    assert_int_equal(unlink("built"), 0);
    return fault_calls(ON_pread64);
}

/* Each part has 256 KiB: a body of 16 MiB would take 64 passes. */
TEST(digests_are_read_once_per_window_and_not_per_part)
{
    struct bloomfile_params small = kinds[1];
    small.bits = 8 * 100 * KIB;
    const unsigned once = reads_of(small);
    assert_in_range(reads_of(kinds[1]), once, 8 * once);
}

/* ---- the file of positions */

/* Small, so that it can be built often. */
static const struct bloomfile_params few = { .layout = BLOOMFILE_LAYOUT_COUNTING,
                                             .bits = 2 * 4 * MIB,
                                             .hashes = 2 };

static const struct {
    enum fault_call call;
    int error;
} rows[] = {
    { ON_calloc, ENOMEM },  { ON_malloc, ENOMEM },   { ON_aligned_alloc, ENOMEM },
    { ON_realloc, ENOMEM }, { ON_openat64, EMFILE }, { ON_pwrite64, ENOSPC },
    { ON_pread64, ENXIO }, /* EIO could also mean bytes that changed */
};

TEST(each_failed_call_returns_its_error_and_a_retry_succeeds)
{
    struct bytes expected = plainly_built(few, digests);
    const size_t descriptors = open_descriptors();
    for (uint32_t threads = 1; threads <= 2; threads++) {
        struct how how = { threads, threads * MIB };
        assert_int_equal(parts_of(few, how).threads, threads);
        bloomfile_builder *b = builder_with(few, how, digests);
        assert_bytes(finish_file(b), expected);
        for (size_t i = 0; i < ROWS(rows); i++) {
            unsigned nth = 1;
            for (;; nth += 1 + nth / 2) {
                struct faults faults = once(rows[i].call, nth, rows[i].error);
                faults_begin(&faults);
                int error = bloomfile_builder_write(b, TO_PATH("built", 0));
                faults_end();
                if (error == 0)
                    break;
                assert_error(error, rows[i].error);
                assert_int_equal(entries_in_dir(), 0);
            }
            assert_true(nth > 1);
            assert_file_holds("built", expected.data, expected.size);
            assert_int_equal(unlink("built"), 0);
        }
        bloomfile_builder_free(b);
        assert_int_equal(open_descriptors(), descriptors);
    }
    free(expected.data);
}

static bool result_has_no_name;

/* The newest open file without a name; the files of the builder and of the result are older. */
static int file_of_positions(void)
{
    int last = -1, count = 0;
    for (int fd = 3; fd < 100; fd++) {
        if (has_no_name(fd)) {
            last = fd;
            count++;
        }
    }
    return count == (result_has_no_name ? 3 : 2) ? last : -1;
}

static void zero(uint8_t *page)
{
    memset(page, 0, 4096);
}

static void flip(uint8_t *page)
{
    page[1000] ^= 4;
}

static void shift(uint8_t *page)
{
    memmove(page, page + 8, 4096 - 8);
}

static void (*damage)(uint8_t *page);
static off_t damaged_at;

/* Once the page is written. */
static void damage_in_time(enum fault_call call)
{
    uint8_t page[4096];
    int fd = call == ON_pread64 && damage != NULL ? file_of_positions() : -1;
    if (fd < 0 || pread(fd, page, sizeof page, damaged_at) != sizeof page)
        return;
    damage(page);
    assert_int_equal(pwrite(fd, page, sizeof page, damaged_at), sizeof page);
    damage = NULL;
}

/* An asynchronous write error leaves such changes. */
TEST(changed_positions_in_the_file_are_detected)
{
    static void (*const damages[])(uint8_t *) = { zero, flip, shift };
    bloomfile_builder *b = builder_with(few, hows[0], digests);
    result_has_no_name = has_unnamed_files();
    for (size_t i = 0; i < ROWS(damages); i++) {
        for (damaged_at = 0; damaged_at < 10 * 65536; damaged_at += 65536) {
            damage = damages[i];
            faults_begin(&(struct faults){ .at_each_call = damage_in_time });
            int error = bloomfile_builder_write(b, TO_PATH("built", 0));
            faults_end();
            assert_null(damage);
            assert_error(error, EIO);
            assert_int_equal(entries_in_dir(), 0);
        }
    }
    assert_error(bloomfile_builder_write(b, TO_PATH("built", 0)), 0);
    assert_int_equal(unlink("built"), 0);
    bloomfile_builder_free(b);
}

/* ---- sizes */

/* Bodies of 2^35 bits (2^32 bytes) without a memory limit, and the largest bodies. */
TEST(parts_of_the_largest_bodies_fit_into_the_address_space)
{
    static const uint64_t bits[] = { 1ULL << 35, (1ULL << 35) + 1, BLOOMFILE_MAX_BITS };
    for (uint32_t layout = BLOOMFILE_LAYOUT_BLOCKED; layout <= BLOOMFILE_LAYOUT_COUNTING;
         layout++) {
        for (size_t i = 0; i < ROWS(bits); i++) {
            for (uint64_t memory = 0; memory <= 8 * MIB; memory += MIB) {
                struct header h = {
                    .layout = layout, .m = bits[i], .k = 64, .header_size = IN_FILE
                };
                struct fill_plan plan = { .threads = 3, .room = 5000, .part = (size_t)memory / 6 };
                struct parts p = parts_plan(&h, UINT64_MAX / 16, &plan, false);
                const uint64_t size = geometry_of(layout, h.m, IN_FILE).body_size;
                assert_true(p.size > 0 && p.size <= SIZE_MAX / 4);
                assert_true(p.count == (size + p.size - 1) / p.size);
                assert_true(p.threads >= 1 && p.threads <= 3);
            }
        }
    }
}

static struct parts local_parts(uint32_t layout, unsigned threads, uint64_t memory)
{
    const struct header h = { .layout = layout, .m = 8 * 64 * MIB, .k = 7, .header_size = IN_FILE };
    const struct fill_plan plan = { .threads = threads, .room = 1000, .part = (size_t)memory };
    return parts_plan(&h, 64 * MIB, &plan, false);
}

/* The limit covers the memory of all threads. */
TEST(parts_of_layouts_with_local_positions_fit_into_the_memory)
{
    const uint64_t keys_of_page = 64 * MIB / (64 * MIB / 4096);
    for (unsigned threads = 1; threads <= 4; threads++) {
        const struct parts blocked = local_parts(BLOOMFILE_LAYOUT_BLOCKED, threads, 0);
        assert_true(blocked.window == 0 && blocked.size >= 32 * KIB);
        for (uint64_t memory = 32 * KIB; memory <= 4 * MIB; memory *= 2) {
            const struct parts p = local_parts(BLOOMFILE_LAYOUT_BLOCKED, threads, memory);
            assert_true(p.window == 0 && p.size <= memory && p.threads == threads);
            const struct parts r = local_parts(BLOOMFILE_LAYOUT_RIBBON, threads, memory);
            const uint64_t all = threads * (memory + 1000 * READER_EACH), least = 4096;
            const uint64_t each = solver_needs(keys_of_page, r.size / 4096) + 1000 * READER_EACH;
            assert_true(r.window == 0 && r.size >= least);
            assert_true(r.threads * each <= all || (r.threads == 1 && r.size == least));
        }
    }
    assert_true(solver_needs(10, 1) < solver_needs(keys_of_page, 1));
    assert_true(solver_needs(keys_of_page, 1) < solver_needs(keys_of_page, 2));
    assert_true(solver_needs(1 << 20, 1) == solver_needs(1 << 30, 1));
}

TEST(windows_and_buffers_stay_within_their_limits)
{
    for (size_t k = 0; k < ROWS(kinds); k++)
        for (uint64_t memory = MIB; memory <= 32 * MIB; memory *= 2) {
            const struct parts p = parts_of(kinds[k], (struct how){ 1, memory });
            assert_true(p.window <= p.count && p.size <= memory / 2);
            if (p.window > 0)
                assert_in_range(p.buffer, DEFERRED_BUFFER_LEAST, DEFERRED_BUFFER_MOST);
        }
}

TEST(buffer_stays_within_its_planned_size)
{
    const struct digest_buffer_plan plan = { .most = 5000 };
    struct digest_buffer buffer = { 0 };
    assert_error(digest_buffer_reserve(&buffer, &plan, 3000), 0);
    digest_buffer_add(&buffer, digests, 3000);
    assert_error(digest_buffer_reserve(&buffer, &plan, 2000), 0);
    digest_buffer_add(&buffer, digests + 3000, 2000);
    assert_int_equal(buffer.room, 5000);
    assert_memory_equal(buffer.values, digests, 5000 * sizeof *digests);
    digest_buffer_free(&buffer);

    buffer = (struct digest_buffer){ 0 };
    assert_error(
        digest_buffer_reserve(&buffer, &(struct digest_buffer_plan){ .most = 20000 }, 20000), 0);
    assert_null(buffer.partitioner); /* its buffers would take a megabyte */
    digest_buffer_free(&buffer);
}

int main(void)
{
    return run_all(fill_digests, leave_temp_dir);
}
