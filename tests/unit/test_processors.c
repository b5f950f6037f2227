/* SPDX-License-Identifier: MIT
 * Older processors: the features that GCC's run-time support detected are removed in turn. */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/dispatch.h"
#include "kernel/kernel.h"

#ifdef __x86_64__

/* The variable of libgcc and compiler-rt that __builtin_cpu_supports() reads. */
extern struct {
    unsigned vendor, type, subtype, features[1];
} __cpu_model __attribute__((visibility("hidden")));

enum feature {
    POPCNT = 2,
    AVX2 = 10,
    AVX512F = 15,
    BMI = 16,
    BMI2 = 17,
    AVX512VL = 20,
    AVX512BW = 21,
    AVX512DQ = 22,
    AVX512VBMI = 26,
    AVX512VPOPCNTDQ = 30
};

static unsigned before;

static int remember(void **state)
{
    __builtin_cpu_init();
    before = __cpu_model.features[0];
    return 0;
}

static int restore(void **state)
{
    __cpu_model.features[0] = before;
    return 0;
}

static const char *fastest(void)
{
    return kernel_named(BLOOMFILE_LAYOUT_BLOCKED, NULL)->name;
}

TEST_WITH(a_kernel_is_chosen_that_the_processor_can_run, remember, restore)
{
    static const enum feature needed[] = { AVX2, BMI, BMI2, POPCNT };
    if ((before >> AVX512VBMI & 1) != 0 && __builtin_cpu_supports("avx512bitalg"))
        assert_string_equal(fastest(), "vbmi");
    __cpu_model.features[0] &= ~(1u << AVX512VBMI);
    assert_null(kernel_named(BLOOMFILE_LAYOUT_BLOCKED, "vbmi"));
    if ((before >> AVX512F & 1) != 0)
        assert_string_equal(fastest(), "avx512");
    __cpu_model.features[0] &= ~(1u << AVX512F);
    assert_null(kernel_named(BLOOMFILE_LAYOUT_BLOCKED, "avx512"));
    for (size_t i = 0; i < ROWS(needed); i++) {
        const unsigned all = __cpu_model.features[0];
        __cpu_model.features[0] &= ~(1u << needed[i]);
        assert_string_equal(fastest(), "scalar");
        assert_null(kernel_named(BLOOMFILE_LAYOUT_BLOCKED, "avx2"));
        __cpu_model.features[0] = before & ~(1u << needed[i]);
        assert_string_equal(fastest(), "scalar");
        __cpu_model.features[0] = all;
    }
}

TEST_WITH(kernels_of_other_layouts_need_more_avx512_features, remember, restore)
{
    static const uint32_t layouts[] = { BLOOMFILE_LAYOUT_CLASSIC, BLOOMFILE_LAYOUT_COUNTING };
    static const enum feature needed[] = { AVX512F, AVX512VL, AVX512BW, AVX512DQ, POPCNT };
    unsigned all = 0;
    for (size_t i = 0; i < ROWS(needed); i++)
        all |= 1u << needed[i];
    for (size_t l = 0; l < ROWS(layouts); l++) {
        const bool has_all = (before & all) == all;
        assert_string_equal(kernel_named(layouts[l], NULL)->name, has_all ? "avx512" : "scalar");
        for (size_t i = 0; i < ROWS(needed); i++) {
            __cpu_model.features[0] = before & ~(1u << needed[i]);
            assert_string_equal(kernel_named(layouts[l], NULL)->name, "scalar");
            __cpu_model.features[0] = before;
        }
    }
}

TEST_WITH(avx512_ribbon_kernel_needs_each_of_its_processor_features, remember, restore)
{
    static const enum feature needed[] = { AVX512F, AVX512VL, AVX512BW, AVX512DQ, AVX512VPOPCNTDQ };
    for (size_t i = 0; i < ROWS(needed); i++) {
        __cpu_model.features[0] = before & ~(1u << needed[i]);
        assert_string_not_equal(kernel_named(BLOOMFILE_LAYOUT_RIBBON, NULL)->name, "avx512");
        assert_null(kernel_named(BLOOMFILE_LAYOUT_RIBBON, "avx512"));
        __cpu_model.features[0] = before;
    }
}

TEST_WITH(tallies_agree_without_popcount_instructions, remember, restore)
{
    static void (*const tallies[])(const uint8_t *, size_t, struct kernel_tally *) = {
        kernel_tally_classic, kernel_tally_counting, kernel_tally_blocked
    };
    static uint8_t bytes[64 * 20 + 8];
    uint64_t random = 3;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)random64(&random);
    for (size_t i = 0; i < ROWS(tallies); i++) {
        for (size_t from = 0; from < 8; from++) {
            for (size_t size = 0; size <= 64 * 20;
                 size += tallies[i] == kernel_tally_blocked ? 64 : 9) {
                struct kernel_tally wide = { 0 }, with = { 0 }, without = { 0 };
                tallies[i](bytes + from, size, &wide);
                __cpu_model.features[0] &= ~(1u << AVX512VPOPCNTDQ);
                tallies[i](bytes + from, size, &with);
                __cpu_model.features[0] &= ~(1u << POPCNT);
                tallies[i](bytes + from, size, &without);
                __cpu_model.features[0] = before;
                assert_memory_equal(&with, &without, sizeof with);
                assert_memory_equal(&wide, &without, sizeof with);
            }
        }
    }
}

typedef void fold_function(uint8_t *to, const uint8_t *from, uint64_t first, uint64_t count,
                           uint64_t factor);

enum {
    SIZE = 5000
};

static void assert_narrower_folds(fold_function *fold, const uint8_t *from, uint64_t factor)
{
    uint8_t with[SIZE] = { 0 }, without[SIZE] = { 0 };
    fold(with, from, 0, 2 * SIZE, factor);
    __cpu_model.features[0] &= ~(1u << AVX2);
    fold(without, from, 0, 2 * SIZE, factor);
    __cpu_model.features[0] = before;
    assert_memory_equal(with, without, sizeof with);
}

TEST_WITH(folds_agree_at_every_register_width, remember, restore)
{
    static fold_function *const folds[] = { kernel_fold_classic, kernel_fold_counting };
    static const uint64_t large[] = { 59, 61, 127, 509 };
    static const unsigned seldom[] = { 1, 50, 400 }; /* a byte in this many has bits set */
    for (size_t s = 0; s < ROWS(seldom); s++) {
        uint8_t from[SIZE];
        uint64_t random = 4;
        for (size_t i = 0; i < sizeof from; i++) {
            const uint64_t bits = random64(&random) & random64(&random);
            from[i] = random64(&random) % seldom[s] == 0 ? (uint8_t)bits : 0;
        }
        for (size_t i = 0; i < ROWS(folds); i++) {
            for (uint64_t factor = 1; factor < 30; factor++)
                assert_narrower_folds(folds[i], from, factor);
            for (size_t l = 0; l < ROWS(large); l++)
                assert_narrower_folds(folds[i], from, large[l]);
        }
    }
}

int main(void)
{
    return run_all(NULL, NULL);
}

#else

int main(void)
{
    return skipped("needs an x86-64 processor");
}

#endif
