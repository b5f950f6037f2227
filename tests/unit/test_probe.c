/* SPDX-License-Identifier: MIT
 * The high half of a product without 128-bit integers, compared with the version that uses them. */
#include "support.h"

#include "format/probe.h"

TEST(portable_multiplication_agrees_with_the_native_one)
{
    static const uint64_t edges[] = {
        0, 1, UINT32_MAX, 1ULL << 32, (1ULL << 60) - 1, 1ULL << 63, UINT64_MAX
    };
    for (size_t i = 0; i < ROWS(edges); i++)
        for (size_t j = 0; j < ROWS(edges); j++)
            assert_int_equal(probe_mulhi_portable(edges[i], edges[j]),
                             probe_reduce(edges[i], edges[j]));
    uint64_t random = 1;
    for (unsigned i = 0; i < 1000000; i++) {
        uint64_t a = random64(&random), b = random64(&random) >> i % 64;
        assert_int_equal(probe_mulhi_portable(a, b), probe_reduce(a, b));
    }
}

int main(void)
{
    return run_all(NULL, NULL);
}
