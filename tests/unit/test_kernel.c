/* SPDX-License-Identifier: MIT
 * Every kernel of this processor, compared with a second implementation of the specification. */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/layout.h"
#include "kernel/dispatch.h"
#include "kernel/kernel.h"
#include "kernel/scattered/rounds.h"

static const char *const names[] = { "scalar", "avx2", "avx512", "vbmi", "neon" };
static const uint32_t layouts[] = { BLOOMFILE_LAYOUT_BLOCKED, BLOOMFILE_LAYOUT_CLASSIC,
                                    BLOOMFILE_LAYOUT_COUNTING };

/* Calls check(kernel, layout) for every available kernel. */
static void for_all_kernels(void (*check)(const struct kernel *kernel, uint32_t layout))
{
    unsigned count = 0;
    for (size_t l = 0; l < ROWS(layouts); l++)
        for (size_t i = 0; i < ROWS(names); i++) {
            const struct kernel *kernel = kernel_named(layouts[l], names[i]);
            if (kernel == NULL)
                continue;
            assert_string_equal(kernel->name, names[i]);
            check(kernel, layouts[l]);
            count++;
        }
    assert_true(count >= ROWS(layouts));
}

/* ---- bodies of random bits: every second random digest is present */

struct random_body {
    struct geometry geometry;
    struct kernel_view view;
    uint64_t m;
    uint8_t *memory; /* ends with the body, so that the sanitizers notice a read beyond it */
};

static struct random_body random_body(uint32_t layout, uint64_t m, unsigned k, size_t misalignment,
                                      uint64_t *state)
{
    struct random_body b = { .geometry = geometry_of(layout, m, EMBEDDED), .m = m };
    const size_t size = (size_t)b.geometry.need;
    const double density = pow(0.5, 1.0 / k);
    b.memory = malloc(misalignment + size);
    assert_non_null(b.memory);
    uint8_t *body = b.memory + misalignment;
    memset(body, 0, size);
    for (uint64_t x = 0; x < m; x++) {
        const bool counting = layout == BLOOMFILE_LAYOUT_COUNTING;
        const unsigned per_byte = counting ? 2 : 8, width = counting ? 4 : 1;
        const unsigned value = counting ? 1 + (unsigned)(random64(state) % 15) : 1;
        if ((double)(random64(state) >> 11) < density * 0x1p53)
            body[x / per_byte] |= (uint8_t)(value << (width * (x % per_byte)));
    }
    b.view = (struct kernel_view){
        .body = body, .units = b.geometry.units, .k = k, .ignored = kernel_ignored(k)
    };
    return b;
}

enum {
    MOST = 1100
};

static void assert_batches_agree(const struct kernel *kernel, const struct kernel_view *view,
                                 const uint64_t *digests, const bool *expected)
{
    static const size_t counts[] = { 0, 1, 2, 8, 9, 95, 96, 97, 192, 193, 511, 512, 513, MOST };
    for (size_t c = 0; c < ROWS(counts); c++) {
        const size_t n = counts[c];
        bool hits[MOST + 1];
        size_t sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += expected[i];
        memset(hits, 0xEE, sizeof hits);
        kernel->expect(view, digests, n);
        assert_int_equal(kernel->contains_many(view, digests, n, hits), sum);
        assert_memory_equal(hits, expected, n);
        assert_int_equal(*(uint8_t *)&hits[n], 0xEE);
        assert_int_equal(kernel->contains_many(view, digests, n, NULL), sum);
        memset(hits, 0xEE, sizeof hits);
        assert_int_equal(kernel->contains_ready(view, digests, n, hits), sum);
        assert_memory_equal(hits, expected, n);
        assert_int_equal(*(uint8_t *)&hits[n], 0xEE);
        assert_int_equal(kernel->contains_ready(view, digests, n, NULL), sum);
    }
}

static void assert_lookups_agree(const struct kernel *kernel, uint32_t layout, uint64_t m,
                                 unsigned k, size_t misalignment)
{
    uint64_t state = m * 64 + k, digests[MOST];
    bool expected[MOST];
    struct random_body b = random_body(layout, m, k, misalignment, &state);
    unsigned sum = 0;
    for (size_t i = 0; i < MOST; i++) {
        digests[i] = random64(&state);
        expected[i] = reference_contains(layout, b.view.body, m, k, digests[i]);
        assert_int_equal(kernel->contains(&b.view, digests[i]), expected[i]);
        if (kernel->contains_few != NULL && k <= PROBE_SLICES)
            assert_int_equal(kernel->contains_few(&b.view, digests[i]), expected[i]);
        sum += expected[i];
    }
    if (m >= 4096)
        assert_in_range(sum, MOST / 5, MOST - MOST / 5);
    assert_batches_agree(kernel, &b.view, digests, expected);
    free(b.memory);
}

static void lookups_of_every_k_agree(const struct kernel *kernel, uint32_t layout)
{
    static const uint64_t blocks[] = { 1, 13, 700 };
    for (unsigned k = 1; k <= BLOOMFILE_MAX_HASHES; k++)
        for (size_t i = 0; i < ROWS(blocks); i++)
            assert_lookups_agree(kernel, layout, 512 * blocks[i], k, k % 3 == 0 ? 0 : k);
}

static void lookups_at_every_alignment_agree(const struct kernel *kernel, uint32_t layout)
{
    static const unsigned ks[] = { 6, 7, 13 };
    for (size_t misalignment = 0; misalignment < 64; misalignment++)
        for (size_t i = 0; i < ROWS(ks); i++)
            assert_lookups_agree(kernel, layout, 512 * 9, ks[i], misalignment);
}

/* Bodies larger than the nearest cache, whose lines are prefetched. */
static void lookups_far_away_agree(const struct kernel *kernel, uint32_t layout)
{
    static const unsigned ks[] = { 2, 7, 20 };
    for (size_t i = 0; i < ROWS(ks); i++)
        assert_lookups_agree(kernel, layout, 512 * 4099, ks[i], 1);
}

/* ---- lookups in several bodies together */

static void assert_lookups_in_any_agree(const struct kernel *kernel, const unsigned *ks,
                                        const uint64_t *blocks, size_t count)
{
    struct random_body bodies[8];
    struct kernel_view views[8];
    uint64_t state = count, digests[MOST];
    bool expected[MOST] = { false }, hits[MOST + 1];
    for (size_t i = 0; i < count; i++) {
        bodies[i] =
            random_body(BLOOMFILE_LAYOUT_BLOCKED, 512 * blocks[i], ks[i], 64 * i + i % 2, &state);
        views[i] = bodies[i].view;
        views[0].ignored |= views[i].ignored;
    }
    for (size_t i = 0; i < MOST; i++) {
        digests[i] = random64(&state);
        for (size_t b = 0; b < count; b++)
            expected[i] |= reference_contains(BLOOMFILE_LAYOUT_BLOCKED, views[b].body,
                                              512 * blocks[b], ks[b], digests[i]);
        assert_int_equal(kernel->contains_any(views, count, digests[i]), expected[i]);
    }
    for (size_t n = 0; n <= MOST; n = n < 40 ? n + 1 : 2 * n) {
        size_t sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += expected[i];
        memset(hits, 0xEE, sizeof hits);
        assert_int_equal(kernel->contains_any_many(views, count, digests, n, hits), sum);
        assert_memory_equal(hits, expected, n);
        assert_int_equal(*(uint8_t *)&hits[n], 0xEE);
    }
    for (size_t i = 0; i < count; i++)
        free(bodies[i].memory);
}

static void lookups_in_several_bodies_agree(const struct kernel *kernel, uint32_t layout)
{
    static const unsigned ks[][6] = {
        { 9, 9, 9, 10, 10, 11 }, { 6, 6, 6, 6, 6, 6 }, { 3, 6, 1, 7, 13, 64 }, { 20, 2, 6, 5, 4, 3 }
    };
    static const uint64_t small[] = { 1, 13, 700, 2, 64, 5 };
    static const uint64_t large[] = { 4099, 13, 1, 300 };
    if (layout != BLOOMFILE_LAYOUT_BLOCKED) {
        assert_null(kernel->contains_any);
        return;
    }
    for (size_t i = 0; i < ROWS(ks); i++)
        for (size_t count = 1; count <= 6; count++)
            assert_lookups_in_any_agree(kernel, ks[i], small, count);
    assert_lookups_in_any_agree(kernel, ks[2], large, 4);
}

/* Bodies of every size from a bit up, each ending at the last byte of a page. */
static void lookups_in_tiny_bodies_agree(const struct kernel *kernel, uint32_t layout)
{
    static const unsigned ks[] = { 1, 7, 8, 9, 17 };
    enum {
        FEW = 20
    };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *memory =
        mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t state = layout;
    assert_ptr_not_equal(memory, MAP_FAILED);
    assert_int_equal(mprotect(memory + page, page, PROT_NONE), 0);
    for (uint64_t m = 1; m < 600 && layout != BLOOMFILE_LAYOUT_BLOCKED; m++)
        for (size_t i = 0; i < ROWS(ks); i++) {
            const struct geometry geometry = geometry_of(layout, m, EMBEDDED);
            uint8_t *body = memory + page - geometry.need;
            for (size_t at = 0; at < geometry.need; at++)
                body[at] = (uint8_t)(random64(&state) | random64(&state) | random64(&state));
            const struct kernel_view view = { .body = body, .units = geometry.units, .k = ks[i] };
            uint64_t digests[FEW];
            bool expected[FEW], hits[FEW];
            size_t sum = 0;
            for (size_t j = 0; j < FEW; j++) {
                digests[j] = random64(&state);
                expected[j] = reference_contains(layout, body, m, ks[i], digests[j]);
                assert_int_equal(kernel->contains(&view, digests[j]), expected[j]);
                sum += expected[j];
            }
            assert_int_equal(kernel->contains_many(&view, digests, FEW, hits), sum);
            assert_memory_equal(hits, expected, sizeof hits);
        }
    munmap(memory, 2 * page);
}

/* One bit at a time: each bit of a block is tested with digests that need no other bit. */
static void a_single_bit_is_found(const struct kernel *kernel, uint32_t layout)
{
    if (layout != BLOOMFILE_LAYOUT_BLOCKED)
        return;
    uint64_t state = 1;
    unsigned found = 0;
    for (unsigned i = 0; i < 20000; i++) {
        uint64_t x, digest = random64(&state);
        uint8_t body[64] = { 0 };
        reference_positions(layout, 512, 1, digest, &x);
        body[x / 8] = (uint8_t)(1u << x % 8);
        const struct kernel_view view = { .body = body, .units = 1, .k = 1 };
        assert_true(kernel->contains(&view, digest));
        body[x / 8] = (uint8_t)~body[x / 8];
        assert_false(kernel->contains(&view, digest));
        found |= 1u << x / 16;
    }
    assert_int_equal(found, UINT32_MAX);
}

/* ---- adds to a shared body */

/* Adds a key in separate steps, for comparison. */
static void add_slowly(uint32_t layout, uint8_t *body, uint64_t m, unsigned k, uint64_t digest,
                       bool *is_new, struct kernel_change *change)
{
    uint64_t positions[BLOOMFILE_MAX_HASHES];
    reference_positions(layout, m, k, digest, positions);
    *is_new = false;
    for (unsigned i = 0; i < k; i++) {
        const uint64_t x = positions[i], before = reference_value(layout, body, x);
        if (before == 0) {
            *is_new = true;
            change->ones++;
        }
        if (layout != BLOOMFILE_LAYOUT_COUNTING)
            body[x / 8] |= (uint8_t)(1u << x % 8);
        else if (before < 15)
            body[x / 2] = (uint8_t)(body[x / 2] + (1u << 4 * (x % 2)));
        change->overflow += layout == BLOOMFILE_LAYOUT_COUNTING && before == 14;
    }
    change->keys += *is_new;
}

typedef void add_function(uint8_t *body, uint64_t units, unsigned k, const uint64_t *digests,
                          size_t n, bool *was_new, struct kernel_change *change);

typedef unsigned set_function(uint8_t *body, uint64_t units, unsigned k, uint64_t digest);

/* set: the function that adds a single key, or NULL */
static void assert_adds_agree(add_function *add, set_function *set, uint32_t layout, uint64_t m,
                              unsigned k, size_t n)
{
    const struct geometry geometry = geometry_of(layout, m, EMBEDDED);
    const size_t size = (size_t)(geometry.need + 63) / 64 * 64;
    uint8_t *body = aligned_alloc(64, size), *expected = calloc(1, size);
    uint64_t state = n + k, digests[MOST];
    bool was_new[MOST], expected_new[MOST];
    struct kernel_change change = { 0 }, expected_change = { 0 };
    assert_non_null(body);
    assert_non_null(expected);
    memset(body, 0, size);
    for (size_t i = 0; i < n; i++) {
        digests[i] = i % 5 == 4 ? digests[i - 1 - random64(&state) % 4] : random64(&state);
        add_slowly(layout, expected, m, k, digests[i], &expected_new[i], &expected_change);
    }
    add(body, geometry.units, k, digests, n / 2, was_new, &change);
    for (size_t i = n / 2; i < n && set != NULL; i++) {
        const unsigned ones = set(body, geometry.units, k, digests[i]);
        was_new[i] = ones != 0;
        change.ones += ones;
        change.keys += ones != 0;
    }
    const size_t step = n <= 100 ? 1 : n;
    for (size_t i = n / 2; i < n && set == NULL; i += step)
        add(body, geometry.units, k, digests + i, step < n - i ? step : n - i, was_new + i,
            &change);
    assert_memory_equal(body, expected, size);
    assert_memory_equal(was_new, expected_new, n);
    assert_memory_equal(&change, &expected_change, sizeof change);

    const struct kernel_change none = { 0 };
    change = none;
    if (layout != BLOOMFILE_LAYOUT_COUNTING) {
        add(body, geometry.units, k, digests, n, NULL, &change);
        assert_memory_equal(&change, &none, sizeof change);
        assert_memory_equal(body, expected, size);
    }
    free(body);
    free(expected);
}

static void adds_agree(const struct kernel *kernel, uint32_t layout)
{
    static const size_t counts[] = { 0, 1, 15, 16, 17, 100, MOST };
    for (unsigned k = 1; k <= BLOOMFILE_MAX_HASHES; k++)
        for (size_t i = 0; i < ROWS(counts); i++) {
            assert_adds_agree(kernel->add_shared, NULL, layout, 512, k, counts[i]);
            assert_adds_agree(kernel->add_shared, kernel->set_shared, layout, 512 * 40, k,
                              counts[i]);
            if (kernel->add_alone != NULL)
                assert_adds_agree(kernel->add_alone, NULL, layout, 512, k, counts[i]);
            if (kernel->add_alone != NULL)
                assert_adds_agree(kernel->add_alone, kernel->set_alone, layout, 512 * 40, k,
                                  counts[i]);
        }
}

/* ---- bodies larger than all caches */

/* A third of the digests are keys. The rest lack only their last position. */
static void lookups_in_the_largest_bodies_agree(const struct kernel *kernel, uint32_t layout)
{
    enum {
        K = 7
    };
    if (kernel->density == KERNEL_LOCAL)
        return;
    const uint64_t m = (uint64_t)kernel->density * KERNEL_CACHED_BYTES + 1;
    const struct geometry geometry = geometry_of(layout, m, EMBEDDED);
    uint8_t *body = calloc(1, (size_t)geometry.need);
    assert_non_null(body);
    const struct kernel_view view = { .body = body, .units = geometry.units, .k = K };
    uint64_t state = layout, digests[MOST];
    bool ignored, expected[MOST];
    for (size_t i = 0; i < MOST; i++) {
        digests[i] = random64(&state);
        add_slowly(layout, body, m, i % 3 == 0 ? K : K - 1, digests[i], &ignored,
                   &(struct kernel_change){ 0 });
    }
    for (size_t i = 0; i < MOST; i++) {
        expected[i] = i % 3 == 0;
        assert_int_equal(kernel->contains(&view, digests[i]), expected[i]);
    }
    assert_batches_agree(kernel, &view, digests, expected);
    free(body);
}

/* ---- folding */

static void fold_slowly(uint32_t layout, uint8_t *to, const uint8_t *from, uint64_t first,
                        uint64_t count, uint64_t factor)
{
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t j = (first + i) / factor;
        if (layout == BLOOMFILE_LAYOUT_COUNTING) {
            const unsigned shift = 4 * (j % 2), old = to[j / 2] >> shift & 15;
            unsigned sum = old + (from[i / 2] >> 4 * (i % 2) & 15u);
            sum = sum < 15 ? sum : 15;
            to[j / 2] = (uint8_t)((to[j / 2] & ~(15u << shift)) | sum << shift);
        } else {
            to[j / 8] |= (uint8_t)((from[i / 8] >> i % 8 & 1) << j % 8);
        }
    }
}

/* Half of the bits are set, or a few: otherwise a large factor would set every bit. The source's
 * memory ends with its last byte. */
static void assert_folds_agree(uint32_t layout, uint64_t first, uint64_t count, uint64_t factor)
{
    enum {
        EDGE = 16 /* bytes after the result */
    };
    const uint64_t units_a_byte = layout == BLOOMFILE_LAYOUT_COUNTING ? 2 : 8;
    const size_t from_size = (size_t)((count + units_a_byte - 1) / units_a_byte);
    const size_t size = (size_t)((count + first) / factor / units_a_byte + EDGE);
    uint8_t *from = malloc(from_size > 0 ? from_size : 1), *to = malloc(size);
    uint8_t *expected = malloc(size);
    uint64_t state = first + count + factor;
    assert_non_null(from);
    assert_non_null(to);
    assert_non_null(expected);
    for (unsigned sparse = 0; sparse < 2; sparse++) {
        for (size_t i = 0; i < from_size; i++) {
            uint64_t bits = random64(&state);
            if (sparse)
                bits &= bits >> 8 & bits >> 16 & bits >> 24 & bits >> 32;
            from[i] = (uint8_t)bits;
        }
        for (size_t i = 0; i < size; i++)
            expected[i] = to[i] = (uint8_t)(random64(&state) & random64(&state));
        for (uint64_t i = count; i % units_a_byte != 0; i++) /* padded with zeros */
            from[i / units_a_byte] &= (uint8_t)((1u << i % units_a_byte * (8 / units_a_byte)) - 1);
        fold_slowly(layout, expected, from, first, count, factor);
        kernel_named(layout, "scalar")->fold(to, from, first, count, factor);
        assert_memory_equal(to, expected, size);
    }
    free(from);
    free(to);
    free(expected);
}

static void fold_kernels_agree(void **state)
{
    static const uint32_t bitwise[] = { BLOOMFILE_LAYOUT_CLASSIC, BLOOMFILE_LAYOUT_COUNTING };
    for (uint64_t factor = 2; factor < 80; factor++) {
        for (uint64_t i = 0; i < 40; i++) {
            const uint64_t most = 64 * factor + i * 97 < 6000 ? 64 * factor + i * 97 : 6000;
            for (unsigned l = 0; l < ROWS(bitwise); l++) {
                assert_folds_agree(bitwise[l], i * i, most, factor);
                assert_folds_agree(bitwise[l], factor * 64 - i, 3 * most / 4, factor);
            }
        }
    }
    static const uint64_t factors[] = { 2, 3, 4, 5, 12, 15, 64, 120, 499, 500, 9000 };
    for (size_t i = 0; i < ROWS(factors); i++) /* more than a single step folds */
        for (unsigned l = 0; l < ROWS(bitwise); l++)
            for (uint64_t first = 0; first < 4; first++)
                assert_folds_agree(bitwise[l], first * 8, 200000 + first, factors[i]);
    for (uint64_t count = 0; count < 300; count++) {
        assert_folds_agree(BLOOMFILE_LAYOUT_CLASSIC, count % 10 * 8, count, 1);
        assert_folds_agree(BLOOMFILE_LAYOUT_COUNTING, count % 10 * 2, count, 1);
    }
}

/* ---- choice */

static void kernels_agree_for_every_k(void **state)
{
    for_all_kernels(lookups_of_every_k_agree);
}

static void kernels_agree_at_every_alignment(void **state)
{
    for_all_kernels(lookups_at_every_alignment_agree);
}

static void kernels_agree_on_bodies_larger_than_the_cache(void **state)
{
    for_all_kernels(lookups_far_away_agree);
}

static void kernels_agree_on_the_largest_bodies(void **state)
{
    for_all_kernels(lookups_in_the_largest_bodies_agree);
}

static void kernels_agree_on_tiny_bodies(void **state)
{
    for_all_kernels(lookups_in_tiny_bodies_agree);
}

static void kernels_agree_on_batches_over_several_bodies(void **state)
{
    for_all_kernels(lookups_in_several_bodies_agree);
}

static void kernels_find_each_single_bit(void **state)
{
    for_all_kernels(a_single_bit_is_found);
}

static void all_kernels_add_alike(void **state)
{
    for_all_kernels(adds_agree);
}

/* The child process has not chosen a kernel yet. */
static void assert_chosen(const char *wanted, uint32_t layout, const struct kernel *kernel)
{
    pid_t child = fork();
    if (child == 0) {
        bool named = setenv("BLOOMFILE_KERNEL", wanted, 1) == 0 && kernel_for(layout) == kernel;
        /* The environment is not read again. */
        bool kept = setenv("BLOOMFILE_KERNEL", "scalar", 1) == 0 && kernel_for(layout) == kernel;
        _exit(named && kept ? 0 : 1);
    }
    assert_child_succeeds(child);
}

static void environment_variable_selects_the_kernel_and_is_read_once(void **state)
{
    const struct kernel *fastest = kernel_named(BLOOMFILE_LAYOUT_BLOCKED, NULL);
    for (size_t i = 0; i < ROWS(names); i++) {
        const struct kernel *kernel = kernel_named(BLOOMFILE_LAYOUT_BLOCKED, names[i]);
        assert_chosen(names[i], BLOOMFILE_LAYOUT_BLOCKED, kernel != NULL ? kernel : fastest);
    }
    assert_null(kernel_named(BLOOMFILE_LAYOUT_BLOCKED, "abacus"));
    assert_chosen("abacus", BLOOMFILE_LAYOUT_BLOCKED, fastest);
    assert_chosen("", BLOOMFILE_LAYOUT_BLOCKED, fastest);
    for (size_t i = 0; i < ROWS(layouts); i++)
        assert_chosen("scalar", layouts[i], kernel_named(layouts[i], "scalar"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            environment_variable_selects_the_kernel_and_is_read_once), /* choose first */
        cmocka_unit_test(kernels_agree_for_every_k),
        cmocka_unit_test(kernels_agree_at_every_alignment),
        cmocka_unit_test(kernels_agree_on_bodies_larger_than_the_cache),
        cmocka_unit_test(kernels_agree_on_the_largest_bodies),
        cmocka_unit_test(kernels_agree_on_tiny_bodies),
        cmocka_unit_test(kernels_agree_on_batches_over_several_bodies),
        cmocka_unit_test(kernels_find_each_single_bit),
        cmocka_unit_test(all_kernels_add_alike),
        cmocka_unit_test(fold_kernels_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
