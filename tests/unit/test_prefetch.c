/* SPDX-License-Identifier: MIT
 * The cache lines that batches prefetch before they look up. */
#include "support.h"

#include <string.h>

static void request(const void *address);

/* Replaces the processor's prefetch: this file compiles its own kernel and pins. */
#define __builtin_prefetch(...)     REQUEST_FIRST(__VA_ARGS__, 0)
#define REQUEST_FIRST(address, ...) request(address)

#include <bloomfile_inline.h>

#include "kernel/blocked/prefetch_ring.h"

enum {
    LINE = 64,
    BLOCKS = 8192, /* more than the nearest caches hold */
    KEYS = 1000,
};

static _Alignas(LINE) uint8_t memory[LINE * (BLOCKS + 1)];
static bool requested[BLOCKS + 1];
static unsigned requests;

static void request(const void *address)
{
    requested[((const uint8_t *)address - memory) / LINE] = true;
    requests++;
}

static void forget(void)
{
    memset(requested, 0, sizeof requested);
    requests = 0;
}

static void assert_requested(const uint8_t *body, const uint64_t *digests, unsigned expected)
{
    for (unsigned i = 0; i < KEYS; i++) {
        const uint8_t *block = body + LINE * probe_reduce(digests[i], BLOCKS);
        assert_true(requested[(block - memory) / LINE]);
        assert_true(requested[(block + LINE - 1 - memory) / LINE]);
    }
    assert_int_equal(requests, expected);
}

TEST(both_lines_of_unaligned_block_are_requested)
{
    static const size_t offsets[] = { 0, 1, 8, 63 };
    uint64_t digests[KEYS];
    for (uint64_t i = 0; i < KEYS; i++)
        digests[i] = number(0, i);
    for (size_t o = 0; o < ROWS(offsets); o++) {
        const uint8_t *body = memory + offsets[o];
        const unsigned expected = KEYS * (offsets[o] == 0 ? 1 : 2);
        for (unsigned k = 6; k < 8; k++) {
            const struct kernel_view view = { .body = body, .units = BLOCKS, .k = k };
            forget();
            assert_int_equal(kernel_ring(&view, digests, KEYS, NULL, bloomfile_block_has), 0);
            assert_requested(body, digests, expected);
        }
        const struct bloomfile_pinned pin = { .body_ = body, .blocks_ = BLOCKS };
        forget();
        for (unsigned i = 0; i < KEYS; i++)
            bloomfile_pinned_prefetch(&pin, digests[i]);
        assert_requested(body, digests, expected);
    }
}

int main(void)
{
    return run_all(NULL, NULL);
}
