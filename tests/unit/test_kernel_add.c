/* SPDX-License-Identifier: MIT
 * Adds of many keys together set the same bits as single adds, on every processor. */
#include "support.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/probe.h"
#include "kernel/dispatch.h"
#include "kernel/kernel.h"

#define BLOCKS 40
#define FIRST  30 /* first block of the part */
#define PART   (BLOCKS - FIRST)
#define KEYS   600 /* enough for the path of large batches */

static uint64_t digests[KEYS];

static const char *const names[] = { "scalar", "avx2", "avx512", "vbmi", "neon" };

static int choose_digests(void **state)
{
    uint64_t random = 44;
    for (size_t i = 0; i < KEYS;) {
        digests[i] = random64(&random);
        i += probe_reduce(digests[i], BLOCKS) >= FIRST;
    }
    return 0;
}

static void assert_many_as_each(const struct kernel *kernel, unsigned k)
{
    for (size_t n = 0; n <= KEYS; n += 100) {
        uint8_t one_by_one[PART * 64 + 1] = { 0 }, at_once[PART * 64 + 1] = { 0 };
        for (size_t i = 0; i < n; i++)
            kernel->add_part(one_by_one, FIRST, BLOCKS, BLOCKS, k, &digests[i], 1, NULL);
        kernel->add_part(at_once + 1, FIRST, BLOCKS, BLOCKS, k, digests, n, NULL); /* not aligned */
        assert_memory_equal(at_once + 1, one_by_one, PART * 64);
        for (size_t i = 0; i < n; i++) {
            uint64_t x[BLOOMFILE_MAX_HASHES];
            reference_positions(BLOOMFILE_LAYOUT_BLOCKED, BLOCKS * 512, k, digests[i], x);
            for (unsigned j = 0; j < k; j++)
                assert_true(one_by_one[x[j] / 8 - FIRST * 64] >> x[j] % 8 & 1);
        }
    }
}

TEST(batch_add_sets_the_bits_of_single_adds)
{
    for (size_t i = 0; i < ROWS(names); i++) {
        const struct kernel *kernel = kernel_named(BLOOMFILE_LAYOUT_BLOCKED, names[i]);
        for (unsigned k = 1; kernel != NULL && k <= BLOOMFILE_MAX_HASHES; k++)
            assert_many_as_each(kernel, k);
    }
}

/* Returns whether an add of this digest alone sets a bit. */
static bool sets_one(const struct kernel *kernel, uint8_t *part, unsigned k, uint64_t digest)
{
    uint8_t before[PART * 64];
    memcpy(before, part, sizeof before);
    kernel->add_part(part, FIRST, BLOCKS, BLOCKS, k, &digest, 1, NULL);
    return memcmp(before, part, sizeof before) != 0;
}

/* The part fills up. In a large batch, the digests that set no bit are idle; in a small batch,
 * all. */
static void assert_idle(const struct kernel *kernel, unsigned k)
{
    uint8_t one_by_one[PART * 64] = { 0 }, at_once[PART * 64] = { 0 };
    uint64_t noted[2 * KEYS + 1], twice[2 * KEYS], expected[2 * KEYS];
    size_t count = 0;
    for (size_t i = 0; i < 2 * KEYS; i++) { /* repeats next to each other, then far apart */
        twice[i] = digests[i < KEYS ? i / 2 * 2 : i - KEYS];
        if (!sets_one(kernel, one_by_one, k, twice[i]))
            expected[count++] = twice[i];
    }
    for (size_t most = 0; most <= 2 * KEYS; most += 300) {
        struct kernel_idle idle = { .digests = noted, .most = most };
        memset(at_once, 0, sizeof at_once);
        memset(noted, 77, sizeof noted);
        kernel->add_part(at_once, FIRST, BLOCKS, BLOCKS, k, twice, 2 * KEYS, &idle);
        assert_memory_equal(at_once, one_by_one, sizeof at_once);
        assert_int_equal(idle.count, count);
        assert_memory_equal(noted, expected, (most < count ? most : count) * sizeof *noted);
        assert_int_equal(noted[most], 0x4d4d4d4d4d4d4d4d);
        idle = (struct kernel_idle){ .digests = noted, .most = 2 * KEYS };
        kernel->add_part(at_once, FIRST, BLOCKS, BLOCKS, k, twice, 100, &idle);
        assert_int_equal(idle.count, 100);
        assert_memory_equal(noted, twice, 100 * sizeof *noted);
    }
}

TEST(kernel_reports_digests_that_set_no_bit)
{
    for (size_t i = 0; i < ROWS(names); i++) {
        const struct kernel *kernel = kernel_named(BLOOMFILE_LAYOUT_BLOCKED, names[i]);
        for (unsigned k = 1; kernel != NULL && k <= PROBE_SLICES; k++)
            assert_idle(kernel, k);
    }
}

/* Keys are added singly to a shared body. */
TEST(a_key_is_new_if_it_sets_a_bit)
{
    for (size_t i = 0; i < ROWS(names); i++) {
        const struct kernel *kernel = kernel_named(BLOOMFILE_LAYOUT_BLOCKED, names[i]);
        static _Alignas(64) uint8_t body[BLOCKS * 64], before[BLOCKS * 64];
        struct kernel_change change = { 0 };
        int64_t keys = 0;
        memset(body, 0, sizeof body);
        for (size_t d = 0; kernel != NULL && d < KEYS; d++) {
            bool is_new;
            memcpy(before, body, sizeof body);
            kernel->add_shared(body, BLOCKS, 3, &digests[d], 1, &is_new, &change);
            assert_int_equal(is_new, memcmp(before, body, sizeof body) != 0);
            keys += is_new;
            assert_int_equal(change.keys, keys);
        }
        assert_true(kernel == NULL || (keys > 0 && keys < KEYS));
    }
}

/* Not even to prefetch its line, in a part larger than the cache. */
TEST(nothing_is_read_after_the_last_digest)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), part = (size_t)1 << 25;
    const int private = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    uint8_t *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, private, -1, 0);
    uint8_t *body = mmap(NULL, part, PROT_READ | PROT_WRITE, private, -1, 0);
    assert_true(pages != MAP_FAILED && body != MAP_FAILED);
    assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
    uint64_t *const end = (void *)(pages + page), random = 45;
    const size_t most = page / sizeof *end < KEYS ? page / sizeof *end : KEYS;
    for (size_t i = 1; i <= most; i++)
        end[-(ptrdiff_t)i] = random64(&random);
    for (size_t i = 0; i < ROWS(names); i++) {
        const struct kernel *kernel = kernel_named(BLOOMFILE_LAYOUT_BLOCKED, names[i]);
        struct kernel_change change = { 0 };
        for (size_t n = 1; kernel != NULL && n <= most; n++)
            kernel->add_shared(body, part / 64, 3, end - n, n, NULL, &change);
        for (size_t n = most - 70; kernel != NULL && n <= most; n++)
            kernel->add_part(body, 0, part / 64, part / 64, 3, end - n, n, NULL);
    }
    assert_int_equal(munmap(pages, 2 * page), 0);
    assert_int_equal(munmap(body, part), 0);
}

/* Positions outside the part are ignored. */
TEST(part_of_a_scattered_body_gets_only_its_own_positions)
{
    enum {
        SIZE = 4096,
        PARTS = 4,
        STEP = SIZE / PARTS
    };
    static const unsigned units_per_byte[] = {
        [BLOOMFILE_LAYOUT_CLASSIC] = 8, [BLOOMFILE_LAYOUT_COUNTING] = 2
    };
    static uint8_t whole[SIZE], parts[SIZE + 1];
    for (uint32_t layout = BLOOMFILE_LAYOUT_CLASSIC; layout <= BLOOMFILE_LAYOUT_COUNTING;
         layout++) {
        const struct kernel *kernel = kernel_named(layout, "scalar");
        const uint64_t units = (uint64_t)SIZE * units_per_byte[layout], some = units / PARTS;
        memset(whole, 0, sizeof whole);
        kernel->add_part(whole, 0, units, units, 7, digests, KEYS, NULL);
        for (unsigned p = PARTS; p-- > 0;) { /* backwards, to show writes beyond a part */
            memset(parts + p * STEP, 0, STEP);
            kernel->add_part(parts + p * STEP, p * some, (p + 1) * some, units, 7, digests, KEYS,
                             NULL);
        }
        assert_memory_equal(parts, whole, SIZE);
        assert_int_equal(parts[SIZE], 0);
    }
}

int main(void)
{
    return run_all(choose_digests, NULL);
}
