/* SPDX-License-Identifier: MIT
 * Many keys at once set the bits that one key after the other sets, on every processor. */
#include "support.h"

#include <string.h>

#include "format/probe.h"
#include "kernel/dispatch.h"
#include "kernel/kernel.h"

#define BLOCKS 40
#define FIRST  30 /* block of the part */
#define PART   (BLOCKS - FIRST)
#define KEYS   600 /* enough for the code for many */

static uint64_t digests[KEYS];

static int choose_digests(void **state)
{
    (void)state;
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
            kernel->add_part(one_by_one, FIRST, BLOCKS, BLOCKS, k, &digests[i], 1);
        kernel->add_part(at_once + 1, FIRST, BLOCKS, BLOCKS, k, digests, n); /* not aligned */
        assert_memory_equal(at_once + 1, one_by_one, PART * 64);
        for (size_t i = 0; i < n; i++) {
            uint64_t x[BLOOMFILE_MAX_HASHES];
            reference_positions(BLOOMFILE_BLOCKED, BLOCKS * 512, k, digests[i], x);
            for (unsigned j = 0; j < k; j++)
                assert_true(one_by_one[x[j] / 8 - FIRST * 64] >> x[j] % 8 & 1);
        }
    }
}

static void many_keys_set_what_each_sets(void **state)
{
    (void)state;
    static const char *const names[] = { "scalar", "avx2", "avx512", "neon" };
    for (size_t i = 0; i < ROWS(names); i++) {
        const struct kernel *kernel = kernel_named(BLOOMFILE_BLOCKED, names[i]);
        for (unsigned k = 1; kernel != NULL && k <= BLOOMFILE_MAX_HASHES; k++)
            assert_many_as_each(kernel, k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_keys_set_what_each_sets),
    };
    return cmocka_run_group_tests(tests, choose_digests, NULL) != 0;
}
